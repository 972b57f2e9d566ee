"""Where the labels of a graph's nodes stand: off its edges, off other nodes, and off each other, as far as there is room."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from duotone.graphs.graph import ColouredGraph
from duotone.plotting.figures import INK
from duotone.privacy.definition import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE, GAP, CLOSE, STEP = 8.0, 2.0, 1.5, 4.0
"""In points: the letters, between a node and its label, around a label, and between places along an edge."""
WAYS = np.array([(0, -1), (0, 1), (1, 0), (-1, 0), (1, -1), (-1, -1), (1, 1), (-1, 1)], dtype=float)
"""Where a label may stand: below its node, above, beside, then at a corner."""
FURTHER = (0.0, 4.0, 9.0)
"""How much further away it may move, in points."""
COSTS = {"node": 20.0, "label": 20.0, "edge": 8.0, "way": 0.1, "further": 0.9}
"""What is worse: to cover a node, a label or an edge, a later way, a point further."""


def label_nodes(
    ax: Axes,
    graph: ColouredGraph,
    where: Mapping[Hashable, tuple[float, float]],
    texts: Mapping[Hashable, str],
    *,
    radius: float,
) -> None:
    """Write each dataset's label where it covers least."""
    from matplotlib.patheffects import withStroke

    ax.autoscale_view()
    nodes = _in_points(ax, np.array([where[d] for d in graph]))
    offsets = _offsets(nodes, graph.edge_array(), [_extent(texts[d]) for d in graph], radius)
    halo = [withStroke(linewidth=3, foreground="white")]
    style: dict[str, Any] = {"parse_math": False, "fontsize": SIZE, "color": INK, "path_effects": halo, "zorder": 5}
    for d, (x, y) in zip(graph, offsets.tolist(), strict=True):
        ax.annotate(texts[d], where[d], (x, y), textcoords="offset points", ha="center", va="center", **style)


def _in_points(ax: Axes, places: Array) -> Array:
    """Data coordinates as points on the page."""
    figure: Any = ax.get_figure(root=True)
    return np.array(ax.transData.transform(places), dtype=float) * 72 / float(figure.dpi)


def _extent(text: str) -> tuple[float, float]:
    """Width and height of a label in points."""
    from matplotlib.textpath import TextPath

    lines = text.split("\n")
    widths = [TextPath((0, 0), line.replace("$", "S") or " ", size=SIZE).get_extents().width for line in lines]
    return max(widths), SIZE * (1.2 * len(lines) - 0.2)


def _offsets(nodes: Array, edges: Array, extents: list[tuple[float, float]], radius: float) -> Array:
    """How far each label's centre is from its node: twice around, nodes with most neighbours first, each to the best
    place that the others leave."""
    along, edge_of = _along(nodes, edges)
    half = np.array(extents) / 2 + CLOSE
    degree = np.bincount(edges.ravel(), minlength=len(nodes))
    centres = np.full_like(nodes, np.inf)
    chosen = np.zeros_like(nodes)
    for i in [*np.argsort(-degree, kind="stable").tolist()] * 2:
        reach = 2 * half[i] + radius + max(FURTHER) + GAP
        near = (np.abs(along - nodes[i]) <= reach).all(axis=1)
        best = np.inf
        for further in FURTHER:
            for way, direction in enumerate(WAYS):
                unit = direction / np.hypot(*direction)
                offset = unit * (radius + GAP + further) + direction * half[i]
                centre = nodes[i] + offset
                cost = COSTS["way"] * way + COSTS["further"] * further
                if cost >= best:
                    continue
                covered = (np.abs(along[near] - centre) <= half[i]).all(axis=1)
                cost += COSTS["edge"] * len(np.unique(edge_of[near][covered]))
                cost += COSTS["node"] * int((np.abs(nodes - centre) < half[i] + radius).all(axis=1).sum())
                others = (np.abs(centres - centre) <= half + half[i]).all(axis=1)
                others[i] = False
                cost += COSTS["label"] * int(others.sum())
                if cost < best:
                    best, chosen[i] = cost, offset
        centres[i] = nodes[i] + chosen[i]
    return chosen


def _along(nodes: Array, edges: Array) -> tuple[Array, Array]:
    """Places along the edges, and the edge of each."""
    starts, ends = nodes[edges[:, 0]], nodes[edges[:, 1]]
    counts = np.maximum(2, np.ceil(np.hypot(*(ends - starts).T) / STEP)).astype(int)
    edge_of = np.repeat(np.arange(len(edges)), counts)
    place = np.arange(len(edge_of)) - np.repeat(np.cumsum(counts) - counts, counts)
    share = (place / (counts[edge_of] - 1))[:, None]
    return starts[edge_of] + share * (ends - starts)[edge_of], edge_of
