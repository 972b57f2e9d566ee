from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import DuotoneError
from duotone.graphs import families
from duotone.graphs.families import Family
from duotone.graphs.morphism import line_of


def closed_form_holds(family: Family) -> None:
    graph = family.graph()
    assert len(graph) == family.size
    assert {d: family.level(d) for d in graph.names} == {d: graph.level(d) for d in graph.names}
    near = {(a, b) for a, b in graph.edges} | {(b, a) for a, b in graph.edges}
    assert near == {(d, e) for d in graph.names for e in family.neighbours(d)}


@given(st.lists(st.booleans(), min_size=2, max_size=9))
def test_any_symmetric_rule(answers: list[bool]) -> None:
    closed_form_holds(families.votes(len(answers) - 1, answers.__getitem__))


@given(st.integers(0, 4), st.integers(0, 4))
def test_turnout(yes: int, no: int) -> None:
    if yes + no:
        closed_form_holds(families.turnout(yes, no))


@given(st.integers(0, 6), st.integers(0, 6))
def test_line(blue: int, red: int) -> None:
    if blue + red:
        closed_form_holds(families.line(blue, red))


@given(st.lists(st.integers(-4, 6), min_size=1, max_size=7), st.integers(-6, 14))
def test_weighted(weights: list[int], threshold: int) -> None:
    closed_form_holds(families.weighted(weights, threshold))


@given(
    st.lists(st.booleans(), min_size=2, max_size=4),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from(["and", "or"]),
)
def test_products(answers: list[bool], blue: int, red: int, rule: Literal["and", "or"]) -> None:
    closed_form_holds(families.product(families.votes(len(answers) - 1, answers.__getitem__), families.line(blue, red), rule))


def test_product_without_a_closed_form() -> None:
    family = families.product(families.hypercube(2, all), families.line(1, 1), "and")
    assert family.graph().level(("11", 1)) == 0
    with pytest.raises(DuotoneError, match="no closed form"):
        family.level(("11", 1))


@given(st.integers(1, 3), st.integers(0, 4), st.sampled_from(["add-remove", "replace"]))
def test_histograms_are_people_counted(categories: int, people: int, neighbours: Literal["add-remove", "replace"]) -> None:
    family = families.histograms(categories, people, lambda c: c[0] > sum(c[1:]), neighbours=neighbours)
    graph = family.graph()
    assert len(graph) == family.size
    for a in graph.names:
        for b in graph.names:
            away = sum(abs(x - y) for x, y in zip(a, b, strict=True))  # type: ignore[call-overload]
            assert (b in graph.neighbours(a)) == (away == (1 if neighbours == "add-remove" else 2))


def test_the_papers_figures() -> None:
    votes = families.votes(3).graph()
    assert set(votes.neighbours("212")) == {"112", "211", "222"}
    voted = families.turnout(2, 1).graph()
    assert set(voted.coloured("blue")) == {frozenset(s) for s in ({1}, {2}, {1, 2}, {1, 2, 3})}
    assert len(list(voted.edges)) == 9
    assert line_of(votes) == line_of(voted) == (2, 2)
    assert line_of(families.figure_2()) == (3, 4)
    assert set(families.FIGURE_2_POSITIONS) == set(families.figure_2().names)


def test_large_families_have_levels_but_no_graph() -> None:
    assert families.votes(10_001).level("1" * 5001 + "2" * 5000) == 0
    assert families.votes(3, lambda _: True).level("111") == math.inf
    assert families.weighted(["1/3"] * 60, "5").level("1" * 60) == 60 - 15
    assert families.weighted([Fraction(1, 3)], 1).level("0") == -math.inf
    with pytest.raises(DuotoneError, match="more datasets than the 2097152 that an explicit graph may have"):
        families.votes(40_000).graph()


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: families.votes(0), "number of voters must be at least 1"),
        (lambda: families.votes(-1, lambda _: True), "number of voters must be at least 1"),
        (lambda: families.turnout(-1, 3), "must be at least 0, got -1 and 3"),
        (lambda: families.votes(1001).level("111"), "not a dataset of votes of 1001$"),
        (lambda: families.weighted([1, 2], 1).level("111"), "not a dataset of weighted votes of 2, such as 00"),
        (lambda: families.turnout(1, 1).level(frozenset({3})), r"not a dataset of turnout of 2, such as \{1\}"),
        (lambda: families.line(1, 1).level(3), "not a dataset of"),
        (lambda: families.turnout(0, 0), "number of voters must be at least 1"),
        (lambda: families.line(0, 0), "a line needs at least one node"),
        (lambda: families.hypercube(0, all), "number of people must be at least 1"),
        (lambda: families.histograms(0, 3, all), "number of categories must be at least 1"),
        (lambda: families.histograms(2, -1, all), "number of people must be at least 0"),
        (lambda: families.histograms(2, 1, all, neighbours="near"), "add-remove or replace, got near"),  # type: ignore[arg-type]
        (lambda: families.product(families.line(1, 1), families.line(1, 1), "xor"), "and or or, got xor"),  # type: ignore[arg-type]
    ],
)
def test_bad_families(build: Callable[[], Any], says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        build()
