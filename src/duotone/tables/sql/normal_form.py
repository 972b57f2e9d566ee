"""The normal form of a question: its text as a ledger knows it, in which two ways to write the same look the same."""

from __future__ import annotations

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


def normal_text(select: exp.Select) -> str:
    """A select as text, with what a value is compared with after the value.

    Guarantee: two questions with one normal form are the same question. A comparison is mirrored only as a whole, sign and
    both sides, so that it means the same; a question that has its constants on the right is written as it stands.

    >>> import sqlglot
    >>> print(normal_text(sqlglot.parse_one("select 1000 < count(*)", dialect="duckdb")))
    SELECT COUNT(*) > 1000
    """
    mirrored = select.copy()
    for node in list(mirrored.find_all(*MIRRORS)):
        if _begins_with_a_constant(node.this, node.expression):
            node.replace(MIRRORS[type(node)](this=node.expression, expression=node.this))
    return mirrored.sql(dialect="duckdb", normalize=True)


def _begins_with_a_constant(left: exp.Expression, right: exp.Expression) -> bool:
    return isinstance(left, SIDES) and isinstance(right, SIDES) and _is_constant(left) and not _is_constant(right)


def _is_constant(node: exp.Expression) -> bool:
    return node.find(exp.Column, exp.Star, exp.AggFunc, exp.Query) is None
