"""The account of one Rényi order, against arithmetic and adversaries of its own."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, Charge, DuotoneError, OverBudget, balanced, open_ledger
from duotone.ledger.accounts import RenyiAccount
from duotone.ledger.entries import canonical
from duotone.ledger.ledger import Ledger
from duotone.ledger.registration import account_of
from duotone.ledger.sums import BRIEF, LARGEST, Prices, log_above
from duotone.ledger.verify import verify
from duotone.privacy.renyi import RenyiDP
from support.ledgers import ABOUT, MemoryStore, ask, ending, register, rows_of

ONE = ApproxDP(1, "1e-6")


def by_hand(epsilon: float, delta: float, order: int) -> float:
    """The logarithm of what the product of prices may be, in floats, as theory has it."""
    k = order - 1
    return math.log(delta) + (k + 1) * math.log(k + 1) - k * math.log(k) + k * epsilon


def price_by_hand(epsilon: float, order: int) -> float:
    k = order - 1
    return (math.exp((k + 1) * epsilon) + math.exp(-k * epsilon)) / (1 + math.exp(epsilon))


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.5", "1e-9"), ("3", "1e-5")])
@pytest.mark.parametrize("answers", [1, 30, 1000, 10**5])
def test_a_budget_is_that_of_the_theory(epsilon: str, delta: str, answers: int) -> None:
    account = RenyiAccount.of(ApproxDP(epsilon, delta), answers)
    most = by_hand(float(epsilon), 0.9 * float(delta), account.budget.order)
    assert float(log_above(account.budget.price)) == pytest.approx(most, rel=1e-12)
    assert account.budget.delta == Fraction(delta) / 10
    assert account.proved
    larger = RenyiDP._computed(account.budget.order, account.budget.price * Fraction(1001, 1000), account.budget.delta)
    assert not RenyiAccount(account.promise, larger).proved


@settings(max_examples=40)
@given(st.lists(st.tuples(st.fractions(1, 2, max_denominator=40), st.integers(1, 9)), max_size=12), st.integers(2, 256))
def test_products_are_exact_while_they_are_short(charges: list[tuple[Fraction, int]], order: int) -> None:
    sums, product = Prices(order), Fraction(1)
    for price, answers in charges:
        sums, product = sums.plus(RenyiDP(order, price, price / 100), answers), product * price**answers
    assert sums.price >= min(product, LARGEST)
    if max(product.numerator.bit_length(), product.denominator.bit_length()) <= BRIEF:
        assert sums.price == min(product, LARGEST)
    assert sums.delta == sum((price / 100 * answers for price, answers in charges), Fraction(0))
    assert Prices.read(sums.written()) == sums


def test_products_are_never_below_the_truth() -> None:
    """A long one beside exact arithmetic: above it by less than 2^-480 of it."""
    draw, sums, product = random.Random(1), Prices(20), Fraction(1)
    for _ in range(300):
        price = 1 + Fraction(draw.randrange(1, 10**9), 10**11 + draw.randrange(10**6))
        sums, product = sums.plus(RenyiDP(20, price)), product * price
    assert product < sums.price < product * (1 + Fraction(1, 2**480))
    assert sums.plus(ApproxDP(8000)).price == LARGEST
    assert not RenyiAccount.of(ONE).fits(sums.plus(ApproxDP(8000)))


@pytest.mark.parametrize(
    "given",
    [{"answers": -1}, {"answers": True}, {"order": 1}, {"order": 300}, {"order": "20"}, {"price": "1/2"}, {"price": "4/2"},
     {"price": str(2**12001)}, {"delta": "-1"}, {"more": 1}],
)  # fmt: skip
def test_only_products_that_charges_can_make_are_read(given: dict[str, Any]) -> None:
    sums = {"answers": 3, "order": 20, "price": "3/2", "delta": "1/100"}
    assert Prices.read(sums) == Prices(20, 3, Fraction(3, 2), Fraction(1, 100))
    with pytest.raises(DuotoneError, match="not the sums of an entry"):
        Prices.read({**sums, **given})


def test_an_account_is_read_as_it_was_written() -> None:
    account = RenyiAccount.of(ONE, 300)
    assert account_of(ONE, account.written()) == account
    for change in ({"prices": "epsilon=1 delta=0"}, {"expected": 0}, {"expected": "1"}):
        with pytest.raises(DuotoneError, match="has prices of one order"):
            account_of(ONE, {**account.written(), **change})


def test_what_cannot_be_had_is_one_sentence() -> None:
    ledger = Ledger(MemoryStore())
    wrong: list[tuple[ApproxDP, dict[str, Any], str]] = [
        (ApproxDP(1), {}, "needs a budget with delta above 0"),
        (ApproxDP("0.001", "1e-6"), {}, "nothing fits into"),
        (ApproxDP(8000, "1e-6"), {}, "too large for an account renyi"),
        (ONE, {"answers": 0}, "expects from 1 to 1000000 answers, got 0"),
        (ONE, {"account": "sum", "answers": 10}, "is for an account renyi: leave answers out"),
    ]
    for budget, options, says in wrong:
        with pytest.raises(DuotoneError, match=says):
            register(ledger, budget, **{"account": "renyi", **options})
    register(ledger, ONE, account="renyi")
    register(ledger, ONE, dataset="few")
    tenth = ledger.stands("census").registered.account.part(Fraction(1, 10))
    with pytest.raises(DuotoneError, match="an account sum adds up epsilon and delta: give these, got RenyiDP"):
        ask(ledger, "q", Charge(balanced(tenth)), dataset="few")
    with pytest.raises(DuotoneError, match="a budget of order 21 is spent by answers of order 21, got order 20"):
        ask(ledger, "q", Charge(balanced(RenyiDP(20, "1.01"))))
    with pytest.raises(DuotoneError, match="an allowance is a share of its budget"):
        ledger.allow("census", "ann", ApproxDP("0.1"))
    for share in (0, 2, "-1", "1/1001"):
        with pytest.raises(DuotoneError, match="a share is above 0 and at most 1"):
            ledger.allow("census", "ann", share=share)


@pytest.mark.parametrize("many", [1, 7, 140])
def test_a_budget_is_used_to_the_end(many: int, place: str) -> None:
    """So many equal answers, one at a time, in a batch, or as ε; and not one more."""
    with open_ledger(place) as ledger:
        register(ledger, ONE, account="renyi", answers=many)
        budget = ledger.stands("census").registered.account.part(Fraction(1))
        each = Charge(balanced(RenyiDP._computed(budget.order, budget.split(many).price, Fraction(0))))  # type: ignore[union-attr]
        for i in range(many - 3 if many > 3 else 0, many):
            if i == many - 3 and many > 3:
                receipt = ask(ledger, "batch", Charge(each.mechanism, many - 3))
            receipt = ask(ledger, f"q{i}", each)
            assert receipt.one_of == many
        assert receipt.left.share == pytest.approx(0, abs=1e-9)
        with pytest.raises(OverBudget, match=r"does not fit into the budget of census; left: 0 % of the budget"):
            ask(ledger, "more", each)
        assert ledger.stands("census").repeats(each) == 0
        assert ledger.verify().holds


def test_an_ordinary_answer_costs_what_the_theory_says() -> None:
    ledger = Ledger(MemoryStore())
    register(ledger, ONE, account="renyi")
    account = ledger.stands("census").registered.account
    tenth = Charge(balanced(ApproxDP("0.1", "1e-9")), 3)
    receipt = ask(ledger, "q", tenth)
    spent = 3 * math.log(price_by_hand(0.1, 21)) / by_hand(1, 0.9e-6, 21)
    assert receipt.left.share == pytest.approx(1 - spent, rel=1e-9)
    assert receipt.left.delta == Fraction(10**-7).limit_denominator(10**8) - 3 * Fraction(1, 10**9)
    assert receipt.one_of == math.floor(1 / spent)
    assert account.one_of(Charge(balanced(ApproxDP("0.0001", "1e-8")))) == 10  # its deltas
    assert ledger.statement("census").spent == (1.0, 1e-6)
    left = (
        "a tenth of the budget's delta is for answers that have one, and 9.7e-08 of it is left: ask at a smaller delta, or at 0"
    )
    with pytest.raises(OverBudget, match=f"; {left}; nothing was charged") as refused:
        ask(ledger, "delta", Charge(balanced(ApproxDP("0.0001", "1e-7"))))
    assert refused.value.shortfall.beyond == ("delta",)
    ask(ledger, "all of delta", Charge(balanced(ApproxDP("0.0001", "9.7e-8"))))
    assert str(ledger.stands("census").left).endswith(", for answers at delta 0")
    assert ask(ledger, "no delta", Charge(balanced(ApproxDP("0.0001")))).left.delta == 0
    with pytest.raises(OverBudget) as refused:  # by its price, not by its delta
        ask(ledger, "too much", Charge(balanced(ApproxDP(9))))
    assert refused.value.shortfall.beyond == ()


@pytest.mark.parametrize(
    "each", [ApproxDP("0.1", "1e-400"), ApproxDP("0.02", "3e-9"), ApproxDP("1e-200"), RenyiDP(21, 1 + Fraction(1, 10**400))]
)
def test_how_many_such_answers_there_are_is_exact(each: ApproxDP | RenyiDP) -> None:
    """Also with numbers that no float holds: it is said after the charge."""
    account, ledger = RenyiAccount.of(ONE), Ledger(MemoryStore())
    register(ledger, ONE, account="renyi")
    receipt = ask(ledger, "q", Charge(balanced(each)))
    assert (receipt.answer, receipt.free) == (True, False)
    assert ledger.quote("census", [("other", Charge(balanced(each)))], **ABOUT)[0].one_of == receipt.one_of
    if receipt.one_of is None:  # no limit worth telling
        assert account.fits(account.nothing.plus(each, 10**9))
        return
    assert account.fits(account.nothing.plus(each, receipt.one_of))
    assert not account.fits(account.nothing.plus(each, receipt.one_of + 1))


def test_what_an_account_is_worth_is_known_at_once() -> None:
    """However many answers are expected, and however little they tell."""
    with pytest.raises(DuotoneError, match="expects from 1 to 1000000 answers, got 1000001"):
        RenyiAccount.of(ONE, 10**6 + 1)
    written = RenyiAccount.of(ONE, 10**6).written()
    with pytest.raises(DuotoneError, match="a number of answers that are expected"):
        account_of(ONE, {**written, "expected": 10**30})
    for excess in (Fraction(1, 10**18), Fraction(1, 10**400)):
        assert RenyiAccount(ONE, RenyiDP(256, 1 + excess)).left(Prices(256)).people == 10**9


def test_allowances_are_shares(place: str) -> None:
    with open_ledger(place) as ledger:
        register(ledger, ONE, account="renyi")
        each = Charge(balanced(ApproxDP("0.05")))
        first = ask(ledger, "before", each, by="ann")
        ledger.allow("census", "ann", share="1/5", by="owner")
        ledger.allow("census", "*", share="1/50", by="owner")
        quoted = ledger.stands("census", by="ann").repeats(each)
        for i in range(quoted):
            receipt = ask(ledger, f"q{i}", each, by="ann")
        assert receipt.allowance is not None
        assert quoted + 1 == math.floor(first.one_of / 5)  # type: ignore[operator]
        for name, charge in (("ann", each), ("bo", Charge(balanced(ApproxDP("0.2"))))):
            with pytest.raises(OverBudget, match=f"into the allowance of {name} for census; left: .* % of the budget"):
                ask(ledger, "more", charge, by=name)
        assert ledger.verify().holds
        assert str(ledger.share("census", "ann").left).endswith(" % of the budget")


def test_forged_entries_are_found() -> None:
    """With right hashes: a lower product, a larger budget, another order, an answer of another order."""
    ledger = Ledger(MemoryStore())
    register(ledger, ONE, account="renyi")
    ask(ledger, "q", Charge(balanced(ApproxDP("0.1", "1e-9"))))
    entries = [{name: value for name, value in entry.items() if name not in ("seq", "hash")} for entry in ledger.entries()]

    def problems(*changes: tuple[int, dict[str, Any]]) -> tuple[str, ...]:
        bodies = [dict(entry) for entry in entries]
        for at, change in changes:
            bodies[at] |= change
        rows = rows_of([canonical(body) for body in bodies])
        return verify(rows, ending(rows)).problems

    assert problems() == ()
    order, price, delta = entries[0]["prices"].split()
    top, _, bottom = price.removeprefix("price=").partition("/")
    more = f"{order} price={int(top) + 1}/{bottom or 1} {delta}"
    after = entries[1]["after"]
    less = {**after, "spent": {**after["spent"], "price": "1"}}
    other = {**after, "spent": {**after["spent"], "order": 20}}
    assert problems((0, {"prices": more}))[0] == "entry 1 registers prices that come to more than its budget"
    assert problems((0, {"account": "sum"}))[0].startswith("entry 1 does not add up")
    assert problems((1, {"after": less}))[0] == "entry 2 does not add up"
    assert problems((1, {"after": other}))[0] == "entry 2 does not add up"
    assert problems((0, {"account": "guess"}))[0] == "entry 1 does not make sense where it stands"
    sums = {**after, "spent": {"answers": 1, "epsilon": "1/10", "exp_epsilon": "1", "delta": "1/1000000000"}}
    assert problems((1, {"after": sums}))[0] == "entry 2 does not add up"


@pytest.mark.parametrize("account", ["sum", "renyi"])
@pytest.mark.parametrize(
    "change",
    [{"boundary": "nonsense"}, {"boundary": "2"}, {"notion": "order=19 price=3/2 delta=0"}, {"notion": "epsilon=1"}],
    ids=str,
)
def test_a_forged_charge_that_no_account_has_is_found(account: str, change: dict[str, str]) -> None:
    ledger = Ledger(MemoryStore())
    register(ledger, ONE, account=account)
    ask(ledger, "q", Charge(balanced(ApproxDP("0.1", "1e-9"))))
    bodies = [{name: value for name, value in entry.items() if name not in ("seq", "hash")} for entry in ledger.entries()]
    bodies[1] |= change
    rows = rows_of([canonical(body) for body in bodies])
    assert verify(rows, ending(rows)).problems[0] == "entry 2 does not make sense where it stands"


def adversary(account: RenyiAccount, prices: list[Fraction], step: float) -> float:
    """The most that somebody learns who picks each question, its price and its level, after all answers so far: an upper bound
    on Pr[some event] − e·Pr[the same, of the neighbour].

    Backwards over the logarithm of the likelihood ratio, on a grid that is rounded in favour of the adversary, and over what
    the account has taken, which alone decides whether one more answer is admitted.
    """
    size = round(12 / step)
    logs = np.arange(-size, size + 1) * step
    stop = np.maximum(0.0, -np.expm1(np.minimum(1 - logs, 0)))

    def edges(price: Fraction) -> list[tuple[float, int, int]]:
        line = balanced(RenyiDP._computed(account.budget.order, price, Fraction(0)))
        pairs = list(itertools.pairwise(float(line.yes(level)) for level in range(-25, 25, 1)))
        both = [(p, q) for p, q in [*pairs, *((q, p) for p, q in pairs)] if min(p, q) > 1e-12 and max(p, q) < 1 - 1e-12]
        ratios = [(p, math.log(p / q), math.log((1 - p) / (1 - q))) for p, q in both]
        return [(p, math.ceil(up / step), math.ceil(down / step)) for p, up, down in ratios]

    known = {price: edges(price) for price in prices}
    places = np.arange(2 * size + 1)

    @cache
    def best(taken: Prices) -> Any:
        value = stop
        for price, pairs in known.items():
            after = taken.plus(RenyiDP._computed(account.budget.order, price, Fraction(0)))
            if account.fits(after):
                then = best(after)
                for p, up, down in pairs:
                    yes, no = (then[np.clip(places + moved, 0, 2 * size)] for moved in (up, down))
                    value = np.maximum(value, p * yes + (1 - p) * no)
        return value

    return float(best(account.nothing)[size])


@pytest.mark.slow
def test_an_adversary_who_chooses_everything_learns_no_more() -> None:
    """Questions at several prices and levels, from three to six of them, each chosen after the answers so far."""
    account = RenyiAccount.of(ONE, 5)
    prices = [account.budget.split(parts).price for parts in (3, 6)]
    assert 1e-9 < adversary(account, prices, 1 / 2000) <= 1e-6


@pytest.mark.parametrize("many", [2, 10, 100, 1000])
def test_so_many_equal_answers_are_as_private_as_promised(many: int) -> None:
    """The worst edge of the line, exactly composed: δ at ε = 1 is at most 10^-6."""
    account = RenyiAccount.of(ONE, many)
    line = balanced(RenyiDP._computed(account.budget.order, account.budget.split(many).price, Fraction(0)))
    worst, i = 0.0, np.arange(many + 1)
    ways = np.array([math.lgamma(many + 1) - math.lgamma(n + 1) - math.lgamma(many - n + 1) for n in i])
    for level in range(-30, 30, 2):
        first, second = float(line.yes(level)), float(line.yes(level + 1))
        for p, q in ((first, second), (second, first)):
            if min(p, q) > 0 and max(p, q) < 1:
                loss = i * math.log(p / q) + (many - i) * math.log((1 - p) / (1 - q))
                chance = np.exp(ways + i * math.log(p) + (many - i) * math.log1p(-p))
                worst = max(worst, float(np.sum(chance * np.maximum(0, -np.expm1(np.minimum(1 - loss, 0))))))
    assert 1e-9 < worst <= 1e-6


def test_a_crash_wastes_a_price_and_hides_none(place: str) -> None:
    with open_ledger(place) as ledger:
        register(ledger, ONE, account="renyi")
        third = Charge(balanced(ledger.stands("census").registered.account.part(Fraction(1, 3))))
        with pytest.raises(ZeroDivisionError):
            ledger.ask("census", "lost", third, lambda: 1 / 0, **ABOUT)
        assert ledger.statement("census").left.share == pytest.approx(2 / 3)
        assert ledger.statement("census").state.unanswered == 1


def test_what_a_registration_is_worth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from support.running import run

    options = ("--epsilon", "1", "--delta", "1e-6", "--version", "2025", "--account", "renyi")
    code, out, _ = run(capsys, "ledger", "register", tmp_path / "l", "stays", "--unit", "patient", *options)
    assert code == 0
    assert out.splitlines()[0].endswith("unit patient, add-remove, account renyi of order 21")
    assert out.splitlines()[-1] == (
        "about 1,000 answers that are wrong at most once in a thousand if 237 people would flip them; "
        "or 100 from 86; or 10 from 35"
    )
