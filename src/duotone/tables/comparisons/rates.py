"""Two averages or shares of rows against each other, where a person has several rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.model.dataset import INTEGER_STEPS, Dataset, Grid
from duotone.model.notice import Refusal
from duotone.questions.rates import Parts, Scale, Sides, rates_level
from duotone.questions.units import Units
from duotone.tables.comparisons import Array, CompiledComparison, Results, group_levels
from duotone.tables.engines.person_columns import MOST_ROWS, scaled
from duotone.tables.engines.results import Ends, Request, Result
from duotone.tables.sql.comparison import MeanDifference, Settled
from duotone.tables.sql.condition import ALWAYS, IsNull, Not, Operand, both, combinations
from duotone.tables.sql.functions.function import EXACT

HIGH, LOW = ("ah", "bl"), ("al", "bh")
"""Who is above on the first side and below on the second speaks for a yes; the others for a no."""


def difference_of_rows(
    atom: MeanDifference,
    on: Sequence[Grid],
    grids: Mapping[str, Grid],
    settled: Settled | None,
    units: Units | None,
    declared: Dataset,
    reach: int,
) -> CompiledComparison:
    """A person's rows on both sides are added up on one scale, as four sums."""
    scale, (most, rows) = _scale(atom, on), rows_of(atom, declared)
    if not scale.span * rows < EXACT:
        raise Refusal("max_rows too large")

    def levels_of(results: Results, people: Array) -> NDArray[np.float64]:
        def level(group: int, _: int | None) -> float:
            high, low = ((_parts(results[a], group), _parts(results[b], group)) for a, b in (HIGH, LOW))
            there = int(results["ah"].people[group]), int(results["bl"].people[group])
            sides = Sides(high, low, there)
            return rates_level(sides, scale, rows, reach, strict=atom.strict, replaced=declared.replaced)

        return group_levels(people, declared, level)

    named = {"a": (atom.first.value, atom.first.where, on[0]), "b": (atom.second.value, atom.second.where, on[1])}
    request = Ends(reach, largest_from=1, smallest_to=None, farthest=rows * scale.span)
    requests: dict[str, Request] = dict.fromkeys((*HIGH, *LOW), request)
    return CompiledComparison(scaled(named, scale, most), requests, levels_of, False, grids, settled, units, reach)


def rows_of(atom: MeanDifference, declared: Dataset) -> tuple[int, int]:
    """How many rows of a person count, and as how many rows of a side they do: a row may be on both."""
    most = declared.max_rows
    if most is None:
        raise Refusal("max_rows or per_unit missing", unit=declared.unit)
    if not most <= MOST_ROWS:
        raise Refusal("max_rows too large")
    values = [Not(IsNull(side.value)) if isinstance(side.value, Operand) else ALWAYS for side in (atom.first, atom.second)]
    there = [both(side.where, value) for side, value in zip((atom.first, atom.second), values, strict=True)]
    return most, most * (2 if (True, True) in combinations(there)[0] else 1)


def _scale(atom: MeanDifference, on: Sequence[Grid]) -> Scale:
    first, second = ((grid.low, grid.high) for grid in on)
    weights = atom.weights[0] * on[0].step, atom.weights[1] * on[1].step
    scale = Scale.of((first, second), weights, atom.limit)
    farthest = (
        abs(line[0]) * max(-grid.low, grid.high, 1) + abs(line[1])
        for line, grid in zip((scale.first, scale.second), on, strict=True)
    )
    if not (max(farthest) <= INTEGER_STEPS):
        raise DuotoneError("the limit is too fine for these bounds: round it, or give a coarser grid")
    return scale


def _parts(result: Result, group: int) -> Parts:
    return Parts(int(result.total[group]), result.largest.of(group))
