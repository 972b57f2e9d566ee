"""Workers: the threads in which a desk does its work, the places that people have in them, and how they end."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from duotone.desk.answering import refusal
from duotone.desk.callers import Caller, Refused
from duotone.desk.clock import Clock, Departure
from duotone.desk.office import Office
from duotone.desk.operations import Document
from duotone.errors import DuotoneError, LedgerError

T = TypeVar("T")
LOOKS = 4
"""Threads for whatever reads no private row: previews, for one; and as many for the checks of questions that are asked."""
LONG = 10.0
"""Seconds of declared time beyond which a question is a long one: these have half of the places, at most."""
CLOSING = 2.0
"""Seconds that threads have to end, once nobody waits for what they do."""
STOPPING = "the service is stopping: ask again when it is back; nothing was charged"
STOPPED = "the service stopped before the answer was due; if the question was charged, the charge stands"


@dataclass(frozen=True)
class UnderWay:
    """A question for which the table is being read: the thread's work, and whether the service stops before it is due."""

    work: asyncio.Future[Document]
    stopped: asyncio.Event


class Workers:
    """Threads for questions that are answered, for whatever else one looks at, and for checks of questions that are asked; each
    with a queue of its own."""

    def __init__(self, office: Office, clock: Clock) -> None:
        limits = office.limits
        self._clock, self._stop = clock, limits.stop
        self.queue = Queue(limits.workers, limits.share, limits.waiting)
        self.looks = Queue(LOOKS, LOOKS // 2, limits.waiting)
        self.checks = Queue(LOOKS, 1, limits.waiting)
        self.processor = ProcessorTime(limits.looking, clock.now)
        threads = limits.workers + limits.share * len(office.people)  # of those who went away, some still end
        self._asking = ThreadPoolExecutor(threads, thread_name_prefix="ask")
        self._looking = ThreadPoolExecutor(LOOKS, thread_name_prefix="look")
        self._checking = ThreadPoolExecutor(LOOKS, thread_name_prefix="check")
        self._under_way: dict[Departure, UnderWay] = {}
        self.stopping = False
        """Whether nothing new is taken any more."""

    async def look(self, caller: Caller, work: Callable[[], T], *, checks: bool = False) -> T:
        """Some work that reads no private row: a person has half of the threads for it at most, and so much processor time, so
        that others get theirs. An owner has as much as they like. Checks of questions that are asked have threads of their own,
        of which a person has one: previews and made-up questions do not keep them waiting."""

        def measured() -> T:
            with self.processor.measured(caller.name):
                return work()

        queue, pool = (self.checks, self._checking) if checks else (self.looks, self._looking)
        async with queue.place(caller.name) as place:
            if caller.person.role != "owner":
                self.processor.require(caller.name)
            done = self._run(pool, measured)
            try:
                return await asyncio.shield(done)
            finally:
                if not done.done():  # who asked went away, but the thread is at work
                    place.until, place.shared = done, True

    def _run(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run work in a thread; an error of the ledger is passed on without the place of the ledger."""

        def done() -> T:
            try:
                return work()
            except LedgerError as error:
                raise refusal(error) from None
            except DuotoneError as error:
                raise Refused("bad question", error) from None

        future = asyncio.get_running_loop().run_in_executor(pool, copy_context().run, done)
        future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # where nobody waits for it, no matter
        return future

    async def read(
        self, caller: Caller, answered: Callable[[Departure], Document], seconds: float, late: Callable[[], None]
    ) -> Document:
        """The answer from a table, after the question's declared time. Whoever goes away before that gives it up. While
        somebody waits for a place, nothing is open for them."""
        async with self.queue.place(caller.name, long=seconds > LONG) as place:
            leaving = self._clock.departure(self._clock.now(), seconds, late)
            work = self._run(self._asking, partial(answered, leaving))
            self._under_way[leaving] = UnderWay(work, stopped := asyncio.Event())
            ending = asyncio.ensure_future(stopped.wait())
            try:
                await asyncio.wait((work, ending), return_when=asyncio.FIRST_COMPLETED)
                if not work.done():
                    leaving.give_up()
                    if not leaving.held:
                        raise Refused("unavailable", STOPPED)
                return await asyncio.shield(work)
            finally:
                ending.cancel()
                del self._under_way[leaving]
                if not work.done():
                    leaving.give_up()
                    place.until = work if leaving.held else self._clock.until(leaving.due)

    async def drain(self) -> None:
        """Take nothing new, and let what is being answered come to its tick, if that is within the office's `stop` seconds;
        the rest is given up at once, and whoever waits hears so.

        Guarantee: which answers are given up follows from public times alone; what was charged for them is wasted.
        """
        last = self._clock.now() + self._stop
        self.stopping = True
        for queue in (self.queue, self.looks, self.checks):
            queue.close(Refused("unavailable", STOPPING, retry_after=math.ceil(self._stop)))
        for leaving, one in self._under_way.items():
            if leaving.due > last:
                one.stopped.set()
        over: asyncio.Future[Any] = asyncio.ensure_future(self._clock.until(last))
        while not over.done() and (works := [one.work for one in self._under_way.values() if not one.stopped.is_set()]):
            await asyncio.wait((over, *works), return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0)  # so that what is done is no longer under way
        over.cancel()
        for one in self._under_way.values():  # an engine that was not done at its tick
            one.stopped.set()

    def note(self, work: Callable[[], object]) -> None:
        """Something small that nobody waits for."""
        self._looking.submit(work)

    def end(self) -> bool:
        """Whether all threads end in time; what has not begun is not done any more."""
        pools, last = (self._asking, self._looking, self._checking), time.monotonic() + CLOSING
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        threads = [thread for pool in pools for thread in pool._threads]
        for thread in threads:
            thread.join(max(0.0, last - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)


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
