"""Columns of a text file, for the table's owner: how many of their texts are read as numbers, dates, or true and false. NOT
private, as `inspection` is not."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ibis

from duotone.tables.engines import Source
from duotone.tables.engines.expressions import read
from duotone.tables.sql.condition import Kind, Operand

READINGS: tuple[Kind, ...] = ("float", "date", "boolean")
AT_ONCE = 50
"""Columns that one query looks at."""


@dataclass(frozen=True)
class TextColumn:
    """What a column of a text file can be read as: of its `values`, how many are numbers, dates as 2025-12-31, and true or
    false, by the rules of docs/reading.md. One text may be several of these; `other` are those that are none, and `commas`
    those of them that have digits and a decimal comma."""

    column: str
    values: int
    numbers: int
    dates: int
    flags: int
    other: int
    commas: int = 0

    @property
    def hint(self) -> str | None:
        """How most of them are read as numbers, if they have decimal commas."""
        return comma_hint(self.column, self.commas, self.values)


def comma_hint(column: str, commas: int, values: int) -> str | None:
    """How a column is read as numbers in which a comma stands for the decimal point; None unless most values look so.

    >>> print(comma_hint("weight", 9, 10))
    most texts of weight are numbers with a comma: if it is a decimal one, ask about replace(weight, ',', '.')::double
    """
    if 2 * commas <= values:
        return None
    how = f"replace({column}, ',', '.')::double"
    return f"most texts of {column} are numbers with a comma: if it is a decimal one, ask about {how}"


def with_comma(text: Any) -> Any:
    """Whether a text is a number with one comma in it, and no point."""
    return text.re_search(r"^\s*[+-]?[0-9]+,[0-9]+\s*$")


def text_columns(source: Source) -> Iterator[TextColumn]:
    """Every column of a text file for which nothing is declared; none of another table."""
    names = [name for name, kind in source.columns.items() if kind == "untyped"]
    for start in range(0, len(names), AT_ONCE):
        some = names[start : start + AT_ONCE]
        yield from _counted(source.only(some), some)


def _counted(source: Source, names: Sequence[str]) -> Iterator[TextColumn]:
    rows = source.rows
    counts: dict[str, Any] = {}
    for i, name in enumerate(names):
        readings = [read(Operand(name, kind, "try"), rows) for kind in READINGS]
        unread = functools.reduce(operator.and_, (reading.isnull() for reading in readings))
        none, comma = rows[name].notnull() & unread, with_comma(rows[name])
        every = [rows[name], *readings, ibis.cases((none, 1)), ibis.cases((none & comma, 1))]
        counts |= {f"{i} {j}": column.count() for j, column in enumerate(every)}
    result = source.run(rows.agg(**counts))
    for i, name in enumerate(names):
        yield TextColumn(name, *(int(result[f"{i} {j}"][0].as_py()) for j in range(len(READINGS) + 3)))
