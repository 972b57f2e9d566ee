"""Long ledgers: read in pieces, and charged with the same work however much was charged before."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

import duotone.ledger.stores.store
from duotone import ApproxDP, Charge, balanced, open_ledger
from duotone.errors import LedgerError
from duotone.ledger.entries import row_of
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores import Entries, open_store
from duotone.ledger.stores.store import LATEST, Scan
from support.accountant import audit
from support.ledgers import MemoryStore, ask, register
from support.running import EXHAUSTIVE


def test_a_long_ledger_is_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "l"
    store = open_store(path)
    with store.writing(create=True) as entries:
        previous = ""
        for seq in range(1, 2502):
            row = row_of(previous, seq, {"kind": "version", "dataset": "d", "version": str(seq)})
            entries.append(row)
            previous = row.hash
    rows = Scan(store, Entries.head)
    with pytest.raises(LedgerError, match="has not been read to its end"):
        rows.end()
    assert [row.seq for row in rows] == list(range(1, 2502))
    assert rows.end() == (2501, previous)
    assert [row.seq for row in Scan(store, Entries.head, "d")] == list(range(1, 2502))
    assert list(Scan(store, Entries.head, "e")) == []
    store.close()


def test_a_ledger_that_is_replaced_while_it_is_read_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duotone.ledger.stores.store, "CHUNK", 8)
    for name in ("a", "b"):
        with open_ledger(tmp_path / name) as ledger:
            register(ledger, ApproxDP(8))
            for i in range(12):
                ask(ledger, f"{name}{i}")
    with open_ledger(tmp_path / "a") as ledger:
        rows = iter(Scan(ledger._store, Entries.head))
        next(rows)
        os.replace(tmp_path / "b", tmp_path / "a")
        with pytest.raises(LedgerError, match="was changed or replaced while it was read"):
            list(rows)


@pytest.mark.slow
def test_entries_stay_short_and_charges_take_the_same_work_whatever_was_charged() -> None:
    """Thousands of different definitions with as many digits as a parameter may have, so that no sum stays exact."""
    store, draw, work = MemoryStore(), random.Random(11), []
    ledger = Ledger(store)
    longest = "𝔸" * 200
    register(ledger, ApproxDP(8000, "1/2"), dataset=longest)
    ledger.relabel(longest, longest)
    many = 3000 if EXHAUSTIVE else 1000
    for i in range(many):
        bottom = draw.getrandbits(4000 if i % 10 == 0 else 300) | 1
        each = Fraction(draw.randrange(bottom), bottom)
        privacy = ApproxDP(exp_epsilon=1 + each) if i % 3 == 0 else ApproxDP(each, Fraction(draw.getrandbits(60), 2**80))
        before = store.statements, store.rows
        ask(ledger, f"q{i}", Charge(balanced(privacy)), dataset=longest, asker=longest)
        work.append((store.statements - before[0], store.rows - before[1]))
    assert len(set(work[1:])) == 1
    assert sum(work[-1]) < 60
    lengths = [len(body) for (body,) in store.execute("SELECT body FROM duotone_entries", ())]
    assert max(lengths) < 32 * 1024
    assert audit(ledger.entries()[:200])[longest].overspent == []
    assert sum(ledger.statement(longest).spent) > many / 3
    assert ledger.verify().holds
    store.end()


@pytest.mark.slow
def test_nothing_is_scanned_to_ask_one_question() -> None:
    """The same steps of the database's machine, but for a few more down the index, and for the latest charges, which are looked
    through for the same question at another budget, on 20 entries and on 200,000."""
    steps: dict[int, list[tuple[int, int]]] = {}
    for count in (20, 200_000):
        store = MemoryStore()
        ledger = Ledger(store)
        for name in ("census", "other"):
            register(ledger, ApproxDP(8000), dataset=name)
        ask(ledger, "old")
        _fill(store, count)
        done = Counter[str]()
        store.connection.set_progress_handler(partial(done.update, ["step"]), 1)
        for work in _questions(ledger):
            before, rows = done["step"], store.rows
            work()
            steps.setdefault(count, []).append((done["step"] - before, store.rows - rows))
        store.connection.set_progress_handler(None, 1)
        store.end()
    searches = [True, False, False, False, False]  # a new question alone is looked for at another budget
    for (few, some), (many, same), search in zip(steps[20], steps[200_000], searches, strict=True):
        assert same <= some + 2
        assert many <= few + 200 + 20 * LATEST * search, (few, many)


def _questions(ledger: Ledger) -> list[Callable[[], object]]:
    return [
        lambda: ask(ledger, "new"),
        lambda: ask(ledger, "old"),
        lambda: ask(ledger, "old", again=True),
        ledger.datasets,
        lambda: ledger.relabel("other", "2"),
    ]


def _fill(store: MemoryStore, count: int) -> None:
    """More entries like the last two, between it and the end; only the last one is chained."""
    ((body,),) = store.execute("SELECT body FROM duotone_entries ORDER BY seq DESC LIMIT 1", ())
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
    kinds = "CASE i % 2 WHEN 0 THEN 'answer' ELSE 'charge' END"
    columns = f"1000 + i, 'census', {kinds}, 'key' || (i / 2), ?, 'hash' || i"
    store.execute(f"INSERT INTO duotone_entries {numbers} SELECT {columns} FROM n", (body,))
    last = 1000 + count + 1
    hashed = sha256(f"hash{count}\n{last}\n{body}".encode()).hexdigest()
    store.execute(
        "INSERT INTO duotone_entries VALUES (?, 'census', 'answer', ?, ?, ?)", (last, json.loads(body)["key"], body, hashed)
    )
    store.execute("UPDATE duotone_ledger SET value = ? WHERE name = 'head'", (f"{last} {hashed}",))
