"""Yes/no expressions over aggregates, from SQL."""

from __future__ import annotations

import datetime
from fractions import Fraction

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.model.notice import Notice
from duotone.questions.threshold import CROWD
from duotone.tables.sql.build_comparison import compared, somebody
from duotone.tables.sql.build_thresholds import ranked
from duotone.tables.sql.comparison import BoolOp, LinearThreshold, ModeIs, Negation, Term, Tree, labelled
from duotone.tables.sql.condition import MIRRORED, Columns, Condition, IsNull, Not, both
from duotone.tables.sql.constants import compare, constant
from duotone.tables.sql.read_aggregate import RANKED, Aggregates, bare
from duotone.tables.sql.read_condition import SIGNS, joined_parts, read_condition, read_operand

OPPOSITE: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.GT: exp.LTE, exp.LTE: exp.GT, exp.LT: exp.GTE, exp.GTE: exp.LT, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ,
}  # fmt: skip


class Comparisons:
    """Reads yes/no expressions over aggregates, all within the same rows."""

    def __init__(self, columns: Columns, rows: Condition, unit: str | None) -> None:
        self.columns, self.read = columns, Aggregates(columns, rows, unit)
        self.equalities: list[Notice] = []

    def tree(self, node: exp.Expression, *, negated: bool = False) -> Tree:
        """Comparisons, joined by and, or and not: of what is unknown, `not` is unknown, and the answer is no. So a comparison
        that is `negated` is one with the opposite sign."""
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
        """Whether somebody has such a row; and nobody one that is otherwise. Not any is all that are otherwise."""
        inner, where = self.read.filtered(node)
        condition = read_condition(inner.this, self.columns)
        condition = Not(condition) if negated else condition
        terms = [Term(Fraction(1), None, both(where, condition))]
        if isinstance(inner, exp.LogicalAnd) != negated:
            terms.append(Term(Fraction(-CROWD), None, both(where, Not(condition))))
        return LinearThreshold(tuple(terms), Fraction(0), strict=True, people=self.read.unit is not None)

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
            return ranked(self.read.aggregate(node.this), sign, fixed, text)
        for absolute, other, way in ((node.this, node.expression, sign), (node.expression, node.this, MIRRORED[sign])):
            if isinstance(absolute, exp.Abs):
                return self.apart(absolute, way, other, text)
        left, right = self.read.expression(node.this), self.read.expression(node.expression)
        tree = compared(left, sign, right, text, alone=self.read.unit is None)
        equal = tree.part if isinstance(tree, Negation) else tree
        if sign in ("=", "<>") and isinstance(equal, BoolOp) and isinstance(equal.parts[0], LinearThreshold):
            end = "no" if sign == "=" else "yes"
            self.equalities.append(Notice("equality", comparison=node.sql(dialect="duckdb", comments=False), end=end))
        return tree

    def apart(self, node: exp.Abs, sign: str, other: exp.Expression, text: str) -> Tree:
        """|x| > t is x > t or x < -t; |x| < t is both x < t and x > -t."""
        limit = constant(other)
        if not isinstance(limit, Fraction) or sign in ("=", "<>"):
            raise DuotoneError(f"{text}: compare an absolute value with a number, by <, <=, > or >=")
        inside = self.read.expression(node.this)
        alone = self.read.unit is None
        parts = tuple(compared(inside, s, t, text, alone=alone) for s, t in ((sign, limit), (MIRRORED[sign], -limit)))
        return BoolOp("or" if sign in (">", ">=") else "and", parts)

    def winner(self, node: exp.Expression, sign: str, text: str) -> Tree:
        """Whether a value is the most frequent one, or another is."""
        fixed = constant(node.expression)
        if sign not in ("=", "<>") or fixed is None:
            raise DuotoneError(f"{text}: write mode(x) = 'a' or mode(x) <> 'a', with the value that may win")
        inner, where = self.read.filtered(node.this)
        test = compare(read_operand(inner.this, self.columns), "=", fixed, text)
        chosen = ModeIs(test.operand, where, test.constant)
        if sign == "=":
            return chosen
        known = somebody(both(where, Not(IsNull(test.operand))), people=self.read.unit is not None)
        return BoolOp("and", (Negation(chosen), known))  # of nobody there is no mode to differ


def _written(node: exp.Expression) -> str:
    """A comparison to be shown."""
    return node.sql(dialect="duckdb", comments=False, normalize_functions="lower")


def _example(aggregate: exp.Expression) -> str:
    compared = "= 'a'" if isinstance(bare(aggregate), exp.Mode) else "> 10"
    return f", as in {aggregate.sql(dialect='duckdb')} {compared}"
