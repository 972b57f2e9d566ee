"""Functions of dates and times."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import ibis

from duotone.tables.sql.interval import Span, moved

UNITS = {"year": "Y", "quarter": "Q", "month": "M", "week": "W", "day": "D", "hour": "h", "minute": "m", "second": "s"}
SECONDS = {"hour": 3600, "minute": 60, "second": 1}


def of_time(function: str, parts: Sequence[Any]) -> Any:
    """A function of a date or time, and of what else it takes."""
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
