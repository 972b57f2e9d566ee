"""Questions that need a search over people: two averages, shares or quantiles against each other, and variances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.model.dataset import LARGEST, SQUARED_STEPS, Dataset, Grid
from duotone.model.notice import Refusal
from duotone.questions.difference import AnySide, Compared, Side, difference_level
from duotone.questions.protocol import Neighbours
from duotone.questions.quantile import QuantileSide
from duotone.questions.units import DifferenceUnits, Units, VarianceUnits
from duotone.questions.variance import Moments, variance_level
from duotone.tables.comparisons import Array, CompiledComparison, Results, group_levels
from duotone.tables.comparisons.rates import difference_of_rows, rows_of
from duotone.tables.engines.person_columns import require_short, squared, two_sided
from duotone.tables.engines.results import Ends, Middle, Request, Result, Tally
from duotone.tables.sql.comparison import MeanDifference, Measure, Settled, VarianceThreshold
from duotone.tables.sql.condition import Condition, IsNull, Not, Operand, combinations, independent, possible
from duotone.tables.sql.scoring import grid_of

MOST_LEVELS: Mapping[Neighbours, int] = {"add-remove": 2000, "replace": 1000}
"""The search for levels of a difference of averages takes time quadratic in their number: some seconds for this
many."""
WHETHER = Grid(0, 1, Fraction(1))
"""The values of a share."""
LARGEST_WEIGHT = Fraction(2) ** 60
FINEST = 2**20
"""Largest denominator of a quantile: multiplied by fewer than 2^42 people, it overflows no engine's integers."""


def mean_difference(atom: MeanDifference, declared: Dataset, reach: int) -> CompiledComparison:
    """A weighted difference, or sum, of two averages, shares or quantiles against a limit: of one value per person, or
    of averages of a person's several rows."""
    sides = atom.first, atom.second
    of_rows = declared.unit is not None and declared.per_unit is None and all(side.q is None for side in sides)
    if of_rows:
        _require_few_levels(sides, declared, reach)
    else:
        require_one_value_each(sides, declared, reach)
    on = [grid_of_side(side, declared) for side in sides]
    grids = {side.value.column: grid for side, grid in zip(sides, on, strict=True) if isinstance(side.value, Operand)}
    require_short(grids, declared.per_unit)
    shared = declared.unit is not None or any(all(row) for row in combinations([atom.first.where, atom.second.where])[0])
    compared, mirrored = _compared(atom, on, shared)
    settled = _settled(sides, compared, mirrored, on)
    if of_rows:
        _, rows = rows_of(atom, declared)
        return difference_of_rows(atom, on, grids, settled, _units(compared, declared, rows), declared, reach)
    units = _units(compared, declared) if all(side.q is None for side in sides) else None

    def levels_of(results: Results, people: Array) -> NDArray[np.float64]:
        neither = people - results["n"].people if declared.replaced else people

        def level(group: int, others: int | None) -> float:
            a, b = (
                side_of(results[name], side, group, turned) for name, side, turned in zip("ab", sides, mirrored, strict=True)
            )
            return difference_level(a, b, compared, reach, others)

        return group_levels(neither, declared, level)

    named = {"a": (atom.first.value, atom.first.where, on[0]), "b": (atom.second.value, atom.second.where, on[1])}
    requests: dict[str, Request] = {name: request_of(side, reach) for name, side in zip("ab", sides, strict=True)}
    if declared.replaced:
        requests["n"] = Tally((1,))
    exact = not shared and exact_sides(sides, declared)
    return CompiledComparison(two_sided(named, declared.per_unit), requests, levels_of, exact, grids, settled, units, reach)


def _units(compared: Compared, declared: Dataset, rows: int | None = None) -> Units:
    """The difference, arranged so that a yes is above the limit. None for quantiles: one person may move a quantile
    from one bound to the other. `rows`: as many a person may have."""
    (low, high), (other_low, other_high) = compared.bounds
    weight, other = compared.weights
    spans = weight * (high - low), other * (other_high - other_low)
    least, most = weight * low - other * other_high, weight * high - other * other_low
    return DifferenceUnits(
        spans,
        compared.limit,
        least,
        most,
        both=compared.shared or declared.replaced,
        rows=rows and rows * (1 + declared.replaced),
    )


def grid_of_side(side: Measure, declared: Dataset) -> Grid:
    """The grid of what is averaged, or ranked."""
    if not isinstance(side.value, Operand):
        return WHETHER
    return grid_of(side.value, declared.bounds, "sum or average" if side.q is None else "compared quantile")


def request_of(side: Measure, reach: int) -> Request:
    """What the engine is asked about one side."""
    if side.q is None:
        return Ends(reach)
    if not side.q.denominator <= FINEST:
        raise DuotoneError(f"to compare two quantiles, write each as a fraction with a denominator of at most {FINEST}")
    return Middle(side.q, reach)


def _compared(atom: MeanDifference, on: Sequence[Grid], shared: bool) -> tuple[Compared, tuple[bool, bool]]:
    """As w·first − v·second with positive weights; and which side is negated because it counts the other way."""
    first, second = (weight * grid.step for weight, grid in zip(atom.weights, on, strict=True))
    if not (abs(atom.limit) <= LARGEST and all(1 / LARGEST_WEIGHT <= abs(w) <= LARGEST_WEIGHT for w in (first, second))):
        raise DuotoneError("the numbers of the question are too large or too fine")
    mirrored = first < 0, second > 0
    low, high = ((-g.high, -g.low) if turned else (g.low, g.high) for g, turned in zip(on, mirrored, strict=True))
    return Compared((low, high), (abs(first), abs(second)), atom.limit, atom.strict, shared), mirrored


def exact_sides(sides: Sequence[Measure], declared: Dataset) -> bool:
    """Whether people on each side may have any value."""
    shares = _shares(sides)
    conditions = [side.where for side in sides] + [share for _, share in shares]
    known = combinations(conditions)[1] and independent(declared.unit, conditions, [side.value for side in sides])
    return known and all(
        {(True, True), (True, False)} <= combinations(share)[0] for share in shares
    )  # people with a value that meets it, and with one that does not


def _shares(sides: Sequence[Measure]) -> list[tuple[Condition, Condition]]:
    """For each share, who is on its side, and who of them counts."""
    return [(side.where, side.value) for side in sides if not isinstance(side.value, Operand)]


def require_one_value_each(sides: Sequence[Measure], declared: Dataset, reach: int) -> None:
    """With a unit, a person needs one value on each side; and the search must end soon."""
    _require_few_levels(sides, declared, reach)
    if declared.unit is not None and declared.per_unit is None:
        quantiles = any(side.q is not None for side in sides)
        raise Refusal("per_unit missing", what="a difference of quantiles" if quantiles else "the group with the best average")
    if declared.unit is not None and declared.per_unit in ("avg", "sum") and _shares(sides):
        raise Refusal("per_unit of a share")


def _require_few_levels(sides: Sequence[Measure], declared: Dataset, reach: int) -> None:
    most = MOST_LEVELS[declared.neighbours]
    if reach > most:
        what = "averages" if all(side.q is None for side in sides) else "quantiles"
        raise DuotoneError(
            f"with this budget an answer has {reach} levels, and a difference of {what} may have at most {most} under "
            f"{declared.neighbours}: raise epsilon or delta"
        )


def _settled(sides: Sequence[Measure], compared: Compared, mirrored: Sequence[bool], on: Sequence[Grid]) -> Settled | None:
    """Settled if no difference of possible values can reach the limit, as an empty side is a no."""
    ranges = []
    for side, turned, grid in zip(sides, mirrored, on, strict=True):
        if isinstance(side.value, Operand):
            ends = [grid.low, grid.high] if possible(side.where, Not(IsNull(side.value))) else []
        else:
            rows = combinations([side.where, side.value])[0]
            ends = [int(met) for there, met in rows if there]
        if not ends:
            return Settled(False, "no row can be on one of its sides")
        ranges.append([-end for end in ends] if turned else ends)
    most = compared.weights[0] * max(ranges[0]) - compared.weights[1] * min(ranges[1])
    enough = most > compared.limit if compared.strict else most >= compared.limit
    return None if enough else Settled(False, "no difference of values within their bounds reaches the limit")


def side_of(result: Result, side: Measure, group: int, mirrored: bool) -> AnySide:
    """A side in one group, with the signs of its values reversed if `mirrored`."""
    people, ends = int(result.people[group]), (result.largest.of(group), result.smallest.of(group))
    if side.q is not None:
        quantile = QuantileSide(people, side.q, *ends)
        return quantile.mirrored if mirrored else quantile
    average = Side(people, int(result.total[group]), *ends)
    return average.mirrored if mirrored else average


MOST_VARIANCE_LEVELS = 1000
"""The search for levels of a variance takes time quadratic in their number: some seconds for this many."""


def variance_threshold(atom: VarianceThreshold, declared: Dataset, reach: int) -> CompiledComparison:
    """A variance above or below a limit: levels are safe bounds."""
    if reach > MOST_VARIANCE_LEVELS:
        raise DuotoneError(
            f"with this budget an answer has {reach} levels, and a variance may have at most {MOST_VARIANCE_LEVELS}: raise "
            "epsilon or delta"
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
        values, squares, bounds = results["s"], results["q"].total, (grid.low, grid.high)

        def level(g: int, _: int | None) -> float:
            moments = Moments(
                int(values.people[g]), int(values.total[g]), int(squares[g]), values.largest.of(g), values.smallest.of(g)
            )
            return variance_level(moments, bounds, atom.sign, limit, atom.less, reach, declared.replaced)

        return group_levels(people, declared, level)

    columns = squared(atom.value, atom.where, grid, declared.per_unit)
    requests = {"s": Ends(reach), "q": Ends(1, None, None)}
    units = VarianceUnits((grid.high - grid.low) * grid.step, atom.limit, atom.less, atom.sign in (">", ">="))
    grids, settled = {atom.value.column: grid}, _settled_variance(atom, grid, limit)
    return CompiledComparison(columns, requests, levels_of, False, grids, settled, units, reach)


def _settled_variance(atom: VarianceThreshold, grid: Grid, limit: Fraction) -> Settled | None:
    """Between two bounds a variance is at most a quarter of their distance squared; a sample variance, a half."""
    if not possible(atom.where, Not(IsNull(atom.value))):
        return Settled(False, "no row can satisfy its condition")
    most = Fraction((grid.high - grid.low) ** 2, 2 if atom.less else 4)
    reachable = {">": most > limit, ">=": most >= limit, "<": limit > 0, "<=": limit >= 0}[atom.sign]
    return None if reachable else Settled(False, "no values within their bounds have such a variance")
