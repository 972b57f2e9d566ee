from __future__ import annotations

import csv
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pandas as pd
import pytest

from duotone import ApproxDP, ColouredGraph, DuotoneError, Mechanism, design
from duotone.graphs import families
from duotone.graphs.rows import Rows
from duotone.graphs.sweep import sweep

BUDGETS = [ApproxDP(exp_epsilon=y, delta="1/10") for y in ("1", "1.3", "2", "5")]


def test_a_sweep_is_the_recurrence_at_every_distance() -> None:
    """Recomputed from the paper's formulas: φ from the balanced value on, at networkx's distances."""
    graph = families.figure_2()
    plain = graph.to_networkx()
    rows = sweep(graph, BUDGETS).rows
    assert len(rows.rows) == len(BUDGETS) * len(graph)
    for epsilon, delta, name, colour, level, yes, error in rows.rows:
        (y,) = (b.exp_epsilon for b in BUDGETS if b.epsilon == epsilon)
        distance = min(nx.shortest_path_length(plain, name, b) for b in graph.boundary(colour))
        truth = (y + delta) / (1 + y)  # m = y(1 − m) + δ
        for _ in range(distance):
            truth = min(Fraction(1), y * truth + delta, 1 - (1 - truth - delta) / y)
        assert (yes, error) == ((truth, 1 - truth) if colour == "blue" else (1 - truth, 1 - truth))
        assert level == (distance if colour == "blue" else -1 - distance)


def test_a_sweep_of_other_definitions_and_boundaries() -> None:
    class Own:
        def step(self, x: Any) -> Any:
            return min(1, x + Fraction(1, 8))

        def __str__(self) -> str:
            return "within an eighth"

    graph = families.votes(3).graph()
    swept = sweep(graph, (privacy for privacy in (BUDGETS[2], Own())), {"112": "3/5", ...: "1/2"})
    assert [mechanism["112"] for mechanism in swept.mechanisms] == [Fraction(3, 5)] * 2
    assert swept.rows.head[0] == "privacy"
    assert {row[0] for row in swept.rows.rows} == {"ApproxDP(exp_epsilon=2, delta=1/10)", "within an eighth"}
    assert repr(swept) == "<Sweep: 2 privacy definitions on 8 datasets>"
    with pytest.raises(DuotoneError, match="at least one privacy definition"):
        sweep(graph, [])


def test_pandas_and_csv_have_the_same_rows(tmp_path: Path) -> None:
    graph = ColouredGraph([('a,"b', "c\nd"), ("c\nd", ("x", 1))], {'a,"b': True, "c\nd": False, ("x", 1): False, "alone": True})
    for made in (design(graph, BUDGETS[2]), sweep(graph, BUDGETS), design(graph, ApproxDP(1, 1e-6))):
        frame = made.to_pandas()
        assert [tuple(row) for row in frame.itertuples(index=False)] == list(made.rows.rows)
        assert list(frame.columns) == list(made.rows.head)
        assert frame["yes"].astype(float).between(0, 1).all()
        with made.to_csv(tmp_path / "m.csv").open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        assert head == list(made.rows.head)
        for written, row in zip(rows, made.rows.rows, strict=True):
            assert written[-5] == {("x", 1): "x,1"}.get(row[-5], row[-5])
            assert [type(x)(text) for text, x in zip(written[-2:], row[-2:], strict=True)] == [*row[-2:]]
    assert Mechanism.from_truth(graph, dict.fromkeys(graph, "3/4")).rows.rows[3][2] == math.inf
    assert design(families.figure_2(), BUDGETS[2]).to_pandas()["level"].dtype == int
    assert Rows(("a", "b"), ()).to_pandas().shape == (0, 2)
    with pytest.raises(DuotoneError, match=r"cannot write .*: No such file"):
        design(graph, BUDGETS[2]).to_csv(tmp_path / "no" / "m.csv")
    assert isinstance(frame, pd.DataFrame)


def test_latex_prints_every_name_as_it_is() -> None:
    names = ["a_1", "50% & $3 #4", "{x}", "b\\c", "x^2~y", "[1]", "*", "<a|b>", "two\nlines"]
    shown = [
        r"a\_1",
        r"50\% \& \$3 \#4",
        r"\{x\}",
        r"b\textbackslash{}c",
        r"x\textasciicircum{}2\textasciitilde{}y",
        "{[}1{]}",
        "{*}",
        r"\textless{}a\textbar{}b\textgreater{}",
        "two lines",
    ]
    graph = ColouredGraph([(names[0], names[1])], {name: i != 1 for i, name in enumerate(names)})
    table = Mechanism(graph, ["1/3", Fraction(1, 10**30), 1, 0, 0.25, 1e-20, 0.5, "1/2", "1/2"]).to_latex().splitlines()
    body = table[table.index(r"\midrule") + 1 : table.index(r"\bottomrule")]
    assert [line.split(" & ")[0] for line in body[:1] + body[2:]] == [shown[0], *shown[2:]]
    assert body[1].startswith(shown[1] + " & red & $-1$ & $1$")
    assert body[0] == r"a\_1 & blue & $0$ & $1/3$ & $2/3$ \\"
    assert r" & $\infty$ & $1$ & $0$ \\" in body[2]
    assert r"$1 \cdot 10^{-20}$" in body[5]
    assert table[1] == r"\begin{tabular}{llrrr}"


def test_a_data_frame_needs_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DuotoneError, match="needs pandas, which is not installed: pip install pandas"):
        Rows(("a",), ((1,),)).to_pandas()


def test_a_sweep_takes_several_definitions() -> None:
    one: Any = ApproxDP(1)
    with pytest.raises(DuotoneError, match="a sweep takes a list of privacy definitions, got ApproxDP"):
        sweep(families.figure_2(), one)
