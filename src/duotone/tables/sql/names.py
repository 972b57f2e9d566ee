"""Names in a question: which column one means, and that the table after from, or before a column, is the table itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

from sqlglot import exp

from duotone.errors import DuotoneError, UnknownColumn
from duotone.tables.sql.condition import Columns

TEXT = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson")
ENDINGS = (*TEXT, *(f"{ending}.gz" for ending in TEXT), ".parquet", ".arrow", ".feather")


def no_column(name: str, columns: Collection[str], table: str = "the table", else_hint: str = "") -> UnknownColumn:
    """What is raised where a name means none of the columns, which are public; `else_hint` where none is spelt nearly so.

    >>> print(no_column("salarry", ["vote", "salary"]))
    the table has no column salarry (did you mean salary?); it has vote, salary
    """
    lowered = {column.lower(): column for column in columns}
    near = [lowered[match] for match in get_close_matches(name.lower(), lowered, n=1, cutoff=0.75)]
    others = [f"did you mean {column}?" for column in near if column.strip() != name.strip()]  # the list shows blanks
    return UnknownColumn(name, columns, others[0] if others else "" if near else else_hint, table)


@contextmanager
def unknown_in(table: str) -> Iterator[None]:
    """Say of an unknown column whose columns were looked through, where that is not the table itself."""
    try:
        yield
    except UnknownColumn as error:
        raise UnknownColumn(error.column, error.columns, error.hint, table) from None


def drop_names(select: exp.Select, name: str | None, columns: Container[str] = ()) -> None:
    """Refuse a question about any other table; then leave out from, its alias and the names before columns, so that they
    make no difference to the question's normal form. Without a `name`, as for a data frame, any one name is the table's.
    """
    allowed, named = allowed_names(select, name), select.args.get("from_") is not None
    for column in select.find_all(exp.Column):
        _drop_qualifier(column, allowed, named, columns)
    select.set("from_", None)


def allowed_names(select: exp.Select, name: str | None) -> list[tuple[exp.Identifier, ...]]:
    """What may stand before a column of the table: the table's name, or its alias where it has one."""
    clause, own = select.args.get("from_"), names_of(name)
    if clause is None:
        return own
    table = clause.this
    if isinstance(table, exp.Subquery):
        raise DuotoneError("an inner select is about a table: leave out the query after its from")
    written = tuple(table.parts)
    if name is not None and not among(written, own):
        raise DuotoneError(f"the question is about {table.sql(dialect='duckdb', comments=False)}, and the table is {name}")
    alias = table.args.get("alias")
    return [(alias.this,)] if alias is not None else [*own, *_ends(written)]


def _drop_qualifier(
    column: exp.Column, allowed: Sequence[Sequence[exp.Identifier]], named: bool, columns: Container[str]
) -> None:
    qualifier = [part for part in column.parts[:-1] if isinstance(part, exp.Identifier)]
    if qualifier and not among(qualifier, allowed):
        dotted = ".".join(part.name for part in column.parts)
        if dotted in columns:
            raise DuotoneError(
                f'{column.sql(dialect="duckdb")} is a column whose name has a dot: write "{dotted}", in double quotes'
            )
        how = "use the name or the alias that stands after from" if named else "leave out the name before the column"
        raise DuotoneError(f"{column.sql(dialect='duckdb')} is not a column of the table: {how}")
    for part in ("table", "db", "catalog"):
        column.set(part, None)


def names_of(name: str | None) -> list[tuple[exp.Identifier, ...]]:
    """A file's name with and without its ending; a database's table with and without its schema."""
    if name is None:
        return []
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    ending = next((e for e in ENDINGS if last.lower().endswith(e)), None)
    if ending is not None:
        forms = [last, last[: -len(ending)]]
        return [tuple(exp.to_identifier(part) for part in parts) for form in forms for parts in ([form], form.split("."))]
    return [(exp.to_identifier(last),), *_ends(tuple(exp.to_identifier(part) for part in last.split(".")))]


def _ends(parts: Sequence[exp.Identifier]) -> list[tuple[exp.Identifier, ...]]:
    return [tuple(parts[i:]) for i in range(len(parts))]


def among(written: Sequence[exp.Identifier], names: Iterable[Sequence[exp.Identifier]]) -> bool:
    """Whether names that stand before a column or after from are one of these."""
    return any(len(n) == len(written) and all(map(same, written, n)) for n in names)


def same(written: exp.Identifier, name: exp.Identifier) -> bool:
    """Whether two names are one; upper and lower case differ where the question quotes the name."""
    return written.name == name.name if written.args.get("quoted") else written.name.lower() == name.name.lower()


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
