"""How many answers a budget buys, against sums in plain arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from duotone import ApproxDP
from duotone.ledger.accounts import RenyiAccount
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


@pytest.mark.parametrize("total", BUDGETS)
@pytest.mark.parametrize("each", EACH[:3])
def test_prices_of_one_order(total: tuple[str, str], each: tuple[str, str]) -> None:
    """An answer at ε costs (e^((k+1)ε) + e^(−kε)) / (1 + e^ε), in floats; a tenth of δ is left for their δ."""
    (epsilon, delta), (own, own_delta) = ([float(Fraction(number)) for number in given] for given in (total, each))
    k = RenyiAccount.of(ApproxDP(*total)).budget.order - 1
    whole = math.log(0.9 * delta) + (k + 1) * math.log(k + 1) - k * math.log(k) + k * epsilon
    price = math.log((math.exp((k + 1) * own) + math.exp(-k * own)) / (1 + math.exp(own)))
    fits = min(whole / price, 0.1 * delta / own_delta if own_delta else math.inf)
    assert Capacity(ApproxDP(*total), ApproxDP(*each)).answers["renyi"] == math.floor(min(fits, 2**17) + 1e-9)


def test_an_account_renyi_needs_a_delta_and_room() -> None:
    assert set(Capacity(ApproxDP(1), ApproxDP("0.1")).answers) == {"sum"}
    assert set(Capacity(ApproxDP("0.01", "1e-9"), ApproxDP("0.001")).answers) == {"sum"}


def test_the_size_of_answers() -> None:
    budget = ApproxDP(exp_epsilon=2, delta="1e-6")
    first, tenth, hundredth = capacities(budget)
    assert first.each == budget
    assert tenth.each.exp_epsilon**10 <= 2
    assert (tenth.each.delta, hundredth.each.delta) == (Fraction(1, 10**10), Fraction(1, 10**11))
    assert [one.answers["sum"] for one in (first, tenth, hundredth)] == [1, 10, 100]
