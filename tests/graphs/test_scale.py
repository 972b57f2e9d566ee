"""The fast path of large graphs against the plain one: the same graph goes through both."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, ColouredGraph, DuotoneError, Infeasible, Mechanism, design
from duotone.graphs import edges
from duotone.graphs import values as sweeps
from duotone.graphs.edges import far
from duotone.graphs.values import ValuesByDataset
from duotone.line.mechanism import NEVER
from support.running import exhaustive_only, thinned
from support.strategies import coloured_graphs, exact_budgets, float_budgets, probabilities

EXACT, FLOATS = ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP(1, 1e-6)


@pytest.fixture(scope="module")
def fast() -> Iterator[Callable[..., None]]:
    """Choose the path, which no user ever does."""
    usual, deepest = edges.SMALL, sweeps.DEEPEST

    def choose(large: bool, swept: bool = True) -> None:
        edges.SMALL = -1 if large else 2**40
        sweeps.DEEPEST = deepest if swept else -1

    yield choose
    edges.SMALL, sweeps.DEEPEST = usual, deepest


def random_graph(rng: np.random.Generator) -> tuple[Any, Any]:
    n = int(rng.integers(1, 60))
    pairs = rng.integers(0, n, (int(rng.integers(0, 3 * n)), 2))
    if rng.random() < 0.4:  # a long one
        pairs = np.concatenate([np.stack([np.arange(n - 1), np.arange(1, n)], 1), pairs[: n // 10]])
    return pairs[pairs[:, 0] != pairs[:, 1]], rng.random(n) < rng.choice([0.05, 0.3, 0.5, 1])


def outcome(graph: ColouredGraph, privacy: ApproxDP, boundary: Any) -> Any:
    try:
        return list(design(graph, privacy, boundary).truth)
    except Infeasible as clash:
        path = [*clash.path]
        assert all(b in graph.neighbours(a) for a, b in itertools.pairwise(path))
        assert clash.gap > 0  # noqa: PT017
        return "infeasible"


@pytest.mark.slow
@pytest.mark.parametrize("seed", thinned(range(4), 4))
def test_large_and_small_paths_agree_on_thousands_of_graphs(fast: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    impossible = 0
    for turn in range(500):
        pairs, blue = random_graph(rng)
        spread = (10, 11, 12, 13, 9) if rng.random() < 0.7 else (2, 10, 12, 15, 19)
        values = ValuesByDataset(tuple(Fraction(v, 20) for v in spread), rng.integers(0, 5, len(blue)))
        privacy = EXACT if rng.random() < 0.5 else FLOATS
        results = []
        for large, swept in ((False, True), (True, True), (True, False)):
            fast(large, swept)
            graph = ColouredGraph.from_arrays(pairs, blue)
            balanced, unequal = outcome(graph, privacy, "balanced"), outcome(graph, privacy, values)
            impossible += unequal == "infeasible"
            arrays = [a.tolist() for a in (graph.indptr, graph.indices, graph.levels)]
            results.append([arrays, balanced, unequal])
            if turn % 10 == 0:
                mechanism = design(graph, privacy)
                results[-1] += [mechanism.check(privacy), mechanism.tightest(exp_epsilon=privacy.exp_epsilon).delta]
        assert results[0] == results[1] == results[2]
    assert impossible > 0


@pytest.mark.slow
@given(coloured_graphs(), st.one_of(exact_budgets, float_budgets), st.data())
def test_any_graph_any_notion_any_values(fast: Any, graph: ColouredGraph, privacy: ApproxDP, data: st.DataObject) -> None:
    index = np.array([data.draw(st.integers(0, 2)) for _ in graph.names], dtype=np.uint8)
    values = ValuesByDataset(tuple(data.draw(probabilities) for _ in range(3)), index)
    results = []
    for large in (False, True):
        fast(large)
        again = ColouredGraph.from_arrays(graph.edge_array(), graph.blue)
        results.append((again.levels.tolist(), outcome(again, privacy, values)))
    assert results[0] == results[1]


@pytest.mark.slow
@given(coloured_graphs(), exact_budgets, st.data())
def test_any_mechanism_is_checked_alike(fast: Any, graph: ColouredGraph, privacy: ApproxDP, data: st.DataObject) -> None:
    mechanism = Mechanism(graph, [data.draw(probabilities) for _ in graph.names])
    fast(False)
    slow = mechanism.check(privacy)
    fast(True)
    assert mechanism.check(privacy) == slow


def test_deep_graphs_outgrow_a_byte(fast: Any) -> None:
    n = 2000
    path = np.stack([np.arange(n - 1), np.arange(1, n)], 1)
    blue = np.arange(n) == 0
    for large in (False, True):
        fast(large)
        graph = ColouredGraph.from_arrays(path, blue)
        assert graph.levels.tolist() == [0, *range(-1, -n, -1)]
    assert graph.distances.dtype == np.int32
    shallow = ColouredGraph.from_arrays(path[:250], blue)
    assert (str(shallow.distances.dtype), far(shallow.distances)) == ("uint8", 255)
    assert shallow.levels[[249, 250, 251]].tolist() == [-249, -250, -1 - NEVER]


@pytest.mark.slow
def test_wide_graphs_are_pulled(fast: Any) -> None:
    """A frontier that is most of what is left: a random graph large enough for every branch of the search."""
    rng = np.random.default_rng(5)
    n = 20_000
    pairs = rng.integers(0, n, (4 * n, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    blue = rng.random(n) < 0.002
    levels = []
    for large in (False, True):
        fast(large)
        levels.append(ColouredGraph.from_arrays(pairs, blue).levels)
    assert (levels[0] == levels[1]).all()
    plain: Any = nx.Graph(pairs.tolist())
    graph = ColouredGraph.from_arrays(pairs, blue)
    reached = nx.multi_source_dijkstra_path_length(plain, set(np.flatnonzero(graph.on_boundary).tolist()), weight=None)
    assert all(graph.distances[i] == d for i, d in reached.items())


@pytest.mark.slow
@exhaustive_only
def test_many_values_outgrow_two_bytes(fast: Any) -> None:
    """A path of many different fixed values: waves number more values than 16 bits hold."""
    fast(True)
    n = 33_000
    rungs = np.stack([np.arange(n), np.arange(n, 2 * n)], 1)
    graph = ColouredGraph.from_arrays(rungs, np.arange(2 * n) < n)
    values = np.linspace(0.2, 0.8, 2 * n)
    mechanism = design(graph, ApproxDP(1), values)
    assert mechanism.truth.array()[:n].tolist() == values[:n].tolist()
    assert mechanism.truth[n] == ApproxDP(1).step(1 - values[0])


def test_edges_in_any_order_and_twice(fast: Any) -> None:
    fast(True)
    rng = np.random.default_rng(0)
    pairs = np.array([(i, j) for i in range(60) for j in range(i)])  # rows too long to sort by insertion
    graph = ColouredGraph.from_arrays(pairs, np.arange(60) < 30)
    mixed = rng.permutation(np.concatenate([pairs, pairs[:, ::-1], pairs[:7]])).astype(np.int32)
    again = ColouredGraph.from_arrays(mixed, graph.blue)
    assert again.same_neighbours(graph)
    assert (str(again.indices.dtype), str(again.indptr.dtype)) == ("int32", "int32")
    kept = ColouredGraph.from_csr(graph.indptr, graph.indices, graph.blue)
    assert kept.same_neighbours(graph)
    assert kept.indices is graph.indices
    empty = ColouredGraph.from_csr(np.zeros(3, dtype=np.int64), np.zeros(0, dtype=np.int64), np.array([True, False]))
    assert empty.levels.tolist() == [NEVER, -1 - NEVER]


TWO = np.array([True, False])


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: ColouredGraph.from_arrays([[0, 2]], TWO), "outside 0 … 1"),
        (lambda: ColouredGraph.from_arrays([[-1, 1]], TWO), "outside 0 … 1"),
        (lambda: ColouredGraph.from_arrays([[5, 5]], TWO), "outside 0 … 1"),
        (lambda: ColouredGraph.from_arrays([[0, 1], [1, 1]], TWO), "node 1 is its own neighbour"),
        (lambda: ColouredGraph.from_arrays([[0, 1], [1, 1]], TWO, ["a", "b"]), "node b is its own neighbour"),
        (lambda: ColouredGraph.from_arrays([], np.broadcast_to(True, 2**31)), "at most 2147483646 nodes, .* got 2147483648"),
        (lambda: ColouredGraph.from_csr([0, 1, 2], [1.0, 0.0], TWO), "arrays of signed integers"),
        (lambda: ColouredGraph.from_csr([0, 1], [1], TWO), "one entry more than the 2 nodes"),
        (lambda: ColouredGraph.from_csr([0, 2, 1], [1], TWO), "must rise from 0 to the length"),
        (lambda: ColouredGraph.from_csr([0, 1, 2], [2, 0], TWO), "outside 0 … 1"),
        (lambda: ColouredGraph.from_csr([0, 1, 1], [1], TWO), "row of node 0 is not in order"),
        (lambda: ColouredGraph.from_csr([0, 2, 4], [1, 1, 0, 0], TWO), "row of node 0 is not in order"),
        (lambda: ColouredGraph.from_csr([0, 1, 2], [0, 1], TWO), "row of node 0 is not in order"),
        (
            lambda: ColouredGraph.from_csr([0, 2, 3, 4], [2, 1, 0, 0], np.array([True, False, False])),
            "row of node 0 is not in order",
        ),
        (lambda: design(ColouredGraph.from_arrays([[0, 1]], TWO), EXACT, np.array([0.5])), "must be as many, got 1"),
        (lambda: design(ColouredGraph.from_arrays([[0, 1]], TWO), EXACT, np.array([np.nan, 0])), "a boundary value must be in"),
    ],
)
def test_bad_arrays(fast: Any, build: Any, says: str) -> None:
    for large in (False, True):
        fast(large)
        with pytest.raises(DuotoneError, match=says):
            build()


def test_memory_of_a_graph_is_asked_for_beforehand(fast: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fast(True)
    monkeypatch.setattr("duotone.resources.free_memory", lambda: 16)
    with pytest.raises(DuotoneError, match=r"2 nodes and 1 edges need 0\.0 GiB"):
        ColouredGraph.from_arrays([[0, 1]], TWO)


def test_a_column_is_a_sequence() -> None:
    column = ValuesByDataset.of([0.5, Fraction(1, 2), 0.5])
    assert (len(column.values), column[1:], column == [0.5, 0.5, 0.5]) == (2, (Fraction(1, 2), 0.5), True)
    assert ValuesByDataset.of(column) is column
    assert column != [0.5]
    assert column != 3
    assert (column.counts(), column.array().tolist()) == ([2, 1], [0.5, 0.5, 0.5])
