"""Who may append to a ledger in Postgres cannot write a charge that hides what was spent before it, or an answer that does."""

from __future__ import annotations

import random
from copy import deepcopy
from fractions import Fraction
from hashlib import sha256
from typing import Any

import pytest

from duotone import ApproxDP, Charge, balanced, open_ledger
from duotone.errors import LedgerError, OverBudget
from duotone.ledger.entries import canonical
from duotone.line.three_way import ThreeWay
from duotone.model.cost import CloseCallCharge
from duotone.privacy.renyi import RenyiDP
from support.forged import appended, less, next_charge, smaller, without_place
from support.ledgers import ABOUT, HALF, ask, register


@pytest.mark.parametrize(
    "privacy", [ApproxDP("1/3", "1e-9"), ApproxDP(exp_epsilon="7/5", delta="1e-9")], ids=["epsilon", "ratio"]
)
@pytest.mark.parametrize("answers", [1, 3])
def test_a_charge_never_adds_less_than_it_says(url: str, privacy: ApproxDP, answers: int) -> None:
    with open_ledger(url) as ledger:
        register(ledger, ApproxDP(9, "1e-6"))
        charge = Charge(balanced(privacy), answers)
        ask(ledger, "first", charge)
        last, honest = next_charge(ledger, charge)
        forged = list(smaller(honest["after"]))
        assert len(forged) >= 18
        for after in forged:
            assert not appended(url, last, {**honest, "after": after}), after
        assert not appended(url, last, {**honest, "notion": "ratio=1/2 delta=0"})
        assert not appended(url, last, {**honest, "notion": "epsilon=1/2"})
        assert not appended(url, last, {**honest, "version": "2"})
        assert ledger.verify().holds
        assert appended(url, last, honest)


@pytest.mark.parametrize("answers", [1, 3])
@pytest.mark.parametrize(
    "privacy",
    [RenyiDP(21, "1.02", "1e-9"), ApproxDP("1/30", "1e-9"), ApproxDP(exp_epsilon="31/30", delta="1e-9")],
    ids=["price", "epsilon", "ratio"],
)
def test_a_charge_to_an_account_renyi_never_adds_less_than_it_says(url: str, privacy: Any, answers: int) -> None:
    with open_ledger(url) as ledger:
        register(ledger, ApproxDP(1, "1e-6"), account="renyi")
        charge = Charge(balanced(privacy), answers)
        ask(ledger, "first", charge)
        last, honest = next_charge(ledger, charge)
        after, spent = honest["after"], honest["after"]["spent"]
        assert set(spent) == {"answers", "order", "price", "delta"}
        forged: list[dict[str, Any]] = [{"price": price} for price in ("1", last["after"]["spent"]["price"], "3/6")]
        forged += [{"price": less(spent["price"], part)} for part in (10**20, -(10**20))]
        forged += [{"delta": "0"}, {"delta": less(spent["delta"])}, {"order": 20}, {"answers": spent["answers"] - 1}]
        forged += [{"more": 1}]
        for change in forged:
            assert not appended(url, last, {**honest, "after": {**after, "spent": {**spent, **change}}}), change
        assert not appended(url, last, {**honest, "after": {**after, "spent": {}}})
        for notion in (
            "order=20 price=51/50 delta=0",
            "order=21 price=1/2 delta=0",
            "order=21 price=1 delta=0",
            "epsilon=9000 delta=0",
        ):
            assert not appended(url, last, {**honest, "notion": notion}), notion
        assert ledger.verify().holds
        assert appended(url, last, honest)


def test_a_price_is_no_sum_and_a_sum_no_price(url: str) -> None:
    """Of a dataset with the other account, however it is filed."""
    with open_ledger(url) as ledger:
        register(ledger, ApproxDP(1, "1e-6"), account="renyi")
        register(ledger, ApproxDP(1, "1e-6"), dataset="few")
        last, honest = next_charge(ledger, HALF, dataset="few")
        _, other = next_charge(ledger, HALF)
        spent = {"answers": 1, "order": 21, "price": "1", "delta": "0"}
        for sums in (spent, other["after"]["spent"]):
            assert not appended(url, last, {**honest, "after": {**honest["after"], "spent": sums}})
        assert not appended(url, last, {**other, "after": {**other["after"], "spent": honest["after"]["spent"]}})
        assert not appended(url, last, {**honest, "notion": "order=21 price=1 delta=0"})
        assert appended(url, last, honest)


def test_nobody_overspends_after_a_forged_charge(url: str) -> None:
    """As it was: a charge that carried no sums, and two more answers of a budget of two."""
    with open_ledger(url) as ledger:
        register(ledger)
        ask(ledger, "a")
        ask(ledger, "b")
        with pytest.raises(OverBudget):
            ask(ledger, "c")
        last = ledger.entries()[-1]
        body = without_place(next(entry for entry in ledger.entries() if entry["kind"] == "charge"))
        nothing = {"answers": 0, "epsilon": "0", "exp_epsilon": "1", "delta": "0"}
        forged = {**body, "at": last["at"], "after": {"version": "1", "charges": 3, "answers": 2, "spent": nothing}}
        assert not appended(url, last, forged)
        with pytest.raises(OverBudget):
            ask(ledger, "c")
        assert ledger.verify().holds


def test_an_answer_takes_nothing_back_and_is_the_only_one_of_its_charge(url: str) -> None:
    with open_ledger(url) as ledger:
        register(ledger, ApproxDP(3))
        ask(ledger, "a")
        ask(ledger, "b")
        with pytest.raises(ZeroDivisionError):
            ledger.ask("census", "c", HALF, lambda: 1 / 0, **ABOUT)
        *_, answer, charge = map(without_place, ledger.entries())
        last = ledger.entries()[-1]
        key, after = charge["key"], {**charge["after"], "answers": 3}
        honest = {**answer, "key": key, "charge": last["seq"], "answer": True, "at": last["at"], "after": after}
        for state in smaller(after):
            assert not appended(url, last, {**honest, "after": state})
        assert not appended(url, last, {**honest, "charge": 1})
        assert not appended(url, last, {**honest, "charge": 2})  # the charge of another question
        assert not appended(url, last, {**honest, "charge": 2, "key": ledger.entries()[1]["key"]})  # which is answered
        assert appended(url, last, honest)
        last = ledger.entries()[-1]
        twice = {**honest, "after": {**after, "answers": 4}}
        assert not appended(url, last, twice)
        assert ledger.verify().holds


def test_close_calls_are_given_back_once(url: str) -> None:
    asked = CloseCallCharge(ThreeWay(ApproxDP("0.05"), "1e-9"), 2)
    with open_ledger(url) as ledger:
        register(ledger, ApproxDP(2, "1e-6"), close_calls=asked.question)

        def call(text: str, calls: int) -> Any:
            outcomes = ["too close to call"] * calls + ["yes"] * (2 - calls)
            return ledger.ask("census", text, asked, lambda _: ({"answers": [[[], o] for o in outcomes]}, calls), **ABOUT)

        call("a", 1)
        left = call("b", 0).left.close_calls
        *_, charge, answer = map(without_place, ledger.entries())
        last = ledger.entries()[-1]
        again = deepcopy(answer)
        again["after"]["answers"] += 1
        assert not appended(url, last, again)
        for used, reserved in ((0, 0), (1, 0), (1, 1), (0, 2), (2, 2)):
            forged = deepcopy(charge)
            forged["at"], forged["after"] = last["at"], {**answer["after"], "charges": 3, "calls": used, "reserved": reserved}
            assert appended(url, last, forged) is ((used, reserved) == (1, 2))
        assert ledger.verify().holds
        assert call("c", 0).left.close_calls == left


def test_close_calls_are_reserved_for_questions_as_they_were_registered(url: str) -> None:
    """A definition that nobody can read would have kept everybody from the dataset's statement, for ever."""
    asked = CloseCallCharge(ThreeWay(ApproxDP("0.05"), "1e-9"), 2)
    with open_ledger(url) as ledger:
        register(ledger, ApproxDP(2, "1e-6"), close_calls=asked.question)
        ledger.ask("census", "a", asked, lambda _: ({"answers": [[[], "yes"], [[], "no"]]}, 0), **ABOUT)
        last = ledger.entries()[-1]
        honest = without_place(ledger.entries()[-2])
        honest |= {"at": last["at"], "after": {**last["after"], "charges": 2, "reserved": 2}}
        for field, other in (("notion", "epsilon=1/2  delta=0"), ("notion", "epsilon=1/30 delta=0"), ("boundary", "*")):
            forged = {**honest, field: other}
            same = [forged[name] for name in ("dataset", "version", "question", "notion", "boundary", "answers")]
            key = sha256(canonical({"same": [*same, *ABOUT.values()]}).encode()).hexdigest()
            assert not appended(url, last, {**forged, "key": key}), other
        assert appended(url, last, honest)
        assert len(ledger.statement("census").charges) == 2
        assert ledger.verify().holds


def test_an_askers_sums_are_compared_too(url: str) -> None:
    with open_ledger(url) as ledger:
        register(ledger, ApproxDP(9))
        ledger.allow("census", "ann", ApproxDP(2))
        ledger.allow("census", "*", ApproxDP(1))
        for name in ("ann", "bob"):
            ask(ledger, "a", asker=name, again=True)
            last, honest = next_charge(ledger, HALF, asker=name)
            for state in smaller({"charges": 1, "answers": 1, "version": "1", "spent": honest["asker_spent"]}):
                if "spent" in state and state["spent"] != honest["asker_spent"]:
                    assert not appended(url, last, {**honest, "asker_spent": state["spent"]})
            everybody = next(e["filed"] for e in ledger.entries() if e.get("asker") == "*")
            assert not appended(url, last, {**honest, "filed": everybody})
            assert appended(url, last, honest)
            assert ledger.verify().holds


@pytest.mark.slow
def test_honest_charges_of_every_size_are_taken(url: str) -> None:
    """Long fractions, ratios near 1 and far from it, batches, sums that are rounded up: nothing honest is refused."""
    chance = random.Random(7)
    definitions = [
        ApproxDP("1/3", "1e-9"),
        ApproxDP(Fraction(chance.getrandbits(3000), 2**3090), Fraction(1, 2**3000)),
        ApproxDP(Fraction(1, 3**2000)),
        ApproxDP(exp_epsilon="3/2"),
        ApproxDP(exp_epsilon=1 + Fraction(1, 2**3000)),
        ApproxDP(exp_epsilon=Fraction(3**1200, 2**1200), delta=Fraction(1, 3**1000)),
    ]
    with open_ledger(url) as ledger:
        register(ledger, ApproxDP(8000, "0.9"))
        for i in range(40):
            charge = Charge(balanced(chance.choice(definitions)), chance.choice([1, 2, 7]))
            try:
                ask(ledger, f"q{i}", charge)
            except LedgerError as refused:
                pytest.fail(f"{charge.privacy!r:.200}: {refused}")
        assert ledger.verify().holds
