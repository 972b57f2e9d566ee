"""The normal form of a question: its text as a ledger knows it, in which two ways to write the same look the same."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from sqlglot import exp

MIRRORS: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
}  # fmt: skip
SIDES = (
    exp.Column, exp.Literal, exp.Boolean, exp.Neg, exp.Paren, exp.Cast, exp.AggFunc, exp.Filter, exp.WithinGroup,
    exp.Add, exp.Sub, exp.Mul, exp.Div,
)  # fmt: skip
"""What binds more closely than a comparison, on either side of it. Of others the mirrored text could be read as something else:
`1 = not x` would become `not x = 1`."""

LONGEST = 40
"""The characters of a number that is written out; one that is longer stays as it is."""


def normal_text(select: exp.Select) -> str:
    """A select as text, with what a value is compared with after the value, and numbers that are limits or weights in one way.

    Guarantee: two questions with one normal form are the same question. A comparison is mirrored only as a whole, sign and
    both sides, so that it means the same; a question that has its constants on the right, as 10 or 0.5, is left as it is.

    >>> import sqlglot
    >>> print(normal_text(sqlglot.parse_one("select 1e3 < 2.0 * count(*)", dialect="duckdb")))
    SELECT 2 * COUNT(*) > 1000
    """
    mirrored = select.copy()
    for node in list(mirrored.find_all(*MIRRORS)):
        if _begins_with_a_constant(node.this, node.expression):
            node.replace(MIRRORS[type(node)](this=node.expression, expression=node.this))
    for literal in list(_compared_numbers(mirrored)):
        literal.set("this", _plain(literal.this))
    return mirrored.sql(dialect="duckdb", normalize=True)


def _compared_numbers(select: exp.Select) -> Iterator[exp.Literal]:
    """Numbers of which only the value counts: limits, and weights of aggregates. Not those within a computed value, whose text
    is the name that bounds are declared for."""
    clauses = [select.args.get(name) for name in ("where", "having")]
    conditions = [clause.this for clause in clauses if clause is not None]
    conditions += (filtered.expression.this for filtered in select.find_all(exp.Filter))
    conditions += (answer.unalias() for answer in select.expressions if answer.find(exp.AggFunc))
    for condition in conditions:
        for side in _sides(condition):
            yield from _numbers(side, weights=side.find(exp.AggFunc) is not None)


def _sides(node: exp.Expression) -> Iterator[exp.Expression]:
    """What is compared, in comparisons that are joined by and, or and not."""
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
    """A number as 10 or 0.5, which is exactly its value."""
    try:
        digits = format(Decimal(written), "f")
    except InvalidOperation:
        return written
    units, _, decimals = digits.partition(".")
    plain = ".".join(filter(None, (units.lstrip("0") or "0", decimals.rstrip("0"))))
    return plain if len(plain) <= LONGEST else written


def _begins_with_a_constant(left: exp.Expression, right: exp.Expression) -> bool:
    return isinstance(left, SIDES) and isinstance(right, SIDES) and _is_constant(left) and not _is_constant(right)


def _is_constant(node: exp.Expression) -> bool:
    return node.find(exp.Column, exp.Star, exp.AggFunc, exp.Query) is None
