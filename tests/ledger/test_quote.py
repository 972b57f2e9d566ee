"""A quote is what asking then does."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, DuotoneError, balanced, open_ledger
from duotone.errors import OverBudget
from duotone.ledger.ledger import Ledger
from duotone.model.checks import AccountName
from duotone.model.cost import Charge

ABOUT: Any = {"unit": "row", "neighbours": "add-remove"}
HALF = ApproxDP("1/2", "1e-6")


def asked(ledger: Ledger, question: str, charge: Charge, again: bool) -> tuple[bool, bool, str]:
    """Whether it was free, whether it fitted, and what is left."""
    try:
        receipt = ledger.ask("d", question, charge, lambda: True, again=again, **ABOUT)
    except OverBudget as over:
        return False, False, str(over.left)
    return receipt.free, True, str(receipt.left)


@pytest.mark.parametrize("account", ["sum"])
@pytest.mark.parametrize("again", [False, True])
def test_questions_in_turn_cost_what_was_quoted(account: AccountName, again: bool, tmp_path: Path) -> None:
    draw = random.Random(f"{account} {again}")
    definitions = [HALF, ApproxDP("1/4"), ApproxDP(2, "1e-7")]
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.register("d", ApproxDP(3, "1e-5"), version="1", account=account, **ABOUT)
        kinds = set()
        for _ in range(6):
            questions = [
                (f"count(*) > {draw.randrange(8)}", Charge(balanced(draw.choice(definitions)), draw.choice([1, 1, 2])))
                for _ in range(4)
            ]
            before = ledger.entries()
            quotes = ledger.quote("d", questions, again=again, **ABOUT)
            assert ledger.entries() == before
            assert [(q.free, q.fits, str(q.left)) for q in quotes] == [
                asked(ledger, *question, again) for question in questions
            ]
            kinds |= {(q.free, q.fits) for q in quotes}
        assert kinds >= {(False, True), (False, False)}
        assert ((True, True) in kinds) != again


def test_a_quote_is_refused_as_the_question_would_be(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.register("d", ApproxDP(3, "1e-5"), version="1", **ABOUT)
        charge = Charge(balanced(HALF))
        for dataset, charges, about, says in (
            ("e", charge, ABOUT, "there is no dataset e in this ledger"),
            ("d", charge, {**ABOUT, "unit": "u"}, "is registered with unit row"),
            ("d", 5, ABOUT, "charge must be a Charge"),
        ):
            with pytest.raises(DuotoneError, match=says):
                ledger.quote(dataset, [("q", charges)], **about)  # type: ignore[list-item]
