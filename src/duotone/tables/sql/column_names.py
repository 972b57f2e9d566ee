"""The columns that names in a question mean."""

from __future__ import annotations

from sqlglot import exp

from duotone.tables.sql.condition import Columns
from duotone.tables.sql.table_names import no_column


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
        quoted = isinstance(node.this, exp.Identifier) and node.this.args.get("quoted")
        raise no_column(node.name, columns, else_hint=f"a text stands in single quotes, as '{node.name}'" if quoted else "")
    return name


def in_python(name: str) -> str:
    """A name as Python writes it, for advice that can be pasted: in double quotes, unless there are some in it."""
    return f'"{name}"' if name.isprintable() and not {'"', "\\"}.intersection(name) else repr(name)
