"""ε, e^ε and δ: how they are given, read, compared, rounded and divided."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, DuotoneError, balanced
from support.strategies import exact_budgets, float_budgets

NAN = float("nan")


@pytest.mark.parametrize("epsilon", ["1", "0.1", "1/3", "1e-9", "700", 5e-324, 1e-300, 20.0])
def test_ratio_is_just_below_the_exponential(epsilon: str | float) -> None:
    ratio = ApproxDP(epsilon).exp_epsilon
    exponent = Fraction(epsilon)
    with gmpy2.context(precision=4000):
        excess = gmpy2.expm1(gmpy2.mpfr(gmpy2.mpq(exponent.numerator, exponent.denominator)))
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
        ({"epsilon": "log 2"}, "if epsilon is log R, give exp_epsilon, which is R; got log 2"),
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
        with pytest.raises(DuotoneError, match="must be a whole number, at least 1"):
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
