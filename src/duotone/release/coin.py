"""Release: exact coins. A coin compares random bits with an integer; no float takes part.

Bits come from the operating system, or for batches from AES in counter mode under a fresh key from it for every chunk,
so that nothing is ever shared between calls, threads or forked processes.
"""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

import numpy as np

from duotone.errors import DuotoneError
from duotone.graphs.table import GraphTable
from duotone.interrupts import uninterrupted
from duotone.line.mechanism import LineMechanism
from duotone.line.table import LineTable, line_table
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.definition import Array
from duotone.resources import progress

CHUNK = 2**18
"""Answers per key and per round of the loop: its buffers fit into the cache."""
COMPILED = 2**22
"""Answers from which on it pays to load a compiled loop, where numba is installed."""
LONG = 2**28
"""Answers from which on a progress bar appears on a terminal."""

LEVELS = "levels must be a one-dimensional array of whole numbers, none missing, of 64 bits at most"

Basis = Literal["exact distance", "safe bound"]


class NotPrivateWarning(UserWarning):
    """Answers are drawn from a test seed and must not be released."""


@dataclass(frozen=True)
class Answer:
    """A released answer: yes or no, under which privacy definition, on what basis, and the certificate of its mechanism.

    The true answer and the level are not in it.
    """

    answer: bool
    """What may be published: True for yes. `bool` of the whole is the same."""
    privacy: ApproxDP
    """The privacy that it was drawn under."""
    basis: Basis
    """Whether levels are exact distances, or safe bounds on them."""
    private: bool
    """False for an answer drawn from a test seed."""
    table: LineTable | GraphTable = field(repr=False)
    """The mechanism that it was drawn from, in integers."""

    def __bool__(self) -> bool:
        return self.answer

    def __str__(self) -> str:
        return ("yes" if self.answer else "no") + ("" if self.private else " (NOT PRIVATE: test seed)")

    def certificate(self) -> dict[str, Any]:
        """What proves the mechanism behind the answer: see `duotone check`. It is optimal for exact distances."""
        return {**self.table.certificate(), "basis": self.basis}


class Coin:
    """Draws private answers from a mechanism: give it the level of your data, and it says yes or no at random, and exactly so.

    Use it where you know how far the true answer is from flipping and `ask` does not fit. The level says that: 0, 1, 2, … if
    the answer is yes and 1, 2, 3, … people must change before it is no; −1, −2, −3, … if it is no. Every answer spends the
    mechanism's budget, which a coin does not count: `open_ledger` does.

    `mechanism` is what `balanced`, `with_boundary` or `partition_selection` gave, or a table of one in integers
    (`duotone.line.table.line_table`, `duotone.graphs.table.graph_table`). `basis` says what levels are: an "exact distance",
    with which answers are optimal, or a "safe bound" (any map under which neighbours' levels differ by at most 1), with which
    they are private and no more.

    Guarantee: Pr[yes] is exactly the table's integer over 2^bits. A probability of 0 or 1 never draws the other
    answer, and none is rounded up.

    >>> from duotone import ApproxDP, balanced
    >>> coin = Coin(balanced(ApproxDP(1, "1e-6")))
    >>> coin.answer(40).answer, coin.answer(-41).answer
    (True, False)
    >>> import numpy as np
    >>> coin.answers(np.array([40, 14, -15, -41])).tolist()
    [True, True, False, False]
    """

    def __init__(self, mechanism: LineMechanism | LineTable | GraphTable, *, basis: Basis = "exact distance") -> None:
        if basis not in ("exact distance", "safe bound"):
            raise DuotoneError(f"a basis is exact distance or safe bound, got {basis}")
        self.table = line_table(mechanism) if isinstance(mechanism, LineMechanism) else mechanism
        self.basis: Basis = basis
        bits = self.table.bits
        if not (bits >= 72 and bits % 8 == 0):
            raise DuotoneError("a coin needs a table of at least 72 bits, a whole number of bytes")
        if isinstance(self.table, LineTable):
            self._lowest, self._highest = -len(self.table.red), len(self.table.blue) - 1
            thresholds = [self.table.yes(level) for level in range(self._lowest, self._highest + 1)]
        else:
            self._lowest, self._highest = 0, len(self.table.graph) - 1
            thresholds = [self.table.yes(name) for name in self.table.graph.names]
        self._thresholds = thresholds
        self._word = [t >> (bits - 64) for t in thresholds]
        self._top = np.array([t >> (bits - 8) for t in thresholds], dtype=np.uint16)
        self._next = np.array([(t >> (bits - 72)) & (2**64 - 1) for t in thresholds], dtype=np.uint64)

    @uninterrupted
    def answer(self, at: Any) -> Answer:
        """One answer, as an `Answer`: at a level or, from a graph's table, at a dataset by its name."""
        seed = _TEST_STREAM.get()
        draw = os.urandom if seed is None else seed.bytes
        where: Any = None
        try:
            word = int.from_bytes(draw(8), "little")
            where, at = self._index(at), None
            if where is None:
                raise DuotoneError("that is neither a whole number (a level) nor a dataset of this mechanism's graph")
            yes = word < self._word[where]
            if word == self._word[where]:
                rest = self.table.bits - 64
                yes = int.from_bytes(draw(rest // 8), "little") < self._thresholds[where] & (2**rest - 1)
            return Answer(yes, self.table.privacy, self.basis, seed is None, self.table)
        finally:
            at = where = None  # no traceback may show them

    @uninterrupted
    def answers(self, at: Any, *, bar: bool = True) -> Array:
        """Many answers: an array of Booleans for an array of levels or, from a graph's table, of positions in `graph.names`.

        Takes integers as numpy, Arrow, pandas or Polars arrays. Most coins are decided by their first random byte. A long
        array has a progress `bar` on a terminal: leave it out where how many levels there are is private.
        """
        levels: Any = None
        try:
            levels, at = as_levels(at), None
            if _TEST_STREAM.get() is not None:
                _warn()
            if levels is None:
                raise DuotoneError(LEVELS)
            if isinstance(self.table, GraphTable) and not ((levels >= 0) & (levels <= self._highest)).all():
                raise DuotoneError("a position is outside the graph's datasets")
            out = np.empty(len(levels), dtype=np.bool_)
            buffers = _Buffers(_compiled() if len(levels) >= COMPILED else _first_bytes)
            for start in _chunks(len(levels), bar):
                self._toss(levels[start : start + CHUNK], out[start : start + CHUNK], buffers)
            return out
        finally:
            at = levels = None

    def _toss(self, levels: Any, out: Array, buffers: _Buffers) -> None:
        where: Any = None
        try:
            stream = _TEST_STREAM.get() or Keystream(os.urandom(48))
            stream.fill(buffers, len(levels))
            count = buffers.first_bytes(levels, self._lowest, self._highest, self._top, buffers.random, out, buffers.ties)
            undecided = buffers.ties[:count]
            where = np.clip(levels[undecided], self._lowest, self._highest).astype(np.int64) - self._lowest
            words = np.frombuffer(stream.bytes(8 * count), dtype=np.uint64)
            out[undecided] = words < self._next[where]
            rest = self.table.bits - 72
            for k in np.flatnonzero(words == self._next[where]).tolist():
                bits = int.from_bytes(stream.bytes(rest // 8), "little")
                out[undecided[k]] = bits < self._thresholds[where[k]] & (2**rest - 1)
        finally:
            levels = where = None

    @property
    def private(self) -> bool:
        """False while answers come from a test seed."""
        return _TEST_STREAM.get() is None

    def _index(self, at: Any) -> int | None:
        if isinstance(self.table, GraphTable):
            return self.table.graph.find(at)
        if isinstance(at, float) and math.isinf(at):
            return len(self._thresholds) - 1 if at > 0 else 0
        if isinstance(at, bool | np.bool_) or not isinstance(at, int | np.integer):
            return None
        return min(max(int(at), self._lowest), self._highest) - self._lowest

    def __reduce__(self) -> tuple[Any, ...]:
        return _coin, (self.table, self.basis)


def _coin(table: LineTable | GraphTable, basis: Basis) -> Coin:
    return Coin(table, basis=basis)


class _Buffers:
    """Working memory of a batch, as much as a chunk needs, whatever the batch; and the loop over its first bytes."""

    def __init__(self, first_bytes: Callable[..., int]) -> None:
        self.first_bytes = first_bytes
        self.zeros = np.zeros(CHUNK, dtype=np.uint8)
        self.random = np.empty(CHUNK + 16, dtype=np.uint8)
        self.ties = np.empty(CHUNK, dtype=np.int64)


class Keystream:
    """AES-256 in counter mode: random bytes as fast as memory takes them. Never used for more than one chunk."""

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


def seeded_stream() -> Keystream | None:
    """Where coins come from while there is a test seed."""
    return _TEST_STREAM.get()


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


def as_levels(at: Any) -> Array | None:
    """Levels as a numpy array of integers, without a copy where that is possible; None for anything else."""
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
