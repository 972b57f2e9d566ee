"""How many answers a budget buys, against sums in plain arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from duotone import ApproxDP
from duotone.ledger.capacity import Capacity, capacities

BUDGETS = [("1", "1e-6"), ("1/3", "1e-9"), ("8", "1e-5")]
EACH = [("0.01", "1e-12"), ("0.1", "1e-7"), ("1/3", "0"), ("9", "0")]


def by_sums(epsilon: str, delta: str, each: str, each_delta: str) -> int:
    parts = [Fraction(epsilon) / Fraction(each)] + ([Fraction(delta) / Fraction(each_delta)] if Fraction(each_delta) else [])
    return math.floor(min(parts))


@pytest.mark.parametrize("total", BUDGETS)
@pytest.mark.parametrize("each", EACH)
def test_sums(total: tuple[str, str], each: tuple[str, str]) -> None:
    answers = Capacity(ApproxDP(*total), ApproxDP(*each)).answers
    assert answers["sum"] == by_sums(*total, *each)


def test_the_size_of_answers() -> None:
    budget = ApproxDP(exp_epsilon=2, delta="1e-6")
    first, tenth, hundredth = capacities(budget)
    assert first.each == budget
    assert tenth.each.exp_epsilon**10 <= 2
    assert (tenth.each.delta, hundredth.each.delta) == (Fraction(1, 10**8), Fraction(1, 10**9))
    assert [one.answers["sum"] for one in (first, tenth, hundredth)] == [1, 10, 100]
