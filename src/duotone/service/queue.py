"""The queue: how many questions are answered at once, of one person and of all, and how many may wait."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from duotone.service.refused import Refused


class Queue:
    """Places for questions. One that is being answered keeps its place until its answer leaves, so that how long others wait
    depends on public times as well."""

    def __init__(self, workers: int, at_once: int, waiting: int) -> None:
        self._workers, self._at_once, self._waiting = asyncio.Semaphore(workers), at_once, waiting
        self._own: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(at_once))
        self.here: Counter[str] = Counter()
        """How many questions of each person are here, answered or waiting."""

    @asynccontextmanager
    async def place(self, person: str) -> AsyncIterator[None]:
        """A place for one question; a full queue says so."""
        if self.here[person] >= self._at_once + self._waiting:
            raise Refused("too many", f"{self.here[person]} of your requests are being answered or waiting: try again", 1)
        self.here[person] += 1
        try:
            async with self._own[person], self._workers:
                yield
        finally:
            self.here[person] -= 1
            if not self.here[person]:
                del self.here[person]
