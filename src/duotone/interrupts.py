"""Ctrl-C, and every signal with a handler in Python, waits until levels are dropped: an interrupt's error carries
frames, and whoever sees these could read levels."""

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
    """Delayed interrupts of the main thread; work in `heard` can still be ended by one.

    An interrupt is any signal with a handler in Python, which may raise anything (Ctrl-C, and SIGTERM or an alarm with
    a handler of the program's own).
    """

    def __init__(self, before: Mapping[int, Callable[[int, Any], Any]] | None = None) -> None:
        self.before, self.waiting, self.noted, self._heard, self._ended = before or {}, list[int](), False, False, False
        self.error: BaseException | None = None
        """What a handler raised."""

    @contextmanager
    def heard(self) -> Iterator[None]:
        """The first interrupt ends the work in this block, whatever error an engine makes of it. `noted` records that
        permanently: Python ignores what is raised in a destructor."""
        outside, self._heard = self._heard, True
        try:
            yield
        finally:
            self._heard = outside and not self.noted

    def handle(self, number: int, frame: Any) -> None:
        """Handle an interrupt: after one was raised, further ones wait until its receiver drops what it knew."""
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
        """Restore the signals' handlers, run the waiting interrupts, and keep what one of them raises."""
        self._ended, left = True, list(self.before.items())
        while left:
            try:
                while left:
                    signal.signal(*left[-1])
                    left.pop()
            except BaseException as error:  # of a restored handler
                self._note(error)
        for number in self.waiting:
            self._call(number)

    def _call(self, number: int) -> None:
        try:
            self.before[number](number, None)  # no frame, which may hold levels
        except BaseException as error:
            self._note(error)

    def _note(self, error: BaseException) -> None:
        self.noted, self.error = True, self.error or _bare(error)


def _bare(error: BaseException) -> BaseException:
    """An error without its frames, and without its context, which has frames of its own."""
    error.__context__ = None
    return error.with_traceback(None)


_HELD: list[Held] = []
_SIGNALS = tuple(signal.valid_signals())


@contextmanager
def held() -> Iterator[Held]:
    """Delay interrupts until the block has ended; within another such block, until that ends.

    Guarantee: between its beginning and its end no interrupt is raised, except within `Held.heard`. Threads other than
    the main one are never interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Held()
        return
    if _HELD:
        yield _HELD[0]
        return
    handlers = ((number, signal.getsignal(number)) for number in _SIGNALS)
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
    """Wrap a function that takes or makes levels: an interrupt waits until it has returned, and its frame is gone."""

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
                    taken.clear()  # before a delayed interrupt is raised
        except BaseException as error:
            if not (isinstance(error, KeyboardInterrupt) or (state is not None and error is state.error)):
                raise
            interrupt = error
        finally:
            taken.clear()  # after an interrupt that came before the block
        raise _bare(interrupt)  # raised here, so that its context is no error of the function, whose frames hold levels

    return call
