"""Which of several answers is true, and how far any other one is: the first of some conditions that holds, or which of
several groups has the largest count, sum, average or quantile.

A distance is how many people would have to be different for *any* other answer to be true, less one. Neighbours with the
same answer have distances that differ by at most 1; neighbours with different ones have distance 0, both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duotone.questions.difference import AnySide, Bounds, Compared, difference_level
from duotone.questions.threshold import FAR


class Standing(NamedTuple):
    """The number of the true answer, from 0 on, and the distance of any other one."""

    answer: int
    distance: float


def first_that_holds(levels: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """The standing of every table, from the levels of some conditions: the first one that holds is the answer, and if none
    does, it is the one after the last. A row for each table, as `Standing`.

    **Guarantee**: to give another answer, the condition that holds must fail, or one before it hold. So the distance is the
    least of their levels, all of which are at least 0: exact if they are, and a safe bound if they are.

    >>> first_that_holds([np.array([3, -2, -5]), np.array([4, 1, -1])]).tolist()
    [[0, 3], [1, 1], [2, 0]]
    """
    own = np.stack([*(np.asarray(each, dtype=float) for each in levels), np.full(len(levels[0]), np.inf)])
    answers = np.argmax(own >= 0, axis=0)
    before = np.arange(len(own))[:, None] < answers
    nearest = np.where(before, -1 - own, np.inf).min(axis=0)
    distances = np.minimum(nearest, np.take_along_axis(own, answers[None], axis=0)[0])
    return np.stack([answers, np.minimum(distances, FAR).astype(np.int64)], axis=1)


def leading_count(counts: Sequence[int], step: int) -> Standing:
    """The first of the largest counts, if one change moves no count's lead over another one by more than `step`.

    **Guarantee**: the distance is exact if a newcomer, or someone replaced, can move any lead by that much; else a safe
    bound.

    >>> leading_count([5, 9, 7], 1), leading_count([4, 4], 1)  # of equal counts the first leads
    (Standing(answer=1, distance=2), Standing(answer=0, distance=0))
    """
    first = counts.index(max(counts))
    lead = min(counts[first] - n + (first < i) for i, n in enumerate(counts) if i != first)
    return Standing(first, -(-lead // step) - 1)


@dataclass(frozen=True)
class Changes:
    """What one person may do to two groups' sums: values are from `low` to `high`, a `shared` person may be in both, and
    under replace (`replaced`) somebody leaves for a newcomer."""

    low: int
    high: int
    shared: bool
    replaced: bool

    @property
    def joins(self) -> int:
        """The most by which a newcomer lowers the lead of one sum over another."""
        down, up = max(-self.low, 0), max(self.high, 0)
        return down + up if self.shared else max(down, up)

    @property
    def most(self) -> int:
        """The most by which one change lowers it."""
        return self.joins * (1 + self.replaced)

    @property
    def first(self) -> int:
        """The most by which a change lowers it that brings the first value of the other group."""
        return self.high + max(-self.low, 0) * self.shared + self.joins * self.replaced


def leading_sum(totals: Sequence[int], people: Sequence[int], changes: Changes, every: int | None = None) -> Standing:
    """The first of the largest sums; a group in which nobody has a value has none, and comes after all that have one.

    `people` are those with a value, and under replace `every` is how many there are in all.

    **Guarantee**: the distance is exact under add-remove if nobody is in two groups and newcomers can have any value within
    the bounds, since nobody who leaves moves a lead by more than a newcomer does; else a safe bound.

    >>> leading_sum([90, 40, 0], [9, 4, 0], Changes(0, 10, shared=False, replaced=False))
    Standing(answer=0, distance=5)
    """
    if not any(people):
        return Standing(0, math.inf if every == 0 else 0)
    first = max((i for i, n in enumerate(people) if n), key=lambda i: (totals[i], -i))

    def beaten_by(other: int) -> float:
        lead = totals[first] - totals[other] + (first < other)
        if people[other]:
            return _turns(lead, changes.most)
        return 1 + _turns(lead - changes.first, changes.most)

    others = [i for i in range(len(totals)) if i != first]
    return Standing(first, min(min(beaten_by(i), _emptied(people, first, i, changes.replaced)) for i in others) - 1)


def _turns(lead: int, most: int) -> float:
    return 0 if lead <= 0 else -(-lead // most) if most else math.inf


def _emptied(people: Sequence[int], first: int, other: int, replaced: bool) -> int:
    """How many must change until the first group has no value and another one has."""
    return people[first] + (not people[other] and not replaced)


def leading_value(
    sides: Sequence[AnySide], bounds: Bounds, reach: int, *, shared: bool, neither: Callable[[int, int], int] | None = None
) -> Standing:
    """The first of the largest averages, or quantiles, of some groups; an empty group has none, and comes after all others.

    A person may be in several groups if these are `shared`. `neither` has the number of people in neither of two groups;
    None under add-remove. The distance is searched for up to `reach` changes.

    **Guarantee**: another group leads if it overtakes the first one, or if that one has nobody left and the other somebody:
    the distance is the least of these, exact if `difference_level` is, and a safe bound for shared groups.

    >>> from duotone.questions.difference import Side
    >>> groups = [Side(len(own), sum(own), own[::-1], own) for own in ([1, 2, 9], [3, 3, 3, 3], [])]
    >>> leading_value(groups, (0, 10), 16, shared=False)
    Standing(answer=0, distance=0)
    """
    values, people = [side.value for side in sides], [side.people for side in sides]
    if not any(people):
        return Standing(0, reach if neither is not None and not neither(0, 1) else 0)
    first = max((i for i, n in enumerate(people) if n), key=lambda i: (values[i] or Fraction(0), -i))
    least = reach + 1
    for other in range(len(sides)):
        if other == first or least == 1:
            continue
        compared = Compared((bounds, bounds), (Fraction(1), Fraction(1)), Fraction(0), first < other, shared)
        outside = None if neither is None else neither(first, other)
        overtaken = -difference_level(sides[other], sides[first], compared, least - 1, outside)
        least = min(least, overtaken, _emptied(people, first, other, neither is not None))
    return Standing(first, least - 1)
