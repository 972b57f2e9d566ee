"""Row conditions: what a row must satisfy to count, decided from that row alone and never failing.

Which conditions can hold together in one row is found by enumerating the kinds of rows that their constants
distinguish.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from fractions import Fraction
from typing import Any, Literal

from duotone.errors import DuotoneError

Kind = Literal["integer", "float", "decimal", "text", "boolean", "date", "time", "untyped", "other"]
"""Kinds of columns; `untyped` is text whose owner has not declared what it holds, as in a CSV file."""
Columns = Mapping[str, Kind]
"""The kind of each column of a table."""
NUMERIC: tuple[Kind, ...] = ("integer", "float", "decimal")
"""Kinds that hold numbers."""
MIRRORED = {"=": "=", "<>": "<>", ">": "<", ">=": "<=", "<": ">", "<=": ">="}
"""The sign of a comparison with swapped sides."""
Pattern = Literal["like", "starts", "ends", "contains", "matches"]
Value = Fraction | str | bool | datetime.date


@dataclass(frozen=True)
class Operand:
    """A column, or a value computed from a row's columns, whose `column` is its text in the question.

    `reading` is "try" if a text is read as a value of this kind, and is null otherwise.
    """

    column: str
    kind: Kind
    reading: str | None = None
    made: Formula | None = None


@dataclass(frozen=True)
class Formula:
    """A function with a value, or null, for any parts: operands, constants, and conditions."""

    function: str
    parts: tuple[Part | None, ...]


@dataclass(frozen=True)
class Compare:
    """An operand against a constant, or against another operand."""

    operand: Operand
    sign: str
    value: Value | Operand

    @property
    def constant(self) -> Value:
        """The constant that the operand is compared with, if it is one."""
        if isinstance(self.value, Operand):
            raise DuotoneError(f"{self.operand.column} is compared with another column, not with a constant")
        return self.value


@dataclass(frozen=True)
class IsNull:
    """Whether an operand is null; NaN counts as null."""

    operand: Operand


@dataclass(frozen=True)
class Like:
    """Whether a text matches a pattern with % and _; or begins with, ends with or contains a text, or matches a regular
    expression."""

    operand: Operand
    pattern: str
    how: Pattern = "like"


@dataclass(frozen=True)
class OneOf:
    """Whether an operand is among constants."""

    operand: Operand
    values: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Joined:
    """And, or: without parts, they are true and false. Two with the same parts, in any order, are equal."""

    rule: Literal["and", "or"]
    parts: tuple[Condition, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Joined) and (self.rule, self._set) == (other.rule, other._set)

    def __hash__(self) -> int:
        return hash((self.rule, self._set))

    @property
    def _set(self) -> frozenset[Condition]:
        return frozenset(self.parts)


@dataclass(frozen=True)
class Not:
    """The opposite; unknown stays unknown."""

    part: Condition


@dataclass(frozen=True)
class Known:
    """Whether a condition is true or false, and not unknown."""

    part: Condition


Leaf = Compare | OneOf | IsNull | Like
Condition = Leaf | Joined | Not | Known
Part = Operand | Value | Condition
ALWAYS = Joined("and", ())


def both(first: Condition, second: Condition) -> Condition:
    """Both conditions, flattened."""
    parts = [p for c in (first, second) for p in (c.parts if isinstance(c, Joined) and c.rule == "and" else (c,))]
    unique = tuple(dict.fromkeys(parts))
    return unique[0] if len(unique) == 1 else Joined("and", unique)


def columns_of(condition: Condition) -> set[str]:
    """The columns whose values a condition compares; tests for null do not count."""
    columns: set[str] = set()
    for leaf in leaves(condition):
        if isinstance(leaf, IsNull):
            continue
        columns |= columns_read(leaf.operand)
        if isinstance(leaf, Compare) and isinstance(leaf.value, Operand):
            columns |= columns_read(leaf.value)
    return columns


def columns_read(part: Any) -> set[str]:
    """The columns that a question, or a part of it, reads, directly or through computed values."""
    return {inner.column for inner in parts_of(part) if isinstance(inner, Operand) and inner.made is None}


def parts_of(part: Any) -> Iterator[Any]:
    """A part of a question, and all of its parts."""
    if is_dataclass(part):
        yield part
    for inner in part if isinstance(part, tuple) else vars(part).values() if is_dataclass(part) else ():
        yield from parts_of(inner)


def leaves(condition: Condition) -> Iterator[Leaf]:
    """The comparisons of a condition."""
    if isinstance(condition, Joined):
        for part in condition.parts:
            yield from leaves(part)
    elif isinstance(condition, Not | Known):
        yield from leaves(condition.part)
    else:
        yield condition


def holds(left: Any, sign: str, right: Any) -> bool:
    """left sign right, for values of one kind."""
    return bool(OPERATORS[sign](left, right))


OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
"""The meaning of each sign, for values or an engine's expressions."""


BELOW, ABOVE = -(2**63) - 1, 2**63
"""Integers in a table lie strictly between these."""
ANY_VALUE = ("lower", "upper", "trim", "length", "year", "month", "day")
"""Functions that are assumed to have every value that they are compared with."""
MOST_CASES, MOST_TRUTHS = 20_000, 1_000_000
"""Most kinds of rows, and most comparisons, that are enumerated for possible combinations of conditions."""
MOST_UNKNOWN = 12
"""Most conditions for which any combination is assumed possible: each one more doubles them."""


def combinations(conditions: Sequence[Condition]) -> tuple[set[tuple[bool, ...]], bool]:
    """Which of the conditions can hold together in one row, and whether this is exact.

    Rows are generated from the constants of the question: each constant, values between, below and above them, and
    null. This is exact if columns are compared with constants; otherwise more combinations may be listed than occur.

    Guarantee: every row's combination is listed.

    >>> vote = Operand("vote", "text")
    >>> possible, exact = combinations([Compare(vote, "=", "Y"), Compare(vote, "=", "N")])
    >>> sorted(possible), exact
    ([(False, False), (False, True), (True, False)], True)
    """
    known = known_combinations(conditions)
    if known is not None:
        return known
    if len(conditions) > MOST_UNKNOWN:
        raise DuotoneError(
            f"there are too many combinations of its {len(conditions)} conditions: ask with at most "
            f"{MOST_UNKNOWN}, or with conditions that compare fewer columns with fewer constants"
        )
    return set(itertools.product((False, True), repeat=len(conditions))), False


def known_combinations(conditions: Sequence[Condition]) -> tuple[set[tuple[bool, ...]], bool] | None:
    """The same; None if there are too many, and any combination must be assumed possible."""
    number: dict[Leaf, int] = {}  # each distinct comparison has one
    tests = [_numbered(condition, number) for condition in conditions]
    opaque = [isinstance(leaf, Like) or (isinstance(leaf, Compare) and isinstance(leaf.value, Operand)) for leaf in number]
    own: dict[Operand, list[tuple[int, Leaf]]] = {}
    for (leaf, i), unclear in zip(number.items(), opaque, strict=True):
        own.setdefault(leaf.operand, []).extend([] if unclear else [(i, leaf)])
    choices: list[list[dict[int, bool | None]]] = []
    for operand, some in own.items():
        kinds = dict.fromkeys(_rows(operand, [leaf for _, leaf in some]))
        choices.append([dict(zip([i for i, _ in some], row, strict=True)) for row in kinds])
    choices += [[{i: truth} for truth in (True, False, None)] for i, unclear in enumerate(opaque) if unclear]
    cases = math.prod(map(len, choices))
    if cases > MOST_CASES or cases * len(number) > MOST_TRUTHS:
        return None
    combined = set()
    for chosen in itertools.product(*choices):
        row: dict[int, bool | None] = {}
        for part in chosen:
            row |= part
        combined.add(tuple(_truth(test, row) is True for test in tests))
    return combined, _leaves_independent(number, opaque)


def _leaves_independent(every: Iterable[Leaf], opaque: Sequence[bool]) -> bool:
    """Whether all comparisons are independent, apart from those of the same operand with constants."""
    leaf_by_leaf = list(zip(every, opaque, strict=True))
    times = Counter(leaf.operand for leaf, _ in leaf_by_leaf)
    others = [leaf.value for leaf, _ in leaf_by_leaf if isinstance(leaf, Compare) and isinstance(leaf.value, Operand)]
    columns = [column for operand in (*times, *others) for column in columns_read(operand)]
    alone = all(times[leaf.operand] == 1 for leaf, unclear in leaf_by_leaf if unclear)
    known = all(map(_any_value, (*times, *others)))
    return alone and known and len(columns) == len(set(columns))


def possible(*conditions: Condition) -> bool:
    """Whether a row can satisfy all conditions, as far as the question shows."""
    return (True,) in combinations([functools.reduce(both, conditions)])[0]


def independent(unit: str | None, conditions: Sequence[Condition], values: Sequence[Operand | Condition]) -> bool:
    """Whether the counted values are independent of the conditions: a column in both might exclude its extreme values.
    The unit cannot be counted: no two people share it."""
    looked_at = set().union(*(columns_of(condition) for condition in conditions))
    aimed_at = {v.column for v in values if isinstance(v, Operand)}
    free = unit is None or unit not in looked_at | aimed_at
    return free and not looked_at & aimed_at and all(_any_value(v) for v in values if isinstance(v, Operand))


def _any_value(operand: Operand) -> bool:
    """Whether rows may have any value of it that a constant is compared with."""
    return operand.made is None or operand.made.function in ANY_VALUE


Numbered = int | tuple[str, list[Any]]
"""A condition with its comparisons as numbers; else a rule, `and`, `or`, `not` or `known`, and its parts."""


def _numbered(condition: Condition, number: dict[Leaf, int]) -> Numbered:
    if isinstance(condition, Joined):
        return condition.rule, [_numbered(part, number) for part in condition.parts]
    if isinstance(condition, Not | Known):
        return "not" if isinstance(condition, Not) else "known", [_numbered(condition.part, number)]
    return number.setdefault(condition, len(number))


def _rows(operand: Operand, own: Sequence[Leaf]) -> Iterator[tuple[bool | None, ...]]:
    """The comparisons of one operand, for null and for a value of every kind that their constants distinguish.

    The sorted constants have the places 1, 3, 5, …; the even ones lie between, below and above them, if such values
    exist.
    """
    constants = [leaf.values if isinstance(leaf, OneOf) else [leaf.value] if isinstance(leaf, Compare) else [] for leaf in own]
    fixed: list[Any] = sorted({value for values in constants for value in values})
    place = {value: 2 * i + 1 for i, value in enumerate(fixed)}
    places = [place[v] for v in fixed if operand.kind != "integer" or (v.denominator == 1 and BELOW < v < ABOVE)]
    gaps = [2 * i for i in range(len(fixed) + 1) if _between(operand.kind, *([None, *fixed, None][i : i + 2]))]
    among = [frozenset(place[value] for value in values) for values in constants]
    for at in [None, *places, *gaps]:
        yield tuple(_leaf_truth(leaf, at, those) for leaf, those in zip(own, among, strict=True))


def _between(kind: Kind, low: Any, high: Any) -> bool:
    """Whether there can be a value strictly between two constants; None is beyond them all."""
    if kind == "boolean":
        return (low, high) in ((None, True), (False, None)) or (low is None and high is None)
    if kind == "integer":
        least, most = BELOW if low is None else max(low, BELOW), ABOVE if high is None else min(high, ABOVE)
        return bool(math.floor(least) + 1 < most)
    if low is None or high is None:
        return not (low is None and high == "")
    match kind:
        case "float" | "decimal":
            return math.nextafter(float(low), math.inf) < float(high)
        case "date":
            return bool((high - low).days > 1)
        case "text":
            return bool(low + "\0" < high)
    return True


def _leaf_truth(leaf: Leaf, at: int | None, constants: frozenset[int]) -> bool | None:
    """A comparison's truth at a place, from the places of its constants."""
    if isinstance(leaf, IsNull):
        return at is None
    if at is None:
        return None
    if isinstance(leaf, OneOf):
        return at in constants
    return holds(at, leaf.sign, *constants) if isinstance(leaf, Compare) else None


def _truth(condition: Numbered, row: Mapping[int, bool | None]) -> bool | None:
    """SQL's three-valued logic."""
    if isinstance(condition, int):
        return row[condition]
    rule, own = condition
    parts = [_truth(part, row) for part in own]
    if rule == "known":
        return parts[0] is not None
    if rule == "not":
        return None if parts[0] is None else not parts[0]
    decisive = rule == "or"
    return decisive if decisive in parts else None if None in parts else not decisive
