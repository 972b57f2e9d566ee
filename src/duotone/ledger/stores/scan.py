"""Reading a whole ledger: a thousand entries to a transaction, so that those who charge it need not wait until the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from duotone.errors import LedgerError
from duotone.ledger.stores.store import CHUNK, Entries, Row, Store

End = TypeVar("End")


class Scan(Generic[End]):
    """Every entry in order, or those of a dataset; `end()` is what `last_look` saw in the transaction with the last of them.

    Entries are only ever added, so what is read is the ledger as of its last transaction. Each one begins with the entry
    that the one before ended with: a ledger that was replaced meanwhile is noticed.
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
        """The entries after `last`, a thousand at most, and whether these are the last ones."""
        rows = entries.some(last.seq if last is not None else None, self._dataset)
        complete = len(rows) < CHUNK
        if last is not None and (not rows or rows.pop(0) != last):
            raise LedgerError(f"the ledger {self._store.place} was changed or replaced while it was read: try again")
        if complete:
            self._end = [self._last_look(entries)]
        return rows, complete

    def end(self) -> End:
        """What was seen last, once every entry has been read."""
        if not self._end:
            raise LedgerError(f"the ledger {self._store.place} has not been read to its end")
        return self._end[0]
