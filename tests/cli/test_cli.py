from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from commands import run

from duotone import ApproxDP, balanced
from duotone.graphs import families
from duotone.line.table import line_table


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.json"
    path.write_text(json.dumps(nx.node_link_data(families.votes(3).graph().to_networkx(), edges="edges")))
    return path


@pytest.fixture
def figure_2(tmp_path: Path) -> Path:
    path = tmp_path / "figure-2.graphml"
    nx.write_graphml(families.figure_2().to_networkx(), path)
    return path


def test_design_and_check(capsys: pytest.CaptureFixture[str], votes: Path, tmp_path: Path) -> None:
    code, out, err = run(capsys, "design", votes, "--ratio", "2", "--delta", "1/10", "--json", "--draw", tmp_path / "m.svg")
    assert code == 0
    assert json.loads(out)["datasets"]["111"] == {"colour": "blue", "level": 1, "yes": "9/10", "error": "1/10"}
    assert err == f"wrote {tmp_path / 'm.svg'}\n"
    saved = tmp_path / "m.json"
    saved.write_text(out)
    assert run(capsys, "check", saved)[0] == 0
    code, out, _ = run(capsys, "check", saved, "--ratio", "1.9", "--delta", "0.1", "--json")
    assert code == 1
    assert json.loads(out)["holds"] is False
    assert run(capsys, "check", saved, "--delta", "0")[0] == 2  # half a budget is not the file's own
    code, out, _ = run(capsys, "check", saved, "--epsilon", "0.5")
    assert code == 1
    assert "NOT private" in out


def test_design_reads_as_text(capsys: pytest.CaptureFixture[str], votes: Path) -> None:
    code, out, _ = run(capsys, "design", votes, "--epsilon", "1", "--delta", "1e-6")
    assert code == 0
    assert "Pr[wrong]" in out
    assert "(2, 2)-line" in out


def test_design_with_unequal_values(capsys: pytest.CaptureFixture[str], figure_2: Path) -> None:
    common = ("design", figure_2, "--boundary", "h=3/5,l=7/10")
    code, out, _ = run(capsys, *common, "--ratio", "2", "--delta", "0.1", "--json")
    assert json.loads(out)["datasets"]["c"]["yes"] == "17/20"
    code, out, err = run(capsys, *common, "--ratio", "1.1")
    assert (code, out) == (2, "")
    assert "h–n–q–l" in err
    assert err.count("\n") == 1


def test_design_from_an_edge_list(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("a,b\nb,c\nlonely\n")
    code, out, _ = run(capsys, "design", tmp_path / "g.csv", "--blue", "a,b", "--ratio", "2", "--boundary", "1/2", "--json")
    assert code == 0
    assert json.loads(out)["datasets"]["a"]["yes"] == "3/4"
    assert json.loads(out)["datasets"]["lonely"] == {"colour": "red", "level": None, "yes": "0", "error": "0"}


def test_names_with_commas_and_repeated_values(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text('"2,0","0,2"\n')
    common = ("design", tmp_path / "g.csv", "--ratio", "2", "--json", "--blue", '"2,0"')
    code, out, _ = run(capsys, *common, "--boundary", '"2,0"=1/2')
    assert json.loads(out)["datasets"]["2,0"]["yes"] == "1/2"
    code, _, err = run(capsys, *common, "--boundary", '"2,0"=1/2,"2,0"=1/3')
    assert (code, "given two values" in err) == (2, True)


@pytest.mark.slow
def test_long_fractions_are_shown_short(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "line", 1500, 2, "--ratio", "1.0001", "--delta", "1e-9", "--blue-at-boundary", "1/2")
    assert code == 0
    assert "≈ 0.5" in out


def test_a_terminal_without_greek() -> None:
    command = [sys.executable, "-m", "duotone", "line", "2", "2", "--ratio", "2", "--blue-at-boundary", "balanced"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "transition" in done.stdout


def test_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    example = ("line", 4, 3, "--ratio", "1.3", "--delta", "0.1", "--blue-at-boundary", "0.2")
    code, out, _ = run(capsys, *example, "--json")
    assert json.loads(out)["datasets"]["1"]["error"] == "83/325"
    assert json.loads(out)["line"] == {"blue": 4, "red": 3}
    code, out, err = run(capsys, *example, "--draw", tmp_path / "line.png")
    assert code == 0
    assert "transition τ = 1; blue error 0 from distance 6; red error 0 from distance 1" in out
    assert "wrote" in err
    code, out, _ = run(capsys, "line", 2, 70, "--epsilon", "1", "--blue-at-boundary", "balanced")
    assert "never exactly 0" in out
    assert "… and 12 more" in out


def test_certificates(capsys: pytest.CaptureFixture[str], figure_2: Path, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    budget = ("--ratio", "2", "--delta", "0.1")
    code, _, err = run(capsys, "design", figure_2, *budget, "--boundary", "h=0.6,l=0.7", "--certificate", file)
    assert (code, err) == (0, f"wrote {file}\n")
    assert run(capsys, "check", file)[:2] == (0, "private and optimal: 18 datasets under ratio 2, delta 1/10\n")
    assert run(capsys, "line", 3, 3, "--epsilon", "1", "--blue-at-boundary", "balanced", "--certificate", file)[0] == 0
    code, out, _ = run(capsys, "check", file, "--json")
    assert json.loads(out)["holds"] is True
    assert run(capsys, "check", file, "--epsilon", "1")[0] == 2
    told = json.loads(file.read_text())
    told["blue"][1] = str(int(told["blue"][1]) + 1)
    file.write_text(json.dumps(told))
    code, out, _ = run(capsys, "check", file)
    assert code == 1
    assert out.startswith("NOT proved: ")
    assert (
        run(capsys, "line", 3, 3, "--epsilon", "1", "--blue-at-boundary", "1", "--certificate", tmp_path / "no" / "c")[0] == 2
    )


def test_audit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    budget = ("--ratio", "2", "--delta", "0.1", "--confidence", "0.9999999999")
    code, out, _ = run(capsys, "audit", "line", 0, -1, *budget, "--draws", 100000, "--draw", tmp_path / "a.png")
    assert code == 0
    assert "not refuted" in out
    assert (tmp_path / "a.png").exists()
    (tmp_path / "own.py").write_text("def answers(dataset, n):\n    return [dataset == 'a'] * n\n")
    code, out, _ = run(capsys, "audit", f"{tmp_path / 'own.py'}:answers", "a", '"b"', *budget, "--draws", 1000, "--json")
    assert code == 1
    assert json.loads(out)["refuted"] is True
    assert run(capsys, "audit", "line", 3, -3, *budget)[0] == 2
    (tmp_path / "broken.py").write_text("def answers(dataset, n):\n    return 1 / 0\n\nnumber = 3\n")
    code, _, err = run(capsys, "audit", f"{tmp_path / 'broken.py'}:answers", "a", "b", *budget)
    assert (code, err) == (2, "duotone: the audited function failed with ZeroDivisionError\n")
    (tmp_path / "syntax.py").write_text("def (")
    places = ("broken.py:number", "syntax.py:f", "own.py:nothing", "none.py:f")
    for missing in (*(f"{tmp_path}/{place}" for place in places), "no_such_module:f", "f", ""):
        code, _, err = run(capsys, "audit", missing, 0, 1, *budget)
        assert code == 2
        assert "name it as FILE.py:FUNCTION" in err


@pytest.mark.slow
def test_paper(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(capsys, "paper", tmp_path)
    assert code == 0
    assert "63 of 63 claims agree" in out
    assert err.count("wrote") == 16
    code, out, _ = run(capsys, "paper", tmp_path, "--json")
    assert all(claim["agrees"] for claim in json.loads(out)["claims"])


def test_a_graph_without_edges_is_private(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("a\n")
    _, out, _ = run(capsys, "design", tmp_path / "g.csv", "--blue", "a", "--epsilon", "0", "--json")
    (tmp_path / "m.json").write_text(out)
    assert run(capsys, "check", tmp_path / "m.json")[1] == "private: no dataset has a neighbour\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--epsilon", "-1"], "epsilon must be finite and at least 0, got -1"),
        (["--epsilon", "nan"], "epsilon must be a decimal or a fraction"),
        (["--epsilon", "1e99999999"], "epsilon must be a decimal or a fraction"),
        (["--epsilon", "1", "--delta", "1"], "delta must be in [0, 1), got 1"),
        (["--epsilon", "1", "--ratio", "2"], "one of the two"),
        ([], "one of the two"),
        (["--epsilon", "1", "--boundary", "2"], "must be in [0, 1], got 2"),
        (["--epsilon", "1", "--boundary", "z=1"], "there is no dataset z"),
        (["--epsilon", "1", "--boundary", "fair"], "must be a decimal or a fraction"),
        (["--epsilon", "1", "--blue", "z"], "there is no node z to be blue"),
        (["--epsilon", "1", "--draw", "m.txt"], "a picture must end in"),
    ],
)
def test_bad_input_is_one_sentence(capsys: pytest.CaptureFixture[str], votes: Path, arguments: list[str], says: str) -> None:
    code, out, err = run(capsys, "design", votes, *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.startswith("duotone: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["line", "0", "1", "--epsilon", "1", "--blue-at-boundary", "1"],
        ["line", "1", "999999999", "--epsilon", "1", "--blue-at-boundary", "1"],
        ["line", "1", "1", "--epsilon", "1"],
        ["check", "no-such-file.json"],
        ["design", "no-such-file.json", "--epsilon", "1"],
        ["nonsense"],
    ],
)
def test_other_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert run(capsys, *arguments)[0] == 2


def test_check_refuses_what_is_not_a_mechanism(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("{")
    code, _, err = run(capsys, "check", tmp_path / "m.json")
    assert (code, err) == (2, f"duotone: {tmp_path / 'm.json'} is not JSON\n")


def test_help_comes_at_once() -> None:
    """No heavy library is imported before a command needs it."""
    code = "import sys, duotone.cli.app as c\ntry: c.main(['--help'])\nexcept SystemExit: pass\nprint(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("'numpy'", "'gmpy2'", "'networkx'", "'matplotlib'", "'scipy'"):
        assert heavy not in loaded
    shown = subprocess.run([sys.executable, "-m", "duotone", "--version"], capture_output=True, text=True, check=True).stdout
    assert shown == "0.1.0\n"


COMMANDS: list[list[str]] = [
    ["line", "4", "3", "--ratio", "1.3", "--blue-at-boundary", "1/5"],
    ["line", "2000", "3", "--ratio", "1.3", "--blue-at-boundary", "1/5", "--json"],
    ["design", "g.csv", "--blue", "a", "--ratio", "2"],
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
def folder(tmp_path: Path) -> Path:
    (tmp_path / "g.csv").write_text("a,b\n")
    (tmp_path / "t.csv").write_text("x\n1\n2\n3\n")
    (tmp_path / "c.json").write_text(json.dumps(line_table(balanced(ApproxDP(1))).certificate()))
    register = "ledger register budget.ledger t.csv --epsilon 9 --unit x --version 1"
    subprocess.run([sys.executable, "-m", "duotone", *register.split()], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def in_shell(folder: Path, command: list[str], ending: str) -> tuple[int, str]:
    """The command's own exit code and what it said, with its output going where `ending` says."""
    line = f"{shlex.join([sys.executable, '-m', 'duotone', *command])} {ending}"
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=100)
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
    assert in_shell(folder, command, ">&-") == (
        2, "duotone: standard output is closed: nothing was asked, since there is nowhere to answer\n"
    )  # fmt: skip
    assert in_shell(folder, command, "2>&- >/dev/null")[0] == 0
    assert in_shell(folder, command, "| head -c 0; exit ${PIPESTATUS[0]}") in ((141, ""), (0, ""))  # 0: read before it closed


@pytest.mark.slow
def test_a_reader_that_stops_reading_is_no_error(folder: Path) -> None:
    code, said = in_shell(folder, COMMANDS[1], "| (exec <&-; sleep 0.2); exit ${PIPESTATUS[0]}")
    assert (code, said) == (141, "")


@pytest.mark.slow
def test_a_lost_answer_is_recorded(folder: Path) -> None:
    question = ["ask", "t.csv", "count(*) > 2", "--epsilon", "1", "--unit", "x", "--ledger", "budget.ledger"]
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


def test_a_unit_cannot_steer_a_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a\x1b[2J,x\n1,2\n")
    for command in (["ask", file, "count(*) > 1", "--preview"], ["groups", file, "--by", "x"]):
        code, out, _ = run(capsys, *command, "--unit", "a\x1b[2J", "--epsilon", "1", "--delta", "1e-6")
        assert (code, "\x1b" in out, "a\\x1b[2J" in out) == (0, False, True)


HOSTILE = "a\x1b[2J\x07\x9b31m\u202eb\u2028c\x7f\r\nd"


def test_names_cannot_steer_a_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plain: Any = nx.Graph()
    plain.add_node(HOSTILE, colour="blue")
    plain.add_node("b", colour="red")
    plain.add_edge(HOSTILE, "b")
    path = tmp_path / "g.json"
    path.write_text(json.dumps(nx.node_link_data(plain, edges="edges")))
    outputs = [
        run(capsys, "design", path, "--ratio", "2"),
        run(capsys, "design", path, "--ratio", "2", "--boundary", "b=1/2"),
        run(capsys, "design", path, "--ratio", "2", "--delta", "1/10", "--boundary", "1/20"),
        run(capsys, "design", tmp_path / "x\x1b[2J.json", "--ratio", "2"),
        run(capsys, "design", path, "--ratio", "2", "--blue", "\x1b[2J"),
    ]
    code, out, _ = run(capsys, "design", path, "--ratio", "2", "--json")
    assert HOSTILE in json.loads(out)["datasets"]
    (tmp_path / "m.json").write_text(out)
    outputs += [
        (code, "", out),
        run(capsys, "check", tmp_path / "m.json"),
        run(capsys, "check", tmp_path / "m.json", "--epsilon", "0"),
    ]
    for _, out, err in outputs:
        raw = {c for c in out + err if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
        assert raw <= {"\n"}
    assert "a\\x1b[2J" in outputs[0][1]
    assert "\\u202e" in outputs[2][2]


def test_design_names_values_that_could_be_larger_for_free(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("a,r\nr,b\n")
    common = ("design", tmp_path / "g.csv", "--blue", "a,b", "--ratio", "2", "--delta", "0.1", "--json", "--boundary")
    code, _, err = run(capsys, *common, "a=0.3,b=0.7")
    assert (code, err) == (0, "note: dataset a could tell the truth with 7/10 = 0.7, at no cost to any other dataset\n")
    assert run(capsys, *common, "a=0.7,b=0.7")[2] == run(capsys, *common, "balanced")[2] == ""
    (tmp_path / "g.csv").write_text("\n".join(f"a{i},r" for i in range(8)))
    blue = ",".join(f"a{i}" for i in range(8))
    _, _, err = run(capsys, *common[:3], blue, *common[4:], "1/20")
    assert err.splitlines()[5:] == ["note: so could 3 more datasets tell it more often"]


NOT_AN_INTERRUPT = """
import os, signal, sys
import duotone.tables.engines.duckdb as embedded
from duotone.cli.app import main

def busy(*_, **__):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass
    except KeyboardInterrupt:
        pass
    raise {error}("Query interrupted")  # as DuckDB does between two of its tasks

embedded.{place} = busy
main(["ask", "t.csv", "count(*) > 2", "--epsilon", "1", "--unit", "x"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("error", ["RuntimeError", "OSError", "embedded.DuotoneError"])
@pytest.mark.parametrize("place", ["connected", "literal", "quietly"])
def test_an_interrupt_that_a_library_makes_another_error_of_is_one(folder: Path, place: str, error: str) -> None:
    script = NOT_AN_INTERRUPT.format(place=place, error=error)
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "duotone: interrupted\n")


SETTING = """
import os, signal
import duckdb, ibis, ibis.backends.duckdb
from duotone.cli.app import main
from duotone.tables.engines import duckdb as embedded

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
    embedded.connected()
except KeyboardInterrupt:
    os._exit(130)
"""


@pytest.mark.slow
def test_ctrl_c_while_duckdb_is_set_up_is_an_interrupt(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SETTING], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 130, done.stderr
