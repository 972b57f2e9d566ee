"""What is shown on a terminal: nothing that could steer it, and short numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from support.running import run


@pytest.mark.slow
def test_long_fractions_are_shown_short(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "line", 1500, 2, "--exp-epsilon", "1.0001", "--delta", "1e-9", "--blue-at-boundary", "1/2")
    assert code == 0
    assert "≈ 0.5" in out


@pytest.mark.slow
def test_a_terminal_without_greek() -> None:
    command = [sys.executable, "-m", "duotone", "line", "2", "2", "--exp-epsilon", "2", "--blue-at-boundary", "balanced"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "transition" in done.stdout


def test_a_unit_cannot_steer_a_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a\x1b[2J,x\n1,2\n")
    groups = ["groups", file, "--by", "x", "--max-groups", "1"]
    for command in (["ask", file, "count(*) > 1", "--max-rows", "1", "--preview"], groups):
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
        run(capsys, "design", path, "--exp-epsilon", "2"),
        run(capsys, "design", path, "--exp-epsilon", "2", "--boundary", "b=1/2"),
        run(capsys, "design", path, "--exp-epsilon", "2", "--delta", "1/10", "--boundary", "1/20"),
        run(capsys, "design", tmp_path / "x\x1b[2J.json", "--exp-epsilon", "2"),
        run(capsys, "design", path, "--exp-epsilon", "2", "--blue", "\x1b[2J"),
    ]
    code, out, _ = run(capsys, "design", path, "--exp-epsilon", "2", "--json")
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
