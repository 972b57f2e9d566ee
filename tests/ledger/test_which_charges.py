"""Charges for one answer among k: what they cost in each account, how they are recorded, and forged ones."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, Charge, DuotoneError, OverBudget, balanced, open_ledger
from duotone.ledger.accounts import RenyiAccount
from duotone.ledger.entries import canonical, key_of
from duotone.ledger.ledger import Ledger
from duotone.ledger.verify import verify
from duotone.line.which import Which
from duotone.privacy.renyi import RenyiDP, Shared
from duotone.release.coin import Coin
from support.ledgers import ABOUT, ending, register, rows_of

TENTH = ApproxDP("0.1", "1e-8")


def asked(ledger: Ledger, question: str, charge: Charge, answer: Any = "north", **options: Any) -> Any:
    return ledger.ask("census", question, charge, lambda: answer, **ABOUT, **options)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("answers", [2, 10, 65536])
def test_it_costs_one_answer_whatever_their_number(place: str, answers: int, *, ordered: bool) -> None:
    charge = Charge(Which(TENTH, answers, ordered))
    assert charge.boundary == f"which of {answers}{' in order' * ordered}"
    assert Charge.read(TENTH, charge.boundary, 1) == charge
    assert str(charge) == "1 answer at ApproxDP(epsilon=0.1, delta=1/100000000)"
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP("0.25", "1e-6"))
        assert asked(ledger, "q", charge).left.epsilon == Fraction(15, 100)
        assert asked(ledger, "q", charge).free
        assert asked(ledger, "r", charge).left.epsilon == Fraction(5, 100)
        with pytest.raises(OverBudget, match="1 answer at"):
            asked(ledger, "s", charge)
        (first, _) = ledger.statement("census").charges
        assert first.cost == charge
        assert first.document() == {"answer": "north"}
        assert ledger.verify().holds


def test_answers_of_a_batch_are_charged_each_and_another_budget_is_said(place: str) -> None:
    """Which of five is the same at every budget, so the earlier one is said at which it is free."""
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(2, "1e-6"))
        paid = asked(ledger, "q", Charge(Which(TENTH, 5), 3), {"answers": [[["a"], "x"], [["b"], "y"]], "private": True})
        assert paid.left.epsilon == Fraction(17, 10)
        (record,) = ledger.statement("census").charges
        assert record.in_words == ((["a"], "x"), (["b"], "y"))
        before = asked(ledger, "q", Charge(Which(ApproxDP("0.2"), 5), 3)).before
        assert before is not None
        assert before.note == (
            "answered before at another epsilon and delta (charge 2): asked alone at epsilon 0.3, delta 3e-08 it is free"
        )


def test_in_an_account_renyi_it_costs_what_any_answer_does(tmp_path: Path) -> None:
    """With an epsilon, that of a coin with two sides; and the price of the order itself, if the wrong ones are alike."""
    with open_ledger(tmp_path / "l.ledger") as ledger:
        register(ledger, ApproxDP(1, "1e-6"), account="renyi")
        order = RenyiAccount.of(ApproxDP(1, "1e-6")).budget.order
        one = asked(ledger, "yes or no", Charge(balanced(ApproxDP("0.1"))), True)
        which = asked(ledger, "which", Charge(Which(ApproxDP("0.1"), 50, ordered=True)))
        assert one.share == which.share
        price = RenyiDP(order, "1.001")
        assert asked(ledger, "by its order", Charge(Which(price, 50))).share == pytest.approx(
            float(asked(ledger, "yes or no, too", Charge(balanced(price)), True).share), rel=1e-9
        )
        assert ledger.verify().holds


def test_answers_that_share_a_budget_are_charged_together(place: str) -> None:
    shared = Shared.of(ApproxDP(1, "1e-6"), 50)
    charge = Charge(Which(shared.each, 7), shared=shared)
    assert charge.boundary == f"which of 7+order {shared.order} of 50"
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(2, "2e-6"))
        asked(ledger, "q", charge)
        asked(ledger, "r", Charge(balanced(shared.each), shared=shared), True)  # as of yes and no
        assert ledger.statement("census").charges[0].cost == charge
        assert ledger.verify().holds


def test_forged_ones_are_found(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l.ledger") as ledger:
        register(ledger, ApproxDP(3, "3e-6"))
        asked(ledger, "q", Charge(Which(TENTH, 5)))
        entries = [{name: value for name, value in e.items() if name not in ("seq", "hash")} for e in ledger.entries()]

    def problems(boundary: str) -> tuple[str, ...]:
        body = {**entries[1], "boundary": boundary}
        body["key"] = key_of("census", "1", body, ("person", "replace"))
        rows = rows_of([canonical(each) for each in (entries[0], body)])
        return verify(rows, ending(rows)).problems

    assert problems("which of 5") == problems("which of 65536 in order") == ()
    for forged in (
        "which of 1", "which of 0", "which of 05", "which of 65537", "which of 99999", "which of 5 in  order", "which of 5 ",
        "which of five", "which of 5+selection", "which of", "which of 5+order 19", "which of -5", "which of \u0665",
    ):  # fmt: skip
        assert problems(forged) == ("entry 2 is for an answer that the account sum does not cover",), forged


def test_what_cannot_be_charged() -> None:
    with pytest.raises(DuotoneError, match="for yes and no alone"):
        Charge(Which(TENTH, 5), selected=True)
    with pytest.raises(DuotoneError, match="among how many answers"):
        Charge.read(TENTH, "which of many", 1)


def test_it_is_charged_and_then_drawn(tmp_path: Path) -> None:
    """As in a program that knows its answer and its distance."""
    which = Which(ApproxDP(1, "1e-6"), 5)
    with open_ledger(tmp_path / "l.ledger") as ledger:
        register(ledger, ApproxDP(1, "1e-6"))
        coin = Coin(which)
        receipt = ledger.ask("census", "which ward?", Charge(which), lambda: coin.outcomes([40])[0], **ABOUT)
        assert receipt.answer == 0
