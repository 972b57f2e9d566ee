"""Noise and compare: its error probabilities, by closed forms and quadrature; and the least error that privacy allows.

A statistic that lies `z` ≥ 0 on its true side of the limit is answered wrongly when the noise is −z or less: each
function below is that probability. Nothing here is sampled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, linprog
from scipy.special import ndtr
from scipy.stats import norm

from duotone import ApproxDP
from support.oracles import definition_1

Array = NDArray[np.float64]
NODES = 24
"""Quadrature nodes per side: with twice as many, no error of the benchmark changes by more than 1e-6."""


def laplace(z: Any, scale: Any) -> Array:
    """Laplace noise."""
    return np.asarray(np.exp(-np.asarray(z, dtype=float) / scale) / 2)


def discrete_laplace(z: Any, scale: Any) -> Array:
    """Integer Laplace (geometric) noise, on a statistic that is z + 1/2 steps from the nearest value of the other
    side."""
    return np.asarray(np.exp(-(np.asarray(z, dtype=float) + 0.5) / scale) / (1 + np.exp(-1 / scale)))


def gaussian(z: Any, sigma: Any) -> Array:
    """Normal noise."""
    return np.asarray(ndtr(-np.asarray(z, dtype=float) / sigma))


def two_laplaces(z: Any, a: Any, b: Any) -> Array:
    """The sum of two independent Laplace noises; here `z` may be negative."""
    z, a, b = np.broadcast_arrays(np.asarray(z, dtype=float), a, b)
    far, mid = np.abs(z), (a + b) / 2
    close = np.abs(a - b) <= 1e-5 * mid
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = (a**2 * np.exp(-far / a) - b**2 * np.where(b > 0, np.exp(-far / b), 0)) / (2 * (a**2 - b**2))
    tail = np.where(close, np.exp(-far / mid) * (1 + far / (2 * mid)) / 2, apart)
    return np.asarray(np.where(z >= 0, tail, 1 - tail))


def canonical(z: Any, privacy: ApproxDP) -> Array:
    """Canonical (Tulap) noise for sensitivity 1, as OpenDP's `make_canonical_noise`: φ's own distribution.

    Uniform on ±1/2 between the two balanced values; each further step is one φ.
    """
    z = np.asarray(z, dtype=float)
    steps = np.ceil(z - 0.5).astype(int)
    apart, error = z - steps, 1 - float(privacy.balance())
    start = 0.5 - apart * (1 - 2 * error)
    found = [privacy.iterate(1 - s, n)[1] for s, n in zip(start.ravel().tolist(), steps.ravel().tolist(), strict=True)]
    return np.array(found, dtype=float).reshape(z.shape)


def gaussian_sigma(privacy: ApproxDP) -> float:
    """The least σ of normal noise for sensitivity 1: the analytic Gaussian mechanism (Balle and Wang, 2018)."""
    epsilon, delta = privacy.epsilon, float(privacy.delta)

    def excess(sigma: float) -> float:
        far = math.exp(epsilon + norm.logcdf(-1 / (2 * sigma) - epsilon * sigma))
        return float(ndtr(1 / (2 * sigma) - epsilon * sigma)) - far - delta

    return float(brentq(excess, 1e-2, 1e4, xtol=1e-13, rtol=1e-13))


def ratio_difference(
    z: Array, sums: tuple[float, float], sizes: tuple[int, int], noise: str, scales: tuple[float, float]
) -> Array:
    """Pr[no] for the difference of two noisy averages, each a noisy sum divided by a noisy size, `z` above its limit
    without noise.

    `scales` are of the sums and of the sizes; a noisy size is at least 1. Given the sizes, the sum of two noises
    remains; over the sizes it is integrated by Gauss's rule for this noise.
    """
    nodes, weights = _rule(noise)
    first, second = (np.maximum(n + scales[1] * nodes, 1.0) for n in sizes)
    n, m = first[:, None], second[None, :]
    shift = sums[0] * (1 / n - 1 / sizes[0]) - sums[1] * (1 / m - 1 / sizes[1])
    both = weights[:, None] * weights[None, :]
    found = []
    for at in z:
        a, b = scales[0] / n, scales[0] / m
        no = two_laplaces(at + shift, a, b) if noise == "laplace" else gaussian(at + shift, np.hypot(a, b))
        found.append(float((both * no).sum()))
    return np.array(found)


def _rule(noise: str) -> tuple[Array, Array]:
    """Nodes and weights under the noise of scale 1."""
    if noise == "laplace":
        x, w = np.polynomial.laguerre.laggauss(NODES)
        return np.concatenate([-x, x]), np.concatenate([w, w]) / 2
    x, w = np.polynomial.hermite_e.hermegauss(2 * NODES)
    return x, w / w.sum()


def least_worst_error(privacy: ApproxDP, margin: int) -> float:
    """The least e such that some private mechanism errs with at most e `margin` people from flipping, on both sides.

    Between a no and a yes at that distance are 2·margin − 1 steps, so 1 − e ≤ φ^(2·margin − 1)(e).
    """
    low, high = 0.0, 0.5
    if privacy.iterate(low, 2 * margin - 1)[1] == 0:
        return 0.0
    while low < (middle := (low + high) / 2) < high:
        enough = privacy.iterate(middle, 2 * margin - 1)[1] <= middle
        low, high = (low, middle) if enough else (middle, high)
    return high


def least_worst_error_by_program(privacy: ApproxDP, margin: int) -> float:
    """The same by linear program (HiGHS): Definition 1 written out on a path of 2·margin tables."""
    n = 2 * margin
    path = np.stack([np.arange(n - 1), np.arange(1, n)], 1)
    matrix, limits = definition_1(path, privacy.exp_epsilon, privacy.delta, n + 1)
    ends = np.zeros((2, n + 1))
    ends[0, 0], ends[1, n - 1], ends[:, n] = 1, -1, -1  # Pr[yes] at the no end, and Pr[no] at the yes end, at most e
    cost = np.append(np.zeros(n), 1.0)
    rows, most = np.vstack([matrix.toarray(), ends]), [*limits, 0.0, -1.0]
    result: Any = linprog(cost, A_ub=rows, b_ub=most, bounds=[(0, 1)] * (n + 1), method="highs")
    return float(result.fun)
