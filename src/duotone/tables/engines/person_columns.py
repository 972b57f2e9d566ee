"""Person columns: how they are made from rows, where a person is one row and where a person has several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
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


def _reduced_to(
    values: Mapping[str, Callable[[Any], Any]],
    how: Reduction,
    made: Callable[[Expressions], Expressions] = dict,
    grids: Mapping[str, Grid] = MappingProxyType({}),
    ordered_by: Mapping[str, Order] = MappingProxyType({}),
) -> PersonColumns:
    """Values of a row, each reduced to one of a person, in the steps of its grid if it has one; and what is `made` of these."""

    def rows(table: Any) -> Expressions:
        return {name: value(table) for name, value in values.items()}

    def merged(table: Any, prefix: str) -> Expressions:
        return {n: e for name in values for n, e in _merged(table, prefix, name, how).items()}

    def person(people: Any, prefix: str) -> Expressions:
        return made({name: _reduced(people, f"{prefix}{name}", how, grids.get(name)) for name in values})

    return PersonColumns(lambda table: made(rows(table)), rows, merged, person, ordered_by)


def added_up(score: Score, present: Condition | None, grids: Mapping[str, Grid], low: int, high: int) -> PersonColumns:
    """A person's rows add up, and are clipped to what one person may count for."""

    def row(rows: Any) -> Any:
        parts = [_term(weight, term.value, term.where, grids, rows) for weight, term in score.terms]
        total = added(parts) if parts else ibis.literal(0, type="int64")
        if len(parts) > 1:  # no row scores more than it is known to be able to, whatever its conditions do
            total = clipped(total, score.lowest, score.highest)
        return total if present in (None, ALWAYS) else ibis.cases((holds(present, rows), total))

    orders = {}
    if len(score.terms) == 1 and present in (None, ALWAYS):
        ((weight, term),) = score.terms
        if term.value is not None and weight > 0:
            orders["s"] = Order(term.value, term.where, grids[term.value.column], weight, missing=True)
    return _reduced_to({"s": row}, "sum", grids={"s": Grid(low, high, Fraction(1))}, ordered_by=orders)


def counted(score: Score) -> PersonColumns:
    """People, each once: a person has what any of its rows has."""

    def made(columns: Expressions) -> Expressions:
        terms = [_weighted(weight, column) for (weight, _), column in zip(score.terms, columns.values(), strict=True)]
        return {"s": clipped(added(terms), score.lowest, score.highest)}

    return _reduced_to(_indicators([term.where for _, term in score.terms]), "max", made)


def coded(conditions: Sequence[Condition]) -> PersonColumns:
    """Which of some conditions a person's rows satisfy, as one number: 1 for the first, 2 for the second, 4, …"""

    def made(columns: Expressions) -> Expressions:
        return {"s": added([_weighted(2**i, column) for i, column in enumerate(columns.values())])}

    return _reduced_to(_indicators(conditions), "max", made)


def _indicators(conditions: Sequence[Condition]) -> Mapping[str, Callable[[Any], Any]]:
    return {f"c{i}": partial(indicator, condition) for i, condition in enumerate(conditions)}


def averaged(weight: int, shift: int, value: Operand, where: Condition, grid: Grid, how: Reduction) -> PersonColumns:
    """One value per person, by a reduction, and its score."""
    values = {"v": _stepped(value, where, grid)}
    return _reduced_to(values, how, lambda columns: {"s": _weighted(weight, columns["v"]) + shift}, {"v": grid})


def ranked(atom: QuantileThreshold, how: Reduction | None, grid: Grid | None) -> PersonColumns:
    """1 for a value that meets the limit, 0 for one that does not, null for none."""
    there = both(atom.where, Not(IsNull(atom.value)))

    def alone(rows: Any) -> Expressions:
        met = indicator(Compare(atom.value, atom.sign, atom.limit), rows)
        return {"s": ibis.cases((holds(there, rows), met))}

    def made(columns: Expressions) -> Expressions:
        if grid is None:
            met = compared(columns["v"], atom.value.kind, atom.sign, atom.limit)
        else:
            met = compared(columns["v"], "integer", atom.sign, (atom.written or Fraction(0)) / grid.step)
        return {"s": ibis.cases((met, 1), (~met, 0))}  # null for who has no value

    value = _read_where(there, atom.value) if grid is None else _stepped(atom.value, atom.where, grid)
    return replace(_reduced_to({"v": value}, how or "min", made, {} if grid is None else {"v": grid}), alone=alone)


Sides = Mapping[str, tuple[Operand | Condition, Condition, Grid]]
"""What is averaged on each side, over which rows, and the grid that it is on."""


def two_sided(sides: Sides, how: Reduction | None) -> PersonColumns:
    """A person's value on each of two sides, null for none; and, as n, whether there is one on either."""

    def made(columns: Expressions) -> Expressions:
        first, second = columns.values()
        return {**columns, "n": ibis.cases((first.notnull() | second.notnull(), wide(1)), else_=wide(0))}

    orders = {name: Order(value, where, grid) for name, (value, where, grid) in sides.items() if isinstance(value, Operand)}
    values = {name: _stepped(*side) for name, side in sides.items()}
    return _reduced_to(values, how or "max", made, {name: grid for name, (_, _, grid) in sides.items()}, orders)


def squared(value: Operand, where: Condition, grid: Grid, how: Reduction | None) -> PersonColumns:
    """One value per person, in grid steps, and its square."""
    return _reduced_to(
        {"s": _stepped(value, where, grid)},
        how or "max",
        lambda columns: {"s": columns["s"], "q": columns["s"] * columns["s"]},
        {"s": grid},
        {"s": Order(value, where, grid)},
    )


def labelled(value: Operand, where: Condition, how: Reduction | None) -> PersonColumns:
    """A value of each person, null for none."""
    return _reduced_to({"v": _read_where(both(where, Not(IsNull(value))), value)}, how or "min")


def voting(value: Operand, where: Condition, winner: Any, how: Reduction | None) -> PersonColumns:
    """A vote, null for none, and whether it is the one asked about."""

    def made(columns: Expressions) -> Expressions:
        return {**columns, "vown": compared(columns["v"], value.kind, "=", winner)}

    return _reduced_to({"v": _read_where(where, value)}, how or "min", made)


def _read_where(where: Condition, value: Operand) -> Callable[[Any], Any]:
    return lambda rows: ibis.cases((holds(where, rows), read(value, rows)))


def _stepped(value: Operand | Condition, where: Condition, grid: Grid) -> Callable[[Any], Any]:
    """A value in grid steps where a condition holds; a condition's value is 1 or 0."""

    def row(rows: Any) -> Any:
        inside = steps(value, grid, rows) if isinstance(value, Operand) else indicator(value, rows)
        return ibis.cases((holds(where, rows), inside))

    return row


def _weighted(weight: int, column: Any) -> Any:
    return column if weight == 1 else column * wide(weight)


def _term(weight: int, value: Operand | None, where: Condition, grids: Mapping[str, Grid], rows: Any) -> Any:
    if value is None:
        return _weighted(weight, indicator(where, rows))
    inside = _weighted(weight, steps(value, grids[value.column], rows))
    if where == ALWAYS:
        return inside.fill_null(0)
    return ibis.cases((holds(where, rows), inside)).fill_null(0)


def _merged(rows: Any, name: str, column: str, how: Reduction) -> Expressions:
    """What a person's value is reduced from."""
    values = rows[f"{name}{column}"]
    if how == "avg":
        return {column: values.sum(), f"{column}n": values.count()}
    return {column: getattr(values, how)()}


def _reduced(people: Any, column: str, how: Reduction, grid: Grid | None) -> Any:
    """A person's value in grid steps: a sum is clipped to the bounds, an average is rounded down to the grid."""
    value = people[column]
    if grid is None or how in ("min", "max"):
        return value
    if how == "sum":
        return clipped(value, grid.low, grid.high)
    n = people[f"{column}n"]
    some = ibis.cases((n > 0, n), else_=wide(1))
    return clipped(ibis.cases((n > 0, quotient(value, some, max(abs(grid.low), abs(grid.high))))), grid.low, grid.high)
