"""The commands about graphs, lines, certificates and audits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

from duotone.graphs import families
from support.running import run


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
    code, out, err = run(
        capsys, "design", votes, "--exp-epsilon", "2", "--delta", "1/10", "--json", "--draw", tmp_path / "m.svg"
    )
    assert code == 0
    assert json.loads(out)["datasets"]["111"] == {"colour": "blue", "level": 1, "yes": "9/10", "error": "1/10"}
    assert err == f"wrote {tmp_path / 'm.svg'}\n"
    saved = tmp_path / "m.json"
    saved.write_text(out)
    assert run(capsys, "check", saved)[0] == 0
    code, out, _ = run(capsys, "check", saved, "--exp-epsilon", "1.9", "--delta", "0.1", "--json")
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
    code, out, _ = run(capsys, *common, "--exp-epsilon", "2", "--delta", "0.1", "--json")
    assert json.loads(out)["datasets"]["c"]["yes"] == "17/20"
    code, out, err = run(capsys, *common, "--exp-epsilon", "1.1")
    assert (code, out) == (2, "")
    assert "h–n–q–l" in err
    assert err.count("\n") == 1


def test_design_from_an_edge_list(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("a,b\nb,c\nlonely\n")
    code, out, _ = run(
        capsys, "design", tmp_path / "g.csv", "--blue", "a,b", "--exp-epsilon", "2", "--boundary", "1/2", "--json"
    )
    assert code == 0
    assert json.loads(out)["datasets"]["a"]["yes"] == "3/4"
    assert json.loads(out)["datasets"]["lonely"] == {"colour": "red", "level": None, "yes": "0", "error": "0"}


def test_names_with_commas_and_repeated_values(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text('"2,0","0,2"\n')
    common = ("design", tmp_path / "g.csv", "--exp-epsilon", "2", "--json", "--blue", '"2,0"')
    code, out, _ = run(capsys, *common, "--boundary", '"2,0"=1/2')
    assert json.loads(out)["datasets"]["2,0"]["yes"] == "1/2"
    code, _, err = run(capsys, *common, "--boundary", '"2,0"=1/2,"2,0"=1/3')
    assert (code, "given two values" in err) == (2, True)


def test_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    example = ("line", 4, 3, "--exp-epsilon", "1.3", "--delta", "0.1", "--blue-at-boundary", "0.2")
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
    budget = ("--exp-epsilon", "2", "--delta", "0.1")
    code, _, err = run(capsys, "design", figure_2, *budget, "--boundary", "h=0.6,l=0.7", "--certificate", file)
    assert (code, err) == (0, f"wrote {file}\n")
    assert run(capsys, "check", file)[:2] == (0, "private and optimal: 18 datasets under ratio 2, delta 1/10\n")
    assert run(capsys, "line", 3, 3, "--epsilon", "1", "--blue-at-boundary", "balanced", "--certificate", file)[0] == 0
    code, out, _ = run(capsys, "check", file, "--json")
    assert json.loads(out)["holds"] is True
    assert run(capsys, "check", file, "--epsilon", "1")[0] == 2
    certificate = json.loads(file.read_text())
    row = certificate["rows"][-1]["numbers"]
    row[:] = [str(int(row[0]) + 1), str(int(row[1]) - 1)]
    file.write_text(json.dumps(certificate))
    code, out, _ = run(capsys, "check", file)
    assert code == 1
    assert out.startswith("NOT proved: ")
    assert (
        run(capsys, "line", 3, 3, "--epsilon", "1", "--blue-at-boundary", "1", "--certificate", tmp_path / "no" / "c")[0] == 2
    )


@pytest.mark.false_alarm(1e-10)
def test_audit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    budget = ("--exp-epsilon", "2", "--delta", "0.1", "--confidence", "0.9999999999")
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
        (["--epsilon", "1", "--exp-epsilon", "2"], "one of the two"),
        ([], "one of the two"),
        (["--epsilon", "1", "--boundary", "2"], "must be in [0, 1], got 2"),
        (["--epsilon", "1", "--boundary", "z=1"], "there is no dataset z"),
        (["--epsilon", "1", "--boundary", "fair"], "the boundary is balanced, or a probability"),
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


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ask"], "missing argument 'TABLE' (see "),
        (["aks"], "no such command 'aks'"),
        (["ask", "f.csv", "count(*) > 1", "--epsilom", "1"], "no such option: --epsilom"),
        (["ask", "f.csv", "count(*) > 1", "--epsilon"], "option '--epsilon' requires an argument (see "),
        (["ask", "f.csv", "count(*) > 1", "--max-rows", "few"], "invalid value for '--max-rows'"),
        (["ledger", "register"], "missing argument 'LEDGER' (see "),
    ],
)
def test_wrong_arguments_are_one_sentence(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"duotone: {says}")
    assert err.endswith("--help)\n")
    assert err.count("\n") == 1


def test_no_arguments_show_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ([], ["ledger"]):
        code, out, err = run(capsys, *command)
        assert code == 2
        assert "Usage: " in out + err
        assert "duotone: " not in err


def test_check_refuses_what_is_not_a_mechanism(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("{")
    code, _, err = run(capsys, "check", tmp_path / "m.json")
    assert (code, err) == (2, f"duotone: {tmp_path / 'm.json'} is not JSON\n")


@pytest.mark.slow
def test_help_comes_at_once() -> None:
    """No heavy library is imported before a command needs it."""
    code = "import sys, duotone.cli.app as c\ntry: c.main(['--help'])\nexcept SystemExit: pass\nprint(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("'numpy'", "'gmpy2'", "'networkx'", "'matplotlib'", "'scipy'"):
        assert heavy not in loaded
    shown = subprocess.run([sys.executable, "-m", "duotone", "--version"], capture_output=True, text=True, check=True).stdout
    assert shown == "0.1.0\n"


def test_design_says_when_there_is_nothing_to_hide(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,b\n")
    code, text, notes = run(capsys, "design", str(tmp_path / "edges.csv"), "--blue", "a,b", "--epsilon", "1")
    assert (code, "(0, 0)-line" in text) == (0, True)
    assert notes == "note: no neighbours have different true answers, so there is nothing to hide: every answer is true\n"


def test_design_names_values_that_could_be_larger_for_free(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("a,r\nr,b\n")
    common = ("design", tmp_path / "g.csv", "--blue", "a,b", "--exp-epsilon", "2", "--delta", "0.1", "--json", "--boundary")
    code, _, err = run(capsys, *common, "a=0.3,b=0.7")
    assert (code, err) == (0, "note: dataset a could tell the truth with 7/10 = 0.7, at no cost to any other dataset\n")
    assert run(capsys, *common, "a=0.7,b=0.7")[2] == run(capsys, *common, "balanced")[2] == ""
    (tmp_path / "g.csv").write_text("\n".join(f"a{i},r" for i in range(8)))
    blue = ",".join(f"a{i}" for i in range(8))
    _, _, err = run(capsys, *common[:3], blue, *common[4:], "1/20")
    assert err.splitlines()[5:] == ["note: so could 3 more datasets tell it more often"]


def test_help_begins_with_what_most_people_need(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")
    listed = [line.split()[1] for line in out.splitlines() if line.startswith("│ ") and line[2].isalpha()]
    first = ["ask", "test", "groups", "inspect", "declare", "budget", "ledger", "serve", "token", "mcp"]
    assert (code, listed) == (0, [*first, "design", "line", "check", "audit", "paper"])
