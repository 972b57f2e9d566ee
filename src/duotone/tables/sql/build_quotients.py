"""Quotients of aggregates: shares, averages, and ratios of counts, sums or averages. With nothing to divide by, no."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from duotone.errors import DuotoneError
from duotone.privacy.numbers import show
from duotone.questions.threshold import CROWD
from duotone.tables.sql.arithmetic import Aggregate, Arithmetic, Part, linear
from duotone.tables.sql.build_thresholds import (
    MEASURES,
    NONE,
    ONE,
    ROW_EACH,
    counts_and_sums,
    difference,
    mean,
    of_counts,
    total,
)
from duotone.tables.sql.comparison import BoolOp, LinearThreshold, Settled, Term, Tree
from duotone.tables.sql.condition import MIRRORED, Condition, IsNull, Joined, Not, Operand, both
from duotone.tables.sql.satisfiable import combinations


def with_shares(weights: Mapping[Part, Fraction], rest: Fraction) -> tuple[dict[Part, Fraction], Fraction]:
    """One count by another is a share, a mean, where no row is in the first without being in the second."""
    merged: dict[Part, Fraction] = {}
    for part, weight in weights.items():
        if (counts := _one_by_one(part)) is not None and {a.kind for a, _ in counts} == {"count"}:
            (upper, by), (lower, over) = counts
            if (True, False) not in combinations([upper.where, lower.where])[0]:
                text = f"{upper.text} / {lower.text}"
                part, weight = Aggregate(text, "mean", lower.where, upper.where), weight * by / over
        merged[part] = merged.get(part, NONE) + weight
    return merged, rest


def _one_by_one(part: Part) -> tuple[tuple[Aggregate, Fraction], tuple[Aggregate, Fraction]] | None:
    """One aggregate by another, each with its factor; None for anything else."""
    if not isinstance(part, Arithmetic) or part.rule != "/":
        return None
    sides = []
    for weights, rest in map(linear, (part.left, part.right)):
        ((only, weight), *others) = weights.items() if weights else [(None, NONE)]
        if rest or others or not weight or not isinstance(only, Aggregate):
            return None
        sides.append((only, weight))
    return sides[0], sides[1]


def quotient(part: Arithmetic, sign: str, limit: Fraction, text: str, alone: bool) -> Tree:
    """A quotient of aggregates against a number: with nothing to divide by, no."""
    if (pair := _one_by_one(part)) is not None:
        (upper, by), (lower, over) = pair
        factor = by / over
        scaled = sign if factor > 0 else MIRRORED[sign], limit / factor
        match upper.kind, lower.kind:
            case "count", "count":
                return ratio(upper.where, lower.where, *scaled)
            case "sum", "count" if isinstance(upper.value, Operand):
                there = both(upper.where, Not(IsNull(upper.value)))
                if lower.where == there:
                    return mean(Aggregate(text, "mean", upper.where, upper.value), *scaled)
                _require_numbers_counted(upper.where, upper.value, lower)
                if alone and lower.where == upper.where:  # who has no value counts as one with 0
                    all_rows = lower.where if scaled[1] else None  # against 0 the sum alone decides
                    return mean(Aggregate(text, "mean", upper.where, upper.value), *scaled, over=all_rows)
            case "mean", "mean" if not (upper.is_share and lower.is_share):
                return _by_mean(upper, lower, *scaled, alone)
            case one, other if one in MEASURES and other in MEASURES and limit and not (upper.is_share and lower.is_share):
                raise DuotoneError(
                    f"{text} mixes aggregates: multiply instead of dividing, as in {upper.text} {scaled[0]} "
                    f"{show(scaled[1])} * {lower.text}, which is the same where that is above 0"
                )
    if part.rule == "/":
        (upper_weights, a), (lower_weights, b) = linear(part.left), linear(part.right)
        first, second = counts_and_sums(upper_weights), counts_and_sums(lower_weights)
        if first and second and "sum" in (kinds := {x.kind for x in (*first, *second)}):
            if "people" in kinds:
                raise DuotoneError(f"{text} mixes aggregates of rows and of people: {ROW_EACH}")
            return _by_sum(first, a, second, b, sign, limit)
    return of_counts({part: ONE}, sign, limit, text)


def _require_numbers_counted(where: Condition, value: Operand, lower: Aggregate) -> None:
    """A sum of a text file's numbers by a count of its texts looks like an average, and is none."""
    name = value.column
    if value.reading == "try" and lower.where == both(where, Not(IsNull(Operand(name, "untyped")))):
        raise DuotoneError(
            f"{lower.text} counts the texts of {name}, also those that are not numbers: write avg({name}), which is the sum by "
            f"count({name}::double), or count({name}::text) if they are meant"
        )


def _by_sum(
    upper: Mapping[Aggregate, Fraction],
    a: Fraction,
    lower: Mapping[Aggregate, Fraction],
    b: Fraction,
    sign: str,
    limit: Fraction,
) -> Tree:
    """(upper + a) / (lower + b) > t is upper − t·lower > t·b − a where lower + b > 0, and the opposite where it is < 0."""
    apart = {x: upper.get(x, NONE) - limit * lower.get(x, NONE) for x in dict.fromkeys((*upper, *lower))}
    apart = {x: w for x, w in apart.items() if w}
    rest = limit * b - a
    if not apart:
        raise DuotoneError("the two sides of a quotient are the same but for a factor: compare the numbers instead")
    above = BoolOp("and", (total(apart, sign, rest), total(lower, ">", -b)))
    return BoolOp("or", (above, BoolOp("and", (total(apart, MIRRORED[sign], rest), total(lower, "<", -b)))))


def _by_mean(upper: Aggregate, lower: Aggregate, sign: str, limit: Fraction, alone: bool) -> Tree:
    """One average by another: as above."""

    def apart(sign: str) -> Tree:
        return difference({upper: ONE, lower: -limit}, sign, NONE, alone) if limit else mean(upper, sign, NONE)

    return BoolOp(
        "or",
        (
            BoolOp("and", (apart(sign), mean(lower, ">", NONE))),
            BoolOp("and", (apart(MIRRORED[sign]), mean(lower, "<", NONE))),
        ),
    )


def ratio(some: Condition, every: Condition, sign: str, limit: Fraction) -> Tree:
    """count(A) / count(B) against a limit, divided as real numbers: with nobody in B, no.

    It is above t where count(A) − t·count(B) > 0 and somebody is in B. Where it is to be below, the second part follows from
    the first, except that nobody in A or B at all must be a no.
    """
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
