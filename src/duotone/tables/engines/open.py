"""Opening: from what a person calls a table to a table and its engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from duotone.errors import DuotoneError
from duotone.tables.engines.duckdb import TWINS, of_duckdb, of_native
from duotone.tables.engines.file_layout import FileLayout, FileOptions
from duotone.tables.engines.files import open_local
from duotone.tables.engines.postgres import of_database, open_postgres
from duotone.tables.engines.source import Source, quietly
from duotone.tables.engines.spark import of_frame, of_session, open_spark


def open_source(table: Any, *, name: str | None = None, **options: Unpack[FileOptions]) -> Source:
    """A CSV, JSON lines, Parquet or Arrow file, several Parquet files (a list, a folder or a pattern), a table of a DuckDB
    file or connection, a pandas, Polars or Arrow table; or a table beyond this machine, by a URL (postgres://…, spark://…),
    an Ibis connection or a table of one, or a Spark session or data frame.

    A file of text is read line by line: see `engines.csv` and `engines.json_lines`. What its rows alone could tell about it is
    declared: see `engines.file_layout`.
    """
    source = _opened(table, name, FileLayout(**options))
    names = [column.lower() for column in source.columns]
    if len(set(names)) != len(names):
        source.close()
        raise DuotoneError(TWINS)
    return source


def _opened(table: Any, name: str | None, layout: FileLayout) -> Source:
    home = type(table).__module__.partition(".")[0]
    located = isinstance(table, str) and "://" in table
    if not (located or home in ("pyspark", "ibis", "duckdb", "_duckdb")):
        return open_local(table, name, layout)
    layout.refuse_all()
    match home:
        case "pyspark":
            return of_session(table, name) if hasattr(table, "createDataFrame") else of_frame(table)
        case "ibis":
            return _of_ibis(table, name)
        case "duckdb" | "_duckdb":
            return _of_duckdb_object(table, name)
    return _located(table, name)


def _of_duckdb_object(handle: Any, name: str | None) -> Source:
    """A connection and the name of a table; not a relation, which is a query."""
    if not hasattr(handle, "cursor"):
        raise DuotoneError(
            "that is a DuckDB relation, which may be any query, in which people could be mixed up: create a table of it, "
            "and give the connection with the table's name (name)"
        )
    return of_native(handle, name)


def _located(url: str, name: str | None) -> Source:
    """The URL may hold a password: no error repeats it."""
    match url.partition("://")[0]:
        case "postgres" | "postgresql":
            return open_postgres(url, name)
        case "spark":
            return open_spark(url, name)
        case scheme:
            raise DuotoneError(
                f"a table's URL begins with postgres:// or spark://, not {scheme}://; for others connect with Ibis in Python"
            )


def _in_full(source: Source, within: tuple[str, ...], usual: tuple[str, ...]) -> Source:
    """A table that is not where one would look for its name is called by its full name: another may have the short one."""
    return source if within in ((), usual) else replace(source, name=".".join((*within, source.name)))


def _of_ibis(handle: Any, name: str | None) -> Source:
    """A connection and the name of a table, or a table of a connection; not a query, in which people could be mixed up."""
    import ibis.expr.operations as ops
    from ibis.expr.types import Table

    backend, within = handle, ()
    if isinstance(handle, Table):
        node = handle.op()
        if not isinstance(node, ops.DatabaseTable):
            raise DuotoneError("that is an Ibis query, not a table: give the table, and put conditions into the question")
        place = node.namespace
        backend, name, within = node.source, node.name, tuple(filter(None, (place.catalog, place.database)))
    match getattr(backend, "name", None):
        case "duckdb":
            return _in_full(of_duckdb(backend, name, within=within), within, (backend.current_catalog, "main"))
        case "postgres":
            return _in_full(of_database(backend, name, within[-1] if within else ""), within[-1:], ("public",))
        case "pyspark":
            return of_session(backend._session, ".".join((*within, name)) if name else None)
    if name is None:
        raise DuotoneError("a database may hold many tables: say which (name)")
    table = handle if isinstance(handle, Table) else quietly(lambda: backend.table(name), f"the database has no table {name}")
    return Source(table, backend, name, embedded=False, engine="this engine", proven=False)
