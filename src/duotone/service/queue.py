"""The queue: how many questions are answered at once, of one person and of all, and how many may wait.

A place is taken only for what reads private rows, and for a public time. So how long others wait follows from public facts: who
asked what when, the declared times, and when somebody went away.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
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
