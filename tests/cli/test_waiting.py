"""What a command shows while one waits: seconds, on a terminal, and nothing anywhere else."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from duotone import ApproxDP, balanced
from duotone.cli.terminal import waiting
from duotone.line.table import line_table
from duotone.release import certificate
from support.running import run, wait_until

SLOW = """
import sys, time
from duotone.cli.terminal import waiting
with waiting(sys.argv[1]):
    print("begun", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def on_terminal(what: str, seconds: float, interrupt: bool = False) -> tuple[int, str]:
    """The exit code of a program that waits, and what its terminal was sent."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", SLOW, what, str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    sent = [b""]

    def listen() -> None:
        while True:
            try:
                piece = os.read(ours, 1000)
            except OSError:  # nobody writes any more
                return
            if not piece:
                return
            sent[0] += piece

    listener = threading.Thread(target=listen)
    listener.start()
    if interrupt:
        wait_until(lambda: b": " in sent[0], "the seconds")
        process.send_signal(signal.SIGINT)
    code = process.wait(60)
    listener.join(60)
    os.close(ours)
    process.stdout.close()
    return code, sent[0].decode()


@pytest.mark.slow
def test_seconds_are_shown_on_a_terminal_and_taken_away() -> None:
    code, sent = on_terminal("reading a\x1b[2J.csv", 2.6)
    assert code == 0
    first, *_, blanks, end = sent.split("\r")[1:]
    assert re.fullmatch(r"reading a\\x1b\[2J\.csv: \d+ s", first)  # a name cannot steer the terminal
    assert (blanks.strip(), end) == ("", "")
    assert len(blanks) >= len(first)


@pytest.mark.slow
def test_nothing_is_shown_of_what_is_soon_done() -> None:
    assert on_terminal("reading a.csv", 0.1) == (0, "")


@pytest.mark.slow
def test_ctrl_c_ends_the_wait() -> None:
    began = time.monotonic()
    code, sent = on_terminal("reading a.csv", 600, interrupt=True)
    assert time.monotonic() - began < 60
    assert code != 0
    assert "KeyboardInterrupt" in sent


def test_nothing_is_shown_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    before = threading.active_count()
    with waiting("reading a.csv"):
        assert threading.active_count() == before
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_a_command_shows_it_beside_its_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a certificate that takes a while to prove, on a narrow terminal."""
    file = tmp_path / "c.json"
    file.write_text(json.dumps(line_table(balanced(ApproxDP(1))).certificate()))
    prove = certificate.prove

    def slowly(data: object) -> str:
        time.sleep(1.5)
        return prove(data)

    monkeypatch.setattr(certificate, "prove", slowly)
    ours, theirs = pty.openpty()
    with open(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        code, out, _ = run(capsys, "check", file, "--json")
    sent = os.read(ours, 1000).decode()
    os.close(ours)
    assert (code, json.loads(out)["holds"]) == (0, True)
    assert sent.split("\r")[1] == "proving c.json: 1 s"
