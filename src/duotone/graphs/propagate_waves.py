"""Waves: unequal boundary values carried through a large graph, nearest first.

φ is increasing and φ(x) ≥ x. Taken by rising values, the first wave to reach a dataset therefore brings its final value,
and datasets of equal value are one wave, however many they are: the work is that of a breadth-first search.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from duotone.graphs.distance import far
from duotone.graphs.graph import ColouredGraph
from duotone.graphs.values import ValuesByDataset
from duotone.privacy.definition import Array, PrivacyDefinition, represent
from duotone.privacy.numbers import Number


@dataclass(frozen=True)
class Clash(Exception):
    """Neighbours leading from one fixed dataset to another that it leaves no room for."""

    path: tuple[int, ...]


def carried(
    graph: ColouredGraph, privacy: PrivacyDefinition, nodes: Array, starts: ValuesByDataset, *, blue: bool
) -> ValuesByDataset:
    """Theorem 2. min over the fixed `nodes` b of φ^dist(d, b)(start of b), through the datasets of one colour.

    The column's first value, 1, is where no wave comes. A start that some path would lower raises `Clash`.
    """
    try:
        return _in_waves(graph, privacy, nodes, starts, blue, np.empty(0, dtype=np.int32))
    except _Lowered:
        parent = np.full(len(graph), -1, dtype=np.int32)
    try:
        return _in_waves(graph, privacy, nodes, starts, blue, parent)
    except _Lowered as edge:
        path = [edge.to, edge.by]
        while (before := int(parent[path[-1]])) >= 0:
            path.append(before)
        raise Clash(tuple(path)) from None


@dataclass(frozen=True)
class _Lowered(Exception):
    by: int
    to: int


def _in_waves(
    graph: ColouredGraph, privacy: PrivacyDefinition, nodes: Array, starts: ValuesByDataset, blue: bool, parent: Array
) -> ValuesByDataset:
    from duotone.graphs import _search

    certain = represent(privacy, Fraction(1))
    if not len(nodes):
        return ValuesByDataset((certain,), np.zeros(len(graph), dtype=np.uint8))
    rising = sorted(set(starts.values))
    number: dict[Number, int] = {x: i + 1 for i, x in enumerate(rising)}
    place = np.array([number[x] for x in starts.values])[starts.places]
    fixed = np.zeros(len(graph), dtype=np.min_scalar_type(len(rising)))
    fixed[nodes] = place
    mark = fixed.astype(np.uint16 if len(rising) < 2**16 else np.uint32)
    by_value = nodes[np.argsort(place, kind="stable")]
    ends = np.cumsum(np.bincount(place, minlength=len(rising) + 1)).tolist()
    front = {x: [by_value[a:b]] for x, a, b in zip(rising, ends[:-1], ends[1:], strict=True)}
    queue, tail, due = np.empty(len(graph), dtype=np.int32), 0, rising.copy()
    while due:
        x = heapq.heappop(due)
        bound = privacy.step(x)
        mine = number.setdefault(bound, len(number) + 1)
        if mine > far(mark):
            mark = mark.astype(np.uint32)
        for wave in front.pop(x):
            size, by, to = _search.spread(
                graph.indptr, graph.indices, graph.blue.view(np.uint8), blue, fixed, bisect_right(rising, bound),
                mark, mine, wave, queue[tail:], parent,
            )  # fmt: skip
            if by >= 0:
                raise _Lowered(by, to)
            if size:
                if bound not in front:
                    heapq.heappush(due, bound)
                front.setdefault(bound, []).append(queue[tail : tail + size])
                tail += size
    return ValuesByDataset((1.0 if isinstance(rising[0], float) else certain, *number), mark)
