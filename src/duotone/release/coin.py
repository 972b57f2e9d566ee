"""Exact coins: a coin draws an outcome from a row of a table. It compares random bits with integers, without floats.

Bits come from the operating system, or for batches from AES in counter mode under a fresh key from it for every chunk,
so that nothing is ever shared between calls, threads or forked processes.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import accumulate
from typing import Any, cast

import numpy as np

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.interrupts import uninterrupted
from duotone.line.mechanism import LineMechanism
from duotone.line.noise import Margin, Sure, same_answer
from duotone.line.table import YES_NO, Outcome, Table, line_table
from duotone.line.which import Which
from duotone.model.accuracy import Basis as Basis
from duotone.privacy.definition import Array
from duotone.privacy.text import Definition
from duotone.resources import progress

CHUNK = 2**18
"""Answers per key and per round of the loop: its buffers fit into the cache."""
COMPILED = 2**22
"""From this many answers on it pays to load a compiled loop, if numba is installed."""
LONG = 2**28
"""From this many answers on a progress bar appears on a terminal."""


class NotPrivateWarning(UserWarning):
    """Answers are drawn from a test seed and must not be released."""


@dataclass(frozen=True)
class Answer(Sure):
    """A released answer: yes or no, how sure that is, its privacy definition, its basis, and its certificate.

    The true answer and the level are not in it.

    >>> from duotone import ApproxDP, balanced
    >>> answer = Coin(balanced(ApproxDP(1, "1e-6"))).answer(40)
    >>> answer == "yes", answer.certain, answer.at_least(1) >= 1
    (True, True, True)
    """

    answer: bool
    """The public answer: True for yes. `bool` of the object is the same."""
    margin: int | None
    """How far from flipping the answer seems: 0 or more for a yes, below 0 for a no. None of a graph's dataset, and under one
    Rényi order."""
    privacy: Definition
    """The privacy that it was drawn under."""
    basis: Basis
    """Whether levels are exact distances, or safe bounds on them."""
    private: bool
    """False for an answer drawn from a test seed."""
    table: Table = field(repr=False)
    """The mechanism of the draw, in integers."""

    def __bool__(self) -> bool:
        return self.answer

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if isinstance(other, Answer) else same_answer(self.answer, other)

    __hash__ = None  # type: ignore[assignment]  # it is equal to a word

    def __str__(self) -> str:
        return ("yes" if self.answer else "no") + ("" if self.private else " (NOT PRIVATE: test seed)")

    @property
    def sure(self) -> Margin:
        """The margin with its noise, and all that follows from it."""
        if self.margin is None:
            raise DuotoneError("an answer about a dataset of a graph, or under one Rényi order, has no margin")
        return Margin(self.margin, self.table.noise)

    def certificate(self) -> dict[str, Any]:
        """The proof of the mechanism behind the answer: see `duotone check`. It is optimal for exact distances."""
        return {**self.table.certificate(), "basis": self.basis}


class Coin:
    """Draws private answers from a mechanism: give it the level of your data, and it answers with exactly the
    mechanism's probabilities.

    Use it if you know how far the true answer is from flipping and `ask` does not fit. That is the level: 0, 1, 2, … if
    the answer is yes and 1, 2, 3, … people must change before it is no; −1, −2, −3, … if it is no. Every answer spends
    the mechanism's budget, which a coin does not count: `open_ledger` does.

    `mechanism` is the result of `balanced`, `with_boundary` or `partition_selection`, a `duotone.line.which.Which`, or a
    `duotone.line.table.Table` in integers (`duotone.line.table.line_table`, `duotone.graphs.table.graph_table`,
    `duotone.line.three_way.three_way_table`). Tables of yes and no have `answer` and `answers`; every table has
    `outcomes`, and `places` for many. `basis` says what levels are: an "exact distance", with which answers are optimal,
    or a "safe bound" (any map under which neighbours' levels differ by at most 1), with which they are private and no
    more.

    Guarantee: each outcome has exactly the table's integer over 2^bits, or an even share of it. A probability of 0 or 1
    never draws another outcome, and none is rounded up.

    >>> from duotone import ApproxDP, balanced
    >>> coin = Coin(balanced(ApproxDP(1, "1e-6")))
    >>> coin.answer(40).answer, coin.answer(-41).answer
    (True, False)
    >>> import numpy as np
    >>> coin.answers(np.array([40, 14, -15, -41])).tolist()
    [True, True, False, False]
    """

    def __init__(self, mechanism: LineMechanism | Which | Table, *, basis: Basis = "exact distance") -> None:
        if basis not in ("exact distance", "safe bound"):
            raise DuotoneError(f"a basis is exact distance or safe bound, got {basis}")
        table = mechanism.table if isinstance(mechanism, Which) else mechanism
        self.table: Table = line_table(table) if isinstance(table, LineMechanism) else table
        if not isinstance(self.table, Table):
            raise DuotoneError(
                f"a coin draws from the mechanism of a line, or from a table, got {type(mechanism).__name__}: of a graph, "
                "duotone.graphs.table.graph_table(graph, privacy, boundary) makes one"
            )
        self.basis: Basis = basis
        if not (self.table.bits >= 72 and self.table.bits % 8 == 0):
            raise DuotoneError("a coin needs a table of at least 72 bits, a whole number of bytes")
        self._lowest, self._highest = self.table.levels
        cuts = [
            tuple(accumulate(row[:-1])) for row in self.table.entries
        ]  # a draw below a row's first number is its first outcome
        places = self.table.places
        rows = cuts if places is None else [*map(cuts.__getitem__, places.tolist())]
        self._rows = rows[self._lowest - self.table.lowest : self._highest - self.table.lowest + 1]

    @uninterrupted
    def answer(self, at: Any) -> Answer:
        """One answer, as an `Answer`: at a level or, from a graph's table, at a dataset by its name."""
        draw = random_bytes
        row: Any = None
        try:
            table, rest = self._yes_no(), self.table.bits - 64
            number = int.from_bytes(draw(8), "little")
            if table.has_margins:
                row, at = table.noise.level(at), None
                if row is None:
                    raise DuotoneError("that is neither a whole number nor an infinite level")
                place = bisect_right(self._first, number)
                if place and self._first[place - 1] == number:
                    place = bisect_right(table.noise.yes, number << rest | int.from_bytes(draw(rest // 8), "little"))
                margin = int(table.noise.clamped(row - table.noise.lowest - place))
                return Answer(margin >= 0, margin, table.privacy, self.basis, self.private, table)
            row, at = table.find(at), None
            if row is None:
                raise DuotoneError("that is neither a whole number (a level) nor a dataset of this mechanism's graph")
            (row,) = self._rows[row]
            if number == row >> rest:
                number, rest = number << rest | int.from_bytes(draw(rest // 8), "little"), 0
            return Answer(number < row >> rest, None, table.privacy, self.basis, self.private, table)
        finally:
            at = row = None  # no traceback may show them

    @uninterrupted
    def margins(self, levels: Any, within: Any = None, *, bar: bool = True) -> Array:
        """Many margins, one for each level: the estimated distances from flipping. A margin of 0 or more is a yes,
        exactly as often as in `answers`; all of it may be published (`Margin` explains it), for the same budget.

        Levels are first clipped to −j … j − 1, where j ≥ 0 is the entry of `within`; if that is 0, the level is 0 or
        −1, by a fair coin (`duotone.line.groups`). The noise is drawn before it is added to a level, in a time that
        does not depend on it.
        """
        out = cast(Array, None)
        try:
            if _TEST_STREAM.get() is not None:
                _warn()
            levels = self._levels(levels)
            within = None if within is None else self._bounds_of(levels, within)
            out = np.empty(len(levels), dtype=np.int64)
            for start in _chunks(len(levels), bar):
                part = slice(start, start + CHUNK)
                out[part] = self._margins(levels[part], None if within is None else within[part])
            return out
        finally:
            levels = within = None
            del out

    @uninterrupted
    def answers(self, at: Any, within: Any = None, *, bar: bool = True) -> Array:
        """Many answers: an array of Booleans for an array of levels or, with a graph's table, of positions in
        `graph.names`. Levels are clipped by `within` as for `margins`.

        Takes integers as numpy, Arrow, pandas or Polars arrays. Most coins are decided by their first random byte. A
        long array has a progress `bar` on a terminal: leave it out if the number of levels is private.
        """
        levels: Any = None
        try:
            if _TEST_STREAM.get() is not None:
                _warn()
            self._yes_no()
            levels, at = self._levels(at), None
            within = None if within is None else self._bounds_of(levels, within)
            out = np.empty(len(levels), dtype=np.bool_)
            buffers = _Buffers(_compiled() if len(levels) >= COMPILED else _first_bytes)
            for start in _chunks(len(levels), bar):
                part = slice(start, start + CHUNK)
                self._toss(levels[part], None if within is None else within[part], out[part], buffers)
            return out
        finally:
            at = levels = within = None

    @uninterrupted
    def outcomes(self, levels: Any, calls: int | None = None) -> list[Any]:
        """One outcome for each level, in turn; with `calls`, none after that many close calls.

        Close calls must be counted: a ledger does that, a coin does not.

        >>> from duotone import ApproxDP
        >>> from duotone.line.three_way import ThreeWay, three_way_table
        >>> coin = Coin(three_way_table(ThreeWay(ApproxDP(1), "1e-15")))
        >>> [str(outcome) for outcome in coin.outcomes([90, -90, 0])]
        ['yes', 'no', 'too close to call']
        """
        try:
            if not (calls is None or (type(calls) is int and calls >= 1)):
                raise DuotoneError(f"close calls are a whole number, at least 1, got {calls}")
            drawn, outcomes = self.places(levels), self.table.outcomes
        finally:
            levels = None
        if calls is not None and Outcome.TOO_CLOSE in outcomes:
            close = np.flatnonzero(drawn == outcomes.index(Outcome.TOO_CLOSE))
            drawn = drawn[: close[calls - 1] + 1] if len(close) >= calls else drawn
        return [outcomes[outcome] for outcome in drawn.tolist()]

    @uninterrupted
    def places(self, levels: Any) -> Array:
        """The same as an array of numbers: for each level the place of its outcome in the table's `outcomes`.

        Every place is drawn in the same time, whatever the level.
        """
        try:
            levels = self._levels(levels)
            at_once = max(1, CHUNK // max(1, len(self._words)))
            parts = [self._drawn(levels[start : start + at_once]) for start in range(0, len(levels), at_once)]
            return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        finally:
            levels = None

    @property
    def private(self) -> bool:
        """False while answers come from a test seed."""
        return _TEST_STREAM.get() is None

    def _yes_no(self) -> Table:
        if self.table.outcomes != YES_NO:
            raise DuotoneError("this table has other outcomes than yes and no: draw them by `outcomes`")
        return self.table

    def _levels(self, at: Any) -> Array:
        """Levels, or positions of datasets, as integers."""
        levels: Any = None
        try:
            levels, at = _integers(at), None
            if levels is None:
                raise DuotoneError("levels must be a one-dimensional array of whole numbers, none missing, of 64 bits at most")
            if not (self.table.graph is None or ((levels >= self._lowest) & (levels <= self._highest)).all()):
                raise DuotoneError("a position is outside the graph's datasets")
            return levels  # type: ignore[no-any-return]
        finally:
            at = levels = None

    def _bounds_of(self, levels: Any, within: Any) -> Array:
        """What levels are clipped to, a number for each."""
        try:
            within = self._levels(within)
            if not (len(within) == len(levels) and (within >= 0).all()):
                raise DuotoneError("what levels are within is a whole number for each, at least 0")
            return within  # type: ignore[no-any-return]
        finally:
            levels = within = None

    def _toss(self, levels: Any, within: Any, out: Array, buffers: _Buffers) -> None:
        """A chunk of yes or no: decided by a byte; if that equals the row's, by 64 more bits; if these do, by the
        rest."""
        where: Any = None
        try:
            stream = _TEST_STREAM.get() or Keystream(os.urandom(48))
            stream.fill(buffers, len(levels))
            if within is not None:
                levels, within = _clipped(levels, within, stream.bytes(len(levels))), None
            count = buffers.first_bytes(levels, self._lowest, self._highest, self._top, buffers.random, out, buffers.ties)
            undecided = buffers.ties[:count]
            where = np.clip(levels[undecided], self._lowest, self._highest).astype(np.int64) - self._lowest
            words = np.frombuffer(stream.bytes(8 * count), dtype=np.uint64)
            out[undecided] = words < self._next[where]
            rest = self.table.bits - 72
            for k in np.flatnonzero(words == self._next[where]).tolist():
                bits = int.from_bytes(stream.bytes(rest // 8), "little")
                out[undecided[k]] = bits < self._rows[where[k]][0] & (2**rest - 1)
        finally:
            levels = within = where = None

    def _margins(self, levels: Any, within: Any) -> Array:
        """A chunk of margins: the noise decided by 64 bits; if these equal those of one of its bounds, by all."""
        margins = cast(Any, None)
        try:
            noise, rest = self.table.noise, self.table.bits - 64
            stream = _TEST_STREAM.get() or Keystream(os.urandom(48))
            words = np.frombuffer(stream.bytes(8 * len(levels)), dtype=np.uint64)
            below = np.searchsorted(self._bounds, words, side="right")  # how many levels say no with these bits
            for i in np.flatnonzero(self._bounds[np.maximum(below, 1) - 1] == words).tolist():
                number = int(words[i]) << rest | int.from_bytes(stream.bytes(rest // 8), "little")
                below[i] = bisect_right(noise.yes, number)
            margins, levels = levels.astype(np.int64), None
            if within is not None:
                margins, within = _clipped(margins, within, stream.bytes(len(margins))), None
            if noise.cap is not None:
                np.clip(margins, -noise.cap, noise.cap - 1, out=margins)  # here, since another frame would keep the levels
            return np.asarray(noise.clamped(margins - noise.lowest - below))
        finally:
            levels = within = margins = None

    def _drawn(self, levels: Any) -> Array:
        """For each level the index of its outcome: decided by 64 bits; if these equal those of a number of the row, by
        all. One among several that are alike is then drawn evenly, whether it is needed or not."""
        where = first = drawn = cast(Any, None)
        try:
            where, levels = np.clip(levels, self._lowest, self._highest).astype(np.int64) - self._lowest, None
            stream, rest = _TEST_STREAM.get() or Keystream(os.urandom(48)), self.table.bits - 64
            words = np.frombuffer(stream.bytes(8 * len(where)), dtype=np.uint64)
            first = self._words.take(where, axis=1)
            drawn = sum(words >= own for own in first)
            for i in np.flatnonzero(sum(words == own for own in first)).tolist():
                number = int(words[i]) << rest | int.from_bytes(stream.bytes(rest // 8), "little")
                drawn[i] = sum(number >= t for t in self._rows[where[i]])
            if self.table.alike > 1:
                drawn += (drawn == len(first)) * _even(stream, len(drawn), self.table.alike)
            return drawn  # type: ignore[no-any-return]
        finally:
            levels = where = first = drawn = None

    @cached_property
    def _top(self) -> Array:
        """The first byte of each row of yes and no: 256 if yes is certain."""
        return np.array([t >> (self.table.bits - 8) for (t,) in self._rows], dtype=np.uint16)

    @cached_property
    def _next(self) -> Array:
        """The 64 bits after that byte."""
        return np.array([(t >> (self.table.bits - 72)) & (2**64 - 1) for (t,) in self._rows], dtype=np.uint64)

    @cached_property
    def _first(self) -> list[int]:
        """The first 64 bits of each level's probability of yes."""
        return [t >> (self.table.bits - 64) for t in self.table.noise.yes]

    @cached_property
    def _bounds(self) -> Array:
        """The same in an array; one less for 2^bits, so that if these are drawn all bits decide."""
        return np.array([min(t, 2**64 - 1) for t in self._first], dtype=np.uint64)

    @cached_property
    def _words(self) -> Array:
        """The first 64 bits of each number of each row; one less for 2^bits, so that if these are drawn all bits
        decide."""
        rest = self.table.bits - 64
        return np.array([[min(t >> rest, 2**64 - 1) for t in own] for own in zip(*self._rows, strict=True)], dtype=np.uint64)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Coin, basis=self.basis), (self.table,)


class _Buffers:
    """Working memory of a batch, enough for a chunk, whatever the batch; and the loop over first bytes."""

    def __init__(self, first_bytes: Callable[..., int]) -> None:
        self.first_bytes = first_bytes
        self.zeros = np.zeros(CHUNK, dtype=np.uint8)
        self.random = np.empty(CHUNK + 16, dtype=np.uint8)
        self.ties = np.empty(CHUNK, dtype=np.int64)


class Keystream:
    """AES-256 in counter mode: random bytes as fast as memory allows. Never used for more than one chunk."""

    def __init__(self, seed: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._cipher = Cipher(algorithms.AES(seed[:32]), modes.CTR(seed[32:48])).encryptor()

    def fill(self, buffers: _Buffers, n: int) -> None:
        """Write n random bytes into the buffer."""
        self._cipher.update_into(buffers.zeros[:n].data, buffers.random.data)

    def bytes(self, n: int) -> bytes:
        """The next n bytes."""
        return self._cipher.update(bytes(n))


_TEST_STREAM: ContextVar[Keystream | None] = ContextVar("duotone test seed", default=None)


def random_bytes(n: int) -> bytes:
    """Random bytes: from the operating system, or from a test's seed."""
    seed = _TEST_STREAM.get()
    return os.urandom(n) if seed is None else seed.bytes(n)


@contextlib.contextmanager
def insecure_test_seed(seed: int) -> Iterator[None]:
    """For tests only: coins inside are the same on every run and NOT PRIVATE. Answers are marked so.

    >>> from duotone import ApproxDP, balanced
    >>> with warnings.catch_warnings(action="ignore"), insecure_test_seed(7):
    ...     print(Coin(balanced(ApproxDP(1))).answer(50))
    yes (NOT PRIVATE: test seed)
    """
    _warn()
    digest = sha256(f"duotone test seed {seed}".encode()).digest()
    token = _TEST_STREAM.set(Keystream(digest + digest[:16]))
    try:
        yield
    finally:
        _TEST_STREAM.reset(token)


def _warn() -> None:
    warnings.warn("duotone: coins come from a test seed; these answers are NOT PRIVATE", NotPrivateWarning, stacklevel=4)


def _integers(at: Any) -> Array | None:
    """Levels as a numpy array of integers, without a copy if possible; None for anything else."""
    try:
        masked = np.ma.is_masked(at)
        values = np.asarray(at)
    except Exception:  # whatever it is, it must not carry the levels into a traceback
        return None
    if masked or values.ndim != 1 or not (values.dtype.kind in "iu" or values.size == 0):
        return None
    if values.dtype in (np.int32, np.int64) and values.dtype.isnative:
        return values
    if values.dtype == np.uint64 and (values > np.iinfo(np.int64).max).any():
        return None
    return values.astype(np.int64)


def _clipped(levels: Any, within: Any, coins: bytes) -> Array:
    """Levels clipped to −j … j − 1 for j `within`; for 0 it is 0 or −1, by the last bit of a random byte."""
    try:
        tossed = np.frombuffer(coins, dtype=np.uint8) & 1
        return np.where(within > 0, np.clip(levels, -within, within - 1), -tossed.astype(np.int64))
    finally:
        levels = within = None  # no traceback may show them


def _even(stream: Keystream, count: int, many: int) -> Array:
    """Whole numbers below `many`, exactly equally likely: words from the last, incomplete run of `many` are drawn again."""
    words = np.frombuffer(stream.bytes(8 * count), dtype=np.uint64)
    last = 2**64 // many * many
    while last < 2**64 and (again := np.flatnonzero(words >= last)).size:
        words = words.copy()
        words[again] = np.frombuffer(stream.bytes(8 * again.size), dtype=np.uint64)
    return (words % many).astype(np.int64)


def _chunks(total: int, bar: bool) -> Iterator[int]:
    with progress(total, "tossing coins") if bar and total >= LONG else contextlib.nullcontext() as advance:
        for start in range(0, total, CHUNK):
            yield start
            if advance is not None:
                advance(CHUNK)


def _first_bytes(levels: Array, lowest: int, highest: int, top: Array, random: Array, out: Array, ties: Array) -> int:
    """Decide each coin by its first random byte; list those where it equals the threshold's. `_kernels` compiles the same."""
    thresholds = top[np.clip(levels, lowest, highest).astype(np.int64) - lowest]
    first = random[: len(levels)]
    np.less(first, thresholds, out=out)
    undecided = np.flatnonzero(first == thresholds)
    ties[: len(undecided)] = undecided
    return len(undecided)


def _compiled() -> Callable[..., int]:
    try:
        from duotone.release._kernels import first_bytes
    except ImportError:
        return _first_bytes
    compiled: Callable[..., int] = first_bytes
    return compiled
