"""Row conditions: what one row must satisfy to count, decided from that row alone and never failing."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from duotone.errors import DuotoneError

Kind = Literal["integer", "float", "decimal", "text", "boolean", "date", "time", "untyped", "other"]
"""What a column holds; `untyped` is text that may be read as something else, as in a CSV file."""
Value = Fraction | str | bool | datetime.date
BELOW, ABOVE = -(2**63) - 1, 2**63
"""Whole numbers in a table lie strictly between these."""
MOST_CASES = 20_000
"""How many kinds of rows are looked through for the combinations of conditions that can occur."""


@dataclass(frozen=True)
class Operand:
    """A column, or one reading of it: lower, upper, trim, length, year, month, day."""

    column: str
    kind: Kind
    reading: str | None = None


@dataclass(frozen=True)
class Compare:
    """An operand against a constant, or against another operand."""

    operand: Operand
    sign: str
    value: Value | Operand

    @property
    def constant(self) -> Value:
        """What the operand is compared with, where that is a constant."""
        if isinstance(self.value, Operand):
            raise DuotoneError(f"{self.operand.column} is compared with another column, not with a constant")
        return self.value


@dataclass(frozen=True)
class IsNull:
    """Whether an operand is null; NaN counts as null."""

    operand: Operand


@dataclass(frozen=True)
class Like:
    """Whether a text matches a pattern with % and _."""

    operand: Operand
    pattern: str


@dataclass(frozen=True)
class OneOf:
    """Whether an operand is among constants."""

    operand: Operand
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Joined:
    """And, or: of no parts, they are true and false."""

    rule: Literal["and", "or"]
    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Not:
    """The opposite; of an unknown it is unknown."""

    part: Condition


Leaf = Compare | OneOf | IsNull | Like
Condition = Leaf | Joined | Not
ALWAYS = Joined("and", ())


def both(first: Condition, second: Condition) -> Condition:
    """Both conditions, flattened."""
    parts = [p for c in (first, second) for p in (c.parts if isinstance(c, Joined) and c.rule == "and" else (c,))]
    unique = tuple(dict.fromkeys(parts))
    return unique[0] if len(unique) == 1 else Joined("and", unique)


def columns_of(condition: Condition) -> set[str]:
    """The columns whose values a condition compares; whether one is null at all is not counted."""
    found = set()
    for leaf in leaves(condition):
        if isinstance(leaf, IsNull):
            continue
        found.add(leaf.operand.column)
        if isinstance(leaf, Compare) and isinstance(leaf.value, Operand):
            found.add(leaf.value.column)
    return found


def combinations(conditions: Sequence[Condition]) -> tuple[set[tuple[bool, ...]], bool]:
    """Which of the conditions can hold together in one row, and whether this is known exactly.

    Rows are made up from the constants of the question: each constant, what lies between, below and above them, and null.
    That decides exactly where columns are compared with constants. Elsewhere more may be thought possible than is.

    Guarantee: whatever a row does is among the combinations.

    >>> vote = Operand("vote", "text")
    >>> found, exact = combinations([Compare(vote, "=", "Y"), Compare(vote, "=", "N")])
    >>> sorted(found), exact
    ([(False, False), (False, True), (True, False)], True)
    """
    every = list(dict.fromkeys(leaf for condition in conditions for leaf in leaves(condition)))
    operands = list(dict.fromkeys(leaf.operand for leaf in every))
    opaque = [leaf for leaf in every if isinstance(leaf, Like) or isinstance(getattr(leaf, "value", None), Operand)]
    columns = [o.column for o in operands] + [leaf.value.column for leaf in opaque if isinstance(leaf, Compare)]  # type: ignore[union-attr]
    alone = all(sum(other.operand == leaf.operand for other in every) == 1 for leaf in opaque)
    exact = alone and len(columns) == len(set(columns))
    choices: list[list[dict[Condition, bool | None]]] = []
    for operand in operands:
        own = [leaf for leaf in every if leaf.operand == operand and leaf not in opaque]
        choices.append([dict(row) for row in dict.fromkeys(tuple(row.items()) for row in _rows(operand, own))])
    choices += [[{leaf: truth} for truth in (True, False, None)] for leaf in opaque]
    if math.prod(map(len, choices)) > MOST_CASES:
        return set(itertools.product((False, True), repeat=len(conditions))), False
    found = set()
    for chosen in itertools.product(*choices):
        row: dict[Condition, bool | None] = {}
        for part in chosen:
            row |= part
        found.add(tuple(_truth(condition, row) is True for condition in conditions))
    return found, exact


def leaves(condition: Condition) -> Iterator[Leaf]:
    """The comparisons that a condition is made of."""
    if isinstance(condition, Joined):
        for part in condition.parts:
            yield from leaves(part)
    elif isinstance(condition, Not):
        yield from leaves(condition.part)
    else:
        yield condition


def _rows(operand: Operand, own: Sequence[Leaf]) -> Iterator[dict[Condition, bool | None]]:
    """What the comparisons of one operand say of null, and of a value of every kind that their constants tell apart.

    The constants in order have the places 1, 3, 5, …; between, below and above them are the even ones, where there is
    something.
    """
    given = [leaf.values if isinstance(leaf, OneOf) else [leaf.value] if isinstance(leaf, Compare) else [] for leaf in own]
    fixed: list[Any] = sorted({value for values in given for value in values})
    place = {value: 2 * i + 1 for i, value in enumerate(fixed)}
    places = [place[v] for v in fixed if operand.kind != "integer" or (v.denominator == 1 and BELOW < v < ABOVE)]
    gaps = [2 * i for i in range(len(fixed) + 1) if _between(operand.kind, *([None, *fixed, None][i : i + 2]))]
    for at in [None, *places, *gaps]:
        yield {leaf: _leaf_truth(leaf, at, place) for leaf in own}


def _between(kind: Kind, low: Any, high: Any) -> bool:
    """Whether there can be something strictly between two constants, where None is beyond them all."""
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


def _leaf_truth(leaf: Leaf, at: int | None, place: Mapping[Any, int]) -> bool | None:
    if isinstance(leaf, IsNull):
        return at is None
    if at is None:
        return None
    if isinstance(leaf, OneOf):
        return at in {place[value] for value in leaf.values}
    return holds(at, leaf.sign, place[leaf.constant]) if isinstance(leaf, Compare) else None


def holds(left: Any, sign: str, right: Any) -> bool:
    """left sign right, for values of one kind."""
    match sign:
        case "=":
            return bool(left == right)
        case "<>":
            return bool(left != right)
        case ">":
            return bool(left > right)
        case ">=":
            return bool(left >= right)
        case "<":
            return bool(left < right)
    return bool(left <= right)


def _truth(condition: Condition, row: Mapping[Condition, bool | None]) -> bool | None:
    """SQL's three-valued logic."""
    if isinstance(condition, Not):
        inner = _truth(condition.part, row)
        return None if inner is None else not inner
    if not isinstance(condition, Joined):
        return row[condition]
    decisive = condition.rule == "or"
    parts = [_truth(part, row) for part in condition.parts]
    return decisive if decisive in parts else None if None in parts else not decisive
