"""Computed values from SQL, by the family of functions that they are of."""

from __future__ import annotations

from sqlglot import exp

from duotone.tables.sql.condition import Operand
from duotone.tables.sql.formulas.casts import read_cast
from duotone.tables.sql.formulas.choices import read_choice
from duotone.tables.sql.formulas.date_arithmetic import read_date_arithmetic
from duotone.tables.sql.formulas.numbers import read_number
from duotone.tables.sql.formulas.parts import Read
from duotone.tables.sql.formulas.texts import read_text
from duotone.tables.sql.formulas.time_formats import read_time_format
from duotone.tables.sql.formulas.times import read_time

FAMILIES = (read_number, read_choice, read_text, read_time, read_time_format, read_date_arithmetic, read_cast)


def read_formula(node: exp.Expression, text: str, read: Read) -> Operand | None:
    """A value computed from others; None where it is nothing that is known."""
    for family in FAMILIES:
        value = family(node, text, read)
        if value is not None:
            return value
    return None
