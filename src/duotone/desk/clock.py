"""The public clock: when an answer leaves depends on public facts, not on when the engine is done.

A question that starts at time t and has a declared duration is answered at the first tick after t plus that duration.
If the engine is late, the answer leaves two ticks later, then four, then eight, and so on. Each delay is counted; it is
all that the asker can learn. docs/serve.md says what this hides and what it does not.
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
    """Ticks at a fixed distance, in seconds."""

    tick: float
    now: Callable[[], float] = time.monotonic
    wait: Callable[[threading.Event, float], object] = threading.Event.wait
    """How a thread waits: for some seconds, or until an event."""
    sleep_in_loop: Callable[[float], Awaitable[None]] = asyncio.sleep
    """How a coroutine waits."""

    def due(self, since: float, seconds: float) -> float:
        """The first tick that is at least `seconds` after `since`."""
        return math.ceil((since + seconds) / self.tick) * self.tick

    async def until(self, due: float) -> None:
        """Wait until a time."""
        while (rest := due - self.now()) > 0:
            await self.sleep_in_loop(rest)

    async def next_tick(self) -> None:
        """Wait for the next tick; replies for which no row was read leave then."""
        await self.until(self.due(self.now(), 0))

    def departure(self, since: float, seconds: float, late: Callable[[], None]) -> Departure:
        """When this answer may be sent: it started at `since` and takes at most `seconds`. `late` is called for each
        missed tick."""
        return Departure(self, self.due(since, seconds), late)


class Gone(Exception):
    """Nobody waits for the answer any more: nothing of it is recorded."""


@dataclass(eq=False)
class Departure:
    """When one answer leaves; nothing of it is visible before.

    Guarantee: nothing that was read is recorded or sent before `due`, nor between ticks, so the ledger shows no sooner
    than the reply that the engine is done. An answer that is given up before `due` is never recorded, whether or not
    the engine was done.
    """

    clock: Clock
    due: float
    late: Callable[[], None]
    begun: bool = False
    """Set when reading has ended or failed; a charge stands either way."""
    held: bool = False
    """Set when the answer may be recorded and sent."""
    missed: int = 0
    """How many ticks it has missed."""
    gone: threading.Event = field(default_factory=threading.Event)
    """Set when nobody waits for the answer any more."""
    _interrupts: list[Callable[[], None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hold(self) -> None:
        """Wait, in a thread, until the answer may be recorded; raises `Gone` if it may not."""
        self.begun = True
        self._settle()
        while not self.gone.is_set() and (rest := self.due - self.clock.now()) > 0:
            self.clock.wait(self.gone, rest)
        with self._lock:
            self.require_awaited()
            self.held = True

    def require_awaited(self) -> None:
        """Raise `Gone` if nobody waits."""
        if self.gone.is_set():
            raise Gone

    def interrupted_by(self, interrupt: Callable[[], None]) -> None:
        """Interrupt the engine with this when the answer is given up."""
        with self._lock:
            self._interrupts.append(interrupt)
        if self.gone.is_set():
            interrupt()

    def give_up(self) -> None:
        """Nobody waits any more: interrupt the engine and record nothing, unless the answer was due already."""
        with self._lock:
            if self.held:
                return
            self.gone.set()
            interrupts = list(self._interrupts)
        for interrupt in interrupts:
            interrupt()

    def _settle(self) -> None:
        """Move a late answer to the next tick but one, then twice as far each time, so that its time says less about
        the engine."""
        while self.clock.now() > self.due:
            self.missed += 1
            self.late()
            self.due += 2**self.missed * self.clock.tick
