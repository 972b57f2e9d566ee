"""The end of a dataset's account is what its whole statement ends with, and reading it takes no longer in a longer ledger."""

from __future__ import annotations

import random
from typing import Any

import pytest

from duotone import ApproxDP, Charge, balanced, open_ledger
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores.store import Entries
from duotone.line.three_way import ThreeWay
from duotone.model.cost import CloseCallCharge
from support.ledgers import ABOUT, ask, register

SMALL = Charge(balanced(ApproxDP("0.001")))


def test_the_latest_charges_are_those_of_the_statement(place: str) -> None:
    chance = random.Random(3)
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(5))
        register(ledger, ApproxDP(5), dataset="other")
        assert ledger.latest("census", 10) == []
        for i in range(60):
            if i == 40:
                ledger.allow("census", "*", ApproxDP(1))
                ledger.allow("census", "ann", ApproxDP(2))
            dataset, by = chance.choice([("census", "ann"), ("census", "bob"), ("other", None)])
            if chance.random() < 0.2:
                with pytest.raises(ZeroDivisionError):
                    ledger.ask(dataset, f"lost {i}", SMALL, lambda: 1 / 0, asker=by, **ABOUT)
            else:
                ask(ledger, f"q{chance.randrange(4)}", SMALL, again=True, asker=by, dataset=dataset)
        for name in ("census", "other"):
            account = ledger.statement(name)
            for many in (1, 7, 1000):
                assert ledger.latest(name, many) == list(account.charges[::-1][:many])
            for asker, share in account.shares.items():
                assert ledger.share(name, asker) == share
        assert ledger.share("census", "nobody").left == ledger.share("census", "*").left
        assert ledger.share("other", "ann").budget is None


@pytest.mark.slow
def test_clear_answers_are_counted_on(place: str) -> None:
    chance, asked = random.Random(4), CloseCallCharge(ThreeWay(ApproxDP("0.02"), "1e-9"), 3)
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(4, "1e-6"), close_calls=asked.question)
        assert ledger.clear_answers("census") == 0
        for i in range(12):
            calls = chance.choice([0, 0, 0, 1])
            outcomes = ["too close to call"] * calls + ["yes"] * (3 - calls)
            written: Any = {"answers": [[[j], o] for j, o in enumerate(outcomes)]} if chance.random() < 0.7 else "three"
            ledger.ask("census", f"q{i}", asked, lambda _, w=written, c=calls: (w, c), **ABOUT)
            if i % 3 == 0:
                assert ledger.clear_answers("census") == ledger.statement("census").clear > 0
        with open_ledger(place) as another:
            assert another.clear_answers("census") == ledger.clear_answers("census") == ledger.statement("census").clear


@pytest.mark.slow
def test_reading_it_takes_no_longer_in_a_longer_ledger(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the number of entries that are read, which no other load on the machine changes."""
    read: list[int] = []
    select = Entries._select

    def counted(self: Entries, *which: Any) -> Any:
        rows = select(self, *which)
        read.append(len(rows))
        return rows

    def looked(ledger: Ledger) -> int:
        read.clear()
        with monkeypatch.context() as patch:
            patch.setattr(Entries, "_select", counted)
            ledger.latest("census", 20)
            ledger.stands("census", asker="ann")
            ledger.share("census", "ann")
            ledger.clear_answers("census")
        return sum(read)

    with open_ledger(tmp_path / "l") as ledger:
        register(ledger, ApproxDP(5))
        ledger.allow("census", "ann", ApproxDP(4))
        counts = []
        for many in (40, 400):
            for i in range(many):
                ask(ledger, f"{many} {i}", SMALL, asker="ann")
            counts.append(looked(ledger))
    assert counts[0] == counts[1] < 100
