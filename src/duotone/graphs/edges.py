"""Edges as compressed rows, and the distance to the boundary along them.

The neighbours of node i are `indices[indptr[i]:indptr[i + 1]]`, each row sorted. A path from a blue dataset to ∂R
crosses ∂B first, so a node's distance to its own boundary is its distance to the union of both: one breadth-first pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from duotone.errors import DuotoneError
from duotone.privacy.definition import Array
from duotone.resources import everywhere, must_fit

MOST_NODES = 2**31 - 2
"""Node numbers are 32-bit; one number stands for no node."""
SMALL = 2**14
"""Up to this many nodes and ends of edges, numpy is as fast, and numba need not be imported."""

NARROW, WIDE = np.dtype(np.uint8), np.dtype(np.int32)
SHARE = 16
"""A frontier is wide if it is more than one in this many of the nodes left: then these look for it, on every core, …"""
FEW, LITTLE = 256, 2**18
"""… unless it is less than one in this many of all nodes, or the graph is so small that one core is done at once."""

Chunks = Callable[[], Iterable[tuple[Array, Array]]]
"""Edges in pieces, both columns of node numbers; may be iterated repeatedly."""


def small(nodes: int, ends: int) -> bool:
    """Whether a graph is small enough for numpy."""
    return nodes + ends <= SMALL


def compressed(chunks: Chunks, nodes: int, named: Callable[[int], Any] = int) -> tuple[Array, Array]:
    """The neighbours of every node (CSR arrays indptr and indices, 32-bit if they fit), from chunks of undirected edges:
    both directions, sorted, without duplicates.

    One pass counts and a second one places, so that beside the result only one chunk and four bytes per node are needed.
    """
    if not 1 <= nodes <= MOST_NODES:
        raise DuotoneError(
            f"a graph may have at most {MOST_NODES} nodes, numbered by 32 bits, got {nodes}"
            if nodes
            else "a graph needs at least one node"
        )
    edges = sum(len(first) for first, _ in chunks())
    if small(nodes, 2 * edges):
        return _by_sorting(chunks, nodes, named)
    return _by_counting(chunks, nodes, 2 * edges, named)


def _by_sorting(chunks: Chunks, nodes: int, named: Callable[[int], Any]) -> tuple[Array, Array]:
    pairs = np.concatenate([np.zeros((0, 2), np.int64), *(np.stack(ends, 1).astype(np.int64) for ends in chunks())])
    if pairs.size and not 0 <= pairs.min() <= pairs.max() < nodes:
        raise _no_node(nodes)
    loops = pairs[pairs[:, 0] == pairs[:, 1], 0]
    if loops.size:
        raise _loop(named(int(loops[0])))
    keys = np.unique(np.concatenate([pairs[:, 0] * nodes + pairs[:, 1], pairs[:, 1] * nodes + pairs[:, 0]]))
    indptr = np.zeros(nodes + 1, dtype=np.int32)
    np.cumsum(np.bincount(keys // nodes, minlength=nodes), out=indptr[1:])
    return indptr, (keys % nodes).astype(np.int32)


def _by_counting(chunks: Chunks, nodes: int, ends: int, named: Callable[[int], Any]) -> tuple[Array, Array]:
    from duotone.graphs import _search

    width = np.dtype(np.int32 if ends < 2**31 else np.int64)
    must_fit(4 * ends + (width.itemsize + 4) * nodes, f"{nodes} nodes and {ends // 2} edges")
    degree, indptr = np.zeros(nodes, dtype=np.int32), np.zeros(nodes + 1, dtype=width)
    for first, second in chunks():
        if (bad := _search.count(first, second, degree)) < len(first):
            raise _loop(named(int(first[bad]))) if first[bad] == second[bad] and 0 <= first[bad] < nodes else _no_node(nodes)
    _search.row_ends(degree, indptr)
    del degree
    indices = np.empty(ends, dtype=np.int32)
    for first, second in chunks():
        _search.place(first, second, indptr, indices)
    indptr[:-1] = indptr[1:]
    indptr[-1] = ends
    twins = sum(everywhere(_search.sort_rows, nodes, indptr, indices))
    if twins:
        indices.resize(_search.drop_twins(indptr, indices), refcheck=False)
    return indptr, indices


def checked(indptr: Any, indices: Any, nodes: int) -> tuple[Array, Array]:
    """Check given compressed rows in one pass; 32-bit ones are not copied."""
    ends, rows = np.asarray(indptr), np.asarray(indices)
    if not all(a.ndim == 1 and np.issubdtype(a.dtype, np.signedinteger) for a in (ends, rows)):
        raise DuotoneError("indptr and indices must be one-dimensional arrays of signed integers")
    if not (1 <= nodes <= MOST_NODES and len(ends) == nodes + 1):
        raise DuotoneError(f"indptr must have one entry more than the {nodes} nodes (1 to {MOST_NODES}), got {len(ends)}")
    if not (ends[0] == 0 and ends[-1] == len(rows) and (ends[1:] >= ends[:-1]).all()):
        raise DuotoneError("indptr must rise from 0 to the length of indices")
    if len(rows) and not 0 <= rows.min() <= rows.max() < nodes:
        raise _no_node(nodes)
    ends = np.ascontiguousarray(ends, dtype=np.int32 if len(rows) < 2**31 else np.int64)
    rows = np.ascontiguousarray(rows, dtype=np.int32)
    from duotone.graphs import _search

    broken = [i for i in everywhere(_search.broken_row, nodes, ends, rows) if i >= 0]
    if broken:
        raise DuotoneError(
            f"the row of node {broken[0]} is not in order: each row must be sorted, name no node twice nor itself, "
            "and every edge must be in both rows (from_arrays sorts and mirrors for you)"
        )
    return ends, rows


def _no_node(nodes: int) -> DuotoneError:
    return DuotoneError(f"an edge names a node outside 0 … {nodes - 1}: give each node a colour")


def _loop(name: Any) -> DuotoneError:
    return DuotoneError(f"node {name} is its own neighbour: remove the self-loop")


def far(distance: Array) -> int:
    """The largest number of a distance array's type, which stands for infinity."""
    return int(np.iinfo(distance.dtype).max)


def to_boundary(indptr: Array, indices: Array, blue: Array) -> Array:
    """The distance of every node to the boundary of its own colour; `far` in a component of one colour.

    One byte per node as long as distances fit, four otherwise.
    """
    if small(len(blue), len(indices)):
        return _level_by_level(indptr, indices, blue)
    return _either_way(indptr, indices, blue.view(np.uint8))


def _level_by_level(indptr: Array, indices: Array, blue: Array) -> Array:
    """In numpy, as the definition says."""
    counts = np.diff(indptr)
    rows = np.repeat(np.arange(len(blue)), counts)
    distance = np.full(len(blue), np.iinfo(WIDE).max, dtype=WIDE)
    frontier = np.unique(rows[blue[rows] != blue[indices]])
    reached = 0
    while frontier.size:
        distance[frontier] = reached
        starts, lengths = indptr[frontier], counts[frontier]
        offsets = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        following = indices[np.repeat(starts, lengths) + offsets]
        frontier = np.unique(following[distance[following] == far(distance)])
        reached += 1
    return distance


def _either_way(indptr: Array, indices: Array, blue: Array) -> Array:
    """Direction-optimising: unreached nodes look for a wide frontier, on every core; a narrow frontier reaches out to
    its neighbours.

    The frontier's width decides: on a grid it is always narrow, on a random graph soon half of everything.
    """
    from duotone.graphs import _search

    nodes = left = len(blue)
    few = nodes // FEW if nodes > LITTLE else nodes
    distance, reached = np.empty(nodes, dtype=NARROW), 0
    width = sum(everywhere(_search.mark_boundary, nodes, indptr, indices, blue, distance, far(distance)))
    left -= width
    queue = np.empty(nodes, dtype=np.int32)  # unused pages cost nothing
    while width:
        if reached + 1 == far(distance):
            distance = _widened(distance)
        if width * SHARE > left and width > few:
            width = sum(everywhere(_search.pull, nodes, indptr, indices, distance, far(distance), reached))
            left, reached = left - width, reached + 1
        else:
            size = _search.list_at(distance, reached, queue)
            reached, width, left = _search.push(
                indptr, indices, distance, far(distance), reached, queue, size, left, SHARE, few
            )
    return distance


def _widened(distance: Array) -> Array:
    wide = distance.astype(WIDE)
    wide[distance == far(distance)] = far(wide)
    return wide


def deepest(distance: Array) -> int:
    """The largest finite distance; 0 if there is none."""
    if small(len(distance), 0):
        return int(distance[distance != far(distance)].max(initial=0))
    from duotone.graphs import _search

    return int(max(everywhere(_search.deepest, len(distance), distance, far(distance))))


def looked_up(distance: Array, blue: Array, reds: int, blues: int) -> Array:
    """The place of each node in (never, red by distance, blue by distance), where a side stays at its last entry."""
    places = np.dtype(np.min_scalar_type(reds + blues))
    if small(len(distance), 0):
        never = distance == far(distance)
        at = np.minimum(distance, np.where(blue, blues, reds) - 1) + np.where(blue, 1 + reds, 1)
        return np.where(never, 0, at).astype(places)
    from duotone.graphs import _search

    out = np.empty(len(distance), dtype=places)
    everywhere(_search.look_up, len(distance), distance, far(distance), blue.view(np.uint8), reds, blues, out)
    return out
