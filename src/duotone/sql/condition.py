"""Row conditions: what one row must satisfy to count, decided from that row alone and never failing."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

Kind = Literal["integer", "float", "decimal", "text", "boolean", "date", "time", "untyped", "other"]
"""What a column holds; `untyped` is text that may be read as something else, as in a CSV file."""
Value = Fraction | str | bool | datetime.date
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
class Joined:
    """And, or: of no parts, they are true and false."""

    rule: Literal["and", "or"]
    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Not:
    """The opposite; of an unknown it is unknown."""

    part: Condition


Condition = Compare | IsNull | Like | Joined | Not
ALWAYS = Joined("and", ())


def both(first: Condition, second: Condition) -> Condition:
    """Both conditions, flattened."""
    parts = [p for c in (first, second) for p in (c.parts if isinstance(c, Joined) and c.rule == "and" else (c,))]
    unique = tuple(dict.fromkeys(parts))
    return unique[0] if len(unique) == 1 else Joined("and", unique)


def combinations(conditions: Sequence[Condition]) -> tuple[set[tuple[bool, ...]], bool]:
    """Which of the conditions can hold together in one row, and whether this is known exactly.

    Rows are made up from the constants of the question: each constant, what lies between, below and above them, and null.
    That decides exactly where columns are compared with constants. Elsewhere more may be thought possible than is.

    >>> vote = Operand("vote", "text")
    >>> found, exact = combinations([Compare(vote, "=", "Y"), Compare(vote, "=", "N")])
    >>> sorted(found), exact
    ([(False, False), (False, True), (True, False)], True)
    """
    leaves = list(dict.fromkeys(leaf for condition in conditions for leaf in _leaves(condition)))
    operands = list(dict.fromkeys(leaf.operand for leaf in leaves))
    opaque = [
        leaf for leaf in leaves if isinstance(leaf, Like) or (isinstance(leaf, Compare) and isinstance(leaf.value, Operand))
    ]
    columns = [o.column for o in operands] + [leaf.value.column for leaf in opaque if isinstance(leaf, Compare)]  # type: ignore[union-attr]
    shared = len(columns) != len(set(columns)) or any(
        leaf in opaque and any(o.operand == leaf.operand for o in leaves if o is not leaf) for leaf in leaves
    )
    exact = len(conditions) <= 1 or not shared
    choices: list[list[dict[Condition, bool | None]]] = []
    for operand in operands:
        own = [leaf for leaf in leaves if leaf.operand == operand and leaf not in opaque]
        rows = [{leaf: _leaf_truth(leaf, point) for leaf in own} for point in _points(operand, own)]
        choices.append([dict(row) for row in dict.fromkeys(tuple(row.items()) for row in rows)])
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


def _leaves(condition: Condition) -> Iterator[Compare | IsNull | Like]:
    if isinstance(condition, Joined):
        for part in condition.parts:
            yield from _leaves(part)
    elif isinstance(condition, Not):
        yield from _leaves(condition.part)
    else:
        yield condition


def _points(operand: Operand, leaves: Sequence[Compare | IsNull | Like]) -> list[Any]:
    """Null, and a value of every kind that the constants tell apart."""
    if operand.kind == "boolean":
        return [None, False, True]
    fixed = sorted({leaf.value for leaf in leaves if isinstance(leaf, Compare)})  # type: ignore[type-var]
    if not fixed:
        return [None, _step(operand, None, 1)]
    around = [_step(operand, fixed[0], -1), *(_step(operand, value, 1) for value in fixed)]
    exact = [v for v in fixed if operand.kind != "integer" or v.denominator == 1]  # type: ignore[union-attr]
    return [None, *exact, *(v for v in around if v is not None)]


def _step(operand: Operand, value: Any, way: int) -> Any:
    """A value just above or below; between integers and dates the next one, which may be the next constant itself."""
    if value is None:
        return 0
    if isinstance(value, str):
        return value + "\0" if way > 0 else ("" if value > "" else None)
    if isinstance(value, datetime.date):
        step = datetime.timedelta(microseconds=1) if isinstance(value, datetime.datetime) else datetime.timedelta(days=1)
        last = (type(value).max if way > 0 else type(value).min) - way * step
        return value + way * step if way * (last - value) >= datetime.timedelta() else None
    if operand.kind == "integer":
        return Fraction(math.floor(value) + 1 if way > 0 else math.ceil(value) - 1)
    return value + Fraction(way, 2**200)


def _leaf_truth(leaf: Compare | IsNull | Like, point: Any) -> bool | None:
    if isinstance(leaf, IsNull):
        return point is None
    if point is None:
        return None
    assert isinstance(leaf, Compare)
    return holds(point, leaf.sign, leaf.value)


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
