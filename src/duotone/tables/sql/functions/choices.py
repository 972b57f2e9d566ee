"""One of several values of the same kind: case, coalesce, nullif, greatest and least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ibis
from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import Kind, Operand, Part
from duotone.tables.sql.functions.function import Call, Form, Function, as_kind, kind_of
from duotone.tables.sql.functions.texts import require_text


def choice(text: str, conditions: Sequence[Part], values: Sequence[Part | None]) -> Operand:
    """The value of the first condition that holds; `values` has one more, for when none does. Null where it is None."""
    known = [value for value in values if value is not None]
    if not known:
        raise DuotoneError(f"{text} is null on every row: name a value")
    kind, same = _of_one_kind(known, text)
    filled = iter(same)
    return CASE.of(text, *conditions, *(None if value is None else next(filled) for value in values), kind=kind)


def _first_that_holds(*parts: Any) -> Any:
    """Conditions, then their values, and the value where none holds."""
    conditions, values = parts[: len(parts) // 2], parts[len(parts) // 2 :]
    kind = next(value for value in values if value is not None).type()
    filled = [ibis.null(kind) if value is None else value for value in values]
    return ibis.cases(*zip(conditions, filled, strict=False), else_=filled[-1])


def _nullif(first: Any, second: Any) -> Any:
    return ibis.cases(((first == second).fill_null(False), ibis.null(first.type())), else_=first)


def _alike(name: str, compute: Callable[..., Any], node: type[exp.Expression], *more: str) -> Function:
    """A function of values of one kind, which is its own."""

    def read(call: Call) -> Operand:
        kind, same = _of_one_kind(_parts(call), call.text)
        return alike.of(call.text, *same, kind=kind)

    alike = Function(name, None, None, compute, {node: Form(read, ("this", *more))})
    return alike


def _parts(call: Call) -> list[Part]:
    node = call.node
    parts = [call.read(part) for part in (node.this, *([node.expression] if node.expression else node.expressions))]
    if not isinstance(node, exp.Coalesce) and {kind_of(part) for part in parts} == {"untyped"}:  # which is larger, as what?
        raise DuotoneError(f"{call.text}: say what the columns of the CSV file hold, as in x::double or x::date")
    for column in parts if isinstance(node, exp.Greatest | exp.Least) else ():
        for constant in parts:
            if isinstance(column, Operand) and column.kind == "untyped" and isinstance(constant, str):
                require_text(column, constant, call.text)
    return parts


def _of_one_kind(parts: Sequence[Part], text: str) -> tuple[Kind, list[Part]]:
    """Values of one kind: numbers, texts, Booleans, dates or times. The others say what a CSV file's column holds."""
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
    untyped: Kind = "float" if kind == "integer" else kind
    same = [as_kind(part, untyped) if isinstance(part, Operand) and part.kind == "untyped" else part for part in parts]
    return ("float" if kind == "integer" and same != list(parts) else kind), same


CASE = Function("case", None, None, _first_that_holds)
"""Read where conditions are (`read_condition`)."""
CHOICES = (
    CASE,
    _alike("coalesce", ibis.coalesce, exp.Coalesce, "expressions"),
    _alike("nullif", _nullif, exp.Nullif, "expression"),
    _alike("greatest", ibis.greatest, exp.Greatest, "expressions", "ignore_nulls"),
    _alike("least", ibis.least, exp.Least, "expressions", "ignore_nulls"),
)
