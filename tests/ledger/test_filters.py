from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, Charge, DuotoneError, PrivacyDefinition, balanced, partition_selection, with_boundary
from duotone.ledger.account import choose, filter_of
from duotone.ledger.planned_composition import PlannedComposition
from duotone.ledger.privacy_filters import AdvancedComposition, BasicComposition, PrivacyFilter, short, write
from duotone.ledger.sums import Spent, exp_above, log_above
from duotone.privacy.text import read_definition
from support.strategies import exact_budgets, float_budgets

ONE = ApproxDP(1, "1e-6")
HUNDREDTH = ApproxDP("0.01", "1e-12")


def charged(*charges: tuple[ApproxDP, int]) -> Spent:
    sums = Spent()
    for privacy, answers in charges:
        sums = sums.plus(privacy, answers)
    return sums


@given(st.one_of(exact_budgets, float_budgets))
def test_a_notion_is_read_as_it_was_written(budget: ApproxDP) -> None:
    again = read_definition(write(budget))
    assert again.exp_epsilon == budget.exp_epsilon
    assert again.epsilon_exact == budget.epsilon_exact
    assert Fraction(again.delta) == Fraction(budget.delta)
    assert write(again) == write(budget)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.fractions(0, 1, max_denominator=50), st.integers(1, 20)), max_size=6))
def test_sums_are_exact(charges: list[tuple[Fraction, int]]) -> None:
    sums = charged(*((ApproxDP(e, e / 10**6), n) for e, n in charges))
    total = sum((e * n for e, n in charges), Fraction(0))
    assert BasicComposition(ApproxDP(total, "1/2")).fits(sums)
    assert BasicComposition(ApproxDP(total + 1, total / 10**6)).fits(sums)
    assert BasicComposition(ApproxDP("0.3")).fits(charged((ApproxDP("0.1"), 3)))  # no float takes part
    if total:
        assert not BasicComposition(ApproxDP(total * Fraction(999999, 10**6), "1/2")).fits(sums)
        assert not BasicComposition(ApproxDP(total + 1, total / 10**6 * Fraction(999999, 10**6))).fits(sums)


def test_ratios_multiply_exactly() -> None:
    sums = charged((ApproxDP(exp_epsilon=2), 10))
    assert BasicComposition(ApproxDP(exp_epsilon=1024)).fits(sums)
    assert not BasicComposition(ApproxDP(exp_epsilon=1023)).fits(sums)
    assert not BasicComposition(ApproxDP(exp_epsilon=1024)).fits(sums.plus(ApproxDP("1e-9")))
    assert BasicComposition(ApproxDP("6.931471806")).fits(sums)
    assert not BasicComposition(ApproxDP("6.931471805")).fits(sums)
    assert BasicComposition(ApproxDP("8000")).fits(
        charged((ApproxDP(exp_epsilon=Fraction(10**40 + 1, 10**40)), 10**5))
    )  # too long to write out


def test_roundings_are_outward() -> None:
    assert float(log_above(Fraction(10))) == pytest.approx(math.log(10))
    assert exp_above(Fraction(0)) == 1
    assert exp_above(log_above(Fraction(7))) >= 7
    assert exp_above(Fraction(1)) > Fraction(math.e) - Fraction(1, 10**15)


def test_advanced_is_the_theorem() -> None:
    """√(2·S·ln(1/slack)) + S/2 ≤ ε, S = Σε², as it stands there."""
    slack = 5e-7
    rule = choose(ONE, "advanced", None, ())
    for each in (0.01, 0.003, 0.2):
        fitting = [n for n in range(1, 5000) if math.sqrt(2 * n * each**2 * math.log(1 / slack)) + n * each**2 / 2 <= 1]
        most = max(fitting, default=0)
        assert most == 0 or rule.fits(charged((ApproxDP(str(each)), most)))
        assert not rule.fits(charged((ApproxDP(str(each)), most + 1)))
    assert not rule.fits(charged((ApproxDP("0.001", "3e-7"), 2)))  # the rest of δ
    assert not rule.fits(charged((ApproxDP(3), 1)))
    assert rule.fits(charged((ApproxDP(exp_epsilon="1001/1000"), 10)))
    with pytest.raises(DuotoneError, match="needs a budget with delta above 0"):
        choose(ApproxDP(1), "advanced", None, ())


def test_what_is_left_in_words() -> None:
    sums = charged((ApproxDP("0.25", "1e-7"), 2))
    assert str(BasicComposition(ONE).left(sums)) == "epsilon 0.5, delta 8e-07"
    assert BasicComposition(ONE).spent(sums) == (0.5, 2e-7)
    both = charged((ApproxDP("0.25", "1e-7"), 1), (ApproxDP(exp_epsilon="5/4"), 3))
    assert BasicComposition(ONE).spent(both) == pytest.approx((0.25 + 3 * math.log(1.25), 1e-7), rel=1e-12)
    assert str(BasicComposition(ONE).left(both)) == f"epsilon {0.75 - 3 * math.log(1.25):.6g}, delta 9e-07"
    advanced = AdvancedComposition(ONE, Fraction(1, 2 * 10**6))
    assert advanced.spent(Spent()) == (0, 0)
    assert str(advanced.left(Spent())) == "epsilon 1, delta 5e-07"
    bound = math.sqrt(2 * 100 * 0.01**2 * math.log(2 * 10**6)) + 100 * 0.01**2 / 2
    assert advanced.spent(charged((HUNDREDTH, 100))) == pytest.approx((bound, 5.001e-7), rel=1e-12)
    assert str(advanced.left(charged((HUNDREDTH, 100)))) == f"epsilon {1 - bound:.6g}, delta 4.999e-07"
    plan = PlannedComposition.most(ONE, HUNDREDTH)
    assert str(plan.left(charged((HUNDREDTH, 62)))).startswith("500 of 562 answers at ApproxDP(epsilon=0.01")
    assert plan.spent(Spent()) == (0, 0)
    epsilon, delta = plan.spent(charged((HUNDREDTH, 562)))
    assert 0.99 < epsilon <= 1
    assert delta == pytest.approx(1e-6)
    assert 0.0099 < plan.spent(charged((HUNDREDTH, 1)))[0] <= 0.01


def test_a_plan_admits_more_than_the_others() -> None:
    plan = PlannedComposition.most(ONE, HUNDREDTH)
    assert plan.count > max(
        n for n in range(600) if AdvancedComposition(ONE, Fraction(1, 2 * 10**6)).fits(charged((HUNDREDTH, n)))
    )
    assert PlannedComposition.most(ApproxDP(1), ApproxDP("0.1")).count == 10  # pure budgets add up exactly
    assert PlannedComposition.most(ApproxDP(1, "1e-6"), ApproxDP("0.1", "1e-7")).count == 10
    fewer = ApproxDP(20, "1e-6"), ApproxDP("0.1", "1e-9")
    assert (
        PlannedComposition.most(*fewer).count < PlannedComposition.most(*fewer, ("balanced",)).count
    )  # its δ is not used up at every edge
    assert PlannedComposition.most(*fewer, ("balanced", "selection")).count >= PlannedComposition.most(*fewer).count
    with pytest.raises(DuotoneError, match="does not admit one answer"):
        PlannedComposition.most(ApproxDP("0.1"), ApproxDP(1))
    assert PlannedComposition.most(ApproxDP(1), ApproxDP(0)).count == 2**17
    assert PlannedComposition.most(ApproxDP(1), ApproxDP("0.1")).spent(charged((ApproxDP("0.1"), 3))) == pytest.approx((0.3, 0))


def test_a_plan_sells_only_what_its_pair_covers() -> None:
    plan = PlannedComposition.most(ONE, ApproxDP("0.1", "1e-9"))
    same = ApproxDP("0.1", "1e-9")
    for mechanism in (
        balanced(same),
        partition_selection(same),
        with_boundary(same, "1/3"),
        balanced(ApproxDP("0.05", "1e-9")),
    ):
        plan.accepts(Charge(mechanism))
    for notion in (ApproxDP("0.11", "1e-9"), ApproxDP("0.1", "2e-9")):
        with pytest.raises(DuotoneError, match=r"plan is for answers at .* or more private ones, got one at"):
            plan.accepts(Charge(balanced(notion)))
    narrow = PlannedComposition.most(ONE, same, ("balanced",))
    narrow.accepts(Charge(balanced(same)))
    with pytest.raises(DuotoneError, match="with boundary balanced or more private ones"):
        narrow.accepts(Charge(partition_selection(same)))


def test_rules_are_read_as_they_were_written() -> None:
    rules: list[PrivacyFilter] = [
        BasicComposition(ONE),
        choose(ONE, "advanced", None, ()),
        choose(ONE, "plan", HUNDREDTH, ()),
        choose(ONE, "plan", ApproxDP("0.1", "1e-9"), ("balanced", "1/3")),
    ]
    for rule in rules:
        assert filter_of(read_definition(write(ONE)), rule.written()).written() == rule.written()
        rule.accepts(Charge(balanced(ApproxDP("0.005"))))
    with pytest.raises(DuotoneError, match="sum, advanced or plan, got guess"):
        filter_of(ONE, {"rule": "guess"})
    with pytest.raises(DuotoneError, match="needs the privacy definition of each"):
        choose(ONE, "plan", None, ())
    with pytest.raises(DuotoneError, match="are for the rule plan"):
        choose(ONE, "sum", HUNDREDTH, ())


def test_a_charge_is_checked() -> None:
    class Odd:
        def step(self, x: Any, /) -> Any:
            return x

    odd: PrivacyDefinition = Odd()
    with pytest.raises(DuotoneError, match="charges for"):
        Charge(balanced(odd))
    for answers in (0, 2**18, True, 1.5):
        with pytest.raises(DuotoneError, match="from 1 to 131072 answers"):
            Charge(balanced(ONE), answers)  # type: ignore[arg-type]


def test_fully_adaptive_choices_stay_within_the_sum() -> None:
    """Brute force of the filter: whoever picks each ε after seeing the answers gains no more than the budget."""
    choices = [(Fraction(2), 1), (Fraction(4), 2)]  # randomised response at ratio 2 and 4; the budget's ratio is 8

    def best(room: int, odds: Fraction) -> Fraction:
        value = max(Fraction(0), 1 - odds)
        for ratio, cost in choices:
            if cost <= room:
                up, down = ratio / (1 + ratio), 1 / (1 + ratio)
                for p, q in ((up, down), (down, up)):
                    gained = p * best(room - cost, odds * q / p) + (1 - p) * best(room - cost, odds * (1 - q) / (1 - p))
                    value = max(value, gained)
        return value

    assert best(3, Fraction(8)) == 0
    assert best(3, Fraction(79, 10)) > 0


def test_products_are_compared_with_what_is_left_of_epsilon() -> None:
    """Every small product against budgets just below and just above its logarithm."""
    for ratio in (2, 3, 4, 7, Fraction(3, 2), Fraction(101, 100)):
        log = Fraction(math.log(ratio))
        assert not BasicComposition(ApproxDP(log * Fraction(999, 1000))).fits(charged((ApproxDP(exp_epsilon=ratio), 1)))
        assert BasicComposition(ApproxDP(log * Fraction(1001, 1000))).fits(charged((ApproxDP(exp_epsilon=ratio), 1)))
        assert BasicComposition(ApproxDP(exp_epsilon=ratio)).fits(charged((ApproxDP(exp_epsilon=ratio), 1)))
        assert not BasicComposition(ApproxDP(exp_epsilon=ratio)).fits(
            charged((ApproxDP(exp_epsilon=ratio), 1), (ApproxDP("1e-100"), 1))
        )


def test_a_budget_of_advanced_composition_is_used_to_the_end() -> None:
    rule = AdvancedComposition(ApproxDP(1, "1e-6"), Fraction(1, 2 * 10**6))
    assert rule.fits(charged((ApproxDP(0, "5e-7"), 1)))
    assert not rule.fits(charged((ApproxDP(0, "5.0000001e-7"), 1)))
    assert AdvancedComposition(ApproxDP(0, "1e-6"), Fraction(1, 10**6)).fits(
        Spent()
    )  # nothing charged, nothing left, no room either
    wide = AdvancedComposition(
        ApproxDP("1/4", "99/100"), Fraction(99, 100)
    )  # √(2·S·ln(100/99)) + S/2: 0.20 for S = 1/4, 0.35 for 1/2
    assert wide.fits(charged((ApproxDP("1/2"), 1)))
    assert not any(wide.fits(charged((ApproxDP("1/2"), n))) for n in range(2, 40))  # from n = 3 on, S/2 alone is above 1/4
    with pytest.raises(DuotoneError, match="delta above 0"):
        AdvancedComposition(ApproxDP(1, "1e-6"), Fraction(2, 10**6))


@pytest.mark.parametrize(
    "text",
    ["epsilon=1/2 delta=1", "epsilon=1/2 delta=3/2", "ratio=1/2 delta=0", "ratio=0 delta=0", "epsilon=8193 delta=0",
     "epsilon=-1 delta=0", "epsilon=1/0 delta=0", "epsilon=1/2", "epsilon=0.5 delta=0", "", "epsilon=1 delta=0 "],
)  # fmt: skip
def test_only_definitions_as_they_are_written_are_read(text: str) -> None:
    with pytest.raises(DuotoneError, match="not a definition"):
        read_definition(text)
    assert read_definition("ratio=1 delta=0").exp_epsilon == 1
    assert read_definition("epsilon=8192 delta=99/100").epsilon == 8192


def test_a_charge_has_one_definition_and_its_size_is_bounded() -> None:
    other = balanced(ApproxDP("0.2"))
    with pytest.raises(DuotoneError, match="the same privacy definition"):
        Charge(balanced(ApproxDP("0.1")), also=(other,))
    assert Charge(other, also=(partition_selection(ApproxDP("0.2")),)).boundary == "balanced+selection"
    assert Charge(other, 2**17).answers == 2**17
    for change in ({"answers": 3}, {"mechanism": other}):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(Charge(other), *change.popitem())


def test_a_product_fits_up_to_the_last_bit_below_e() -> None:
    """e by its series, whose rest after 1/200! is below 2^-1000: the largest number of 579 bits below it, and the next."""
    e = sum(Fraction(1, math.factorial(k)) for k in range(201))
    below, unit = Fraction(e * 2**577 // 1, 2**577), Fraction(1, 2**577)
    assert below < e < below + unit - Fraction(1, 2**1000)
    for budget, before in ((ApproxDP(1), Spent()), (ApproxDP("3/2"), charged((ApproxDP("1/2"), 1)))):
        assert BasicComposition(budget).fits(before.plus(ApproxDP(exp_epsilon=below)))
        assert not BasicComposition(budget).fits(before.plus(ApproxDP(exp_epsilon=below + unit)))


def test_nothing_is_left_of_a_budget_that_was_overspent() -> None:
    sums = charged((ApproxDP(3, "1e-3"), 1))
    assert str(BasicComposition(ONE).left(sums)) == "epsilon 0, delta 0"
    assert str(AdvancedComposition(ONE, Fraction(1, 2 * 10**6)).left(sums)) == "epsilon 0, delta 0"
    assert (
        str(BasicComposition(ApproxDP(exp_epsilon=2, delta="1e-6")).left(charged((ApproxDP(exp_epsilon=2), 2))))
        == "epsilon 0, delta 1e-06"
    )


@pytest.mark.parametrize("rule", [BasicComposition(ONE), AdvancedComposition(ONE, Fraction(1, 10**7))])
def test_a_rule_cannot_be_changed(rule: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.budget = ApproxDP(9, "1e-6")


def test_definitions_are_written_up_to_3000_characters_and_read_up_to_a_million() -> None:
    assert short("x" * 3000, "a text") == "x" * 3000
    with pytest.raises(DuotoneError, match="a text has too many digits for a ledger: 3001 characters"):
        short("x" * 3001, "a text")
    rest = len("epsilon=7 delta=0")
    assert read_definition(f"epsilon={'0' * (2**20 - rest)}7 delta=0").epsilon_exact == 7
    with pytest.raises(DuotoneError, match="not a definition"):
        read_definition(f"epsilon={'0' * (2**20 - rest + 1)}7 delta=0")
