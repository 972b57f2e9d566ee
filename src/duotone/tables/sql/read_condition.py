"""Row conditions from SQL, the values that they compare, and constants.

What could fail on one row (division by zero, an overflow, a cast) is null instead; what depends on more than the row
(windows, subqueries, random functions, the clock) is refused before anything is read.
"""

from __future__ import annotations

import datetime
import operator
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal

from sqlglot import exp

from duotone.errors import DuotoneError, UnreadableColumn
from duotone.privacy.numbers import number
from duotone.tables.sql.condition import (
    MIRRORED,
    NUMERIC,
    Columns,
    Compare,
    Condition,
    IsNull,
    Joined,
    Kind,
    Known,
    Like,
    Not,
    OneOf,
    Operand,
    Part,
    Pattern,
    Value,
    both,
    holds,
    leaves,
)
from duotone.tables.sql.functions import read_function
from duotone.tables.sql.functions.casts import CASTS, cast, choice, chosen_from, decimal
from duotone.tables.sql.functions.function import as_kind, kind_of, undeclared
from duotone.tables.sql.functions.texts import ORDERED, require_text
from duotone.tables.sql.functions.times import folded, span, whole_days
from duotone.tables.sql.syntax import column_name, written


def constant(node: exp.Expression) -> Value | None:
    """A constant's value; numbers are exact. None if it is not a constant."""
    match node:
        case exp.Paren():
            return constant(node.this)
        case exp.Literal():
            return node.this if node.is_string else Fraction(number(node.this))
        case exp.Boolean():
            return bool(node.this)
        case exp.Neg():
            inner = constant(node.this)
            return -inner if isinstance(inner, Fraction) else None
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            return _moved(node) if span(node.expression) is not None else _arithmetic(node)
        case exp.DateFromParts():
            return _made_date(node)
        case exp.Cast() if isinstance(node.this, exp.Literal) and node.this.is_string:
            if node.to.this.name in ("DATE", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "DATETIME"):
                return _instant(node.this.this, node.sql(dialect="duckdb"), zone=node.to.this.name == "TIMESTAMPTZ")
    return None


def _moved(node: exp.Expression) -> datetime.date | None:
    """A constant date, plus or minus a span of time."""
    start, by, text = constant(node.this), span(node.expression), node.sql(dialect="duckdb")
    if start is None or by is None:
        return None
    if not isinstance(node, exp.Add | exp.Sub):
        raise DuotoneError(f"{text}: a span of time is added or subtracted")
    return folded(start, by if isinstance(node, exp.Add) else -by, text)


def _made_date(node: exp.DateFromParts) -> datetime.date:
    text, parts = node.sql(dialect="duckdb"), [constant(node.args[name]) for name in ("year", "month", "day")]
    numbers = [int(part) for part in parts if type(part) is Fraction and part.denominator == 1]
    try:
        return datetime.date(*numbers)
    except (TypeError, ValueError, OverflowError):
        raise DuotoneError(f"{text}: make_date needs three constant whole numbers that make a date") from None


ARITHMETIC: dict[type[exp.Binary], Callable[[Fraction, Fraction], Fraction]] = {
    exp.Add: operator.add, exp.Sub: operator.sub, exp.Mul: operator.mul, exp.Div: operator.truediv,
}  # fmt: skip


def _arithmetic(node: exp.Binary) -> Fraction | datetime.date | None:
    left, right = constant(node.this), constant(node.expression)
    if type(left) is datetime.date and type(right) is Fraction and isinstance(node, exp.Add | exp.Sub):
        text = node.sql(dialect="duckdb")
        return folded(left, whole_days(right if isinstance(node, exp.Add) else -right, text), text)
    if not (type(left) is Fraction and type(right) is Fraction):
        return None
    if isinstance(node, exp.Div) and right == 0:
        raise DuotoneError(f"{node.sql()} divides by zero")
    return ARITHMETIC[type(node)](left, right)


def _instant(text: str, expression: str, *, zone: bool = False) -> datetime.date:
    """A date or a time; one with a zone, if that is meant, in UTC."""
    try:
        moment = datetime.date.fromisoformat(text) if len(text) <= 10 else datetime.datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if zone and isinstance(moment, datetime.datetime) and moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    if moment is None or re.search(r"[.,][0-9]{7}", text) or getattr(moment, "tzinfo", None) is not None:
        raise DuotoneError(f"{expression}: write a date as 2025-12-31, a time as 2025-12-31 23:59:59, with at most 6 decimals")
    return moment


def compare(operand: Operand, sign: str, value: Value, text: str) -> Compare:
    """An operand against a constant of its own kind."""
    if operand.kind == "untyped":
        if isinstance(value, str) and sign in ORDERED:
            require_text(operand, value)
        operand = as_kind(operand, kind_of(value))
    if isinstance(value, bool):
        fits = operand.kind == "boolean"
    elif isinstance(value, Fraction):
        fits = operand.kind in NUMERIC
        value = value if operand.kind == "integer" else _double(value, text)
    elif isinstance(value, str) and operand.kind in ("date", "time"):
        return compare(operand, sign, _instant(value, text), text)
    elif isinstance(value, str):
        fits = operand.kind == "text"
    else:
        fits = operand.kind in ("date", "time")
        if operand.kind == "time" and not isinstance(value, datetime.datetime):
            value = datetime.datetime.combine(value, datetime.time())
        elif operand.kind != "time" and isinstance(value, datetime.datetime):
            raise DuotoneError(f"{text}: column {operand.column} holds dates: compare it with a date")
    if not fits:
        held = HELD.get(operand.kind, "numbers")
        with_what = WRITTEN_AS.get(operand.kind, "a number, without quotes")
        cure = f", write ({operand.column})::{CAST_TO[kind_of(value)]}, or convert the column" if operand.kind == "text" else ""
        raise DuotoneError(f"{text}: column {operand.column} holds {held}: compare it with {with_what}{cure}")
    return Compare(operand, sign, value)


HELD: Mapping[Kind, str] = {"text": "text", "boolean": "Booleans", "date": "dates", "time": "times"}
WRITTEN_AS: Mapping[Kind, str] = {
    "text": "a text in single quotes", "boolean": "true or false, or ask whether it is null",
    "date": "a date, as '2025-12-31'", "time": "a time, as '2025-12-31 23:59:59'",
}  # fmt: skip
"""The constants that a column is compared with, by its kind; else numbers."""
CAST_TO: Mapping[Kind, str] = {"integer": "double", "float": "double", "boolean": "boolean", "date": "date", "time": "date"}
"""The cast of a text to a constant's kind."""


def _double(value: Fraction, text: str) -> Fraction:
    """The float that the engine compares with."""
    if not abs(value) <= Fraction(sys.float_info.max):
        raise DuotoneError(f"{text}: the number is too large")
    return Fraction(float(value))


SIGNS: dict[type[exp.Expression], str] = {exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
OF_TEXT: dict[type[exp.Expression], Pattern] = {
    exp.Like: "like", exp.ILike: "like", exp.StartsWith: "starts", exp.EndsWith: "ends", exp.Contains: "contains",
    exp.RegexpLike: "matches", exp.RegexpFullMatch: "matches",
}  # fmt: skip
MOST_AGREEING = 500
"""Most comparisons within two conditions that are compared with each other."""


def read_condition(node: exp.Expression, columns: Columns) -> Condition:
    """Read a parsed SQL condition, and check it against the columns."""
    match node:
        case exp.Paren():
            return read_condition(node.this, columns)
        case exp.And() | exp.Or():
            rule: Literal["and", "or"] = "and" if isinstance(node, exp.And) else "or"
            return Joined(rule, tuple(read_condition(part, columns) for part in joined_parts(node)))
        case exp.Not():
            return Not(read_condition(node.this, columns))
        case exp.Coalesce() if is_condition(node, columns):
            part, otherwise = read_condition(node.this, columns), bool(node.expressions[0].this)
            return Joined("or", (part, Not(Known(part)))) if otherwise else Joined("and", (part, Known(part)))
        case exp.Boolean():
            return Joined("and" if node.this else "or", ())
        case exp.Is() if is_condition(node, columns) and _is_written_condition(node.this, columns):
            part = read_condition(node.this, columns)
            if isinstance(node.expression, exp.Null):
                return Not(Known(part))
            return Joined("and", (part if node.expression.this else Not(part), Known(part)))
        case exp.Is() if isinstance(node.expression, exp.Null):
            return IsNull(read_operand(node.this, columns))
        case exp.Is() if isinstance(node.expression, exp.Boolean):
            test = compare(read_operand(node.this, columns), "=", bool(node.expression.this), node.sql(dialect="duckdb"))
            return Joined("and", (test, Not(IsNull(test.operand))))
        case exp.In() if is_condition(node, columns):
            return _one_of(node, columns)
        case exp.Between():
            low = _compared(node.this, ">=", node.args["low"], columns, node)
            return Joined("and", (low, _compared(node.this, "<=", node.args["high"], columns, node)))
        case exp.NullSafeEQ() | exp.NullSafeNEQ():
            same = _same(node, columns)
            return same if isinstance(node, exp.NullSafeEQ) else Not(same)
    if isinstance(node, exp.EQ | exp.NEQ) and any(
        _is_written_condition(side, columns) for side in (node.this, node.expression)
    ):
        second = read_condition(node.expression, columns)  # of x = 'a' > 20 the latter part says what is wrong
        same = _agree(read_condition(node.this, columns), second)
        return same if isinstance(node, exp.EQ) else Not(same)
    if type(node) in SIGNS and None not in (constant(node.this), constant(node.expression)):
        return _settled(node)
    if type(node) in SIGNS:
        return _compared(node.this, SIGNS[type(node)], node.expression, columns, node)
    if type(node) in OF_TEXT:
        return _like(node, columns)
    operand = read_operand(node, columns)
    if operand.kind == "untyped":
        as_kind(operand, "boolean")
    if operand.kind != "boolean":
        raise DuotoneError(f"{node.sql(dialect='duckdb')} is not a condition: compare it with something")
    return Compare(operand, "=", True)


def _agree(first: Condition, second: Condition) -> Condition:
    """Both or neither; unknown if one is."""
    for part, other in ((first, second), (second, first)):
        if isinstance(part, Joined) and not part.parts:  # true or false
            return other if part.rule == "and" else Not(other)
    if sum(1 for part in (first, second) for _ in leaves(part)) > MOST_AGREEING:  # each is written twice
        raise DuotoneError("the question is nested too deeply: compare fewer conditions with each other by =")
    return Joined("or", (Joined("and", (first, second)), Joined("and", (Not(first), Not(second)))))


def _settled(node: exp.Expression) -> Condition:
    """Two constants, as in 1 = 1, which is true."""
    left, right = constant(node.this), constant(node.expression)
    if not (type(left) is type(right) and (isinstance(left, Fraction) or isinstance(node, exp.EQ | exp.NEQ))):
        raise DuotoneError(
            f"{node.sql(dialect='duckdb')} compares two constants: name a column. A condition on rows stands after the "
            "comparison, as in select count(*) > 20 where x = 'a', or in count(*) filter (where x = 'a') > 20"
        )
    return Joined("and" if holds(left, SIGNS[type(node)], right) else "or", ())


def _like(node: exp.Expression, columns: Columns) -> Condition:
    """A text against a pattern: with % and _, its beginning, its end, a part, or a regular expression."""
    text, how = node.sql(dialect="duckdb"), OF_TEXT[type(node)]
    pattern = constant(node.expression)
    if not isinstance(pattern, str):
        raise DuotoneError(f"{text}: a pattern must be a constant text")
    operand = read_operand(node.this, columns)
    if operand.kind not in ("text", "untyped"):
        raise DuotoneError(f"{text}: patterns are for text, and {operand.column} holds none")
    if how == "like" and "\\" in pattern:
        raise DuotoneError(f"{text}: engines read a backslash in a pattern differently; compare with = instead")
    if isinstance(node, exp.ILike):
        operand = read_operand(exp.Lower(this=node.this), columns)
        pattern = pattern.lower()
    if isinstance(node, exp.RegexpFullMatch):
        pattern = f"^(?:{pattern})$"
    like = Like(as_kind(operand, "text"), pattern, how)
    return Not(like) if node.args.get("negate") else like


def _same(node: exp.Expression, columns: Columns) -> Condition:
    """Equal, or both null; never unknown."""
    if isinstance(node.expression, exp.Null):
        return IsNull(read_operand(node.this, columns))
    equal = _compared(node.this, "=", node.expression, columns, node)
    sides = [equal.operand, *([equal.value] if isinstance(equal.value, Operand) else [])]
    there = Joined("and", (equal, *(Not(IsNull(side)) for side in sides)))
    return Joined("or", (there, Joined("and", tuple(map(IsNull, sides))))) if len(sides) > 1 else there


def joined_parts(node: exp.Connector) -> Iterator[exp.Expression]:
    """The operands of a chain of and, or of or."""
    for part in node.flatten():
        if isinstance(part, exp.Expression):  # as every part is
            yield part


def _one_of(node: exp.In, columns: Columns) -> Condition:
    text = node.sql(dialect="duckdb")
    if constant(node.this) is not None or None in map(constant, node.expressions):
        return Joined("or", tuple(_compared(node.this, "=", part, columns, node) for part in node.expressions))
    operand = read_operand(node.this, columns)
    constants = [constant(part) for part in node.expressions]
    tests = [compare(operand, "=", value, text) for value in constants if value is not None]
    if len({test.operand for test in tests}) > 1:  # for a CSV file's column, each constant determines its kind
        raise DuotoneError(f"{text}: the constants after in must all be of one kind")
    return OneOf(tests[0].operand, tuple(dict.fromkeys(test.constant for test in tests)))


def read_operand(node: exp.Expression, columns: Columns) -> Operand:
    """A column, or a value computed from a row's columns, which never fails."""
    part = read_part(node, columns)
    if not isinstance(part, Operand):
        raise DuotoneError(f"{node.sql(dialect='duckdb')} is the same on every row: name a column")
    return part


def read_numbers(node: exp.Expression, columns: Columns, text: str) -> Operand:
    """A value to add up; `text` is the whole aggregate."""
    value = read_operand(node, columns)
    if value.kind == "boolean":  # yes is 1, and no is 0
        return read_operand(exp.cast(exp.Paren(this=node.copy()), "int"), columns)
    untyped = [column for column in chosen_from(value) if columns.get(column) == "untyped"]
    if untyped and value.kind in ("text", "untyped"):
        raise undeclared(dict.fromkeys(untyped, "number"))
    if value.kind not in NUMERIC:
        share = "" if value.made else f"; for a share write a condition, as in avg({value.column} = 'a')"
        cure = f": for its numbers write ({value.column})::double, or convert the column{share}" if value.kind == "text" else ""
        raise DuotoneError(f"{text}: {value.column} does not hold numbers{cure}")
    return value


def filtered(node: exp.Expression, rows: Condition, columns: Columns) -> tuple[exp.Expression, Condition]:
    """An aggregate without its filter, and the rows that it is over."""
    if not isinstance(node, exp.Filter):
        return node, rows
    return node.this, both(rows, read_condition(node.expression.this, columns))


def read_part(node: exp.Expression, columns: Columns) -> Part:
    """A value of each row, or a constant."""
    fixed = constant(node)
    if fixed is not None:
        return fixed
    match node:
        case exp.Paren():
            return read_part(node.this, columns)
        case exp.Column():
            return _column(node, columns)
        case exp.Case() | exp.If():
            return _chosen(node, columns)
        case exp.Cast() | exp.TryCast():
            return _cast(node, columns)
    if is_condition(node, columns):
        condition = read_condition(node, columns)
        return choice(written(node, columns), [condition, Not(condition)], [True, False, None])
    made = read_function(node, written(node, columns), lambda part: read_part(part, columns))
    if made is None:
        raise DuotoneError(_refusal(node))
    return made


def _column(node: exp.Column, columns: Columns) -> Operand:
    name = column_name(node, columns)
    if columns[name] == "other":
        raise UnreadableColumn(name)
    return Operand(name, columns[name])


def _chosen(node: exp.Case | exp.If, columns: Columns) -> Operand:
    """case when … then … else … end, case x when … then … end, and if(…, …, …)."""
    text = written(node, columns)
    branches = [node] if isinstance(node, exp.If) else node.args["ifs"]
    default = node.args.get("false") if isinstance(node, exp.If) else node.args.get("default")
    conditions: list[Condition]
    if isinstance(node, exp.Case) and node.this is not None:
        conditions = [_compared(node.this, "=", branch.this, columns, node) for branch in branches]
    else:
        conditions = [read_condition(branch.this, columns) for branch in branches]
    values = [_branch(branch.args.get("true"), columns) for branch in branches]
    return choice(text, conditions, [*values, _branch(default, columns)])


def _branch(node: exp.Expression | None, columns: Columns) -> Part | None:
    return None if node is None or isinstance(node, exp.Null) else read_part(node, columns)


def _cast(node: exp.Cast, columns: Columns) -> Part:
    """A cast that is null if it would fail."""
    target, text = CASTS.get(node.to.this.name), written(node, columns)
    if target is None:
        raise DuotoneError(f"{text}: casts are to integer, double, text, date, timestamp or Boolean")
    if is_condition(node.this, columns) and target in ("integer", "float"):
        condition = read_condition(node.this, columns)
        return choice(text, [condition, Not(condition)], [Fraction(1), Fraction(0), None])
    operand = read_operand(node.this, columns)
    if node.to.this.name == "DECIMAL":
        digits, decimals, *_ = (*(int(part.name) for part in node.to.expressions), 0)
        return decimal(operand, digits, decimals, text)
    if target == "time" and operand.kind == "text":
        raise DuotoneError(
            f"{text}: text is not read as a time: store it as a timestamp; of dates, write {operand.column}::date"
        )
    return cast(operand, target, text)


def _compared(left: exp.Expression, sign: str, right: exp.Expression, columns: Columns, comparison: exp.Expression) -> Compare:
    fixed, other = constant(right), constant(left)
    if fixed is None and other is not None:
        return _compared(right, MIRRORED[sign], left, columns, comparison)
    if other is not None:
        raise DuotoneError(f"{comparison.sql()} compares two constants: name a column")
    if sign in ("=", "<>") and exp.Null in (type(left), type(right)):
        named = (right if isinstance(left, exp.Null) else left).sql(dialect="duckdb")
        raise DuotoneError(f"NULL is equal to nothing: write {named} IS {'NOT ' * (sign == '<>')}NULL")
    operand = read_operand(left, columns)
    if fixed is None:
        second = read_operand(right, columns)
        operand, second = _of_one_kind(operand, second, sign)
        if {operand.kind, second.kind} == {"date", "time"}:
            operand, second = (cast(side, "time", side.column) for side in (operand, second))
        if operand.kind != second.kind and not {operand.kind, second.kind} <= set(NUMERIC):
            raise DuotoneError(f"{comparison.sql()}: {operand.column} and {second.column} hold different kinds of values")
        return Compare(operand, sign, second)
    return compare(operand, sign, fixed, comparison.sql(dialect="duckdb"))


def _of_one_kind(operand: Operand, second: Operand, sign: str) -> tuple[Operand, Operand]:
    """Two columns as they are compared: one without a declared type has no order, and must be what the other is."""
    if operand.kind == second.kind == "untyped" and sign in ORDERED:
        raise undeclared({operand.column: "number", second.column: "number"})
    kinds = {operand.kind, second.kind} - {"untyped"}
    kind: Kind = next(iter(kinds), "text")
    return as_kind(operand, kind) if operand.kind == "untyped" else operand, (
        as_kind(second, kind) if second.kind == "untyped" else second
    )


CHANGING = ("now", "today", "current_timestamp", "uuid", "gen_random_uuid")
"""Functions whose value changes with each call."""


def _refusal(node: exp.Expression) -> str:
    """The error for an unsupported expression."""
    text = node.sql(dialect="duckdb")
    for kinds, why in (
        ((exp.Window,), "looks at other rows: a condition is about one row"),
        ((exp.Subquery, exp.Select, exp.Exists), "asks a query of its own: a condition is about one row"),
        ((exp.In,), "asks a query of its own, or no constants: a condition is about one row"),
        ((exp.Rand, exp.Randn), "is random: a condition must say the same each time"),
        ((exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime), "depends on the clock: write the date itself"),
        ((exp.AggFunc,), "is an aggregate, and stands inside a condition: compare it outside"),
    ):
        if isinstance(node, kinds):
            return f"{text} {why}"
    if isinstance(node, exp.Anonymous) and node.name.lower() in CHANGING:
        return f"{text} changes from call to call: write the value itself"
    return (
        f"{text} is not understood here: use columns, constants, =, <>, <, <=, >, >=, in, between, like, is null, and, or, "
        "not, and the functions of docs/sql.md"
    )


def is_condition(node: exp.Expression, columns: Columns) -> bool:
    """Whether an expression is a condition on a row, and not another value."""
    inner: Any = node.unnest()
    match inner:
        case exp.Column():
            return columns[column_name(inner, columns)] == "boolean"
        case exp.Coalesce():  # with true or false if it would be unknown
            falls_back = len(inner.expressions) == 1 and isinstance(inner.expressions[0], exp.Boolean)
            return falls_back and is_condition(inner.this, columns)
        case exp.Is():
            return isinstance(inner.expression, exp.Null | exp.Boolean)
        case exp.In():
            return bool(inner.expressions) and not inner.args.get("query")
    return type(inner) in CONDITIONS


CONDITIONS = {exp.And, exp.Or, exp.Not, exp.Boolean, exp.Between, exp.NullSafeEQ, exp.NullSafeNEQ, *SIGNS, *OF_TEXT}
"""Nodes that are conditions whatever their operands."""


def _is_written_condition(node: exp.Expression, columns: Columns) -> bool:
    """Whether an expression is a condition, and neither a Boolean column nor a constant."""
    return not isinstance(node.unnest(), exp.Column | exp.Boolean) and is_condition(node, columns)
