"""Stopping: a signal that ends the process first lets the desk drain, and says so to whoever asks meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from duotone.service.answering import LOG
from duotone.service.desk import Desk

SIGNALS = (signal.SIGTERM, signal.SIGINT)
LAST = 1.0
"""Seconds that the server has to end by itself where a thread does not."""


@contextmanager
def draining(desk: Desk) -> Iterator[None]:
    """While the block lasts, a signal to stop is passed on to the server only once the desk has drained; until then the service
    listens, and refuses. A second signal is passed on at once. Elsewhere than in the main thread there are no signals."""
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
            await desk.drain()
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
    """End the process though a thread of it does not end: as a kill does, which wastes a charge and hides none. Not where the
    service is a guest of another program, whose main thread is elsewhere."""
    LOG.error("an engine could not be interrupted: the process ends without it")
    if threading.current_thread() is threading.main_thread():
        timer = threading.Timer(LAST, os._exit, (0,))
        timer.daemon = True
        timer.start()
