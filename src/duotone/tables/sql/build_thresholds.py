"""One sum, average or quantile against a number."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from duotone.questions.threshold import CROWD
from duotone.tables.sql.arithmetic import Aggregate, Part
from duotone.tables.sql.compare_constant import compare
from duotone.tables.sql.comparison import LinearThreshold, QuantileThreshold, Term
from duotone.tables.sql.condition import Condition, IsNull, Not, Operand, Value, both

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
            met, missed, strict = (aggregate.q, aggregate.q - 1, True) if upward else (1 - aggregate.q, -aggregate.q, False)
    written = limit if isinstance(limit, Fraction) else None
    return QuantileThreshold(test.operand, aggregate.where, sign, test.constant, met, missed, strict, written)
