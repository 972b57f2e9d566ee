"""The queue: how many questions are answered at once, of one person and of all, how many may wait, and how much processor time
a person's previews may take.

A place is taken only for what reads private rows, and for a public time. So how long others wait follows from public facts: who
asked what when, the declared times, and when somebody went away.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from duotone.desk.callers import Refused


@dataclass(eq=False)
class Place:
    """A place, of one person; `long` where it is kept for long."""

    person: str
    long: bool = False
    until: Awaitable[object] | None = None
    """Until when it counts as the person's own after they went away, so that going away makes no room for more of theirs."""
    shared: bool = False
    """Whether it is kept from others until then as well."""


class Queue:
    """Places for questions, first come, first served.

    Guarantee: one person never has all places, where there is more than one, nor all of those for long questions; and these are
    at most half of all. Whoever goes away while they wait leaves at once.
    """

    def __init__(self, workers: int, at_once: int, waiting: int) -> None:
        self._workers, self._at_once, self._waiting = workers, at_once, waiting
        self._long = max(1, workers // 2)
        self._taken: list[Place] = []
        self._own: list[Place] = []
        """Those that count for their persons: all that are taken, and some that were given up."""
        self._line: list[tuple[Place, asyncio.Future[None]]] = []
        self._closed: Refused | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.here: Counter[str] = Counter()
        """How many questions of each person are here, answered or waiting."""

    @asynccontextmanager
    async def place(self, person: str, *, long: bool = False) -> AsyncIterator[Place]:
        """A place for one question; a full queue says so."""
        if self._closed is not None:
            raise self._closed
        if self.here[person] >= self._at_once + self._waiting:
            raise Refused("too many", f"{self.here[person]} of your requests are being answered or waiting: try again", 1)
        place, admitted = Place(person, long), asyncio.get_running_loop().create_future()
        self.here[person] += 1
        self._line.append((place, admitted))
        try:
            self._admit()
            await admitted
            yield place
        finally:
            self._line = [(each, future) for each, future in self._line if each is not place]
            if place in self._taken and place.until is not None:
                task = asyncio.ensure_future(self._linger(place, place.until))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                self._forget(place)

    def close(self, refused: Refused) -> None:
        """Take nothing new; whoever waits hears so."""
        self._closed = refused
        for _, admitted in self._line:
            if not admitted.done():
                admitted.set_exception(refused)

    async def _linger(self, place: Place, until: Awaitable[object]) -> None:
        if not place.shared:
            self._taken.remove(place)
            self._admit()
        try:
            await until
        finally:
            self._forget(place)

    def _forget(self, place: Place) -> None:
        self._taken = [each for each in self._taken if each is not place]
        self._own = [each for each in self._own if each is not place]
        self.here[place.person] -= 1
        if not self.here[place.person]:
            del self.here[place.person]
        self._admit()

    def _admit(self) -> None:
        """Give places to those who may have one, in the order in which they came."""
        for place, admitted in self._line:
            if self._closed is None and not admitted.done() and self._has_room(place):
                self._taken.append(place)
                self._own.append(place)
                admitted.set_result(None)
        self._line = [(place, admitted) for place, admitted in self._line if not admitted.done()]

    def _has_room(self, place: Place) -> bool:
        own = [each for each in self._own if each.person == place.person]
        if not (len(self._taken) < self._workers and len(own) < self._at_once):
            return False
        long = sum(each.long for each in self._taken)
        return not place.long or (long < self._long and sum(each.long for each in own) < max(1, self._long - 1))


PERIOD = 60.0
"""Seconds in which an allowance is filled up again."""


class ProcessorTime:
    """An allowance of so many seconds of processor time a minute, for each person: a bucket that is filled evenly.

    Guarantee: over any t seconds, one person's work takes at most (1 + t / 60) times the allowance, and what was under
    way when that was used up.
    """

    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        self._most, self._now = seconds, now
        self._lock = threading.Lock()
        self._used: dict[str, tuple[float, float]] = {}
        """Of each person, how much was used, and when that was so."""

    def require(self, person: str) -> None:
        """Refuse who has used up their allowance, and say when there is some again."""
        with self._lock:
            over = self._now_used(person) - self._most
        if not over < 0:
            wait = math.ceil((over + self._most / 100) * PERIOD / self._most)
            sentence = (
                f"your previews and made-up questions took {self._most:g} seconds of processor time in a minute: wait {wait} s"
            )
            raise Refused("too many", sentence, wait)

    @contextmanager
    def measured(self, person: str) -> Iterator[None]:
        """What this thread does in a block is taken from the person's allowance."""
        begun = time.thread_time()
        try:
            yield
        finally:
            with self._lock:
                self._used[person] = self._now_used(person) + time.thread_time() - begun, self._now()

    def _now_used(self, person: str) -> float:
        used, then = self._used.get(person, (0.0, 0.0))
        return max(0.0, used - (self._now() - then) * self._most / PERIOD)
