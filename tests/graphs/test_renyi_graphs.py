"""One Rényi order on graphs: `design` against linear programs with tangents, and tables that prove themselves."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from duotone import ColouredGraph, DuotoneError, Infeasible, Mechanism, balanced, design, prove
from duotone.graphs import families
from duotone.graphs.table import graph_table
from duotone.privacy.renyi import RenyiDP
from support.certificates import accepted_by_the_tool
from support.renyi import close, most_truth, small_graphs
from support.running import EXHAUSTIVE, thinned
from support.strategies import coloured_graphs, renyi_budgets

BUDGETS = [RenyiDP(2, "1.2"), RenyiDP(20, "1.1"), RenyiDP(20, "1.05", "1/50"), RenyiDP(5, 3, "1/10")]
CASES = list(product(small_graphs(5 if EXHAUSTIVE else 4), BUDGETS))


@pytest.mark.slow
@pytest.mark.parametrize("boundary", ["balanced", "0.4", "unequal"])
def test_design_is_the_most_truth_of_all(boundary: str) -> None:
    """Of every coloured graph up to 5 nodes (4 in `make test`): the sum of the truth is largest, and the truth everywhere."""
    compared = 0
    for number, (graph, privacy) in enumerate(thinned(CASES, 3)):
        rim = [*graph.boundary("blue")]
        values: Any = (
            {d: f"{40 + 3 * (i * (number + 1) % 5)}/100" for i, d in enumerate(rim)} if boundary == "unequal" else boundary
        )
        try:
            mechanism = design(graph, privacy, values)
        except Infeasible:
            continue
        sides = [*rim, *(graph.boundary("red") if boundary == "balanced" else [])]
        best = most_truth(graph, privacy, {d: 1 - float(mechanism.error[d]) for d in sides})
        for d, error in mechanism.error.items():
            assert abs(1 - float(error) - best[d]) < 1e-5, (graph.edges, privacy, d)
        compared += 1
    assert compared > 50


@given(coloured_graphs(), renyi_budgets)
def test_a_design_is_private_and_tight(graph: ColouredGraph, privacy: RenyiDP) -> None:
    mechanism = design(graph, privacy)
    assert mechanism.check(privacy).holds
    yes = {d: Fraction(x) for d, x in mechanism.yes.items()}
    for d in graph.names:
        for e in graph.neighbours(d):
            assert close(privacy, yes[d], yes[e])


def test_a_check_is_exact() -> None:
    """Order 2: (2/3)²/(1/3) + (1/3)²/(2/3) is 3/2 exactly."""
    edge = ColouredGraph([(1, 2)], {1: "blue", 2: "red"})
    mechanism = Mechanism.from_yes(edge, {1: "2/3", 2: "1/3"})
    assert mechanism.check(RenyiDP(2, "3/2")).holds
    assert not mechanism.check(RenyiDP(2, Fraction(3, 2) - Fraction(1, 10**40))).holds
    worse = Mechanism.from_yes(edge, {1: Fraction(2, 3) + Fraction(1, 10**40), 2: "1/3"}).check(RenyiDP(2, "3/2"))
    assert not worse.holds
    assert worse.slack is not None
    assert worse.slack < 0


@given(coloured_graphs(6), renyi_budgets)
def test_the_tightest_order_is_what_a_mechanism_keeps(graph: ColouredGraph, privacy: RenyiDP) -> None:
    mechanism = design(graph, privacy)
    least = mechanism.tightest(order=privacy.order, delta=privacy.delta)
    assert isinstance(least, RenyiDP)
    assert least.price <= privacy.price
    assert mechanism.check(least).holds
    if least.price > 1 + Fraction(1, 10**9):
        smaller = RenyiDP._computed(least.order, 1 + (least.price - 1) * (1 - Fraction(1, 10**9)), least.delta)
        assert not mechanism.check(smaller).holds


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
@pytest.mark.parametrize("boundary", ["balanced", "1/3", {"h": "0.45", "l": "0.5"}, {"h": "1/3", "l": "1/2"}], ids=str)
def test_tables_of_graphs_prove_themselves(privacy: RenyiDP, boundary: Any) -> None:
    graph = families.figure_2()
    try:
        mechanism = design(graph, privacy, boundary)
    except Infeasible:
        with pytest.raises(Infeasible):
            graph_table(graph, privacy, boundary)
        return
    table = graph_table(graph, privacy, boundary)
    assert prove(table.certificate()).startswith(
        f"private and optimal: {len(graph)} datasets under order {privacy.order}, price"
    )
    assert accepted_by_the_tool(table.certificate())
    for d, yes in mechanism.yes.items():
        assert abs(float(yes) - table.yes(d) / 2**table.bits) < 1e-12


def test_many_datasets_are_read_at_their_levels() -> None:
    """As many as take the fast path: levels of a line."""
    graph, privacy = families.votes(15).graph(), RenyiDP(20, "1.3")
    line = balanced(privacy)
    assert np.allclose(design(graph, privacy).truth.array(), line.truth(graph.levels), rtol=1e-14)
    table = graph_table(graph, privacy)
    assert np.isclose(table.yes("1" * 15) / 2**table.bits, float(line.truth(7)), rtol=1e-12)


def test_what_has_no_answer() -> None:
    edge = ColouredGraph([(1, 2)], {1: "blue", 2: "red"})
    with pytest.raises(DuotoneError, match="no finite price"):
        Mechanism.from_yes(edge, {1: "1/2", 2: 0}).tightest(order=20)
    with pytest.raises(DuotoneError, match="allows no answer that tells anything"):
        graph_table(edge, RenyiDP(20, 1))
