"""Two averages, shares or quantiles against each other."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from duotone.errors import DuotoneError
from duotone.questions.threshold import CROWD
from duotone.tables.sql.arithmetic import Aggregate, Part
from duotone.tables.sql.build_thresholds import NONE, ONE, UPWARD
from duotone.tables.sql.comparison import BoolOp, LinearThreshold, Mean, MeanDifference, Measure, Quantile, Term, Tree
from duotone.tables.sql.condition import NUMERIC, Condition, IsNull, Joined, Known, Not, Operand, both
from duotone.tables.sql.formulas.parts import as_floats

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
