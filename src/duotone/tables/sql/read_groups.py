"""How many groups: a select over an inner select that makes one row per group of a public list.

The outer select's conditions are about the columns of the inner one, so each is a yes/no question about a group: with these
columns replaced by their aggregates it is what `having` would say there. How many groups say yes is then compared with a
limit (`OfGroups`). A listed group without rows is a row of the inner select, too: its counts are 0, its averages null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.comparison import Aggregate, Arithmetic, BoolOp, OfGroups, Part, Tree, linear, negation
from duotone.tables.sql.condition import ALWAYS, MIRRORED, Columns
from duotone.tables.sql.functions.casts import CASTS
from duotone.tables.sql.read_comparison import Comparisons, bare, one_where
from duotone.tables.sql.read_condition import SIGNS, constant
from duotone.tables.sql.syntax import find_column, no_column

RANKED = (exp.Min, exp.Max, exp.Median, exp.Quantile)
MADE: dict[str, type[exp.Expression]] = {">": exp.GT, ">=": exp.GTE, "<": exp.LT, "<=": exp.LTE}
NEGATIVE = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}
CONDITIONS = (*SIGNS, exp.Connector, exp.Not, exp.Between, exp.In, exp.Is, exp.LogicalOr, exp.LogicalAnd, exp.Filter)
KNOWN = (
    *SIGNS, exp.Connector, exp.Not, exp.Between, exp.Literal, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul,
)  # fmt: skip
"""What is known if its parts are: comparisons of counts, of their sums and products."""
HOW = "as in select count(*) >= 8 from (select ward, count(*) >= 20 as ok from t group by ward) where ok"
EVERY = "every group of the list"
"""What counts all groups."""


def makes_groups(inner: exp.Select, unit: str | None) -> bool:
    """Whether an inner select has a row per group, and not per person: it is grouped, and not by the unit."""
    group = inner.args.get("group")
    keys = [key for each in (group.expressions if group is not None else ()) for key in _meant(inner, each)]
    return bool(keys) and not (unit is not None and any(key.name.lower() == unit.lower() for key in keys))


def _meant(inner: exp.Select, key: exp.Expression) -> Iterator[exp.Expression]:
    """What a key may mean: itself, and a selected expression by its position or its name."""
    yield key
    for place, selected in enumerate(inner.expressions, 1):
        if key.name.lower() in (str(place), selected.alias.lower()):
            yield selected.unalias()


@dataclass(frozen=True)
class Over:
    """The outer select, and the inner select's name."""

    select: exp.Select
    label: str | None

    @staticmethod
    def of(select: exp.Select, label: str | None) -> Over:
        """Refuse clauses by which it would have several answers, or other rows."""
        for clause in ("group", "having"):
            if select.args.get(clause):
                raise DuotoneError(f"how many groups is a question with one answer, without {clause} of its own: {HOW}")
        if len(select.expressions) != 1:
            raise DuotoneError(f"how many groups is a question with exactly one yes/no expression: {HOW}")
        return Over(select, label)


class Group:
    """A row of the inner select: its aggregates by name, its keys, and the conditions of the groups that are looked at."""

    def __init__(self, over: Over, inner: exp.Select, columns: Columns) -> None:
        self.label = over.label
        every = inner.expressions
        self.columns: dict[str, exp.Expression] = {}
        for each in every:
            name = each.alias.lower()
            if name in self.columns:
                raise DuotoneError(f"the inner select has two columns called {each.alias}")
            if name and each.find(exp.AggFunc):
                self.columns[name] = each.unalias()
        keys = [*(each for each in every if each.find(exp.AggFunc) is None), *inner.args["group"].expressions]
        self.keys = {each.alias_or_name.lower() for each in keys}
        having, where = inner.args.get("having"), over.select.args.get("where")
        self.kept = [
            *([] if having is None else [self._of_people(having.this, columns)]),
            *([] if where is None else [self.put(where.this)]),
        ]

    def put(self, condition: exp.Expression) -> exp.Expression:
        """A condition on the group's row as one on its people: each column replaced by its aggregate."""
        whole = exp.Paren(this=condition.copy())
        for column in list(whole.find_all(exp.Column)):
            column.replace(_bracketed(self._column(column).copy()))
        return _bracketed(whole.this)

    def _of_people(self, having: exp.Expression, columns: Columns) -> exp.Expression:
        """Its condition, where the name of an aggregate stands for it unless the table has a column of that name."""
        whole = exp.Paren(this=having.copy())
        for column in list(whole.find_all(exp.Column)):
            if column.name.lower() in self.columns and not column.table and find_column(column.this, columns) is None:
                column.replace(_bracketed(self.columns[column.name.lower()].copy()))
        return _bracketed(whole.this)

    def _column(self, column: exp.Column) -> exp.Expression:
        *qualifier, name = (part.name.lower() for part in column.parts)
        if qualifier and qualifier != [(self.label or "").lower()]:
            raise DuotoneError(
                f"{column.sql(dialect='duckdb')} is not a column of the inner select: leave out the name before it"
            )
        if name in self.keys:
            raise DuotoneError(
                f"{column.name} is a key of the groups, whose list is public: list those that are meant, and leave the "
                f"condition on {column.name} out"
            )
        if name not in self.columns:
            raise no_column(column.name, self.columns, "the inner select")
        made: exp.Expression = self.columns[name]
        return made


def _bracketed(node: exp.Expression) -> exp.Expression:
    """An expression that keeps its meaning among others."""
    return node if isinstance(node, exp.AggFunc | exp.Filter | exp.Paren) else exp.Paren(this=node)


class OverGroups(Comparisons):
    """Reads the yes/no expression of the outer select, whose aggregates are numbers of groups; `inner` reads what is asked of
    each group."""

    def __init__(self, group: Group, inner: Comparisons) -> None:
        super().__init__({}, ALWAYS, None)
        self.group, self.inner = group, inner
        self.conditions: dict[str, exp.Expression] = {}

    def any_or_all(self, node: exp.Expression, negated: bool) -> Tree:
        """Whether a condition holds in some group, or in each where it is known. Not any is all of the opposite."""
        inner, where = self.rows_of(node)
        holds = self.group.put(inner.this)
        wanted = exp.Not(this=holds) if negated else holds
        return self.some(wanted, where) if isinstance(inner, exp.LogicalOr) != negated else self.every(wanted, where)

    def comparison(self, node: exp.Expression) -> Tree:
        """A number of groups, or the value of one of them in order, against a limit."""
        sign, text = SIGNS[type(node)], node.sql(dialect="duckdb", comments=False)
        for side, other, way in ((node.this, node.expression, sign), (node.expression, node.this, MIRRORED[sign])):
            if isinstance(bare(side), RANKED) and way in MADE and constant(other) is not None:
                return self.ordered(side, way, other, text)
        apart = Arithmetic("-", self.expression(node.this), self.expression(node.expression))
        return self.counted(*linear(apart), sign, text)

    def counted(self, weights: Mapping[Part, Fraction], rest: Fraction, sign: str, text: str) -> Tree:
        """weight · (a number of groups, or their share) + every · (number of all groups) + rest, against 0."""
        every, numbers, shares = Fraction(0), dict[str, Fraction](), dict[str, Fraction]()
        for part, weight in weights.items():
            condition, factor, of_all = _number(part, text)
            if condition == EVERY:
                every += weight * factor
            else:
                known = shares if of_all else numbers
                known[condition] = known.get(condition, Fraction(0)) + weight * factor
        if not (numbers or shares):
            raise DuotoneError(f"{text}: there are always as many groups as the list has: say which of them are counted, {HOW}")
        conditions = [(name, weight) for name, weight in (*numbers.items(), *shares.items()) if weight]
        if len(conditions) != 1 or (shares and every):
            raise DuotoneError(f"{text}: compare how many groups satisfy one condition with a number or a share, {HOW}")
        ((condition, weight),) = conditions
        sign = sign if weight > 0 else MIRRORED[sign]
        limits = (-rest / weight, Fraction(0)) if shares else (-every / weight, -rest / weight)
        at_least, more = (self.many(self.conditions[condition], *limits, strict=strict) for strict in (False, True))
        match sign:
            case ">" | ">=":
                return more if sign == ">" else at_least
            case "<" | "<=":
                return negation(at_least if sign == "<" else more)
        equal = BoolOp("and", (at_least, negation(more)))
        return equal if sign == "=" else negation(equal)

    def ordered(self, side: exp.Expression, sign: str, limit: exp.Expression, text: str) -> Tree:
        """The least or the largest of the groups' values, or a quantile, against a limit."""
        inner, where = self.rows_of(side)
        value, opposite = self.group.put(inner.this), NEGATIVE[sign]
        holds, fails = (MADE[each](this=value.copy(), expression=limit.copy()) for each in (sign, opposite))
        upward = sign in (">", ">=")
        if isinstance(inner, exp.Min | exp.Max):
            return self.some(holds, where) if isinstance(inner, exp.Max) == upward else self.every(holds, where, fails)
        share = constant(inner.args["quantile"]) if isinstance(inner, exp.Quantile) else Fraction(1, 2)
        if not (isinstance(share, Fraction) and 0 < share < 1 and not where and never_null(value)):
            raise DuotoneError(
                f"{text}: how many values are in order must be known, so a median of groups is of counts, without where or "
                "having; ask how many groups satisfy a condition instead"
            )
        above = self.many(holds if upward else fails, 1 - share, Fraction(0), strict=True)
        return above if upward else negation(above)

    def some(self, holds: exp.Expression, where: Sequence[exp.Expression]) -> Tree:
        """Whether a condition holds in at least one group."""
        return self.many(exp.and_(*where, holds), Fraction(0), Fraction(0), strict=True)

    def every(self, holds: exp.Expression, where: Sequence[exp.Expression], fails: exp.Expression | None = None) -> Tree:
        """Whether a condition fails in no group, and holds in one: if it is known in all, it need only not fail."""
        nowhere = negation(self.some(exp.Not(this=exp.Paren(this=holds)) if fails is None else fails, where))
        return nowhere if not where and never_null(holds) else BoolOp("and", (nowhere, self.some(holds, where)))

    def many(self, condition: Any, share: Fraction, besides: Fraction, *, strict: bool) -> OfGroups:
        """Whether a condition holds in enough groups."""
        return OfGroups(self.inner.tree(condition), share, besides, strict)

    def rows_of(self, node: exp.Expression) -> tuple[Any, list[exp.Expression]]:
        """An aggregate, and the conditions of the groups that it is about."""
        own = [self.group.put(node.expression.this)] if isinstance(node, exp.Filter) else []
        return bare(node), [*self.group.kept, *own]

    def aggregate(self, node: exp.Expression) -> Aggregate:
        """A number of groups, or a share of all of them: its text is the condition."""
        (inner, where), text = self.rows_of(node), node.sql(dialect="duckdb", comments=False)
        match inner:
            case exp.Count() if isinstance(inner.this, exp.Star) or constant(inner.this) is not None:
                return self.number("count", where)
            case exp.Count() if (condition := one_where(inner.this, otherwise=None)) is not None:
                return self.number("count", [*where, self.group.put(condition)])
            case exp.CountIf() | exp.Sum() | exp.Avg():
                condition = self.condition(inner.this, text)
                if where or not (never_null(condition) or one_where(inner.this, otherwise=0) is not None):
                    raise DuotoneError(
                        f"{text}: in a group without values the condition is unknown, and it would not be among those that are "
                        "counted; write count(*) filter (where …), which counts groups that satisfy it, and compare it "
                        "with a number or with 0.8 * count(*)"
                    )
                return self.number("mean" if isinstance(inner, exp.Avg) else "count", [condition])
        raise DuotoneError(f"{text}: of groups one asks how many satisfy a condition, {HOW}; or for a min, max or median")

    def condition(self, value: exp.Expression, text: str) -> exp.Expression:
        """The condition that is averaged or added up: as it is, as 1 and 0, or cast to a number."""
        inner: Any = one_where(value, otherwise=0) or value.unnest()
        while isinstance(inner, exp.Cast) and CASTS.get(inner.to.this.name) in ("integer", "float"):
            inner = inner.this.unnest()
        condition = self.group.put(inner)
        if not isinstance(condition.unnest(), CONDITIONS):
            raise DuotoneError(f"{text} adds up what groups have: of groups one asks how many satisfy a condition, {HOW}")
        return condition

    def number(self, kind: Literal["count", "mean"], conditions: Sequence[exp.Expression]) -> Aggregate:
        """How many groups satisfy all conditions, or their share."""
        if not conditions:
            return Aggregate(EVERY, kind, ALWAYS)
        condition: Any = exp.and_(*conditions)
        text = condition.sql(dialect="duckdb", comments=False)
        self.conditions[text] = condition
        return Aggregate(text, kind, ALWAYS)


def _number(part: Part, text: str) -> tuple[str, Fraction, bool]:
    """The condition of a number of groups, its weight, and whether it is a share of all."""
    match part:
        case Aggregate():
            return part.text, Fraction(1), part.kind == "mean"
        case Arithmetic("/", left, Aggregate(text=known, kind="count")) if known == EVERY:
            weights, rest = linear(left)
            if len(weights) == 1 and not rest:
                ((number, weight),) = weights.items()
                condition, factor, of_all = _number(number, text)
                if condition != EVERY and not of_all:
                    return condition, weight * factor, True
    raise DuotoneError(f"{text}: compare how many groups satisfy one condition with a number or a share, {HOW}")


def never_null(node: exp.Expression) -> bool:
    """Whether a value or a condition is known in every group, also in one without rows."""
    if isinstance(node, exp.Count):
        return True
    if isinstance(node, exp.Filter):
        return never_null(node.this)
    return isinstance(node, KNOWN) and all(never_null(part) for part in node.iter_expressions())


def read_over_groups(over: Over, inner: exp.Select, reader: Comparisons) -> Tree:
    """The answer of the outer select; `reader` reads what is asked of a group of the inner one."""
    return OverGroups(Group(over, inner, reader.columns), reader).tree(over.select.expressions[0].unalias())
