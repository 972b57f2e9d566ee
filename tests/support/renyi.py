"""One Rényi order by its definition: an oracle that shares nothing with `duotone.privacy.renyi`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
from scipy.optimize import linprog

from duotone.graphs.graph import ColouredGraph
from duotone.privacy.renyi import RenyiDP

TOLERANCE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def divergence(order: int, p: Any, q: Any, delta: Any = 0) -> Any:
    """Σ p^order / q^(order − 1) over yes and no, but for a part of p that lacks delta where it is larger than q."""
    total = 0 * p
    for a, b, lacks in ((p, q, delta if p > q else 0), (1 - p, 1 - q, delta if p < q else 0)):
        part = max(0 * a, a - lacks)
        total += 0 if part == 0 else math.inf if b == 0 else part**order / b ** (order - 1)
    return total


def close(privacy: RenyiDP, p: Fraction, q: Fraction) -> bool:
    """The definition, written out."""
    return bool(max(divergence(privacy.order, *pair, privacy.delta) for pair in ((p, q), (q, p))) <= privacy.price)


def furthest(privacy: RenyiDP, x: Any, bits: int = 400) -> Any:
    """φ(x) by halving the definition, to so many bits, from below; x and the result are numbers of MPFR."""
    with gmpy2.context(precision=2 * bits):
        low, high = gmpy2.mpfr(x), gmpy2.mpfr(1)
        price, delta = (gmpy2.mpfr(gmpy2.mpq(each)) for each in (privacy.price, privacy.delta))
        for _ in range(bits):
            middle = (low + high) / 2
            largest = max(divergence(privacy.order, *pair, delta) for pair in ((low * 0 + x, middle), (middle, low * 0 + x)))
            low, high = (middle, high) if largest <= price else (low, middle)
        return low


def least_sum(order: int, delta: Fraction, one: Mapping[Any, Fraction], other: Mapping[Any, Fraction]) -> Fraction | None:
    """The least sum of part^order / other^(order − 1) over all outcomes, for parts of `one` that lack delta in all; None if
    it is infinite. The sum falls most where the ratio is largest: so the largest ratios are cut to a common one."""
    impossible = sum((p for k, p in one.items() if not other[k]), Fraction(0))
    if impossible > delta:
        return None
    pairs = sorted(((p, other[k]) for k, p in one.items() if other[k]), key=lambda pair: pair[0] / pair[1], reverse=True)
    room, cut = delta - impossible, Fraction(0)
    for i in range(1, len(pairs) + 1):
        top, bottom = (sum((pair[j] for pair in pairs[:i]), Fraction(0)) for j in (0, 1))
        cut = max(Fraction(0), (top - room) / bottom)
        if i == len(pairs) or cut >= pairs[i][0] / pairs[i][1]:
            break
    return sum((min(p, cut * q) ** order / q ** (order - 1) for p, q in pairs), Fraction(0))


def extreme(order: int, price: float, delta: float = 0) -> Iterator[tuple[float, float]]:
    """Pairs of probabilities of yes at the edge of the definition, from a guess to one in 10^9 or what floats can tell, each
    way round."""
    for x in [*(10 ** np.linspace(-min(9, 250 / order), -1, 9)).tolist(), 0.2, 0.35, 0.5]:
        low, high = x, 1 - 1e-12
        for _ in range(60):
            middle = (low + high) / 2
            apart = max(divergence(order, *pair, delta) for pair in ((x, middle), (middle, x)))
            low, high = (middle, high) if apart <= price else (low, middle)
        yield from ((x, low), (low, x), (1 - x, 1 - low), (1 - low, 1 - x))


def small_graphs(most: int) -> Iterator[ColouredGraph]:
    """All coloured graphs up to so many nodes with both colours, each shape once."""
    seen: set[Any] = set()
    for nodes in range(2, most + 1):
        pairs = list(itertools.combinations(range(nodes), 2))
        orders = list(itertools.permutations(range(nodes)))
        for blue in range(1, nodes):  # as many, the first ones
            for chosen in itertools.product((False, True), repeat=len(pairs)):
                edges = [pair for pair, there in zip(pairs, chosen, strict=True) if there]
                alike = [order for order in orders if all((order[i] < blue) == (i < blue) for i in range(nodes))]
                shape = min(tuple(sorted(tuple(sorted((order[a], order[b]))) for a, b in edges)) for order in alike)
                if (nodes, blue, shape) not in seen:
                    seen.add((nodes, blue, shape))
                    yield ColouredGraph([(a, b) for a, b in shape], {i: "blue" if i < blue else "red" for i in range(nodes)})


def most_truth(graph: ColouredGraph, privacy: RenyiDP, fixed: dict[Any, float]) -> dict[Any, float]:
    """The mechanism with these fixed values of the truth whose values add up to most, by cutting planes: linear programs, to
    which tangents of the definition's convex sums are added until no neighbours exceed them. It knows no φ, and no levels."""
    names = list(graph.names)
    place = {name: i for i, name in enumerate(names)}
    sign = np.array([1.0 if graph.colour(name) == "blue" else -1.0 for name in names])  # yes is truth, or 1 − truth
    k, price, delta = privacy.order - 1, float(privacy.price), float(privacy.delta)
    edges = [(i, j) for a in names for b in graph.neighbours(a) for i, j in [(place[a], place[b])]]
    bounds = [(fixed[name], fixed[name]) if name in fixed else (1e-6, 1 - 1e-6) for name in names]
    rows: list[Any] = []
    limits: list[float] = []
    truth = np.array([high for _, high in bounds])
    for _ in range(400):
        yes = np.where(sign > 0, truth, 1 - truth)
        worst = 0.0
        for i, j in edges:
            for flipped in (False, True):
                u, v = (1 - yes[j], 1 - yes[i]) if flipped else (yes[i], yes[j])
                if not v > u:
                    continue
                more, less = max(0.0, v - delta) / u, (1 - v) / (1 - u)
                over = u * more ** (k + 1) + (1 - u) * less ** (k + 1) - price
                if over <= 1e-10:
                    continue
                by_v, by_u = (k + 1) * (more**k - less**k), -k * (more ** (k + 1) - less ** (k + 1))
                by_i, by_j = (-by_v, -by_u) if flipped else (by_u, by_v)  # of yes at i and at j
                row = np.zeros(len(names))
                row[i], row[j] = by_i * sign[i], by_j * sign[j]
                size = np.abs(row).max()
                rows.append(row / size)
                limits.append((row @ truth - over) / size)
                worst = max(worst, over)
        if worst < 1e-6:
            return dict(zip(names, truth.tolist(), strict=True))
        program: Any = {"A_ub": np.array(rows), "b_ub": np.array(limits), "bounds": bounds, "options": TOLERANCE}
        found = linprog(-np.ones(len(names)), **program)
        assert found.status == 0, found.message
        truth = found.x
    raise AssertionError("the cutting planes did not settle")
