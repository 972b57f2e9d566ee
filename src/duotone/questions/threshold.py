"""Is a sum over people at least a limit? Counts, majorities, shares, sums and averages are all this question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.questions.protocol import Neighbours, check_neighbours

CROWD = 2**50
"""More people than any table has."""
FAR = 2.0**53
"""As many changes as floats can count; a larger distance counts as this."""


@dataclass(frozen=True)
class Scores:
    """What a threshold needs to know of its people, for one table or for many at once: arrays have one entry per table.

    `largest` and `smallest` are scores with the number of people who have them, from the extreme inwards. They cover
    everybody who matters (`who_matters`), or, with a `reach`, at least that many people from each end (or all).
    """

    total: NDArray[Any]
    largest: Iterable[tuple[Any, NDArray[Any]]]
    smallest: Iterable[tuple[Any, NDArray[Any]]]
    reach: int | None = None


def scores(values: Iterable[int]) -> Scores:
    """The scores of all people of one table."""
    tally = sorted(Counter(values).items(), reverse=True)
    counts = [(value, np.array([n], dtype=object)) for value, n in tally]
    return Scores(np.array([sum(v * n for v, n in tally)], dtype=object), counts, counts[::-1])


@dataclass(frozen=True)
class Threshold:
    """Yes when Σ value(person) ≥ `at_least`; values are integers, clipped to [lowest, highest].

    - a count: value 1 for those counted, 0 for others, lowest 0, highest 1
    - a majority: 1 for yes, −1 for no, at least 1 (a tie is a no)
    - a share of at least a/b: b − a for those counted, −a for others, at least 0
    - an average above a limit: value less limit on an integer grid, at least 1

    With `somebody`, an empty table is a no (the average of nothing is not above a limit).

    Guarantee: levels are exact distances up to 2^53 changes, where there can be people at both bounds, and so differ by at most
    1 between neighbours (proofs/levels.md; proofs/Threshold.v).

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
        seen = somebody if self.somebody and self.at_least == 0 else int  # with a larger limit, an empty table is a no anyway
        tally = scores(map(seen, self._values(people)))
        many = np.array([len(people)])
        there = People(many, many, absent=False) if self.somebody and self.at_least < 0 else None
        level = levels(tally, seen(self.lowest), seen(self.highest), seen(self.at_least), self.neighbours, there)[0]
        return int(level) if math.isfinite(level) else float(level)


def somebody(score: int, crowd: int = CROWD) -> int:
    """A score that also counts people, but never outweighs 1: Σ somebody(s) ≥ somebody(c) exactly when Σ s ≥ c and
    there is somebody, for c ≥ 0 and fewer people than `crowd`."""
    return score * crowd + 1


def clipped(values: Iterable[int], lowest: int, highest: int) -> list[int]:
    """Values clipped to their declared bounds (NaN to the lower one): a person never counts for more than declared."""
    return [lowest if not v > lowest else min(int(v), highest) for v in values]


@dataclass(frozen=True)
class People:
    """How many people of each table have a score, and how many there are; `absent` if people without a score can be
    there."""

    scored: NDArray[Any]
    every: NDArray[Any]
    absent: bool


def levels(
    tally: Scores, lowest: int, highest: int, at_least: int, neighbours: Neighbours, there: People | None = None
) -> NDArray[np.float64]:
    """The level of every table: how many changes lower, or raise, the total to the other side.

    With `there`, a table in which nobody has a score is a no, for `at_least` < 0. Then a yes is also flipped when
    everybody with a score leaves; and if that would flip a no, one more person must join, at the highest score.

    >>> levels(scores([1, 1, 1, 0]), 0, 1, 2, "add-remove").tolist()
    [1.0]
    """
    surplus = tally.total - at_least
    down = fewest(tally.largest, surplus + 1, lowest, neighbours, tally.reach)
    smallest = [(-value, n) for value, n in tally.smallest]
    up = fewest(smallest, -surplus, -highest, neighbours, tally.reach)
    if there is not None:
        nobody, all_leave = there.scored == 0, there.scored.astype(float)
        if neighbours == "add-remove":
            joined = 1 + fewest(smallest, -surplus - highest, -highest, neighbours, tally.reach)
            up, down = np.where(up < all_leave, up, joined), np.minimum(down, all_leave)
        else:
            up = np.where(nobody, np.where(there.every > 0, 1.0, math.inf), up)
            down = np.minimum(down, all_leave) if there.absent else down
        surplus = np.where(nobody, -1, surplus)
    return np.asarray(np.where(np.asarray(surplus >= 0, dtype=bool), down - 1, -up))


def who_matters(lowest: int, highest: int, neighbours: Neighbours) -> tuple[int | None, int | None]:
    """The least score of a person who can be among the fewest changes that lower a total, and the greatest score for
    those that raise it; None if no score within the bounds can.

    Guarantee: levels are the same if nobody else is examined. Under add-remove someone with score s who leaves lowers
    the total by s, and someone who joins at the lowest score by −lowest: so nobody with s ≤ −lowest, or s ≤ 0, need
    ever leave. Under replace someone lowers it by s − lowest, which is positive for all above the lowest. The rest by
    mirroring.

    >>> who_matters(-10, 90, "add-remove")  # who is more than 10 above the limit; joining at the top raises it most
    (11, None)
    >>> who_matters(-10, 90, "replace")
    (-9, 89)
    """
    down = max(-lowest, 0) + 1 if neighbours == "add-remove" else lowest + 1
    up = min(-highest, 0) - 1 if neighbours == "add-remove" else highest - 1
    return down if down <= highest else None, up if up >= lowest else None


def fewest(
    scores: Iterable[tuple[Any, NDArray[Any]]],
    excess: NDArray[Any],
    lowest: int,
    neighbours: Neighbours,
    reach: int | None = None,
) -> NDArray[np.float64]:
    """The fewest changes that lower a total by at least `excess`, when newcomers may be as low as `lowest`.

    `scores` are in falling order. People beyond `reach` are not among them: the result is then some number above
    `reach`.
    """
    newcomer = max(-lowest, 0) if neighbours == "add-remove" else 0
    excess = np.maximum(excess, 0)
    steps = np.zeros(excess.shape)
    for score, people in scores:
        gain = score - lowest if neighbours == "replace" else score
        helpful = gain > newcomer
        gain = np.where(helpful, gain, 1) if isinstance(gain, np.ndarray) else gain if helpful else 1
        taken = np.where(helpful, np.minimum(-(-excess // gain), people), 0)
        excess, steps = np.maximum(excess - taken * gain, 0), steps + taken.astype(float)
    joining = (-(-excess // newcomer)).astype(float) if newcomer else np.where(np.asarray(excess > 0, dtype=bool), math.inf, 0)
    total = steps + joining
    total = np.where(np.isfinite(total), np.minimum(total, FAR), total)
    if reach is None:
        return np.asarray(total)
    short = np.asarray(excess > 0, dtype=bool) & (steps >= reach)
    return np.asarray(np.where(short, reach + 1, total))
