"""Positions in pictures: datasets, edges, bars and curves, in the units of an SVG; templates write them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from duotone.graphs.graph import ColouredGraph
from duotone.plotting.graphs import columns_by_level

COLUMN, ROW, TALLEST = 78, 88, 1100
"""Units between columns and rows of datasets, and the greatest height of a column."""
MARGIN, NARROWEST, LOWEST = 52, 400, 240
LABELLED = 40
"""Up to this many datasets, each shows its name and probabilities."""

Places = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Dataset:
    """A dataset as drawn: a disc for yes, a square for no."""

    name: str
    blue: bool
    x: float
    y: float
    on_boundary: bool
    on_path: bool
    yes: float | None
    error: float | None


@dataclass(frozen=True)
class Edge:
    """Two neighbours as drawn; `across` if their answers differ."""

    names: tuple[str, str]
    ends: tuple[float, float, float, float]
    across: bool
    on_path: bool


@dataclass(frozen=True)
class Drawing:
    """A coloured graph, and its box."""

    datasets: tuple[Dataset, ...]
    edges: tuple[Edge, ...]
    box: tuple[int, int, int, int]
    radius: float
    labelled: bool

    @property
    def size(self) -> str:
        """The least width: a picture that fits shrinks to a phone's width, a wider one scrolls sideways."""
        return next((name for most, name in ((480, "fits"), (720, "wide"), (1100, "wider")) if self.box[2] <= most), "huge")

    @property
    def scale(self) -> float:
        """How much it is enlarged if there is room."""
        return 1.0 if self.box[3] > 480 else 1.3 if self.size == "fits" else 1.15


def drawing(
    graph: ColouredGraph,
    places: Places,
    entries: Mapping[str, Mapping[str, Any]] | None = None,
    path: Sequence[str] = (),
) -> Drawing:
    """A graph with datasets at given places, or else in columns by level; with a mechanism's probabilities, and a path
    to highlight."""
    names = graph.labels()
    where, row = (places, ROW) if set(names) <= set(places) else _arranged(graph, names)
    steps = {frozenset(pair) for pair in itertools.pairwise(path)}
    on_boundary = graph.on_boundary.tolist()
    datasets = [
        Dataset(
            name,
            bool(graph.blue[i]),
            *where[name],
            on_boundary=on_boundary[i],
            on_path=name in path,
            yes=_number(entries, name, "yes"),
            error=_number(entries, name, "error"),
        )
        for i, name in enumerate(names)
    ]
    edges = [
        Edge(
            (names[a], names[b]),
            (*where[names[a]], *where[names[b]]),
            across=bool(graph.blue[a] != graph.blue[b]),
            on_path=frozenset((names[a], names[b])) in steps,
        )
        for a, b in graph.edge_array().tolist()
    ]
    labelled = len(names) <= LABELLED and row >= ROW / 2
    radius = 16 if labelled else max(2.5, min(9.0, row * 0.38))
    return Drawing(tuple(datasets), tuple(edges), _box(where[name] for name in names), radius, labelled)


def _arranged(graph: ColouredGraph, names: Sequence[str]) -> tuple[Places, float]:
    """Columns by level, and the distance between their rows."""
    by_name: Mapping[Hashable, tuple[float, float]] = columns_by_level(graph)
    heights = [y for _, y in by_name.values()]
    rows = max(heights) - min(heights)
    row = min(ROW, TALLEST / max(rows, 1))
    each = zip(names, graph.names, strict=True)
    return {name: (round(by_name[d][0] * COLUMN, 1), round(by_name[d][1] * row, 1)) for name, d in each}, row


def _number(entries: Mapping[str, Mapping[str, Any]] | None, name: str, key: str) -> float | None:
    return None if entries is None else float(Fraction(entries[name][key]))


def _box(points: Iterable[tuple[float, float]]) -> tuple[int, int, int, int]:
    """Left, top, width and height of a box around points, with a clickable margin."""
    across, down = zip(*points, strict=True)
    (left, width), (top, height) = _side(across, NARROWEST), _side(down, LOWEST)
    return left, top, width, height


def _side(values: Collection[float], least: int) -> tuple[int, int]:
    start, end = min(values) - MARGIN, max(values) + MARGIN
    spare = max(0, least - (end - start)) / 2
    return math.floor(start - spare), math.ceil(end - start + 2 * spare)


EMPTY = Drawing((), (), (0, 0, NARROWEST, LOWEST), 16, labelled=True)
"""The empty box, for the first dataset."""


@dataclass(frozen=True)
class Bar:
    """A level: the least and the greatest probability of yes at its datasets."""

    level: str
    datasets: int
    blue: bool
    least: float
    most: float


def bars(graph: ColouredGraph, entries: Mapping[str, Mapping[str, Any]]) -> list[Bar]:
    """The line: a bar for each level, the surest yes first."""
    levels: dict[float, list[float]] = {}
    for name, d in zip(graph.labels(), graph.names, strict=True):
        levels.setdefault(graph.level(d), []).append(float(Fraction(entries[name]["yes"])))
    return [
        Bar("∞" if level > 0 else "−∞", len(yes), level > 0, min(yes), max(yes))
        if math.isinf(level)
        else Bar(str(int(level)).replace("-", "−"), len(yes), level >= 0, min(yes), max(yes))
        for level, yes in sorted(levels.items(), reverse=True)
    ]


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high`, with ticks and a label; `log` for a logarithmic one."""

    low: float
    high: float
    label: str
    ticks: tuple[float, ...]
    log: bool = False

    def place(self, value: float) -> float:
        """A value's position: 0 at the low end, 1 at the high one."""
        scale: Callable[[float], float] = math.log if self.log else float
        return (scale(min(max(value, self.low), self.high)) - scale(self.low)) / (scale(self.high) - scale(self.low))


@dataclass(frozen=True)
class Plot:
    """A curve in a frame, with dots, in the units of the SVG."""

    title: str
    says: str
    x: Axis
    y: Axis
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    line: str
    dots: tuple[tuple[float, float, str], ...]


FRAME = (46.0, 14.0, 304.0, 216.0)
"""Left, top, width and height of a plot's frame, in a picture of 360 × 280."""


def plot(
    points: Iterable[tuple[float, float]],
    *,
    x: Axis,
    y: Axis,
    title: str,
    says: str,
    dots: Iterable[tuple[float, float, str]] = (),
) -> Plot:
    """A curve through points, and dots with a sentence each; `says` describes the picture."""
    left, top, width, height = FRAME

    def at(across: float, up: float) -> tuple[float, float]:
        return round(left + width * x.place(across), 1), round(top + height * (1 - y.place(up)), 1)

    return Plot(
        title,
        says,
        x,
        y,
        tuple((at(value, y.low)[0], f"{value:,g}") for value in x.ticks),
        tuple((at(x.low, value)[1], f"{value:g}") for value in y.ticks),
        " ".join(f"{a:g},{b:g}" for a, b in (at(*point) for point in points)),
        tuple((*at(across, up), word) for across, up, word in dots),
    )
