from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PathCollection

from duotone import ApproxDP, ColouredGraph, DuotoneError, Mechanism, balanced, design, plotting, with_boundary
from duotone.errors import MissingExtra
from duotone.graphs import families

PRIVACY = ApproxDP(exp_epsilon=2, delta="1/10")


def texts(figure: object) -> str:
    return " ".join(t.get_text() for t in figure.findobj(lambda a: hasattr(a, "get_text")))  # type: ignore[attr-defined]


def test_graph_names_and_probabilities(tmp_path: Path) -> None:
    mechanism = design(families.votes(3).graph(), PRIVACY)
    assert "111: 0.9" in texts(plotting.graph(mechanism))
    assert "Pr[truth]" not in texts(plotting.graph(mechanism.graph))
    first = plotting.save(plotting.graph(mechanism), tmp_path / "a.svg").read_bytes()
    assert first == plotting.save(plotting.graph(mechanism), tmp_path / "b.svg").read_bytes()
    assert plotting.save(plotting.graph(mechanism), tmp_path / "a.png").stat().st_size > 5000


def test_datasets_stand_in_columns_by_level() -> None:
    graph = ColouredGraph([(1, 2), (3, 4), (3, 5)], {1: "red", 2: "red", 3: "blue", 4: "blue", 5: "red"})
    where = plotting._layout(graph)
    assert set(where) == set(graph.names)
    assert len(set(where.values())) == 5
    assert where[4][0] < where[3][0] < where[5][0] < min(where[1][0], where[2][0])
    assert where == plotting._layout(graph)


def test_boundary_ring_is_drawn_per_boundary_dataset() -> None:
    figure = plotting.graph(families.figure_2(), families.FIGURE_2_POSITIONS)
    drawn: list[Any] = [
        c for c in figure.axes[0].collections if isinstance(c, PathCollection) and len(np.asarray(c.get_offsets())) == 1
    ]
    rings = [c for c in drawn if len(c.get_facecolor()) == 0]
    assert len(rings) == 5  # h, l and i, n, q


def test_boundary_graph_lists_who_is_where() -> None:
    assert "c\ng\nk" in texts(plotting.boundary_graph(families.figure_2(), families.FIGURE_2_POSITIONS))


def test_line_phases() -> None:
    shown = texts(plotting.line_phases(with_boundary(PRIVACY, "1/100"), 6, 2))
    assert "initial recurrence" in shown
    assert "terminal recurrence" in shown
    assert "initial" not in texts(plotting.line_phases(balanced(PRIVACY), 6, 30))


def test_error_and_tradeoff() -> None:
    figure = plotting.error_by_distance([PRIVACY, ApproxDP(1, 1e-6), ApproxDP(1, 0)])
    assert "0 from 15" in texts(figure)  # people from flipping, as in the table of `duotone ask`
    drawn = figure.axes[0].lines[0]
    assert list(drawn.get_xdata()) == [1, 2]  # type: ignore[arg-type]
    assert list(drawn.get_ydata()) == pytest.approx([0.3, 0.1])  # type: ignore[arg-type]
    assert "e^ε = 2, δ = 0.1" in texts(figure)
    costly = texts(plotting.error_by_distance([with_boundary(PRIVACY, "9/10")]))
    assert "e^ε = 2, δ = 0.1: false no" in costly
    assert "e^ε = 2, δ = 0.1: false yes" in costly
    assert "balanced" in texts(plotting.tradeoff_curve([PRIVACY, ApproxDP(0, "0.1")]))


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Own:
        def step(self, x: float) -> float:
            return x

        def __str__(self) -> str:
            return "own notion"

    assert "own notion" in texts(plotting.tradeoff_curve([Own()]))
    with pytest.raises(DuotoneError, match="phases are a property"):
        plotting.line_phases(with_boundary(Own(), 0.5), 2, 2)
    with pytest.raises(DuotoneError, match="would not be legible"):
        plotting.graph(families.votes(9).graph())
    figure = plotting.graph(families.line(1, 1).graph())
    with pytest.raises(DuotoneError, match=r"must end in .svg, .png or .pdf, got a.txt"):
        plotting.save(figure, tmp_path / "a.txt")
    with pytest.raises(DuotoneError, match="cannot write"):
        plotting.save(figure, tmp_path / "missing" / "a.svg")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r'pip install "duotone\[draw\]"'):
        plotting.graph(families.votes(2).graph())


def test_the_mechanisms_picture_needs_no_graph_library_layout() -> None:
    mechanism = Mechanism.from_yes(families.line(1, 1).graph(), {1: 1, 2: "1/2"})
    assert "2: 0.5" in texts(plotting.graph(mechanism, {1: (0, 0), 2: (1, 0)}))
