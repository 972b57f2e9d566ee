"""Clocks that run backwards, or were ahead: what is refused, and the owner's way out."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, Charge, DuotoneError, balanced, open_ledger
from duotone.cli.app import main
from duotone.errors import LedgerError
from duotone.ledger.entries import canonical
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores import open_store
from duotone.ledger.verify import verify
from support.ledgers import ABOUT, HALF, ask, ending, register, rows_of


def test_a_clock_that_runs_backwards(tmp_path: Path) -> None:
    path = tmp_path / "l"
    now = datetime(2026, 11, 15, 12, tzinfo=UTC)
    times = [now]
    with Ledger(open_store(path), clock=lambda: times[0]) as ledger:
        register(ledger)
        times[0] = now - timedelta(seconds=30)
        ask(ledger, "q", Charge(balanced(ApproxDP("0.1"))))  # clocks differ a little
        assert {entry["at"] for entry in ledger.entries()} == {now.isoformat()}
        times[0] = now.replace(tzinfo=None)
        with pytest.raises(DuotoneError, match="times with a time zone"):
            ask(ledger, "r")
        times[0] = now - timedelta(hours=1)
        flips: list[int] = []
        with pytest.raises(LedgerError, match=r"the clock says 2026-11-15 11:00:00 UTC, before the ledger's last entry"):
            ask(ledger, "r", flips=flips)
        assert flips == []

        def late() -> bool:
            times[0] = now - timedelta(hours=5)
            return True

        times[0] = now
        assert ledger.ask("census", "s", HALF, late, **ABOUT).answer is True  # paid for, and recorded
        assert ledger.verify().holds


def test_an_entry_from_the_future_and_the_owners_way_out(tmp_path: Path) -> None:
    now = datetime(2026, 11, 15, 12, tzinfo=UTC)
    times = [now]
    small = Charge(balanced(ApproxDP("0.1")))
    with Ledger(open_store(tmp_path / "l"), clock=lambda: times[0]) as ledger:
        register(ledger)
        with pytest.raises(DuotoneError, match="there is nothing to reset"):
            ledger.reset_clock(done_by="owner")
        times[0] = now + timedelta(days=3650)
        ask(ledger, "q", small)
        times[0] = now + timedelta(minutes=1)
        flips: list[int] = []
        with pytest.raises(LedgerError, match="or, if it was ahead then, let the owner reset the ledger's clock"):
            ask(ledger, "r", small, flips=flips)
        for nobody in ("", None):
            with pytest.raises(DuotoneError, match="a name is a short printable text"):
                ledger.reset_clock(done_by=nobody)  # type: ignore[arg-type]
        assert flips == []
        ledger.reset_clock(done_by="owner")
        assert not ask(ledger, "r", small).free
        assert ask(ledger, "q", small).free
        assert str(ledger.statement("census").left) == "epsilon 0.8, delta 0"
        assert ledger.datasets() == ["census"]
        kinds = [entry["kind"] for entry in ledger.entries()]
        assert kinds == ["register", "charge", "answer", "clock", "charge", "answer"]
        entry = ledger.entries()[3]
        assert entry["before"] == (now + timedelta(days=3650)).isoformat()
        assert (entry["at"], entry["by"]) == (times[0].isoformat(), "owner")
        assert ledger.verify().holds
        with pytest.raises(DuotoneError, match="there is nothing to reset"):
            ledger.reset_clock(done_by="owner")
        _only_as_such([json.dumps(_body(e), sort_keys=True, separators=(",", ":")) for e in ledger.entries()])


def test_the_command_resets_a_clock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "l"
    with Ledger(open_store(path), clock=lambda: datetime(2999, 1, 1, tzinfo=UTC)) as ledger:
        register(ledger)
    for expected in (0, 2):
        with pytest.raises(SystemExit) as ended:
            main(["ledger", "reset-clock", str(path), "--done-by", "owner"])
        assert (ended.value.code or 0) == expected
    assert "there is nothing to reset" in capsys.readouterr().err
    with open_ledger(path) as ledger:
        assert not ask(ledger).free
        assert ledger.verify().holds


def _only_as_such(texts: list[str]) -> None:
    """Without the entry, with another time in it, twice, or first of all: verify says so."""
    clock = texts[3]
    body = json.loads(clock)
    for changed, said in (
        (texts[:3] + texts[4:], "entry 4 is dated before the one it follows, and none says that the clock was set back"),
        ([*texts[:3], canonical({**body, "before": body["at"]}), *texts[4:]], "entry 4 sets back a clock that was not ahead"),
        ([*texts[:3], canonical({**body, "at": body["before"]})], "entry 4 sets back a clock that was not ahead"),
        ([*texts[:4], clock, *texts[4:]], "entry 5 sets back a clock that was not ahead"),
        ([clock, *texts], "entry 1 sets back a clock that was not ahead"),
        ([*texts[:3], canonical({**body, "dataset": "census"}), *texts[4:]], "entry 4 does not make sense where it stands"),
        ([*texts[:3], canonical({**body, "at": "x"}), *texts[4:]], "entry 4 does not make sense where it stands"),
    ):
        rows = rows_of(changed)
        assert said in verify(rows, ending(rows)).problems


def _body(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in ("seq", "hash")}
