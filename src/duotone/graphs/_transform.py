"""Distance transforms of truth tables, and of boxes of counts under replace, compiled by numba.

A truth table is a product, so one pass per axis is exact: d[x] = min(d[x], d[neighbour along the axis] + 1), axis after
axis. A word holds 64 datasets; dataset x is bit x mod 64 of word x div 64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from duotone.errors import MissingExtra

try:
    from numba import njit
except ImportError:
    raise MissingExtra("a truth table or a box of counts", "fast") from None

Array = Any
BLOCK = 14
"""2^BLOCK datasets, a byte each, are transformed within the innermost cache."""
GROUP = 17
"""The boundary of 2^GROUP datasets (a bit each) is computed together: long enough runs of every second one to be
prefetched."""
LOW, SIDE = 3, 6
"""Bits per lookup in the 256-entry table, and bits that number a block's rows."""
FAR = np.uint8(100)
"""Larger than any distance, and still a byte after 32 additions."""
INSIDE = np.array(
    [0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF, 0x00000000FFFFFFFF],
    dtype=np.uint64,
)
"""In each word, the datasets whose bit along each of its six axes is 0."""


def byte_tables() -> tuple[Array, Array]:
    """For each boundary pattern of 8 neighbouring datasets (a byte): their distances to it, a byte each. And the bits
    of a byte, spread over bytes."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(bool)
    distance = np.where(bits, np.uint8(0), FAR)
    for axis in range(LOW):
        other = distance[:, np.arange(8) ^ (1 << axis)]
        distance = np.minimum(distance, other + np.uint8(1))
    spread = np.where(bits, 0, 0xFF).astype(np.uint8)
    return distance.view(np.uint64).ravel(), spread.view(np.uint64).ravel()


@njit(cache=True, nogil=True)
def _one_axis(x: Array, y: Array) -> None:
    """One axis over two rows: each value is at most one more than the other."""
    one = np.uint8(1)
    for j in range(len(x)):
        a, b = x[j], y[j]
        x[j], y[j] = min(a, np.uint8(b + one)), min(b, np.uint8(a + one))


@njit(cache=True, nogil=True)
def _two_axes(x: Array, y: Array, z: Array, w: Array) -> None:
    """Two axes over four rows in one pass."""
    one = np.uint8(1)
    for j in range(len(x)):
        a, b, c, d = x[j], y[j], z[j], w[j]
        p, q = min(a, np.uint8(b + one)), min(b, np.uint8(a + one))
        r, s = min(c, np.uint8(d + one)), min(d, np.uint8(c + one))
        x[j], z[j] = min(p, np.uint8(r + one)), min(r, np.uint8(p + one))
        y[j], w[j] = min(q, np.uint8(s + one)), min(s, np.uint8(q + one))


@njit(cache=True, nogil=True)
def _axes(d: Array, low: int, high: int) -> None:
    """Every axis from `low` to `high` of a table of 2^high bytes, two at a time; rows are slices so that they vectorise."""
    axis = low
    if (high - low) % 2:
        step = 1 << axis
        for base in range(0, 1 << high, 2 * step):
            _one_axis(d[base : base + step], d[base + step : base + 2 * step])
        axis += 1
    while axis < high:
        step = 1 << axis
        for r in range(0, 1 << high, 4 * step):
            s, t, u = r + step, r + 2 * step, r + 3 * step
            _two_axes(d[r:s], d[s:t], d[t:u], d[u : u + step])
        axis += 2


@njit(cache=True, nogil=True)
def _copy(to: Array, source: Array) -> None:
    for j in range(len(to)):
        to[j] = source[j]


@njit(cache=True, nogil=True)
def _differ(edge: Array, here: Array, there: Array) -> None:
    """Mark the datasets whose answer differs there."""
    for w in range(len(edge)):
        edge[w] |= here[w] ^ there[w]


@njit(cache=True, nogil=True)
def _boundary(words: Array, voters: int, inside: Array, base: int, edge: Array) -> None:
    """Definition 5 on packed bits: the datasets of one group that have a neighbour with another answer."""
    size = len(edge)
    own = words[base : base + size]
    for w in range(np.uint64(size)):  # unsigned, so that an index never counts from the end
        f, e = own[w], np.uint64(0)
        for axis in range(6):
            shift = np.uint64(1 << axis)
            half = (f ^ (f >> shift)) & inside[axis]
            e |= half | (half << shift)
        for axis in range(GROUP - 6):
            e |= f ^ own[w ^ (np.uint64(1) << np.uint64(axis))]
        edge[w] = e
    for axis in range(GROUP - 6, voters - 6):
        other = base ^ (1 << axis)
        _differ(edge, own, words[other : other + size])


@njit(cache=True, nogil=True)
def lowest_axes(words: Array, voters: int, inside: Array, table: Array, out: Array, start: int, stop: int) -> bool:
    """The boundary of groups start … stop, on packed bits; then distances along the lowest axes. Returns whether there
    is a boundary."""
    runs, rows = np.uint64(1 << (BLOCK - LOW - SIDE)), np.uint64(1 << SIDE)
    turned = np.empty(runs * rows, dtype=np.uint64)
    tile = turned.view(np.uint8)
    edge = np.empty(1 << (GROUP - 6), dtype=np.uint64)
    any_edge = np.uint64(0)
    for group in range(start, stop):
        _boundary(words, voters, inside, group << (GROUP - 6), edge)
        for w in range(len(edge)):
            any_edge |= edge[w]
        for block in range(1 << (GROUP - BLOCK)):
            packed = edge[block << (BLOCK - 6) : (block + 1) << (BLOCK - 6)].view(np.uint8)
            own = out[(group << GROUP) + (block << BLOCK) : (group << GROUP) + ((block + 1) << BLOCK)]
            eights = own.view(np.uint64)
            for k in range(runs):  # transposed, the axes just above the table's have long rows too
                for row in range(rows):
                    turned[k * rows + row] = table[packed[row * runs + k]]
            _axes(tile, LOW + SIDE, BLOCK)
            for octet in range(rows >> np.uint64(3)):  # a cache line at a time
                for k in range(runs):
                    for r in range(np.uint64(8)):
                        at = octet * np.uint64(8) + r
                        eights[at * runs + k] = turned[k * rows + at]
            _axes(own, BLOCK - SIDE, BLOCK)
    return bool(any_edge != 0)


@njit(cache=True, nogil=True)
def gathered_axes(out: Array, low: int, count: int, width: int, start: int, stop: int) -> None:
    """Axes low … low + count − 1: gather rows of 2^width bytes into a tile, transform it, and put it back.

    Tiles are numbered by the bits of a dataset below `low` and above `low + count`, in steps of a row.
    """
    rows, size = 1 << count, 1 << (width - 3)
    eights = out.view(np.uint64)
    tile = np.empty(rows * size, dtype=np.uint64)
    inner = 1 << (low - width)
    for number in range(start, stop):
        base = (((number // inner) << (low + count)) + ((number % inner) << width)) >> 3
        for r in range(rows):
            here = base + (r << (low - 3))
            _copy(tile[r * size : (r + 1) * size], eights[here : here + size])
        _axes(tile.view(np.uint8), width, width + count)
        for r in range(rows):
            here = base + (r << (low - 3))
            _copy(eights[here : here + size], tile[r * size : (r + 1) * size])


@njit(cache=True, nogil=True)
def sign(out: Array, packed: Array, spread: Array, start: int, stop: int) -> None:
    """Distances to levels, eight at a time: d stays for a yes and becomes −1 − d for a no."""
    eights = out.view(np.uint64)
    for k in range(start, stop):
        eights[k] ^= spread[packed[k]]


@njit(cache=True, nogil=True)
def tally(levels: Array, start: int, stop: int) -> Array:
    """How many datasets have each level, indexed by the level's byte."""
    counts = np.zeros(256, dtype=np.int64)
    for i in range(start, stop):
        counts[levels[i]] += 1
    return counts


@njit(cache=True, nogil=True)
def weigh(low: Array, high: Array, threshold: int, words: Array, start: int, stop: int) -> None:
    """The answers of a weighted rule: the weight sums of the lower and of the higher votes, from tables, against a
    threshold."""
    per = len(low) // 64
    for w in range(start, stop):
        rest = high[w // per] - threshold
        sums = low[(w % per) * 64 : (w % per) * 64 + 64]
        bits = np.uint64(0)
        for b in range(64):
            bits |= np.uint64(sums[b] + rest >= 0) << np.uint64(b)
        words[w] = bits


@njit(nogil=True)
def ask(function: Any, words: Array, start: int, stop: int) -> None:
    """The answers of a compiled function, dataset by dataset."""
    for w in range(start, stop):
        bits = np.uint64(0)
        for b in range(64):
            if function(64 * w + b):
                bits |= np.uint64(1) << np.uint64(b)
        words[w] = bits


@njit(cache=True, nogil=True)
def _counts(x: int, shape: Array, strides: Array, counts: Array) -> None:
    """The people in each category of histogram x."""
    for axis in range(len(shape)):
        counts[axis] = x // strides[axis] % shape[axis]


@njit(cache=True, nogil=True)
def _on_boundary(yes: Array, x: int, counts: Array, shape: Array, strides: Array) -> bool:
    """Definition 5. Whether one person's move from histogram x to another category flips the answer."""
    for i in range(len(shape)):
        if counts[i] > 0:
            for j in range(len(shape)):
                if counts[j] < shape[j] - 1 and i != j and yes[x - strides[i] + strides[j]] != yes[x]:
                    return True
    return False


@njit(cache=True, nogil=True)
def moves(yes: Array, shape: Array, strides: Array, distance: Array) -> None:
    """Replace: from each histogram one person may move to another category. Breadth first from both boundaries; −1
    where neither is reachable."""
    k, size = len(shape), len(yes)
    queue = np.empty(size, dtype=np.int64)
    counts = np.empty(k, dtype=np.int64)
    tail = 0
    for x in range(size):
        _counts(x, shape, strides, counts)
        distance[x] = -1
        if _on_boundary(yes, x, counts, shape, strides):
            distance[x] = 0
            queue[tail] = x
            tail += 1
    head = 0
    while head < tail:
        x = queue[head]
        head += 1
        _counts(x, shape, strides, counts)
        for i in range(k):
            if counts[i] > 0:
                for j in range(k):
                    y = x - strides[i] + strides[j]
                    if counts[j] < shape[j] - 1 and i != j and distance[y] < 0:
                        distance[y] = distance[x] + 1
                        queue[tail] = y
                        tail += 1
