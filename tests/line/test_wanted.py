"""The ε that an error needs: against the definition of the balanced mechanism, iterated in plain fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP
from duotone.errors import DuotoneError
from duotone.line.choice import STEPS, least_epsilon
from support.running import examples


def error(epsilon: Fraction, delta: Fraction, people: int) -> Fraction:
    """Pr[wrong], by the step bound alone: at the boundary both sides are as right as each other, then φ is iterated."""
    ratio = ApproxDP(epsilon, delta).exp_epsilon
    yes = (ratio + delta) / (ratio + 1)
    for _ in range(people - 1):
        yes = min(ratio * yes + delta, 1 - (1 - yes - delta) / ratio, Fraction(1))
    return 1 - yes


@examples(30)
@given(st.integers(1, 30), st.sampled_from(["0.3", "0.1", "0.01", "1e-4"]), st.sampled_from(["0", "1e-6", "1e-3"]))
def test_it_is_enough_and_a_step_less_is_not(people: int, wrong: str, delta: str) -> None:
    epsilon, slack = least_epsilon(wrong, people, delta), Fraction(1, 2**55)
    assert error(epsilon, Fraction(delta), people) <= Fraction(wrong) + slack
    below = STEPS.index(epsilon) - 1
    assert below < 0 or error(STEPS[below], Fraction(delta), people) > Fraction(wrong) - slack


def test_a_budget_that_is_divided_is_that_of_all_parts() -> None:
    total = least_epsilon("0.01", 10, "1e-6", parts=4)
    assert error(total / 4, Fraction(1, 4 * 10**6), 10) <= Fraction(1, 100) + Fraction(1, 2**55)
    assert error(STEPS[STEPS.index(total) - 1] / 4, Fraction(1, 4 * 10**6), 10) > Fraction(1, 100)


@pytest.mark.parametrize(("wrong", "people"), [("0", 1), ("0.6", 1), ("nan", 1), ("0.1", 0), ("0.1", True), ("1e-60", 1)])
def test_what_cannot_be_wanted_is_refused(wrong: str, people: int) -> None:
    with pytest.raises(DuotoneError):
        least_epsilon(wrong, people)
