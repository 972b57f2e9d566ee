"""Tables of DuckDB: of database files, of connections and relations that are handed over, and of data frames."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.resources import keep_in_child
from duotone.tables.engines.data_frames import columns_of
from duotone.tables.engines.duckdb import UNPREPARED, Connect, DuckDB, attached_name, connected
from duotone.tables.engines.engine import UNREADABLE, closed_on_error, quietly
from duotone.tables.engines.file_changes import same_file
from duotone.tables.engines.source import Source, refuse_twins, require_vouched
from duotone.tables.engines.stored_values import OTHER, Columns, Reading, of_type, quoted, text


def of_frame(
    readings: Mapping[str, Reading],
    some: Callable[[Sequence[str]], Any],
    name: str = "the table",
    *,
    named: bool = False,
    connect: Connect = connected,
) -> Source:
    """Columns that are read so, and what gives some of them as an Arrow table."""
    engine, close = connect()

    def table(columns: Sequence[str]) -> Any:
        rows = quietly(lambda: some(columns), UNREADABLE)
        return engine.selected_of({name: readings[name] for name in columns}, rows)

    kinds = {name: how.kind for name, how in readings.items()}
    refused = {name: how.refused for name, how in readings.items() if how.refused}
    return Source(None, engine, name, named=named, reading=Columns(kinds, table, refused), release=close)


def of_database(path: Path, name: str | None, vouched: bool = False) -> Source:
    """A table of a DuckDB file."""
    if name is None:
        raise Refusal("several tables", place="a DuckDB file")
    checked = same_file(path)
    engine, close = connected(database=path)
    with closed_on_error(close):
        source = of_duckdb(engine.connection, name, str(path), database=attached_name(path), vouched=vouched)
        return replace(source, release=close, checked=checked)


def of_native(connection: Any, name: str | None, vouched: bool = False) -> Source:
    """A table of a connection of DuckDB's own. What is set for Ibis is set on a second connection to the same database."""
    import ibis

    second = quietly(connection.cursor, "the DuckDB connection is closed")
    keep_in_child(second)
    with closed_on_error(second.close):
        backend = quietly(lambda: ibis.duckdb.from_connection(second), UNPREPARED)
        return replace(of_duckdb(backend, name, vouched=vouched), release=second.close)


def of_relation(relation: Any, vouched: bool = False) -> Source:
    """A relation of DuckDB's own. Its connection cannot be had from it, so that the columns that are used, read by the same
    rules as a table's, come as an Arrow table when they are asked about."""
    what = require_vouched("the DuckDB relation", vouched)
    names = list(relation.columns)
    refuse_twins(names)
    stored = {name: of_type(quoted(name), str(kind)) for name, kind in zip(names, relation.types, strict=True)}
    known = [name for name, how in stored.items() if how.kind != "other"]

    def some(columns: Sequence[str]) -> Any:
        return relation.project(", ".join([f"{stored[name].sql} as {quoted(name)}" for name in columns] or ["true as one"]))

    empty = quietly(lambda: some(known).limit(0).to_arrow_table(), UNREADABLE)
    readings = dict.fromkeys(names, OTHER) | dict(columns_of(empty)[0])
    return replace(of_frame(readings, lambda cs: columns_of(some(cs).to_arrow_table())[1](cs)), vouched=what)


def _described(connection: Any, query: str) -> dict[str, Reading]:
    """How the columns of a query are read, by their types."""
    return {name: of_type(quoted(name), kind) for name, kind, *_ in connection.con.execute(f"describe {query}").fetchall()}


def of_duckdb(
    connection: Any,
    name: str | None,
    place: str = "the DuckDB database",
    within: Sequence[str] = (),
    database: str | None = None,
    *,
    vouched: bool = False,
) -> Source:
    """A table of a DuckDB database that Ibis is connected to; `within` names its database and schema, where they are known.
    Without it the name is looked for in `database`, or where the connection looks for names."""
    if name is None:
        raise Refusal("several tables", place="a DuckDB file")
    _require_own_functions(connection)
    known = quietly(lambda: connection.con.execute(RELATIONS, [database, database]).fetchall(), UNREADABLE)
    candidates = [(*within, name)] if within else [(name,), *([tuple(name.split("."))] if "." in name else [])]
    fits = [relation for relation in known if any(_called(relation, names) for names in candidates)]
    if not fits:
        raise DuotoneError(f"{place} has no table {name}")
    if len(fits) > 1:
        raise DuotoneError(f"{name} may be {' or '.join('.'.join(place[:3]) for place in fits)}: say which")
    (*parts, kind, sql, _) = fits[0]
    what = None
    if kind != "duckdb":
        what = require_vouched(f"{'view' if kind == 'view' else 'table of another system'} {name}", vouched)
    elif any(word in sql.lower() for word in (" collate ", " generated ")):
        raise DuotoneError(f"table {name} has a collation, under which different texts are equal, or a generated column")
    source = _of_rows(connection, ".".join(map(quoted, parts)), name)
    return replace(
        source,
        vouched=what,
        sibling=lambda other: of_duckdb(connection, other, place, (), database, vouched=vouched),
        identity=_identity(connection, parts[0], name),
    )


def _identity(connection: Any, database: str, name: str) -> str | None:
    """The file of a database, by its name, with that of the table: files beside each other may have tables of one name. None
    where it is in memory."""
    query = "select path from duckdb_databases() where database_name = ?"
    ((path,),) = quietly(lambda: connection.con.execute(query, [database]).fetchall(), UNREADABLE)
    return None if path is None else json.dumps([Path(path).name, name])


def of_query(connection: Any, query: str) -> Source:
    """A query, for which its owner vouches, of a DuckDB database that Ibis is connected to."""
    _require_own_functions(connection)
    return replace(_of_rows(connection, f"({query})", "the query"), named=False)


def _of_rows(connection: Any, rows: str, name: str) -> Source:
    _require_plain_settings(connection)
    stored = quietly(lambda: _described(connection, f"select * from {rows}"), UNREADABLE)
    readings = {name: text(f"encode({how.sql})") if how.kind == "text" else how for name, how in stored.items()}
    views, engine = list[str](), DuckDB(connection)

    def table(columns: Sequence[str]) -> Any:
        made = engine.selected({name: readings[name] for name in columns}, rows)
        views.append(made.op().name)
        return made

    def release() -> None:
        while views:
            connection.con.execute(f"drop view if exists temp.main.{quoted(views.pop())}")

    kinds = {name: how.kind for name, how in readings.items()}
    return Source(None, engine, name, reading=Columns(kinds, table), release=release)


RELATIONS = """
select t.database_name, t.schema_name, t.table_name, d.type, t.sql,
    t.database_name in (coalesce(?, current_database()), 'temp') and t.schema_name in (current_schema(), 'main')
from duckdb_tables() t join duckdb_databases() d using (database_oid) where not t.internal
union all
select database_name, schema_name, view_name, 'view', '',
    database_name in (coalesce(?, current_database()), 'temp') and schema_name in (current_schema(), 'main')
from duckdb_views() where not internal
"""
"""Every table and view; the last column tells whether it can be meant by its name alone."""


def _called(relation: Sequence[Any], names: Sequence[str]) -> bool:
    """Whether a table can be meant by these names: its own, after its schema, after its database. Case does not matter."""
    own = [part.lower() for part in relation[:3]]
    asked = [part.lower() for part in names]
    if len(asked) == 1:
        return own[2] == asked[0] and bool(relation[5])
    return len(asked) <= 3 and own[3 - len(asked) :] == asked


def _require_own_functions(connection: Any) -> None:
    """A macro where the connection looks for names could stand for a function that rows are read by."""
    query = """select count(*) from system.main.duckdb_functions() f where not f.internal and (f.database_name = 'temp' or
        f.database_name = current_database()) and f.function_name in
        (select g.function_name from system.main.duckdb_functions() g where g.internal)"""
    ((macros,),) = quietly(lambda: connection.con.execute(query).fetchall(), UNREADABLE)
    if macros:
        raise DuotoneError("the database has a macro with the name of one of DuckDB's own functions: drop or rename it")


def _require_plain_settings(connection: Any) -> None:
    """A connection that was handed over is left as it is: settings by which it would compare otherwise are refused."""
    query = "select current_setting('default_collation'), current_setting('integer_division')"
    ((collation, integer_division),) = quietly(lambda: connection.con.execute(query).fetchall(), UNREADABLE)
    if collation or integer_division:
        raise DuotoneError("the DuckDB connection has a default_collation or integer_division set: reset them")
