from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import networkx as nx
import numpy as np
import pytest

from duotone import ColouredGraph, DuotoneError
from duotone.graphs import families, files
from duotone.graphs.files import read_graph


def parquet(path: Path, rows: str) -> Path:
    with duckdb.connect() as own:
        own.execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")
    return path


def test_a_parquet_file_of_numbers_keeps_no_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK", 1000)
    monkeypatch.setattr(files, "IN_MEMORY", 0)
    n = 5000
    pairs = np.stack([np.arange(n), np.random.default_rng(0).permutation(n)], 1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    np.savetxt(tmp_path / "pairs.csv", pairs, fmt="%d", delimiter=",")
    file = parquet(tmp_path / "pairs.parquet", f"SELECT * FROM '{tmp_path}/pairs.csv'")
    blue = parquet(tmp_path / "blue.parquet", "SELECT range AS node FROM range(0, 5000, 7)")
    graph = read_graph(file, blue=blue)
    direct = ColouredGraph.from_arrays(pairs, np.arange(n) % 7 == 0)
    assert isinstance(graph.names, range)
    assert graph.same_neighbours(direct)
    assert (graph.levels == direct.levels).all()
    text = read_graph(tmp_path / "pairs.csv", blue=blue)
    assert {int(str(d)): text.level(d) for d in text.names} == {d: graph.level(d) for d in graph.names}


def test_parquet_files_of_names(tmp_path: Path) -> None:
    figure = families.figure_2()
    values = ", ".join(f"('{a}', '{b}')" for a, b in figure.edges)
    file = parquet(tmp_path / "figure.parquet", f"SELECT * FROM (VALUES {values}, ('a', 'b')) AS t(source, target)")
    (tmp_path / "blue.csv").write_text("".join(f"{d}\n" for d in figure.coloured("blue")))
    for blue in (figure.coloured("blue"), tmp_path / "blue.csv"):
        graph = read_graph(file, blue=blue)  # type: ignore[arg-type]
        assert {d: graph.level(d) for d in graph.names} == {d: figure.level(d) for d in figure.names}
    sparse = parquet(tmp_path / "sparse.parquet", "SELECT 7 AS a, 10000000000 AS b")
    assert read_graph(sparse, blue=["7"]).names == (7, 10**10)


@pytest.mark.slow
def test_the_command_reads_parquet(tmp_path: Path) -> None:
    file = parquet(tmp_path / "g.parquet", "SELECT range AS a, range + 1 AS b FROM range(3)")
    (tmp_path / "blue.csv").write_text("0\n1\n")
    command: list[str | Path] = [sys.executable, "-m", "duotone", "design", file, "--exp-epsilon", "2", "--delta", "1/10"]
    done = subprocess.run([*command, "--blue-from", tmp_path / "blue.csv", "--json"], capture_output=True, text=True)
    assert json.loads(done.stdout)["datasets"]["0"]["yes"] == "9/10", done.stderr
    both = subprocess.run([*command, "--blue-from", "f", "--blue", "0"], capture_output=True, text=True)
    assert (both.returncode, both.stderr) == (2, "duotone: give --blue or --blue-from, one of the two\n")


def broken(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("build", "blue", "says"),
    [
        (lambda tmp: broken(tmp / "g.parquet", b"PAR1 nothing"), [], "g.parquet is not a Parquet file, or a broken one"),
        (lambda tmp: tmp / "no.parquet", [], "cannot read .*no.parquet: No such file"),
        (lambda tmp: parquet(tmp / "g.parquet", "SELECT 1 AS a"), [], "two columns of integers or of text, got INTEGER"),
        (lambda tmp: parquet(tmp / "g.parquet", "SELECT 1.5 AS a, 2 AS b"), [], "two columns of integers or of text"),
        (lambda tmp: parquet(tmp / "g.parquet", "SELECT 1 AS a, NULL::INT AS b"), [], "an end that is missing"),
        (lambda tmp: parquet(tmp / "g.parquet", "SELECT 1 AS a, 1 AS b"), ["1"], "node 1 is its own neighbour"),
        (lambda tmp: parquet(tmp / "g.parquet", "SELECT 1 AS a, 2 AS b WHERE false"), [], "at least one node"),
        (lambda tmp: parquet(tmp / "g.parquet", "SELECT 1 AS a, 2 AS b"), ["3"], "there is no node 3 to be blue"),
        (lambda tmp: parquet(tmp / "g.parquet", "SELECT 1 AS a, 2 AS b"), Path("none.csv"), "cannot read none.csv"),
        (lambda tmp: parquet(tmp / "g.parquet", "SELECT 1 AS a, 2 AS b"), None, "name the blue nodes"),
        (lambda tmp: broken(tmp / "g.json", b'{"nodes": [], "edges": []}'), Path("b.csv"), "goes with an edge list"),
    ],
)
def test_bad_edge_lists(tmp_path: Path, build: Any, blue: Any, says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        read_graph(build(tmp_path), blue=blue)


def test_a_bad_list_of_blue_nodes(tmp_path: Path) -> None:
    file = parquet(tmp_path / "g.parquet", "SELECT 1 AS a, 2 AS b")
    with pytest.raises(DuotoneError, match="not a list of nodes in Parquet or CSV"):
        read_graph(file, blue=broken(tmp_path / "blue.parquet", b"no"))


def test_blue_files_are_read_as_they_stand(tmp_path: Path) -> None:
    """Blank lines name nobody, nothing is guessed, and a file name is no pattern."""
    edges, blue = tmp_path / "e[1].csv", tmp_path / "b[1].csv"
    edges.write_text("z,b\nb,c\nc,a|1\na|1,a\n")
    (tmp_path / "e1.csv").write_text("x,y\n")
    (tmp_path / "b1.csv").write_text("x\n")
    for text, chosen in {"b\n\n": ("b",), 'b\n""\n': ("b",), "b,\n,\n": ("b",), "a|1\n": ("a|1",), " z \n": ("z",)}.items():
        blue.write_text(text)
        assert read_graph(edges, blue=blue).coloured("blue") == chosen
    file = parquet(tmp_path / "n.parquet", "SELECT * FROM (VALUES (0, 1), (1, 2)) t(a, b)")
    with pytest.raises(DuotoneError, match="a blue node has no name"):
        read_graph(file, blue=parquet(tmp_path / "blue.parquet", "SELECT * FROM (VALUES (2), (NULL)) t(a)"))


def test_an_edge_list_needs_its_blue_nodes(tmp_path: Path) -> None:
    """In words: a flag of the command is the command's to name."""
    (tmp_path / "edges.csv").write_text("a,b\n")
    with pytest.raises(DuotoneError, match=r"^an edge list has no colours: name the blue nodes$"):
        read_graph(tmp_path / "edges.csv")


@pytest.mark.parametrize("ending", files.PLAIN)
def test_plain_edge_lists(tmp_path: Path, ending: str) -> None:
    """As networkx writes them, and by hand."""
    figure, place = families.figure_2(), tmp_path / f"g{ending}"
    plain = figure.to_networkx()
    plain.add_edge("a", "b", weight=2, text="epsilon")
    for options in ({}, {"data": False}, {"delimiter": "\t"}):
        nx.write_edgelist(plain, place, **options)
        graph = read_graph(place, blue=[str(d) for d in figure.coloured("blue")])
        assert {d: graph.level(d) for d in graph} == {d: figure.level(d) for d in figure}
    place.write_text("# all of it\n a  b {}\r\nb\tc\n\n  \nd # alone\n'x \"y\n1,2 3{4\n{} 3{4\n")
    graph = read_graph(place, blue=["d"])
    assert list(graph) == ["a", "b", "c", "'x", '"y', "1,2", "3{4", "{}", "d"]
    assert {frozenset(pair) for pair in graph.edges} == {
        frozenset(pair) for pair in (("a", "b"), ("b", "c"), ("'x", '"y'), ("1,2", "3{4"), ("{}", "3{4"))
    }


def test_blue_nodes_that_are_something_else(tmp_path: Path) -> None:
    """A second column may be the colour: then most nodes of the first one are not blue."""
    edges, blue = tmp_path / "edges.csv", tmp_path / "blue.csv"
    edges.write_text("a,b\nb,c\n")
    blue.write_text("node,side\na,blue\nb,red\n")
    with pytest.raises(DuotoneError, match=r"blue.csv has more than one column: list the blue nodes alone, one in a row"):
        read_graph(edges, blue=blue)
    with pytest.raises(DuotoneError, match="more than one column"):
        read_graph(edges, blue=parquet(tmp_path / "blue.parquet", "SELECT 'a' AS node, 'blue' AS side"))
    for path in (edges, tmp_path / "g.graphml"):
        with pytest.raises(
            DuotoneError, match="the blue nodes are a list of names, or the Path of a file that lists them, got one text"
        ):
            read_graph(path, blue="ab")
    edges.write_text("a;b\nb;c\n")
    with pytest.raises(DuotoneError, match="no node b to be blue, and no row has two nodes: separate them by a comma"):
        read_graph(edges, blue=["b"])
