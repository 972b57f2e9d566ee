"""Building: from two expressions of aggregates and a sign to a comparison that has levels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from duotone.errors import DuotoneError
from duotone.privacy.numbers import show
from duotone.tables.sql.arithmetic import Aggregate, Arithmetic, Expression, Part, aggregates, linear
from duotone.tables.sql.build_quotients import quotient, with_shares
from duotone.tables.sql.build_thresholds import (
    MEASURES,
    NONE,
    UPWARD,
    counts_and_sums,
    difference,
    mean,
    of_counts,
    ranked,
    total,
)
from duotone.tables.sql.comparison import (
    BoolOp,
    DistinctThreshold,
    LinearThreshold,
    MeanDifference,
    Negation,
    Settled,
    Term,
    Tree,
    VarianceThreshold,
)
from duotone.tables.sql.condition import MIRRORED, Condition, IsNull, Not, Operand, both
from duotone.tables.sql.satisfiable import combinations


def compared(left: Expression, sign: str, right: Expression, text: str, *, alone: bool = True) -> Tree:
    """One expression of aggregates against another; `alone` where each row is a person."""
    apart = Arithmetic("-", left, right)
    needs = [aggregate.needs for aggregate in aggregates(apart) if aggregate.needs is not None]
    return where_known(_compared(apart, sign, text, alone), needs, people=not alone)


def _compared(apart: Arithmetic, sign: str, text: str, alone: bool) -> Tree:
    weights, rest = with_shares(*linear(apart))
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
    return equal if sign == "=" else Negation(equal)


def _range(weights: Mapping[Part, Fraction], limit: Fraction, sign: str) -> str:
    """A range that is the same as equality, or as none, of what many people may share: a quantile, the smallest or the largest
    value."""
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
    """Σ weights · parts, compared with a limit by <, <=, > or >=."""
    if (sums := counts_and_sums(weights)) is not None:
        return total(sums, sign, limit)
    if len(weights) == 1:
        ((part, weight),) = weights.items()
        sign, limit = sign if weight > 0 else MIRRORED[sign], limit / weight
        if isinstance(part, Aggregate):
            return _single(part, sign, limit, text)
        return quotient(part, sign, limit, text, alone)
    if len(weights) == 2 and all(isinstance(part, Aggregate) and part.kind in MEASURES for part in weights):
        return difference(weights, sign, limit, alone)
    return of_counts(weights, sign, limit, text)


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
    """At least so many different values; or not that many."""
    least = math.floor(limit) + 1 if sign in (">", "<=") else math.ceil(limit)
    if least <= 0:
        return Settled(sign in UPWARD, "there are never fewer than 0 different values")
    enough = DistinctThreshold(aggregate.ordered, aggregate.where, least)
    return enough if sign in UPWARD else Negation(enough)


def where_known(tree: Tree, needs: Iterable[Condition], *, people: bool) -> Tree:
    """A comparison that is a yes only if somebody satisfies each of the conditions `needs`; `people` have several rows."""
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
    """Whether a comparison is a no wherever nobody satisfies a condition, as far as is known."""
    match tree:
        case BoolOp():
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
    """Whether no row satisfies the one without the other."""
    return part == every or (True, False) not in combinations([part, every])[0]
