"""The lock on a ledger's file: among threads, processes and other programs that use SQLite."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from duotone import open_ledger
from duotone.errors import LedgerBusy
from duotone.ledger.stores.sqlite import SqliteStore
from duotone.ledger.stores.sqlite_file import FileLock
from support.attacks import STOCK, Asker, stranger


@pytest.mark.slow
def test_the_program_itself_copies_the_file_during_a_transaction(path: Path, tmp_path: Path) -> None:
    """Closing any descriptor of a file drops a process's POSIX locks on it."""
    store = SqliteStore(path, 1)
    with Asker(path, wait=0.3) as other:
        with store.writing() as entries:
            entries.execute("UPDATE duotone_ledger SET value = value", ())
            shutil.copy(path, tmp_path / "copy")
            path.read_bytes()
            assert not other.ask()
            assert "kept busy by others" in other.said
            stock = [sys.executable, "-c", STOCK, str(path), "BEGIN IMMEDIATE", "0.1"]
            assert "database is locked" in subprocess.run(stock, input="", capture_output=True, text=True).stderr
            with pytest.raises(LedgerBusy), open_ledger(path, wait=0.2) as same_process:
                same_process.statement("census")
        assert other.ask()
    store.close()


@pytest.mark.slow
def test_other_programs_are_waited_for(path: Path) -> None:
    with Asker(path, wait=0.2) as hasty, Asker(path, wait=60) as patient:
        with stranger(STOCK, path, "BEGIN IMMEDIATE", 5):
            assert not hasty.ask()
            assert "kept busy by others for 0.2 seconds; nothing was released" in hasty.said
            patient.send()
        assert patient.hear()
    with open_ledger(path, wait=0.2) as ledger, stranger(STOCK, path, "BEGIN EXCLUSIVE", 5):
        with pytest.raises(LedgerBusy) as busy:
            ledger.statement("census")
        assert busy.value.wait == 0.2


def test_without_locks_of_descriptors(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has none, `flock` keeps Duotone's own processes apart."""
    import duotone.ledger.stores.sqlite_file as filelock

    monkeypatch.setattr(filelock, "OWN_DESCRIPTOR", None)
    first, second = SqliteStore(path, 0.1), SqliteStore(path, 0.1)
    with first.writing(), pytest.raises(LedgerBusy), second.writing():
        pass
    with first.reading() as entries, second.reading() as same:
        assert entries.head() == same.head()
    with second.writing():
        pass
    first.close()
    second.close()


def test_a_writer_that_waits_goes_before_new_readers(path: Path) -> None:
    reader, writer, later = (FileLock(path, writing=writes, create=False) for writes in (False, True, False))
    try:
        assert reader.acquire(0)
        assert not writer.acquire(0)
        assert not later.acquire(0)
        reader.release()
        assert writer.acquire(0)
        assert not later.acquire(0)
        writer.release()
        assert later.acquire(0)
        assert reader.acquire(0)
    finally:
        for lock in (reader, writer, later):
            lock.close()
