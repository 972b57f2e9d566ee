"""Row conditions from SQL.

Everything that could end in an error on one row (casts, division), or that looks beyond the row (windows, subqueries,
chance, the clock), is refused before anything is read.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Literal

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.privacy.numbers import number
from duotone.tables.sql.condition import Compare, Condition, IsNull, Joined, Kind, Like, Not, OneOf, Operand, Value

NUMERIC = ("integer", "float", "decimal", "untyped")
SIGNS: dict[type[exp.Expression], str] = {exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
MIRRORED = {"=": "=", "<>": "<>", ">": "<", ">=": "<=", "<": ">", "<=": ">="}
READINGS: dict[type[exp.Expression], tuple[str, Kind]] = {
    exp.Lower: ("lower", "text"), exp.Upper: ("upper", "text"), exp.Trim: ("trim", "text"), exp.Length: ("length", "integer"),
    exp.Year: ("year", "integer"), exp.Month: ("month", "integer"), exp.Day: ("day", "integer"),
}  # fmt: skip


def read_condition(node: exp.Expression, columns: Mapping[str, Kind]) -> Condition:
    """A parsed SQL condition, checked against the columns that there are."""
    match node:
        case exp.Paren():
            return read_condition(node.this, columns)
        case exp.And() | exp.Or():
            rule: Literal["and", "or"] = "and" if isinstance(node, exp.And) else "or"
            return Joined(rule, tuple(read_condition(part, columns) for part in joined_parts(node)))
        case exp.Not():
            return Not(read_condition(node.this, columns))
        case exp.Boolean():
            return Joined("and" if node.this else "or", ())
        case exp.Is() if isinstance(node.expression, exp.Null):
            return IsNull(read_operand(node.this, columns))
        case exp.Is() if isinstance(node.expression, exp.Boolean):
            test = compare(read_operand(node.this, columns), "=", bool(node.expression.this), node.sql(dialect="duckdb"))
            return Joined("and", (test, Not(IsNull(test.operand))))
        case exp.In() if node.expressions and not node.args.get("query"):
            return _one_of(node, columns)
        case exp.Between():
            low = _compared(node.this, ">=", node.args["low"], columns, node)
            return Joined("and", (low, _compared(node.this, "<=", node.args["high"], columns, node)))
        case exp.Like() if isinstance(node.expression, exp.Literal) and node.expression.is_string:
            operand = read_operand(node.this, columns)
            if operand.kind not in ("text", "untyped"):
                raise DuotoneError(f"{node.sql()}: like is for text, and {operand.column} holds none")
            if "\\" in node.expression.this:
                raise DuotoneError(f"{node.sql()}: engines read a backslash in a pattern differently; compare with = instead")
            like = Like(_as(operand, "text"), node.expression.this)
            return Not(like) if node.args.get("negate") else like
        case exp.Column():
            operand = read_operand(node, columns)
            if operand.kind != "boolean":
                raise DuotoneError(f"{node.sql()} is not a condition: compare it with something")
            return Compare(operand, "=", True)
    if type(node) in SIGNS:
        return _compared(node.this, SIGNS[type(node)], node.expression, columns, node)
    raise DuotoneError(_refusal(node))


def joined_parts(node: exp.Connector) -> Iterator[exp.Expression]:
    """What is joined by and, or by or, however many."""
    for part in node.flatten():
        if isinstance(part, exp.Expression):  # as every part is
            yield part


def _refusal(node: exp.Expression) -> str:
    text = node.sql(dialect="duckdb")
    for kinds, why in (
        ((exp.Window,), "looks at other rows: a condition is about one row"),
        ((exp.Subquery, exp.Select, exp.Exists), "asks a query of its own: a condition is about one row"),
        ((exp.Rand, exp.Randn), "is random: a condition must say the same each time"),
        ((exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime), "depends on the clock: write the date itself"),
        ((exp.Cast, exp.TryCast), "is a cast, which may fail on one row: leave it out"),
        ((exp.Div, exp.Mod, exp.IntDiv), "divides, which may fail on one row: multiply the other side instead"),
        (
            (exp.Add, exp.Sub, exp.Mul, exp.Neg),
            "is arithmetic on a row's values, which may overflow: compare columns and constants",
        ),
        ((exp.AggFunc,), "is an aggregate, and stands inside a condition: compare it outside"),
    ):
        if isinstance(node, kinds):
            return f"{text} {why}"
    if isinstance(node, exp.Anonymous) and node.name.lower() in (
        "now",
        "today",
        "current_timestamp",
        "uuid",
        "gen_random_uuid",
    ):
        return f"{text} changes from call to call: write the value itself"
    return (
        f"{text} is not understood in a condition: use columns, constants, =, <>, <, <=, >, >=, in, between, like, is null, "
        "and, or, not"
    )


def _one_of(node: exp.In, columns: Mapping[str, Kind]) -> Condition:
    operand, text = read_operand(node.this, columns), node.sql(dialect="duckdb")
    constants = [constant(part) for part in node.expressions]
    tests = [compare(operand, "=", value, text) for value in constants if value is not None]
    if len(tests) < len(constants):
        raise DuotoneError(f"{text}: in is followed by constants")
    if len({test.operand for test in tests}) > 1:  # of a CSV file's column, each constant tells what it holds
        raise DuotoneError(f"{text}: the constants after in must all be of one kind")
    return OneOf(tests[0].operand, tuple(dict.fromkeys(test.constant for test in tests)))


def read_operand(node: exp.Expression, columns: Mapping[str, Kind]) -> Operand:
    """A column, or one of the readings that never fail."""
    if isinstance(node, exp.Paren):
        return read_operand(node.this, columns)
    if isinstance(node, exp.Column):
        name = column_name(node, columns)
        if columns[name] == "other":
            raise DuotoneError(
                f"column {name} holds neither numbers, text, Booleans nor dates, and cannot be asked about: convert it"
            )
        return Operand(name, columns[name])
    reading: tuple[str, Kind] | None = READINGS.get(type(node))
    inner = node.this
    if isinstance(node, exp.Extract) and node.name.lower() in ("year", "month", "day"):
        reading, inner = (node.name.lower(), "integer"), node.expression
    if isinstance(node, exp.Trim) and node.expression is not None:
        reading = None
    if reading is None or not isinstance(inner, exp.Column | exp.Paren):
        raise DuotoneError(_refusal(node))
    of = read_operand(inner, columns)
    needed: tuple[Kind, ...] = ("date", "time", "untyped") if reading[0] in ("year", "month", "day") else ("text", "untyped")
    if of.kind not in needed or of.reading:
        raise DuotoneError(f"{node.sql(dialect='duckdb')}: {reading[0]} does not fit what {of.column} holds")
    return Operand(of.column, reading[1], reading[0])


def column_name(node: exp.Column, columns: Mapping[str, Kind]) -> str:
    """The column that a name means: itself, or the one that differs in case alone."""
    name = node.name
    if name in columns:
        return name
    matches = [c for c in columns if c.lower() == name.lower() and not node.this.quoted]
    if len(matches) != 1:
        raise DuotoneError(f"the table has no column {name}; it has {', '.join(columns)}")
    return matches[0]


def _compared(
    left: exp.Expression, sign: str, right: exp.Expression, columns: Mapping[str, Kind], comparison: exp.Expression
) -> Compare:
    fixed, other = constant(right), constant(left)
    if fixed is None and other is not None:
        return _compared(right, MIRRORED[sign], left, columns, comparison)
    if other is not None:
        raise DuotoneError(f"{comparison.sql()} compares two constants: name a column")
    operand = read_operand(left, columns)
    if fixed is None:
        second = read_operand(right, columns)
        if "untyped" in (operand.kind, second.kind):
            raise DuotoneError(
                f"{comparison.sql()}: columns of a CSV file are compared with constants only, which tell what they hold"
            )
        if {operand.kind, second.kind} - {"integer"} and operand.kind != second.kind:
            raise DuotoneError(f"{comparison.sql()}: {operand.column} and {second.column} hold different kinds of values")
        return Compare(operand, sign, second)
    return compare(operand, sign, fixed, comparison.sql(dialect="duckdb"))


def compare(operand: Operand, sign: str, value: Value, text: str) -> Compare:
    """An operand against a constant of its own kind."""
    kind: Kind
    if isinstance(value, bool):
        kind, fits = "boolean", operand.kind in ("boolean", "untyped")
    elif isinstance(value, Fraction):
        kind, fits = "float" if operand.kind == "untyped" else operand.kind, operand.kind in NUMERIC
        value = value if operand.kind == "integer" else _double(value, text)
    elif isinstance(value, str) and operand.kind in ("date", "time"):
        return compare(operand, sign, _instant(value, text), text)
    elif isinstance(value, str):
        kind, fits = "text", operand.kind in ("text", "untyped")
    else:
        fits = operand.kind in ("date", "time", "untyped")
        kind = "date" if operand.kind == "untyped" else operand.kind
        if operand.kind == "time" and not isinstance(value, datetime.datetime):
            value = datetime.datetime.combine(value, datetime.time())
        elif operand.kind != "time" and isinstance(value, datetime.datetime):
            raise DuotoneError(f"{text}: column {operand.column} holds dates: compare it with a date")
    if not fits:
        held = {"text": "text", "boolean": "Booleans", "date": "dates", "time": "times"}.get(operand.kind, "numbers")
        raise DuotoneError(f"{text}: column {operand.column} holds {held}: compare it with such a constant")
    return Compare(_as(operand, kind), sign, value)


def _double(value: Fraction, text: str) -> Fraction:
    """The float that the engine compares with."""
    if not abs(value) <= Fraction(sys.float_info.max):
        raise DuotoneError(f"{text}: the number is too large")
    return Fraction(float(value))


def _as(operand: Operand, kind: Kind) -> Operand:
    return Operand(operand.column, kind, operand.reading or ("try" if operand.kind == "untyped" and kind != "text" else None))


def constant(node: exp.Expression) -> Value | None:
    """A constant's value; numbers are exact. None where it is not a constant."""
    match node:
        case exp.Paren():
            return constant(node.this)
        case exp.Literal():
            return node.this if node.is_string else Fraction(number(node.this))
        case exp.Boolean():
            return bool(node.this)
        case exp.Neg():
            inner = constant(node.this)
            return -inner if isinstance(inner, Fraction) and not isinstance(inner, bool) else None
        case exp.Div() | exp.Mul() | exp.Add() | exp.Sub():
            return _arithmetic(node)
        case exp.Cast() if isinstance(node.this, exp.Literal) and node.this.is_string:
            if node.to.this.name in ("DATE", "TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"):
                return _instant(node.this.this, node.sql(dialect="duckdb"))
    return None


def _arithmetic(node: exp.Binary) -> Fraction | None:
    left, right = constant(node.this), constant(node.expression)
    if not (type(left) is Fraction and type(right) is Fraction):
        return None
    match node:
        case exp.Div():
            if right == 0:
                raise DuotoneError(f"{node.sql()} divides by zero")
            return left / right
        case exp.Mul():
            return left * right
        case exp.Add():
            return left + right
    return left - right


def _instant(text: str, expression: str) -> datetime.date:
    try:
        moment = datetime.date.fromisoformat(text) if len(text) <= 10 else datetime.datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or re.search(r"[.,][0-9]{7}", text) or getattr(moment, "tzinfo", None) is not None:
        raise DuotoneError(f"{expression}: write a date as 2025-12-31, a time as 2025-12-31 23:59:59, with at most 6 decimals")
    return moment
