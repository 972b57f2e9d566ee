"""Recorded entries keep their meaning for ever, and what is of a newer Duotone is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from duotone import ApproxDP, Charge, DuotoneError, OverBudget, balanced, open_ledger
from duotone.errors import LedgerError
from duotone.ledger.entries import State, canonical, digest
from duotone.ledger.ledger import Ledger
from duotone.ledger.verify import Verdict, verify
from support.accountant import audit
from support.ledgers import ALLOWED, PLAIN, ask, ending, execute, register, rows_of, stored


@pytest.mark.parametrize(
    ("texts", "head", "sums"),
    [
        (PLAIN, "7bd488e394f9f5adc0bfa565afea4f8434e7d5dacfa3bbf5b1c398c43d09ec0f", (Fraction(1), 2, 1)),
        (ALLOWED, "c0e718be35bd5b8f5cb4ad08815c5892da0da621b9d4b8d29072afdf68687a04", (Fraction(3, 2), 3, 2)),
    ],
    ids=["plain", "allowed"],
)
def test_recorded_entries_keep_their_meaning(texts: list[str], head: str, sums: tuple[Fraction, int, int]) -> None:
    """Entries verbatim: they must verify and add up for ever."""
    rows = rows_of(texts)
    assert [canonical(json.loads(text)) for text in texts] == texts
    assert [row.hash for row in rows][-1] == head
    assert digest(rows[-2].hash, len(rows), texts[-1]) == head
    assert verify(rows, ending(rows)) == Verdict(len(rows), head, ())
    account = audit(json.loads(text) | {"seq": i} for i, text in enumerate(texts, 1))["d"]
    assert (account.epsilon, account.answers, account.answered, account.overspent) == (*sums, [])


def test_a_recorded_ledger_goes_on(tmp_path: Path) -> None:
    """Its answers stay free, and its charges count."""
    half = Charge(balanced(ApproxDP("0.5")), 2)
    with open_ledger(stored(tmp_path / "l", [PLAIN[0], PLAIN[1], PLAIN[3]])) as ledger:
        assert ask(ledger, "q", half, dataset="d").free
        assert ledger.statement("d").spent == (1.0, 0.0)
        assert str(ask(ledger, "r", Charge(balanced(ApproxDP(1, "4e-7"))), dataset="d").left) == "epsilon 0, delta 6e-07"
        ledger.relabel("d", "2")
        with pytest.raises(OverBudget):
            ask(ledger, "q", half, dataset="d")
        assert {entry["v"] for entry in ledger.entries()} == {1}
        assert ledger.verify().holds
        account = audit(ledger.entries())["d"]
        assert (account.epsilon, account.delta, account.overspent) == (Fraction(2), Fraction(4, 10**7), [])


def test_a_state_counts_what_entries_charge() -> None:
    """By hand: 2 answers at 1/2, then 3 more, and 1 at 1/4; an answer and a version change no sum."""
    charge = json.loads(PLAIN[1])
    state = State().after(charge).after({**charge, "answers": 3}).after(json.loads(PLAIN[3]))
    state = state.after({**charge, "notion": "epsilon=1/4 delta=0", "answers": 1})
    assert (state.charges, state.answers, state.unanswered) == (3, 1, 2)
    assert (state.spent.answers, state.spent.numbers()["epsilon"]) == (6, Fraction(11, 4))
    relabelled = state.after({"kind": "version", "v": 1, "version": "2"})
    assert (relabelled.version, relabelled.spent) == ("2", state.spent)
    with pytest.raises(DuotoneError, match="an entry of kind gift changes no dataset"):
        state.after({"kind": "gift", "v": 1})


def test_a_newer_ledger_is_refused(place: str, ledger: Ledger) -> None:
    ledger.close()
    execute(place, "UPDATE duotone_ledger SET value = '99' WHERE name = 'schema'")
    flips: list[int] = []
    with pytest.raises(LedgerError, match=r"newer Duotone \(schema 99, this one knows 1\): update Duotone"):
        ask(ledger, flips=flips)
    with pytest.raises(LedgerError, match="newer Duotone"):
        register(ledger, dataset="d")
    assert flips == []
