"""Row conditions: what one row must satisfy to count, decided from that row alone and never failing."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from fractions import Fraction
from typing import Any, Literal

from duotone.errors import DuotoneError

Kind = Literal["integer", "float", "decimal", "text", "boolean", "date", "time", "untyped", "other"]
"""What a column holds; `untyped` is text that may be read as something else, as in a CSV file."""
Columns = Mapping[str, Kind]
"""What each column of a table holds."""
NUMERIC: tuple[Kind, ...] = ("integer", "float", "decimal", "untyped")
"""What holds numbers, or may."""
MIRRORED = {"=": "=", "<>": "<>", ">": "<", ">=": "<=", "<": ">", "<=": ">="}
"""The sign of a comparison whose sides change places."""
Pattern = Literal["like", "starts", "ends", "contains", "matches"]
Value = Fraction | str | bool | datetime.date


@dataclass(frozen=True)
class Operand:
    """A column, or a value that is computed from a row's columns: then `column` is how the question writes it.

    `reading` is "try" where a text is read as a value of this kind, and is null where it is none.
    """

    column: str
    kind: Kind
    reading: str | None = None
    made: Formula | None = None


@dataclass(frozen=True)
class Formula:
    """A function that has a value, or null, whatever its parts are: operands, constants, and conditions to choose by."""

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
    """And, or: of no parts, they are true and false. Two with the same parts, in whatever order, are equal."""

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
    """The opposite; of an unknown it is unknown."""

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
    """The columns whose values a condition compares; whether one is null at all is not counted."""
    columns: set[str] = set()
    for leaf in leaves(condition):
        if isinstance(leaf, IsNull):
            continue
        columns |= columns_read(leaf.operand)
        if isinstance(leaf, Compare) and isinstance(leaf.value, Operand):
            columns |= columns_read(leaf.value)
    return columns


def columns_read(part: Any) -> set[str]:
    """The columns that a question, or a part of it, reads; what is computed reads those it is computed from."""
    if isinstance(part, Operand) and part.made is None:
        return {part.column}
    if isinstance(part, tuple):
        return {column for inner in part for column in columns_read(inner)}
    return {column for inner in vars(part).values() for column in columns_read(inner)} if is_dataclass(part) else set()


def parts_of(part: Any) -> Iterator[Any]:
    """A part of a question, and all that it is made of."""
    if is_dataclass(part):
        yield part
    for inner in part if isinstance(part, tuple) else vars(part).values() if is_dataclass(part) else ():
        yield from parts_of(inner)


def leaves(condition: Condition) -> Iterator[Leaf]:
    """The comparisons that a condition is made of."""
    if isinstance(condition, Joined):
        for part in condition.parts:
            yield from leaves(part)
    elif isinstance(condition, Not | Known):
        yield from leaves(condition.part)
    else:
        yield condition


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
