"""Entries edited, removed, moved or made up: verify says which, and nothing is sold on them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import FrozenInstanceError
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, open_ledger
from duotone.errors import LedgerError
from duotone.ledger.entries import key_of, row_of
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores import Row
from duotone.ledger.verify import Verdict, verify
from support.attacks import charges
from support.ledgers import ABOUT, HALF, PLAIN, ask, chained_anew, ending, execute, register, rows_of, tampered


@pytest.mark.slow
@pytest.mark.parametrize("how", ["edit", "remove", "cut", "swap", "refile", "head"])
def test_tampering_is_found(place: str, how: str) -> None:
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(8))
        for i in range(4):
            ask(ledger, f"q{i}")
        kept = ledger.verify().head
        ledger.close()
        for sql in tampered(how):
            execute(place, sql)
        verdict = ledger.verify()
        assert not verdict.holds
        expected = {
            "edit": ("entry 4 is not the one that was written after entry 3",),
            "remove": ("entry 4 is missing", "entry 5 is not the one that was written after entry 4"),
            "cut": ("the ledger ends at entry 7, but its head is entry 9",),
            "swap": tuple(f"entry {n} is not the one that was written after entry {n - 1}" for n in (4, 5, 6, 7)),
            "refile": ("entry 5 is filed under another dataset, kind or question than it says",),
            "head": ("the ledger ends at entry 9, but its head is entry 9 with another hash or number",),
        }
        for said in expected[how]:
            assert sum(problem.startswith(said) for problem in verdict.problems) == 1, said
        assert ledger.verify(kept).problems[: len(verdict.problems)] == verdict.problems


def test_every_single_change_of_any_entry_is_found(place: str) -> None:
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(8))
        for i in range(3):
            ask(ledger, f"q{i}")
        with ledger._store.reading() as entries:
            rows = entries.some()
            assert entries.head() == (len(rows), rows[-1].hash)
    head = ending(rows)
    assert verify(rows, head).holds
    for i, row in enumerate(rows):
        assert not verify(rows[:i] + rows[i + 1 :], head).holds
        for name in ("dataset", "kind", "question", "body", "hash"):
            value = getattr(row, name)
            for at in range(0, len(value) + 1, 7):
                changed = Row(**{**vars(row), name: value[:at] + ("y" if value[at : at + 1] == "x" else "x") + value[at + 1 :]})
                assert not verify([*rows[:i], changed, *rows[i + 1 :]], head).holds
        for j in range(i):
            swapped = list(rows)
            swapped[i], swapped[j] = Row(**{**vars(rows[j]), "seq": i + 1}), Row(**{**vars(rows[i]), "seq": j + 1})
            assert not verify(swapped, head).holds


def test_a_chain_written_anew_is_found_by_a_head_kept_elsewhere(ledger: Ledger) -> None:
    ask(ledger)
    kept = ledger.verify().head
    rows, previous = [], ""
    for entry in ledger.entries()[:1]:
        body = {name: value for name, value in entry.items() if name not in ("seq", "hash")}
        rows.append(row_of(previous, entry["seq"], body))
        previous = rows[-1].hash
    assert verify(rows, lambda: (1, previous)).holds
    assert verify(rows, lambda: (1, previous), kept).problems == (
        "no entry has the head that was kept: the chain was cut or rewritten",
    )
    ask(ledger, again=True)
    assert ledger.verify(kept).holds  # it may have grown


NOTHING = {"answers": 0, "epsilon": "0", "exp_epsilon": "1", "delta": "0"}


def test_entries_with_right_hashes_and_wrong_sums_are_found() -> None:
    common = {"dataset": "d", "v": 1, "at": "2026-11-15T11:00:00+00:00"}
    first = {"kind": "register", "version": "1", "budget": "epsilon=1 delta=0", "account": "sum", **common}
    first |= {"unit": "row", "neighbours": "replace"}
    start: dict[str, Any] = {"version": "1", "charges": 0, "answers": 0, "allowances": False, "closed": False, "spent": NOTHING}

    def charge(epsilon: str) -> dict[str, Any]:
        body: dict[str, Any] = {"kind": "charge", "version": "1", "question": "q", "notion": f"epsilon={epsilon} delta=0"}
        body |= {"boundary": "balanced", "answers": 1, "again": False, **common}
        return {**body, "key": key_of("d", "1", body, ("row", "replace"))}

    def paid(epsilon: str, **other: Any) -> dict[str, Any]:
        sums = {"epsilon": epsilon, "answers": 1}
        return {**start, "charges": 1, "spent": {**NOTHING, **sums}, **other}

    answer = {"kind": "answer", "key": "k", "charge": 7, "answer": 1, **common}
    half, two = charge("1/2"), charge("2")
    fits = {**half, "after": paid("1/2")}
    begun = {**first, "after": start}
    other = {"spent": {**paid("1/2")["spent"], "delta": "1/9"}}
    stories: list[tuple[str, list[dict[str, Any]]]] = [
        ("", [begun, fits]),
        ("goes beyond the budget of d", [begun, {**two, "after": paid("2")}]),
        ("does not add up", [begun, {**half, "after": paid("1/2", **other)}]),
        ("does not add up", [begun, {**half, "after": start}]),
        ("does not add up", [{**first, "after": {**start, "charges": 3}}]),
        ("does not make sense", [begun, {**answer, "after": {**start, "answers": 1}}]),
        ("does not make sense", [fits]),
        ("does not make sense", [{**begun, "account": "guess"}]),
        ("a second time", [begun, {**begun, "budget": "epsilon=9 delta=0"}]),
        ("does not make sense", [begun, {**begun, "kind": "gift"}]),
        ("does not make sense", [begun, {**fits, "answers": -3}]),
        ("does not make sense", [begun, {**fits, "version": "9"}]),
        ("does not make sense", [begun, {**fits, "key": "k"}]),
        ("does not make sense", [begun, {**begun, "kind": "version"}]),
        ("does not make sense", [{**begun, "v": 3}]),
        ("dated before the one it follows", [begun, {**fits, "at": "2026-11-15T10:59:59.999999+00:00"}]),
    ]
    for said, bodies in stories:
        rows, previous = [], ""
        for seq, body in enumerate(bodies, 1):
            rows.append(row_of(previous, seq, body))
            previous = rows[-1].hash
        problems = verify(rows, ending(rows)).problems
        if said == "":
            assert problems == ()
        else:
            (problem,) = problems
            assert said in problem
    assert len(verify([row_of("", 10**6, begun)], lambda: (1, "")).problems) == 102


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM duotone_ledger WHERE name = 'head'",
        "UPDATE duotone_ledger SET value = 'x y' WHERE name = 'head'",
        "UPDATE duotone_ledger SET value = 'x' WHERE name = 'schema'",
        "UPDATE duotone_entries SET body = '{' WHERE seq = 1",
        "UPDATE duotone_entries SET body = '{}' WHERE seq = 3",
    ],
)
def test_a_damaged_ledger_ends_in_a_sentence_and_sells_nothing(place: str, ledger: Ledger, damage: str) -> None:
    ask(ledger)
    ledger.close()
    execute(place, damage)
    with open_ledger(place) as damaged:
        flips: list[int] = []
        with pytest.raises(LedgerError) as refused:
            damaged.ask("census", "other", HALF, lambda: flips.append(1), **ABOUT)
        assert "\n" not in str(refused.value)
        assert not flips
        try:
            assert not damaged.verify().holds
        except LedgerError:
            assert "schema" in damage


def test_a_ledger_without_entries_or_without_its_first() -> None:
    assert verify([], lambda: (0, "")) == Verdict(0, "", ())
    assert not verify([], lambda: (1, "")).holds
    first, second, third, fourth = rows_of(PLAIN)
    problems = verify([second, third, fourth], ending([fourth])).problems
    assert problems[:2] == ("entry 1 is missing", "entry 2 is not the one that was written after entry 1")
    problems = verify([first, fourth], ending([fourth])).problems
    assert problems[:2] == ("entry 2 is missing", "entry 3 is missing")
    with pytest.raises(FrozenInstanceError):
        verify([], lambda: (1, "")).problems = ()  # type: ignore[misc]


@pytest.mark.parametrize("missing", [99, 100, 101, 102])
def test_at_most_a_hundred_problems_are_listed(missing: int) -> None:
    """With an ellipsis where there are more; one entry that is there after so many that are not."""
    text = PLAIN[0]
    seq = missing + 1
    row = Row(seq, "d", "register", "", text, sha256(f"\n{seq}\n{text}".encode()).hexdigest())
    problems = verify([row], ending([row])).problems
    expected = [f"entry {n} is missing" for n in range(1, min(missing, 101) + 1)]
    assert problems == (*expected, *(["…"] if missing > 100 else []))


def key_by_hand(*same: object) -> str:
    """What decides whether two questions are the same, written out."""
    return sha256(json.dumps({"same": same}, separators=(",", ":")).encode()).hexdigest()


def test_every_answer_follows_its_own_charge() -> None:
    """Two charges of two questions, answered in either order: each once, by its own number and key."""
    first = json.loads(PLAIN[0])
    one, two = json.loads(PLAIN[1]), json.loads(PLAIN[1])
    assert one["key"] == key_by_hand("d", "1", "q", "epsilon=1/2 delta=0", "balanced", 2, "person", "replace")
    two |= {"question": "r", "key": key_by_hand("d", "1", "r", "epsilon=1/2 delta=0", "balanced", 2, "person", "replace")}
    twice = {**one["after"]["spent"], "answers": 4, "epsilon": "2"}
    two["after"] = {**two["after"], "charges": 2, "spent": twice}

    def answer(charge: int, key: str, count: int) -> dict[str, Any]:
        body = json.loads(PLAIN[3])
        return {**body, "charge": charge, "key": key, "after": {**two["after"], "answers": count}}

    def problems(*bodies: dict[str, Any]) -> tuple[str, ...]:
        rows = rows_of([json.dumps(body, sort_keys=True, separators=(",", ":")) for body in bodies])
        return verify(rows, ending(rows)).problems

    wrong = ("entry 4 does not make sense where it stands",)
    assert problems(first, one, two, answer(2, one["key"], 1), answer(3, two["key"], 2)) == ()
    assert problems(first, one, two, answer(3, two["key"], 1), answer(2, one["key"], 2)) == ()
    assert problems(first, one, two, answer(2, two["key"], 1)) == wrong
    assert problems(first, one, two, answer(3, one["key"], 1)) == wrong
    assert problems(first, one, two, answer(1, one["key"], 1)) == wrong
    again = answer(2, one["key"], 2)
    assert problems(first, one, two, answer(2, one["key"], 1), again) == ("entry 5 does not make sense where it stands",)
    key = key_by_hand("d", "9", "q", "epsilon=1/2 delta=0", "balanced", 2, "person", "replace")
    assert problems(first, {**one, "version": "9", "key": key}) == ("entry 2 does not make sense where it stands",)


@pytest.mark.parametrize("chained", [False, True])
def test_sums_that_entries_carry_are_not_taken_on_trust(tmp_path: Path, chained: bool) -> None:
    """The last entry says that less was spent: by its hash nothing is sold, and with a new hash nothing is shown."""
    path = tmp_path / "l"
    with open_ledger(path) as ledger:
        register(ledger)
        ask(ledger)
        ledger.close()
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            lower = 'replace(body, \'"epsilon":"1/2"\', \'"epsilon":"1/9"\')'
            assert connection.execute(f"UPDATE duotone_entries SET body = {lower} WHERE seq = 3 AND body != {lower}").rowcount
            if chained:
                chained_anew(connection)
        if chained:
            with pytest.raises(LedgerError, match="the charges of census do not add up to the total in its last entry"):
                ledger.statement("census")
            assert ledger.verify().problems == ("entry 3 does not add up",)
        else:
            for question in ("q", "r"):
                with pytest.raises(LedgerError, match="entry 3 of the ledger is damaged: run verify; nothing was released"):
                    ask(ledger, question)
            assert ledger.verify().problems == ("entry 3 is not the one that was written after entry 2",)


@pytest.mark.parametrize(
    "part",
    [
        "CREATE TRIGGER t AFTER UPDATE ON duotone_ledger BEGIN DELETE FROM duotone_entries WHERE seq > 1; END",
        "CREATE TRIGGER t BEFORE INSERT ON duotone_entries BEGIN SELECT RAISE(IGNORE); END",
        "CREATE VIEW v AS SELECT * FROM duotone_entries",
        "CREATE TABLE notes (x)",
        "DROP INDEX duotone_by_kind",
        "ALTER TABLE duotone_entries ADD COLUMN more TEXT",
    ],
)
def test_parts_that_duotone_did_not_make(path: Path, part: str) -> None:
    with open_ledger(path) as ledger:
        ask(ledger)
        with sqlite3.connect(path) as connection:
            connection.execute(part)
        connection.close()
        flips: list[int] = []
        for use in (lambda: ask(ledger, "r", flips=flips), ledger.verify, lambda: ledger.statement("census"), ledger.entries):
            with pytest.raises(LedgerError, match="has parts that Duotone did not make"):
                use()
        assert flips == []
    assert charges(path) == 1
