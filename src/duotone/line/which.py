"""Which of k: an answer among k public ones. The true one is more often given the more people would have to change before
any other answer is true.

A dataset has one true answer, and a distance d: the people who must change to reach any other answer, less one. Neighbours
have the same answer and distances that differ by at most 1; or other answers, and then both are at distance 0. Each answer
has a public order of preference over all k, itself first, and row d of a table has the chances by the place in that order:
place 0 is the truth. In row 0 the others are alike; from row to row each prefix sum moves by φ (docs/theory.md).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from duotone.errors import DuotoneError
from duotone.line.table import (
    CERTAIN,
    FEWEST_BITS,
    LARGEST,
    LONGEST,
    LOSS,
    NEXT_TO_NOTHING,
    OPTIMAL,
    SHORT,
    Table,
    require_tabled,
    too_long,
    wide_enough,
)
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.renyi import FURTHEST, RenyiDP
from duotone.privacy.rounded import Rounded, over_all_events, shrunk
from duotone.privacy.text import Definition

MOST_ANSWERS = 2**16
"""Most answers to choose from."""

NOTHING = ApproxDP(0, 0)
WHICH, IN_ORDER = "which of ", " in order"
_WRITTEN = re.compile(f"{WHICH}([1-9][0-9]{{0,4}})({IN_ORDER})?")


@dataclass(frozen=True)
class Which:
    """The mechanism of an answer among `answers` ones, each under `privacy`. With `ordered`, an answer that is wrong falls near
    the truth, as suits brackets; else all wrong ones are alike.

    As text, it is what a ledger records beside its privacy.

    >>> str(Which(ApproxDP(1, "1e-6"), 5, ordered=True))
    'which of 5 in order'
    """

    privacy: Definition
    answers: int
    ordered: bool = False

    def __post_init__(self) -> None:
        if require_tabled(self.privacy) == NOTHING:
            raise DuotoneError("an epsilon of 0 with a delta of 0 allows no answer that tells anything: raise one of them")
        if not (type(self.answers) is int and 2 <= self.answers <= MOST_ANSWERS):
            raise DuotoneError(f"the answers to choose from are 2 to {MOST_ANSWERS}, got {self.answers!s:.60}")
        if not (type(self.ordered) is bool and (not self.ordered or isinstance(self.privacy, ApproxDP))):
            raise DuotoneError("answers in an order need an ApproxDP: one Rényi order has those whose wrong ones are alike")

    def __str__(self) -> str:
        return f"{WHICH}{self.answers}{IN_ORDER * self.ordered}"

    @property
    def table(self) -> Table:
        """The mechanism in integers."""
        return _table(self)

    def error(self, distance: int) -> float:
        """The probability of a wrong answer at a distance, about; of −1 − distance the same, as on a line.

        >>> [round(Which(ApproxDP(1, "1e-6"), 10).error(distance), 5) for distance in (0, 1, 7, 15)]
        [0.76803, 0.36944, 0.00092, 0.0]
        """
        start = _first(Rounded(self.privacy, FEWEST_BITS), self.answers)
        return float(self.privacy.iterate(start, max(distance, -1 - distance))[1])

    @property
    def certain(self) -> tuple[float, float]:
        """The distance from which the error is exactly 0, if there is one: as of a line, which has two sides."""
        rows = self.table.entries
        end = float(len(rows) - 1) if rows[-1][0] == 1 << self.table.bits else math.inf
        return end, end

    def certificate(self) -> dict[str, Any]:
        """The table as JSON with its claims; `duotone check` and `tools/check_certificate.py` re-check them."""
        claims = {**OPTIMAL, "which": {"answers": self.answers, "ordered": self.ordered}}
        return self.table.document(claims, {}).as_dict()

    @property
    def columns(self) -> int:
        """The numbers of a row: of the truth and all others together; or, in order, of each place."""
        return self.answers if self.ordered else 2


def read_which(privacy: Definition, written: str) -> Which:
    """The mechanism of its text."""
    said = _WRITTEN.fullmatch(written)
    if said is None:
        raise DuotoneError("this does not say among how many answers one is chosen")
    return Which(privacy, int(said[1]), said[2] is not None)


def which_table(privacy: Definition, answers: int, *, ordered: bool = False) -> Table:
    """The integers from which an answer among `answers` ones is drawn: an outcome is a place in the order of preference of the
    true answer (`preferences`), a row a distance.

    Guarantee: neighbours' rows are private over all events, as integers: those of next distances, and the first row in
    the orders of two answers. No first row of which the others are alike has a larger truth, and no mechanism with that
    one has any larger prefix sum; rounding costs less than 2^−60 of each.

    >>> table = which_table(ApproxDP(exp_epsilon=2, delta="1/10"), 3)
    >>> [[round(float(chance), 3) for chance in table.chances(distance)] for distance in range(4)]
    [[0.55, 0.225, 0.225], [0.825, 0.087, 0.087], [0.963, 0.019, 0.019], [1.0, 0.0, 0.0]]
    """
    return Which(privacy, answers, ordered).table


@lru_cache(maxsize=16)
def _table(which: Which) -> Table:
    privacy, k = which.privacy, which.answers

    def build(bits: int) -> Table | None:
        floor, ceiling = Rounded(shrunk(privacy, bits), bits), Rounded(privacy, bits, up=True)
        if privacy.delta > 0 == floor.step(Fraction(0)) and bits < NEXT_TO_NOTHING:
            return None  # with more bits there is room for this δ
        one = 1 << bits
        starts, tops = (
            [one - (k - 1 - j) * int(each.each_other(k) * one) for j in range(which.columns - 1)] for each in (floor, ceiling)
        )
        if starts[0] * k < one:
            return None  # with more bits there is room for a truth that is at least as likely as another answer
        sums, worst = _prefix_sums(floor, ceiling, starts, tops)
        rows = tuple(tuple(b - a for a, b in pairwise((0, *row, one))) for row in sums)
        outcomes, alike = tuple(range(k)), k + 1 - which.columns
        private = isinstance(privacy, RenyiDP) or all(over_all_events(privacy, *pair, bits) for pair in pairwise(rows))
        return Table(privacy, outcomes, bits, rows, alike=alike, loss=Fraction(worst, one)) if private else None

    return wide_enough(build)


def which_reach(privacy: Definition, answers: int, *, ordered: bool = False) -> int:
    """The number of people from which every row is alike; without a table if δ exceeds the rounding error, possibly too large
    then.

    Guarantee: never less than the table's reach; without a table, this raises what `which_table` does.

    >>> which_reach(ApproxDP(1, "1e-6"), 10), which_reach(ApproxDP(1, "1e-6"), 10, ordered=True)
    (16, 16)
    """
    which = Which(privacy, answers, ordered)
    floor = Rounded(shrunk(privacy, FEWEST_BITS), FEWEST_BITS)
    if floor.reaches_one:
        people = floor.settles_after(_first(floor, answers))
        if people < min(SHORT, LARGEST // (4 * floor.bits * which.columns)):  # far from the most
            return int(people) + 1
    return which.table.reach


def preferences(answer: int, answers: int) -> tuple[int, ...]:
    """The order in which a dataset whose true answer is this one prefers all of them: itself, then by nearness, of two that
    are equally near the lower one first.

    >>> preferences(1, 5), preferences(4, 5)
    ((1, 0, 2, 3, 4), (4, 3, 2, 1, 0))
    """
    return tuple(answer_at(np.full(answers, answer), np.arange(answers), answers).tolist())


def answer_at(truth: Any, place: Any, answers: int) -> Any:
    """The answers at places of the orders of true answers (`preferences`), as arrays of whole numbers: by arithmetic alone, in
    a time that does not depend on either.

    >>> answer_at(np.array([1, 1, 4]), np.array([1, 4, 0]), 5).tolist()
    [0, 4, 4]
    """
    beside = np.where(place % 2 == 1, truth - (place + 1) // 2, truth + place // 2)
    beyond = np.where(2 * truth < answers, place, answers - 1 - place)
    return np.where(place <= 2 * np.minimum(truth, answers - 1 - truth), beside, beyond)


def _first(floor: Rounded, answers: int) -> Fraction:
    """The truth of the first row."""
    return 1 - (answers - 1) * floor.each_other(answers)


def _most_rows(floor: Rounded, truth: Fraction, columns: int) -> int:
    """The most rows of a table, if it does not need more."""
    privacy, most = floor.privacy, min(LONGEST, LARGEST // (floor.bits * columns))
    if isinstance(privacy, RenyiDP):
        if privacy.steps_at_least() > FURTHEST:
            raise too_long(FURTHEST, renyi=True)
        return min(most, FURTHEST)
    small = LOSS if privacy.delta > 0 else CERTAIN
    if floor.step(truth) != truth and privacy.iterate(float(truth), most)[1] > small:  # at once, not after a million steps
        raise too_long(most)
    return most


def _prefix_sums(floor: Rounded, ceiling: Rounded, starts: list[int], tops: list[int]) -> tuple[list[list[int]], int]:
    """The prefix sums of each row, and the largest gap to their upper bounds; beyond the last row these may rise to 1.

    It ends where φ changes the truth no more, and without a δ where a mistake is as rare as CERTAIN.
    """
    down, up, one = floor.on_integers(), ceiling.on_integers(), 1 << floor.bits
    most = _most_rows(floor, Fraction(starts[0], one), len(starts))
    rare = -1 if floor.privacy.delta > 0 else int(CERTAIN * one)
    sums, bounds, worst = [starts], tops, max(b - s for b, s in zip(tops, starts, strict=True))
    while one - sums[-1][0] > rare and (following := [int(down(s)) for s in sums[-1]]) != sums[-1]:
        if len(sums) >= most:
            raise too_long(most, renyi=isinstance(floor.privacy, RenyiDP))
        bounds = [up(b) for b in bounds]
        sums.append(following)
        worst = max(worst, *(b - s for b, s in zip(bounds, following, strict=True)))
    ends = (b if up(b) == b else one for b in bounds)
    return sums, int(max(worst, *(end - s for end, s in zip(ends, sums[-1], strict=True))))
