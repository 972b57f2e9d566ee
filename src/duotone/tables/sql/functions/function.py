"""What a function of SQL is, and its parts: values of a row and constants, each of a kind; and the Ibis expressions
that all functions share, which have a value or null on every row."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import ibis
from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.model.text_types import Type
from duotone.tables.sql.condition import Formula, Kind, Operand, Part

Parts = Sequence[Part | None]
"""Parts of a function: values of the row, constants, and conditions."""


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
    """One syntax of a function in SQL.

    `read` returns the function's parts, or the whole value if several functions make it; None if the call is not
    understood. `arguments` are those of the node that it reads: a call with others is refused. None allows any.
    """

    read: Callable[[Call], Parts | Operand | None]
    arguments: tuple[str, ...] | None = ("this",)


TWO = ("this", "expression")
"""The arguments of most nodes with two."""


@dataclass(frozen=True)
class Function:
    """One function: its SQL syntax, its result, and its Ibis expression.

    Guarantee: `compute` has a value or null for any parts, depends on no other row, and is the same on every engine,
    except for those in `spark` and `tried`.
    """

    name: str
    takes: Kind | None
    """The kind of its parts; None for the kind of its result."""
    makes: Kind | None
    """None for the kind of its first part, unless its reader says otherwise."""
    compute: Callable[..., Any]
    sql: Mapping[type[exp.Expression], Form] = field(default_factory=dict)
    """By the parser's node."""
    where: Callable[..., Sequence[Any]] | None = None
    """For a number computed from numbers: the conditions under which it has a value, from its parts and their
    expressions."""
    whole: Callable[[Parts], bool] = lambda _: False
    """Whether a float is known to be an integer."""
    small: bool = False
    """Whether its values are so far below the largest float that any number of them may be added."""
    from_text: bool = False
    """Whether it reads computed text as another kind, by the rule for a text column."""
    tried: bool = False
    """Whether it is tested on made-up rows of an engine that the tests do not cover."""
    spark: str = ""
    """Why Spark is refused, with {} for its name."""

    def of(self, text: str, *parts: Part | None, kind: Kind | None = None) -> Operand:
        """The function's value for these parts; `text` is its text in the question."""
        return Operand(text, kind or self.makes or kind_of(parts[0]), made=Formula(self.name, parts))


def described(part: Part) -> str:
    """A part's name in errors."""
    if isinstance(part, Operand):
        return f"column {part.column}" if part.made is None else part.column
    return str(part)


def as_kind(operand: Operand, kind: Kind) -> Operand:
    """An operand as one of this kind. A column without a declared type is text, and refused as anything else."""
    if operand.kind == "untyped" and kind != "text":
        raise undeclared({operand.column: USED_AS[kind]})
    return replace(operand, kind=kind)


def undeclared(types: Mapping[str, Type]) -> Refusal:
    """The refusal of columns of a text file that are used as more than text, and have no declared type: by column, one
    that would do."""
    return Refusal("undeclared", types=dict(types))


def types_needed(error: DuotoneError) -> Mapping[str, Type]:
    """The types that a refusal asks for; none if it is about something else."""
    return error.notice.fields["types"] if isinstance(error, Refusal) and error.notice.code == "undeclared" else {}


USED_AS: Mapping[Kind, Type] = {
    **dict.fromkeys(("integer", "float", "decimal"), "number"), "date": "date", "time": "time", "boolean": "yes/no",
}  # fmt: skip
"""The type to declare for a use."""
ASSUMED: Mapping[Type, Kind] = {"number": "float", "date": "date", "time": "time", "yes/no": "boolean"}
"""The kind of a column that is declared so."""


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
        raise DuotoneError(f"{text}: the text to search for must be a constant")
    return part


Value = Callable[[Any], Any]
"""The Ibis expression of an operand or of a condition."""


def expression(part: Part | None, kind: Kind, value: Value) -> Any:
    """A part as an Ibis expression of this kind; None and constant arguments of text and time functions are
    unchanged."""
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
    """Text as a float; true and false are 1 and 0, and other texts are null."""
    word = text.substr(0, 6).lower()  # longer than either word, so that no longer text matches one
    return ibis.coalesce(text.try_cast("float64"), ibis.cases((word == "true", 1.0), (word == "false", 0.0)))


def day_from(text: Any) -> Any:
    """Text as a date; other texts are null, and so are dates outside the years that constants can have."""
    date = text.try_cast("date")
    return ibis.cases((date.between(datetime.date.min, datetime.date.max), date))


EXACT = 2**51
"""Below it, a quotient of integers in floats is off by less than a half."""


def wide(number: int) -> Any:
    """A 64-bit integer: engines treat a small one as 32 bits, where arithmetic could overflow."""
    return ibis.literal(number).cast("int64")


def quotient(dividend: Any, by: Any, most: int) -> Any:
    """⌊dividend / by⌋ for by > 0, where it is within `most` of zero, and `most` is at most 2^51.

    Engines divide in floats, each in its own way; remainders are exact. So a multiple of `by` is divided and the result
    rounded to the nearest integer; where that may be slightly off, the rest is divided again.
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
