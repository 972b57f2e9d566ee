"""Edges as compressed rows: the neighbours of node i are `indices[indptr[i]:indptr[i + 1]]`, each row sorted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from duotone.errors import DuotoneError
from duotone.privacy.definition import Array
from duotone.resources import everywhere, must_fit

MOST_NODES = 2**31 - 2
"""Node numbers are 32-bit, and one number stands for no node."""
SMALL = 2**14
"""Up to so many nodes and ends of edges plain numpy is as fast, and numba need not be imported."""

Chunks = Callable[[], Iterable[tuple[Array, Array]]]
"""Edges in pieces, both columns of node numbers, as often as asked."""


def small(nodes: int, ends: int) -> bool:
    """Whether a graph is left to the plain path."""
    return nodes + ends <= SMALL


def compressed(chunks: Chunks, nodes: int, named: Callable[[int], Any] = int) -> tuple[Array, Array]:
    """indptr and indices of undirected edges: both directions, sorted, each once.

    Counts and then places, so that beside the two arrays it needs four bytes per node and one piece of the edges.
    32-bit where that fits.
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
    """Compressed rows as given, not copied where they are 32-bit; one pass makes sure that they are what they must be."""
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
