"""Functions of numbers: floats, with the conditions under which they have a value."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import ibis
import ibis.expr.operations as ops

from duotone.tables.engines.formulas.parts import Value, as_kind
from duotone.tables.sql.condition import Formula, Operand, Part

LEAST, MOST, MOST_ADDED = 1e-150, 1e150, 1e300


def _whole_number(column: Any) -> bool:
    """Whether a number is a whole one of 64 bits, which can be added to and multiplied with any other that can."""
    node = column.op()
    return isinstance(node, ops.Cast) and node.arg.dtype.is_integer()


Guarded = tuple[Sequence[Any], Any]
"""Conditions, of which each is asked where those before it hold, and a number that is computed where all do; elsewhere null."""


def number_of(formula: Formula, value: Value) -> Any:
    """A number computed from numbers; null where it has no value."""
    guards, number = _guarded(formula, value)
    return ibis.cases(*((~guard, ibis.null("float64")) for guard in guards), else_=number) if guards else number


def _guarded(formula: Formula, value: Value) -> Guarded:
    """A number computed from numbers, of which those that are computed so themselves stand beside their own conditions: were
    each a value for itself, or null, what is nested would grow by a factor with each step."""
    guards: list[Any] = []
    numbers: list[Any] = []
    for part in formula.parts:
        if isinstance(part, Operand) and part.made is not None and part.made.function in NUMBERS:
            before, number = _guarded(part.made, value)
            guards += [guard for guard in before if not any(guard.equals(other) for other in guards)]
        else:
            number = as_kind(part, "float", value)
        numbers.append(number)
    if formula.function in ADDED:
        added = [column.between(-MOST_ADDED, MOST_ADDED) for part, column in zip(formula.parts, numbers, strict=True)
                if not _can_be_added(part, column)]  # fmt: skip
        return (*guards, *added), ADDED[formula.function](*numbers)
    more, number = NUMBERS[formula.function](*numbers)
    return (*guards, *more), number


ADDED = {"add": operator.add, "subtract": operator.sub}
BOUNDED = (*ADDED, "multiply", "divide", "sqrt", "exp", "ln", "log10", "sign", "modulo", "length")
"""Functions whose values are so far below the largest float that any number of them may be added."""


def _can_be_added(part: Part | None, column: Any) -> bool:
    small = isinstance(part, Operand) and part.made is not None and part.made.function in BOUNDED
    return small or _whole_number(column)


def _can_be_multiplied(*columns: Any) -> list[Any]:
    return [column.abs().between(LEAST, MOST) | (column == 0) for column in columns if not _whole_number(column)]


@ibis.udf.scalar.builtin(name="floor", signature=(("float64",), "float64"))
def _floor(number):  # type: ignore[no-untyped-def]
    """As a float; on Spark, whose own has 64 bits, what rests on it is refused (`abilities`)."""


BELOW_HALF = math.nextafter(0.5, 0.0)
"""What is added to a number that is not negative before it is rounded down, so that halves go up and nothing below them does:
with a half itself, the float below a half would go up too."""


def _rounded(column: Any, decimals: Any) -> Guarded:
    """Halves away from zero."""
    places = int(decimals.op().value)
    scale = float(10 ** abs(places))
    size = column.abs()
    scaled = size * scale if places > 0 else size / scale
    nearest = _floor(scaled + BELOW_HALF)
    nearest = nearest / scale if places > 0 else nearest * scale
    signed = nearest * ibis.cases((column < 0, -1.0), else_=ibis.literal(1.0))
    return (_can_be_multiplied(column) if places else ()), signed


def _decimal(column: Any, digits: Any, decimals: Any) -> Guarded:
    """A number with so many digits, of which so many are decimals; null where it has more before the point."""
    guards, number = _rounded(column, decimals)
    most = 10.0 ** (int(digits.op().value) - int(decimals.op().value))
    return guards, ibis.cases((number.abs() < most, number))


NUMBERS: dict[str, Callable[..., Guarded]] = {
    **{name: lambda a, b, rule=rule: ((), rule(a, b)) for name, rule in ADDED.items()},
    "multiply": lambda a, b: (_can_be_multiplied(a, b), a * b),
    "divide": lambda a, b: ([*_can_be_multiplied(a), b.abs().between(LEAST, MOST)], a / b),
    "abs": lambda x: ((), x.abs()),
    "floor": lambda x: ((), _floor(x)),
    "ceil": lambda x: ((), -_floor(-x) + 0.0),
    "trunc": lambda x: ((), ibis.cases((x < 0, -_floor(-x)), else_=_floor(x))),
    "round": _rounded,
    "decimal": _decimal,
    "sign": lambda x: ((), ibis.cases((x > 0, 1.0), (x < 0, -1.0), (x == 0, 0.0))),
    "sqrt": lambda x: ([x >= 0], x.sqrt()),
    "exp": lambda x: ([x.between(-300.0, 300.0)], x.exp()),
    "ln": lambda x: ([x > 0], x.ln()),
    "log10": lambda x: ([x > 0], x.log10()),
    "integer": lambda x: ((), _even(x)),
}
"""Functions of numbers, which are null where a number is: where they have a value, each asked where those before it hold, and
the value."""


def _even(column: Any) -> Any:
    """A number as a whole one, as casts have it: halves to the even one."""
    down = _floor(column)
    over = column - down
    odd = _floor(down / 2.0) * 2.0 < down
    return _raised(column, (over > 0.5) | ((over == 0.5) & odd))


def _raised(column: Any, up: Any) -> Any:
    """A number rounded down, or one more."""
    return _floor(column) + ibis.cases((up, 1.0), else_=ibis.literal(0.0))
