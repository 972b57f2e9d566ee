"""How far values are spread: a variance, or a standard deviation, against a limit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.model.bounds import LARGEST, SQUARED_STEPS, Grid
from duotone.model.dataset import Dataset
from duotone.model.notice import Refusal
from duotone.questions.units import VarianceUnits
from duotone.questions.variance import Moments, variance_level
from duotone.tables.comparisons.shared import (
    Array,
    CompiledComparison,
    Results,
    possible,
    require_short,
)
from duotone.tables.engines.person_columns import squared
from duotone.tables.engines.results import Ends, Result
from duotone.tables.sql.comparison import Settled, VarianceThreshold
from duotone.tables.sql.condition import IsNull, Not
from duotone.tables.sql.scoring import grid_of

MOST_LEVELS = 1000
"""The levels of a variance are searched for in time that grows with their square: some seconds for so many."""


def variance_threshold(atom: VarianceThreshold, declared: Dataset, reach: int) -> CompiledComparison:
    """A variance above or below a limit: levels are safe bounds."""
    if reach > MOST_LEVELS:
        raise DuotoneError(
            f"with this budget an answer has {reach} levels, and a variance may have at most {MOST_LEVELS}: raise epsilon or "
            "delta"
        )
    if declared.unit is not None and declared.per_unit is None:
        raise Refusal("per_unit missing", what="a variance")
    grid = grid_of(atom.value, declared.bounds, "variance", SQUARED_STEPS)
    require_short({atom.value.column: grid}, declared.per_unit)
    if not max(abs(grid.low), abs(grid.high)) <= SQUARED_STEPS:
        raise DuotoneError(f"the bounds of {atom.value.column} are too far apart for its squares: give a coarser grid")
    limit = atom.limit / grid.step**2
    if not abs(limit) <= LARGEST:
        raise DuotoneError("the numbers of the question are too large or too fine")

    def levels_of(results: Results, people: Array) -> NDArray[np.float64]:
        groups = range(len(people))
        moments = [_moments(results["s"], results["q"], group) for group in groups]
        bounds, replaced = (grid.low, grid.high), declared.replaced
        return np.array([variance_level(m, bounds, atom.sign, limit, atom.less, reach, replaced) for m in moments], float)

    columns = squared(atom.value, atom.where, grid, declared.per_unit)
    requests = {"s": Ends(reach), "q": Ends(1, None, None)}
    units = VarianceUnits((grid.high - grid.low) * grid.step, atom.limit, atom.less, atom.sign in (">", ">="))
    grids, settled = {atom.value.column: grid}, _settled(atom, grid, limit)
    return CompiledComparison(columns, requests, levels_of, False, grids, settled, units)


def _moments(values: Result, squares: Result, group: int) -> Moments:
    ends = [end.of(group) for end in (values.largest, values.smallest)]
    return Moments(int(values.people[group]), int(values.total[group]), int(squares.total[group]), *ends)


def _settled(atom: VarianceThreshold, grid: Grid, limit: Fraction) -> Settled | None:
    """Between two bounds a variance is at most a quarter of their distance squared; of a sample, a half."""
    if not possible(atom.where, Not(IsNull(atom.value))):
        return Settled(False, "no row can satisfy its condition")
    most = Fraction((grid.high - grid.low) ** 2, 2 if atom.less else 4)
    reachable = {">": most > limit, ">=": most >= limit, "<": limit > 0, "<=": limit >= 0}[atom.sign]
    return None if reachable else Settled(False, "no values within their bounds have such a variance")
