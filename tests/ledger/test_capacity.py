"""How many answers a budget buys, against the rules in plain arithmetic."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import pytest

from duotone import ApproxDP
from duotone.ledger.capacity import Capacity, capacities

BUDGETS = [("1", "1e-6"), ("1/3", "1e-9"), ("8", "1e-5")]
EACH = [("0.01", "1e-12"), ("0.1", "1e-7"), ("1/3", "0"), ("9", "0")]


def by_sums(epsilon: str, delta: str, each: str, each_delta: str) -> int:
    parts = [Fraction(epsilon) / Fraction(each)] + ([Fraction(delta) / Fraction(each_delta)] if Fraction(each_delta) else [])
    return math.floor(min(parts))


def by_squares(epsilon: str, delta: str, each: str, each_delta: str) -> int:
    """Whitehouse and others 2023, with half of δ as slack: counted up."""
    slack, count = float(Fraction(delta)) / 2, 0
    while True:
        squares = (count + 1) * float(Fraction(each)) ** 2
        spent = math.sqrt(2 * squares * math.log(1 / slack)) + squares / 2
        if spent > float(Fraction(epsilon)) or (count + 1) * Fraction(each_delta) > Fraction(delta) / 2:
            return count
        count += 1


def composed(epsilon: str, each: str, each_delta: str, count: int) -> float:
    """The least δ at ε of so many answers, whatever they are (Kairouz, Oh and Viswanath 2015): none of them reveals all, and
    each of their losses is `each` up or down."""
    total, step, delta = (float(Fraction(text)) for text in (epsilon, each, each_delta))
    beyond = []
    for ups in range(count + 1):
        loss = (2 * ups - count) * step
        if loss > total:
            ways = math.lgamma(count + 1) - math.lgamma(ups + 1) - math.lgamma(count - ups + 1)
            beyond.append(math.exp(ways + ups * step - count * math.log1p(math.exp(step))) * -math.expm1(total - loss))
    hidden = count * math.log1p(-delta)
    return -math.expm1(hidden) + math.exp(hidden) * math.fsum(beyond)


@pytest.mark.parametrize("total", BUDGETS)
@pytest.mark.parametrize("each", EACH)
def test_sums_and_squares(total: tuple[str, str], each: tuple[str, str]) -> None:
    answers = Capacity(ApproxDP(*total), ApproxDP(*each)).answers
    assert answers["sum"] == by_sums(*total, *each)
    assert answers["advanced"] == by_squares(*total, *each)
    plan, delta = answers["plan"], float(Fraction(total[1]))
    assert plan is not None
    assert composed(total[0], *each, plan) <= delta * (1 + 1e-9)
    assert composed(total[0], *each, plan + 1) > delta


def test_a_plan_admits_the_most_of_small_answers() -> None:
    one = Capacity(ApproxDP(1, "1e-6"), ApproxDP("0.01", "1e-9"))
    assert one.best == ("plan", one.answers["plan"])
    assert one.unplanned is None
    assert Capacity(ApproxDP(1), ApproxDP("0.1")).answers["advanced"] is None
    assert Capacity(ApproxDP(1), ApproxDP("0.1")).best == ("sum", 10)


def test_the_size_of_answers() -> None:
    budget = ApproxDP(exp_epsilon=2, delta="1e-6")
    first, tenth, hundredth = capacities(budget)
    assert first.each == budget
    assert tenth.each.exp_epsilon**10 <= 2
    assert (tenth.each.delta, hundredth.each.delta) == (Fraction(1, 10**8), Fraction(1, 10**9))
    assert [one.answers["sum"] for one in (first, tenth, hundredth)] == [1, 10, 100]


def test_without_the_library_of_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.pld_pmf", None)
    one = Capacity(ApproxDP(1, "1e-6"), ApproxDP("0.013", "1e-9"))
    assert one.answers["plan"] is None
    assert one.best[0] == "advanced"
    assert one.unplanned == 'a ledger\'s plan needs an optional library: pip install "duotone[ledger]"'
