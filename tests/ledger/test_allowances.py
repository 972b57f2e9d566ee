"""Allowances by asker, and closed datasets: never exceeded, whoever asks at once, and never unknown to an older Duotone."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, Charge, OverBudget, balanced, open_ledger
from duotone.cli.app import main
from duotone.errors import DuotoneError, LedgerError
from duotone.ledger.entries import canonical
from duotone.ledger.ledger import Ledger
from support.accountant import audit
from support.ledgers import ABOUT, HALF, MemoryStore, ask, askers, chained_anew, execute, register, stored

SEQUENCES = int(os.environ.get("DUOTONE_SEQUENCES", 600)) // 20
TENTH = Charge(balanced(ApproxDP("0.1")))
TINY = Fraction(1, 10**60)


def test_an_asker_spends_the_allowance_and_no_more(ledger: Ledger) -> None:
    ledger.allow("census", "ann", ApproxDP("0.5"), done_by="owner")
    receipt = ask(ledger, "q", asker="ann")
    assert (str(receipt.left), str(receipt.allowance)) == ("epsilon 0.5, delta 0", "epsilon 0, delta 0")
    assert ask(ledger, "q").free  # whoever asks: it is recorded
    with pytest.raises(OverBudget, match="does not fit into the allowance of ann for census; left: epsilon 0, delta 0") as over:
        ask(ledger, "r", Charge(balanced(ApproxDP(TINY))), asker="ann")
    assert over.value.asker == "ann"
    with pytest.raises(LedgerError, match=r"census has allowances: say who asks"):
        ask(ledger, "r")
    assert ask(ledger, "r", asker="bob").allowance is None  # nothing was said about bob
    with pytest.raises(OverBudget, match="the budget of census"):
        ask(ledger, "s", asker="bob")
    assert ledger.verify().holds
    assert audit(ledger.entries())["census"].overspent == []


def test_everybody_without_an_own_allowance_has_the_default_one(ledger: Ledger) -> None:
    ledger.allow("census", "*", ApproxDP("0.1"))
    ledger.allow("census", "ann", ApproxDP("0.2"))
    for name, many in (("ann", 2), ("bob", 1), ("eve", 1)):
        for i in range(many):
            ask(ledger, f"{name}{i}", TENTH, asker=name)
        with pytest.raises(OverBudget, match="the allowance of"):
            ask(ledger, "more", TENTH, asker=name)
    ledger.allow("census", "ann", ApproxDP("0.3"))  # a later one replaces an earlier one
    ask(ledger, "more", TENTH, asker="ann")
    ledger.allow("census", "bob", ApproxDP(0))
    with pytest.raises(OverBudget, match="the allowance of bob"):
        ask(ledger, "yet more", TENTH, asker="bob")
    shares = ledger.statement("census").shares
    assert {name: (float(share.spent.numbers()["epsilon"]), str(share.left)) for name, share in shares.items()} == {
        "ann": (0.3, "epsilon 0, delta 0"),
        "bob": (0.1, "epsilon 0, delta 0"),
        "eve": (0.1, "epsilon 0, delta 0"),
        "*": (0, "epsilon 0.1, delta 0"),
    }
    assert ledger.verify().holds


def test_what_was_asked_before_the_first_allowance_counts(ledger: Ledger) -> None:
    for name in ("ann", "ann", "bob", None):
        ask(ledger, f"{name}", TENTH, again=True, asker=name)
    before = len(ledger.entries())
    ledger.allow("census", "*", ApproxDP("0.2"))
    added = [entry for entry in ledger.entries() if entry["seq"] > before]
    assert [(e["kind"], e["asker"]) for e in added] == [("asker", "ann"), ("asker", "bob"), ("allowance", "*")]
    with pytest.raises(OverBudget, match="allowance of ann"):
        ask(ledger, "x", TENTH, asker="ann")
    assert str(ask(ledger, "x", TENTH, asker="bob").allowance) == "epsilon 0, delta 0"
    assert ledger.verify().holds


def test_a_quote_knows_the_allowance(ledger: Ledger) -> None:
    ledger.allow("census", "ann", ApproxDP("0.5"))
    quotes = ledger.quote("census", [("q", HALF), ("r", HALF)], asker="ann", **ABOUT)
    assert [(q.free, q.fits, str(q.left), str(q.allowance)) for q in quotes] == [
        (False, True, "epsilon 0.5, delta 0", "epsilon 0, delta 0"),
        (False, False, "epsilon 0.5, delta 0", "epsilon 0, delta 0"),
    ]
    with pytest.raises(LedgerError, match="say who asks"):
        ledger.quote("census", [("q", HALF)], **ABOUT)
    ledger.close_dataset("census")
    with pytest.raises(LedgerError, match="census is closed"):
        ledger.quote("census", [("q", HALF)], asker="ann", **ABOUT)


def test_a_closed_dataset_is_charged_no_more(ledger: Ledger) -> None:
    ask(ledger, "q")

    def flip() -> int:
        ledger.close_dataset("census", done_by="owner")  # while a charge waits for its answer
        return 7

    assert ledger.ask("census", "r", TENTH, flip, **ABOUT).answer == 7
    assert ask(ledger, "q").free
    flips: list[int] = []
    with pytest.raises(LedgerError, match="census is closed: nothing more is charged to it"):
        ask(ledger, "s", TENTH, flips=flips)
    with pytest.raises(LedgerError, match="census is closed permanently"):
        ledger.close_dataset("census")
    with pytest.raises(LedgerError, match="census is closed permanently"):
        ledger.allow("census", "ann", ApproxDP(1))
    with pytest.raises(LedgerError, match="census is closed permanently"):
        ledger.relabel("census", "2")
    with pytest.raises(LedgerError, match="registered already"):
        register(ledger)
    assert flips == []
    assert ledger.verify().holds
    assert audit(ledger.entries())["census"].overspent == []


def test_bad_allowances_are_refused(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="an allowance must be an ApproxDP"):
        ledger.allow("census", "ann", 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a name is a short printable text"):
        ledger.allow("census", "", ApproxDP(1))
    for nobody in (b"x", 123, "", "a\nb", "*"):  # also of an answer that would be free
        with pytest.raises(DuotoneError, match=r"a name is a short printable text|say who asks"):
            ask(ledger, asker=nobody)
    with pytest.raises(LedgerError, match="there is no dataset other in this ledger; it has census"):
        ledger.allow("other", "ann", ApproxDP(1))
    with pytest.raises(LedgerError, match="there is no dataset other"):
        ledger.close_dataset("other")


@pytest.mark.slow
def test_processes_at_once_never_exceed_an_allowance(place: str) -> None:
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(10))
        ledger.allow("census", "ann", ApproxDP("0.2"))
        assert askers(place, 12, "ann") == 4
        assert ledger.verify().holds
        assert audit(ledger.entries())["census"].overspent == []


def test_an_allowance_is_looked_up_and_not_added_up() -> None:
    store = MemoryStore()
    ledger, work = Ledger(store), []
    register(ledger, ApproxDP(8000))
    ledger.allow("census", "*", ApproxDP(4000))
    ledger.allow("census", "ann", ApproxDP(4000))
    for i in range(200):
        before = store.statements, store.rows
        ask(ledger, f"q{i}", TENTH, asker=("ann", "bob")[i % 2])
        work.append((store.statements - before[0], store.rows - before[1]))
    assert len(set(work[4:])) <= 2  # ann's allowance, and everybody's
    assert max(map(sum, work)) < 60
    store.end()


def test_entries_stay_short_under_an_allowance() -> None:
    store, draw, longest = MemoryStore(), random.Random(5), "𝔸" * 200
    ledger = Ledger(store)
    register(ledger, ApproxDP(8000, "1/2"), dataset=longest)
    ledger.relabel(longest, longest)
    ledger.allow(longest, longest, ApproxDP(8000, "1/2"), done_by=longest)
    for i in range(30):
        bottom = draw.getrandbits((100, 700, 4000)[i % 3]) | 1
        each = Charge(balanced(ApproxDP(Fraction(draw.randrange(bottom), bottom), Fraction(draw.getrandbits(60), 2**80))))
        ask(ledger, f"q{i}", each, dataset=longest, asker=longest)
    assert max(len(body) for (body,) in store.execute("SELECT body FROM duotone_entries", ())) < 48 * 1024
    assert ledger.verify().holds
    store.end()


CHANGES: dict[str, tuple[str, Any]] = {
    "less spent": ("charge", lambda b: b["asker_spent"].update(epsilon="0")),
    "no allowance": ("charge", lambda b: b.update(allowance=0)),
    "another asker": ("charge", lambda b: b.update(by="bob")),
    "filed elsewhere": ("charge", lambda b: b.update(filed="0" * 64)),
    "no asker": ("charge", lambda b: b.pop("by")),
    "not counted": ("charge", lambda b: [b.pop(n) for n in ("filed", "asker_spent", "allowance")]),
    "no flags": ("charge", lambda b: [b["after"].pop(n) for n in ("allowances", "closed")]),
    "flags": ("charge", lambda b: b["after"].update(allowances=False)),
    "less before": ("asker", lambda b: b["asker_spent"].update(epsilon="0")),
    "of another": ("asker", lambda b: b.update(asker="bob")),
    "later version": ("asker", lambda b: b.update(v=2)),
    "allowance for another": ("allowance", lambda b: b.update(asker="bob")),
    "less allowed": ("allowance", lambda b: b.update(budget="epsilon=0 delta=0")),
    "less in the allowance": ("allowance", lambda b: b["asker_spent"].update(epsilon="0")),
    "open": ("close", lambda b: b["after"].update(closed=False)),
}


@pytest.mark.parametrize("how", CHANGES)
def test_whoever_writes_the_chain_anew_must_still_add_up(path: Path, how: str) -> None:
    with open_ledger(path) as ledger:
        ask(ledger, "q", TENTH, asker="ann")
        ledger.allow("census", "ann", ApproxDP("0.5"))
        ask(ledger, "r", TENTH, asker="ann")
        ledger.close_dataset("census")
        assert ledger.verify().holds
    kind, change = CHANGES[how]
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        rows = file.execute("SELECT seq, body FROM duotone_entries WHERE kind = ? ORDER BY seq DESC", (kind,)).fetchall()
        body = json.loads(rows[0][1])
        change(body)
        filed = body.get("filed", body.get("key", ""))
        file.execute("UPDATE duotone_entries SET body = ?, question = ? WHERE seq = ?", (canonical(body), filed, rows[0][0]))
        chained_anew(file)
    with open_ledger(path) as ledger:
        assert not ledger.verify().holds


def test_a_charge_after_the_closing_does_not_verify(path: Path) -> None:
    with open_ledger(path) as ledger:
        ask(ledger, "q", TENTH)
        ledger.close_dataset("census")
    texts = [body for (body,) in execute(path, "SELECT body FROM duotone_entries ORDER BY seq")]
    late = {**json.loads(texts[1]), "at": json.loads(texts[-1])["at"]}
    with open_ledger(stored(path.with_name("later"), [*texts, canonical(late)])) as ledger:
        assert "entry 5 does not make sense where it stands" in ledger.verify().problems


NAMES = ("ann", "bob", "eve", None)


def _life(draw: random.Random) -> None:
    """A ledger's life, each step against sums of this test's own, and all of it against the accountant, who sees the export."""
    store = MemoryStore()
    ledger = Ledger(store)
    register(ledger, ApproxDP(2))
    total, closed, spent = Fraction(0), False, dict[str, Fraction]()
    allowed = dict[str, Fraction]()
    for i in range(40):
        step = draw.random()
        if step < 0.1 and not closed:
            name, much = draw.choice(["ann", "bob", "*"]), Fraction(draw.randrange(8), 10) + draw.choice([0, 1, -1]) * TINY
            allowed[name] = max(Fraction(0), much)
            ledger.allow("census", name, ApproxDP(allowed[name]))
            continue
        if step < 0.01 * (i > 20) + 0.1 and not closed:
            ledger.close_dataset("census")
            closed = True
            continue
        asker, cost = draw.choice(NAMES), Fraction(draw.randrange(3), 10) + draw.choice([0, 0, 1]) * TINY
        limit = allowed.get(asker or "", allowed.get("*"))
        within = total + cost <= 2 and (limit is None or spent.get(asker or "", Fraction(0)) + cost <= limit)
        answered = not closed and within and not (asker is None and allowed)
        try:
            ask(ledger, f"q{i}", Charge(balanced(ApproxDP(cost))), asker=asker)
        except LedgerError:
            assert not answered
        else:
            assert answered
            total += cost
            if asker is not None:
                spent[asker] = spent.get(asker, Fraction(0)) + cost
    account = audit(json.loads(json.dumps(ledger.entries())))["census"]
    assert (account.overspent, account.epsilon, account.closed) == ([], total, closed)
    assert {name: own.epsilon for name, own in account.askers.items()} == spent
    statement = ledger.statement("census")
    if allowed:
        assert {
            name: share.spent.numbers()["epsilon"] for name, share in statement.shares.items() if share.spent.answers
        } == spent
    verdict = ledger.verify()
    assert verdict.holds, verdict.problems
    store.end()


@pytest.mark.slow
def test_never_beyond_an_allowance_and_never_refused_within_it() -> None:
    for i in range(SEQUENCES):
        _life(random.Random(f"allowances {i}"))


def test_the_accountant_sees_what_goes_beyond() -> None:
    ledger = Ledger(MemoryStore())
    register(ledger)
    ledger.allow("census", "ann", ApproxDP("0.5"))
    ask(ledger, "q", asker="ann")
    ask(ledger, "r", asker="bob")
    entries = ledger.entries()
    assert audit(entries)["census"].overspent == []
    less = [{**e, "budget": "epsilon=1/4 delta=0"} if e["kind"] == "allowance" else e for e in entries]
    assert len(audit(less)["census"].overspent) == 1
    nameless = [{k: v for k, v in e.items() if k != "by"} for e in entries]
    assert len(audit(nameless)["census"].overspent) == 2
    early = [*entries[:1], {**entries[0], "kind": "close"}, *entries[1:]]
    assert len(audit(early)["census"].overspent) == 2
    ledger._store.end()  # type: ignore[attr-defined]


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["ledger", *arguments])
    said = capsys.readouterr()
    return said.err if ended.value.code else said.out


def test_the_commands(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_ledger(path) as ledger:
        ask(ledger, "q", TENTH, asker="ann")
    _run(capsys, "allow", str(path), "census", "--asker", "*", "--epsilon", "0.3", "--done-by", "owner")
    said = _run(capsys, "allow", str(path), "census", "--asker", "ann", "--epsilon", "0.2")
    allowance = "ApproxDP(epsilon=0.2, delta=0)"
    assert f"ann: spent epsilon 0.1, delta 0 of the allowance {allowance}; left: epsilon 0.1, delta 0, if the d" in said
    assert "in 1 charge; left" in said
    assert "askers without their own: allowance ApproxDP(epsilon=0.3, delta=0) each" in said
    shown = json.loads(_run(capsys, "show", str(path), "--json"))["datasets"]["census"]
    assert shown["allowances"] == {
        "ann": {
            "budget": "epsilon=1/5 delta=0",
            "spent": {"epsilon": 0.1, "delta": 0.0},
            "left": {"epsilon": 0.1, "delta": 0.0},
        },
        "*": {
            "budget": "epsilon=3/10 delta=0",
            "spent": {"epsilon": 0.0, "delta": 0.0},
            "left": {"epsilon": 0.3, "delta": 0.0},
        },
    }
    closed = _run(capsys, "close", str(path), "census", "--done-by", "owner")
    assert "closed: nothing more is charged" in closed
    assert f"of the allowance {allowance}; left: nothing, since it is closed" in closed
    assert "(x.svg): a dataset is named by --dataset (see " in _run(capsys, "plot", str(path), "census", "x.svg")
    assert json.loads(_run(capsys, "show", str(path), "--json"))["datasets"]["census"]["closed"] is True
    assert "duotone: census is closed permanently" in _run(capsys, "close", str(path), "census")
    assert "verified: 7 entries" in _run(capsys, "verify", str(path))
