"""Processor time: how much of it previews and the like may take, for each person."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from duotone.desk.callers import Refused

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
