"""Did B beat A, where a person has several rows? Averages, or shares, of the rows on two sides."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from duotone.errors import DuotoneError
from duotone.privacy.numbers import Given, exact
from duotone.questions.difference import Bounds
from duotone.questions.protocol import Neighbours, check_neighbours
from duotone.questions.threshold import clipped


@dataclass(frozen=True)
class Scale:
    """Rows of both sides on one scale of whole numbers, from 0 to `span`: a row of the first side with value x is at
    `first`[0]·x + `first`[1], one of the second side at `second`[0]·x + `second`[1]. The first side is to be above.

    `highs` and `lows` are the most that one row can add to the sums of `Sides`.

    >>> Scale.of(((0, 10), (0, 10)), (Fraction(1), Fraction(-11, 10)), Fraction(0))
    Scale(span=110, first=(10, 0), second=(11, 0), highs=(100, 110), lows=(110, 110))
    """

    span: int
    first: tuple[int, int]
    second: tuple[int, int]
    highs: tuple[int, int]
    lows: tuple[int, int]

    @staticmethod
    def of(bounds: tuple[Bounds, Bounds], weights: tuple[Fraction, Fraction], limit: Fraction) -> Scale:
        """For weight·first + other weight·second against a limit: weight·first against limit − other weight·second."""
        parts = math.lcm(weights[0].denominator, weights[1].denominator, limit.denominator)
        one, other, apart = int(weights[0] * parts), int(-weights[1] * parts), int(limit * parts)
        first, second = sorted(one * end for end in bounds[0]), sorted(other * end + apart for end in bounds[1])
        low, high = min(first[0], second[0]), max(first[1], second[1])
        highs, lows = (first[1] - low, high - second[0]), (high - first[0], second[1] - low)
        return Scale(high - low, (one, -low), (other, apart - low), highs, lows)


@dataclass(frozen=True)
class Parts:
    """What people add to a sum: the total, and people's largest parts in falling order."""

    total: int
    largest: Sequence[int]

    def taken(self) -> list[int]:
        """The most that 0, 1, 2, … people take with them."""
        return list(accumulate(self.largest, initial=0))


@dataclass(frozen=True)
class Sides:
    """What is known of the rows of two sides on one scale.

    `high`: how far the first side's rows are above 0, and the second side's below the span. `low`: how far the first
    side's are below the span, and the second side's above 0. `people` are those with rows on each side.
    """

    high: tuple[Parts, Parts]
    low: tuple[Parts, Parts]
    people: tuple[int, int]

    def yes(self, *, strict: bool) -> bool:
        """Whether the first average is above the second (or as high), and neither side is empty: so if h rows have height
        H and depth D, and k others H' and D', H / h > H' / k where H + D = h·span, that is, where H·D' > D·H'."""
        high, low = (math.prod(part.total for part in parts) for parts in (self.high, self.low))
        return high > low if strict else high >= low and min(self.people) > 0


def rates_level(sides: Sides, scale: Scale, rows: int, reach: int, *, strict: bool, replaced: bool) -> int:
    """The level, up to `reach` changes, if a person has up to so many rows on both sides together."""
    yes = sides.yes(strict=strict)
    high, low = _Product(sides.high, scale.highs, rows), _Product(sides.low, scale.lows, rows)
    falling, rising = (high, low) if yes else (low, high)

    def turned(leave: int, join: int) -> bool:
        least, most = falling.least(leave), rising.most(join)
        return least <= most if yes == strict else least < most

    def turn(changes: int) -> bool:
        if replaced:
            return turned(changes, changes)
        return any(turned(leave, changes - leave) for leave in range(changes + 1))

    turns = 1 + bisect.bisect_left(range(1, reach + 1), True, key=turn)  # more changes never hurt
    return min(turns, *sides.people) - 1 if yes else -turns


class _Product:
    """One of the two products: to a part a person adds at most `each` for each of up to `rows` rows on both sides."""

    def __init__(self, parts: tuple[Parts, Parts], each: tuple[int, int], rows: int) -> None:
        self.first, self.second = (part.total for part in parts)
        self.taken = [part.taken() for part in parts]
        self.each, self.rows = each, rows

    def least(self, leave: int) -> int:
        """When so many people leave, who take no more from both parts together than their rows can have."""
        (a, b), (one, other) = (most[min(leave, len(most) - 1)] for most in self.taken), self.each
        rest = min(b, (self.rows * leave * one - a) * other // one) if one else b
        other_rest = min(a, (self.rows * leave * other - b) * one // other) if other else a
        return min((self.first - a) * (self.second - rest), (self.first - other_rest) * (self.second - b))

    def most(self, join: int) -> Fraction:
        """When so many people join, and each of their rows, or a part of it, adds what it can to one part."""
        (one, other), rows = self.each, self.rows * join
        middle = Fraction(one * (self.second + other * rows) - other * self.first, 2 * one * other or 1)
        shares = {min(max(middle, Fraction(0)), Fraction(rows))} if one * other else {Fraction(0), Fraction(rows)}
        return max((self.first + one * share) * (self.second + other * (rows - share)) for share in shares)


@dataclass(frozen=True)
class Rates:
    """Yes when w₁·average(rows of the first side) − w₂·average(rows of the second side) > `more_than` (or ≥, if not
    `strict`); an empty side is a no.

    `first(person)` and `second(person)` are the whole numbers in a person's rows on the two sides, clipped to `bounds`,
    one pair for each side. A person counts for at most `max_rows` rows on both sides together: of n rows, if they are
    more, each counts max_rows / n, and sums are rounded down. Levels are searched for up to `reach`.

    Guarantee: levels are safe bounds (proofs/levels.md).

    >>> clicks = {arm: lambda p, arm=arm: [c for a, c in p if a == arm] for arm in "AB"}
    >>> trial = Rates(clicks["A"], clicks["B"], bounds=((0, 1), (0, 1)), more_than=0, max_rows=3)
    >>> trial.level([[("A", 1), ("A", 1)]] * 9 + [[("A", 0), ("B", 1)]] * 3 + [[("B", 0)] * 3] * 5)
    4
    """

    first: Callable[[Any], Iterable[int]]
    second: Callable[[Any], Iterable[int]]
    bounds: tuple[Bounds, Bounds]
    more_than: Given
    max_rows: int
    weights: tuple[Given, Given] = (1, 1)
    neighbours: Neighbours = "add-remove"
    reach: int = 64
    strict: bool = True

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if not (all(low <= high for low, high in self.bounds) and self.reach >= 1 and self.max_rows >= 1):
            raise DuotoneError(
                "a difference of rows needs lowest ≤ highest on both sides, and a reach and max_rows of 1 or more"
            )
        weights = tuple(exact(weight, "a weight") for weight in self.weights)
        if not all(weight > 0 for weight in weights):
            raise DuotoneError("the weights of a difference are positive")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "more_than", exact(self.more_than, "more_than"))

    def truth(self, people: Sequence[Any]) -> bool:
        """Whether the first side's average is larger by more than the limit."""
        return self._sides(people).yes(strict=self.strict)

    def level(self, people: Sequence[Any]) -> float:
        """How many must join with all their rows at one end, or leave with what they add, until the averages are level."""
        replaced = self.neighbours == "replace"
        return rates_level(self._sides(people), self._scale, self.max_rows, self.reach, strict=self.strict, replaced=replaced)

    @property
    def _scale(self) -> Scale:
        first, second = (Fraction(weight) for weight in self.weights)
        return Scale.of(self.bounds, (first, -second), Fraction(self.more_than))

    def _sides(self, people: Sequence[Any]) -> Sides:
        everybody = [self._person(person) for person in people]
        first, first_low, second_high, second = (_parts(person[i] for person in everybody) for i in range(4))
        there = [sum(any(True for _ in own(person)) for person in people) for own in (self.first, self.second)]
        return Sides((first, second), (first_low, second_high), (there[0], there[1]))

    def _person(self, person: Any) -> list[int]:
        """How far someone's rows of the first side are above 0 and below the span, and those of the second."""
        values = [clipped(own(person), *ends) for own, ends in zip((self.first, self.second), self.bounds, strict=True)]
        lines, every, made = (self._scale.first, self._scale.second), sum(map(len, values)), []
        for own, (weight, shift) in zip(values, lines, strict=True):
            up = sum(weight * x + shift for x in own)
            made += [up, self._scale.span * len(own) - up]
        return made if every <= self.max_rows else [part * self.max_rows // every for part in made]


def _parts(values: Iterable[int]) -> Parts:
    largest = sorted(values, reverse=True)
    return Parts(sum(largest), largest)
