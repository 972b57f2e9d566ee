"""Design by propagation against the linear program (HiGHS) and networkx, side by side in one run."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import networkx as nx
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack

from duotone import ApproxDP, ColouredGraph, Mechanism, design


def timed(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Median seconds and the last result."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return median(seconds), result


def grid(side: int) -> ColouredGraph:
    """A square grid, blue left of a diagonal."""
    nodes = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate(
        [
            np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], 1),
            np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], 1),
        ]
    )
    i, j = np.divmod(np.arange(side * side), side)
    return ColouredGraph.from_arrays(pairs, i + j < side)


def designed(pairs: Any, blue: Any, privacy: ApproxDP) -> Mechanism:
    """Building the graph included."""
    return design(ColouredGraph.from_arrays(pairs, blue), privacy, 0.6)


def by_linear_program(graph: ColouredGraph, privacy: ApproxDP, m: float) -> np.ndarray:
    """The same optimum as a linear program, Definition 1 written out."""
    y, d = float(privacy.exp_epsilon), float(privacy.delta)
    pairs = graph.edge_array()
    both = np.concatenate([pairs, pairs[:, ::-1]])
    rows = np.arange(len(both))
    shape = (len(both), len(graph))
    first = coo_array((np.ones(len(both)), (rows, both[:, 0])), shape)
    second = coo_array((np.ones(len(both)), (rows, both[:, 1])), shape)
    matrix = vstack([first - y * second, y * second - first]).tocsr()
    limits = np.concatenate([np.full(len(both), d), np.full(len(both), y - 1 + d)])
    fixed = graph.blue & graph.on_boundary
    bounds = np.stack([np.where(fixed, m, 0), np.where(fixed, m, 1)], 1)
    result: Any = linprog(np.where(graph.blue, -1.0, 1.0), A_ub=matrix, b_ub=limits, bounds=bounds, method="highs")  # type: ignore[call-overload]
    return np.asarray(result.x)


def by_networkx(plain: Any, graph: ColouredGraph) -> Any:
    """Only the distances to the boundary."""
    return nx.multi_source_dijkstra_path_length(plain, set(np.flatnonzero(graph.on_boundary).tolist()), weight=None)


def main() -> None:
    print(f"machine: {platform.processor() or platform.machine()}, Python {platform.python_version()}; medians of 3")
    print(f"{'nodes':>8} {'design':>10} {'networkx':>10} {'linear program':>15}   ratio to design")
    privacy = ApproxDP(1, 1e-3)
    for side in (20, 50, 100, 200):
        graph = grid(side)
        plain = graph.to_networkx()
        pairs, blue = graph.edge_array(), graph.blue
        ours, mechanism = timed(partial(designed, pairs, blue, privacy))
        theirs, _ = timed(partial(by_networkx, plain, graph))
        line = f"{len(graph):>8} {ours:>9.4f}s {theirs:>9.4f}s"
        if side <= 100:
            program, yes = timed(partial(by_linear_program, graph, privacy, 0.6), repeats=1)
            assert np.allclose(yes, list(mechanism.yes.values()), atol=1e-6)
            line += f" {program:>14.3f}s   networkx {theirs / ours:.1f}, linear program {program / ours:.0f}"
        else:
            line += f" {'–':>15}   networkx {theirs / ours:.1f}"
        print(line)


if __name__ == "__main__":
    main()
