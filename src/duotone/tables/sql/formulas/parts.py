"""What formulas are made of: values of a row and constants, each of a kind."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import Formula, Kind, Operand, Part

Read = Callable[[exp.Expression], Part]
"""Reads one part of a formula: a value of the row, or a constant."""


def formula(text: str, kind: Kind, function: str, *parts: Part | None) -> Operand:
    """A value of this kind that a function has of its parts, called as the question writes it."""
    return Operand(text, kind, made=Formula(function, tuple(parts)))


def described(part: Part) -> str:
    """What an error calls a part."""
    if isinstance(part, Operand):
        return f"column {part.column}" if part.made is None else part.column
    return str(part)


def as_kind(operand: Operand, kind: Kind) -> Operand:
    """An operand as one of this kind: a column of a CSV file is read as such values, and is null where they are none."""
    reading = operand.reading or ("try" if operand.kind == "untyped" and kind != "text" else None)
    return replace(operand, kind=kind, reading=reading)


def as_floats(value: Operand) -> Operand:
    """Numbers as they are; a column of a CSV file read as numbers."""
    return as_kind(value, "float") if value.kind == "untyped" else value


def kind_of(part: Part) -> Kind:
    """What a value of a row holds, or what a constant is."""
    match part:
        case Operand():
            return part.kind
        case bool():
            return "boolean"
        case Fraction():
            return "integer" if part.denominator == 1 and abs(part) < 2**53 else "float"
        case datetime.datetime():
            return "time"
        case datetime.date():
            return "date"
        case str():
            return "text"
    raise DuotoneError("a condition is no value: write case when … then … end")


def written_out(part: Part, text: str) -> str:
    """A constant text."""
    if not isinstance(part, str):
        raise DuotoneError(f"{text}: the text that is looked for is written out")
    return part
