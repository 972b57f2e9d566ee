"""Numbers computed from numbers: floats, with the conditions under which they have a value; and 64-bit integers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import ibis
import ibis.expr.operations as ops
from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import NUMERIC, Formula, Operand, Part
from duotone.tables.sql.functions.function import (
    TWO,
    Call,
    Form,
    Function,
    Parts,
    Value,
    as_kind,
    described,
    expression,
    kind_of,
    quotient,
    wide,
)
from duotone.tables.sql.functions.times import of_dates, with_span

LARGEST_ROUND = 15
"""Most decimals that a number is rounded to."""


def _number(part: Part, text: str) -> Part:
    """A number."""
    if isinstance(part, Fraction):
        return part
    if isinstance(part, Operand) and part.kind in NUMERIC:
        return part
    if isinstance(part, Operand) and part.kind == "untyped":
        return as_kind(part, "float")
    cure = f": write ({part.column})::double" if isinstance(part, Operand) and part.kind == "text" else ""
    raise DuotoneError(f"{text} computes with {described(part)}, which is not a number{cure}")


def _whole_numbers(parts: Sequence[Part], text: str) -> list[Part]:
    known = [as_whole(part) if isinstance(part, Operand) else part for part in parts]
    for part in known:
        if not ((isinstance(part, Fraction) and abs(part) < 2**63 and part.denominator == 1) or kind_of(part) == "integer"):
            raise DuotoneError(f"{text} needs whole numbers, and {described(part)} need not be one: round it, as in floor(x)")
    return known


def as_whole(value: Operand) -> Operand:
    """An integer-valued number as an integer; others unchanged."""
    return WHOLE.of(value.column, value) if value.kind == "float" and _is_whole(value) else value


def _is_whole(part: Part | None) -> bool:
    """Whether a number is an integer: a column of integers, computed from integers, or rounded."""
    if isinstance(part, Fraction):
        return part.denominator == 1
    if not isinstance(part, Operand) or part.kind == "integer" or part.made is None:
        return isinstance(part, Operand) and part.kind == "integer"
    made = _made_by(part)
    return made is not None and made.whole(part.made.parts)


def _made_by(part: Part | None) -> Function | None:
    """The function of this family that makes a part; None for other parts."""
    return NUMBERS.get(part.made.function) if isinstance(part, Operand) and part.made is not None else None


def _one(call: Call) -> Parts:
    return (_number(call.part(), call.text),)


def _arithmetic(call: Call) -> Parts | Operand:
    """For numbers; or a date plus days, or the days between two dates."""
    later = with_span(call.node, call.read, call.text)
    if later is not None:
        return later
    left, right = call.part(), call.part("expression")
    dated = of_dates(call.node, left, right, call.text)
    return dated if dated is not None else (_number(left, call.text), _number(right, call.text))


def _modulo(call: Call) -> Parts:
    return _whole_numbers([call.part(), call.part("expression")], call.text)


def _power(call: Call) -> Operand:
    text, base, exponent = call.text, call.part(), call.part("expression")
    if not (isinstance(exponent, Fraction) and exponent in (2, 3, 4, Fraction(1, 2))):
        raise DuotoneError(f"{text}: the exponent must be 2, 3, 4 or 1/2")
    value = _number(base, text)
    if exponent == Fraction(1, 2):
        return SQRT.of(text, value)
    square = MULTIPLY.of(text, value, value)
    return square if exponent == 2 else MULTIPLY.of(text, square, value if exponent == 3 else square)


def _whole_quotient(call: Call) -> Parts | Operand:
    """Towards zero, for integers; for other numbers

    does not round, and / is clearer.
    """
    part, by = call.part(), call.part("expression")
    if not (isinstance(by, Fraction) and by.denominator == 1 and 1 <= by < 2**31):
        raise DuotoneError(f"{call.text}: // needs a constant whole number of at least 1 as divisor")
    (number,) = _whole_numbers([part], call.text)
    return number if isinstance(number, Operand) and by == 1 else (number, by)


def _log10(call: Call) -> Parts | None:
    """In DuckDB log is to base 10."""
    node = call.node
    if node.expression is not None and call.part() != 10:
        return None
    return (_number(call.read(node.expression or node.this), call.text),)


def _round(call: Call) -> Parts:
    decimals = Fraction(0) if call.node.args.get("decimals") is None else call.part("decimals")
    if not (isinstance(decimals, Fraction) and decimals.denominator == 1 and abs(decimals) <= LARGEST_ROUND):
        raise DuotoneError(f"{call.text}: round to a whole number of decimals, at most {LARGEST_ROUND}")
    return _number(call.part(), call.text), decimals


LEAST, MOST, MOST_ADDED = 1e-150, 1e150, 1e300
"""Only numbers up to the last are added, and only zero and those between the first two multiplied: so nothing overflows
or underflows."""
Guarded = tuple[Sequence[Any], Any]
"""Conditions, each evaluated if those before it hold, and a number that is computed if all do; else null."""


def number_of(formula: Formula, value: Value) -> Any:
    """A number computed from numbers; null where it is undefined."""
    guards, number = _guarded(formula, value)
    return ibis.cases(*((~guard, ibis.null("float64")) for guard in guards), else_=number) if guards else number


def _guarded(formula: Formula, value: Value) -> Guarded:
    """A number computed from numbers. Nested ones are combined with their conditions: if each were a separate value or
    null, the expression would grow by a factor with each step."""
    guards: list[Any] = []
    numbers: list[Any] = []
    for part in formula.parts:
        made = _made_by(part)
        if isinstance(part, Operand) and part.made is not None and made is not None and made.where is not None:
            before, number = _guarded(part.made, value)
            guards += [guard for guard in before if not any(guard.equals(other) for other in guards)]
        else:
            number = expression(part, "float", value)
        numbers.append(number)
    function = NUMBERS[formula.function]
    where = function.where or _always
    return (*guards, *where(formula.parts, *numbers)), function.compute(*numbers)


def _always(*_: Any) -> Sequence[Any]:
    return ()


def _whole_column(column: Any) -> bool:
    """Whether it is a 64-bit integer that can be added to and multiplied with any other such number."""
    node = column.op()
    return isinstance(node, ops.Cast) and node.arg.dtype.is_integer()


def _can_be_added(parts: Parts, *columns: Any) -> list[Any]:
    return [
        column.between(-MOST_ADDED, MOST_ADDED)
        for part, column in zip(parts, columns, strict=True)
        if not (((made := _made_by(part)) and made.small) or _whole_column(column))
    ]


def _can_be_multiplied(_: Parts, *columns: Any) -> list[Any]:
    return [column.abs().between(LEAST, MOST) | (column == 0) for column in columns if not _whole_column(column)]


@ibis.udf.scalar.builtin(name="floor", signature=(("float64",), "float64"))
def _floor(number):  # type: ignore[no-untyped-def]
    """As a float; Spark's own has 64 bits, so functions that use it are refused there."""


BELOW_HALF = math.nextafter(0.5, 0.0)
"""Added to a non-negative number before it is rounded down, so that halves go up and nothing below them does: with
exactly a half, the float below a half would go up too."""


def _rounded(column: Any, decimals: Any) -> Any:
    """Halves away from zero."""
    places = int(decimals.op().value)
    scale = float(10 ** abs(places))
    size = column.abs()
    scaled = size * scale if places > 0 else size / scale
    nearest = _floor(scaled + BELOW_HALF)
    nearest = nearest / scale if places > 0 else nearest * scale
    return nearest * ibis.cases((column < 0, -1.0), else_=ibis.literal(1.0))


def _decimal(column: Any, digits: Any, decimals: Any) -> Any:
    """A number with this many digits and decimals; null if it has more before the point."""
    number = _rounded(column, decimals)
    most = 10.0 ** (int(digits.op().value) - int(decimals.op().value))
    return ibis.cases((number.abs() < most, number))


def _can_be_scaled(parts: Parts, column: Any, *_: Any) -> list[Any]:
    return _can_be_multiplied(parts, column) if parts[-1] else []


def _even(column: Any) -> Any:
    """A number as an integer, like casts: halves to the even one."""
    down = _floor(column)
    over = column - down
    odd = _floor(down / 2.0) * 2.0 < down
    return _floor(column) + ibis.cases(((over > 0.5) | ((over == 0.5) & odd), 1.0), else_=ibis.literal(0.0))


LARGEST_WHOLE = 2.0**53
"""Integers beyond it are not exact as floats."""


def _truncated_quotient(a: Any, by: Any) -> Any:
    """Towards zero."""
    divisor = int(by.op().value)
    below = ibis.cases((a % divisor < 0, wide(1)), else_=wide(0))
    return quotient(a, wide(divisor), 2**63 // divisor) + below


def _remainder(a: Any, b: Any) -> Any:
    """With the dividend's sign; by -1 it is 0, even for the least number."""
    apart = ibis.cases(((b != 0) & (b != -1), b), else_=ibis.literal(1, type="int64"))
    return ibis.cases((b == -1, a * 0), (b != 0, a % apart))


def _whole_where_parts_are(parts: Parts) -> bool:
    return all(map(_is_whole, parts))


def _float(name: str, compute: Callable[..., Any], sql: Any = None, **more: Any) -> Function:
    """A float computed from floats: from one, if `sql` is a node alone."""
    forms = {} if sql is None else sql if isinstance(sql, dict) else {sql: Form(_one)}
    return Function(name, "float", "float", compute, forms, **{"where": _always, **more})


JAVA = "Spark rounds {} differently: store the value as a column, or compare the value inside it"
"""Functions that Java's library rounds differently from C's, and those that use Spark's floor, a 64-bit integer."""
OPERATOR = Form(_arithmetic, None)
_NEGATIVE = Form(lambda call: (Fraction(0), *_one(call)), None)
_ROUNDED: dict[str, Any] = {"whole": lambda _: True, "spark": JAVA}

MULTIPLY = _float(
    "multiply", operator.mul, {exp.Mul: OPERATOR, exp.Pow: Form(_power, TWO)}, where=_can_be_multiplied,
    whole=_whole_where_parts_are, small=True,
)  # fmt: skip
SQRT = _float("sqrt", lambda x: x.sqrt(), exp.Sqrt, where=lambda _, x: [x >= 0], small=True)
INTEGER = _float("integer", _even, **_ROUNDED)
"""A number cast to an integer, still as a float."""
DECIMAL = _float("decimal", _decimal, where=_can_be_scaled, spark=JAVA)
WHOLE = Function("whole", "float", "integer", lambda x: ibis.cases((x.between(-LARGEST_WHOLE, LARGEST_WHOLE), x)).cast("int64"))
"""An integer-valued float as an integer; null beyond what is exact."""
NUMBERS: dict[str, Function] = {
    function.name: function
    for function in (
        MULTIPLY, SQRT, INTEGER, DECIMAL, WHOLE,
        _float("add", operator.add, {exp.Add: OPERATOR}, where=_can_be_added, whole=_whole_where_parts_are, small=True),
        _float("subtract", operator.sub, {exp.Sub: OPERATOR, exp.Neg: _NEGATIVE}, where=_can_be_added,
               whole=_whole_where_parts_are, small=True),
        _float("divide", operator.truediv, {exp.Div: OPERATOR}, small=True,
               where=lambda parts, a, b: [*_can_be_multiplied(parts, a), b.abs().between(LEAST, MOST)]),
        _float("abs", lambda x: x.abs(), exp.Abs, whole=_whole_where_parts_are),
        _float("sign", lambda x: ibis.cases((x > 0, 1.0), (x < 0, -1.0), (x == 0, 0.0)), exp.Sign,
               whole=_whole_where_parts_are, small=True),
        _float("exp", lambda x: x.exp(), exp.Exp, where=lambda _, x: [x.between(-300.0, 300.0)], small=True, spark=JAVA),
        _float("ln", lambda x: x.ln(), exp.Ln, where=lambda _, x: [x > 0], small=True, spark=JAVA),
        _float("log10", lambda x: x.log10(), {exp.Log: Form(_log10, TWO)}, where=lambda _, x: [x > 0], small=True, spark=JAVA),
        _float("floor", _floor, exp.Floor, **_ROUNDED),
        _float("ceil", lambda x: -_floor(-x) + 0.0, exp.Ceil, **_ROUNDED),
        _float("trunc", lambda x: ibis.cases((x < 0, -_floor(-x)), else_=_floor(x)), exp.Trunc, **_ROUNDED),
        _float("round", _rounded, {exp.Round: Form(_round, ("this", "decimals"))}, where=_can_be_scaled,
               whole=lambda parts: isinstance(parts[1], Fraction) and parts[1] <= 0, spark=JAVA),
        Function("modulo", "integer", "integer", _remainder, {exp.Mod: Form(_modulo, TWO)}),
        Function("whole quotient", "integer", "integer", _truncated_quotient, {exp.IntDiv: Form(_whole_quotient, None)}),
    )
}  # fmt: skip
"""By name."""
