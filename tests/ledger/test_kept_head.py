"""A head kept elsewhere: an older ledger is refused, a crash blocks none, and no writer can forget it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from duotone import ApproxDP, open_ledger
from duotone.errors import LedgerError
from duotone.ledger import kept_head
from duotone.ledger.ledger import Ledger
from support.ledgers import ASKERS, HALF, ask, register
from support.running import run


def test_an_older_copy_is_refused_and_a_newer_one_is_not(tmp_path: Path) -> None:
    place, head = tmp_path / "l", tmp_path / "head"
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(3))
        ledger.keep_head(head, done_by="ann")
        ask(ledger, "a")
    shutil.copy(place, tmp_path / "older")
    with open_ledger(place) as ledger:
        ask(ledger, "b")
        assert kept_head.kept(head) == (len(ledger.entries()), ledger.verify().head)
    flips: list[int] = []
    with open_ledger(tmp_path / "older") as older:
        for write in (
            lambda: ask(older, "c", flips=flips),
            lambda: ask(older, "a", flips=flips),
            lambda: older.relabel("census", "2"),
            lambda: older.keep_head(tmp_path / "other", done_by="eve"),
        ):
            with pytest.raises(LedgerError, match="older than its head kept in"):
                write()
        assert not older.verify().holds
    assert (flips, (tmp_path / "other").exists()) == ([], False)
    with open_ledger(place) as ledger:
        assert not ask(ledger, "c").free
        assert ledger.verify().holds


def test_a_crash_before_the_head_is_kept_blocks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flips: list[int] = []
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger, ApproxDP(3))
        ledger.keep_head(tmp_path / "head", done_by="ann")

        def crash(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(kept_head, "advance", crash)
            with pytest.raises(KeyboardInterrupt):
                ask(ledger, "a", flips=flips)
        assert (flips, ledger.statement("census").state.charges) == ([], 1)  # charged, and nothing drawn
        assert kept_head.kept(tmp_path / "head")[0] == 2
        ask(ledger, "b", flips=flips)
        assert kept_head.kept(tmp_path / "head")[0] == 5
        assert ledger.verify().holds


def test_a_head_of_no_entry_is_that_of_every_ledger(tmp_path: Path) -> None:
    """It is kept where a crash followed the first of all entries: nothing is lost, to a charge and to `verify` alike."""
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger)
        ledger.keep_head(tmp_path / "head", done_by="ann")
        (tmp_path / "head").write_bytes(kept_head._line((0, "")))
        assert ledger.verify().holds
        ask(ledger)
        assert kept_head.kept(tmp_path / "head")[0] > 0


def test_two_copies_that_are_both_charged_are_found_before_a_coin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are in order when they are opened; the other one charges, once or twice, while this one does."""
    head = tmp_path / "head"
    for more in (1, 2):
        place, copy = tmp_path / f"l{more}", tmp_path / f"copy{more}"
        with open_ledger(place) as ledger:
            register(ledger, ApproxDP(3))
            ledger.keep_head(head, done_by="ann")
        shutil.copy(place, copy)
        flips: list[int] = []
        with open_ledger(place) as ledger, open_ledger(copy) as other, monkeypatch.context() as patch:
            advance, waiting = kept_head.advance, [True]

            def slowly(path: Path, newest: kept_head.Head, advance=advance, waiting=waiting, other=other, more=more) -> object:  # type: ignore[no-untyped-def]
                if waiting.pop() if waiting else False:
                    for i in range(more):
                        ask(other, f"other {i}")
                return advance(path, newest)

            patch.setattr(kept_head, "advance", slowly)
            with pytest.raises(LedgerError, match="older than its head"):
                ask(ledger, "q", flips=flips)
        assert flips == []
        head.unlink()


def test_every_interrupted_write_leaves_a_head(tmp_path: Path) -> None:
    """A write that stops after any byte, or leaves anything in its place, is as if it had not begun, or had ended."""
    place = tmp_path / "head"
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger)
        ledger.keep_head(place, done_by="ann")
        ask(ledger)
    before, newest = place.read_bytes(), kept_head.kept(place)
    following = newest[0] + 1, "f" * 64
    kept_head.advance(place, following)
    after = place.read_bytes()
    assert len([i for i in range(len(before)) if before[i] != after[i]]) <= kept_head.WIDTH
    changed = [i for i in range(len(after)) if i >= len(before) or before[i] != after[i]]
    for stop in range(len(changed) + 1):
        torn = bytearray(before)
        for i in changed[:stop]:
            torn[i] = after[i]
        place.write_bytes(torn)
        assert kept_head.kept(place) in ((newest, following) if stop >= len(changed) - 1 else (newest,))


def test_a_head_that_is_gone_or_of_another_is_refused_until_the_owner_keeps_one_anew(tmp_path: Path) -> None:
    head = tmp_path / "head"
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger, ApproxDP(3))
        (tmp_path / "notes").write_text("mine")
        with pytest.raises(LedgerError, match="holds no head of a ledger"):
            ledger.keep_head(tmp_path / "notes", done_by="ann")
        assert (tmp_path / "notes").read_text() == "mine"
        ledger.keep_head(head, done_by="ann")
        head.unlink()
        for damage in (b"", b"x" * 5000, None):
            if damage is not None:
                head.write_bytes(damage)
            else:
                head.unlink()
            with pytest.raises(LedgerError, match="nothing was released"):
                ask(ledger)
        ledger.keep_head(tmp_path / "second", done_by="ann")
        assert not ask(ledger).free
    with open_ledger(tmp_path / "another") as another:
        register(another)
        with pytest.raises(LedgerError, match="older than its head"):
            another.keep_head(tmp_path / "second", done_by="ann")


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, head = str(tmp_path / "l"), str(tmp_path / "head")
    with open_ledger(place) as ledger:
        register(ledger)
    assert run(capsys, "ledger", "keep-head", place, head, "--done-by", "ann")[0] == 0
    assert run(capsys, "ledger", "accept-standbys", place, "--words", "a copy is elsewhere", "--done-by", "ann")[0] == 0
    assert run(capsys, "ledger", "verify", place)[0] == 0
    with open_ledger(place) as ledger:
        assert [entry["kind"] for entry in ledger.entries()] == ["register", "head", "standbys"]
        assert kept_head.kept(Path(head))[0] == 3


@pytest.mark.slow
def test_many_writers_keep_the_newest(tmp_path: Path) -> None:
    place, head = tmp_path / "l", tmp_path / "head"
    with open_ledger(place) as ledger:
        register(ledger)
        ledger.keep_head(head, done_by="ann")
    subprocess.run([sys.executable, "-c", ASKERS, str(place), "16", "", "census"], check=False)
    with open_ledger(place) as ledger:
        assert kept_head.kept(head) == (len(ledger.entries()), ledger.verify().head)
        assert ledger.statement("census").state.charges == 16


KILLED = """
import sys
from duotone import ApproxDP, Charge, balanced, open_ledger
with open_ledger(sys.argv[1]) as ledger:
    print("ready", flush=True)
    for i in range(10**6):
        charge = Charge(balanced(ApproxDP("0.001")))
        ledger.ask("census", f"{sys.argv[2]} {i}", charge, lambda: True, unit="person", neighbours="replace")
"""


@pytest.mark.slow
def test_killed_at_any_moment_the_ledger_goes_on(tmp_path: Path) -> None:
    place, head = tmp_path / "l", tmp_path / "head"
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(1000))
        ledger.keep_head(head, done_by="ann")
    for i in range(6):
        writer = subprocess.Popen([sys.executable, "-c", KILLED, str(place), str(i)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.05 + 0.011 * i)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        with open_ledger(place) as ledger:
            assert not _ask_once(ledger, i)
            assert ledger.verify().holds
            assert kept_head.kept(head) == (len(ledger.entries()), ledger.verify().head)


def _ask_once(ledger: Ledger, i: int) -> bool:
    return ask(ledger, f"after {i}", HALF).free
