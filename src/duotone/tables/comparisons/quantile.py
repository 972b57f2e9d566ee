"""Is a median, a quantile, the smallest or the largest value beyond a limit?"""

from __future__ import annotations

import math
from fractions import Fraction

from duotone.errors import DuotoneError
from duotone.model.bounds import Grid
from duotone.model.dataset import Dataset
from duotone.model.notice import Refusal
from duotone.questions.threshold import somebody
from duotone.questions.units import NobodyUnits, TotalUnits, Units
from duotone.tables.comparisons.shared import (
    CompiledComparison,
    independent,
    possible,
    require_short,
    score_bounds,
    score_levels,
)
from duotone.tables.engines.person_columns import ranked
from duotone.tables.engines.results import Tally
from duotone.tables.sql.comparison import QuantileThreshold, Settled
from duotone.tables.sql.condition import Compare, IsNull, Not, Operand, holds
from duotone.tables.sql.satisfiable import combinations
from duotone.tables.sql.scoring import grid_of


def quantile_threshold(atom: QuantileThreshold, declared: Dataset) -> CompiledComparison:
    """Whoever meets the limit scores for it, whoever misses it against it, weighted by the quantile."""
    grids: dict[str, Grid] = {}
    if declared.unit is not None and declared.per_unit is None:
        raise Refusal("per_unit missing", what="a median, quantile, min or max")
    if declared.unit is not None and declared.per_unit in ("avg", "sum"):
        _require_number(atom.value)
        grids[atom.value.column] = grid_of(atom.value, declared.bounds, "reduction")
    require_short(grids, declared.per_unit)
    columns = ranked(atom, declared.per_unit, grids.get(atom.value.column))
    scale = math.lcm(atom.met.denominator, atom.missed.denominator)
    scores = {1: int(atom.met * scale), 0: int(atom.missed * scale)}
    ends, at_least = (min(scores.values()), max(scores.values())), int(atom.strict)
    exact = combinations([atom.where])[1] and independent(declared, [atom.where], [atom.value])
    threshold = score_levels(scores.__getitem__, ends, at_least, declared, absent=True, peopled=True)
    settled, units = _settled(atom, grids.get(atom.value.column)), _units(atom, ends, scale, declared)
    return CompiledComparison(columns, {"s": Tally((1, 0))}, threshold, exact, grids, settled, units)


def _units(atom: QuantileThreshold, ends: tuple[int, int], scale: int, declared: Dataset) -> Units:
    """The share of people who meet the limit; of the smallest or largest value, how many people do, or do not."""
    if (extreme := extreme_of(atom)) is not None:
        return NobodyUnits() if extreme else TotalUnits(0, 1, 1, replaced=declared.replaced, low=Fraction(0))
    apart = atom.met - atom.missed
    low, high, at_least = (*ends, 1) if atom.strict else map(somebody, (*ends, 0))
    return TotalUnits(
        *score_bounds(low, high, declared, absent=True),
        at_least,
        replaced=declared.replaced,
        per=apart * scale,
        zero=-atom.missed / apart,
        averaged=True,
        somebody=not atom.strict,
        low=Fraction(0),
        high=Fraction(1),
    )


def extreme_of(atom: QuantileThreshold) -> bool | None:
    """Of a smallest or largest value, whether everybody must meet the limit, or anybody; None of a quantile."""
    return None if 0 < -atom.missed < 1 else atom.missed != 0


def _settled(atom: QuantileThreshold, grid: Grid | None) -> Settled | None:
    """Some value must meet the limit for a yes; and where only such a value is there, it is one."""
    if grid is not None:
        if atom.written is None:
            raise DuotoneError(f"column {atom.value.column} holds numbers: compare it with one")
        best = (grid.high if atom.sign in (">", ">=") else grid.low) * grid.step
        if not holds(best, atom.sign, atom.written):
            return Settled(False, "the limit lies outside the possible values")
    met = Not(IsNull(atom.value)) if grid is not None else Compare(atom.value, atom.sign, atom.limit)
    return None if possible(atom.where, met) else Settled(False, "no row can satisfy its condition and meet the limit")


def _require_number(value: Operand) -> None:
    if value.kind not in ("integer", "float", "decimal"):
        raise Refusal("per_unit of no numbers", column=value.column)
