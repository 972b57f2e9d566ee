"""Building: from two aggregate expressions and a sign to a comparison that has levels.

One aggregate is compared with a number, two averages, shares or quantiles with each other, and any arithmetic of counts
with a number. Quotients become shares, averages and ratios: with nothing to divide by, the answer is no.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.privacy.numbers import show
from duotone.questions.quantile import quantile_scores
from duotone.questions.threshold import CROWD
from duotone.tables.sql.comparison import (
    Aggregate,
    Arithmetic,
    BoolOp,
    CountsComparison,
    DistinctThreshold,
    Expression,
    LinearThreshold,
    MeanDifference,
    Measure,
    Part,
    QuantileThreshold,
    Settled,
    Term,
    Tree,
    VarianceThreshold,
    aggregates,
    linear,
    negation,
)
from duotone.tables.sql.condition import (
    MIRRORED,
    NUMERIC,
    Condition,
    IsNull,
    Joined,
    Known,
    Not,
    Operand,
    Value,
    both,
    combinations,
)
from duotone.tables.sql.functions.function import as_kind
from duotone.tables.sql.read_condition import compare

ONE = Fraction(1)
NONE = Fraction(0)
UPWARD = (">", ">=")


def _counts_and_sums(weights: Mapping[Part, Fraction]) -> dict[Aggregate, Fraction] | None:
    """The weights, if they are only of counts and sums of rows, or only of people."""
    sums = {part: w for part, w in weights.items() if isinstance(part, Aggregate)}
    kinds = {part.kind for part in sums}
    return sums if len(sums) == len(weights) and (kinds <= {"count", "sum"} or kinds == {"people"}) else None


def total(weights: Mapping[Aggregate, Fraction], sign: str, limit: Fraction) -> LinearThreshold:
    """Weighted counts and sums."""
    way, people = (1 if sign in UPWARD else -1), any(aggregate.kind == "people" for aggregate in weights)
    terms = (Term(way * w, a.value if isinstance(a.value, Operand) else None, a.where) for a, w in weights.items())
    return LinearThreshold(tuple(terms), way * limit, strict=sign in (">", "<"), people=people)


def mean(aggregate: Aggregate, sign: str, limit: Fraction, over: Condition | None = None) -> LinearThreshold:
    """An average against a limit is a sum against 0: each row counts by how far it is above the limit. The average is
    over rows with a value, or over all that satisfy `over`, where a missing value counts as 0."""
    way, where, value = (1 if sign in UPWARD else -1), aggregate.where, aggregate.averaged
    if isinstance(value, Operand):
        there = both(where, Not(IsNull(value))) if over is None else over
        terms = (Term(Fraction(way), value, where), Term(-way * limit, None, there))
    else:
        there = where
        terms = (Term(Fraction(way), None, both(where, value)), Term(-way * limit, None, where))
    return LinearThreshold(_weighted(*terms), NONE, strict=sign in (">", "<"), present=there, averaged=True)


def _weighted(*terms: Term) -> tuple[Term, ...]:
    return tuple(term for term in terms if term.weight)


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
    sides = [(measure(part), way * w) for part, w in weights.items() if isinstance(part, Aggregate)]
    if len(sides) != 2:
        raise DuotoneError(
            "an average divided by itself says only that it is not 0: compare it with a number, or with another one"
        )
    (first, weight), (second, other) = sides
    even = limit == 0 and weight == -other and first.value == second.value
    if alone and even and first.q is None and second.q is None:
        for part, every, ways in ((first, second, (weight, other)), (second, first, (other, weight))):
            if _narrower(part.where, every.where):
                return _against_everybody(part, every, ways, strict)
    return MeanDifference(first, second, (weight, other), way * limit, strict)


def measure(aggregate: Aggregate) -> Measure:
    """An average, share, quantile, min or max as a side of a comparison."""
    if aggregate.kind == "mean":
        return Measure(aggregate.averaged, aggregate.where)
    value = aggregate.ordered
    if value.kind == "untyped":
        as_kind(value, "float")
    if value.kind not in NUMERIC:
        raise DuotoneError(f"{aggregate.text}: {value.column} does not hold numbers: compare it with a constant")
    return Measure(value, aggregate.where, {"min": NONE, "max": ONE}.get(aggregate.kind, aggregate.q))


def _narrower(part: Condition, every: Condition) -> bool:
    """Whether a condition is another one with further parts."""
    parts = [set(c.parts) if isinstance(c, Joined) and c.rule == "and" else {c} for c in (part, every)]
    return parts[1] < parts[0]


def _against_everybody(part: Measure, every: Measure, weights: tuple[Fraction, Fraction], strict: bool) -> Tree:
    """A group against everybody, itself included, is the group against all others; without others, they are equal."""
    others = Measure(every.value, both(every.where, Joined("or", (Not(part.where), Not(Known(part.where))))))
    apart = MeanDifference(part, others, weights, NONE, strict)
    if strict:
        return apart
    alone = Term(ONE, None, _measured(part)), Term(Fraction(-CROWD), None, _measured(others))
    return BoolOp("or", (apart, LinearThreshold(alone, NONE, strict=True)))


def _measured(mean: Measure) -> Condition:
    return both(mean.where, Not(IsNull(mean.value)) if isinstance(mean.value, Operand) else Known(mean.value))


ROW_EACH = (
    "make one row of each person first, as in select avg(n) > 2 from (select u, count(*) as n from t group by u), "
    "where u is the unit"
)


def _of_counts(weights: Mapping[Part, Fraction], sign: str, limit: Fraction, text: str) -> Tree:
    """Any arithmetic of counts and shares."""
    used = [aggregate for part in weights for aggregate in aggregates(part)]
    kinds = {"people" if a.kind == "people" else "count" for a in used if a.kind in ("count", "people") or a.is_share}
    if any(a.kind in ("stddev", "variance") for a in used):
        why = "a standard deviation or a variance is compared with a number alone, since how many people would flip any other"
        raise Refusal("not understood", why=f"{text} mixes aggregates: {why} comparison of it is not known")
    if {"people"} < {a.kind for a in used} <= {"people", "count", "sum"}:
        raise DuotoneError(f"{text} mixes aggregates of rows and of people: {ROW_EACH}")
    if len(kinds) != 1 or not all(a.kind in ("count", "people") or a.is_share for a in used):
        why = "compare counts and sums with each other, one average or quantile with another or with a number, or any"
        raise Refusal("not understood", why=f"{text} mixes aggregates: {why} arithmetic of counts and shares")
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
    """Shares as one count divided by another."""
    if isinstance(expression, Arithmetic):
        return Arithmetic(expression.rule, _counted(expression.left), _counted(expression.right))
    if isinstance(expression, Aggregate) and expression.is_share and not isinstance(expression.averaged, Operand):
        upper = Aggregate(expression.text, "count", both(expression.where, expression.averaged))
        return Arithmetic("/", upper, Aggregate(expression.text, "count", expression.where))
    return expression


def _with_shares(weights: Mapping[Part, Fraction], rest: Fraction) -> tuple[dict[Part, Fraction], Fraction]:
    """Replace count(A) / count(B) by a share (a mean) if every row of A is in B."""
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
    """One aggregate divided by another, each with its factor; None for anything else."""
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
    """A quotient of aggregates against a number: no if the divisor is 0."""
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
                if alone and lower.where == upper.where:  # a person without a value counts as one with 0
                    all_rows = lower.where if scaled[1] else None  # against 0 the sum alone decides
                    return mean(Aggregate(text, "mean", upper.where, upper.value), *scaled, over=all_rows)
            case "mean", "mean" if not (alone and upper.is_share and lower.is_share):
                return _by_mean(upper, lower, *scaled, alone)
            case one, other if one in MEASURES and other in MEASURES and limit and not (upper.is_share and lower.is_share):
                raise DuotoneError(
                    f"{text} mixes aggregates: multiply instead of dividing, as in {upper.text} {scaled[0]} "
                    f"{show(scaled[1])} * {lower.text}, which is the same where that is above 0"
                )
    if part.rule == "/":
        (upper_weights, a), (lower_weights, b) = linear(part.left), linear(part.right)
        first, second = _counts_and_sums(upper_weights), _counts_and_sums(lower_weights)
        if first and second and "sum" in (kinds := {x.kind for x in (*first, *second)}):
            if "people" in kinds:
                raise DuotoneError(f"{text} mixes aggregates of rows and of people: {ROW_EACH}")
            return _by_sum(first, a, second, b, sign, limit)
    return _of_counts({part: ONE}, sign, limit, text)


def _require_numbers_counted(where: Condition, value: Operand, lower: Aggregate) -> None:
    """Refuse a sum of a text file's numbers divided by a count of its texts: it looks like an average, and is none."""
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
    """(upper + a) / (lower + b) > t is upper − t·lower > t·b − a if lower + b > 0, and the opposite if it is < 0."""
    apart = {x: upper.get(x, NONE) - limit * lower.get(x, NONE) for x in dict.fromkeys((*upper, *lower))}
    apart = {x: w for x, w in apart.items() if w}
    if not apart:
        raise DuotoneError("the two sides of a quotient are the same but for a factor: compare the numbers instead")
    return _divided(sign, lambda sign: total(apart, sign, limit * b - a), lambda sign: total(lower, sign, -b))


def _by_mean(upper: Aggregate, lower: Aggregate, sign: str, limit: Fraction, alone: bool) -> Tree:
    """One average divided by another, against a limit: as in `_by_sum`, the divisor's sign decides."""

    def apart(sign: str) -> Tree:
        return difference({upper: ONE, lower: -limit}, sign, NONE, alone) if limit else mean(upper, sign, NONE)

    return _divided(sign, apart, lambda sign: mean(lower, sign, NONE))


def _divided(sign: str, apart: Callable[[str], Tree], lower: Callable[[str], Tree]) -> Tree:
    """The dividend less the limit times the divisor, against 0: with `sign` if the divisor is above 0, and the opposite
    if it is below."""
    ways = ((apart(one), lower(side)) for one, side in ((sign, ">"), (MIRRORED[sign], "<")))
    return BoolOp("or", tuple(BoolOp("and", way) for way in ways))


def ratio(some: Condition, every: Condition, sign: str, limit: Fraction) -> Tree:
    """count(A) / count(B) against a limit, divided as real numbers: no if B is empty.

    It is above t if count(A) − t·count(B) > 0 and B is not empty. If it is to be below, the second part follows from
    the first, except that it must be a no if A and B are both empty.
    """
    if sign in UPWARD:
        there = somebody(every, people=False)
        if limit < 0 or (limit == 0 and sign == ">="):
            return there
        apart = LinearThreshold(_weighted(Term(ONE, None, some), Term(-limit, None, every)), NONE, strict=sign == ">")
        return BoolOp("and", (apart, there))
    if limit < 0 or (limit == 0 and sign == "<"):
        return Settled(False, "a ratio of two counts is never below 0")
    if limit == 0:  # nobody in A, which outweighs all in B
        return LinearThreshold((Term(ONE, None, every), Term(Fraction(-CROWD), None, some)), NONE, strict=True)
    terms = (Term(limit, None, every), Term(-ONE, None, some))
    return LinearThreshold(terms, NONE, strict=sign == "<", present=None if sign == "<" else Joined("or", (some, every)))


def compared(left: Expression, sign: str, right: Expression, text: str, *, alone: bool = True) -> Tree:
    """One aggregate expression against another; `alone` if each row is a person."""
    apart = Arithmetic("-", left, right)
    needs = [aggregate.needs for aggregate in aggregates(apart) if aggregate.needs is not None]
    return _where_known(_compared(apart, sign, text, alone), needs, people=not alone)


def _compared(apart: Arithmetic, sign: str, text: str, alone: bool) -> Tree:
    weights, rest = _with_shares(*linear(apart))
    if any(not w and not _never_null(part) for part, w in weights.items()):
        raise DuotoneError(f"{text}: an aggregate that cancels out is still null on an empty table: leave it out")
    weights, limit = {part: w for part, w in weights.items() if w}, -rest
    if not weights:
        raise DuotoneError(f"{text} has no aggregate in it: compare a count, sum, avg, median, quantile, min, max or mode")
    if sign not in ("=", "<>"):
        return _ordered(weights, sign, limit, text, alone)
    if not all(isinstance(part, Aggregate) and part.kind in ("count", "people", "distinct") for part in weights):
        raise DuotoneError(
            f"{text}: only counts can be asked for equality; ask with >= or <=, or for a range{_range(weights, limit, sign)}"
        )
    equal = _equal(weights, limit, text)
    return equal if sign == "=" else negation(equal)


def _range(weights: Mapping[Part, Fraction], limit: Fraction, sign: str) -> str:
    """Advice: a `between` with the meaning of = or <> for a quantile, min or max, whose value many people may share."""
    ((part, weight), *others) = weights.items()
    if others or not (isinstance(part, Aggregate) and part.kind in ("quantile", "min", "max")):
        return " (between)"
    return f", as in {part.text} {'not ' * (sign == '<>')}between {show(limit / weight)} and {show(limit / weight)}"


def _never_null(part: Part) -> bool:
    return isinstance(part, Aggregate) and part.kind in ("count", "people", "sum", "distinct")


def _equal(weights: Mapping[Part, Fraction], limit: Fraction, text: str) -> Tree:
    """Σ weights · counts = limit: both at least and at most."""
    scale = math.lcm(*(w.denominator for w in weights.values()))
    if (limit * scale / math.gcd(*(int(w * scale) for w in weights.values()))).denominator != 1:
        return Settled(False, f"whole numbers of people never make {text} true")
    steps = len(weights) == 1 and set(map(abs, weights.values())) == {1}
    return BoolOp("and", tuple(_ordered(weights, s, limit, text, alone=True) for s in (">=", "<=")), exact=steps)


def _ordered(weights: Mapping[Part, Fraction], sign: str, limit: Fraction, text: str, alone: bool) -> Tree:
    """Σ weights · parts against a limit, by <, <=, > or >=."""
    if (sums := _counts_and_sums(weights)) is not None:
        return total(sums, sign, limit)
    if len(weights) == 1:
        ((part, weight),) = weights.items()
        sign, limit = sign if weight > 0 else MIRRORED[sign], limit / weight
        if isinstance(part, Aggregate):
            return _single(part, sign, limit, text)
        return quotient(part, sign, limit, text, alone)
    if len(weights) == 2 and all(isinstance(part, Aggregate) and part.kind in MEASURES for part in weights):
        return difference(weights, sign, limit, alone)
    return _of_counts(weights, sign, limit, text)


def _single(aggregate: Aggregate, sign: str, limit: Fraction, text: str) -> Tree:
    match aggregate.kind:
        case "mean":
            return mean(aggregate, sign, limit)
        case "variance":
            return VarianceThreshold(aggregate.ordered, aggregate.where, sign, limit, aggregate.less)
        case "stddev":
            return _deviation(aggregate, sign, limit)
        case "distinct":
            return _different(aggregate, sign, limit)
    return ranked(aggregate, sign, limit, text)


def _deviation(aggregate: Aggregate, sign: str, limit: Fraction) -> Tree:
    """A standard deviation, which is never below 0, against a limit is a variance against its square."""
    if limit >= 0:
        return VarianceThreshold(aggregate.ordered, aggregate.where, sign, limit * limit, aggregate.less, root=True)
    if sign in UPWARD:
        return VarianceThreshold(aggregate.ordered, aggregate.where, ">=", NONE, aggregate.less, root=True)
    return Settled(False, "a standard deviation is never below 0")


def _different(aggregate: Aggregate, sign: str, limit: Fraction) -> Tree:
    """At least a number of distinct values; or fewer."""
    least = math.floor(limit) + 1 if sign in (">", "<=") else math.ceil(limit)
    if least <= 0:
        return Settled(sign in UPWARD, "there are never fewer than 0 different values")
    enough = DistinctThreshold(aggregate.ordered, aggregate.where, least)
    return enough if sign in UPWARD else negation(enough)


def _where_known(tree: Tree, needs: Iterable[Condition], *, people: bool) -> Tree:
    """A comparison that is a yes only if somebody satisfies each of the conditions `needs`; `people` may have several
    rows."""
    for need in dict.fromkeys(needs):
        if _implies(tree, need):
            continue
        if isinstance(tree, LinearThreshold) and tree.present is None and not tree.people and _all_within(tree, need):
            tree = replace(tree, present=need)
        else:
            tree = BoolOp("and", (tree, somebody(need, people=people)))
    return tree


def somebody(condition: Condition, *, people: bool) -> LinearThreshold:
    """Whether anybody has a row that satisfies a condition."""
    return LinearThreshold((Term(Fraction(1), None, condition),), Fraction(0), strict=True, people=people)


def _implies(tree: Tree, need: Condition) -> bool:
    """Whether a comparison is known to be a no if nobody satisfies a condition."""
    match tree:
        case BoolOp(rule="and" | "or"):  # not is a yes where its part is a no
            return (any if tree.rule == "and" else all)(_implies(part, need) for part in tree.parts)
        case MeanDifference():
            return any(_within(_there(side.where, side.value), need) for side in (tree.first, tree.second))
        case LinearThreshold():
            return _needs(tree, need)
    return False


def _needs(tree: LinearThreshold, need: Condition) -> bool:
    """Terms within the condition are then 0; a sum of others that cannot be above 0 must be below it."""
    if tree.present is not None and _within(tree.present, need):
        return True
    others = [term for term in tree.terms if not _within(_there(term.where, term.value), need)]
    if any(term.value is not None or term.weight > 0 for term in others):
        return False
    below = tree.present is not None and any(_within(tree.present, term.where) for term in others)
    return tree.limit > 0 or (tree.limit == 0 and (tree.strict or below))


def _all_within(tree: LinearThreshold, need: Condition) -> bool:
    return all(_within(_there(term.where, term.value), need) for term in tree.terms)


def _there(where: Condition, value: Operand | Condition | None) -> Condition:
    return both(where, Not(IsNull(value))) if isinstance(value, Operand) else where


def _within(part: Condition, every: Condition) -> bool:
    """Whether no row satisfies the first without the second."""
    return part == every or (True, False) not in combinations([part, every])[0]
