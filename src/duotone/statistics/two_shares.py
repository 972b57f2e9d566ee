"""Two shares: whether two groups of people, none of whom is in both, come from populations with the same share."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction

from duotone.cached import cached_property
from duotone.line.noise import Noise
from duotone.statistics.binomial import UP
from duotone.statistics.shares import OfNoisyNumber, Relation

PARTS = 32
"""Common shares are looked at in so many parts of the line from 0 to 1."""
CLOSE = 1.01
"""How much too large a p-value may be, because not every share is tried."""
FINEST = 2**-20
"""The shortest part that is still halved."""


@dataclass(frozen=True)
class TwoShares:
    """Noisy counts of the yes and of the no in either group, all four with the same noise.

    If both shares are s, the p-value that the first is above s and the p-value that the second is below s are
    independent; Fisher's product of them is a p-value, and the largest of all s is returned.

    Guarantee: whatever the shares and the numbers of people, p-values are at most α with probability at most α. Between
    two shares that were tried, one p-value is at most that at the upper end, the other at most that at the lower end.

    >>> from duotone import ApproxDP, balanced
    >>> from duotone.line.table import line_table
    >>> noise = line_table(balanced(ApproxDP(1, "1e-6"))).noise
    >>> found = TwoShares((60, 140), (30, 170), noise)
    >>> round(found.p_above, 5), round(found.p_below, 5)
    (0.00068, 0.99998)
    """

    first: tuple[int, int]
    second: tuple[int, int]
    noise: Noise

    @cached_property
    def p_above(self) -> float:
        """The p-value of the hypothesis that the first share is at most the second."""
        parts = [
            _Part.of(self, Fraction(i, PARTS), Fraction(i + 1, PARTS), Fraction(2 * i + 1, 2 * PARTS)) for i in range(PARTS)
        ]
        heapq.heapify(parts)
        reached = 0.0  # at some share the product is as large
        while parts[0].most > CLOSE * reached and parts[0].high - parts[0].low > FINEST:
            halves = heapq.heappop(parts).halves()
            reached = max(reached, halves[0].first_at_high * halves[1].second_at_low)
            for half in halves:
                heapq.heappush(parts, half)
        return fisher(parts[0].most)

    @cached_property
    def p_below(self) -> float:
        """The p-value of the hypothesis that the first share is at least the second."""
        return TwoShares(self.second, self.first, self.noise).p_above

    def p_value(self, relation: Relation) -> float:
        """The p-value of the hypothesis that the first share has this relation to the second; for "=", twice the smaller one
        of both sides."""
        if relation == "<=":
            return self.p_above
        return self.p_below if relation == ">=" else min(1.0, 2 * min(self.p_above, self.p_below))


@dataclass(frozen=True)
class _Part:
    """Common shares from low to high, for which the same statistics are used."""

    low: Fraction
    high: Fraction
    first: OfNoisyNumber
    second: OfNoisyNumber
    first_at_high: float
    second_at_low: float

    @classmethod
    def of(cls, two: TwoShares, low: Fraction, high: Fraction, near: Fraction) -> _Part:
        first, second = (OfNoisyNumber(*counts, two.noise, near) for counts in (two.first, two.second))
        return cls(low, high, first, second, first.p_above(high), second.p_below(low))

    @property
    def most(self) -> float:
        """No share in it has a larger product of both p-values."""
        return min(1.0, self.first_at_high * self.second_at_low * UP)

    def halves(self) -> tuple[_Part, _Part]:
        """The same part in two."""
        middle = (self.low + self.high) / 2
        first, second = self.first.p_above(middle), self.second.p_below(middle)
        return (
            _Part(self.low, middle, self.first, self.second, first, self.second_at_low),
            _Part(middle, self.high, self.first, self.second, self.first_at_high, second),
        )

    def __lt__(self, other: _Part) -> bool:
        return self.most > other.most


def fisher(product: float) -> float:
    """The p-value of a product of two independent p-values, rounded up: the probability that two uniform numbers have a
    product that small.

    >>> fisher(1.0), round(fisher(0.05 * 0.05), 6)
    (1.0, 0.017479)
    """
    return min(1.0, product * (1 - math.log(product)) * UP) if product > 0 else 0.0
