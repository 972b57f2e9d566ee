"""Preview: how far a count, a share, an average … must be from its limit for the answer to be right, with a given
number of people.

Nothing is read: the number of people is a public guess, and the results hold for every table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from duotone.errors import DuotoneError
from duotone.html import cell, table
from duotone.model.accuracy import Accuracy, Clearness
from duotone.privacy.numbers import written
from duotone.questions.threshold import CROWD
from duotone.questions.units import TotalUnits, Units
from duotone.tables.comparisons import CompiledComparison
from duotone.tables.comparisons.threshold import extreme_of, extreme_word, is_average
from duotone.tables.listed_groups import ListedGroups
from duotone.tables.sql.comparison import (
    Atom,
    Choice,
    CountsComparison,
    DistinctThreshold,
    LinearThreshold,
    MeanDifference,
    ModeIs,
    OfGroups,
    QuantileThreshold,
    TopGroup,
    Tree,
    VarianceThreshold,
    atoms,
)
from duotone.tables.sql.condition import Operand, parts_of

OFTEN, SELDOM = 0.1, 0.01
"""The least probability of a wrong answer in a toss-up, and the highest of a seldom wrong answer."""
MOST_PEOPLE = 2**42
PRECISION = 10**12
"""Precision of a square root, before it is rounded further."""
DIGITS = 3
"""Digits of a distance; it is rounded so that the statement stays true."""
HEAD = "comparison", "if", f"wrong in {OFTEN:.0%} of answers or more", f"in {SELDOM:.0%} or fewer", "never wrong"
TOO_CLOSE = "comparison", "if", f"too close in {OFTEN:.0%} of answers or more", f"in {SELDOM:.0%} or fewer", "in 1e-9 or fewer"
"""Columns of its table: for answers that may be wrong, and for those that may be too close to call."""


@dataclass(frozen=True)
class Side:
    """Tables on one side of a limit: the value up to which all are toss-ups, the value from which all are seldom wrong,
    and the one from which they are never wrong. In units of the compared value, or in people from flipping; None
    without such a value."""

    toss_up_to: Fraction | None
    seldom_from: Fraction | None
    never_from: Fraction | None


@dataclass(frozen=True)
class ComparisonPreview:
    """One comparison of a question, as `text`, and its `measure`: the side where it is true, and the side where it is
    false. `above`: larger values are true; None if these are people from flipping."""

    text: str
    measure: str
    percent: bool
    above: bool | None
    true: Side
    false: Side

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Its two lines in a table."""
        for name, side in (("true", self.true), ("false", self.false)):
            outwards = self.above is None or self.above == (name == "true")
            near, far = ("up to", "from") if outwards else ("from", "up to")
            words = zip((near, far, far), (side.toss_up_to, side.seldom_from, side.never_from), strict=True)
            yield f"{self.text}: {self.measure}", name, *(self._value(word, value) for word, value in words)

    def _value(self, word: str, value: Fraction | None) -> str:
        if value is None:
            return "–"
        if self.above is None:
            return f"{word} {written(value)} people"
        return f"{word} {written(100 * value)}%" if self.percent else f"{word} {written(value)}"


@dataclass(frozen=True, repr=False)
class Preview:
    """How accurate an answer will be, in the question's own units, with `people` people: in each group, if grouped; on
    each side, if two sides are compared.

    Guarantee: for every table of this many people or more, an answer called seldom or never wrong is; for every table
    of this many people, one called a toss-up is. Values are as they count: clipped, and on their grid. Each of several
    comparisons is shown as if the others did not decide.
    """

    people: int
    comparisons: tuple[ComparisonPreview, ...]
    head: tuple[str, ...] = HEAD

    def __repr__(self) -> str:
        return "\n".join([f"<Preview: of {self.people:,} people>", *(" | ".join(row) for row in self.table)])

    def _repr_html_(self) -> str:
        return table(self.head, [[cell(text) for text in row] for row in self.table], before=self.title, after=self.notes)

    @property
    def title(self) -> str:
        """Its heading."""
        return f"of {self.people:,} people, whatever else is in the table:"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes, one sentence each."""
        several = ("each comparison is shown as if the others did not decide",) if len(self.comparisons) > 1 else ()
        return (*several, "with more people, answers are right from the same values on")

    @property
    def table(self) -> list[tuple[str, ...]]:
        """Its lines, under `head`."""
        return [row for compared in self.comparisons for row in compared.rows()]

    def document(self) -> dict[str, Any]:
        """As JSON; a missing value is null."""
        return {"people": self.people, "comparisons": [_document(compared) for compared in self.comparisons]}


def _document(compared: ComparisonPreview) -> dict[str, Any]:
    sides = {"true": compared.true, "false": compared.false}
    values = {name: {key: _number(value) for key, value in vars(side).items()} for name, side in sides.items()}
    return {"comparison": compared.text, "measure": compared.measure, "above": compared.above, **values}


def _number(value: Fraction | None) -> float | int | None:
    return None if value is None else int(value) if value.denominator == 1 else float(value)


def preview(
    tree: Tree | Choice,
    comparisons: Sequence[CompiledComparison],
    accuracy: Accuracy | Clearness,
    people: int,
    *,
    definite: bool,
    groups: ListedGroups | None = None,
) -> Preview:
    """For a question's `tree` and its compiled comparisons: where its answer is right; if not `definite`, where it is
    clear. Of how many `groups`, it is about the group whose other answer would turn it."""
    if type(people) is not int or not 1 <= people <= MOST_PEOPLE:
        raise DuotoneError(f"a guess of how many people there are is a whole number from 1 to 2^42, got {people}")
    errors, never = accuracy.errors, accuracy.never
    margins = [_Margins.of(lambda m: errors(m)[0], never[0]), _Margins.of(lambda m: errors(m)[1], never[1])]
    every = list(atoms(tree))
    many = Counter(atom.text for atom, _ in every)
    counted: list[OfGroups | None] = [part for part in parts_of(tree) if isinstance(part, OfGroups) for _ in atoms(part)] or [
        None
    ] * len(every)
    shown = (
        _compared(atom, many[atom.text] > 1, one.units, margins[::-1] if negated else margins, people, _deciding(among, groups))
        for (atom, negated), one, among in zip(every, comparisons, counted, strict=True)
    )
    return Preview(people, tuple(shown), HEAD if definite else TOO_CLOSE)


@dataclass(frozen=True)
class _Margins:
    """The last margin that is a toss-up, the first that is seldom wrong, and the first that is never wrong."""

    toss_up: int | None
    seldom: int | None
    never: int | None

    @staticmethod
    def of(error: Callable[[int], float], certain: float) -> _Margins:
        never = int(certain) if math.isfinite(certain) else None
        often = _first(lambda m: error(m) < OFTEN)
        toss_up = MOST_PEOPLE if often is None else often - 1 or None
        return _Margins(toss_up, _first(lambda m: error(m) <= SELDOM), never)


def _first(holds: Callable[[int], bool]) -> int | None:
    """The first margin from which it holds, by doubling and bisection, since errors only fall. None if it never does,
    as without any privacy budget, or only for more people than can be guessed."""
    high = 1
    while not holds(high):
        if high >= MOST_PEOPLE:
            return None
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class _Deciding:
    """Of `many` groups in the order of their levels, the one at a `place`. As many others are no nearer to another answer, so
    the answer is at least as far from flipping as this group's, by changes that move its level by up to `one`."""

    place: int
    many: int
    one: int

    def margins(self, margins: _Margins) -> _Margins:
        """How far this group's answer must be from flipping. It says nothing of toss-ups, since others may have to flip too."""
        seldom, never = (None if m is None else (m - 1) * self.one + 1 for m in (margins.seldom, margins.never))
        return _Margins(None, seldom, never)

    def __str__(self) -> str:
        return f", in group number {self.place} of {self.many}, the surest yes first"


def _deciding(among: OfGroups | None, groups: ListedGroups | None) -> _Deciding | None:
    return None if among is None or groups is None else _Deciding(among.at_least(groups.many), groups.many, groups.step.one)


def _compared(
    atom: Atom, part: bool, units: Units | None, margins: Sequence[_Margins], people: int, group: _Deciding | None
) -> ComparisonPreview:
    """A comparison as it is written; with `part`, one of its several parts, in words; in a deciding `group`, if there is
    one."""
    inner, measure, percent = words(atom, of_rows=isinstance(units, TotalUnits) and units.rows > 1)
    if group is not None:
        measure, margins = f"{measure}{group}", [group.margins(each) for each in margins]
    text = inner if not atom.text else f"{atom.text} ({inner})" if part else atom.text
    root = isinstance(atom, VarianceThreshold) and atom.root
    true, false = (_side(units, m, people, yes, root) for m, yes in zip(margins, (True, False), strict=True))
    return ComparisonPreview(text, measure, percent, None if units is None else units.upward, true, false)


def _side(units: Units | None, margins: _Margins, people: int, yes: bool, root: bool) -> Side:
    if units is None:
        return Side(*(None if m is None else Fraction(m) for m in (margins.toss_up, margins.seldom, margins.never)))
    up, limit = yes == units.upward, units.far(1, people, yes)
    if root and limit is not None:
        limit = _root(limit, up=up)

    def shown(value: Fraction | None, *, up: bool) -> Fraction | None:
        return None if value is None else rounded(_root(value, up=up) if root else value, limit, up=up)

    near = None if margins.toss_up is None else units.near(margins.toss_up, people, yes)
    far = (None if margin is None else units.far(margin, people, yes) for margin in (margins.seldom, margins.never))
    return Side(shown(near, up=not up), *(shown(value, up=up) for value in far))


def _root(value: Fraction, *, up: bool) -> Fraction:
    """A square root, rounded upwards or downwards.

    >>> str(_root(Fraction(16), up=True)), float(_root(Fraction(2), up=False))
    ('4', 1.414213562373)
    """
    scaled = value * PRECISION**2
    root = math.isqrt(math.floor(scaled))
    return Fraction(root + (up and root**2 < scaled), PRECISION)


def rounded(value: Fraction, limit: Fraction | None, *, up: bool) -> Fraction:
    """A value with few digits, rounded upwards or downwards, as its distance from a limit allows; integers are
    unchanged.

    >>> str(rounded(Fraction(4) + Fraction(1, 7), Fraction(4), up=True)), str(rounded(Fraction(1015), None, up=True))
    ('4143/1000', '1015')
    """
    if value.denominator == 1:
        return value
    apart = abs(value - limit) if limit is not None else Fraction(0)
    apart = apart or abs(value) / 10**DIGITS
    step = Fraction(10) ** (math.floor(math.log10(apart)) - DIGITS + 1)
    return (math.ceil(value / step) if up else math.floor(value / step)) * step


def words(atom: Atom, *, of_rows: bool = False) -> tuple[str, str, bool]:
    """A comparison as text, the measured value, and whether that is a share."""
    match atom:
        case LinearThreshold():
            return _linear_words(atom)
        case QuantileThreshold():
            return _quantile_words(atom, of_rows=of_rows)
        case MeanDifference():
            shares = not any(isinstance(side.value, Operand) for side in (atom.first, atom.second))
            averages = atom.first.q is None and atom.second.q is None
            of = "shares" if shares else "averages" if averages else "quantiles"
            measure = _apart(atom, of[:-1]) if averages else "people from flipping"
            return f"difference of {of} {'>' if atom.strict else '>='} {written(atom.limit)}", measure, shares
        case VarianceThreshold():
            measure = "the standard deviation" if atom.root else "the variance"
            return f"variance({atom.value.column}) {atom.sign} {written(atom.limit)}", measure, False
        case DistinctThreshold():
            return f"count(distinct {atom.value.column}) >= {atom.at_least}", "the count", False
        case CountsComparison():
            return f"arithmetic of counts {atom.sign} {written(atom.limit)}", "people from flipping", False
        case ModeIs():
            return f"mode({atom.value.column}) = {_constant(atom.winner)}", "votes ahead of the strongest other", False
        case TopGroup():
            raise DuotoneError("which group leads has no limit in its own units: see how often it is wrong by people")


def _linear_words(atom: LinearThreshold) -> tuple[str, str, bool]:
    first, *rest = atom.terms
    sign = (">" if atom.strict else ">=") if first.weight > 0 else ("<" if atom.strict else "<=")
    if any(term.weight == -CROWD for term in rest):
        return "everybody meets a condition", "people who do not", False
    if is_average(atom):
        limit = -rest[0].weight / first.weight if rest else Fraction(0)
        if first.value is None:
            return f"share {sign} {written(100 * limit)}%", "the share", True
        return f"avg({first.value.column}) {sign} {written(limit)}", "the average", False
    if rest:
        return f"{_weighted(atom)} {'>' if atom.strict else '>='} {written(atom.limit)}", "by how much it holds", False
    what = "count" if first.value is None else f"sum({first.value.column})"
    return f"{what} {sign} {written(atom.limit / first.weight)}", "the count" if first.value is None else "the sum", False


def _apart(atom: MeanDifference, what: str) -> str:
    """The difference of two values, in the order in which they are written."""
    first, second = atom.weights
    if first * second > 0:
        return f"both {what}s together, by their weights"
    weighted = "" if abs(first) == abs(second) == 1 else ", by their weights"
    return (f"the first {what} less the second" if first > 0 else f"the second {what} less the first") + weighted


def _weighted(atom: LinearThreshold) -> str:
    """Counts and sums with their weights; counts by their order, if there are several."""
    names = ["count" if term.value is None else f"sum({term.value.column})" for term in atom.terms]
    names = [f"{name} {n}" if names.count(name) > 1 else name for n, name in enumerate(names, 1)]
    parts = [(term.weight, name) for term, name in zip(atom.terms, names, strict=True)]
    texts = [("- " if w < 0 else "+ ") + (name if abs(w) == 1 else f"{written(abs(w))} * {name}") for w, name in parts]
    return " ".join(texts).removeprefix("+ ")


def _quantile_words(atom: QuantileThreshold, *, of_rows: bool) -> tuple[str, str, bool]:
    name, limit, up = atom.value.column, _constant(atom.limit if atom.written is None else atom.written), atom.sign[0] == ">"
    extreme = extreme_of(atom)
    if extreme is not None:
        text = f"{extreme_word(atom)}({name}) {atom.sign} {limit}"
        return text, f"people {'without' if extreme else 'with'} {name} {atom.sign} {limit}", False
    q = atom.met if up else 1 - atom.met
    text = f"median({name})" if q == Fraction(1, 2) else f"quantile({name}, {written(q)})"
    return f"{text} {atom.sign} {limit}", f"{'rows' if of_rows else 'people'} with {name} {atom.sign} {limit}", True


def _constant(value: Any) -> str:
    return written(value) if isinstance(value, Fraction) else f"'{value}'" if isinstance(value, str) else str(value)
