"""Questions about real tables, with limits such that the table is 1 to 20 people from flipping, on both sides."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from duotone.questions.difference import Compared, Side, difference_level
from duotone.questions.threshold import Scores, levels
from support.noise import Array

CHILE = Path(__file__).parents[2] / "examples" / "chile" / "chile.csv"
MARGINS = 20
REACH = MARGINS + 4
SAMPLES = 9
"""Limits for each level, evenly spread, both ends included."""
Level = Callable[[int], int]


class Groups(NamedTuple):
    """Two groups whose noisy averages are compared: centred sums, sizes, half the width of the bounds; and the most
    that one person can change each average if the sizes are known and the averages nearly so."""

    sums: tuple[float, float]
    sizes: tuple[int, int]
    half: float
    widths: tuple[float, float]


@dataclass(frozen=True)
class Cases:
    """One question with many limits, an entry each: the level, the distance of the statistic from the limit (`z`), and
    the most that one person can change it (`width`).

    `parts` are the widths of the two noises that libraries add instead (Laplace noise of scale width / ε), `spread`
    that of their normal noises together; for two averages, `groups`. `least` is the least that one person can change on
    any table, downwards and upwards. `whole`: the statistic is an integer. `alike` is False if the noise protects less
    than Duotone.
    """

    name: str
    level: NDArray[np.int64]
    z: Array
    width: Array
    parts: tuple[Array, Array] | None = None
    spread: Array | None = None
    least: tuple[Array, Array] | None = None
    groups: Groups | None = None
    whole: bool = True
    alike: bool = True

    def only(self, i: int) -> Cases:
        """The case of one limit."""
        one = slice(i, i + 1)
        parts = None if self.parts is None else (self.parts[0][one], self.parts[1][one])
        least = None if self.least is None else (self.least[0][one], self.least[1][one])
        spread = None if self.spread is None else self.spread[one]
        cut = self.level[one], self.z[one], self.width[one]
        return Cases(self.name, *cut, parts, spread, least, self.groups, self.whole, self.alike)


def limits_by_level(level: Level, low: int, high: int) -> list[int]:
    """Integer limits at which the table is up to `MARGINS` people from flipping; levels fall as limits rise."""
    wanted = range(MARGINS - 1, -MARGINS - 1, -1)
    last = [_last(level, low, high, target) for target in (MARGINS, *wanted)]
    chosen = []
    for before, after in pairwise(last):
        if after > before:
            chosen += sorted({int(x) for x in np.linspace(before + 1, after, SAMPLES).round()})
    return chosen


def _last(level: Level, low: int, high: int, target: int) -> int:
    """The largest limit at which the level is at least the target."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if level(middle) >= target else (low, middle - 1)
    return low


def fine(width: float, people: int) -> int:
    """Steps per unit such that one person moves the average by about a thousand of them."""
    return int(10 ** max(0, math.ceil(math.log10(1000 * people / width))))


def count(name: str, held: Sequence[bool]) -> Cases:
    """count(*) filter (where …) >= t."""
    c = sum(held)
    limits = np.array([c - level for level in range(MARGINS - 1, -MARGINS - 1, -1)])
    one = np.ones(len(limits))
    return Cases(name, c - limits, np.abs(c - limits + 0.5), one, least=(one, one))


def share(name: str, held: Sequence[bool]) -> Cases:
    """avg(condition) > t: people who meet it score 1 − t, the others −t. Libraries add noise to both counts."""
    scale = fine(1, len(held))
    c, n = sum(held), len(held)

    def scored(limit: int) -> tuple[Scores, int, int]:
        top, rest = (scale - limit, np.array([c], dtype=object)), (-limit, np.array([n - c], dtype=object))
        return Scores(np.array([c * scale - n * limit], dtype=object), [top, rest], [rest, top]), -limit, scale - limit

    limits = limits_by_level(lambda t: _threshold(*scored(t), "add-remove"), 0, scale)
    level = np.array([_threshold(*scored(t), "add-remove") for t in limits])
    t = np.array(limits, dtype=float)
    wide = np.maximum(scale - t, t)
    z = np.abs(c * scale - n * t - 0.5)
    return Cases(name, level, z, wide, (scale - t, t), np.hypot(scale - t, t), (wide, wide))


def mean(name: str, values: Sequence[int], low: int, high: int, neighbours: Any = "add-remove") -> Cases:
    """avg(x) > t: one sum, of x − t. Libraries add noise to the sum about the middle of the bounds, and to the
    count."""
    v, n = sorted(values), len(values)
    scale, total = fine(high - low, n), sum(v)
    one = np.array([1], dtype=object)

    def at(limit: int) -> int:
        ends = [[(scale * x - limit, one) for x in end] for end in (v[: -REACH - 1 : -1], v[:REACH])]
        scores = Scores(np.array([scale * total - n * limit], dtype=object), ends[0], ends[1], REACH)
        return _threshold(scores, scale * low - limit, scale * high - limit, neighbours)

    limits = limits_by_level(at, scale * low, scale * high)
    level, t = np.array([at(limit) for limit in limits]), np.array(limits, dtype=float)
    z = np.abs(np.array([scale * total - n * limit for limit in limits], dtype=float) - 0.5)
    down, up, half = t - scale * low, scale * high - t, np.full(len(t), scale * (high - low) / 2)
    off = np.abs(t - scale * (high + low) / 2)
    if neighbours == "replace":
        return Cases(name, level, z, 2 * half)
    parts = (2 * half, 2 * off)
    return Cases(name, level, z, np.maximum(down, up), parts, math.sqrt(2) * np.hypot(half, off), (down, up))


def single_mean(values: Sequence[int], limit: int, high: int) -> Cases:
    """One limit, under replace, bounds from 0."""
    one, n = np.array([1], dtype=object), len(values)
    ends = [[(x - limit, one) for x in sorted(values, reverse=turned)[:REACH]] for turned in (True, False)]
    total = sum(values) - n * limit
    level = _threshold(Scores(np.array([total], dtype=object), ends[0], ends[1], REACH), -limit, high - limit, "replace")
    return Cases("", np.array([level]), np.array([abs(total - 0.5)]), np.array([float(high)]))


def _threshold(scores: Scores, low: int, high: int, neighbours: Any) -> int:
    return int(levels(scores, low, high, 1, neighbours)[0])


def versus(name: str, first: Sequence[int], second: Sequence[int], low: int, high: int, neither: int | None = None) -> Cases:
    """avg(x) filter (A) − avg(x) filter (B) > t, as `duotone ask` takes it.

    Under add-remove libraries compare two noisy averages. Under replace (`neither` given: how many are in neither
    group) one noise on the difference is enough if the groups are public, which Duotone does not assume.
    """
    sides = [Side(len(v), sum(v), v[: -REACH - 1 : -1], v[:REACH]) for v in (sorted(first), sorted(second))]

    @cache
    def level(limit: Fraction) -> int:
        compared = Compared(((low, high), (low, high)), (Fraction(1), Fraction(1)), limit)
        return difference_level(sides[0], sides[1], compared, REACH, neither)

    found = _apart(name, first, second, low, high, level)
    if neither is not None:
        return replace(found, alike=False)
    middle, sizes = (low + high) / 2, (len(first), len(second))
    sums = sum(first) - sizes[0] * middle, sum(second) - sizes[1] * middle
    averages = sum(first) / sizes[0], sum(second) / sizes[1]
    widths = [max(high - a, a - low) / n for a, n in zip(averages, sizes, strict=True)]
    return replace(found, groups=Groups(sums, sizes, (high - low) / 2, (widths[0], widths[1])))


def versus_public(name: str, first: Sequence[int], second: Sequence[int], low: int, high: int) -> Cases:
    """The same if the groups are public, and one person's value may change: Duotone at that distance.

    Each change moves the difference by a certain amount at most: the largest first.
    """
    n, m = len(first), len(second)
    apart = Fraction(sum(first), n) - Fraction(sum(second), m)
    lower = sorted([Fraction(x - low, n) for x in first] + [Fraction(high - x, m) for x in second], reverse=True)
    raised = sorted([Fraction(high - x, n) for x in first] + [Fraction(x - low, m) for x in second], reverse=True)
    down, up = (list(accumulate(gains[:REACH])) for gains in (lower, raised))

    def level(limit: Fraction) -> int:
        if apart > limit:
            return next((k for k, gain in enumerate(down) if gain >= apart - limit), REACH)
        return -next((k for k, gain in enumerate(up, 1) if gain > limit - apart), REACH)

    return _apart(name, first, second, low, high, level)


def _apart(
    name: str, first: Sequence[int], second: Sequence[int], low: int, high: int, level: Callable[[Fraction], int]
) -> Cases:
    """One noise on the difference of two averages of groups of known sizes."""
    fewest = min(len(first), len(second))
    scale = fine(high - low, fewest)
    limits = limits_by_level(lambda t: level(Fraction(t, scale)), scale * (low - high), scale * (high - low))
    apart = Fraction(sum(first), len(first)) - Fraction(sum(second), len(second))
    z = np.array([abs(float(apart - Fraction(t, scale))) for t in limits])
    found = np.array([level(Fraction(t, scale)) for t in limits])
    return Cases(name, found, z, np.full(len(z), (high - low) / fewest), whole=False)


def chile() -> list[dict[str, str]]:
    """The survey before the 1988 plebiscite, as shipped."""
    with CHILE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def salaries() -> list[int]:
    """1,000 log-normal salaries, as quantiles: median 45,000, σ 0.5."""
    return [round(45_000 * math.exp(0.5 * z)) for z in norm.ppf((np.arange(1000) + 0.5) / 1000).tolist()]


def questions() -> list[Cases]:
    """Every question, on every table."""
    from statsmodels.datasets import anes96

    survey, study = chile(), anes96.load_pandas().data
    income = [(row["sex"], int(float(row["income"]))) for row in survey if row["income"]]
    paid = [x for _, x in income]
    women, men = ([x for sex, x in income if sex == which] for which in "FM")
    ages = [int(row["age"]) for row in survey if row["age"]]
    yes = [row["vote"] == "Y" for row in survey]
    popul, news, vote = (study[c].astype(int).tolist() for c in ("popul", "TVnews", "vote"))
    clinton, dole = ([n for n, v in zip(news, vote, strict=True) if v == which] for which in (0, 1))
    return [
        count("Chile, count: votes yes", yes),
        share("Chile, share: votes yes", yes),
        mean("Chile, mean age, 18–70", ages, 18, 70),
        mean("Chile, mean income, 0–200,000", paid, 0, 200_000),
        mean("Chile, mean income, 0–1,000,000", paid, 0, 1_000_000),
        mean("Chile, mean income, 0–200,000, replace", paid, 0, 200_000, "replace"),
        versus("Chile, A/B: income of men, of women", men, women, 0, 200_000),
        versus_public("Chile, A/B: the same, sexes public", men, women, 0, 200_000),
        versus("Chile, A/B: the same, replace*", men, women, 0, 200_000, len(survey) - len(income)),
        count("ANES, count: votes Dole", [v == 1 for v in vote]),
        share("ANES, share: votes Dole", [v == 1 for v in vote]),
        mean("ANES, mean population of place, 0–10,000", popul, 0, 10_000),
        versus("ANES, A/B: TV news, Clinton, Dole", clinton, dole, 0, 7),
        versus_public("ANES, A/B: the same, votes public", clinton, dole, 0, 7),
        versus("ANES, A/B: the same, replace*", clinton, dole, 0, 7, 0),
        mean("salaries, mean, 0–1,000,000", salaries(), 0, 1_000_000),
        mean("salaries, mean, 0–1,000,000, replace", salaries(), 0, 1_000_000, "replace"),
    ]
