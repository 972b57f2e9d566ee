"""Scoring: each comparison as integers per row, whose sum over people decides it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from duotone.errors import DuotoneError
from duotone.model.dataset import FLOAT_STEPS, INTEGER_STEPS, LARGEST, Bounds, Grid
from duotone.model.notice import Refusal
from duotone.tables.sql.comparison import LinearThreshold, Term
from duotone.tables.sql.condition import MOST_CASES, MOST_TRUTHS, IsNull, Not, Operand, both, combinations, known_combinations


@dataclass(frozen=True)
class Score:
    """A comparison as a sum over rows: Σ weight·(value in grid steps, or 1) ≥ `at_least`.

    `lowest` and `highest` are the least and the greatest score of a row, and `possible` are all scores if they are few.
    `absent`: a row can be outside an average; `nobody`: every row must be. `exact`: rows with these scores are known to
    be possible.
    """

    terms: tuple[tuple[int, Term], ...]
    at_least: int
    lowest: int
    highest: int
    possible: tuple[int, ...] | None
    absent: bool
    nobody: bool
    exact: bool


def score(total: LinearThreshold, grids: Mapping[str, Grid]) -> Score:
    """Weights become integers over their common denominator; the limit becomes the least sum that is a yes."""
    steps = [t.weight * (grids[t.value.column].step if t.value else 1) for t in total.terms]
    scale = math.lcm(*(step.denominator for step in steps), 1)
    terms = tuple((int(step * scale), term) for step, term in zip(steps, total.terms, strict=True))
    limit = total.limit * scale
    if not (abs(limit) <= LARGEST and scale <= LARGEST):
        raise DuotoneError("the numbers of the question are too large or too fine")
    occurring, absent, exact = _cases(terms, total, grids)
    cases = occurring or [(0, 0)]
    lowest, highest = min(low for low, _ in cases), max(high for _, high in cases)
    parts = [_range(weight, term, grids) for weight, term in terms]
    if not sum(max(abs(low), abs(high)) for low, high in parts) <= INTEGER_STEPS:
        raise DuotoneError("the limit is too fine for these bounds: round it, or give a coarser grid")
    sure = all(low == high for low, high in cases)
    possible = tuple(sorted({low for low, _ in cases})) if sure else None
    least = math.floor(limit) + 1 if total.strict else math.ceil(limit)
    return Score(terms, least, lowest, highest, possible, absent, not occurring, exact)


def _cases(
    terms: Sequence[tuple[int, Term]], total: LinearThreshold, grids: Mapping[str, Grid]
) -> tuple[list[tuple[int, int]], bool, bool]:
    """The range of a row's score for each possible combination of conditions; whether a row can be outside the average;
    and whether the ranges are exact."""
    conditions = [both(t.where, Not(IsNull(t.value))) if t.value else t.where for _, t in terms]
    asked = [*conditions, *([total.present] if total.present is not None else [])]
    known = known_combinations(asked) if 2 ** len(asked) > MOST_CASES else combinations(asked)
    rows, exact = known or (set(), False)
    if total.people:
        rows = unions(rows)
    if not rows:
        return [_anything(terms, grids)], True, False
    there = [row for row in rows if total.present is None or row[-1]]
    cases = []
    for row in there:
        ranges = [_range(weight, term, grids) for (weight, term), true in zip(terms, row, strict=False) if true]
        cases.append((sum(low for low, _ in ranges), sum(high for _, high in ranges)))
    columns = [t.value.column for _, t in terms if t.value]
    return cases, len(there) < len(rows), exact and len(columns) == len(set(columns))


def _range(weight: int, term: Term, grids: Mapping[str, Grid]) -> tuple[int, int]:
    if term.value is None:
        return weight, weight
    grid = grids[term.value.column]
    low, high = sorted((weight * grid.low, weight * grid.high))
    return low, high


def _anything(terms: Sequence[tuple[int, Term]], grids: Mapping[str, Grid]) -> tuple[int, int]:
    """The least and the greatest score of a row if any conditions may hold together."""
    ranges = [_range(weight, term, grids) for weight, term in terms]
    return sum(min(low, 0) for low, _ in ranges), sum(max(high, 0) for _, high in ranges)


def unions(rows: set[tuple[bool, ...]]) -> set[tuple[bool, ...]]:
    """The conditions that a person with several rows can satisfy: any of each row's. Empty if there are too many."""
    unions = set(rows)
    for row in rows:
        unions |= {tuple(a or b for a, b in zip(row, other, strict=True)) for other in unions}
        if len(unions) * len(rows) > MOST_TRUTHS:
            return set()
    return unions


def grid_of(
    value: Operand,
    bounds: Mapping[str, Bounds],
    what: Literal["sum or average", "variance", "reduction", "compared quantile"],
    most: int = FLOAT_STEPS,
) -> Grid:
    """The grid of a column that is added up or compared with another, which needs bounds."""
    if value.column not in bounds:
        code = "bounds missing" if value.made is None else "bounds missing of a computed value"
        raise Refusal(code, what=what, column=value.column)
    return bounds[value.column].on(value.column, value.kind, most)
