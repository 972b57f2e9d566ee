"""Casts: a value as one of another kind, null where it cannot be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import NUMERIC, Compare, Kind, Operand
from duotone.tables.sql.formulas.choices import choice
from duotone.tables.sql.formulas.numbers import LARGEST_ROUND
from duotone.tables.sql.formulas.parts import Read, described, formula
from duotone.tables.sql.formulas.time_formats import formatted
from duotone.tables.sql.formulas.times import without_clock

CASTS: dict[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT", "INT128"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "float"),
    **dict.fromkeys(("TEXT", "VARCHAR"), "text"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), "time"),
    "DATE": "date",
    "BOOLEAN": "boolean",
}
"""What a cast makes of a value, by the name of its type."""


def read_cast(node: exp.Expression, text: str, read: Read) -> Operand | None:
    """date(x), which is x::date; None for anything else. (Other casts are read where conditions are.)"""
    if not (isinstance(node, exp.Date) and node.expression is None and not node.expressions):
        return None
    value = read(node.this)
    if not isinstance(value, Operand):
        raise DuotoneError(f"{text} is the same on every row: name a column")
    return cast(value, "date", text)


def cast(value: Operand, target: Kind, text: str) -> Operand:
    """A value as one of another kind, null where it cannot be."""
    match target:
        case "integer" if value.kind == "integer":
            return value
        case "text" if value.kind == "integer":
            return formula(text, "text", "digits", value)
        case "text" if value.kind == "boolean":
            return choice(text, [Compare(value, "=", True), Compare(value, "=", False)], ["true", "false", None])
        case "text" if value.kind == "date":
            return formatted(value, "%Y-%m-%d", text)
        case "integer" | "float" if value.kind in NUMERIC or value.kind == "text":
            number = value if value.kind in ("integer", "float", "decimal") else _tried(value, "float", text)
            return formula(text, "float", "integer", number) if target == "integer" else number
        case "text" if value.kind in ("text", "untyped"):
            return replace(value, kind="text")
        case "date" if value.kind in ("text", "untyped"):
            return _tried(value, "date", text)
        case "date" if value.kind == "time":
            return formula(text, "date", "date", value)
        case "time" if value.kind == "date":
            return formula(text, "time", "time", value)
        case "boolean" if value.kind == "untyped":
            return _tried(value, "boolean", text)
        case "time" if value.kind == "untyped":
            raise DuotoneError(f"{text}: {without_clock(value)}")
    if value.kind != target:
        raise DuotoneError(f"{text}: {described(value)} cannot be cast so")
    return value


FROM_TEXT: dict[Kind, str] = {"float": "number from text", "date": "date from text"}
"""What reads computed text as a value of another kind, by the rule for a column of text."""


def decimal(value: Operand, digits: int, decimals: int, text: str) -> Operand:
    """A number with so many digits, of which so many are decimals, rounded as a double is; a whole number as it is."""
    if not (0 <= decimals <= digits <= 38 and decimals <= LARGEST_ROUND):
        raise DuotoneError(f"{text}: a decimal has at most 38 digits, and at most {LARGEST_ROUND} of them after the point here")
    if value.kind in ("text", "untyped"):
        name = value.column if value.made is None else f"({value.column})"
        raise DuotoneError(f"{text}: {described(value)} is text: make it a number first, as in {name}::double")
    before = digits - decimals
    if value.kind == "integer" and before >= 19:  # all that 64 bits hold
        return value
    if value.kind not in ("integer", "float") or (value.kind == "integer" and before > 15):
        raise DuotoneError(f"{text}: {described(value)} is rounded exactly there; write round(x, {decimals}), or leave it out")
    return formula(text, "float", "decimal", value, Fraction(digits), Fraction(decimals))


def _tried(value: Operand, kind: Kind, text: str) -> Operand:
    if value.made is not None:
        return formula(text, kind, FROM_TEXT[kind], value)
    return Operand(value.column, kind, "try")
