"""Long-lived askers in processes of their own, to which a question can be sent at any moment; and accidents of a
ledger's file."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support import TESTS

ENDINGS = ("-wal", "-shm", "-journal")
"""Files that SQLite may leave beside a file."""
STOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=float(sys.argv[3]))
for statement in sys.argv[2].split(";"):
    connection.execute(statement)
print("ready", flush=True)
sys.stdin.read()
"""
INTERRUPTED = """
import os, resource, signal, sys
sys.path.insert(0, sys.argv[2])
from duotone import open_ledger
from support.ledgers import ask
ledger = open_ledger(sys.argv[1])
ledger.datasets()
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
size = os.stat(sys.argv[1]).st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
ask(ledger, "x" * 90_000, again=True)
"""
LOOP = """
import sys
sys.path.insert(0, sys.argv[2])
from duotone import OverBudget, open_ledger
from duotone.errors import LedgerError
from support.ledgers import ask
ledger = open_ledger(sys.argv[1], wait=float(sys.argv[3]))
print("ready", flush=True)
for line in sys.stdin:
    flips = []
    try:
        ask(ledger, line.strip() or "q", again=True, flips=flips)
        print("answered", flush=True)
    except OverBudget:
        print("over budget", len(flips), flush=True)
    except LedgerError as error:
        print("refused", len(flips), error, flush=True)
"""


class Asker:
    """Asks at ε = 0.5, each time for a new answer; also counts a coin that was flipped without an answer."""

    def __init__(self, place: Any, wait: float = 5) -> None:
        command = [sys.executable, "-c", LOOP, str(place), str(TESTS), str(wait)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answers, self.said = 0, self._line()

    def _line(self) -> str:
        if self.process.stdout is None:
            raise RuntimeError("an asker that cannot be heard")
        return self.process.stdout.readline().strip()

    def send(self, question: str = "q") -> None:
        if self.process.stdin is None:
            raise RuntimeError("an asker that cannot be spoken to")
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()

    def hear(self) -> bool:
        self.said = self._line()
        assert self.said, "the asker has died"
        self.answers += self.said == "answered"
        assert self.said == "answered" or self.said.split()[-1] == "0" or " 0 " in self.said, self.said
        return self.said == "answered"

    def ask(self, question: str = "q") -> bool:
        self.send(question)
        return self.hear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin and self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout and self.process.stdout.close()


@contextlib.contextmanager
def stranger(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Another program, which reports that it is ready; it is killed at the end."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def charges(path: Path) -> int:
    """The charges, counted by another program than the one under test."""
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as connection:
        (count,) = connection.execute("SELECT count(*) FROM duotone_entries WHERE kind = 'charge'").fetchone()
    connection.close()
    return int(count)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def interrupt(path: Path) -> None:
    """A writer that dies in the middle of its commit: some pages are written, and the journal remains."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, path, TESTS], capture_output=True, text=True)
    assert done.returncode == -signal.SIGXFSZ, done.stderr
    assert path.with_name(path.name + "-journal").stat().st_size > 512
