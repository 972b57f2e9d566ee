"""Person columns: how they are computed from rows, with one row or several rows per person."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import ibis

from duotone.errors import DuotoneError
from duotone.model.checks import Reduction
from duotone.model.dataset import FLOAT_STEPS, Grid
from duotone.questions.rates import Scale
from duotone.tables.engines.expressions import (
    NEAR,
    added,
    balanced,
    clipped,
    compared,
    holds,
    indicator,
    read,
    steps,
    unchecked,
)
from duotone.tables.sql.comparison import QuantileThreshold
from duotone.tables.sql.condition import ALWAYS, Condition, IsNull, Not, Operand, Value, both
from duotone.tables.sql.functions.function import quotient, wide
from duotone.tables.sql.scoring import Score

Expressions = Mapping[str, Any]


@dataclass(frozen=True)
class Order:
    """A value of a row whose order is that of its grid steps; NaN is null. A score is `weight` times these; `missing`:
    someone without a value has a score of 0."""

    value: Operand
    where: Condition
    grid: Grid
    weight: int = 1
    missing: bool = False

    def of(self, rows: Any) -> Any:
        """The value, not yet in steps."""
        return _where(self.where, unchecked(self.value, rows), rows)

    def from_on(self, score: int) -> int | float | None:
        """A lower limit on the values of rows with this score or more; None without a useful one."""
        steps, low = -(-score // self.weight), self.grid.low
        return self._limit(min(steps, self.grid.high) - 1) if low < steps and self._near else None

    def up_to(self, score: int) -> int | float | None:
        """An upper limit on the values of rows with this score or less; None without a useful one."""
        steps, high = score // self.weight, self.grid.high
        return self._limit(max(steps, self.grid.low) + 1) if steps < high and self._near else None

    @property
    def _near(self) -> bool:
        return max(-self.grid.low, self.grid.high) <= NEAR

    def _limit(self, steps: int) -> int | float:
        return int(steps * self.grid.step) if self.value.kind == "integer" else float(steps * self.grid.step)


@dataclass(frozen=True)
class PersonColumns:
    """Values of a row, each reduced to one per person, in grid steps if it has a grid; and columns `made` of these.

    If a row is a person, they are computed as `alone`; else by `of_rows` for a row, `merged` for one person's rows and
    `person` for a person, with a prefix for the table's columns.
    """

    values: Mapping[str, Callable[[Any], Any]]
    how: Reduction | None = None
    made: Callable[[Expressions], Expressions] = dict
    grids: Mapping[str, Grid] = field(default_factory=dict)
    ordered_by: Mapping[str, Order] = field(default_factory=dict)
    """For columns of the same names: a cheaper value of the same order, if there is one."""

    def alone(self, rows: Any) -> Expressions:
        """The columns of a row that is a person."""
        return self.made(self.of_rows(rows))

    def of_rows(self, rows: Any) -> Expressions:
        """The columns of a person's row."""
        return {name: value(rows) for name, value in self.values.items()}

    def merged(self, rows: Any, prefix: str) -> Expressions:
        """The aggregates of a person's values."""
        columns = {name: rows[f"{prefix}{name}"] for name in self.values}
        if self.how == "avg":
            return {n: e for name, v in columns.items() for n, e in ((name, v.sum()), (f"{name}n", v.count()))}
        return {name: getattr(column, self.how or "max")() for name, column in columns.items()}

    def person(self, people: Any, prefix: str) -> Expressions:
        """The columns of a person."""
        return self.made({name: self._reduced(people, f"{prefix}{name}", self.grids.get(name)) for name in self.values})

    def _reduced(self, people: Any, column: str, grid: Grid | None) -> Any:
        """A person's value in grid steps: a sum is clipped to the bounds, an average is rounded down to the grid."""
        value = people[column]
        if grid is None or self.how in ("min", "max", None):
            return value
        if self.how == "avg":
            n = people[f"{column}n"]
            some = ibis.cases((n > 0, n), else_=wide(1))
            value = ibis.cases((n > 0, quotient(value, some, max(abs(grid.low), abs(grid.high)))))
        return clipped(value, grid.low, grid.high)


def flagged(condition: Condition) -> PersonColumns:
    """Whether a row that is a person satisfies a condition: for a plain count, without arithmetic."""
    return PersonColumns({"s": partial(holds, condition)})


def valued(value: Operand, where: Condition, grid: Grid) -> PersonColumns:
    """The value of a row that is a person, in grid steps."""
    return PersonColumns({"s": _stepped(value, where, grid)}, ordered_by={"s": Order(value, where, grid)})


def _where(condition: Condition, value: Any, rows: Any) -> Any:
    return value if condition == ALWAYS else ibis.cases((holds(condition, rows), value))


def added_up(score: Score, present: Condition | None, grids: Mapping[str, Grid], low: int, high: int) -> PersonColumns:
    """A person's rows are added up, and clipped to what one person may count for."""

    def row(rows: Any) -> Any:
        parts = [_term(weight, term.value, term.where, grids, rows) for weight, term in score.terms]
        total = added(parts) if parts else wide(0)
        if len(parts) > 1:  # no row scores more than its known range, whatever its conditions are
            total = clipped(total, score.lowest, score.highest)
        return _where(present or ALWAYS, total, rows)

    orders = {}
    if len(score.terms) == 1 and present in (None, ALWAYS):
        ((weight, term),) = score.terms
        if term.value is not None and weight > 0:
            orders["s"] = Order(term.value, term.where, grids[term.value.column], weight, missing=True)
    return PersonColumns({"s": row}, "sum", grids={"s": Grid(low, high, Fraction(1))}, ordered_by=orders)


def counted(score: Score) -> PersonColumns:
    """People, each once: a person has what any of their rows has."""

    def made(columns: Expressions) -> Expressions:
        terms = [_weighted(weight, column) for (weight, _), column in zip(score.terms, columns.values(), strict=True)]
        return {"s": clipped(added(terms), score.lowest, score.highest)}

    return PersonColumns(_indicators([term.where for _, term in score.terms]), made=made)


def coded(conditions: Sequence[Condition]) -> PersonColumns:
    """Which conditions a person's rows satisfy, as one number: 1 for the first, 2 for the second, 4, …"""

    def made(columns: Expressions) -> Expressions:
        return {"s": added([_weighted(2**i, column) for i, column in enumerate(columns.values())])}

    return PersonColumns(_indicators(conditions), made=made)


def _indicators(conditions: Sequence[Condition]) -> Mapping[str, Callable[[Any], Any]]:
    return {f"c{i}": partial(indicator, condition) for i, condition in enumerate(conditions)}


def averaged(weight: int, shift: int, value: Operand, where: Condition, grid: Grid, how: Reduction) -> PersonColumns:
    """One value per person, by a reduction, and its score."""
    values = {"v": _stepped(value, where, grid)}
    return PersonColumns(values, how, lambda columns: {"s": _weighted(weight, columns["v"]) + shift}, {"v": grid})


def require_short(grids: Mapping[str, Grid], how: Reduction | None) -> None:
    """Limit the length of bounds: a person's average is divided as a float."""
    if how == "avg" and any(max(abs(g.low), abs(g.high)) > FLOAT_STEPS for g in grids.values()):
        raise DuotoneError("the bounds are too far apart for a person's average: give a coarser grid")


def ranked(atom: QuantileThreshold, how: Reduction | None, grid: Grid | None) -> PersonColumns:
    """1 for a value that meets the limit, 0 for one that does not, null for none."""

    def made(columns: Expressions) -> Expressions:
        if grid is None:
            met = compared(columns["v"], atom.value.kind, atom.sign, atom.limit)
        else:
            met = compared(columns["v"], "integer", atom.sign, (atom.written or Fraction(0)) / grid.step)
        return {"s": ibis.cases((met, 1), (~met, 0))}  # null for a person without a value

    value = (
        _read_where(both(atom.where, Not(IsNull(atom.value))), atom.value)
        if grid is None
        else _stepped(atom.value, atom.where, grid)
    )
    return PersonColumns({"v": value}, how, made, {} if grid is None else {"v": grid})


def voted(atom: QuantileThreshold, met: int, missed: int, rows: int) -> PersonColumns:
    """A person's rows added up: `met` for a value that meets the limit, `missed` for one that does not, null for none; and
    clipped to what so many rows can have."""

    def row(rows: Any) -> Any:
        value = _read_where(both(atom.where, Not(IsNull(atom.value))), atom.value)(rows)
        known = compared(value, atom.value.kind, atom.sign, atom.limit)
        return ibis.cases((known, wide(met)), (~known, wide(missed)))

    grid = Grid(min(met, missed) * rows, max(met, missed) * rows, Fraction(1))
    return PersonColumns({"s": row}, "sum", grids={"s": grid})


Sides = Mapping[str, tuple[Operand | Condition, Condition, Grid]]
"""The averaged value of each side, its rows, and its grid."""


def two_sided(sides: Sides, how: Reduction | None) -> PersonColumns:
    """A person's value on each of two sides, null for none; and, as n, whether there is one on either."""

    def made(columns: Expressions) -> Expressions:
        first, second = columns.values()
        return {**columns, "n": ibis.cases((first.notnull() | second.notnull(), wide(1)), else_=wide(0))}

    orders = {name: Order(value, where, grid) for name, (value, where, grid) in sides.items() if isinstance(value, Operand)}
    values = {name: _stepped(*side) for name, side in sides.items()}
    return PersonColumns(values, how, made, {name: grid for name, (_, _, grid) in sides.items()}, orders)


MOST_ROWS = 2**18
"""Most rows of one person that count on two sides: multiplied by fewer than 2^42 rows, they overflow no 64 bits."""


def scaled(sides: Sides, scale: Scale, most: int) -> PersonColumns:
    """How far a person's rows on each of two sides are above 0 (ah, bh) and below the span (al, bl), added up; null for
    none. Each of n rows, if they are more than `most`, counts most / n, and sums are rounded down."""
    lines = dict(zip(sides, (scale.first, scale.second), strict=True))

    def height(name: str, rows: Any) -> Any:
        (value, where, grid), (factor, shift) = sides[name], lines[name]
        return _weighted(factor, _stepped(value, where, grid)(rows)) + wide(shift)

    def depth(name: str, rows: Any) -> Any:
        return wide(scale.span) - height(name, rows)

    def there(rows: Any) -> Any:
        known = [height(name, rows).notnull() for name in sides]
        return ibis.cases((balanced(operator.or_, known), wide(1)), else_=wide(0))

    def made(columns: Expressions) -> Expressions:
        n, parts = columns["n"], {name: column for name, column in columns.items() if name != "n"}
        some = ibis.greatest(n, wide(1))  # sums are wider than 64 bits
        return {
            name: ibis.cases((n > wide(most), quotient(part * wide(most), some, scale.span * most)), else_=part)
            for name, part in parts.items()
        }

    values = {f"{name}{way}": partial(how, name) for name in sides for way, how in (("h", height), ("l", depth))}
    return PersonColumns({**values, "n": there}, "sum", made)


def squared(value: Operand, where: Condition, grid: Grid, how: Reduction | None) -> PersonColumns:
    """One value per person, in grid steps, and its square."""
    return PersonColumns(
        {"s": _stepped(value, where, grid)},
        how,
        lambda columns: {"s": columns["s"], "q": columns["s"] * columns["s"]},
        {"s": grid},
        {"s": Order(value, where, grid)},
    )


def labelled(value: Operand, where: Condition, how: Reduction | None) -> PersonColumns:
    """A value of each person, null for none."""
    return PersonColumns({"v": _read_where(both(where, Not(IsNull(value))), value)}, how)


def voting(value: Operand, where: Condition, winner: Any, how: Reduction | None) -> PersonColumns:
    """A vote, null for none, and whether it is the one asked about."""

    def made(columns: Expressions) -> Expressions:
        return {**columns, "vown": compared(columns["v"], value.kind, "=", winner)}

    return PersonColumns({"v": _read_where(where, value)}, how, made)


def placed(value: Operand, where: Condition, values: Sequence[Value], how: Reduction | None) -> PersonColumns:
    """The place of a person's value among some public ones, null for any other value or none."""

    def made(columns: Expressions) -> Expressions:
        among = [(compared(columns["v"], value.kind, "=", one), i) for i, one in enumerate(values)]
        return {"s": ibis.cases(*among)}

    return PersonColumns({"v": _read_where(where, value)}, how, made)


def in_groups(
    groups: Mapping[str, Condition],
    value: Operand | Condition | None,
    grid: Grid,
    how: Reduction | None,
    within: Grid,
    *,
    anywhere: bool = False,
) -> PersonColumns:
    """What a person has in each of several groups of rows, by name: a value on a grid, null for none, reduced `within` another
    one; or, without a value, whether (or how often) there is a row. `anywhere` adds n: whether there is anything in any."""

    def made(columns: Expressions) -> Expressions:
        if not anywhere:
            return columns
        there = functools.reduce(operator.or_, (column.notnull() for column in columns.values()))
        return {**columns, "n": ibis.cases((there, wide(1)), else_=wide(0))}

    grids = dict.fromkeys(groups, within)
    if value is None:
        return PersonColumns({name: partial(indicator, where) for name, where in groups.items()}, how, made, grids)
    orders = {name: Order(value, where, grid) for name, where in groups.items()} if isinstance(value, Operand) else {}
    return PersonColumns({name: _stepped(value, where, grid) for name, where in groups.items()}, how, made, grids, orders)


def _read_where(where: Condition, value: Operand) -> Callable[[Any], Any]:
    return lambda rows: _where(where, read(value, rows), rows)


def _stepped(value: Operand | Condition, where: Condition, grid: Grid) -> Callable[[Any], Any]:
    """A value in grid steps if a condition holds; a condition's value is 1 or 0."""

    def row(rows: Any) -> Any:
        inside = steps(value, grid, rows) if isinstance(value, Operand) else indicator(value, rows)
        return _where(where, inside, rows)

    return row


def _weighted(weight: int, column: Any) -> Any:
    return column if weight == 1 else column * wide(weight)


def _term(weight: int, value: Operand | None, where: Condition, grids: Mapping[str, Grid], rows: Any) -> Any:
    if value is None:
        return _weighted(weight, indicator(where, rows))
    inside = _weighted(weight, steps(value, grids[value.column], rows))
    return _where(where, inside, rows).fill_null(0)
