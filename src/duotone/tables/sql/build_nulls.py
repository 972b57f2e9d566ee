"""Where SQL has null: a sum of nothing is null, and so is whatever is computed from it. A comparison with null is a no."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from duotone.tables.sql.comparison import BoolOp, LinearThreshold, MeanDifference, Term, Tree
from duotone.tables.sql.condition import Condition, IsNull, Not, Operand, both
from duotone.tables.sql.satisfiable import combinations


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
