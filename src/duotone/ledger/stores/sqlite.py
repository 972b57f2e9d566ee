"""A ledger in a file: SQLite with a rollback journal, so that at rest everything is in that one file.

Charges in a log beside the file would be missing from a copy, a hard link or a moved file. Here a commit is in the file
before it ends, and on disk (`synchronous = EXTRA`: including the journal's deletion, or it could reappear after a power
cut and undo the commit). Reading opens the file read-only and changes nothing.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from duotone.errors import LedgerBusy, LedgerError
from duotone.ledger.stores.sqlite_file import (
    FileLock,
    check_journal,
    check_no_log,
    is_interrupted,
    is_mount_point,
    mark_of,
    snapshot,
)
from duotone.ledger.stores.store import SCHEMA, TABLES, Entries, Pinned, Store, must_be_known, number_of
from duotone.resources import temporary_folder

READING = ("mmap_size = 0", "trusted_schema = OFF")
SETTINGS = ("journal_mode = DELETE", "synchronous = EXTRA", "cache_spill = OFF", *READING)
_INSIDE = threading.RLock()
"""Held during every call of SQLite: a fork waits for it, since SQLite's own locks would stay locked in the child."""
os.register_at_fork(before=_INSIDE.acquire, after_in_parent=_INSIDE.release, after_in_child=_INSIDE.release)


class SqliteStore(Store):
    """One writer at a time among threads, stores and processes; others wait up to `wait` seconds."""

    def __init__(self, path: Path, wait: float) -> None:
        self._path, self._file = path, path.absolute()
        self._opened: dict[bool, OpenFile] = {}
        super().__init__(wait)

    @property
    def place(self) -> str:
        """The path."""
        return str(self._path)

    @contextmanager
    def _writing(self, create: bool) -> Iterator[Entries]:
        """A transaction with exclusive access to the file.

        Guarantee: it is refused if a charge could be lost through another name of the file: a hard link, a mount of the
        file alone, or the journal of another state.
        """
        with self._locked(writing=True, create=create) as opened:
            with self._reachable():
                check_no_log(opened.path, opened.lock.header())
                if is_interrupted(opened.path):
                    check_journal(opened.path)
                mark = mark_of(opened.path)
            with transaction(opened.connection(), "BEGIN IMMEDIATE") as entries:
                self._must_be_here(opened)
                self._prepare(entries, mark, create)
                yield entries

    @contextmanager
    def _reading(self) -> Iterator[Entries]:
        """A transaction that sees one state."""
        with self._locked(writing=False, create=False) as opened:
            with self._reachable(), ExitStack() as stack:
                check_no_log(opened.path, opened.lock.header())
                in_place = not is_interrupted(opened.path)
                pinned = opened.connection() if in_place else stack.enter_context(copied(opened.path))
                kept = stack.pop_all()
            with kept, transaction(pinned, "BEGIN") as entries:
                self._must_be_here(opened)
                self._known(entries, create=False)
                yield replace(entries, copied=not in_place)

    def _prepare(self, entries: Entries, mark: int, create: bool) -> None:
        """Make a ledger of an empty file, and check one that was moved or copied since it was last written."""
        if self._known(entries, create) == 0:
            entries.make()
        if entries.execute("PRAGMA user_version", ()) != [(mark,)]:
            if entries.execute("PRAGMA integrity_check(1)", ()) != [("ok",)]:
                raise self._refusal(
                    "is damaged (was it copied or moved while a writer was interrupted?): restore it from a backup"
                )
            entries.execute(f"PRAGMA user_version = {mark}", ())
        if not entries.ends_at_its_head():
            raise self._refusal("does not end with the entry that its head names: verify it")

    def _known(self, entries: Entries, create: bool) -> int:
        """The version of the schema, if this Duotone can use it; 0 for an empty file, to be filled."""
        version = schema_of(entries)
        if version == 0 and not create:
            raise LedgerError(f"{self._path} is not a ledger")
        must_be_known(version)
        return version

    @contextmanager
    def _locked(self, *, writing: bool, create: bool) -> Iterator[OpenFile]:
        """The file at the path, locked. The file after the wait counts, not the one before."""
        try:
            opened = self._acquired(writing, create)
            if writing:
                self._must_have_one_name(opened)
            yield opened
        finally:
            held = self._opened.get(writing)  # not in a child that was forked meanwhile
            if held is not None:
                held.settle()

    def _acquired(self, writing: bool, create: bool) -> OpenFile:
        while True:
            opened = self._open(writing, create)
            if not opened.lock.acquire(self._wait):
                raise LedgerBusy(self.place, self._wait)
            if self._identity() == opened.lock.identity:
                return opened
            self._drop(writing)

    def _open(self, writing: bool, create: bool) -> OpenFile:
        opened = self._opened.get(writing)
        if opened is not None and opened.lock.identity == self._identity():
            return opened
        self._drop(writing)
        if not (create or self._file.exists()):
            raise LedgerError(f"there is no ledger at {self._path}: register a dataset first (duotone ledger register)")
        with self._reachable():
            path = self._file.resolve()
            self._opened[writing] = OpenFile(path, FileLock(path, writing=writing, create=create))
        return self._opened[writing]

    def _identity(self) -> tuple[int, int] | None:
        """The identity of the file at the path now."""
        try:
            status = self._file.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _must_be_here(self, opened: OpenFile) -> None:
        if self._identity() != opened.lock.identity:
            raise self._refusal("was replaced while in use")

    def _must_have_one_name(self, opened: OpenFile) -> None:
        if os.fstat(opened.lock.descriptor).st_nlink > 1:
            raise self._refusal(
                "has other names (hard links), under which a crash could hide charges: keep one of them and remove the others, "
                "or make a copy"
            )
        if opened.mounted:
            raise self._refusal("is mounted here as a single file, apart from its journal: mount its folder instead")

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        """Turn every failure to open or read a file into a LedgerError in plain words."""
        try:
            yield
        except OSError as error:
            raise self._refusal(_OPENING.get(type(error), f"cannot be used ({error.strerror})")) from None

    def _ledger_error(self, error: Exception) -> LedgerError | None:
        if not isinstance(error, sqlite3.Error):
            return None
        code = getattr(error, "sqlite_errorname", "") or ""
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return LedgerBusy(self.place, self._wait)
        for start, problem in _SENTENCES.items():
            if code.startswith(start):
                return self._refusal(problem)
        return self._refusal(f"cannot be used ({code or type(error).__name__})")

    def _drop(self, writing: bool) -> None:
        opened = self._opened.pop(writing, None)
        if opened is not None:
            opened.close()

    def _forget(self) -> None:
        for writing in list(self._opened):
            self._drop(writing)


class OpenFile:
    """A file with its lock, and its connection once there is one."""

    def __init__(self, path: Path, lock: FileLock) -> None:
        self.path, self.lock = path, lock
        self.mounted = is_mount_point(path)
        self._pinned: Pinned | None = None

    def connection(self) -> Pinned:
        """The connection, for writing or reading as it is locked."""
        if self._pinned is None:
            self._pinned = _connect(self.path, "rw", *SETTINGS) if self.lock.writing else _connect(self.path, "ro", *READING)
        return self._pinned

    def settle(self) -> None:
        """Unlock it. A connection within a transaction is closed before, since that may write to the file."""
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
    """Commit at the end, and roll back after an error, in the process that began."""

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


@contextmanager
def copied(path: Path) -> Iterator[Pinned]:
    """A connection to a copy, in which an interrupted commit is rolled back without changing the original."""
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
    """The version of the schema; 0 for an empty file.

    Guarantee: the file has the tables and indexes of a ledger and nothing else, so no trigger changes what is written.
    """
    objects = entries.execute("SELECT type, name, tbl_name, sql FROM sqlite_master", ())
    if not objects:
        return 0
    stored = entries.execute("SELECT value FROM duotone_ledger WHERE name = 'schema'", ())
    version = number_of(stored[0][0] if stored else "")
    if version == SCHEMA and set(objects) != _objects():
        raise LedgerError(
            "the ledger has parts that Duotone did not make, or lacks some (a trigger could hide charges): remove what "
            "was added, or continue from a backup; nothing was released"
        )
    return version


@cache
def _objects() -> frozenset[tuple[Any, ...]]:
    """SQLite's list of a ledger's objects."""
    with _INSIDE, closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in TABLES:
            connection.execute(statement)
        return frozenset(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall())


_OPENING = {
    PermissionError: "cannot be opened: the file or its folder is read-only, or may not be used",
    FileNotFoundError: "cannot be opened: its folder does not exist or may not be used",
    NotADirectoryError: "cannot be opened: its folder does not exist or may not be used",
    IsADirectoryError: "cannot be opened: it is a folder",
}
_SENTENCES = {
    "SQLITE_FULL": "cannot be written: the disk is full",
    "SQLITE_IOERR": "cannot be read or written: the disk failed or is full",
    "SQLITE_READONLY": "cannot be written: the file or its folder is read-only",
    "SQLITE_CANTOPEN": "cannot be opened: its folder does not exist or may not be used",
    "SQLITE_PERM": "cannot be opened: it may not be used",
    "SQLITE_NOTADB": "is not a ledger, or an incomplete one",
    "SQLITE_CORRUPT": "is damaged: restore it from a copy",
    "SQLITE_ERROR": "is not a ledger, or an incomplete one",
}
