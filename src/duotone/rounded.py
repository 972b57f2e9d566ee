"""Rounded notions: φ in whole multiples of 2^−bits, for tables of integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from duotone.number import Number
from duotone.privacy import ApproxDP


@dataclass(frozen=True)
class Rounded:
    """A notion in whole multiples of 2^−bits: φ rounded down, or up to bound the optimum from above.

    Guarantee: rounded down, a multiple x ≤ `step(y)` of another satisfies x ≤ φ(y) exactly, as integers; and the
    symmetry of φ survives: x ≤ step(y) exactly when 1 − y ≤ step(1 − x).
    """

    privacy: ApproxDP
    bits: int
    up: bool = False

    @cached_property
    def _bound(self) -> ApproxDP:
        return self.privacy.above() if self.up else self.privacy.exactly()

    def represent(self, x: Number) -> Fraction:
        """The multiple of 2^−bits next to x, below (or above) it."""
        scaled = Fraction(x) * 2**self.bits
        return Fraction(math.ceil(scaled) if self.up else math.floor(scaled), 2**self.bits)

    def step(self, x: Fraction) -> Fraction:
        """φ(x), rounded."""
        return self.represent(self._bound.step(x))

    def balance(self) -> Fraction:
        """Corollary 2, rounded."""
        return self.represent(self._bound.balance())
