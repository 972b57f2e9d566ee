"""Choosing a boundary by the costs of mistakes, ε or a price by how often an answer may be wrong, and how answers share a
budget."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from duotone.errors import DuotoneError, got
from duotone.line.mechanism import Boundary, LineMechanism, balanced
from duotone.line.table import line_table
from duotone.line.which import Which
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given, exact, number, show
from duotone.privacy.renyi import FURTHEST, RenyiDP, Shared
from duotone.privacy.renyi_curve import largest_whole, log_price_for
from duotone.privacy.text import Definition

LineOrWhich = LineMechanism | Which
"""What answers by level: its errors are known, and its table."""
PRECISE = 2**30
"""The two costs differ by at most one part in PRECISE."""
FARTHEST = 10**6
"""One mistake may be at most this many times as bad as the other."""
STEPS = (*(Fraction(digits * 10**power, 10**6) for power in range(1, 6) for digits in range(100, 1000)), Fraction(100))
"""The values of ε that are tried: three digits, from 0.001 to 100."""
DIGITS = 4
"""Of a price that follows from an error: decimal digits of its excess over 1."""
FEW = 20
"""For fewer people, a first guess in floats may be far from the price."""
SHORTEST = FURTHEST // 4
"""No price is tried below 1 + (order / SHORTEST)², since its table would take long."""
LARGEST_POWER = 3000
"""The excess of a price over 1 is below 10^LARGEST_POWER."""


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
    wrong: Given, people: int, delta: Given = 0, *, parts: int = 1, line: Callable[[ApproxDP], LineOrWhich] = balanced
) -> Fraction:
    """The least ε of three digits with which a balanced answer, or one by another `line`, is wrong with probability at
    most `wrong`, if `people` people would have to be different to flip it. If a budget is divided among `parts`
    answers, this is the budget of all. One answer among k is asked for by `partial(Which, answers=k)`.

    Guarantee: the probability is that of the integer table from which an answer is drawn.

    >>> least_epsilon("0.01", 10), least_epsilon("0.01", 10, "1e-6"), least_epsilon("0.3", 1)
    (Fraction(41, 100), Fraction(41, 100), Fraction(106, 125))
    """
    limit, delta = required(wrong, people), exact(delta, "delta")
    place = bisect_left(STEPS, True, key=lambda each: _error(line(ApproxDP(each, delta).split(parts)), people) <= limit)
    if place == len(STEPS):
        raise DuotoneError(f"no epsilon up to {STEPS[-1]} is enough for that: allow more mistakes, or more people")
    return STEPS[place]


@lru_cache(maxsize=256)
def least_price(
    order: int,
    wrong: Given,
    people: int,
    delta: Given = 0,
    *,
    parts: int = 1,
    line: Callable[[RenyiDP], LineOrWhich] = balanced,
) -> RenyiDP:
    """The definition of an order with the least price (up to `DIGITS` digits) under which an answer is that accurate: as
    `least_epsilon`.

    Guarantee: the probability is that of the integer table from which an answer is drawn.

    >>> least_price(21, "0.001", 100)
    RenyiDP(order=21, price=53641/50000, delta=0)
    """
    limit, delta = required(wrong, people), exact(delta, "delta")

    def budget(place: int) -> RenyiDP:
        return RenyiDP(order, _price_at(place), delta)

    def nearly(place: int) -> bool:
        each, far = line(budget(place).split(parts)), min(people, SHORTEST)
        return bool(max(each.error(far - 1), each.error(-far)) > limit)

    def too_often(place: int) -> bool:
        return _error(line(budget(place).split(parts)), people) > limit

    first, last = _first_place(order, parts), 9 * 10 ** (DIGITS - 1) * LARGEST_POWER
    near = _place(parts * (math.log(2) if people < FEW else log_price_for(order - 1, float(limit), people)))
    place = largest_whole(nearly, max(near, first), first, last) + 1 if nearly(first) else first
    if place <= last and too_often(place):  # integers lose a little
        place = largest_whole(too_often, place, place, last) + 1
    if place > last:
        raise DuotoneError("no price is enough for that: allow more mistakes, or more people")
    return budget(place)


def required(wrong: Given, people: int) -> Fraction:
    """The probability, if both numbers can be wanted."""
    limit = exact(wrong, "wrong")
    if not 0 < limit <= Fraction(1, 2):
        raise DuotoneError(f"how often an answer may be wrong is a probability above 0 and at most 1/2, got {wrong}")
    if type(people) is not int or not 1 <= people <= 10**9:
        raise DuotoneError(f"the people who would flip an answer are a whole number from 1 to {10**9}, got {got(people)}")
    return limit


def _price_at(place: int) -> Fraction:
    """The prices that are tried: 1 + 0.001·10^n, 1.001·10^n …, in order."""
    power, digits = divmod(place, 9 * 10 ** (DIGITS - 1))
    excess, scale = 10 ** (DIGITS - 1) + digits, power - DIGITS + 1
    return 1 + (Fraction(excess * 10**scale) if scale >= 0 else Fraction(excess, 10**-scale))


def _place(log_price: float) -> int:
    """The place of the largest tried price that is not above this one, about."""
    decimal = math.log10(math.expm1(log_price)) if log_price < 700 else log_price / math.log(10)
    power = math.floor(decimal)
    return int(9 * 10 ** (DIGITS - 1) * power + (10 ** (decimal - power) - 1) * 10 ** (DIGITS - 1))


def _first_place(order: int, parts: int) -> int:
    """The place of a price whose table is not too long to be computed in seconds."""
    return _place(parts * math.log1p((order / SHORTEST) ** 2))


SELDOM = 1e-3
"""How often an answer may be wrong when numbers of people are compared."""
MOST_PEOPLE = 2**40
MOST_SHARED = 2**14
"""Most answers that share a budget by one Rényi order: a certificate of many more would be too long to be checked."""


def shared_by(privacy: Definition, answers: int, *, selected: bool, margins: bool | None = None) -> Shared | None:
    """How answers share a budget: by one Rényi order, as yes and no alone; or None, evenly, each with its margin.

    By one order if that takes at most half as many people; with `margins` False if it takes fewer at all, and never if
    that is True. Compared are the sizes from which a group is shown half of the time if groups are `selected`
    privately, and else the people from which an answer is wrong at most once in a thousand.

    >>> from duotone import ApproxDP
    >>> usual = ApproxDP(1, "1e-6")
    >>> [shared_by(usual, answers, selected=True) is not None for answers in (1, 6, 8, 100)]
    [False, False, True, True]
    """
    if margins or not (1 < answers <= MOST_SHARED and isinstance(privacy, ApproxDP) and privacy.delta > 0):
        return None
    evenly, ratio = people_needed(privacy.split(answers), selected=selected), 1 if margins is False else 2
    try:
        shared = Shared.of(privacy, answers) if evenly > 2 * ratio else None
        better = shared is not None and people_needed(shared.each, selected=selected) * ratio <= evenly - (ratio == 1)
    except DuotoneError:  # nothing fits, or it would need a table that is too long
        return None
    return shared if better else None


@lru_cache(maxsize=64)
def people_needed(privacy: Definition, *, selected: bool) -> float:
    """The size from which a group is shown half of the time, if groups are selected, or the people from which a balanced
    answer is wrong at most once in a thousand; infinite for a coin toss.

    >>> usual = ApproxDP(1, "1e-6")
    >>> [people_needed(each, selected=True) for each in (usual, usual.split(100), Shared.of(usual, 100).each)]
    [14, 1313, 112]
    >>> [people_needed(each, selected=False) for each in (usual, usual.split(100), Shared.of(usual, 100).each)]
    [7, 622, 86]
    """
    start, often = (0.0, 0.5) if selected else (float(privacy.balance()), SELDOM)
    most = MOST_PEOPLE if isinstance(privacy, ApproxDP) else FURTHEST

    def enough(steps: int) -> bool:
        return float(privacy.iterate(start, steps)[1]) <= often

    high = 1
    while not enough(high) and high < most:
        high *= 2
    if not enough(high):
        return math.inf
    return bisect_left(range(high + 1), True, key=enough) + (not selected)


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


def _error(line: LineOrWhich, people: int) -> Fraction:
    if isinstance(line, Which):
        return 1 - line.table.chances(people - 1)[0]
    table = line_table(line)
    return 1 - min(Fraction(side[min(people, len(side)) - 1], 2**table.bits) for side in (table.blue, table.red))
