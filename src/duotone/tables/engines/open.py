"""Opening: from what a person calls a table to a table and its engine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from duotone.errors import DuotoneError
from duotone.model.dataset import Dataset
from duotone.tables.engines import duckdb, postgres, spark
from duotone.tables.engines.file_layout import refuse_all
from duotone.tables.engines.files import open_local
from duotone.tables.engines.source import UNREADABLE, Source, closed_on_error, quietly
from duotone.tables.engines.stored_values import Columns
from duotone.tables.engines.vouching import require_vouched


def open_source(source: Any, **declared: Any) -> Source:
    """A CSV, JSON lines, Parquet or Arrow file, several Parquet files (a list, a folder or a pattern), a table of a DuckDB
    file or connection, a pandas, Polars or Arrow table; or a table beyond this machine, by a URL (postgres://…, spark://…),
    an Ibis connection or a table of one, or a Spark session or data frame; or a `Dataset` of one of these.

    A file of text is read line by line: see `engines.csv` and `engines.json_lines`. What its rows alone could tell about it is
    declared, by keys of `Dataset`: `table`, `types`, `formats`, `separator`, `json_columns`, `vouched`. A view, a DuckDB
    relation, an Ibis query and a Spark data frame that a query makes are taken where they are `vouched` for: see
    `engines.vouching`.
    """
    return opened(source if isinstance(source, Dataset) else Dataset(source, **declared))


def opened(declared: Dataset) -> Source:
    """The table of a dataset."""
    return without_twins(_opened(declared))


def without_twins(source: Source) -> Source:
    """The same table; refuses one with columns whose names differ in upper and lower case alone."""
    with closed_on_error(source.close):
        duckdb.refuse_twins(source.columns)
    return source


def is_local(table: Any) -> bool:
    """Whether a table is a file or a data frame: DuckDB inside the process reads it."""
    return not (isinstance(table, str) and "://" in table) and _home(table) not in ("pyspark", "ibis", "duckdb", "_duckdb")


def _home(table: Any) -> str:
    return type(table).__module__.partition(".")[0]


def _opened(declared: Dataset) -> Source:
    table, name, vouched = declared.source, declared.table, declared.vouched
    if is_local(table):
        return open_local(declared)
    refuse_all(declared)
    match _home(table):
        case "pyspark":
            session = hasattr(table, "createDataFrame")
            return spark.of_session(table, name, vouched) if session else spark.of_frame(table, vouched=vouched)
        case "ibis":
            return _of_ibis(table, name, vouched)
        case "duckdb" | "_duckdb":
            connection = hasattr(table, "cursor")
            return duckdb.of_native(table, name, vouched) if connection else duckdb.of_relation(table, vouched)
    return _located(table, name, vouched)


def _located(url: str, name: str | None, vouched: bool) -> Source:
    """The URL may hold a password: no error repeats it."""
    match url.partition("://")[0]:
        case "postgres" | "postgresql":
            return postgres.open_postgres(url, name, vouched)
        case "spark":
            return spark.open_spark(url, name, vouched)
        case scheme:
            said = f", not {scheme}://" if re.fullmatch(r"[\w+.-]+", scheme) else ""
            raise DuotoneError(
                f"a table's URL begins with postgres:// or spark://{said}; for others connect with Ibis in Python"
            )


def _in_full(source: Source, within: tuple[str, ...], usual: tuple[str, ...]) -> Source:
    """A table that is not where one would look for its name is called by its full name: another may have the short one."""
    return source if within in ((), usual) else replace(source, name=".".join((*within, source.name)))


def _of_ibis(handle: Any, name: str | None, vouched: bool) -> Source:
    """A connection and the name of a table, a table of a connection, or a query."""
    import ibis.expr.operations as ops
    from ibis.expr.types import Table

    backend, within = handle, ()
    if isinstance(handle, Table):
        node = handle.op()
        if not isinstance(node, ops.DatabaseTable):
            return _of_ibis_query(handle, require_vouched("the Ibis query", vouched))
        place = node.namespace
        backend, name, within = node.source, node.name, tuple(filter(None, (place.catalog, place.database)))
    match getattr(backend, "name", None):
        case "duckdb":
            source = duckdb.of_duckdb(backend, name, within=within, vouched=vouched)
            return _in_full(source, within, (backend.current_catalog, "main"))
        case "postgres":
            source = postgres.of_database(backend, name, within[-1] if within else "", vouched=vouched)
            return _in_full(source, within[-1:], ("public",))
        case "pyspark":
            return spark.of_session(backend._session, ".".join((*within, name)) if name else None, vouched)
    if name is None:
        raise DuotoneError("a database may hold many tables: say which (table)")
    what = require_vouched(f"{name}, in a database where a view cannot be distinguished from a table,", vouched)
    table = handle if isinstance(handle, Table) else quietly(lambda: backend.table(name), f"the database has no table {name}")
    return replace(_unproven(table, backend), name=name, named=True, vouched=what)


def _unproven(table: Any, backend: Any) -> Source:
    """A table of an engine that is tried before it answers."""
    kinds = Source(table, backend, "the query").columns

    def some(columns: Sequence[str]) -> Any:
        return table.select(*columns) if columns else table.select(one=True)

    reading = Columns(kinds, some)
    return Source(None, backend, "the query", named=False, embedded=False, engine="this engine", proven=False, reading=reading)


def _of_ibis_query(query: Any, what: str) -> Source:
    import ibis.expr.operations as ops

    if query.op().find(ops.InMemoryTable):
        raise DuotoneError("the Ibis query has a data frame in it: give the result as a data frame, or create a table from it")
    connections = [table.source for table in query.op().find((ops.DatabaseTable, ops.SQLQueryResult))]
    if not connections or any(other is not connections[0] for other in connections):  # Ibis takes some that differ for one
        raise DuotoneError("the Ibis query must be about tables of one connection")
    backend = connections[0]
    match backend.name:
        case "duckdb":
            source = duckdb.of_query(backend, _sql(backend, query))
        case "postgres":
            source = postgres.of_query(backend, _sql(backend, query))
        case "pyspark":
            frame = quietly(lambda: backend._session.sql(_sql(backend, query)), UNREADABLE)
            source = spark.of_frame(frame, vouched=True)
        case _:
            source = _unproven(query, backend)
    return replace(source, vouched=what)


def _sql(backend: Any, query: Any) -> str:
    return str(quietly(lambda: backend.compile(query), UNREADABLE))
