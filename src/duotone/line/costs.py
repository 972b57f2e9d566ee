"""The boundary of a line where one mistake is worse than the other: both sides cost the same there."""

from __future__ import annotations

from fractions import Fraction

from duotone.errors import DuotoneError
from duotone.line.mechanism import Boundary
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given, number, show

PRECISE = 2**30
"""By one part in so many, at most, do the two costs differ from where they are equal."""
FARTHEST = 10**6
"""So many times may one mistake be as bad as the other."""


def boundary_for_costs(privacy: ApproxDP, false_no: Given, false_yes: Given) -> Boundary:
    """The truth at the blue boundary for which `false_no` · Pr[false no] = `false_yes` · Pr[false yes] at the two boundaries.

    Pr[false yes] is 1 − φ(Pr[false no]) at best, and falls as Pr[false no] rises: so the two costs meet once, and any other
    private mechanism makes one of them larger. No private mechanism has a smaller worst expected cost, over all datasets.
    Every boundary value is private, so that rounding this one, to the simplest fraction nearby, costs no privacy.

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


def _cost(cost: Given) -> Fraction:
    value = number(repr(cost) if isinstance(cost, float) else cost, "the cost of a mistake")
    if not 0 < value < float("inf"):
        raise DuotoneError(f"the cost of a mistake must be above 0, got {show(value)}")
    return Fraction(value)


def _simple(low: Fraction, high: Fraction) -> Fraction:
    """A fraction between two, with a denominator not much larger than it must be."""
    largest = 1000
    while not low <= (simple := ((low + high) / 2).limit_denominator(largest)) <= high:
        largest *= 1000
    return simple
