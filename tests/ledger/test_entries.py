"""Entries: what may be read of one, and how long it may get."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, Charge, DuotoneError, balanced, open_ledger, with_boundary
from duotone.errors import LedgerError
from duotone.ledger import entries as chain
from duotone.ledger.accounts import definite
from duotone.ledger.entries import Calls, State, canonical, dated, decoded, loaded
from duotone.ledger.stores import Row
from duotone.line.three_way import ThreeWay
from duotone.model.cost import CloseCallCharge
from support.ledgers import ABOUT, PLAIN, ask, register


def _row(text: Any, hashed: Any = "h") -> Row:
    return Row(2, "d", "charge", "k", text, hashed)


CHARGE, CLOCK = json.loads(PLAIN[1]), json.loads(PLAIN[2])


NOT_ENTRIES: list[dict[str, Any]] = [
    *({name: value for name, value in CHARGE.items() if name != missing} for missing in CHARGE if missing != "by"),
    *({**CHARGE, name: 1.5} for name in ("version", "question", "notion", "boundary", "answers", "key", "after", "kind", "at")),
    *({**CHARGE, "answers": n} for n in (0, -1, True, "2")),
    *({**CHARGE, "v": v} for v in (0, -1, 2, True, "1", 1.0)),
    *({**CHARGE, name: text} for name in ("dataset", "version", "by") for text in ("", "x" * 201, "a\nb", 7)),
    *({**CHARGE, "at": time} for time in ("2026-11-15T11:00:01", "x", "", 7)),
    {**CHARGE, "kind": "gift"},
    {**CHARGE, "kind": []},
    {**CHARGE, "kind": {}},
    {**CLOCK, "dataset": "d"},
    {**CLOCK, "by": ""},
]


@pytest.mark.parametrize("body", NOT_ENTRIES, ids=range(len(NOT_ENTRIES)))
def test_only_entries_with_every_field_of_their_kind_are_read(body: dict[str, Any]) -> None:
    with pytest.raises(LedgerError, match="entry 2 of the ledger is damaged"):
        decoded(_row(json.dumps(body)))


@pytest.mark.parametrize("text", ["[]", "7", "{", '{"a": NaN}', "[" * 200_000, b"{}", 7, None])
def test_what_is_no_object_is_neither_read_nor_exported(text: Any) -> None:
    for reading in (decoded, loaded):
        with pytest.raises(LedgerError, match="entry 2 of the ledger is damaged"):
            reading(_row(text))
    assert dated(_row(text)) is None


def test_entries_at_the_limits_are_read() -> None:
    for body in (
        CHARGE,
        CLOCK,
        {**CHARGE, "by": "x" * 200, "dataset": "y"},
        {**CHARGE, "answers": 1},
        {**CHARGE, "again": None},
    ):
        assert decoded(_row(json.dumps(body))) == body
    assert loaded(_row("{}")) == {}
    with pytest.raises(LedgerError, match="damaged"):
        loaded(_row("{}", b"h"))
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"answer": float("nan")})


def test_the_time_of_an_entry_is_read_whatever_else_it_says() -> None:
    assert dated(_row('{"at": "2026-11-15T12:30:00+01:00"}')) == datetime(2026, 11, 15, 11, 30, tzinfo=UTC)
    for at in ("2026-11-15T12:30:00", "x", "", 7, None, ["2026-11-15T12:30:00+01:00"]):
        assert dated(_row(json.dumps({"at": at}))) is None
    assert dated(_row("{}")) is None


def test_only_what_an_entry_may_carry_is_read() -> None:
    """Counts at least 0, a version, and the sums: nothing missing, nothing beside them."""
    body = json.loads(PLAIN[1])
    after = body["after"]
    state = State.of(body)
    assert (state.version, state.charges, state.answers, state.unanswered) == ("1", 1, 0, 1)
    assert (state.spent.answers, state.spent.numbers()["epsilon"]) == (2, Fraction(1))
    wrong = [{**after, name: n} for name in ("charges", "answers") for n in (-1, True, "1", 1.0, None)]
    wrong += [{**after, "version": text} for text in ("", "x" * 201, 1)]
    wrong += [{**after, "more": 0}, {**after, "allowances": 0}, {**after, "calls": 0}, {**after, "calls": 0, "reserved": -1}]
    wrong += [{name: value for name, value in after.items() if name != missing} for missing in after]
    for each in wrong:
        with pytest.raises((DuotoneError, LookupError, TypeError, AttributeError)):
            State.of({**body, "after": each})
    with pytest.raises(FrozenInstanceError):
        state.charges = 0  # type: ignore[misc]


def test_long_entries_are_not_kept_in_memory() -> None:
    """What entries of up to 20,000 characters say is remembered for a while; longer ones are read anew each time."""
    for length, hits in ((20_000, 1), (20_001, 0)):
        text = json.dumps({**CHARGE, "question": "q"})
        text = json.dumps({**CHARGE, "question": "q" * (length - len(text) + 1)})
        assert len(text) == length
        before = chain._decoded.cache_info()
        assert decoded(_row(text)) == decoded(_row(text))
        after = chain._decoded.cache_info()
        assert (after.hits - before.hits, after.misses - before.misses) == (hits, hits)


def test_what_is_written_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = Fraction(10**1200 + 1, 10**1200)
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger, ApproxDP(8))
        before = ledger.entries()
        with pytest.raises(DuotoneError, match=r"too many digits for a ledger: 4\d\d\d characters, and at most 3000 are kept"):
            ask(ledger, "q", Charge(balanced(ApproxDP(long, long - 1 + Fraction(1, 3)))))
        with pytest.raises(DuotoneError, match="fixed at the boundary has too many digits"):
            ask(ledger, "q", Charge(with_boundary(ApproxDP(1), 1 - 1 / (1 + Fraction(27182, 10000)) - Fraction(1, 10**2000))))
        with pytest.raises(DuotoneError, match="has too many digits"):
            register(ledger, ApproxDP(long, long - 1 + Fraction(1, 3)), dataset="d")
        assert ledger.entries() == before
        monkeypatch.setattr("duotone.ledger.entries.LONGEST_ANSWER", 100)
        assert ledger.ask("census", "q", Charge(balanced(ApproxDP(1))), lambda: "x" * 98, **ABOUT).answer == "x" * 98
        with pytest.raises(DuotoneError, match="has at most 100 characters as JSON, got 101; the charge stands"):
            ledger.ask("census", "r", Charge(balanced(ApproxDP(1))), lambda: "x" * 99, **ABOUT)
        assert ledger.statement("census").state.unanswered == 1
        with pytest.raises(DuotoneError, match="JSON can hold"):
            ledger.ask("census", "s", Charge(balanced(ApproxDP(1))), _nested, **ABOUT)


def _nested() -> Any:
    answer: Any = 1
    for _ in range(100_000):
        answer = [answer]
    return answer


def test_a_state_takes_no_entry_that_it_cannot_have() -> None:
    """Whoever can write a ledger could write one, and `verify` computes states anew."""
    with pytest.raises(DuotoneError, match="a closed dataset has no more entries"):
        State(closed=True).after({"kind": "version", "version": "2"})
    for kind in ("asker", "allowance"):
        with pytest.raises(DuotoneError, match="close calls are counted for all askers together"):
            State(calls=Calls()).after({"kind": kind})


def test_a_close_call_adds_to_no_sum() -> None:
    with pytest.raises(DuotoneError, match="this is charged by close calls"):
        definite(CloseCallCharge(ThreeWay(ApproxDP("0.05"))))
