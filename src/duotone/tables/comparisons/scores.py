"""Levels of a sum of scores over people, from how many have each score, or from the total and the far ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from duotone.questions.threshold import Scores, levels, who_matters
from duotone.tables.comparisons.shared import Array, Levels, Results
from duotone.tables.declared import Declared
from duotone.tables.engines.results import Ends, Result


def score_bounds(low: int, high: int, declared: Declared, absent: bool) -> tuple[int, int]:
    """The scores that someone new can have; `absent` tells whether someone can be there with no score at all, which is 0."""
    return (min(low, 0), max(high, 0)) if declared.replaced and absent else (low, high)


def score_ends(final: Callable[[int], int], bounds: tuple[int, int], declared: Declared, reach: int) -> Ends:
    """What levels need of the far ends. Final scores are linear in what is read."""
    down, up = who_matters(*bounds, declared.neighbours)
    shift = final(0)
    scale = final(1) - shift
    read = [None if score is None else Fraction(score - shift, scale) for score in (down, up)]
    largest, smallest = read if scale > 0 else read[::-1]
    return Ends(
        reach,
        largest_from=None if largest is None else math.ceil(largest),
        smallest_to=None if smallest is None else math.floor(smallest),
        farthest=max(math.ceil(abs(Fraction(end - shift, scale))) for end in bounds),
    )


def score_levels(final: Callable[[int], int], bounds: tuple[int, int], at_least: int, declared: Declared) -> Levels:
    """Levels of a sum of final scores."""
    low, high = bounds

    def levels_of(results: Results, people: Array) -> NDArray[np.float64]:
        result = results["s"]
        missing = people - result.people if declared.replaced else np.zeros_like(people)
        scores = _tallied(result, missing, final, at_least) if result.counts else _ended(result, missing, final)
        return levels(scores, low, high, at_least, declared.neighbours)

    return levels_of


def _tallied(result: Result, missing: Array, final: Callable[[int], int], at_least: int) -> Scores:
    pairs = [(final(value), count) for value, count in result.counts.items()] + [(0, missing)]
    heaviest = (abs(at_least) + max(abs(v) for v, _ in pairs) + 1) * (int(result.people.max(initial=0)) + 1)
    kind: type = np.int64 if heaviest < 2**60 else object
    pairs = sorted(((v, n.astype(kind)) for v, n in pairs), key=lambda pair: -pair[0])
    return Scores(sum((v * n for v, n in pairs), np.zeros(len(missing), dtype=kind)), pairs, pairs[::-1])


def _ended(result: Result, missing: Array, final: Callable[[int], int]) -> Scores:
    """Final scores are linear in what came back, so that totals follow from totals."""
    shift = final(0)
    scale = final(1) - shift
    ends = []
    largest, smallest = (result.largest, result.smallest) if scale > 0 else (result.smallest, result.largest)
    for side, way in ((largest, 1), (smallest, -1)):
        scored = [(np.where(n == 1, scale * v + shift, 0), n) for v, n in side]
        ends.append(_with_absent(scored, missing.tolist(), way) if missing.any() else scored)
    return Scores(scale * result.total + shift * result.people.astype(object), ends[0], ends[1], result.reach)


def _with_absent(scored: Sequence[tuple[Array, Array]], missing: Sequence[int], way: int) -> list[tuple[Array, Array]]:
    """Those without a score take their place at 0."""
    by_group = [[(v[g], n[g]) for v, n in scored if n[g]] + [(0, m)] for g, m in enumerate(missing)]
    for pairs in by_group:
        pairs.sort(key=lambda pair: -way * pair[0])
    longest = max(map(len, by_group))
    padded = [pairs + [(0, 0)] * (longest - len(pairs)) for pairs in by_group]
    places = [list(zip(*place, strict=True)) for place in zip(*padded, strict=True)]
    return [(np.array(values, dtype=object), np.array(counts, dtype=object)) for values, counts in places]
