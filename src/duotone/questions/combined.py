"""And, or, not: questions made of questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from duotone.errors import DuotoneError
from duotone.questions.protocol import Neighbours, Question


@dataclass(frozen=True)
class Combined:
    """Several questions under one rule: `and` takes the least of their levels, `or` the greatest.

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
    """The least of levels, or the greatest; of `not`, the other side of the line. Of arrays, in each place."""
    return -1 - levels[0] if rule == "not" else (np.minimum if rule == "and" else np.maximum).reduce(levels)


@dataclass(frozen=True)
class Negated:
    """Not: yes and no swapped. As exact as the question itself."""

    part: Question

    @property
    def neighbours(self) -> Neighbours:
        """Which datasets are neighbours: as in the question itself."""
        return self.part.neighbours

    def truth(self, people: Sequence[Any]) -> bool:
        """The other answer."""
        return not self.part.truth(people)

    def level(self, people: Sequence[Any]) -> float:
        """The other side of the line, as far from the boundary."""
        return float(combined_level("not", [self.part.level(people)]))
