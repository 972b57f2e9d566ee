"""Pictures of graphs: datasets in columns by level, and the boundary graph beside them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from duotone.errors import DuotoneError
from duotone.graphs.graph import ColouredGraph, label, required
from duotone.graphs.mechanism import Mechanism
from duotone.graphs.morphism import boundary_morphism
from duotone.line.mechanism import NEVER
from duotone.plotting.figures import COLOUR, INK, MARKER, figure_class, new_axes
from duotone.plotting.labels import label_nodes
from duotone.privacy.definition import Array
from duotone.privacy.numbers import Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGEST = 400
"""Up to this many datasets, a graph is drawn node by node."""
SPREAD = 2.6
"""Of positions in a unit square: the longer side, in nodes, by the root of their number."""
TALL = 4
"""Columns with more rows than this are further apart."""
LABELLED = 60
"""Up to this many, each has a label."""

WIDE, BOWS, CLEAR = 1.8, (0.9, 0.7, 0.5, 1.1), 0.2
"""How far columns of datasets are apart, how far each is bent (the first of these with which edges pass all datasets this
clearly, or else the best)."""

Positions = Mapping[Hashable, tuple[float, float]]


def graph(of: ColouredGraph | Mechanism, positions: Positions | None = None, *, ax: Axes | None = None) -> Figure:
    """A coloured graph, its boundary ringed; for a mechanism, each dataset's Pr[truth] as opacity and label."""
    coloured = of.graph if isinstance(of, Mechanism) else required(of)
    if len(coloured) > LARGEST:
        raise DuotoneError(f"a picture of {len(coloured)} datasets would not be legible: at most {LARGEST} are drawn")
    truth = dict(zip(coloured.names, of.truth, strict=True)) if isinstance(of, Mechanism) else None
    where = positions or columns_by_level(coloured)
    if missing := [d for d in coloured if d not in where]:
        raise DuotoneError(f"dataset {label(missing[0])} has no position: give each one a pair of numbers")
    extent = _extent(where, given=positions is not None)
    broad = 1.1 if extent[1] > TALL else 0.75  # tall columns need room for the edges between them
    figure, ax = new_axes(ax, (float(np.clip(broad * extent[0], 7.2, 18)), float(np.clip(0.75 * extent[1] + 2.6, 2.6, 14))))
    _edges(ax, coloured, where)
    ringed = set(coloured.boundary("blue")) | set(coloured.boundary("red"))
    size = 200 if len(coloured) <= 40 else 60
    for name in coloured.names:
        x, y = where[name]
        colour = coloured.colour(name)
        alpha = 1.0 if truth is None else 0.15 + 0.85 * float(truth[name])
        ax.scatter(x, y, s=size, marker=MARKER[colour], color="white", zorder=2)
        ax.scatter(x, y, s=size, marker=MARKER[colour], color=COLOUR[colour], alpha=alpha, linewidths=0, zorder=3)
        ax.scatter(x, y, s=size, marker=MARKER[colour], facecolors=["#FFFFFF00"], edgecolors=COLOUR[colour], zorder=3)
        if name in ringed:
            ax.scatter(x, y, s=size * 2.4, marker=MARKER[colour], facecolors="none", edgecolors=INK, linewidths=1.1, zorder=4)
    labelled = len(coloured) <= LABELLED
    _legend(ax, ringed=bool(ringed), title=None if truth is None else f"{'label and ' * labelled}opacity: Pr[truth]")
    ax.margins(0.12)
    ax.set_axis_off()
    if labelled:
        each = {d: label(d) if truth is None else f"{label(d)}: {_short(truth[d])}" for d in coloured}
        label_nodes(ax, coloured, where, each, radius=(size * 2.4) ** 0.5 / 2)
    return figure


def _extent(where: Positions, *, given: bool) -> Array:
    """Width and height of a picture, in nodes beside each other; given positions in a unit square are spread."""
    try:
        extent: Array = np.ptp(np.array(list(where.values()), dtype=float).reshape(-1, 2), axis=0)
    except (TypeError, ValueError):
        raise DuotoneError("a position is a pair of numbers, one for each dataset") from None
    longest = float(extent.max())
    return extent * SPREAD * len(where) ** 0.5 / longest if given and 0 < longest < len(where) ** 0.5 else extent


def boundary_graph(of: ColouredGraph | Mechanism, positions: Positions | None = None) -> Figure:
    """Fig. 2. A coloured graph on the left; on the right its boundary graph, each node with the datasets that it stands
    for."""
    of = of.graph if isinstance(of, Mechanism) else required(of)
    g = boundary_morphism(of)
    figure: Figure = figure_class()(figsize=(11, 4.6))
    left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1.15, 1]})
    graph(of, positions, ax=left)
    columns: dict[Any, list[str]] = {node: [] for node in g.target.names}
    for d in of.names:
        columns[g.map[d]].append(label(d))
    right.plot([1, len(columns)], [0, 0], color=INK, lw=1, zorder=1)
    for node, names in columns.items():
        colour = g.target.colour(node)
        right.scatter(node, 0, s=110, marker=MARKER[colour], color=COLOUR[colour], zorder=3)
        shown = sorted(names) if len(names) <= 12 else [*sorted(names)[:11], f"and {len(names) - 11} more"]
        right.text(node, -0.09, "\n".join(shown), ha="center", va="top", fontsize=9, color=INK, parse_math=False)
    right.set(xlim=(0.4, len(columns) + 0.6), ylim=(-1, 0.6))
    right.set_axis_off()
    figure.text(0.545, 0.60, r"$\longrightarrow$", fontsize=22, ha="center")
    figure.text(0.545, 0.68, r"$g_\partial$", fontsize=13, ha="center")
    return figure


def _edges(ax: Axes, coloured: ColouredGraph, where: Positions) -> None:
    from matplotlib.collections import LineCollection

    inside: list[Any] = []
    cut: list[Any] = []
    for a, b in coloured.edges:
        (inside if coloured.colour(a) == coloured.colour(b) else cut).append((where[a], where[b]))
    ax.add_collection(LineCollection(inside, colors="#888888", linewidths=0.9, zorder=1))
    ax.add_collection(LineCollection(cut, colors=INK, linewidths=1.3, linestyles="dashed", zorder=1))


def _legend(ax: Axes, *, ringed: bool, title: str | None) -> None:
    for colour, answer in (("blue", "yes"), ("red", "no")):
        ax.scatter([], [], s=60, marker=MARKER[colour], color=COLOUR[colour], label=f"{colour}: {answer}")
    if ringed:
        ax.scatter([], [], s=110, marker="o", facecolors="none", edgecolors=INK, label="boundary")
    ax.legend(
        frameon=False,
        fontsize=8,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=3,
        title=title,
        title_fontsize=8,
        borderaxespad=1.8,
    )


def columns_by_level(coloured: ColouredGraph) -> Positions:
    """Datasets in columns by level, the deepest blue ones first, each near its neighbours in the next column."""
    # networkx.multipartite_layout does not order a column: of votes(6), 2,076 pairs of edges cross instead of 936.
    levels = coloured.levels
    never = (levels == NEVER) | (levels == -1 - NEVER)
    deepest = int(np.abs(levels[~never]).max(initial=0)) + 1
    column = np.where(never, np.where(coloured.blue, deepest, -1 - deepest), levels)
    columns = [np.flatnonzero(column == level).tolist() for level in sorted(set(column.tolist()), reverse=True)]
    height = np.zeros(len(coloured))
    for sweep in range(8):
        for nodes in columns if sweep % 2 == 0 else reversed(columns):
            near = {i: coloured.indices[coloured.indptr[i] : coloured.indptr[i + 1]] for i in nodes}
            nodes.sort(key=lambda i: float(height[near[i]].mean()) if len(near[i]) else 0.0)
            height[nodes] = np.arange(len(nodes)) - (len(nodes) - 1) / 2
    # A column is an arc, so that an edge between two of its datasets passes by the others.
    x, top = np.zeros(len(coloured)), np.ones(len(coloured))
    for place, nodes in enumerate(columns):
        x[nodes], top[nodes] = WIDE * place, max(1.0, (len(nodes) - 1) / 2)
    bent = [np.stack([x + bow * (height / top) ** 2, height], axis=1) for bow in BOWS]
    edges = coloured.edge_array()
    best = max(bent, key=lambda places: min(CLEAR, _clearance(places, edges))) if len(coloured) <= LABELLED else bent[0]
    return dict(zip(coloured.names, map(tuple, best.tolist()), strict=True))


def _clearance(places: Array, edges: Array) -> float:
    """How closely an edge passes by a dataset that is not one of its ends."""
    starts, along = places[edges[:, 0], None], (places[edges[:, 1]] - places[edges[:, 0]])[:, None]
    share = ((places - starts) * along).sum(axis=2) / (along**2).sum(axis=2)
    apart = np.hypot(*np.moveaxis(starts + np.clip(share, 0, 1)[..., None] * along - places, 2, 0))
    apart[np.arange(len(edges))[:, None], edges] = np.inf
    return float(apart.min(initial=np.inf))


def _short(x: Number) -> str:
    return f"{float(x):.4g}"
