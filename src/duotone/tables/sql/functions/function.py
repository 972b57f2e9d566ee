"""What a function of SQL is, and what it is made of: values of a row and constants, each of a kind; and the expressions of Ibis
that all of them share, which have a value or null on every row."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import ibis
from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import Formula, Kind, Operand, Part

Parts = Sequence[Part | None]
"""What a function is of: values of the row, constants, and conditions to choose by."""


@dataclass(frozen=True)
class Call:
    """One call of a function in a question: its node, its text, and how a part of it is read."""

    node: exp.Expression
    text: str
    read: Callable[[exp.Expression], Part]

    def part(self, name: str = "this") -> Part:
        """One of its arguments: a value of the row, or a constant."""
        argument = self.node.args.get(name)
        if argument is None:
            raise DuotoneError(f"{self.text} needs more arguments")
        return self.read(argument)


@dataclass(frozen=True)
class Form:
    """One way to write a function in SQL.

    `read` returns the function's parts, or the whole value where several functions make it; None where the call is not
    understood. `arguments` are those of the node that it reads: a call with others is refused. None allows any.
    """

    read: Callable[[Call], Parts | Operand | None]
    arguments: tuple[str, ...] | None = ("this",)


TWO = ("this", "expression")
"""The arguments of most nodes that have two."""


@dataclass(frozen=True)
class Function:
    """One function: how SQL writes it, what it makes, and how Ibis computes it.

    Guarantee: `compute` has a value or null for whatever its parts are, looks at no other row, and is the same on every
    engine that `spark` and `tried` do not except.
    """

    name: str
    takes: Kind | None
    """The kind that its parts are computed as; None for the kind that it makes."""
    makes: Kind | None
    """None for the kind of its first part, unless its reader says otherwise."""
    compute: Callable[..., Any]
    sql: Mapping[type[exp.Expression], Form] = field(default_factory=dict)
    """By the node that the parser makes of it."""
    where: Callable[..., Sequence[Any]] | None = None
    """Of a number computed from numbers: the conditions under which it has a value, from its parts and their expressions."""
    whole: Callable[[Parts], bool] = lambda _: False
    """Whether a float is known to be a whole number."""
    small: bool = False
    """Whether its values are so far below the largest float that any number of them may be added."""
    from_text: bool = False
    """Whether it reads computed text as another kind, by the rule for a column of text."""
    tried: bool = False
    """Whether it is tried on made-up rows of an engine that the tests do not cover."""
    spark: str = ""
    """Why Spark is refused, with {} for its name."""

    def of(self, text: str, *parts: Part | None, kind: Kind | None = None) -> Operand:
        """The value that the function has of these parts; `text` is how the question writes it."""
        return Operand(text, kind or self.makes or kind_of(parts[0]), made=Formula(self.name, parts))


def described(part: Part) -> str:
    """What an error calls a part."""
    if isinstance(part, Operand):
        return f"column {part.column}" if part.made is None else part.column
    return str(part)


def as_kind(operand: Operand, kind: Kind) -> Operand:
    """An operand as one of this kind: a column of a CSV file is read as such values, and is null where they are none."""
    reading = operand.reading or ("try" if operand.kind == "untyped" and kind != "text" else None)
    return replace(operand, kind=kind, reading=reading)


def as_floats(value: Operand) -> Operand:
    """Numbers as they are; a column of a CSV file read as numbers."""
    return as_kind(value, "float") if value.kind == "untyped" else value


def kind_of(part: Part | None) -> Kind:
    """The kind of a value of the row, or of a constant."""
    match part:
        case Operand():
            return part.kind
        case bool():
            return "boolean"
        case Fraction():
            return "integer" if part.denominator == 1 and abs(part) < 2**53 else "float"
        case datetime.datetime():
            return "time"
        case datetime.date():
            return "date"
        case str():
            return "text"
    raise DuotoneError("a condition is not a value: write case when … then … end")


def written_out(part: Part, text: str) -> str:
    """A constant text."""
    if not isinstance(part, str):
        raise DuotoneError(f"{text}: the text that is looked for is written out")
    return part


Value = Callable[[Any], Any]
"""The Ibis expression of an operand or of a condition."""


def expression(part: Part | None, kind: Kind, value: Value) -> Any:
    """A part as an Ibis expression of this kind; None, and the numbers and words that functions of text and time take, as they
    are."""
    match part:
        case Operand() if kind in ("float", "integer"):
            return value(part).cast("float64" if kind == "float" else "int64")
        case Fraction() if kind == "float":
            return ibis.literal(float(part), type="float64")
        case Fraction() if kind == "integer":
            return ibis.literal(int(part), type="int64")
        case datetime.datetime():
            return ibis.literal(part, type="timestamp(6)")
        case None | Fraction():
            return part
        case str() if kind == "time":
            return part
        case str() | bool() | datetime.date():
            return ibis.literal(part)
    return value(part)


def real(column: Any) -> Any:
    """A float: NaN is null, and −0.0 is 0.0."""
    return ibis.ifelse(column.isnan(), ibis.null("float64"), column + 0.0)


def number_from(text: Any) -> Any:
    """Text as a float; true and false are 1 and 0, and what is no number is null."""
    word = text.substr(0, 6).lower()  # longer than either word, so that no longer text is taken for one
    return ibis.coalesce(text.try_cast("float64"), ibis.cases((word == "true", 1.0), (word == "false", 0.0)))


def day_from(text: Any) -> Any:
    """Text as a date; what is none is null, and so is what lies outside the years that constants can be in."""
    date = text.try_cast("date")
    return ibis.cases((date.between(datetime.date.min, datetime.date.max), date))


EXACT = 2**51
"""Below it, a quotient of whole numbers in floats is less than a half off."""


def wide(number: int) -> Any:
    """A whole number of 64 bits: engines take a small one for 32 bits, and arithmetic with those could overflow."""
    return ibis.literal(number).cast("int64")


def quotient(dividend: Any, by: Any, most: int) -> Any:
    """⌊dividend / by⌋ for by > 0, where it is at most `most`, which is at most 2^51, from zero.

    Engines divide in floats, each in its own way; remainders they have exactly. So a multiple of `by` is divided and the
    result put on the nearest whole number; where that may be a little off, what is then left is divided once more.
    """
    rest = dividend % by
    multiple = dividend - rest
    nearest = _nearest(multiple, by)
    if not most < EXACT:
        nearest = nearest.cast("decimal(38, 0)")
        nearest = (nearest + _nearest(multiple - nearest * by, by)).cast("int64")
    return nearest - ibis.cases((rest < 0, wide(1)), else_=wide(0))


def _nearest(multiple: Any, by: Any) -> Any:
    return (multiple.cast("float64") / by.cast("float64") + 0.5).floor().cast("int64")
