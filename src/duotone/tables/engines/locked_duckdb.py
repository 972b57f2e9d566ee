"""DuckDB inside the process, locked down: what every connection that Duotone opens may do, and no more."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from duotone.resources import engine_limits, keep_in_child, literal_path
from duotone.tables.engines.source import closed_on_error, quietly
from duotone.tables.engines.stored_values import literal, quoted
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
    return connection, close


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
