"""Readiness: whether questions could be answered now. That the process lives is another question (/healthz)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Literal

from duotone.errors import DuotoneError
from duotone.service.answering import LOG
from duotone.service.desk import Desk
from duotone.service.tables import OpenTable

Part = Literal["ledger", "records", "tables"]
PARTS: tuple[Part, ...] = ("ledger", "records", "tables")
EVERY, PATIENCE = 10.0, 5.0
"""Seconds for which a finding holds, whoever asks; and after which none is a bad one."""


class Readiness:
    """Whether ledger and records can be reached, and every table opened; no row is read, and nothing is said of which."""

    def __init__(self, desk: Desk, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._desk, self._clock = desk, clock
        self._looking: asyncio.Future[dict[Part, bool]] | None = None
        self._since = 0.0

    async def now(self) -> dict[Part, bool]:
        """By part. One look serves all who ask meanwhile: strangers may."""
        if self._looking is None or (self._looking.done() and not self._clock() < self._since + EVERY):
            self._since = self._clock()
            self._looking = asyncio.ensure_future(asyncio.to_thread(self._look))
        try:
            return await asyncio.wait_for(asyncio.shield(self._looking), PATIENCE)
        except TimeoutError:
            return dict.fromkeys(PARTS, False)

    def _look(self) -> dict[Part, bool]:
        tables = [_opens(table) for table in self._desk.tables.values()]
        return {"ledger": self._ledger(), "records": self._desk.records.reachable(), "tables": all(tables)}

    def _ledger(self) -> bool:
        try:
            return {table.account() for table in self._desk.tables.values()} <= set(self._desk.ledger.datasets())
        except DuotoneError as error:
            LOG.error("not ready: the ledger cannot be used", extra={"error": str(error)})
            return False


def _opens(table: OpenTable) -> bool:
    """A file is opened anew; of an engine elsewhere, a connection that is idle is asked whether it still answers."""
    elsewhere = "://" in table.office.path(table.declared.source)
    try:
        with table.lent() if elsewhere else table.open():
            return True
    except DuotoneError as error:
        LOG.error("not ready: a table cannot be opened", extra={"dataset": table.name, "error": str(error)})
        return False
