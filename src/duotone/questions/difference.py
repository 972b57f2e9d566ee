"""Did B beat A? The difference of two groups' averages against a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from duotone.errors import DuotoneError
from duotone.privacy.numbers import Given, number
from duotone.questions.protocol import Neighbours
from duotone.questions.threshold import clipped


@dataclass(frozen=True)
class Side:
    """What a difference needs to know of one group: how many, their sum, and the largest and smallest from each end."""

    people: int
    total: int
    largest: Sequence[int]
    smallest: Sequence[int]

    @property
    def average(self) -> Fraction | None:
        """None for an empty group."""
        return Fraction(self.total, self.people) if self.people else None


@dataclass(frozen=True)
class Difference:
    """Yes when average(first group) − average(second group) > `more_than`, or equal to it where not `strict`; with a group
    empty, no.

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
    strict: bool = True

    def __post_init__(self) -> None:
        if not (self.lowest <= self.highest and self.reach >= 1 and self.neighbours in ("add-remove", "replace")):
            raise DuotoneError(
                "a difference needs lowest ≤ highest, a reach of 1 or more, and neighbours add-remove or replace"
            )
        object.__setattr__(self, "more_than", Fraction(number(self.more_than, "more_than")))

    def truth(self, people: Sequence[Any]) -> bool:
        """Whether the first group's average is larger by more than the limit."""
        return exceeds(*self._sides(people), Fraction(self.more_than), self.strict)

    def level(self, people: Sequence[Any]) -> float:
        """Search over how many join and leave each group, always those who matter most."""
        first, second = self._sides(people)
        bounds = (self.lowest, self.highest)
        neither = None if self.neighbours == "add-remove" else len(people) - first.people - second.people
        return difference_level(first, second, bounds, Fraction(self.more_than), self.reach, neither, self.strict)

    def _sides(self, people: Sequence[Any]) -> tuple[Side, Side]:
        groups = ((self.value(person) for person in people if self.group(person) == number) for number in (1, 2))
        first, second = (sorted(clipped(values, self.lowest, self.highest)) for values in groups)
        return tuple(Side(len(v), sum(v), v[::-1], v) for v in (first, second))  # type: ignore[return-value]


def exceeds(first: Side, second: Side, limit: Fraction, strict: bool = True) -> bool:
    """The truth: both groups have somebody, and the first average is larger by more than the limit, or by it."""
    a, b = first.average, second.average
    return a is not None and b is not None and (a - b > limit if strict else a - b >= limit)


def difference_level(
    first: Side, second: Side, bounds: tuple[int, int], limit: Fraction, reach: int, neither: int | None, strict: bool = True
) -> int:
    """The level, up to `reach` changes; `neither` is how many people are in neither group, or None under add-remove."""
    yes = exceeds(first, second, limit, strict)
    low, high = bounds
    # To turn a yes, lower the first average and raise the second, that is, lower its mirror image; for a no, the reverse.
    mirror = Side(second.people, -second.total, [-v for v in second.smallest], [-v for v in second.largest])
    if yes:
        lowering, goal = (_Lowered(first, low), _Lowered(mirror, -high)), Goal(limit, strict, yes)
    else:
        up = Side(first.people, -first.total, [-v for v in first.smallest], [-v for v in first.largest])
        lowering, goal = (_Lowered(up, -high), _Lowered(second, low)), Goal(-limit, not strict, yes)
    turns = _replacing(*lowering, goal, reach, neither) if neither is not None else _joining(*lowering, goal, reach)
    return turns - 1 if yes else -turns


@dataclass(frozen=True)
class Goal:
    """What two lowered averages must add up to for the answer to turn: at most `most`, or less where not `included`. Of a
    yes, an empty group turns it too."""

    most: Fraction
    included: bool
    yes: bool

    def met(self, first: Fraction | None, second: Fraction | None) -> bool:
        """Whether these averages turn the answer."""
        if first is None or second is None:
            return False
        return first + second <= self.most if self.included else first + second < self.most


class _Lowered:
    """A group whose average is to fall: the largest leave first, and newcomers come in at the bottom."""

    def __init__(self, side: Side, newcomer: int) -> None:
        self.people, self.newcomer = side.people, newcomer
        self.left = [side.total, *(side.total - s for s in accumulate(side.largest))]

    def after(self, leave: int, join: int) -> tuple[int, int]:
        """Sum and size."""
        return self.left[leave] + join * self.newcomer, self.people - leave + join

    def best(self, changes: int) -> Fraction | None:
        """The least average of a group with somebody in it, after this many people have left or joined."""
        options = [self.after(leave, changes - leave) for leave in range(min(changes, len(self.left) - 1) + 1)]
        return _least([(total, n) for total, n in options if n])


def _least(options: Sequence[tuple[int, int]]) -> Fraction | None:
    """The least of fractions. Python rounds the quotient of two integers correctly, so floats sort out all but ties."""
    floor = min((a / b for a, b in options), default=None)
    return min((Fraction(a, b) for a, b in options if a / b == floor), default=None)


def _joining(first: _Lowered, second: _Lowered, goal: Goal, reach: int) -> int:
    """Under add-remove the groups do not touch each other: so many changes in one, the rest in the other."""
    emptied = min(first.people, second.people) if goal.yes else reach + 1
    least = min(emptied, reach + 1)
    others = [second.best(j) for j in range(least)]
    for i in range(least):
        own = first.best(i)
        turned = next((j for j in range(least - i) if goal.met(own, others[j])), None)
        if turned is not None:
            least = i + turned
        if i >= least:
            break
    return least


def _replacing(first: _Lowered, second: _Lowered, goal: Goal, reach: int, neither: int) -> int:
    """Under replace a person who changes leaves one place for another. More changes never hurt, so the least number is found
    by bisection."""
    most = min(reach, first.people + second.people + neither)
    low, high = 1, most + 1
    while low < high:
        middle = (low + high) // 2
        if any(_turned(total, goal) for total in _moves(first, second, middle, neither)):
            high = middle
        else:
            low = middle + 1
    return low if low <= most else reach + 1


Pair = tuple[tuple[int, int], tuple[int, int]]


def _moves(first: _Lowered, second: _Lowered, changes: int, neither: int) -> Iterator[Pair]:
    """Sums and sizes of both groups after so many changes. Everybody who may join a group does, and of those in a group
    as many leave as there are changes: someone at the top leaving never hurts, unless the group would be empty."""
    for join in range(changes + 1):
        for leave in range(min(changes, first.people) + 1):
            for other in {min(changes - leave, second.people), min(changes - leave, second.people - 1)}:
                if other >= 0 and changes - leave - other <= neither:
                    yield first.after(leave, join), second.after(other, changes - join)


def _turned(pair: Pair, goal: Goal) -> bool:
    (a, n), (b, m) = pair
    if not (n and m):
        return goal.yes
    limit = float(goal.most)
    apart = a / n + b / m - limit
    if abs(apart) > 1e-9 * (abs(a / n) + abs(b / m) + abs(limit)):
        return apart < 0
    return goal.met(Fraction(a, n), Fraction(b, m))
