"""Truth tables on a GPU: the level of every dataset of up to 37 voters, its histogram, and the error of a mechanism.

The kernels are in truth_table.cu, with how they work; CuPy compiles them when they are first used.
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
from duotone.graphs.votes import datasets_of, mean_error, whole_weights
from duotone.line.mechanism import NEVER, LineMechanism
from duotone.privacy.definition import Array
from duotone.privacy.numbers import Given, Number
from duotone.resources import must_fit

MOST_VOTERS = 37
PADDED = 18
"""A function of fewer voters is one of so many, where the others do not count: levels stay the same."""
FORMS = {4: 15, 5: 31, 6: 37}
"""The bits in memory of a distance, and the largest that they hold."""
FIRST, TILE = 13, 12
"""The first trip, and one of more than LONGEST axes, take tiles of 2^FIRST words of 32 datasets; others of 2^TILE."""
LONGEST = 9
FIRST_THREADS, FURTHER_THREADS = (
    256,
    {(4, TILE): 192, (5, TILE): 128, (6, TILE): 128, (4, FIRST): 384, (5, FIRST): 384, (6, FIRST): 384},
)
"""What was fastest on an H200, by the bits of a distance and the size of a tile."""
MIDDLE = 12
"""The weights whose sums stay in a multiprocessor's cache."""
PIECE = 2**23
"""Words of datasets whose levels are copied to the main memory at a time."""


@dataclass(frozen=True, eq=False)
class CudaTruthTable:
    """A truth table whose answers are in the memory of a GPU: of up to 37 voters, for `levels`."""

    voters: int
    words: Any
    """The answers as packed bits: that of dataset x is bit x mod 32 of word x div 32. Of fewer than 18 voters it is that of 18,
    where the others do not count."""

    @classmethod
    def from_weights(cls, weights: Sequence[Given], threshold: Given) -> CudaTruthTable:
        """Weighted votes: yes when the weights of those who vote 1 sum to at least the threshold, exactly."""
        scaled, least = whole_weights(weights, threshold)
        voters, padded = _checked(len(scaled)), scaled + [0] * (PADDED - len(scaled))
        low, middle, high = (_sums(part) for part in (padded[:5], padded[5 : 5 + MIDDLE], padded[5 + MIDDLE :]))
        order = np.argsort(low)
        chosen = [sum(1 << int(dataset) for dataset in order[start:]) for start in range(33)]
        cupy = _cupy()
        words = _memory(2 ** (len(padded) - 5), f"the answers of {voters} voters")
        sums = [cupy.asarray(part) for part in (low[order], np.array(chosen, dtype=np.uint32), middle, high)]
        scalars = (np.int32(MIDDLE), sums[3], np.int64(least), np.uint64(len(words)), words)
        _everywhere("weigh", len(words), (*sums[:3], *scalars))
        return cls(voters, words)

    @classmethod
    def from_words(cls, voters: int, words: Array) -> CudaTruthTable:
        """A copy of `TruthTable.words`."""
        copy = _cupy().asarray(words.view(np.uint32))
        return cls(voters, _cupy().tile(copy, max(1, 2 ** (PADDED - 5) // len(copy))))

    def levels(self, *, last: int | None = None) -> CudaLevels:
        """How far every dataset's answer is from flipping.

        Guarantee: exact, so neighbours' levels differ by at most 1. With `last`, levels beyond it and beyond −1 − last
        are one: 14 is enough for whatever is released at ε ≥ 1, δ = 10^−6, and takes 5 bits a dataset.
        """
        if not (last is None or (type(last) is int and last >= 0)):
            raise DuotoneError(f"last must be a whole number from 0 on, got {last}")
        if last is None:
            for bits in (4, 5):
                levels = CudaLevels(self.voters, self._transformed(bits), last)
                if FORMS[bits] >= self.voters or levels.complete:
                    return levels
                del levels  # the next one takes its place in memory
            bits = 6
        else:
            bits = next((bits for bits, most in FORMS.items() if last < most), 6)
        return CudaLevels(self.voters, self._transformed(bits), last)

    def _transformed(self, bits: int) -> Any:
        voters = max(self.voters, PADDED)
        planes = _memory((bits + 1) * 2 ** (voters - 5), f"the levels of {self.voters} voters")
        tiles = {size: 2 ** (voters - 5 - size) for size in (TILE, FIRST)}
        word = 4 * (bits + 1)  # bytes of shared memory for a word of a tile
        _launch(f"first_trip<{bits}>", tiles[FIRST], FIRST_THREADS, (self.words, planes), word << FIRST)
        for high, count in trips(voters - 5):
            size = TILE if count <= LONGEST else FIRST
            arguments = (planes, np.int32(high), np.int32(count))
            _launch(f"further_trip<{bits}, {size}>", tiles[size], FURTHER_THREADS[bits, size], arguments, word << size)
        return planes


@dataclass(frozen=True, eq=False)
class CudaLevels:
    """The level of every dataset of a truth table, in the memory of a GPU."""

    voters: int
    planes: Any
    """Colour and distance by bits, eight words of 32 datasets each after the other."""
    last: int | None
    """The last level; all beyond it are one. None where every level is there."""

    @property
    def bits(self) -> int:
        """The bits of a distance."""
        return int(len(self.planes) >> (max(self.voters, PADDED) - 5)) - 1

    @property
    def complete(self) -> bool:
        """Whether every dataset has its level, or no answer can be flipped."""
        within, blue = self._counts()
        return bool(within[-1] == within[0] or blue[0] in (0, within[0]))

    def histogram(self) -> dict[float, int]:
        """How many datasets have each level; ±inf where nothing flips the answer, or it is beyond `last`."""
        within, blue = self._counts()
        most = len(within) - 1 if self.last is None else min(self.last + 1, len(within) - 1)
        counts: dict[float, int] = {math.inf: blue[0] - blue[most], -math.inf: within[0] - within[most] - blue[0] + blue[most]}
        for distance in range(1, most + 1):
            before = distance - 1
            yes = blue[distance] - (blue[before] if before else 0)
            counts[distance - 1] = yes
            counts[-distance] = within[distance] - (within[before] if before else 0) - yes
        return {level: count for level, count in sorted(counts.items()) if count}

    def error(self, mechanism: LineMechanism) -> Number:
        """How often a mechanism is wrong, on average over all datasets."""
        if self.last is not None and max(mechanism.certain) > self.last + 1:
            raise DuotoneError(
                f"the mechanism errs beyond level {self.last}, the last one that was computed: ask for more levels"
            )
        return mean_error(self.histogram(), mechanism)

    def of(self, datasets: Any) -> Array:
        """The levels of some datasets; `line.NEVER` stands for infinity, and for what is beyond `last`."""
        x = datasets_of(datasets, self.voters)
        places = _cupy().asarray(x.ravel().astype(np.uint64))
        seen = _memory(len(places), "the levels of so many datasets", np.uint8)
        _everywhere(f"look<{self.bits}>", len(places), (self.planes, places, np.uint64(len(places)), seen))
        bytes_ = _cupy().asnumpy(seen).astype(np.int64).reshape(x.shape)
        distance = bytes_ & 63
        far = (distance == 0) | (distance > NEVER if self.last is None else distance > self.last + 1)
        return np.where(bytes_ >> 6 == 1, np.where(far, NEVER, distance - 1), np.where(far, -1 - NEVER, -distance))

    def numpy(self) -> Array:
        """Every level in the main memory, a byte each, as `TruthTable.levels` has them; beyond `last` 127 and −128."""
        must_fit(2**self.voters, f"the levels of {self.voters} voters")
        levels, words = np.empty(2**self.voters, dtype=np.int8), 2 ** max(0, self.voters - 5)
        piece = _memory(min(PIECE, words) * 32, "a piece of the levels", np.int8)
        for start in range(0, words, PIECE):
            count = min(PIECE, words - start)
            _everywhere(f"spread<{self.bits}>", count, (self.planes, np.uint64(start), np.uint64(count), piece))
            part = levels[start * 32 : (start + count) * 32]
            part[:] = _cupy().asnumpy(piece)[: len(part)]
        if self.last is not None:
            levels[levels > self.last] = 127
            levels[levels < -1 - self.last] = -128
        return levels

    def _counts(self) -> tuple[list[int], list[int]]:
        """How many datasets have distance at most k, by k, and how many of these are a yes; at 0 all datasets."""
        cupy = _cupy()
        counts = cupy.zeros((2, FORMS[self.bits] + 1), dtype=np.uint64)
        words = 2 ** (max(self.voters, PADDED) - 5)
        _everywhere(f"tally<{self.bits}>", words, (self.planes, np.uint64(words), counts))
        repeated = 2 ** max(0, PADDED - self.voters)
        within, blue = (cupy.asnumpy(counts) // np.uint64(repeated)).tolist()
        return within, blue


def trips(word_bits: int) -> list[tuple[int, int]]:
    """The axes beyond the first trip, in as few trips as can be: where each starts, in bits of a word's number, and how many
    it takes.

    >>> trips(13), trips(31), trips(32)
    ([], [(13, 9), (22, 9)], [(13, 9), (22, 10)])
    """
    left = word_bits - FIRST
    count = -(-left // (LONGEST + 1)) if left else 0
    ends = [FIRST + left * k // count for k in range(count + 1)] if count else []
    return [(start, stop - start) for start, stop in pairwise(ends)]


def _sums(weights: list[int]) -> Array:
    sums = np.zeros(1, dtype=np.int64)
    for weight in weights:
        sums = np.concatenate([sums, sums + weight])
    return sums


def _checked(voters: int) -> int:
    if not 1 <= voters <= MOST_VOTERS:
        raise DuotoneError(f"a truth table on a GPU has 1 to {MOST_VOTERS} voters, got {voters}")
    return voters


def _cupy() -> Any:
    try:
        import cupy
    except ImportError:
        raise MissingExtra("a truth table on a GPU", "gpu") from None
    try:
        devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        devices = 0
    if not devices:
        raise DuotoneError("there is no GPU that CUDA can use here; device 'cpu' needs none")
    return cupy


def _memory(size: int, what: str, kind: Any = np.uint32) -> Any:
    cupy = _cupy()
    need, free = size * np.dtype(kind).itemsize, cupy.cuda.Device().mem_info[0] + cupy.get_default_memory_pool().free_bytes()
    if not need <= free:
        raise DuotoneError(
            f"{what} need {need / 2**30:.1f} GiB of the GPU's memory, more than the {free / 2**30:.1f} GiB that are free"
        )
    return cupy.empty(size, dtype=kind)


@lru_cache(maxsize=1)
def _module() -> Any:
    code = Path(__file__).with_name("truth_table.cu").read_text(encoding="utf-8")
    names = ["weigh"]
    for bits in FORMS:
        names += [f"{name}<{bits}>" for name in ("first_trip", "tally", "look", "spread")]
        names += [f"further_trip<{bits}, {size}>" for size in (TILE, FIRST)]
    return _cupy().RawModule(code=code, options=("-std=c++17",), name_expressions=names)


def _launch(name: str, blocks: int, threads: int, arguments: tuple[Any, ...], shared: int = 0) -> None:
    """A kernel, with so many bytes of a multiprocessor's shared memory for each block."""
    kernel = _module().get_function(name)
    if shared:
        kernel.max_dynamic_shared_size_bytes = shared
    kernel((blocks,), (threads,), arguments, shared_mem=shared)


def _everywhere(name: str, items: int, arguments: tuple[Any, ...]) -> None:
    """A kernel that looks at one item after the other."""
    _launch(name, min(2048, -(-items // 256)), 256, arguments)
