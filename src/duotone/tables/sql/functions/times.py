"""Dates and times: their parts, where they are cut off, and how they are written as text."""

from __future__ import annotations

import datetime
import functools
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ibis
from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.tables.sql.condition import Operand, Part
from duotone.tables.sql.functions.function import (
    TWO,
    Call,
    Form,
    Function,
    Parts,
    as_kind,
    described,
    kind_of,
    written_out,
)
from duotone.tables.sql.functions.texts import split_part

UNITS = {"year": "Y", "quarter": "Q", "month": "M", "week": "W", "day": "D", "hour": "h", "minute": "m", "second": "s"}
"""What times are cut off at, as Ibis calls them."""
OF_A_CLOCK = ("hour", "minute", "second")
OTHER_WORDS = {"dow": "dayofweek", "doy": "dayofyear", "weekday": "dayofweek"}
"""Other words for parts of a time."""


def as_time(part: Part, text: str) -> Part:
    """A date or a time; a text of a CSV file is read as a date."""
    if isinstance(part, datetime.date):
        return part
    if isinstance(part, Operand) and part.kind in ("date", "time"):
        return part
    if isinstance(part, Operand) and part.kind == "untyped":
        return as_kind(part, "date")
    written = isinstance(part, Operand) and part.kind == "text" and part.made is None
    hint = ", but text: store it as one; if it holds dates, cast it (::date)" if written else ""
    raise DuotoneError(f"{text}: {described(part)} is not a date or time{hint}")


def as_time_with(unit: str, part: Part, text: str) -> Part:
    """The same, where such a part of it is asked for: every date is midnight's, which nobody asks for of a text."""
    if unit in OF_A_CLOCK:
        require_clock(part, text)
    return as_time(part, text)


def require_clock(part: Part, text: str) -> None:
    """Refuse a text that is read as a date, where the time of the day is asked for."""
    if isinstance(part, Operand) and part.kind == "untyped":
        raise without_clock(text, part)


def without_clock(text: str, column: Operand) -> Refusal:
    """Why a column of a CSV file has no hours, and what to do about it."""
    return Refusal("time of a date", text=text, column=column.column)


def _part_of_time(field: str, value: Part, text: str) -> Operand:
    """A part of a time, by its name or another word for it."""
    field = OTHER_WORDS.get(field, field)
    if field not in PARTS:
        raise DuotoneError(f"{text}: parts of a time are {', '.join(PARTS)}")
    return PARTS[field].of(text, as_time_with(field, value, text))


def _named_part(call: Call) -> Operand | None:
    """date_part('year', x)."""
    if call.node.name.lower() not in ("date_part", "datepart") or len(call.node.expressions) != 2:
        return None
    field, value = call.node.expressions
    return _part_of_time(field.name.lower(), call.read(value), call.text)


def _cut_off(call: Call) -> Parts:
    unit, text = call.node.args["unit"].name.lower(), call.text
    if unit not in UNITS:
        raise DuotoneError(f"{text}: times are cut off at {', '.join(UNITS)}")
    value = as_time_with(unit, call.part(), text)
    if kind_of(value) == "date" and unit in OF_A_CLOCK:
        raise DuotoneError(f"{text}: a date has no {unit}")
    return value, unit


def _truncated(column: Any, unit: str) -> Any:
    kind = column.type()
    return column.cast("timestamp(6)").truncate(UNITS[unit]).cast("date" if kind.is_date() else "timestamp(6)")


def _day(call: Call) -> Parts | None:
    return None if call.node.args.get("unit") is not None else (as_time(call.part(), call.text),)


def _last_day(column: Any) -> Any:
    after = column.cast("timestamp(6)").truncate("M") + ibis.interval(1, unit="M")
    return (after - ibis.interval(1, unit="D")).cast("date")


def formatted(value: Part, layout: str, text: str) -> Operand:
    """A date or time as text, by the letters that a format has after %."""
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
"""What a format writes with so many digits."""
IN_WORDS = {
    "A": ("isodow", "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday"),
    "B": ("month", "January,February,March,April,May,June,July,August,September,October,November,December"),
}
"""What it writes as a word."""


def _extract(call: Call) -> Operand:
    return _part_of_time(call.node.name.lower(), call.part("expression"), call.text)


def _part(name: str, *nodes: type[exp.Expression], compute: Callable[[Any], Any] | None = None, **more: Any) -> Function:
    """A part of a date or time, which Ibis has by the same name unless `compute` says otherwise."""
    form = Form(lambda call: (as_time_with(name, call.part(), call.text),))
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
"""A time as text, made of digits, words and what stands between them."""
TIMES = (
    *PARTS.values(), PADDED, WORD, PIECES,
    Function("truncate", "time", None, _truncated,
             dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc), Form(_cut_off, ("this", "unit")))),
    Function("last day", "time", "date", _last_day, {exp.LastDay: Form(_day)}),
)  # fmt: skip
