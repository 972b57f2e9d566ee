"""Arrays of few distinct values by dataset, and the propagation of unequal boundary values through a large graph, in
waves or in sweeps.

Waves go nearest first. φ is increasing and φ(x) ≥ x, so with values in rising order the first wave to reach a dataset
brings its final value, and datasets of equal value are one wave, however many they are. The work is that of a
breadth-first search.

Sweeps, on every core, are for a graph that is all near its boundary. Labels only fall, to a fixed point that is the
minimum of Theorem 2 in any order: no queue, and no lock.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

import numpy as np

from duotone.graphs.edges import deepest, far
from duotone.graphs.graph import ColouredGraph
from duotone.privacy.definition import Array, PrivacyDefinition, following, represent
from duotone.privacy.numbers import Number, complement
from duotone.resources import everywhere

MOST_VALUES, LONGEST = 64, 128
"""Most fixed values, and most values that φ leads to from each, for which sweeps are used."""
DEEPEST, MOST_SWEEPS = 24, 64
"""Sweeps are used if no dataset is far from the boundary; a value from far away may still take a few more."""


@dataclass(frozen=True, eq=False, repr=False)
class ValuesByDataset(Sequence[Number]):
    """`values[places[i]]` for dataset i: how a mechanism of millions of datasets is stored.

    >>> from fractions import Fraction
    >>> column = ValuesByDataset.of([Fraction(7, 10), Fraction(9, 10), Fraction(7, 10)])
    >>> len(column), str(column[2]), column.places.tolist(), column.array().tolist()
    (3, '7/10', [0, 1, 0], [0.7, 0.9, 0.7])
    """

    values: tuple[Number, ...]
    places: Array

    @classmethod
    def of(cls, numbers: Iterable[Number]) -> ValuesByDataset:
        """Group equal numbers; a float and a fraction of equal value stay two."""
        if isinstance(numbers, ValuesByDataset):
            return numbers
        known: dict[tuple[type, Number], int] = {}
        places = [known.setdefault((type(x), x), len(known)) for x in numbers]
        return cls(tuple(x for _, x in known), np.array(places, dtype=np.min_scalar_type(len(known))))

    def array(self) -> Array:
        """As float64, each the nearest to its number: for display."""
        return np.array([float(x) for x in self.values])[self.places]

    def __repr__(self) -> str:
        return f"<{len(self)} values, {len(self.values)} of them different>"

    def counts(self) -> list[int]:
        """How many datasets have each value."""
        return [int(c) for c in np.bincount(self.places, minlength=len(self.values))]

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, i: int) -> Number: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Number, ...]: ...
    def __getitem__(self, i: Any) -> Any:
        return tuple(ValuesByDataset(self.values, self.places[i])) if isinstance(i, slice) else self.values[self.places[i]]

    def __iter__(self) -> Iterator[Number]:
        return map(self.values.__getitem__, self.places.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Clash(Exception):
    """A path of neighbours between two fixed datasets on which one value is too large."""

    path: tuple[int, ...]


def carried(
    graph: ColouredGraph, privacy: PrivacyDefinition, nodes: Array, starts: ValuesByDataset, *, blue: bool
) -> ValuesByDataset:
    """Theorem 2. min over the fixed `nodes` b of φ^dist(d, b)(start of b), through the datasets of one colour.

    The first value of the column, 1, stands where no wave arrives. A start that some path would lower raises `Clash`.
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
    """The nodes whose neighbours are still to be reached, by value."""

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
    label_of: dict[Number, int] = {value: i for i, value in enumerate(rising, 1)}  # label 0: not reached yet
    start_labels = np.array([label_of[value] for value in starts.values])[starts.places]
    fixed = np.zeros(len(graph), dtype=np.min_scalar_type(len(rising)))
    fixed[nodes] = start_labels
    labels = fixed.astype(np.uint16 if len(rising) < 2**16 else np.uint32)
    fronts = _first_fronts(rising, nodes, start_labels)
    queue, tail = np.empty(len(graph), dtype=np.int32), 0
    while fronts:
        value, waves = fronts.pop_lowest()
        bound = following(privacy, value)
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
    """The fixed nodes, grouped by value; `labels` are the places of their values among the rising ones, from 1."""
    by_value = nodes[np.argsort(labels, kind="stable")]
    ends = np.cumsum(np.bincount(labels, minlength=len(rising) + 1)).tolist()
    fronts = _Fronts()
    for value, start, stop in zip(rising, ends[:-1], ends[1:], strict=True):
        fronts.add(value, by_value[start:stop])
    return fronts


def swept(graph: ColouredGraph, privacy: PrivacyDefinition, nodes: Array, fixed: ValuesByDataset) -> ValuesByDataset | None:
    """Theorem 2 for both colours at once; None if waves have to do it: a deep graph, many values or a clash."""
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
        row[: len(ranks)] = [ranks.get(following(privacy, x), len(ranks) - 1) for x in ranks]
    across = np.zeros(longest, dtype=kind)
    for m in fixed:
        across[rank[1][m]] = rank[0][complement(m)]
    return step, across


def _first_labels(
    graph: ColouredGraph, nodes: Array, fixed: ValuesByDataset, reds: list[Number], blues: list[Number], kind: Any
) -> Array:
    """The rank of each dataset's value among those of its colour: a fixed dataset's own, and that of 1 elsewhere."""
    label = np.array([len(reds) - 1, len(blues) - 1], dtype=kind)[graph.blue.view(np.uint8)]
    label[nodes] = np.array([blues.index(m) for m in fixed.values], dtype=kind)[fixed.places]
    return label


def _settled(graph: ColouredGraph, label: Array, step: Array, across: Array) -> bool:
    """Sweep until no label falls any more; False if fixed values clash or it takes too many sweeps."""
    from duotone.graphs import _search

    longest = step.shape[1]
    final, first = np.full(2, -1, dtype=np.int64), True
    for _ in range(MOST_SWEEPS):
        arrays = (graph.indptr, graph.indices, graph.blue.view(np.uint8), graph.distances, label, step, across, final, first)
        clashes, red, blue = zip(*everywhere(_search.sweep, len(graph), *arrays), strict=True)
        if any(clashes):
            return False
        least = (min(red), min(blue))  # no dataset of the colour can get a label below these any more
        if least == (longest, longest):
            return True
        final[:] = [step[side, x] if x < longest else longest for side, x in enumerate(least)]
        first = False
    return False


def _reachable(privacy: PrivacyDefinition, starts: tuple[Number, ...] | list[Number]) -> list[Number] | None:
    """Every number that φ leads to from the starts, rising, and finally 1; None if there are too many."""
    reachable: set[Number] = {1.0 if isinstance(starts[0], float) else represent(privacy, Fraction(1))}
    for x in starts:
        steps = 0
        while x not in reachable:
            reachable.add(x)
            x, steps = following(privacy, x), steps + 1
            if steps > LONGEST:
                return None
    return sorted(reachable)
