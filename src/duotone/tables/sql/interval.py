"""Spans of time in SQL: interval '7 days', interval 1 month."""

from __future__ import annotations

import calendar
import datetime
import re
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.privacy.numbers import number

MONTHS = {"year": 12, "quarter": 3, "month": 1}
DAYS = {"week": 7, "day": 1}
SECONDS = {"hour": 3600, "minute": 60, "second": 1}
LONGEST = 12 * 10_000
"""Months that a span has, at most; and as many days or seconds as these may have."""


@dataclass(frozen=True)
class Span:
    """So many months, then so many days, then so many seconds."""

    months: int = 0
    days: int = 0
    seconds: Fraction = Fraction(0)

    def __neg__(self) -> Span:
        return Span(-self.months, -self.days, -self.seconds)


def span(node: exp.Expression) -> Span | None:
    """What an interval says; None for anything else."""
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
    if unit in SECONDS and abs(amount) * SECONDS[unit] <= LONGEST * 31 * 86_400:
        return Span(seconds=amount * SECONDS[unit])
    if amount.denominator == 1 and unit in MONTHS and abs(amount) * MONTHS[unit] <= LONGEST:
        return Span(months=int(amount) * MONTHS[unit])
    if amount.denominator == 1 and unit in DAYS and abs(amount) * DAYS[unit] <= LONGEST * 31:
        return Span(days=int(amount) * DAYS[unit])
    raise DuotoneError(f"{text}: write a whole number of years, quarters, months, weeks or days, or hours, minutes or seconds")


def moved(moment: datetime.date, by: Span) -> datetime.date:
    """A date or time so much later; the last day of a month where it would be past it."""
    months = moment.year * 12 + moment.month - 1 + by.months
    year, month = divmod(months, 12)
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    moment = moment.replace(year=year, month=month + 1, day=day)
    micros = by.seconds * 1_000_000
    return moment + datetime.timedelta(days=by.days, microseconds=int(micros))
