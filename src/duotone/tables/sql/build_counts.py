"""Any arithmetic of counts and shares against a number."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from duotone.errors import DuotoneError
from duotone.tables.sql.arithmetic import Aggregate, Arithmetic, Expression, Part, aggregates
from duotone.tables.sql.comparison import CountsComparison, Tree
from duotone.tables.sql.condition import Operand, both

ROW_EACH = (
    "make one row of each person first, as in select avg(n) > 2 from (select u, count(*) as n from t group by u), "
    "where u is the unit"
)


def of_counts(weights: Mapping[Part, Fraction], sign: str, limit: Fraction, text: str) -> Tree:
    """Any arithmetic of counts and shares."""
    used = [aggregate for part in weights for aggregate in aggregates(part)]
    kinds = {"people" if a.kind == "people" else "count" for a in used if a.kind in ("count", "people") or a.is_share}
    if any(a.kind in ("stddev", "variance") for a in used):
        raise DuotoneError(
            f"{text} mixes aggregates: a standard deviation or a variance is compared with a number alone, since how many "
            "people would flip any other comparison of it is not known"
        )
    if {"people"} < {a.kind for a in used} <= {"people", "count", "sum"}:
        raise DuotoneError(f"{text} mixes aggregates of rows and of people: {ROW_EACH}")
    if len(kinds) != 1 or not all(a.kind in ("count", "people") or a.is_share for a in used):
        raise DuotoneError(
            f"{text} mixes aggregates: compare counts and sums with each other, one average or quantile with another or with "
            "a number, or any arithmetic of counts and shares"
        )
    terms = [Arithmetic("*", weight, part) for part, weight in weights.items()]
    added: Expression = terms[0]
    for term in terms[1:]:
        added = Arithmetic("+", added, term)
    expression = _counted(added)
    counts = tuple(dict.fromkeys(aggregate.where for aggregate in aggregates(expression)))
    if not isinstance(expression, Arithmetic):
        raise DuotoneError(f"{text} has no arithmetic in it")
    return CountsComparison(counts, expression, sign, limit, people=kinds == {"people"})


def _counted(expression: Expression) -> Expression:
    """Shares as one count by another."""
    if isinstance(expression, Arithmetic):
        return Arithmetic(expression.rule, _counted(expression.left), _counted(expression.right))
    if isinstance(expression, Aggregate) and expression.is_share and not isinstance(expression.averaged, Operand):
        upper = Aggregate(expression.text, "count", both(expression.where, expression.averaged))
        return Arithmetic("/", upper, Aggregate(expression.text, "count", expression.where))
    return expression
