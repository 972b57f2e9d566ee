"""Families of datasets: the paper's and other common ones.

A small family becomes an explicit graph; one with a closed form gives the level of a dataset without a graph.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from duotone.errors import DuotoneError
from duotone.graphs.graph import ColouredGraph, label
from duotone.privacy.definition import Array
from duotone.privacy.numbers import Given, exact, number

LARGEST = 2**21
"""Most datasets of an explicit graph of a family."""


@dataclass(frozen=True)
class Family:
    """A family of datasets and its question.

    `datasets()` lists them, `member(d)` tests for one, `neighbours(d)` gives its neighbours, `yes(d)` answers the
    question, and `closed_form(d)`, if there is one, is the level of d.
    """

    name: str
    size: int
    datasets: Callable[[], Iterable[Any]]
    member: Callable[[Any], bool]
    neighbours: Callable[[Any], Iterable[Any]]
    yes: Callable[[Any], bool]
    closed_form: Callable[[Any], float] | None = None

    def graph(self) -> ColouredGraph:
        """The family as an explicit coloured graph."""
        if self.size > LARGEST:
            raise DuotoneError(f"{self.name} has more datasets than the {LARGEST} that an explicit graph may have")
        colours: dict[Hashable, str] = {d: "blue" if self.yes(d) else "red" for d in self.datasets()}
        return ColouredGraph(((d, e) for d in colours for e in self.neighbours(d)), colours)

    def level(self, dataset: Any) -> float:
        """The level of one dataset, without building the graph."""
        if self.closed_form is None:
            raise DuotoneError(f"{self.name} has no closed form for levels: use .graph().level(dataset)")
        if not self.member(dataset):
            one = f", such as {label(next(iter(self.datasets())))}" if self.size <= LARGEST else ""
            raise DuotoneError(f"this value is not a dataset of {self.name}{one}")
        return self.closed_form(dataset)


def _majority(n: int) -> Callable[[int], bool]:
    """Yes when more than half of n voters say yes."""
    return lambda k: 2 * k > n


def votes(n: int, rule: Callable[[int], bool] | None = None) -> Family:
    """Fig. 1(a). n voters, neighbours differ in one vote; any rule for the number of yes votes (majority by default).

    A dataset is a string of votes, 1 = yes (blue) and 2 = no (red), as in the paper.

    >>> [d for d in votes(3).graph().boundary("blue")]
    ['112', '121', '211']
    >>> votes(1001).level("1" * 600 + "2" * 401)
    99
    """
    _positive(n, "the number of voters")
    decide = rule or _majority(n)
    return Family(
        name=f"votes of {n}",
        size=2**n,
        datasets=lambda: map("".join, itertools.product("12", repeat=n)),
        member=lambda d: isinstance(d, str) and len(d) == n and set(d) <= set("12"),
        neighbours=lambda d: (d[:i] + ("2" if d[i] == "1" else "1") + d[i + 1 :] for i in range(n)),
        yes=lambda d: decide(d.count("1")),
        closed_form=lambda d: _nearest_other(decide, d.count("1"), n),
    )


def turnout(yes_voters: int, no_voters: int) -> Family:
    """Fig. 1(b). The set of those who voted, when each person's vote is known: neighbours join or leave; ties are a no
    (red).

    A dataset is a non-empty frozenset of persons. Persons 1 … yes_voters vote yes.

    >>> turnout(2, 1).level(frozenset({1, 2}))
    1
    """
    if not (yes_voters >= 0 and no_voters >= 0):
        raise DuotoneError(f"numbers of voters must be at least 0, got {yes_voters} and {no_voters}")
    people = range(1, _positive(yes_voters + no_voters, "the number of voters") + 1)

    def margin(d: frozenset[int]) -> int:
        return sum(1 if person <= yes_voters else -1 for person in d)

    return Family(
        name=f"turnout of {len(people)}",
        size=2 ** len(people) - 1,
        datasets=lambda: (frozenset(c) for k in people for c in itertools.combinations(people, k)),
        member=lambda d: isinstance(d, frozenset) and bool(d) and d <= set(people),
        neighbours=lambda d: (e for person in people if (e := d ^ {person})),
        yes=lambda d: margin(d) > 0,
        closed_form=lambda d: margin(d) - 1 if yes_voters and no_voters else math.inf if yes_voters else -math.inf,
    )


def line(blue: int, red: int) -> Family:
    """Definition 8. The (n_B, n_R)-line: datasets 1 … n_B + n_R, blue up to n_B.

    >>> line(4, 3).graph().boundary("blue")
    (4,)
    """
    if not (blue >= 0 and red >= 0 and blue + red >= 1):
        raise DuotoneError(f"a line needs at least one node, got {blue} blue and {red} red")
    last = blue + red
    return Family(
        name=f"({blue}, {red})-line",
        size=last,
        datasets=lambda: range(1, last + 1),
        member=lambda i: i in range(1, last + 1),
        neighbours=lambda i: (j for j in (i - 1, i + 1) if 1 <= j <= last),
        yes=lambda i: i <= blue,
        closed_form=lambda i: blue - i if blue and red else math.inf if blue else -math.inf,
    )


def figure_2() -> ColouredGraph:
    """Fig. 2. The paper's general graph of eighteen datasets a … r."""
    edges = "ab bg ga gc ch hn nq ql lg lk qm no oj jf fe ej jd di ih op or"
    return ColouredGraph(
        [(edge[0], edge[1]) for edge in edges.split()], {d: "blue" if d in "abcghkl" else "red" for d in "abcdefghijklmnopqr"}
    )


FIGURE_2_POSITIONS: dict[Hashable, tuple[float, float]] = {
    "a": (1, 1), "b": (2, 1), "c": (3, 1), "d": (5, 1), "e": (6, 1), "f": (7, 1), "g": (2, 2),
    "h": (4, 2), "i": (5, 2), "j": (6, 2), "k": (1, 3),
    "l": (2, 3), "m": (3, 3), "n": (4, 3), "o": (5, 3), "p": (6, 3), "q": (3, 4), "r": (6, 4),
}  # fmt: skip
"""Positions of the datasets in the paper's Fig. 2."""


def hypercube(n: int, question: Callable[[tuple[int, ...]], bool]) -> Family:
    """n people with one bit each, neighbours differ in one bit; any Boolean function of the bits.

    >>> hypercube(3, all).graph().level("111")
    0
    """
    _positive(n, "the number of people")
    return Family(
        name=f"hypercube of {n}",
        size=2**n,
        datasets=lambda: map("".join, itertools.product("01", repeat=n)),
        member=lambda d: isinstance(d, str) and len(d) == n and set(d) <= set("01"),
        neighbours=lambda d: (d[:i] + "10"[int(d[i])] + d[i + 1 :] for i in range(n)),
        yes=lambda d: bool(question(tuple(map(int, d)))),
    )


def weighted(weights: Sequence[Given], threshold: Given) -> Family:
    """Weighted votes: yes when the weights of those who say 1 sum to at least the threshold. Weights may be negative.

    >>> weighted([5, 3, 1, 1], 6).level("1111")
    0
    """
    w = [exact(x, "weight") for x in weights]
    t = exact(threshold, "threshold")

    def total(d: str) -> Fraction:
        return sum((x for x, bit in zip(w, d, strict=True) if bit == "1"), Fraction(0))

    def level(d: str) -> float:
        """Greedy: flip the votes that move the sum furthest towards the other side, until it is there."""
        moves = sorted((x if bit == "1" else -x for x, bit in zip(w, d, strict=True)), reverse=True)
        surplus = total(d) - t
        if surplus >= 0:
            sums = itertools.accumulate(moves)
            return next((i for i, moved in enumerate(sums) if surplus - moved < 0), math.inf)
        sums = itertools.accumulate(moves[::-1])
        return next((-1 - i for i, moved in enumerate(sums) if surplus - moved >= 0), -math.inf)

    cube = hypercube(len(w), lambda bits: sum(x * bit for x, bit in zip(w, bits, strict=True)) >= t)
    return replace(cube, name=f"weighted votes of {len(w)}", closed_form=level)


def histograms(
    categories: int,
    people: int,
    question: Callable[[tuple[int, ...]], bool],
    *,
    neighbours: Literal["add-remove", "replace"] = "add-remove",
) -> Family:
    """Counts of people in k categories; any yes/no function of the counts.

    Under add-remove there are at most `people` of them and one joins or leaves; under replace there are exactly
    `people` and one moves to another category.

    >>> histograms(2, 3, lambda c: c[0] > c[1], neighbours="replace").graph().level((3, 0))
    1
    """
    k, n = _positive(categories, "the number of categories"), people
    if neighbours not in ("add-remove", "replace"):
        raise DuotoneError(f"neighbours must be add-remove or replace, got {neighbours}")
    if not n >= 0:
        raise DuotoneError(f"the number of people must be at least 0, got {n}")
    joined = neighbours == "add-remove"
    return Family(
        name=f"histograms of {n} people in {k} categories",
        size=math.comb(n + k, k) if joined else math.comb(n + k - 1, k - 1),
        datasets=lambda: (c for m in (range(n + 1) if joined else [n]) for c in _compositions(m, k)),
        member=lambda c: len(c) == k and min(c) >= 0 and (sum(c) <= n if joined else sum(c) == n),
        neighbours=(lambda c: _joined_or_left(c, n)) if joined else _moved,
        yes=lambda c: bool(question(c)),
    )


def product(first: Family, second: Family, rule: Literal["and", "or"]) -> Family:
    """Two families and one question about both: a neighbour differs in one of them.

    Flipping an AND takes the cheaper half of a yes, and every wrong half of a no; OR is its dual.

    >>> both = product(votes(3), votes(3), "and")
    >>> both.level(("111", "112")), both.level(("222", "122"))
    (0, -3)
    """
    if rule not in ("and", "or"):
        raise DuotoneError(f"a product's rule is and or or, got {rule}")

    def conjunction(a: float, b: float) -> float:
        return min(a, b) if a >= 0 and b >= 0 else min(a, 0) + min(b, 0)

    def level(d: tuple[Any, Any]) -> float:
        a, b = first.level(d[0]), second.level(d[1])
        return conjunction(a, b) if rule == "and" else -1 - conjunction(-1 - a, -1 - b)

    return Family(
        name=f"{first.name} {rule} {second.name}",
        size=first.size * second.size,
        datasets=lambda: itertools.product(first.datasets(), second.datasets()),
        member=lambda d: first.member(d[0]) and second.member(d[1]),
        neighbours=lambda d: itertools.chain(
            ((e, d[1]) for e in first.neighbours(d[0])), ((d[0], e) for e in second.neighbours(d[1]))
        ),
        yes=lambda d: (all if rule == "and" else any)((first.yes(d[0]), second.yes(d[1]))),
        closed_form=level if first.closed_form and second.closed_form else None,
    )


def datasets_of(datasets: Any, voters: int) -> Array:
    """Datasets as checked numbers."""
    x = np.asarray(datasets)
    if x.size and not (np.issubdtype(x.dtype, np.integer) and 0 <= x.min() <= x.max() < 2**voters):
        raise DuotoneError(f"a dataset of {voters} voters is a whole number from 0 to {2**voters - 1}")
    return x.astype(np.int64)


def whole_weights(weights: Sequence[Given], threshold: Given) -> tuple[list[int], int]:
    """Weights and their threshold scaled exactly to integers: the same rule."""
    numbers = [number(w, "weight") for w in (*weights, threshold)]
    if not all(math.isfinite(w) for w in numbers):
        raise DuotoneError("weights and the threshold must be finite numbers")
    exact = [Fraction(w) for w in numbers]
    scale = math.lcm(*(w.denominator for w in exact))
    *scaled, least = (int(w * scale) for w in exact)
    if not sum(map(abs, (*scaled, least))) < 2**62:
        raise DuotoneError("the weights span too many digits: their sum, as whole numbers, must stay below 2^62")
    return scaled, least


def subset_sums(weights: Sequence[int]) -> Array:
    """The weight sum of those who vote 1, by dataset."""
    sums = np.zeros(1, dtype=np.int64)
    for weight in weights:
        sums = np.concatenate([sums, sums + weight])
    return sums


def _positive(n: int, what: str) -> int:
    if not n >= 1:
        raise DuotoneError(f"{what} must be at least 1, got {n}")
    return n


def _compositions(total: int, parts: int) -> Iterable[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for head in range(total + 1):
        yield from ((head, *rest) for rest in _compositions(total - head, parts - 1))


def _changed(counts: tuple[int, ...], i: int, by: int) -> tuple[int, ...]:
    return (*counts[:i], counts[i] + by, *counts[i + 1 :])


def _joined_or_left(counts: tuple[int, ...], most: int) -> Iterable[tuple[int, ...]]:
    """The counts after one person left, or joined if there are fewer than `most`."""
    yield from (_changed(counts, i, -1) for i, people in enumerate(counts) if people)
    if sum(counts) < most:
        yield from (_changed(counts, i, 1) for i in range(len(counts)))


def _moved(counts: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    """The counts after one person moved to another category."""
    for i, people in enumerate(counts):
        if people:
            yield from (_changed(_changed(counts, i, -1), j, 1) for j in range(len(counts)) if j != i)


def _nearest_other(decide: Callable[[int], bool], k: int, n: int) -> float:
    """The level of k yes votes out of n: the distance to the nearest count with the other answer."""
    answer = bool(decide(k))
    steps = next((s for s in range(1, n + 1) for j in (k - s, k + s) if 0 <= j <= n and bool(decide(j)) != answer), math.inf)
    return steps - 1 if answer else -steps
