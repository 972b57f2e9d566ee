"""Rows of DuckDB as tables of Ibis: temporary views, under names that no other table has."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from duotone.tables.engines.source import Source
from duotone.tables.engines.stored_values import Reading, fresh, quoted


def selected(connection: Any, readings: Mapping[str, Reading], rows: str) -> Any:
    """A table of columns as they are read. A constant column is there even where none is asked about."""
    columns = [f"{how.sql} as {quoted(name)}" for name, how in readings.items()]
    types = {name: how.type for name, how in readings.items()}
    return view(connection, f"select {', '.join(columns) or 'true as one'} from {rows}", types or {"one": "boolean"})


def view(connection: Any, query: str, types: Mapping[str, str]) -> Any:
    """A query as a table of Ibis. It is a temporary view, since Ibis would write the query in its own words."""
    import ibis
    import ibis.expr.operations as ops

    name = fresh()
    connection.con.execute(f"create temp view {quoted(name)} as {query}")
    place = ops.Namespace(catalog="temp", database="main")
    return ops.DatabaseTable(name, ibis.schema(types), connection, place).to_expr()


def forget(connection: Any, view: str, rows: str | None = None) -> None:
    """Drop a view, and give the rows of a frame back, once nothing asks about them any more."""
    with contextlib.suppress(Exception):  # it is closed
        connection.con.execute(f"drop view if exists temp.main.{quoted(view)}")
        if rows is not None:
            connection.con.unregister(rows)


def lent(source: Source) -> Source:
    """An open table, for one question: whoever closes this closes nothing, but drops the views that were made for it."""
    reading = source.reading
    if source.engine != "DuckDB" or reading is None:
        return replace(source, release=lambda: None)
    made: list[str] = []

    def table(columns: Sequence[str]) -> Any:
        rows = reading.table(columns)
        made.extend(filter(None, [getattr(rows.op(), "name", None)]))
        return rows

    def release() -> None:
        while made:
            forget(source.connection, made.pop())

    return replace(source, reading=replace(reading, table=table), release=release)


def table_of(connection: Any, rows: Any, types: Mapping[str, str]) -> tuple[Any, Callable[[], None]]:
    """An Arrow table as one of the connection, and what forgets it."""
    name = fresh()
    connection.con.register(name, rows)
    made = view(connection, f"select {', '.join(map(quoted, types))} from {quoted(name)}", types)
    return made, partial(forget, connection, made.op().name, name)
