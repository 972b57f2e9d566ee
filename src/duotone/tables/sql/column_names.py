"""The columns that names in a question mean."""

from __future__ import annotations

from difflib import get_close_matches

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import Columns
from duotone.tables.sql.table_names import column_list


def written(node: exp.Expression, columns: Columns) -> str:
    """An expression as text, in which two ways to write it look the same: what its bounds are declared for."""

    def named(part: exp.Expression) -> exp.Expression:
        return exp.column(column_name(part, columns)) if isinstance(part, exp.Column) else part

    return node.transform(named).sql(dialect="duckdb")


def find_column(name: exp.Expression, columns: Columns) -> str | None:
    """The column that a name means: itself, or, unless it is quoted, the one that differs in case alone. (No table has two
    such.) None where there is none."""
    if name.name in columns:
        return name.name
    if not isinstance(name, exp.Identifier) or name.args.get("quoted"):
        return None
    matches = [column for column in columns if column.lower() == name.name.lower()]
    return matches[0] if len(matches) == 1 else None


def column_name(node: exp.Column, columns: Columns) -> str:
    """The column that a name means, or an error that says which columns there are."""
    name = find_column(node.this, columns)
    if name is None:
        raise DuotoneError(f"the table has no column {node.name}; it has {column_list(columns)}{_meant(node, columns)}")
    return name


def _meant(node: exp.Column, columns: Columns) -> str:
    """What may have been meant: another column, or a text. Names of columns are public."""
    near = get_close_matches(node.name.lower(), [name.lower() for name in columns], n=1, cutoff=0.75)
    likely = next((name for name in columns if near and name.lower() == near[0]), node.name)
    if likely.strip() != node.name.strip():
        return f": did you mean {likely}?"
    quoted = isinstance(node.this, exp.Identifier) and node.this.args.get("quoted") and likely == node.name
    return f": a text stands in single quotes, as '{node.name}'" if quoted else ""
