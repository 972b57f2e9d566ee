"""A privacy definition of one's own is one step bound φ. Here: μ-Gaussian differential privacy.

Its promises must hold to the last bit: φ increasing, φ(x) ≥ x, φ(1 − φ(x)) ≥ 1 − x, and never above the true bound. A
rounded Φ(Φ⁻¹(x) + μ) keeps none of them. So a polygon below the curve, symmetric to itself, replaces it, and is rounded
down on a grid that has 1 − x for every x.
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from math import floor
from statistics import NormalDist
from typing import Any

from duotone import balanced, design
from duotone.graphs import families

NORMAL, GRID, ROOM = NormalDist(), 2**40, 2
"""ROOM, in grid steps, is a thousand times the error of the standard library's Φ and Φ⁻¹."""


@dataclass(frozen=True)
class GaussianDP:
    """φ(x) = Φ(Φ⁻¹(x) + μ), rounded towards privacy: for μ up to 1 less than 10^−5 below it."""

    mu: float

    @cached_property
    def corners(self) -> list[tuple[int, int]]:
        """A concave polygon below the curve: corners on it, rounded down, and their mirror images (x, y) → (1 − y, 1 − x)."""
        corners = {(0, 0), (GRID, GRID)}
        for i in range(-1400, 1400):
            x = floor(NORMAL.cdf(i / 200) * GRID)
            y = floor(NORMAL.cdf(NORMAL.inv_cdf(x / GRID) + self.mu) * GRID) - ROOM if x else 0
            if y > x:
                corners |= {(x, y), (GRID - y, GRID - x)}
        hull: list[tuple[int, int]] = []
        for x, y in sorted(corners):
            while hull and (hull[-1][0] == x or _bends_up(*hull[-2:], (x, y))):
                hull.pop()
            hull.append((x, y))
        return hull

    def step(self, x: Any) -> Any:
        """The largest probability that a neighbour may have."""
        at = floor(x * GRID)
        i = max(bisect_left(self.corners, (at, 0)), 1)
        (a, b), (c, d) = self.corners[i - 1], self.corners[min(i, len(self.corners) - 1)]
        return max(x, (b if at == a else b + (d - b) * (at - a) // (c - a)) / GRID)


def _bends_up(*corners: tuple[int, int]) -> bool:
    """Whether the middle one of three corners is on the line between the others, or on the wrong side."""
    if len(corners) < 3:
        return False
    (a, b), (c, d), (e, f) = corners
    return (d - b) * (e - a) <= (f - b) * (c - a)


privacy = GaussianDP(0.5)
mechanism = design(families.figure_2(), privacy)
print(f"balanced truth at the boundary: {balanced(privacy).blue:.4f}")
print(f"private on every pair of neighbours: {mechanism.check(privacy).holds}")
