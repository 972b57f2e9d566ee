"""Older and newer ledgers: recorded entries keep their meaning for ever."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from accountant import audit
from ledgers import ask, ending, execute, register
from recorded_entries import FIRST_VERSION, SECOND_VERSION, THIRD_VERSION, first_version, rows_of, stored

from duotone import ApproxDP, Charge, DuotoneError, OverBudget, balanced, open_ledger
from duotone.errors import LedgerError
from duotone.ledger.entries import State, canonical, digest
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores.store import MIGRATIONS, SCHEMA
from duotone.ledger.verify import Verdict, verify


@pytest.mark.parametrize(
    ("texts", "head", "sums"),
    [
        (FIRST_VERSION, "0f4e83c59ecd18cb19dfddd87b211b6f7fcfaa2731c7f23dfc7940ddc122d955", (Fraction(1), 2, 1)),
        (SECOND_VERSION, "b8964f79a53b497b8b03edac5247f8ff51460d808dfdeb39838a99c2dceb86d7", (Fraction(1), 2, 1)),
        (THIRD_VERSION, "89ddf340f107e2a1d1abee4763a97ad84523fb440ac7e5a9ce55ed2acd90a6de", (Fraction(3, 2), 3, 2)),
    ],
    ids=["first", "second", "third"],
)
def test_recorded_entries_keep_their_meaning(texts: list[str], head: str, sums: tuple[Fraction, int, int]) -> None:
    """Entries of every version, verbatim: they must verify and add up for ever."""
    rows = rows_of(texts)
    assert [canonical(json.loads(text)) for text in texts] == texts
    assert [row.hash for row in rows][-1] == head
    assert digest(rows[-2].hash, len(rows), texts[-1]) == head
    assert verify(rows, ending(rows)) == Verdict(len(rows), head, ())
    account = audit(json.loads(text) | {"seq": i} for i, text in enumerate(texts, 1))["d"]
    assert (account.epsilon, account.answers, account.answered, account.overspent) == (*sums, [])


def test_a_ledger_of_the_first_version_goes_on(tmp_path: Path) -> None:
    """Its answers stay free, its charges count, and every entry from now on is of the second version."""
    half = Charge(balanced(ApproxDP("0.5")), 2)
    with open_ledger(stored(tmp_path / "l", FIRST_VERSION)) as ledger:
        assert ask(ledger, "q", half, dataset="d").free
        assert ledger.statement("d").spent == (1.0, 0.0)
        with pytest.raises(OverBudget, match="left: epsilon 0, delta 1e-06"):
            ask(ledger, "r", Charge(balanced(ApproxDP("1e-1000"))), dataset="d")
        assert str(ask(ledger, "r", Charge(balanced(ApproxDP(0, "4e-7"))), dataset="d").left) == "epsilon 0, delta 6e-07"
        ledger.relabel("d", "2")
        with pytest.raises(OverBudget):
            ask(ledger, "q", half, dataset="d")
        assert [entry["v"] for entry in ledger.entries()] == [1, 1, 1, 2, 2, 2]
        assert [charge.spent.answers for charge in ledger.statement("d").charges] == [2, 3]
        assert ledger.verify().holds
        account = audit(ledger.entries())["d"]
        assert (account.epsilon, account.delta, account.overspent) == (Fraction(1), Fraction(4, 10**7), [])


def test_versions_may_change_between_any_two_entries_and_never_back() -> None:
    """A charge of the first version answered by the second; but nothing of the first after one of the second."""
    mixed = rows_of([*FIRST_VERSION[:2], SECOND_VERSION[3]])
    assert verify(mixed, ending(mixed)).problems == ()
    back = rows_of([SECOND_VERSION[0], *FIRST_VERSION[1:]])
    problems = verify(back, ending(back)).problems
    assert "entry 2 does not make sense where it stands" in problems


def test_a_ledger_of_the_first_version_that_was_overspent_says_so(tmp_path: Path) -> None:
    """Five charges at 0.5 and a little, which the first version took for one: what was spent is what was charged."""
    definitions = [f"epsilon={Fraction('0.5' + '0' * 53 + str(last))} delta=0" for last in range(1, 6)]
    with open_ledger(stored(tmp_path / "l", first_version(definitions))) as ledger:
        account = ledger.statement("d")
        assert account.spent[0] == 2.5
        assert str(account.left) == "epsilon 0, delta 0"
        assert ledger.verify().problems == tuple(f"entry {n} goes beyond the budget of d" for n in (4, 6, 8, 10))
        with pytest.raises(OverBudget):
            ask(ledger, "r", Charge(balanced(ApproxDP("1e-1000"))), dataset="d")
        assert audit(ledger.entries())["d"].overspent == [4, 6, 8, 10]


def test_the_first_version_counted_equal_definitions_together(tmp_path: Path) -> None:
    with open_ledger(stored(tmp_path / "l", first_version(["epsilon=1/4 delta=0", "epsilon=1/8 delta=0"] * 2))) as ledger:
        assert ledger.verify().holds
        assert str(ledger.statement("d").left) == "epsilon 0.25, delta 0"
        assert str(ask(ledger, "r", Charge(balanced(ApproxDP("0.25"))), dataset="d").left) == "epsilon 0, delta 0"
        assert ledger.verify().holds


def test_a_definition_is_counted_as_often_as_the_first_version_charged_it() -> None:
    """By hand: 2 answers at 1/2, then 3 more, and 1 at 1/4; an answer and a version change no count."""
    charge = json.loads(FIRST_VERSION[1])
    state = State()
    state = state.after(charge).after({**charge, "answers": 3}).after(json.loads(FIRST_VERSION[2]))
    state = state.after({**charge, "notion": "epsilon=1/4 delta=0", "answers": 1})
    assert state.sums == {"epsilon=1/2 delta=0": 5, "epsilon=1/4 delta=0": 1}
    assert (state.charges, state.answers, state.unanswered) == (3, 1, 2)
    assert (state.spent.answers, state.spent.epsilon) == (6, Fraction(11, 4))
    relabelled = state.after({"kind": "version", "v": 1, "version": "2"})
    assert (relabelled.version, relabelled.sums) == ("2", state.sums)
    with pytest.raises(DuotoneError, match="an entry of kind gift changes no dataset"):
        state.after({"kind": "gift", "v": 1})
    later = relabelled.after({"kind": "version", "v": 2, "version": "3"})
    assert (later.version, later.spent) == ("3", state.spent)
    with pytest.raises(DuotoneError, match="an entry of version 1 does not follow one of version 2"):
        later.after({"kind": "version", "v": 1, "version": "4"})


def test_long_definitions_of_the_first_version_are_read_and_continued(tmp_path: Path) -> None:
    """Two that make up the budget to the last of 120,000 digits; then sums are kept short, and rounded up."""
    one = 10**20_000
    definitions = [f"epsilon={_text(one // 2 + 1)}/{_text(one)} delta=0", f"epsilon={_text(one // 2 - 1)}/{_text(one)} delta=0"]
    very_long = f"epsilon={'1' * 120_000}/1{'0' * 120_000} delta=0"
    with open_ledger(stored(tmp_path / "l", first_version(definitions))) as ledger:
        assert ledger.verify().holds
        ledger.relabel("d", "2")
        assert ledger.verify().holds
        assert max(len(json.dumps(entry)) for entry in ledger.entries() if entry["v"] == 2) < 2000
        with pytest.raises(OverBudget):
            ask(ledger, "r", Charge(balanced(ApproxDP("1e-1000"))), dataset="d")
    with open_ledger(stored(tmp_path / "m", first_version([very_long]))) as ledger:
        assert str(ledger.statement("d").left) == "epsilon 0.888889, delta 0"
        assert str(ask(ledger, "r", dataset="d").left) == "epsilon 0.388889, delta 0"
        assert ledger.verify().holds


def _text(n: int) -> str:
    return str(n) if n < 10**4000 else _text(n // 10**4000) + str(n % 10**4000).zfill(4000)


def test_a_newer_ledger_is_refused(place: str, ledger: Ledger) -> None:
    ledger.close()
    execute(place, "UPDATE duotone_ledger SET value = '99' WHERE name = 'schema'")
    flips: list[int] = []
    with pytest.raises(LedgerError, match=r"newer Duotone \(schema 99, this one knows 7\): update Duotone"):
        ask(ledger, flips=flips)
    with pytest.raises(LedgerError, match="newer Duotone"):
        register(ledger, dataset="d")
    assert flips == []


@pytest.mark.parametrize("version", range(1, SCHEMA + 1))
def test_every_older_ledger_is_brought_up_to_date(path: Path, version: int, tmp_path: Path) -> None:
    """A ledger of that version, with the very same entries: they mean and say the same afterwards."""
    with open_ledger(path) as ledger:
        ask(ledger)
        rows = ledger.entries()
    old = tmp_path / "old"
    statements = [statement for step in MIGRATIONS[:version] for statement in step]
    statements += [
        f"UPDATE duotone_ledger SET value = '{version}' WHERE name = 'schema'",
        f"ATTACH '{path}' AS n",
        "INSERT INTO duotone_entries SELECT * FROM n.duotone_entries",
        "UPDATE duotone_ledger SET value = (SELECT value FROM n.duotone_ledger WHERE name = 'head') WHERE name = 'head'",
    ]
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    with open_ledger(old) as moved:
        assert ask(moved).free
        assert moved.entries() == rows
        assert moved.verify().holds
        assert not ask(moved, "r").free
