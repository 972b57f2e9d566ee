"""Two groups: p-values are the largest of all common shares, and are valid."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, balanced
from duotone.line.table import line_table
from duotone.statistics.shares import OfNoisyNumber
from duotone.statistics.two_shares import CLOSE, TwoShares, fisher
from support.running import examples

NOISE = line_table(balanced(ApproxDP(1, "1e-6"))).noise
counts = st.tuples(st.integers(-5, 60), st.integers(-5, 60))


@given(counts, counts)
@examples(30)
def test_no_common_share_is_left_out(first: tuple[int, int], second: tuple[int, int]) -> None:
    """At no share are the two p-values, with statistics that are centred near it, larger together."""
    found, products = TwoShares(first, second, NOISE).p_above, []
    for steps in range(2, 64, 3):
        share = Fraction(steps, 64)
        near = Fraction(2 * (steps // 2) + 1, 64)
        one, other = (OfNoisyNumber(*own, NOISE, near) for own in (first, second))
        products.append(one.p_above(share) * other.p_below(share))
    assert max(fisher(product) for product in products) <= found * (1 + 1e-9)


def test_the_p_value_is_reached() -> None:
    """Shares are tried until one has a product almost as large as what no share exceeds."""
    two = TwoShares((60, 140), (45, 155), NOISE)
    tried = [
        OfNoisyNumber(60, 140, NOISE, Fraction(2 * part + 1, 64)).p_above(Fraction(share, 1024))
        * OfNoisyNumber(45, 155, NOISE, Fraction(2 * part + 1, 64)).p_below(Fraction(share, 1024))
        for share in range(220, 320, 2)
        for part in [share // 32]
    ]
    assert fisher(max(tried)) <= two.p_above <= fisher(max(tried) * CLOSE * 1.05)


@given(st.floats(1e-12, 1))
@examples(100)
def test_fisher_is_the_chance_of_a_product(product: float) -> None:
    """The area below a hyperbola, by the midpoints of many strips in logarithms."""
    x = np.exp(np.linspace(np.log(product), 0, 20_001))
    area = product + float(np.sum(product / ((x[1:] + x[:-1]) / 2) * np.diff(x)))
    assert fisher(product) == pytest.approx(area, rel=1e-5)


def test_fisher_of_nothing() -> None:
    assert (fisher(0.0), fisher(1.0)) == (0.0, 1.0)


def test_both_sides() -> None:
    two = TwoShares((60, 140), (30, 170), NOISE)
    assert two.p_value("=") == 2 * two.p_above < 0.01
    assert TwoShares((30, 170), (60, 140), NOISE).p_value(">=") == two.p_value("<=") == two.p_above
    assert TwoShares((50, 50), (50, 50), NOISE).p_value("=") == 1.0


@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.false_alarm(1e-9)
def test_equal_shares_are_seldom_told_apart(share: float) -> None:
    """Of 200 draws at α = 0.2, on average at most 40 are rejected; more than 80 in fewer than one run in a billion."""
    noise = line_table(balanced(ApproxDP(2, "1e-3"))).noise
    random = np.random.default_rng(5)
    values = np.arange(noise.least, noise.most + 1)
    chances = [float(noise.chance(-s) - noise.chance(-s - 1)) for s in values.tolist()]

    @lru_cache
    def p(first: tuple[int, int], second: tuple[int, int]) -> float:
        return TwoShares(first, second, noise).p_above

    rejected = 0
    for _ in range(200):
        yes = random.binomial([12, 20], share)
        off = random.choice(values, 4, p=np.array(chances) / sum(chances))
        first, second = (int(yes[0] + off[0]), int(12 - yes[0] + off[1])), (int(yes[1] + off[2]), int(20 - yes[1] + off[3]))
        rejected += p(first, second) <= 0.2
    assert rejected <= 80
