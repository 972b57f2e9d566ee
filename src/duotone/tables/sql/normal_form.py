"""The normal form of a question: equivalent ways to write it have the same text, so that a ledger recognises it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

import sqlglot
from sqlglot import exp

MIRRORS: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
}  # fmt: skip
SIDES = (
    exp.Column, exp.Literal, exp.Boolean, exp.Neg, exp.Paren, exp.Cast, exp.AggFunc, exp.Filter, exp.WithinGroup,
    exp.Add, exp.Sub, exp.Mul, exp.Div,
)  # fmt: skip
"""Operators that bind more closely than a comparison, on either side of it. With others the mirrored text could have
another meaning: `1 = not x` would become `not x = 1`."""

LONGEST_NUMBER = 40
"""Most characters of a number in normal form; a longer one is unchanged."""


def count_alone(normal: str) -> str | None:
    """The normal form of a question that compares a single count with a number, without the comparison; None for
    others.

    >>> count_alone("SELECT region, NOT COUNT(*) FILTER(WHERE x > 2) >= 5 GROUP BY region")
    'SELECT region, COUNT(*) FILTER(WHERE x > 2) GROUP BY region'
    >>> count_alone("SELECT COUNT(*) BETWEEN 5 AND 9"), count_alone("SELECT COUNT(*) > COUNT(x)")
    (None, None)
    """
    select: Any = sqlglot.parse_one(normal, dialect="duckdb")
    asked = [part for part in select.expressions if part.find(exp.Count)]
    if len(asked) != 1:
        return None
    compared = asked[0].unalias()
    while isinstance(compared, exp.Not | exp.Paren):
        compared = compared.this
    if not (isinstance(compared, exp.GT | exp.GTE | exp.LT | exp.LTE) and isinstance(compared.expression, exp.Literal)):
        return None
    count = compared.this.this if isinstance(compared.this, exp.Filter) else compared.this
    if not isinstance(count, exp.Count) or compared.expression.is_string:
        return None
    asked[0].replace(compared.this)
    return _text(select)


def normal_text(select: exp.Select, *, of_people: bool = False) -> str:
    """A select as text: compared values come before constants, limits and weights are written uniformly, operands of
    and/or are sorted, redundant brackets are dropped, and a `where` becomes the filter of a single aggregate.
    `of_people` is an inner select, whose `where` also decides who is in it.

    Guarantee: two questions with one normal form are the same question. A comparison is mirrored as a whole, sign and
    both sides, which keeps its meaning; and/or mean the same in any order, also for unknown values. With a single
    aggregate, its filter and a `where` leave the same rows of each person, before any are added up, clipped or reduced;
    with several, or with groups, which have to be chosen, a `where` means more.

    >>> import sqlglot
    >>> normal_text(sqlglot.parse_one("select 1e3 < 2.0 * count(*) where y and not x", dialect="duckdb"))
    'SELECT 2 * COUNT(*) FILTER(WHERE NOT x AND y) > 1000'
    """
    plain = select.copy()
    for node in list(plain.find_all(*MIRRORS)):
        if _begins_with_a_constant(node.this, node.expression):
            node.replace(MIRRORS[type(node)](this=node.expression, expression=node.this))
    for condition in _conditions(plain):
        for literal in list(_compared_numbers(condition)):
            literal.set("this", _plain(literal.this))
    if not of_people:
        _where_as_filter(plain)
    for condition in _conditions(plain):
        condition.replace(_in_order(condition))
    return _text(plain)


def _text(node: exp.Expression) -> str:
    return node.sql(dialect="duckdb", normalize=True)


def _where_as_filter(select: exp.Select) -> None:
    """Move a `where` to the only aggregate, if that has no filter of its own and there are no groups."""
    where, aggregates = select.args.get("where"), [*select.find_all(exp.AggFunc)]
    if where is None or len(aggregates) != 1 or select.args.get("group"):
        return
    only = aggregates[0].parent if isinstance(aggregates[0].parent, exp.WithinGroup) else aggregates[0]
    if not isinstance(only.parent, exp.Filter):
        where.pop()
        only.replace(exp.Filter(this=only.copy(), expression=where))


def _in_order(node: exp.Expression, within: type[exp.Expression] | None = None) -> exp.Expression:
    """Sort AND/OR operands; drop redundant parentheses at this place: alone, or within a not, an and or an or."""
    inside = node.unnest()
    if isinstance(inside, exp.And | exp.Or):
        rule = type(inside)
        parts = (part for part in inside.flatten(unnest=False) if isinstance(part, exp.Expression))  # as every part is
        texts = sorted((_in_order(part, rule) for part in parts), key=_text)
        joined = functools.reduce(lambda left, right: rule(this=left, expression=right), texts)
        return joined if within is None or (within, rule) == (exp.Or, exp.And) else exp.Paren(this=joined)
    if isinstance(inside, exp.Not):
        return exp.Not(this=_in_order(inside.this, exp.Not))
    return inside.copy() if isinstance(inside, exp.Expression) else node.copy()


def _conditions(select: exp.Select) -> list[exp.Expression]:
    """The conditions of rows and of groups, and the answer; inner ones first."""
    clauses = [select.args.get(name) for name in ("where", "having")]
    filters = [filtered.expression.this for filtered in select.find_all(exp.Filter)]
    answers = [answer.unalias() for answer in select.expressions if answer.find(exp.AggFunc)]
    return [*filters, *(clause.this for clause in clauses if clause is not None), *answers]


def _compared_numbers(condition: exp.Expression) -> Iterator[exp.Literal]:
    """Numbers whose value alone matters: limits, and weights of aggregates. Not those within a computed value, whose
    text is the key of its bounds."""
    for side in _sides(condition):
        yield from _numbers(side, weights=side.find(exp.AggFunc) is not None)


def _sides(node: exp.Expression) -> Iterator[exp.Expression]:
    """The sides of comparisons that are joined by and, or and not."""
    if isinstance(node, exp.And | exp.Or | exp.Not | exp.Paren):
        for part in node.iter_expressions():
            yield from _sides(part)
    elif type(node) in MIRRORS or isinstance(node, exp.Between | exp.In):
        yield from node.iter_expressions()


def _numbers(side: exp.Expression, *, weights: bool) -> Iterator[exp.Literal]:
    if isinstance(side, exp.Literal) and not side.is_string:
        yield side
    elif isinstance(side, exp.Paren | exp.Neg) or (weights and isinstance(side, exp.Add | exp.Sub | exp.Mul | exp.Div)):
        for part in side.iter_expressions():
            yield from _numbers(part, weights=weights)


def _plain(written: str) -> str:
    """A number as 10 or 0.5, if that is its exact value."""
    try:
        digits = format(Decimal(written), "f")
    except InvalidOperation:
        return written
    units, _, decimals = digits.partition(".")
    plain = ".".join(filter(None, (units.lstrip("0") or "0", decimals.rstrip("0"))))
    return plain if len(plain) <= LONGEST_NUMBER else written


def _begins_with_a_constant(left: exp.Expression, right: exp.Expression) -> bool:
    return isinstance(left, SIDES) and isinstance(right, SIDES) and _is_constant(left) and not _is_constant(right)


def _is_constant(node: exp.Expression) -> bool:
    return node.find(exp.Column, exp.Star, exp.AggFunc, exp.Query) is None
