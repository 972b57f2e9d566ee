from __future__ import annotations

import math
import runpy
from dataclasses import FrozenInstanceError
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import indistinguishable
from scipy.stats import norm
from strategies import exact_budgets, float_budgets, probabilities

from duotone import ApproxDP, DuotoneError, balanced, design
from duotone.graphs import families
from duotone.privacy.definition import balance, certain_after, iterate

NAN = float("nan")


@given(exact_budgets, probabilities, probabilities)
def test_step_is_definition_1(privacy: ApproxDP, p: Fraction, q: Fraction) -> None:
    both = p <= privacy.step(q) and q <= privacy.step(p)
    assert both == indistinguishable(p, q, privacy.exp_epsilon, Fraction(privacy.delta))


@given(exact_budgets, probabilities, probabilities)
def test_step_is_increasing_concave_and_dual(privacy: ApproxDP, p: Fraction, q: Fraction) -> None:
    low, high = privacy.step(min(p, q)), privacy.step(max(p, q))
    assert min(p, q) <= low <= high <= 1
    assert privacy.step((p + q) / 2) >= Fraction(low + high) / 2
    assert privacy.step(1 - privacy.step(p)) >= 1 - p


@given(float_budgets, st.one_of(st.floats(0, 1), st.sampled_from([0.0, 5e-324, 1e-300, 0.5, 1 - 2**-53, 1.0])))
@example(ApproxDP(0.0, 0.1), 0.9)
@example(ApproxDP(1.0, 0.75), 0.25)
@example(ApproxDP(1.0, 0.25), 0.75)
@example(ApproxDP(1.0, 1 - 2**-53), 0.75 * 2**-53)  # x + δ is below 1, and 1 − x rounds to δ
@example(ApproxDP(0.5, 0.0), 5e-324)  # the least float, which rounding to the nearest would double
def test_float_step_never_exceeds_the_exact_one(privacy: ApproxDP, x: float) -> None:
    got, bound = privacy.step(x), privacy.exactly().step(Fraction(x))
    assert isinstance(got, float)
    assert x <= got <= bound
    assert got >= float(bound) * (1 - 1e-15) - 1e-322
    assert (got == 1) == (bound == 1)
    (many,) = privacy.step(np.array([x])).tolist()
    assert x <= many <= bound
    assert many >= float(bound) * (1 - 1e-14) or bound < 1e-290 or 0 < x < 1e-290  # subnormals are only safe
    assert (many == 1) == (bound == 1)


def test_arrays_of_fractions() -> None:
    exact = ApproxDP(exp_epsilon=2, delta="1/10")
    fractions = np.array([Fraction(i, 4) for i in range(5)], dtype=object)
    assert exact.step(fractions).tolist() == [exact.step(v) for v in fractions.tolist()]


@pytest.mark.parametrize("epsilon", ["1", "0.1", "1/3", "1e-9", "700", 5e-324, 1e-300, 20.0])
def test_ratio_is_just_below_the_exponential(epsilon: str | float) -> None:
    ratio = ApproxDP(epsilon).exp_epsilon
    given = Fraction(epsilon)
    with gmpy2.context(precision=4000):
        excess = gmpy2.expm1(gmpy2.mpfr(gmpy2.mpq(given.numerator, given.denominator)))
        gap = excess - gmpy2.mpq(ratio.numerator - ratio.denominator, ratio.denominator)
        assert 0 <= gap <= excess * gmpy2.mpfr(2) ** -50  # the float nearest to ε may lie below it by 2^-53


def test_huge_epsilon() -> None:
    free = ApproxDP(1e308)
    assert free.step(Fraction(0)) == 0.0
    assert free.step(0.0) == 0.0
    assert free.step(1e-300) > 0.999999
    assert free.iterate(0.5, 1)[1] == pytest.approx(0, abs=1e-300)
    assert 0.999999 < balanced(free).blue < 1
    assert ApproxDP("1e400").exp_epsilon == free.exp_epsilon
    assert ApproxDP(exp_epsilon=Fraction(10) ** 400).step(Fraction(1, 2)) == 1 - Fraction(1, 2 * 10**400)


def test_no_budget_at_all() -> None:
    nothing = ApproxDP(0, 0)
    assert nothing.exact
    assert nothing.step("1/3") == Fraction(1, 3)
    assert nothing.balance() == Fraction(1, 2)
    assert nothing.certain_after("1/3") == math.inf
    assert nothing.certain_after(1) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"epsilon": -1}, "epsilon must be finite and at least 0, got -1"),
        ({"epsilon": NAN}, "epsilon must be finite and at least 0, got nan"),
        ({"epsilon": math.inf}, "epsilon must be finite"),
        ({"epsilon": 1, "delta": 1}, r"delta must be in \[0, 1\), got 1"),
        ({"epsilon": 1, "delta": NAN}, r"delta must be in \[0, 1\), got nan"),
        ({"epsilon": 1, "delta": "-1/10"}, "delta must be"),
        ({"exp_epsilon": "1/2"}, r"e\^epsilon must be finite and at least 1, got 1/2"),
        ({"exp_epsilon": NAN}, r"e\^epsilon must be finite"),
        ({"exp_epsilon": math.inf}, r"e\^epsilon must be finite"),
        ({}, "give epsilon or exp_epsilon"),
        ({"epsilon": 1, "exp_epsilon": 2}, "one of the two"),
        ({"epsilon": "one"}, "epsilon must be a decimal or a fraction"),
        ({"epsilon": "1/0"}, "epsilon must be a decimal or a fraction"),
        ({"epsilon": [1]}, "epsilon must be a number, got list"),
    ],
)
def test_bad_budgets(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        ApproxDP(**arguments)


@pytest.mark.parametrize(
    "x",
    [-0.1, 1.1, NAN, Fraction(-1, 3), *(np.array([0.5, x]) for x in (NAN, -1e-9, 1 + 1e-9, -1, 2)), np.array(["0.5"])],
    ids=str,
)
def test_bad_probabilities(x: Any) -> None:
    with pytest.raises(DuotoneError, match=r"must be in \[0, 1\]"):
        ApproxDP(1).step(x)


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


@given(exact_budgets)
def test_balance_is_the_largest_fixed_point(privacy: ApproxDP) -> None:
    m = privacy.balance()
    assert privacy.step(1 - m) == m
    above = m + (1 - m) / 7
    assert above == 1 or privacy.step(1 - above) < above


@given(float_budgets)
def test_float_balance_is_private(privacy: ApproxDP) -> None:
    m = Fraction(privacy.balance())
    assert m <= privacy.exactly().step(1 - m)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-6), (2, 1e-6), (1, 0.1), (0.5, 1e-9)])
def test_certain_distance_matches_the_published_formula(epsilon: float, delta: float) -> None:
    y = math.exp(epsilon)
    formula = math.ceil(math.log((y - 1 + 2 * delta) / (delta * (y + 1))) / epsilon)
    assert balanced(ApproxDP(epsilon, delta)).certain == (formula, formula)


@given(st.lists(st.tuples(probabilities, probabilities), min_size=1, max_size=5), st.fractions(0, Fraction(1, 2)))
def test_tightest(pairs: list[tuple[Fraction, Fraction]], delta: Fraction) -> None:
    def private(notion: ApproxDP) -> bool:
        return all(indistinguishable(p, q, notion.exp_epsilon, Fraction(notion.delta)) for p, q in pairs)

    try:
        least = ApproxDP.tightest(pairs, delta=delta)
    except DuotoneError:
        assert not private(ApproxDP(exp_epsilon=10**9, delta=delta))
    else:
        assert private(least)
        assert least.exp_epsilon == 1 or not private(
            ApproxDP(exp_epsilon=1 + (least.exp_epsilon - 1) * Fraction(999, 1000), delta=delta)
        )
    try:
        least = ApproxDP.tightest(pairs, exp_epsilon=2)
    except DuotoneError:
        assert any({p, q} == {0, 1} for p, q in pairs)
    else:
        assert private(least)
        assert least.delta == 0 or not private(ApproxDP(exp_epsilon=2, delta=Fraction(least.delta) * Fraction(999, 1000)))


@given(st.one_of(exact_budgets, float_budgets), st.integers(1, 50))
def test_shares_of_a_budget_never_exceed_it(privacy: ApproxDP, parts: int) -> None:
    share = privacy.split(parts)
    assert Fraction(share.delta) * parts == Fraction(privacy.delta)
    assert (share.exp_epsilon**parts - 1) * (1 + Fraction(1, 2**100)) >= privacy.exp_epsilon - 1
    if privacy.epsilon_exact is None:
        assert share.exp_epsilon**parts <= privacy.exp_epsilon
        return
    assert share.epsilon_exact is not None
    assert share.epsilon_exact * parts == privacy.epsilon_exact
    exact = Context(prec=1200)
    power = exact.exp(exact.divide(Decimal(share.epsilon_exact.numerator), Decimal(share.epsilon_exact.denominator)))
    assert share.exp_epsilon <= Fraction(power) * (1 + Fraction(1, 10**1190))  # another library's e^ε


def test_notions_are_equal_only_if_their_epsilon_is() -> None:
    """Ratios have 128 bits: far more ε than ratios, and two ε of one ratio are two charges."""
    near = [ApproxDP(f"0.5{'0' * 50}{digit}") for digit in range(5)]
    assert len({privacy.exp_epsilon for privacy in near}) == 1
    assert len(set(near)) == 5
    assert ApproxDP(0, "0.1") != ApproxDP(exp_epsilon=1, delta="0.1")
    assert ApproxDP(1) == ApproxDP("1") == ApproxDP(1.0)


def test_beyond_the_largest_epsilon_there_is_one_notion() -> None:
    assert ApproxDP(9000, "0.1") == ApproxDP(10**4, "0.1") == ApproxDP(8192, "0.1") != ApproxDP("8191.9", "0.1")


def test_a_ratio_is_read_as_it_was_written_down() -> None:
    assert ApproxDP.from_exp_epsilon("3/2", "1/10") == ApproxDP(exp_epsilon="3/2", delta="1/10")
    long = ApproxDP(8192).exp_epsilon  # too long to be asked for, and yet somebody's budget
    assert ApproxDP.from_exp_epsilon(long, "1/10").exp_epsilon == long
    for below in ("1/2", 0, -3, "0.999999", NAN, math.inf):
        with pytest.raises(DuotoneError, match=r"e\^epsilon must be finite and at least 1"):
            ApproxDP.from_exp_epsilon(below, 0)
    with pytest.raises(DuotoneError, match=r"e\^epsilon has too many digits"):
        ApproxDP.from_exp_epsilon(2**11821, 0)
    for delta in (1, "-1/10", NAN):
        with pytest.raises(DuotoneError, match="delta must be"):
            ApproxDP.from_exp_epsilon(2, delta)


def test_the_epsilon_of_a_ratio_is_right_to_its_last_bits() -> None:
    for epsilon in (0.0, 1e-300, 1e-9, 0.1, 0.7, 1.0, 1.1, 2.3, 3.7, 9.3, 99.9, 690.1, 700.3, 8000.7):
        assert ApproxDP.from_exp_epsilon(ApproxDP(epsilon).exp_epsilon, 0).epsilon == pytest.approx(epsilon, rel=3e-16, abs=0)


@pytest.mark.parametrize("epsilon", ["0", "1e-9", "0.3", "1", "60"])
def test_the_notion_above_allows_more_by_very_little(epsilon: str) -> None:
    power = Fraction(Context(prec=200).exp(Decimal(epsilon)))  # another library's e^ε
    above = ApproxDP(epsilon, "0.1").above()
    assert above.exact
    assert power <= above.exp_epsilon <= power + (power - 1) / 2**119
    assert above.delta == Fraction(1, 10)
    assert ApproxDP(exp_epsilon="3/2", delta="0.1").above() == ApproxDP(exp_epsilon="3/2", delta="0.1")


def test_a_budget_is_divided_among_a_number_of_answers_that_can_be_counted() -> None:
    assert ApproxDP("1/3").split(2**63 - 1).epsilon_exact == Fraction(1, 3 * (2**63 - 1))
    assert ApproxDP(exp_epsilon="4/3", delta="0.1").split(1) == ApproxDP(exp_epsilon="4/3", delta="0.1")
    for parts in (0, -1, 2**63, 3**50, 1.0, True, "2"):
        with pytest.raises(DuotoneError, match="a whole number of answers, at least 1"):
            ApproxDP(1).split(parts)  # type: ignore[arg-type]


def test_a_notion_never_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        ApproxDP(1).delta = 0.5  # type: ignore[misc]


def test_a_parameter_has_a_bounded_length() -> None:
    for long in ("0." + "1" * 120_000, Fraction(1, 10**1300), "1e-2999"):
        with pytest.raises(DuotoneError, match="epsilon has too many digits: at most 1228"):
            ApproxDP(long)
        with pytest.raises(DuotoneError, match="delta has too many digits"):
            ApproxDP(1, long)
        with pytest.raises(DuotoneError, match=r"e\^epsilon has too many digits"):
            ApproxDP(exp_epsilon=1 + Fraction(long) if isinstance(long, Fraction) else long)
    tiny = ApproxDP(5e-324, 5e-324)  # every float is short enough, and so is a share of it
    assert tiny.split(2**62).epsilon_exact == Fraction(5e-324) / 2**62


def test_an_exact_number_under_a_budget_of_floats() -> None:
    for privacy, x, expected in ((ApproxDP(0.0, 0.0), Fraction(1, 2), 0.5), (ApproxDP(1), Fraction(1), 1.0)):
        assert (type(privacy.step(x)), privacy.step(x)) == (float, expected)
    assert ApproxDP(0.0, 0.0).step(Fraction(1, 3)) == Fraction(1, 3)  # no float is as large and not larger
    for privacy, kind in ((ApproxDP(1), float), (ApproxDP(exp_epsilon=2), Fraction)):
        assert type(privacy.represent(Fraction(1, 4))) is kind
        assert type(privacy.represent(0.25)) is float


def test_neighbours_that_never_agree_have_no_notion() -> None:
    for pair in ((0, 1), (1, 0)):
        with pytest.raises(DuotoneError, match="never give the same answer"):
            ApproxDP.tightest([pair], exp_epsilon=2)
        with pytest.raises(DuotoneError, match="no finite epsilon"):
            ApproxDP.tightest([pair], delta="0.99")
    nearly = ApproxDP.tightest([(0, Fraction(99, 100))], exp_epsilon=2)
    assert (nearly.exp_epsilon, nearly.delta) == (Fraction(2), Fraction(99, 100))


def test_tightest_wants_one_of_the_two() -> None:
    with pytest.raises(DuotoneError, match="not both"):
        ApproxDP.tightest([], epsilon=1, delta=0)
    assert ApproxDP.tightest([], epsilon=1) == ApproxDP(1, Fraction(0))


class GaussianDP:
    """μ-Gaussian differential privacy: a notion of one's own is one φ."""

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def step(self, x: Any) -> Any:
        shifted = norm.cdf(norm.ppf(np.asarray(x, dtype=float)) + self.mu)
        return shifted if isinstance(x, np.ndarray) else max(float(x), float(shifted))


def test_a_new_notion_is_one_step() -> None:
    gaussian = GaussianDP(0.7)
    assert balance(gaussian) == pytest.approx(norm.cdf(0.35))
    assert iterate(gaussian, 0.3, 4)[0] == pytest.approx(norm.cdf(norm.ppf(0.3) + 2.8))
    assert certain_after(gaussian, 1.0) == 0
    graph = families.figure_2()
    for boundary in ("balanced", 0.6, {"h": 0.6, "l": 0.7}):
        assert design(graph, gaussian, boundary).check(gaussian).holds
    levels = np.array([-3, -1, 0, 2])
    line = balanced(gaussian)
    assert line.yes(levels).tolist() == pytest.approx([line.yes(int(level)) for level in levels])


@pytest.mark.slow
def test_the_example_of_a_notion_keeps_its_contract() -> None:
    """φ increasing, φ(x) ≥ x, φ(1 − φ(x)) ≥ 1 − x to the last bit, concave up to its grid, never above the true curve."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "own_definition.py"))
    rng = np.random.default_rng(11)
    for mu in (0.01, 0.5, 1.0, 3.0):
        notion = example["GaussianDP"](mu)
        floats = [np.arange(2049) / 2048, rng.random(8000), 10 ** -rng.uniform(0, 20, 2000), 1 - 2.0 ** -np.arange(54)]
        grid = sorted({0.0, 5e-324, 1.0, *(float(x) for x in np.concatenate(floats))})
        steps = [notion.step(x) for x in grid]
        assert all(low <= high for low, high in pairwise(steps))
        for x, y in zip(grid, steps, strict=True):
            assert 0 <= x <= y <= 1
            assert notion.step(1 - Fraction(y)) >= 1 - Fraction(x)
            assert notion.step(1 - y) >= 1 - Fraction(x) or float(1 - Fraction(y)) != 1 - Fraction(y)
        true = norm.cdf(norm.ppf(np.array(grid)) + mu)
        assert (np.array(steps) <= true + 1e-15).all()
        assert (np.array(steps) >= true - 1e-5).all() or mu > 1
        even = [Fraction(notion.step(i / 4096)) for i in range(4097)]
        assert all(2 * b >= a + c - Fraction(4, 2**40) for a, b, c in zip(even, even[1:], even[2:], strict=False))
