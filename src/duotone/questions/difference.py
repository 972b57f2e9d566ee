"""Did B beat A? The difference of two groups' averages, or quantiles, against a limit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from duotone.errors import DuotoneError
from duotone.privacy.numbers import Given, exact
from duotone.questions.protocol import Neighbours, check_neighbours
from duotone.questions.quantile import LoweredQuantile, QuantileSide
from duotone.questions.threshold import clipped


@dataclass(frozen=True)
class Side:
    """What a difference of averages needs to know of a group: its size, its sum, and its largest and smallest
    values."""

    people: int
    total: int
    largest: Sequence[int]
    smallest: Sequence[int]

    @property
    def value(self) -> Fraction | None:
        """The average; None for an empty group."""
        return Fraction(self.total, self.people) if self.people else None

    @property
    def mirrored(self) -> Side:
        """This group with the sign of every value reversed."""
        return Side(self.people, -self.total, [-v for v in self.smallest], [-v for v in self.largest])

    def lowered(self, newcomer: int) -> LoweredAverage:
        """The group for a search that lowers it, with newcomers at the bottom."""
        return LoweredAverage(self, newcomer)


Bounds = tuple[int, int]


@dataclass(frozen=True)
class Difference:
    """Yes when w₁·average(first side) − w₂·average(second side) > `more_than` (or ≥, if not `strict`); an empty side is
    a no. If `quantiles` has a number for a side, that lower quantile replaces its average: 1/2 for the median, 0 for
    the smallest value, 1 for the largest.

    `first(person)` and `second(person)` are a person's integer values on the two sides, None for a person who is not on
    it; they are clipped to `bounds`, one pair for each side. `weights` are positive. Set `shared` if a person may be on
    both sides. Levels are searched for up to `reach` changes, as many as the mechanism has levels.

    Guarantee: levels are exact distances up to `reach`; for `shared` sides, a safe bound (proofs/levels.md).

    >>> arm = {"A": lambda p: p[1] if p[0] == "A" else None, "B": lambda p: p[1] if p[0] == "B" else None}
    >>> trial = Difference(arm["A"], arm["B"], bounds=((0, 1), (0, 1)), more_than=0)
    >>> trial.level([("A", 1)] * 9 + [("A", 0)] * 3 + [("B", 1)] * 5 + [("B", 0)] * 7)
    5
    """

    first: Callable[[Any], int | None]
    second: Callable[[Any], int | None]
    bounds: tuple[Bounds, Bounds]
    more_than: Given
    weights: tuple[Given, Given] = (1, 1)
    shared: bool = False
    neighbours: Neighbours = "add-remove"
    reach: int = 64
    strict: bool = True
    quantiles: tuple[Given | None, Given | None] = (None, None)

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if not (all(low <= high for low, high in self.bounds) and self.reach >= 1):
            raise DuotoneError("a difference needs lowest ≤ highest on both sides, and a reach of 1 or more")
        weights = tuple(exact(weight, "a weight") for weight in self.weights)
        if not all(weight > 0 for weight in weights):
            raise DuotoneError("the weights of a difference are positive")
        quantiles = tuple(None if q is None else Fraction(exact(q, "a quantile")) for q in self.quantiles)
        if not all(q is None or 0 <= q <= 1 for q in quantiles):
            raise DuotoneError("the quantiles of a difference are between 0 and 1")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "quantiles", quantiles)
        object.__setattr__(self, "more_than", exact(self.more_than, "more_than"))

    @property
    def _compared(self) -> Compared:
        first, second = self.weights
        return Compared(self.bounds, (Fraction(first), Fraction(second)), Fraction(self.more_than), self.strict, self.shared)

    def truth(self, people: Sequence[Any]) -> bool:
        """Whether the first side's average is larger by more than the limit."""
        return self._compared.truth(*self._sides(people))

    def level(self, people: Sequence[Any]) -> float:
        """Search over how many people join and leave each side, always those with the greatest effect."""
        sides = self._sides(people)
        if self.neighbours == "add-remove":
            return difference_level(*sides, self._compared, self.reach, None)
        on_a_side = sum(self.first(p) is not None or self.second(p) is not None for p in people)
        return difference_level(*sides, self._compared, self.reach, len(people) - on_a_side)

    def _sides(self, people: Sequence[Any]) -> tuple[AnySide, AnySide]:
        first, second = (
            _side(sorted(clipped((v for v in map(value, people) if v is not None), *bounds)), q, self.reach)
            for value, bounds, q in zip((self.first, self.second), self.bounds, self.quantiles, strict=True)
        )
        return first, second


AnySide = Side | QuantileSide


def _side(values: Sequence[int], q: Given | None, reach: int) -> AnySide:
    if q is not None:
        return QuantileSide.of(values, Fraction(q), reach)
    return Side(len(values), sum(values), values[::-1], values)


@dataclass(frozen=True)
class Compared:
    """How two sides are compared: w₁·value₁ − w₂·value₂ against a limit. `shared`: whether one person may be on
    both."""

    bounds: tuple[Bounds, Bounds]
    weights: tuple[Fraction, Fraction]
    limit: Fraction
    strict: bool = True
    shared: bool = False

    def truth(self, first: AnySide, second: AnySide) -> bool:
        """Whether neither side is empty, and the first exceeds the second by more than the limit (or by at least
        it)."""
        a, b = first.value, second.value
        if a is None or b is None:
            return False
        apart = self.weights[0] * a - self.weights[1] * b
        return apart > self.limit if self.strict else apart >= self.limit


def difference_level(first: AnySide, second: AnySide, compared: Compared, reach: int, neither: int | None) -> int:
    """The level, up to `reach` changes; `neither` is how many people are on neither side, or None under add-remove."""
    yes = compared.truth(first, second)
    (low, high), (other_low, other_high) = compared.bounds
    # To flip a yes, lower the first side and raise the second, that is, lower its mirror image; for a no, the reverse.
    if yes:
        lowering: tuple[Lowered, Lowered] = first.lowered(low), second.mirrored.lowered(-other_high)
        goal = Goal(compared.weights, compared.limit, compared.strict, yes)
    else:
        lowering = first.mirrored.lowered(-high), second.lowered(other_low)
        goal = Goal(compared.weights, -compared.limit, not compared.strict, yes)
    if compared.shared:
        turns = _sharing(*lowering, goal, reach, replaced=neither is not None)
    else:
        turns = _joining(*lowering, goal, reach) if neither is None else _replacing(*lowering, goal, reach, neither)
    return turns - 1 if yes else -turns


@dataclass(frozen=True)
class Goal:
    """What the weighted values of two lowered sides must sum to for the answer to flip: at most `most`, or less if not
    `included`. For a yes, an empty side flips it too."""

    weights: tuple[Fraction, Fraction]
    most: Fraction
    included: bool
    yes: bool

    def met(self, first: Fraction | None, second: Fraction | None) -> bool:
        """Whether these sides flip the answer."""
        if first is None or second is None:
            return False
        total = self.weights[0] * first + self.weights[1] * second
        return total <= self.most if self.included else total < self.most


class LoweredAverage:
    """A group whose average is to fall: the largest leave first, and newcomers join at the bottom."""

    def __init__(self, side: Side, newcomer: int) -> None:
        self.people, self.newcomer = side.people, newcomer
        self.left = [side.total, *(side.total - s for s in accumulate(side.largest))]

    def after(self, leave: int, join: int) -> tuple[int, int]:
        """Sum and size."""
        return self.left[leave] + join * self.newcomer, self.people - leave + join

    def above(self, leave: int) -> int:
        """The sum of distances from the bottom, for those who stay."""
        return self.left[leave] - (self.people - leave) * self.newcomer

    def best(self, changes: int) -> Fraction | None:
        """The least average of a non-empty group after this many people have left or joined."""
        most = min(changes, len(self.left) - 1)
        ways = [self.after(leave, changes - leave) for leave in range(most + 1)]
        return _least([total for total in ways if total[1]])


Lowered = LoweredAverage | LoweredQuantile
"""A group whose average or quantile is to fall."""


def _least(options: Sequence[tuple[int, int]]) -> Fraction | None:
    """The smallest of some fractions. Python rounds the quotient of two integers correctly, so floats decide all but
    ties."""
    floor = min((a / b for a, b in options), default=None)
    return min((Fraction(a, b) for a, b in options if a / b == floor), default=None)


def _joining(first: Lowered, second: Lowered, goal: Goal, reach: int) -> int:
    """Under add-remove the groups change independently: some changes are in one group, the rest in the other."""
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


def _sharing(first: Lowered, second: Lowered, goal: Goal, reach: int, *, replaced: bool) -> int:
    """If one person may be on both sides, one change may be one on each: a bound, never more than the distance, that
    changes by at most 1 between neighbours."""
    emptied = min(first.people, second.people) if goal.yes else reach + 1
    best = [_least_so_far(side, replaced) for side in (first, second)]
    for changes in range(min(emptied, reach + 1)):
        own, other = (next(side) for side in best)
        if goal.met(own, other):
            return changes
    return min(emptied, reach + 1)


def _least_so_far(side: Lowered, replaced: bool) -> Iterator[Fraction | None]:
    """The least after up to 0, 1, 2, … changes; with `replaced`, each may be one person leaving and one joining."""
    least: Fraction | None = None
    for changes in itertools.count():
        if replaced:  # that the largest leave and others join at the bottom never raises it
            total, size = side.after(min(changes, side.people), changes)
            option = Fraction(total, size) if size else None
        else:
            option = side.best(changes)
        least = option if least is None or (option is not None and option < least) else least
        yield least


def _replacing(first: Lowered, second: Lowered, goal: Goal, reach: int, neither: int) -> int:
    """Under replace a person leaves one place for another. More changes never hurt, so the least number is found by
    bisection."""
    most = min(reach, first.people + second.people + neither)
    low, high = 1, most + 1
    while low < high:
        middle = (low + high) // 2
        if any(_turned(total, goal) for total in _moves(first, second, goal, middle, neither)):
            high = middle
        else:
            low = middle + 1
    return low if low <= most else reach + 1


Pair = tuple[tuple[int, int], tuple[int, int]]


def _moves(first: Lowered, second: Lowered, goal: Goal, changes: int, neither: int) -> Iterator[Pair]:
    """Sums and sizes of both groups after this many changes, the best among them. Everybody who may join a group does,
    and as many leave a group as there are changes: someone at the top leaving never hurts, unless the group becomes
    empty."""
    for leave in range(min(changes, first.people) + 1):
        for other in {min(changes - leave, second.people), min(changes - leave, second.people - 1)}:
            if other >= 0 and changes - leave - other <= neither:
                for join in _joins(first, second, goal, changes, leave, other):
                    yield first.after(leave, join), second.after(other, changes - join)


def _joins(first: Lowered, second: Lowered, goal: Goal, changes: int, leave: int, other: int) -> Iterable[int]:
    """The best number of newcomers who join the first group; the rest join the second.

    For averages a few numbers suffice: if n people stay, with sum of distances α above the bottom, the average of n + j
    people is α / (n + j) above it. This is convex in j, and so is the sum of both sides. It is least where the slopes
    are equal; the best whole number is next to that, unless a group has only newcomers.
    """
    if not (isinstance(first, LoweredAverage) and isinstance(second, LoweredAverage)):
        return range(changes + 1)
    sides = ((first, leave, goal.weights[0]), (second, other, goal.weights[1]))
    (n, a), (m, b) = ((side.people - gone, math.sqrt(weight * side.above(gone))) for side, gone, weight in sides)
    middle = round((a * (m + changes) - b * n) / (a + b)) if a + b else 0
    near = (min(max(join, 0), changes) for join in range(middle - 2, middle + 3))
    return {*near, 0, min(1, changes), max(changes - 1, 0), changes}


def _turned(pair: Pair, goal: Goal) -> bool:
    (a, n), (b, m) = pair
    if not (n and m):
        return goal.yes
    first, second, limit = float(goal.weights[0]) * (a / n), float(goal.weights[1]) * (b / m), float(goal.most)
    apart = first + second - limit
    if abs(apart) > 1e-9 * (abs(first) + abs(second) + abs(limit)):
        return apart < 0
    return goal.met(Fraction(a, n), Fraction(b, m))
