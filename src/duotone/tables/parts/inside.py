"""Inside a part's process: read its rows, lock the process, ask, and end with `YES` or not.

It is run as a script by an interpreter of its own (`isolation`), which knows nothing but the task in its folder: no
other part has run in it, and none will.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import runpy
import signal
import sys
from pathlib import Path
from typing import Any

YES, NO, UNHIDDEN = 79, 78, 77
"""How a part's process ends: its answer is a plain yes; anything else; the system permits no namespaces."""
SETTINGS = {
    "memory_limit": "'{memory}MiB'", "threads": "1", "temp_directory": "''", "max_temp_directory_size": "'0MiB'",
    "python_enable_replacements": "false", "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
    "allow_community_extensions": "false", "allow_persistent_secrets": "false", "enable_progress_bar": "false",
    "enable_external_access": "false", "lock_configuration": "true",
}  # fmt: skip
"""DuckDB for one part: no file, no extension, no setting."""
NAMED = ("ParserException", "BinderException", "CatalogException", "SyntaxException")
"""Errors of DuckDB about a question's text and the table's columns."""


def main(folder: str) -> None:
    """Answer the task in this folder, by the code with which the process ends."""
    task = json.loads(Path(folder, "task.json").read_text(encoding="utf-8"))
    sys.path[:] = task["path"]
    from duotone.tables.parts import sandbox

    rows = Path(folder, "rows.arrow").read_bytes()
    _end_with_parent()
    folders, files = [*sandbox.own_folders(), task["package"]], task["files"]
    if task["hide"]:
        if not sandbox.hide(folders, files, task["root"]):
            os._exit(UNHIDDEN)
        inner = os.fork()  # the first process of its own numbers
        if inner:
            os._exit(_ended(inner))
        _end_with_parent()
    memory = sandbox.memory_of_this()
    if task["hide"]:
        os.chroot(task["root"])
        os.chdir("/")
        folders, files = ["/"], []  # of that tree
    layers = {"hidden": task["hide"], "fenced": sandbox.fence(folders, files, [] if task["hide"] else task["listed"])}
    question = _sql if "sql" in task else _function
    libraries = _imported(frames="sql" not in task)
    sandbox.limit(memory, task["memory"], task["seconds"])
    layers["filtered"] = sandbox.filtered()
    table = libraries["pyarrow"].ipc.open_stream(rows).read_all()
    if task["trial"]:
        print(json.dumps({**layers, "wrong": question(task, table, libraries, True)}), flush=True)
        os._exit(NO)
    os._exit(YES if question(task, table, libraries, False) is True else NO)


def _end_with_parent() -> None:
    """This process is killed when the one that started it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


def _ended(inner: int) -> int:
    return YES if os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]) == YES else NO


def _imported(*, frames: bool) -> dict[str, Any]:
    """The libraries that make a table of rows."""
    names = ("pyarrow", "pyarrow.ipc", *(("pandas",) if frames else ("duckdb",)))
    known = {}
    for name in names:
        with contextlib.suppress(ImportError):
            known[name] = importlib.import_module(name)
    return known


def _sql(task: Any, table: Any, libraries: Any, trial: bool) -> Any:
    """The only value of the last statement; on trial, what is wrong with the text and its type, on no rows."""
    duckdb = libraries["duckdb"]
    with duckdb.connect() as connection:
        for name in task["names"]:
            connection.register(name, table)
        for setting, value in SETTINGS.items():
            connection.execute(f"set {setting} = {value.format(memory=task['memory'] * 3 // 2**22)}")
        if not trial:
            (row,) = connection.execute(task["sql"]).fetchmany(2)
            (value,) = row
            return value
        try:
            described = connection.execute(task["sql"]).description or []
        except Exception as error:
            named = type(error).__name__
            return " ".join(str(error).split())[:300] if named in NAMED else f"it ends with {named} where there are no rows"
        if len(described) != 1 or str(described[0][1]).lower() not in ("bool", "boolean"):
            return f"it has {len(described)} columns ({', '.join(str(one[1]) for one in described)[:100]})"
    return ""


def _function(task: Any, table: Any, libraries: Any, trial: bool) -> Any:
    """What the function says about the part's data frame; on trial, only why it cannot be loaded."""
    try:
        if task["module"] == "__main__":
            function: Any = runpy.run_path(task["file"], run_name="duotone_part")[task["function"]]
        else:
            function = importlib.import_module(task["module"])
            for name in task["function"].split("."):
                function = getattr(function, name)
    except Exception as error:
        missing = f": {error}" if isinstance(error, ImportError | KeyError | AttributeError) else ""
        return f"{type(error).__name__}{missing}"[:300] if trial else None
    if trial:
        return ""
    return function(table.to_pandas() if "pandas" in libraries else table)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    finally:
        os._exit(NO)
