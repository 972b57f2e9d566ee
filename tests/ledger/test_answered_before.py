"""The same question at another budget: how far back it is looked for, and under which texts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from duotone import ApproxDP, Charge, balanced
from duotone.ledger.ledger import Ledger
from support.ledgers import HALF, MemoryStore, ask, register

OTHER = Charge(balanced(ApproxDP("0.25")))
THIRD = Charge(balanced(ApproxDP("0.75")))


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    store = MemoryStore()
    ledger = Ledger(store)
    register(ledger, ApproxDP(1000))
    yield ledger
    store.end()


@pytest.mark.parametrize(("others", "said"), [(99, True), (100, False)])
def test_the_last_hundred_charges_are_looked_through(ledger: Ledger, others: int, said: bool) -> None:
    """As docs/budgets.md says."""
    ask(ledger, "q", HALF)
    for i in range(others):
        ask(ledger, f"another {i}", HALF)
    before = ask(ledger, "q", OTHER).before
    assert (before is not None) == said


def test_a_charge_without_an_answer_does_not_hide_an_answered_one(ledger: Ledger) -> None:
    def fails() -> bool:
        raise OSError("no disk")

    paid = ask(ledger, "q", HALF).charge
    with pytest.raises(OSError, match="no disk"):
        ledger.ask("census", "q", OTHER, fails, unit="person", neighbours="replace")
    before = ask(ledger, "q", THIRD).before
    assert before is not None
    assert before.charge == paid


def test_another_number_of_answers_is_called_so(ledger: Ledger) -> None:
    paid = ask(ledger, "q", HALF).charge
    before = ask(ledger, "q", Charge(HALF.mechanism, 2)).before
    assert before is not None
    assert before.note == f"answered before at another number of answers (charge {paid})"
