"""Casts: a value as one of another kind, null where it cannot be."""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction
from typing import Any

import ibis
from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import NUMERIC, Compare, Kind, Operand
from duotone.tables.sql.functions.choices import choice
from duotone.tables.sql.functions.function import Call, Form, Function, described
from duotone.tables.sql.functions.numbers import DECIMAL, INTEGER, LARGEST_ROUND
from duotone.tables.sql.functions.texts import DIGITS
from duotone.tables.sql.functions.times import formatted, without_clock

CASTS: dict[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT", "INT128"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "float"),
    **dict.fromkeys(("TEXT", "VARCHAR"), "text"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), "time"),
    "DATE": "date",
    "BOOLEAN": "boolean",
}
"""What a cast makes of a value, by the name of its type."""


def cast(value: Operand, target: Kind, text: str) -> Operand:
    """A value as one of another kind, null where it cannot be."""
    match target:
        case "integer" if value.kind == "integer":
            return value
        case "text" if value.kind == "integer":
            return DIGITS.of(text, value)
        case "text" if value.kind == "boolean":
            return choice(text, [Compare(value, "=", True), Compare(value, "=", False)], ["true", "false", None])
        case "text" if value.kind == "date":
            return formatted(value, "%Y-%m-%d", text)
        case "integer" | "float" if value.kind in NUMERIC or value.kind == "text":
            number = value if value.kind in ("integer", "float", "decimal") else _tried(value, "float", text)
            return INTEGER.of(text, number) if target == "integer" else number
        case "text" if value.kind in ("text", "untyped"):
            return replace(value, kind="text")
        case "date" if value.kind in ("text", "untyped"):
            return _tried(value, "date", text)
        case "date" if value.kind == "time":
            return DATE.of(text, value)
        case "time" if value.kind == "date":
            return TIME.of(text, value)
        case "boolean" if value.kind == "untyped":
            return _tried(value, "boolean", text)
        case "time" if value.kind == "untyped":
            raise without_clock(text, value)
    if value.kind != target:
        raise DuotoneError(f"{text}: {described(value)} cannot be cast so")
    return value


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
    return DECIMAL.of(text, value, Fraction(digits), Fraction(decimals))


def _tried(value: Operand, kind: Kind, text: str) -> Operand:
    if value.made is not None:
        return (NUMBER_FROM_TEXT if kind == "float" else DATE_FROM_TEXT).of(text, value)
    return Operand(value.column, kind, "try")


def _date(call: Call) -> Operand:
    """date(x), which is x::date."""
    value = call.part()
    if not isinstance(value, Operand):
        raise DuotoneError(f"{call.text} is the same on every row: name a column")
    return cast(value, "date", call.text)


def real(column: Any) -> Any:
    """A float: NaN is null, and −0.0 is 0.0."""
    return ibis.ifelse(column.isnan(), ibis.null("float64"), column + 0.0)


def number_from(text: Any) -> Any:
    """Text as a float; true and false are 1 and 0, and what is no number is null."""
    word = text.substr(0, 6).lower()  # longer than either word, so that no longer text is taken for one
    return ibis.coalesce(text.try_cast("float64"), ibis.cases((word == "true", 1.0), (word == "false", 0.0)))


def day_from(text: Any) -> Any:
    """Text as a date; what is none is null, and so is what lies outside the years that constants can be in."""
    date = text.try_cast("date")
    return ibis.cases((date.between(datetime.date.min, datetime.date.max), date))


NUMBER_FROM_TEXT = Function("number from text", "text", "float", lambda text: real(number_from(text)), from_text=True)
DATE_FROM_TEXT = Function("date from text", "text", "date", day_from, from_text=True)
DATE = Function("date", "time", "date", lambda x: x.cast("date"), {exp.Date: Form(_date)})
TIME = Function("time", "time", "time", lambda x: x.cast("timestamp(6)"))
CASTING = (NUMBER_FROM_TEXT, DATE_FROM_TEXT, DATE, TIME)
"""Casts are read where conditions are (`read_condition`); to whole numbers and decimals, they are computed in `numbers`."""
