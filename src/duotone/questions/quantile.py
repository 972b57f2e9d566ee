"""Is a quantile, the smallest or the largest value above a limit? And the quantiles of two groups, for comparing
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from duotone.errors import DuotoneError
from duotone.privacy.numbers import Given, exact
from duotone.questions.protocol import Neighbours
from duotone.questions.threshold import CROWD, Threshold


def quantile(q: Given, above: Callable[[Any], bool], neighbours: Neighbours = "add-remove") -> Threshold:
    """Yes when the lower q-quantile, 0 < q < 1, is above a limit; `above(person)` says whether a person's value is.

    The lower q-quantile of n values is the ⌈q·n⌉-th smallest. It is above the limit exactly when fewer than q·n values
    are not, which is a sum over people. Without people it is a no.

    >>> median = quantile("1/2", lambda age: age > 40)
    >>> median.truth([30, 45, 50]), median.level([30, 45, 50])
    (True, 0)
    """
    share = exact(q, "q")
    if not 0 < share < 1:
        raise DuotoneError("q must be between 0 and 1: for the smallest or largest value, ask for smallest")
    beyond, others = (int(score * share.denominator) for score in quantile_scores(Fraction(share)))
    return Threshold(lambda person: beyond if above(person) else others, others, beyond, 1, neighbours=neighbours)


def quantile_scores(q: Fraction) -> tuple[Fraction, Fraction]:
    """The scores of a person above a limit, and of any other: the lower q-quantile is above it exactly when their sum
    is above 0.

    >>> quantile_scores(Fraction(1, 2))
    (Fraction(1, 2), Fraction(-1, 2))
    """
    return q, q - 1


def smallest(above: Callable[[Any], bool], neighbours: Neighbours = "add-remove") -> Threshold:
    """Yes when there are people and all are above a limit: is the smallest value above it?

    One person below outweighs any number of people above, so this is a sum over people too. The largest value, and "is
    there anyone", are counts: `Threshold` of those above, at least 1.

    >>> smallest(lambda age: age >= 18).level([30, 17, 45, 12])
    -2
    """
    return Threshold(lambda person: 1 if above(person) else -CROWD, -CROWD, 1, 1, neighbours=neighbours)


def rank(q: Fraction, people: int) -> int:
    """The rank of the lower q-quantile among n values, counted from the smallest: ⌈q·n⌉. For q = 0 it is the smallest
    value, for q = 1 the largest.

    >>> rank(Fraction(1, 2), 5), rank(Fraction(1, 2), 4), rank(Fraction(0), 4), rank(Fraction(1), 4)
    (3, 2, 1, 4)
    """
    return max(1, -(-q.numerator * people // q.denominator))


@dataclass(frozen=True)
class QuantileSide:
    """The number of people, and the values around their q-quantile: `upwards` from it, itself included, and `downwards`
    without it, one for each possible change. `turned` if all signs are reversed.

    >>> QuantileSide.of([1, 4, 4, 7, 9], Fraction(1, 2), 1)
    QuantileSide(people=5, q=Fraction(1, 2), upwards=[4, 7], downwards=[4], turned=False)
    """

    people: int
    q: Fraction
    upwards: Sequence[int]
    downwards: Sequence[int]
    turned: bool = False

    @staticmethod
    def of(values: Sequence[int], q: Fraction, reach: int) -> QuantileSide:
        """From all values in order."""
        at = rank(q, len(values)) - 1
        return QuantileSide(len(values), q, values[at : at + reach + 1], values[max(0, at - reach) : at][::-1])

    @property
    def value(self) -> Fraction | None:
        """The quantile; None for an empty group."""
        return Fraction(self.upwards[0]) if self.people else None

    @property
    def mirrored(self) -> QuantileSide:
        """This side with the sign of every value reversed."""
        upwards, downwards = [-v for v in self.upwards], [-v for v in self.downwards]
        return QuantileSide(self.people, self.q, upwards[:1] + downwards, upwards[1:], not self.turned)

    def lowered(self, newcomer: int) -> LoweredQuantile:
        """The group for a search that lowers it, with newcomers at the bottom."""
        return LoweredQuantile(self, newcomer)

    def rank(self, people: int) -> int:
        """The rank of the quantile among this many values, counted from the smallest."""
        return people + 1 - rank(self.q, people) if self.turned else rank(self.q, people)


class LoweredQuantile:
    """A group whose quantile is to fall: the largest leave, and newcomers join at the bottom."""

    def __init__(self, side: QuantileSide, newcomer: int) -> None:
        self.people, self.newcomer = side.people, newcomer
        self.rank = cache(side.rank)
        self.at = side.rank(side.people)
        self.downwards = [*side.upwards[:1], *side.downwards]

    def after(self, leave: int, join: int) -> tuple[int, int]:
        """The quantile, as a sum of one value; of nobody, as a sum of none.

        Among those who stay, its rank is reduced by the number of newcomers below.
        """
        remaining = self.people - leave + join
        if not remaining:
            return 0, 0
        at = self.rank(remaining) - join
        return (self.downwards[self.at - at] if at > 0 else self.newcomer), 1

    def best(self, changes: int) -> Fraction | None:
        """The least quantile of a non-empty group after this many people have left or joined: least when all join, or
        when as many leave as possible."""
        most = min(changes, self.people)
        ways = [self.after(leave, changes - leave) for leave in {0, most, max(0, most - 1)}]
        return min((Fraction(value) for value, there in ways if there), default=None)
