"""A privacy notion of one's own is one step bound. Here: μ-Gaussian differential privacy."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from duotone import balanced, design, families

NORMAL = NormalDist()


@dataclass(frozen=True)
class GaussianDP:
    """φ(x) = Φ(Φ⁻¹(x) + μ)."""

    mu: float

    def step(self, x: Any) -> float:
        """How large a neighbour's probability may be."""
        value = float(x)
        return NORMAL.cdf(NORMAL.inv_cdf(value) + self.mu) if 0 < value < 1 else value


privacy = GaussianDP(0.5)
mechanism = design(families.figure_2(), privacy)
print(f"balanced truth at the boundary: {balanced(privacy).blue:.4f}")
print(f"private on every pair of neighbours: {mechanism.check(privacy).holds}")
