"""A certificate of a graph: every pair of neighbours is private, and no dataset could be more truthful."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from duotone.release.certificate_numbers import Unproved, as_kind, read_entry, read_fraction
from duotone.release.certificate_steps import Step, check_close, check_error, checked_boundary, rounded_down

LONG, MOST_WORK = 2**14, 2**31
"""A graph whose numbers have more than LONG bits together may have MOST_WORK divided by these bits edges and datasets."""


@dataclass(frozen=True)
class _Graph:
    """A certificate of a graph: what it says, and per dataset its entry, its colour and its neighbours; which are fixed."""

    datasets: Mapping[str, Any]
    edges: Any
    boundary: Any
    lowered: Any
    truth: Mapping[str, int]
    blue: Mapping[str, bool]
    near: Mapping[str, set[str]]
    fixed: set[str]

    def witness(self, d: str) -> Any:
        """The neighbour that is said to hold a dataset down."""
        return self.datasets[d]["from"]

    def boundary_value(self, d: str) -> Any:
        """What was asked for at a fixed dataset."""
        return self.boundary[d] if isinstance(self.boundary, dict) else self.boundary


def prove_graph(certificate: Mapping[str, Any], step: Step, ceiling: Step) -> int:
    """Check a certificate of a graph; how many datasets it has."""
    graph = _read_graph(certificate, step)
    _check_boundary(graph, step, ceiling)
    _check_private(graph, step)
    _check_optimal(graph, step, ceiling)
    return len(graph.truth)


def _read_graph(certificate: Mapping[str, Any], step: Step) -> _Graph:
    datasets, boundary, lowered = as_kind(dict, certificate["datasets"]), certificate["boundary"], certificate["lowered"]
    if not datasets:
        raise Unproved("a graph without datasets proves nothing")
    truth = {d: read_entry(entry["truth"], step.one) for d, entry in datasets.items()}
    blue = {d: _colour(entry["colour"]) for d, entry in datasets.items()}
    edges = certificate["edges"]
    near = _neighbours(datasets, edges)
    rim = {d for d in datasets if any(blue[d] != blue[e] for e in near[d])}
    fixed = rim if boundary == "balanced" else {d for d in rim if blue[d]}
    return _Graph(datasets, edges, boundary, lowered, truth, blue, near, fixed)


def _check_boundary(graph: _Graph, step: Step, ceiling: Step) -> None:
    """What is asked for stands at the blue boundary, all of it, and nothing else is said to be lowered."""
    by_dataset = isinstance(graph.boundary, dict)
    if by_dataset and set(graph.boundary) != graph.fixed:
        raise Unproved("the boundary values are not those of the blue boundary")
    if not by_dataset and graph.boundary != "balanced":
        rounded_down(graph.boundary, step)
    _bounded(graph, step, ceiling)
    if not set(as_kind(dict, graph.lowered)) <= (graph.fixed if by_dataset else set()):
        raise Unproved("a value is lowered that was not given")


def _check_private(graph: _Graph, step: Step) -> None:
    """Definition 1, for every pair of neighbours; and the errors that stand beside the entries."""
    yes = {d: t if graph.blue[d] else step.one - t for d, t in graph.truth.items()}
    for d, entry in graph.datasets.items():
        check_error(entry["error"], graph.truth[d], step)
        if not all(step.private(yes[d], yes[e]) for e in graph.near[d]):
            raise Unproved(f"dataset {d} differs from a neighbour by more than the budget allows")


def _check_optimal(graph: _Graph, step: Step, ceiling: Step) -> None:
    """No dataset could be more truthful: each is held down along a chain that ends where the truth is fixed."""
    above: dict[str, int] = {}  # bounds from above on the real optimum
    for d in graph.fixed:
        held = _lowered(d, graph, step) if d in graph.lowered else None
        above[d], _ = checked_boundary(graph.boundary_value(d), graph.truth[d], None, step, ceiling, held=held)
        check_close(above[d], graph.truth[d], step)
    for start in graph.truth:
        for d in reversed(_chain(start, graph, above, step)):
            witness = graph.witness(d)
            alike = graph.blue[witness] == graph.blue[d]
            above[d] = ceiling(above[witness] if alike else step.one - rounded_down(graph.boundary_value(witness), step))
            check_close(above[d], graph.truth[d], step)


def _chain(start: str, graph: _Graph, ends: Mapping[str, int], step: Step) -> list[str]:
    """The datasets from one to the last before `ends`, each held down by the next; none where the truth is certain."""
    chain: dict[str, None] = {}
    d = start
    while d not in ends and graph.truth[d] < step.one:
        witness = graph.witness(d)
        if d in chain or witness not in graph.near[d]:
            raise Unproved(f"dataset {d} has no chain of tight steps to a fixed boundary dataset")
        alike = graph.blue[witness] == graph.blue[d]
        if not alike and witness not in graph.fixed:
            raise Unproved(f"the witness of dataset {d} has the other colour and is not fixed")
        if graph.truth[d] != step(graph.truth[witness] if alike else step.one - graph.truth[witness]):
            raise Unproved(f"dataset {d} is not held down by its witness")
        chain[d] = None
        d = witness
    return list(chain)


def _bounded(graph: _Graph, step: Step, ceiling: Step) -> None:
    """Refuse a small file that would take minutes: very long numbers, used again and again."""
    values = graph.boundary.values() if isinstance(graph.boundary, dict) else [graph.boundary]
    longest = max((_bit_length(read_fraction(value)) for value in values if value != "balanced"), default=0)
    lengths = map(_bit_length, (step.ratio, ceiling.ratio, step.delta))
    size = step.one.bit_length() + longest + sum(lengths)
    paths = sum(len(as_kind(list, path)) for path in as_kind(dict, graph.lowered).values())
    work = len(graph.edges) + len(graph.datasets) + paths
    if size > LONG and size * work > MOST_WORK:
        raise Unproved("the certificate has too many edges, datasets or paths for numbers as long as its own")


def _bit_length(x: Fraction) -> int:
    return x.numerator.bit_length() + x.denominator.bit_length()


def _lowered(d: str, graph: _Graph, step: Step) -> int:
    """What a path from a boundary dataset with its full value leaves room for at d."""
    path = as_kind(list, graph.lowered[d])
    if not (len(path) > 1 and path[-1] == d and path[0] not in graph.lowered):
        raise Unproved(f"the path that lowers dataset {d} does not start at a full boundary value")
    if len(set(path)) < len(path) or not all(b in graph.near[a] for a, b in pairwise(path)):
        raise Unproved(f"the path that lowers dataset {d} leaves the graph, or comes to a dataset twice")
    value = rounded_down(graph.boundary[path[0]], step)
    for _ in path[1:]:
        value = step(value)
    return value


def _neighbours(datasets: Mapping[str, Any], edges: Any) -> dict[str, set[str]]:
    near: dict[str, set[str]] = {d: set() for d in datasets}
    for edge in as_kind(list, edges):
        a, b = as_kind(list, edge)
        if a == b or a not in near or b not in near:
            raise Unproved("an edge does not join two datasets of the certificate")
        near[a].add(b)
        near[b].add(a)
    return near


def _colour(text: Any) -> bool:
    """Whether a dataset is blue."""
    if text not in ("blue", "red"):
        raise Unproved("a colour is blue or red")
    return bool(text == "blue")
