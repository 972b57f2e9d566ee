"""Workers: the threads of a desk, each person's places in them, and how they end."""

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
"""Threads for work that reads no private row, such as previews; and as many for checking questions."""
LONG = 10.0
"""Declared seconds from which a question is long: long questions have at most half of the places."""
CLOSING = 2.0
"""Seconds for threads to end, once nobody waits for their work."""
STOPPING = "the service is stopping: ask again when it is back; nothing was charged"
STOPPED = "the service stopped before the answer was due; if the question was charged, the charge stands"


@dataclass(frozen=True)
class UnderWay:
    """A question whose table is being read: the thread's work, and whether the service stops before it is due."""

    work: asyncio.Future[Document]
    stopped: asyncio.Event


class Workers:
    """Threads for answering, for quick work, and for checking questions; each with a queue of its own."""

    def __init__(self, office: Office, clock: Clock) -> None:
        limits = office.limits
        self._clock, self._stop = clock, limits.stop
        self.queue = Queue(limits.workers, limits.share, limits.waiting)
        self.looks = Queue(LOOKS, LOOKS // 2, limits.waiting)
        self.checks = Queue(LOOKS, 1, limits.waiting)
        self.processor = ProcessorTime(limits.looking, clock.now)
        threads = limits.workers + limits.share * len(office.people)  # work of those who left may still end
        self._asking = ThreadPoolExecutor(threads, thread_name_prefix="ask")
        self._looking = ThreadPoolExecutor(LOOKS, thread_name_prefix="look")
        self._checking = ThreadPoolExecutor(LOOKS, thread_name_prefix="check")
        self._under_way: dict[Departure, UnderWay] = {}
        self.stopping = False
        """Whether nothing new is accepted any more."""

    async def look(self, caller: Caller, work: Callable[[], T], *, checks: bool = False) -> T:
        """Run work that reads no private row. A person gets at most half of the threads, and a limited amount of
        processor time; an owner has no limit. Checks of questions have threads of their own, one per person, so that
        previews and made-up questions do not delay them."""

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
                if not done.done():  # the asker left, but the thread still works
                    place.until, place.shared = done, True

    def _run(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run work in a thread; an error of the ledger is passed on without the ledger's place."""

        def done() -> T:
            try:
                return work()
            except LedgerError as error:
                raise refusal(error) from None
            except DuotoneError as error:
                raise Refused("bad question", error) from None

        future = asyncio.get_running_loop().run_in_executor(pool, copy_context().run, done)
        future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # nobody waits for it: ignore
        return future

    async def read(
        self, caller: Caller, answered: Callable[[Departure], Document], seconds: float, late: Callable[[], None]
    ) -> Document:
        """The answer from a table, after the question's declared time; given up if the asker leaves before. Nothing is
        opened while somebody waits for a place."""
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
        """Accept nothing new, and let running questions reach their ticks, if these are within the office's `stop`
        seconds; give up the rest at once, with a refusal.

        Guarantee: which answers are given up follows from public times alone; their charges are wasted.
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
            await asyncio.sleep(0)  # so that finished work is no longer under way
        over.cancel()
        for one in self._under_way.values():  # an engine that was late
            one.stopped.set()

    def note(self, work: Callable[[], object]) -> None:
        """Run a small task that nobody waits for."""
        self._looking.submit(work)

    def end(self) -> bool:
        """Whether all threads end in time; work that has not begun is dropped."""
        pools, last = (self._asking, self._looking, self._checking), time.monotonic() + CLOSING
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        threads = [thread for pool in pools for thread in pool._threads]
        for thread in threads:
            thread.join(max(0.0, last - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)


@dataclass(eq=False)
class Place:
    """A place of one person; `long` if it is for a long question."""

    person: str
    long: bool = False
    until: Awaitable[object] | None = None
    """Until when it counts for a person who left, so that leaving makes no room for more of their questions."""
    shared: bool = False
    """Whether others cannot have it until then, either."""


class Queue:
    """Places for questions, first come, first served.

    Guarantee: one person never has all places, if there is more than one, nor all places for long questions; long
    questions have at most half of all. Whoever leaves while waiting frees their turn at once.
    """

    def __init__(self, workers: int, at_once: int, waiting: int) -> None:
        self._workers, self._at_once, self._waiting = workers, at_once, waiting
        self._long = max(1, workers // 2)
        self._taken: list[Place] = []
        self._own: list[Place] = []
        """The places that count for their people: all in use, and some that were given up."""
        self._line: list[tuple[Place, asyncio.Future[None]]] = []
        self._closed: Refused | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.here: Counter[str] = Counter()
        """How many questions each person has here, running or waiting."""

    @asynccontextmanager
    async def place(self, person: str, *, long: bool = False) -> AsyncIterator[Place]:
        """A place for one question; refused if the queue is full."""
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
        """Accept nothing new; whoever waits is refused."""
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
        """Give places to the waiting, in order of arrival."""
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
"""Seconds in which an allowance refills."""


class ProcessorTime:
    """Processor seconds per minute for each person: a bucket that refills evenly.

    Guarantee: over any t seconds, one person's work takes at most (1 + t / 60) times the allowance, plus the work under
    way when the allowance ran out.
    """

    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        self._most, self._now = seconds, now
        self._lock = threading.Lock()
        self._used: dict[str, tuple[float, float]] = {}
        """Of each person: seconds used, and when."""

    def require(self, person: str) -> None:
        """Refuse a person whose allowance is used up, and say when it refills."""
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
        """Charge this thread's work in a block to the person's allowance."""
        begun = time.thread_time()
        try:
            yield
        finally:
            with self._lock:
                self._used[person] = self._now_used(person) + time.thread_time() - begun, self._now()

    def _now_used(self, person: str) -> float:
        used, then = self._used.get(person, (0.0, 0.0))
        return max(0.0, used - (self._now() - then) * self._most / PERIOD)
