"""The public clock: when an answer leaves depends on what everybody may know, not on when the engine is done.

A question that begins at a time t, and has a declared number of seconds, is answered at the first tick after t plus these
seconds. If the engine is not done by then, it is answered at the next tick but one, then four ticks later, then eight, and so
on: each such delay is counted, and tells whoever waits at most that. docs/serve.md says what this hides and what not.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Clock:
    """Ticks of so many seconds."""

    tick: float
    now: Callable[[], float] = time.monotonic
    wait: Callable[[threading.Event, float], object] = threading.Event.wait
    """How a thread waits: so many seconds, or until something happens."""
    sleep_in_loop: Callable[[float], Awaitable[None]] = asyncio.sleep
    """How a coroutine does."""

    def due(self, since: float, seconds: float) -> float:
        """The first tick that is so many seconds after a time."""
        return math.ceil((since + seconds) / self.tick) * self.tick

    async def until(self, due: float) -> None:
        """Wait for a time."""
        while (rest := due - self.now()) > 0:
            await self.sleep_in_loop(rest)

    async def next_tick(self) -> None:
        """Wait for the next tick, at which a reply leaves for which no row was read."""
        await self.until(self.due(self.now(), 0))

    def departure(self, since: float, seconds: float, late: Callable[[], None]) -> Departure:
        """Of what begins at a time and takes so many seconds at most; `late` is called for each tick that it misses."""
        return Departure(self, self.due(since, seconds), late)


class Gone(Exception):
    """Nobody waits for an answer any more: nothing of it is recorded."""


@dataclass(eq=False)
class Departure:
    """When one answer leaves, and nothing of it before.

    Guarantee: what was read is neither recorded nor sent before `due`, nor between ticks: whoever looks at the ledger meanwhile
    sees no sooner than whoever asked that the engine is done. An answer that is given up before `due` is never recorded,
    whether or not the engine was done by then.
    """

    clock: Clock
    due: float
    late: Callable[[], None]
    begun: bool = False
    """Whether the table has been read, or that has failed: what is charged is charged."""
    held: bool = False
    """Whether the time has come, and what was read may be recorded and sent."""
    missed: int = 0
    """How many ticks it has missed."""
    gone: threading.Event = field(default_factory=threading.Event)
    """Set where nobody waits for it any more."""
    _interrupts: list[Callable[[], None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hold(self) -> None:
        """Wait, in a thread, until what has been read may be recorded; raises `Gone` where it may not."""
        self.begun = True
        self._settle()
        while not self.gone.is_set() and (rest := self.due - self.clock.now()) > 0:
            self.clock.wait(self.gone, rest)
        with self._lock:
            self.require_awaited()
            self.held = True

    def require_awaited(self) -> None:
        """Raise `Gone` where nobody waits."""
        if self.gone.is_set():
            raise Gone

    def interrupted_by(self, interrupt: Callable[[], None]) -> None:
        """What stops the engine where the answer is given up."""
        with self._lock:
            self._interrupts.append(interrupt)
        if self.gone.is_set():
            interrupt()

    def give_up(self) -> None:
        """Nobody waits any more: the engine is interrupted, and nothing is recorded, unless the time had come before."""
        with self._lock:
            if self.held:
                return
            self.gone.set()
            interrupts = list(self._interrupts)
        for interrupt in interrupts:
            interrupt()

    def _settle(self) -> None:
        """What is done after its tick has the next but one; then twice as long, and so on: when it leaves says less of when it
        was done."""
        while self.clock.now() > self.due:
            self.missed += 1
            self.late()
            self.due += 2**self.missed * self.clock.tick
