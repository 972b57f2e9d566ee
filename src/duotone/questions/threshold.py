"""Is a sum over people at least so much? Counts, majorities, shares, sums and averages are all this question."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from duotone.errors import DuotoneError
from duotone.questions.protocol import Neighbours, check_neighbours


@dataclass(frozen=True)
class Threshold:
    """Yes when Σ value(person) ≥ `at_least`; values are integers, clipped to [lowest, highest].

    - a count: value 1 for those counted, 0 for others, lowest 0, highest 1
    - a majority: 1 for yes, −1 for no, at least 1 (a tie is a no)
    - a share of at least a/b: b − a for those counted, −a for others, at least 0
    - an average above a limit: value less limit on an integer grid, at least 1

    With `somebody`, an empty table is a no (an average of nothing is above no limit).

    Guarantee: levels are exact distances, and so differ by at most 1 between neighbours (docs/questions.md).

    >>> majority = Threshold(value={"yes": 1, "no": -1}.__getitem__, lowest=-1, highest=1, at_least=1)
    >>> majority.level(["yes"] * 7 + ["no"] * 4)
    2
    """

    value: Callable[[Any], int]
    lowest: int
    highest: int
    at_least: int
    somebody: bool = False
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if not self.lowest <= self.highest:
            raise DuotoneError("a threshold needs lowest ≤ highest")

    def truth(self, people: Sequence[Any]) -> bool:
        """Whether the sum is large enough."""
        return sum(self._values(people)) >= self.at_least and (len(people) > 0 or not self.somebody)

    def _values(self, people: Sequence[Any]) -> list[int]:
        return clipped(map(self.value, people), self.lowest, self.highest)

    def level(self, people: Sequence[Any]) -> float:
        """Greedy: the changes that move the sum furthest, until it is on the other side."""
        values = self._values(people)
        surplus = sum(values) - self.at_least
        if self.truth(people):
            leaving = len(values) if self.somebody and self.neighbours == "add-remove" else math.inf
            return min(fewest(values, surplus + 1, self.lowest, self.neighbours), leaving) - 1
        mirrored = [-v for v in values]
        steps = fewest(mirrored, -surplus, -self.highest, self.neighbours)
        return -self._leaving_somebody(mirrored, steps, -surplus)

    def _leaving_somebody(self, mirrored: list[int], steps: float, needed: int) -> float:
        """One change more where the best ones would empty the table and that is a no."""
        n = len(mirrored)
        if not self.somebody or self.neighbours == "replace":
            return steps if n or not self.somebody or self.neighbours == "add-remove" else math.inf
        if n == 0:
            joining = math.ceil(self.at_least / self.highest) if self.highest > 0 and self.at_least > 0 else 1
            return max(joining, 1) if self.highest * max(joining, 1) >= self.at_least else math.inf
        if steps != n or sum(v for v in mirrored) < needed or any(v <= 0 for v in mirrored):
            return steps
        kept = sum(mirrored) - min(mirrored) + self.highest  # all but one leave, and one joins
        return n if kept >= needed else n + 1 if self.highest >= self.at_least else math.inf


def clipped(values: Iterable[int], lowest: int, highest: int) -> list[int]:
    """Values within their declared bounds (NaN at the lower one): a person never counts for more than declared."""
    return [lowest if not v > lowest else min(int(v), highest) for v in values]


def fewest(values: Sequence[int], excess: int, lowest: int, neighbours: Neighbours) -> float:
    """The fewest changes that lower a sum of `values` by at least `excess`, when newcomers may be as low as `lowest`."""
    if excess <= 0:
        return 0
    if neighbours == "replace":
        gains, newcomer = (v - lowest for v in values), 0
    else:
        gains, newcomer = (v for v in values), max(-lowest, 0)
    steps = 0
    for gain in sorted((g for g in gains if g > newcomer), reverse=True):
        excess, steps = excess - gain, steps + 1
        if excess <= 0:
            return steps
    return steps + -(-excess // newcomer) if newcomer else math.inf
