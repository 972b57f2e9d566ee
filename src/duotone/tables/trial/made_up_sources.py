"""What is on trial, and made-up tables for it: private ones, public ones to join, and as plain SQL is given them."""

from __future__ import annotations

import datetime
import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ibis
import ibis.expr.operations as ops

from duotone.cached import cached_property
from duotone.model.dataset import Dataset
from duotone.tables.declared import Key
from duotone.tables.engines.duckdb import DuckDB
from duotone.tables.engines.public_tables import PublicTable, typed
from duotone.tables.engines.source import Source
from duotone.tables.engines.stored_values import TYPES, Columns, fresh, quoted
from duotone.tables.sql.comparison import ParsedQuestion, PublicJoin, Term
from duotone.tables.sql.condition import Kind, Operand, parts_of
from duotone.tables.trial.made_up_tables import PERSON, TABLE, Constants, Layout, MadeUp, values_of
from duotone.tables.trial.plain_sql import Unknown, written


@dataclass(frozen=True)
class Asked:
    """A question as it was read, and the columns of the tables that it is about, by their names: the first is the table."""

    question: ParsedQuestion
    private: Mapping[str, Mapping[str, Kind]]
    public: Mapping[str, Mapping[str, Kind]]
    declared: Dataset
    """What is declared of the table's rows, with bounds; before an inner select makes one row of each person."""
    most: int
    listed: tuple[Key, ...] | None

    @property
    def key(self) -> str:
        """What decides the trial: a question is tried once."""
        known = [self.question, self.question.text, self.private, self.public, self.declared, self.most, self.listed]
        return hashlib.sha256(repr(known).encode()).hexdigest()

    @cached_property
    def valued(self) -> bool:
        """Whether values are added up, and not rows alone."""
        return any(isinstance(part, Term) and part.value is not None for part in parts_of(self.question.tree))


def judged(asked: Asked, made: MadeUp) -> bool:
    """Whether plain SQL can judge a made-up table: it reads every value as the rules do, and each person has one row, an inner
    select reduces them to one, or they add up, no more of them than count, or all alike where nothing but rows is counted."""
    there = [stranger for stranger, many in zip(made.strangers, made.counts, strict=True) if many]
    declared = asked.declared
    alone = declared.unit is None or asked.question.people is not None or all(len(s.rows) == 1 for s in there)
    if not asked.question.by and declared.per_unit is None:
        most = declared.max_rows
        alone |= most is None or all(len(s.rows) <= most or (not asked.valued and len(set(s.rows)) == 1) for s in there)
    return alone and all(s.usual for s in there)


PUBLIC = 8
"""Rows of a made-up public table."""
SQL: Mapping[Kind, str] = {
    "integer": "bigint", "float": "double", "decimal": "decimal(22, 4)", "text": "varchar", "boolean": "boolean",
    "date": "date", "time": "timestamp", "untyped": "varchar", "other": "varchar",
}  # fmt: skip
USUAL: Mapping[Kind, Any] = {"integer": 7, "boolean": True, "date": datetime.date(2025, 1, 31)}
CASTS: Mapping[Kind, str] = {"date": "date", "time": "timestamp", "boolean": "boolean"}


def private_source(engine: DuckDB, kinds: Mapping[str, Kind], rows: Mapping[str, list[Any]]) -> Source:
    """Made-up rows as a table of the embedded engine, under a name of their own. Lists go to it as they are: Arrow would load
    pandas for them."""
    held = fresh()
    own: dict[str, Kind] = {c: kinds.get(c, "integer" if c == TABLE else "text") for c in rows}
    columns = ", ".join(f"unnest(${i}::{SQL[kind]}[]) as {quoted(c)}" for i, (c, kind) in enumerate(own.items(), 1))
    engine.connection.con.execute(f"create temp table {held} as select {columns}", list(rows.values()))
    table = _table(engine.connection, held, {c: TYPES[kind] for c, kind in own.items()})
    return Source(engine, held, Columns(own, lambda chosen: table.select(*chosen)), named=False)


def of_one_table(source: Source, number: int) -> Source:
    """The rows of one made-up table alone."""
    made = source.reading.table
    kept = [c for c in source.columns if c not in (TABLE, PERSON)]

    def table(chosen: Sequence[str]) -> Any:
        rows = made([*dict.fromkeys([*chosen, TABLE])])
        return rows.filter(rows[TABLE] == number).drop(TABLE) if chosen else rows.filter(rows[TABLE] == number)

    return replace(source, reading=Columns({c: source.columns[c] for c in kept}, table))


def _table(connection: Any, name: str, types: Mapping[str, str]) -> Any:
    decimal = {c: "decimal(22, 4)" if held.startswith("decimal") else held for c, held in types.items()}
    return ops.DatabaseTable(name, ibis.schema(decimal), connection, ops.Namespace(catalog="temp", database="main")).to_expr()


def public_source(
    engine: DuckDB, name: str, columns: Mapping[str, Kind], asked: Asked, layout: Layout, draw: random.Random
) -> PublicTable:
    """A made-up public table: keys that made-up rows may have, each once."""
    question = asked.question
    joins = [j for j in (*question.joins, *(j for o in question.beside for j in o.people.joins)) if j.table == name]
    constants = Constants.of(question)
    kinds = {c: kind for c, kind in columns.items() if kind != "other"}
    usual = {c: [v for v in values_of(kind, constants).usual if v is not None] for c, kind in kinds.items()}
    keys = _keys(joins, layout, kinds)
    rows: list[dict[str, Any]] = []
    for i in range(PUBLIC):
        row = {c: draw.choice([None, *usual[c]] if i or not usual[c] else usual[c][:1]) for c in kinds}  # one has all values
        row |= {c: values[i % len(values)] for c, values in keys.items()}
        if tuple(row[c] for c in keys) not in {tuple(other[c] for c in keys) for other in rows}:
            rows.append(row)
    return PublicTable(private_source(engine, kinds, {c: [row[c] for row in rows] for c in kinds}))


def _keys(joins: Sequence[PublicJoin], layout: Layout, kinds: Mapping[str, Kind]) -> dict[str, list[Any]]:
    """The values that made-up rows have in the columns by which a public table is joined, as that table holds them."""
    keys: dict[str, list[Any]] = {}
    for join in joins:
        for own, key in join.keys:
            found = [values[own] for values in layout.values.values() if own in values]
            every = [v for values in found for v in values.usual if v is not None]
            keys[key] = [_held(v, kinds[key]) for v in every] or [_held("other", kinds[key])]
    return keys


def _held(value: Any, kind: Kind) -> Any:
    """A value as a column of this kind has it, or another one that it may have."""
    text = written(value)
    held = text if kind in ("text", "untyped") else typed(text, kind)
    return USUAL.get(kind) if held is None else held


def plain_rows(source: Source, asked: Asked, tables: Sequence[MadeUp]) -> str:
    """The rows of the made-up tables that plain SQL can judge; texts that are read as numbers or dates are such, and rows that
    name nobody are left out."""
    casts, unit = [], asked.declared.unit
    for name, kind in source.columns.items():
        operands = [part for part in parts_of(asked.question) if isinstance(part, Operand) and part.made is None]
        read = {(part.kind, part.reading) for part in operands if part.column == name}
        held = {k for k, how in read if how == "try"}
        if kind == "untyped" and (
            "boolean" in held or "bool_" in asked.question.text.lower() or "every" in asked.question.text
        ):
            raise Unknown  # which texts are true and false is a rule of its own
        if name in asked.question.by:  # whose keys are the texts as they are written
            continue
        if kind == "untyped" and held and len(held) == len(read):
            cast = CASTS.get(next(iter(held)), "double") if len(held) == 1 else "double"
            casts.append(f"try_cast({quoted(name)} as {cast}) as {quoted(name)}")
    numbers = ", ".join(str(n) for n, made in enumerate(tables) if judged(asked, made)) or "-1"
    where = f"{quoted(TABLE)} in ({numbers})" + (f" and {quoted(unit)} is not null" if unit is not None else "")
    if asked.question.people is None and asked.declared.max_rows is not None:  # of rows that are all alike, whichever
        where += f" qualify row_number() over (partition by {quoted(TABLE)}, {quoted(PERSON)}) <= {asked.declared.max_rows}"
    star, made_of = f"* replace ({', '.join(casts)})" if casts else "*", fresh()
    source.engine.connection.con.execute(f"create temp table {made_of} as select {star} from {source.name} where {where}")
    return made_of
