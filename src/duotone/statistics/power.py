"""Power: how often a test of a known number of people rejects a hypothesis, by the real share."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from duotone.line.noise import Noise
from duotone.statistics.binomial import TOSSES, NoisyCount
from duotone.statistics.shares import OfKnownNumber, Relation

NO_NOISE = Noise((0, 1 << 72), -1, 72, None)
"""The noise of a count that is not private."""


def power(
    noise: Noise,
    people: int,
    share: Fraction,
    real: Fraction,
    *,
    alpha: Fraction,
    relation: Relation = "=",
    both: bool = False,
) -> float:
    """The probability of rejecting that the real share has this relation to `share`, if it is `real`. (It is rounded up.)
    `both` is as of `OfKnownNumber`.

    >>> from duotone import ApproxDP, balanced
    >>> from duotone.line.table import line_table
    >>> tenth, more, alpha = Fraction(1, 10), Fraction(2, 10), Fraction(5, 100)
    >>> noise = line_table(balanced(ApproxDP(1, "1e-6"))).noise
    >>> [round(power(each, 200, tenth, more, alpha=alpha, relation="<="), 3) for each in (noise, NO_NOISE)]
    [0.987, 0.99]
    """
    if relation == "=":
        sides: tuple[Relation, ...] = ("<=", ">=")
        powers = (power(noise, people, share, real, alpha=alpha / 2, relation=side, both=both) for side in sides)
        return min(1.0, sum(powers))
    if relation == ">=":
        return power(noise.turned, people, 1 - share, 1 - real, alpha=alpha, relation="<=", both=both)
    return critical(noise, people, share, alpha, both=both).p_above(real)


@lru_cache
def critical(noise: Noise, people: int, share: Fraction, alpha: Fraction, *, both: bool) -> OfKnownNumber:
    """The least noisy count, with its toss, at which it is rejected that the real share is at most `share`."""

    def found(place: int) -> OfKnownNumber:
        return OfKnownNumber(NoisyCount(place // TOSSES, noise, place % TOSSES), people, both)

    low, high = (noise.least - people - 1) * TOSSES, (people + noise.most + 2) * TOSSES
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle).p_above(share) <= alpha else (middle, high)
    return found(high)
