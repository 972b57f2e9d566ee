"""What is wanted instead of a budget, in a real ledger: by accuracy, by number, by price; against the definition by halving."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import gmpy2
import pyarrow as pa
import pytest

from duotone import ApproxDP, Dataset, DuotoneError, OverBudget, ask, open_ledger, prepare, select_groups
from duotone.ledger.accounts import RenyiAccount
from duotone.ledger.ledger import Ledger
from duotone.model.wanted import WantedError
from duotone.privacy.renyi import RenyiDP
from duotone.tables.ask import ask_all
from duotone.tables.check_question import prepare_all
from support.renyi import divergence, furthest

STAYS = pa.table({"patient": range(400), "days": [8] * 400, "ward": ["A", "B"] * 200})
ABOUT: Any = {"unit": "patient", "bounds": {"days": (0, 30)}, "max_rows": 1}
QUESTION = "avg(days) > 5"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = open_ledger(tmp_path / "office.ledger")
    about: Any = {"unit": "patient", "neighbours": "add-remove", "version": "2025"}
    ledger.register("stays", ApproxDP(1, "1e-6"), account="renyi", **about)
    ledger.register("few", ApproxDP(1, "1e-6"), **about)
    return ledger


def wrong(privacy: RenyiDP, people: int) -> Any:
    """How often a balanced answer is wrong, by the definition alone."""
    with gmpy2.context(precision=400):
        low, high = gmpy2.mpfr("0.5"), gmpy2.mpfr(1)
        price = gmpy2.mpfr(gmpy2.mpq(privacy.price))
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if divergence(privacy.order, middle, 1 - middle) <= price else (low, middle)
        for _ in range(people - 1):
            low = furthest(privacy, low, 100)
        return 1 - low


@pytest.mark.parametrize(("limit", "people"), [("0.001", 100), ("0.2", 3), ("1e-9", 40)])
def test_the_price_is_the_least_with_which_the_table_is_as_accurate(ledger: Ledger, limit: str, people: int) -> None:
    answer = ask(STAYS, QUESTION, wrong=limit, people=people, ledger=ledger, dataset="stays", **ABOUT)
    (charge,) = ledger.statement("stays").charges
    privacy = charge.privacy
    assert isinstance(privacy, RenyiDP)
    rows, bits = answer.certificate()["rows"], answer.certificate()["bits"]
    middle = len(rows) // 2
    ends = ((rows[middle + people - 1], 1), (rows[middle - people], 0))
    released = [Fraction(int(row["numbers"][side]), 2**bits) for row, side in ends]
    assert max(released) <= Fraction(limit)
    assert float(wrong(privacy, people)) == pytest.approx(float(released[0]), rel=1e-9)
    less = RenyiDP(privacy.order, 1 + (privacy.price - 1) * (1 - Fraction(1, 900)))  # a step of four digits
    assert wrong(less, people) > float(limit)
    account = ledger.stands("stays").registered.account
    assert isinstance(account, RenyiAccount)
    such = math.log(account.budget.price) / math.log(privacy.price)
    assert answer.receipt is not None
    assert answer.receipt.one_of == math.floor(such)
    assert answer.receipt.left.share == pytest.approx(1 - 1 / such, abs=1e-9)


def test_under_a_sum_and_without_a_ledger_it_is_the_least_epsilon(ledger: Ledger) -> None:
    charged: list[Any] = [{}, {"ledger": ledger, "dataset": "few"}]
    for about in charged:
        answer = ask(STAYS, QUESTION, wrong=0.01, people=10, **about, **ABOUT)
        assert answer.facts.terms.privacy == ApproxDP("0.41")


def test_one_of_so_many_is_that_part_of_the_budget(ledger: Ledger) -> None:
    many = ask(STAYS, QUESTION, one_of=1000, ledger=ledger, dataset="stays", **ABOUT)
    assert many.receipt is not None
    assert (many.receipt.one_of, many.receipt.left.answers) == (1000, 999)
    budget = ledger.stands("stays").registered.account.budget  # type: ignore[attr-defined]
    price = ledger.statement("stays").charges[0].privacy.price  # type: ignore[union-attr]
    assert price**1000 <= budget.price < (1 + (price - 1) * Fraction(1_000_010, 10**6)) ** 1000
    few = ask(STAYS, QUESTION, one_of=8, ledger=ledger, dataset="few", **ABOUT)
    assert few.facts.terms.privacy == ApproxDP("1/8", "1/8000000")


def test_a_budget_holds_as_many_as_it_says(ledger: Ledger) -> None:
    for limit in (5, 6, 7):
        assert ask(STAYS, f"avg(days) > {limit}", one_of=3, ledger=ledger, dataset="stays", **ABOUT).receipt
    with pytest.raises(OverBudget):
        ask(STAYS, "avg(days) > 9", one_of=1000, ledger=ledger, dataset="stays", **ABOUT)


def test_a_price_is_of_the_order_of_the_account(ledger: Ledger) -> None:
    answer = ask(STAYS, QUESTION, price="1.05", ledger=ledger, dataset="stays", **ABOUT)
    assert answer.facts.terms.privacy == RenyiDP(21, "1.05")
    with pytest.raises(DuotoneError, match="price is for a dataset with the account renyi, and this one adds up epsilon"):
        ask(STAYS, QUESTION, price="1.05", ledger=ledger, dataset="few", **ABOUT)


def test_several_questions_are_each_as_accurate_or_share_a_part(ledger: Ledger, tmp_path: Path) -> None:
    stays = Dataset(STAYS, ledger=ledger, dataset="stays", **ABOUT)
    alone = prepare(stays, QUESTION, wrong="0.01", people=50).terms.privacy
    for options, each in (({"wrong": "0.01", "people": 50}, alone), ({"price": "1.21"}, RenyiDP(21, "1.21").split(2))):
        with prepare_all(stays, [QUESTION, "avg(days) > 6"], **options) as two:
            assert [asked.terms.privacy for asked in two] == [each, each]
    with prepare_all(stays, [QUESTION, "avg(days) > 6"], one_of=10) as two:
        assert [asked.terms.privacy for asked in two] == [prepare(stays, QUESTION, one_of=20).terms.privacy] * 2
    assert [str(answer.words[()]) for answer in ask_all(STAYS, [QUESTION], wrong="1e-9", people=5, **ABOUT)] == ["yes"]


def test_groups_divide_it_and_each_is_as_accurate(ledger: Ledger) -> None:
    asked = "select ward, avg(days) > 5 from t group by ward"
    stays = Dataset(STAYS, ledger=ledger, dataset="stays", groups={"ward": ["A", "B"]}, max_groups=2, **ABOUT)
    with prepare(stays, asked, wrong="0.01", people=30) as grouped:
        assert wrong(grouped.terms.share, 30) <= 0.01  # type: ignore[arg-type]
    shown = select_groups(STAYS, "ward", one_of=5, ledger=ledger, dataset="stays", unit="patient", max_groups=1)
    assert {*shown.answers} == {("A",), ("B",)}
    assert [charge.answers for charge in ledger.statement("stays").charges] == [1]


def test_several_questions_are_charged_if_all_of_them_fit(ledger: Ledger) -> None:
    """A ledger that is named, or that the dataset names, is always charged."""
    stays = Dataset(STAYS, ledger=ledger, dataset="stays", **ABOUT)
    answers = ask_all(stays, [QUESTION, "avg(days) > 6"], one_of=10)
    assert [answer.receipt is not None and answer.receipt.one_of for answer in answers] == [20, 20]
    ask_all(STAYS, ["avg(days) > 7", "avg(days) > 4"], one_of=3, each=True, ledger=ledger, dataset="stays", **ABOUT)
    with pytest.raises(OverBudget, match="question 1 of 2"):
        ask_all(STAYS, ["avg(days) > 3", "avg(days) > 2"], one_of=3, each=True, ledger=ledger, dataset="stays", **ABOUT)
    assert len(ledger.statement("stays").charges) == 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"wrong": "nan", "people": 9}, "wrong must be a decimal or a fraction"),
        ({"wrong": math.nan, "people": 9}, "wrong must be a decimal or a fraction"),
        ({"wrong": 0, "people": 9}, "a probability above 0 and at most 1/2, got 0"),
        ({"wrong": "0.1", "people": 0}, "a whole number from 1 to 1000000000, got 0"),
        ({"wrong": "0.1"}, "say how many"),
        ({"wrong": "0.1", "people": 9, "epsilon": 1}, "there are two budgets"),
        ({"wrong": "0.1", "people": 9, "costs": (10, 1)}, "leave costs out"),
        ({"one_of": 0}, "one_of is a number of answers"),
        ({"one_of": 1.5}, "one_of is a number of answers"),
        ({"one_of": 9, "price": 2}, "there are two budgets"),
        ({"one_of": 9, "delta": "1e-9"}, "there are two budgets"),
        ({"price": 1}, "price must be above 1"),
        ({"price": "nan"}, "price must be a decimal"),
        ({"privacy": WantedError("0.1", 3), "one_of": 2}, "there are two budgets"),
    ],
)
def test_what_cannot_be_wanted_is_refused_and_costs_nothing(ledger: Ledger, options: dict[str, Any], says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        ask(STAYS, QUESTION, ledger=ledger, dataset="stays", **options, **ABOUT)
    assert ledger.statement("stays").charges == ()


def test_a_part_of_a_budget_needs_a_ledger() -> None:
    for options in ({"one_of": 10}, {"price": "1.1"}):
        with pytest.raises(DuotoneError, match="parts of a dataset's budget in a ledger"):
            ask(STAYS, QUESTION, **options, **ABOUT)
    with pytest.raises(DuotoneError, match="which groups there are has no wrong answer"):
        select_groups(STAYS, "ward", WantedError("0.1", 9), unit="patient", max_groups=1)
