"""A ledger in a file: SQLite with a write-ahead log, forced to the disk at every commit."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from duotone.errors import LedgerBusy, LedgerError
from duotone.stores.protocol import SCHEMA, Pages, number_of

_FORKED: list[sqlite3.Connection] = []
"""Connections of a parent process: SQLite's may not be used after a fork, nor closed there."""


class SqliteStore:
    """One connection for each process, one thread at a time on it; other processes wait up to `wait` seconds."""

    def __init__(self, path: Path, wait: float) -> None:
        self._path, self._file, self._wait = path, path.absolute(), wait
        self._owner, self._lock, self._open = os.getpid(), threading.RLock(), None

    _open: sqlite3.Connection | None
    _opened: tuple[int, int] | None = None

    def _identity(self) -> tuple[int, int] | None:
        """Which file is at the path now."""
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    @property
    def place(self) -> str:
        """The path."""
        return str(self._path)

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[Pages]:
        """A transaction that has the file to itself."""
        with self._transaction("BEGIN IMMEDIATE", create) as pages:
            yield pages

    @contextmanager
    def reading(self) -> Iterator[Pages]:
        """A transaction that sees one state."""
        with self._transaction("BEGIN", False) as pages:
            yield pages

    def close(self) -> None:
        """Close the file."""
        with self._mine():
            if self._open is not None:
                self._open.close()
                self._open = None

    @contextmanager
    def _transaction(self, begin: str, create: bool) -> Iterator[Pages]:
        with self._mine():
            try:
                if self._open is not None and self._identity() != self._opened:
                    self._abandon()  # the file was put away or replaced: what is at the path now is the ledger
                connection = self._open = self._open or self._connect(create)
                pages = Pages(_execute(connection))
                connection.execute(begin)
                if self._identity() != self._opened:
                    raise LedgerError(f"the ledger {self.place} was replaced while in use; nothing was released")
                yield pages
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                self._abandon()
                raise self._told(error) from None
            except BaseException:
                if self._open is not None and self._open.in_transaction:
                    self._open.rollback()
                raise

    def _mine(self) -> threading.RLock:
        """The lock of this process; after a fork everything is opened anew."""
        if self._owner != os.getpid():
            if self._open is not None:
                _FORKED.append(self._open)
            self._owner, self._lock, self._open = os.getpid(), threading.RLock(), None
        return self._lock

    def _connect(self, create: bool) -> sqlite3.Connection:
        if not (create or self._file.exists()):
            raise LedgerError(f"there is no ledger at {self._path}: register a dataset first")
        mode = "rwc" if create else "rw"
        uri = f"{self._file.as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=self._wait, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            found = _schema(connection)
            if found == 0 and not create:
                raise LedgerError(f"{self._path} is not a ledger")
            if found < SCHEMA:
                if found == 0:
                    connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                Pages(_execute(connection)).migrate(_schema(connection))
                connection.execute("COMMIT")
            Pages(_execute(connection)).migrate(_schema(connection))  # refuses a newer one
        except BaseException:
            connection.close()
            raise
        self._opened = self._identity()
        return connection

    def _abandon(self) -> None:
        """Undo, and start from a fresh connection: after a failed write the old one is not to be relied on."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _told(self, error: sqlite3.Error) -> LedgerError:
        code = getattr(error, "sqlite_errorname", "") or ""
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return LedgerBusy(self.place, self._wait)
        for start, said in _SENTENCES.items():
            if code.startswith(start):
                return LedgerError(f"the ledger {self.place} {said}; nothing was released")
        return LedgerError(f"the ledger {self.place} cannot be used ({code or type(error).__name__}); nothing was released")


_SENTENCES = {
    "SQLITE_FULL": "cannot be written: the disk is full",
    "SQLITE_IOERR": "cannot be read or written: the disk failed or is full",
    "SQLITE_READONLY": "cannot be written: the file or its folder is read-only",
    "SQLITE_CANTOPEN": "cannot be opened: its folder does not exist or may not be used",
    "SQLITE_PERM": "cannot be opened: it may not be used",
    "SQLITE_NOTADB": "is not a ledger, or only half of one",
    "SQLITE_CORRUPT": "is damaged: restore it from a copy",
    "SQLITE_ERROR": "is not a ledger, or only half of one",
}


def _execute(connection: sqlite3.Connection) -> Any:
    def execute(sql: str, values: Sequence[Any]) -> list[Any]:
        return connection.execute(sql, values).fetchall()

    return execute


def _schema(connection: sqlite3.Connection) -> int:
    """The version of the schema; 0 for a file with nothing in it."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0
    (found,) = connection.execute("SELECT value FROM duotone_ledger WHERE name = 'schema'").fetchone() or ("",)
    return number_of(found)
