from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, ColouredGraph, DuotoneError, Infeasible, Mechanism, Morphism, design
from duotone.graphs import families
from duotone.graphs.morphism import boundary_morphism
from support.oracles import indistinguishable
from support.strategies import coloured_graphs, exact_budgets, float_budgets, probabilities

EDGE = ColouredGraph([(1, 2)], {1: "blue", 2: "red"})
FIRST = Mechanism.from_yes(EDGE, {1: "0.58", 2: "0.24"})
SECOND = Mechanism.from_yes(EDGE, {1: "0.64", 2: "0.27"})


@pytest.mark.parametrize(("privacy", "m"), [(ApproxDP(1.0), 1e-20), (ApproxDP(0.0), 0.1), (ApproxDP(1e-17, 1e-18), 0.1)])
def test_boundary_values_whose_complement_is_no_float(privacy: ApproxDP, m: float) -> None:
    graph = ColouredGraph([(1, 2), (2, 3)], {1: "blue", 2: "red", 3: "red"})
    for boundary in (m, {1: m}):
        assert design(graph, privacy, boundary).check(privacy).holds


def test_example_1() -> None:
    privacy = ApproxDP(exp_epsilon=2, delta="0.1")
    assert FIRST.check(privacy).holds
    assert SECOND.check(privacy).holds
    assert not FIRST.dominates(SECOND)
    assert not SECOND.dominates(FIRST)
    assert FIRST.dominates(FIRST)
    assert FIRST.utility(lambda truth: truth[1]) < SECOND.utility(lambda truth: truth[1])
    assert FIRST.utility(lambda truth: truth[2]) > SECOND.utility(lambda truth: truth[2])


@pytest.mark.slow
@given(coloured_graphs(), exact_budgets, st.data())
def test_check_is_definition_1_on_every_edge(graph: ColouredGraph, privacy: ApproxDP, data: st.DataObject) -> None:
    yes: dict[Any, Fraction] = {d: data.draw(probabilities) for d in graph.names}
    mechanism = Mechanism.from_yes(graph, yes)
    result = mechanism.check(privacy)
    private = {(a, b): indistinguishable(yes[a], yes[b], privacy.exp_epsilon, Fraction(privacy.delta)) for a, b in graph.edges}
    assert result.holds == all(private.values())
    assert (result.edge is None) == (not private)
    if result.edge is not None:
        assert private[result.edge] == result.holds


@given(coloured_graphs(), float_budgets, st.floats(0, 1), st.data())
def test_float_designs_pass_their_own_check(graph: ColouredGraph, privacy: ApproxDP, m: float, data: st.DataObject) -> None:
    values = {d: data.draw(st.floats(0, 1)) for d in graph.boundary("blue")}
    for boundary in ("balanced", m, dict.fromkeys(values, m), values):
        try:
            assert design(graph, privacy, boundary).check(privacy).holds
        except Infeasible as clash:
            assert boundary is values
            assert clash.gap > 0  # noqa: PT017


@given(coloured_graphs(), exact_budgets)
def test_tightest_is_at_most_what_it_was_designed_for(graph: ColouredGraph, privacy: ApproxDP) -> None:
    mechanism = design(graph, privacy)
    least = mechanism.tightest(exp_epsilon=privacy.exp_epsilon)
    assert Fraction(least.delta) <= Fraction(privacy.delta)
    assert mechanism.check(least).holds
    least = mechanism.tightest(delta=privacy.delta)
    assert least.exp_epsilon <= privacy.exp_epsilon
    assert mechanism.check(least).holds


def test_tightest_of_the_voting_example() -> None:
    mechanism = design(families.votes(3).graph(), ApproxDP(exp_epsilon=2, delta="1/10"))
    assert mechanism.tightest(exp_epsilon=2).delta == Fraction(1, 10)
    assert mechanism.tightest(delta="1/10").exp_epsilon == 2
    assert mechanism.tightest(delta=0).exp_epsilon == 3


def test_loss() -> None:
    mechanism = design(families.votes(3).graph(), ApproxDP(exp_epsilon=2, delta="1/10"))
    assert mechanism.loss() == Fraction(1, 4)
    assert mechanism.loss({"111": "1/2", "112": "1/2"}) == Fraction(1, 5)
    assert mechanism.loss({"111": 0.5, "112": 0.5}) == pytest.approx(0.2)
    assert mechanism.utility(lambda truth: min(truth.values())) == Fraction(7, 10)


def test_equal_graphs_are_the_same_graph() -> None:
    graph, privacy = families.figure_2(), ApproxDP(exp_epsilon=2, delta="1/10")
    ours = design(graph, privacy)
    assert ours.dominates(design(graph.dual(), privacy).dual())
    names = [*reversed(graph.names)]
    shuffled = ColouredGraph(((b, a) for a, b in graph.edges), {d: graph.colour(d) for d in names})
    other = design(shuffled, privacy, "1/2")
    assert [ours.dominates(other), other.dominates(ours)] == [
        all(ours.truth[graph.position(d)] >= other.truth[shuffled.position(d)] for d in names),
        all(other.truth[shuffled.position(d)] >= ours.truth[graph.position(d)] for d in names),
    ]
    best = design(shuffled, privacy)
    assert ours.dominates(best)
    assert best.dominates(ours)
    recoloured = ColouredGraph(graph.edges, {d: "blue" if d == "e" else graph.colour(d) for d in graph.names})
    fewer = ColouredGraph([*graph.edges][1:], {d: graph.colour(d) for d in graph.names})
    rewired = ColouredGraph([("a", "r"), *[*graph.edges][1:]], {d: graph.colour(d) for d in names})
    renamed = ColouredGraph([], {f"{d}'": graph.colour(d) for d in graph.names})
    for wrong in (graph.dual(), recoloured, fewer, rewired, renamed):
        with pytest.raises(DuotoneError, match="on the same graph"):
            ours.dominates(design(wrong, privacy))


def test_probabilities_by_colour() -> None:
    assert FIRST.yes == {1: Fraction(29, 50), 2: Fraction(6, 25)}
    assert FIRST.no == {1: Fraction(21, 50), 2: Fraction(19, 25)}
    assert FIRST.error == {1: Fraction(21, 50), 2: Fraction(6, 25)}
    assert FIRST.dual().yes == FIRST.no


def test_small_float_probabilities_of_red_datasets_count() -> None:
    reds = ColouredGraph([(1, 2)], {1: "red", 2: "red"})
    assert not Mechanism.from_yes(reds, {1: 0.0, 2: 1e-20}).check(ApproxDP(exp_epsilon=2)).holds
    assert Mechanism.from_yes(reds, {1: 1e-20, 2: 1e-20}).check(ApproxDP(0)).holds


def test_pullback_keeps_every_bit_and_its_graph() -> None:
    reds = ColouredGraph([(1, 2)], {1: "red", 2: "red"})
    tiny = Mechanism(reds, (5e-17, 1e-16))
    assert tiny.pullback(Morphism(reds, reds, {1: 1, 2: 2})).truth == tiny.truth
    apart = Mechanism.from_yes(ColouredGraph([], {1: "blue", 2: "red"}), {1: 1, 2: 0})
    with pytest.raises(DuotoneError, match="must end at the mechanism's graph"):
        apart.pullback(Morphism(EDGE, EDGE, lambda d: d))


def test_feasible_float_values_are_not_refused() -> None:
    graph = ColouredGraph([("a", "b"), ("a", "x"), ("b", "y")], {"a": "blue", "b": "blue", "x": "red", "y": "red"})
    privacy = ApproxDP(1.7044015178975915, 0.01)
    low = 0.3152840410291059
    mechanism = design(graph, privacy, {"a": low, "b": privacy.step(low)})
    assert mechanism.check(privacy).holds


def test_a_violation_names_its_edge() -> None:
    result = FIRST.check(ApproxDP(exp_epsilon="1.5"))
    assert not result.holds
    assert result.edge == (1, 2)
    assert result.slack == (1 - Fraction("0.58") / Fraction("1.5")) - Fraction("0.76")
    assert Mechanism(ColouredGraph([], {1: "blue"}), (Fraction(1),)).check(ApproxDP(0)).edge is None


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Mechanism(EDGE, (Fraction(1),)), "needs as many probabilities, got 1"),
        (lambda: Mechanism(EDGE, (0.5, float("nan"))), r"must be in \[0, 1\], got nan"),
        (lambda: Mechanism.from_yes(EDGE, {1: 1}), "dataset 2 has no probability"),
        (lambda: Mechanism.from_yes(EDGE, {1: 1, 2: 1, 3: 1}), "there is no dataset 3"),
        (lambda: Mechanism.from_yes(EDGE, {1: 2, 2: 0}), r"the probability at 1 must be in \[0, 1\], got 2"),
        (lambda: FIRST.loss({1: "1/2"}), "a prior must sum to 1"),
        (lambda: FIRST.loss({1: "1/2", 7: "1/2"}), "there is no dataset 7"),
        (lambda: FIRST.dominates(design(families.votes(3).graph(), ApproxDP(1))), "on the same graph"),
        (lambda: Mechanism.from_yes(EDGE, {1: 1, 2: 0}).tightest(delta=0), "no finite epsilon is enough"),
        (lambda: Mechanism.from_yes(EDGE, {1: 1, 2: 0}).tightest(epsilon=1), "no delta below 1 is enough"),
    ],
)
def test_bad_mechanisms(build: Any, says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        build()


def test_probabilities_by_name_or_in_order_are_the_same() -> None:
    graph = families.figure_2()
    made = design(graph, ApproxDP(exp_epsilon=2, delta="1/10"))
    truth = dict(zip(graph, made.truth, strict=True))
    backwards = dict(reversed(truth.items()))
    pandas = pytest.importorskip("pandas")
    ways: list[Any] = [truth, backwards, pandas.Series(backwards, dtype=object), [*made.truth], np.array([*made.truth])]
    for way in ways:
        assert Mechanism.from_truth(graph, way).truth == made.truth
    unsure: list[Any] = [truth, made.yes, pandas.Series(backwards, dtype=object)]  # which of the two is it?
    for way in unsure:
        with pytest.raises(DuotoneError, match=r"of yes \(Mechanism.from_yes\) or of the truth \(Mechanism.from_truth\)"):
            Mechanism(graph, way)
    for each in (made.yes, dict(reversed(made.yes.items())), [*made.yes.values()]):
        assert Mechanism.from_yes(graph, each).truth == made.truth


@pytest.mark.parametrize(
    ("probabilities", "says"),
    [
        ({1: 0.5}, "dataset 2 has no probability"),
        ({0: 0.25, 1: 0.5}, "dataset 2 has no probability"),  # its keys are no probabilities
        ({1: 0.5, 2: 0.5, 3: 0.5}, "there is no dataset 3"),
        ({1: 0.5, 2: "x"}, "the probability at 2 must be a decimal or a fraction"),
        ([0.5], "a mechanism on 2 datasets needs as many probabilities, got 1"),
        ([0.5, 1.5], r"the probability at 2 must be in \[0, 1\], got 1.5"),
        ([math.nan, 0.5], r"the probability at 1 must be in \[0, 1\], got nan"),
        ([[0.5], 0.5], "the probability at 1 must be a number, got list"),
        ({0.5, 0.25}, "a mapping by dataset, or a sequence in their order, got set"),
        ("11", "a mapping by dataset, or a sequence in their order, got str"),
        (0.5, "a mapping by dataset, or a sequence in their order, got float"),
    ],
)
@pytest.mark.parametrize("build", [Mechanism.from_truth, Mechanism.from_yes])
def test_bad_probabilities(build: Any, probabilities: Any, says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        build(families.line(1, 1).graph(), probabilities)


def test_mechanisms_are_equal_by_their_graphs_and_probabilities() -> None:
    """Theorem 3, as one would write it."""
    graph, privacy = families.figure_2(), ApproxDP(exp_epsilon="1.3", delta="0.1")
    morphism = boundary_morphism(graph)
    pulled = design(morphism.target, privacy, "1/5").pullback(morphism)
    assert pulled == design(graph, privacy, "1/5")
    assert hash(pulled) == hash(design(graph, privacy, "1/5"))
    assert pulled != design(graph, privacy)
    assert pulled != design(morphism.target, privacy, "1/5")
    assert pulled != pulled.truth
    turned = ColouredGraph([(2, 1)], {2: "red", 1: "blue"})
    assert Mechanism.from_yes(turned, {1: "0.58", 2: "0.24"}) == FIRST != Mechanism.from_yes(turned, {1: "0.24", 2: "0.58"})


def test_a_mechanisms_own_probabilities_say_what_they_are() -> None:
    with pytest.raises(DuotoneError, match=r"these are probabilities of the truth: Mechanism.from_truth"):
        Mechanism.from_yes(EDGE, FIRST.truth)
    assert Mechanism.from_truth(EDGE, FIRST.truth) == FIRST
    assert repr(FIRST.truth) == "<2 values, 2 of them different>"


def test_wrong_kinds_of_things() -> None:
    wrong: Any = 3
    with pytest.raises(DuotoneError, match="dominance compares two mechanisms, got int"):
        FIRST.dominates(wrong)
    with pytest.raises(DuotoneError, match=r"a pullback is along a Morphism\(source, target, map\), got int"):
        FIRST.pullback(wrong)
    with pytest.raises(DuotoneError, match="a ColouredGraph is needed, got int"):
        Mechanism.from_yes(wrong, {1: 1})
