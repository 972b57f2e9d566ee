"""Choosing a boundary by the costs of mistakes, and ε by how often an answer may be wrong."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

from duotone.errors import DuotoneError
from duotone.line.mechanism import Boundary, LineMechanism, balanced
from duotone.line.table import line_table
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given, exact, number, show
from duotone.privacy.text import Definition

PRECISE = 2**30
"""The two costs differ by at most one part in PRECISE."""
FARTHEST = 10**6
"""One mistake may be at most this many times as bad as the other."""
STEPS = (*(Fraction(digits * 10**power, 10**6) for power in range(1, 6) for digits in range(100, 1000)), Fraction(100))
"""The values of ε that are tried: three digits, from 0.001 to 100."""


def boundary_for_costs(privacy: Definition, false_no: Given, false_yes: Given) -> Boundary:
    """The truth at the blue boundary for which `false_no` · Pr[false no] = `false_yes` · Pr[false yes] at the two boundaries.

    At best, Pr[false yes] is 1 − φ(Pr[false no]), which falls as Pr[false no] rises: so the two costs are equal at one
    point, and any other private mechanism makes one of them larger. No private mechanism has a smaller worst expected
    cost, over all datasets. Every boundary value is private, so that rounding this one, to the simplest fraction
    nearby, costs no privacy.

    >>> str(boundary_for_costs(ApproxDP(exp_epsilon=2, delta="1/10"), 10, 1))
    '37/40'
    >>> boundary_for_costs(ApproxDP(1), 3, 3)
    'balanced'
    """
    no, yes = (_cost(cost) for cost in (false_no, false_yes))
    if not 1 <= max(no, yes) / min(no, yes) <= FARTHEST:
        raise DuotoneError(f"one mistake may be at most {FARTHEST} times as bad as the other, got {show(no)} and {show(yes)}")
    if no == yes:
        return "balanced"
    exact = privacy.exactly()

    def wrong_yes(wrong_no: Fraction) -> Fraction:
        return yes * (1 - Fraction(exact.step(wrong_no)))

    low, high = Fraction(0), Fraction(1)
    while max(no * high, wrong_yes(low)) * PRECISE > min(no * low, wrong_yes(high)) * (PRECISE + 1):
        middle = (low + high) / 2
        low, high = (middle, high) if no * middle < wrong_yes(middle) else (low, middle)
    return 1 - _simple(low, high)


def least_epsilon(
    wrong: Given, people: int, delta: Given = 0, *, parts: int = 1, line: Callable[[ApproxDP], LineMechanism] = balanced
) -> Fraction:
    """The least ε of three digits with which a balanced answer, or one by another `line`, is wrong with probability at
    most `wrong`, if `people` people would have to be different to flip it. If a budget is divided among `parts`
    answers, this is the budget of all.

    Guarantee: the probability is that of the integer table from which an answer is drawn.

    >>> least_epsilon("0.01", 10), least_epsilon("0.01", 10, "1e-6"), least_epsilon("0.3", 1)
    (Fraction(41, 100), Fraction(41, 100), Fraction(106, 125))
    """
    limit, delta = exact(wrong, "wrong"), exact(delta, "delta")
    if not 0 < limit <= Fraction(1, 2):
        raise DuotoneError(f"how often an answer may be wrong is a probability above 0 and at most 1/2, got {wrong}")
    if type(people) is not int or not 1 <= people <= 10**9:
        raise DuotoneError(f"the people who would flip an answer are a whole number from 1 to {10**9}, got {people}")
    place = bisect_left(STEPS, True, key=lambda each: _error(line(ApproxDP(each, delta).split(parts)), people) <= limit)
    if place == len(STEPS):
        raise DuotoneError(f"no epsilon up to {STEPS[-1]} is enough for that: allow more mistakes, or more people")
    return STEPS[place]


def _cost(cost: Given) -> Fraction:
    value = number(repr(cost) if isinstance(cost, float) else cost, "the cost of a mistake")
    if not 0 < value < float("inf"):
        raise DuotoneError(f"the cost of a mistake must be above 0, got {show(value)}")
    return Fraction(value)


def _simple(low: Fraction, high: Fraction) -> Fraction:
    """A fraction between two others, with a nearly minimal denominator."""
    largest = 1000
    while not low <= (simple := ((low + high) / 2).limit_denominator(largest)) <= high:
        largest *= 1000
    return simple


def _error(line: LineMechanism, people: int) -> Fraction:
    table = line_table(line)
    return 1 - min(Fraction(side[min(people, len(side)) - 1], 2**table.bits) for side in (table.blue, table.red))
