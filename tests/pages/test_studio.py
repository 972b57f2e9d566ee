"""The studio: what it draws is what the command prints, and what cannot be drawn is said."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import networkx as nx
import pytest
from starlette.testclient import TestClient

from duotone.desk.callers import Refused
from duotone.graphs import families
from duotone.pages.drawn_graph import EXAMPLES, MOST_TEXT, from_file, from_text, places_from, quoted, to_text
from duotone.pages.studio import Asked, example, show
from support.pages import ANA, page_app
from support.running import run


@pytest.fixture
def client() -> TestClient:
    return TestClient(page_app(None), follow_redirects=False)


CASES = [
    Asked("a, b\nb, c\nc, d\nb, d\ne", "a, b", unit="epsilon", epsilon="0.5", delta="1e-6"),
    Asked("a, b\nb, c\nc, d\nb, d\ne", "a, b", unit="epsilon", epsilon="0.5", delta="1e-6", boundary="one", value="0.9"),
    Asked("a, b\nb, c\nc, d\nb, d\ne", "a, b", unit="exp_epsilon", epsilon="2", delta="0.1"),
    example("figure-2"),
    example("turnout"),
]


def test_the_studio_shows_what_the_command_prints(
    tmp_path: Path, client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, asked in enumerate(CASES):
        file = tmp_path / f"{number}.csv"
        file.write_text(asked.edges)
        boundary = {"balanced": "balanced", "one": asked.value, "each": asked.each}[asked.boundary]
        command = ["design", str(file), "--blue", asked.blue, f"--{asked.unit.replace('_', '-')}", asked.epsilon]
        command += ["--delta", asked.delta, "--boundary", boundary, "--json"]
        if number:
            code, out, _ = run(capsys, *command)  # in this process, to save time
        else:
            done = subprocess.run([sys.executable, "-m", "duotone", *command], capture_output=True, text=True)
            code, out = done.returncode, done.stdout
        assert code == 0
        printed = json.loads(out)
        saved = client.post("/studio/mechanism.json", data=vars(asked)).json()
        assert saved["datasets"] == printed["datasets"]
        assert saved["privacy"] == printed["privacy"]
        assert {frozenset(edge) for edge in saved["edges"]} == {frozenset(edge) for edge in printed["edges"]}
        drawn = show(asked).drawing
        assert drawn is not None
        for dataset in drawn.datasets:
            assert dataset.yes == float(Fraction(printed["datasets"][dataset.name]["yes"]))
            assert dataset.error == float(Fraction(printed["datasets"][dataset.name]["error"]))


def test_the_table_has_the_numbers_as_they_are(client: TestClient) -> None:
    page = client.get("/studio").text
    assert re.search(r'<th scope="row">111</th>.*?<td>1</td><td>9/10</td><td>1/10</td>', page, re.S)
    assert "wrong with probability 0.3 at most" in page


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_drawn(client: TestClient, name: str) -> None:
    answer = client.get(f"/studio?example={name}")
    assert answer.status_code == 200
    shown = show(example(name))
    assert shown.clash == (name == "clash")
    assert shown.drawing is not None
    assert len(shown.drawing.datasets) == len(EXAMPLES[name].graph())
    if not shown.clash:
        assert sum(bar.datasets for bar in shown.bars) == len(EXAMPLES[name].graph())
        assert [*shown.bars] == sorted(shown.bars, key=lambda bar: -bar.most)


def test_a_clash_shows_its_path(client: TestClient) -> None:
    shown = show(example("clash"))
    assert shown.drawing is not None
    assert {d.name for d in shown.drawing.datasets if d.on_path} == set("hnql")
    assert {frozenset(edge.names) for edge in shown.drawing.edges if edge.on_path} == {*map(frozenset, ("hn", "nq", "ql"))}
    page = client.get("/studio?example=clash").text
    assert "l asks for 0.00052592 more than h allows along h–n–q–l" in page


def test_mistakes_are_sentences_beside_the_drawing(client: TestClient) -> None:
    drawn, text = {"edges": "a, b", "blue": "a"}, {"HX-Request": "true"}
    for change, sentence in [
        ({"epsilon": "-1"}, "e^epsilon must be finite and at least 1, got -1"),
        ({"unit": "epsilon", "epsilon": "x"}, "epsilon must be a decimal or a fraction"),
        ({"delta": "1.2"}, "delta must be in [0, 1), got 6/5"),
        ({"epsilon": "1" * 41}, "at most 40 characters"),
        ({"boundary": "one", "value": "2"}, "must be in [0, 1], got 2"),
        ({"boundary": "each", "each": "a=1/2, a=1/3"}, "dataset a is given two values"),
        ({"boundary": "each", "each": "c=1/2"}, "there is no dataset c to fix at the boundary"),
        ({"boundary": "each", "each": f"a={'1' * 41}"}, "the value at a must have at most 40 characters"),
        ({"boundary": "each", "each": ""}, "dataset a is on the blue boundary and has no value"),
        ({"boundary": "each", "each": "b=1/2, a=1/2"}, "dataset b is not on the blue boundary"),
    ]:
        answer = client.post("/studio/result", data=drawn | change, headers=text)
        assert (answer.status_code, sentence in answer.text, 'data-name="a"' in answer.text) == (422, True, True), answer.text
    for change, sentence in [
        ({"edges": "a, b, c"}, "line 1: write two datasets"),
        ({"edges": "a, b\na, a"}, "line 2: a dataset is not its own neighbour"),
        ({"edges": "a,"}, "line 1: write two datasets"),
        ({"blue": "z"}, "there is no dataset z to be blue"),
        ({"edges": "\n".join(f"0, {i}" for i in range(1, 202))}, "up to 200 datasets"),
        ({"edges": "\n".join(f"{i}, {j}" for i in range(64) for j in range(i))}, "2,000 pairs of neighbours"),
        ({"edges": "a" * (MOST_TEXT + 1)}, "up to 100,000 characters"),
        ({"places": "[]"}, "pairs of numbers"),
        ({"places": '{"a": [1e99, 0]}'}, "too far away"),
        ({"places": '{"a": [NaN, 0]}'}, "too far away"),
    ]:
        answer = client.post("/studio/result", data=drawn | change, headers=text)
        assert answer.status_code == 422, answer.text
        assert sentence in answer.text
    assert client.post("/studio/mechanism.json", data={"edges": ""}).status_code == 422
    assert client.get("/studio?example=none").status_code == 404


def test_nothing_drawn_yet(client: TestClient) -> None:
    answer = client.post("/studio/result", data={"edges": "", "blue": ""})
    assert answer.status_code == 200
    assert "There is no dataset yet" in answer.text


def test_an_odd_graph_is_drawn(client: TestClient) -> None:
    assert "every answer is true" in client.post("/studio", data={"edges": "a, b\nc", "blue": "a, b"}).text
    free = {"edges": "a, r\nr, b", "blue": "a, b", "boundary": "each", "each": "a=3/10, b=7/10"}
    assert "dataset a could tell the truth with probability 0.7" in client.post("/studio", data=free).text
    rows = [f"{i}, r" for i in range(7)]
    many = {"edges": "\n".join(rows), "blue": ", ".join(map(str, range(7))), "boundary": "each"}
    many["each"] = ", ".join(f"{i}={'3/10' if i else '7/10'}" for i in range(7))
    assert "so could 1 more, more often" in client.post("/studio", data=many).text
    votes = to_text(families.votes(7).graph())
    assert client.post("/studio", data={"edges": votes[0], "blue": votes[1]}).text.count('<g class="dataset') == 128


def test_text_comes_back_as_it_went() -> None:
    for graph in (families.figure_2(), families.turnout(2, 1).graph(), families.histograms(2, 3, lambda c: c[0] > 1).graph()):
        again = from_text(*to_text(graph))
        assert set(again.labels()) == set(graph.labels())
        colours = {name: graph.colour(d) for name, d in zip(graph.labels(), graph.names, strict=True)}
        assert {d: again.colour(d) for d in again.names} == colours
        assert len(again.indices) == len(graph.indices)
    for name in ("a b", 'say "so"', "1,2", " x ", ""):
        assert from_text(f"{quoted(name)}, y", "").labels() == [name.strip(), "y"] if name else quoted(name) == '""'
    assert places_from(" ") == {}
    assert places_from('{"a": [1, 2.5]}') == {"a": (1, 2.5)}


def test_the_same_edge_is_drawn_once_and_a_head_is_passed_over() -> None:
    graph = from_text("source, target\nb, a\na, b", "")
    assert (graph.labels(), len(graph.indices)) == (["b", "a"], 2)


def _node_link(graph: nx.Graph[str]) -> bytes:
    return json.dumps(nx.node_link_data(graph, edges="edges")).encode()


def _graphml(graph: nx.Graph[str]) -> bytes:
    text = io.BytesIO()
    nx.write_graphml(graph, text)
    return text.getvalue()


def test_files_are_read(client: TestClient) -> None:
    graph = families.figure_2().to_networkx()
    for name, content in {"g.json": _node_link(graph), "G.GRAPHML": _graphml(graph)}.items():
        assert from_file(name, content).level("a") == families.figure_2().level("a")
        page = client.post("/studio/load", files={"file": (name, content)})
        assert page.status_code == 200
        assert "(3, 4)-line" in page.text
    page = client.post("/studio/load", files={"file": ("edges.csv", b"a,b\nb,c\n")})
    assert 'data-name="c"' in page.text


def test_files_that_cannot_be_read(client: TestClient) -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>'
    for name, content, sentence in [
        ("g.json", b"{}", "the file is not node-link JSON"),
        ("g.json", b"[" * 20_000, "the file is"),
        ("g.json", b'{"nodes": [], "edges": [], "graph": null}', "the file is not a graph with coloured nodes"),
        ("g.json", b'{"nodes": [{"id": "\\ud800", "colour": "red"}], "edges": []}', "without halves of characters"),
        ("g.graphml", b"<x", "the file is not a GraphML file"),
        ("g.graphml", bomb, "must not declare a document type"),
        ("g.json", b" " * (MOST_TEXT + 1), "up to 100,000 bytes"),
        ("g.exe", b"", "the file must end in"),
        ("g.csv", b"\xff\xfe", "text in UTF-8"),
        ("g.csv", b"a" * (MOST_TEXT + 1), "up to 100,000 characters"),
    ]:
        answer = client.post("/studio/load", files={"file": (name, content)})
        assert answer.status_code == 422
        assert sentence in answer.text, (name, content[:20])
    assert client.post("/studio/load", data={"csrf": "x"}).status_code == 422


def test_names_are_data() -> None:
    name = "<script>alert(1)</script>\u202e\x1b'\""
    page = TestClient(page_app(None, ANA)).post("/studio", data={"edges": f"{quoted(name)}, b", "blue": quoted(name)}).text
    shown = re.sub(r'(?s)<textarea.*?</textarea>|data-\w+="[^"]*"', "", page)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u202e\\x1b&#39;&#34;" in shown
    assert not {"\u202e", "\x1b"} & set(shown)


def test_whoever_is_not_logged_in_goes_to_the_door() -> None:
    client = TestClient(page_app(None, None), follow_redirects=False)
    for address in ("/", "/studio"):
        answer = client.get(address)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    part = client.post("/studio/result", headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["hx-redirect"]) == (204, "/login")


def test_unknown_examples_are_refused() -> None:
    with pytest.raises(Refused, match="there is no example x"):
        example("x")
