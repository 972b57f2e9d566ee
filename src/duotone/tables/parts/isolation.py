"""Questions of parts, each in a process of its own that knows nothing but its part's rows and is killed in the end.

Libraries are slow to import. So a fresh interpreter, the nursery, imports them, and makes a child of itself for each part:
it has seen no row and run no question, and so has each child when it begins.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.ipc

import duotone
from duotone.errors import DuotoneError
from duotone.resources import temporary_folder
from duotone.tables.parts import inside

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")}
"""Libraries of linear algebra keep to one thread."""
IMPORTING = 60.0
"""Seconds by the clock for the nursery to import libraries."""


@dataclass(frozen=True)
class Isolation:
    """What keeps a part's process apart on this system."""

    hidden: bool
    """In namespaces of its own: no other file, no network, no other process can be found."""
    fenced: bool
    """By Landlock: no other file can be opened."""
    filtered: bool
    """By seccomp: nothing can be written, sent, started or signalled."""

    stopped: bool
    """Its clock stands still: how long earlier parts took cannot be seen."""

    @property
    def complete(self) -> bool:
        """Whether neither files, processes nor the clock can carry anything from one part to another."""
        return self.hidden and self.filtered and self.stopped


def answers(parts: Iterable[pa.Table], task: Mapping[str, Any]) -> Iterator[bool]:
    """Whether each part's answer is a plain yes, one after the other. Anything else is a no: an error, another value, too
    much time or memory.

    Guarantee: nothing but this bit comes back of a part, and what its process started, wrote or used is gone when it does.
    It depends on the part's rows, on the task, and on chance.
    """
    with Nursery(frames="sql" not in task) as nursery:
        for rows in parts:
            ended = None
            with contextlib.suppress(OSError, ValueError, pa.ArrowException, MemoryError):
                _, ended = nursery.asked(rows, task)
            yield ended == inside.YES


def tried(rows: pa.Table, task: Mapping[str, Any]) -> tuple[str, Isolation]:
    """Ask about a table without rows: what is wrong with the question, if anything, and how the process was kept apart.
    Nothing in it is private."""
    with Nursery(frames="sql" not in task) as nursery:
        for hide in (True, False):
            said, ended = nursery.asked(rows, {**task, "trial": True, "hide": hide})
            if ended == inside.UNHIDDEN or (hide and not said):
                continue
            with contextlib.suppress(ValueError, IndexError):
                document = json.loads(said.splitlines()[-1])
                return document.pop("wrong"), Isolation(**document)
    raise DuotoneError(
        "this question cannot be asked of parts: without rows it does not end within its limits, or not as it should (parts)"
    )


class Nursery:
    """The fresh interpreter, during a block; a new one if it ends before."""

    def __init__(self, *, frames: bool) -> None:
        self._frames = frames
        self._started: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def asked(self, rows: pa.Table, task: Mapping[str, Any]) -> tuple[bytes, int | None]:
        """What a child for these rows said, if it may say something, and the code with which it ended; None if the nursery
        did not live to tell."""
        with _folder(rows, task) as folder:
            for _ in range(2):  # an earlier child may have ended the nursery
                said = self._exchange(self._alive(), folder, task["seconds"] + 2 * inside.STARTING)
                before, _, code = said.rpartition(inside.ENDED)
                if code:
                    return before, int(code)
                self._end()
        return b"", None

    def _alive(self) -> subprocess.Popen[bytes]:
        if self._started is None or self._started.poll() is not None:
            self._end()
            self._started = subprocess.Popen(
                [sys.executable, "-I", "-B", "-X", "utf8", inside.__file__], cwd=temporary_folder(), start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env={"LANG": "C.UTF-8", "TZ": "UTC", **ONE_THREAD},
            )  # fmt: skip
            first = json.dumps({"path": [os.path.realpath(entry or ".") for entry in sys.path], "frames": self._frames})
            self._exchange(self._started, first, IMPORTING)
        return self._started

    def _exchange(self, process: subprocess.Popen[bytes], line: str, seconds: float) -> bytes:
        """Send a line; what comes back up to the end of a line that says how it ended, without the line's end; empty if
        that takes too long."""
        if process.stdin is None or process.stdout is None:
            raise TypeError("the nursery has pipes")
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
        said, until = b"", time.monotonic() + seconds
        while not (said.endswith(b"\n") and inside.ENDED in said[-len(inside.ENDED) - 5 :]):
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))
            more = os.read(process.stdout.fileno(), 2**16) if ready else b""
            if not more:
                return b""
            said += more
        return said[:-1]

    def _end(self) -> None:
        """Kill the nursery with its session."""
        process, self._started = self._started, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


@contextmanager
def _folder(rows: pa.Table, task: Mapping[str, Any]) -> Iterator[str]:
    """A folder with one part's rows and its task, and nothing else; gone after the block."""
    folder = tempfile.mkdtemp(dir=temporary_folder())
    try:
        with pa.OSFile(f"{folder}/rows.arrow", "wb") as sink, pyarrow.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_table(rows)
        os.mkdir(f"{folder}/root")
        whole = {"trial": False, "now": 0, "package": str(Path(duotone.__file__).parent), "root": f"{folder}/root", **task}
        Path(folder, "task.json").write_text(json.dumps(whole), encoding="utf-8")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
