"""Dates and times: their parts, and where they are cut off."""

from __future__ import annotations

import datetime

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.column_names import in_python
from duotone.tables.sql.condition import Operand, Part
from duotone.tables.sql.formulas.parts import Read, as_kind, described, formula, kind_of

OF_A_TIME: dict[type[exp.Expression], str] = {
    exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month", exp.Week: "week", exp.Day: "day", exp.DayOfMonth: "day",
    exp.WeekOfYear: "week",
    exp.DayOfYear: "dayofyear", exp.DayOfWeek: "dayofweek", exp.DayOfWeekIso: "isodow", exp.Hour: "hour", exp.Minute: "minute",
    exp.Second: "second",
}  # fmt: skip
FIELDS = {"dow": "dayofweek", "doy": "dayofyear", "weekday": "dayofweek"}
"""Other words for parts of a time."""
TRUNCATED = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
OF_A_CLOCK = ("hour", "minute", "second")


def read_time(node: exp.Expression, text: str, read: Read) -> Operand | None:
    """A part of a date or time, or where it is cut off; None for anything else."""
    kind = type(node)
    if kind in OF_A_TIME:
        return part_of_time(OF_A_TIME[kind], read(node.this), text)
    match node:
        case exp.Extract():
            return part_of_time(node.name.lower(), read(node.expression), text)
        case exp.Anonymous() if node.name.lower() in ("date_part", "datepart") and len(node.expressions) == 2:
            field, value = node.expressions
            return part_of_time(field.name.lower(), read(value), text)
        case exp.LastDay() if node.args.get("unit") is None:
            return formula(text, "date", "last day", as_time(read(node.this), text))
        case exp.TimestampTrunc() | exp.DateTrunc():
            return _truncated(node.args["unit"].name.lower(), read(node.this), text)
    return None


def part_of_time(field: str, value: Part, text: str) -> Operand:
    """A part of a time, by its name or another word for it."""
    field = FIELDS.get(field, field)
    if field not in OF_A_TIME.values():
        raise DuotoneError(f"{text}: parts of a time are {', '.join(dict.fromkeys(OF_A_TIME.values()))}")
    return formula(text, "integer", field, as_time_with(field, value, text))


def _truncated(unit: str, part: Part, text: str) -> Operand:
    if unit not in TRUNCATED:
        raise DuotoneError(f"{text}: times are cut off at {', '.join(TRUNCATED)}")
    value = as_time_with(unit, part, text)
    if kind_of(value) == "date" and unit in OF_A_CLOCK:
        raise DuotoneError(f"{text}: a date has no {unit}")
    return formula(text, kind_of(value), "truncate", value, unit)


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
    raise DuotoneError(f"{text}: {described(part)} is no date or time{hint}")


def as_time_with(unit: str, part: Part, text: str) -> Part:
    """The same, where such a part of it is asked for: every date is midnight's, which nobody asks for of a text."""
    if unit in OF_A_CLOCK:
        require_clock(part, text)
    return as_time(part, text)


def require_clock(part: Part, text: str) -> None:
    """Refuse a text that is read as a date, where the time of the day is asked for."""
    if isinstance(part, Operand) and part.kind == "untyped":
        raise DuotoneError(f"{text}: {without_clock(part)}")


def without_clock(column: Operand) -> str:
    """Why a column of a CSV file has no hours, and what to do about it."""
    formats = f'{{{in_python(column.column)}: "%Y-%m-%d %H:%M"}}'
    return f"{column.column} is text, read as a date without its time: declare its date format (formats={formats})"
