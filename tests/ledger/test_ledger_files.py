"""A ledger's file under other names, moved, copied, replaced or cut in half. Never more than the budget."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from duotone import Coin, DuotoneError, open_ledger
from duotone.errors import LedgerError
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores.sqlite import SqliteStore
from support.attacks import ENDINGS, Asker, charges
from support.ledgers import ABOUT, HALF, ask, execute, register


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    """In a file only, since these tests take that file away."""
    with open_ledger(path, wait=5) as ledger:
        yield ledger


@pytest.mark.slow
def test_at_rest_everything_is_in_the_one_file(path: Path) -> None:
    with Asker(path) as first:
        assert first.ask()
        assert [file.name for file in path.parent.iterdir()] == [path.name]
        assert charges(path) == 1


def test_a_commit_waits_for_the_disk_and_for_the_journal_to_be_gone(path: Path) -> None:
    store = SqliteStore(path, 1)
    with store.writing() as entries:
        assert entries.execute("PRAGMA synchronous", ()) == [(3,)]
        assert entries.execute("PRAGMA journal_mode", ()) == [("delete",)]
        assert entries.execute("PRAGMA mmap_size", ()) in ([(0,)], [])
    store.close()


@pytest.mark.slow
def test_a_hard_link(path: Path, tmp_path: Path) -> None:
    with Asker(path) as first:
        assert first.ask()
        os.link(path, tmp_path / "link")
        with Asker(tmp_path / "link") as second:
            assert not second.ask()
            assert "has other names (hard links)" in second.said
            assert not first.ask()
            assert "has other names (hard links)" in first.said
            (tmp_path / "link").unlink()
            for _ in range(2):
                first.ask()
                second.ask()
            assert first.answers + second.answers == 2
    assert charges(path) == 2


@pytest.mark.slow
def test_a_mount_of_the_file_alone(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "mounted ledger"
    other.parent.mkdir()
    other.touch()
    if os.geteuid() != 0 or subprocess.run(["mount", "--bind", path, other], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with Asker(path) as first, Asker(other) as second:
            assert first.ask()
            for _ in range(3):
                assert not second.ask()
            assert "mount its folder instead" in second.said
            with open_ledger(other) as reader:
                assert reader.statement("census").state.charges == 1
            for _ in range(2):
                first.ask()
            assert (first.answers, second.answers) == (2, 0)
    finally:
        subprocess.run(["umount", other], check=True)
    assert charges(path) == 2


@pytest.mark.slow
def test_a_folder_may_be_mounted_or_linked(path: Path, tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(tmp_path)
    (tmp_path / "l").symlink_to(path)
    with Asker(path) as first, Asker(tmp_path / "other" / path.name) as second, Asker(tmp_path / "l") as third:
        assert first.ask()
        assert second.ask()
        assert not third.ask()
        assert third.said.startswith("over budget")


@pytest.mark.slow
def test_an_open_ledger_is_moved(path: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    with Asker(path) as first:
        assert first.ask()
        path.rename(moved)
        with Asker(moved) as second:
            for _ in range(2):
                second.ask()
                assert not first.ask()
            assert "there is no ledger" in first.said
            moved.rename(path)
            first.ask()
            second.ask()
            assert (first.answers, second.answers) == (1, 1)
    assert charges(path) == 2


@pytest.mark.slow
@pytest.mark.parametrize("when", ["between", "during"])
def test_files_beside_it_are_deleted(path: Path, when: str) -> None:
    def clean() -> None:
        for ending in ENDINGS:
            path.with_name(path.name + ending).unlink(missing_ok=True)

    with Asker(path) as first, Asker(path) as second:
        assert first.ask()
        clean()
        for _ in range(3):
            second.send()
            if when == "during":
                clean()
            second.hear()
            clean()
            first.ask()
        answers = first.answers + second.answers
    if when == "between":
        assert answers == charges(path) == 2
    else:  # a commit whose journal is taken away may fail, which wastes a charge and never hides one
        assert 1 <= answers <= charges(path) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cp", "copy"])
def test_a_copy_shows_every_charge(path: Path, tmp_path: Path, how: str) -> None:
    copy = tmp_path / "copy"
    with Asker(path) as first:
        for expected in (1, 2):
            assert first.ask()
            if how == "cp":
                subprocess.run(["cp", path, copy], check=True)
            else:
                shutil.copy(path, copy)
            with open_ledger(copy) as ledger:
                assert ledger.statement("census").state.charges == expected
                assert ledger.verify().holds
    with Asker(copy) as second:
        assert not second.ask()
        assert second.said.startswith("over budget")


@pytest.mark.parametrize("how", ["half", "garbage", "empty", "another", "folder"])
def test_a_half_written_file(path: Path, ledger: Ledger, how: str) -> None:
    for i in range(2):
        ask(ledger, f"q{i}")
    ledger.close()
    content = path.read_bytes()
    for beside in path.parent.iterdir():
        beside.unlink()
    if how == "half":
        path.write_bytes(content[: len(content) // 2])
    elif how == "garbage":
        path.write_bytes(b"no database" * 1000)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "another":
        execute(path, "CREATE TABLE t (x)")
    else:
        path.mkdir()
    flips: list[int] = []
    with pytest.raises(LedgerError) as said:
        ask(ledger, "r", flips=flips)
    assert flips == []
    assert "\n" not in str(said.value)


def test_a_missing_ledger_is_not_made_by_asking(tmp_path: Path) -> None:
    path = tmp_path / "l"
    with pytest.raises(LedgerError, match="register a dataset first"):
        ask(open_ledger(path))
    assert not path.exists()
    with pytest.raises(LedgerError, match="its folder does not exist"):
        register(open_ledger(path.parent / "no" / "l"))


def test_a_relative_or_odd_path_stays_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with open_ledger("odd ?#%20é.ledger") as ledger:
        register(ledger)
        ledger.close()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert not ask(ledger).free
    assert (tmp_path / "odd ?#%20é.ledger").exists()


def test_nothing_private_is_stored(path: Path, ledger: Ledger) -> None:
    """The bytes of the file hold what is public and no level, margin or row."""
    secret = 987654321
    coin = Coin(HALF.mechanism)
    ledger.ask("census", "mean(pay) > 3", HALF, lambda: coin.answer(secret).answer, asker="ann", **ABOUT)
    with pytest.raises(DuotoneError):
        ledger.ask("census", "r", HALF, lambda: coin.answer("987654321"), **ABOUT)
    ledger.close()
    stored = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"mean(pay) > 3" in stored
    assert str(secret).encode() not in stored


def test_other_failures_say_their_code(path: Path) -> None:
    error = sqlite3.DatabaseError("private words")
    assert (
        str(SqliteStore(path, 1)._ledger_error(error))
        == f"the ledger {path} cannot be used (DatabaseError); nothing was released"
    )


def test_a_file_that_was_replaced_is_the_ledger(path: Path, ledger: Ledger, tmp_path: Path) -> None:
    """A backup put in place, or a file taken away, under an open ledger: what is at the path counts, and only that."""
    ledger.close()
    shutil.copy(path, tmp_path / "copy")
    assert not ask(ledger).free
    ledger_left = ledger.statement("census").left
    os.replace(tmp_path / "copy", path)
    for extra in ("-wal", "-shm"):
        path.with_name(path.name + extra).unlink(missing_ok=True)
    assert ledger.statement("census").state.charges == 0
    assert ask(ledger, "r").left == ledger_left
    path.unlink()
    for extra in ("-wal", "-shm"):
        path.with_name(path.name + extra).unlink(missing_ok=True)
    with pytest.raises(LedgerError, match="there is no ledger"):
        ask(ledger, "s")


def test_an_answer_whose_charge_is_gone_is_not_released(path: Path, ledger: Ledger, tmp_path: Path) -> None:
    ledger.close()
    shutil.copy(path, tmp_path / "copy")

    def flip() -> bool:
        ledger.close()
        os.replace(tmp_path / "copy", path)
        for extra in ("-wal", "-shm"):
            path.with_name(path.name + extra).unlink(missing_ok=True)
        return True

    with pytest.raises(LedgerError, match="any more; nothing was released"):
        ledger.ask("census", "q", HALF, flip, **ABOUT)
    assert ledger.verify().holds
