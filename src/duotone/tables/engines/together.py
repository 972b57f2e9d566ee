"""Several private tables about the same people, opened so that one plan can be about all of them.

Guarantee: what is opened or refused depends on names, columns and their types alone; no row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.model.dataset import Dataset
from duotone.tables.engines.files import DATABASES, files_of, open_local
from duotone.tables.engines.locked_duckdb import connected
from duotone.tables.engines.open import is_local, without_twins
from duotone.tables.engines.source import Source, all_checked, closed_on_error
from duotone.tables.sql.condition import Kind
from duotone.tables.sql.question_tables import PRESENT

Others = Mapping[str, Source]


def in_files(table: Any) -> bool:
    """Whether a table is in files or is a data frame, and was not opened before."""
    database = isinstance(table, str | Path) and Path(table).suffix.lower() in DATABASES
    return is_local(table) and not isinstance(table, Source) and not database


def open_together(declared: Dataset) -> tuple[Source, Others]:
    """Files and data frames on one connection, which is locked to the files of all of them when it is opened."""
    table, also = declared.source, declared.also
    for other, held in also.items():
        if not in_files(held):
            raise DuotoneError(f"{other} is in a database, or open already, and the table is not: give both as files or frames")
    connection, close = connected(*(file for held in (table, *also.values()) for file in files_of(held)))

    def shared(*_: Path) -> tuple[Any, Callable[[], None]]:
        return connection, lambda: None

    with closed_on_error(close):
        source = without_twins(open_local(declared, connect=shared))
        others = {other: without_twins(open_local(Dataset(held), connect=shared)) for other, held in also.items()}
        return replace(source, release=close, checked=all_checked([source, *others.values()])), others


def open_beside(source: Source, also: Mapping[str, Any]) -> Others:
    """Tables on the connection of one that is open: of its database, by their names; beside a file or a frame, frames."""
    with ExitStack() as opened:
        others = {name: opened.enter_context(without_twins(_beside(source, name, held))) for name, held in also.items()}
        opened.pop_all()
        return others


def _beside(source: Source, name: str, table: Any) -> Source:
    if source.sibling is not None:
        if not isinstance(table, str):
            raise DuotoneError(
                f"{name} must be in the database of the table that is asked about: give the name that it has there"
            )
        return source.sibling(table)
    if source.engine != "DuckDB":
        raise DuotoneError(
            "several private tables are joined in files and data frames, and where all have names in one database of DuckDB, "
            "Postgres or Spark: create such tables"
        )

    def shared(*files: Path) -> tuple[Any, Callable[[], None]]:
        if files:
            raise DuotoneError(f"the table is open already, and cannot be joined with the file {files[0]}: give both as files")
        return source.connection, lambda: None

    if not in_files(table):
        raise DuotoneError(f"{name} is in a database, or open already, and the table is not: give both as files or frames")
    return open_local(Dataset(table), connect=shared)


def closing(source: Source, others: Iterable[Source]) -> Source:
    """The same table; where it is closed or checked, others are, too."""
    every = [*others, source]

    def release() -> None:
        for each in every:
            each.close()

    return replace(source, release=release, checked=all_checked(every))


def require_same_people(source: Source, others: Others, unit: str | None) -> None:
    """Refuse tables in which the unit cannot name the same people."""
    if unit is None:
        raise DuotoneError("several private tables are joined by people: name the column that tells persons apart (unit)")
    if unit.lower() == PRESENT:
        raise DuotoneError(f"column {unit} has a name that is needed here: rename it")
    for name, other in others.items():
        if unit not in other.columns:
            raise DuotoneError(
                f"{name} has no column {unit}, which names a person in every table; it has {', '.join(other.columns)}"
            )
        other.require_key(unit, "a person's name")
        kinds = [source.columns[unit], other.columns[unit]]
        if len(set(map(_alike, kinds))) > 1:
            raise DuotoneError(
                f"column {unit} holds {kinds[0]} values in the table and {kinds[1]} ones in {name}, and names the same people: "
                "convert one to the other's type"
            )


def _alike(kind: Kind) -> Kind:
    return "text" if kind == "untyped" else kind
