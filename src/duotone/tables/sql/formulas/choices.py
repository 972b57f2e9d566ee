"""One of several values of the same kind: case, coalesce, nullif, greatest and least."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import Kind, Operand, Part
from duotone.tables.sql.formulas.parts import Read, as_kind, formula, kind_of
from duotone.tables.sql.text_order import require_text


def read_choice(node: exp.Expression, text: str, read: Read) -> Operand | None:
    """One of several values, or null; None for anything else. (case is read where conditions are.)"""
    match node:
        case exp.Coalesce():
            return _alike(text, "coalesce", [read(part) for part in (node.this, *node.expressions)])
        case exp.Greatest() | exp.Least():
            function = "greatest" if isinstance(node, exp.Greatest) else "least"
            return _alike(text, function, [read(part) for part in (node.this, *node.expressions)])
        case exp.Nullif():
            return _alike(text, "nullif", [read(node.this), read(node.expression)])
    return None


def choice(text: str, parts: Sequence[Part], values: Sequence[Part | None]) -> Operand:
    """The value of the first condition that holds; `values` has one more, for when none does. Null where it is None."""
    known = [value for value in values if value is not None]
    if not known:
        raise DuotoneError(f"{text} is null on every row: name a value")
    kind, same = _of_one_kind(known, text)
    filled = iter(same)
    return formula(text, kind, "case", *parts, *(None if value is None else next(filled) for value in values))


def _alike(text: str, function: str, parts: Sequence[Part]) -> Operand:
    if function != "coalesce" and {kind_of(part) for part in parts} == {"untyped"}:  # which is larger, or equal, as what?
        raise DuotoneError(f"{text}: say what the columns of the CSV file hold, as in x::double or x::date")
    for column in parts if function in ("greatest", "least") else ():
        for constant in parts:
            if isinstance(column, Operand) and column.kind == "untyped" and isinstance(constant, str):
                require_text(column, constant, text)
    kind, same = _of_one_kind(parts, text)
    return formula(text, kind, function, *same)


def _of_one_kind(parts: Sequence[Part], text: str) -> tuple[Kind, list[Part]]:
    """Values of one kind: numbers, texts, Booleans, dates or times. What a CSV file's column holds, the others tell."""
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
