"""Health: whether questions can be answered now (/readyz), and how the service stops. That the process lives is
/healthz."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Literal

from duotone.desk.answering import LOG
from duotone.desk.desk import Desk
from duotone.desk.tables import OpenTable
from duotone.errors import DuotoneError

Part = Literal["ledger", "records", "tables"]
PARTS: tuple[Part, ...] = ("ledger", "records", "tables")
EVERY, PATIENCE = 10.0, 5.0
"""Seconds for which a result is kept; a check that takes longer counts as bad."""


class Readiness:
    """Whether ledger, records and every table can be opened; reads no row, and does not say which table fails."""

    def __init__(self, desk: Desk, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._desk, self._clock = desk, clock
        self._looking: asyncio.Future[dict[Part, bool]] | None = None
        self._since = 0.0

    async def now(self) -> dict[Part, bool]:
        """The result by part. One check serves all callers, since strangers may call it."""
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
            return {table.in_ledger() for table in self._desk.tables.values()} <= set(self._desk.ledger.datasets())
        except DuotoneError as error:
            LOG.error("not ready: the ledger cannot be used", extra={"error": str(error)})
            return False


def _opens(table: OpenTable) -> bool:
    """Whether a table opens: a file is opened anew; a remote engine is asked on an idle connection."""
    elsewhere = "://" in table.office.path(table.declared.source)
    try:
        with table.lent() if elsewhere else table.open():
            return True
    except DuotoneError as error:
        LOG.error("not ready: a table cannot be opened", extra={"dataset": table.name, "error": str(error)})
        return False


SIGNALS = (signal.SIGTERM, signal.SIGINT)
LAST = 1.0
"""Seconds that the server has to end by itself if a thread does not end."""


@contextmanager
def draining(desk: Desk) -> Iterator[None]:
    """During the block, pass a signal to stop on to the server only once the desk has drained; until then the service
    listens and refuses. A second signal is passed on at once. Outside the main thread, signals are left alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop, begun = asyncio.get_running_loop(), list[asyncio.Task[None]]()
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def passed_on(number: int, frame: FrameType | None) -> None:
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    async def drain(number: int, frame: FrameType | None) -> None:
        LOG.info("the service is stopping")
        try:
            await desk.workers.drain()
        finally:
            passed_on(number, frame)

    def begin(number: int, frame: FrameType | None) -> None:
        if begun:
            passed_on(number, frame)
        else:
            begun.append(loop.create_task(drain(number, frame)))

    def heard(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(begin, number, frame)

    for number in SIGNALS:
        signal.signal(number, heard)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave_soon() -> None:
    """End the process although one of its threads continues: like a kill, this wastes a charge and hides none. Not if
    another program runs the service."""
    LOG.error("an engine could not be interrupted: the process ends without it")
    if threading.current_thread() is threading.main_thread():
        timer = threading.Timer(LAST, os._exit, (0,))
        timer.daemon = True
        timer.start()
