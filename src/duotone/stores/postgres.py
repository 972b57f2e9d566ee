"""A ledger in a Postgres database: one writer at a time by a lock on the table, forced to the disk at every commit."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from duotone.errors import LedgerBusy, LedgerError, MissingExtra
from duotone.stores.protocol import SCHEMA, Pages, number_of

CREATION = 0x0D00_704E
"""The advisory lock under which tables are made, since there is no table to lock yet."""
_FORKED: list[Any] = []


class PostgresStore:
    """One connection for each process, one thread at a time on it; others wait up to `wait` seconds."""

    def __init__(self, url: str, wait: float) -> None:
        self._url, self._wait = url, wait
        self._owner, self._lock = os.getpid(), threading.RLock()
        self._open: Any = None

    @property
    def place(self) -> str:
        """The server and the database; neither password nor options."""
        try:
            parts = urlsplit(self._url)
            host, port = parts.hostname or "localhost", parts.port
        except ValueError:
            return "postgresql://…"
        if "@" in f"{parts.path}{parts.query}{parts.fragment}":  # a password with a / or ? in it looks like this
            return "postgresql://…"
        return f"postgresql://{host}{f':{port}' if port else ''}{parts.path}"

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[Pages]:
        """A transaction that keeps other writers out."""
        with self._transaction(create) as (execute, pages):
            execute("LOCK TABLE duotone_entries IN EXCLUSIVE MODE", ())
            yield pages

    @contextmanager
    def reading(self) -> Iterator[Pages]:
        """A transaction that sees one state."""
        with self._transaction(False) as (execute, pages):
            execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY", ())
            yield pages

    def close(self) -> None:
        """Close the connection."""
        with self._mine():
            self._abandon()

    @contextmanager
    def _transaction(self, create: bool) -> Iterator[tuple[Any, Pages]]:
        psycopg = _psycopg()
        with self._mine():
            try:
                connection = self._open = self._open or self._connect(create)
                execute = _execute(connection)
                execute("BEGIN", ())
                yield execute, Pages(execute)
                execute("COMMIT", ())
            except psycopg.errors.LockNotAvailable:
                self._abandon()
                raise LedgerBusy(self.place, self._wait) from None
            except psycopg.Error as error:
                self._abandon()
                raise self._told(error) from None
            except BaseException:
                if self._open is not None:
                    self._open.rollback()
                raise

    def _mine(self) -> threading.RLock:
        """The lock of this process; after a fork everything is opened anew."""
        if self._owner != os.getpid():
            if self._open is not None:
                _FORKED.append(self._open)
            self._owner, self._lock, self._open = os.getpid(), threading.RLock(), None
        return self._lock

    def _connect(self, create: bool) -> Any:
        seconds = max(2, int(self._wait))
        connection = _psycopg().connect(self._url, autocommit=True, connect_timeout=seconds)
        try:
            execute = _execute(connection)
            execute(f"SET lock_timeout = {int(self._wait * 1000)}", ())
            if execute("SHOW fsync", ())[0][0] != "on":
                raise LedgerError(f"the server of {self.place} runs with fsync off: a crash could hide spending")
            if execute("SHOW synchronous_commit", ())[0][0] == "off":
                execute("SET synchronous_commit = on", ())
            found = _schema(execute)
            if found == 0 and not create:
                raise LedgerError(f"there is no ledger at {self.place}: register a dataset first")
            if found < SCHEMA:
                execute("BEGIN", ())
                execute(f"SELECT pg_advisory_xact_lock({CREATION})", ())
                Pages(execute).migrate(_schema(execute))
                execute("COMMIT", ())
            Pages(execute).migrate(_schema(execute))  # refuses a newer one
        except BaseException:
            connection.close()
            raise
        return connection

    def _abandon(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _told(self, error: Exception) -> LedgerError:
        """The state's code and no more: the server's own words may hold what the URL holds."""
        code = getattr(error, "sqlstate", None)
        said = _SENTENCES.get((code or "08")[:2], f"cannot be used ({code})")
        return LedgerError(f"the ledger {self.place} {said}; nothing was released")


_SENTENCES = {
    "08": "cannot be reached or opened",
    "25": "cannot be written: the server or the transaction is read-only",
    "42": "cannot be used: it may not be written by this user, or is only half a ledger",
    "53": "cannot be written: the server is out of disk, memory or connections",
    "57": "cannot be reached: the server is stopping",
    "58": "cannot be read or written: the server's disk failed",
}


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("a ledger in Postgres", "postgres") from None
    return psycopg


def _execute(connection: Any) -> Any:
    def execute(sql: str, values: Sequence[Any]) -> list[Any]:
        cursor = connection.execute(sql.replace("?", "%s"), values or None)
        return list(cursor.fetchall()) if cursor.description is not None else []

    return execute


def _schema(execute: Any) -> int:
    """The version of the schema; 0 where there is no ledger.

    The catalogue is read as a table: its name look-ups may remember from before a wait that there was none.
    """
    visible = "relname = 'duotone_ledger' AND relkind = 'r' AND pg_table_is_visible(oid)"
    if execute(f"SELECT count(*) FROM pg_catalog.pg_class WHERE {visible}", ())[0][0] == 0:
        return 0
    found = execute("SELECT value FROM duotone_ledger WHERE name = 'schema'", ())
    return number_of(found[0][0] if found else "")
