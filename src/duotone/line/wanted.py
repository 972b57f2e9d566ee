"""The other way round: the ε that an answer needs to be wrong at most so often."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction

from duotone.errors import DuotoneError
from duotone.line.mechanism import balanced
from duotone.line.table import line_table
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given, exact

STEPS = (*(Fraction(digits * 10**power, 10**6) for power in range(1, 6) for digits in range(100, 1000)), Fraction(100))
"""The values of ε that are tried: three digits, from 0.001 to 100."""


def least_epsilon(wrong: Given, people: int, delta: Given = 0, *, parts: int = 1) -> Fraction:
    """The least ε of three digits with which a balanced answer is wrong at most with probability `wrong`, if `people` people
    would have to be different to flip it. Where a budget is divided among `parts` answers, it is that of all.

    Guarantee: the probability is that of the table that an answer is drawn from, in integers.

    >>> least_epsilon("0.01", 10), least_epsilon("0.01", 10, "1e-6"), least_epsilon("0.3", 1)
    (Fraction(41, 100), Fraction(41, 100), Fraction(106, 125))
    """
    limit, delta = exact(wrong, "wrong"), exact(delta, "delta")
    if not 0 < limit <= Fraction(1, 2):
        raise DuotoneError(f"how often an answer may be wrong is a probability above 0 and at most 1/2, got {wrong}")
    if type(people) is not int or not 1 <= people <= 10**9:
        raise DuotoneError(f"the people who would flip an answer are a whole number from 1 to {10**9}, got {people}")
    place = bisect_left(STEPS, True, key=lambda each: _error(ApproxDP(each, delta).split(parts), people) <= limit)
    if place == len(STEPS):
        raise DuotoneError(f"no epsilon up to {STEPS[-1]} is enough for that: allow more mistakes, or more people")
    return STEPS[place]


def _error(privacy: ApproxDP, people: int) -> Fraction:
    table = line_table(balanced(privacy))
    return 1 - Fraction(table.blue[min(people, len(table.blue)) - 1], 2**table.bits)
