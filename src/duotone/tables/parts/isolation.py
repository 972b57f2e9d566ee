"""A question of one part, in a process of its own that knows nothing but the part's rows and is killed in the end."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

import duotone
from duotone.errors import DuotoneError
from duotone.resources import temporary_folder
from duotone.tables.parts import inside

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")}
"""Libraries of linear algebra keep to one thread."""
STARTING = 10.0
"""Seconds by the clock, beyond the part's own, for an interpreter to start and to import libraries."""


@dataclass(frozen=True)
class Isolation:
    """What keeps a part's process apart on this system."""

    hidden: bool
    """In namespaces of its own: no other file, no network, no other process can be found."""
    fenced: bool
    """By Landlock: no other file can be opened."""
    filtered: bool
    """By seccomp: nothing can be written, sent, started or signalled."""

    @property
    def complete(self) -> bool:
        """Whether neither files nor processes can carry anything from one part to another."""
        return self.hidden and self.filtered


def answer_of(rows: pa.Table, task: Mapping[str, Any]) -> bool:
    """Whether a part's answer is a plain yes. Anything else is a no: an error, another value, too much time or memory.

    Guarantee: nothing but this bit comes back, and what the process started, wrote or used is gone when it does. It
    depends on these rows, on the task, and on chance.
    """
    ended: int | None = None
    with (
        contextlib.suppress(OSError, subprocess.SubprocessError, pa.ArrowException, MemoryError),
        _started(rows, task) as (process, seconds),
    ):
        ended = process.wait(seconds)
    return ended == inside.YES


def tried(rows: pa.Table, task: Mapping[str, Any]) -> tuple[str, Isolation]:
    """Ask about a table without rows: what is wrong with the question, if anything, and how the process was kept apart.
    Nothing in it is private."""
    for hide in (True, False):
        said, ended = b"", None
        with (
            contextlib.suppress(subprocess.TimeoutExpired),
            _started(rows, {**task, "trial": True, "hide": hide}) as (process, seconds),
        ):
            said, _ = process.communicate(timeout=seconds)
            ended = process.returncode
        if ended == inside.UNHIDDEN or (hide and not said):
            continue
        with contextlib.suppress(ValueError):
            document = json.loads(said.splitlines()[-1] if said else b"")
            return document.pop("wrong"), Isolation(**document)
    raise DuotoneError(
        "this question cannot be asked of parts: without rows it does not end within its limits, or not as it should (parts)"
    )


@contextmanager
def _started(rows: pa.Table, task: Mapping[str, Any]) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """A fresh interpreter with one part's rows in a folder of its own; both are gone after the block."""
    folder = tempfile.mkdtemp(dir=temporary_folder())
    process: Any = None
    try:
        with pa.OSFile(f"{folder}/rows.arrow", "wb") as sink, pyarrow.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_table(rows)
        root = f"{folder}/root"
        os.mkdir(root)
        everything = {
            "trial": False,
            "path": _importable(),
            "package": str(Path(duotone.__file__).parent),
            "root": root,
            **task,
        }
        Path(folder, "task.json").write_text(json.dumps(everything), encoding="utf-8")
        command = [sys.executable, "-I", "-B", "-X", "utf8", inside.__file__, folder]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if task.get("trial") else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd=folder, env={"HOME": folder, "LANG": "C.UTF-8", "TZ": "UTC", **ONE_THREAD},
            start_new_session=True,
        )  # fmt: skip
        yield process, task["seconds"] + STARTING
    finally:
        if process is not None:
            _ended(process)
        shutil.rmtree(folder, ignore_errors=True)


def _ended(process: subprocess.Popen[bytes]) -> None:
    """Kill the process with its session."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _importable() -> list[str]:
    """Where Python finds libraries, by places that stay the same in another folder and file tree."""
    return [os.path.realpath(entry or ".") for entry in sys.path]
