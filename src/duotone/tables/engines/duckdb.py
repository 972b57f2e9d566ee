"""DuckDB: inside the process, locked down; and its tables, in database files, on given connections, in data frames."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.operations as ops
from ibis.formats.pyarrow import PyArrowData

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.resources import engine_limits, keep_in_child, literal_path, temporary_folder
from duotone.tables.engines.data_frames import columns_of
from duotone.tables.engines.engine import (
    UNREADABLE,
    Abilities,
    Source,
    closed_on_error,
    quietly,
    refuse_twins,
    require_vouched,
    same_file,
    sqlglot_of,
)
from duotone.tables.engines.stored_values import OTHER, Columns, Reading, fresh, literal, of_type, quoted, selected, text

UNPREPARED = "DuckDB cannot be started inside this process: see whether memory and threads are left"
BLIND = ("statistics_propagation", "filter_pushdown", "row_group_pruner", "compressed_materialization", "join_filter_pushdown",
         "partial_aggregate_pushdown", "scalar_fn_pushdown", "type_pushdown", "late_materialization")  # fmt: skip
"""The optimisers that use a file's statistics about other rows: the least and the largest value, which leave out
NaN."""
LOCKED = {
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "enable_external_file_cache": "false",
    "disabled_optimizers": literal(",".join(BLIND)),
}
"""Settings of every connection that Duotone opens, before external access is turned off and the settings are locked."""


EMBEDDED = Abilities(embedded=True, public_rows=10**6, bytes_of="strlen")


@dataclass(frozen=True, eq=False)
class DuckDB:
    """An Ibis connection to DuckDB, whose tables are temporary views under unique names."""

    connection: Any = field(repr=False)
    can: Abilities = EMBEDDED
    name: str = "DuckDB"

    def run(self, plan: Any) -> Any:
        """Ibis' own execution of a plan without tables in memory, without loading pandas."""
        text = sqlglot_of(self.connection, plan).sql(self.connection.dialect, copy=False)
        return PyArrowData.convert_table(self.connection.con.sql(text).to_arrow_table(), plan.schema())

    def alive(self) -> bool:
        """Always true: it is inside the process."""
        return True

    def interrupt(self) -> None:
        """Interrupt the running query."""
        self.connection.con.interrupt()

    def selected(self, readings: Mapping[str, Reading], rows: str) -> Any:
        """A table of converted columns, as a temporary view, because Ibis would rewrite the query."""
        return self._view(fresh(), readings, rows)

    def selected_of(self, readings: Mapping[str, Reading], rows: Any) -> Any:
        """The same for rows in memory, which are released with the view, or when the table is no longer used."""
        made, forget = self._registered(readings, rows)
        weakref.finalize(made.op(), forget)
        return made

    def public_table(self, rows: Any, types: Mapping[str, str]) -> tuple[Any, Callable[[], None]]:
        """An Arrow table as one of the connection, and a function that drops it."""
        return self._registered({name: Reading("other", kind, quoted(name)) for name, kind in types.items()}, rows)

    def _view(self, name: str, readings: Mapping[str, Reading], rows: str) -> Any:
        columns, types = selected(readings)
        self.connection.con.execute(f"create temp view {quoted(name)} as select {', '.join(columns)} from {rows}")
        place = ops.Namespace(catalog="temp", database="main")
        return ops.DatabaseTable(name, ibis.schema(types), self.connection, place).to_expr()

    def _registered(self, readings: Mapping[str, Reading], rows: Any) -> tuple[Any, Callable[[], None]]:
        name = fresh()
        self.connection.con.register(_frame(name), rows)
        return self._view(name, readings, _frame(name)), partial(self.forget, name)

    def forget(self, view: str) -> None:
        """Drop a view, and release a frame's rows under it."""
        with contextlib.suppress(Exception):  # it is closed
            self.connection.con.execute(f"drop view if exists temp.main.{quoted(view)}")
            self.connection.con.unregister(_frame(view))


def _frame(view: str) -> str:
    """The name of the rows in memory that a view converts."""
    return f"{view}_rows"


Connect = Callable[..., tuple[DuckDB, Callable[[], None]]]
"""Like `connected`: returns an engine that may read some files, and a function that closes it."""


def connected(*files: Path, database: Path | None = None) -> tuple[DuckDB, Callable[[], None]]:
    """DuckDB, and a function that closes it.

    Guarantee: it reads only the named files, writes only temporary files in a folder of its own, which is removed when
    it is closed, loads no extension, and none of this can be changed.
    """
    connection = quietly(ibis.duckdb.connect, UNPREPARED)
    keep_in_child(connection)
    folder = tempfile.mkdtemp(dir=temporary_folder())

    def close() -> None:
        connection.disconnect()
        shutil.rmtree(folder, ignore_errors=True)

    allowed = [form for file in files for form in (str(file.resolve()), literal_path(file.resolve()))]
    limits = engine_limits()
    settings = LOCKED | {
        "memory_limit": literal(f"{limits.memory // 2**20}MiB"),
        "threads": str(limits.threads),
        "max_temp_directory_size": literal(f"{limits.spill // 2**20}MiB"),
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
    return DuckDB(connection), close


def _without_progress(connection: Any) -> None:
    """No progress bar, which would show how long a query takes; if it is off, changing it fails in a notebook without
    widgets."""
    if connection.con.execute("select current_setting('enable_progress_bar')").fetchone() != (False,):
        connection.con.execute("set enable_progress_bar = false")


def _attach(connection: Any, path: Path) -> None:
    connection.con.execute(f"attach {literal(str(path.resolve()))} as {quoted(_attached_name(path))} (type duckdb, read_only)")


def _attached_name(path: Path) -> str:
    """A database's name. It is not in the search path: its macros could replace functions."""
    return "file" if path.stem.lower() in ("memory", "system", "temp") else path.stem


def lent(source: Source) -> Source:
    """An open table for one question: closing it closes nothing, but drops the views made for it."""
    reading, engine = source.reading, source.engine
    if not isinstance(engine, DuckDB):
        return replace(source, release=lambda: None)
    made: list[str] = []

    def table(columns: Sequence[str]) -> Any:
        rows = reading.table(columns)
        made.extend(filter(None, [getattr(rows.op(), "name", None)]))
        return rows

    def release() -> None:
        while made:
            engine.forget(made.pop())

    return replace(source, reading=replace(reading, table=table), release=release)


def of_frame(
    readings: Mapping[str, Reading],
    some: Callable[[Sequence[str]], Any],
    name: str = "the table",
    *,
    named: bool = False,
    connect: Connect = connected,
) -> Source:
    """A source of columns with these readings; `some` returns the named columns as an Arrow table."""
    engine, close = connect()

    def table(columns: Sequence[str]) -> Any:
        rows = quietly(lambda: some(columns), UNREADABLE)
        return engine.selected_of({name: readings[name] for name in columns}, rows)

    return Source(engine, name, Columns.of(readings, table), named=named, release=close)


def of_database(path: Path, name: str | None, vouched: bool = False) -> Source:
    """A table of a DuckDB file."""
    if name is None:
        raise Refusal("several tables", place="a DuckDB file")
    checked = same_file(path)
    engine, close = connected(database=path)
    with closed_on_error(close):
        source = of_duckdb(engine.connection, name, str(path), database=_attached_name(path), vouched=vouched)
        return replace(source, release=close, checked=checked)


def of_native(connection: Any, name: str | None, vouched: bool = False) -> Source:
    """A table of a native DuckDB connection. Settings for Ibis are made on a second connection to the same database."""
    second = quietly(connection.cursor, "the DuckDB connection is closed")
    keep_in_child(second)
    with closed_on_error(second.close):
        backend = quietly(lambda: ibis.duckdb.from_connection(second), UNPREPARED)
        return replace(of_duckdb(backend, name, vouched=vouched), release=second.close)


def of_relation(relation: Any, vouched: bool = False) -> Source:
    """A native DuckDB relation. Its connection is not accessible, so the used columns, converted like a table's, are
    fetched as an Arrow table when they are asked about."""
    what = require_vouched("the DuckDB relation", vouched)
    names = list(relation.columns)
    refuse_twins(names)
    stored = {name: of_type(quoted(name), str(kind)) for name, kind in zip(names, relation.types, strict=True)}
    known = [name for name, how in stored.items() if how.kind != "other"]

    def some(columns: Sequence[str]) -> Any:
        return relation.project(", ".join(selected({name: stored[name] for name in columns})[0]))

    empty = quietly(lambda: some(known).limit(0).to_arrow_table(), UNREADABLE)
    readings = dict.fromkeys(names, OTHER) | dict(columns_of(empty)[0])
    return replace(of_frame(readings, lambda cs: columns_of(some(cs).to_arrow_table())[1](cs)), vouched=what)


def described(connection: Any, rows: str) -> dict[str, str]:
    """The columns of rows, and their types."""
    return {name: kind for name, kind, *_ in connection.con.execute(f"describe select * from {rows}").fetchall()}


def of_duckdb(
    connection: Any,
    name: str | None,
    place: str = "the DuckDB database",
    within: Sequence[str] = (),
    database: str | None = None,
    *,
    vouched: bool = False,
) -> Source:
    """A table of a DuckDB database that Ibis is connected to; `within` names its database and schema, if known.
    Otherwise the name is looked up in `database`, or in the connection's search path."""
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
    """The file of a database, by its name, with the table's name: files in one folder may have tables of one name. None
    if it is in memory."""
    query = "select path from duckdb_databases() where database_name = ?"
    ((path,),) = quietly(lambda: connection.con.execute(query, [database]).fetchall(), UNREADABLE)
    return None if path is None else json.dumps([Path(path).name, name])


def of_query(connection: Any, query: str) -> Source:
    """A query, vouched for by its owner, of a DuckDB database that Ibis is connected to."""
    _require_own_functions(connection)
    return replace(_of_rows(connection, f"({query})", "the query"), named=False)


def _of_rows(connection: Any, rows: str, name: str) -> Source:
    _require_plain_settings(connection)
    types = quietly(lambda: described(connection, rows), UNREADABLE)
    stored = {name: of_type(quoted(name), kind) for name, kind in types.items()}
    readings = {name: text(f"encode({how.sql})") if how.kind == "text" else how for name, how in stored.items()}
    engine = DuckDB(connection)

    def table(columns: Sequence[str]) -> Any:
        return engine.selected({name: readings[name] for name in columns}, rows)

    return lent(Source(engine, name, Columns.of(readings, table)))


RELATIONS = """
select t.database_name, t.schema_name, t.table_name, d.type, t.sql,
    t.database_name in (coalesce(?, current_database()), 'temp') and t.schema_name in (current_schema(), 'main')
from duckdb_tables() t join duckdb_databases() d using (database_oid) where not t.internal
union all
select database_name, schema_name, view_name, 'view', '',
    database_name in (coalesce(?, current_database()), 'temp') and schema_name in (current_schema(), 'main')
from duckdb_views() where not internal
"""
"""Every table and view; the last column: it can be named without a schema."""


def _called(relation: Sequence[Any], names: Sequence[str]) -> bool:
    """Whether these names can mean a table: its own, after its schema, after its database. Case does not matter."""
    own = [part.lower() for part in relation[:3]]
    asked = [part.lower() for part in names]
    if len(asked) == 1:
        return own[2] == asked[0] and bool(relation[5])
    return len(asked) <= 3 and own[3 - len(asked) :] == asked


def _require_own_functions(connection: Any) -> None:
    """Refuse a macro in the search path that could replace a function that reads rows."""
    query = """select count(*) from system.main.duckdb_functions() f where not f.internal and (f.database_name = 'temp' or
        f.database_name = current_database()) and f.function_name in
        (select g.function_name from system.main.duckdb_functions() g where g.internal)"""
    ((macros,),) = quietly(lambda: connection.con.execute(query).fetchall(), UNREADABLE)
    if macros:
        raise DuotoneError("the database has a macro with the name of one of DuckDB's own functions: drop or rename it")


def _require_plain_settings(connection: Any) -> None:
    """A given connection is not changed: settings that would change comparisons are refused."""
    query = "select current_setting('default_collation'), current_setting('integer_division')"
    ((collation, integer_division),) = quietly(lambda: connection.con.execute(query).fetchall(), UNREADABLE)
    if collation or integer_division:
        raise DuotoneError("the DuckDB connection has a default_collation or integer_division set: reset them")
