"""Scoring: each comparison as whole numbers per row, whose sum over people decides it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.privacy.numbers import Given, number, show
from duotone.tables.sql.comparison import LinearThreshold, Term
from duotone.tables.sql.condition import IsNull, Kind, Not, Operand, both
from duotone.tables.sql.satisfiable import MOST_CASES, MOST_TRUTHS, combinations, known_combinations

FLOAT_STEPS, INTEGER_STEPS, SQUARED_STEPS = 2**51, 2**62 - 1, 2**30
"""How many grid steps a bound may be from zero: up to the first, a double tells quarters of a step apart, so that values are
put on the nearest step; up to the second, integers cannot overflow; up to the third, their squares can be added up. What one
row or one person scores stays within the second too; sums of that over rows are exact on every engine for fewer than 2^42
rows (docs/tables.md)."""
LARGEST = 2**100
"""Limits and weights are smaller than this."""
COARSEST = 22
"""Powers of ten up to this one are floats exactly."""
FINE = 10**6
"""A grid that is not stated has at least so many steps between the bounds."""


@dataclass(frozen=True)
class Bounds:
    """What a column's values are clipped to, and the grid on which they are then put: multiples of `grid`."""

    low: Fraction
    high: Fraction
    grid: Fraction | None = None

    @staticmethod
    def of(low: Given, high: Given, grid: Given | None = None) -> Bounds:
        """Bounds from numbers as they are written."""
        least, most = (_finite(bound, "a bound") for bound in (low, high))
        step = None if grid is None else _finite(grid, "the grid")
        if not least < most:
            raise DuotoneError(f"the lower bound must be below the upper one, got {show(least)} and {show(most)}")
        if step is not None and not (step > 0 and 1 in (step.numerator, step.denominator)):
            raise DuotoneError(f"a grid is a whole number or one over a whole number, as 100 or 0.01, got {show(step)}")
        return Bounds(least, most, step)

    def on(self, column: str, kind: Kind, most: int = FLOAT_STEPS) -> Grid:
        """The bounds as grid steps, for a column of this kind; `most` is how many they should be from zero at most."""
        step = self.grid or (Fraction(1) if kind == "integer" else self._fine(most))
        if kind == "integer" and step.denominator != 1:
            raise DuotoneError(f"column {column} holds whole numbers: its grid must be one too, got {show(step)}")
        low, high = self.low / step, self.high / step
        if low.denominator != 1 or high.denominator != 1:
            raise DuotoneError(f"the bounds of {column} must be multiples of its grid, {show(step)}: give the grid after them")
        integers = kind == "integer"
        if not integers and not _is_double(max(step, 1 / step)):
            raise DuotoneError(
                f"the grid of {column}, {show(step)}, is no float: give a whole number of at most 2^53, or one over it"
            )
        largest = max(abs(self.low), abs(self.high), key=Fraction) if integers else max(abs(low), abs(high))
        if not largest <= (INTEGER_STEPS if integers and step == 1 else FLOAT_STEPS):
            raise DuotoneError(f"the bounds of {column} are too far apart for its grid, {show(step)}: give a coarser one")
        return Grid(int(low), int(high), step)

    def takes(self, grid: Fraction) -> bool:
        """Whether values that need not be whole may be put on this grid."""
        steps = self.low / grid, self.high / grid
        return all(bound.denominator == 1 and abs(bound) <= FLOAT_STEPS for bound in steps)

    def finer(self, most: int = FLOAT_STEPS) -> Bounds | None:
        """The same on a grid that tells averages of whole numbers apart, at most so many steps from zero; None where one is
        chosen, or there is none."""
        step = self._fine(most)
        return Bounds(self.low, self.high, step) if self.grid is None and step < 1 else None

    def _fine(self, most: int) -> Fraction:
        """The grid where none is stated; coarser where its bounds would be more than `most` steps from zero."""
        power, span = COARSEST, (self.high - self.low) / FINE
        while power > -COARSEST and Fraction(10) ** power > span:
            power -= 1
        step = Fraction(10) ** power
        while any((bound / step).denominator != 1 for bound in (self.low, self.high)) and step > Fraction(1, 10**18):
            step /= 10
        farthest = max(abs(self.low), abs(self.high))
        while (
            most is not None and farthest > most * step and all((b / step / 10).denominator == 1 for b in (self.low, self.high))
        ):
            step *= 10
        return step


def _is_double(value: Fraction) -> bool:
    return Fraction(float(value)) == value


def _finite(written: Given, name: str) -> Fraction:
    value = number(repr(written) if isinstance(written, float) else written, name)  # 0.1 is meant as it is written
    if not -LARGEST <= value <= LARGEST:
        raise DuotoneError(f"{name} must be a number of less than thirty digits")
    return Fraction(value)


@dataclass(frozen=True)
class Grid:
    """A column's values as whole numbers of steps, from `low` to `high`."""

    low: int
    high: int
    step: Fraction


@dataclass(frozen=True)
class Score:
    """A comparison as a sum over rows: Σ weight·(value in grid steps, or 1) ≥ `at_least`.

    `lowest` and `highest` are the least and the greatest that one row can score, and `possible` all of it where that is
    little; `absent` tells whether a row can be outside what an average is over, `nobody` whether every row must be. `exact`
    tells whether rows that score so are known to be possible.
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
    """What a row can score, from where to where, in each combination of conditions that can occur; and whether one can be
    outside the average, and whether all of this is known exactly."""
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
    """The least and the greatest that a row can score if any of the conditions may hold together."""
    ranges = [_range(weight, term, grids) for weight, term in terms]
    return sum(min(low, 0) for low, _ in ranges), sum(max(high, 0) for _, high in ranges)


def unions(rows: set[tuple[bool, ...]]) -> set[tuple[bool, ...]]:
    """What a person with several rows can have: any of its rows' conditions. Nothing where that is too much to look
    through."""
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
