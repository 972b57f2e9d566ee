"""A question about people of several rows, as plain SQL in which each has one: the rules of `max_rows` and `per_unit`.

An aggregate becomes one over people, of what each one's rows come to. A rule that clips a distance to a limit (averages and
shares by `max_rows`, arithmetic of sums) has no such form, and none is tried for averages and sums of a person's values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

ADDED = (exp.Count, exp.CountIf, exp.Sum)
TREE = (exp.And, exp.Or, exp.Not, exp.Paren)


class NoForm(Exception):
    """The rules say something else than what plain SQL can."""


@dataclass(frozen=True)
class People:
    """What is declared of people, and the rest of the select."""

    most: int | None
    reduced: str | None
    rest: str
    ends: Mapping[str, tuple[int, int]]
    """Bounds of values, by what stands inside a sum."""

    def made(self, node: exp.Expr) -> exp.Expr:
        """A tree of comparisons, each about one row per person."""
        if isinstance(node, TREE):
            made = node.copy()
            for name in ("this", "expression"):
                if isinstance(part := node.args.get(name), exp.Expr):
                    made.set(name, self.made(part))
            return made
        if not isinstance(node, exp.AggFunc | exp.Filter):
            aggregates = [*_aggregates(node)]
            if any(_adds(each) for each in aggregates) and (len(aggregates) > 1 or node.find(exp.Div) is not None):
                raise NoForm
        return node.copy().transform(lambda each: self.of_people(each) if each in [*_aggregates(each)] else each)

    def of_people(self, node: exp.Expr) -> exp.Expr:
        """One aggregate, as a query of its own."""
        aggregate = node.this if isinstance(node, exp.Filter) else node
        kept = f" filter ({node.expression.sql('duckdb')})" if isinstance(node, exp.Filter) else ""
        if isinstance(aggregate, exp.LogicalOr | exp.LogicalAnd) or aggregate.sql("duckdb") == "COUNT(DISTINCT u)":
            return _query(f"select {node.sql('duckdb')} from {self.rest}")
        if _adds(aggregate):
            return self._added(aggregate, kept)
        if self.reduced not in ("min", "max") or aggregate.find(exp.Cast, exp.DataType) is not None:
            raise NoForm
        distinct = aggregate.this if isinstance(aggregate.this, exp.Distinct) else None
        value = aggregate.this if distinct is None else distinct.expressions[0]
        over = aggregate.copy()
        over.set("this", exp.column("w") if distinct is None else exp.Distinct(expressions=[exp.column("w")]))
        each = f"select {self.reduced}({value.sql('duckdb')}){kept} as w from {self.rest} group by u"
        return _query(f"select {over.sql('duckdb')} from ({each})")

    def _added(self, aggregate: exp.Expr, kept: str) -> exp.Expr:
        if self.most is None:
            raise NoForm
        low, high = self.ends.get(aggregate.this.sql("duckdb"), (0, 1)) if isinstance(aggregate, exp.Sum) else (0, 1)
        low, high = min(low, low * self.most), max(high, high * self.most)
        each = f"select {aggregate.sql('duckdb')}{kept} as w from {self.rest} group by u"
        total = f"sum(case when w is not null then greatest(least(w, {high}), {low}) end)"
        total = f"coalesce({total}, 0)" if isinstance(aggregate, exp.Count) else total
        return _query(f"select {total} from ({each})")


def by_person(sql: str, most: int | None, reduced: str | None, ends: Mapping[str, tuple[int, int]]) -> str | None:
    """The same select with one row per person; None where it has no such form."""
    select = sqlglot.parse_one(sql, dialect="duckdb")
    if not isinstance(select, exp.Select) or select.args.get("group") or "mode(" in sql.lower():
        return None
    (asked,) = select.expressions
    bare = select.copy()
    bare.set("expressions", [exp.Star()])
    rest = bare.sql("duckdb").removeprefix("SELECT * FROM ")
    known = {sqlglot.parse_one(value, dialect="duckdb").sql("duckdb"): own for value, own in ends.items()}
    try:
        return f"select {People(most, reduced, rest, known).made(asked).sql('duckdb')}"
    except NoForm:
        return None


def _adds(aggregate: exp.Expr) -> bool:
    inner = aggregate.this if isinstance(aggregate, exp.Filter) else aggregate
    return isinstance(inner, ADDED) and not isinstance(inner.this, exp.Distinct)


def _aggregates(node: exp.Expr) -> list[exp.Expr]:
    """Those in an expression, with their filters."""
    if isinstance(node, exp.AggFunc) or (isinstance(node, exp.Filter) and isinstance(node.this, exp.AggFunc)):
        return [node]
    return [each for part in node.iter_expressions() for each in _aggregates(part)]


def _query(sql: str) -> exp.Expr:
    return exp.paren(sqlglot.parse_one(sql, dialect="duckdb"), copy=False)
