"""Inside the nursery, which makes a child for each part; and inside a child: read the part's rows, lock the process, ask,
and end with `YES` or not.

It is run as a script by an interpreter of its own (`isolation`). The nursery reads no row and runs no question.
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
import time
from pathlib import Path
from typing import Any

YES, NO, UNHIDDEN = 79, 78, 77
"""How a part's process ends: its answer is a plain yes; anything else; the system permits no namespaces."""
ENDED = b"ended "
"""What the nursery says before the code with which a child ended."""
STARTING = 1.0
"""Seconds by the clock for a child to begin, beyond those of the question."""
OF_GROUP = ("/proc/self/cgroup", "/sys/fs/cgroup")
"""Where a process finds its control group."""
SETTINGS = {
    "memory_limit": "'{memory}MiB'", "threads": "1", "temp_directory": "''", "max_temp_directory_size": "'0MiB'",
    "python_enable_replacements": "false", "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
    "allow_community_extensions": "false", "allow_persistent_secrets": "false", "enable_progress_bar": "false",
    "enable_external_access": "false", "lock_configuration": "true",
}  # fmt: skip
"""DuckDB for one part: no file, no extension, no setting."""
NAMED = ("ParserException", "BinderException", "CatalogException", "SyntaxException")
"""Errors of DuckDB about a question's text and the table's columns."""


def nursery() -> None:
    """Import what questions need; then, for each line, make a child that answers the task in that folder, and say how it
    ended. Nothing else comes back, and no child lives when the next begins."""
    first = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = first["path"]
    _end_with_parent()
    libraries = _imported(frames=first["frames"])
    _say(NO)
    for line in sys.stdin.buffer:
        folder = line.decode().rstrip("\n")
        task = json.loads(Path(folder, "task.json").read_text(encoding="utf-8"))
        child = os.fork()
        if not child:
            _alone(folder, task, libraries)
        _say(_ended(child, task["seconds"] + STARTING))


def _say(code: int) -> None:
    os.write(1, ENDED + str(code).encode() + b"\n")


def _alone(folder: str, task: Any, libraries: Any) -> None:
    """A child's whole life: without its parent's pipes, unless it may say what is wrong."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        if not task["trial"]:
            os.dup2(nothing, 1)
        main(folder, task, libraries)
    finally:
        os._exit(NO)


def _ended(child: int, seconds: float) -> int:
    """The code with which a child ends; it is killed, with what it started, when its time is over."""
    until = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if not ended and time.monotonic() < until:
            time.sleep(0.005)
            continue
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        if not ended:
            os.waitpid(child, 0)
            return NO
        return os.waitstatus_to_exitcode(status)


def main(folder: str, task: Any, libraries: Any) -> None:
    """Answer the task in this folder, by the code with which the process ends."""
    from duotone.tables.parts import sandbox

    rows = Path(folder, "rows.arrow").read_bytes()
    _end_with_parent()
    folders, files = [*sandbox.own_folders(), task["package"]], task["files"]
    if task["hide"]:
        if not sandbox.hide(folders, files, task["root"]):
            os._exit(UNHIDDEN)
        inner = os.fork()  # the first process of its own numbers
        if inner:
            os._exit(YES if os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]) == YES else NO)
        _end_with_parent()
    memory, stopped = sandbox.memory_of_this(), sandbox.stopped(task["now"])
    os.chdir(folder)
    if task["hide"]:
        os.chroot(task["root"])
        os.chdir("/")
        folders, files = ["/"], []  # of that tree
    elif "sql" in task:  # DuckDB looks up its limits there, and does not stand a refusal; no SQL can read it
        folders, files = [*folders, *filter(os.path.isdir, OF_GROUP)], [*files, *filter(os.path.isfile, OF_GROUP)]
    layers = {"hidden": task["hide"], "fenced": sandbox.fence(folders, files, [] if task["hide"] else task["listed"])}
    question = _sql if "sql" in task else _function
    sandbox.limit(memory, task["memory"], task["seconds"])
    layers |= {"filtered": sandbox.filtered(sandbox.CLOCKS if stopped else ()), "stopped": stopped}
    table = libraries["pyarrow"].ipc.open_stream(rows).read_all()
    if task["trial"]:
        print(json.dumps({**layers, "wrong": question(task, table, libraries, True)}), flush=True)
        os._exit(NO)
    os._exit(YES if question(task, table, libraries, False) is True else NO)


def _end_with_parent() -> None:
    """This process is killed when the one that started it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


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
            said = str(error).split("\n\nLINE ")[0].split("\n\tCandidate functions:")[0]  # what is wrong, and not where
            return " ".join(said.split())[:300] if named in NAMED else f"it ends with {named} where there are no rows"
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
    return function(table.to_pandas(use_threads=False) if "pandas" in libraries else table)


if __name__ == "__main__":
    nursery()
