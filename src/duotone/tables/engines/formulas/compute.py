"""A formula as an Ibis expression, by the family of functions that it is of."""

from __future__ import annotations

from typing import Any

from duotone.tables.engines.formulas.choices import ALIKE, first_that_holds
from duotone.tables.engines.formulas.from_text import day_from, number_from, real
from duotone.tables.engines.formulas.integers import modulo, truncated_quotient, whole_number
from duotone.tables.engines.formulas.numbers import NUMBERS, number_of
from duotone.tables.engines.formulas.parts import Value, as_kind
from duotone.tables.engines.formulas.texts import TEXTS
from duotone.tables.engines.formulas.times import of_time
from duotone.tables.sql.condition import Formula, Kind


def computed(formula: Formula, kind: Kind, value: Value, holds: Value) -> Any:
    """A formula's value, of this kind, from those of its parts."""
    function, parts = formula.function, formula.parts
    if function in NUMBERS:
        return number_of(formula, value)
    if function == "number from text":
        return real(number_from(value(parts[0])))
    if function == "date from text":
        return day_from(value(parts[0]))
    if function == "whole":
        return whole_number(as_kind(parts[0], "float", value))
    if function == "modulo":
        return modulo(*(as_kind(part, "integer", value) for part in parts))
    if function == "whole quotient":
        return truncated_quotient(as_kind(parts[0], "integer", value), int(parts[1]))  # type: ignore[arg-type]
    if function == "case":
        middle = len(parts) // 2
        return first_that_holds(
            [holds(part) for part in parts[:middle]], [as_kind(part, kind, value) for part in parts[middle:]]
        )
    if function in ALIKE:
        return ALIKE[function](*(as_kind(part, kind, value) for part in parts))
    if function in TEXTS:
        return TEXTS[function](*(as_kind(part, "text", value) for part in parts))
    return of_time(function, [as_kind(part, "time", value) for part in parts])
