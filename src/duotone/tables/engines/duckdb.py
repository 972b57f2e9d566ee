"""DuckDB inside the process, locked down: for files and data frames, and for tables of DuckDB databases."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.resources import keep_in_child, literal_path
from duotone.tables.engines.csv import fields_of, header
from duotone.tables.engines.data_frames import columns_of
from duotone.tables.engines.date_formats import by_format
from duotone.tables.engines.file_layout import FileLayout
from duotone.tables.engines.json_lines import declared_columns, objects_of
from duotone.tables.engines.source import UNREADABLE, Source, closed_on_error, quietly
from duotone.tables.engines.stored_values import OTHER, Columns, Reading, fresh, literal, of_type, quoted, text
from duotone.tables.engines.vouching import require_vouched
from duotone.tables.sql.table_names import column_list

TWINS = "two columns of the table have the same name but for upper and lower case: rename one"
UNPREPARED = "DuckDB cannot be started inside this process: see whether memory and threads are left"
UNNAMED = "a DuckDB file may hold many tables: say which (name)"
BLIND = ("statistics_propagation", "filter_pushdown", "row_group_pruner", "compressed_materialization", "join_filter_pushdown",
         "partial_aggregate_pushdown", "scalar_fn_pushdown", "type_pushdown", "late_materialization")  # fmt: skip
"""The optimisers that use what a file says about its other rows: the least and the largest value, which leave out NaN."""
LOCKED = {
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "enable_external_file_cache": "false",
    "disabled_optimizers": literal(",".join(BLIND)),
}
"""What is set on every connection that Duotone opens, before external access is turned off and the settings are locked."""
Connect = Callable[..., tuple[Any, Callable[[], None]]]
"""As `connected`: what gives a connection that may read some files, and what closes it."""


def connected(*files: Path, database: Path | None = None) -> tuple[Any, Callable[[], None]]:
    """A connection of Ibis to DuckDB, and what closes it.

    Guarantee: it reads the files that are named and no other, writes nothing but temporary files in a folder of its own, which
    is removed when it is closed, loads no extension, and none of this can be changed any more.
    """
    import ibis

    connection = quietly(ibis.duckdb.connect, UNPREPARED)
    keep_in_child(connection)
    folder = tempfile.mkdtemp(prefix="duotone-")

    def close() -> None:
        connection.disconnect()
        shutil.rmtree(folder, ignore_errors=True)

    allowed = [form for file in files for form in (str(file.resolve()), literal_path(file.resolve()))]
    settings = LOCKED | {
        "temp_directory": literal(folder),
        "allowed_paths": f"[{', '.join(map(literal, allowed))}]",
        "enable_external_access": "false",
        "lock_configuration": "true",
    }
    with closed_on_error(close):
        if database is not None:  # attached, so that the same file may be opened twice, each time locked
            quietly(lambda: _attach(connection, database), f"{database} is not a DuckDB file, or is in use")
        quietly(lambda: _without_progress(connection), UNPREPARED)
        for setting, value in settings.items():
            quietly(partial(connection.con.execute, f"set {setting} = {value}"), UNPREPARED)
    return connection, close


def _without_progress(connection: Any) -> None:
    """No progress bar, which would show how long a query takes; where it is off, changing it fails in a notebook without
    widgets."""
    if connection.con.execute("select current_setting('enable_progress_bar')").fetchone() != (False,):
        connection.con.execute("set enable_progress_bar = false")


def _attach(connection: Any, path: Path) -> None:
    connection.con.execute(f"attach {literal(str(path.resolve()))} as {quoted(_attached(path))} (type duckdb, read_only)")


def _attached(path: Path) -> str:
    """A database's name. It is not used as the place to look for names: its macros could stand for functions of ours."""
    return "file" if path.stem.lower() in ("memory", "system", "temp") else path.stem


def of_frame(
    readings: Mapping[str, Reading],
    some: Callable[[Sequence[str]], Any],
    name: str = "the table",
    *,
    named: bool = False,
    connect: Connect = connected,
) -> Source:
    """Columns that are read so, and what gives some of them as an Arrow table."""
    connection, close = connect()

    def table(columns: Sequence[str]) -> Any:
        rows = fresh()
        connection.con.register(rows, quietly(lambda: some(columns), UNREADABLE))
        made = selected(connection, {name: readings[name] for name in columns}, rows)
        weakref.finalize(made.op(), _forget, connection, made.op().name, rows)
        return made

    kinds = {name: how.kind for name, how in readings.items()}
    return Source(None, connection, name, named=named, reading=Columns(kinds, table), release=close)


def of_lines(path: Path, layout: FileLayout, connect: Connect = connected) -> Source:
    """A CSV file, or one like it with another separator; it may be compressed by gzip."""
    names, separator = header(path, layout.separator)
    return _of_text(path, names, lambda columns: fields_of(path, names, columns, separator), layout, "CSV file", connect)


def of_json_lines(path: Path, layout: FileLayout, connect: Connect = connected) -> Source:
    """A file with a JSON object in each line, whose columns are declared; it may be compressed by gzip."""
    names = declared_columns(path, layout.columns)
    return _of_text(path, names, lambda columns: objects_of(path, columns), layout, "file of JSON lines", connect)


def _of_text(
    path: Path,
    names: Sequence[str],
    texts: Callable[[Sequence[str]], tuple[str, list[str]]],
    layout: FileLayout,
    what: str,
    connect: Connect,
) -> Source:
    """A file of which `texts` gives some columns: the query of its rows, and the expression of each column's text. A column
    is untyped, or has dates where their format was declared."""
    formats = _formats(layout.formats, names)

    def reading(name: str, text: str) -> Reading:
        return by_format(name, formats[name], text) if name in formats else Reading("untyped", "string", text)

    kinds = {name: reading(name, "text").kind for name in names}
    connection, close = connect(path)

    def table(columns: Sequence[str]) -> Any:
        rows, fields = texts(columns)
        return selected(connection, {name: reading(name, text) for name, text in zip(columns, fields, strict=True)}, rows)

    with closed_on_error(close):
        quietly(lambda: table(names[:1]), f"{path} cannot be read as a {what}")
    reads = Columns(kinds, table)
    return Source(None, connection, path.name, untyped=True, reading=reads, release=close, stated=layout.stated)


def _formats(formats: object, names: Sequence[str]) -> Mapping[str, str]:
    if formats is None:
        return {}
    if not isinstance(formats, Mapping):
        raise DuotoneError('formats are {column: format}, as {"day": "%d/%m/%Y"}')
    for name in formats:
        if name not in names:
            raise DuotoneError(f"there is a format for {name}, and no such column; there are {column_list(names)}")
    return formats


def of_database(path: Path, name: str | None, vouched: bool = False) -> Source:
    """A table of a DuckDB file."""
    if name is None:
        raise DuotoneError(UNNAMED)
    connection, close = connected(database=path)
    with closed_on_error(close):
        source = of_duckdb(connection, name, str(path), database=_attached(path), vouched=vouched)
        return replace(source, release=close)


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
    if len({name.lower() for name in names}) != len(names):
        raise DuotoneError(TWINS)
    stored = {name: of_type(quoted(name), str(kind)) for name, kind in zip(names, relation.types, strict=True)}
    known = [name for name, how in stored.items() if how.kind != "other"]

    def some(columns: Sequence[str]) -> Any:
        return relation.project(", ".join([f"{stored[name].sql} as {quoted(name)}" for name in columns] or ["true as one"]))

    empty = quietly(lambda: some(known).limit(0).to_arrow_table(), UNREADABLE)
    readings = dict.fromkeys(names, OTHER) | dict(columns_of(empty)[0])
    return replace(of_frame(readings, lambda cs: columns_of(some(cs).to_arrow_table())[1](cs)), vouched=what)


def _forget(connection: Any, view: str, rows: str) -> None:
    """Give the rows of a frame back once nothing asks about them any more."""
    with contextlib.suppress(Exception):  # it is closed
        connection.con.execute(f"drop view if exists temp.main.{quoted(view)}")
        connection.con.unregister(rows)


def table_of(connection: Any, rows: Any, types: Mapping[str, str]) -> tuple[Any, Callable[[], None]]:
    """An Arrow table as one of the connection, and what forgets it."""
    name = fresh()
    connection.con.register(name, rows)
    made = view(connection, f"select {', '.join(map(quoted, types))} from {quoted(name)}", types)
    return made, partial(_forget, connection, made.op().name, name)


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
        raise DuotoneError(UNNAMED)
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
        source, vouched=what, sibling=lambda other: of_duckdb(connection, other, place, (), database, vouched=vouched)
    )


def of_query(connection: Any, query: str) -> Source:
    """A query, for which its owner vouches, of a DuckDB database that Ibis is connected to."""
    _require_own_functions(connection)
    return replace(_of_rows(connection, f"({query})", "the query"), named=False)


def _of_rows(connection: Any, rows: str, name: str) -> Source:
    _require_plain_settings(connection)
    stored = quietly(lambda: _described(connection, f"select * from {rows}"), UNREADABLE)
    readings = {name: text(f"encode({how.sql})") if how.kind == "text" else how for name, how in stored.items()}
    views: list[str] = []

    def table(columns: Sequence[str]) -> Any:
        made = selected(connection, {name: readings[name] for name in columns}, rows)
        views.append(made.op().name)
        return made

    def release() -> None:
        while views:
            connection.con.execute(f"drop view if exists temp.main.{quoted(views.pop())}")

    kinds = {name: how.kind for name, how in readings.items()}
    return Source(None, connection, name, reading=Columns(kinds, table), release=release)


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
