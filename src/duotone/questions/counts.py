"""Questions about the number of people in each of a few cells: whether a value is the most frequent one, whether there
are enough distinct values, and any other question that a search over a few counts decides."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.questions.protocol import Neighbours, check_neighbours


@dataclass(frozen=True)
class Plurality:
    """Yes when `winner` has strictly more votes than every other choice; a tie is a no.

    `choice(person)` is a person's vote; None or NaN is no vote. There must be another possible choice.

    Guarantee: levels are exact distances (proofs/levels.md).

    >>> Plurality("A").level(["A", "A", "A", "B", "C"])
    1
    """

    winner: Hashable
    choice: Callable[[Any], Hashable] = lambda person: person
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if self.winner is None or self.winner != self.winner:
            raise DuotoneError("a winner must be a choice that people can make")

    def _votes(self, people: Sequence[Any]) -> tuple[int, list[int]]:
        chosen = map(self.choice, people)
        votes = Counter(vote for vote in chosen if vote is not None and vote == vote)  # NaN is not a choice
        own = votes.pop(self.winner, 0)
        return own, sorted(votes.values(), reverse=True)

    def truth(self, people: Sequence[Any]) -> bool:
        """Whether it strictly leads."""
        own, rivals = self._votes(people)
        return own > max(rivals, default=0)

    def level(self, people: Sequence[Any]) -> float:
        """Each change moves the lead by 1, or by 2 if a vote changes hands; to win, every rival must fall behind."""
        own, rivals = self._votes(people)
        others = None if self.neighbours == "add-remove" else len(people) - own
        return plurality_level(own, rivals, others)


def plurality_level(own: int, rivals: Sequence[int], others: int | None, reach: int | None = None) -> float:
    """The level from the votes; `others` is how many people did not vote for the choice, or None under add-remove.

    Only the strongest rivals are needed, `reach` + 1 of them; beyond `reach` the level may be anything.
    """
    lead = own - max(rivals, default=0)
    if others is None:
        most = 1 - lead if reach is None else min(1 - lead, reach + 1)
        return lead - 1 if lead > 0 else -min(s + _ahead(rivals, own + s) for s in range(most + 1))
    if lead > 0:
        return math.ceil(lead / 2) - 1
    most = others if reach is None else min(others, reach + 1)
    return -next((k for k in range(most + 1) if _ahead(rivals, own + k) <= k), math.inf)


def _ahead(rivals: Sequence[int], own: int) -> int:
    """How many votes the rivals must lose so that each has fewer than `own`."""
    return sum(max(0, votes - (own - 1)) for votes in rivals) if own > 0 else sum(rivals) + 1


@dataclass(frozen=True)
class Distinct:
    """Yes when people have at least `at_least` distinct values; None and NaN are no values.

    There must always be a value that nobody has yet.

    Guarantee: levels are exact distances (proofs/levels.md).

    >>> Distinct(at_least=2).level(["a", "a", "b", "b", "b"])
    1
    """

    at_least: int
    value: Callable[[Any], Hashable] = lambda person: person
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if not self.at_least >= 1:
            raise DuotoneError("there are always 0 different values or more: ask for at least 1")

    def _counts(self, people: Sequence[Any]) -> list[int]:
        values = map(self.value, people)
        return sorted(Counter(value for value in values if value is not None and value == value).values())

    def truth(self, people: Sequence[Any]) -> bool:
        """Whether there are enough."""
        return len(self._counts(people)) >= self.at_least

    def level(self, people: Sequence[Any]) -> float:
        """The rarest values are removed first; every newcomer adds one."""
        counts = self._counts(people)
        return distinct_level(len(counts), counts, self.at_least, len(people) if self.neighbours == "replace" else None)


def distinct_level(different: int, rarest: Sequence[int], at_least: int, people: int | None) -> float:
    """The level from the number of values and the counts of the rarest ones; further values have at least as many
    people each. `people` is how many there are in all, with a value or without; None under add-remove."""
    too_many = different - at_least + 1
    if too_many > 0:
        return (list(accumulate(rarest, initial=0))[too_many] if too_many <= len(rarest) else sum(rarest) + 1) - 1
    return -math.inf if people is not None and at_least > people else different - at_least


Counts = NDArray[np.int64]
MOST_TABLES = 4 * 10**7
"""Most tables that a search examines."""


@dataclass(frozen=True)
class Cells:
    """Yes when `asked` is true of the number of people in each of `cells` cells.

    `cell(person)` is a person's cell, from 0 on, or None for none of them. `asked` takes an array with a row for each
    table and a column for each cell, and returns a Boolean for each row. Levels are searched for up to `reach` changes.

    Guarantee: levels are exact distances up to `reach` (proofs/levels.md).

    >>> as_many = Cells(cell=int, cells=2, asked=lambda n: n[:, 0] * n[:, 0] > 2 * n[:, 1])
    >>> as_many.level([0, 0, 0, 1, 1, 1, 1])
    0
    """

    cell: Callable[[Any], int | None]
    cells: int
    asked: Callable[[Counts], NDArray[np.bool_]]
    neighbours: Neighbours = "add-remove"
    reach: int = 16

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        require_few(self.cells, self.reach)

    def _counts(self, people: Sequence[Any]) -> list[int]:
        counts = Counter(map(self.cell, people))
        return [counts[i] for i in range(self.cells)]

    def truth(self, people: Sequence[Any]) -> bool:
        """The answer for this table."""
        return bool(self.asked(np.array([self._counts(people)], dtype=np.int64))[0])

    def level(self, people: Sequence[Any]) -> float:
        """Examine every table that is 1, 2, … changes away."""
        counts = self._counts(people)
        outside = len(people) - sum(counts) if self.neighbours == "replace" else None
        return cells_level(counts, self.asked, self.reach, outside)


def require_few(cells: int, reach: int) -> None:
    """Refuse a search that would take too long."""
    if not (cells >= 1 and reach >= 1 and (2 * reach + 1) ** cells <= MOST_TABLES):
        raise DuotoneError(
            f"with this budget an answer has {reach} levels, too many for a question about {cells} counts: raise epsilon or "
            "delta"
        )


def cells_level(
    counts: Sequence[int],
    asked: Callable[[Counts], NDArray[np.bool_]],
    reach: int,
    outside: int | None,
    *,
    somewhere: bool = False,
) -> int:
    """The level, up to `reach` changes; `outside` is how many people are in none of the cells, or None under
    add-remove.

    With `somewhere`, everybody is in one of them. Tables are examined by how much the first cell changes, the smallest
    change first.
    """
    here = np.array([counts], dtype=np.int64)
    yes, turns = bool(asked(here)[0]), reach + 1
    others = _box(len(counts) - 1, reach)
    for first in sorted(range(-reach, reach + 1), key=abs):
        if abs(first) >= turns:
            break
        steps = np.hstack([np.full((len(others), 1), first, dtype=np.int64), others])
        changes = _changes(steps, outside)
        near = (changes > 0) & (changes < turns) & (here + steps >= 0).all(axis=1)
        if outside is not None:
            joined = steps.sum(axis=1)
            near &= joined == 0 if somewhere else joined <= outside
        changes, tables = changes[near], here + steps[near]
        if len(tables):
            turns = min(turns, int(changes[asked(tables) != yes].min(initial=turns)))
    return turns - 1 if yes else -turns


def _changes(steps: Counts, outside: int | None) -> Counts:
    """How many people must join or leave; under replace, how many must move, including those outside."""
    moved: Counts = np.abs(steps).sum(axis=1)
    return moved if outside is None else np.asarray((moved + np.abs(steps.sum(axis=1))) // 2)


@lru_cache(maxsize=8)
def _box(cells: int, reach: int) -> Counts:
    """Every vector of changes to this many cells, each by at most `reach`."""
    axes = np.meshgrid(*[np.arange(-reach, reach + 1)] * cells, indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, cells) if cells else np.zeros((1, 0), dtype=np.int64)
