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


class _Fronts:
    """The nodes that are still to reach out, by value."""

    def __init__(self) -> None:
        self._by_value: dict[Number, list[Array]] = {}
        self._values: list[Number] = []

    def add(self, value: Number, nodes: Array) -> None:
        if value not in self._by_value:
            self._by_value[value] = []
            heapq.heappush(self._values, value)
        self._by_value[value].append(nodes)

    def pop_lowest(self) -> tuple[Number, list[Array]]:
        value = heapq.heappop(self._values)
        return value, self._by_value.pop(value)

    def __bool__(self) -> bool:
        return bool(self._values)


def _in_waves(
    graph: ColouredGraph, privacy: PrivacyDefinition, nodes: Array, starts: ValuesByDataset, blue: bool, parent: Array
) -> ValuesByDataset:
    from duotone.graphs import _search

    certain = represent(privacy, Fraction(1))
    if not len(nodes):
        return ValuesByDataset((certain,), np.zeros(len(graph), dtype=np.uint8))
    rising = sorted(set(starts.values))
    label_of: dict[Number, int] = {value: i for i, value in enumerate(rising, 1)}  # label 0 is: not reached yet
    start_labels = np.array([label_of[value] for value in starts.values])[starts.places]
    fixed = np.zeros(len(graph), dtype=np.min_scalar_type(len(rising)))
    fixed[nodes] = start_labels
    labels = fixed.astype(np.uint16 if len(rising) < 2**16 else np.uint32)
    fronts = _first_fronts(rising, nodes, start_labels)
    queue, tail = np.empty(len(graph), dtype=np.int32), 0
    while fronts:
        value, waves = fronts.pop_lowest()
        bound = privacy.step(value)
        label = label_of.setdefault(bound, len(label_of) + 1)
        if label > far(labels):
            labels = labels.astype(np.uint32)
        for wave in waves:
            size, by, to = _search.spread(
                graph.indptr, graph.indices, graph.blue.view(np.uint8), blue, fixed, bisect_right(rising, bound),
                labels, label, wave, queue[tail:], parent,
            )  # fmt: skip
            if by >= 0:
                raise _Lowered(by, to)
            if size:
                fronts.add(bound, queue[tail : tail + size])
                tail += size
    return ValuesByDataset((1.0 if isinstance(rising[0], float) else certain, *label_of), labels)


def _first_fronts(rising: list[Number], nodes: Array, labels: Array) -> _Fronts:
    """The fixed nodes, those of one value together; `labels` are the places of their values among the rising ones, from 1."""
    by_value = nodes[np.argsort(labels, kind="stable")]
    ends = np.cumsum(np.bincount(labels, minlength=len(rising) + 1)).tolist()
    fronts = _Fronts()
    for value, start, stop in zip(rising, ends[:-1], ends[1:], strict=True):
        fronts.add(value, by_value[start:stop])
    return fronts
