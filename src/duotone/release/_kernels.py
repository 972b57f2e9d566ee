"""Loops that numba compiles, in a separate file so that numba is imported only when one is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = Any


@njit(cache=True, nogil=True)
def first_bytes(levels: Array, lowest: int, highest: int, top: Array, random: Array, out: Array, ties: Array) -> int:
    """Decide each coin by its first random byte; list those where it equals the threshold's."""
    low, high = levels.dtype.type(lowest), levels.dtype.type(highest)
    count = 0
    for i in range(len(levels)):
        level = levels[i]
        if level < low:
            level = low
        if level > high:
            level = high
        threshold = top[np.uint32(level - low)]
        byte = random[i]
        out[i] = byte < threshold
        if byte == threshold:
            ties[count] = i
            count += 1
    return count
