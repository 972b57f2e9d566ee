"""Ctrl-C, and every signal with a handler in Python, waits until levels are dropped: the error that it raises has frames, and
whoever sees these can read them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Held:
    """Interrupts of the main thread while they are held: they wait, but for a stretch of work that they may end.

    An interrupt is any signal with a handler in Python, which may raise anything (Ctrl-C, and SIGTERM or an alarm by a handler
    of the program's own).
    """

    def __init__(self, before: Mapping[int, Callable[[int, Any], Any]] | None = None) -> None:
        self.before, self.waiting, self.noted, self._heard, self._ended = before or {}, list[int](), False, False, False
        self.error: BaseException | None = None
        """What a handler raised."""

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
        if self._ended:
            self.before[number](number, frame)
            return
        if not self._heard:
            self.waiting += [number] if number not in self.waiting else []
            return
        self._heard = False
        self._call(number)
        if self.noted:
            raise KeyboardInterrupt
        self._heard = True

    def end(self) -> None:
        """Signals do again what they did before, also those that waited; what one of them raises is kept."""
        self._ended, left = True, list(self.before.items())
        while left:
            try:
                while left:
                    signal.signal(*left[-1])
                    left.pop()
            except BaseException as error:  # of a handler that is back in its place
                self._note(error)
        for number in self.waiting:
            self._call(number)

    def _call(self, number: int) -> None:
        try:
            self.before[number](number, None)  # no frame, which may have levels
        except BaseException as error:
            self._note(error)

    def _note(self, error: BaseException) -> None:
        self.noted, self.error = True, self.error or bare(error)


def bare(error: BaseException) -> BaseException:
    """An error without the frames that it came from, and without the error it came after, which has frames of its own."""
    error.__context__ = None
    return error.with_traceback(None)


_HELD: list[Held] = []


@contextmanager
def held() -> Iterator[Held]:
    """Interrupts wait until the block has ended; then they do what they did before. Within another such block, until that ends.

    Guarantee: between its beginning and its end no interrupt is raised, but in what `Held.heard` encloses. Other threads than
    the main one are never interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Held()
        return
    if _HELD:
        yield _HELD[0]
        return
    handlers = ((number, signal.getsignal(number)) for number in signal.valid_signals())
    state = Held({number: handler for number, handler in handlers if callable(handler)})
    try:
        _HELD.append(state)
        for number in state.before:
            signal.signal(number, state.handle)
        yield state
    finally:
        _HELD.clear()
        state.end()
        if state.noted:
            state.error = state.error or KeyboardInterrupt()
            raise state.error


def uninterrupted(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """A function that takes or makes levels: an interrupt waits until it has returned, and its frame is gone."""

    @wraps(function)
    def call(*arguments: Given.args, **named: Given.kwargs) -> Result:
        state: Held | None = None
        taken: Any = [arguments, named]
        del arguments, named
        try:
            with held() as state:
                try:
                    return function(*taken[0], **taken[1])
                finally:
                    taken.clear()  # before an interrupt that waited is raised
        except BaseException as error:
            if not (isinstance(error, KeyboardInterrupt) or (state is not None and error is state.error)):
                raise
            interrupt = error
        finally:
            taken.clear()  # after one that came before they were held
        raise bare(interrupt)  # out here, so that no error of the function is its context, with frames that have levels

    return call
