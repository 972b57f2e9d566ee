"""Certificates: a mechanism re-checked with integers only, by someone who trusts nothing in it.

A certificate proves that its table is private (every pair of neighbours, as integers), that it is optimal (every entry
is held down by a chain of tight steps that ends at a fixed boundary value, and lies within 2^−60 of a bound from above
on the real optimum) and that its ratio is e^ε rounded down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from duotone.release.certificate_numbers import (
    Unproved,
    as_kind,
    brief,
    exp_bounds,
    read_bits,
    read_entry,
    read_fraction,
)

__all__ = ["Unproved", "exp_bounds", "prove"]

CLOSE = 100
"""The ratio must be within 2^−CLOSE of e^ε, relative to e^ε − 1."""
LOSS = 60
"""Rounding must cost less than 2^−LOSS against the real optimum."""
LARGEST_EPSILON, LONGEST_EPSILON = 2**13, 3_000
LONG, MOST_WORK = 2**14, 2**31
"""A graph whose numbers have more than LONG bits together may have MOST_WORK divided by these bits edges and datasets."""


def prove(certificate: Any) -> str:
    """Check that a mechanism is private and as often right as can be, by the certificate that comes with its answers.

    Use it on what you received, trusting neither the sender nor the file. `certificate` is the JSON object: what
    `Answer.certificate()` gave, or a file read by `duotone.graphs.document.read`. The sentence that comes back says what was
    proved (its ratio is e^ε); a certificate that does not prove its claims raises `Unproved`, which says what fails. That an
    answer was drawn from this mechanism is not in it: for that, one trusts whoever drew.

    Guarantee: integer arithmetic only; nothing that the certificate says is taken for granted.

    >>> from duotone import ApproxDP, Coin, balanced
    >>> answer = Coin(balanced(ApproxDP(exp_epsilon=2, delta="1/10"))).answer(3)
    >>> prove(answer.certificate())
    'private and optimal: 8 levels under ratio 2, delta 1/10'
    """
    try:
        kind, version = certificate["certificate"], certificate["version"]
        if kind not in ("line", "graph") or type(version) is not int or version != 1:
            raise Unproved("this is not a certificate of version 1")
        _claims(certificate["claims"])
        ratio, above, delta = _definition(certificate["privacy"])
        bits = read_bits(certificate["bits"])
        step, ceiling = _Step(ratio, delta, bits), _Step(above, delta, bits, up=True)
        count = (_prove_line if kind == "line" else _prove_graph)(certificate, step, ceiling)
    except Unproved:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError):
        raise Unproved("this is not a certificate: something in it is missing or of another kind") from None
    known = "ratio" if certificate["privacy"]["epsilon"] is None else "epsilon"
    budget = ", ".join(f"{name} {brief(certificate['privacy'][name])}" for name in (known, "delta"))
    return f"private and optimal: {count} {'levels' if kind == 'line' else 'datasets'} under {budget}"


class _Step:
    """φ on integers over 2^bits, rounded down (or up), and Definition 1 itself."""

    def __init__(self, ratio: Fraction, delta: Fraction, bits: int, *, up: bool = False) -> None:
        self.one, self.up, self.ratio, self.delta = 1 << bits, up, ratio, delta
        self.a, self.b, self.c, self.d = ratio.numerator, ratio.denominator, delta.numerator, delta.denominator
        self.left, self.right, self.room = self.b * self.d, self.a * self.d, self.b * self.c * self.one

    def __call__(self, t: int) -> int:
        first = (self.right * t + self.room + self.up * (self.left - 1)) // self.left
        second = self.one + (self.room - self.left * (self.one - t) + self.up * (self.right - 1)) // self.right
        return min(self.one, first, second)

    def private(self, p: int, q: int) -> bool:
        """Definition 1 for two neighbours that say yes with p and q."""
        sides = ((p, q), (q, p), (self.one - p, self.one - q), (self.one - q, self.one - p))
        return all(self.left * x <= self.right * y + self.room for x, y in sides)

    def balance(self) -> int:
        """The balanced boundary value, rounded."""
        top, bottom = (self.a * self.d + self.b * self.c) * self.one, self.d * (self.a + self.b)
        return (top + self.up * (bottom - 1)) // bottom


def _claims(claims: Mapping[str, Any]) -> None:
    if claims["private"] is not True or claims["optimal"] is not True:
        raise Unproved("the certificate does not claim to be private and optimal")
    if claims["loss"] != f"2^-{LOSS}":
        raise Unproved(f"the certificate must claim a loss of 2^-{LOSS}")


def _prove_line(certificate: Mapping[str, Any], step: _Step, ceiling: _Step) -> int:
    blue, red = ([read_entry(t, step.one) for t in as_kind(list, certificate[side])] for side in ("blue", "red"))
    tops = _boundary(certificate["boundary"], blue[0], red[0], step, ceiling)
    for p, q in pairwise([step.one - t for t in reversed(red)] + blue):
        if not step.private(p, q):
            raise Unproved("two neighbouring levels differ by more than the budget allows")
    for side, name, top in zip((blue, red), ("blue", "red"), tops, strict=True):
        errors = as_kind(list, certificate["error"][name])
        if len(errors) != len(side):
            raise Unproved(f"the {name} errors do not match the table")
        for here, following, error in zip(side, [*side[1:], side[-1]], errors, strict=True):
            if step(here) != following:
                raise Unproved(f"a {name} entry is not the most truth possible there")
            _error(error, here, step)
            _close(top, here, step)
            last, top = top, ceiling(top)
        _close(last if top == last else step.one, side[-1], step)
    return len(blue) + len(red)


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


def _prove_graph(certificate: Mapping[str, Any], step: _Step, ceiling: _Step) -> int:
    graph = _read_graph(certificate, step)
    _check_boundary(graph, step, ceiling)
    _check_private(graph, step)
    _check_optimal(graph, step, ceiling)
    return len(graph.truth)


def _read_graph(certificate: Mapping[str, Any], step: _Step) -> _Graph:
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


def _check_boundary(graph: _Graph, step: _Step, ceiling: _Step) -> None:
    """What is asked for stands at the blue boundary, all of it, and nothing else is said to be lowered."""
    by_dataset = isinstance(graph.boundary, dict)
    if by_dataset and set(graph.boundary) != graph.fixed:
        raise Unproved("the boundary values are not those of the blue boundary")
    if not by_dataset and graph.boundary != "balanced":
        _floor(graph.boundary, step)
    _bounded(graph, step, ceiling)
    if not set(as_kind(dict, graph.lowered)) <= (graph.fixed if by_dataset else set()):
        raise Unproved("a value is lowered that was not given")


def _check_private(graph: _Graph, step: _Step) -> None:
    """Definition 1, for every pair of neighbours; and the errors that stand beside the entries."""
    yes = {d: t if graph.blue[d] else step.one - t for d, t in graph.truth.items()}
    for d, entry in graph.datasets.items():
        _error(entry["error"], graph.truth[d], step)
        if not all(step.private(yes[d], yes[e]) for e in graph.near[d]):
            raise Unproved(f"dataset {d} differs from a neighbour by more than the budget allows")


def _check_optimal(graph: _Graph, step: _Step, ceiling: _Step) -> None:
    """No dataset could be more truthful: each is held down along a chain that ends where the truth is fixed."""
    above: dict[str, int] = {}  # bounds from above on the real optimum
    for d in graph.fixed:
        held = _lowered(d, graph, step) if d in graph.lowered else None
        above[d], _ = _boundary(graph.boundary_value(d), graph.truth[d], None, step, ceiling, held=held)
        _close(above[d], graph.truth[d], step)
    for start in graph.truth:
        for d in reversed(_chain(start, graph, above, step)):
            witness = graph.witness(d)
            alike = graph.blue[witness] == graph.blue[d]
            above[d] = ceiling(above[witness] if alike else step.one - _floor(graph.boundary_value(witness), step))
            _close(above[d], graph.truth[d], step)


def _chain(start: str, graph: _Graph, ends: Mapping[str, int], step: _Step) -> list[str]:
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


def _bounded(graph: _Graph, step: _Step, ceiling: _Step) -> None:
    """Refuse a small file that would take minutes: very long numbers, used again and again."""
    values = graph.boundary.values() if isinstance(graph.boundary, dict) else [graph.boundary]
    longest = max((_bit_length(read_fraction(value)) for value in values if value != "balanced"), default=0)
    size = step.one.bit_length() + longest + sum(map(_bit_length, (step.ratio, ceiling.ratio, step.delta)))
    paths = sum(len(as_kind(list, path)) for path in as_kind(dict, graph.lowered).values())
    work = len(graph.edges) + len(graph.datasets) + paths
    if size > LONG and size * work > MOST_WORK:
        raise Unproved("the certificate has too many edges, datasets or paths for numbers as long as its own")


def _bit_length(x: Fraction) -> int:
    return x.numerator.bit_length() + x.denominator.bit_length()


def _lowered(d: str, graph: _Graph, step: _Step) -> int:
    """What a path from a boundary dataset with its full value leaves room for at d."""
    path = as_kind(list, graph.lowered[d])
    if not (len(path) > 1 and path[-1] == d and path[0] not in graph.lowered):
        raise Unproved(f"the path that lowers dataset {d} does not start at a full boundary value")
    if len(set(path)) < len(path) or not all(b in graph.near[a] for a, b in pairwise(path)):
        raise Unproved(f"the path that lowers dataset {d} leaves the graph, or comes to a dataset twice")
    value = _floor(graph.boundary[path[0]], step)
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


def _boundary(
    value: Any, blue: int, red: int | None, step: _Step, ceiling: _Step, *, held: int | None = None
) -> tuple[int, int]:
    """What is fixed at the boundary: balanced, the empty group at no, or a given value, rounded down (or held lower).

    Gives bounds from above on the real values of both sides.
    """
    one = step.one
    if value == "balanced":
        if not (red in (None, blue) and blue == step.balance() <= step(one - blue)):
            raise Unproved("the boundary is not the best balanced one")
        return ceiling.balance(), ceiling.balance()
    if value == "selection":
        if not (red == one and blue == step(0)):
            raise Unproved("the empty group is not pinned at no")
        return ceiling(0), one
    below = _floor(value, step)
    if blue != (below if held is None else held) or blue > below:
        raise Unproved("a boundary value is not the one asked for, rounded down")
    if red is not None and red != step(one - blue):
        raise Unproved("the red boundary is not the most truth possible there")
    exact = read_fraction(value) * one == below
    return below if exact else below + 1, ceiling(one - below)


def _floor(text: Any, step: _Step) -> int:
    value = read_fraction(text)
    if not 0 <= value <= 1:
        raise Unproved("a boundary value is not a probability")
    return value.numerator * step.one // value.denominator


def _close(top: int, truth: int, step: _Step) -> None:
    if not top - truth < step.one >> LOSS:
        raise Unproved(f"rounding costs 2^-{LOSS} or more against the real optimum")


def _error(text: Any, truth: int, step: _Step) -> None:
    value, wrong = read_fraction(text), step.one - truth
    apart = abs(value.numerator * step.one - wrong * value.denominator)  # times 1/(one·denominator), as what follows
    if not apart << 1070 <= value.denominator * ((wrong << 1020) + step.one):
        raise Unproved("an error is not what the table says")


def _definition(privacy: Mapping[str, Any]) -> tuple[Fraction, Fraction, Fraction]:
    """The ratio, a bound on e^ε from above, and δ."""
    ratio, delta = read_fraction(privacy["ratio"]), read_fraction(privacy["delta"])
    if not ratio >= 1:
        raise Unproved("the ratio must be at least 1")
    if not 0 <= delta < 1:
        raise Unproved("delta must be in [0, 1)")
    above = ratio
    if privacy["epsilon"] is not None:
        epsilon = read_fraction(privacy["epsilon"], LONGEST_EPSILON)
        if not 0 <= epsilon <= LARGEST_EPSILON:
            raise Unproved(f"epsilon must be in [0, {LARGEST_EPSILON}]")
        low, above = exp_bounds(epsilon)
        if not ratio <= low:
            raise Unproved("the ratio is above e^epsilon")
        if not above - ratio <= (above - 1) / 2**CLOSE:
            raise Unproved("the ratio is too far below e^epsilon for the table to be optimal")
    return ratio, above, delta


def _colour(text: Any) -> bool:
    """Whether a dataset is blue."""
    if text not in ("blue", "red"):
        raise Unproved("a colour is blue or red")
    return bool(text == "blue")
