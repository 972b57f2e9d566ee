"""Sweeps: unequal boundary values where all of a large graph is near the boundary, on every core.

Labels only ever fall, to a fixed point that is Theorem 2's minimum whatever the order: no queue, and no lock.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from duotone.graphs.distance import deepest
from duotone.graphs.graph import ColouredGraph
from duotone.graphs.values import ValuesByDataset
from duotone.privacy.definition import Array, PrivacyDefinition, represent
from duotone.privacy.numbers import Number, complement
from duotone.resources import everywhere

MOST_VALUES, LONGEST = 64, 128
"""The fixed values, and the numbers that φ may lead to from each, for sweeps to be worth it."""
DEEPEST, MOST_SWEEPS = 24, 64
"""Sweeps are worth it where no dataset is far from the boundary; a value from far away may still take a few more."""


def swept(graph: ColouredGraph, privacy: PrivacyDefinition, nodes: Array, fixed: ValuesByDataset) -> ValuesByDataset | None:
    """Theorem 2 for both colours at once; None where waves have to do it: a deep graph, many values or a clash."""
    if len(fixed.values) > MOST_VALUES or deepest(graph.distances) > DEEPEST:
        return None
    blues, reds = _reachable(privacy, fixed.values), _reachable(privacy, [complement(m) for m in fixed.values])
    if blues is None or reds is None:
        return None
    step, across = _step_tables(privacy, reds, blues, fixed.values)
    label = _first_labels(graph, nodes, fixed, reds, blues, step.dtype)
    if not _settled(graph, label, step, across):
        return None
    places = label.astype(np.min_scalar_type(len(reds) + len(blues)))
    np.add(places, places.dtype.type(len(reds)), out=places, where=graph.blue)
    return ValuesByDataset((*reds, *blues), places)


def _step_tables(
    privacy: PrivacyDefinition, reds: list[Number], blues: list[Number], fixed: tuple[Number, ...]
) -> tuple[Array, Array]:
    """φ on ranks, a row for red and one for blue; and the red rank of 1 − m for the blue rank of a fixed m."""
    rank = [{x: i for i, x in enumerate(side)} for side in (reds, blues)]
    longest = max(len(reds), len(blues))
    kind = np.min_scalar_type(longest + 1)
    step = np.zeros((2, longest), dtype=kind)
    for ranks, row in zip(rank, step, strict=True):
        row[: len(ranks)] = [ranks.get(privacy.step(x), len(ranks) - 1) for x in ranks]
    across = np.zeros(longest, dtype=kind)
    for m in fixed:
        across[rank[1][m]] = rank[0][complement(m)]
    return step, across


def _first_labels(
    graph: ColouredGraph, nodes: Array, fixed: ValuesByDataset, reds: list[Number], blues: list[Number], kind: Any
) -> Array:
    """The rank of each dataset's value among those of its colour: that of the fixed ones, and of 1 elsewhere."""
    label = np.array([len(reds) - 1, len(blues) - 1], dtype=kind)[graph.blue.view(np.uint8)]
    label[nodes] = np.array([blues.index(m) for m in fixed.values], dtype=kind)[fixed.places]
    return label


def _settled(graph: ColouredGraph, label: Array, step: Array, across: Array) -> bool:
    """Sweep until no label falls any more; False where fixed values clash or it takes too many sweeps."""
    from duotone.graphs import _search

    longest = step.shape[1]
    final, first = np.full(2, -1, dtype=np.int64), True
    for _ in range(MOST_SWEEPS):
        arrays = (graph.indptr, graph.indices, graph.blue.view(np.uint8), graph.distances, label, step, across, final, first)
        clashes, red, blue = zip(*everywhere(_search.sweep, len(graph), *arrays), strict=True)
        if any(clashes):
            return False
        least = (min(red), min(blue))  # nothing below these will be offered to their colour any more
        if least == (longest, longest):
            return True
        final[:] = [step[side, x] if x < longest else longest for side, x in enumerate(least)]
        first = False
    return False


def _reachable(privacy: PrivacyDefinition, starts: tuple[Number, ...] | list[Number]) -> list[Number] | None:
    """Every number that φ leads to from the starts, rising, and at last 1; None if these are too many."""
    reachable: set[Number] = {1.0 if isinstance(starts[0], float) else represent(privacy, Fraction(1))}
    for x in starts:
        steps = 0
        while x not in reachable:
            reachable.add(x)
            x, steps = privacy.step(x), steps + 1
            if steps > LONGEST:
                return None
    return sorted(reachable)
