"""Graphs to start from in the studio: the paper's, and some usual ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from duotone.graphs import families
from duotone.graphs.graph import ColouredGraph


@dataclass(frozen=True)
class Example:
    """A graph with a budget under which it is worth looking at."""

    title: str
    says: str
    graph: Callable[[], ColouredGraph]
    ratio: str = "2"
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
        ratio="1.1",
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
