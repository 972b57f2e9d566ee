"""SQLite's side of a ledger's file: connections that lock nothing, transactions, conversion, and copies to read from."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from duotone.errors import LedgerError
from duotone.ledger.stores.filelock import FileLock, log_unused
from duotone.ledger.stores.journal import beside, check_journal, is_interrupted, is_mount_point, snapshot
from duotone.ledger.stores.process_bound import Pinned
from duotone.ledger.stores.store import MIGRATIONS, SCHEMA, Entries, number_of
from duotone.temporary import temporary_folder

SETTINGS = ("journal_mode = DELETE", "synchronous = EXTRA", "cache_spill = OFF", "mmap_size = 0", "trusted_schema = OFF")
_INSIDE = threading.RLock()
"""Held within every call of SQLite: a fork waits for it, since SQLite's own locks would stay locked in the child."""
os.register_at_fork(before=_INSIDE.acquire, after_in_parent=_INSIDE.release, after_in_child=_INSIDE.release)


class OpenFile:
    """A file with its lock, and the connection to it once there is one."""

    def __init__(self, path: Path, lock: FileLock) -> None:
        self.path, self.lock = path, lock
        self.mounted = is_mount_point(path)
        self._pinned: Pinned | None = None

    def writer(self) -> Pinned:
        """The connection that writes."""
        if self._pinned is None:
            self._pinned = _connect(self.path, "rw", *SETTINGS)
        return self._pinned

    def reader(self) -> Pinned:
        """The connection that reads."""
        if self._pinned is None:
            self._pinned = _connect(self.path, "ro", "mmap_size = 0", "trusted_schema = OFF")
        return self._pinned

    def settle(self) -> None:
        """Unlock it. A connection left within a transaction is ended before, since ending it may write to the file."""
        try:
            if self._pinned is not None and self._pinned.ours and self._pinned.connection.in_transaction:
                self.disconnect()
        finally:
            self.lock.release()

    def disconnect(self) -> None:
        """Close the connection and keep the lock."""
        pinned, self._pinned = self._pinned, None
        if pinned is not None:
            with _INSIDE:
                pinned.close()

    def close(self) -> None:
        """Close both, the lock last."""
        self.disconnect()
        self.lock.close()


def _connect(path: Path, mode: str, *settings: str) -> Pinned:
    """A connection that leaves locking to `FileLock`."""
    with _INSIDE:
        uri = f"{path.as_uri()}?mode={mode}&vfs=unix-none"
        pinned = Pinned(sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False))
        try:
            for setting in settings:
                pinned.connection.execute(f"PRAGMA {setting}")
        except BaseException:
            pinned.close()
            raise
        return pinned


@contextmanager
def transaction(pinned: Pinned, begin: str) -> Iterator[Entries]:
    """Commit in the end, and roll back after an error, in the process that began."""

    def execute(sql: str, values: Sequence[Any]) -> list[Any]:
        with _INSIDE:
            return list(pinned.use().execute(sql, values).fetchall())

    execute(begin, ())
    try:
        yield Entries(execute)
        execute("COMMIT", ())
    except BaseException:
        if pinned.ours and pinned.connection.in_transaction:
            with _INSIDE:
                pinned.connection.rollback()
        raise


def convert(path: Path) -> None:
    """Bring what a write-ahead log holds into the file, for good, unless somebody still has the log open.

    The lock on the file keeps others away, but SQLite's own lock there is lost when its program closes any descriptor of the
    file: so the index of the log is looked at too. Where it is in use, nothing is changed.
    """
    index = beside(path, "-shm")
    with log_unused(index) as unused:
        if not unused:
            return
        with _INSIDE:
            pinned = _connect(path, "rw", "locking_mode = EXCLUSIVE", "synchronous = EXTRA", "journal_mode = DELETE")
            pinned.close()
        index.unlink(missing_ok=True)


@contextmanager
def copied(path: Path) -> Iterator[Pinned]:
    """A connection to a copy, in which a log or an interrupted commit is put in order without touching the original."""
    if is_interrupted(path):
        check_journal(path, copied=True)
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        pinned = _connect(snapshot(path, Path(folder)), "rw", "locking_mode = EXCLUSIVE")
        try:
            yield pinned
        finally:
            with _INSIDE:
                pinned.close()


def schema_of(entries: Entries) -> int:
    """The version of the schema; 0 for a file with nothing in it.

    Guarantee: the file has the tables and indexes of that version and nothing else, so no trigger changes what is written.
    """
    objects = entries.execute("SELECT type, name, tbl_name, sql FROM sqlite_master", ())
    if not objects:
        return 0
    stored = entries.execute("SELECT value FROM duotone_ledger WHERE name = 'schema'", ())
    version = number_of(stored[0][0] if stored else "")
    if version <= SCHEMA and set(objects) != _objects(version):
        raise LedgerError(
            "the ledger has parts that Duotone did not make, or lacks some (a trigger could hide charges): remove what "
            "was added, or continue from a backup; nothing was released"
        )
    return version


@cache
def _objects(version: int) -> frozenset[tuple[Any, ...]]:
    """What SQLite lists in a file of this version."""
    with _INSIDE, closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in (s for step in MIGRATIONS[:version] for s in step):
            connection.execute(statement)
        return frozenset(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall())
