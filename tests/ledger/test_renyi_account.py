"""The account of one Rényi order, against arithmetic and adversaries of its own."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from duotone import ApproxDP, Charge, DuotoneError, OverBudget, balanced, open_ledger
from duotone.ledger.accounts import RenyiAccount
from duotone.ledger.entries import canonical
from duotone.ledger.ledger import Ledger
from duotone.ledger.registration import account_of
from duotone.ledger.sums import BRIEF, LARGEST, Prices, log_above
from duotone.ledger.verify import verify
from duotone.line.table import line_table
from duotone.privacy.renyi import RenyiDP
from duotone.release.coin import Coin, insecure_test_seed
from support.adversary import Asked, most_learnt
from support.ledgers import ABOUT, MemoryStore, ask, ending, register, rows_of
from support.renyi import extreme
from support.running import EXHAUSTIVE

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
    with pytest.raises(DuotoneError, match="an allowance is a share of the budget"):
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
    assert account.share(Charge(balanced(ApproxDP("0.0001", "1e-8")))) == Fraction(1, 10)  # its deltas
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
        first = ask(ledger, "before", each, asker="ann")
        ledger.allow("census", "ann", share="1/5", done_by="owner")
        ledger.allow("census", "*", share="1/50", done_by="owner")
        quoted = ledger.stands("census", asker="ann").repeats(each)
        for i in range(quoted):
            receipt = ask(ledger, f"q{i}", each, asker="ann")
        assert receipt.allowance is not None
        assert quoted + 1 == math.floor(first.one_of / 5)  # type: ignore[operator]
        for name, charge in (("ann", each), ("bo", Charge(balanced(ApproxDP("0.2"))))):
            with pytest.raises(OverBudget, match=f"into the allowance of {name} for census; left: .* % of it"):
                ask(ledger, "more", charge, asker=name)
        assert ledger.verify().holds
        assert str(ledger.share("census", "ann").left).endswith(" % of it")


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


TUNED = [("1", "1e-6", 10, 10), ("1", "1e-6", 1000, 30), ("3", "1e-5", 100, 12), ("0.5", "1e-9", 30, 8)]
"""ε, δ, for how many answers the order is the best, and into how many parts of equal price the budget is divided."""
SIZES = 1, 2, 3, 5


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta", "answers", "parts"), TUNED)
def test_an_adversary_who_chooses_everything_learns_no_more(epsilon: str, delta: str, answers: int, parts: int) -> None:
    """Answers of one to five parts of the budget, some with a delta, some of epsilon and delta, with any probabilities that
    are allowed, each chosen after the answers so far: up to 10^-2 of δ is what the grid adds. A tenth
    more, of prices or of deltas, would be too much."""
    e, d, order = float(epsilon), float(delta), RenyiAccount.of(ApproxDP(epsilon, delta), answers).budget.order
    part, small = by_hand(e, 0.9 * d, order) / parts, d / 20

    def binary(pairs: Iterable[tuple[float, float]]) -> list[list[tuple[float, float]]]:
        return [[(p, q), (1 - p, 1 - q)] for p, q in pairs]

    def by_epsilon(log_price: float) -> list[list[tuple[float, float]]]:
        low, high = 0.0, 20.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if math.log(price_by_hand(middle, order)) <= log_price else (low, middle)
        y = math.exp(low)
        p = [small, (1 - small) * y / (1 + y), (1 - small) / (1 + y), 0.0]
        return [[*zip(p, p[::-1], strict=True)]]

    questions: list[Asked] = [((size, 0), binary(extreme(order, math.exp(size * part)))) for size in SIZES]
    questions += [((1, 1), [*binary(extreme(order, math.exp(part), small)), *by_epsilon(part)])]
    step = 1 / (20 * order)
    assert 0.98 * d < most_learnt(questions, (parts, 2), e, step) <= 1.01 * d
    assert most_learnt(questions, (math.ceil(1.1 * parts), 2), e, step) > 1.1 * d
    assert most_learnt(questions, (parts, 6), e, step) > 1.1 * d


@pytest.mark.parametrize(("epsilon", "delta", "answers", "parts"), TUNED)
def test_answers_are_admitted_up_to_the_budget_of_the_theory(epsilon: str, delta: str, answers: int, parts: int) -> None:
    """Whatever the mix of their sizes, and whatever the order: what the adversary was allowed, and no more."""
    account, draw = RenyiAccount.of(ApproxDP(epsilon, delta), answers), random.Random(4)
    order, small = account.budget.order, Fraction(delta) / 20
    part = by_hand(float(epsilon), 0.9 * float(delta), order) / parts
    for _ in range(100):
        sums, taken, deltas = account.nothing, 0, 0
        while account.fits(sums):
            assert taken <= parts
            assert deltas <= 2
            size, with_delta = draw.choice(SIZES), draw.random() < 0.2
            price = Fraction(math.exp(size * part * (1 - 1e-9)))
            sums = sums.plus(RenyiDP(order, price, small if with_delta else 0))
            taken, deltas = taken + size, deltas + with_delta
        assert taken > parts or deltas > 2


RUNS = 3000 if EXHAUSTIVE else 150
"""On each of two neighbouring tables."""


def transcripts(promise: ApproxDP, level: int) -> list[float]:
    """The log-likelihood ratio, between this level and the next, of everything that runs are told through a ledger each.

    Each asks next to where its answers so far point to, at all of the budget or at a half, until nothing fits.
    """
    budget, found = RenyiAccount.of(promise, 2).budget, []
    shares = [balanced(RenyiDP._computed(budget.order, budget.split(parts).price, Fraction(0))) for parts in (2, 1)]
    coins = [Coin(line_table(line)) for line in shares]
    yes = [{at: float(line.yes(at)) for at in range(-5, 5)} for line in shares]
    ledger = Ledger(MemoryStore())
    for run in range(RUNS):
        ledger.register(f"run {run}", promise, version="1", account="renyi", answers=2, **ABOUT)
        learnt, sizes = 0.0, [0, 1]
        while sizes:
            size, limit = sizes[-1] if learnt >= 0 else sizes[0], max(-2, min(2, round(learnt)))
            flip = partial(lambda coin, at: bool(coin.answer(at).answer), coins[size], level + limit)
            try:
                told = ledger.ask(f"run {run}", f"limit {limit}", Charge(shares[size]), flip, again=True, **ABOUT).answer
            except OverBudget:
                sizes.remove(size)
                continue
            one, other = yes[size][limit], yes[size][limit - 1]
            learnt += math.log(one / other) if told else math.log((1 - one) / (1 - other))
        found.append(learnt)
    ledger._store.end()  # type: ignore[attr-defined]
    return found


def shown_epsilon(promise: ApproxDP, confidence: float) -> float:
    """A lower bound on ε at the promised δ, by Clopper and Pearson: of the event that the first table is likelier by √e."""
    first, second = (sum(learnt > 0.5 for learnt in transcripts(promise, level)) for level in (0, -1))
    rate = (1 - confidence) / 2
    least = beta.ppf(rate, first, RUNS - first + 1) if first else 0.0
    most = beta.ppf(1 - rate, second + 1, RUNS - second) if second < RUNS else 1.0
    return math.log(max(least - float(promise.delta), 1e-300) / most)


@pytest.mark.slow
@pytest.mark.false_alarm(1e-8)
def test_whole_transcripts_show_no_more_than_is_promised() -> None:
    """Questions chosen by the answers so far, until the ledger refuses, on two neighbouring tables."""
    promise = ApproxDP(1, "0.2")
    assert shown_epsilon(promise, 1 - 1e-8) <= promise.epsilon


@pytest.mark.slow
def test_transcripts_of_a_ledger_that_admits_too_much_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same audit, where the product of prices may come to the 40th power of the budget."""
    promise, fits = ApproxDP(1, "0.2"), RenyiAccount.fits
    budget = RenyiAccount.of(promise, 2).budget
    larger = RenyiAccount(promise, RenyiDP._computed(budget.order, budget.price**40, budget.delta))
    monkeypatch.setattr(RenyiAccount, "fits", lambda _, taken: fits(larger, taken))
    with warnings.catch_warnings(action="ignore"), insecure_test_seed(5):
        assert shown_epsilon(promise, 1 - 1e-8) > promise.epsilon


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
