"""Constants: values that are written out in a question, arithmetic of them, and what is compared with them."""

from __future__ import annotations

import datetime
import re
import sys
from fractions import Fraction

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.privacy.numbers import number
from duotone.tables.sql.condition import NUMERIC, Compare, Kind, Operand, Value
from duotone.tables.sql.functions.function import as_kind
from duotone.tables.sql.functions.intervals import folded, span, whole_days
from duotone.tables.sql.functions.texts import ORDERED, require_text
from duotone.tables.sql.functions.times import without_clock


def constant(node: exp.Expression) -> Value | None:
    """A constant's value; numbers are exact. None where it is not a constant."""
    match node:
        case exp.Paren():
            return constant(node.this)
        case exp.Literal():
            return node.this if node.is_string else Fraction(number(node.this))
        case exp.Boolean():
            return bool(node.this)
        case exp.Neg():
            inner = constant(node.this)
            return -inner if isinstance(inner, Fraction) and not isinstance(inner, bool) else None
        case exp.Div() | exp.Mul() | exp.Add() | exp.Sub():
            return _moved(node) if span(node.expression) is not None else _arithmetic(node)
        case exp.DateFromParts():
            return _made_date(node)
        case exp.Cast() if isinstance(node.this, exp.Literal) and node.this.is_string:
            if node.to.this.name in ("DATE", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "DATETIME"):
                return instant(node.this.this, node.sql(dialect="duckdb"), zone=node.to.this.name == "TIMESTAMPTZ")
    return None


def _moved(node: exp.Expression) -> datetime.date | None:
    """A date that is written out, and a span of time after or before it."""
    start, by, text = constant(node.this), span(node.expression), node.sql(dialect="duckdb")
    if start is None or by is None:
        return None
    if not isinstance(node, exp.Add | exp.Sub):
        raise DuotoneError(f"{text}: a span of time is added or subtracted")
    return folded(start, by if isinstance(node, exp.Add) else -by, text)


def _made_date(node: exp.DateFromParts) -> datetime.date:
    text, parts = node.sql(dialect="duckdb"), [constant(node.args[name]) for name in ("year", "month", "day")]
    numbers = [int(part) for part in parts if type(part) is Fraction and part.denominator == 1]
    try:
        return datetime.date(*numbers)
    except (TypeError, ValueError, OverflowError):
        raise DuotoneError(f"{text}: make_date is of three whole numbers that are written out, and that are a date") from None


def _arithmetic(node: exp.Binary) -> Fraction | datetime.date | None:
    left, right = constant(node.this), constant(node.expression)
    if type(left) is datetime.date and type(right) is Fraction and isinstance(node, exp.Add | exp.Sub):
        text = node.sql(dialect="duckdb")
        return folded(left, whole_days(right if isinstance(node, exp.Add) else -right, text), text)
    if not (type(left) is Fraction and type(right) is Fraction):
        return None
    match node:
        case exp.Div():
            if right == 0:
                raise DuotoneError(f"{node.sql()} divides by zero")
            return left / right
        case exp.Mul():
            return left * right
        case exp.Add():
            return left + right
    return left - right


def instant(text: str, expression: str, *, zone: bool = False) -> datetime.date:
    """A date or a time; one with a zone, where that is meant, in UTC."""
    try:
        moment = datetime.date.fromisoformat(text) if len(text) <= 10 else datetime.datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if zone and isinstance(moment, datetime.datetime) and moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    if moment is None or re.search(r"[.,][0-9]{7}", text) or getattr(moment, "tzinfo", None) is not None:
        raise DuotoneError(f"{expression}: write a date as 2025-12-31, a time as 2025-12-31 23:59:59, with at most 6 decimals")
    return moment


def compare(operand: Operand, sign: str, value: Value, text: str) -> Compare:
    """An operand against a constant of its own kind."""
    kind: Kind
    if isinstance(value, bool):
        kind, fits = "boolean", operand.kind in ("boolean", "untyped")
    elif isinstance(value, Fraction):
        kind, fits = "float" if operand.kind == "untyped" else operand.kind, operand.kind in NUMERIC
        value = value if operand.kind == "integer" else _double(value, text)
    elif isinstance(value, str) and operand.kind in ("date", "time"):
        return compare(operand, sign, instant(value, text), text)
    elif isinstance(value, str):
        kind, fits = "text", operand.kind in ("text", "untyped")
        if operand.kind == "untyped" and sign in ORDERED:
            require_text(operand, value, text)
    else:
        fits = operand.kind in ("date", "time", "untyped")
        kind = "date" if operand.kind == "untyped" else operand.kind
        if operand.kind == "time" and not isinstance(value, datetime.datetime):
            value = datetime.datetime.combine(value, datetime.time())
        elif operand.kind == "untyped" and isinstance(value, datetime.datetime):
            raise without_clock(text, operand)
        elif operand.kind != "time" and isinstance(value, datetime.datetime):
            raise DuotoneError(f"{text}: column {operand.column} holds dates: compare it with a date")
    if not fits:
        held = {"text": "text", "boolean": "Booleans", "date": "dates", "time": "times"}.get(operand.kind, "numbers")
        raise DuotoneError(f"{text}: column {operand.column} holds {held}: compare it with such a constant")
    return Compare(as_kind(operand, kind), sign, value)


def _double(value: Fraction, text: str) -> Fraction:
    """The float that the engine compares with."""
    if not abs(value) <= Fraction(sys.float_info.max):
        raise DuotoneError(f"{text}: the number is too large")
    return Fraction(float(value))
