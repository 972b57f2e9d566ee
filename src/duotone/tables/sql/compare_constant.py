"""A value of a row against a constant of its own kind."""

from __future__ import annotations

import datetime
import sys
from fractions import Fraction

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import NUMERIC, Compare, Kind, Operand, Value
from duotone.tables.sql.constants import instant
from duotone.tables.sql.formulas.parts import as_kind
from duotone.tables.sql.formulas.times import without_clock
from duotone.tables.sql.text_order import ORDERED, require_text


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
            raise DuotoneError(f"{text}: {without_clock(operand)}")
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
