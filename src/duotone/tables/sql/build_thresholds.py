"""One aggregate against a number, two averages, shares or quantiles against each other, and arithmetic of counts."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from duotone.errors import DuotoneError
from duotone.questions.quantile import quantile_scores
from duotone.questions.threshold import CROWD
from duotone.tables.sql.arithmetic import Aggregate, Arithmetic, Expression, Part, aggregates
from duotone.tables.sql.comparison import (
    BoolOp,
    CountsComparison,
    LinearThreshold,
    Mean,
    MeanDifference,
    Measure,
    Quantile,
    QuantileThreshold,
    Term,
    Tree,
)
from duotone.tables.sql.condition import NUMERIC, Condition, IsNull, Joined, Known, Not, Operand, Value, both
from duotone.tables.sql.constants import compare
from duotone.tables.sql.functions.function import as_floats

ONE = Fraction(1)
NONE = Fraction(0)
UPWARD = (">", ">=")


def counts_and_sums(weights: Mapping[Part, Fraction]) -> dict[Aggregate, Fraction] | None:
    """The weights, if they are of counts and sums of rows, or of people, alone."""
    sums = {part: w for part, w in weights.items() if isinstance(part, Aggregate)}
    kinds = {part.kind for part in sums}
    return sums if len(sums) == len(weights) and (kinds <= {"count", "sum"} or kinds == {"people"}) else None


def total(weights: Mapping[Aggregate, Fraction], sign: str, limit: Fraction) -> LinearThreshold:
    """Counts and sums with weights."""
    way, people = (1 if sign in UPWARD else -1), any(aggregate.kind == "people" for aggregate in weights)
    terms = (Term(way * w, a.value if isinstance(a.value, Operand) else None, a.where) for a, w in weights.items())
    return LinearThreshold(tuple(terms), way * limit, strict=sign in (">", "<"), people=people)


def mean(aggregate: Aggregate, sign: str, limit: Fraction, over: Condition | None = None) -> LinearThreshold:
    """An average against a limit is a sum against 0: each row counts by how far it is above the limit. It is of those who
    have a value, or of all that satisfy `over`, where one without a value counts as one with 0."""
    way, where, value = (1 if sign in UPWARD else -1), aggregate.where, aggregate.averaged
    if isinstance(value, Operand):
        there = both(where, Not(IsNull(value))) if over is None else over
        terms = (Term(Fraction(way), value, where), Term(-way * limit, None, there))
    else:
        there = where
        terms = (Term(Fraction(way), None, both(where, value)), Term(-way * limit, None, where))
    weighted = tuple(term for term in terms if term.weight)
    return LinearThreshold(weighted, Fraction(0), strict=sign in (">", "<"), present=there, averaged=True)


def ranked(aggregate: Aggregate, sign: str, limit: Value, text: str) -> QuantileThreshold:
    """A quantile, min or max against a limit."""
    test = compare(aggregate.ordered, sign, limit, text)
    upward, outweighed, none = sign in (">", ">="), Fraction(-CROWD), Fraction(0)
    match aggregate.kind:
        case "min":
            met, missed, strict = ONE, outweighed if upward else none, True
        case "max":
            met, missed, strict = ONE, none if upward else outweighed, True
        case _:
            (met, missed), strict = quantile_scores(aggregate.q if upward else 1 - aggregate.q), upward
    written = limit if isinstance(limit, Fraction) else None
    return QuantileThreshold(test.operand, aggregate.where, sign, test.constant, met, missed, strict, written)


MEASURES = ("mean", "quantile", "min", "max")


def difference(weights: Mapping[Part, Fraction], sign: str, limit: Fraction, alone: bool) -> Tree:
    """Two averages, shares or quantiles, each with a weight."""
    way, strict = (1 if sign in UPWARD else -1), sign in (">", "<")
    sides = [(_measure(part), way * w) for part, w in weights.items() if isinstance(part, Aggregate)]
    if len(sides) != 2:
        raise DuotoneError(
            "an average divided by itself says only that it is not 0: compare it with a number, or with another one"
        )
    (first, weight), (second, other) = sides
    even = limit == 0 and weight == -other and first.value == second.value
    if alone and even and isinstance(first, Mean) and isinstance(second, Mean):
        for part, every, ways in ((first, second, (weight, other)), (second, first, (other, weight))):
            if _within(part.where, every.where):
                return _against_everybody(part, every, ways, strict)
    return MeanDifference(first, second, (weight, other), way * limit, strict)


def _measure(aggregate: Aggregate) -> Measure:
    if aggregate.kind == "mean":
        return Mean(aggregate.averaged, aggregate.where)
    value = aggregate.ordered
    if value.kind not in NUMERIC:
        raise DuotoneError(f"{aggregate.text}: {value.column} does not hold numbers: compare it with a constant")
    return Quantile(as_floats(value), aggregate.where, {"min": NONE, "max": ONE}.get(aggregate.kind, aggregate.q))


def _within(part: Condition, every: Condition) -> bool:
    """Whether a condition is another one and more."""
    parts = [set(c.parts) if isinstance(c, Joined) and c.rule == "and" else {c} for c in (part, every)]
    return parts[1] < parts[0]


def _against_everybody(part: Mean, every: Mean, weights: tuple[Fraction, Fraction], strict: bool) -> Tree:
    """A group against everybody, the group included, is the group against all others; where there are no others, they are
    equal."""
    others = Mean(every.value, both(every.where, Joined("or", (Not(part.where), Not(Known(part.where))))))
    apart = MeanDifference(part, others, weights, NONE, strict)
    if strict:
        return apart
    alone = Term(ONE, None, _there(part)), Term(Fraction(-CROWD), None, _there(others))
    return BoolOp("or", (apart, LinearThreshold(alone, NONE, strict=True)))


def _there(mean: Mean) -> Condition:
    return both(mean.where, Not(IsNull(mean.value)) if isinstance(mean.value, Operand) else Known(mean.value))


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
