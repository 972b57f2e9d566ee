"""Each exit code of the table in docs/command.md, by a real run; and what a pipeline may run twice."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from duotone import open_ledger
from support import TESTS
from support.running import run

PAGE = (TESTS.parent / "docs" / "command.md").read_text()
CODES = {int(code): meaning for code, meaning in re.findall(r"^\| (\d+) \| (.*) \|$", PAGE, re.M)}
END_ITSELF = "import os, time\ndef f(d, n):\n    os.kill(os.getpid(), {signal})\n    time.sleep(60)\n"
ASK = ["ask", "t.csv", "count(*) > 2", "--epsilon", "1", "--unit", "x", "--max-rows", "1", "--ledger", "l"]
RUNS: dict[int, list[tuple[list[str], str]]] = {
    0: [(["line", "4", "3", "--exp-epsilon", "2", "--blue-at-boundary", "1/5"], ""), (ASK, "")],
    1: [
        (["ledger", "verify", "l", "--head", "0" * 64], ""),
        (["check", "m.json"], ""),
        (["audit", "honest.py:f", "1", "2", "--epsilon", "0.001", "--draws", "2000"], ""),
    ],
    2: [
        (["ask", "t.csv", "count(*)", "--epsilon", "1"], ""),
        (["ask", "t.csv", "count(*) > 3", "--epsilon", "9", *ASK[5:]], ""),
        (["ledger", "register", "l", "t", "--epsilon", "2", "--unit", "x", "--version", "1", "--if-absent"], ""),
        (["line", "4", "3", "--exp-epsilon", "2", "--blue-at-boundary", "1/5"], ">/dev/full"),
    ],
    130: [(["audit", "interrupted.py:f", "1", "2", "--epsilon", "1"], "")],
    141: [(["line", "2000", "3", "--exp-epsilon", "1.3", "--blue-at-boundary", "1/5", "--json"], "")],
    143: [(["audit", "ended.py:f", "1", "2", "--epsilon", "1"], "")],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    (tmp_path / "t.csv").write_text("x\n1\n2\n3\n")
    (tmp_path / "honest.py").write_text("def f(d, n):\n    return [d == 1] * n\n")
    (tmp_path / "interrupted.py").write_text(END_ITSELF.format(signal=2))
    (tmp_path / "ended.py").write_text(END_ITSELF.format(signal=15))
    monkeypatch.chdir(tmp_path)
    assert run(capsys, *shlex.split("ledger register l t --epsilon 2 --delta 1e-6 --unit x --version 1"))[0] == 0
    (tmp_path / "g.csv").write_text("a,b\n")
    code, out, _ = run(capsys, "design", "g.csv", "--blue", "a", "--exp-epsilon", "2", "--json")
    assert code == 0
    mechanism = json.loads(out)
    mechanism["privacy"] = {"exp_epsilon": "11/10", "epsilon": 0.0953101798043249, "delta": "0"}
    (tmp_path / "m.json").write_text(json.dumps(mechanism))
    return tmp_path


def test_the_page_has_every_code() -> None:
    assert CODES.keys() == RUNS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("code", RUNS)
def test_an_exit_code_means_what_the_page_says(code: int, folder: Path) -> None:
    for command, ending in RUNS[code]:
        pipe = "| head -c 1 >/dev/null" if code == 141 else ending
        line = f'"{sys.executable}" -m duotone "$@" {pipe}; exit ${{PIPESTATUS[0]}}'
        done = subprocess.run(
            ["bash", "-c", line, "duotone", *command], cwd=folder, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == code, (command, done.stderr)
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) == 1 or code != 2


def test_a_pipeline_registers_what_is_absent(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is there does nothing and ends with 0; what differs is said."""
    same = shlex.split("ledger register l t --epsilon 2 --delta 1e-6 --unit x --version 1 --if-absent")
    members = [
        shlex.split(f"ledger register l {name} --population t --version 2025 --if-absent") for name in ("stays", "bills")
    ]
    for command in (same, *members, same, *members):
        code, out, err = run(capsys, *command)
        assert (code, err) == (0, "")
    assert out.startswith(
        "bills, version 2025: charged to t, like every dataset of the same people\nt, version 1: ApproxDP(epsilon=2.0"
    )
    with open_ledger(folder / "l") as ledger:
        assert [entry["kind"] for entry in ledger.entries()] == ["register", "member", "member"]
    for more, says in (
        ("--epsilon 3", "budget epsilon=2 delta=1/1000000 (given: epsilon=3 delta=1/1000000)"),
        ("--unit y", "unit x (given: y)"),
        ("--version 2", "version 1 (given: 2)"),
    ):
        code, out, err = run(capsys, *same, *more.split())
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"t is registered already, and differently: {says}" in err
    code, _, err = run(capsys, *members[0], "--epsilon", "1")
    assert (code, "leave its budget, account and close calls out" in err) == (2, True)
    code, _, err = run(capsys, *shlex.split("ledger register l new --version 1 --if-absent"))
    assert (code, "give --epsilon, --exp-epsilon or --population" in err) == (2, True)
    code, out, _ = run(capsys, *shlex.split("ledger register l stays --version 2026"))
    assert (code, out.splitlines()[0]) == (0, "stays, version 2026: charged to t, like every dataset of the same people")


def test_a_file_declares_its_population(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "stays.toml").write_text(
        'source = "t.csv"\nunit = "x"\nmax_rows = 1\nledger = "l"\nversion = "1"\npopulation = "t"\n'
    )
    for _ in range(2):
        assert run(capsys, "ledger", "register", "stays.toml", "--if-absent")[0] == 0
    code, out, err = run(capsys, "ask", "stays.toml", "count(*) > 2", "--epsilon", "0.5", "--json")
    assert code == 0, err
    shown = json.loads(run(capsys, "ledger", "show", "l", "--json")[1])["datasets"]
    assert (shown["stays"]["population"], len(shown["stays"]["charges"])) == ("t", 1)
    assert shown["t"]["charges"][0]["dataset"] == "stays"
    assert shown["t"]["left"] == shown["stays"]["left"] == {"epsilon": 1.5, "delta": 1e-06}
    assert "stays: " in run(capsys, "ledger", "show", "l", "--dataset", "t")[1]
    assert json.loads(out)["ledger"]["left"]["epsilon"] == 1.5
    (folder / "stays.toml").write_text((folder / "stays.toml").read_text() + "budget = { epsilon = 1 }")
    code, _, err = run(capsys, "ledger", "register", "stays.toml", "--if-absent")
    assert (code, "budget is declared for the population t: leave it out, or the population" in err) == (2, True)
