"""Documents and certificates against plain writers that go from dataset to dataset, to the byte."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, ColouredGraph, Infeasible, Mechanism, design
from duotone.graphs import families
from duotone.graphs.document import document, document_text
from duotone.graphs.graph import label
from duotone.graphs.table import graph_table
from duotone.line import rows_json
from duotone.line.table import Table
from support.strategies import coloured_graphs, exact_budgets, float_budgets, probabilities

EXACT, FLOATS, STRONG = ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP(0.3, 1e-20), ApproxDP(exp_epsilon="1.1")
APART = ColouredGraph([("a", "b"), ("c", "d"), ("e", "f")], {d: "blue" if d in "acd" else "red" for d in "abcdef"})
FORK = ColouredGraph(
    [("a", "r"), ("b", "r"), ("a", "x"), ("b", "y"), ("x", "z"), ("y", "z")],
    {d: "red" if d == "r" else "blue" for d in "abryxz"},
)
ODD = ColouredGraph([('"', "\\\n"), ("\\\n", "é, \ud800")], {'"': "blue", "\\\n": "red", "é, \ud800": "red", "": "blue"})
SQUARE = ColouredGraph.from_arrays([[5 * i + j, 5 * k + m] for i in range(5) for j in range(5) for k in range(i, 5)
                                    for m in range(5) if k - i + abs(m - j) == 1], np.arange(25) < 12)  # fmt: skip
CASES: dict[str, tuple[ColouredGraph, Any]] = {
    "votes": (families.votes(4).graph(), "balanced"),
    "turnout": (families.turnout(2, 2).graph(), "0.7"),
    "histograms": (families.histograms(2, 3, lambda c: c[0] > c[1]).graph(), 0.7),
    "weighted": (families.weighted([5, 3, 1, 1], 6).graph(), "1"),
    "line": (families.line(2, 40).graph(), 1.0),
    "square": (SQUARE, np.linspace(0.5, 0.52, 25)),
    "by dataset": (families.figure_2(), {"h": "0.6", "l": "0.7"}),
    "floats by dataset": (families.figure_2(), {"l": 0.6, "h": 0.55}),
    "components of one colour": (APART, "balanced"),
    "queued in another order than numbered": (FORK, "balanced"),
    "no red": (families.line(3, 0).graph(), "balanced"),
    "no blue": (families.line(0, 2).graph(), {}),
    "odd names": (ODD, "1/3"),
}


def plain_levels(graph: ColouredGraph) -> dict[Any, int | None]:
    """Breadth first from the boundary, by names."""
    distance = {d: 0 for d in graph.names if any(graph.colour(e) != graph.colour(d) for e in graph.neighbours(d))}
    queue = deque(distance)
    while queue:
        d = queue.popleft()
        for e in graph.neighbours(d):
            if e not in distance:
                distance[e] = distance[d] + 1
                queue.append(e)
    levels: dict[Any, int | None] = dict.fromkeys(graph.names)
    return levels | {d: x if graph.colour(d) == "blue" else -1 - x for d, x in distance.items()}


def plain_edges(graph: ColouredGraph) -> list[list[str]]:
    later = {d: set(graph.names[i:]) for i, d in enumerate(graph.names)}
    return [[label(d), label(e)] for d in graph.names for e in graph.neighbours(d) if e in later[d]]


def plain_document(mechanism: Mechanism, privacy: ApproxDP) -> dict[str, Any]:
    graph, levels = mechanism.graph, plain_levels(mechanism.graph)
    datasets = {}
    for i, d in enumerate(graph.names):
        truth, colour = mechanism.truth[i], graph.colour(d)
        yes = truth if colour == "blue" else 1 - truth
        datasets[label(d)] = {"colour": colour, "level": levels[d], "yes": plain(yes), "error": plain(1 - truth)}
        if colour == "red" and 1 - Fraction(yes) != Fraction(truth):
            datasets[label(d)]["no"] = plain(truth)
    finite = [level for level in levels.values() if level is not None]
    return {
        "privacy": {"exp_epsilon": str(privacy.exp_epsilon), "epsilon": privacy.epsilon, "delta": plain(privacy.delta)},
        "line": {"blue": max([-1, *finite]) + 1, "red": -min([0, *finite])},
        "datasets": datasets,
        "edges": plain_edges(graph),
    }


def plain(x: Any) -> str | float:
    return str(x) if isinstance(x, Fraction) else float(x)


def plain_certificate(table: Table, graph: ColouredGraph) -> dict[str, Any]:
    privacy, one = table.privacy, 2**table.bits
    truth = {d: table.yes(d) if graph.colour(d) == "blue" else one - table.yes(d) for d in graph.names}
    held_by = plain_witnesses(table, graph, truth)
    boundary = table.boundary
    assert isinstance(privacy, ApproxDP)
    if isinstance(boundary, dict):
        boundary = {label(d): str(Fraction(m)) for d, m in boundary.items()}
    return {
        "certificate": "duotone",
        "version": 1,
        "privacy": {
            "epsilon": None if privacy.epsilon_exact is None else str(privacy.epsilon_exact),
            "ratio": str(privacy.exp_epsilon),
            "delta": str(Fraction(privacy.delta)),
        },
        "outcomes": ["yes", "no"],
        "bits": table.bits,
        "claims": {"private": True, "optimal": True, "loss": "2^-60"},
        "boundary": boundary if isinstance(boundary, dict) or boundary == "balanced" else str(Fraction(boundary)),
        "lowered": {label(graph.names[i]): [label(graph.names[j]) for j in path] for i, path in table.lowered.items()},
        "rows": {
            label(d): {
                "numbers": [str(table.yes(d)), str(one - table.yes(d))],
                "colour": graph.colour(d),
                "error": repr(float(1 - Fraction(truth[d], one))),
                "from": label(held_by[d]) if d in held_by else None,
            }
            for d in graph.names
        },
        "edges": plain_edges(graph),
    }


def plain_witnesses(table: Table, graph: ColouredGraph, truth: dict[Any, int]) -> dict[Any, Any]:
    """Who holds each dataset down: a queue from the fixed ones, and what Definition 1 allows at most, rounded down."""
    one = 2**table.bits
    assert isinstance(table.privacy, ApproxDP)
    ratio, delta = table.privacy.exp_epsilon, Fraction(table.privacy.delta)
    crossing = {d for d in graph.names if any(graph.colour(e) != graph.colour(d) for e in graph.neighbours(d))}
    fixed = {d for d in crossing if table.boundary == "balanced" or graph.colour(d) == "blue"}
    held_by: dict[Any, Any] = {}
    queue = deque(d for d in graph.names if d in fixed)
    while queue:
        d = queue.popleft()
        for e in graph.neighbours(d):
            if e in fixed or e in held_by or truth[e] == one:
                continue
            alike = graph.colour(d) == graph.colour(e)
            x = Fraction(truth[d] if alike else one - truth[d], one)
            most = min(ratio * x + delta, 1 - (1 - x - delta) / ratio, Fraction(1))
            if (alike or d in fixed) and truth[e] == math.floor(most * one):
                held_by[e] = d
                queue.append(e)
    return held_by


@pytest.fixture(autouse=True, scope="module")
def small_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_json, "ROWS", 3)
        yield


@pytest.mark.parametrize("privacy", [EXACT, FLOATS, STRONG], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_as_if_written_dataset_by_dataset(case: str, privacy: ApproxDP) -> None:
    check(*CASES[case], privacy)


@given(coloured_graphs(), st.one_of(exact_budgets, float_budgets), st.data())
@settings(max_examples=60)
def test_any_graph_as_if_written_dataset_by_dataset(graph: ColouredGraph, privacy: ApproxDP, data: st.DataObject) -> None:
    values = {d: data.draw(st.one_of(probabilities, st.floats(0, 1))) for d in graph.boundary("blue")}
    boundary: Any = data.draw(st.one_of(st.just("balanced"), probabilities, st.just(values)))
    check(graph, boundary, privacy)


def check(graph: ColouredGraph, boundary: Any, privacy: ApproxDP) -> None:
    try:
        mechanism = design(graph, privacy, boundary)
    except Infeasible:
        return
    expected = json.dumps(plain_document(mechanism, privacy))
    assert "".join(document_text(mechanism, privacy)) == json.dumps(document(mechanism, privacy)) == expected
    if privacy.epsilon < 0.01 and privacy.delta < 0.01:
        return  # too weak for a table
    table = graph_table(graph, privacy, boundary)
    expected = json.dumps(plain_certificate(table, graph))
    assert "".join(table.certificate_text()) == json.dumps(table.certificate()) == expected


def test_a_lowered_value_comes_with_its_path() -> None:
    table = graph_table(families.figure_2(), STRONG, {"h": "0.6", "l": STRONG.iterate("0.6", 3)[0]})
    assert table.lowered
    assert "".join(table.certificate_text()) == json.dumps(plain_certificate(table, families.figure_2()))


def test_no_two_datasets_share_an_entry() -> None:
    graph = families.votes(3).graph()
    for rows in (document(design(graph, EXACT), EXACT)["datasets"], graph_table(graph, EXACT).certificate()["rows"]):
        rows["111"]["colour"] = "green"
        assert [d for d, entry in rows.items() if entry["colour"] == "green"] == ["111"]


def test_edges_in_parts_are_all_edges() -> None:
    parts = [SQUARE.edge_array(start, start + 4) for start in range(0, 25, 4)]
    assert np.concatenate(parts).tolist() == SQUARE.edge_array().tolist()
    assert len(SQUARE.edge_array()) == 40
