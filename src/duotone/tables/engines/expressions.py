"""Conditions and values of one row, as Ibis expressions that cannot fail on any row; what an engine would compute
differently is refused by name."""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import ibis

from duotone.errors import DuotoneError
from duotone.model.dataset import Grid
from duotone.tables.engines.engine import Source, quietly
from duotone.tables.engines.stored_values import TYPES
from duotone.tables.sql.condition import (
    OPERATORS,
    Condition,
    Formula,
    IsNull,
    Joined,
    Kind,
    Known,
    Like,
    Not,
    OneOf,
    Operand,
    Value,
    parts_of,
)
from duotone.tables.sql.functions import FUNCTIONS, computed, from_text
from duotone.tables.sql.functions.function import Function, day_from, number_from, quotient, real, wide

PATTERNS = {"like": "like", "starts": "startswith", "ends": "endswith", "contains": "contains", "matches": "re_search"}
INT64 = 2**63 - 1
LONG = 16
"""From this many digits on, a decimal may not be exact as a float."""


def read(operand: Operand, table: Any) -> Any:
    """A column in the requested reading. Unreadable values and NaN are null; −0.0 is 0.0."""
    if operand.made is not None:
        value = computed(operand.made, operand.kind, lambda part: _part(part, table))
        return value + 0.0 if operand.kind == "float" else value  # only numbers can be NaN
    if operand.kind in ("float", "decimal"):
        return real(_number(operand, table))
    column = table[operand.column]
    if column.type().is_timestamp() and column.type().scale not in (None, 6):
        column = column.try_cast("timestamp(6)")  # a time out of range is null
    if operand.reading == "try":
        return column.try_cast("boolean") if operand.kind == "boolean" else day_from(column)
    return column


def _part(part: Operand | Condition, table: Any) -> Any:
    return read(part, table) if isinstance(part, Operand) else holds(part, table)


def unchecked(operand: Operand, table: Any) -> Any:
    """Like `read`, but NaN stays, which engines treat as larger than infinity: testing for it is slow."""
    return _number(operand, table) if operand.made is None and operand.kind in ("float", "decimal") else read(operand, table)


def _number(operand: Operand, table: Any) -> Any:
    column = table[operand.column]
    if operand.reading == "try":
        return number_from(column)
    if column.type().is_decimal() and not (column.type().precision or LONG) < LONG:
        column = column.cast("string")  # engines round long decimals differently, and long texts alike
    return column.cast("float64")


def holds(condition: Condition, table: Any) -> Any:
    """A condition as a Boolean that may be null."""
    match condition:
        case Joined():
            parts = [holds(part, table) for part in condition.parts]
            rule = operator.and_ if condition.rule == "and" else operator.or_
            return balanced(rule, parts) if parts else ibis.literal(condition.rule == "and")
        case Not():
            return ~holds(condition.part, table)
        case Known():
            return holds(condition.part, table).notnull()
        case IsNull():
            return read(condition.operand, table).isnull()
        case OneOf():
            return _among(read(condition.operand, table), condition)
        case Like():
            return getattr(read(condition.operand, table), PATTERNS[condition.how])(condition.pattern)
    left, right = read(condition.operand, table), condition.value
    if isinstance(right, Operand) and right.kind != condition.operand.kind:  # numbers, one of them whole
        return OPERATORS[condition.sign](left.cast("float64"), read(right, table).cast("float64"))
    if isinstance(right, Operand):
        return OPERATORS[condition.sign](left, read(right, table))
    return compared(left, condition.operand.kind, condition.sign, right)


def compared(left: Any, kind: Kind, sign: str, value: Value) -> Any:
    """A value of this type against a constant; non-integers are compared as floats."""
    if kind == "integer" and isinstance(value, Fraction):
        return _compared_integer(left, sign, value)
    if isinstance(value, datetime.datetime):
        return OPERATORS[sign](left, ibis.literal(value, type="timestamp"))
    return OPERATORS[sign](left, ibis.literal(float(value) if isinstance(value, Fraction) else value))


def _compared_integer(column: Any, sign: str, value: Fraction) -> Any:
    """An integer against any number, by an integer that fits: x > 5/2 is x ≥ 3."""
    if sign in ("=", "<>"):
        if value.denominator == 1 and _fits(int(value)):
            return OPERATORS[sign](column, int(value))
        return ibis.ifelse(column.isnull(), ibis.null("boolean"), sign == "<>")
    upward = sign in (">", ">=")
    bound = {">": math.floor(value) + 1, ">=": math.ceil(value), "<": math.ceil(value) - 1, "<=": math.floor(value)}[sign]
    if not _fits(bound):
        return ibis.ifelse(column.isnull(), ibis.null("boolean"), (bound < 0) == upward)
    return column >= bound if upward else column <= bound


def indicator(condition: Condition, table: Any) -> Any:
    """1 if a condition holds, else 0."""
    return wide(1) if condition == Joined("and", ()) else ibis.cases((holds(condition, table), wide(1)), else_=wide(0))


def clipped(column: Any, low: int, high: int) -> Any:
    """A number clipped to two whole numbers; null stays null."""
    return ibis.cases((column.between(low, high), column), (column < low, wide(low)), (column > high, wide(high)))


def steps(value: Operand, grid: Grid, table: Any) -> Any:
    """A value as whole steps of its grid, clipped to its bounds; null stays null.

    A whole number is divided exactly. Any other x becomes the float nearest to x / step; step or 1 / step is itself a
    float. Both are then rounded to the nearest whole number, halves upwards.

    Guarantee: it lies between `grid.low` and `grid.high`, depends on the stored value alone, and never falls as that
    rises.
    """
    step, low, high = grid.step, wide(grid.low), wide(grid.high)
    if value.kind == "integer":
        column = read(value, table)  # it may be computed: a length, a year
        least, most = int(grid.low * step), int(grid.high * step)
        inside = column.cast("int64")
        if step != 1:
            nearest = quotient(inside + wide(int(step) // 2), wide(int(step)), max(-grid.low, grid.high) + 1)
            inside = ibis.greatest(ibis.least(nearest, high), low)
        return ibis.cases((column.between(least, most), inside), (column < least, low), (column > most, high))
    column = unchecked(value, table)
    inside = rounded(column, grid.step)
    below, above = float(grid.low * step), float(grid.high * step)
    if max(-grid.low, grid.high) > NEAR:
        below, above = float((grid.low - 1) * step), float((grid.high + 1) * step)  # farther out, it could overflow
        inside = clipped(inside, grid.low, grid.high)
    return ibis.cases((column.between(below, above), inside), (column < below, low), (column <= math.inf, high))  # not NaN


def rounded(column: Any, step: Fraction) -> Any:
    """A number rounded to the nearest whole step, halves upwards."""
    scaled = column * float(1 / step) if step < 1 else column / float(step)
    halves = (scaled * 2.0).floor().cast("float64")  # a whole number times 0.5 would be a decimal, which is slow
    nearest = (halves * 0.5).ceil().cast("int64")  # ⌈⌊2d⌋ / 2⌉ = ⌊d + ½⌋, without intermediate rounding
    if step > 1:  # dividing the smallest floats underflows, which is an error on some engines
        nearest = ibis.cases((column.between(float(-step / 4), float(step / 4)), wide(0)), else_=nearest)
    return nearest


NEAR = 2**40
"""Up to this many steps from zero, a value within the bounds stays within them in steps: floats are off by less than
2^−10 steps, so the nearest whole number is the same."""


def added(terms: Sequence[Any]) -> Any:
    """The sum of expressions."""
    return balanced(operator.add, terms)


def balanced(rule: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """Parts joined by an associative rule, as a shallow tree."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return rule(balanced(rule, parts[:middle]), balanced(rule, parts[middle:]))


def _among(column: Any, condition: OneOf) -> Any:
    values = condition.values
    if condition.operand.kind != "integer":
        return column.isin([float(value) if isinstance(value, Fraction) else value for value in values])
    integers = [int(value) for value in values if isinstance(value, Fraction) and value.denominator == 1 and _fits(int(value))]
    return column.isin(integers) if integers else ibis.ifelse(column.isnull(), ibis.null("boolean"), False)


def _fits(value: int) -> bool:
    return -INT64 - 1 <= value <= INT64


MOST_NODES = 3000
"""Most nodes of an expression. Engines have no names for parts of one, so a part is repeated wherever it is used, and
nested expressions grow with each step: beyond this, parsing takes longer than reading the rows."""


def require_able(source: Source, question: Any) -> None:
    """Refuse what the engine would compute differently, or could fail at on some row.

    Guarantee: depends on the question and the engine alone; a pattern is compiled by the engine on an empty text.
    """
    for part in parts_of(question):
        if isinstance(part, Like) and part.how != "like":
            _require_pattern(source, part)
        elif isinstance(part, Formula):
            _require_function(source, FUNCTIONS[part.function])
        elif isinstance(part, Operand):
            _require_reading(source, part)
            _require_size(part)


def _require_pattern(source: Source, like: Like) -> None:
    if not source.engine.can.proven:
        raise DuotoneError(f"whether {like.operand.column} begins with, ends with or contains a text: tested on {TESTED} only")
    if like.how != "matches":
        return
    if not source.engine.can.embedded:
        raise DuotoneError(
            f"{source.engine.name} has other regular expressions than DuckDB: use like, starts_with, ends_with or "
            "contains there"
        )
    tried = ibis.literal("").re_search(like.pattern).name("tried").as_table()
    quietly(lambda: source.engine.run(tried), f"{like.pattern} is not a regular expression that DuckDB knows")


TESTED = "DuckDB, Postgres and Spark"


def _require_function(source: Source, function: Function) -> None:
    if not source.engine.can.proven and not function.tried:
        raise DuotoneError(f"values computed by {function.name} are tested on {TESTED} only: store the value as a column")
    if not source.engine.can.same_functions and function.spark:
        raise DuotoneError(function.spark.format(function.name))


def _require_reading(source: Source, operand: Operand) -> None:
    computed = operand.made is not None and from_text(operand.made)
    why = source.engine.can.no_casts
    if not why or not (operand.reading == "try" or computed):
        return
    what = f"{operand.column} is of text" if computed else f"column {operand.column} holds text"
    raise DuotoneError(f"{why}: {what}, and cannot be read as another type there: store it with that type")


def _require_size(operand: Operand) -> None:
    if operand.made is None:
        return
    columns = [part for part in parts_of(operand) if isinstance(part, Operand) and part.made is None]
    rows = ibis.table({c.column: "string" if c.reading == "try" else TYPES[c.kind] for c in columns}, name="rows")
    if size(read(operand, rows).op()) > MOST_NODES:
        raise DuotoneError(f"{operand.column} is nested too deeply: compute a part of it beforehand, as a column")


def size(node: Any) -> int:
    """The number of nodes of a fully expanded expression."""

    @cache
    def of(part: Any) -> int:
        return 1 + sum(map(of, part.__children__))

    return of(node)
