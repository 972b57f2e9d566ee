"""Optimal mechanisms: the most truth everywhere, given the boundary."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from duotone.errors import DuotoneError, Infeasible
from duotone.graph import ColouredGraph
from duotone.line import NEVER, LineMechanism, on_line, recurrence
from duotone.mechanism import Mechanism
from duotone.notion import Array, Notion, exactly, iterate, represent
from duotone.number import Given, Number, complement, probability

Boundary = Literal["balanced"] | Given | Mapping[Any, Given]
"""What is fixed on the blue boundary: `"balanced"`, one probability of the truth, or one per boundary dataset."""


def design(graph: ColouredGraph, privacy: Notion, boundary: Boundary = "balanced") -> Mechanism:
    """Theorems 2, 3 and 5. The unique mechanism that dominates every private one with these boundary values.

    To fix the red boundary instead, swap the colours: `design(graph.dual(), privacy, boundary).dual()`.

    Guarantee: the result passes `check(privacy)`, in floats too; unequal values that no private mechanism has
    raise `Infeasible` with the two clashing datasets, the path between them and the gap.

    >>> from duotone import ApproxDP, families
    >>> M = design(families.figure_2(), ApproxDP(ratio=2, delta="0.1"), {"h": "0.6", "l": "0.7"})
    >>> [str(M.yes[d]) for d in "abgkc"], [str(M.no[d]) for d in "qinmdo"]
    (['1', '1', '9/10', '9/10', '17/20'], ['7/10', '3/4', '3/4', '9/10', '37/40', '37/40'])
    """
    if isinstance(boundary, Mapping):
        return _with_values(graph, privacy, boundary_values(graph, boundary))
    if boundary == "selection":
        raise DuotoneError("the boundary of a graph is balanced, a probability, or one per boundary dataset")
    return Mechanism(graph, _read_at_levels(on_line(privacy, boundary), graph.levels))


def _with_values(graph: ColouredGraph, privacy: Notion, values: Mapping[int, Number]) -> Mechanism:
    """In floats where these will do. Where rounding alone makes values clash or a pair fail, in exact arithmetic."""
    try:
        mechanism = _propagated(graph, privacy, values)
        if getattr(privacy, "exact", True) or mechanism.check(privacy).holds:
            return mechanism
    except Infeasible:
        if exactly(privacy) is privacy:
            raise
    return _propagated(graph, exactly(privacy), {i: Fraction(m) for i, m in values.items()})


def boundary_values(graph: ColouredGraph, boundary: Mapping[Any, Given]) -> dict[int, Number]:
    """The values asked for, by node number: one for each blue boundary dataset and for nothing else."""
    fixed = {graph.position(d): probability(m, f"the probability at {d}") for d, m in boundary.items()}
    wanted = np.flatnonzero(graph.blue & graph.on_boundary).tolist()
    for i in wanted:
        if i not in fixed:
            raise DuotoneError(f"dataset {graph.names[i]} is on the blue boundary and has no value")
    if extra := sorted(set(fixed) - set(wanted)):
        raise DuotoneError(f"dataset {graph.names[extra[0]]} is not on the blue boundary, so its value is not free")
    return fixed


def _read_at_levels(mechanism: LineMechanism, levels: Array) -> tuple[Number, ...]:
    """Theorem 3: the pullback of the line's mechanism. The recurrence, not the closed form, so that floats stay private."""
    never = (levels == NEVER) | (levels == -1 - NEVER)
    distances = np.where(levels >= 0, levels, -1 - levels)
    longest = int(distances[~never].max(initial=0)) + 1
    sides = [recurrence(mechanism.privacy, start, longest) for start in (mechanism.red, mechanism.blue)]
    certain = represent(mechanism.privacy, Fraction(1))
    return tuple(
        certain if told else sides[blue][min(distance, len(sides[blue]) - 1)]
        for told, blue, distance in zip(never.tolist(), (levels >= 0).tolist(), distances.tolist(), strict=True)
    )


def _propagated(graph: ColouredGraph, privacy: Notion, values: Mapping[int, Number]) -> Mechanism:
    fixed = {i: represent(privacy, m) for i, m in values.items()}
    if any(isinstance(m, float) for m in fixed.values()):
        fixed = {i: float(m) for i, m in fixed.items()}
    truth = [represent(privacy, Fraction(1))] * len(graph)
    for inside, starts in ((~graph.blue, {i: complement(m) for i, m in fixed.items()}), (graph.blue, fixed)):
        for i, value in nearest_first(graph, privacy, starts, inside, fixed)[0].items():
            if inside[i]:
                truth[i] = value
    return Mechanism(graph, tuple(truth))


def nearest_first(
    graph: ColouredGraph,
    privacy: Notion,
    starts: Mapping[int, Number],
    inside: Array,
    fixed: Mapping[int, Number] | None = None,
) -> tuple[dict[int, Number], dict[int, int]]:
    """Theorem 2. min over the starts b of φ^dist(d, b)(value of b), through the datasets `inside`, in Dijkstra's order.

    φ(x) ≥ x, so the smallest value yet unsettled is final. The start values are feasible exactly when no path
    lowers one of them: then `Infeasible` is raised where their blue values are given as `fixed`, and otherwise the
    start is lowered. Beside the values stands where each came from.
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
        bound = privacy.step(x)
        for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]].tolist():
            if not inside[j] and (j not in starts or i in starts):
                continue
            if bound < value.get(j, 2):
                if j in starts and fixed is not None:
                    raise _clash(graph, privacy, came_from, i, j, fixed)
                value[j], came_from[j] = bound, i
                heapq.heappush(queue, (bound, j))
    return value, came_from


def _clash(
    graph: ColouredGraph, privacy: Notion, came_from: Mapping[int, int], i: int, j: int, fixed: Mapping[int, Number]
) -> Infeasible:
    """The path from one fixed dataset to another that it leaves no room for, told from the lower to the higher value."""
    path = [j, i]
    while path[-1] in came_from:
        path.append(came_from[path[-1]])
    if fixed[path[0]] > fixed[path[-1]]:
        path.reverse()
    allowed, _ = iterate(privacy, fixed[path[0]], len(path) - 1)
    names: tuple[Hashable, ...] = tuple(graph.names[k] for k in path)
    return Infeasible(names, fixed[path[-1]] - allowed)
