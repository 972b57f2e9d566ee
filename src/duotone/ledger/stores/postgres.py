"""A ledger in a Postgres database: one writer at a time by a lock on the table, forced to the disk at every commit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from duotone.errors import LedgerBusy, LedgerError, MissingExtra
from duotone.ledger.stores.postgres_schema import LOCK, VERSION, appending, durable, functions, only
from duotone.ledger.stores.store import SCHEMA, Entries, Pinned, Row, Store, must_be_known, number_of

CREATION = 0x0D00_704E
"""The advisory lock for creating tables, since there is no table to lock yet."""
LOCK_NOT_AVAILABLE = "55P03"
"""The code with which Postgres ends a wait for a lock."""


class PostgresStore(Store):
    """One connection for each process, used by one thread at a time; others wait up to `wait` seconds."""

    def __init__(self, url: str, wait: float) -> None:
        self._url = url
        self._pinned: Pinned | None = None
        self._schema = ""
        self._notices: list[Any] = []
        super().__init__(wait)

    @property
    def place(self) -> str:
        """The server and the database, without password and options."""
        try:
            parts = urlsplit(self._url)
            host, port = parts.hostname or "localhost", parts.port
        except ValueError:
            return "postgresql://…"
        misread = "@" in f"{parts.query}{parts.fragment}" or set("@?=") & set(unquote(parts.path))
        if misread:  # a password with a / or ? in it looks like this, and so does a question mark written as %3F
            return "postgresql://…"
        return f"postgresql://{host}{f':{port}' if port else ''}{parts.path}"

    @contextmanager
    def _writing(self, create: bool) -> Iterator[Entries]:
        """A transaction that keeps other writers out.

        Guarantee: its commit waits for the disk, whatever the settings of the server, the role or the URL; if the
        server does not force its own log or pages to disk, it is refused before anything is written.
        """
        pinned = self._connected()
        schema = self._schema = self._schema or self._made(pinned, create)
        # one round trip; every statement sees what was committed before it, so all later ones see what the last writer left
        begin = f"BEGIN ISOLATION LEVEL READ COMMITTED; {only(schema)}; SELECT {schema}.{LOCK}; {durable(schema)}, {VERSION}"
        with self._transaction(pinned, begin) as (settings, execute):
            *others, version = settings[0]
            self._known(number_of(version), create=False)
            doubt = _DOUBTS.get(self._must_be_durable(others))
            yield PostgresEntries(execute, schema, doubt=doubt)

    @contextmanager
    def _reading(self) -> Iterator[Entries]:
        """A transaction that sees one state."""
        pinned = self._connected()
        schema, version = _ledger(_execute(pinned))
        self._known(version, create=False)
        begin = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {only(schema)}"
        with self._transaction(pinned, begin) as (_, execute):
            yield Entries(execute)

    def _connected(self) -> Pinned:
        if self._pinned is None:
            seconds = max(2, int(self._wait))
            self._pinned = Pinned(_psycopg().connect(self._url, autocommit=True, connect_timeout=seconds))
            self._pinned.connection.add_notice_handler(self._notices.append)
            _execute(self._pinned)(f"SET lock_timeout = {int(self._wait * 1000)}", ())
        return self._pinned

    @contextmanager
    def _transaction(self, pinned: Pinned, begin: str) -> Iterator[tuple[list[Any], Execute]]:
        """Run `begin`, and yield the last statement's result and a function for further ones; commit at the end, in the
        process that began."""
        execute = _execute(pinned)
        try:
            yield execute(begin, ()), execute
            self._notices.clear()
            execute("COMMIT", ())
            if self._notices:  # a cancelled wait for a synchronous standby
                raise self._refusal("was extended on the server, but maybe not on its standbys")
        except BaseException:
            if pinned.ours:
                self._undo(pinned)
            raise

    def _undo(self, pinned: Pinned) -> None:
        try:
            pinned.connection.rollback()
        except _psycopg().Error:  # it is broken: the server rolls back by itself
            self._forget()

    def _made(self, pinned: Pinned, create: bool) -> str:
        """The schema of the ledger, created if necessary."""
        schema, version = _ledger(_execute(pinned))
        if self._known(version, create) == SCHEMA:
            return schema
        with self._transaction(pinned, f"BEGIN; SELECT pg_advisory_xact_lock({CREATION})") as (_, execute):
            schema, version = _ledger(execute)  # another process may have created it meanwhile
            if self._known(version, create) < SCHEMA:
                execute(only(schema), ())
                PostgresEntries(execute, schema).make()
                self._must_be_durable(execute(durable(schema), ())[0])
        return schema

    def _known(self, version: int, create: bool) -> int:
        if version == 0 and not create:
            raise LedgerError(f"there is no ledger at {self.place}: register a dataset first (duotone ledger register)")
        must_be_known(version)
        return version

    def _must_be_durable(self, settings: Sequence[Any]) -> str:
        """Refuse a server on which a crash could lose spending; returns what it says about its standbys."""
        commit, fsync, full_page_writes, permanent, plain, standbys = settings
        for ok, problem in (
            (commit in ("on", "remote_apply"), "runs with synchronous_commit off"),
            (fsync == "on", "runs with fsync off"),
            (full_page_writes == "on", "runs with full_page_writes off"),
            (permanent is True, "keeps the ledger in a table that is unlogged or temporary"),
        ):
            if not ok:
                raise LedgerError(f"the server of {self.place} {problem}: a crash could hide spending; nothing was released")
        if plain is not True:
            raise self._refusal(
                "has parts that Duotone did not make (triggers, rules, row security or inherited tables, which could hide "
                "charges): let its owner remove them"
            )
        return str(standbys)

    def _ledger_error(self, error: Exception) -> LedgerError | None:
        """The SQLSTATE code, or why there is no connection. The server's own message is left out: it may quote parts of
        the URL."""
        if not isinstance(error, _psycopg().Error):
            return None
        state = getattr(error, "sqlstate", None)
        if state is None and (why := reason(error)) is not None:
            return self._refusal(f"cannot be opened: {why}")
        code = state or "08"
        if code == LOCK_NOT_AVAILABLE:
            return LedgerBusy(self.place, self._wait)
        known = (sentence for length in (5, 3, 2) if (sentence := _SENTENCES.get(code[:length])))
        return self._refusal(next(known, f"cannot be used ({code})"))

    def _forget(self) -> None:
        pinned, self._pinned, self._schema = self._pinned, None, ""
        if pinned is not None:
            pinned.close()


_SENTENCES = {
    "08": "cannot be reached or opened",
    "25006": "cannot be written: the server or the transaction is read-only",
    "25P": "was not extended: the transaction took longer than the server allows",
    "42": "cannot be used: it may not be written by this user, or is an incomplete ledger",
    "42501": "cannot be used like this: this user may not do it, and its owner may",
    "53": "cannot be written: the server is out of disk, memory or connections",
    "57": "cannot be reached: the server is stopping, or has ended the connection",
    "57014": "was not extended: the statement was cancelled, or took longer than the server allows",
    "58": "cannot be read or written: the server's disk failed",
    "DU": "was not extended: the entry does not follow from the last one; run verify",
    "DU002": "was not extended: this machine's clock is ahead of the server's by more than a minute: set it right",
}

_DOUBTS = {
    "asynchronous": "a standby, or a replication slot for one, that commits do not wait for. Make every standby synchronous "
    "(synchronous_standby_names = 'FIRST n (…)' with all of them)",
    "hidden": "standbys, and its owner may not see whether commits wait for them. Let an administrator GRANT pg_read_all_stats "
    "to the ledger's owner",
}

_REASONS = (
    (r"no password supplied|authentication failed", "the server refuses the password, or none was given"),
    (r'role ".*" does not exist', "the server has no such user"),
    (r'database ".*" does not exist', "the server has no such database"),
    (r"pg_hba\.conf|not permitted to log in|permission denied for database", "the server does not let this user in from here"),
    (r"certificate|SSL", "no TLS connection of the kind that is asked for can be made"),
    (r"could not translate host name|failed to resolve host|Name or service not known", "there is no host of this name"),
    (r"timeout expired|timed out|connection timeout", "no server answered in time"),
    (r"Connection refused|No such file or directory|unreachable|No route to host", "no server answers there"),
    (r"too many (clients|connections)|connection slots", "the server has no connection left"),
    (r"starting up|shutting down", "the server is starting or stopping"),
    (r"invalid (connection option|integer|port|URI|percent)|missing \"=\"", "its URL has parts that Postgres does not know"),
)
"""The first match counts. The words are libpq's and the server's in English; in other languages there is no reason."""

Execute = Callable[[str, Sequence[Any]], list[Any]]


@dataclass(frozen=True)
class PostgresEntries(Entries):
    """Entries are appended by the ledger's own function, even by its owner."""

    schema: str

    def append(self, row: Row) -> None:
        """Add an entry and move the head to it."""
        self.execute(*appending(self.schema, row))

    def make(self) -> None:
        """Create an empty ledger, and its functions."""
        super().make()
        for statement in functions(self.schema):
            self.execute(statement, ())


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("a ledger in Postgres", "postgres") from None
    return psycopg


def _execute(pinned: Pinned) -> Execute:
    def execute(sql: str, values: Sequence[Any]) -> list[Any]:
        """The result of the last statement."""
        cursor = pinned.use().execute(sql.replace("?", "%s") if values else sql, values or None)
        while cursor.nextset():
            pass
        return list(cursor.fetchall()) if cursor.description is not None else []

    return execute


def _ledger(execute: Execute) -> tuple[str, int]:
    """The ledger's schema, quoted, and its version; without a ledger, the schema to create it in, and 0.

    The catalogue is read as a table: name look-ups may be cached from before a wait.
    """
    visible = "c.relname = 'duotone_ledger' AND c.relkind = 'r' AND pg_table_is_visible(c.oid)"
    home = f"SELECT quote_ident(nspname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {visible}"
    schemas = execute(home, ())
    if not schemas:
        return str(execute("SELECT coalesce(quote_ident(current_schema()), 'public')", ())[0][0]), 0
    stored = execute("SELECT value FROM duotone_ledger WHERE name = 'schema'", ())
    return str(schemas[0][0]), number_of(stored[0][0] if stored else "")


def reason(error: Exception) -> str | None:
    """Why a connection failed, if its message tells.

    Guarantee: one of a few fixed sentences, without any part of the message.

    >>> reason(OSError('connection to server at "h", port 5432 failed: FATAL:  password authentication failed for user "u"'))
    'the server refuses the password, or none was given'
    """
    return next((why for words, why in _REASONS if re.search(words, str(error))), None)
