"""The checker that stands alone, as a command: what it prints and what it refuses to read."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, ColouredGraph, DuotoneError, balanced
from duotone.graphs import document
from duotone.graphs.table import graph_table
from duotone.line.table import line_table
from support.certificates import TOOL


def test_the_tool_is_as_short_as_the_readme_says() -> None:
    source = TOOL.read_text()
    documented = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Module | ast.FunctionDef)]
    first = [node.body[0] for node in documented if ast.get_docstring(node) is not None]
    prose = {line for node in first for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = [line.strip() for number, line in enumerate(source.splitlines(), start=1) if number not in prose]
    said = re.search(r"second checker, under\s([0-9]+) lines of code", (TOOL.parents[1] / "README.md").read_text())
    assert said is not None
    assert len([line for line in lines if line and not line.startswith("#")]) < int(said[1])


def test_the_tool_stands_alone(tmp_path: Path) -> None:
    source = TOOL.read_text()
    prose = source.split('"""')[1]
    assert len([line for line in source.replace(prose, "").splitlines() if line.strip()]) < 460
    assert "duotone" not in source.split('"""')[2].lower()
    file = tmp_path / "c.json"
    certificate = line_table(balanced(ApproxDP(1, "1e-6"))).certificate()
    for content, code in ((certificate, 0), ({**certificate, "boundary": "1/2"}, 1), ([], 1)):
        file.write_text(json.dumps(content))
        done = subprocess.run([sys.executable, "-I", "-S", TOOL, file], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert done.stdout == (
            "PROVED: 30 levels, with their margins, are private and optimal under epsilon 1, delta 1/1000000\n"
            if not code
            else ""
        )
    assert "NOT PROVED" in done.stderr


def test_the_tool_says_what_it_proved(tmp_path: Path) -> None:
    graph = ColouredGraph([("a", "b")], {"a": "blue", "b": "red"})
    long = Fraction(2**90 + 1, 3**55)
    for table, says in (
        (line_table(balanced(ApproxDP(exp_epsilon="3/2"))), "ratio 3/2, delta 0"),
        (graph_table(graph, ApproxDP("0.25", "1/10")), "epsilon 1/4, delta 1/10"),
        (graph_table(graph, ApproxDP(long)), "epsilon at most 7.09"),
    ):
        file = tmp_path / "c.json"
        file.write_text(json.dumps(table.certificate()))
        done = subprocess.run([sys.executable, "-I", "-S", TOOL, file], capture_output=True, text=True, check=True)
        assert f"are private and optimal under {says}" in done.stdout
    shown = Fraction(done.stdout.split("at most ")[1].split(",")[0])
    assert long <= shown <= long * (1 + Fraction(1, 10**11))


@pytest.mark.parametrize(
    "name", ["\x1b[2K\rPROVED: 2 datasets", "\x9b2J\nPROVED", "\u202eDEVORP", "\ud800", " " * 200 + "PROVED"]
)
def test_names_of_datasets_do_not_act_on_a_terminal(name: str, tmp_path: Path) -> None:
    """A dataset's name stands in the verdict, for each of the reasons for which nothing is proved; none may rewrite it."""
    graph = ColouredGraph(
        [(name, "b"), ("b", "c"), ("c", "d"), ("d", "e")], dict(zip([name, *"bcde"], ["blue"] * 4 + ["red"], strict=True))
    )
    certificate = graph_table(graph, ApproxDP("0.25", "1/10")).certificate()
    reasons = set()
    for spoilt in spoilt_by_name(certificate, name):
        file = tmp_path / "c.json"
        file.write_text(json.dumps(spoilt))
        done = subprocess.run([sys.executable, "-I", "-S", TOOL, file], capture_output=True)
        said = done.stderr.decode("ascii").removesuffix("\n")
        assert (done.returncode, done.stdout, said[:11]) == (1, b"", "NOT PROVED:")
        assert all(" " <= c <= "~" for c in said)
        assert len(said) < 160
        reasons.add(said.split("'")[-1])
    assert len(reasons) >= 3


def spoilt_by_name(certificate: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Certificates that fail at the dataset of a name."""
    one = 2 ** certificate["bits"]
    for field, value in (("numbers", 0), ("from", "d"), ("from", name), ("numbers", None)):
        copy = json.loads(json.dumps(certificate))
        own = copy["rows"][name]
        less = int(own["numbers"][0]) - 2**40 if value is None else value
        own[field] = [str(less), str(one - less)] if isinstance(less, int) else value
        yield copy


@pytest.mark.parametrize("number", ["1" * 5_000_000, "1e" + "9" * 5_000_000, "0." + "3" * 5_000_000])
def test_a_number_of_millions_of_digits_is_refused_at_once(number: str, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    text = json.dumps(line_table(balanced(ApproxDP(1, "1/10"))).certificate())
    for place, bad in ((file, text.replace('"bits": 128', f'"bits": {number}')), (file, f'{{"extra": {number}, {text[1:]}')):
        place.write_text(bad)
        done = subprocess.run([sys.executable, "-I", "-S", TOOL, place], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "NOT PROVED: a number is not finite, or too long\n"
        with pytest.raises(DuotoneError, match="is not JSON"):
            document.read(place)
