"""Slow, independent computations to compare the fast ones with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from duotone import ColouredGraph
from duotone.privacy.numbers import Number
from duotone.resources import keep_in_child


@cache
def _duckdb() -> Any:
    connection = duckdb.connect()
    keep_in_child(connection)
    return connection


def plain_duckdb() -> Any:
    """A connection to a DuckDB that tests share, with settings, views and temporary tables of its own: opening a DuckDB
    takes longer than most questions."""
    return _duckdb().cursor()


def indistinguishable(p: Fraction, q: Fraction, ratio: Fraction, delta: Fraction) -> bool:
    """Definition 1 for two neighbours with Pr[yes] = p and q, written out."""
    return (
        p <= ratio * q + delta
        and q <= ratio * p + delta
        and 1 - p <= ratio * (1 - q) + delta
        and 1 - q <= ratio * (1 - p) + delta
    )


@dataclass(frozen=True)
class Problem:
    """A graph, a budget and the fixed values: Pr[yes] by node, or none for a balanced mechanism."""

    graph: ColouredGraph
    ratio: Fraction
    delta: Fraction
    fixed: Mapping[int, Number] | None


def definition_1(pairs: Any, ratio: Any, delta: Any, datasets: int) -> tuple[csr_array, Any]:
    """Definition 1 as a linear program: a matrix whose product with every Pr[yes] is at most some limits.

    `ratio` and `delta` are the same for all pairs of neighbours, or one for each.
    """
    both = np.concatenate([pairs, pairs[:, ::-1]])
    y, d = (np.tile(np.broadcast_to(np.asarray(x, dtype=float), len(pairs)), 2) for x in (ratio, delta))
    entries = np.concatenate([np.stack([np.ones(len(both)), -y], 1), np.stack([-np.ones(len(both)), y], 1)])
    matrix = csr_array((entries.ravel(), np.tile(both.ravel(), 2), 2 * np.arange(len(entries) + 1)), (len(entries), datasets))
    return matrix, np.concatenate([d, y - 1 + d])  # p ≤ y·q + δ, and 1 − p ≤ y·(1 − q) + δ


def linear_programs(problems: Sequence[Problem]) -> list[np.ndarray] | None:
    """The greatest sum of truth for each problem by HiGHS, all in one program; None if any is infeasible.

    The optimum is attained by every dataset at once (Theorem 2), so the greatest sum finds it.
    """
    widths = [len(p.graph) + (p.fixed is None) for p in problems]  # a balanced one has its boundary value after its datasets
    starts = np.cumsum([0, *widths]).tolist()
    edges = [p.graph.edge_array() for p in problems]
    costs, bounds = np.zeros(starts[-1]), np.tile([0.0, 1.0], (starts[-1], 1))
    equal: list[tuple[int, int, float]] = []
    totals: list[float] = []
    for start, problem in zip(starts, problems, strict=False):
        g = problem.graph
        costs[start : start + len(g)] = np.where(g.blue, -1.0, 1.0)
        for i, value in (problem.fixed or {}).items():
            bounds[start + i] = float(value)
        for i in np.flatnonzero(g.on_boundary).tolist() if problem.fixed is None else ():
            sign = 1.0 if g.blue[i] else -1.0  # B_d = x on the blue boundary, 1 − B_d = x on the red one
            equal += [(len(totals), start + i, sign), (len(totals), start + len(g), -1)]
            totals.append(0.0 if g.blue[i] else -1.0)
    parameters = ([float(getattr(p, name)) for p in problems] for name in ("ratio", "delta"))
    y, d = (np.repeat(each, [len(some) for some in edges]) for each in parameters)
    pairs = np.concatenate([some + start for some, start in zip(edges, starts, strict=False)])
    matrix, limits = definition_1(pairs, y, d, starts[-1])
    result: Any = linprog(  # type: ignore[call-overload]
        costs,
        A_ub=matrix if len(limits) else None,
        b_ub=limits if len(limits) else None,
        A_eq=_matrix(equal, len(totals), starts[-1]) if totals else None,
        b_eq=totals or None,
        bounds=bounds,
        method="highs",
    )
    if result.status == 2:
        return None
    assert result.status == 0, result.message
    return [result.x[s : s + len(p.graph)] for s, p in zip(starts, problems, strict=False)]


def most_for_free(problem: Problem, node: int, truth: Sequence[Fraction]) -> float:
    """The largest Pr[yes] of one fixed blue node, by HiGHS: the others fixed, and no dataset less truthful than
    `truth`."""
    graph, fixed = problem.graph, problem.fixed or {}
    matrix, limits = definition_1(graph.edge_array(), problem.ratio, problem.delta, len(graph))
    bounds = []
    for i, (blue, t) in enumerate(zip(graph.blue.tolist(), truth, strict=True)):
        least = (float(t), 1.0) if blue else (0.0, 1 - float(t))
        bounds.append((float(fixed[i]), float(fixed[i])) if i in fixed and i != node else least)
    costs = [-1.0 if i == node else 0.0 for i in range(len(graph))]
    result: Any = linprog(costs, A_ub=matrix, b_ub=limits + 1e-12, bounds=bounds, method="highs")  # type: ignore[call-overload]
    assert result.status == 0, result.message
    return float(result.x[node])


def _matrix(entries: Iterable[tuple[int, int, float]], height: int, width: int) -> csr_array:
    i, j, v = zip(*entries, strict=True)
    return csr_array((v, (i, j)), shape=(height, width))
