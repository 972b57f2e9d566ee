"""What an engine cannot compute as the embedded one does is refused by its name, before anything is read."""

from __future__ import annotations

from functools import cache
from typing import Any

import ibis

from duotone.errors import DuotoneError
from duotone.tables.engines.engine import quietly
from duotone.tables.engines.expressions import read
from duotone.tables.engines.source import Source
from duotone.tables.engines.stored_values import TYPES
from duotone.tables.sql.condition import Formula, Like, Operand, parts_of
from duotone.tables.sql.functions import FUNCTIONS, from_text
from duotone.tables.sql.functions.function import Function

LARGEST = 3000
"""Nodes of an expression, at most. Engines know no names for parts of one, so that a part stands wherever it is used, and
what is nested grows with each step: beyond this, they take longer to read the expression than the rows."""


def require_able(source: Source, question: Any) -> None:
    """Refuse what the engine would compute otherwise, or could fail at on some row.

    Guarantee: decided by the question and the engine; a pattern is compiled by the engine on an empty text.
    """
    for part in parts_of(question):
        if isinstance(part, Like) and part.how != "like":
            _require_pattern(source, part)
        elif isinstance(part, Formula):
            _require_function(source, FUNCTIONS[part.function])
        elif isinstance(part, Operand):
            _require_reading(source, part)
            _require_size(part)


def _require_pattern(source: Source, like: Like) -> None:
    if not source.engine.can.proven:
        raise DuotoneError(f"whether {like.operand.column} begins with, ends with or contains a text: tested on {TESTED} only")
    if like.how != "matches":
        return
    if not source.engine.can.embedded:
        raise DuotoneError(
            f"{source.engine.name} has other regular expressions than DuckDB: use like, starts_with, ends_with or "
            "contains there"
        )
    tried = ibis.literal("").re_search(like.pattern).name("tried").as_table()
    quietly(lambda: source.engine.run(tried), f"{like.pattern} is not a regular expression that DuckDB knows")


TESTED = "DuckDB, Postgres and Spark"


def _require_function(source: Source, function: Function) -> None:
    if not source.engine.can.proven and not function.tried:
        raise DuotoneError(f"values computed by {function.name} are tested on {TESTED} only: store the value as a column")
    if not source.engine.can.same_functions and function.spark:
        raise DuotoneError(function.spark.format(function.name))


def _require_reading(source: Source, operand: Operand) -> None:
    computed = from_text(operand)
    why = source.engine.can.no_casts
    if not why or not (operand.reading == "try" or computed):
        return
    what = f"{operand.column} is of text" if computed else f"column {operand.column} holds text"
    raise DuotoneError(f"{why}: {what}, and cannot be read as another kind there; store it as one")


def _require_size(operand: Operand) -> None:
    if operand.made is None:
        return
    columns = [part for part in parts_of(operand) if isinstance(part, Operand) and part.made is None]
    rows = ibis.table({c.column: "string" if c.reading == "try" else TYPES[c.kind] for c in columns}, name="rows")
    if size(read(operand, rows).op()) > LARGEST:
        raise DuotoneError(f"{operand.column} is nested too deeply: compute a part of it beforehand, as a column")


def size(node: Any) -> int:
    """How many nodes an expression has where it is written out."""

    @cache
    def of(part: Any) -> int:
        return 1 + sum(map(of, part.__children__))

    return of(node)
