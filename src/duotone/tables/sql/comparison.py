"""Atoms: the kinds of comparisons that a question is made of, and how they are put together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from duotone.model.notice import Notice
from duotone.tables.sql.arithmetic import Arithmetic
from duotone.tables.sql.condition import Condition, Operand, Value
from duotone.tables.sql.question_tables import PeopleJoin, PeopleTable, PublicJoin


@dataclass(frozen=True)
class Term:
    """A weight for each row that satisfies a condition, times the row's value if one is named."""

    weight: Fraction
    value: Operand | None
    where: Condition


@dataclass(frozen=True)
class LinearThreshold:
    """Σ terms > limit, or ≥ where not `strict`: counts, majorities, sums; and shares and averages, with limit 0.

    `present` tells the rows that an average or a sum is over: without any, the answer is no. An average is `averaged`, so that
    a person may have one value. `people` counts people, not rows.
    """

    terms: tuple[Term, ...]
    limit: Fraction
    strict: bool
    present: Condition | None = None
    people: bool = False
    averaged: bool = False
    text: str = field(default="", compare=False, repr=False)
    """The comparison that this is, or is a part of, as it was written."""


@dataclass(frozen=True)
class QuantileThreshold:
    """A quantile, the smallest or the largest value against a limit: a weight for each value that satisfies
    `value sign limit`, another for each that does not; their sum > 0, or ≥ 0 and somebody there where not `strict`."""

    value: Operand
    where: Condition
    sign: str
    limit: Value
    met: Fraction
    missed: Fraction
    strict: bool
    written: Fraction | None = None
    """A number as it is written, for values on a grid; `limit` is the float that other values are compared with."""
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class Mean:
    """An average over rows, of a value or of a condition: a share."""

    value: Operand | Condition
    where: Condition


@dataclass(frozen=True)
class Quantile:
    """The lower q-quantile of a value over rows; 0 is the smallest, 1 the largest."""

    value: Operand
    where: Condition
    q: Fraction


Measure = Mean | Quantile
"""What two sides are compared by."""


@dataclass(frozen=True)
class MeanDifference:
    """weight · first + other weight · second > limit, or ≥ where not `strict`: of averages, shares and quantiles."""

    first: Measure
    second: Measure
    weights: tuple[Fraction, Fraction]
    limit: Fraction
    strict: bool
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class VarianceThreshold:
    """The variance of a value against a limit; the squares are divided by the number of people less `less`."""

    value: Operand
    where: Condition
    sign: str
    limit: Fraction
    less: int
    root: bool = field(default=False, compare=False, repr=False)
    """Whether it was written as a standard deviation."""
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class DistinctThreshold:
    """Whether a value has at least so many different ones."""

    value: Operand
    where: Condition
    at_least: int
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class CountsComparison:
    """Any arithmetic of counts against a number, as `sign` says: `expression` has a place in `counts` for each. Where it
    divides by zero, no. `people` counts people, not rows."""

    counts: tuple[Condition, ...]
    expression: Arithmetic
    sign: str
    limit: Fraction
    people: bool
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class ModeIs:
    """Whether `winner` is strictly the most frequent value."""

    value: Operand
    where: Condition
    winner: Value
    text: str = field(default="", compare=False, repr=False)


Atom = LinearThreshold | QuantileThreshold | MeanDifference | ModeIs | VarianceThreshold | DistinctThreshold | CountsComparison


@dataclass(frozen=True)
class BoolOp:
    """And, or; `exact` where the least of the parts' levels is known to be the distance."""

    rule: Literal["and", "or"]
    parts: tuple[Tree, ...]
    exact: bool = False


@dataclass(frozen=True)
class Negation:
    """Not."""

    part: Tree


@dataclass(frozen=True)
class Settled:
    """A comparison whose answer is the same on every table, and why."""

    answer: bool
    why: str


Tree = Atom | BoolOp | Negation | Settled


def labelled(tree: Tree, text: str) -> Tree:
    """The same, where each atom says which comparison it is, or is a part of; none that is negated, which is its opposite."""
    match tree:
        case BoolOp():
            return replace(tree, parts=tuple(labelled(part, text) for part in tree.parts))
        case Negation() | Settled():
            return tree
    return replace(tree, text=text)


@dataclass(frozen=True)
class ParsedQuestion:
    """A question that can be answered: its comparisons, the columns or computed values that it is grouped by, which rows take
    part at all, and its `normal` form, in which two ways to write it look the same."""

    tree: Tree
    by: tuple[str, ...]
    where: Condition
    normal: str
    people: PeopleTable | None = None
    """The table that it is about, where an inner select makes one row of each person first."""
    keys: tuple[Operand, ...] = ()
    """Those of `by` that are computed from a row, each called as the question writes it."""
    joins: tuple[PublicJoin, ...] = ()
    """The public tables whose columns each row gets."""
    beside: tuple[PeopleJoin, ...] = ()
    """The people of other private tables, whose columns each person's row gets."""
    text: str = field(default="", compare=False)
    """The question as it was written, without comments."""
    about: str = field(default="the table", compare=False)
    """What has the columns that it names, in words: the table, or what inner selects make of it."""
    equalities: tuple[Notice, ...] = field(default=(), compare=False)
    """Of counts that are asked for exactly, what one person more or less does; unless neighbours replace a person."""
    labels: tuple[str, ...] = field(default=(), compare=False)
    """What the question calls that which it is grouped by: its alias, where it has one."""
    notes: tuple[Notice, ...] = field(default=(), compare=False)
    """What whoever asks should know about how the question was read."""

    def followed_by(self, text: str) -> ParsedQuestion:
        """The same with more in its normal form."""
        return replace(self, normal=f"{self.normal}{text}")
