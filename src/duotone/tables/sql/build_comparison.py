"""Building: from one aggregate, or several with weights, and a limit to a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from duotone.errors import DuotoneError
from duotone.questions.threshold import CROWD
from duotone.tables.sql.comparison import BoolOp, LinearThreshold, QuantileThreshold, Settled, Term, Tree
from duotone.tables.sql.condition import Condition, IsNull, Joined, Not, Operand, Value, both
from duotone.tables.sql.read_condition import compare

ONE = Fraction(1)


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of the question, as text and as what it is. A ratio is of the rows that satisfy its condition `value` to
    those that satisfy `where`."""

    text: str
    kind: Literal["count", "people", "sum", "mean", "ratio", "quantile", "min", "max", "mode"]
    where: Condition
    value: Operand | Condition | None = None
    q: Fraction = Fraction(1, 2)

    @property
    def averaged(self) -> Operand | Condition:
        """What a mean or a ratio is of."""
        if self.value is None:
            raise DuotoneError(f"{self.text} is not an average of anything")
        return self.value

    @property
    def ordered(self) -> Operand:
        """What a quantile, min or max is of."""
        if not isinstance(self.value, Operand):
            raise DuotoneError(f"{self.text} is not of a column")
        return self.value


def total(weights: Mapping[Aggregate, Fraction], sign: str, limit: Fraction, *, people: bool) -> LinearThreshold:
    """Counts and sums with weights."""
    way = 1 if sign in (">", ">=") else -1
    terms = (Term(way * w, a.value if isinstance(a.value, Operand) else None, a.where) for a, w in weights.items())
    return LinearThreshold(tuple(terms), way * limit, strict=sign in (">", "<"), people=people)


def mean(aggregate: Aggregate, sign: str, limit: Fraction) -> LinearThreshold:
    """An average against a limit is a sum against 0: each row counts by how far it is above the limit."""
    way, where, value = (1 if sign in (">", ">=") else -1), aggregate.where, aggregate.averaged
    if isinstance(value, Operand):
        there = both(where, Not(IsNull(value)))
        terms = (Term(Fraction(way), value, where), Term(-way * limit, None, there))
    else:
        there = where
        terms = (Term(Fraction(way), None, both(where, value)), Term(-way * limit, None, where))
    return LinearThreshold(tuple(t for t in terms if t.weight), Fraction(0), strict=sign in (">", "<"), present=there)


def ratio(aggregate: Aggregate, sign: str, limit: Fraction) -> Tree:
    """count(A) / count(B) against a limit, divided as real numbers: with nobody in B, no.

    It is above t where count(A) − t·count(B) > 0 and somebody is in B. Where it is to be below, the second part follows from
    the first, except that nobody in A or B at all must be a no.
    """
    some, every = aggregate.averaged, aggregate.where
    if isinstance(some, Operand):
        raise DuotoneError(f"{aggregate.text} is not a ratio of counts")
    of_some, of_every = Term(ONE, None, some), Term(ONE, None, every)
    somebody = LinearThreshold((of_every,), Fraction(0), strict=True)
    if sign in (">", ">="):
        if limit < 0 or (limit == 0 and sign == ">="):
            return somebody
        terms = (of_some, Term(-limit, None, every)) if limit else (of_some,)
        return BoolOp("and", (LinearThreshold(terms, Fraction(0), strict=sign == ">"), somebody))
    if limit < 0 or (limit == 0 and sign == "<"):
        return Settled(False, "a ratio of two counts is never below 0")
    if limit == 0:  # nobody in A, who outweighs all in B
        return LinearThreshold((of_every, Term(Fraction(-CROWD), None, some)), Fraction(0), strict=True)
    terms = (Term(limit, None, every), Term(-ONE, None, some))
    there = None if sign == "<" else Joined("or", (some, every))
    return LinearThreshold(terms, Fraction(0), strict=sign == "<", present=there)


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
