"""Which group leads: its count, sum, average or quantile against those of all others, and how far any other one is."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.model.dataset import INTEGER_STEPS, Dataset, Grid
from duotone.model.notice import Refusal
from duotone.questions.threshold import FAR
from duotone.questions.which import Changes, Standing, leading_count, leading_sum, leading_value
from duotone.tables.comparisons import Array, CompiledComparison, Results
from duotone.tables.comparisons.difference import exact_sides, grid_of_side, request_of, require_one_value_each, side_of
from duotone.tables.engines.person_columns import in_groups, placed, require_short
from duotone.tables.engines.results import Ends, Request, Tally
from duotone.tables.sql.comparison import Measure, TopGroup
from duotone.tables.sql.condition import Compare, Condition, IsNull, Not, Operand, both, combinations, independent, possible
from duotone.tables.sql.scoring import grid_of

MOST_COUNTED, MOST_MEASURED = 1000, 100
"""Most groups whose rows are counted, by one expression; most that have a value each, by expressions of their own."""
WHETHER = Grid(0, 1, Fraction(1))
TOTAL = Ends(1, None, None)
"""The number of people and their total, without extremes."""
LevelOf = Callable[[int], Standing]


def top_group(atom: TopGroup, declared: Dataset, reach: int) -> CompiledComparison:
    """Which of the listed groups leads. Its levels are standings: a row for each table, as `questions.which.Standing`."""
    by_key = atom.measure == "count" and (atom.voted or declared.unit is None)
    most = MOST_COUNTED if by_key else MOST_MEASURED
    if not len(atom.values) <= most:
        what = "counts of rows" if by_key else "sums, averages and counts of people"
        raise DuotoneError(
            f"{atom.text}: by their {what} at most {most} groups are compared, and {len(atom.values)} are listed"
        )
    if by_key:
        return _counted(atom, declared)
    groups = {f"g{i}": both(atom.where, Compare(atom.key, "=", value)) for i, value in enumerate(atom.values)}
    match atom.measure:
        case "count" | "people":
            return _counted_apart(atom, groups, declared)
        case "sum":
            return _summed(atom, groups, declared)
    return _measured(atom, groups, declared, reach)


def _counted(atom: TopGroup, declared: Dataset) -> CompiledComparison:
    """Everybody has one key, or none."""
    if declared.unit is not None and declared.per_unit not in ("min", "max"):
        raise Refusal("per_unit missing of a mode")
    columns = placed(atom.key, atom.where, atom.values, declared.per_unit)
    request = Tally(tuple(range(len(atom.values))))

    def levels_of(results: Results, people: Array) -> NDArray[np.int64]:
        return _leading_counts(list(results["s"].counts.values()), atom, people, 1, declared)

    return CompiledComparison(columns, {"s": request}, levels_of, _exact(atom, declared))


def _counted_apart(atom: TopGroup, groups: dict[str, Condition], declared: Dataset) -> CompiledComparison:
    """Somebody may count in several groups: once in each, or with some rows."""
    once = atom.measure == "people"
    if not once and declared.max_rows is None:
        raise Refusal("max_rows missing", unit=declared.unit)
    most = 1 if once else declared.max_rows or 1
    columns = in_groups(groups, None, WHETHER, "max" if once else "sum", Grid(0, most, Fraction(1)))
    request: Request = Tally((1,)) if once else TOTAL

    def levels_of(results: Results, people: Array) -> NDArray[np.int64]:
        every = (results[name] for name in groups)
        counts = [result.counts[1] if once else result.total for result in every]
        return _leading_counts(counts, atom, people, most, declared)

    exact = _exact(atom, declared) and not declared.replaced
    return CompiledComparison(columns, dict.fromkeys(groups, request), levels_of, exact)


def _leading_counts(counts: list[Array], atom: TopGroup, people: Array, most: int, declared: Dataset) -> NDArray[np.int64]:
    way, step = 1 if atom.largest else -1, most * (1 + declared.replaced)
    every = np.stack(counts, axis=1).tolist()

    def standing(table: int) -> Standing:
        if declared.replaced and not people[table]:
            return Standing(0, FAR)
        return leading_count([way * int(n) for n in every[table]], step)

    return _standings(people, standing)


def _summed(atom: TopGroup, groups: dict[str, Condition], declared: Dataset) -> CompiledComparison:
    value = _value(atom)
    grid = grid_of(value, declared.bounds, "sum or average")
    low, high, several = grid.low, grid.high, declared.unit is not None
    if several:
        if declared.max_rows is None:
            raise Refusal("max_rows missing", unit=declared.unit)
        low, high = min(low, low * declared.max_rows), max(high, high * declared.max_rows)
        if not max(abs(low), abs(high)) <= INTEGER_STEPS:
            raise Refusal("max_rows too large")
    ends = (low, high) if atom.largest else (-high, -low)
    changes, way = Changes(*ends, shared=several, replaced=declared.replaced), 1 if atom.largest else -1
    columns = in_groups(groups, value, grid, "sum", Grid(low, high, Fraction(1)))

    def levels_of(results: Results, people: Array) -> NDArray[np.int64]:
        every = [results[name] for name in groups]

        def standing(table: int) -> Standing:
            totals = [way * int(result.total[table]) for result in every]
            there = [int(result.people[table]) for result in every]
            return leading_sum(totals, there, changes, int(people[table]) if declared.replaced else None)

        return _standings(people, standing)

    exact = _exact(atom, declared) and not several and not declared.replaced
    return CompiledComparison(columns, dict.fromkeys(groups, TOTAL), levels_of, exact, {value.column: grid})


def _measured(atom: TopGroup, groups: dict[str, Condition], declared: Dataset, reach: int) -> CompiledComparison:
    """An average, share or quantile of each group."""
    if atom.value is None:
        raise DuotoneError(f"{atom.text} has no value")
    sides = {name: Measure(atom.value, where, atom.q) for name, where in groups.items()}
    one, other, *_ = sides.values()
    require_one_value_each((one, other), declared, reach)
    grid = grid_of_side(one, declared)
    grids = {atom.value.column: grid} if isinstance(atom.value, Operand) else {}
    require_short(grids, declared.per_unit)
    columns = in_groups(groups, atom.value, grid, declared.per_unit, grid, anywhere=declared.replaced)
    requests: dict[str, Request] = dict.fromkeys(groups, request_of(one, reach))
    if declared.replaced:
        requests["n"] = Tally((1,))
    bounds = (grid.low, grid.high) if atom.largest else (-grid.high, -grid.low)
    shared = declared.unit is not None

    def levels_of(results: Results, people: Array) -> NDArray[np.int64]:
        def standing(table: int) -> Standing:
            every = [side_of(results[name], one, table, not atom.largest) for name in groups]

            def neither(first: int, second: int) -> int:
                return int(people[table]) - every[first].people - every[second].people

            return leading_value(every, bounds, reach, shared=shared, neither=neither if declared.replaced else None)

        return _standings(people, standing)

    exact = not shared and _exact(atom, declared) and exact_sides((one, other), declared)
    return CompiledComparison(columns, requests, levels_of, exact, grids, searched=reach)


def _standings(people: Array, standing: LevelOf) -> NDArray[np.int64]:
    every = [standing(table) for table in range(len(people))]
    return np.array([(answer, int(min(distance, FAR))) for answer, distance in every], dtype=np.int64).reshape(-1, 2)


def _value(atom: TopGroup) -> Operand:
    if not isinstance(atom.value, Operand):
        raise DuotoneError(f"{atom.text} has no value that is added up")
    if not possible(atom.where, Not(IsNull(atom.value))):
        raise DuotoneError(f"{atom.text}: no row can have such a value")
    return atom.value


def _exact(atom: TopGroup, declared: Dataset) -> bool:
    """Whether rows of every group may have any value, whatever the other conditions are."""
    values = [part for part in (atom.value,) if isinstance(part, Operand)]
    free = independent(declared.unit, [atom.where], [atom.key, *values])
    return combinations([atom.where])[1] and free and atom.key.column not in {value.column for value in values}
