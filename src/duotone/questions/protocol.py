"""What a question is; and, or, not of questions; and a brute-force check of levels."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from duotone.errors import DuotoneError
from duotone.graphs.graph import ColouredGraph
from duotone.model.checks import Neighbours as Neighbours


def check_neighbours(neighbours: str) -> None:
    """Refuse an unknown relation: a misspelt one must not be taken for another."""
    if neighbours not in ("add-remove", "replace"):
        raise DuotoneError(f"neighbours must be add-remove or replace, got {neighbours}")


class Question(Protocol):
    """A yes/no question about people: its truth, and its level, on every dataset, the empty one included."""

    @property
    def neighbours(self) -> Neighbours:
        """The relation under which its levels are distances."""
        ...

    def truth(self, people: Sequence[Any], /) -> bool:
        """The true answer."""
        ...

    def level(self, people: Sequence[Any], /) -> float:
        """The fewest changes that flip the answer, less one; −1 minus that for a no; ±infinity if nothing flips it."""
        ...


@dataclass(frozen=True)
class Combined:
    """Several questions under one rule: the level of `and` is the least of their levels, of `or` the greatest.

    Guarantee: neighbours' levels differ by at most 1, and the sign is the truth; so answers are private. The level is a
    bound, not the distance, and answers need not be optimal: release them with `Coin(…, basis="safe bound")`.

    >>> from duotone.questions import Threshold
    >>> few = Threshold(lambda _: 1, 0, 1, 2)
    >>> many = Negated(Threshold(lambda _: 1, 0, 1, 5))
    >>> Combined("and", (few, many)).level(range(4))
    0.0
    """

    rule: Literal["and", "or"]
    parts: tuple[Question, ...]

    def __post_init__(self) -> None:
        if self.rule not in ("and", "or") or not self.parts or len({part.neighbours for part in self.parts}) != 1:
            raise DuotoneError("combine at least one question, all under the same neighbours, by and or or")

    @property
    def neighbours(self) -> Neighbours:
        """The relation of the parts."""
        return self.parts[0].neighbours

    def truth(self, people: Sequence[Any]) -> bool:
        """Whether all parts, or any of them, say yes."""
        return (all if self.rule == "and" else any)(part.truth(people) for part in self.parts)

    def level(self, people: Sequence[Any]) -> float:
        """The least, or the greatest, level of the parts."""
        return float(combined_level(self.rule, [part.level(people) for part in self.parts]))


def combined_level(rule: Literal["and", "or", "not"], levels: Sequence[Any]) -> Any:
    """The least of levels, or the greatest; for `not`, the negated answer's level. For arrays, element by element."""
    return -1 - levels[0] if rule == "not" else (np.minimum if rule == "and" else np.maximum).reduce(levels)


@dataclass(frozen=True)
class Negated:
    """Not: yes and no swapped. As exact as the question itself."""

    part: Question

    @property
    def neighbours(self) -> Neighbours:
        """Its relation: the same as the question's."""
        return self.part.neighbours

    def truth(self, people: Sequence[Any]) -> bool:
        """The other answer."""
        return not self.part.truth(people)

    def level(self, people: Sequence[Any]) -> float:
        """The level on the other side, at the same distance."""
        return float(combined_level("not", [self.part.level(people)]))


@dataclass(frozen=True)
class Verdict:
    """The result of a brute-force check. `private`: the ±1 rule holds, and levels agree with the truth; `exact`: levels
    are distances. `counterexample` is the first dataset, or pair of neighbours, that fails."""

    private: bool
    exact: bool
    checked: int
    counterexample: tuple[tuple[Any, ...], ...] | None


def verify(question: Question, domain: Iterable[Hashable], *, people: int = 3, reach: int = 3) -> Verdict:
    """Brute force over every dataset of up to `people` people with values from `domain`.

    Datasets are unordered collections. Distances up to `reach` must be right, and larger ones must be claimed as
    larger. Under add-remove, tables of up to `people + reach` people are searched, so that these distances are true.

    >>> from duotone.questions import Threshold
    >>> verify(Threshold(value=int, lowest=0, highest=1, at_least=2), [0, 1])
    Verdict(private=True, exact=True, checked=10, counterexample=None)
    """
    values = list(dict.fromkeys(domain))
    if not (values and people >= 0 and reach >= 1):
        raise DuotoneError("give at least one value, and numbers of people and steps that are not negative")
    graph = _graph(question, values, people + (reach if question.neighbours == "add-remove" else 0))
    small = [d for d in graph.names if len(d) <= people]  # type: ignore[arg-type]
    level = {d: question.level(list(d)) for d in graph.names}  # type: ignore[call-overload]
    for d in small:
        if (level[d] >= 0) != (graph.colour(d) == "blue"):
            return Verdict(False, False, len(small), (d,))  # type: ignore[arg-type]
        for e in graph.neighbours(d):
            if not (abs(level[d] - level[e]) <= 1 or level[d] == level[e]):
                return Verdict(False, False, len(small), (d, e))  # type: ignore[arg-type]
    for d in small:
        if not _agree(level[d], graph.level(d), reach):
            return Verdict(True, False, len(small), (d,))  # type: ignore[arg-type]
    return Verdict(True, True, len(small), None)


def _agree(claimed: float, actual: float, reach: float) -> bool:
    """Distances up to `reach` must be equal; beyond it, both must lie beyond it."""
    claimed_steps, actual_steps = (level + 1 if level >= 0 else -level for level in (claimed, actual))
    return claimed == actual if min(claimed_steps, actual_steps) <= reach else True


def _graph(question: Question, values: Sequence[Any], most: int) -> ColouredGraph:
    order = {value: i for i, value in enumerate(values)}
    datasets = [d for n in range(most + 1) for d in itertools.combinations_with_replacement(values, n)]
    colours = {d: "blue" if question.truth(list(d)) else "red" for d in datasets}

    def canonical(people: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(sorted(people, key=order.__getitem__))

    edges: set[tuple[Any, Any]] = set()
    for d in datasets:
        fewer = {d[:i] + d[i + 1 :] for i in range(len(d))}
        if question.neighbours == "add-remove":
            edges |= {(e, d) for e in fewer}
        else:
            edges |= {(d, f) for e in fewer for value in values if (f := canonical((*e, value))) != d}
    return ColouredGraph(edges, colours)
