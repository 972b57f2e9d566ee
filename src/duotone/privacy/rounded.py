"""Rounded definitions: φ in multiples of 2^−bits, for tables of integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import gmpy2

from duotone.cached import cached_property
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Number, log_ceiling
from duotone.privacy.renyi import RenyiDP
from duotone.privacy.text import Definition


def shrunk(privacy: Definition, bits: int) -> Definition:
    """A definition smaller by a hair, which a line's table keeps to: what rounding moves then fits into the hair, and margins
    are private over all events, as integers (`duotone.line.noise`). Of one Rényi order, which has no margins, the same.

    Its δ is 2^(−3/4·bits) less; a δ below 2^(−bits/2) is not used at all, and e^ε − 1 is smaller by 2^−96 of itself.

    >>> shrunk(ApproxDP(1, "1/4"), 128).delta == Fraction(1, 4) - Fraction(1, 2**96)
    True
    >>> shrunk(ApproxDP(exp_epsilon=2), 256).exp_epsilon == 2 - Fraction(1, 2**96)
    True
    """
    if isinstance(privacy, RenyiDP):
        return privacy
    ratio, delta = privacy.exp_epsilon, Fraction(privacy.delta)
    if delta * 2 ** (bits // 2) >= 1:
        return ApproxDP._computed(ratio, delta - Fraction(1, 2 ** (3 * bits // 4)))
    return ApproxDP._computed(ratio - (ratio - 1) / 2**96, Fraction(0))


def over_all_events(privacy: ApproxDP, row: Sequence[int], other: Sequence[int], bits: int) -> bool:
    """Whether two neighbours' rows (the chance of each outcome times 2^bits) are indistinguishable over all events, in
    both directions.

    The worst event consists of the outcomes that are more than e^ε times as likely.
    """
    (a, b), (c, d) = privacy.exp_epsilon.as_integer_ratio(), Fraction(privacy.delta).as_integer_ratio()
    room, left, right = b * c << bits, b * d, a * d
    return all(
        sum(max(0, left * p - right * q) for p, q in zip(one, two, strict=True)) <= room
        for one, two in ((row, other), (other, row))
    )


@dataclass(frozen=True)
class Rounded:
    """A privacy definition in multiples of 2^−bits: φ rounded down, or up to bound the optimum from above.

    Guarantee: rounded down, a multiple x ≤ `step(y)` of another satisfies x ≤ φ(y) exactly, as integers; and the
    symmetry of φ survives: x ≤ step(y) exactly when 1 − y ≤ step(1 − x).
    """

    privacy: Definition
    bits: int
    up: bool = False

    @cached_property
    def _bound(self) -> Definition:
        return self.privacy.above() if self.up else self.privacy.exactly()

    def represent(self, x: Number) -> Fraction:
        """The multiple of 2^−bits next to x, below (or above) it."""
        scaled = Fraction(x) * 2**self.bits
        return Fraction(math.ceil(scaled) if self.up else math.floor(scaled), 2**self.bits)

    def step(self, x: Fraction) -> Fraction:
        """φ(x), rounded."""
        if isinstance(self._bound, RenyiDP):
            return Fraction(int(self._integers(int(self.represent(x) * 2**self.bits))), 2**self.bits)
        return self.represent(self._bound.step(x))

    def balance(self) -> Fraction:
        """Corollary 2, rounded."""
        if isinstance(self._bound, RenyiDP):
            return Fraction(self._bound.balance_on_integers(self.bits) + self.up, 2**self.bits)
        return self.represent(self._bound.balance())

    def each_other(self, answers: int) -> Fraction:
        """The least probability of each of the answers that are wrong, if these are alike, beside a neighbour whose truth is
        one of them: rounded up, or down as a bound.

        Two answers that change places are private if the truth t = 1 − (answers − 1)·q satisfies t − e^ε·q ≤ δ; then no
        q below (1 − δ) / (e^ε + answers − 1) is.

        Guarantee: rounded up, the least multiple that is private.
        """
        if isinstance(self._bound, RenyiDP):
            return Fraction(max(0, self._bound.each_other_on_integers(answers, self.bits) - self.up), 2**self.bits)
        least = (1 - Fraction(self._bound.delta)) / (self._bound.exp_epsilon + answers - 1)
        return 1 - self.represent(1 - least)

    @cached_property
    def _integers(self) -> Callable[[Any], Any]:
        return self.on_integers()

    def on_integers(self) -> Callable[[Any], Any]:
        """φ on integers out of 2^bits, rounded: like `step` on fractions, but a hundred times as fast.

        Of (ε, δ): below x = (1 − δ)/(e^ε + 1), where the two pieces of φ meet, the first one is the smaller; beyond it the
        second, written for 1 − x. One division each, and no greatest common divisor.
        """
        if isinstance(self._bound, RenyiDP):
            return self._bound.on_integers(self.bits, up=self.up)
        ratio, delta = self._bound.exp_epsilon, Fraction(self._bound.delta)
        one, a, b, c, d = map(gmpy2.mpz, (1 << self.bits, *ratio.as_integer_ratio(), *delta.as_integer_ratio()))
        left, right, room, meet = b * d, a * d, b * c * one, (d - c) * b * one // (d * (a + b))
        divided = (gmpy2.c_div, gmpy2.f_div) if self.up else (gmpy2.f_div, gmpy2.c_div)

        def step(t: Any) -> Any:
            if t <= meet:
                return divided[0](right * t + room, left)
            return min(one, one - divided[1](left * (one - t) - room, right))

        return step

    @property
    def reaches_one(self) -> bool:
        """Whether, under (ε, δ), δ exceeds what rounding takes from each step. If so, every value reaches 1, after a
        number of steps in closed form."""
        of = self.privacy
        return isinstance(of, ApproxDP) and bool(of.delta > of.exp_epsilon / 2**self.bits)

    def settles_after(self, x: Number) -> float:
        """A number of steps after which φ, rounded down, changes x no more: in closed form, and infinite where that has none
        (of one Rényi order, always).

        A rounded step is less than 2^−bits below φ, so at least what a δ that is lower by e^ε·2^−bits allows. If δ is
        not larger than that, an error e ≥ 2^−bits becomes at most still + (e − still)/e^ε, where `still` is the error
        from which on a step gains less than 2^−bits. Once it is within twice that, each step that changes anything
        gains 2^−bits.

        >>> floor = Rounded(ApproxDP(1, "1e-6"), 128)
        >>> floor.settles_after(floor.balance())
        14.0
        """
        if isinstance(self.privacy, RenyiDP):
            return math.inf
        ratio, delta, unit = self.privacy.exp_epsilon, Fraction(self.privacy.delta), Fraction(1, 2**self.bits)
        start, lost = self.represent(x), ratio * unit
        if self.reaches_one:
            return ApproxDP._computed(ratio, delta - lost).certain_after(start)
        if ratio == 1 or start < Fraction(1, 2):  # the first piece of φ applies there, too
            return math.inf
        near = max((lost - delta) / (ratio - 1), unit)
        steps = log_ceiling((1 - start) / near, ratio) + near // unit + 1
        return float(steps) if steps < 2**1000 else math.inf
