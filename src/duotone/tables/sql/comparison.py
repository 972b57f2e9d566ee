"""The parts of a question: aggregates and their arithmetic, kinds of comparisons, and derived and joined tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from duotone.errors import DuotoneError
from duotone.model.notice import Notice
from duotone.privacy.numbers import show
from duotone.tables.sql.condition import Columns, Condition, Kind, Operand, Value, parts_of

AggregateKind = Literal[
    "count", "people", "sum", "mean", "quantile", "min", "max", "mode", "variance", "stddev", "distinct",
]  # fmt: skip


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of the question, as text and as its parts: over the rows that satisfy `where`. A mean of a
    condition is a share. `q` is a quantile's, `less` is subtracted from the number of people in a variance."""

    text: str
    kind: AggregateKind
    where: Condition
    value: Operand | Condition | None = None
    q: Fraction = Fraction(1, 2)
    less: int = 1
    needs: Condition | None = None
    """The rows without which a sum is null."""

    @property
    def averaged(self) -> Operand | Condition:
        """The operand of a mean."""
        if self.value is None:
            raise DuotoneError(f"{self.text} is not an average")
        return self.value

    @property
    def ordered(self) -> Operand:
        """The operand of a quantile, min, max or variance."""
        if not isinstance(self.value, Operand):
            raise DuotoneError(f"{self.text} is not of a column")
        return self.value

    @property
    def is_share(self) -> bool:
        """Whether it is a mean of a condition."""
        return self.kind == "mean" and not isinstance(self.value, Operand)


@dataclass(frozen=True)
class Arithmetic:
    """Two expressions joined by +, -, * or /."""

    rule: Literal["+", "-", "*", "/"]
    left: Expression
    right: Expression


Expression = Fraction | Aggregate | Arithmetic
Part = Aggregate | Arithmetic
"""Parts of a weighted sum: aggregates, and their products and quotients."""
Sum = tuple[dict[Part, Fraction], Fraction]


def linear(expression: Expression) -> Sum:
    """An expression as weights of its parts, and a constant."""
    if isinstance(expression, Fraction):
        return {}, expression
    if isinstance(expression, Aggregate):
        return {expression: Fraction(1)}, Fraction(0)
    (left, a), (right, b) = linear(expression.left), linear(expression.right)
    match expression.rule:
        case "+":
            return _added(left, right, 1), a + b
        case "-":
            return _added(left, right, -1), a - b
        case "*" if not left or not right:
            weights, factor = (right, a) if not left else (left, b)
            return {part: w * factor for part, w in weights.items()}, a * b
        case "/" if not right:
            return {part: w / b for part, w in left.items()}, a / b
    return {expression: Fraction(1)}, Fraction(0)


def _added(left: dict[Part, Fraction], right: dict[Part, Fraction], way: int) -> dict[Part, Fraction]:
    """Weights added up; cancelled ones stay, with weight 0."""
    return {part: left.get(part, Fraction(0)) + way * right.get(part, Fraction(0)) for part in dict.fromkeys((*left, *right))}


def aggregates(expression: Expression) -> Iterator[Aggregate]:
    """The aggregates of an expression."""
    if isinstance(expression, Aggregate):
        yield expression
    elif isinstance(expression, Arithmetic):
        yield from aggregates(expression.left)
        yield from aggregates(expression.right)


PRESENT = "present rows"
"""The column with the number of a person's rows that take part."""


@dataclass(frozen=True)
class PublicJoin:
    """A join with the public table `table`, called `label` in the question: `keys` are pairs of a column of the row and
    one of the public table; `columns` are the public ones, each with its name in the row and its own. The row's column
    `matched` is true if there is a public row, else null; `left` keeps rows without one."""

    table: str
    label: str
    keys: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]
    matched: str
    left: bool


@dataclass(frozen=True)
class PersonAggregate:
    """An aggregate of one person's rows: their number, the number of distinct values, the sum, average, least or
    largest value; or the value of the first or last row in the order of `by` (among equal rows the largest value)."""

    function: Literal["count", "distinct", "sum", "avg", "min", "max", "first", "last"]
    where: Condition
    value: Operand | None = None
    by: Operand | None = None

    @property
    def kind(self) -> Kind:
        """Its kind."""
        if self.value is not None and self.function in ("min", "max", "first", "last"):
            return self.value.kind
        return "integer" if self.function in ("count", "distinct") else "float"


@dataclass(frozen=True)
class PeopleTable:
    """A table with one row per person: `aggregates` of the person's rows that satisfy `where`, called 0, 1, 2, …, and
    `columns` computed from them. People whose aggregates do not satisfy `kept` are left out. `normal` is its text in
    normal form."""

    unit: str
    where: Condition
    aggregates: tuple[PersonAggregate, ...]
    columns: tuple[tuple[str, Operand | Condition], ...]
    kept: Condition
    normal: str
    joins: tuple[PublicJoin, ...] = ()
    """The public tables that are joined to each row before."""

    @property
    def kinds(self) -> Columns:
        """The kinds of a person's columns."""
        return {name: made.kind if isinstance(made, Operand) else "boolean" for name, made in self.columns}


@dataclass(frozen=True)
class PeopleJoin:
    """The people of the private table `table`, joined to those of the first one: `join` names their columns in the
    row."""

    table: str
    people: PeopleTable
    join: PublicJoin


@dataclass(frozen=True)
class Term:
    """A weight for each row that satisfies a condition, times the row's value if one is named."""

    weight: Fraction
    value: Operand | None
    where: Condition


@dataclass(frozen=True)
class LinearThreshold:
    """Σ terms > limit, or ≥ if not `strict`: counts, majorities, sums; and shares and averages, with limit 0.

    `present` selects the rows of an average or a sum: without any, the answer is no. An average is `averaged`, so that
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
    """A quantile, the smallest or the largest value against a limit: a weight for each value that satisfies `value sign
    limit`, another for each that does not; their sum > 0, or, if not `strict`, ≥ 0 and not empty."""

    value: Operand
    where: Condition
    sign: str
    limit: Value
    met: Fraction
    missed: Fraction
    strict: bool
    written: Fraction | None = None
    """A number as it is written, for values on a grid; `limit` is the float for other values."""
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class Measure:
    """What two sides are compared by: an average over rows of a value, or of a condition, which is a share; with `q`,
    the lower q-quantile of a value: 0 is the smallest, 1 the largest."""

    value: Operand | Condition
    where: Condition
    q: Fraction | None = None


@dataclass(frozen=True)
class MeanDifference:
    """weight · first + other weight · second > limit, or ≥ if not `strict`: for averages, shares and quantiles."""

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
    """Whether a value has at least a number of distinct ones."""

    value: Operand
    where: Condition
    at_least: int
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class CountsComparison:
    """Any arithmetic of counts against a number, by `sign`: `expression` refers to places in `counts`. No if it divides
    by zero. `people` counts people, not rows."""

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


@dataclass(frozen=True)
class TopGroup:
    """Which group has the largest (or smallest) count of rows or people, sum, average or quantile of a value: of the first
    of equal ones, the group is the answer. Groups are the rows with each of the public `values` of a key; an empty one has
    a count of 0, and no sum or average, and comes after all that have one."""

    key: Operand
    measure: Literal["count", "people", "sum", "mean", "quantile"]
    where: Condition
    largest: bool = True
    value: Operand | Condition | None = None
    """What is summed or averaged, or of what it is a quantile; the average of a condition is a share."""
    q: Fraction | None = None
    values: tuple[Value, ...] = ()
    """The keys of the groups; () until they are known from the dataset's public list."""
    voted: bool = False
    """Whether it was written as a mode: then each person has one value of the key."""
    text: str = field(default="", compare=False, repr=False)


Atom = (
    LinearThreshold | QuantileThreshold | MeanDifference | ModeIs | VarianceThreshold | DistinctThreshold | CountsComparison
    | TopGroup
)  # fmt: skip


@dataclass(frozen=True)
class BoolOp:
    """And, or, not; `exact` if the least, or the greatest, of the parts' levels is known to be the distance."""

    rule: Literal["and", "or", "not"]
    parts: tuple[Tree, ...]
    exact: bool = False


@dataclass(frozen=True)
class OfGroups:
    """Whether enough groups of a public list say yes to `part`: more than `share` of them and `besides` (or that many, if not
    `strict`). A listed group without people is one of them."""

    part: Tree
    share: Fraction
    besides: Fraction
    strict: bool

    def at_least(self, groups: int) -> int:
        """How many of so many groups are enough.

        >>> [OfGroups(Settled(True, ""), Fraction(4, 5), Fraction(0), strict).at_least(10) for strict in (False, True)]
        [8, 9]
        """
        limit = self.share * groups + self.besides
        return math.floor(limit) + 1 if self.strict else math.ceil(limit)


@dataclass(frozen=True)
class Settled:
    """A comparison with the same answer on every table, and the reason."""

    answer: bool
    why: str


Tree = Atom | BoolOp | OfGroups | Settled


@dataclass(frozen=True)
class Choice:
    """One of several `answers`: that of the first condition that holds, or the last one of `labels`. If they are `ordered`, a
    wrong answer should be near the true one."""

    conditions: tuple[Tree, ...]
    labels: tuple[str, ...]
    answers: tuple[str, ...]
    ordered: bool = False


def word_of(value: Value) -> str:
    """A constant as an answer.

    >>> word_of("A"), word_of(Fraction(7)), word_of(Fraction("2.5")), word_of(True)
    ('A', '7', '2.5', 'true')
    """
    match value:
        case bool():
            return str(value).lower()
        case Fraction():
            decimal = repr(float(value))
            return decimal if value.denominator > 1 and Fraction(decimal) == value else show(value)
    return str(value)


def negation(tree: Tree) -> BoolOp:
    """Not; as exact as the tree itself."""
    return BoolOp("not", (tree,), exact=True)


def atoms(tree: Tree | Choice, negated: bool = False) -> Iterator[tuple[Atom, bool]]:
    """The comparisons in order, each with whether its truth contributes to a no."""
    if isinstance(tree, Choice):
        for condition in tree.conditions:
            yield from atoms(condition)
    elif isinstance(tree, BoolOp):
        for part in tree.parts:
            yield from atoms(part, negated != (tree.rule == "not"))
    elif isinstance(tree, OfGroups):
        yield from atoms(tree.part, negated)
    elif not isinstance(tree, Settled):
        yield tree, negated


def labelled(tree: Tree, text: str) -> Tree:
    """The same, where each atom has the text of the comparison that it is, or is a part of; an atom is never negated,
    but replaced by its opposite."""
    if isinstance(tree, Settled | OfGroups) or (isinstance(tree, BoolOp) and tree.rule == "not"):
        return tree
    if isinstance(tree, BoolOp):
        return replace(tree, parts=tuple(labelled(part, text) for part in tree.parts))
    return replace(tree, text=text)


@dataclass(frozen=True)
class ParsedQuestion:
    """A question that can be answered: its comparisons, its group columns or computed keys, which rows take part, and
    its `normal` form."""

    tree: Tree | Choice
    by: tuple[str, ...]
    where: Condition
    normal: str
    people: PeopleTable | None = None
    """The derived table with one row per person, if an inner select makes one."""
    keys: tuple[Operand, ...] = ()
    """The computed ones among `by`, each named by its text in the question."""
    joins: tuple[PublicJoin, ...] = ()
    """The public tables that are joined to each row."""
    beside: tuple[PeopleJoin, ...] = ()
    """The people of other private tables, joined to each person's row."""
    text: str = field(default="", compare=False)
    """The question as it was written, without comments."""
    about: str = field(default="the table", compare=False)
    """The owner of the columns that it names, in words: the table, or what inner selects make of it."""
    equalities: tuple[Notice, ...] = field(default=(), compare=False)
    """For counts asked for equality: the effect of one person more or less; not under replace."""
    labels: tuple[str, ...] = field(default=(), compare=False)
    """The question's names for its group columns: aliases, if any."""
    notes: tuple[Notice, ...] = field(default=(), compare=False)
    """Notes about how the question was read."""
    count: tuple[str, str] | None = field(default=None, compare=False)
    """For a single count against a number: the beginning of the normal form, and that without the number."""

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers of which one is true, in their order; () for a question with yes or no."""
        match self.tree:
            case Choice():
                return self.tree.answers
            case TopGroup():
                return tuple(map(word_of, self.tree.values))
        return ()

    @property
    def ordered(self) -> bool:
        """Whether a wrong answer should be near the true one in that order, as suits brackets."""
        return isinstance(self.tree, Choice) and self.tree.ordered

    @property
    def counted(self) -> str | None:
        """The normal form of a single count without its limit; None for other questions."""
        return None if self.count is None else self.count[1] + self.normal.removeprefix(self.count[0])

    @property
    def of_groups(self) -> bool:
        """Whether it asks how many of its groups say yes, and has one answer."""
        return any(isinstance(part, OfGroups) for part in parts_of(self.tree))

    def followed_by(self, text: str) -> ParsedQuestion:
        """The same with an addition to its normal form."""
        return replace(self, normal=f"{self.normal}{text}")
