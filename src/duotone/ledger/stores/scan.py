"""Reading a whole ledger: a thousand entries to a transaction, so that those who charge it need not wait until the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from duotone.errors import LedgerError
from duotone.ledger.stores.store import CHUNK, Pages, Row, Store

End = TypeVar("End")


class Scan(Generic[End]):
    """Every entry in order, or those of a dataset; `end()` is what `last_look` saw in the transaction with the last of them.

    Entries are only ever added, so what is read is the ledger as of its last transaction. Each one begins with the entry
    that the one before ended with: a ledger that was replaced meanwhile is noticed.
    """

    def __init__(self, store: Store, last_look: Callable[[Pages], End], dataset: str | None = None) -> None:
        self._store, self._last_look, self._dataset = store, last_look, dataset
        self._end: list[End] = []

    def __iter__(self) -> Iterator[Row]:
        last: Row | None = None
        while True:
            with self._store.reading() as entries:
                rows = entries.some(last.seq if last is not None else None, self._dataset)
                complete = len(rows) < CHUNK
                if complete:
                    self._end = [self._last_look(entries)]
            if last is not None and (not rows or rows.pop(0) != last):
                raise LedgerError(f"the ledger {self._store.place} was changed or replaced while it was read: try again")
            yield from rows
            if complete:
                return
            last = rows[-1]

    def end(self) -> End:
        """What was seen last, once every entry has been read."""
        if not self._end:
            raise LedgerError(f"the ledger {self._store.place} has not been read to its end")
        return self._end[0]
