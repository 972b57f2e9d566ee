from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, Charge, DuotoneError, PrivacyDefinition, balanced
from duotone.ledger.accounts import SumAccount, short, write
from duotone.ledger.registration import account_of
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
    assert SumAccount(ApproxDP(total, "1/2")).fits(sums)
    assert SumAccount(ApproxDP(total + 1, total / 10**6)).fits(sums)
    assert SumAccount(ApproxDP("0.3")).fits(charged((ApproxDP("0.1"), 3)))  # no float takes part
    if total:
        assert not SumAccount(ApproxDP(total * Fraction(999999, 10**6), "1/2")).fits(sums)
        assert not SumAccount(ApproxDP(total + 1, total / 10**6 * Fraction(999999, 10**6))).fits(sums)


def test_ratios_multiply_exactly() -> None:
    sums = charged((ApproxDP(exp_epsilon=2), 10))
    assert SumAccount(ApproxDP(exp_epsilon=1024)).fits(sums)
    assert not SumAccount(ApproxDP(exp_epsilon=1023)).fits(sums)
    assert not SumAccount(ApproxDP(exp_epsilon=1024)).fits(sums.plus(ApproxDP("1e-9")))
    assert SumAccount(ApproxDP("6.931471806")).fits(sums)
    assert not SumAccount(ApproxDP("6.931471805")).fits(sums)
    assert SumAccount(ApproxDP("8000")).fits(
        charged((ApproxDP(exp_epsilon=Fraction(10**40 + 1, 10**40)), 10**5))
    )  # too long to write out


def test_roundings_are_outward() -> None:
    assert float(log_above(Fraction(10))) == pytest.approx(math.log(10))
    assert exp_above(Fraction(0)) == 1
    assert exp_above(log_above(Fraction(7))) >= 7
    assert exp_above(Fraction(1)) > Fraction(math.e) - Fraction(1, 10**15)


def test_what_is_left_in_words() -> None:
    sums = charged((ApproxDP("0.25", "1e-7"), 2))
    assert str(SumAccount(ONE).left(sums)) == "epsilon 0.5, delta 8e-07"
    assert SumAccount(ONE).spent(sums) == (0.5, 2e-7)
    both = charged((ApproxDP("0.25", "1e-7"), 1), (ApproxDP(exp_epsilon="5/4"), 3))
    assert SumAccount(ONE).spent(both) == pytest.approx((0.25 + 3 * math.log(1.25), 1e-7), rel=1e-12)
    assert str(SumAccount(ONE).left(both)) == f"epsilon {0.75 - 3 * math.log(1.25):.6g}, delta 9e-07"


def test_an_account_is_read_as_it_was_written() -> None:
    account = SumAccount(ONE)
    assert account_of(read_definition(write(ONE)), account.written()) == account
    account.accepts(Charge(balanced(ApproxDP("0.005"))))
    with pytest.raises(DuotoneError, match="an account is sum or renyi, got guess"):
        account_of(ONE, {"account": "guess"})


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
        assert not SumAccount(ApproxDP(log * Fraction(999, 1000))).fits(charged((ApproxDP(exp_epsilon=ratio), 1)))
        assert SumAccount(ApproxDP(log * Fraction(1001, 1000))).fits(charged((ApproxDP(exp_epsilon=ratio), 1)))
        assert SumAccount(ApproxDP(exp_epsilon=ratio)).fits(charged((ApproxDP(exp_epsilon=ratio), 1)))
        assert not SumAccount(ApproxDP(exp_epsilon=ratio)).fits(
            charged((ApproxDP(exp_epsilon=ratio), 1), (ApproxDP("1e-100"), 1))
        )


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
    assert Charge(other, selected=True).boundary == "balanced+selection"
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
        assert SumAccount(budget).fits(before.plus(ApproxDP(exp_epsilon=below)))
        assert not SumAccount(budget).fits(before.plus(ApproxDP(exp_epsilon=below + unit)))


def test_nothing_is_left_of_a_budget_that_was_overspent() -> None:
    sums = charged((ApproxDP(3, "1e-3"), 1))
    assert str(SumAccount(ONE).left(sums)) == "epsilon 0, delta 0"
    assert (
        str(SumAccount(ApproxDP(exp_epsilon=2, delta="1e-6")).left(charged((ApproxDP(exp_epsilon=2), 2))))
        == "epsilon 0, delta 1e-06"
    )


def test_an_account_cannot_be_changed() -> None:
    account: Any = SumAccount(ONE)
    with pytest.raises(dataclasses.FrozenInstanceError):
        account.budget = ApproxDP(9, "1e-6")


def test_definitions_are_written_up_to_3000_characters_and_read_up_to_a_million() -> None:
    assert short("x" * 3000, "a text") == "x" * 3000
    with pytest.raises(DuotoneError, match="a text has too many digits for a ledger: 3001 characters"):
        short("x" * 3001, "a text")
    rest = len("epsilon=7 delta=0")
    assert read_definition(f"epsilon={'0' * (2**20 - rest)}7 delta=0").epsilon_exact == 7
    with pytest.raises(DuotoneError, match="not a definition"):
        read_definition(f"epsilon={'0' * (2**20 - rest + 1)}7 delta=0")
