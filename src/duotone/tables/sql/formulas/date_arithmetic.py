"""Arithmetic of dates and times: so much later or earlier, and how far apart two are."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import Operand, Part, Value
from duotone.tables.sql.formulas.parts import Read, described, formula, kind_of
from duotone.tables.sql.formulas.times import TRUNCATED, as_time, as_time_with, require_clock
from duotone.tables.sql.interval import Span, moved, span

APART = tuple(unit for unit in TRUNCATED if unit != "week")
"""Of weeks between two times, engines count the Mondays or the whole ones."""


def read_date_arithmetic(node: exp.Expression, text: str, read: Read) -> Operand | None:
    """How far two times are apart by date_diff, or a time so much later by date_add; None for anything else."""
    match node:
        case exp.DateDiff() if node.args.get("unit") is not None:
            unit = node.args["unit"].name.lower()
            if unit not in APART:
                raise DuotoneError(f"{text}: date_diff counts by {', '.join(APART)}")
            ends = tuple(as_time_with(unit, read(end), text) for end in (node.expression, node.this))
            if unit == "day":
                return formula(text, "integer", "days", *ends)
            return formula(text, "integer", "difference", *ends, unit)
        case exp.DateAdd() | exp.DateSub() | exp.TsOrDsAdd():
            later = span(node.expression)
            if later is not None:
                return shifted(read(node.this), -later if isinstance(node, exp.DateSub) else later, text)
    return None


@dataclass(frozen=True)
class Shift:
    """A date or time, as it is written, and the span by which it is moved."""

    moment: exp.Expression
    by: Span


def span_added(node: exp.Expression) -> Shift | None:
    """What is moved by an interval that is added or subtracted; None where there is no interval."""
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    later = span(node.expression)
    if later is not None:
        return Shift(node.this, later if isinstance(node, exp.Add) else -later)
    later = span(node.this)
    return Shift(node.expression, later) if later is not None and isinstance(node, exp.Add) else None


def of_dates(node: exp.Expression, left: Part, right: Part, text: str) -> Operand | None:
    """A date plus or minus so many days, or the days between two dates; None where it is of numbers."""
    day, days = (right, left) if isinstance(left, Fraction) and isinstance(node, exp.Add) else (left, right)
    if isinstance(node, exp.Add | exp.Sub) and isinstance(day, Operand) and day.kind == "date" and isinstance(days, Fraction):
        return shifted(day, whole_days(days if isinstance(node, exp.Add) else -days, text), text)
    if not isinstance(node, exp.Sub):
        return None
    kinds = {kind_of(left), kind_of(right)}
    if kinds == {"untyped"}:
        a, b = (described(part).removeprefix("column ") for part in (left, right))
        raise DuotoneError(f"{text}: say what the columns hold, as in {a}::double - {b}::double or {a}::date - {b}::date")
    if "time" in kinds:
        first, last = (part.sql(dialect="duckdb") for part in (node.expression, node.this))
        raise DuotoneError(
            f"{text}: what lies between two times is counted by date_diff('hour', {first}, {last}), or 'minute' …"
        )
    if kinds in ({"date"}, {"date", "untyped"}):
        return formula(text, "integer", "days", as_time(right, text), as_time(left, text))
    return None


def whole_days(days: Fraction, text: str) -> Span:
    """What a number says that is added to a date."""
    if not (days.denominator == 1 and abs(days) < 10**7):
        raise DuotoneError(f"{text}: a date moves by whole days")
    return Span(days=int(days))


def shifted(value: Part, by: Span, text: str) -> Operand:
    """A date or time, so much later."""
    if by.seconds:
        require_clock(value, text)
    kind = kind_of(as_time(value, text))
    if kind == "date" and by.seconds:
        raise DuotoneError(f"{text}: a date moves by days, weeks, months and years; cast it to a timestamp first")
    return formula(text, kind, "shift", as_time(value, text), Fraction(by.months), Fraction(by.days), by.seconds)


def folded(value: Value, by: Span, text: str) -> datetime.date:
    """A constant date or time, so much later."""
    if not isinstance(value, datetime.date):
        raise DuotoneError(f"{text}: {value} is no date or time")
    try:
        return moved(value, by)
    except (OverflowError, ValueError):
        raise DuotoneError(f"{text} lies outside the years 1 to 9999") from None
