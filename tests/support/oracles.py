"""Slow, independent answers to hold the fast ones against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from duotone import ColouredGraph


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
    """A graph, a budget and what is fixed: Pr[yes] by node, or nothing at all for a balanced mechanism."""

    graph: ColouredGraph
    ratio: Fraction
    delta: Fraction
    fixed: dict[int, Fraction] | None


def linear_programs(problems: Sequence[Problem]) -> list[np.ndarray] | None:
    """The greatest sum of truth for each problem by HiGHS, all in one program; None if any is infeasible.

    The optimum is attained by every dataset at once (Theorem 2), so the greatest sum finds it.
    """
    rows: list[tuple[int, int, float]] = []
    bounds: list[tuple[float, float]] = []
    limits: list[float] = []
    costs: list[float] = []
    equal: list[tuple[int, int, float]] = []
    totals: list[float] = []
    starts: list[int] = []
    for problem in problems:
        start = len(bounds)
        starts.append(start)
        g, y, d = problem.graph, float(problem.ratio), float(problem.delta)
        for i in range(len(g)):
            value = None if problem.fixed is None else problem.fixed.get(i)
            bounds.append((0, 1) if value is None else (float(value), float(value)))
            costs.append(-1.0 if g.blue[i] else 1.0)
        for a, b in g.edge_array().tolist():
            for i, j in ((a, b), (b, a)):
                rows += [(len(limits), start + i, 1), (len(limits), start + j, -y)]
                limits.append(d)  # p − y·q ≤ δ
                rows += [(len(limits), start + i, -1), (len(limits), start + j, y)]
                limits.append(y - 1 + d)  # (1 − p) − y·(1 − q) ≤ δ
        if problem.fixed is None:
            shared = len(bounds)
            bounds.append((0, 1))
            costs.append(0)
            for i in np.flatnonzero(g.on_boundary).tolist():
                sign = 1.0 if g.blue[i] else -1.0  # B_d = x on the blue boundary, 1 − B_d = x on the red one
                equal += [(len(totals), start + i, sign), (len(totals), shared, -1)]
                totals.append(0.0 if g.blue[i] else -1.0)
    result: Any = linprog(  # type: ignore[call-overload]
        costs,
        A_ub=_matrix(rows, len(limits), len(bounds)) if limits else None,
        b_ub=limits or None,
        A_eq=_matrix(equal, len(totals), len(bounds)) if totals else None,
        b_eq=totals or None,
        bounds=bounds,
        method="highs",
    )
    if result.status == 2:
        return None
    assert result.status == 0, result.message
    return [result.x[s : s + len(p.graph)] for s, p in zip(starts, problems, strict=True)]


def most_for_free(problem: Problem, node: int, truth: Sequence[Fraction]) -> float:
    """The largest Pr[yes] of one fixed blue node, by HiGHS: the others fixed, and nobody less truthful than `truth`."""
    graph, y, d = problem.graph, float(problem.ratio), float(problem.delta)
    fixed = problem.fixed or {}
    rows: list[tuple[int, int, float]] = []
    limits: list[float] = []
    for a, b in graph.edge_array().tolist():
        for i, j in ((a, b), (b, a)):
            rows += [(len(limits), i, 1), (len(limits), j, -y), (len(limits) + 1, i, -1), (len(limits) + 1, j, y)]
            limits += [d, y - 1 + d]
    bounds = []
    for i, (blue, t) in enumerate(zip(graph.blue.tolist(), truth, strict=True)):
        least = (float(t), 1.0) if blue else (0.0, 1 - float(t))
        bounds.append((float(fixed[i]), float(fixed[i])) if i in fixed and i != node else least)
    costs = [-1.0 if i == node else 0.0 for i in range(len(graph))]
    result: Any = linprog(  # type: ignore[call-overload]
        costs, A_ub=_matrix(rows, len(limits), len(graph)), b_ub=[x + 1e-12 for x in limits], bounds=bounds, method="highs"
    )
    assert result.status == 0, result.message
    return float(result.x[node])


def _matrix(entries: Iterable[tuple[int, int, float]], height: int, width: int) -> csr_array:
    i, j, v = zip(*entries, strict=True)
    return csr_array((v, (i, j)), shape=(height, width))
