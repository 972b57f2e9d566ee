"""Kills, full disks and commits that were interrupted: no charge is lost, and nothing is released without one."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, Charge, balanced, open_ledger
from duotone.errors import LedgerError
from duotone.ledger.stores import Entries
from support import TESTS
from support.attacks import Asker, charges, contents, interrupt
from support.ledgers import ABOUT, ask, register
from support.running import EXHAUSTIVE


def run(script: str, *arguments: object) -> dict[str, Any]:
    command = [sys.executable, str(TESTS / "support" / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.slow
def test_many_kills(tmp_path: Path) -> None:
    """SIGKILL at random moments, four writers: nothing released uncharged, nothing lost, every ledger verifies."""
    kills = 1000 if EXHAUSTIVE else 400
    counts = run("killed.py", tmp_path, kills, 4, 6)
    assert counts["released"] <= counts["answered"] <= counts["flipped"] <= counts["charged"]
    assert counts["charged"] > kills / 2


@pytest.mark.slow
def test_100_full_disks(tmp_path: Path) -> None:
    counts = run("full_disk.py", tmp_path, 100, 6)
    assert counts["full"] == 100
    assert all("nothing was released" in said for said in counts["said"])


def test_failed_creation_leaves_nothing(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Entries) -> None:
        self.execute("CREATE TABLE duotone_ledger (name TEXT)", ())
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Entries, "make", broken)
        with pytest.raises(KeyboardInterrupt):
            register(open_ledger(place))
    with open_ledger(place) as ledger:
        register(ledger)
        assert ledger.verify().holds


@pytest.mark.slow
def test_a_full_disk_with_small_blocks(tmp_path: Path) -> None:
    """A mapped file on a full file system ends a process by SIGBUS: nothing is mapped any more."""
    command = [sys.executable, str(TESTS / "support" / "full_disk.py"), str(tmp_path), "12", "7", "ext4"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and os.path.ismount(tmp_path):
        subprocess.run(["umount", tmp_path], check=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
    counts = json.loads(done.stdout)
    if not counts["mounted"]:
        pytest.skip("mounting is not allowed here")
    assert counts["full"] == 12
    assert all("nothing was released" in said for said in counts["said"])


@pytest.mark.slow
def test_an_interrupted_commit_is_read_without_a_change_and_undone_by_writing(long: Path) -> None:
    interrupt(long)
    before = contents(long.parent)
    with open_ledger(long) as ledger:
        assert ledger.statement("census").state.charges == 2
        assert ledger.verify().holds
        assert contents(long.parent) == before
    with Asker(long) as first:
        assert [first.ask() for _ in range(3)] == [True, True, False]
    assert charges(long) == 4
    assert [file.name for file in long.parent.iterdir()] == [long.name]


@pytest.mark.slow
def test_an_interrupted_commit_without_its_journal_sells_nothing(long: Path) -> None:
    interrupt(long)
    moved = long.with_name("moved")
    shutil.copy(long, moved)
    long.with_name(long.name + "-journal").unlink()
    for place in (moved, long):
        with Asker(place) as first:
            assert not first.ask()
            assert "damaged" in first.said


@pytest.mark.slow
@pytest.mark.parametrize("commits", [1, 2])
def test_a_journal_of_an_older_state_is_not_played_back(long: Path, commits: int) -> None:
    """The file goes on under another name after a crash, and comes back to the journal that it left behind."""
    moved = long.with_name("moved")
    shutil.copy(long, moved)
    interrupt(long)
    with open_ledger(moved) as ledger:
        if commits == 2:
            ask(ledger, "elsewhere")
        else:
            with pytest.raises(ZeroDivisionError):
                ledger.ask("census", "elsewhere", Charge(balanced(ApproxDP("0.5"))), lambda: 1 / 0, **ABOUT)
    moved.rename(long)
    before = contents(long.parent)
    with Asker(long) as first, open_ledger(long) as reader:
        assert not first.ask()
        assert "does not belong to its present state" in first.said
        with pytest.raises(LedgerError, match="does not belong to its present state"):
            reader.verify()
        assert contents(long.parent) == before
        long.with_name(long.name + "-journal").unlink()
        assert [first.ask() for _ in range(2)] == [True, False]
    assert charges(long) == 4


@pytest.mark.slow
def test_a_torn_copy_sells_nothing(long: Path, tmp_path: Path) -> None:
    """A copy that was made while pages were written: the index that finds the last charge is of before it."""
    with sqlite3.connect(long) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'duotone_by_dataset'").fetchone()
    connection.close()
    before = long.read_bytes()
    with open_ledger(long) as ledger:
        ask(ledger, "another")
    after, torn = bytearray(long.read_bytes()), tmp_path / "torn"
    after[(root - 1) * 4096 : root * 4096] = before[(root - 1) * 4096 : root * 4096]
    for place in (torn, long):
        place.write_bytes(after)
        with Asker(place) as first:
            assert not first.ask()
            assert "damaged" in first.said or "does not end with the entry that its head names" in first.said
