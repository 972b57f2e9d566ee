"""Four kinds of graph of any size, as pairs of node numbers and whether each node is blue."""

from __future__ import annotations

from typing import Any

import numpy as np

Made = tuple[Any, Any]


def grid(n: int) -> Made:
    """A square, blue on one side of a diagonal."""
    side = round(n**0.5)
    nodes = np.arange(side * side, dtype=np.int32).reshape(side, side)
    down, right = ((nodes[:-1], nodes[1:]), (nodes[:, :-1], nodes[:, 1:]))
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in (down, right)])
    return pairs, np.add.outer(np.arange(side), np.arange(side)).ravel() < side


def hypercube(n: int) -> Made:
    """Voters' majorities."""
    bits = round(np.log2(n))
    x = np.arange(2**bits, dtype=np.int32)
    lower = [x[x >> axis & 1 == 0] for axis in range(bits)]
    pairs = np.concatenate([np.stack([a, a | 1 << axis], 1) for axis, a in enumerate(lower)])
    return pairs, 2 * np.bitwise_count(x) > bits


def random_graph(n: int) -> Made:
    """Erdős–Rényi of average degree 8, one dataset in a thousand blue."""
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, n, (4 * n, 2), dtype=np.int32)
    return pairs[pairs[:, 0] != pairs[:, 1]], rng.random(n) < max(1e-3, 3 / n)


def regular(n: int) -> Made:
    """Eight neighbours each, by four random permutations; one dataset in a thousand blue."""
    rng = np.random.default_rng(2)
    each = np.arange(n, dtype=np.int32)
    pairs = np.concatenate([np.stack([each, rng.permutation(each)], 1) for _ in range(4)])
    return pairs[pairs[:, 0] != pairs[:, 1]], rng.random(n) < max(1e-3, 3 / n)


KINDS = {"grid": grid, "hypercube": hypercube, "random": random_graph, "regular": regular}
