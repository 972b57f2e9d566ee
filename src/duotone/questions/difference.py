"""Did B beat A? The difference of two groups' averages against a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from duotone.errors import DuotoneError
from duotone.number import Given, number
from duotone.questions.protocol import Neighbours
from duotone.questions.threshold import clipped


@dataclass(frozen=True)
class Difference:
    """Yes when average(first group) − average(second group) > `more_than`; with a group empty, no.

    `group(person)` is 1, 2 or anything else for neither, as a person may be; `value(person)` is an integer, clipped to
    [lowest, highest]. Levels are searched for up to `reach` changes, as many as the mechanism has levels.

    Guarantee: levels are exact distances up to `reach` (docs/questions.md).

    >>> trial = Difference(group=lambda p: p[0], value=lambda p: p[1], lowest=0, highest=1, more_than=0)
    >>> trial.level([(1, 1)] * 9 + [(1, 0)] * 3 + [(2, 1)] * 5 + [(2, 0)] * 7)
    5
    """

    group: Callable[[Any], Any]
    value: Callable[[Any], int]
    lowest: int
    highest: int
    more_than: Given
    neighbours: Neighbours = "add-remove"
    reach: int = 64

    def __post_init__(self) -> None:
        if not (self.lowest <= self.highest and self.reach >= 1 and self.neighbours in ("add-remove", "replace")):
            raise DuotoneError(
                "a difference needs lowest ≤ highest, a reach of 1 or more, and neighbours add-remove or replace"
            )
        object.__setattr__(self, "more_than", Fraction(number(self.more_than, "more_than")))

    def truth(self, people: Sequence[Any]) -> bool:
        """Whether the first group's average is larger by more than the limit."""
        first, second = self._values(people)
        if not (first and second):
            return False
        return Fraction(sum(first), len(first)) - Fraction(sum(second), len(second)) > self._limit

    def level(self, people: Sequence[Any]) -> float:
        """Search over how many join and leave each group, always those who matter most."""
        yes, (first, second) = self.truth(people), self._values(people)
        neither = len(people) - len(first) - len(second)
        if yes:
            sides = _Side(first, self.lowest, smallest_leave=False), _Side(second, self.highest, smallest_leave=True)
        else:
            sides = _Side(first, self.highest, smallest_leave=True), _Side(second, self.lowest, smallest_leave=False)
        steps = next((k for k in range(1, self.reach + 1) if self._turns(yes, sides, neither, k)), self.reach + 1)
        return steps - 1 if yes else -steps

    def _turns(self, yes: bool, sides: tuple[_Side, _Side], neither: int, k: int) -> bool:
        """Whether exactly k changes can turn the answer."""
        for leave, other_leave, join, other_join in self._changes(sides[0].size, sides[1].size, neither, k):
            first, second = sides[0].average(leave, join), sides[1].average(other_leave, other_join)
            if yes != (first is not None and second is not None and first - second > self._limit):
                return True
        return False

    def _changes(self, first: int, second: int, neither: int, k: int) -> Iterator[tuple[int, int, int, int]]:
        """How many leave and join each group in k changes: a replaced person leaves a group, or neither, and joins one.

        Joining with the extreme value never hurts, so whoever may join a group does.
        """
        for leave in range(min(first, k) + 1):
            for other_leave in range(min(second, k - leave) + 1):
                spare = k - leave - other_leave
                if self.neighbours == "add-remove" or spare <= neither:
                    joins = spare if self.neighbours == "add-remove" else k
                    yield from ((leave, other_leave, join, joins - join) for join in range(joins + 1))

    @property
    def _limit(self) -> Fraction:
        return Fraction(self.more_than)

    def _values(self, people: Sequence[Any]) -> tuple[list[int], list[int]]:
        groups = ((self.value(person) for person in people if self.group(person) == number) for number in (1, 2))
        first, second = (clipped(values, self.lowest, self.highest) for values in groups)
        return first, second


class _Side:
    """One group: its average after those who hinder most have left and newcomers have joined."""

    def __init__(self, values: Sequence[int], newcomer: int, *, smallest_leave: bool) -> None:
        self.size, self.newcomer = len(values), newcomer
        self.sums = [0, *accumulate(sorted(values, reverse=not smallest_leave))]

    def average(self, leave: int, join: int) -> Fraction | None:
        """None for an empty group."""
        n = self.size - leave + join
        return Fraction(self.sums[-1] - self.sums[leave] + join * self.newcomer, n) if n else None
