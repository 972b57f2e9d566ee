from __future__ import annotations

import pickle
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, ColouredGraph, DuotoneError, Infeasible, Mechanism, Morphism, design, with_boundary
from duotone.errors import NotAMorphism
from duotone.graphs import families
from duotone.graphs.morphism import boundary_morphism
from duotone.line.mechanism import NEVER
from support.strategies import coloured_graphs, exact_budgets, probabilities


def has_boundary_everywhere(graph: ColouredGraph) -> bool:
    return not ((graph.levels == NEVER) | (graph.levels == -1 - NEVER)).any()


@given(coloured_graphs(), exact_budgets, probabilities)
def test_theorem_3(graph: ColouredGraph, privacy: ApproxDP, m: Fraction) -> None:
    """The pullback of the line's optimum is the optimum with equal values on the blue boundary."""
    fixed = dict.fromkeys(graph.boundary("blue"), m)
    optimum = design(graph, privacy, fixed)
    assert design(graph, privacy, m).truth == optimum.truth
    if has_boundary_everywhere(graph):
        g = boundary_morphism(graph)
        assert g.preserves_colour()
        line = design(g.target, privacy, m)
        assert line.pullback(g).truth == optimum.truth
        assert list(line.yes.values()) == [with_boundary(privacy, m).yes(int(level)) for level in g.target.levels]


@given(coloured_graphs(6), exact_budgets, st.data())
def test_theorem_1(graph: ColouredGraph, privacy: ApproxDP, data: st.DataObject) -> None:
    """A pullback is private, whatever the colours, for any morphism: here a fold of a line onto random walks."""
    walk = [data.draw(st.sampled_from(graph.names))]
    for _ in range(6):
        walk.append(data.draw(st.sampled_from([walk[-1], *graph.neighbours(walk[-1])])))
    path = families.line(4, 3).graph()
    g = Morphism(path, graph, lambda i: walk[i - 1])  # type: ignore[operator]
    values = {d: data.draw(probabilities) for d in graph.boundary("blue")}
    try:
        mechanism = design(graph, privacy, values)
    except Infeasible:
        mechanism = design(graph, privacy)
    pulled = mechanism.pullback(g)
    assert pulled.check(privacy).holds
    assert list(pulled.yes.values()) == [mechanism.yes[d] for d in walk]


def test_composition() -> None:
    votes = families.votes(3).graph()
    first = boundary_morphism(votes)
    point = families.line(1, 0).graph()
    collapse = Morphism(first.target, point, lambda _: 1)
    both = first.then(collapse)
    assert set(both.map.values()) == {1}
    assert not both.preserves_colour()
    with pytest.raises(DuotoneError, match="start at the graph where the first one ends"):
        collapse.then(first)


def test_example_3() -> None:
    g = boundary_morphism(families.votes(3).graph())
    assert g.map["212"] == 3  # the paper's text prints 221 twice and maps 211 both ways
    assert [sorted(str(d) for d in g.map if g.map[d] == i) for i in (1, 2, 3, 4)] == [
        ["111"],
        ["112", "121", "211"],
        ["122", "212", "221"],
        ["222"],
    ]


def test_not_a_morphism() -> None:
    line = families.line(2, 2).graph()
    with pytest.raises(NotAMorphism, match="1 and 2 are neighbours, but their images 1 and 4 are not") as caught:
        Morphism(line, line, {1: 1, 2: 4, 3: 3, 4: 4})
    assert (caught.value.edge, caught.value.images) == ((1, 2), (1, 4))
    assert pickle.loads(pickle.dumps(caught.value)).edge == (1, 2)
    image: dict[Hashable, Hashable] = {1: 1, 2: 2, 3: 3, 4: 4}
    kept = Morphism(line, line, image)
    image[2] = 4
    assert kept.map[2] == 2
    with pytest.raises(DuotoneError, match="no image for dataset 4"):
        Morphism(line, line, {1: 1, 2: 2, 3: 3})
    with pytest.raises(DuotoneError, match="4 is mapped to 9, which is no dataset of the target"):
        Morphism(line, line, {1: 1, 2: 2, 3: 3, 4: 9})
    other = design(families.votes(3).graph(), ApproxDP(1))
    with pytest.raises(DuotoneError, match="must end at the mechanism's graph"):
        other.pullback(Morphism(line, line, {i: i for i in (1, 2, 3, 4)}))


def test_the_papers_example_2_needs_212_in_place_of_211() -> None:
    """It maps {122, 211, 221} to d₃, and 211 to d₂ too: with 212 it is the morphism that is meant, as printed it is none."""
    images: dict[Hashable, Hashable] = {
        "111": 1,
        **dict.fromkeys(("112", "121", "211"), 2),
        **dict.fromkeys(("122", "212", "221"), 3),
        "222": 4,
    }
    graph, coarse = families.votes(3).graph(), families.line(2, 2).graph()
    assert Morphism(graph, coarse, images).preserves_colour()
    with pytest.raises(NotAMorphism):
        Morphism(graph, coarse, {**images, "211": 3})
    with pytest.raises(DuotoneError, match="no image for dataset 212"):
        Morphism(graph, coarse, {d: image for d, image in images.items() if d != "212"})


def test_no_boundary_no_morphism() -> None:
    mixed = ColouredGraph([(1, 2)], {1: "blue", 2: "red", 3: "red"})
    for graph in (mixed, families.line(3, 0).graph()):
        with pytest.raises(DuotoneError, match="a component of one colour has no boundary"):
            boundary_morphism(graph)
        assert isinstance(design(graph, ApproxDP(1)), Mechanism)


def test_a_map_may_be_a_series() -> None:
    line = families.line(2, 2).graph()
    assert Morphism(line, line, pd.Series({1: 2, 2: 2, 3: 3, 4: 3})).map[1] == 2
    assert repr(Morphism(line, line, lambda d: d)) == "<Morphism from 4 to 4 datasets>"
    wrong: Any = [1, 2, 3, 4]
    with pytest.raises(DuotoneError, match="a map is a mapping or a function of the dataset, got list"):
        Morphism(line, line, wrong)


def test_morphisms_compose_where_their_graphs_are_equal() -> None:
    def halved(d: Any) -> int:
        return 2 if d <= 2 else 3

    there = Morphism(families.line(2, 2).graph(), families.line(2, 2).graph(), halved)
    assert there.then(Morphism(families.line(2, 2).graph(), families.line(1, 1).graph(), {1: 1, 2: 1, 3: 2, 4: 2})).map[1] == 1
