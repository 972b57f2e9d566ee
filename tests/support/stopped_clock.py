"""A clock that a test moves: what leaves at a tick stays until then, however slow or busy the machine is."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from duotone.desk.clock import Clock
from support.running import PATIENCE, wait_until

T = TypeVar("T")
MOMENT = 0.005


class Hands:
    """The time, and who waits for a later one."""

    def __init__(self) -> None:
        self.time = 0.0
        self._untils: list[float] = []
        self._lock = threading.Lock()

    def clock(self, tick: float) -> Clock:
        """The clock with these hands."""
        return Clock(tick, lambda: self.time, self.wait, self.sleep_in_loop)

    @property
    def waiting(self) -> int:
        """How many wait."""
        with self._lock:
            return sum(until > self.time for until in self._untils)

    @contextmanager
    def _counted(self, seconds: float) -> Iterator[float]:
        with self._lock:
            until = self.time + seconds
            self._untils.append(until)
        try:
            yield until
        finally:
            with self._lock:
                self._untils.remove(until)

    def sleep(self, seconds: float) -> None:
        """Wait, in a thread, for some seconds."""
        with self._counted(seconds) as until:
            wait_until(lambda: self.time >= until, "a later time")

    def wait(self, event: threading.Event, seconds: float) -> None:
        """The same, unless an event happens before."""
        with self._counted(seconds) as until:
            wait_until(lambda: event.is_set() or self.time >= until, "a later time")

    async def sleep_in_loop(self, seconds: float) -> None:
        """The same in a loop."""
        with self._counted(seconds) as until:
            while self.time < until:
                await asyncio.sleep(MOMENT)

    async def until_waiting(self, many: int) -> None:
        """Wait until this many wait for a later time."""
        await _until(lambda: self.waiting >= many, f"{many} who wait")

    async def until_settled(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """Wait until each of these is done, or waits for a later time."""
        every = list(tasks)
        await _until(lambda: sum(not task.done() for task in every) <= self.waiting, "nothing more to do at this time")

    async def move(self, seconds: float) -> None:
        """Advance the time, and wake those who waited for it."""
        self.time += seconds
        await asyncio.sleep(10 * MOMENT)

    async def running(self, work: Coroutine[Any, Any, T], step: float = 1.0) -> T:
        """The result of work, while time passes whenever it waits."""
        task = asyncio.ensure_future(work)
        while not task.done():
            if self.waiting:
                self.time += step
            await asyncio.sleep(MOMENT)
        return task.result()


async def _until(holds: Callable[[], bool], what: str) -> None:
    last = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < last, f"{what}, which should have been, was not after {PATIENCE:.0f} seconds"
        await asyncio.sleep(MOMENT)
