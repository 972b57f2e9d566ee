"""The columns that names in a question mean."""

from __future__ import annotations

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import Columns
from duotone.tables.sql.table_names import column_list


def written(node: exp.Expression, columns: Columns) -> str:
    """An expression as text, in which two ways to write it look the same: what its bounds are declared for."""

    def named(part: exp.Expression) -> exp.Expression:
        return exp.column(column_name(part, columns)) if isinstance(part, exp.Column) else part

    return node.transform(named).sql(dialect="duckdb")


def column_name(node: exp.Column, columns: Columns) -> str:
    """The column that a name means: itself, or the one that differs in case alone."""
    name = node.name
    if name in columns:
        return name
    matches = [c for c in columns if c.lower() == name.lower() and not node.this.quoted]
    if len(matches) != 1:
        raise DuotoneError(f"the table has no column {name}; it has {column_list(columns)}")
    return matches[0]
