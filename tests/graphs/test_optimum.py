from __future__ import annotations

import itertools
import pickle
import sys
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import networkx as nx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import duotone
from duotone import ApproxDP, ColouredGraph, DuotoneError, Infeasible, Mechanism, design
from duotone.graphs import families
from duotone.graphs.optimum import improvable, values_from
from duotone.graphs.table import graph_table
from support.oracles import Problem, indistinguishable, linear_programs, most_for_free
from support.running import thinned
from support.strategies import coloured_graphs, exact_budgets, probabilities

BUDGETS = [("1", "0"), ("1", "1/10"), ("2", "0"), ("2", "1/10"), ("13/10", "1/100"), ("5", "1/3")]
UNEQUAL = [Fraction(x) for x in ("3/5", "7/10", "1/2", "9/10", "1/20", "2/3")]


def colourings(nodes: int) -> Iterator[ColouredGraph]:
    """Every connected graph of so many nodes, up to isomorphism, in every colouring."""
    for plain in nx.graph_atlas_g():
        if plain.number_of_nodes() == nodes and nx.is_connected(plain):
            for colours in itertools.product(("blue", "red"), repeat=nodes):
                yield ColouredGraph(plain.edges, dict(enumerate(colours)))


def cases(graph: ColouredGraph) -> Iterator[tuple[ApproxDP, Any]]:
    rim = graph.boundary("blue")
    for ratio, delta in BUDGETS:
        privacy = ApproxDP(exp_epsilon=ratio, delta=delta)
        yield privacy, "balanced"
        yield privacy, Fraction(3, 10)
        yield privacy, Fraction(1)
        if len(rim) > 1:
            for shift in (0, 3):
                yield privacy, {d: UNEQUAL[(i + shift) % len(UNEQUAL)] for i, d in enumerate(rim)}


def against_the_linear_program(graphs: Iterable[ColouredGraph]) -> tuple[int, int]:
    feasible: list[tuple[Problem, Mechanism]] = []
    impossible = 0
    for graph in graphs:
        for privacy, boundary in cases(graph):
            ratio, delta = privacy.exp_epsilon, Fraction(privacy.delta)
            fixed = None if boundary == "balanced" else {
                graph.position(d): boundary[d] if isinstance(boundary, dict) else boundary for d in graph.boundary("blue")
            }  # fmt: skip
            problem = Problem(graph, ratio, delta, fixed)
            try:
                mechanism = design(graph, privacy, boundary)
            except Infeasible:
                impossible += 1
                assert linear_programs([problem]) is None
                continue
            feasible.append((problem, mechanism))
            assert mechanism.check(privacy).holds
            assert cannot_be_raised(mechanism, problem)
    for chunk in _chunks(feasible, 400):
        solved = linear_programs([problem for problem, _ in chunk])
        assert solved is not None
        for values, (problem, mechanism) in zip(solved, chunk, strict=True):
            assert values.tolist() == pytest.approx([float(x) for x in mechanism.yes.values()], abs=1e-6), problem
    return len(feasible), impossible


def cannot_be_raised(mechanism: Mechanism, problem: Problem) -> bool:
    """Every truth that was not fixed and is below 1 is held down by a neighbour: Definition 1 written out."""
    graph, yes = mechanism.graph, list(mechanism.yes.values())
    fixed = problem.fixed or {}
    for i, truth in enumerate(mechanism.truth):
        if truth == 1 or i in fixed:
            continue
        if problem.fixed is None and graph.on_boundary[i]:
            continue  # the balanced value is fixed by its corollary; the linear program holds it
        raised = Fraction(yes[i]) + Fraction(1 if graph.blue[i] else -1, 10**12)
        near = graph.indices[graph.indptr[i] : graph.indptr[i + 1]].tolist()
        if all(indistinguishable(raised, Fraction(yes[j]), problem.ratio, problem.delta) for j in near):
            return False
    return True


def _chunks(items: list[Any], size: int) -> list[list[Any]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5])
def test_every_small_graph_against_the_linear_program(nodes: int) -> None:
    graphs = colourings(nodes) if nodes < 5 else thinned(colourings(nodes), 3)
    feasible, impossible = against_the_linear_program(graphs)
    assert feasible > 0
    assert (impossible > 0) == (nodes >= 3)


PARTS = 37
"""Prime to the number of colourings, so that each part has all kinds of them."""


@pytest.mark.slow
@pytest.mark.parametrize("part", thinned(range(PARTS), PARTS))
def test_every_graph_of_six_nodes_against_the_linear_program(part: int) -> None:
    feasible, impossible = against_the_linear_program(itertools.islice(colourings(6), part, None, PARTS))
    assert feasible > impossible > 0


@pytest.mark.slow
@given(coloured_graphs(), exact_budgets, st.data())
def test_theorem_2(graph: ColouredGraph, privacy: ApproxDP, data: st.DataObject) -> None:
    """Any graph, any values: the optimum by its formula, feasible exactly when no boundary dataset holds another down."""
    values: dict[Any, Fraction] = {d: data.draw(probabilities) for d in graph.boundary("blue")}
    plain = graph.to_networkx()
    length = dict(nx.all_pairs_shortest_path_length(plain))

    def ceiling(d: Any, start: dict[Any, Fraction]) -> Fraction:
        reached = [privacy.iterate(m, length[d][b])[0] for b, m in start.items() if b in length[d]]
        return Fraction(min(reached, default=Fraction(1)))

    possible = all(ceiling(d, values) == m for d, m in values.items())
    try:
        mechanism = design(graph, privacy, values)
    except Infeasible as clash:
        assert not possible
        allowed = values[clash.low]
        for a, b in itertools.pairwise(clash.path):
            assert b in plain[a]
            allowed = Fraction(privacy.step(allowed))
        assert values[clash.high] - allowed == clash.gap > 0  # noqa: PT017
        return
    assert possible
    others = {d: 1 - m for d, m in values.items()}
    for d in graph.names:
        assert (mechanism.yes[d] if graph.colour(d) == "blue" else mechanism.no[d]) == ceiling(
            d, values if graph.colour(d) == "blue" else others
        )


def test_the_papers_unequal_mechanism() -> None:
    graph, values = families.figure_2(), {"h": "0.6", "l": "0.7"}
    mechanism = design(graph, ApproxDP(exp_epsilon=2, delta="0.1"), values)
    blue = {"a": "1", "b": "1", "g": "0.9", "k": "0.9", "c": "0.85", "h": "0.6", "l": "0.7"}
    red = {"q": "0.7", "i": "0.75", "n": "0.75", "m": "0.9", "d": "0.925", "o": "0.925"} | dict.fromkeys("efjpr", "1")
    assert {d: mechanism.yes[d] for d in blue} == {d: Fraction(x) for d, x in blue.items()}
    assert {d: mechanism.no[d] for d in red} == {d: Fraction(x) for d, x in red.items()}


def test_the_papers_infeasible_values() -> None:
    with pytest.raises(Infeasible, match=r"l asks for 0\.00052592 more than h allows along h–n–q–l") as caught:
        design(families.figure_2(), ApproxDP(exp_epsilon="1.1"), {"h": "0.6", "l": "0.7"})
    clash = caught.value
    assert (clash.low, clash.high, clash.path) == ("h", "l", ("h", "n", "q", "l"))
    assert clash.gap == Fraction(7, 10) - (1 - Fraction(4, 10) / Fraction(11, 10) ** 3)
    again = pickle.loads(pickle.dumps(clash))
    assert (again.path, again.gap, str(again)) == (clash.path, clash.gap, str(clash))


def test_the_trap_of_the_introduction() -> None:
    """Measured to the nearest dataset of the other colour, every distance is one too large and privacy breaks."""
    privacy = ApproxDP(exp_epsilon=2, delta="1/10")
    graph = families.votes(3).graph()
    right = design(graph, privacy)
    assert [right.yes[d] for d in ("111", "112", "122", "222")] == [Fraction(x, 10) for x in (9, 7, 3, 1)]
    error = {distance: privacy.iterate(privacy.balance(), distance)[1] for distance in range(4)}
    to_other_colour = {d: graph.distance(d) + 1 for d in graph.names}
    trapped = Mechanism(graph, tuple(1 - error[int(to_other_colour[d])] for d in graph.names))
    result = trapped.check(privacy)
    assert not result.holds
    assert {graph.colour(d) for d in result.edge or ()} == {"blue", "red"}
    assert trapped.yes["112"] == Fraction(9, 10)
    assert trapped.yes["122"] == Fraction(1, 10)


@given(coloured_graphs(), exact_budgets, probabilities)
def test_the_dual_swaps_colours(graph: ColouredGraph, privacy: ApproxDP, m: Fraction) -> None:
    fixed_red = design(graph.dual(), privacy, m).dual()
    assert fixed_red.check(privacy).holds
    for d in graph.boundary("red"):
        assert fixed_red.no[d] == m
    for d in graph.boundary("blue"):
        assert fixed_red.yes[d] == privacy.step(1 - m)
    assert (fixed_red.graph.blue == graph.blue).all()


@given(coloured_graphs(7), exact_budgets, st.data())
def test_what_could_be_raised_for_free_is_what_the_linear_program_says(
    graph: ColouredGraph, privacy: ApproxDP, data: st.DataObject
) -> None:
    rim = graph.boundary("blue")
    values: dict[Any, Fraction] = {d: data.draw(probabilities) for d in rim}
    try:
        before = design(graph, privacy, values)
    except Infeasible:
        return
    free = improvable(graph, privacy, values)
    problem = Problem(graph, privacy.exp_epsilon, Fraction(privacy.delta), {graph.position(d): m for d, m in values.items()})
    for d in rim:
        most = most_for_free(problem, graph.position(d), [Fraction(t) for t in before.truth])
        assert most == pytest.approx(float(free.get(d, values[d])), abs=1e-7)
    after = design(graph, privacy, {**values, **free})  # all of them at once
    assert after.dominates(before)
    assert all(after.yes[d] == m > values[d] for d, m in free.items())


def test_free_improvements() -> None:
    graph = ColouredGraph([("a", "r"), ("r", "b")], {"a": "blue", "r": "red", "b": "blue"})
    privacy = ApproxDP(exp_epsilon=2, delta="1/10")
    assert improvable(graph, privacy, {"a": "3/10", "b": "7/10"}) == {"a": Fraction(7, 10)}
    assert improvable(graph, privacy, {"a": "7/10", "b": "7/10"}) == {}
    assert improvable(graph, privacy, "balanced") == {}
    assert improvable(graph, privacy, "1/20") == {"a": Fraction(1, 10), "b": Fraction(1, 10)}  # the red one is certain anyway
    assert improvable(graph, ApproxDP(1.0, 1e-6), {"a": 0.3, "b": 0.7}) == {"a": Fraction(0.7)}
    with pytest.raises(Infeasible):
        improvable(graph, ApproxDP(exp_epsilon="1.01"), {"a": "1/10", "b": "9/10"})

    class Float:
        def step(self, x: Any) -> float:
            return min(1.0, 2 * float(x), 1 - (1 - float(x)) / 2)

    assert improvable(graph, Float(), {"a": 0.4, "b": 0.6}) == {"a": pytest.approx(0.6)}
    assert improvable(graph, Float(), 0.6) == {}


def test_one_colour_tells_the_truth() -> None:
    graph = ColouredGraph([(1, 2), (3, 4)], {1: "blue", 2: "blue", 3: "blue", 4: "red", 5: "red"})
    for boundary in ("balanced", "3/5", {3: "3/5"}):
        mechanism = design(graph, ApproxDP(0, 0) if boundary != "balanced" else ApproxDP(1), boundary)
        assert [mechanism.truth[i] for i in (0, 1, 4)] == [1, 1, 1]


def test_floats_are_floats_throughout() -> None:
    graph = families.figure_2()
    for privacy, boundary in [(ApproxDP(1, "1e-6"), "1/2"), (ApproxDP(exp_epsilon=2), {"h": 0.6, "l": "1/2"})]:
        assert {type(t) for t in design(graph, privacy, boundary).truth} == {float}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("boundary", "says"),
    [
        ({"h": "1/2"}, "dataset l is on the blue boundary and has no value"),
        ({"h": "1/2", "l": "1/2", "a": 1}, "dataset a is not on the blue boundary"),
        ({"h": "1/2", "l": "3/2"}, r"the probability at l must be in \[0, 1\], got 3/2"),
        ({"h": "1/2", "z": "1/2"}, "there is no dataset z"),
        ("fair", "the boundary is balanced, or a probability such as 0.1 or 1/10, got fair"),
        ("3/5 of it", "the probability at the blue boundary must be a decimal or a fraction"),
        (float("nan"), "got nan"),
    ],
)
def test_bad_boundaries(boundary: Any, says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        design(families.figure_2(), ApproxDP(1), boundary)


def test_a_design_touches_few_files() -> None:
    """Of the package, in a real run of a small graph: what somebody reads who wants to know how it is made."""
    graph, privacy = families.votes(3).graph(), ApproxDP(exp_epsilon=2, delta="1/10")
    code: set[str] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        code.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        design(graph, privacy)
    finally:
        sys.setprofile(before)
    files = {name for name in code if name.startswith(str(Path(duotone.__file__).parent))}
    assert 3 < len(files) <= 12, files


@pytest.mark.parametrize("graph", [families.figure_2(), families.votes(4).graph()])
def test_a_value_for_all_others(graph: ColouredGraph) -> None:
    first, *others = graph.boundary("blue")
    privacy = ApproxDP(exp_epsilon=2, delta="1/10")
    short: dict[Any, str] = {first: "3/5", ...: "13/20"}
    long = {first: "3/5", **dict.fromkeys(others, "13/20")}
    assert design(graph, privacy, short).truth == design(graph, privacy, long).truth
    assert improvable(graph, privacy, short) == improvable(graph, privacy, long)
    one, other = (graph_table(graph, privacy, each).certificate() for each in (short, long))
    assert one == other
    assert set(one["boundary"]) == set(graph.boundary("blue"))
    everyone = design(graph, privacy, {...: "7/10"})
    assert everyone.truth == design(graph, privacy, "7/10").truth
    with pytest.raises(DuotoneError, match=r"the probability at all other datasets must be in \[0, 1\], got 2"):
        design(graph, privacy, {...: 2})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1=3/5,7/10,4/5", "all other datasets are given two values"),
        ("1=3/5,1=7/10", "dataset 1 is given two values"),
        ("1=3/5,x", "NAME=VALUE, or a value for all other datasets, must be a decimal or a fraction .* got x"),
        ("1=3/5,1/2", "dataset 1/2 has no value: write 1/2=VALUE"),  # 0.5 would be a value
        ("x=3/5", "there is no dataset x to fix"),
        ("=3/5", "there is no dataset =3/5 to fix"),
    ],
)
def test_values_that_are_ambiguous_are_refused(text: str, says: str) -> None:
    graph = ColouredGraph([(1, "0"), ("1/2", "0")], {1: "blue", "1/2": "blue", "0": "red"})
    assert values_from("1=3/5,0.5", graph) == {1: "3/5", ...: "0.5"}
    with pytest.raises(DuotoneError, match=says):
        values_from(text, graph)


def test_boundary_values_are_no_list() -> None:
    others: list[Any] = [["3/5", "7/10"], ("3/5",), lambda _: "3/5", "selection"]
    for boundary in others:
        with pytest.raises(DuotoneError, match="or one per boundary dataset: a mapping by name, or an array for every dataset"):
            design(families.figure_2(), ApproxDP(1), boundary)


def test_boundary_values_as_a_series() -> None:
    privacy, values = ApproxDP(exp_epsilon=2, delta="1/10"), {"h": "0.6", "l": "0.7"}
    series: Any = pd.Series(values)
    assert design(families.figure_2(), privacy, series) == design(families.figure_2(), privacy, values)
    assert improvable(families.figure_2(), privacy, series) == improvable(families.figure_2(), privacy, values)
    tables = [graph_table(families.figure_2(), privacy, boundary) for boundary in (series, values)]
    first, second = ("".join(table.certificate_text()) for table in tables)
    assert first == second
