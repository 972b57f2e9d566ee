"""Bounds of a computed value, from those of its columns: `dep_delay - arr_delay` lies between the least and the greatest
difference of values within bounds. They are declarations like others: values are clipped to them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from duotone.model.dataset import LARGEST, Bounds
from duotone.tables.sql.comparison import PeopleTable
from duotone.tables.sql.condition import NUMERIC, Operand, Part

Range = tuple[Fraction, Fraction]
"""The least and the greatest value."""
SIX, THREE = 10**6, 10**3
"""Ends with more than six decimals are rounded outwards, by less than a thousandth of the width."""


def computed_bounds(values: Iterable[Operand], bounds: Mapping[str, Bounds]) -> dict[str, Bounds]:
    """Bounds of computed values that have none, where they follow from those of their columns.

    >>> from duotone.tables.sql.read_question import read_value
    >>> columns, declared = {"x": "float", "y": "integer"}, {"x": Bounds.of(-2, 3), "y": Bounds.of(1, 5)}
    >>> for value in ("x * y", "x * x", "abs(x) + 1", "coalesce(x / y, 0)", "case when y > 2 then x end"):
    ...     operand = read_value(value, columns)
    ...     made = computed_bounds([operand], declared)[operand.column]
    ...     print(value, float(made.low), float(made.high))
    x * y -10.0 15.0
    x * x 0.0 9.0
    abs(x) + 1 1.0 4.0
    coalesce(x / y, 0) -2.0 3.0
    case when y > 2 then x end -2.0 3.0
    """
    made = {}
    for value in values:
        if value.made is not None and value.column not in bounds and value.kind in NUMERIC:
            limits = _range(value, bounds)
            if limits is not None and limits[0] < limits[1] and max(map(abs, limits)) <= LARGEST:
                made[value.column] = Bounds(*_outwards(*limits, whole=value.kind == "integer"))
    return made


def bounds_of_people(people: PeopleTable, bounds: Mapping[str, Bounds]) -> dict[str, Bounds]:
    """Bounds of the columns of an inner select with one row per person, where they follow: the largest, the least and
    the average of a person's values, and the first and the last one, lie within the bounds of the values."""
    kept = ("min", "max", "avg", "first", "last")
    within: dict[str, Bounds] = {}
    for i, one in enumerate(people.aggregates):
        limits = None if one.value is None or one.function not in kept else _range(one.value, bounds)
        if limits is not None and limits[0] < limits[1]:
            within[str(i)] = Bounds(*limits)
    columns = {name: made for name, made in people.columns if isinstance(made, Operand) and made.kind in NUMERIC}
    ranges = {name: _range(made, within) for name, made in columns.items() if name not in bounds}
    return {
        name: Bounds(*_outwards(*limits, whole=columns[name].kind == "integer"))
        for name, limits in ranges.items()
        if limits is not None and limits[0] < limits[1]
    }


def range_of(value: Operand) -> Range | None:
    """The range of a computed value that follows without bounds, for any values of its columns; None if none does."""
    return _range(value, {})


def _range(part: Part | None, bounds: Mapping[str, Bounds]) -> Range | None:
    """The range of a value of the row; None if it is not known."""
    if isinstance(part, Fraction):
        return part, part
    if not isinstance(part, Operand):
        return None
    if part.column in bounds:
        own = bounds[part.column]
        return Fraction(own.low), Fraction(own.high)
    if part.made is None:
        return None
    if part.made.function == "multiply" and part.made.parts[0] == part.made.parts[1]:
        return _square(_range(part.made.parts[0], bounds))
    if part.made.function == "case":
        half = len(part.made.parts) // 2
        return _any_of([_range(value, bounds) for value in part.made.parts[half:] if value is not None])
    rule = RULES.get(part.made.function)
    ranges = [_range(each, bounds) for each in part.made.parts]
    known = [each for each in ranges if each is not None]
    return rule(*known) if rule is not None and len(known) == len(ranges) else None


def _any_of(ranges: Iterable[Range | None]) -> Range | None:
    """The range of a value that has one of these."""
    known = list(ranges)
    lows, highs = [each[0] for each in known if each], [each[1] for each in known if each]
    return (min(lows), max(highs)) if known and len(lows) == len(known) else None


def _square(own: Range | None) -> Range | None:
    if own is None:
        return None
    ends = sorted(end * end for end in own)
    return (Fraction(0) if own[0] <= 0 <= own[1] else ends[0]), ends[1]


def _corners(rule: Callable[[Fraction, Fraction], Fraction]) -> Callable[[Range, Range], Range]:
    """A rule that is monotone in each of its parts takes its ends at theirs."""

    def of(first: Range, second: Range) -> Range:
        ends = [rule(a, b) for a, b in itertools.product(first, second)]
        return min(ends), max(ends)

    return of


def _divided(first: Range, second: Range) -> Range | None:
    return None if second[0] <= 0 <= second[1] else _corners(lambda a, b: a / b)(first, second)


def _absolute(own: Range) -> Range:
    ends = sorted(map(abs, own))
    return (Fraction(0) if own[0] <= 0 <= own[1] else ends[0]), ends[1]


def _root(own: Range) -> Range | None:
    """Only of numbers that have one: others are null."""
    if own[1] < 0:
        return None
    low, high = max(own[0], Fraction(0)), own[1]
    return Fraction(math.isqrt(math.floor(low * SIX * SIX)), SIX), Fraction(math.isqrt(math.floor(high * SIX * SIX)) + 1, SIX)


def _rounded(own: Range, decimals: Range = (Fraction(0), Fraction(0))) -> Range:
    """Halves away from zero."""
    unit = Fraction(10) ** -int(decimals[0])
    ends = [unit * math.floor(abs(end) / unit + Fraction(1, 2)) * (-1 if end < 0 else 1) for end in own]
    return ends[0], ends[1]


def _each(rule: Callable[[Fraction], int]) -> Callable[[Range], Range]:
    return lambda own: (Fraction(rule(own[0])), Fraction(rule(own[1])))


RULES: Mapping[str, Callable[..., Range | None]] = {
    "add": _corners(lambda a, b: a + b),
    "subtract": _corners(lambda a, b: a - b),
    "multiply": _corners(lambda a, b: a * b),
    "divide": _divided,
    "abs": _absolute,
    "sqrt": _root,
    "floor": _each(math.floor),
    "ceil": _each(math.ceil),
    "trunc": _each(math.trunc),
    "round": _rounded,
    "integer": lambda own: (Fraction(math.floor(own[0])), Fraction(math.ceil(own[1]))),
    "whole": lambda own: own,
    "whole quotient": lambda own, by: (Fraction(math.trunc(own[0] / by[0])), Fraction(math.trunc(own[1] / by[0]))),
    "coalesce": lambda *own: _any_of(own),
    "nullif": lambda own, _: own,
    "greatest": lambda *own: (min(one[0] for one in own), max(one[1] for one in own)),
    "least": lambda *own: (min(one[0] for one in own), max(one[1] for one in own)),
}
"""The range of each function's value, from those of its parts, where all of them are known. (Greatest and least leave out
nulls, so that any part may be the value.)"""


def _outwards(low: Fraction, high: Fraction, *, whole: bool) -> Range:
    """The range with ends that a grid has: whole numbers, or decimals."""
    if whole:
        return Fraction(math.floor(low)), Fraction(math.ceil(high))
    unit = Fraction(1)
    while unit * THREE >= high - low:
        unit /= 10
    if not any(SIX % end.denominator for end in (low, high)):
        return low, high
    return math.floor(low / unit) * unit, math.ceil(high / unit) * unit
