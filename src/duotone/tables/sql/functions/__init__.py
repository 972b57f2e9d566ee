"""The functions of SQL: one table, for parsing computed values from a question and for computing them on engines.

Guarantee: a computed value is a value or null for any row, depends on no other row, and is the same on every engine.
Numbers are floats; overflow, underflow, division by zero and undefined results are null (docs/reading.md).

`FUNCTIONS` has each function once: its SQL syntax, its result, its Ibis expression, and engines that are refused.
`function` defines what a function and its parts are. Families: `numbers`, `texts`, `times` (with spans of time), and
`casts` (with choices among several values). A new function is one entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from duotone.tables.sql.condition import Formula, Kind, Operand, Part
from duotone.tables.sql.functions.casts import CASTING, CHOICES
from duotone.tables.sql.functions.function import Call, Form, Function, Value, expression
from duotone.tables.sql.functions.numbers import NUMBERS, number_of
from duotone.tables.sql.functions.texts import TEXTS
from duotone.tables.sql.functions.times import INTERVALS, TIMES

FUNCTIONS: dict[str, Function] = {
    function.name: function for family in (NUMBERS.values(), CHOICES, TEXTS, TIMES, INTERVALS, CASTING) for function in family
}
"""Every function, by its name."""
FORMS: dict[type[exp.Expression], tuple[Function, Form]] = {
    node: (function, form) for function in FUNCTIONS.values() for node, form in function.sql.items()
}
"""Every syntax of a function, by the parser's node."""


def read_function(node: exp.Expression, text: str, read: Callable[[exp.Expression], Part]) -> Operand | None:
    """A computed value; None if no function has this name."""
    if type(node) not in FORMS:
        return None
    function, form = FORMS[type(node)]
    made = form.read(Call(node, text, read))
    return made if made is None or isinstance(made, Operand) else function.of(text, *made)


def from_text(formula: Formula) -> bool:
    """Whether it reads computed text as another kind."""
    return FUNCTIONS[formula.function].from_text


def computed(formula: Formula, kind: Kind, value: Value) -> Any:
    """A formula of this kind as an Ibis expression, from those of its parts."""
    function = FUNCTIONS[formula.function]
    if function.where is not None:
        return number_of(formula, value)
    return function.compute(*(expression(part, function.takes or kind, value) for part in formula.parts))
