"""How many charges more would fit: as many as are then admitted, one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, OverBudget, balanced, open_ledger
from duotone.line.three_way import ThreeWay
from duotone.model.cost import Charge, CloseCallCharge

ABOUT: dict[str, Any] = {"unit": "row", "neighbours": "add-remove"}


def admitted(ledger: Any, charge: Charge, by: str | None) -> int:
    many = 0
    while many < 1000:
        try:
            ledger.ask("d", f"question {many} of {by}", charge, lambda: True, asker=by, **ABOUT)
        except OverBudget:
            return many
        many += 1
    raise AssertionError("a budget that does not end")


@pytest.mark.parametrize("account", ["sum"])
@pytest.mark.parametrize("answers", [1, 3])
def test_as_many_fit_as_are_said_to(tmp_path: Path, account: Any, answers: int) -> None:
    charge = Charge(balanced(ApproxDP("0.07", "1e-9")), answers)
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.register("d", ApproxDP(1, "1e-6"), version="1", account=account, **ABOUT)
        ledger.ask("d", "an earlier one", Charge(balanced(ApproxDP("1/30", "1e-8"))), lambda: True, **ABOUT)
        expected = ledger.stands("d").repeats(charge)
        assert 0 < expected == admitted(ledger, charge, None)
        assert ledger.stands("d").repeats(charge) == 0


def test_an_allowance_is_a_limit_too(tmp_path: Path) -> None:
    charge = Charge(balanced(ApproxDP("0.1")))
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.register("d", ApproxDP(1), version="1", **ABOUT)
        ledger.allow("d", "bo", ApproxDP("0.35"))
        assert ledger.stands("d", asker="bo").repeats(charge) == 3 == admitted(ledger, charge, "bo")
        assert ledger.stands("d", asker="cy").repeats(charge) == 7


def test_close_calls(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.register("d", ApproxDP(1, "1e-6"), version="1", close_calls=ThreeWay(ApproxDP("0.05")), **ABOUT)
        called = ledger.close_calls("d")
        assert called is not None
        assert ledger.stands("d").repeats(CloseCallCharge(called.question)) == called.count
