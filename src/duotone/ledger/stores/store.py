"""The interface of a ledger's store: one writer at a time, and a commit that is on disk when it returns; connections
that survive a fork (`Pinned`), and reading a whole ledger (`Scan`)."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import astuple, dataclass, field
from datetime import timedelta
from typing import Any, Generic, TypeVar

from duotone.errors import LedgerError

SKEW = timedelta(seconds=60)
"""How far clocks may differ: behind the last entry by less than this, its time is used again; and no asker's entry is
further ahead of the server."""

TABLES = (
    "CREATE TABLE duotone_ledger (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE duotone_entries (seq INTEGER PRIMARY KEY, dataset TEXT NOT NULL, kind TEXT NOT NULL,"
    " question TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE INDEX duotone_by_dataset ON duotone_entries (dataset, seq)",
    "CREATE INDEX duotone_by_kind ON duotone_entries (dataset, kind, seq)",
    "CREATE INDEX duotone_by_question ON duotone_entries (question, seq)",
    "INSERT INTO duotone_ledger VALUES ('schema', '1'), ('head', '0 ')",
)
"""Statements that create an empty ledger."""
SCHEMA = 1
CHUNK = 1000
End = TypeVar("End")
LATEST, FEW = 100, 10
"""How many charges are searched for a text, and how many matches are read, at most."""


@dataclass(frozen=True)
class Row:
    """One entry as it is stored: `body` is its JSON; the columns before it are for searching."""

    seq: int
    dataset: str
    kind: str
    question: str
    body: str
    hash: str


COLUMNS = "seq, dataset, kind, question, body, hash"


@dataclass(frozen=True)
class Entries:
    """The entries of a ledger as one transaction sees them.

    `execute(sql, values)` is the database's, with ? for values; `copied`: they are read from a copy, which would take
    long to make again; `doubt` says why a failover could lose what is written, if it could.
    """

    execute: Callable[[str, Sequence[Any]], list[Any]]
    copied: bool = field(default=False, kw_only=True)
    doubt: str | None = field(default=None, kw_only=True)

    def head(self) -> tuple[int, str]:
        """How many entries there are, and the hash of the last; −1 if that is damaged, which matches no ledger."""
        stored = self.execute("SELECT value FROM duotone_ledger WHERE name = 'head'", ())
        seq, _, digest = str(stored[0][0] if stored else "").partition(" ")
        return int(seq) if seq.isdecimal() else -1, digest

    def at(self, seq: int) -> Row | None:
        """The entry with this number."""
        return self._one("WHERE seq = ? ", (seq,))

    def append(self, row: Row) -> None:
        """Add an entry and move the head to it."""
        self.fill([row], lambda: (row.seq, row.hash))

    def last(self, dataset: str | None = None, kind: str | None = None) -> Row | None:
        """The latest entry, of a dataset or of one of its kinds."""
        return next(iter(self.latest(1, dataset, kind)), None)

    def latest(self, many: int, dataset: str | None = None, kind: str | None = None) -> list[Row]:
        """The latest entries, of a dataset or of one of its kinds, the last first."""
        return self._found(f"DESC LIMIT {int(many)}", {"dataset =": dataset, "kind =": kind})

    def some(self, dataset: str | None = None, kind: str | None = None, *, after: int | None = None) -> list[Row]:
        """Up to a thousand entries in order, of a dataset or of one of its kinds, after a number; fewer at the end."""
        return self._found(f"LIMIT {CHUNK}", {"seq >": after, "dataset =": dataset, "kind =": kind})

    def every(self, dataset: str, kind: str | None = None, *, after: int | None = None) -> Iterator[Row]:
        """All of these, read in pieces."""
        rows = self.some(dataset, kind, after=after)
        yield from rows
        while len(rows) == CHUNK:
            rows = self.some(dataset, kind, after=rows[-1].seq)
            yield from rows

    def _found(self, which: str, conditions: Mapping[str, Any]) -> list[Row]:
        known = {name: value for name, value in conditions.items() if value is not None}
        where = f"WHERE {' AND '.join(f'{name} ?' for name in known)} " if known else ""
        return self._select(f"{where}ORDER BY seq {which}", list(known.values()))

    def answered(self, question: str) -> Row | None:
        """The latest answer to a question."""
        return self._one("WHERE question = ? AND kind = 'answer' ", (question,))

    def charged_with(self, dataset: str, text: str) -> list[Row]:
        """A few of the latest charges of a dataset that contain a text, newest first."""
        charges = "WHERE dataset = ? AND kind = 'charge' ORDER BY seq DESC"
        latest = f"SELECT {COLUMNS} FROM duotone_entries {charges} LIMIT {LATEST}"
        chosen = f"SELECT {COLUMNS} FROM ({latest}) AS latest WHERE replace(body, ?, '') <> body ORDER BY seq DESC LIMIT {FEW}"
        return [Row(*row) for row in self.execute(chosen, (dataset, text))]

    def filed(self, key: str) -> Row | None:
        """The latest entry filed under an asker."""
        return self._one("WHERE question = ? AND kind IN ('charge', 'asker', 'allowance') ", (key,))

    def member(self, key: str) -> Row | None:
        """The latest entry of a member, by its key."""
        return self._one("WHERE question = ? AND kind = 'member' ", (key,))

    def _one(self, where: str, values: Sequence[Any]) -> Row | None:
        rows = self._select(f"{where}ORDER BY seq DESC LIMIT 1", values)
        return rows[0] if rows else None

    def _select(self, which: str, values: Sequence[Any]) -> list[Row]:
        return [Row(*row) for row in self.execute(f"SELECT {COLUMNS} FROM duotone_entries {which}", values)]

    def ends_at_its_head(self) -> bool:
        """Whether the head is the last entry, and every kind of look-up finds that entry."""
        last = self.last()
        if last is None:
            return self.head() == (0, "")
        by_question = self._one("WHERE question = ? ", (last.question,))
        lookups = (self.last(last.dataset), self.last(last.dataset, last.kind), by_question)
        return self.head() == (last.seq, last.hash) and all(row == last for row in lookups)

    def fill(self, rows: Iterable[Row], head: Callable[[], tuple[int, str]]) -> None:
        """Add all entries of another ledger to an empty one, and move the head to the last."""
        for row in rows:
            self.execute(f"INSERT INTO duotone_entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", astuple(row))
        seq, digest = head()
        self.execute("UPDATE duotone_ledger SET value = ? WHERE name = 'head'", (f"{seq} {digest}",))

    def make(self) -> None:
        """Create an empty ledger."""
        for statement in TABLES:
            self.execute(statement, ())


def number_of(schema: Any) -> int:
    """The schema's version as it is stored."""
    if not str(schema).isdecimal():
        raise LedgerError("the ledger is damaged: its schema has no number; restore it from a copy")
    return int(schema)


def must_be_known(version: int) -> None:
    """Refuse a ledger of a newer Duotone."""
    if version > SCHEMA:
        raise LedgerError(
            f"this ledger was written by a newer Duotone (schema {version}, this one knows {SCHEMA}): update Duotone"
        )


class Store(ABC):
    """A place for a ledger. One thread uses it at a time, and a forked child keeps nothing that its parent opened.

    Methods with an underscore differ between a file and a server.
    """

    def __init__(self, wait: float) -> None:
        self._wait = wait
        self._lock = threading.RLock()
        _STORES.add(self)

    def __del__(self) -> None:
        self._forget()

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, without secrets."""

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[Entries]:
        """Be the only writer during the block; at its end everything is on disk or, after an error, nothing is.

        Guarantee: when the block has ended without an error, its entries survive a crash of the process and of the
        machine. With `create`, a missing ledger is created.
        """
        with self._lock, self._sentences(), self._writing(create) as entries:
            yield entries

    @contextmanager
    def reading(self) -> Iterator[Entries]:
        """One consistent state, whatever others write."""
        with self._lock, self._sentences(), self._reading() as entries:
            yield entries

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._lock:
            self._forget()

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Turn every failure of the database into a LedgerError in plain words; the next use connects again."""
        try:
            yield
        except Exception as error:
            said = self._ledger_error(error)
            if said is None:
                raise
            self._forget()
            raise said from None

    def _refusal(self, problem: str) -> LedgerError:
        return LedgerError(f"the ledger {self.place} {problem}; nothing was released")

    @abstractmethod
    def _writing(self, create: bool) -> AbstractContextManager[Entries]:
        """A transaction that keeps other writers out, and is on disk when it ends."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Entries]:
        """A transaction that sees one state."""

    @abstractmethod
    def _forget(self) -> None:
        """Close what this process opened, and drop what another one opened."""

    @abstractmethod
    def _ledger_error(self, error: Exception) -> LedgerError | None:
        """A failure of the database in plain words; None for any other error."""


class Pinned:
    """A connection that only the process that opened it can end.

    A forked child inherits the object, but the file descriptors, locks and journal behind it are the parent's: closing
    it there would undo the parent's transaction while it runs. So nothing closes it by accident: an extra reference
    prevents its finalisation, by garbage collection and at exit.
    """

    def __init__(self, connection: Any) -> None:
        self.connection, self._process = connection, os.getpid()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))

    @property
    def ours(self) -> bool:
        """Whether this process opened it."""
        return self._process == os.getpid()

    def use(self) -> Any:
        """The connection, for the process that opened it."""
        if not self.ours:
            raise LedgerError("this transaction of a ledger belongs to the process that was forked from; nothing was released")
        return self.connection

    def close(self) -> None:
        """Close it, in the process that opened it; elsewhere drop it."""
        connection, self.connection = self.connection, None
        if connection is not None and self.ours:
            connection.close()
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(connection))


class Scan(Generic[End]):
    """Every entry in order, or those of a dataset; `end()` is what `last_look` saw in the transaction of the last one.

    Entries are only ever added, so what is read is the ledger as of its last transaction. Each transaction starts with
    the last entry of the one before, so a ledger that was replaced meanwhile is noticed.
    """

    def __init__(self, store: Store, last_look: Callable[[Entries], End], dataset: str | None = None) -> None:
        self._store, self._last_look, self._dataset = store, last_look, dataset
        self._end: list[End] = []

    def __iter__(self) -> Iterator[Row]:
        last: Row | None = None
        complete = False
        while not complete:
            with self._store.reading() as entries:
                rows, complete = self._piece(entries, last)
                while entries.copied and not complete:  # nobody waits for a copy, and another one would take long
                    yield from rows
                    rows, complete = self._piece(entries, rows[-1])
            yield from rows
            last = rows[-1] if rows else None

    def _piece(self, entries: Entries, last: Row | None) -> tuple[list[Row], bool]:
        """The entries after `last`, at most a thousand, and whether these are the last ones."""
        rows = entries.some(self._dataset, after=None if last is None else last.seq - 1)
        complete = len(rows) < CHUNK
        if last is not None and (not rows or rows.pop(0) != last):
            raise LedgerError(f"the ledger {self._store.place} was changed or replaced while it was read: try again")
        if complete:
            self._end = [self._last_look(entries)]
        return rows, complete

    def end(self) -> End:
        """The end of the ledger as it was after the last entry was read."""
        if not self._end:
            raise LedgerError(f"the ledger {self._store.place} has not been read to its end")
        return self._end[0]


_STORES: weakref.WeakSet[Store] = weakref.WeakSet()


def _in_child() -> None:
    for store in list(_STORES):
        store._lock = threading.RLock()  # the old one may be held by a thread that does not exist here
        store._forget()


os.register_at_fork(after_in_child=_in_child)
