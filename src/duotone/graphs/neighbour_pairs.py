"""All pairs of neighbours of a mechanism, in one pass over the edges.

Only the rank of a dataset's Pr[yes] matters, and for one rank only its most distant neighbours can break
privacy: two numbers per rank decide about millions of pairs.
"""

from __future__ import annotations

import numpy as np

from duotone.graphs._csr import small
from duotone.graphs.graph import ColouredGraph
from duotone.privacy.definition import Array
from duotone.resources import everywhere


def extremes(graph: ColouredGraph, rank: Array, ranks: int, blue: Array) -> tuple[Array, Array]:
    """Per rank: the largest rank next to it where both datasets are in `blue`, and the least one next to it elsewhere.

    −1 and `ranks` where there is none.
    """
    if small(len(graph), len(graph.indices)):
        rows, both = _pairs(graph, blue)
        above, below = _empty(ranks)
        np.maximum.at(above, rank[rows[both]], rank[graph.indices[both]])
        np.minimum.at(below, rank[rows[~both]], rank[graph.indices[~both]])
        return above, below
    from duotone.graphs import _search

    def part(start: int, stop: int) -> tuple[Array, Array]:
        above, below = _empty(ranks)
        _search.extremes(graph.indptr, graph.indices, rank, blue.view(np.uint8), above, below, start, stop)
        return above, below

    parts = everywhere(part, len(graph), least=max(2**15, ranks))
    return np.maximum.reduce([above for above, _ in parts]), np.minimum.reduce([below for _, below in parts])


def first_pair(graph: ColouredGraph, rank: Array, above: Array, below: Array) -> tuple[int, int]:
    """The first edge whose ranks are `above` or `below` each other, as `extremes` gave them; −2 where none is wanted."""
    if small(len(graph), len(graph.indices)):
        rows, both = _pairs(graph, graph.blue)
        here, there = rank[rows], rank[graph.indices]
        wanted = np.where(
            both, (above[here] == there) | (above[there] == here), (below[here] == there) | (below[there] == here)
        )
        at = int(np.flatnonzero(wanted & (rows < graph.indices))[0])
        return int(rows[at]), int(graph.indices[at])
    from duotone.graphs import _search

    i, j = _search.first_pair(graph.indptr, graph.indices, rank, graph.blue.view(np.uint8), above, below)
    return int(i), int(j)


def _empty(ranks: int) -> tuple[Array, Array]:
    return np.full(ranks, -1, dtype=np.int64), np.full(ranks, ranks, dtype=np.int64)


def _pairs(graph: ColouredGraph, blue: Array) -> tuple[Array, Array]:
    rows = np.repeat(np.arange(len(graph)), np.diff(graph.indptr))
    return rows, blue[rows] & blue[graph.indices]
