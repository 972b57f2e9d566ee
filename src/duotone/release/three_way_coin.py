"""Exact coins with three sides: yes, no, or too close to call."""

from __future__ import annotations

import os
from enum import Enum
from typing import Any

import numpy as np

from duotone.errors import DuotoneError
from duotone.interrupts import uninterrupted
from duotone.line.three_way import ThreeWayTable
from duotone.privacy.definition import Array
from duotone.release.coin import LEVELS, Keystream, as_levels, seeded_stream


class Outcome(Enum):
    """A three-way answer. `bool` of it is the clear answer; one that is too close to call is neither, and says so.

    >>> bool(Outcome.YES), str(Outcome.TOO_CLOSE)
    (True, 'too close to call')
    """

    YES = "yes"
    NO = "no"
    TOO_CLOSE = "too close to call"

    def __bool__(self) -> bool:
        if self is Outcome.TOO_CLOSE:
            raise DuotoneError("it is too close to call, which is neither yes nor no: compare it with Outcome.TOO_CLOSE first")
        return self is Outcome.YES

    def __str__(self) -> str:
        return str(self.value)


OUTCOMES = (Outcome.NO, Outcome.YES, Outcome.TOO_CLOSE)


class ThreeWayCoin:
    """Draws three-way answers from a table: give it the levels of your data. What is too close to call must be counted, which a
    ledger does, and a coin does not.

    Guarantee: each outcome has exactly the table's integer over 2^bits. One random number is compared with two integers.

    >>> from duotone import ApproxDP
    >>> from duotone.line.three_way import ThreeWay, three_way_table
    >>> coin = ThreeWayCoin(three_way_table(ThreeWay(ApproxDP(1), "1e-15")))
    >>> [str(outcome) for outcome in coin.outcomes([90, -90, 0])]
    ['yes', 'no', 'too close to call']
    """

    def __init__(self, table: ThreeWayTable) -> None:
        rest = table.bits - 64
        if not (rest >= 8 and rest % 8 == 0):
            raise DuotoneError("a coin needs a table of at least 72 bits, a whole number of bytes")
        self.table, self._rest, reach = table, rest, table.reach
        self._thresholds = [table.thresholds(level) for level in range(-reach, reach)]
        self._words = np.array([[t >> rest for t in both] for both in self._thresholds], dtype=np.uint64)

    @uninterrupted
    def outcomes(self, levels: Any, calls: int | None = None) -> list[Outcome]:
        """One for each level, in turn; with `calls`, none after so many that were too close to call."""
        if not (calls is None or (type(calls) is int and calls >= 1)):
            raise DuotoneError(f"close calls are a whole number, at least 1, got {calls}")
        try:
            drawn = self._drawn(levels)
        finally:
            levels = None  # no traceback may show them
        if calls is not None:
            close = np.flatnonzero(drawn == 2)
            drawn = drawn[: close[calls - 1] + 1] if len(close) >= calls else drawn
        return [OUTCOMES[outcome] for outcome in drawn.tolist()]

    @property
    def private(self) -> bool:
        """False while answers come from a test seed."""
        return seeded_stream() is None

    def _drawn(self, levels: Any) -> Array:
        """0 for no, 1 for yes, 2 for too close to call."""
        where: Any = None
        try:
            where, levels = as_levels(levels), None
            if where is None:
                raise DuotoneError(LEVELS)
            stream = seeded_stream() or Keystream(os.urandom(48))
            reach = self.table.reach
            where = np.clip(where, -reach, reach - 1).astype(np.int64) + reach
            words = np.frombuffer(stream.bytes(8 * len(where)), dtype=np.uint64)
            yes, upto = self._words[where].T
            drawn = np.where(words < yes, 1, np.where(words < upto, 2, 0))
            for i in np.flatnonzero((words == yes) | (words == upto)).tolist():
                number = int(words[i]) << self._rest | int.from_bytes(stream.bytes(self._rest // 8), "little")
                below = [number < threshold for threshold in self._thresholds[where[i]]]
                drawn[i] = 1 if below[0] else 2 if below[1] else 0
            return drawn
        finally:
            where = None  # no traceback may show them
