"""Did B beat A? The difference of two averages, or of two shares, against a limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.questions.difference import Side, difference_level
from duotone.questions.protocol import Neighbours
from duotone.tables.comparisons.shared import (
    Array,
    CompiledComparison,
    Results,
    independent,
    possible,
    require_short,
)
from duotone.tables.declared import Declared
from duotone.tables.engines.person_columns import dueling
from duotone.tables.engines.results import Ends, Result
from duotone.tables.sql.comparison import Mean, MeanDifference, Settled
from duotone.tables.sql.condition import IsNull, Not, Operand
from duotone.tables.sql.satisfiable import combinations
from duotone.tables.sql.scoring import LARGEST, Grid, grid_of

MOST_LEVELS: Mapping[Neighbours, int] = {"add-remove": 2000, "replace": 1000}
"""The levels of a difference of averages are searched for in time that grows with their square: some seconds for so many."""


def mean_difference(atom: MeanDifference, declared: Declared, reach: int) -> CompiledComparison:
    """The average of one side of the people minus that of the other, at least or above a limit."""
    first, second = atom.first, atom.second
    values = [side.value for side in (first, second)]
    _require_comparable(first, second, declared, reach)
    grids = {}
    grid = Grid(0, 1, Fraction(1))
    if isinstance(values[0], Operand):
        grid = grids[values[0].column] = grid_of(values[0], declared.bounds, "sum or average")
    require_short(grids, declared.per_unit)
    limit = atom.limit / grid.step
    if not abs(limit) <= LARGEST:
        raise DuotoneError("the numbers of the question are too large or too fine")
    conditions = [first.where, second.where, *(v for v in values if not isinstance(v, Operand))]
    exact = combinations(conditions)[1] and independent(declared, conditions, values) and _shares_are_independent(first, second)

    def levels_of(results: Results, people: Array) -> NDArray[np.float64]:
        sides = zip(_sides(results["a"]), _sides(results["b"]), people.tolist(), strict=True)
        bounds = (grid.low, grid.high)
        neither = ((a, b, n - a.people - b.people if declared.replaced else None) for a, b, n in sides)
        return np.array([difference_level(a, b, bounds, limit, reach, n, atom.strict) for a, b, n in neither], float)

    both_sides = {"a": (first.value, first.where), "b": (second.value, second.where)}
    columns, requests = dueling(both_sides, grid, declared.per_unit), dict.fromkeys("ab", Ends(reach))
    return CompiledComparison(columns, requests, levels_of, exact, grids, _settled(atom, grid, limit))


def _require_comparable(first: Mean, second: Mean, declared: Declared, reach: int) -> None:
    """Two averages of one column or two shares, over different people, of which each has one value."""
    values = [side.value for side in (first, second)]
    most = MOST_LEVELS[declared.neighbours]
    if reach > most:
        raise DuotoneError(
            f"with this budget an answer has {reach} levels, and a difference of averages may have at most {most} under "
            f"{declared.neighbours}: raise epsilon or delta"
        )
    if not all(isinstance(v, Operand) for v in values) and any(isinstance(v, Operand) for v in values):
        raise DuotoneError("compare two averages of values, or two shares, not one with the other")
    if isinstance(values[0], Operand) and values[0] != values[1]:
        raise DuotoneError("the two averages must be of the same column, which has one pair of bounds")
    if any(all(row) for row in combinations([first.where, second.where])[0]):
        raise DuotoneError("the two averages must be over different rows: filter one by arm = 'A', the other by arm = 'B'")
    if declared.unit is not None and declared.per_unit is None:
        raise DuotoneError("with a unit, a difference needs one value per person: per_unit avg, sum, min or max")
    if declared.unit is not None and not isinstance(values[0], Operand) and declared.per_unit == "avg":
        raise DuotoneError("with a unit, a share counts people by any of their rows (per_unit max) or by all (per_unit min)")


def _settled(atom: MeanDifference, grid: Grid, limit: Fraction) -> Settled | None:
    """Without anybody on a side it is a no; so some difference must be large enough for there to be a yes."""
    ranges = []
    for side in (atom.first, atom.second):
        if isinstance(side.value, Operand):
            ends = [grid.low, grid.high] if possible(side.where, Not(IsNull(side.value))) else []
        else:
            rows = combinations([side.where, side.value])[0]
            ends = [int(met) for there, met in rows if there]
        if not ends:
            return Settled(False, "no row can be on one of its sides")
        ranges.append(ends)
    most = max(ranges[0]) - min(ranges[1])
    enough = most > limit if atom.strict else most >= limit
    return None if enough else Settled(False, "no difference of values within their bounds reaches the limit")


def _shares_are_independent(first: Mean, second: Mean) -> bool:
    """Whether a share's condition can be met and missed by rows on its side."""
    for side in (first, second):
        if not isinstance(side.value, Operand):
            rows = combinations([side.where, side.value])[0]
            if not {(True, True), (True, False)} <= rows:
                return False
    return True


def _sides(result: Result) -> Sequence[Side]:
    def values(end: Sequence[tuple[Array, Array]], group: int) -> list[int]:
        return [int(v[group]) for v, n in end if n[group]]

    groups = range(len(result.people))
    return [
        Side(int(result.people[g]), int(result.total[g]), values(result.largest, g), values(result.smallest, g)) for g in groups
    ]
