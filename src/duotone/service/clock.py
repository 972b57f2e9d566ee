"""The public clock: when an answer leaves depends on what everybody may know, not on when the engine is done.

A question that begins at a time t, and has a declared number of seconds, is answered at the first tick after t plus these
seconds. If the engine is not done by then, it is answered at the next tick but one, then four ticks later, then eight, and so
on: each such delay is counted, and tells whoever waits at most that. docs/service.md says what this hides and what not.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

Shape = Literal["count", "order", "groups"]
"""What the engine has to do: add up, put in order, or either for many groups."""
FIRST = {"DuckDB": 0.8, "Postgres": 1.0, "Spark": 10.0}
"""Seconds that an engine needs for a small table."""
BY_ROW: dict[Shape, float] = {"count": 2e-7, "order": 1e-6, "groups": 5e-6}
"""Seconds for each row on two slow cores, where all values are different, with room to spare."""
BY_LEVEL = 5e-6
"""Seconds for each level that an answer tells apart: a small ε has many, and its table takes longer than the engine."""
BY_STEP = 1e-8
"""Seconds for each step that a question takes on a row besides, of texts of common length."""
OTHER = 2.0


@dataclass(frozen=True)
class Clock:
    """Ticks of so many seconds."""

    tick: float
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    """How a thread waits."""
    sleep_in_loop: Callable[[float], Awaitable[None]] = asyncio.sleep
    """How a coroutine does."""

    def due(self, since: float, seconds: float) -> float:
        """The first tick that is so many seconds after a time."""
        return math.ceil((since + seconds) / self.tick) * self.tick

    async def until(self, due: float) -> None:
        """Wait for a time."""
        while (rest := due - self.now()) > 0:
            await self.sleep_in_loop(rest)

    def departure(self, since: float, seconds: float, late: Callable[[], None]) -> Departure:
        """Of what begins at a time and takes so many seconds at most; `late` is called for each tick that it misses."""
        return Departure(self, self.due(since, seconds), late)


@dataclass
class Departure:
    """When one answer leaves, and nothing of it before.

    Guarantee: what was read is neither recorded nor sent before `due`, nor between ticks: whoever looks at the ledger meanwhile
    sees no sooner than whoever asked that the engine is done.
    """

    clock: Clock
    due: float
    late: Callable[[], None]
    held: bool = False
    """Whether the time has come, and what was read may be recorded and sent."""
    missed: int = 0
    """How many ticks it has missed."""

    def hold(self) -> None:
        """Wait, in a thread, until what has been read may be recorded."""
        self._settle()
        while (rest := self.due - self.clock.now()) > 0:
            self.clock.sleep(rest)
        self.held = True

    async def leave(self) -> None:
        """Wait until a reply may leave for which nothing was held: a refusal, or what was recorded before."""
        if not self.held:
            self._settle()
            await self.clock.until(self.due)

    def _settle(self) -> None:
        """What is done after its tick has the next but one; then twice as long, and so on: when it leaves says less of when it
        was done."""
        while self.clock.now() > self.due:
            self.missed += 1
            self.late()
            self.due += 2**self.missed * self.clock.tick


def declared_seconds(engine: str, rows: int, shape: Shape, levels: int = 0, steps: float = 0) -> float:
    """How long a question takes at most, as the office expects it: by public facts alone.

    >>> declared_seconds("DuckDB", 10_000, "count"), declared_seconds("Spark", 10**8, "order")
    (0.802, 110.0)
    """
    return FIRST.get(engine, OTHER) + rows * (BY_ROW[shape] + steps * BY_STEP) + levels * BY_LEVEL
