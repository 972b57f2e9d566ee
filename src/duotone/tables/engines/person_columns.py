"""Person columns: how they are made from rows, where a person is one row and where a person has several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import ibis

from duotone.model.bounds import Grid
from duotone.model.checks import Reduction
from duotone.tables.engines.expressions import NEAR, added, clipped, compared, holds, indicator, read, steps, unchecked
from duotone.tables.sql.comparison import QuantileThreshold
from duotone.tables.sql.condition import ALWAYS, Compare, Condition, IsNull, Not, Operand, both
from duotone.tables.sql.functions.numbers import quotient, wide
from duotone.tables.sql.scoring import Score

Expressions = Mapping[str, Any]


@dataclass(frozen=True)
class Order:
    """A value of one row, in whose order its grid steps are; NaN is no value. A score is `weight` times these; `missing` tells
    whether someone without a value has a score all the same, which is 0."""

    value: Operand
    where: Condition
    grid: Grid
    weight: int = 1
    missing: bool = False

    def of(self, rows: Any) -> Any:
        """The value, not yet in steps."""
        return _where(self.where, unchecked(self.value, rows), rows)

    def from_on(self, score: int) -> int | float | None:
        """A value below which nobody has such a score; None where there is no use for one."""
        steps, low = -(-score // self.weight), self.grid.low
        return self._limit(min(steps, self.grid.high) - 1) if low < steps and self._near else None

    def up_to(self, score: int) -> int | float | None:
        """A value above which nobody has a score so low; None where there is no use for one."""
        steps, high = score // self.weight, self.grid.high
        return self._limit(max(steps, self.grid.low) + 1) if steps < high and self._near else None

    @property
    def _near(self) -> bool:
        return max(-self.grid.low, self.grid.high) <= NEAR

    def _limit(self, steps: int) -> int | float:
        return int(steps * self.grid.step) if self.value.kind == "integer" else float(steps * self.grid.step)


@dataclass(frozen=True)
class PersonColumns:
    """Expressions of one row that is a person; or of one row, of one person's rows, and of one person. The latter two get
    the table and the prefix that its columns have."""

    alone: Callable[[Any], Expressions]
    rows: Callable[[Any], Expressions]
    merged: Callable[[Any, str], Expressions]
    person: Callable[[Any, str], Expressions]
    ordered_by: Mapping[str, Order] = field(default_factory=dict)
    """In whose order the columns of the same names come, for those that have something cheaper for it than themselves."""


def flagged(condition: Condition) -> PersonColumns:
    """Whether a row that is a person satisfies a condition: what a plain count asks, without arithmetic."""
    return _of_rows(lambda rows: {"s": holds(condition, rows)})


def valued(value: Operand, where: Condition, grid: Grid) -> PersonColumns:
    """The value of a row that is a person, in grid steps."""

    def row(rows: Any) -> Expressions:
        return {"s": _where(where, steps(value, grid, rows), rows)}

    return replace(_of_rows(row), ordered_by={"s": Order(value, where, grid)})


def _where(condition: Condition, value: Any, rows: Any) -> Any:
    return value if condition == ALWAYS else ibis.cases((holds(condition, rows), value))


def _of_rows(alone: Callable[[Any], Expressions]) -> PersonColumns:
    return PersonColumns(alone, lambda _: {}, lambda _, name: {}, lambda _, name: {})  # noqa: ARG005


def added_up(score: Score, present: Condition | None, grids: Mapping[str, Grid], low: int, high: int) -> PersonColumns:
    """A person's rows add up, and are clipped to what one person may count for."""

    def row(rows: Any) -> Expressions:
        parts = [_term(weight, term.value, term.where, grids, rows) for weight, term in score.terms]
        total = added(parts) if parts else ibis.literal(0, type="int64")
        if len(parts) > 1:  # no row scores more than it is known to be able to, whatever its conditions do
            total = clipped(total, score.lowest, score.highest)
        return {"s": total if present in (None, ALWAYS) else ibis.cases((holds(present, rows), total))}

    orders = {}
    if len(score.terms) == 1 and present in (None, ALWAYS):
        ((weight, term),) = score.terms
        if term.value is not None and weight > 0:
            orders["s"] = Order(term.value, term.where, grids[term.value.column], weight, missing=True)
    return PersonColumns(
        row,
        row,
        lambda rows, name: {"s": rows[f"{name}s"].sum()},
        lambda p, name: {"s": clipped(p[f"{name}s"], low, high)},
        orders,
    )


def counted(score: Score) -> PersonColumns:
    """People, each once: a person has what any of its rows has."""
    weights = [weight for weight, _ in score.terms]

    def rows(rows: Any) -> Expressions:
        return {f"c{i}": indicator(term.where, rows) for i, (_, term) in enumerate(score.terms)}

    def merged(rows: Any, name: str) -> Expressions:
        return {f"c{i}": rows[f"{name}c{i}"].max() for i in range(len(weights))}

    def person(people: Any, name: str) -> Expressions:
        total = added([_weighted(w, people[f"{name}c{i}"]) for i, w in enumerate(weights)])
        return {"s": clipped(total, score.lowest, score.highest)}

    return PersonColumns(lambda table: person(table, ""), rows, merged, person)


def averaged(weight: int, shift: int, value: Operand, where: Condition, grid: Grid, how: Reduction) -> PersonColumns:
    """One value per person, by a reduction, and its score."""

    def person(people: Any, name: str) -> Expressions:
        return {"s": _weighted(weight, _reduced(people, f"{name}v", how, grid)) + shift}

    return PersonColumns(
        lambda _: {}, _values({"v": (value, where)}, grid), lambda rows, name: _merged(rows, name, "v", how), person
    )


def ranked(atom: QuantileThreshold, how: Reduction | None, grid: Grid | None) -> PersonColumns:
    """1 for a value that meets the limit, 0 for one that does not, null for none."""
    there = both(atom.where, Not(IsNull(atom.value)))

    def alone(rows: Any) -> Expressions:
        met = indicator(Compare(atom.value, atom.sign, atom.limit), rows)
        return {"s": ibis.cases((holds(there, rows), met))}

    def rows(rows: Any) -> Expressions:
        if grid is not None:
            return _values({"v": (atom.value, atom.where)}, grid)(rows)
        return {"v": ibis.cases((holds(there, rows), read(atom.value, rows)))}

    def person(people: Any, name: str) -> Expressions:
        if grid is None:
            met = compared(people[f"{name}v"], atom.value.kind, atom.sign, atom.limit)
        else:
            limit = (atom.written or Fraction(0)) / grid.step
            met = compared(_reduced(people, f"{name}v", how or "min", grid), "integer", atom.sign, limit)
        return {"s": ibis.cases((met, 1), (~met, 0))}  # null for who has no value

    return PersonColumns(alone, rows, lambda table, name: _merged(table, name, "v", how or "min"), person)


Sides = Mapping[str, tuple[Operand | Condition, Condition, Grid]]
"""What is averaged on each side, over which rows, and the grid that it is on."""


def two_sided(sides: Sides, how: Reduction | None) -> PersonColumns:
    """A person's value on each of two sides, null for none; and, as n, whether there is one on either."""

    def with_either(columns: Mapping[str, Any]) -> Expressions:
        first, second = columns.values()
        return {**columns, "n": ibis.cases((first.notnull() | second.notnull(), wide(1)), else_=wide(0))}

    def rows(table: Any) -> Expressions:
        one = [_values({side: (value, where)}, grid)(table) for side, (value, where, grid) in sides.items()]
        return {name: column for columns in one for name, column in columns.items()}

    def merged(rows: Any, name: str) -> Expressions:
        return {n: e for side in sides for n, e in _merged(rows, name, side, how or "max").items()}

    def person(people: Any, name: str) -> Expressions:
        return with_either({side: _reduced(people, f"{name}{side}", how or "max", sides[side][2]) for side in sides})

    orders = {name: Order(value, where, grid) for name, (value, where, grid) in sides.items() if isinstance(value, Operand)}
    return PersonColumns(lambda table: with_either(rows(table)), rows, merged, person, orders)


def coded(conditions: Sequence[Condition]) -> PersonColumns:
    """Which of some conditions a person's rows satisfy, as one number: 1 for the first, 2 for the second, 4, …"""

    def rows(table: Any) -> Expressions:
        return {f"c{i}": indicator(condition, table) for i, condition in enumerate(conditions)}

    def merged(table: Any, name: str) -> Expressions:
        return {f"c{i}": table[f"{name}c{i}"].max() for i in range(len(conditions))}

    def code(columns: Sequence[Any]) -> Expressions:
        return {"s": added([_weighted(2**i, column) for i, column in enumerate(columns)])}

    def person(people: Any, name: str) -> Expressions:
        return code([people[f"{name}c{i}"] for i in range(len(conditions))])

    return PersonColumns(lambda table: code([*rows(table).values()]), rows, merged, person)


def squared(value: Operand, where: Condition, grid: Grid, how: Reduction | None) -> PersonColumns:
    """One value per person, in grid steps, and its square."""
    values = _values({"s": (value, where)}, grid)

    def both_of(column: Any) -> Expressions:
        return {"s": column, "q": column * column}

    def person(people: Any, name: str) -> Expressions:
        return both_of(_reduced(people, f"{name}s", how or "max", grid))

    def alone(rows: Any) -> Expressions:
        return both_of(values(rows)["s"])

    return PersonColumns(
        alone, values, lambda rows, name: _merged(rows, name, "s", how or "max"), person, {"s": Order(value, where, grid)}
    )


def labelled(value: Operand, where: Condition, how: Reduction | None) -> PersonColumns:
    """A value of each person, null for none."""

    def row(rows: Any) -> Expressions:
        there = both(where, Not(IsNull(value)))
        return {"v": ibis.cases((holds(there, rows), read(value, rows)))}

    def person(people: Any, name: str) -> Expressions:
        return {"v": people[f"{name}v"]}

    return PersonColumns(row, row, lambda rows, name: _merged(rows, name, "v", how or "min"), person)


def voting(value: Operand, where: Condition, winner: Any, how: Reduction | None) -> PersonColumns:
    """A vote, null for none, and whether it is the one asked about."""

    def row(rows: Any) -> Expressions:
        return {"v": ibis.cases((holds(where, rows), read(value, rows)))}

    def person(people: Any, name: str) -> Expressions:
        vote = people[f"{name}v"]
        return {"v": vote, "vown": compared(vote, value.kind, "=", winner)}

    def alone(rows: Any) -> Expressions:
        vote = row(rows)["v"]
        return {"v": vote, "vown": compared(vote, value.kind, "=", winner)}

    return PersonColumns(alone, row, lambda rows, name: _merged(rows, name, "v", how or "min"), person)


def _weighted(weight: int, column: Any) -> Any:
    return column if weight == 1 else column * wide(weight)


def _term(weight: int, value: Operand | None, where: Condition, grids: Mapping[str, Grid], rows: Any) -> Any:
    if value is None:
        return _weighted(weight, indicator(where, rows))
    inside = _weighted(weight, steps(value, grids[value.column], rows))
    if where == ALWAYS:
        return inside.fill_null(0)
    return ibis.cases((holds(where, rows), inside)).fill_null(0)


def _values(sides: Mapping[str, tuple[Operand | Condition, Condition]], grid: Grid) -> Callable[[Any], Expressions]:
    """Values as grid steps where a condition holds; a condition's value is 1 or 0."""

    def rows(table: Any) -> Expressions:
        columns = {}
        for name, (value, where) in sides.items():
            inside = steps(value, grid, table) if isinstance(value, Operand) else indicator(value, table)
            columns[name] = ibis.cases((holds(where, table), inside))
        return columns

    return rows


def _merged(rows: Any, name: str, column: str, how: Reduction) -> Expressions:
    """What a person's value is reduced from."""
    values = rows[f"{name}{column}"]
    match how:
        case "min":
            return {column: values.min()}
        case "max":
            return {column: values.max()}
        case "sum":
            return {column: values.sum()}
    return {column: values.sum(), f"{column}n": values.count()}


def _reduced(people: Any, column: str, how: Reduction, grid: Grid) -> Any:
    """A person's value in grid steps: a sum is clipped to the bounds, an average is rounded down to the grid."""
    value = people[column]
    if how == "sum":
        return clipped(value, grid.low, grid.high)
    if how != "avg":
        return value
    n = people[f"{column}n"]
    some = ibis.cases((n > 0, n), else_=wide(1))
    return clipped(ibis.cases((n > 0, quotient(value, some, max(abs(grid.low), abs(grid.high))))), grid.low, grid.high)
