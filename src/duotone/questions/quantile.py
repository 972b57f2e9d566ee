"""Is a quantile, the smallest or the largest value above a limit?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from duotone.errors import DuotoneError
from duotone.number import Given, number
from duotone.questions.protocol import Neighbours, check_neighbours
from duotone.questions.threshold import Threshold


def quantile(q: Given, above: Callable[[Any], bool], neighbours: Neighbours = "add-remove") -> Threshold:
    """Yes when the lower q-quantile, 0 < q < 1, lies above a limit; `above(person)` tells whether a person's value does.

    The lower q-quantile of n values is the ⌈q·n⌉-th smallest. It is above the limit exactly when fewer than q·n values
    are not, which is a sum over people. Of nobody, it is not.

    >>> median = quantile("1/2", lambda age: age > 40)
    >>> median.truth([30, 45, 50]), median.level([30, 45, 50])
    (True, 0)
    """
    share = Fraction(number(q, "q"))
    if not 0 < share < 1:
        raise DuotoneError("q must be between 0 and 1: for the smallest or largest value, ask for an Extreme")
    a, b = share.numerator, share.denominator
    return Threshold(lambda person: a if above(person) else a - b, a - b, a, 1, neighbours=neighbours)


@dataclass(frozen=True)
class Extreme:
    """Yes when every person is above a limit and there is somebody: is the smallest value above it?

    The largest value, and "is there anyone", are counts: `Threshold` of those above, at least 1.
    """

    above: Callable[[Any], bool]
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)

    def truth(self, people: Sequence[Any]) -> bool:
        """Whether everyone is above the limit, and someone is there."""
        return bool(people) and all(map(self.above, people))

    def level(self, people: Sequence[Any]) -> float:
        """One newcomer below turns a yes; a no is turned by every person below leaving, and someone above staying."""
        if self.truth(people):
            return 0
        below = sum(not self.above(person) for person in people)
        if self.neighbours == "replace":
            return -below if people else -math.inf
        return -(below + (below == len(people)))
