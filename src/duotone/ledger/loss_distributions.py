"""Composition: what several answers reveal together, by privacy-loss distributions.

A dominating pair (P, Q) of a mechanism reveals at least as much as any two neighbours do: its hockey-stick curve
H(α) = sup over events of P − α·Q is nowhere below theirs. Drawn as the points (Q(event), P(event)) it is a concave line
from (0, 0) to (1, 1), and the least pair above many curves is the hull of all their points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from duotone.errors import DuotoneError, MissingExtra
from duotone.line.table import Table
from duotone.model.cost import MOST_ANSWERS
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.definition import Array
from duotone.privacy.numbers import Given, Number, float_below, number

STRETCH = 1 + 2.0**-40
"""Losses are raised by this much: more than floats lose, so that what is computed is never below what is true."""
RELATIVE = 2.0**-20
"""Every number here is positive and only added and multiplied: floats lose less than this, relatively, in 2^17 answers, where
δ is at least `LEAST`."""
FINE, WIDEST = 4, 256
"""A mechanism's grid: steps to its ε, and steps from 0 to its end; beyond, a loss is split between the end and infinity."""
TAIL = 2.0**-30
"""The part of a budget's δ that a composition may give away to keep its grid short."""
MOST = MOST_ANSWERS
"""Answers composed at most."""
LEAST = 2.0**-340
"""The least δ of a budget that is computed in floats: what underflows on the way to it is far less (see `capacity`)."""
SHORTEST, LONGEST = 2.0**-40, 2.0**6
"""The ε of an answer that is computed in floats: its grid and all exponentials of it are far from the ends of float64."""

RAREST = Fraction(1, 2**500)
"""The probability below which an outcome is entered as an infinite loss: 2^24 such come to less than 2^−130 of any δ here."""

Vertex = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class DominatingPair:
    """A dominating pair by the corners (Q, P) of its most revealing events, from (0, 0) to (1, 1), concave and exact.

    Each side between two corners is one outcome of the pair; a vertical one has infinite privacy loss.
    """

    corners: tuple[Vertex, ...]

    def delta(self, ratio: Given) -> Number:
        """H(α): the least δ at e^ε = α, exactly."""
        alpha = Fraction(number(ratio, "ratio"))
        return max(p - alpha * q for q, p in self.corners)

    def covers(self, other: DominatingPair) -> bool:
        """Whether this pair reveals at least as much: every corner of the other is on or below this line, exactly."""
        return all(self._covers(q, p) for q, p in other.corners)

    def _covers(self, q: Fraction, p: Fraction) -> bool:
        for (q0, p0), (q1, p1) in pairwise(self.corners):
            if q0 <= q <= q1 and (p - p0) * (q1 - q0) <= (p1 - p0) * (q - q0) and (q0 < q1 or p <= p1):
                return True
        return False


@lru_cache(maxsize=256)
def pair_of(*tables: Table) -> DominatingPair:
    """The least pair above the hockey-stick curves of every edge of these mechanisms, in both directions: of margins, whose
    signs are the answers.

    An edge is two levels next to each other; two neighbours of equal level reveal nothing. The best tests of a margin are
    whether it is at least so much, and so the answers of all levels; but for what rounding does, which is looked at, too.

    Guarantee: for every edge, both directions and every α, `delta(α)` is at least theirs; no pair is smaller.

    >>> from duotone import ApproxDP, balanced
    >>> from duotone.line.table import line_table
    >>> table = line_table(balanced(ApproxDP(exp_epsilon=2, delta="1/10")))
    >>> round(float(pair_of(table).delta(2)), 12), pair_of_definition(table.privacy).covers(pair_of(table))
    (0.1, True)
    """
    points: list[Vertex] = []
    for table in tables:
        yes = [Fraction(row[0], 2**table.bits) for row in table.entries]
        for low, high in pairwise(yes):
            points += [(low, high), (1 - high, 1 - low)]
        if table.noise.bounded:
            weights = [high - low for low, high in pairwise(yes)]
            points += [*_best_tests([*weights, Fraction(0)], [Fraction(0), *weights])]
            points += [*_best_tests([Fraction(0), *weights], [*weights, Fraction(0)])]
    return _hull(points)


def _best_tests(p: Sequence[Fraction], q: Sequence[Fraction]) -> Iterator[Vertex]:
    """The corners (Q, P) of the sets of outcomes that are likeliest under P, compared with Q."""
    order = sorted(zip(p, q, strict=True), key=lambda one: (one[1] > 0, -one[0] / one[1] if one[1] else 0))
    sums = accumulate(order, lambda so_far, one: (so_far[0] + one[0], so_far[1] + one[1]))
    return ((below, above) for above, below in sums)


@lru_cache(maxsize=256)
def pair_of_definition(privacy: ApproxDP) -> DominatingPair:
    """The least pair above every mechanism that satisfies a privacy definition: φ itself, whatever the boundary.

    >>> [tuple(map(str, corner)) for corner in pair_of_definition(ApproxDP(exp_epsilon=2, delta="1/10")).corners]
    [('0', '0'), ('0', '1/10'), ('3/10', '7/10'), ('9/10', '1'), ('1', '1')]
    """
    exact = privacy.exactly()
    delta, middle = Fraction(exact.delta), Fraction(exact.balance())
    return _hull([(Fraction(0), delta), (1 - middle, middle), (1 - delta, Fraction(1))])


def _hull(points: Iterable[Vertex]) -> DominatingPair:
    """The concave hull from (0, 0) to (1, 1), without corners that bend nothing."""
    hull: list[Vertex] = []
    for q, p in sorted({(Fraction(0), Fraction(0)), (Fraction(1), Fraction(1)), *points}):
        if hull and hull[-1][0] == q and len(hull) > 1:
            hull.pop()
        while len(hull) > 1 and _bends_up(hull[-2], hull[-1], (q, p)):
            hull.pop()
        hull.append((q, p))
    return DominatingPair(tuple(hull))


def _bends_up(a: Vertex, b: Vertex, c: Vertex) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


@dataclass(frozen=True, eq=False)
class PrivacyLossDistribution:
    """A privacy-loss distribution on a grid: Pr under P of the loss (lowest + i)·spacing, and of an infinite one.

    It is entered into Google's dp-accounting to be read. It is composed here, by plain sums of positive numbers: the
    Fourier transform there is off by 10^−15 or so whatever the size, and a ledger may promise a δ below that.
    """

    spacing: float
    lowest: int
    chances: Array
    infinite: float

    def then(self, other: PrivacyLossDistribution, tail: float = 0.0) -> PrivacyLossDistribution:
        """Both, one after the other. Up to 2·`tail` of δ is given away so that the grid stays short."""
        chances = np.convolve(self.chances, other.chances)
        infinite = self.infinite + other.infinite * (1 - self.infinite)
        if tail == 0:
            return PrivacyLossDistribution(self.spacing, self.lowest + other.lowest, chances, infinite)
        last = len(chances) - int(np.searchsorted(np.cumsum(chances[::-1]), tail))
        first = min(int(np.searchsorted(np.cumsum(chances), tail)), last - 1)
        dust = chances < tail / len(chances)  # floats this small are slow, and as good as infinite losses
        infinite += float(chances[last:].sum() + chances[first:last][dust[first:last]].sum())
        chances[first] += chances[:first].sum()
        kept = np.where(dust[first:last], 0, chances[first:last])
        return PrivacyLossDistribution(self.spacing, self.lowest + other.lowest + first, kept, infinite)

    def delta(self, epsilon: float) -> float:
        """An upper bound on the least δ at ε."""
        return min(1.0, float(self._entered().get_delta_for_epsilon(epsilon)) * (1 + RELATIVE))

    def epsilon(self, delta: float) -> float:
        """An upper bound on the least ε at δ; infinite if none will do."""
        allowed = delta / (1 + 2 * RELATIVE)
        if self.infinite > allowed:
            return math.inf
        try:
            epsilon = float(self._entered().get_epsilon_for_delta(allowed))
        except OverflowError:
            epsilon = math.inf
        return epsilon if epsilon < 600 else self._searched(delta)

    def _searched(self, delta: float) -> float:
        """The same by halving, where e^ε is near the end of float64."""
        low, high = 0.0, max(0.0, (self.lowest + len(self.chances)) * self.spacing)
        for _ in range(64):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high

    def _entered(self) -> Any:
        try:
            from dp_accounting.pld.pld_pmf import DensePLDPmf
        except ImportError:
            raise MissingExtra("a ledger's plan", "ledger") from None
        return DensePLDPmf(self.spacing, self.lowest, self.chances, self.infinite, pessimistic_estimate=True)


def losses(pair: DominatingPair, epsilon: float, *, fine: int = FINE) -> PrivacyLossDistribution:
    """A pair on the grid of multiples of ε / `fine`: an outcome between two grid points is split in two.

    The split keeps P and Q (Doroshenko and others 2022, "Connect the Dots"), so the result dominates the pair.

    Guarantee: `delta(ε')` is never below the pair's. Outcomes on the grid move by 2^−40 only; where no loss is beyond
    the grid's end, `delta(ε')` is at most (1 + 2^−20) times the pair's at ε' − ε / `fine`, and 2^−500 for each outcome. An
    outcome that is less likely than that is entered as an infinite loss that is as likely.
    """
    if epsilon and not SHORTEST <= epsilon <= LONGEST:
        raise DuotoneError(f"an answer's epsilon must be 0 or in [2^-40, 2^6] to be composed by its losses, got {epsilon:g}")
    spacing = (epsilon or 1.0) * STRETCH / fine
    outcomes = [(p1 - p0, q1 - q0) for (q0, p0), (q1, p1) in pairwise(pair.corners) if p1 > p0]
    finite = [_log(p / q) for p, q in outcomes if q > 0]
    top = min(WIDEST, max([1, *(math.ceil(abs(loss) / spacing) for loss in finite)]))
    chances, infinite = np.zeros(2 * top + 1), 0.0
    for p, q in outcomes:
        if p < RAREST:
            infinite += float(RAREST)
            continue
        loss = _log(p / q) if q > 0 else math.inf
        place = (loss + abs(loss) * (STRETCH - 1) / 2) / spacing
        if place > top:
            reached = float(q) * math.exp(top * spacing) if top * spacing < 700 else 0.0
            chances[-1] += reached
            infinite += max(0.0, float(p) - reached * (1 - RELATIVE / 2))
        else:
            upper = max(1 - top, math.ceil(place))
            share = min(1.0, math.expm1((upper - 1 - max(place, -top)) * spacing) / math.expm1(-spacing))
            chances[upper + top] += float(p) * share
            chances[upper + top - 1] += float(p) * (1 - share)
    return PrivacyLossDistribution(spacing, -top, chances, infinite)


def composed(one: PrivacyLossDistribution, count: int, tail: float = 0.0) -> PrivacyLossDistribution:
    """The same `count` times, by doubling; at most 2·`tail`·log2(count) is added to δ.

    >>> one = losses(pair_of_definition(ApproxDP(1, "1e-6")), 1.0, fine=1)
    >>> round(composed(one, 10).delta(5), 6), round(composed(one, 10).epsilon(1e-3), 3)
    (0.363598, 9.977)
    """
    if not 0 <= count <= MOST:
        raise DuotoneError(f"at most {MOST} answers are composed, got {count}")
    total = PrivacyLossDistribution(one.spacing, 0, np.ones(1), 0.0)
    while count:
        total = total.then(one, tail) if count & 1 else total
        count >>= 1
        one = one.then(one, tail) if count else one
    return total


def capacity(one: PrivacyLossDistribution, epsilon: Number, delta: Number) -> int:
    """The most answers whose composition is (ε, δ)-private, by the same doubling; at most 2^17, and none for δ < 2^−340.

    Guarantee: never too many. A product of floats is off by 2^−52 of itself or, where it underflows, by 2^−1074. Grids have
    less than 2^30 points, so that one composition loses less than 2^−1014 to underflow, and all of them together, each counted
    for every answer it stands for, less than 2^−980: a part in 2^640 of δ. `RELATIVE` covers that and the rest.
    """
    at, allowed = float_below(epsilon), float_below(delta)
    if not allowed >= LEAST:
        return 0
    tail = allowed * TAIL
    powers = [one]
    while len(powers) <= 17 and powers[-1].delta(at) <= allowed:
        powers.append(powers[-1].then(powers[-1], tail))
    total, count = PrivacyLossDistribution(one.spacing, 0, np.ones(1), 0.0), 0
    for i in reversed(range(len(powers))):
        if count + 2**i <= MOST and (longer := total.then(powers[i], tail)).delta(at) <= allowed:
            total, count = longer, count + 2**i
    return count


def _log(x: Fraction) -> float:
    """ln x, accurate near 1."""
    return math.log1p(float(x - 1)) if abs(x - 1) < Fraction(1, 2) else math.log(x.numerator) - math.log(x.denominator)
