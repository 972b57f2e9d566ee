"""Optimal mechanisms: the most truth everywhere, given the values at the boundary."""

from __future__ import annotations

import csv
import heapq
from collections.abc import Hashable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from duotone.errors import DuotoneError, Infeasible
from duotone.graphs.edges import deepest, looked_up, small
from duotone.graphs.graph import ColouredGraph, by_name, label, required
from duotone.graphs.mechanism import Mechanism
from duotone.graphs.values import Clash, ValuesByDataset, carried, swept
from duotone.line.mechanism import LineMechanism, on_line, recurrence
from duotone.options import known_options
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.definition import ROUNDING, Array, PrivacyDefinition, exactly, following, iterate, represent, tried
from duotone.privacy.numbers import Given, Number, complement, number, probability

Boundary = Literal["balanced"] | Given | Mapping[Any, Given] | ValuesByDataset | Array
"""The values on the blue boundary: `"balanced"`, one probability of the truth, or one per boundary dataset, by name
(`...` stands for all that are not named) or as a column or array for every dataset in order (of which only the blue
boundary's are read)."""


def values_from(text: str, graph: ColouredGraph) -> dict[Any, str]:
    """Values for datasets as written: NAME=VALUE, separated by commas, and VALUE alone for all others; a name that
    contains a comma stands in double quotes.

    >>> from duotone.graphs import families
    >>> values_from("h=0.6, l=7/10", families.figure_2()), values_from("h=0.6, 7/10", families.figure_2())
    ({'h': '0.6', 'l': '7/10'}, {'h': '0.6', Ellipsis: '7/10'})
    """
    names, values = {label(name): name for name in graph.names}, dict[Any, str]()
    for part in (part.strip() for row in csv.reader([text], skipinitialspace=True) for part in row if part.strip()):
        name, mark, value = (side.strip() for side in part.rpartition("="))
        if not mark and part in names:
            raise DuotoneError(f"dataset {part} has no value: write {part}=VALUE")
        if mark and name not in names:
            raise DuotoneError(f"there is no dataset {name or part} to fix at the boundary")
        dataset = names[name] if mark else ...
        if dataset in values:
            raise DuotoneError(f"{f'dataset {name} is' if mark else 'all other datasets are'} given two values")
        if not mark:
            number(value, "NAME=VALUE, or a value for all other datasets,")
        values[dataset] = value
    return values


@known_options
def design(graph: ColouredGraph, privacy: PrivacyDefinition, boundary: Boundary = "balanced") -> Mechanism:
    """The best private mechanism on a graph: on no dataset is another private one with the same boundary more often right.

    Use it where the datasets can be listed; a question about a table of people is `ask`'s. `graph` has the datasets and the
    true answers, `privacy` is what must be kept (such as `ApproxDP(1, "1e-6")`), and `boundary` is the remaining
    choice: how often the true answer is given on the blue boundary, that is, on the datasets with answer yes and a
    neighbour with answer no.

    - "balanced", the default: as often as on the other side, so that neither mistake is preferred;
    - a probability for all of them, such as "0.9": yes is right that often there, and no as often as is then possible;
    - a probability for each of them, by name, such as `{"h": "0.6", "l": "0.7"}` or `{"h": "0.6", ...: "0.7"}`, where
      `...` stands for all others; or as an array in the order of the datasets.

    To fix the no side instead, swap the colours: `design(graph.dual(), privacy, boundary).dual()`. In the paper's
    words: Theorems 2, 3 and 5, the unique mechanism that dominates every private one with these boundary values.

    Guarantee: the result passes `check(privacy)`, in floats too; unequal values that no private mechanism has
    raise `Infeasible` with the two clashing datasets, the path between them and the gap.

    >>> from duotone import ApproxDP
    >>> from duotone.graphs import families
    >>> majority = design(families.votes(3).graph(), ApproxDP(exp_epsilon=2, delta="1/10"))
    >>> str(majority.yes["111"]), str(majority.yes["112"]), str(majority.yes["122"])
    ('9/10', '7/10', '3/10')
    >>> M = design(families.figure_2(), ApproxDP(exp_epsilon=2, delta="0.1"), {"h": "0.6", "l": "0.7"})
    >>> [str(M.yes[d]) for d in "abgkc"], [str(M.no[d]) for d in "qinmdo"]
    (['1', '1', '9/10', '9/10', '17/20'], ['7/10', '3/4', '3/4', '9/10', '37/40', '37/40'])
    """
    required(graph)
    boundary = by_name(boundary)
    if isinstance(boundary, Mapping | ValuesByDataset | np.ndarray):
        tried(privacy)
        return _with_values(graph, privacy, *_fixed(graph, boundary))
    if boundary == "selection" or isinstance(boundary, list | tuple) or callable(boundary):
        raise DuotoneError(
            "the boundary of a graph is balanced, a probability, or one per boundary dataset: a mapping by name, or an array "
            "for every dataset in order"
        )
    return Mechanism(graph, _read_at_levels(on_line(privacy, boundary), graph))


def improvable(graph: ColouredGraph, privacy: PrivacyDefinition, boundary: Boundary) -> dict[Hashable, Number]:
    """The blue boundary datasets that could tell the truth more often at no cost, and how often at most.

    Each comes with its largest value, with the other boundary values unchanged, in a private mechanism that is no less
    truthful than `design`'s at any other dataset. All of them can be raised together.

    Proof. Privacy is B_d ≤ φ(B_e) for neighbours, which by the symmetry of φ needs to hold in one direction only.
    Raising d lowers no blue dataset, so it is free exactly up to φ(B_r) of each red neighbour r at its present value
    (through r, of every red one beyond) and up to φ^dist(B_b) of every other boundary dataset b. Raising another one
    only raises these limits.

    >>> from duotone import ApproxDP
    >>> g = ColouredGraph([("a", "r"), ("r", "b")], {"a": "blue", "r": "red", "b": "blue"})
    >>> improvable(g, ApproxDP(exp_epsilon=2, delta="1/10"), {"a": "3/10", "b": "7/10"})
    {'a': Fraction(7, 10)}
    """
    required(graph)
    boundary = by_name(boundary)
    if isinstance(boundary, str) and boundary == "balanced":
        return {}
    exact = exactly(privacy)
    nodes, values = (
        _fixed(graph, boundary) if isinstance(boundary, Mapping | ValuesByDataset | np.ndarray) else _alike(graph, boundary)
    )
    fixed = dict(zip(nodes.tolist(), (represent(exact, Fraction(m)) for m in values), strict=True))
    best = design(graph, exact, {graph.names[i]: m for i, m in fixed.items()})
    others = _from_others(graph, exact, fixed)
    free: dict[Hashable, Number] = {}
    for i, value in fixed.items():
        near = graph.indices[graph.indptr[i] : graph.indptr[i + 1]].tolist()
        limits = [exact.step(complement(best.truth[j])) for j in near if not graph.blue[j]]
        most = min([represent(exact, Fraction(1)), others.get(i, 1), *limits])
        if most - value > (0 if isinstance(most, Fraction) else ROUNDING):
            free[graph.names[i]] = most
    return free


def _alike(graph: ColouredGraph, boundary: Given) -> tuple[Array, ValuesByDataset]:
    return _fixed(graph, dict.fromkeys(graph.boundary("blue"), boundary))


def _from_others(graph: ColouredGraph, privacy: PrivacyDefinition, fixed: Mapping[int, Number]) -> dict[int, Number]:
    """min over the other fixed datasets b of φ^dist(value of b), at each fixed dataset: two searches in one, each
    dataset being reached from its two best starts."""
    queue = [(x, i, i) for i, x in fixed.items()]
    heapq.heapify(queue)
    reached: dict[int, list[int]] = {}
    others: dict[int, Number] = {}
    while queue:
        x, i, start = heapq.heappop(queue)
        starts = reached.setdefault(i, [])
        if start in starts or len(starts) == 2:
            continue
        starts.append(start)
        if i in fixed and start != i:
            others.setdefault(i, x)
        bound = following(privacy, x)
        for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]].tolist():
            if len(reached.get(j, ())) < 2:
                heapq.heappush(queue, (bound, j, start))
    return others


def _with_values(graph: ColouredGraph, privacy: PrivacyDefinition, nodes: Array, values: ValuesByDataset) -> Mechanism:
    """In floats if they suffice. If rounding alone makes values clash or a pair fail, in exact arithmetic."""
    propagated = _propagated if small(len(graph), len(graph.indices)) else _propagated_fast
    try:
        mechanism = propagated(graph, privacy, nodes, values)
        if getattr(privacy, "exact", True) or mechanism.check(privacy).holds:
            return mechanism
    except Infeasible:
        if exactly(privacy) is privacy:
            raise
    return propagated(graph, exactly(privacy), nodes, ValuesByDataset(tuple(Fraction(m) for m in values.values), values.places))


def _fixed(graph: ColouredGraph, boundary: Mapping[Any, Given] | ValuesByDataset | Array) -> tuple[Array, ValuesByDataset]:
    """The blue boundary and its values, given by name or for every dataset in order."""
    if isinstance(boundary, Mapping):
        values = boundary_values(graph, boundary)
        return np.array([*values], dtype=np.int32), ValuesByDataset.of(values.values())
    shape = boundary.places if isinstance(boundary, ValuesByDataset) else boundary
    if shape.shape != (len(graph),):
        raise DuotoneError(f"boundary values for {len(graph)} datasets in order must be as many, got {shape.size}")
    nodes = np.flatnonzero(graph.blue & graph.on_boundary).astype(np.int32)
    if isinstance(boundary, ValuesByDataset):
        distinct, index = boundary.values, boundary.places[nodes]
    else:
        several, index = np.unique(boundary[nodes], return_inverse=True)
        distinct = tuple(several.tolist())
    used = np.flatnonzero(np.bincount(index, minlength=1)).tolist() if len(nodes) else []
    places = np.zeros(len(distinct), dtype=np.min_scalar_type(len(used)))
    places[used] = np.arange(len(used))
    return nodes, ValuesByDataset(tuple(probability(distinct[k], "a boundary value") for k in used), places[index])


def boundary_values(graph: ColouredGraph, boundary: Mapping[Any, Given]) -> dict[int, Number]:
    """The requested values, by node number: one for each blue boundary dataset, and no others.

    >>> from duotone.graphs import families
    >>> list(boundary_values(families.votes(3).graph(), {"112": "3/5", ...: "7/10"}).values())
    [Fraction(3, 5), Fraction(7, 10), Fraction(7, 10)]
    """
    each = {d: m for d, m in boundary.items() if d is not ...}
    fixed = {graph.position(d): probability(m, f"the probability at {label(d)}") for d, m in each.items()}
    wanted = np.flatnonzero(graph.blue & graph.on_boundary).tolist()
    if ... in boundary:
        others = probability(boundary[...], "the probability at all other datasets")
        fixed |= {i: others for i in wanted if i not in fixed}
    for i in wanted:
        if i not in fixed:
            raise DuotoneError(
                f"dataset {graph.names[i]} is on the blue boundary and has no value: give it one, or one to all others (...)"
            )
    if extra := sorted(set(fixed) - set(wanted)):
        raise DuotoneError(f"dataset {graph.names[extra[0]]} is not on the blue boundary, so its value is not free")
    return fixed


def _read_at_levels(mechanism: LineMechanism, graph: ColouredGraph) -> ValuesByDataset:
    """Theorem 3: the pullback of the line's mechanism. The recurrence, not the closed form, so that floats stay private."""
    longest = deepest(graph.distances) + 1
    red = _side(mechanism.privacy, mechanism.red, longest)
    alike = mechanism.boundary == "balanced"
    blue = red if alike else _side(mechanism.privacy, mechanism.blue, longest)
    values = (represent(mechanism.privacy, Fraction(1)), *red, *blue)
    return ValuesByDataset(values, looked_up(graph.distances, graph.blue, len(red), len(blue)))


def _side(privacy: PrivacyDefinition, start: Number, longest: int) -> tuple[Number, ...]:
    """A side of the line; under (ε, δ) it is cached for the next graph."""
    if isinstance(privacy, ApproxDP):
        return _kept(privacy, start, longest)
    return tuple(recurrence(privacy, start, longest))


@lru_cache(maxsize=64, typed=True)  # a float and a fraction of equal value are different starts
def _kept(privacy: ApproxDP, start: Number, longest: int) -> tuple[Number, ...]:
    return tuple(recurrence(privacy, start, longest))


def _represented(privacy: PrivacyDefinition, values: ValuesByDataset) -> ValuesByDataset:
    """Values in the definition's numbers: all exact, or all floats."""
    numbers = tuple(represent(privacy, m) for m in values.values)
    return ValuesByDataset(tuple(map(float, numbers)) if any(isinstance(m, float) for m in numbers) else numbers, values.places)


def _propagated_fast(graph: ColouredGraph, privacy: PrivacyDefinition, nodes: Array, values: ValuesByDataset) -> Mechanism:
    """The fast path for large graphs: sweeps if every dataset is near the boundary, else a wave per value."""
    fixed = _represented(privacy, values)
    if len(nodes) and (truth := swept(graph, privacy, nodes, fixed)) is not None:
        return Mechanism(graph, truth)
    others = ValuesByDataset(tuple(complement(m) for m in fixed.values), fixed.places)
    try:
        red, blue = (carried(graph, privacy, nodes, starts, blue=side) for side, starts in ((False, others), (True, fixed)))
    except Clash as clash:
        ends = {i: fixed[int(np.flatnonzero(nodes == i)[0])] for i in (clash.path[0], clash.path[-1])}
        raise _infeasible(graph, privacy, [*clash.path], ends) from None
    numbers = (*red.values, *blue.values)
    index = np.where(graph.blue, blue.places + np.min_scalar_type(len(numbers)).type(len(red.values)), red.places)
    return Mechanism(graph, ValuesByDataset(numbers, index))


def _propagated(graph: ColouredGraph, privacy: PrivacyDefinition, nodes: Array, values: ValuesByDataset) -> Mechanism:
    """The plain path for small graphs, dataset by dataset."""
    fixed = dict(zip(nodes.tolist(), _represented(privacy, values), strict=True))
    truth = [represent(privacy, Fraction(1))] * len(graph)
    for inside, starts in ((~graph.blue, {i: complement(m) for i, m in fixed.items()}), (graph.blue, fixed)):
        for i, value in nearest_first(graph, privacy, starts, inside, fixed)[0].items():
            if inside[i]:
                truth[i] = value
    return Mechanism(graph, truth)


def nearest_first(
    graph: ColouredGraph,
    privacy: PrivacyDefinition,
    starts: Mapping[int, Number],
    inside: Array,
    fixed: Mapping[int, Number] | None = None,
) -> tuple[dict[int, Number], dict[int, int]]:
    """Theorem 2. min over the starts b of φ^dist(d, b)(value of b), through the datasets `inside`, in Dijkstra's order.

    φ(x) ≥ x, so the smallest unsettled value is final. The start values are feasible exactly when no path lowers one of
    them. If a path does, `Infeasible` is raised if their blue values are given as `fixed`; otherwise the start is
    lowered. Returns the values, and the predecessor of each.
    """
    value: dict[int, Number] = dict(starts)
    came_from: dict[int, int] = {}
    queue = [(x, i) for i, x in value.items()]
    heapq.heapify(queue)
    settled: set[int] = set()
    while queue:
        x, i = heapq.heappop(queue)
        if i in settled:
            continue
        settled.add(i)
        bound = following(privacy, x)
        for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]].tolist():
            if not inside[j] and (j not in starts or i in starts):
                continue
            if bound < value.get(j, 2):
                if j in starts and fixed is not None:
                    raise _infeasible(graph, privacy, [j, *path_back(i, came_from)], fixed)
                value[j], came_from[j] = bound, i
                heapq.heappush(queue, (bound, j))
    return value, came_from


def path_back(node: int, came_from: Mapping[int, int]) -> list[int]:
    """The nodes from one back to the start of its value."""
    path = [node]
    while path[-1] in came_from:
        path.append(came_from[path[-1]])
    return path


def _infeasible(graph: ColouredGraph, privacy: PrivacyDefinition, path: list[int], fixed: Mapping[int, Number]) -> Infeasible:
    """`Infeasible`, with the path between two clashing fixed datasets, from the lower to the higher value."""
    if fixed[path[0]] > fixed[path[-1]]:
        path.reverse()
    allowed, _ = iterate(privacy, fixed[path[0]], len(path) - 1)
    names: tuple[Hashable, ...] = tuple(graph.names[k] for k in path)
    return Infeasible(names, fixed[path[-1]] - allowed)
