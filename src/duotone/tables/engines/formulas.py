"""Formulas as Ibis expressions: each has a value or null for whatever its parts are, the same on every engine.

Guarantee: no formula can fail on a row, and none looks at another row. Numbers are floats, and what could overflow or underflow
is null: only numbers up to 10^300 from zero are added, and only zero and those from 10^-150 to 10^150 from it multiplied.
"""

from __future__ import annotations

import datetime
import functools
import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import ibis
import ibis.expr.operations as ops

from duotone.tables.engines.whole_numbers import quotient, wide
from duotone.tables.sql.condition import Formula, Kind, Operand, Part
from duotone.tables.sql.interval import Span, moved

LEAST, MOST, MOST_ADDED = 1e-150, 1e150, 1e300
LARGEST_WHOLE = 2.0**53
"""Whole numbers beyond it are not exact as floats."""
LONGEST_TEXT = 1_000_000
"""The characters of texts that are joined, at most."""
UNITS = {"year": "Y", "quarter": "Q", "month": "M", "week": "W", "day": "D", "hour": "h", "minute": "m", "second": "s"}
SECONDS = {"hour": 3600, "minute": 60, "second": 1}

Value = Callable[[Any], Any]
"""The Ibis expression of an operand or of a condition."""


def computed(formula: Formula, kind: Kind, value: Value, holds: Value) -> Any:
    """A formula's value, of this kind, from those of its parts."""
    function, parts = formula.function, formula.parts
    if function in NUMBERS:
        guards, number = _guarded(formula, value)
        return ibis.cases(*((~guard, ibis.null("float64")) for guard in guards), else_=number) if guards else number
    if function == "number from text":
        return real(number_from(value(parts[0])))
    if function == "date from text":
        return day_from(value(parts[0]))
    if function == "whole":
        number = _as(parts[0], "float", value)
        return ibis.cases((number.between(-LARGEST_WHOLE, LARGEST_WHOLE), number)).cast("int64")
    if function == "modulo":
        return _modulo(*(_as(part, "integer", value) for part in parts))
    if function == "whole quotient":
        return _truncated_quotient(_as(parts[0], "integer", value), int(parts[1]))  # type: ignore[arg-type]
    if function == "case":
        middle = len(parts) // 2
        return _case([holds(part) for part in parts[:middle]], [_as(part, kind, value) for part in parts[middle:]])
    if function in ALIKE:
        return ALIKE[function](*(_as(part, kind, value) for part in parts))
    if function in TEXTS:
        return TEXTS[function](*(_as(part, "text", value) for part in parts))
    return _of_time(function, [_as(part, "time", value) for part in parts])


def real(column: Any) -> Any:
    """A float: NaN is null, and −0.0 is 0.0."""
    return ibis.ifelse(column.isnan(), ibis.null("float64"), column + 0.0)


def number_from(text: Any) -> Any:
    """Text as a float; true and false are 1 and 0, and what is no number is null."""
    word = text.lower()
    return ibis.coalesce(text.try_cast("float64"), ibis.cases((word == "true", 1.0), (word == "false", 0.0)))


def day_from(text: Any) -> Any:
    """Text as a date; what is none is null, and so is what lies outside the years that constants can be in."""
    date = text.try_cast("date")
    return ibis.cases((date.between(datetime.date.min, datetime.date.max), date))


def _as(part: Part | None, kind: Kind, value: Value) -> Any:
    """A part as a value of this kind; None, and the constants of functions of text and time, as they are."""
    if isinstance(part, Operand):
        return value(part).cast({"float": "float64", "integer": "int64"}[kind]) if kind in ("float", "integer") else value(part)
    if isinstance(part, Fraction) and kind == "float":
        return ibis.literal(float(part), type="float64")
    if isinstance(part, Fraction) and kind == "integer":
        return ibis.literal(int(part), type="int64")
    if isinstance(part, datetime.datetime):
        return ibis.literal(part, type="timestamp(6)")
    plain = part is None or isinstance(part, Fraction) or (isinstance(part, str) and kind == "time")
    return part if plain else ibis.literal(part)


def _whole_number(column: Any) -> bool:
    """Whether a number is a whole one of 64 bits, which can be added to and multiplied with any other that can."""
    node = column.op()
    return isinstance(node, ops.Cast) and node.arg.dtype.is_integer()


Guarded = tuple[Sequence[Any], Any]
"""Conditions, of which each is asked where those before it hold, and a number that is computed where all do; elsewhere null."""


def _guarded(formula: Formula, value: Value) -> Guarded:
    """A number computed from numbers, of which those that are computed so themselves stand beside their own conditions: were
    each a value for itself, or null, what is nested would grow by a factor with each step."""
    guards: list[Any] = []
    numbers: list[Any] = []
    for part in formula.parts:
        if isinstance(part, Operand) and part.made is not None and part.made.function in NUMBERS:
            before, number = _guarded(part.made, value)
            guards += [guard for guard in before if not any(guard.equals(other) for other in guards)]
        else:
            number = _as(part, "float", value)
        numbers.append(number)
    if formula.function in ADDED:
        added = [column.between(-MOST_ADDED, MOST_ADDED) for part, column in zip(formula.parts, numbers, strict=True)
                if not _can_be_added(part, column)]  # fmt: skip
        return (*guards, *added), ADDED[formula.function](*numbers)
    more, number = NUMBERS[formula.function](*numbers)
    return (*guards, *more), number


ADDED = {"add": operator.add, "subtract": operator.sub}
BOUNDED = (*ADDED, "multiply", "divide", "sqrt", "exp", "ln", "log10", "sign", "modulo", "length")
"""Functions whose values are so far below the largest float that any number of them may be added."""


def _can_be_added(part: Part | None, column: Any) -> bool:
    small = isinstance(part, Operand) and part.made is not None and part.made.function in BOUNDED
    return small or _whole_number(column)


def _can_be_multiplied(*columns: Any) -> list[Any]:
    return [column.abs().between(LEAST, MOST) | (column == 0) for column in columns if not _whole_number(column)]


@ibis.udf.scalar.builtin(name="floor", signature=(("float64",), "float64"))
def _floor(number):  # type: ignore[no-untyped-def]
    """As a float; on Spark, whose own has 64 bits, what rests on it is refused (`abilities`)."""


BELOW_HALF = math.nextafter(0.5, 0.0)
"""What is added to a number that is not negative before it is rounded down, so that halves go up and nothing below them does:
with a half itself, the float below a half would go up too."""


def _rounded(column: Any, decimals: Any) -> Guarded:
    """Halves away from zero."""
    places = int(decimals.op().value)
    scale = float(10 ** abs(places))
    size = column.abs()
    scaled = size * scale if places > 0 else size / scale
    nearest = _floor(scaled + BELOW_HALF)
    nearest = nearest / scale if places > 0 else nearest * scale
    signed = nearest * ibis.cases((column < 0, -1.0), else_=ibis.literal(1.0))
    return (_can_be_multiplied(column) if places else ()), signed


def _decimal(column: Any, digits: Any, decimals: Any) -> Guarded:
    """A number with so many digits, of which so many are decimals; null where it has more before the point."""
    guards, number = _rounded(column, decimals)
    most = 10.0 ** (int(digits.op().value) - int(decimals.op().value))
    return guards, ibis.cases((number.abs() < most, number))


NUMBERS: dict[str, Callable[..., Guarded]] = {
    **{name: lambda a, b, rule=rule: ((), rule(a, b)) for name, rule in ADDED.items()},
    "multiply": lambda a, b: (_can_be_multiplied(a, b), a * b),
    "divide": lambda a, b: ([*_can_be_multiplied(a), b.abs().between(LEAST, MOST)], a / b),
    "abs": lambda x: ((), x.abs()),
    "floor": lambda x: ((), _floor(x)),
    "ceil": lambda x: ((), -_floor(-x) + 0.0),
    "trunc": lambda x: ((), ibis.cases((x < 0, -_floor(-x)), else_=_floor(x))),
    "round": _rounded,
    "decimal": _decimal,
    "sign": lambda x: ((), ibis.cases((x > 0, 1.0), (x < 0, -1.0), (x == 0, 0.0))),
    "sqrt": lambda x: ([x >= 0], x.sqrt()),
    "exp": lambda x: ([x.between(-300.0, 300.0)], x.exp()),
    "ln": lambda x: ([x > 0], x.ln()),
    "log10": lambda x: ([x > 0], x.log10()),
    "integer": lambda x: ((), _even(x)),
}
"""Functions of numbers, which are null where a number is: where they have a value, each asked where those before it hold, and
the value."""


def _even(column: Any) -> Any:
    """A number as a whole one, as casts have it: halves to the even one."""
    down = _floor(column)
    over = column - down
    odd = _floor(down / 2.0) * 2.0 < down
    return _raised(column, (over > 0.5) | ((over == 0.5) & odd))


def _raised(column: Any, up: Any) -> Any:
    """A number rounded down, or one more."""
    return _floor(column) + ibis.cases((up, 1.0), else_=ibis.literal(0.0))


def _modulo(a: Any, b: Any) -> Any:
    """The remainder has the sign of what is divided; by -1 it is 0, also of the least number there is."""
    apart = ibis.cases(((b != 0) & (b != -1), b), else_=ibis.literal(1, type="int64"))
    return ibis.cases((b == -1, a * 0), (b != 0, a % apart))


def _truncated_quotient(a: Any, by: int) -> Any:
    """Towards zero."""
    below = ibis.cases((a % by < 0, wide(1)), else_=wide(0))
    return quotient(a, wide(by), 2**63 // by) + below


def _nullif(first: Any, second: Any) -> Any:
    return ibis.cases(((first == second).fill_null(False), ibis.null(first.type())), else_=first)


ALIKE: dict[str, Callable[..., Any]] = {
    "coalesce": ibis.coalesce,
    "nullif": _nullif,
    "greatest": ibis.greatest,
    "least": ibis.least,
}
"""Functions of values of one kind, which is theirs."""


def _case(conditions: Sequence[Any], values: Sequence[Any]) -> Any:
    """The value of the first condition that holds, and the last where none does."""
    kind = next(value for value in values if value is not None).type()
    filled = [ibis.null(kind) if value is None else value for value in values]
    return ibis.cases(*zip(conditions, filled, strict=False), else_=filled[-1])


def _joined(*texts: Any) -> Any:
    size = functools.reduce(operator.add, (text.length() for text in texts))
    return ibis.cases((size <= LONGEST_TEXT, functools.reduce(operator.add, texts)))


def _separated(separator: Any, texts: Sequence[Any]) -> Any:
    """Texts with a separator between them, those that are null left out."""
    after = [ibis.coalesce(separator + text, "") for text in texts]
    return _joined(*after).substr(len(separator.op().value))


def _replaced(column: Any, old: Any, new: Any) -> Any:
    grows = max(1, len(new.op().value))
    return ibis.cases((column.length() <= LONGEST_TEXT // grows, column.replace(old, new)))


@ibis.udf.scalar.builtin(name="split_part", signature=(("string", "string", "int32"), "string"))
def _split_part(text, separator, n): ...  # type: ignore[no-untyped-def]


TEXTS: dict[str, Callable[..., Any]] = {
    "lower": lambda x: x.lower(),
    "upper": lambda x: x.upper(),
    "trim": lambda x: x.strip(),
    "length": lambda x: x.length().cast("int64"),
    "substring": lambda x, start, length=None: x.substr(int(start) - 1, *(() if length is None else (int(length),))),
    "right": lambda x, n: x.right(int(n)),
    "ltrim": lambda x: x.lstrip(),
    "rtrim": lambda x: x.rstrip(),
    "replace": lambda x, old, new: _replaced(x, old, new),
    "split": lambda x, separator, n: _split_part(x, separator, int(n)),
    "place": lambda x, part: x.find(part).cast("int64") + 1,
    "digits": lambda n: n.cast("int64").cast("string"),
    "padded": lambda n, width: (n.cast("int64") + 10 ** int(width)).cast("string").right(int(width)),
    "word": lambda words, n: _split_part(words, ",", n.cast("int32")),
    "pieces": lambda *texts: functools.reduce(operator.add, texts),
    "separated": lambda separator, *texts: _separated(separator, texts),
    "join": _joined,
    "concat": lambda *texts: _joined(*(text.fill_null("") for text in texts)),
}
"""Functions of texts."""


def _of_time(function: str, parts: Sequence[Any]) -> Any:
    column, *rest = parts
    match function:
        case "days":
            return _day_number(rest[0]) - _day_number(column)
        case "difference":
            return _difference(column, *rest)
        case "truncate":
            return _truncated(column, *rest)
        case "shift":
            return _shifted(column, *rest)
        case "dayofweek":
            return ((column.day_of_week.index().cast("int64") + 1) % 7).cast("int64")
        case "isodow":
            return column.day_of_week.index().cast("int64") + 1
        case "last day":
            after = column.cast("timestamp(6)").truncate("M") + ibis.interval(1, unit="M")
            return (after - ibis.interval(1, unit="D")).cast("date")
        case "date" | "time":
            return column.cast("date" if function == "date" else "timestamp(6)")
        case "hour" | "minute" | "second":
            return getattr(column.cast("timestamp(6)"), function)().cast("int64")
    name = {"week": "week_of_year", "dayofyear": "day_of_year"}.get(function, function)
    return getattr(column, name)().cast("int64")


def _seconds(column: Any) -> Any:
    """Whole seconds since 1970, rounded down."""
    return column.cast("timestamp(6)").truncate("s").epoch_seconds().cast("int64")


def _floor_by(column: Any, by: int) -> Any:
    rest = column % by
    rest = ibis.cases((rest < 0, rest + by), else_=rest)
    return ((column - rest).cast("float64") / float(by)).round().cast("int64")


def _day_number(column: Any) -> Any:
    return _floor_by(_seconds(column), 86_400)


def _difference(first: Any, second: Any, unit: str) -> Any:
    """How many beginnings of a year, quarter, …, second lie between two times."""

    def place(column: Any) -> Any:
        match unit:
            case "year":
                return column.year().cast("int64")
            case "quarter":
                return column.year().cast("int64") * 4 + column.quarter().cast("int64")
            case "month":
                return column.year().cast("int64") * 12 + column.month().cast("int64")
        return _floor_by(_seconds(column), SECONDS[unit])

    return place(second) - place(first)


def _truncated(column: Any, unit: str) -> Any:
    kind = column.type()
    return column.cast("timestamp(6)").truncate(UNITS[unit]).cast("date" if kind.is_date() else "timestamp(6)")


def _shifted(column: Any, months: Fraction, days: Fraction, seconds: Fraction) -> Any:
    """A time so much later; null where that may lie outside the years 1 to 9999."""
    by = Span(int(months), int(days), seconds)
    kind = "date" if column.type().is_date() else "timestamp(6)"
    first: datetime.date = datetime.datetime.min
    last: datetime.date = datetime.datetime.max
    try:
        if max(months, days, seconds) > 0:
            last = moved(last, -by)
        else:
            first = moved(first, -by)
    except (OverflowError, ValueError):  # longer than all the years that there are
        return ibis.null(kind)
    time = column.cast("timestamp(6)")
    later = ibis.cases((time.between(*(ibis.literal(end, type="timestamp(6)") for end in (first, last))), time))
    if months:
        later = later + ibis.interval(int(months), unit="M")
    if days:
        later = later + ibis.interval(int(days), unit="D")
    if seconds:
        later = later + ibis.interval(int(seconds * 1_000_000), unit="us")
    return later.cast(kind)
