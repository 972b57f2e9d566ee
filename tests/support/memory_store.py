"""A store without a disk: what a ledger does, at the speed of memory, and what it asks of its database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from duotone.errors import LedgerError
from duotone.ledger.stores import Entries, Store


class MemoryStore(Store):
    """`statements` and `rows` count what was executed and what came back. What is in memory stays until `end`."""

    place = "memory"

    def __init__(self) -> None:
        super().__init__(wait=1)
        self.statements, self.rows = 0, 0
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        Entries(self.execute).make()

    def execute(self, sql: str, values: Sequence[Any]) -> list[Any]:
        rows = self.connection.execute(sql, values).fetchall()
        self.statements, self.rows = self.statements + 1, self.rows + len(rows)
        return rows

    def end(self) -> None:
        self.connection.close()

    @contextmanager
    def _writing(self, create: bool = False) -> Iterator[Entries]:  # noqa: ARG002
        self.connection.execute("BEGIN")
        try:
            yield Entries(self.execute)
        except BaseException:
            self.connection.rollback()
            raise
        self.connection.execute("COMMIT")

    def _reading(self) -> AbstractContextManager[Entries]:
        return self._writing()

    def _forget(self) -> None:
        """Nothing is opened anew."""

    def _failure(self) -> type[Exception]:
        return sqlite3.Error

    def _ledger_error(self, error: Exception) -> LedgerError:
        return self._refusal(str(error))
