"""Temporary folders: a process that is killed leaves rows behind, and the next one removes them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from duotone import resources
from duotone.resources import temporary_folder

LIVING = """
import sys, time
from pathlib import Path
from duotone.tables.engines.duckdb import connected
from duotone.resources import temporary_folder
connection = connected()[0].connection
(spilled,) = connection.con.execute("select current_setting('temp_directory')").fetchone()
(Path(spilled) / "rows").write_text("a patient")
print(spilled, flush=True)
if sys.argv[1] == "wait":
    time.sleep(600)
"""


@pytest.fixture(name="base")
def _base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another place for temporary files, for this process and those that it starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def process(then: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", LIVING, then], stdout=subprocess.PIPE, text=True)


def spilled_by(one: subprocess.Popen[str]) -> Path:
    assert one.stdout is not None
    return Path(one.stdout.readline().strip())


def ended(one: subprocess.Popen[str]) -> None:
    one.kill()
    one.wait()
    if one.stdout is not None:
        one.stdout.close()


def test_rows_of_a_process_that_was_killed_are_removed_and_of_one_that_lives_are_not(base: Path) -> None:
    dead, alive = process("wait"), process("wait")
    try:
        left, kept = spilled_by(dead), spilled_by(alive)
        ended(dead)
        assert (left / "rows").read_text() == "a patient"
        mine = temporary_folder()
        assert not left.exists()
        assert not left.parent.exists()
        assert (kept / "rows").exists()
        folders = [mine, mine.parent, kept.parent]
        assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}
        assert mine.parent == kept.parent.parent == base / f"duotone-{os.getuid()}"
    finally:
        ended(alive)


def test_a_process_that_ends_leaves_nothing(base: Path) -> None:
    one = process("end")
    assert one.wait(60) == 0
    ended(one)
    assert list(base.iterdir()) == []


def test_a_parent_that_is_not_ours_alone_is_not_used(base: Path) -> None:
    """Somebody may have made it before us, to look into it, or as a link to elsewhere."""
    parent = base / f"duotone-{os.getuid()}"
    parent.mkdir(mode=0o777)
    parent.chmod(0o777)
    first = temporary_folder()
    parent.rmdir()
    (base / "elsewhere").mkdir(mode=0o700)
    parent.symlink_to(base / "elsewhere")
    resources._OWN.clear()
    second = temporary_folder()
    for folder in (first, second):
        assert folder.parent == base
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list((base / "elsewhere").iterdir()) == []


def test_a_forked_process_has_a_folder_of_its_own(base: Path) -> None:
    mine = temporary_folder()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, str(temporary_folder()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = Path(os.read(reader, 4096).decode())
    os.close(reader)
    os.close(writer)
    assert theirs.parent == mine.parent == base / f"duotone-{os.getuid()}"
    assert theirs != mine
    assert mine.is_dir()
    resources._OWN.clear()
    temporary_folder()
    assert not theirs.exists()
    assert mine.is_dir()  # its lock is held as long as this process lives
