"""A store without a disk: what a ledger does, at the speed of memory, and what it asks of its database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from duotone.ledger.stores import Pages


class MemoryStore:
    """One writer, one thread. `statements` and `rows` count what was executed and what came back."""

    def __init__(self, place: str = "memory") -> None:
        self.place, self.statements, self.rows = place, 0, 0
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        Pages(self.execute).migrate(0)

    def execute(self, sql: str, values: Sequence[Any]) -> list[Any]:
        rows = self.connection.execute(sql, values).fetchall()
        self.statements, self.rows = self.statements + 1, self.rows + len(rows)
        return rows

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[Pages]:  # noqa: ARG002
        self.connection.execute("BEGIN")
        try:
            yield Pages(self.execute)
        except BaseException:
            self.connection.rollback()
            raise
        self.connection.execute("COMMIT")

    def reading(self) -> Any:
        return self.writing()

    def close(self) -> None:
        """What is in memory stays until `end`."""

    def end(self) -> None:
        self.connection.close()
