"""Turns: of several threads of a process that ask the same question at once, one pays and the others read its answer."""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class _Turn:
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


class Turns:
    """A lock for each key that somebody holds or waits for, and none for others.

    A thread that already has a turn takes no second one: no two of them can wait for each other for ever.
    """

    def __init__(self) -> None:
        self._start()
        os.register_at_fork(after_in_child=self._start)  # whoever held a turn is not in the child

    def _start(self) -> None:
        self._guard, self._turns, self._mine = threading.Lock(), dict[Hashable, _Turn](), threading.local()

    @contextmanager
    def of(self, key: Hashable) -> Iterator[None]:
        """The only thread of this process in here under this key."""
        mine = self._mine
        if getattr(mine, "has", False):
            yield
            return
        with self._guard:
            turn = self._turns.setdefault(key, _Turn())
            turn.users += 1
        try:
            with turn.lock:
                mine.has = True
                try:
                    yield
                finally:
                    mine.has = False
        finally:
            with self._guard:
                turn.users -= 1
                if turn.users == 0 and self._turns.get(key) is turn:
                    del self._turns[key]
