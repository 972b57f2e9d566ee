"""A column or a computed value by itself: what bounds and grids are declared for."""

from __future__ import annotations

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import NUMERIC, Columns, Operand
from duotone.tables.sql.formulas.parts import as_floats
from duotone.tables.sql.read_condition import read_operand
from duotone.tables.sql.syntax import parse


def value_name(text: str, columns: Columns) -> str:
    """How a question writes a column, or a value computed from columns: what its bounds are declared for.

    >>> value_name("Price*amount", {"price": "float", "amount": "integer"})
    'price * amount'
    """
    return text if text in columns else _computed(text, columns).column


def read_value(text: str, columns: Columns) -> Operand:
    """What `value_name` names, as numbers."""
    value = Operand(text, columns[text]) if text in columns else _computed(text, columns)
    if value.kind not in NUMERIC:
        raise DuotoneError(f"{value.column} does not hold numbers: give bounds for a column that does")
    return as_floats(value)


def _computed(text: str, columns: Columns) -> Operand:
    select = parse(text, columns)
    if len(select.expressions) != 1 or any(value for name, value in select.args.items() if name != "expressions"):
        raise DuotoneError(f"bounds are for a column or for a value computed from columns, got {text}")
    for column in select.find_all(exp.Column):
        if (name := f"{column.table}.{column.name}") in columns:  # a public table's column that has the name of another
            column.replace(exp.column(name, quoted=True))
    return read_operand(select.expressions[0], columns)
