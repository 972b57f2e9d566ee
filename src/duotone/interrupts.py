"""Ctrl-C waits until levels are dropped: an error that it raises has frames, and whoever sees these can read them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Held:
    """Interrupts of the main thread while they are held: they wait, but for a stretch of work that they may end."""

    def __init__(self, before: Callable[[int, Any], Any] | None = None) -> None:
        self.before, self.waiting, self.noted, self._heard = before, False, False, False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """The first interrupt ends the work that is done in here, whatever error an engine makes of it. `noted` says so
        for good: where it was raised in a destructor, Python swallows it."""
        outside, self._heard = self._heard, True
        try:
            yield
        finally:
            self._heard = outside and not self.noted

    def handle(self, number: int, frame: Any) -> None:
        """What is done about an interrupt: after one that was raised, others wait until whoever heard it drops what it knew."""
        if not self._heard or self.before is None:
            self.waiting = True
            return
        self._heard = False
        try:
            self.before(number, frame)
        except KeyboardInterrupt:
            self.noted = True
            raise
        self._heard = True


_HELD: list[Held] = []


@contextmanager
def held() -> Iterator[Held]:
    """Interrupts wait until the block has ended; then they do what they did before. Within another such block, until that ends.

    Guarantee: between its beginning and its end no interrupt is raised, but in what `Held.heard` encloses. Other threads than
    the main one are never interrupted.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield Held()
        return
    if _HELD:
        yield _HELD[0]
        return
    state = Held(before)
    signal.signal(signal.SIGINT, state.handle)
    _HELD.append(state)
    try:
        yield state
    finally:
        _HELD.clear()
        signal.signal(signal.SIGINT, before)
        if state.noted:
            raise KeyboardInterrupt
        if state.waiting:
            before(signal.SIGINT, None)


def uninterrupted(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """A function that takes or makes levels: an interrupt waits until it has returned, and its frame is gone."""

    @wraps(function)
    def call(*arguments: Given.args, **named: Given.kwargs) -> Result:
        taken: Any = [arguments, named]
        del arguments, named
        try:
            with held():
                try:
                    return function(*taken[0], **taken[1])
                finally:
                    taken.clear()  # before an interrupt that waited is raised
        except KeyboardInterrupt:
            pass
        finally:
            taken.clear()  # after one that came before they were held
        raise KeyboardInterrupt  # out here, so that no error of the function is its context, with frames that have levels

    return call
