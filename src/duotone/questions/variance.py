"""Is a variance, or a standard deviation, above or below a limit?"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from duotone.errors import DuotoneError
from duotone.privacy.numbers import Given, exact
from duotone.questions.protocol import Neighbours, check_neighbours
from duotone.questions.threshold import clipped

SIGNS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}


@dataclass(frozen=True)
class Moments:
    """What a variance needs to know of people's values: their number, their sum, the sum of their squares, and the
    largest and smallest."""

    people: int
    total: int
    squares: int
    largest: Sequence[int]
    smallest: Sequence[int]

    @property
    def scatter(self) -> Fraction:
        """The sum of squared distances from the average; 0 for nobody."""
        return _scatter(self.people, self.total, self.squares)


def _scatter(people: int, total: int, squares: int) -> Fraction:
    return squares - Fraction(total * total, people) if people else Fraction(0)


@dataclass(frozen=True)
class Variance:
    """Yes when the variance of people's values is on the `sign` side of `limit`: >, >=, < or <=.

    `value(person)` is a whole number, or None for no value, clipped to `bounds`. The sum of squared distances from the
    average is divided by the number of people less `less`: 1 for the sample variance (SQL's `variance`), 0 for the
    population's. With too few people to divide by, the answer is no.

    Guarantee: levels are safe bounds, up to `reach` (proofs/levels.md).

    >>> Variance(value=int, bounds=(0, 10), sign=">", limit=8).level([0, 0, 1, 9, 10, 10])
    2
    """

    value: Callable[[Any], int | None]
    bounds: tuple[int, int]
    sign: str
    limit: Given
    less: int = 1
    neighbours: Neighbours = "add-remove"
    reach: int = 64

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if not (self.bounds[0] <= self.bounds[1] and self.reach >= 1 and self.less in (0, 1) and self.sign in SIGNS):
            raise DuotoneError(
                "a variance needs lowest ≤ highest, a reach of 1 or more, less 0 or 1, and a sign >, >=, < or <="
            )
        object.__setattr__(self, "limit", exact(self.limit, "the limit of a variance"))

    def _moments(self, people: Sequence[Any]) -> Moments:
        values = sorted(clipped((v for v in map(self.value, people) if v is not None), *self.bounds))
        return Moments(len(values), sum(values), sum(v * v for v in values), values[::-1], values)

    def truth(self, people: Sequence[Any]) -> bool:
        """Whether there are enough people, and their variance is on the right side."""
        return _on_side(self._moments(people), self.sign, Fraction(self.limit), self.less)

    def level(self, people: Sequence[Any]) -> float:
        """A bound on how many people must leave at the ends and join in the middle, or join at the ends."""
        limit, replaced = Fraction(self.limit), self.neighbours == "replace"
        return variance_level(self._moments(people), self.bounds, self.sign, limit, self.less, self.reach, replaced)


def _on_side(moments: Moments, sign: str, limit: Fraction, less: int) -> bool:
    """The true answer."""
    return moments.people > less and SIGNS[sign](moments.scatter / (moments.people - less), limit)


def variance_level(
    moments: Moments, bounds: tuple[int, int], sign: str, limit: Fraction, less: int, reach: int, replaced: bool
) -> int:
    """The level, up to `reach` changes."""
    yes = _on_side(moments, sign, limit, less)
    aim = OPPOSITE[sign] if yes else sign
    extremes = _highest(moments, bounds, less, replaced) if aim in (">", ">=") else _lowest(moments, less, replaced, reach)
    most = min(reach + 1, moments.people - less) if yes else reach + 1  # too few people also flip a yes
    turns = next(
        (k for k, best in zip(range(most), extremes, strict=False) if best is not None and SIGNS[aim](best, limit)), most
    )
    return turns - 1 if yes else -turns


def _lowest(moments: Moments, less: int, replaced: bool, reach: int) -> Iterator[Fraction | None]:
    """The least variance after 0, 1, 2, … changes: people leave at the ends, and others join at the average, anywhere
    between the bounds."""
    windows = list(_windows(moments, reach))
    for changes in range(reach + 1):
        options = []
        for leave in range(min(changes, len(windows) - 1) + 1):
            size = moments.people - leave + (changes if replaced else changes - leave)
            if size > less:
                options.append(windows[leave] / (size - less))
        yield min(options, default=None)


def _windows(moments: Moments, reach: int) -> Iterator[Fraction]:
    """The least sum of squared distances of those who stay when 0, 1, 2, … leave: some of the largest, and some of the
    smallest."""
    ends = []
    for values in (moments.largest, moments.smallest):
        kept = values[: reach + 1]
        sums, squares = accumulate(kept, initial=0), accumulate((v * v for v in kept), initial=0)
        ends.append(list(zip(sums, squares, strict=True)))
    high, low = ends
    for leave in range(min(reach, moments.people) + 1):
        people = moments.people - leave
        scatters = (
            _scatter(people, moments.total - high[i][0] - low[leave - i][0], moments.squares - high[i][1] - low[leave - i][1])
            for i in range(leave + 1)
            if i < len(high) and leave - i < len(low)
        )
        yield min(scatters)


def _highest(moments: Moments, bounds: tuple[int, int], less: int, replaced: bool) -> Iterator[Fraction | None]:
    """An upper bound on the variance after 0, 1, 2, … changes: newcomers stand at the bounds, and leavers take nothing
    away, as if at the average; but never more than this many people between the bounds can have."""
    joined: list[Fraction] = []
    half = Fraction(bounds[1] - bounds[0], 2)
    while True:
        joined.append(_spread_most(moments, bounds, len(joined)))
        changes = len(joined) - 1
        options = []
        for join, scatter in enumerate(joined):
            leave = min(changes if replaced else changes - join, moments.people + join - less - 1)
            if leave >= 0:
                size = moments.people + join - leave
                options.append(min(scatter, size * half * half) / (size - less))
        yield max(options, default=None)


def _spread_most(moments: Moments, bounds: tuple[int, int], join: int) -> Fraction:
    """The greatest sum of squared distances with `join` more people at the bounds. It is a concave parabola in the
    number of them at the upper bound: its peak is where they balance the others."""
    low, high = bounds
    people = moments.people + join

    def scatter(above: int) -> Fraction:
        below = join - above
        total = moments.total + above * high + below * low
        return _scatter(people, total, moments.squares + above * high * high + below * low * low)

    if high == low or not join:
        return scatter(join)
    peak = Fraction(people * (high + low), 2 * (high - low)) - Fraction(moments.total + join * low, high - low)
    nearest = {min(max(edge, 0), join) for edge in (math.floor(peak), math.ceil(peak))}
    return max(map(scatter, nearest))
