"""Distance to the boundary: one breadth-first pass from both boundaries at once.

A path from a blue dataset to ∂R crosses ∂B first, so the distance to the union of both boundaries is the distance to
one's own.
"""

from __future__ import annotations

import numpy as np

from duotone.graphs._csr import small
from duotone.privacy.definition import Array
from duotone.resources import everywhere

NARROW, WIDE = np.dtype(np.uint8), np.dtype(np.int32)
SHARE = 16
"""A frontier is wide when it is more than one in so many of the nodes left: then these look for it, on every core, …"""
FEW, LITTLE = 256, 2**18
"""… unless it is less than one in so many of all nodes, or the graph is so small that one core is done at once."""


def far(distance: Array) -> int:
    """What stands for infinity in an array of distances: the largest number of its kind."""
    return int(np.iinfo(distance.dtype).max)


def to_boundary(indptr: Array, indices: Array, blue: Array) -> Array:
    """The distance of every node to the boundary of its own colour; `far` in a component of one colour.

    One byte per node as long as distances fit into it, four otherwise.
    """
    if small(len(blue), len(indices)):
        return _level_by_level(indptr, indices, blue)
    return _either_way(indptr, indices, blue.view(np.uint8))


def _level_by_level(indptr: Array, indices: Array, blue: Array) -> Array:
    """Plain numpy, the words of the definition."""
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
    """Direction-optimising: a wide frontier is found by those it reaches, on every core; a narrow one reaches out.

    The frontier decides which way pays: on a grid it is always narrow, on a random graph soon half of everything.
    """
    from duotone.graphs import _search

    nodes = left = len(blue)
    few = nodes // FEW if nodes > LITTLE else nodes
    distance, reached = np.empty(nodes, dtype=NARROW), 0
    width = sum(everywhere(_search.mark_boundary, nodes, indptr, indices, blue, distance, far(distance)))
    left -= width
    queue = np.empty(nodes, dtype=np.int32)  # pages that are never used cost nothing
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
