"""Mechanisms: the probability of each answer per dataset, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, overload

import numpy as np

from duotone.errors import DuotoneError
from duotone.graphs.edges import small
from duotone.graphs.graph import ColouredGraph, by_name, label, required
from duotone.graphs.morphism import Morphism
from duotone.graphs.rows import Rows
from duotone.graphs.values import ValuesByDataset
from duotone.html import bar
from duotone.line.mechanism import NEVER
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.definition import Allows, Array, PrivacyDefinition, exactly, tried
from duotone.privacy.numbers import Given, Number, complement, probability
from duotone.privacy.renyi import RenyiDP
from duotone.resources import everywhere


@dataclass(frozen=True)
class Check:
    """Whether a mechanism is private, its worst pair of neighbours, and that pair's margin."""

    holds: bool
    """Whether every pair of neighbours satisfies the privacy definition."""
    edge: tuple[Hashable, Hashable] | None
    """The pair with the smallest margin; None in a graph without edges."""
    slack: Fraction | None
    """How much the larger probability of that pair may still grow; below 0, how much it is too large. It is the
    probability of yes between two blue datasets, of no otherwise."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Mechanism:
    """A way to answer at random: for each dataset, how likely it is that the true answer is given.

    `design` makes the best one. Use `from_yes` or `from_truth` to examine a mechanism of your own: whether it is private
    (`check`), for which (ε, δ) at best (`tightest`), how often it is wrong (`error`, `loss`), and whether it is never worse
    than another one (`dominates`). To draw answers from the best one, give its `duotone.graphs.table.graph_table` to a
    `Coin`.

    `graph` has the datasets, and `truth` the probability of the true answer for each, in the order of `graph.names`. In the
    paper's words it is a randomised colouring; `yes` is its B_d and `no` its R_d.

    >>> from duotone import ApproxDP, ColouredGraph
    >>> edge = ColouredGraph([(1, 2)], {1: "blue", 2: "red"})
    >>> first = Mechanism.from_yes(edge, {1: "0.58", 2: "0.24"})
    >>> second = Mechanism.from_yes(edge, {1: "0.64", 2: "0.27"})
    >>> first.dominates(second), second.dominates(first)
    (False, False)
    >>> first.check(ApproxDP(exp_epsilon=2, delta="1/10")).slack
    Fraction(0, 1)
    >>> Mechanism.from_truth(edge, {2: "0.76", 1: "0.58"}).yes == first.yes
    True
    """

    graph: ColouredGraph
    """The datasets, their neighbours and true answers."""
    truth: ValuesByDataset
    """The probability of the true answer per dataset, in the order of `graph.names`; equal numbers are stored once."""

    def __init__(self, graph: ColouredGraph, truth: Sequence[Given]) -> None:
        required(graph)
        if hasattr(truth, "keys"):
            raise DuotoneError(
                "probabilities by dataset are of yes (Mechanism.from_yes) or of the truth (Mechanism.from_truth)"
            )
        column = truth if isinstance(truth, ValuesByDataset) else ValuesByDataset.of(_by_dataset(graph, truth))
        if len(column) != len(graph):
            raise DuotoneError(f"a mechanism on {len(graph)} datasets needs as many probabilities, got {len(column)}")
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "truth", ValuesByDataset(tuple(probability(t) for t in column.values), column.places))

    @classmethod
    def from_yes(cls, graph: ColouredGraph, yes: Mapping[Any, Given] | Sequence[Given]) -> Mechanism:
        """A mechanism from its probability of yes on every dataset, by name or in the order of `graph.names`."""
        if isinstance(yes, ValuesByDataset):
            raise DuotoneError("these are probabilities of the truth: Mechanism.from_truth")
        values = _by_dataset(graph, yes)
        return cls(graph, tuple(x if b else complement(x) for x, b in zip(values, graph.blue.tolist(), strict=True)))

    @classmethod
    def from_truth(cls, graph: ColouredGraph, truth: Mapping[Any, Given] | Sequence[Given]) -> Mechanism:
        """A mechanism from its probability of the true answer on every dataset, by name or in the order of `graph.names`."""
        return cls(graph, _by_dataset(graph, truth))

    def __getitem__(self, dataset: Hashable) -> Number:
        """Pr[yes] at a dataset, by its name."""
        i = self.graph.position(dataset)
        return self.truth[i] if self.graph.blue[i] else 1 - self.truth[i]

    def __eq__(self, other: object) -> bool:
        """Whether they have equal graphs, and equal probabilities of the truth on every dataset."""
        if not isinstance(other, Mechanism):
            return NotImplemented
        places = self.graph.places_in(other.graph)
        return places is not None and all(t == other.truth[i] for t, i in zip(self.truth, places.tolist(), strict=True))

    def __hash__(self) -> int:
        return hash(self.graph)

    def __repr__(self) -> str:
        least, most = (float(x) for x in (min(self.truth.values), max(self.truth.values)))
        return f"<Mechanism on {len(self.graph)} datasets: Pr[truth] from {least:.4g} to {most:.4g}>"

    def _repr_html_(self) -> str:
        return self.graph.page(repr(self)[1:-1], "Pr[yes]", lambda d: bar(float(self[d])))

    @property
    def yes(self) -> dict[Hashable, Number]:
        """Pr[yes], the paper's B_d, by dataset."""
        each = zip(self.graph.names, self.truth, self.graph.blue.tolist(), strict=True)
        return {d: t if b else 1 - t for d, t, b in each}

    @property
    def no(self) -> dict[Hashable, Number]:
        """Pr[no], the paper's R_d, by dataset."""
        return {d: self.truth[i] if not self.graph.blue[i] else 1 - self.truth[i] for i, d in enumerate(self.graph.names)}

    @property
    def error(self) -> dict[Hashable, Number]:
        """Probability of the wrong answer, by dataset."""
        return {d: 1 - t for d, t in zip(self.graph.names, self.truth, strict=True)}

    @property
    def rows(self) -> Rows:
        """A row for each dataset: its name, colour, level, Pr[yes] and Pr[wrong answer].

        >>> from duotone import ApproxDP, design
        >>> from duotone.graphs import families
        >>> mechanism = design(families.line(2, 1).graph(), ApproxDP(exp_epsilon=2, delta="1/10"))
        >>> print(mechanism.rows.csv(), end="")
        dataset,colour,level,yes,error
        1,blue,1,9/10,1/10
        2,blue,0,7/10,3/10
        3,red,-1,3/10,3/10
        """
        graph = self.graph
        colours = ("red", "blue")
        levels = (level if abs(level) < NEVER else math.copysign(math.inf, level) for level in graph.levels.tolist())
        each = zip(graph.names, graph.blue.tolist(), levels, self.truth, strict=True)
        rows = ((d, colours[blue], level, t if blue else 1 - t, 1 - t) for d, blue, level, t in each)
        return Rows(("dataset", "colour", "level", "yes", "error"), tuple(rows))

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame; fractions stay exact."""
        return self.rows.to_pandas()

    def to_csv(self, path: str | Path) -> Path:
        """Write the rows to a CSV file."""
        return self.rows.to_csv(path)

    def to_latex(self) -> str:
        """The rows as a LaTeX table for the package booktabs."""
        return self.rows.to_latex()

    def _ranked(self) -> tuple[list[Fraction], Array]:
        """The exact values of Pr[yes] in rising order, and each dataset's place among them."""
        places, blue = self.truth.places, self.graph.blue
        truths = [Fraction(value) for value in self.truth.values]
        yes = {True: truths, False: [1 - truth for truth in truths]}
        used = {colour: np.flatnonzero(np.bincount(places[blue == colour])).tolist() for colour in yes}
        rising = sorted({yes[colour][i] for colour, some in used.items() for i in some})
        rank = {x: i for i, x in enumerate(rising)}
        ranks = np.zeros((2, len(truths)), dtype=np.min_scalar_type(len(rising)))
        for colour, some in used.items():
            ranks[int(colour), some] = [rank[yes[colour][i]] for i in some]
        ranked = ranks[0][places]
        ranked[blue] = ranks[1][places[blue]]
        return rising, ranked

    def check(self, privacy: PrivacyDefinition) -> Check:
        """Whether the mechanism satisfies a privacy definition: Definition 1, over every pair of neighbours.

        Guarantee: decided in exact arithmetic, with floats as the rationals they are and e^ε rounded down; so `holds`
        is never claimed wrongly. (For a definition of one's own it is as right as that definition's step.)
        """
        exact = exactly(tried(privacy))
        yes, rank = self._ranked()
        above, below = _extremes(self.graph, rank, len(yes), self.graph.blue)
        slacks: dict[tuple[int, bool], Fraction] = {}
        for c, x in enumerate(yes):  # the lower of two yes, or of two no, limits the other
            if above[c] >= c:
                slacks[c, True] = _slack(exact, x, yes[above[c]])
            if below[c] <= c:
                slacks[c, False] = _slack(exact, 1 - x, 1 - yes[below[c]])
        if not slacks:
            return Check(True, None, None)
        worst = min(slacks.values())
        for side, wanted in ((above, True), (below, False)):
            side[[c for c in range(len(yes)) if slacks.get((c, wanted)) != worst]] = -2
        i, j = _first_pair(self.graph, rank, above, below)
        return Check(bool(worst >= 0), (self.graph.names[i], self.graph.names[j]), worst)

    @overload
    def tightest(
        self, *, epsilon: Given | None = None, exp_epsilon: Given | None = None, delta: Given | None = None
    ) -> ApproxDP: ...
    @overload
    def tightest(self, *, order: int, delta: Given = 0) -> RenyiDP: ...
    def tightest(
        self,
        *,
        epsilon: Given | None = None,
        exp_epsilon: Given | None = None,
        order: int | None = None,
        delta: Given | None = None,
    ) -> ApproxDP | RenyiDP:
        """The strongest (ε, δ) the mechanism satisfies: give ε (or e^ε) for the least δ, or δ for the least ε; or give a Rényi
        order for the least price.

        >>> edge = ColouredGraph([(1, 2)], {1: "blue", 2: "red"})
        >>> Mechanism.from_yes(edge, {1: "3/4", 2: "1/4"}).tightest(delta=0)
        ApproxDP(exp_epsilon=3, delta=0)
        """
        yes, rank = self._ranked()
        everyone = np.ones(len(self.graph), dtype=bool)
        above, _ = _extremes(self.graph, rank, len(yes), everyone)
        _, below = _extremes(self.graph, rank, len(yes), ~everyone)
        pairs = [(yes[c], yes[other]) for side in (above, below) for c, other in enumerate(side) if 0 <= other < len(yes)]
        if order is not None:
            if not (epsilon is None and exp_epsilon is None):
                raise DuotoneError("give epsilon (or exp_epsilon) or an order, not both")
            return RenyiDP.tightest(pairs, order=order, delta=0 if delta is None else delta)
        return ApproxDP.tightest(pairs, epsilon=epsilon, exp_epsilon=exp_epsilon, delta=delta)

    def dominates(self, other: Mechanism) -> bool:
        """Whether it is at least as truthful as another mechanism on every dataset (Definition 2). Of two mechanisms,
        neither may dominate.

        The graphs must be equal.
        """
        if not isinstance(other, Mechanism):
            raise DuotoneError(f"dominance compares two mechanisms, got {type(other).__name__}")
        places = np.arange(len(self.truth)) if self.graph is other.graph else self.graph.places_in(other.graph)
        if places is None:
            raise DuotoneError("dominance compares mechanisms on the same graph: the same datasets, colours and neighbours")
        few = len(other.truth.values)
        together = np.unique(self.truth.places.astype(np.int64) * few + other.truth.places[places])
        return all(self.truth.values[k // few] >= other.truth.values[k % few] for k in together.tolist())

    def loss(self, prior: Mapping[Hashable, Given] | None = None) -> Number:
        """The probability of a wrong answer when the dataset itself is random: Remark 1's expected Hamming loss.

        `prior` has a probability for each dataset that may occur, 1 in all; by default all are equally likely.
        """
        if prior is None:
            counts = zip(self.truth.values, self.truth.counts(), strict=True)
            return sum(((1 - t) * count for t, count in counts), Fraction(0)) / len(self.truth)
        weights = {d: probability(w, f"the prior at {d}") for d, w in prior.items()}
        total = sum(weights.values(), Fraction(0))
        if not abs(float(total - 1)) <= (0 if isinstance(total, Fraction) else 1e-9):
            raise DuotoneError("a prior must sum to 1")
        return sum((w * (1 - self.truth[self.graph.position(d)]) for d, w in weights.items()), Fraction(0))

    def utility(self, function: Callable[[Mapping[Hashable, Number]], Number]) -> Number:
        """A measure of how good it is: any function of the probability of the truth by dataset (Definition 2).

        A reasonable one never falls when a probability rises, so a dominating mechanism has the larger utility.
        """
        return function(dict(zip(self.graph.names, self.truth, strict=True)))

    def pullback(self, morphism: Morphism) -> Mechanism:
        """This mechanism on another graph, where each dataset is answered like its image: M ∘ g of Theorem 1.

        Guarantee: the result satisfies every definition that the mechanism satisfies, to the last bit.
        """
        if not isinstance(morphism, Morphism):
            raise DuotoneError(f"a pullback is along a Morphism(source, target, map), got {type(morphism).__name__}")
        if not morphism.target.same_neighbours(self.graph):
            raise DuotoneError("the morphism must end at the mechanism's graph")
        values = []
        for d, image in morphism.pullback({d: d for d in self.graph.names}).items():
            truth = self.truth[self.graph.position(image)]
            values.append(truth if morphism.source.colour(d) == self.graph.colour(image) else complement(truth))
        return Mechanism(morphism.source, tuple(values))

    def dual(self) -> Mechanism:
        """The same probabilities of the truth on the graph with its colours swapped (Remark 2)."""
        return Mechanism(self.graph.dual(), self.truth)


def _by_dataset(graph: ColouredGraph, given: Any) -> list[Number]:
    """A probability for each dataset in order, from a mapping (or a pandas Series), or from a sequence in that order."""
    required(graph)
    given = by_name(given)
    if isinstance(given, Mapping):
        if missing := [d for d in graph if d not in given]:
            raise DuotoneError(f"dataset {label(missing[0])} has no probability")
        if unknown := [d for d in given if d not in graph]:
            raise DuotoneError(f"there is no dataset {label(unknown[0])}")
        given = [given[d] for d in graph]
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
        raise DuotoneError(f"probabilities are a mapping by dataset, or a sequence in their order, got {type(given).__name__}")
    if len(given) != len(graph):
        raise DuotoneError(f"a mechanism on {len(graph)} datasets needs as many probabilities, got {len(given)}")
    return [probability(x, f"the probability at {label(d)}") for d, x in zip(graph, given, strict=True)]


def _slack(privacy: PrivacyDefinition, x: Fraction, y: Fraction) -> Fraction:
    """By how much y is below what x allows; 0 where that is next to y, and only the definition itself can tell."""
    slack = Fraction(privacy.step(x)) - y
    return Fraction(0) if slack < 0 and isinstance(privacy, Allows) and privacy.allows(x, y) else slack


def _extremes(graph: ColouredGraph, rank: Array, ranks: int, blue: Array) -> tuple[Array, Array]:
    """Per rank: the largest adjacent rank where both datasets are in `blue`, and the least adjacent one elsewhere.

    −1 and `ranks` where there is none. Only the rank of a dataset's Pr[yes] matters, and for one rank only its most
    distant neighbours can break privacy: two numbers per rank decide about millions of pairs, in one pass over the
    edges.
    """
    if small(len(graph), len(graph.indices)):
        rows, both = _pairs(graph, blue)
        above, below = _empty(ranks)
        np.maximum.at(above, rank[rows[both]], rank[graph.indices[both]])
        np.minimum.at(below, rank[rows[~both]], rank[graph.indices[~both]])
        return above, below
    from duotone.graphs import _search

    def part(start: int, stop: int) -> tuple[Array, Array]:
        above, below = _empty(ranks)
        _search.extremes(graph.indptr, graph.indices, rank, blue.view(np.uint8), above, below, start, stop)
        return above, below

    parts = everywhere(part, len(graph), least=max(2**15, ranks))
    return np.maximum.reduce([above for above, _ in parts]), np.minimum.reduce([below for _, below in parts])


def _first_pair(graph: ColouredGraph, rank: Array, above: Array, below: Array) -> tuple[int, int]:
    """The first edge whose ranks are `above` or `below` each other, as returned by `_extremes`; −2 if none is
    wanted."""
    if small(len(graph), len(graph.indices)):
        rows, both = _pairs(graph, graph.blue)
        here, there = rank[rows], rank[graph.indices]
        wanted = np.where(
            both, (above[here] == there) | (above[there] == here), (below[here] == there) | (below[there] == here)
        )
        at = int(np.flatnonzero(wanted & (rows < graph.indices))[0])
        return int(rows[at]), int(graph.indices[at])
    from duotone.graphs import _search

    i, j = _search.first_pair(graph.indptr, graph.indices, rank, graph.blue.view(np.uint8), above, below)
    return int(i), int(j)


def _empty(ranks: int) -> tuple[Array, Array]:
    return np.full(ranks, -1, dtype=np.int64), np.full(ranks, ranks, dtype=np.int64)


def _pairs(graph: ColouredGraph, blue: Array) -> tuple[Array, Array]:
    rows = np.repeat(np.arange(len(graph)), np.diff(graph.indptr))
    return rows, blue[rows] & blue[graph.indices]
