"""Loops over the edges of a coloured graph, compiled by numba and imported only for large graphs.

The neighbours of node i are `indices[indptr[i]:indptr[i + 1]]`. A kernel with `start` and `stop` processes that range
of nodes, so that each core takes one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from duotone.errors import MissingExtra

try:
    from numba import njit
except ImportError:
    raise MissingExtra("a graph of this size", "fast") from None

Array = Any
SHORT = 24
"""Rows up to this length are sorted by insertion."""


@njit(cache=True, nogil=True)
def count(first: Array, second: Array, degree: Array) -> int:
    """The degree of each node; and the position of the first edge that names no node or joins a node to itself, or the
    number of edges."""
    n = len(degree)
    for e in range(len(first)):
        a, b = first[e], second[e]
        if not (0 <= a < n and 0 <= b < n) or a == b:
            return e
        degree[a] += 1
        degree[b] += 1
    return len(first)


@njit(cache=True, nogil=True)
def row_ends(degree: Array, indptr: Array) -> None:
    """Where each row ends, shifted by one: `indptr[i + 1]` is the end of row i."""
    total = 0
    for i in range(len(degree)):
        total += degree[i]
        indptr[i + 1] = total


@njit(cache=True, nogil=True)
def place(first: Array, second: Array, indptr: Array, indices: Array) -> None:
    """Write each edge into both rows, from their ends backwards: `indptr[i + 1]` moves to the start of row i."""
    for e in range(len(first)):
        a, b = first[e], second[e]
        indptr[a + 1] -= 1
        indices[indptr[a + 1]] = b
        indptr[b + 1] -= 1
        indices[indptr[b + 1]] = a


@njit(cache=True, nogil=True)
def sort_rows(indptr: Array, indices: Array, start: int, stop: int) -> int:
    """Sort each row; returns how many entries are duplicates."""
    twice = 0
    for i in range(start, stop):
        low, high = indptr[i], indptr[i + 1]
        if high - low > SHORT:
            indices[low:high].sort()
        else:
            for k in range(low + 1, high):
                x, j = indices[k], k
                while j > low and indices[j - 1] > x:
                    indices[j] = indices[j - 1]
                    j -= 1
                indices[j] = x
        for k in range(low + 1, high):
            twice += indices[k] == indices[k - 1]
    return twice


@njit(cache=True, nogil=True)
def drop_twins(indptr: Array, indices: Array) -> int:
    """Remove duplicates from sorted rows, in place; returns how many entries are left."""
    kept, low = 0, 0
    for i in range(len(indptr) - 1):
        high = indptr[i + 1]
        for k in range(low, high):
            if k == low or indices[k] != indices[k - 1]:
                indices[kept] = indices[k]
                kept += 1
        low = high
        indptr[i + 1] = kept
    return kept


@njit(cache=True, nogil=True)
def broken_row(indptr: Array, indices: Array, start: int, stop: int) -> int:
    """The first node whose row is unsorted, has a duplicate, names the node itself or no node, or is missing from a
    neighbour's row; else −1."""
    n = len(indptr) - 1
    for i in range(start, stop):
        last = -1
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if not last < j < n or j == i:
                return i
            last = j
            row = indices[indptr[j] : indptr[j + 1]]
            at = np.searchsorted(row, i)
            if at == len(row) or row[at] != i:
                return i
    return -1


@njit(cache=True, nogil=True)
def mark_boundary(indptr: Array, indices: Array, blue: Array, distance: Array, far: int, start: int, stop: int) -> int:
    """Definition 5. Set distance 0 where a neighbour has the other colour, `far` elsewhere; returns how many have
    one."""
    marked = 0
    for i in range(start, stop):
        own, k, high = blue[i], indptr[i], indptr[i + 1]
        while k < high and blue[indices[k]] == own:
            k += 1
        distance[i] = far
        if k < high:
            distance[i] = 0
            marked += 1
    return marked


@njit(cache=True, nogil=True)
def pull(indptr: Array, indices: Array, distance: Array, far: int, reached: int, start: int, stop: int) -> int:
    """One level, bottom-up: each unreached node looks for a neighbour at the last distance."""
    newly_reached = 0
    for i in range(start, stop):
        if distance[i] == far:
            for k in range(indptr[i], indptr[i + 1]):
                if distance[indices[k]] == reached:
                    distance[i] = reached + 1
                    newly_reached += 1
                    break
    return newly_reached


@njit(cache=True, nogil=True)
def list_at(distance: Array, reached: int, queue: Array) -> int:
    """Put the nodes at a distance into the queue."""
    size = 0
    for i in range(len(distance)):
        if distance[i] == reached:
            queue[size] = i
            size += 1
    return size


@njit(cache=True, nogil=True)
def push(
    indptr: Array,
    indices: Array,
    distance: Array,
    far: int,
    reached: int,
    queue: Array,
    size: int,
    left: int,
    share: int,
    few: int,
) -> tuple[int, int, int]:
    """Levels top-down, from the nodes in the queue, until the frontier is wide: more than one in `share` of the nodes
    left, and more than `few`.

    Returns the distance reached, how many nodes have it (0 when done), and how many are left.
    """
    low, high = 0, size
    while high > low and reached + 1 < far and ((high - low) * share <= left or high - low <= few):
        tail = high
        for at in range(low, high):
            i = queue[at]
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                if distance[j] == far:
                    distance[j] = reached + 1
                    queue[tail] = j
                    tail += 1
        low, high = high, tail
        reached += 1
        left -= high - low
    return reached, high - low, left


@njit(cache=True, nogil=True)
def deepest(distance: Array, far: int, start: int, stop: int) -> int:
    """The largest finite distance."""
    most = 0
    for i in range(start, stop):
        if most < distance[i] < far:
            most = distance[i]
    return most


@njit(cache=True, nogil=True)
def look_up(distance: Array, far: int, blue: Array, reds: int, blues: int, out: Array, start: int, stop: int) -> None:
    """0 where a distance is infinite; else its place in the red or the blue side, which stays at its last entry."""
    for i in range(start, stop):
        d = distance[i]
        at = min(d, blues - 1) + 1 + reds if blue[i] else min(d, reds - 1) + 1
        out[i] = 0 if d == far else at


@njit(cache=True, nogil=True)
def spread(
    indptr: Array, indices: Array, blue: Array, side: int, fixed: Array, limit: int,
    mark: Array, mine: int, nodes: Array, out: Array, parent: Array,
) -> tuple[int, int, int]:  # fmt: skip
    """Mark as `mine` every unmarked neighbour of some nodes on one side, and list it (and the node from which it was
    reached).

    A fixed dataset has `fixed` above 0: the place of its value among the fixed values; one above `limit` would be
    lowered. Returns how many were listed, and the ends of the edge that lowers one, or −1.
    """
    size = 0
    for at in range(len(nodes)):
        i = nodes[at]
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if blue[j] == side:
                if mark[j] == 0:
                    mark[j] = mine
                    out[size] = j
                    size += 1
                    if len(parent) > 0:
                        parent[j] = i
                elif fixed[j] > limit:
                    return size, i, j
            elif fixed[j] > limit and fixed[i] == 0:
                return size, i, j
    return size, -1, -1


@njit(cache=True, nogil=True)
def extremes(
    indptr: Array, indices: Array, rank: Array, blue: Array, above: Array, below: Array, start: int, stop: int
) -> None:
    """Per rank of Pr[yes]: the largest adjacent rank where both are blue, and the least adjacent one elsewhere."""
    for i in range(start, stop):
        own, mine = blue[i], rank[i]
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            theirs = rank[j]
            if own and blue[j]:
                if theirs > above[mine]:
                    above[mine] = theirs
            elif theirs < below[mine]:
                below[mine] = theirs


@njit(cache=True, nogil=True)
def first_pair(indptr: Array, indices: Array, rank: Array, blue: Array, above: Array, below: Array) -> tuple[int, int]:
    """The first edge, the smaller node first, whose ranks are a wanted pair (−1: no pair is wanted)."""
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if i < j:
                wanted = above if blue[i] and blue[j] else below
                if wanted[rank[i]] == rank[j] or wanted[rank[j]] == rank[i]:
                    return i, j
    return -1, -1


@njit(cache=True, nogil=True)
def sweep(
    indptr: Array, indices: Array, blue: Array, distance: Array, label: Array, step: Array, across: Array,
    final: Array, first: bool, start: int, stop: int,
) -> tuple[bool, int, int]:  # fmt: skip
    """Lower each label to what the neighbours allow; returns whether a fixed one clashes, and the least red and blue
    label that changed.

    A label is the rank of Pr[truth] among those of its colour, `step` the rank of φ of it, and `across` the red rank of
    1 − m for a fixed blue rank m. Labels up to `final` cannot change any more.
    """
    low_red = low_blue = step.shape[1]
    for i in range(start, stop):
        own = blue[i]
        if own and distance[i] == 0:
            if first:
                for k in range(indptr[i], indptr[i + 1]):
                    j = indices[k]
                    if blue[j] and distance[j] == 0 and step[1, label[j]] < label[i]:
                        return True, low_red, low_blue
            continue
        best = label[i]
        if best <= final[own]:
            continue
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            offer = step[own, label[j]] if blue[j] == own else step[0, across[label[j]]]
            best = min(best, offer)
        if best < label[i]:
            label[i] = best
            if own:
                low_blue = min(low_blue, best)
            else:
                low_red = min(low_red, best)
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                allowed = label[j] if own else across[label[j]]
                if blue[j] and distance[j] == 0 and step[own, best] < allowed:
                    return True, low_red, low_blue
    return False, low_red, low_blue
