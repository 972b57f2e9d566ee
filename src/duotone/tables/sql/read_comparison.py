"""Yes/no expressions over aggregates, from SQL: count, sum, avg, median, quantile, min, max, mode, stddev and variance."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.model.notice import Notice, Refusal
from duotone.questions.threshold import CROWD
from duotone.tables.sql.build_comparison import compared, ranked, somebody
from duotone.tables.sql.comparison import (
    Aggregate,
    AggregateKind,
    Arithmetic,
    BoolOp,
    Expression,
    LinearThreshold,
    ModeIs,
    Term,
    Tree,
    aggregates,
    labelled,
    negation,
)
from duotone.tables.sql.condition import MIRRORED, Columns, Condition, IsNull, Joined, Not, both
from duotone.tables.sql.functions.casts import CASTS
from duotone.tables.sql.read_condition import (
    SIGNS,
    compare,
    constant,
    filtered,
    is_condition,
    joined_parts,
    read_condition,
    read_numbers,
    read_operand,
)
from duotone.tables.sql.syntax import column_name

KNOWN = "count, sum, avg, median, quantile, min, max, mode, stddev or variance"
RANKED = (exp.Median, exp.Quantile, exp.PercentileDisc, exp.Min, exp.Max)
SPREAD: dict[type[exp.Expression], tuple[AggregateKind, int]] = {
    exp.Stddev: ("stddev", 1), exp.StddevSamp: ("stddev", 1), exp.StddevPop: ("stddev", 0),
    exp.Variance: ("variance", 1), exp.VariancePop: ("variance", 0),
}  # fmt: skip
COUNTED: frozenset[AggregateKind] = frozenset({"count", "people", "distinct"})
DOUBLES: frozenset[AggregateKind] = COUNTED | {"sum", "mean", "variance", "stddev"}
RULES: dict[type[exp.Expression], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}


OPPOSITE: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.GT: exp.LTE, exp.LTE: exp.GT, exp.LT: exp.GTE, exp.GTE: exp.LT, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ,
}  # fmt: skip


class Comparisons:
    """Reads yes/no expressions over aggregates, and their arithmetic, all over the same rows."""

    def __init__(self, columns: Columns, rows: Condition, unit: str | None) -> None:
        self.columns, self.rows, self.unit = columns, rows, unit
        self.equalities: list[Notice] = []

    def tree(self, node: exp.Expression, *, negated: bool = False) -> Tree:
        """Comparisons joined by and, or and not. `not` of an unknown is unknown, which is a no. So a `negated`
        comparison is one with the opposite sign."""
        match node:
            case exp.Paren():
                return self.tree(node.this, negated=negated)
            case exp.And() | exp.Or():
                parts = tuple(self.tree(part, negated=negated) for part in joined_parts(node))
                return BoolOp("and" if isinstance(node, exp.And) != negated else "or", parts)
            case exp.Not():
                return self.tree(node.this, negated=not negated)
            case exp.LogicalOr() | exp.LogicalAnd() | exp.Filter() if isinstance(bare(node), exp.LogicalOr | exp.LogicalAnd):
                return labelled(self.any_or_all(node, negated), ("not " if negated else "") + _written(node))
            case exp.Between():
                low, high = (
                    exp.GTE(this=node.this, expression=node.args["low"]),
                    exp.LTE(this=node.this, expression=node.args["high"]),
                )
                return BoolOp("or" if negated else "and", (self.tree(low, negated=negated), self.tree(high, negated=negated)))
            case exp.In() if isinstance(bare(node.this), exp.Mode) and node.expressions:
                each = (exp.EQ(this=node.this, expression=e) for e in node.expressions)
                return BoolOp("and" if negated else "or", tuple(self.tree(one, negated=negated) for one in each))
        if type(node) not in SIGNS:
            example = _example(node) if isinstance(bare(node), exp.AggFunc) else ""
            raise DuotoneError(
                f"{node.sql(dialect='duckdb')} is not a yes/no question: compare an aggregate with something{example}"
            )
        if negated:
            node = OPPOSITE[type(node)](this=node.this, expression=node.expression)
        return labelled(self.comparison(node), _written(node))

    def any_or_all(self, node: exp.Expression, negated: bool) -> Tree:
        """Whether somebody has such a row; for all, whether nobody has another one. Not any is all of the opposite."""
        inner, where = filtered(node, self.rows, self.columns)
        condition = read_condition(inner.this, self.columns)
        condition = Not(condition) if negated else condition
        terms = [Term(Fraction(1), None, both(where, condition))]
        if isinstance(inner, exp.LogicalAnd) != negated:
            terms.append(Term(Fraction(-CROWD), None, both(where, Not(condition))))
        return LinearThreshold(tuple(terms), Fraction(0), strict=True, people=self.unit is not None)

    def comparison(self, node: exp.Expression) -> Tree:
        """One comparison of aggregates."""
        sign, text = SIGNS[type(node)], node.sql(dialect="duckdb")
        if isinstance(bare(node.expression), exp.Mode):
            node, sign = type(node)(this=node.expression, expression=node.this), MIRRORED[sign]
        if isinstance(bare(node.this), exp.Mode):
            return self.winner(node, sign, text)
        if isinstance(constant(node.this), str | datetime.date):
            node, sign = type(node)(this=node.expression, expression=node.this), MIRRORED[sign]
        fixed = constant(node.expression)
        if isinstance(fixed, str | datetime.date) and isinstance(bare(node.this), RANKED) and sign not in ("=", "<>"):
            return ranked(self.aggregate(node.this), sign, fixed, text)
        for absolute, other, way in ((node.this, node.expression, sign), (node.expression, node.this, MIRRORED[sign])):
            if isinstance(absolute, exp.Abs):
                return self.apart(absolute, way, other, text)
        left, right = self.expression(node.this), self.expression(node.expression)
        tree = compared(left, sign, right, text, alone=self.unit is None)
        equal = tree.parts[0] if isinstance(tree, BoolOp) and tree.rule == "not" else tree
        if sign in ("=", "<>") and isinstance(equal, BoolOp) and isinstance(equal.parts[0], LinearThreshold):
            end = "no" if sign == "=" else "yes"
            self.equalities.append(Notice("equality", comparison=node.sql(dialect="duckdb", comments=False), end=end))
        return tree

    def apart(self, node: exp.Abs, sign: str, other: exp.Expression, text: str) -> Tree:
        """|x| > t is x > t or x < -t; |x| < t is both x < t and x > -t."""
        limit = constant(other)
        if not isinstance(limit, Fraction) or sign in ("=", "<>"):
            raise DuotoneError(f"{text}: compare an absolute value with a number, by <, <=, > or >=")
        inside = self.expression(node.this)
        alone = self.unit is None
        parts = tuple(compared(inside, s, t, text, alone=alone) for s, t in ((sign, limit), (MIRRORED[sign], -limit)))
        return BoolOp("or" if sign in (">", ">=") else "and", parts)

    def winner(self, node: exp.Expression, sign: str, text: str) -> Tree:
        """Whether a value is the most frequent one, or another is."""
        fixed = constant(node.expression)
        if sign not in ("=", "<>") or fixed is None:
            raise DuotoneError(f"{text}: write mode(x) = 'a' or mode(x) <> 'a', with the value that may win")
        inner, where = filtered(node.this, self.rows, self.columns)
        test = compare(read_operand(inner.this, self.columns), "=", fixed, text)
        chosen = ModeIs(test.operand, where, test.constant)
        if sign == "=":
            return chosen
        known = somebody(both(where, Not(IsNull(test.operand))), people=self.unit is not None)
        return BoolOp("and", (negation(chosen), known))  # without people there is no mode to differ

    def expression(self, node: exp.Expression) -> Expression:
        """Aggregates and numbers, added, subtracted, multiplied and divided."""
        fixed = constant(node)
        if isinstance(fixed, Fraction):
            return fixed
        if fixed is not None:
            raise self.not_a_number(node, fixed)
        match node:
            case exp.Paren():
                return self.expression(node.this)
            case exp.Neg():
                return Arithmetic("-", Fraction(0), self.expression(node.this))
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
                left, right = self.expression(node.this), self.expression(_divisor(node))
                if isinstance(node, exp.Div) and right == 0:
                    raise DuotoneError(f"{node.sql()} divides by zero")
                return Arithmetic(RULES[type(node)], left, right)  # type: ignore[arg-type]
            case exp.Cast() if node.find(exp.AggFunc) is not None:
                return self.uncast(node)
            case exp.Coalesce() if isinstance(bare(node.this), exp.Sum) and [*map(constant, node.expressions)] == [0]:
                return replace(self.aggregate(node.this), needs=None)
            case exp.Round() | exp.Floor() | exp.Ceil() | exp.Trunc() if node.find(exp.AggFunc) is not None:
                raise DuotoneError(f"{node.sql(dialect='duckdb')} rounds: leave that out, and compare the value inside it")
        return self.aggregate(node)

    def not_a_number(self, node: exp.Expression, fixed: object) -> DuotoneError:
        """The refusal of a text that is compared with a number; one that is a number in quotes is shown without."""
        said = f"{node.sql(dialect='duckdb')} is not a number, and only mode is compared with text"
        digits = isinstance(fixed, str) and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", fixed)
        return DuotoneError(f"{said}: write {instead(node, exp.Literal.number(fixed))}" if digits else said)

    def uncast(self, node: exp.Cast) -> Expression:
        """An aggregate under a cast that does not change it: a count, or a number that is a double anyway."""
        inner, target = self.expression(node.this), node.to.this.name
        kinds = {aggregate.kind for aggregate in aggregates(inner)}
        tried = isinstance(node, exp.TryCast)  # null if an integer is too large
        holds_counts = target in ("FLOAT", "DOUBLE") if tried else CASTS.get(target) in ("integer", "float")
        counted = isinstance(inner, Aggregate) and kinds <= COUNTED and holds_counts
        if not (counted or (target == "DOUBLE" and kinds <= DOUBLES)):
            raise DuotoneError(
                f"{node.sql(dialect='duckdb')}: leave out the cast, which may round, and compare the value inside it"
            )
        return inner

    def aggregate(self, node: exp.Expression) -> Aggregate:
        """One aggregate."""
        inner, where = filtered(node, self.rows, self.columns)
        text = node.sql(dialect="duckdb")
        match inner:
            case exp.Count() | exp.CountIf():
                return self.count(inner, where, text)
            case exp.Sum() | exp.Avg():
                return self.added(inner, where, text)
            case exp.Median():
                return Aggregate(text, "quantile", where, read_operand(inner.this, self.columns), Fraction(1, 2))
            case exp.Quantile() | exp.PercentileDisc() if type(inner) in (exp.Quantile, exp.PercentileDisc):
                return self.quantile(inner, where, text)
            case exp.Min() | exp.Max() if not inner.expressions:
                return Aggregate(
                    text, "min" if isinstance(inner, exp.Min) else "max", where, read_operand(inner.this, self.columns)
                )
            case exp.WithinGroup() if isinstance(inner.this, exp.PercentileDisc):
                return self.ordered_quantile(inner, where, text)
            case exp.PercentileCont() | exp.WithinGroup() | exp.ApproxQuantile():
                raise _not_between(node, inner)
            case exp.Window():
                raise Refusal("not understood", why=f"{text} is a window: ask about the whole table, or group by")
            case exp.Column():
                raise _of_a_column(inner, column_name(inner, self.columns))
        if type(inner) in SPREAD:
            kind, less = SPREAD[type(inner)]
            return Aggregate(text, kind, where, read_numbers(inner.this, self.columns, text), less=less)
        raise Refusal("not understood", why=f"{text} is not an aggregate that is known: use {KNOWN}")

    def count(self, node: exp.Expression, where: Condition, text: str) -> Aggregate:
        """The number of all rows, of rows where a condition holds or a value is not null, of people, or of distinct
        values."""
        counted = node.this
        if isinstance(node, exp.CountIf):
            tested = read_condition(counted, self.columns)  # like a sum, it is null if that is never known
            return Aggregate(text, "count", both(where, tested), needs=both(where, _known(tested)))
        if isinstance(counted, exp.Star) or constant(counted) is not None:
            return Aggregate(text, "count", where)
        if isinstance(counted, exp.Distinct):
            return self.different(counted, where, text)
        if (condition := one_where(counted, otherwise=None)) is not None:
            return Aggregate(text, "count", both(where, read_condition(condition, self.columns)))
        return Aggregate(text, "count", both(where, Not(IsNull(read_operand(counted, self.columns)))))

    def added(self, node: exp.Sum | exp.Avg, where: Condition, text: str) -> Aggregate:
        """A sum or an average; for conditions, a count or a share."""
        value, is_sum = node.this, isinstance(node, exp.Sum)
        chosen = one_where(value, otherwise=0)
        tested = value if is_condition(value, self.columns) else self.cast_to_number(value)
        if is_sum and (counted := chosen or tested or one_where(value, otherwise=None)) is not None:
            condition = read_condition(counted, self.columns)
            added = both(where, condition)
            known = where if counted is chosen else both(where, _known(condition)) if counted is tested else added
            return Aggregate(text, "count", added, needs=known)
        if chosen is not None:  # if its condition is unknown it is 0, and counts
            return Aggregate(text, "mean", where, read_condition(chosen, self.columns))
        if tested is not None:
            condition = read_condition(tested, self.columns)
            return Aggregate(text, "mean", both(where, _known(condition)), condition)
        summed = read_numbers(node.this, self.columns, text)
        if is_sum:
            return Aggregate(text, "sum", where, summed, needs=both(where, Not(IsNull(summed))))
        return Aggregate(text, "mean", where, summed)

    def cast_to_number(self, node: exp.Expression) -> exp.Expression | None:
        """The condition of a cast to a number, as in (c)::int; None for anything else."""
        cast: Any = node.unnest()
        if not (isinstance(cast, exp.Cast) and CASTS.get(cast.to.this.name) in ("integer", "float")):
            return None
        inner: exp.Expression = cast.this.unnest()
        return inner if is_condition(inner, self.columns) else None

    def different(self, node: exp.Distinct, where: Condition, text: str) -> Aggregate:
        """People, or distinct values."""
        if len(node.expressions) != 1:
            raise DuotoneError(f"{text}: count different values of one column")
        only = node.expressions[0]
        if isinstance(only, exp.Column) and column_name(only, self.columns) == self.unit:
            return Aggregate(text, "people", where)
        return Aggregate(text, "distinct", where, read_operand(only, self.columns))

    def ordered_quantile(self, node: exp.WithinGroup, where: Condition, text: str) -> Aggregate:
        """percentile_disc(q) within group (order by x)."""
        by = node.expression.expressions
        if len(by) != 1 or by[0].args.get("desc"):
            raise DuotoneError(f"{text}: order by one column, upwards")
        return self.quantile(exp.Quantile(this=by[0].this, quantile=node.this.this), where, text)

    def quantile(self, node: exp.Expression, where: Condition, text: str) -> Aggregate:
        """A quantile: a value with a given share of values at or below it."""
        share = node.args.get("quantile") or node.expression or exp.Null()
        if isinstance(share, exp.Order) and share.expressions == [exp.Ordered(this=node.this, nulls_first=False)]:
            share = share.this  # as the normal form writes percentile_disc
        q = constant(share)
        if not (isinstance(q, Fraction) and 0 < q < 1):
            raise DuotoneError(f"{text}: write quantile(x, q) with 0 < q < 1; for the ends there are min(x) and max(x)")
        return Aggregate(text, "quantile", where, read_operand(node.this, self.columns), q)


def instead(node: exp.Expression, other: exp.Expression) -> str:
    """The question with a part of it written otherwise, in one line."""
    node.replace(other)
    root = other.root()
    text = root.sql(dialect="duckdb", comments=False, normalize_functions="lower")
    other.replace(node)
    return text if any(clause for name, clause in root.args.items() if name != "expressions") else text.removeprefix("SELECT ")


def _not_between(node: exp.Expression, quantile: exp.Expression) -> DuotoneError:
    """The refusal of a quantile that lies between two values, or near one, with the quantile that is a value."""
    text, inner = node.sql(dialect="duckdb"), quantile
    value, q = inner.this, inner.args.get("quantile") or inner.args.get("expression")
    if isinstance(inner, exp.WithinGroup):  # percentile_cont(q) within group (order by x)
        value, q = inner.expression.expressions[0].this, inner.this.this
    elif isinstance(q, exp.Order):
        q = q.this
    write = "write quantile(x, q), which is a value of the table and not between two"
    if value is None or not isinstance(q, exp.Literal):
        return DuotoneError(f"{text}: {write}")
    return DuotoneError(f"{text}: {write}, as in {instead(quantile, exp.Quantile(this=value.copy(), quantile=q.copy()))}")


def _of_a_column(node: exp.Expression, name: str) -> DuotoneError:
    """The refusal of a bare column; one that is compared can be counted by that."""
    said, compared = f"{name} is a column: ask for {KNOWN} of it", node.parent
    if not isinstance(compared, exp.Expression) or type(compared) not in SIGNS:
        return DuotoneError(said)
    count = exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=compared.copy()))
    written = exp.GT(this=count, expression=exp.Literal.number(10))
    return DuotoneError(f"{said}, or count rows: {instead(compared, written)}")


def _known(condition: Condition) -> Condition:
    return Joined("or", (condition, Not(condition)))


def _divisor(node: exp.Expression) -> exp.Expression:
    """The divisor: for nullif(x, 0) it is x, since division by zero is null anyway."""
    by: exp.Expression = node.expression
    return by.this if isinstance(node, exp.Div) and isinstance(by, exp.Nullif) and constant(by.expression) == 0 else by


def bare(node: exp.Expression) -> exp.Expression:
    """An aggregate without its filter."""
    return node.this if isinstance(node, exp.Filter) else node


def one_where(node: exp.Expression, otherwise: int | None) -> exp.Expression | None:
    """The condition of `case when c then 1 [else 0] end` or `if(c, 1, 0)`; None for anything else."""
    if isinstance(node, exp.Paren):
        return one_where(node.this, otherwise)
    if isinstance(node, exp.Case) and node.this is None and len(node.args["ifs"]) == 1:
        only, other = node.args["ifs"][0], node.args.get("default")
    elif isinstance(node, exp.If):
        only, other = node, node.args.get("false")
    else:
        return None
    other = None if isinstance(other, exp.Null) else other
    fits = other is None if otherwise is None else other is not None and constant(other) == otherwise
    return only.this if fits and constant(only.args["true"]) == 1 else None


def _written(node: exp.Expression) -> str:
    """A comparison for display."""
    return node.sql(dialect="duckdb", comments=False, normalize_functions="lower")


def _example(aggregate: exp.Expression) -> str:
    compared = "= 'a'" if isinstance(bare(aggregate), exp.Mode) else "> 10"
    return f", as in {aggregate.sql(dialect='duckdb')} {compared}"
