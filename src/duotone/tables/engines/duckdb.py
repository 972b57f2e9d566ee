"""DuckDB inside the process, locked down: what every connection that Duotone opens may do, and its rows as tables of Ibis."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from duotone.resources import engine_limits, keep_in_child, literal_path
from duotone.tables.engines.engine import Abilities, closed_on_error, quietly, sqlglot_of
from duotone.tables.engines.source import Source
from duotone.tables.engines.stored_values import Reading, fresh, literal, quoted
from duotone.temporary import temporary_folder

UNPREPARED = "DuckDB cannot be started inside this process: see whether memory and threads are left"
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


EMBEDDED = Abilities(embedded=True, public_rows=10**6, bytes_of="strlen")


@dataclass(frozen=True, eq=False)
class DuckDB:
    """A connection of Ibis to DuckDB, whose tables are temporary views under names that no other table has."""

    connection: Any = field(repr=False)
    can: Abilities = EMBEDDED
    name: str = "DuckDB"

    def run(self, plan: Any) -> Any:
        """What Ibis' own connection does of a plan without tables in memory; but that one loads pandas."""
        from ibis.formats.pyarrow import PyArrowData

        text = sqlglot_of(self.connection, plan).sql(self.connection.dialect, copy=False)
        return PyArrowData.convert_table(self.connection.con.sql(text).to_arrow_table(), plan.schema())

    def alive(self) -> bool:
        """It is inside the process."""
        return True

    def interrupt(self) -> None:
        """Stop what it does now."""
        self.connection.con.interrupt()

    def selected(self, readings: Mapping[str, Reading], rows: str) -> Any:
        """A table of columns as they are read. A constant column is there even where none is asked about."""
        columns = [f"{how.sql} as {quoted(name)}" for name, how in readings.items()]
        types = {name: how.type for name, how in readings.items()}
        return self._view(f"select {', '.join(columns) or 'true as one'} from {rows}", types or {"one": "boolean"})

    def selected_of(self, readings: Mapping[str, Reading], rows: Any) -> Any:
        """The same of rows in memory, which are given back once nothing asks about the table any more."""
        name = fresh()
        self.connection.con.register(name, rows)
        made = self.selected(readings, name)
        weakref.finalize(made.op(), self.forget, made.op().name, name)
        return made

    def public_table(self, rows: Any, types: Mapping[str, str]) -> tuple[Any, Callable[[], None]]:
        """An Arrow table as one of the connection, and what forgets it."""
        name = fresh()
        self.connection.con.register(name, rows)
        made = self._view(f"select {', '.join(map(quoted, types))} from {quoted(name)}", types)
        return made, partial(self.forget, made.op().name, name)

    def _view(self, query: str, types: Mapping[str, str]) -> Any:
        """A query as a table of Ibis. It is a temporary view, since Ibis would write the query in its own words."""
        import ibis
        import ibis.expr.operations as ops

        name = fresh()
        self.connection.con.execute(f"create temp view {quoted(name)} as {query}")
        place = ops.Namespace(catalog="temp", database="main")
        return ops.DatabaseTable(name, ibis.schema(types), self.connection, place).to_expr()

    def forget(self, view: str, rows: str | None = None) -> None:
        """Drop a view, and give the rows of a frame back, once nothing asks about them any more."""
        with contextlib.suppress(Exception):  # it is closed
            self.connection.con.execute(f"drop view if exists temp.main.{quoted(view)}")
            if rows is not None:
                self.connection.con.unregister(rows)


Connect = Callable[..., tuple[DuckDB, Callable[[], None]]]
"""As `connected`: what gives an engine that may read some files, and what closes it."""


def connected(*files: Path, database: Path | None = None) -> tuple[DuckDB, Callable[[], None]]:
    """DuckDB, and what closes it.

    Guarantee: it reads the files that are named and no other, writes nothing but temporary files in a folder of its own, which
    is removed when it is closed, loads no extension, and none of this can be changed any more.
    """
    import ibis

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
    """No progress bar, which would show how long a query takes; where it is off, changing it fails in a notebook without
    widgets."""
    if connection.con.execute("select current_setting('enable_progress_bar')").fetchone() != (False,):
        connection.con.execute("set enable_progress_bar = false")


def _attach(connection: Any, path: Path) -> None:
    connection.con.execute(f"attach {literal(str(path.resolve()))} as {quoted(attached_name(path))} (type duckdb, read_only)")


def attached_name(path: Path) -> str:
    """A database's name. It is not used as the place to look for names: its macros could stand for functions of ours."""
    return "file" if path.stem.lower() in ("memory", "system", "temp") else path.stem


def lent(source: Source) -> Source:
    """An open table, for one question: whoever closes this closes nothing, but drops the views that were made for it."""
    reading, engine = source.reading, source.engine
    if not isinstance(engine, DuckDB) or reading is None:
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
