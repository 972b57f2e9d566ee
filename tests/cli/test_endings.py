"""How the command ends: output that cannot be written, a reader that stops reading, interrupts."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from duotone import ApproxDP, balanced
from duotone.line.table import line_table
from support.running import run, thinned

COMMANDS: list[list[str]] = [
    ["line", "4", "3", "--exp-epsilon", "1.3", "--blue-at-boundary", "1/5"],
    ["line", "2000", "3", "--exp-epsilon", "1.3", "--blue-at-boundary", "1/5", "--json"],
    ["design", "g.csv", "--blue", "a", "--exp-epsilon", "2"],
    ["check", "c.json"],
    ["audit", "line", "0", "-1", "--epsilon", "1", "--draws", "10"],
    ["ask", "t.csv", "count(*) > 2", "--epsilon", "1"],
    ["groups", "t.csv", "--by", "x", "--epsilon", "1", "--delta", "1/10"],
    ["ledger", "show", "budget.ledger"],
    ["--version"],
    ["--help"],
]
ids = [" ".join(command[:1] + command[-1:]) for command in COMMANDS]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    (tmp_path / "g.csv").write_text("a,b\n")
    (tmp_path / "t.csv").write_text("x\n1\n2\n3\n")
    (tmp_path / "c.json").write_text(json.dumps(line_table(balanced(ApproxDP(1))).certificate()))
    register = "ledger register budget.ledger t.csv --epsilon 9 --unit x --version 1"
    monkeypatch.chdir(tmp_path)
    assert run(capsys, *register.split())[0] == 0
    return tmp_path


def in_shell(folder: Path, command: list[str], ending: str) -> tuple[int, str]:
    """The command's own exit code and what it said, with its output going where `ending` says."""
    line = f"{shlex.join([sys.executable, '-m', 'duotone', *command])} {ending}"
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=ids)
def test_output_that_cannot_be_written(command: list[str], folder: Path) -> None:
    code, said = in_shell(folder, command, ">/dev/full")
    assert code == 2
    assert said.count("\n") == 1
    assert said.startswith("duotone: the output cannot be written: No space left on device")
    assert ("asking again is a new release" in said) == (command[0] in ("ask", "groups"))


@pytest.mark.slow
@pytest.mark.parametrize("command", thinned(COMMANDS, 4, 1), ids=thinned(ids, 4, 1))
def test_output_that_nobody_wants(command: list[str], folder: Path) -> None:
    assert in_shell(folder, command, ">&-") == (
        2, "duotone: standard output is closed: nothing was asked, since there is nowhere to answer\n"
    )  # fmt: skip
    assert in_shell(folder, command, "2>&- >/dev/null")[0] == 0
    assert in_shell(folder, command, "| head -c 0; exit ${PIPESTATUS[0]}") in ((141, ""), (0, ""))  # 0: read before it closed


@pytest.mark.slow
def test_a_reader_that_stops_reading_is_no_error(folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "duotone", *COMMANDS[1]]
    done = subprocess.run(command, cwd=folder, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=300)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.slow
def test_a_lost_answer_is_recorded(folder: Path) -> None:
    question = ["ask", "t.csv", "count(*) > 2", "--epsilon", "1", "--unit", "x", "--max-rows", "1", "--ledger", "budget.ledger"]
    code, said = in_shell(folder, question, ">/dev/full")
    assert code == 2
    assert "an answer that was charged is recorded in the ledger, and asking again is free" in said
    code, said = in_shell(folder, question, "")
    assert (code, "free, as recorded" in said) == (0, True)
    code, said = in_shell(folder, question, ">&-")
    assert (code, "nothing was asked" in said) == (2, True)


@pytest.mark.slow
def test_an_interrupt_is_one_line(folder: Path) -> None:
    (folder / "slow.py").write_text("import os, time\ndef f(d, n):\n    os.kill(os.getpid(), 2)\n    time.sleep(60)\n")
    code, said = in_shell(folder, ["audit", "slow.py:f", "1", "2", "--epsilon", "1"], "")
    assert (code, said) == (130, "duotone: interrupted\n")


PLACES = ["text_files.read_header", "own_duckdb.literal", "own_duckdb.quietly"]
NOT_AN_INTERRUPT = """
import os, signal, sys
from duotone.errors import DuotoneError
from duotone.tables.engines import duckdb as own_duckdb, text_files
from duotone.cli.app import main

def busy(*_, **__):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass
    except KeyboardInterrupt:
        pass
    raise {error}("Query interrupted")  # as DuckDB does between two of its tasks

{place} = busy
main(["ask", "t.csv", "count(*) > 2", "--epsilon", "1", "--unit", "x", "--max-rows", "1"])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "error"),
    thinned(itertools.product(PLACES, ["RuntimeError", "OSError", "DuotoneError"]), 4),
)  # each place and each error once
def test_an_interrupt_that_a_library_makes_another_error_of_is_one(folder: Path, place: str, error: str) -> None:
    script = NOT_AN_INTERRUPT.format(place=place, error=error)
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "duotone: interrupted\n")


SETTING = """
import os, signal
import duckdb, ibis, ibis.backends.duckdb
from duotone.cli.app import main
from duotone.tables.engines.duckdb import connected

class Busy:
    def __init__(self, con):
        self.con = con
    def execute(self, query):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                pass
        except KeyboardInterrupt:
            pass
        raise RuntimeError("Query interrupted")
    def __getattr__(self, name):
        return getattr(self.con, name)

connect = ibis.duckdb.connect
def busy():
    connection = connect()
    connection.con = Busy(connection.con)
    return connection
ibis.duckdb.connect = busy
try:
    connected()
except KeyboardInterrupt:
    os._exit(130)
"""


@pytest.mark.slow
def test_ctrl_c_while_duckdb_is_set_up_is_an_interrupt(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SETTING], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 130, done.stderr
