"""Numbers computed from numbers, as floats; and which of them are whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import NUMERIC, Operand, Part
from duotone.tables.sql.formulas.date_arithmetic import of_dates, shifted, span_added
from duotone.tables.sql.formulas.parts import Read, as_floats, described, formula, kind_of

LARGEST_ROUND = 15
"""The decimals that a number is rounded to, at most."""
ARITHMETIC: dict[type[exp.Expression], str] = {exp.Add: "add", exp.Sub: "subtract", exp.Mul: "multiply", exp.Div: "divide"}
OF_A_NUMBER: dict[type[exp.Expression], str] = {
    exp.Abs: "abs", exp.Floor: "floor", exp.Ceil: "ceil", exp.Sqrt: "sqrt", exp.Exp: "exp", exp.Ln: "ln", exp.Sign: "sign",
    exp.Trunc: "trunc",
}  # fmt: skip


def read_number(node: exp.Expression, text: str, read: Read) -> Operand | None:
    """A number computed from numbers, or a date from a date and a number; None for anything else."""
    kind = type(node)
    if kind in OF_A_NUMBER:
        return formula(text, "float", OF_A_NUMBER[kind], _number(read(node.this), text))
    match node:
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            shift = span_added(node)
            if shift is not None:
                return shifted(read(shift.moment), shift.by, text)
            return _arithmetic(node, read(node.this), read(node.expression), text)
        case exp.Neg():
            return formula(text, "float", "subtract", Fraction(0), _number(read(node.this), text))
        case exp.Mod():
            return formula(text, "integer", "modulo", *_whole_numbers([read(node.this), read(node.expression)], text))
        case exp.IntDiv():
            return _whole_quotient(read(node.this), read(node.expression), text)
        case exp.Pow():
            return _power(read(node.this), read(node.expression), text)
        case exp.Log() if node.expression is None or read(node.this) == 10:  # in DuckDB's words log is to base 10
            return formula(text, "float", "log10", _number(read(node.expression or node.this), text))
        case exp.Round():
            return _rounded(node, text, read)
    return None


def _number(part: Part, text: str) -> Part:
    """A number, or a text of a CSV file that is read as one."""
    if isinstance(part, Fraction):
        return part
    if isinstance(part, Operand) and part.kind in NUMERIC:
        return as_floats(part)
    raise DuotoneError(f"{text} computes with {described(part)}, which is no number")


def _whole_numbers(parts: Sequence[Part], text: str) -> list[Part]:
    known = [as_whole(part) if isinstance(part, Operand) else part for part in parts]
    for part in known:
        if not ((isinstance(part, Fraction) and abs(part) < 2**63 and part.denominator == 1) or kind_of(part) == "integer"):
            raise DuotoneError(f"{text} needs whole numbers, and {described(part)} need not be one: round it, as in floor(x)")
    return known


def _arithmetic(node: exp.Expression, left: Part, right: Part, text: str) -> Operand:
    """Of numbers; or a date and so many days, or the days between two dates."""
    dated = of_dates(node, left, right, text)
    if dated is not None:
        return dated
    return formula(text, "float", ARITHMETIC[type(node)], _number(left, text), _number(right, text))


def _power(base: Part, exponent: Part, text: str) -> Operand:
    if not (isinstance(exponent, Fraction) and exponent in (2, 3, 4, Fraction(1, 2))):
        raise DuotoneError(f"{text}: a power is to 2, 3, 4 or 1/2")
    value = _number(base, text)
    if exponent == Fraction(1, 2):
        return formula(text, "float", "sqrt", value)
    square = formula(text, "float", "multiply", value, value)
    return square if exponent == 2 else formula(text, "float", "multiply", square, value if exponent == 3 else square)


def _whole_quotient(part: Part, by: Part, text: str) -> Operand:
    """Towards zero, of whole numbers; of other numbers // does not round, and / says that better."""
    if not (isinstance(by, Fraction) and by.denominator == 1 and 1 <= by < 2**31):
        raise DuotoneError(f"{text}: // divides by a whole number from 1 on that is written out")
    (number,) = _whole_numbers([part], text)
    if isinstance(number, Operand) and by == 1:
        return number
    return formula(text, "integer", "whole quotient", number, by)


WHOLE = ("add", "subtract", "multiply", "abs", "sign")
"""Functions whose values are whole numbers where those that they are of are."""
ROUNDED = ("floor", "ceil", "trunc", "integer")
"""Functions whose values are whole numbers always."""


def _is_whole(part: Part | None) -> bool:
    """Whether a number is a whole one: a column of them, or computed from such, or rounded."""
    if isinstance(part, Fraction):
        return part.denominator == 1
    if not isinstance(part, Operand) or part.kind == "integer" or part.made is None:
        return isinstance(part, Operand) and part.kind == "integer"
    made = part.made
    if made.function == "round":
        return isinstance(made.parts[1], Fraction) and made.parts[1] <= 0
    return made.function in ROUNDED or (made.function in WHOLE and all(map(_is_whole, made.parts)))


def as_whole(value: Operand) -> Operand:
    """A number that is known to be a whole one as such; any other as it is."""
    if value.kind == "float" and _is_whole(value):
        return formula(value.column, "integer", "whole", value)
    return value


def _rounded(node: exp.Round, text: str, read: Read) -> Operand:
    decimals = Fraction(0) if node.args.get("decimals") is None else read(node.args["decimals"])
    if not (isinstance(decimals, Fraction) and decimals.denominator == 1 and abs(decimals) <= LARGEST_ROUND):
        raise DuotoneError(f"{text}: round to a whole number of decimals, at most {LARGEST_ROUND}")
    return formula(text, "float", "round", _number(read(node.this), text), decimals)
