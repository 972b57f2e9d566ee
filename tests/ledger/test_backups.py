"""Backups of a ledger: of one moment, verified, and never in place of another file."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from duotone import ApproxDP, open_ledger
from support.attacks import Asker
from support.ledgers import ask, register
from support.running import run as command


@pytest.mark.slow
def test_a_backup_while_others_write(tmp_path: Path) -> None:
    place = tmp_path / "l"
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(100))
    with Asker(place) as writer, open_ledger(place) as ledger:
        for i in range(12):
            for _ in range(3):
                writer.send()
            verdict = ledger.backup(tmp_path / f"copy{i}")
            for _ in range(3):
                assert writer.hear()
            assert verdict.holds
            with open_ledger(tmp_path / f"copy{i}") as copy:
                assert copy.verify().head == verdict.head
                entries = copy.entries()
            assert entries == ledger.entries()[: verdict.entries]
            assert sum(entry["kind"] == "charge" for entry in entries) >= 3 * i
    assert {file.name for file in tmp_path.iterdir()} == {"l", *(f"copy{i}" for i in range(12))}


@pytest.mark.slow
def test_a_backup_replaces_nothing_and_is_whole_or_absent(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(path) as ledger:
        ask(ledger)
        head = ledger.verify().head
    copy = tmp_path / "copies" / "copy"
    copy.parent.mkdir()
    assert command(capsys, "ledger", "backup", path, copy) == (0, f"wrote {copy}: 3 entries, head {head}\n", "")
    before = copy.read_bytes()
    code, out, err = command(capsys, "ledger", "backup", path, copy)
    assert (code, out) == (2, "")
    assert "a backup replaces none" in err
    assert copy.read_bytes() == before
    code, out, _ = command(capsys, "ledger", "backup", path, copy.with_name("second"), "--json")
    assert json.loads(out) == {"backup": str(copy.with_name("second")), "entries": 3, "head": head}
    assert copy.stat().st_nlink == 1
    with Asker(copy) as asker:
        assert [asker.ask() for _ in range(2)] == [True, False]
    code, _, err = command(capsys, "ledger", "backup", path, tmp_path / "no" / "copy")
    assert code == 2
    assert "cannot write" in err
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE duotone_entries SET body = replace(body, '1/2', '1/4') WHERE seq = 2")
    connection.close()
    code, _, err = command(capsys, "ledger", "backup", path, copy.with_name("third"))
    assert code == 2
    assert "does not verify" in err
    assert sorted(file.name for file in copy.parent.iterdir()) == ["copy", "second"]
