"""Questions that depend on how many people have each value: arithmetic of counts, a winning choice, distinct values."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.line.table import Reach
from duotone.model.dataset import Dataset
from duotone.model.notice import Refusal
from duotone.questions.counts import Counts, cells_level, distinct_level, plurality_level, require_few
from duotone.questions.units import DistinctUnits, LeadUnits
from duotone.tables.comparisons import Array, CompiledComparison, Results, group_levels
from duotone.tables.engines.person_columns import coded, labelled, voting
from duotone.tables.engines.results import Rare, Tally, Votes
from duotone.tables.sql.comparison import Aggregate, CountsComparison, DistinctThreshold, Expression, ModeIs, Settled
from duotone.tables.sql.condition import ALWAYS, Compare, Condition, IsNull, Not, combinations, holds, independent, possible
from duotone.tables.sql.scoring import unions

MOST_CELLS = 6
FEWER = (
    "; first make one row per person, which needs fewer: from (select {unit}, max(arm) as arm, bool_or(sick) as sick … "
    "group by {unit}), and count rows"
)
ROUNDING = 2.0**-50
"""More than the relative error of one operation on floats."""
Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


SEARCHED = 10**5
"""Most tables that are examined for margins; beyond, only as many as answers need."""


def counts_comparison(atom: CountsComparison, declared: Dataset, reaches: Reach) -> CompiledComparison:
    """Counts with any arithmetic against a number."""
    if declared.unit is not None and not atom.people:
        raise DuotoneError(
            f"with a unit, arithmetic of counts is of people: write count(distinct {declared.unit}) filter (where …)"
        )
    rows, known = combinations(atom.counts)
    patterns = sorted(unions(rows) if atom.people else rows)
    cells = [pattern for pattern in patterns if any(pattern)]
    if not 1 <= len(cells) <= MOST_CELLS:
        raise DuotoneError(
            f"the conditions of its counts make {len(cells)} different groups of people, and at most {MOST_CELLS} are "
            "allowed" + (FEWER.format(unit=declared.unit) if atom.people else "")
        )
    reach = reaches.margins if (2 * reaches.margins + 1) ** len(cells) <= SEARCHED else reaches.answers
    require_few(len(cells), reach)
    within = {condition: [i for i, cell in enumerate(cells) if cell[c]] for c, condition in enumerate(atom.counts)}

    def asked(counts: Counts) -> NDArray[np.bool_]:
        return _holding(atom, {condition: counts[:, inside].sum(axis=1) for condition, inside in within.items()})

    codes = [sum(2**i for i, true in enumerate(cell) if true) for cell in cells]

    def levels_of(results: Results, people: Array) -> NDArray[np.float64]:
        counts = np.stack([results["s"].counts[code] for code in codes], axis=1)
        somewhere, outside = len(cells) == len(patterns), people - counts.sum(axis=1)
        return group_levels(
            outside, declared, lambda g, n: cells_level(counts[g].tolist(), asked, reach, n, somewhere=somewhere)
        )

    exact = known and independent(declared.unit, atom.counts, [])
    return CompiledComparison(coded(atom.counts), {"s": Tally(tuple(codes))}, levels_of, exact, searched=reach)


def _holding(atom: CountsComparison, counts: Mapping[Condition, Counts]) -> NDArray[np.bool_]:
    """Whether the comparison is true of each table; a division by zero makes it false.

    Floats decide where their errors cannot matter, fractions elsewhere.
    """
    with np.errstate(all="ignore"):
        value, error = _float(atom.expression, counts)
        limit = float(atom.limit)
        apart = value - limit
        clear = np.isfinite(apart) & (np.abs(apart) > error + ROUNDING * (abs(limit) + np.abs(value)))
    answers = clear & (apart > 0 if atom.sign in (">", ">=") else apart < 0)
    for i in np.flatnonzero(~clear).tolist():
        exact = _fraction(atom.expression, {condition: int(n[i]) for condition, n in counts.items()})
        answers[i] = exact is not None and holds(exact, atom.sign, atom.limit)
    return np.asarray(answers, dtype=np.bool_)


def _float(expression: Expression, counts: Mapping[Condition, Counts]) -> Pair:
    """A value and a bound on its error."""
    size = next(iter(counts.values())).shape
    if isinstance(expression, Fraction):
        value = np.full(size, float(expression))
        return value, np.abs(value) * ROUNDING
    if isinstance(expression, Aggregate):
        return counts[expression.where].astype(np.float64), np.zeros(size)
    (a, da), (b, db) = _float(expression.left, counts), _float(expression.right, counts)
    match expression.rule:
        case "+" | "-":
            value = a + b if expression.rule == "+" else a - b
            return value, da + db + ROUNDING * (np.abs(a) + np.abs(b))
        case "*":
            return a * b, np.abs(a) * db + np.abs(b) * da + da * db + ROUNDING * np.abs(a * b)
    value = a / b  # the divisor may be zero: then the error is NaN, and fractions decide
    room = np.where(np.abs(b) > 2 * db, np.abs(b) - db, 0.0)
    return value, (da + np.abs(value) * db) / room + ROUNDING * np.abs(value)


RULES = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def _fraction(expression: Expression, counts: Mapping[Condition, int]) -> Fraction | None:
    if isinstance(expression, Fraction):
        return expression
    if isinstance(expression, Aggregate):
        return Fraction(counts[expression.where])
    left, right = _fraction(expression.left, counts), _fraction(expression.right, counts)
    if left is None or right is None or (expression.rule == "/" and right == 0):
        return None
    return Fraction(RULES[expression.rule](left, right))


def mode_is(atom: ModeIs, declared: Dataset, reach: int) -> CompiledComparison:
    """More people have this value than any other one."""
    if declared.unit is not None and declared.per_unit not in ("min", "max"):
        raise Refusal("per_unit missing of a mode")
    columns = voting(atom.value, atom.where, atom.winner, declared.per_unit)

    def levels_of(results: Results, people: Array) -> NDArray[np.float64]:
        own, rivals = results["v"].total, results["v"].largest
        return group_levels(people - own, declared, lambda g, n: plurality_level(int(own[g]), rivals.of(g), n, reach))

    exact = combinations([atom.where])[1] and independent(declared.unit, [atom.where], [atom.value])
    votes = possible(atom.where, Compare(atom.value, "=", atom.winner))
    settled = None if votes else Settled(False, "no row can have that value")
    units = LeadUnits(declared.replaced)
    return CompiledComparison(columns, {"v": Votes(reach)}, levels_of, exact, {}, settled, units)


def distinct_threshold(atom: DistinctThreshold, declared: Dataset, reach: int) -> CompiledComparison:
    """At least a number of distinct values: the rarest are removed first, and newcomers bring new ones."""
    if declared.unit is not None and declared.per_unit not in ("min", "max"):
        raise Refusal("per_unit missing of different values")

    def levels_of(results: Results, people: Array) -> NDArray[np.float64]:
        different, rarest = results["v"].total, results["v"].smallest
        return group_levels(people, declared, lambda g, n: distinct_level(int(different[g]), rarest.of(g), atom.at_least, n))

    exact = atom.where == ALWAYS and atom.value.kind != "boolean" and atom.value.made is None
    columns = labelled(atom.value, atom.where, declared.per_unit)
    units = DistinctUnits(atom.at_least, declared.replaced)
    return CompiledComparison(columns, {"v": Rare(reach)}, levels_of, exact, {}, _settled_distinct(atom), units)


def _settled_distinct(atom: DistinctThreshold) -> Settled | None:
    if not possible(atom.where, Not(IsNull(atom.value))):
        return Settled(False, "no row can satisfy its condition")
    if atom.value.kind == "boolean" and atom.at_least > 2:
        return Settled(False, "a Boolean has two values")
    return None
