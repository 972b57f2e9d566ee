"""Are there at least so many different values?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from duotone.errors import DuotoneError
from duotone.questions.protocol import Neighbours, check_neighbours


@dataclass(frozen=True)
class Distinct:
    """Yes when people have at least `at_least` different values; None and NaN count as no value.

    There must always be a value that nobody has yet.

    Guarantee: levels are exact distances (docs/questions.md).

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
        """The rarest values are emptied first; every newcomer brings one more."""
        counts = self._counts(people)
        return distinct_level(len(counts), counts, self.at_least, len(people) if self.neighbours == "replace" else None)


def distinct_level(different: int, rarest: Sequence[int], at_least: int, people: int | None) -> float:
    """The level from how many values there are and how many people have each of the rarest; of more values than these, that
    many people and more. `people` is how many there are in all, with a value or without; None under add-remove."""
    too_many = different - at_least + 1
    if too_many > 0:
        return (list(accumulate(rarest, initial=0))[too_many] if too_many <= len(rarest) else sum(rarest) + 1) - 1
    return -math.inf if people is not None and at_least > people else different - at_least
