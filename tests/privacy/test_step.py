"""φ itself: Definition 1, exactly and in floats, and the balanced value that it leads to."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duotone import ApproxDP, DuotoneError
from support.oracles import indistinguishable
from support.strategies import exact_budgets, float_budgets, probabilities

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


@pytest.mark.parametrize(
    "x",
    [-0.1, 1.1, NAN, Fraction(-1, 3), *(np.array([0.5, x]) for x in (NAN, -1e-9, 1 + 1e-9, -1, 2)), np.array(["0.5"])],
    ids=str,
)
def test_bad_probabilities(x: Any) -> None:
    with pytest.raises(DuotoneError, match=r"must be in \[0, 1\]"):
        ApproxDP(1).step(x)


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


def test_an_exact_number_under_a_budget_of_floats() -> None:
    for privacy, x, expected in ((ApproxDP(0.0, 0.0), Fraction(1, 2), 0.5), (ApproxDP(1), Fraction(1), 1.0)):
        assert (type(privacy.step(x)), privacy.step(x)) == (float, expected)
    assert ApproxDP(0.0, 0.0).step(Fraction(1, 3)) == Fraction(1, 3)  # no float is as large and not larger
    for privacy, kind in ((ApproxDP(1), float), (ApproxDP(exp_epsilon=2), Fraction)):
        assert type(privacy.represent(Fraction(1, 4))) is kind
        assert type(privacy.represent(0.25)) is float
