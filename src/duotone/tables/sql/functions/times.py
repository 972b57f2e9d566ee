"""Dates and times: their parts, truncation, formatting as text, and differences."""

from __future__ import annotations

import calendar
import datetime
import functools
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ibis
from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.privacy.numbers import number
from duotone.tables.sql.condition import Operand, Part, Value
from duotone.tables.sql.functions.function import (
    TWO,
    Call,
    Form,
    Function,
    Parts,
    as_kind,
    described,
    kind_of,
    undeclared,
    written_out,
)
from duotone.tables.sql.functions.texts import split_part

UNITS = {"year": "Y", "quarter": "Q", "month": "M", "week": "W", "day": "D", "hour": "h", "minute": "m", "second": "s"}
"""Units of truncation, as Ibis calls them."""
OF_A_CLOCK = ("hour", "minute", "second")
OTHER_WORDS = {"dow": "dayofweek", "doy": "dayofyear", "weekday": "dayofweek"}
"""Synonyms of parts of a time."""


def _as_time(part: Part, text: str, *, clock: bool = False) -> Part:
    """A date or a time."""
    if isinstance(part, datetime.date):
        return part
    if isinstance(part, Operand) and part.kind in ("date", "time"):
        return part
    if isinstance(part, Operand) and part.kind == "untyped":
        return as_kind(part, "time" if clock else "date")
    written = isinstance(part, Operand) and part.kind == "text" and part.made is None
    hint = ", but text: store it as one; if it holds dates, cast it (::date)" if written else ""
    raise DuotoneError(f"{text}: {described(part)} is not a date or time{hint}")


def _part_of_time(field: str, value: Part, text: str) -> Operand:
    """A part of a time, by its name or a synonym."""
    field = OTHER_WORDS.get(field, field)
    if field not in PARTS:
        raise DuotoneError(f"{text}: parts of a time are {', '.join(PARTS)}")
    return PARTS[field].of(text, _as_time(value, text, clock=field in OF_A_CLOCK))


def _named_part(call: Call) -> Operand | None:
    """date_part('year', x)."""
    if call.node.name.lower() not in ("date_part", "datepart") or len(call.node.expressions) != 2:
        return None
    field, value = call.node.expressions
    return _part_of_time(field.name.lower(), call.read(value), call.text)


def _cut_off(call: Call) -> Parts:
    unit, text = call.node.args["unit"].name.lower(), call.text
    if unit not in UNITS:
        raise DuotoneError(f"{text}: the unit must be one of {', '.join(UNITS)}")
    value = _as_time(call.part(), text, clock=unit in OF_A_CLOCK)
    if kind_of(value) == "date" and unit in OF_A_CLOCK:
        raise DuotoneError(f"{text}: a date has no {unit}")
    return value, unit


def _truncated(column: Any, unit: str) -> Any:
    kind = column.type()
    return column.cast("timestamp(6)").truncate(UNITS[unit]).cast("date" if kind.is_date() else "timestamp(6)")


def _day(call: Call) -> Parts | None:
    return None if call.node.args.get("unit") is not None else (_as_time(call.part(), call.text),)


def _last_day(column: Any) -> Any:
    after = column.cast("timestamp(6)").truncate("M") + ibis.interval(1, unit="M")
    return (after - ibis.interval(1, unit="D")).cast("date")


def formatted(value: Part, layout: str, text: str) -> Operand:
    """A date or time as text, by the letters of a format after %."""
    pieces: list[Part] = []
    for letter, plain in re.findall(r"%(.|$)|([^%]+)", layout, re.DOTALL):
        if letter in IN_DIGITS:
            field, width = IN_DIGITS[letter]
            pieces.append(PADDED.of(text, _part_of_time(field, value, text), Fraction(width)))
        elif letter in IN_WORDS:
            field, words = IN_WORDS[letter]
            pieces.append(WORD.of(text, words, _part_of_time(field, value, text)))
        elif plain or letter == "%":
            pieces.append(plain or letter)
        else:
            raise DuotoneError(f"{text}: a format has %{', %'.join((*IN_DIGITS, *IN_WORDS, '%'))} and no other %{letter}")
    if not any(isinstance(piece, Operand) for piece in pieces):
        raise DuotoneError(f"{text} is the same on every row: name a part of the time, as in %Y-%m")
    return PIECES.of(text, *pieces)


def _format(call: Call) -> Operand:
    return formatted(call.part(), written_out(call.part("format"), call.text), call.text)


IN_DIGITS = {"Y": ("year", 4), "m": ("month", 2), "d": ("day", 2), "H": ("hour", 2), "M": ("minute", 2), "S": ("second", 2),
             "j": ("dayofyear", 3)}  # fmt: skip
"""Digits of each letter of a format."""
IN_WORDS = {
    "A": ("isodow", "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday"),
    "B": ("month", "January,February,March,April,May,June,July,August,September,October,November,December"),
}
"""Letters that are written as a word."""


def _extract(call: Call) -> Operand:
    return _part_of_time(call.node.name.lower(), call.part("expression"), call.text)


def _part(name: str, *nodes: type[exp.Expression], compute: Callable[[Any], Any] | None = None, **more: Any) -> Function:
    """A part of a date or time, which Ibis has under the same name unless `compute` is given."""
    form = Form(lambda call: (_as_time(call.part(), call.text, clock=name in OF_A_CLOCK),))
    any_part: dict[type[exp.Expression], Form] = {exp.Extract: Form(_extract, TWO), exp.Anonymous: Form(_named_part, None)}
    made = compute or operator.methodcaller(name)
    return Function(name, "time", "integer", lambda x: made(x).cast("int64"), any_part | dict.fromkeys(nodes, form), **more)


def _of_the_clock(name: str, node: type[exp.Expression]) -> Function:
    return _part(name, node, compute=lambda x: getattr(x.cast("timestamp(6)"), name)())


PARTS: dict[str, Function] = {
    function.name: function
    for function in (
        _part("year", exp.Year, tried=True),
        _part("quarter", exp.Quarter),
        _part("month", exp.Month, tried=True),
        _part("week", exp.Week, exp.WeekOfYear, compute=lambda x: x.week_of_year()),
        _part("day", exp.Day, exp.DayOfMonth, tried=True),
        _part("dayofyear", exp.DayOfYear, compute=lambda x: x.day_of_year()),
        _part("dayofweek", exp.DayOfWeek, compute=lambda x: (x.day_of_week.index().cast("int64") + 1) % 7),
        _part("isodow", exp.DayOfWeekIso, compute=lambda x: x.day_of_week.index().cast("int64") + 1),
        _of_the_clock("hour", exp.Hour),
        _of_the_clock("minute", exp.Minute),
        _of_the_clock("second", exp.Second),
    )
}
"""The parts of a date or time."""
PADDED = Function(
    "padded", "text", "text", lambda n, width: (n.cast("int64") + 10 ** int(width)).cast("string").right(int(width))
)
WORD = Function("word", "text", "text", lambda words, n: split_part(words, ",", n.cast("int32")))
PIECES = Function("pieces", "text", "text", lambda *texts: functools.reduce(operator.add, texts), {
    exp.TimeToStr: Form(_format, ("this", "format")),
    exp.Dayname: Form(lambda call: formatted(call.part(), "%A", call.text)),
    exp.Monthname: Form(lambda call: formatted(call.part(), "%B", call.text)),
})  # fmt: skip
"""A time as text, made of digits, words and the texts between them."""
TIMES = (
    *PARTS.values(), PADDED, WORD, PIECES,
    Function("truncate", "time", None, _truncated,
             dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc), Form(_cut_off, ("this", "unit")))),
    Function("last day", "time", "date", _last_day, {exp.LastDay: Form(_day)}),
)  # fmt: skip


SPANS = {"year": ("months", 12), "quarter": ("months", 3), "month": ("months", 1), "week": ("days", 7), "day": ("days", 1),
         "hour": ("seconds", 3600), "minute": ("seconds", 60), "second": ("seconds", 1)}  # fmt: skip
"""Months, days or seconds of a unit."""
MOST_OF = {"months": 12 * 10_000, "days": 12 * 10_000 * 31, "seconds": 12 * 10_000 * 31 * 86_400}
"""Limits of a span: as many days or seconds as this many months may have."""
APART = tuple(unit for unit in UNITS if unit != "week")
"""Units of date_diff. Engines count weeks by Mondays or by whole weeks."""


@dataclass(frozen=True)
class Span:
    """Months, then days, then seconds."""

    months: Fraction = Fraction(0)
    days: Fraction = Fraction(0)
    seconds: Fraction = Fraction(0)

    def __neg__(self) -> Span:
        return Span(-self.months, -self.days, -self.seconds)


def span(node: exp.Expression) -> Span | None:
    """The span of an interval; None for anything else."""
    if isinstance(node, exp.Paren):
        return span(node.this)
    if isinstance(node, exp.Neg):
        inner = span(node.this)
        return None if inner is None else -inner
    if not isinstance(node, exp.Interval):
        return None
    text, unit = node.sql(dialect="duckdb"), node.args.get("unit")
    written = node.this.name if isinstance(node.this, exp.Literal) else ""
    if unit is None:
        amount, _, name = written.strip().partition(" ")
    else:
        amount, name = written, unit.name
    name = re.sub(r"s$", "", name.strip().lower())
    if not re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,6})?", amount.strip()):
        raise DuotoneError(f"{text}: a span of time is one number and one unit, as interval '7 days'")
    return _span(Fraction(number(amount.strip())), name, text)


def _span(amount: Fraction, unit: str, text: str) -> Span:
    kind, each = SPANS.get(unit, ("", 0))
    if kind and (amount.denominator == 1 or kind == "seconds") and abs(amount) * each <= MOST_OF[kind]:
        return Span(**{kind: amount * each})
    raise DuotoneError(f"{text}: write a whole number of years, quarters, months, weeks or days, or hours, minutes or seconds")


def _moved(moment: datetime.date, by: Span) -> datetime.date:
    """A date or time plus a span; the last day of the month if the day does not exist."""
    months = moment.year * 12 + moment.month - 1 + int(by.months)
    year, month = divmod(months, 12)
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    moment = moment.replace(year=year, month=month + 1, day=day)
    return moment + datetime.timedelta(days=int(by.days), microseconds=int(by.seconds * 1_000_000))


def folded(value: Value, by: Span, text: str) -> datetime.date:
    """A constant date or time plus a span."""
    if not isinstance(value, datetime.date):
        raise DuotoneError(f"{text}: {value} is not a date or time")
    try:
        return _moved(value, by)
    except (OverflowError, ValueError):
        raise DuotoneError(f"{text} lies outside the years 1 to 9999") from None


def whole_days(days: Fraction, text: str) -> Span:
    """The number of days that is added to a date."""
    if not (days.denominator == 1 and abs(days) < 10**7):
        raise DuotoneError(f"{text}: only whole days can be added to a date")
    return Span(days=days)


def with_span(node: exp.Expression, read: Callable[[exp.Expression], Part], text: str) -> Operand | None:
    """A date or time plus or minus an interval; None without an interval."""
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    later = span(node.expression)
    if later is not None:
        return shifted(read(node.this), later if isinstance(node, exp.Add) else -later, text)
    later = span(node.this)
    return shifted(read(node.expression), later, text) if later is not None and isinstance(node, exp.Add) else None


def of_dates(node: exp.Expression, left: Part, right: Part, text: str) -> Operand | None:
    """A date plus or minus days, or the days between two dates; None for numbers."""
    day, days = (right, left) if isinstance(left, Fraction) and isinstance(node, exp.Add) else (left, right)
    if isinstance(node, exp.Add | exp.Sub) and isinstance(day, Operand) and day.kind == "date" and isinstance(days, Fraction):
        return shifted(day, whole_days(days if isinstance(node, exp.Add) else -days, text), text)
    if not isinstance(node, exp.Sub):
        return None
    kinds = {kind_of(left), kind_of(right)}
    if kinds == {"untyped"}:
        raise undeclared({part.column: "number" for part in (left, right) if isinstance(part, Operand)})
    if "time" in kinds:
        first, last = (part.sql(dialect="duckdb") for part in (node.expression, node.this))
        raise DuotoneError(
            f"{text}: to count the hours between two times, write date_diff('hour', {first}, {last}), or 'minute' …"
        )
    if kinds in ({"date"}, {"date", "untyped"}):
        return DAYS_APART.of(text, _as_time(right, text), _as_time(left, text))
    return None


def shifted(value: Part, by: Span, text: str) -> Operand:
    """A date or time plus a span."""
    time = _as_time(value, text, clock=bool(by.seconds))
    if kind_of(time) == "date" and by.seconds:
        raise DuotoneError(f"{text}: only days, weeks, months and years can be added to a date; cast it to a timestamp first")
    return SHIFT.of(text, time, by.months, by.days, by.seconds)


def _date_add(call: Call) -> Operand | None:
    later = span(call.node.expression)
    if later is None:
        return None
    return shifted(call.part(), -later if isinstance(call.node, exp.DateSub) else later, call.text)


def _date_diff(call: Call) -> Parts | Operand | None:
    if call.node.args.get("unit") is None:
        return None
    unit = call.node.args["unit"].name.lower()
    if unit not in APART:
        raise DuotoneError(f"{call.text}: date_diff counts by {', '.join(APART)}")
    ends = [_as_time(call.part(end), call.text, clock=unit in OF_A_CLOCK) for end in ("expression", "this")]
    return DAYS_APART.of(call.text, *ends) if unit == "day" else (*ends, unit)


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
        return _floor_by(_seconds(column), SPANS[unit][1])

    return place(second) - place(first)


def _shifted(column: Any, months: Fraction, days: Fraction, seconds: Fraction) -> Any:
    """A time plus a span; null if the result may lie outside the years 1 to 9999."""
    by = Span(months, days, seconds)
    kind = "date" if column.type().is_date() else "timestamp(6)"
    first: datetime.date = datetime.datetime.min
    last: datetime.date = datetime.datetime.max
    try:
        if max(months, days, seconds) > 0:
            last = _moved(last, -by)
        else:
            first = _moved(first, -by)
    except (OverflowError, ValueError):  # longer than all years from 1 to 9999
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


SHIFT = Function(
    "shift", "time", None, _shifted,
    {exp.DateAdd: Form(_date_add, TWO), exp.DateSub: Form(_date_add, TWO), exp.TsOrDsAdd: Form(_date_add, None)},
)  # fmt: skip
DAYS_APART = Function("days", "time", "integer", lambda first, second: _day_number(second) - _day_number(first))
DIFFERENCE = Function(
    "difference", "time", "integer", _difference,
    {exp.DateDiff: Form(_date_diff, ("this", "expression", "unit", "date_part_boundary"))},
)  # fmt: skip
INTERVALS = (SHIFT, DAYS_APART, DIFFERENCE)
"""Also parsed as + and - (`numbers`)."""
