"""Is a quantile, the smallest or the largest value above a limit?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from duotone.errors import DuotoneError
from duotone.privacy.numbers import Given, exact
from duotone.questions.protocol import Neighbours
from duotone.questions.threshold import CROWD, Threshold


def quantile(q: Given, above: Callable[[Any], bool], neighbours: Neighbours = "add-remove") -> Threshold:
    """Yes when the lower q-quantile, 0 < q < 1, lies above a limit; `above(person)` is whether a person's value does.

    The lower q-quantile of n values is the ⌈q·n⌉-th smallest. It is above the limit exactly when fewer than q·n values
    are not, which is a sum over people. Of nobody, it is not.

    >>> median = quantile("1/2", lambda age: age > 40)
    >>> median.truth([30, 45, 50]), median.level([30, 45, 50])
    (True, 0)
    """
    share = exact(q, "q")
    if not 0 < share < 1:
        raise DuotoneError("q must be between 0 and 1: for the smallest or largest value, ask for smallest")
    a, b = share.numerator, share.denominator
    return Threshold(lambda person: a if above(person) else a - b, a - b, a, 1, neighbours=neighbours)


def smallest(above: Callable[[Any], bool], neighbours: Neighbours = "add-remove") -> Threshold:
    """Yes when every person is above a limit and there is somebody: is the smallest value above it?

    A person below outweighs any number of people above, so this is a sum over people too. The largest value, and "is there
    anyone", are counts: `Threshold` of those above, at least 1.

    >>> smallest(lambda age: age >= 18).level([30, 17, 45, 12])
    -2
    """
    return Threshold(lambda person: 1 if above(person) else -CROWD, -CROWD, 1, 1, neighbours=neighbours)
