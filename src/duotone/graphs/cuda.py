"""Truth tables on a GPU: the level of every dataset of up to 37 voters, its histogram, and the error of a mechanism.

The kernels and their explanation are in truth_table.cu; they are compiled at first use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from duotone.errors import DuotoneError, MissingExtra
from duotone.graphs.families import datasets_of, subset_sums, whole_weights
from duotone.line.mechanism import NEVER, LineMechanism
from duotone.privacy.definition import Array, whole_number
from duotone.privacy.numbers import Given, Number
from duotone.resources import must_fit

FORMS = {4: 15, 5: 31, 6: 37}
"""Bits per distance in memory, and the largest distance that fits."""
FIRST, TILE = 13, 12
"""Tiles have 2^FIRST or 2^TILE words of 32 datasets."""
SHARED = 4 * (max(FORMS) + 1) << FIRST
"""The bytes of the largest tile, in the shared memory of a multiprocessor."""
MOST_VOTERS = 37
PADDED = 18
"""A function of fewer voters is extended to this many, where the further voters do not count: levels stay the same."""
LONGEST = 9
"""A pass over more axes takes the larger tiles."""
MIDDLE = 12
"""For this many weights, their sums stay in a multiprocessor's cache."""
PIECE = 2**23
"""Words of datasets whose levels are copied to the main memory at a time."""


def threads(bits: int, size: int) -> int:
    """Threads per block in a further pass: the fastest on an H200."""
    return 384 if size == FIRST else 192 if bits == 4 else 128


@dataclass(frozen=True, eq=False)
class CudaTruthTable:
    """A truth table whose answers are in the memory of a GPU: of up to 37 voters, for `levels`."""

    voters: int
    words: Any
    """The answers as packed bits, in an array of CuPy: dataset x is bit x mod 32 of word x div 32. Fewer than 18 voters
    are extended to 18, where the further ones do not count."""

    def __post_init__(self) -> None:
        if not (type(self.voters) is int and 1 <= self.voters <= MOST_VOTERS):
            raise DuotoneError(f"a truth table on a GPU has 1 to {MOST_VOTERS} voters, got {self.voters}")
        size = 2 ** (max(self.voters, PADDED) - 5)
        if not (getattr(self.words, "dtype", None) == np.uint32 and self.words.shape == (size,)):
            raise DuotoneError(f"the answers of {self.voters} voters are {size} words of 32 bits (uint32)")

    @classmethod
    def from_weights(cls, weights: Sequence[Given], threshold: Given) -> CudaTruthTable:
        """Weighted votes: yes when the weights of those who vote 1 sum to at least the threshold, exactly."""
        scaled, least = whole_weights(weights, threshold)
        voters, padded = len(scaled), scaled + [0] * (PADDED - len(scaled))
        if not 1 <= voters <= MOST_VOTERS:
            raise DuotoneError(f"a truth table on a GPU has 1 to {MOST_VOTERS} voters, got {voters}")
        low, middle, high = (subset_sums(part) for part in (padded[:5], padded[5 : 5 + MIDDLE], padded[5 + MIDDLE :]))
        order = np.argsort(low)
        chosen = np.array([sum(1 << int(dataset) for dataset in order[start:]) for start in range(33)], dtype=np.uint32)
        words = memory(2 ** (len(padded) - 5), f"the answers of {voters} voters")
        low, chosen, middle, high = (cupy().asarray(part) for part in (low[order], chosen, middle, high))
        sums = (low, chosen, middle, np.int32(MIDDLE), high)
        _for_each("weigh", len(words), (*sums, np.int64(least), np.uint64(len(words)), words))
        return cls(voters, words)

    @classmethod
    def from_words(cls, voters: int, words: Array) -> CudaTruthTable:
        """A copy of `TruthTable.words`."""
        if not words.dtype == np.uint64:
            raise DuotoneError(f"the answers of a truth table are words of 64 bits (uint64), got {words.dtype}")
        repeated = max(1, 2 ** (PADDED - 6) // len(words))
        copy = memory(2 * len(words) * repeated, f"the answers of {voters} voters")
        copy.set(np.tile(words, repeated).view(np.uint32) if repeated > 1 else words.view(np.uint32))
        return cls(voters, copy)

    def levels(self, *, last: int | None = None) -> CudaLevels:
        """How far every dataset's answer is from flipping.

        Guarantee: exact, so neighbours' levels differ by at most 1. With `last`, a level beyond it, or beyond −1 −
        last, is only known to be beyond. 14 is enough for `balanced` at ε ≥ 1, δ = 10^−6, and takes 5 bits a dataset;
        another mechanism needs max(mechanism.certain) − 1.
        """
        if last is not None:
            last = whole_number(last, "last")
            if not last >= 0:
                raise DuotoneError(f"last must be a whole number from 0 on, got {last}")
            bits = next((bits for bits, most in FORMS.items() if last < most), 6)
            return CudaLevels(self.voters, self._transformed(bits), last)
        for bits in (4, 5):
            levels = CudaLevels(self.voters, self._transformed(bits), last)
            if FORMS[bits] >= self.voters or not levels._cut():
                return levels
            del levels  # the next one takes its place in memory
        return CudaLevels(self.voters, self._transformed(6), last)

    def _transformed(self, bits: int) -> Any:
        voters = max(self.voters, PADDED)
        planes = memory((bits + 1) * 2 ** (voters - 5), f"the levels of {self.voters} voters")
        tiles = {size: 2 ** (voters - 5 - size) for size in (TILE, FIRST)}
        word = 4 * (bits + 1)  # bytes of shared memory per word of a tile
        launch(f"first_trip<{bits}>", tiles[FIRST], 256, (self.words, planes), word << FIRST)
        for high, count in trips(voters - 5):
            size = TILE if count <= LONGEST else FIRST
            arguments = (planes, np.int32(high), np.int32(count))
            launch(f"further_trip<{bits}, {size}>", tiles[size], threads(bits, size), arguments, word << size)
        return planes


@dataclass(frozen=True, eq=False)
class CudaLevels:
    """The level of every dataset of a truth table, in the memory of a GPU. `CudaTruthTable.levels` makes it."""

    voters: int
    planes: Any
    """Colour and distance by bits: eight words of 32 datasets, one after the other."""
    last: int | None
    """The last level that was computed, or None if all were."""

    @property
    def bits(self) -> int:
        """The bits of a distance."""
        return int(len(self.planes) >> (max(self.voters, PADDED) - 5)) - 1

    @property
    def furthest(self) -> int:
        """The largest distance that is known exactly."""
        most = FORMS[self.bits]
        return most if self.last is None else min(self.last + 1, most)

    def histogram(self) -> dict[float, int]:
        """How many datasets have each level; ±inf where nothing flips the answer, or it is beyond `last`."""
        within, blue = self._counts()
        most = self.furthest
        counts: dict[float, int] = {math.inf: blue[0] - blue[most], -math.inf: within[0] - within[most] - blue[0] + blue[most]}
        within[0] = blue[0] = 0  # no distance is 0
        for distance in range(1, most + 1):
            yes = blue[distance] - blue[distance - 1]
            counts[distance - 1], counts[-distance] = yes, within[distance] - within[distance - 1] - yes
        return {level: count for level, count in sorted(counts.items()) if count}

    def error(self, mechanism: LineMechanism) -> Number:
        """How often a mechanism is wrong, on average over all datasets."""
        enough = max(mechanism.certain) - 1
        if self.last is not None and self.last < enough and self._cut():
            advice = f" or give last={enough:g}" if math.isfinite(enough) else ""
            raise DuotoneError(f"the mechanism errs beyond last={self.last}: leave last out{advice}")
        return mechanism.mean_error(self.histogram())

    def of(self, datasets: Any) -> Array:
        """The levels of some datasets; `line.NEVER` stands for infinity, and for a level beyond `last`."""
        x = datasets_of(datasets, self.voters)
        places, seen = (memory(x.size, f"{x.size} datasets", kind) for kind in (np.uint64, np.uint8))
        places.set(x.ravel().astype(np.uint64))
        _for_each(f"look<{self.bits}>", x.size, (self.planes, places, np.uint64(x.size), seen))
        codes = cupy().asnumpy(seen).astype(np.int64).reshape(x.shape)
        distance = codes & 63
        far = (distance == 0) | (distance > self.furthest)
        return np.where(codes >> 6 == 1, np.where(far, NEVER, distance - 1), np.where(far, -1 - NEVER, -distance))

    def numpy(self) -> Array:
        """Every level in the main memory, a byte each, as in `TruthTable.levels`; 127 and −128 also stand for levels
        beyond `last`."""
        must_fit(2**self.voters + 32 * PIECE, f"the levels of {self.voters} voters")
        levels, words = np.empty(2**self.voters, dtype=np.int8), 2 ** max(0, self.voters - 5)
        piece = memory(min(PIECE, words) * 32, "a piece of the levels", np.int8)
        for start in range(0, words, PIECE):
            count = min(PIECE, words - start)
            _for_each(f"spread<{self.bits}>", count, (self.planes, np.uint64(start), np.uint64(count), piece))
            part = levels[start * 32 : (start + count) * 32]
            part[:] = cupy().asnumpy(piece)[: len(part)]
            part[part >= self.furthest] = 127
            part[part < -self.furthest] = -128
        return levels

    def _cut(self) -> bool:
        """Whether some dataset's answer can be flipped, but only by more votes than are stored."""
        within, blue = self._counts()
        return within[self.furthest] < within[0] and blue[0] not in (0, within[0])

    def _counts(self) -> tuple[list[int], list[int]]:
        """For each k, how many datasets have distance at most k, and how many of these are a yes; for 0, all
        datasets."""
        counts = cupy().zeros((2, FORMS[self.bits] + 1), dtype=np.uint64)
        words = 2 ** (max(self.voters, PADDED) - 5)
        _for_each(f"tally<{self.bits}>", words, (self.planes, np.uint64(words), counts))
        repeated = 2 ** max(0, PADDED - self.voters)
        within, blue = (cupy().asnumpy(counts) // np.uint64(repeated)).tolist()
        return within, blue


def trips(word_bits: int) -> list[tuple[int, int]]:
    """The axes beyond the first pass, in as few passes as possible: where each starts, in bits of a word's number, and
    how many axes it takes.

    >>> trips(13), trips(31), trips(32)
    ([], [(13, 9), (22, 9)], [(13, 9), (22, 10)])
    """
    left = word_bits - FIRST
    count = -(-left // (LONGEST + 1))
    ends = [FIRST + left * k // count for k in range(count + 1)] if left else []
    return [(start, stop - start) for start, stop in pairwise(ends)]


def cupy() -> Any:
    """CuPy, if it is installed and there is a GPU that is large enough."""
    try:
        import cupy as library
    except ModuleNotFoundError:
        raise MissingExtra("a truth table on a GPU", "gpu") from None
    except ImportError as error:
        raise DuotoneError(f"CuPy is installed but cannot be used: {str(error).splitlines()[0]}") from None
    try:
        devices = library.cuda.runtime.getDeviceCount()
    except library.cuda.runtime.CUDARuntimeError:
        devices = 0
    if not devices:
        raise DuotoneError("there is no GPU here that CUDA can use: leave device='cuda' out")
    shared = library.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    if not shared >= SHARED:
        raise DuotoneError(
            f"this GPU has {shared / 2**10:.0f} KiB of shared memory for a block, and {SHARED / 2**10:.0f} KiB are needed: "
            "an H100, H200 or larger has them"
        )
    return library


def memory(size: int, what: str, kind: Any = np.uint32) -> Any:
    """An array on the GPU, or an error in one sentence if it does not fit."""
    library, need = cupy(), size * np.dtype(kind).itemsize
    try:
        return library.empty(size, dtype=kind)
    except library.cuda.memory.OutOfMemoryError:
        free = library.cuda.Device().mem_info[0] + library.get_default_memory_pool().free_bytes()
        raise DuotoneError(
            f"{what} need {need / 2**30:.1f} GiB of the GPU's memory, more than the {free / 2**30:.1f} GiB that are free"
        ) from None


@lru_cache(maxsize=1)
def _module() -> Any:
    code = Path(__file__).with_name("truth_table.cu").read_text(encoding="utf-8")
    names = ["weigh"]
    for bits in FORMS:
        names += [f"{name}<{bits}>" for name in ("first_trip", "tally", "look", "spread")]
        names += [f"further_trip<{bits}, {size}>" for size in (TILE, FIRST)]
    return cupy().RawModule(code=code, options=("-std=c++17",), name_expressions=names)


def launch(name: str, blocks: int, threads: int, arguments: tuple[Any, ...], shared: int = 0) -> None:
    """Run a kernel, with this much shared memory per block, in bytes."""
    kernel = _module().get_function(name)
    if shared:
        kernel.max_dynamic_shared_size_bytes = shared
    kernel((blocks,), (threads,), arguments, shared_mem=shared)


def _for_each(name: str, items: int, arguments: tuple[Any, ...]) -> None:
    """Run a kernel over items, of which there may be none."""
    if items:
        launch(name, min(2048, -(-items // 256)), 256, arguments)
