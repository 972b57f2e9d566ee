"""Truth tables: any yes/no function of up to 32 voters, and the level of every one of its 2^n datasets."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from duotone.errors import DuotoneError
from duotone.graphs.families import datasets_of, subset_sums, whole_weights
from duotone.line.mechanism import NEVER
from duotone.privacy.definition import Array
from duotone.privacy.numbers import Given
from duotone.resources import everywhere, must_fit, progress

if TYPE_CHECKING:
    from duotone.graphs.cuda import CudaLevels

MOST_VOTERS = 32
LOOK = 64
"""Computing one dataset alone takes about this many times as long as among all."""
PADDED = 17
"""A function of fewer voters is extended to this many, where the further voters do not count: levels stay the same."""
CHUNK = 2**18
"""Datasets per call of a Python function."""
FEWEST = 2**20
"""Datasets that are worth a thread."""
TRIP, WIDTH = 7, 9
"""Axes per pass through memory, and the bits of a row of its tiles."""


@dataclass(frozen=True, eq=False)
class TruthTable:
    """Any yes/no question about up to 32 yes/no votes, as a table of all its answers, from which it computes every
    level.

    Use it where a question has no simpler form. Make it with `from_function`, `from_weights`, `from_array` or `read`;
    `levels` then tells, for each of the 2^n possible datasets, how many votes its answer is from flipping, which a
    `Coin` needs. Neighbours differ in one vote: in the paper's words, (D, ~, f) for D = {0, 1}^n.

    A dataset is a number x below 2^n whose bit i is the vote of voter i. Five voters and their majority:

    >>> import numpy as np
    >>> majority = TruthTable.from_function(5, lambda x: np.bitwise_count(x) >= 3)
    >>> majority.levels()[[0b11111, 0b00111, 0b00001]].tolist(), majority.histogram()
    ([2, 0, -2], {-3: 1, -2: 5, -1: 10, 0: 10, 1: 5, 2: 1})
    """

    voters: int
    """n, the number of voters."""
    words: Array
    """The answers as packed bits: dataset x is bit x mod 64 of word x div 64. Fewer than 17 voters are extended to 17,
    where the further ones do not count."""

    @classmethod
    def from_function(cls, voters: int, function: Callable[[Any], Any]) -> TruthTable:
        """From a function that gives the answers of an array of datasets; it is called with pieces. A function compiled
        by numba is called with one dataset at a time."""
        words = _empty(voters)
        with progress(len(words), f"answers of {voters} voters") as advance:
            if hasattr(function, "py_func"):
                from duotone.graphs import _transform

                used = max(1, 2**voters // 64)
                everywhere(_transform.ask, used, function, words[:used], least=64, advance=advance)
                return cls(voters, _repeated(words, voters))
            packed = words.view(np.uint8)
            for start in range(0, 2**voters, CHUNK):
                stop = min(start + CHUNK, 2**voters)
                answers = np.asarray(function(np.arange(start, stop, dtype=np.uint32)))
                if answers.dtype != bool or answers.shape != (stop - start,):
                    raise DuotoneError("the function must give one Boolean for each of the datasets it is asked about")
                bits = np.packbits(answers, bitorder="little")
                packed[start // 8 : start // 8 + len(bits)] = bits
                advance((stop - start) // 64)
        return cls(voters, _repeated(words, voters))

    @classmethod
    def from_weights(cls, weights: Sequence[Given], threshold: Given) -> TruthTable:
        """Weighted votes: yes when the weights of those who vote 1 sum to at least the threshold, exactly.

        >>> TruthTable.from_weights([5, 3, 1, 1], 6).levels_of([0b1111]).tolist()
        [0]
        """
        scaled, least = whole_weights(weights, threshold)
        words = _empty(len(scaled))
        low, high = subset_sums((scaled + [0] * PADDED)[:PADDED]), subset_sums(scaled[PADDED:])
        from duotone.graphs import _transform

        with progress(len(words), f"answers of {len(scaled)} voters") as advance:
            everywhere(_transform.weigh, len(words), low, high, least, words, advance=advance)
        return cls(len(scaled), words)

    @classmethod
    def from_array(cls, answers: Any) -> TruthTable:
        """From 2^n Booleans, or from bytes of eight answers each: dataset x is bit x mod 8 of byte x div 8."""
        array = np.asarray(answers)
        if array.dtype not in (bool, np.uint8) or array.ndim != 1:
            raise DuotoneError("a truth table is an array of Booleans, or of bytes (uint8) of eight answers each")
        size = array.size * (1 if array.dtype == bool else 8)
        voters = size.bit_length() - 1
        if size != 2**voters or voters < 1:
            raise DuotoneError(f"a truth table has 2^n answers, n at least 1, got {size}")
        words = _empty(voters)
        packed = np.packbits(array, bitorder="little") if array.dtype == bool else array
        words.view(np.uint8)[: len(packed)] = packed
        return cls(voters, _repeated(words, voters))

    @classmethod
    def read(cls, path: str | Path) -> TruthTable:
        """From a file: `.npy` with Booleans or packed bytes; any other file holds packed bytes only."""
        try:
            if Path(path).suffix == ".npy":
                return cls.from_array(np.load(path, mmap_mode="r", allow_pickle=False))
            return cls.from_array(np.memmap(path, dtype=np.uint8, mode="r"))
        except OSError as error:
            raise DuotoneError(f"cannot read {path}: {error.strerror or 'it is not a NumPy file'}") from None
        except DuotoneError as error:
            raise DuotoneError(f"{path}: {error}") from None
        except (ValueError, EOFError, zipfile.BadZipFile, AttributeError):
            raise DuotoneError(f"{path} is not a NumPy file of numbers, or it is empty") from None

    def yes(self, datasets: Any) -> Array:
        """The answers of some datasets."""
        x = datasets_of(datasets, self.voters)
        bits: Array = self.words[x // 64] >> (x % 64).astype(np.uint64)
        return np.asarray(bits & np.uint64(1), dtype=bool)

    @overload
    def levels(self, *, device: Literal["cpu"] = "cpu") -> Array: ...
    @overload
    def levels(self, *, device: Literal["cuda"], last: int | None = None) -> CudaLevels: ...
    def levels(self, *, device: str = "cpu", last: int | None = None) -> Array | CudaLevels:
        """How far every dataset's answer is from flipping, a byte each: 0, 1, 2, … for a yes, −1, −2, −3, … for a no.

        That is dist(d, ∂B) for a yes and −1 − dist(d, ∂R) for a no. If no number of changes flips the answer, it is 127
        or −128. It needs almost no memory beside the result. On a GPU (`device="cuda"`) levels stay there:
        `cuda.CudaLevels` has their histogram and copies them; levels beyond `last`, if it is given, are only known to
        be beyond.

        Guarantee: exact, so neighbours' levels differ by at most 1.
        """
        if device == "cuda":
            from duotone.graphs.cuda import CudaTruthTable

            return CudaTruthTable.from_words(self.voters, self.words).levels(last=last)
        if device != "cpu":
            raise DuotoneError(f"device must be 'cpu' or 'cuda', got {device!r}")
        if last is not None:
            raise DuotoneError(f"last is for device='cuda': on a CPU every level is computed, got last={last}")
        from duotone.graphs import _transform

        voters = max(self.voters, PADDED)
        must_fit(2**voters, f"the levels of {self.voters} voters")
        distance = np.empty(2**voters, dtype=np.uint8)
        near, spread = _transform.byte_tables()
        trips = _trips(_transform.BLOCK, voters)
        with progress(2**voters * (len(trips) + 1), f"levels of {self.voters} voters") as advance:

            def each(work: Any, bits: int, *arguments: Any) -> list[Any]:
                """Run work on pieces of 2^bits datasets each, but not so small that distributing them costs more than
                they do."""
                least = max(1, FEWEST >> bits)
                pieces = 2 ** (voters - bits)
                return everywhere(work, pieces, *arguments, least=least, advance=lambda done: advance(done << bits))

            arrays = (self.words, voters, _transform.INSIDE, near, distance)
            if not any(each(_transform.lowest_axes, _transform.GROUP, *arrays)):
                return np.full(2**self.voters, 127 if self.words[0] & np.uint64(1) else -128, dtype=np.int8)
            for low, count in trips:
                each(_transform.gathered_axes, count + WIDTH, distance, low, count, WIDTH)
            everywhere(_transform.sign, 2 ** (voters - 3), distance, self.words.view(np.uint8), spread)
        return distance[: 2**self.voters].view(np.int8)

    def levels_of(self, datasets: Any) -> Array:
        """The levels of some datasets; `line.NEVER` stands for infinity.

        For few datasets, the neighbourhood of each is searched, nearest first, as long as that is less work than all
        levels.
        """
        x = datasets_of(datasets, self.voters)
        away = self._nearest_other(x.ravel())
        if away is not None:
            return np.where(self.yes(x), away.reshape(x.shape) - 1, -away.reshape(x.shape))
        some = self.levels()[x].astype(np.int64)
        return np.where(some == 127, NEVER, np.where(some == -128, -1 - NEVER, some))

    def _nearest_other(self, x: Array) -> Array | None:
        """How many voters must change for the answer to flip, at each of these datasets; None if a search would take
        longer than all levels do."""
        away, own, shell, looks = np.zeros(len(x), dtype=np.int64), self.yes(x), np.zeros(1, dtype=np.int64), 0
        for changes in range(1, self.voters + 1):
            pending = np.flatnonzero(away == 0)
            looks += len(pending) * math.comb(self.voters, changes)
            if looks > 2**self.voters // LOOK:
                return None
            shell = np.concatenate([shell[shell < 1 << bit] | 1 << bit for bit in range(self.voters)])
            for place in pending:
                if (self.yes(x[place] ^ shell) != own[place]).any():
                    away[place] = changes
            if away.all():
                break
        return away if away.all() else None

    def histogram(self) -> dict[float, int]:
        """How many datasets have each level."""
        from duotone.graphs import _transform

        levels = self.levels()
        counts = sum(everywhere(_transform.tally, len(levels), levels.view(np.uint8)))
        signed = ((byte - 256 if byte > 127 else byte, int(count)) for byte, count in enumerate(counts) if count)
        return {{127: math.inf, -128: -math.inf}.get(level, level): count for level, count in sorted(signed)}


def _empty(voters: int) -> Array:
    if not (type(voters) is int and 1 <= voters <= MOST_VOTERS):
        raise DuotoneError(f"a truth table has 1 to {MOST_VOTERS} voters, got {voters}")
    size = 2 ** max(voters, PADDED)
    must_fit(size // 8, f"the answers of {voters} voters")
    return np.zeros(size // 64, dtype=np.uint64)


def _repeated(words: Array, voters: int) -> Array:
    """The answers of few voters, repeated for further voters who do not count."""
    if voters < 6:
        answers = np.unpackbits(words[:1].view(np.uint8), bitorder="little")[: 2**voters]
        words[0] = np.packbits(np.tile(answers, 64 >> voters), bitorder="little").view(np.uint64)[0]
    used = max(1, 2**voters // 64)
    if used < len(words):
        words.reshape(-1, used)[1:] = words[:used]
    return words


def _trips(low: int, voters: int) -> list[tuple[int, int]]:
    """The axes from `low` on, split evenly into passes through memory: where each starts and how many it takes."""
    count = -(-(voters - low) // TRIP)
    ends = [low + (voters - low) * k // count for k in range(count + 1)]
    return [(a, b - a) for a, b in pairwise(ends)]
