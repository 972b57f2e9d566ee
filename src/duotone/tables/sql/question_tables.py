"""The tables that a question makes or joins: of one row per person, public ones, and other private ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from duotone.tables.sql.condition import Columns, Condition, Kind, Operand

PRESENT = "present rows"
"""The column that tells how many rows of a person take part at all."""


@dataclass(frozen=True)
class PublicJoin:
    """A join with the public table `table`, which the question calls `label`: `keys` are pairs of a column of the row and one
    of the public table; `columns` the public ones, each under the name that it has in the row and under its own. The row's
    column `matched` is true where there is a public row, else null; `left` keeps the others."""

    table: str
    label: str
    keys: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]
    matched: str
    left: bool


@dataclass(frozen=True)
class PersonAggregate:
    """What is made of one person's rows: how many, how many different values, their sum, average, least or largest; or the
    value of the row that is first or last in the order of `by`, and of several such rows the largest value."""

    function: Literal["count", "distinct", "sum", "avg", "min", "max", "first", "last"]
    where: Condition
    value: Operand | None = None
    by: Operand | None = None

    @property
    def kind(self) -> Kind:
        """What it holds."""
        if self.value is not None and self.function in ("min", "max", "first", "last"):
            return self.value.kind
        return "integer" if self.function in ("count", "distinct") else "float"


@dataclass(frozen=True)
class PeopleTable:
    """A table with one row per person: `aggregates` of the person's rows that satisfy `where`, called 0, 1, 2, …, and
    `columns` computed from them. Whose aggregates do not satisfy `kept` is not in it. `normal` is its text, in which two ways
    to write it look the same."""

    unit: str
    where: Condition
    aggregates: tuple[PersonAggregate, ...]
    columns: tuple[tuple[str, Operand | Condition], ...]
    kept: Condition
    normal: str
    joins: tuple[PublicJoin, ...] = ()
    """The public tables whose columns each row gets before."""

    @property
    def kinds(self) -> Columns:
        """What the columns of a person hold."""
        return {name: made.kind if isinstance(made, Operand) else "boolean" for name, made in self.columns}


@dataclass(frozen=True)
class PeopleJoin:
    """The people of the private table `table`, joined to those of the first one: `join` names their columns in the row."""

    table: str
    people: PeopleTable
    join: PublicJoin
