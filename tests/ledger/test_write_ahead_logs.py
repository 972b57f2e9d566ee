"""Ledgers of Duotone 0.1, which kept charges in a log beside the file, and logs that others bring back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attacks import ENDINGS, STOCK, Asker, charges, contents, stranger
from ledgers import ask, execute, register

import duotone.ledger.stores.scan
from duotone import ApproxDP, open_ledger
from duotone.errors import LedgerError
from duotone.ledger.stores.sqlite_connection import copied


@pytest.mark.slow
def test_a_ledger_with_a_log_is_read_as_it_is(old: Path) -> None:
    before = contents(old.parent)
    with open_ledger(old) as ledger:
        assert ledger.statement("census").state.charges == 1
        assert ledger.verify().holds
        assert contents(old.parent) == before


@pytest.mark.slow
def test_a_ledger_with_a_log_is_converted_by_writing(old: Path) -> None:
    with Asker(old) as first:
        first.ask()
        assert not first.ask()
        assert first.said.startswith("over budget")
        assert first.answers == 1
    assert old.read_bytes()[18:20] == b"\x01\x01"
    assert not any(old.with_name(old.name + ending).exists() for ending in ENDINGS)
    assert charges(old) == 2


@pytest.mark.slow
def test_a_log_of_an_older_state_is_not_laid_over_the_file(old: Path) -> None:
    log = old.with_name(old.name + "-wal")
    stale = log.read_bytes()
    with Asker(old) as first:
        assert first.ask()
        log.write_bytes(stale)
        for again in range(2):
            assert not first.ask(str(again))
            assert "does not belong to the ledger" in first.said
        with pytest.raises(LedgerError, match="does not belong to the ledger"), open_ledger(old) as reader:
            reader.verify()
        log.unlink()
        assert not first.ask()
        assert first.said.startswith("over budget")
    assert charges(old) == 2


@pytest.mark.slow
def test_a_ledger_with_a_log_in_use_is_not_converted(old: Path) -> None:
    with stranger(STOCK, old, "SELECT * FROM duotone_ledger", 5), Asker(old, wait=0.2) as first:
        assert not first.ask()
        assert "every program that has it open has to close it once" in first.said
        with open_ledger(old) as ledger:
            assert ledger.statement("census").state.charges == 1
    with Asker(old) as second:
        assert second.ask()


OPEN_AND_CLOSED = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("SELECT * FROM duotone_ledger").fetchall()
open(sys.argv[1], "rb").close()  # this takes away every lock of the process on the file
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.mark.slow
def test_a_log_is_in_use_though_its_user_has_lost_the_lock_on_the_file(old: Path) -> None:
    before = contents(old.parent)
    with stranger(OPEN_AND_CLOSED, old), Asker(old, wait=0.2) as first:
        assert not first.ask()
        assert "every program that has it open has to close it once" in first.said
        assert old.read_bytes() == before[old.name]
    with Asker(old) as second:
        assert second.ask()
    assert charges(old) == 2


@pytest.mark.slow
def test_somebody_changes_the_journal_mode_later(path: Path) -> None:
    with Asker(path, wait=0.5) as first:
        assert first.ask()
        with stranger(STOCK, path, "PRAGMA journal_mode = WAL; UPDATE duotone_ledger SET value = value", 5):
            assert not first.ask()
        assert path.read_bytes()[18:20] == b"\x02\x02"
        assert first.ask()
        assert path.read_bytes()[18:20] == b"\x01\x01"
        assert not first.ask()
        assert first.answers == 2
    assert charges(path) == 2


def test_a_copy_that_is_made_to_read_from_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that is still in the first version's format is read from a copy, of any length."""
    path = tmp_path / "l"
    monkeypatch.setattr(duotone.ledger.stores.store, "CHUNK", 8)
    monkeypatch.setattr(duotone.ledger.stores.scan, "CHUNK", 8)
    with open_ledger(path) as ledger:
        register(ledger, ApproxDP(8))
        for i in range(12):
            ask(ledger, f"q{i}")
    execute(path, "PRAGMA journal_mode = WAL")
    copies: list[Path] = []

    def counted(file: Path) -> Any:
        copies.append(file)
        return copied(file)

    monkeypatch.setattr(duotone.ledger.stores.sqlite, "copied", counted)
    with open_ledger(path) as ledger:
        assert ledger.verify().holds
        assert len(copies) == 1
        assert [entry["seq"] for entry in ledger.entries()] == list(range(1, 26))
