"""Any question about a few counts: people stand in cells, and what matters is how many are in each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.questions.protocol import Neighbours, check_neighbours

Counts = NDArray[np.int64]
MOST_TABLES = 4 * 10**7
"""Tables that a search looks at, at most."""


@dataclass(frozen=True)
class Cells:
    """Yes when `asked` says so of how many people are in each of `cells` cells.

    `cell(person)` is a person's cell, from 0 on, or None for none of them. `asked` takes an array with a row for each table
    and a column for each cell, and gives a Boolean for each row. Levels are searched for up to `reach` changes.

    Guarantee: levels are exact distances up to `reach` (docs/theory.md).

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
        """What is asked, of this table."""
        return bool(self.asked(np.array([self._counts(people)], dtype=np.int64))[0])

    def level(self, people: Sequence[Any]) -> float:
        """Look at every table that is 1, 2, … changes away."""
        counts = self._counts(people)
        outside = len(people) - sum(counts) if self.neighbours == "replace" else None
        return cells_level(counts, self.asked, self.reach, outside)


def require_few(cells: int, reach: int) -> None:
    """Refuse a search that would not end soon."""
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
    """The level, up to `reach` changes; `outside` is how many people are in none of the cells, or None under add-remove.
    With `somewhere`, everybody is in one of them.

    Tables are looked at by how much the first cell changes, by little first.
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
    """How many people must join or leave; where they are replaced, how many must move, those outside among them."""
    moved: Counts = np.abs(steps).sum(axis=1)
    return moved if outside is None else np.asarray((moved + np.abs(steps.sum(axis=1))) // 2)


@lru_cache(maxsize=8)
def _box(cells: int, reach: int) -> Counts:
    """Every vector of changes to this many cells, each by at most `reach`."""
    axes = np.meshgrid(*[np.arange(-reach, reach + 1)] * cells, indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, cells) if cells else np.zeros((1, 0), dtype=np.int64)
