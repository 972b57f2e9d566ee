"""SQLite's WAL mode, into which another program puts a ledger's file, and logs that others bring back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from duotone import ApproxDP, open_ledger
from duotone.errors import LedgerError
from support.attacks import STOCK, Asker, charges, contents, stranger
from support.ledgers import ask, execute, register


@pytest.mark.slow
def test_a_log_is_not_laid_over_the_file(path: Path, tmp_path: Path) -> None:
    with open_ledger(path) as ledger:
        ask(ledger)
    other = tmp_path / "other.ledger"
    other.write_bytes(path.read_bytes())
    with closing(sqlite3.connect(other, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("INSERT INTO duotone_ledger VALUES ('x', 'y')")
        stale = other.with_name(other.name + "-wal").read_bytes()
    assert stale
    log = path.with_name(path.name + "-wal")
    log.write_bytes(stale)
    with Asker(path) as first:
        for again in range(2):
            assert not first.ask(str(again))
            assert "does not belong to the ledger" in first.said
        with pytest.raises(LedgerError, match="does not belong to the ledger"), open_ledger(path) as reader:
            reader.verify()
        log.unlink()
        assert first.ask()
    assert charges(path) == 2


@pytest.mark.slow
def test_somebody_changes_the_journal_mode_later(path: Path) -> None:
    """Nothing is charged or read, whoever has the log open, until the owner puts the file back."""
    with Asker(path, wait=0.5) as first:
        assert first.ask()
        with stranger(STOCK, path, "PRAGMA journal_mode = WAL; UPDATE duotone_ledger SET value = value", 5):
            assert not first.ask()
        before = contents(path.parent)
        assert before[path.name][18:20] == b"\x02\x02"
        assert not first.ask()
        assert "WAL mode" in first.said
        with pytest.raises(LedgerError, match="WAL mode"), open_ledger(path) as reader:
            reader.verify()
        assert contents(path.parent) == before
        execute(path, "PRAGMA journal_mode = DELETE")
        assert first.ask()
        assert not first.ask()
        assert first.answers == 2
    assert charges(path) == 2


def test_an_empty_file_in_wal_mode_is_no_place_for_a_ledger(tmp_path: Path) -> None:
    execute(tmp_path / "l", "PRAGMA journal_mode = WAL")
    execute(tmp_path / "l", "CREATE TABLE t (x)")
    with pytest.raises(LedgerError, match="WAL mode"), open_ledger(tmp_path / "l") as ledger:
        register(ledger, ApproxDP(1))
