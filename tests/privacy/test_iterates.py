"""φ applied n times: the closed form against the recurrence, near certainty and very far away."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duotone import ApproxDP, DuotoneError, balanced
from duotone.privacy.numbers import log_ceiling
from support.strategies import exact_budgets, float_budgets, probabilities


@given(exact_budgets, probabilities, st.integers(0, 25))
@example(ApproxDP(exp_epsilon=2, delta=0), Fraction(0), 5)  # R = 1 with δ = 0: the truth is never told
@example(ApproxDP(0, "1/10"), Fraction(1, 5), 5)  # ε = 0
@example(ApproxDP(exp_epsilon="1.3", delta="0.1"), Fraction(12, 13), 3)  # the paper's τ = −2
def test_closed_form_is_the_recurrence(privacy: ApproxDP, x: Fraction, n: int) -> None:
    truth, pieces = x, 0
    for i in range(n):
        first = privacy.exp_epsilon * truth + Fraction(privacy.delta)
        second = 1 - (1 - truth - Fraction(privacy.delta)) / privacy.exp_epsilon
        if first < second and privacy.exp_epsilon > 1:
            assert i == pieces, "the first piece is never taken again after the second"
            pieces += 1
        truth = min(Fraction(1), first, second)
    assert privacy.iterate(x, n) == (truth, 1 - truth)
    assert min(privacy.transition(x) + 1, n) == pieces
    assert (truth == 1) == (n >= privacy.certain_after(x))


def _steps(privacy: ApproxDP, x: float, n: int) -> Fraction:
    """φ^n(x), written out: fractions of the same floats, nothing rounded."""
    truth = Fraction(x)
    for _ in range(n):
        truth = _next(privacy, truth)
    return truth


def _next(privacy: ApproxDP, x: Fraction) -> Fraction:
    y, d = privacy.exp_epsilon, Fraction(privacy.delta)
    return min(Fraction(1), y * x + d, 1 - (1 - x - d) / y)


def _same(got: float, exact: Fraction) -> bool:
    """Equal up to the last bits of a float64."""
    return abs(Fraction(got) - exact) <= exact / 2**52 + Fraction(1, 2**1074)


@given(float_budgets, st.one_of(st.floats(0, 1), st.sampled_from([0.0, 5e-324, 1 - 2**-53, 1.0])), st.integers(0, 40))
@example(ApproxDP(0.5, 1e-9), 0.3, 39)
@example(ApproxDP(1e-12, 1e-3), 0.5, 40)
def test_float_closed_form_is_right_to_the_last_bits(privacy: ApproxDP, x: float, n: int) -> None:
    exact = _steps(privacy, x, n)
    truth, error = privacy.iterate(x, n)
    assert _same(float(truth), exact)
    assert _same(float(error), 1 - exact)
    assert (error == 0) == (exact == 1) or 1 - exact < Fraction(1, 2**1074)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.1, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("x", [0.0, 1e-9, 0.5, 0.9])
def test_float_errors_are_right_next_to_where_they_become_0(epsilon: float, delta: float, x: float) -> None:
    """Two numbers that nearly agree are subtracted there."""
    privacy = ApproxDP(epsilon, delta)
    last = privacy.certain_after(x)
    if last > 300:
        # δ chosen so that the last step is tiny: the error after one step of the second piece, times 1 ± 2^-40
        exact = ApproxDP(exp_epsilon=privacy.exp_epsilon)
        delta = float(
            (1 - Fraction(exact.step(Fraction(1, 2))))
            * (privacy.exp_epsilon - 1)
            / (privacy.exp_epsilon**7 - 1)
            / privacy.exp_epsilon
        )
        privacy, x = ApproxDP(epsilon, min(delta * (1 - 2**-40), 0.5)), 0.5
        last = privacy.certain_after(x)
    assert last <= 300
    n = np.arange(int(last) + 3)
    truth, error = privacy.iterate(x, n)
    exact_truth = Fraction(x)
    for i in n.tolist():
        assert _same(float(truth[i]), exact_truth)
        assert _same(float(error[i]), 1 - exact_truth)
        assert (float(truth[i]), float(error[i])) == privacy.iterate(x, i)
        exact_truth = _next(privacy, exact_truth)
    assert error[-3:].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 0.01, 1.0, 50.0, 700.0])
@pytest.mark.parametrize("delta", [0.0, 1e-200, 1e-18, 1e-6])
@pytest.mark.parametrize("x", [0.0, 1e-250, 1e-9, 0.5, 0.9])
def test_far_away_against_high_precision(epsilon: float, delta: float, x: float) -> None:
    privacy = ApproxDP(epsilon, delta)
    n = np.array([0, 1, 2, 10, 1000, 10**6, 10**12, 5 * 10**12, 10**15, 10**18])
    with np.errstate(all="raise", under="ignore"):
        truth, error = privacy.iterate(x, n)
    assert np.isfinite(truth).all()
    assert np.isfinite(error).all()
    assert (np.diff(truth) >= 0).all()
    for i, distance in enumerate(n.tolist()):
        exact_truth, exact_error = _high_precision(privacy, x, distance)
        assert truth[i] == pytest.approx(exact_truth, rel=1e-15, abs=1e-323)
        assert error[i] == pytest.approx(exact_error, rel=1e-15, abs=1e-323)


def _high_precision(privacy: ApproxDP, x: float, n: int) -> tuple[float, float]:
    """Theorem 4 as printed, with 3,000 bits and without care."""
    with gmpy2.context(precision=3000, emax=2**40, emin=-(2**40)):
        y = gmpy2.mpfr(gmpy2.mpq(privacy.exp_epsilon.numerator, privacy.exp_epsilon.denominator))
        e, d, r = gmpy2.log(y), gmpy2.mpfr(float(privacy.delta)), 1 - gmpy2.mpfr(x)
        if r == 1 and d == 0:
            return 0.0, 1.0
        inside = (y + 2 * d - 1) / ((1 - r) * (y**3 - y) + d * (y**2 + y))
        first = min(max(int(gmpy2.ceil(gmpy2.log(inside) / e)), -1) + 1, n)
        if n * privacy.epsilon > 1e7 and n > first:
            return 1.0, 0.0  # e^−10,000,000
        start = 1 - gmpy2.exp(e * first) * (1 - r) - d * gmpy2.expm1(first * e) / (y - 1)
        last = gmpy2.exp(e * (n - first))
        end = max(start / last - d * (last - 1) / (last * (y - 1)), gmpy2.mpfr(0))
        return float(1 - end), float(end)


@pytest.mark.parametrize(
    ("ratio", "start", "by_hand"),
    [("2", "1/5", "1/5 1/2 4/5 19/20 1"), ("3/2", "1/10", "1/10 1/4 19/40 43/60 79/90 133/135 1")],
)
def test_exact_probabilities_of_many_distances(ratio: str, start: str, by_hand: str) -> None:
    """With δ = 1/10: 2·0.2 + 0.1 = 0.5, 1 − (1 − 0.5 − 0.1)/2 = 0.8, …"""
    expected = [Fraction(x) for x in by_hand.split()]
    privacy = ApproxDP(exp_epsilon=ratio, delta="1/10")
    truth, error = privacy.iterate(start, np.array([[*range(len(expected))], [10**18] * len(expected)]))
    assert truth.tolist() == [expected, [1] * len(expected)]
    assert error.tolist() == [[1 - x for x in expected], [0] * len(expected)]
    assert privacy.certain_after(start) == len(expected) - 1


@pytest.mark.parametrize("ratio", ["11/10", "5/4", "2", "7"])
@pytest.mark.parametrize("delta", ["1/10", "1/100", "1/1000"])
@pytest.mark.parametrize("x", ["0", "1/1000", "1/50", "1/3"])
def test_certainty_comes_after_as_many_steps_as_are_counted_one_by_one(ratio: str, delta: str, x: str) -> None:
    privacy, truth, steps = ApproxDP(exp_epsilon=ratio, delta=delta), Fraction(x), 0
    while truth < 1:
        truth, steps = _next(privacy, truth), steps + 1
    assert privacy.certain_after(x) == steps


def test_numbers_of_steps_are_counted_up_to_2_to_the_1000() -> None:
    for steps, counted in ((2**1000 - 1, float(2**1000 - 1)), (2**999 + 1, float(2**999 + 1)), (2**1000, math.inf)):
        assert ApproxDP(exp_epsilon=1, delta=Fraction(1, steps)).certain_after(0) == counted
    for bits, counted in ((1000, math.log(2) * 2.0**1000), (1001, math.inf)):  # ln 2 / ln(1 + 2^-bits) steps double a number
        gain = Fraction(1, 2**bits)
        assert ApproxDP(exp_epsilon=1 + gain).transition("1/4") == pytest.approx(counted)
        assert ApproxDP(exp_epsilon=1 + gain, delta=gain / 2).certain_after("1/2") == pytest.approx(counted)


def test_exact_values_too_long_to_write_are_refused() -> None:
    assert ApproxDP(exp_epsilon=2, delta="1/10").iterate(Fraction(1, 2), 10**18)[0] == 1
    assert ApproxDP(exp_epsilon=2).iterate(0, 10**18) == (0, 1)  # no truth at the boundary, and none anywhere
    for steps in (2**24 + 1, 10**18):
        with pytest.raises(DuotoneError, match="too long to write down"):
            ApproxDP(exp_epsilon=2).iterate(Fraction(1, 2), steps)
    with pytest.raises(DuotoneError, match="at least 0"):
        ApproxDP(1).iterate(0.5, -1)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-6), (2, 1e-6), (1, 0.1), (0.5, 1e-9)])
def test_certain_distance_matches_the_published_formula(epsilon: float, delta: float) -> None:
    y = math.exp(epsilon)
    formula = math.ceil(math.log((y - 1 + 2 * delta) / (delta * (y + 1))) / epsilon)
    assert balanced(ApproxDP(epsilon, delta)).certain == (formula, formula)


@pytest.mark.parametrize("base", [Fraction(2), Fraction(3, 2), Fraction(10**9 + 1, 10**9)])
@pytest.mark.parametrize("n", [3, 1000, 33_001])
def test_the_least_power_is_exact_however_near_a_tie(base: Fraction, n: int) -> None:
    """Proved for any n (proofs/Transition.v, `initial_counts`); a logarithm of 160 bits missed by one where n was large."""
    for nearness, least in ((0, n), (Fraction(-1, 2**300), n), (Fraction(1, 2**300), n + 1)):
        assert log_ceiling(base**n * (1 + nearness), base) == least
    start = (1 + Fraction(1, 2**300)) / (3 * 2**33_001)
    assert ApproxDP(exp_epsilon=2).transition(start) + 1 == 33_001
