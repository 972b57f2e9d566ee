"""The parts of a formula as Ibis expressions of the kind that a function is of."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ibis

from duotone.tables.sql.condition import Kind, Operand, Part

Value = Callable[[Any], Any]
"""The Ibis expression of an operand or of a condition."""


def as_kind(part: Part | None, kind: Kind, value: Value) -> Any:
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
