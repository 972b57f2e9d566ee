"""A value as one of another kind, null if that fails; and choices among values of the same kind, such as case and
coalesce."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import ibis
from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import NUMERIC, Compare, Kind, Operand, Part
from duotone.tables.sql.functions.function import (
    Call,
    Form,
    Function,
    as_kind,
    day_from,
    described,
    kind_of,
    number_from,
    real,
    undeclared,
)
from duotone.tables.sql.functions.numbers import DECIMAL, INTEGER, LARGEST_ROUND
from duotone.tables.sql.functions.texts import DIGITS, require_text
from duotone.tables.sql.functions.times import formatted


def choice(text: str, conditions: Sequence[Part], values: Sequence[Part | None]) -> Operand:
    """The value of the first condition that holds; `values` has one more, for when none does. None stands for null."""
    known = [value for value in values if value is not None]
    if not known:
        raise DuotoneError(f"{text} is null on every row: name a value")
    kind, same = _of_one_kind(known, text)
    filled = iter(same)
    return CASE.of(text, *conditions, *(None if value is None else next(filled) for value in values), kind=kind)


def _first_that_holds(*parts: Any) -> Any:
    """Conditions, then their values, and the value if none holds."""
    conditions, values = parts[: len(parts) // 2], parts[len(parts) // 2 :]
    kind = next(value for value in values if value is not None).type()
    filled = [ibis.null(kind) if value is None else value for value in values]
    return ibis.cases(*zip(conditions, filled, strict=False), else_=filled[-1])


def _nullif(first: Any, second: Any) -> Any:
    return ibis.cases(((first == second).fill_null(False), ibis.null(first.type())), else_=first)


def _alike(name: str, compute: Callable[..., Any], node: type[exp.Expression], *more: str) -> Function:
    """A function whose arguments and result have one kind."""

    def read(call: Call) -> Operand:
        kind, same = _of_one_kind(_parts(call), call.text)
        return alike.of(call.text, *same, kind=kind)

    alike = Function(name, None, None, compute, {node: Form(read, ("this", *more))})
    return alike


def _parts(call: Call) -> list[Part]:
    node = call.node
    parts = [call.read(part) for part in (node.this, *([node.expression] if node.expression else node.expressions))]
    untyped = [part for part in parts if isinstance(part, Operand) and part.kind == "untyped"]
    if untyped and isinstance(node, exp.Greatest | exp.Least):  # the larger in which sense?
        if len(untyped) == len(parts):
            raise undeclared({column.column: "number" for column in untyped})
        for column, constant in itertools.product(untyped, parts):
            if isinstance(constant, str):
                require_text(column, constant)
    return parts


def _of_one_kind(parts: Sequence[Part], text: str) -> tuple[Kind, list[Part]]:
    """Values of one kind: numbers, texts, Booleans, dates or times."""
    kinds = {kind_of(part) for part in parts} - {"untyped"}
    numbers: set[Kind] = {"integer", "float", "decimal"}
    kind: Kind
    if not kinds:
        kind = "text"
    elif kinds == {"integer"}:
        kind = "integer"
    elif kinds <= numbers:
        kind = "float"
    elif len(kinds) == 1:
        (kind,) = kinds
    else:
        raise DuotoneError(f"{text} mixes values of different kinds: {', '.join(sorted(kinds))}")
    return kind, [as_kind(part, kind) if isinstance(part, Operand) and part.kind == "untyped" else part for part in parts]


CASE = Function("case", None, None, _first_that_holds)
"""Parsed with conditions (`read_condition`)."""
CHOICES = (
    CASE,
    _alike("coalesce", ibis.coalesce, exp.Coalesce, "expressions"),
    _alike("nullif", _nullif, exp.Nullif, "expression"),
    _alike("greatest", ibis.greatest, exp.Greatest, "expressions", "ignore_nulls"),
    _alike("least", ibis.least, exp.Least, "expressions", "ignore_nulls"),
)


def chosen_from(value: Operand) -> list[str]:
    """The columns whose values it may have: none that only conditions or other functions read."""
    if value.made is None:
        return [value.column]
    chosen = value.made.parts if value.made.function in {choice.name for choice in CHOICES} else ()
    return list(dict.fromkeys(column for part in chosen if isinstance(part, Operand) for column in chosen_from(part)))


CASTS: dict[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT", "INT128"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "float"),
    **dict.fromkeys(("TEXT", "VARCHAR"), "text"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), "time"),
    "DATE": "date",
    "BOOLEAN": "boolean",
}
"""The function of a cast, by the name of its type."""


def cast(value: Operand, target: Kind, text: str) -> Operand:
    """A value as one of another kind, null if that fails."""
    match target:
        case "integer" if value.kind == "integer":
            return value
        case "text" if value.kind == "integer":
            return DIGITS.of(text, value)
        case "text" if value.kind == "boolean":
            return choice(text, [Compare(value, "=", True), Compare(value, "=", False)], ["true", "false", None])
        case "text" if value.kind == "date":
            return formatted(value, "%Y-%m-%d", text)
        case "integer" | "float" if value.kind in (*NUMERIC, "text", "untyped"):
            number = value if value.kind in NUMERIC else _tried(value, "float", text)
            return INTEGER.of(text, number) if target == "integer" else number
        case "text" if value.kind in ("text", "untyped"):
            return replace(value, kind="text")
        case "date" if value.kind in ("text", "untyped"):
            return _tried(value, "date", text)
        case "date" if value.kind == "time":
            return DATE.of(text, value)
        case "time" if value.kind == "date":
            return TIME.of(text, value)
        case "boolean" if value.kind in ("text", "untyped") and value.made is None:
            return _tried(value, "boolean", text)
        case "time" if value.kind == "untyped":
            return as_kind(value, "time")
    if value.kind != target:
        raise DuotoneError(f"{text}: {described(value)} cannot be cast to that")
    return value


def decimal(value: Operand, digits: int, decimals: int, text: str) -> Operand:
    """A number with this many digits and decimals, rounded like a double; an integer is unchanged."""
    if not (0 <= decimals <= digits <= 38 and decimals <= LARGEST_ROUND):
        raise DuotoneError(f"{text}: a decimal has at most 38 digits, and at most {LARGEST_ROUND} of them after the point here")
    if value.kind in ("text", "untyped"):
        name = value.column if value.made is None else f"({value.column})"
        raise DuotoneError(f"{text}: {described(value)} is text: make it a number first, as in {name}::double")
    before = digits - decimals
    if value.kind == "integer" and before >= 19:  # any 64-bit integer
        return value
    if value.kind not in ("integer", "float") or (value.kind == "integer" and before > 15):
        raise DuotoneError(
            f"{text}: a double cannot hold {described(value)} exactly rounded; write round(x, {decimals}), or drop the cast"
        )
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


NUMBER_FROM_TEXT = Function("number from text", "text", "float", lambda text: real(number_from(text)), from_text=True)
DATE_FROM_TEXT = Function("date from text", "text", "date", day_from, from_text=True)
DATE = Function("date", "time", "date", lambda x: x.cast("date"), {exp.Date: Form(_date)})
TIME = Function("time", "time", "time", lambda x: x.cast("timestamp(6)"))
CASTING = (NUMBER_FROM_TEXT, DATE_FROM_TEXT, DATE, TIME)
"""Casts are parsed with conditions (`read_condition`); those to integers and decimals are computed in `numbers`."""
