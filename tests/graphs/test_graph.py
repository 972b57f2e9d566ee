from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy.sparse import coo_array

from duotone import ApproxDP, ColouredGraph, DuotoneError, design
from duotone.graphs import families
from duotone.graphs.files import read_graph
from duotone.graphs.optimum import improvable
from duotone.line.mechanism import NEVER
from support.strategies import coloured_graphs


@given(coloured_graphs())
def test_topology_by_its_definitions(graph: ColouredGraph) -> None:
    plain = graph.to_networkx()
    for colour in ("blue", "red"):
        own = {d for d in plain if plain.nodes[d]["colour"] == colour}
        interior = {d for d in own if set(plain[d]) <= own}
        boundary = own - interior
        assert set(graph.coloured(colour)) == own
        assert set(graph.interior(colour)) == interior
        assert set(graph.boundary(colour)) == boundary
        for d in own:
            reached = nx.single_source_shortest_path_length(plain, d)
            distance = min((reached[b] for b in boundary if b in reached), default=math.inf)
            assert graph.distance(d) == distance
            assert graph.level(d) == (distance if colour == "blue" else -1 - distance)
    for a, b in graph.edges:
        assert abs(graph.level(a) - graph.level(b)) <= 1 or graph.level(a) == graph.level(b)
    assert ((graph.levels >= 0) == graph.blue).all()
    assert (graph.dual().levels == -1 - graph.levels).all()


@given(coloured_graphs())
def test_every_way_in_gives_the_same_graph(graph: ColouredGraph) -> None:
    pairs = graph.edge_array()
    matrix = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(graph), len(graph)))
    others = [
        ColouredGraph.from_networkx(graph.to_networkx()),
        ColouredGraph.from_networkx(nx.MultiDiGraph(graph.to_networkx())),
        ColouredGraph.from_arrays(pairs, graph.blue),
        ColouredGraph.from_sparse(matrix, graph.blue),
        ColouredGraph.from_sparse((matrix + matrix.T).tocsr(), graph.blue),
    ]
    for other in others:
        assert _same(graph, other)


def test_files(tmp_path: Path) -> None:
    graph = families.figure_2()
    plain = graph.to_networkx()
    nx.write_graphml(plain, tmp_path / "g.graphml")
    for key in ("edges", "links"):
        (tmp_path / f"{key}.json").write_text(json.dumps(nx.node_link_data(plain, edges=key)))
    (tmp_path / "g.csv").write_text("source,target\n" + "\n".join(f"{a}, {b}" for a, b in graph.edges) + "\n\n")
    (tmp_path / "alone.csv").write_text("a,b\nc\n")
    nx.write_gml(plain, tmp_path / "g.gml")
    for name in ("g.graphml", "g.gml", "edges.json", "links.json"):
        assert _same(graph, read_graph(tmp_path / name))
        assert read_graph(tmp_path / name, blue=["a"]).coloured("blue") == ("a",)
    listed = read_graph(tmp_path / "g.csv", blue=graph.coloured("blue"))  # type: ignore[arg-type]
    assert {d: listed.level(d) for d in listed.names} == {d: graph.level(d) for d in graph.names}
    assert read_graph(tmp_path / "alone.csv", blue=["c"]).level("c") == math.inf


def test_duplicate_edges_are_one() -> None:
    graph = ColouredGraph([(1, 2), (2, 1), (1, 2)], {1: "blue", 2: "red"})
    assert list(graph.edges) == [(1, 2)]
    assert graph.neighbours(1) == (2,)
    assert repr(graph) == "<ColouredGraph: 1 blue, 1 red, 1 edges>"


def test_one_colour_has_no_boundary() -> None:
    graph = ColouredGraph([("a", "b")], {"a": "red", "b": "red", "c": "blue"})
    assert graph.boundary("red") == ()
    assert graph.level("a") == -math.inf
    assert graph.levels.tolist() == [-1 - NEVER, -1 - NEVER, NEVER]


two = {"a": "blue", "b": "red"}


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: ColouredGraph([], {}), "at least one node"),
        (lambda: ColouredGraph.from_networkx(nx.Graph()), "at least one node"),
        (lambda: ColouredGraph.from_arrays([], np.array([], dtype=bool)), "at least one node"),
        (lambda: ColouredGraph.from_csr([0], np.array([], dtype=np.int64), np.array([], dtype=bool)), "1 to 2147483646"),
        (lambda: ColouredGraph.from_sparse(coo_array((0, 0)), np.array([], dtype=bool)), "at least one node"),
        (lambda: ColouredGraph([("a", "a")], two), "node a is its own neighbour"),
        (lambda: ColouredGraph([("a", "c")], two), "node c has no colour"),
        (lambda: ColouredGraph([("c", "a")], two), "node c has no colour"),
        (lambda: ColouredGraph([], {"a": "green"}), "colour of node a must be blue or red, or True or False, got green"),
        (lambda: ColouredGraph([], two).boundary("green"), "a colour is blue or red, got green"),  # type: ignore[arg-type]
        (lambda: ColouredGraph([], two).level("z"), "there is no dataset z"),
        (lambda: ColouredGraph(nx.path_graph(3), {}), "edges are pairs of datasets .a networkx graph goes to from_networkx"),
        (lambda: ColouredGraph([(1, 2, 3)], {}), "edges are pairs of datasets"),  # type: ignore[list-item]
        (lambda: ColouredGraph.from_networkx(nx.path_graph(2)), "node 0 has no attribute colour"),
        (lambda: ColouredGraph.from_arrays([[0, 2]], np.array([True, False])), "outside 0 … 1"),
        (lambda: ColouredGraph.from_arrays([[0.5, 1]], np.array([True, False])), "two integer columns"),
        (lambda: ColouredGraph.from_arrays([[0, 1]], [1, 0]), "Boolean array"),
        (lambda: ColouredGraph.from_arrays([], np.array([True, False]), ["a", "a"]), "2 different values"),
        (lambda: ColouredGraph.from_sparse(coo_array((2, 3)), np.array([True, False])), "one row and one column per node"),
    ],
)
def test_bad_graphs(build: Any, says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        build()


@pytest.mark.parametrize("name", ["epsilon", "Epsilon", "eps", "δ", "delta", "ratio", "budget"])
def test_a_budget_in_a_graph_is_not_ignored(name: str, tmp_path: Path) -> None:
    for place in ("an edge", "a node", "the graph"):
        plain = families.line(2, 2).graph().to_networkx()
        {"an edge": plain.edges[1, 2], "a node": plain.nodes[1], "the graph": plain.graph}[place][name] = 0.5
        with pytest.raises(DuotoneError, match=f"{place} has an attribute {name}, which would be ignored"):
            ColouredGraph.from_networkx(plain)
        (tmp_path / "g.json").write_text(json.dumps(nx.node_link_data(plain, edges="edges")))
        with pytest.raises(DuotoneError, match=f"{place} has an attribute {name}"):
            read_graph(tmp_path / "g.json")
    other: Any = nx.MultiGraph(families.line(2, 2).graph().to_networkx())
    other.add_edge(1, 2, weight=3, label="epsilon")
    assert len(ColouredGraph.from_networkx(other)) == 4


@pytest.mark.parametrize(
    ("name", "content", "blue", "says"),
    [
        ("g.csv", "a,b", None, "name the blue nodes"),
        ("g.csv", "a,b", ["z"], "no node z to be blue"),
        ("g.csv", "a,b,c", ["a"], "two nodes"),
        ("g.csv", "a,", ["a"], "two nodes"),
        ("g.csv", "", [], "at least one node"),
        ("g.csv", b"\xff\xfe\x00", ["a"], "not a CSV file in UTF-8"),
        ("g.json", "{", None, "not node-link JSON"),
        ("g.json", "[]", None, "not node-link JSON"),
        ("g.json", '{"nodes": [{"id": 1}], "edges": []}', None, "node 1 has no attribute colour"),
        ("g.graphml", "<a>", None, "not a GraphML file"),
        ("g.graphml", "hello", None, "not a GraphML file"),
        ("g.graphml", '<?xml version="1.0" encoding="foo"?><graphml/>', None, "not a GraphML file"),
        ("g.txt", "", None, "name the blue nodes"),
        ("g.dot", "", None, "must end in .graphml, .gml, .json, or, for an edge list, .csv, .parquet, .edgelist, .edges, .txt"),
        ("g.gml", "graph [", None, "not a GML file: expected ']', found EOF"),
        ("g.gml", 'graph [ node [ id 1 label "a" ] node [ id 2 label "a" ] ]', None, "not a GML file: node label is dup"),
        ("g.gml", 'graph [ node [ id 1 label "a" colour 2 ] ]', None, "colour of node a must be blue or red, or True or False"),
        ("g.gml", b"\xff", None, "not a GML file: input is not ASCII-encoded"),
        ("g.txt", b"\xff\xfe\x00", ["a"], "not text in UTF-8"),
        ("g.txt", "a b 3.5", ["a"], "two nodes"),  # a weight, or a budget?
        ("g.txt", "a b c d", ["a"], "two nodes"),
        ("g.edgelist", "a b {'w': 1, \"Epsilon\" : 2}", ["a"], "an edge has an attribute epsilon, which would be ignored"),
        ("g.edges", "# nothing\n", [], "at least one node"),
        ("missing.edges", None, ["a"], "cannot read .*missing.edges: No such file"),
        ("missing.gml", None, None, "cannot read .*missing.gml: No such file"),
        ("missing.csv", None, ["a"], "cannot read .*missing.csv: No such file"),
        ("missing.json", None, None, "cannot read .*missing.json: No such file"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: str | bytes | None, blue: list[str] | None, says: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DuotoneError, match=says):
        read_graph(tmp_path / name, blue=blue)


def _same(a: ColouredGraph, b: ColouredGraph) -> bool:
    return list(a.names) == list(b.names) and set(a.edges) == set(b.edges) and bool((a.blue == b.blue).all())


def test_colours_are_an_attribute_a_function_a_mapping_or_booleans() -> None:
    plain = nx.hypercube_graph(3)
    words = {d: "blue" if sum(d) >= 2 else "red" for d in plain}
    nx.set_node_attributes(plain, {d: sum(d) >= 2 for d in plain}, "vote")
    nx.set_node_attributes(plain, {d: np.int64(sum(d) >= 2) for d in plain}, "number")  # GML has no Booleans
    wanted = ColouredGraph(plain.edges, words)
    ways: list[Any] = ["vote", "number", lambda d: sum(d) >= 2, words.__getitem__, words, dict(reversed(words.items()))]
    for colour in ways:
        assert _same(wanted, ColouredGraph.from_networkx(plain, colour))
    edges = iter(list(plain.edges))
    assert set(ColouredGraph(edges, lambda d: sum(d) >= 2).coloured("blue")) == set(wanted.coloured("blue"))
    plain.add_node("alone")
    assert ColouredGraph.from_networkx(plain, lambda d: d != "alone").level("alone") == -math.inf


def test_a_graph_is_a_collection_of_its_datasets() -> None:
    graph = families.figure_2()
    assert [*graph] == [*graph.names]
    assert all(d in graph for d in graph)
    assert "z" not in graph
    assert ["a"] not in graph
    assert len(graph.edges) == len([*graph.edges]) == graph.to_networkx().number_of_edges()
    assert all((a, b) in graph.edges and (b, a) in graph.edges for a, b in graph.edges)
    assert not any(pair in graph.edges for pair in [("a", "z"), ("z", "a"), ("a", "a"), "ab", ("a", "b", "c")])
    assert repr(graph.edges) == f"<{len(graph.edges)} edges>"


@pytest.mark.parametrize(
    ("colour", "says"),
    [
        ("vote", "node 0 has no attribute vote"),
        ({0: "blue"}, "node 1 has no colour"),
        ({0: "blue", 1: True, 2: "red"}, "there is no node 2 to be coloured"),
        (lambda _: None, "colour of node 0 must be blue or red, or True or False, got None"),
        (lambda _: "Blue", "colour of node 0 must be blue or red, or True or False, got Blue"),
        (lambda _: 2, "colour of node 0 must be blue or red, or True or False, got 2"),
        (lambda _: 1.0, "colour of node 0 must be blue or red, or True or False, got 1.0"),
        (["blue", "red"], "colours are a mapping or a function of the dataset, got list"),
    ],
)
def test_bad_colours(colour: Any, says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        ColouredGraph.from_networkx(nx.path_graph(2), colour)


def test_an_attribute_of_another_name(tmp_path: Path) -> None:
    figure = families.figure_2()
    plain = figure.to_networkx()
    for d in plain:
        plain.nodes[d]["vote"] = plain.nodes[d].pop("colour") == "blue"
    nx.write_graphml(plain, tmp_path / "g.graphml")
    nx.write_gml(plain, tmp_path / "g.gml")
    (tmp_path / "g.json").write_text(json.dumps(nx.node_link_data(plain, edges="edges")))
    for name in ("g.graphml", "g.gml", "g.json"):
        assert _same(figure, read_graph(tmp_path / name, colour="vote"))
        with pytest.raises(DuotoneError, match="node a has no attribute colour"):
            read_graph(tmp_path / name)
        with pytest.raises(DuotoneError, match="or the blue nodes, one of the two"):
            read_graph(tmp_path / name, colour="vote", blue=["a"])


def test_gml_without_labels(tmp_path: Path) -> None:
    (tmp_path / "g.gml").write_text("graph [ node [ id 1 colour 1 ] node [ id 7 colour 0 ] edge [ source 1 target 7 ] ]")
    assert read_graph(tmp_path / "g.gml").neighbours(7) == (1,)


def test_an_adjacency_matrix_need_not_be_sparse() -> None:
    plain = families.figure_2().to_networkx()
    blue = [colour == "blue" for _, colour in plain.nodes(data="colour")]
    dense = ColouredGraph.from_sparse(nx.to_numpy_array(plain), blue, names=[*plain])
    assert dense == families.figure_2() == ColouredGraph.from_sparse(nx.to_scipy_sparse_array(plain), blue, names=[*plain])


def test_graphs_are_equal_in_any_order() -> None:
    edges, colours = [("a", "b"), ("b", "c")], {"a": "blue", "b": "red", "c": "red"}
    graph, turned = ColouredGraph(edges, colours), ColouredGraph(edges[::-1], dict(reversed(colours.items())))
    assert graph == turned
    assert hash(graph) == hash(turned)
    assert graph != graph.dual()
    assert graph != ColouredGraph(edges[:1], colours)
    assert graph != "a graph"


def test_colours_as_a_series() -> None:
    series = pd.Series({"a": True, "b": False})
    assert ColouredGraph([("a", "b")], series).coloured("blue") == ("a",)
    assert ColouredGraph.from_networkx(nx.Graph([("a", "b")]), series).coloured("blue") == ("a",)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: ColouredGraph([([1], 2)], lambda _: True),  # type: ignore[list-item]
            "name must be hashable, such as a text, a tuple or a frozenset, got list",
        ),
        (lambda: ColouredGraph([((1, [2]), 2)], {2: "red"}), "name must be hashable"),
        (lambda: ColouredGraph.from_networkx([(1, 2)], {1: "red", 2: "red"}), "takes a networkx graph, got list"),
        (lambda: ColouredGraph.from_sparse(np.ones((3, 3)), {0, 1}), "blue must be a one-dimensional Boolean array"),
        (lambda: ColouredGraph.from_sparse(np.ones((3, 2)), [True] * 3), r"one column per node, 3, got \(3, 2\)"),
        (lambda: ColouredGraph.from_arrays(np.ones((3, 3)), [True] * 3), "adjacency matrix goes to from_sparse"),
        (lambda: design(nx.Graph(), ApproxDP(1)), "ColouredGraph is needed, got Graph: ColouredGraph.from_networkx"),  # type: ignore[arg-type]
        (lambda: design(families.votes(3), ApproxDP(1)), r"got Family: .*family.graph\(\) of a family"),  # type: ignore[arg-type]
        (lambda: improvable({}, ApproxDP(1), "1/2"), "ColouredGraph is needed, got dict"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_graph(make: Callable[[], object], says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        make()
