"""Shares: what noisy counts of people say about the share of a larger population, of which the people are a sample.

Of a *known* number of people, one noisy count says how many are a yes: the p-values are then those of the most powerful
private test (Awan and Slavković). Where that number is private too, one noisy count says how many are a yes and one how
many are a no.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Protocol

import numpy as np

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.line.noise import Noise
from duotone.privacy.definition import Array
from duotone.statistics.binomial import MOST_VALUES, UP, Binomial, NoisyCount, above_each, binomial

STEPS = 2**20
"""Ends of intervals are whole numbers of steps."""
UNLIKELY = Fraction(1, 2**20)
"""The number of people is private: the probability that it is not among those that are considered."""
FINEST = 200
"""The largest denominator of the share that a statistic is centred at."""


Relation = Literal["=", "<=", ">="]
"""The relation of a real share to another one, in a hypothesis."""


class Known(Protocol):
    """What is known about a share."""

    def p_above(self, share: Fraction) -> float:
        """The p-value of the hypothesis that the real share is at most this one."""

    def p_below(self, share: Fraction) -> float:
        """The p-value of the hypothesis that the real share is at least this one."""

    @property
    def estimate(self) -> float | None:
        """The estimated share; None of nobody."""


@dataclass(frozen=True)
class OfKnownNumber:
    """A noisy count of the yes among a known number of people; or (`both`) the count of the yes less that of the no.

    Guarantee: whatever the share, its p-values are at most α with probability at most α. Where neighbours differ in one
    person's data, rejecting if `p_above` of one count with a toss is at most α is, but for δ and rounding, the most powerful
    private test (docs/theory.md). Where they differ by one person, both counts together have the budget of one, and the
    number of people is known nevertheless: so their difference says more.

    >>> from duotone import ApproxDP, balanced
    >>> from duotone.line.table import line_table
    >>> from duotone.statistics.binomial import difference
    >>> noise = line_table(balanced(ApproxDP(1, "1e-6"))).noise
    >>> found = OfKnownNumber(NoisyCount(20, noise), 30)
    >>> round(found.p_above(Fraction(1, 2)), 4), found.estimate
    (0.0689, 0.6666666666666666)
    >>> round(OfKnownNumber(NoisyCount(20 - 10, difference(noise)), 30, both=True).p_above(Fraction(1, 2)), 4)
    0.051
    """

    count: NoisyCount
    people: int
    both: bool = False

    def p_above(self, share: Fraction) -> float:
        """The p-value of the hypothesis that the real share is at most this one."""
        sample = binomial(self.people, share)
        yes = sample.first + np.arange(len(sample.chances))
        return sample.mean(self.count.at_least(2 * yes - self.people if self.both else yes))

    def p_below(self, share: Fraction) -> float:
        """The p-value of the hypothesis that the real share is at least this one."""
        others = replace(self.count.turned, value=(0 if self.both else self.people) - self.count.value)
        return OfKnownNumber(others, self.people, self.both).p_above(1 - share)

    @property
    def estimate(self) -> float | None:
        """The estimated share."""
        yes = (self.count.value + self.people) / 2 if self.both else self.count.value
        return min(max(yes / self.people, 0.0), 1.0) if self.people else None


@dataclass(frozen=True)
class OfNoisyNumber:
    """A noisy count of the yes and one of the no, among people whose number is private too; both have the same noise.

    With t for `near`, a share that was chosen before anything was known, the statistic is (1 − t)·yes − t·no: under a real
    share of t its mean is 0, however many people there are. (t is `near` with a denominator of at most FINEST.)

    Guarantee: whatever the share and the number of people, its p-values are at most α with probability at most α: they
    are the largest among all numbers of people that the sum of both counts leaves, plus the probability that it leaves
    the real one out.
    """

    yes: int
    no: int
    noise: Noise
    near: Fraction

    def p_above(self, share: Fraction) -> float:
        """The p-value of the hypothesis that the real share is at most this one."""
        return min(1.0, math.nextafter(self._largest(share) + float(UNLIKELY), math.inf))

    def p_below(self, share: Fraction) -> float:
        """The p-value of the hypothesis that the real share is at least this one."""
        return self._others.p_above(1 - share)

    @property
    def estimate(self) -> float | None:
        """The estimated share."""
        yes, no = max(self.yes, 0), max(self.no, 0)
        return yes / (yes + no) if yes + no else None

    @property
    def _near(self) -> Fraction:
        return self.near.limit_denominator(FINEST)

    @cached_property
    def _others(self) -> OfNoisyNumber:
        return OfNoisyNumber(self.no, self.yes, self.noise, 1 - self.near)

    @cached_property
    def numbers(self) -> range:
        """All possible numbers of people, but with probability UNLIKELY."""
        off = _off(self.noise)
        return range(max(0, self.yes + self.no - off), max(0, self.yes + self.no + off) + 1)

    def _largest(self, share: Fraction) -> float:
        """The largest p-value of all numbers of people: each has one person more, who is a yes or a no."""
        first, chances, others = binomial(self.numbers.start, share)
        yes, no = (math.nextafter(float(part), math.inf) for part in (share, 1 - share))
        t, whole = self._near.numerator, self._near.denominator
        lowest, tail = self._noise
        counts, largest = first + np.arange(len(chances) + len(self.numbers), dtype=np.int64), 0.0
        for people in self.numbers:
            short = (whole - t) * self.yes - t * self.no - (whole * counts[: len(chances)] - t * people)
            above = tail[np.clip(short - lowest, 0, len(tail) - 1)]
            largest = max(largest, Binomial(first, chances, others).mean(above))
            chances = (no * np.append(chances, 0.0) + yes * np.append(0.0, chances)) * UP
        return largest

    @cached_property
    def _noise(self) -> tuple[int, Array]:
        """The least value of the statistic's noise, and from it on the probability of each value or a larger one, rounded
        up; at last 0."""
        return _tail(self.noise, self._near)


@lru_cache(maxsize=256)
def _tail(noise: Noise, near: Fraction) -> tuple[int, Array]:
    values, chances = _chances(noise)
    t, whole = near.numerator, near.denominator
    if not len(values) < MOST_VALUES:
        raise DuotoneError("where the number of people is private, this epsilon is too small for a test: raise it")
    sums = ((whole - t) * values[:, None] - t * values[None, :]).ravel()
    lowest = int(sums.min())
    both = np.bincount(sums - lowest, (chances[:, None] * chances[None, :]).ravel())
    tail = np.cumsum(both[::-1])[::-1] * (1 + len(values) ** 2 * 2.0**-50)  # more than so many roundings
    return lowest, np.minimum(np.append(tail, 0.0), 1.0)


def _chances(noise: Noise) -> tuple[Array, Array]:
    """The values of the noise, and their probabilities, rounded up."""
    if not noise.bounded:
        raise DuotoneError("where the number of people is private, a test needs noise that is bounded: give a delta above 0")
    weights = [after - before for before, after in zip(noise.yes, noise.yes[1:], strict=False)]
    values = -(noise.lowest + 1 + np.arange(len(weights), dtype=np.int64))  # N ≥ −ℓ, but not −(ℓ − 1)
    return values, above_each(weights, 1 << noise.bits)


def _off(noise: Noise) -> int:
    """The least s such that the sum of two noises is beyond ±s with probability at most UNLIKELY."""
    values, chances = _chances(noise)
    both = np.convolve(chances, chances) * (1 + len(chances) * 2.0**-50)
    off = int(max(abs(2 * values[0]), abs(2 * values[-1])))
    sums = 2 * values[0] - np.arange(len(both))
    while off and both[np.abs(sums) >= off].sum() * UP <= UNLIKELY:
        off -= 1
    return off


@dataclass(frozen=True)
class Interval:
    """A confidence interval of a share: it does not contain the real one with probability at most 1 − confidence, half of
    that at either end."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.3g} to {self.high:.3g}"


def interval(known: Known, alpha: Fraction, relation: Relation = "=") -> Interval:
    """All shares that the test does not reject, in whose hypothesis the real share has this `relation` to each: for "=", one
    side's tests at α/2 are below, the other's above. Ends are rounded outwards to whole steps."""
    each, low, high = alpha / 2 if relation == "=" else alpha, 0, STEPS
    if relation != ">=":
        low = _last(lambda steps: known.p_above(Fraction(steps, STEPS)), each)
    if relation != "<=":
        high = STEPS - _last(lambda steps: known.p_below(1 - Fraction(steps, STEPS)), each)
    return Interval(low / STEPS, high / STEPS)


def _last(p: Callable[[int], float], alpha: Fraction) -> int:
    """The last number of steps that is rejected, or 0. (If one is, the real p-values of those below are as small.)"""
    low, high = 0, STEPS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if p(middle) <= alpha else (low, middle)
    return low


def p_value(known: Known, share: Fraction, relation: Relation) -> float:
    """The p-value of the hypothesis that the real share has this relation to one; for "=", twice the smaller one of both
    sides."""
    if relation == "<=":
        return known.p_above(share)
    return known.p_below(share) if relation == ">=" else min(1.0, 2 * min(known.p_above(share), known.p_below(share)))
