"""Questions from SQL: one Boolean expression over aggregates, or a select with one."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.questions.threshold import CROWD
from duotone.tables.sql.build_comparison import Aggregate, mean, ranked, ratio, total
from duotone.tables.sql.comparison import (
    BoolOp,
    LinearThreshold,
    Mean,
    MeanDifference,
    ModeIs,
    Negation,
    ParsedQuestion,
    Settled,
    Term,
    Tree,
)
from duotone.tables.sql.condition import ALWAYS, Condition, IsNull, Joined, Kind, Not, Operand, both
from duotone.tables.sql.read_condition import (
    MIRRORED,
    NUMERIC,
    SIGNS,
    column_name,
    compare,
    constant,
    joined_parts,
    read_condition,
    read_operand,
)
from duotone.tables.sql.satisfiable import combinations
from duotone.tables.sql.syntax import parse
from duotone.tables.sql.table_names import drop_names

Columns = Mapping[str, Kind]
RANKED = (exp.Median, exp.Quantile, exp.PercentileDisc, exp.Min, exp.Max)


def read_question(text: str, columns: Columns, unit: str | None = None, name: str | None = None) -> ParsedQuestion:
    """Parse a question, or say what is wrong with it; `name` is the table's, None where it has none.

    >>> read_question("count(*) > 5", {"x": "integer"}).tree
    LinearThreshold(terms=(Term(weight=Fraction(1, 1), value=None, where=Joined(rule='and', parts=())),), \
limit=Fraction(5, 1), strict=True, present=None, people=False)
    """
    try:
        return _read(parse(text), columns, unit, name)
    except RecursionError:
        raise DuotoneError("the question is nested too deeply") from None


def _read(select: exp.Select, columns: Columns, unit: str | None, name: str | None) -> ParsedQuestion:
    drop_names(select, name)
    where = select.args.get("where")
    rows = read_condition(where.this, columns) if where is not None else ALWAYS
    by = _group_columns(select, columns)
    answers = [e.unalias() for e in select.expressions]
    answers = [e for e in answers if not (isinstance(e, exp.Column) and column_name(e, columns) in by)]
    if len(answers) != 1:
        raise DuotoneError("a question has exactly one yes/no expression, besides the columns that it is grouped by")
    tree = _Reader(columns, rows, unit).tree(answers[0])
    for node in select.find_all(exp.Expression):
        node.comments = None
    return ParsedQuestion(tree, by, rows, select.sql(dialect="duckdb", normalize=True))


def _group_columns(select: exp.Select, columns: Columns) -> tuple[str, ...]:
    group = select.args.get("group")
    if group is None:
        return ()
    if any(value for name, value in group.args.items() if name != "expressions"):
        raise DuotoneError("group by takes columns, not rollup, cube or all")
    for key in group.expressions:
        if not isinstance(key, exp.Column):
            raise DuotoneError(f"group by {key.sql()}: group by columns themselves")
    return tuple(dict.fromkeys(column_name(key, columns) for key in group.expressions))


class _Reader:
    """Reads expressions over aggregates, all within the same rows."""

    def __init__(self, columns: Columns, rows: Condition, unit: str | None) -> None:
        self.columns, self.rows, self.unit = columns, rows, unit

    def tree(self, node: exp.Expression) -> Tree:
        match node:
            case exp.Paren():
                return self.tree(node.this)
            case exp.And() | exp.Or():
                rule: Literal["and", "or"] = "and" if isinstance(node, exp.And) else "or"
                return BoolOp(rule, tuple(self.tree(part) for part in joined_parts(node)))
            case exp.Not():
                return Negation(self.tree(node.this))
            case exp.LogicalOr() | exp.LogicalAnd() | exp.Filter() if isinstance(
                node if not isinstance(node, exp.Filter) else node.this, exp.LogicalOr | exp.LogicalAnd
            ):
                return self.any_or_all(node)
            case exp.Between():
                low, high = (
                    exp.GTE(this=node.this, expression=node.args["low"]),
                    exp.LTE(this=node.this, expression=node.args["high"]),
                )
                return BoolOp("and", (self.tree(low), self.tree(high)))
        if type(node) not in SIGNS:
            raise DuotoneError(f"{node.sql(dialect='duckdb')} is not a yes/no question: compare an aggregate with something")
        return self.comparison(node)

    def any_or_all(self, node: exp.Expression) -> Tree:
        inner, where = self.filtered(node)
        condition = read_condition(inner.this, self.columns)
        if isinstance(inner, exp.LogicalOr):
            return LinearThreshold((Term(Fraction(1), None, both(where, condition)),), Fraction(0), strict=True)
        known = (Term(Fraction(1), None, both(where, condition)), Term(Fraction(-CROWD), None, both(where, Not(condition))))
        return LinearThreshold(known, Fraction(0), strict=True)

    def comparison(self, node: exp.Expression) -> Tree:
        sign, text = SIGNS[type(node)], node.sql(dialect="duckdb")
        if isinstance(_bare(node.expression), exp.Mode):
            node, sign = type(node)(this=node.expression, expression=node.this), MIRRORED[sign]
        if isinstance(_bare(node.this), exp.Mode):
            return self.winner(node, sign, text)
        if isinstance(constant(node.this), str | datetime.date):
            node, sign = type(node)(this=node.expression, expression=node.this), MIRRORED[sign]
        fixed = constant(node.expression)
        if isinstance(fixed, str | datetime.date) and isinstance(_bare(node.this), RANKED) and sign not in ("=", "<>"):
            return ranked(self.aggregate(node.this), sign, fixed, text)
        terms, rest = self.linear(node.this)
        other, other_rest = self.linear(node.expression)
        weights: dict[Aggregate, Fraction] = {}
        for aggregate, weight in [*terms, *((a, -w) for a, w in other)]:
            weights[aggregate] = weights.get(aggregate, Fraction(0)) + weight
        if any(not w and a.kind not in ("count", "people", "sum") for a, w in weights.items()):
            raise DuotoneError(f"{text}: an aggregate that cancels out is still null on an empty table: leave it out")
        weights, limit = {a: w for a, w in weights.items() if w}, other_rest - rest
        if not weights:
            raise DuotoneError(f"{text} has no aggregate in it: compare a count, sum, avg, median, quantile, min, max or mode")
        if sign not in ("=", "<>"):
            return self.ordered(weights, sign, limit, text)
        if any(a.kind not in ("count", "people") for a in weights):
            raise DuotoneError(f"{text}: only counts can be asked for equality; ask with >= or <= instead")
        equal = self.equal(weights, limit, text)
        return equal if sign == "=" else Negation(equal)

    def equal(self, weights: dict[Aggregate, Fraction], limit: Fraction, text: str) -> Tree:
        """Σ weights · counts = limit: both at least and at most."""
        scale = math.lcm(*(w.denominator for w in weights.values()))
        if (limit * scale / math.gcd(*(int(w * scale) for w in weights.values()))).denominator != 1:
            return Settled(False, f"whole numbers of people never make {text} true")
        steps = len(weights) == 1 and set(map(abs, weights.values())) == {1}
        return BoolOp("and", tuple(self.ordered(weights, s, limit, text) for s in (">=", "<=")), exact=steps)

    def ordered(self, weights: dict[Aggregate, Fraction], sign: str, limit: Fraction, text: str) -> Tree:
        """Σ weights · aggregates, compared with a limit by <, <=, > or >=."""
        kinds = {a.kind for a in weights}
        if kinds <= {"count", "sum"} or kinds == {"people"}:
            return total(weights, sign, limit, people=kinds == {"people"})
        if len(weights) == 1:
            ((aggregate, weight),) = weights.items()
            sign = sign if weight > 0 else MIRRORED[sign]
            match aggregate.kind:
                case "mean":
                    return mean(aggregate, sign, limit / weight)
                case "ratio":
                    return ratio(aggregate, sign, limit / weight)
            return ranked(aggregate, sign, limit / weight, text)
        if "ratio" in kinds:
            raise DuotoneError(
                f"{text}: a ratio of counts is compared with a number; with another only where both are shares, that is, "
                "where every row of the upper count is in the lower one"
            )
        if kinds == {"mean"} and len(weights) == 2 and sum(weights.values()) == 0:
            if sign in ("<", "<="):
                weights, sign, limit = {a: -w for a, w in weights.items()}, MIRRORED[sign], -limit
            (first, weight), (second, _) = sorted(weights.items(), key=lambda item: -item[1])
            sides = Mean(first.averaged, first.where), Mean(second.averaged, second.where)
            return MeanDifference(*sides, limit / weight, strict=sign == ">")
        raise DuotoneError(
            f"{text} mixes aggregates: compare counts and sums with each other, or one average with another or with a number"
        )

    def winner(self, node: exp.Expression, sign: str, text: str) -> Tree:
        fixed = constant(node.expression)
        if sign not in ("=", "<>") or fixed is None:
            raise DuotoneError(f"{text}: write mode(x) = 'a' or mode(x) <> 'a', with the value that may win")
        inner, where = self.filtered(node.this)
        test = compare(read_operand(inner.this, self.columns), "=", fixed, text)
        chosen = ModeIs(test.operand, where, test.constant)
        if sign == "=":
            return chosen
        somebody = LinearThreshold((Term(Fraction(1), None, both(where, Not(IsNull(test.operand)))),), Fraction(0), strict=True)
        return BoolOp("and", (Negation(chosen), somebody))  # of nobody there is no mode to differ

    def linear(self, node: exp.Expression) -> tuple[list[tuple[Aggregate, Fraction]], Fraction]:
        """Aggregates with weights, and what is left over."""
        fixed = constant(node)
        if isinstance(fixed, Fraction):
            return [], fixed
        if fixed is not None:
            raise DuotoneError(f"{node.sql(dialect='duckdb')} is not a number, and only mode is compared with text")
        match node:
            case exp.Paren():
                return self.linear(node.this)
            case exp.Neg():
                terms, rest = self.linear(node.this)
                return [(a, -w) for a, w in terms], -rest
            case exp.Add() | exp.Sub():
                way = 1 if isinstance(node, exp.Add) else -1
                (left, a), (right, b) = self.linear(node.this), self.linear(node.expression)
                return [*left, *((r, way * w) for r, w in right)], a + way * b
            case exp.Mul() | exp.Div() if isinstance(factor := constant(node.expression), Fraction):
                if isinstance(node, exp.Div) and factor == 0:
                    raise DuotoneError(f"{node.sql()} divides by zero")
                return self.scaled(node.this, factor if isinstance(node, exp.Mul) else 1 / factor)
            case exp.Mul() if isinstance(factor := constant(node.this), Fraction):
                return self.scaled(node.expression, factor)
            case exp.Div():
                return [self.share(node)], Fraction(0)
        return [(self.aggregate(node), Fraction(1))], Fraction(0)

    def scaled(self, node: exp.Expression, factor: Fraction) -> tuple[list[tuple[Aggregate, Fraction]], Fraction]:
        terms, rest = self.linear(node)
        return [(a, w * factor) for a, w in terms], rest * factor

    def share(self, node: exp.Div) -> tuple[Aggregate, Fraction]:
        """One count by another: a share where no row is in the first without being in the second, else a ratio."""
        text, (some, every) = node.sql(dialect="duckdb"), [self.linear(side) for side in (node.this, node.expression)]
        counts = [terms[0] for terms, rest in (some, every) if len(terms) == 1 and not rest and terms[0][0].kind == "count"]
        if len(counts) != 2:
            raise DuotoneError(f"{text}: only one count can be divided by another; for a mean, write avg of the column")
        (upper, weight), (lower, by) = counts
        kind: Literal["mean", "ratio"] = "ratio" if (True, False) in combinations([upper.where, lower.where])[0] else "mean"
        return Aggregate(text, kind, lower.where, upper.where), weight / by

    def filtered(self, node: exp.Expression) -> tuple[exp.Expression, Condition]:
        if not isinstance(node, exp.Filter):
            return node, self.rows
        return node.this, both(self.rows, read_condition(node.expression.this, self.columns))

    def aggregate(self, node: exp.Expression) -> Aggregate:
        inner, where = self.filtered(node)
        text = node.sql(dialect="duckdb")
        chosen = _chosen(inner.this) if isinstance(inner, exp.Count | exp.Sum | exp.Avg) else None
        match inner:
            case exp.Count() if isinstance(inner.this, exp.Star) or constant(inner.this) is not None:
                return Aggregate(text, "count", where)
            case exp.Count() if isinstance(inner.this, exp.Distinct):
                return self.people(inner.this, where, text)
            case exp.Count() | exp.Sum() if chosen is not None and not (isinstance(inner, exp.Count) and chosen[1]):
                return Aggregate(text, "count", both(where, read_condition(chosen[0], self.columns)))
            case exp.Avg() if chosen is not None and chosen[1]:
                return Aggregate(text, "mean", where, read_condition(chosen[0], self.columns))
            case exp.Count():
                return Aggregate(text, "count", both(where, Not(IsNull(read_operand(inner.this, self.columns)))))
            case exp.Avg() if not isinstance(inner.this, exp.Column) or self.kind(inner.this) == "boolean":
                condition = read_condition(inner.this, self.columns)
                return Aggregate(text, "mean", both(where, Joined("or", (condition, Not(condition)))), condition)
            case exp.Sum() | exp.Avg():
                return Aggregate(text, "sum" if isinstance(inner, exp.Sum) else "mean", where, self.number(inner, text))
            case exp.Median():
                return Aggregate(text, "quantile", where, read_operand(inner.this, self.columns), Fraction(1, 2))
            case exp.Quantile() | exp.PercentileDisc() if type(inner) in (exp.Quantile, exp.PercentileDisc):
                return self.quantile(inner, where, text)
            case exp.Min() | exp.Max() if not inner.expressions:
                kind: Literal["min", "max"] = "min" if isinstance(inner, exp.Min) else "max"
                return Aggregate(text, kind, where, read_operand(inner.this, self.columns))
            case exp.PercentileCont() | exp.WithinGroup():
                raise DuotoneError(f"{text}: write quantile(x, q), which is a value of the table and not between two")
            case exp.Window():
                raise DuotoneError(f"{text} is a window: ask about the whole table, or group by")
            case exp.Column():
                raise DuotoneError(f"{text} is a column: ask for count, sum, avg, median, quantile, min, max or mode of it")
        raise DuotoneError(f"{text} is not an aggregate that is known: use count, sum, avg, median, quantile, min, max or mode")

    def kind(self, node: exp.Column) -> Kind:
        return self.columns[column_name(node, self.columns)]

    def number(self, node: exp.Expression, text: str) -> Operand:
        if not isinstance(node.this, exp.Column):
            raise DuotoneError(f"{text}: {node.key} takes a column, not an expression")
        value = read_operand(node.this, self.columns)
        if value.kind not in NUMERIC:
            raise DuotoneError(f"{text}: column {value.column} does not hold numbers")
        return replace(value, kind="float", reading="try") if value.kind == "untyped" else value

    def people(self, node: exp.Distinct, where: Condition, text: str) -> Aggregate:
        named = [column_name(e, self.columns) for e in node.expressions if isinstance(e, exp.Column)]
        if self.unit is None or named != [self.unit] or len(node.expressions) != 1:
            raise DuotoneError(f"{text}: only the column that names a person can be counted distinct")
        return Aggregate(text, "people", where)

    def quantile(self, node: exp.Expression, where: Condition, text: str) -> Aggregate:
        q = constant(node.args.get("quantile") or node.expression or exp.Null())
        if not (isinstance(q, Fraction) and 0 < q < 1):
            raise DuotoneError(f"{text}: write quantile(x, q) with 0 < q < 1; for the ends there are min(x) and max(x)")
        return Aggregate(text, "quantile", where, read_operand(node.this, self.columns), q)


def _bare(node: exp.Expression) -> exp.Expression:
    return node.this if isinstance(node, exp.Filter) else node


def _chosen(node: exp.Expression) -> tuple[exp.Expression, bool] | None:
    """The condition of `case when c then 1 [else 0] end`, and whether there is an else; None for anything else."""
    if not isinstance(node, exp.Case) or node.this is not None or len(node.args["ifs"]) != 1:
        return None
    only, other = node.args["ifs"][0], node.args.get("default")
    if constant(only.args["true"]) != 1 or not (other is None or constant(other) == 0):
        return None
    return only.this, other is not None
