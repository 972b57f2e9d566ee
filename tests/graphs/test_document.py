from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, ColouredGraph, DuotoneError, Infeasible, design
from duotone.graphs import families
from duotone.graphs.document import document, from_document
from support.strategies import coloured_graphs, exact_budgets, float_budgets, probabilities


@given(coloured_graphs(), st.one_of(exact_budgets, float_budgets), st.data())
def test_what_design_prints_check_reads_back(graph: ColouredGraph, privacy: ApproxDP, data: st.DataObject) -> None:
    boundary = data.draw(st.one_of(st.just("balanced"), probabilities, st.floats(0, 1)))
    mechanism = design(graph, privacy, boundary)
    written = document(mechanism, privacy)
    again, notion = from_document(json.loads(json.dumps(written)))
    assert again.truth == mechanism.truth
    assert (notion.exp_epsilon, notion.delta) == (privacy.exp_epsilon, privacy.delta)
    assert again.check(notion) == again.check(privacy)
    assert {name: entry["level"] for name, entry in written["datasets"].items()} == {
        str(d): level if abs(level := graph.level(d)) < 100 else None for d in graph.names
    }


@given(coloured_graphs(), float_budgets, st.data())
def test_unequal_values_survive_too(graph: ColouredGraph, privacy: ApproxDP, data: st.DataObject) -> None:
    try:
        mechanism = design(graph, privacy, {d: data.draw(st.floats(0, 1)) for d in graph.boundary("blue")})
    except Infeasible:
        return
    assert from_document(json.loads(json.dumps(document(mechanism, privacy))))[0].truth == mechanism.truth


def test_the_contract() -> None:
    privacy = ApproxDP(exp_epsilon=2, delta="1/10")
    written = document(design(families.votes(3).graph(), privacy), privacy)
    assert written["privacy"] == {"exp_epsilon": "2", "epsilon": pytest.approx(0.6931471805599453), "delta": "1/10"}
    assert written["line"] == {"blue": 2, "red": 2}
    assert written["datasets"]["111"] == {"colour": "blue", "level": 1, "yes": "9/10", "error": "1/10"}
    assert written["datasets"]["222"] == {"colour": "red", "level": -2, "yes": "1/10", "error": "1/10"}
    assert ["111", "112"] in written["edges"]
    floats = ApproxDP(1, "1/10")
    entry = document(design(families.votes(3).graph(), floats), floats)
    assert isinstance(entry["datasets"]["111"]["yes"], float)
    assert (entry["privacy"]["epsilon"], entry["privacy"]["delta"]) == (1.0, "1/10")
    assert Fraction(entry["privacy"]["exp_epsilon"]) == floats.exp_epsilon
    decimal = ApproxDP("0.1")
    assert from_document(document(design(families.votes(1).graph(), decimal), decimal))[1].exp_epsilon == decimal.exp_epsilon


def test_the_ratio_of_a_large_epsilon_is_read_back() -> None:
    """It is longer than any ratio that may be given."""
    for privacy in (ApproxDP(8192), ApproxDP(1e308), ApproxDP("1e-1200"), ApproxDP(exp_epsilon=2**4095)):
        graph = families.votes(1).graph()
        again = from_document(json.loads(json.dumps(document(design(graph, privacy), privacy))))[1]
        assert (again.exp_epsilon, again.delta) == (privacy.exp_epsilon, privacy.delta)
    with pytest.raises(DuotoneError, match=r"e\^epsilon has too many digits"):
        from_document(_with(privacy={"exp_epsilon": "1" + "0" * 10_000, "delta": "0"}))


def test_names_as_text() -> None:
    privacy = ApproxDP(1)
    assert "{1, 3}" in document(design(families.turnout(2, 1).graph(), privacy), privacy)["datasets"]
    counts = families.histograms(2, 2, lambda c: c[0] > c[1]).graph()
    assert "2,0" in document(design(counts, privacy), privacy)["datasets"]
    twins = ColouredGraph([(1, "1")], {1: "blue", "1": "red"})
    with pytest.raises(DuotoneError, match="the same name as text"):
        document(design(twins, privacy), privacy)


def test_fractions_longer_than_python_prints() -> None:
    privacy = ApproxDP(exp_epsilon="1.0001", delta="1e-9")
    graph = families.line(700, 2).graph()
    mechanism = design(graph, privacy)
    written = document(mechanism, privacy)
    assert max(len(str(entry["yes"])) for entry in written["datasets"].values()) > 4300
    assert from_document(json.loads(json.dumps(written)))[0].truth == mechanism.truth


GOOD = document(design(families.votes(1).graph(), ApproxDP(exp_epsilon=2)), ApproxDP(exp_epsilon=2))


def _with(**change: Any) -> dict[str, Any]:
    return {**json.loads(json.dumps(GOOD)), **change}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([], "it has another shape"),
        ({}, "no 'datasets' in it"),
        (_with(edges=3), "it has another shape"),
        (_with(edges=[["1"]]), "it has another shape"),
        (_with(edges=[["1", "3"]]), "node 3 has no colour"),
        (_with(privacy={"exp_epsilon": "2"}), "no 'delta' in it"),
        (_with(privacy={"exp_epsilon": "1/2", "delta": "0"}), r"e\^epsilon must be finite and at least 1"),
        (_with(datasets={"1": {"colour": "blue"}}, edges=[]), "no 'yes' in it"),
        (_with(datasets={"1": {"colour": "blue", "yes": "2"}}, edges=[]), r"must be in \[0, 1\]"),
        (_with(datasets={"1": {"colour": "blue", "yes": [1]}}, edges=[]), "must be a number, got list"),
        (_with(datasets={"1": {"colour": "red", "yes": "1/2", "no": "1/3"}}, edges=[]), "do not sum to 1"),
    ],
)
def test_bad_documents(data: Any, says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        from_document(data)


def test_truth_of_a_tiny_red_probability_is_kept() -> None:
    privacy = ApproxDP(1.0, 1e-20)
    mechanism = design(families.line(2, 40).graph(), privacy, 1.0)
    written = document(mechanism, privacy)
    assert written["datasets"]["3"]["yes"] == 1.0
    assert written["datasets"]["3"]["no"] == pytest.approx(1e-20)
    again, _ = from_document(written)
    assert again.check(privacy).holds
    assert Fraction(again.truth[2]) > 0
