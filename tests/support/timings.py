"""Whether response times tell two tables apart: the tables, the clock and its absence, and the statistical test. For
benchmarks and tests.

The observer is a strong one: on the same machine, with the service's clock, it sees how long after its tick each reply
arrives. Each request chooses one of two tables at random, so that everything else on the machine affects both alike.
The statistic is Mann and Whitney's: how often a reply about the second table is later than one about the first (one
half if they are alike).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist, median
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import stats

from duotone.desk.clock import Clock, Departure
from support.crowds import crowd

QUESTION = "count(*) filter (where v like '%abca%hgfe%') > 100"
"""A question whose time depends on the rows."""
ROWS = 5000
NEIGHBOURS, CONTENTS = ("without", "with"), ("plain", "various")


@dataclass(frozen=True)
class NoClock(Clock):
    """A service that answers when it is done."""

    def departure(self, since: float, seconds: float, late: Callable[[], None]) -> Departure:  # noqa: ARG002
        return AtOnce(self, since, late)


class AtOnce(Departure):
    """Nothing is delayed."""

    def hold(self) -> None:
        self.begun = self.held = True


def tables(long: int = 8_000_000, each: int = 2000) -> dict[str, pa.Table]:
    """Two tables that differ in one row, which has a long text; and two of the same size, with one letter or a text of
    `each` letters in every row."""
    draw = random.Random(1)

    def text(letters: int) -> str:
        return "".join(draw.choices("abcdefgh", k=letters))

    some = [text(12) for _ in range(500)]
    return {
        "without": pa.table({"v": some}),
        "with": pa.table({"v": [*some, ("abcdefgh" * (long // 8 + 1))[:long]]}),
        "plain": pa.table({"v": ["a"] * ROWS}),
        "various": pa.table({"v": [text(each) for _ in range(ROWS)]}),
    }


@dataclass(frozen=True)
class Times:
    """Seconds of replies about two tables: after their ticks, or, without a clock, after their requests."""

    first: list[float]
    second: list[float]

    @property
    def later(self) -> float:
        """How often a reply about the second table takes longer than one about the first."""
        u = stats.mannwhitneyu(self.second, self.first, method="asymptotic").statistic
        return float(u) / (len(self.first) * len(self.second))

    @property
    def p_value(self) -> float:
        """For the hypothesis that they are alike, two-sided."""
        return float(stats.mannwhitneyu(self.second, self.first, method="asymptotic").pvalue)

    @property
    def shape_p_value(self) -> float:
        """The same by Kolmogorov and Smirnov, which also detects differences other than a shift."""
        return float(stats.ks_2samp(self.first, self.second, method="asymp").pvalue)

    def late(self, seconds: float) -> tuple[int, int, float]:
        """How many replies about each table took longer than this, and the p-value, by Fisher, that this is chance: a
        few late ones change neither a median nor the other tests."""
        first, second = (sum(time > seconds for time in times) for times in (self.first, self.second))
        table = np.array([[first, len(self.first) - first], [second, len(self.second) - second]])
        return first, second, float(stats.fisher_exact(table).pvalue)

    @property
    def medians(self) -> tuple[float, float]:
        return median(self.first), median(self.second)


def power(each: int, later: float, level: float) -> float:
    """The probability that the test at this level detects this share of later replies about the second table, with this
    many replies about each: by the normal approximation, with the variance for nearly equal distributions.

    >>> round(power(10_000, 0.52, 0.01), 3)
    0.99
    """
    spread = math.sqrt((2 * each + 1) / (12 * each * each))
    normal = NormalDist()
    return normal.cdf(abs(later - 0.5) / spread - normal.inv_cdf(1 - level / 2))


def shift_seen(after: list[float], later: float) -> float:
    """The shift of these times, in seconds, that would cause such a share of later ones."""
    low, high, times = 0.0, 1.0, np.array(after)
    ordered = np.sort(times)
    while high - low > 1e-7:
        middle = (low + high) / 2
        share = float(np.searchsorted(ordered, times + middle).mean()) / len(times)
        low, high = (middle, high) if share < later else (low, middle)
    return high


def declared(url: str, token: str, name: str) -> float:
    """Seconds after which answers about a table leave."""
    body = {"question": QUESTION, "epsilon": "0.1"}
    (reply,) = crowd(url, token, f"/api/datasets/{name}/preview", [body], 1)
    return float(reply.document["seconds"])


def observed(url: str, token: str, pair: tuple[str, str], each: int, connections: int, clock: tuple[float, float] | None,
             pause: float = 0, seed: int = 1) -> Times:  # fmt: skip
    """Ask about two tables in a random order, over several connections, with random pauses up to `pause`; `clock` is
    the tick and the declared seconds."""
    names = [*pair] * each
    random.Random(seed).shuffle(names)
    times: dict[str, list[float]] = {name: [] for name in pair}
    body: Any = {"question": QUESTION, "epsilon": "0.1", "again": True}
    for name, reply in zip(names, _in_order(url, token, names, body, connections, pause), strict=True):
        assert reply.status == 200, reply
        there = reply.asked + reply.seconds
        due = reply.asked if clock is None else math.ceil((reply.asked + clock[1]) / clock[0]) * clock[0]
        times[name].append(there - due)
    return Times(times[pair[0]], times[pair[1]])


def _in_order(url: str, token: str, names: list[str], body: Any, connections: int, pause: float) -> list[Any]:
    paths, draw = [f"/api/datasets/{name}/ask" for name in names], random.Random(2)
    replies = crowd(url, token, paths, [body] * len(names), connections, pause=lambda: draw.uniform(0, pause))
    return sorted(replies, key=lambda reply: reply.number)
