"""Graphs of the studio: from typed text, from files, and back."""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from duotone.errors import DuotoneError
from duotone.graphs import families
from duotone.graphs.files import HEADS, read_networkx
from duotone.graphs.graph import ColouredGraph
from duotone.resources import temporary_folder

MOST_DATASETS, MOST_EDGES, MOST_TEXT = 200, 2_000, 100_000
FAR = 1e5
"""The largest coordinate of a dataset."""


def from_text(edges: str, blue: str) -> ColouredGraph:
    """A graph from its edge list and its blue datasets, as `duotone design edges.csv --blue` reads them.

    Two names with a comma between them are neighbours; a single name is a dataset without neighbours; a name that
    contains a comma stands in double quotes.

    >>> from_text("a, b\\nb, c\\nd", "a, b").level("a")
    1
    """
    if len(edges) + len(blue) > MOST_TEXT:
        raise DuotoneError(f"the studio takes graphs of up to {MOST_TEXT:,} characters, got {len(edges) + len(blue):,}")
    if any("\ud800" <= character <= "\udfff" for character in edges + blue):
        raise DuotoneError("a name must be text, without halves of characters")
    pairs: dict[tuple[str, str], None] = {}
    names: dict[str, None] = {}
    for number, row in _rows(edges):
        if number == 1 and tuple(name.lower() for name in row) in HEADS:
            continue
        if len(row) > 2 or "" in row:
            raise DuotoneError(f"line {number}: write two datasets with a comma between them, or one that has no neighbours")
        if len(row) == 2:
            if row[0] == row[1]:
                raise DuotoneError(f"line {number}: a dataset is not its own neighbour")
            pairs[min(row), max(row)] = None
        names |= dict.fromkeys(row)
        if len(names) > MOST_DATASETS or len(pairs) > MOST_EDGES:
            raise DuotoneError(f"the studio draws up to {MOST_DATASETS} datasets and {MOST_EDGES:,} pairs of neighbours")
    chosen = {name for _, row in _rows(blue) for name in row if name}
    if unknown := sorted(chosen - set(names)):
        raise DuotoneError(f"there is no dataset {unknown[0]} to be blue")
    return ColouredGraph(pairs, {name: "blue" if name in chosen else "red" for name in names})


def _rows(text: str) -> list[tuple[int, list[str]]]:
    """Non-blank lines with their numbers, as names without surrounding blanks."""
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    rows = [(reader.line_num, [name.strip() for name in row]) for row in reader]
    return [(number, row) for number, row in rows if any(row)]


def to_text(graph: ColouredGraph) -> tuple[str, str]:
    """The edge list of a graph and its blue datasets, for `from_text`."""
    names = graph.labels()
    joined = [(names[a], names[b]) for a, b in graph.edge_array().tolist()]
    alone = set(names) - {name for pair in joined for name in pair}
    blue = [name for name, is_blue in zip(names, graph.blue.tolist(), strict=True) if is_blue]
    return _written([*joined, *((name,) for name in names if name in alone)]), _written([tuple(blue)])


def _written(rows: list[tuple[str, ...]]) -> str:
    return "\n".join(", ".join(map(quoted, row)) for row in rows)


def quoted(name: str) -> str:
    """A name in a list: in double quotes if a comma, a quote or a blank at its end would mislead.

    >>> quoted("a"), quoted("2,1")
    ('a', '"2,1"')
    """
    plain = name == name.strip() and not set(name) & set(',"\r\n') and name
    return name if plain else '"' + name.replace('"', '""') + '"'


def from_file(name: str, content: bytes) -> ColouredGraph:
    """A coloured graph from an uploaded file: node-link JSON, GraphML or an edge list, by the ending of its name."""
    ending = Path(name).suffix.lower()
    if len(content) > MOST_TEXT:
        raise DuotoneError(f"the studio takes files of up to {MOST_TEXT:,} bytes, got {len(content):,}")
    if ending not in (".json", ".graphml"):
        raise DuotoneError("the file must end in .json (node-link), .graphml, or .csv (an edge list)")
    if b"<!" in content:
        raise DuotoneError("a GraphML file must not declare a document type or hold comments")
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        place = Path(folder) / f"graph{ending}"
        place.write_bytes(content)
        try:
            graph = ColouredGraph.from_networkx(read_networkx(place, "the file"))
        except DuotoneError:
            raise  # in our words
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError):  # from a file that only resembles one
            raise DuotoneError("the file is not a graph with coloured nodes") from None
    return from_text(*to_text(graph))


def places_from(text: str) -> dict[str, tuple[float, float]]:
    """Where datasets were placed by hand: a JSON object of pairs of numbers."""
    if not text.strip():
        return {}
    try:
        places = {str(name): (float(x), float(y)) for name, (x, y) in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        raise DuotoneError("the places of the datasets must be pairs of numbers by name") from None
    if not all(math.isfinite(z) and abs(z) <= FAR for place in places.values() for z in place):
        raise DuotoneError("a dataset is placed too far away to be drawn")
    return places


@dataclass(frozen=True)
class Example:
    """An example graph, with a budget."""

    title: str
    says: str
    graph: Callable[[], ColouredGraph]
    exp_epsilon: str = "2"
    delta: str = "0.1"
    each: str = ""
    places: dict[str, tuple[float, float]] | None = None


def _figure_2() -> dict[str, tuple[float, float]]:
    return {str(name): (92 * x, 88 * y) for name, (x, y) in families.FIGURE_2_POSITIONS.items()}


EXAMPLES = {
    "voters": Example(
        "Three voters", "Fig. 1(a): everybody’s vote, and whether yes has the majority", lambda: families.votes(3).graph()
    ),
    "turnout": Example(
        "Who votes",
        "Fig. 1(b): two for yes and two for no, each of whom may stay at home",
        lambda: families.turnout(2, 2).graph(),
    ),
    "figure-2": Example(
        "Figure 2",
        "the paper’s general graph, with a value of its own at each end of the boundary",
        families.figure_2,
        each="h=0.6, l=0.7",
        places=_figure_2(),
    ),
    "clash": Example(
        "A clash",
        "the same graph with a budget under which these two values cannot both be had",
        families.figure_2,
        exp_epsilon="1.1",
        delta="0",
        each="h=0.6, l=0.7",
        places=_figure_2(),
    ),
    "path": Example("A path", "the line to which every graph leads", lambda: families.line(5, 4).graph(), "1.3"),
    "cube": Example("A hypercube", "four people with a bit each: do all say 1?", lambda: families.hypercube(4, all).graph()),
    "weights": Example(
        "Weighted votes", "shares of 5, 3, 1 and 1: do they reach 6?", lambda: families.weighted([5, 3, 1, 1], 6).graph()
    ),
    "counts": Example(
        "Counts",
        "up to four people in two groups, who join or leave: is the first one larger?",
        lambda: families.histograms(2, 4, lambda counts: counts[0] > counts[1]).graph(),
    ),
}
