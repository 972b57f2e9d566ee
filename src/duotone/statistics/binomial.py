"""Binomial: the probabilities of a binomial distribution, and of noise, as floats that are rounded up.

A p-value that is rounded up is never below the real one, so a test never rejects more often than it says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from duotone.errors import DuotoneError
from duotone.line.noise import Noise
from duotone.privacy.definition import Array

SCALE = 2**256
"""The weight of a mode."""
NEGLIGIBLE = SCALE >> 96
"""Weights below this are added up together."""
UP = 1 + 2.0**-50
"""A float times this is more than the result of several roundings."""
TINY = 2.0**-1000
"""More than what is lost where floats are too small."""


class Binomial(NamedTuple):
    """Probabilities of `first`, `first` + 1 …, and of all other values together, rounded up."""

    first: int
    chances: Array
    others: float

    def mean(self, values: Array) -> float:
        """An upper bound of the expectation of values from 0 to 1, one for each of the chances."""
        total = float(self.chances @ values) * (1 + len(values) * 2.0**-50) + TINY  # more than so many roundings
        return min(1.0, (total + self.others) * UP)


@lru_cache(maxsize=64)
def binomial(people: int, share: Fraction) -> Binomial:
    """The binomial distribution of `people` who are each a yes with probability `share`.

    Guarantee: no probability is below the real one. Integer weights go from the mode outwards, each rounded up from the
    one before; so each is at most as many units too large as there are steps, and their sum less that is a lower bound
    of the total.

    >>> two = binomial(2, Fraction(1, 2))
    >>> two.first, [round(float(chance), 15) for chance in two.chances]
    (0, [0.25, 0.5, 0.25])
    """
    yes, no = share.numerator, share.denominator - share.numerator
    mode = min(people, (people + 1) * yes // share.denominator)
    above, more = _side(people - mode, mode + 1, yes, no)
    below, fewer = _side(mode, people - mode + 1, no, yes)
    weights = [*below[::-1], SCALE, *above]
    total = sum(weights) - len(weights) ** 2
    return Binomial(mode - len(below), above_each(weights, total), above_ratio(more + fewer, total))


def _side(left: int, passed: int, yes: int, no: int) -> tuple[list[int], int]:
    """Weights on one side of the mode, from it outwards, and the sum of all further ones: of people who are `left`, one
    after the other becomes one of those `passed`."""
    weights, weight = list[int](), SCALE
    while left and yes and (weight := -(-weight * left * yes // (passed * no))) > NEGLIGIBLE:
        weights.append(weight)
        left, passed = left - 1, passed + 1
    if not (left and yes):
        return weights, 0
    fall = passed * no - left * yes  # ratios of weights only fall from here on: a geometric series is larger
    return weights, -(-weight * passed * no // fall)


def above_ratio(part: int, whole: int) -> float:
    """A float at least part / whole."""
    return math.nextafter(part / whole, math.inf) if part else 0.0


def above_each(parts: list[int], whole: int) -> Array:
    """Floats at least part / whole, for each part."""
    return np.array([above_ratio(part, whole) for part in parts])


MOST_VALUES = 2896
"""Most values of a noise of which pairs are added up one by one."""
TOSSES = 2**53
"""Tosses are numbers below this, each equally likely."""


@dataclass(frozen=True)
class NoisyCount:
    """A count plus noise. A `toss` breaks ties between equal noisy counts: it is drawn once, beside the noise, uniformly
    from 0 to TOSSES − 1; without one, ties count as if they were larger, and as if they were smaller."""

    value: int
    noise: Noise
    toss: int | None = None

    @property
    def turned(self) -> NoisyCount:
        """The noisy number of all others, less the number of people."""
        return NoisyCount(-self.value, self.noise.turned, None if self.toss is None else TOSSES - 1 - self.toss)

    def at_least(self, counts: Array) -> Array:
        """For each possible true count, the probability that its noisy count is at least this one, rounded up."""
        noise, toss = self.noise, self.toss or 0
        yes, whole = (noise.yes[0], *noise.yes), TOSSES << noise.bits
        chances = above_each([(TOSSES - toss) * yes[i + 1] + toss * yes[i] for i in range(len(noise.yes))], whole)
        last = above_ratio(noise.yes[-1], 1 << noise.bits)
        return np.append(chances, last)[np.clip(counts - self.value - noise.lowest, 0, len(noise.yes))]  # type: ignore[no-any-return]


@lru_cache(maxsize=16)
def difference(noise: Noise) -> Noise:
    """The noise of the difference of two counts that have this noise each.

    >>> from duotone import ApproxDP, balanced
    >>> from duotone.line.table import line_table
    >>> difference(line_table(balanced(ApproxDP(1, "1e-6"))).noise)
    <Noise: from -28 to 28, of 256 bits>
    """
    if not (noise.bounded and len(noise.yes) <= MOST_VALUES):
        raise DuotoneError("of two counts a test needs a delta above 0, and an epsilon that is not too small: raise it")
    weights = np.array([after - before for before, after in pairwise(noise.yes)], dtype=object)
    sums = [0, *accumulate(np.convolve(weights, weights[::-1]).tolist())]
    return Noise(tuple(sums), -len(weights), 2 * noise.bits, None)
