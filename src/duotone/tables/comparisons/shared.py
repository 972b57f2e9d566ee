"""What every compiled comparison has, and the levels of a sum of scores over people, which most kinds use."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.model.checks import Reduction
from duotone.model.dataset import FLOAT_STEPS, Dataset, Grid
from duotone.questions.threshold import People, Scores, levels, somebody, who_matters
from duotone.questions.units import Units
from duotone.tables.engines.person_columns import PersonColumns
from duotone.tables.engines.results import Ends, Ranked, Request, Result, Tally
from duotone.tables.sql.comparison import Settled
from duotone.tables.sql.condition import Condition, Operand, any_value, both, columns_of, combinations

Array = NDArray[Any]
Results = Mapping[str, Result]
Levels = Callable[[Results, Array], NDArray[np.float64]]


@dataclass(frozen=True)
class CompiledComparison:
    """A comparison on the engine: the columns of a person, what is requested of them, and the levels that follow, from
    the results and how many people there are. `exact` tells whether these are distances; `settled`, that the answer is
    the same on every table."""

    columns: PersonColumns
    requests: Mapping[str, Request]
    levels: Levels
    exact: bool
    grids: Mapping[str, Grid] = field(default_factory=dict)
    settled: Settled | None = None
    units: Units | None = None
    """What tells how far the statistic that is compared must be from its limit; None where there is no such number."""
    searched: int = 0
    """Changes up to which a level is searched for; 0 where it follows at once."""

    @property
    def however_far(self) -> bool:
        """Whether a level is known however far it is: it follows at once from how many people have each score."""
        return not self.searched and all(isinstance(request, Tally) for request in self.requests.values())


def group_levels(people: Array, declared: Dataset, level: Callable[[int, int | None], float]) -> NDArray[np.float64]:
    """The levels of groups, each by itself: from its place, and how many people it has where one may change for another."""
    every = people.tolist() if declared.replaced else [None] * len(people)
    return np.array([level(group, n) for group, n in enumerate(every)], dtype=float)


def possible(*conditions: Condition) -> bool:
    """Whether a row can satisfy all conditions, as far as the question shows."""
    return (True,) in combinations([functools.reduce(both, conditions)])[0]


def independent(declared: Dataset, conditions: Sequence[Condition], values: Sequence[Operand | Condition]) -> bool:
    """Whether what is counted can have any value, and does not also stand in a condition, which might then rule out the far
    ends of its values. The unit cannot: no two people have the same."""
    looked_at = set().union(*(columns_of(condition) for condition in conditions))
    aimed_at = {v.column for v in values if isinstance(v, Operand)}
    free = declared.unit is None or declared.unit not in looked_at | aimed_at
    return free and not looked_at & aimed_at and all(any_value(v) for v in values if isinstance(v, Operand))


def require_short(grids: Mapping[str, Grid], how: Reduction | None) -> None:
    """A person's average is divided out as a float."""
    if how == "avg" and any(max(abs(g.low), abs(g.high)) > FLOAT_STEPS for g in grids.values()):
        raise DuotoneError("the bounds are too far apart for a person's average: give a coarser grid")


def score_bounds(low: int, high: int, declared: Dataset, absent: bool) -> tuple[int, int]:
    """The scores that someone new can have; `absent` tells whether someone can be there with no score at all, which is 0."""
    return (min(low, 0), max(high, 0)) if declared.replaced and absent else (low, high)


def score_ends(final: Callable[[int], int], bounds: tuple[int, int], declared: Dataset, reach: int) -> Ends:
    """What levels need of the far ends. Final scores are linear in what is read."""
    down, up = who_matters(*bounds, declared.neighbours)
    shift = final(0)
    scale = final(1) - shift
    read = [None if score is None else Fraction(score - shift, scale) for score in (down, up)]
    largest, smallest = read if scale > 0 else read[::-1]
    return Ends(
        reach,
        largest_from=None if largest is None else math.ceil(largest),
        smallest_to=None if smallest is None else math.floor(smallest),
        farthest=max(math.ceil(abs(Fraction(end - shift, scale))) for end in bounds),
    )


def score_levels(
    read: Callable[[int], int], ends: tuple[int, int], at_least: int, declared: Dataset, *, absent: bool, peopled: bool
) -> Levels:
    """Levels of a sum of scores, each from one of the `ends` to the other and linear in what is read, or tallied. `absent`
    tells whether someone can be there with no score at all, and `peopled`, that of nobody it is a no (see `somebody`)."""

    def levels_of(results: Results, people: Array) -> NDArray[np.float64]:
        result = results["s"]
        missing = people - result.people if declared.replaced else np.zeros_like(people)
        crowded = peopled and at_least == 0
        crowd = _crowd(people, max(map(abs, ends)), at_least, result.reach)

        def final(score: int) -> int:
            return somebody(score, crowd) if crowded else score

        def seen(value: int) -> int:
            return final(read(value))

        low, high = score_bounds(final(ends[0]), final(ends[1]), declared, absent)
        scored = _tallied if result.counts else _ended
        beside = abs(final(at_least)) + high - low
        tally = scored(result, missing, seen, beside)
        there = People(result.people, people, absent) if peopled and at_least < 0 else None
        return levels(tally, low, high, final(at_least), declared.neighbours, there)

    return levels_of


def _crowd(people: Array, farthest: int, at_least: int, reach: int | None) -> int:
    """More people than there are in any group, and in any that differs from one by as many as a level can be; levels beyond
    `reach` need not be exact."""
    most = int(people.max(initial=0))
    return most + (reach if reach is not None else most * farthest + abs(at_least)) + 4


def _tallied(result: Result, missing: Array, seen: Callable[[int], int], beside: int) -> Scores:
    pairs = [(seen(value), count) for value, count in result.counts.items()] + [(0, missing)]
    kind = _kind((beside + max(abs(v) for v, _ in pairs) + 1) * (int(result.people.max(initial=0)) + 1))
    pairs = sorted(((v, n.astype(kind)) for v, n in pairs), key=lambda pair: -pair[0])
    return Scores(sum((v * n for v, n in pairs), np.zeros(len(missing), dtype=kind)), pairs, pairs[::-1])


def _ended(result: Result, missing: Array, seen: Callable[[int], int], beside: int) -> Scores:
    """Final scores are linear in what came back, so that totals follow from totals."""
    shift = seen(0)
    scale = seen(1) - shift
    largest, smallest = (result.largest, result.smallest) if scale > 0 else (result.smallest, result.largest)
    totals = abs(scale) * _farthest(result.total) + abs(shift) * _farthest(result.people)
    each = abs(scale) * max(largest.farthest(), smallest.farthest()) + abs(shift)
    kind = _kind(totals + each + beside)
    total: Array = scale * result.total.astype(kind) + shift * result.people.astype(kind)
    ends = []
    for side, descending in ((largest, True), (smallest, False)):
        scored = Ranked(scale * side.values.astype(kind) + shift, side.people, side.starts)
        ends.append(scored.joined(missing, descending) if missing.any() else scored)
    return Scores(total, ends[0], ends[1], result.reach)


def _farthest(numbers: Array) -> int:
    return max(abs(int(numbers.max(initial=0))), abs(int(numbers.min(initial=0))))


def _kind(heaviest: int) -> type:
    """Numbers of 64 bits where they are enough, whatever is added up on the way."""
    return np.int64 if heaviest < 2**60 else object
