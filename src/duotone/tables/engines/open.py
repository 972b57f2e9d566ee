"""Opening: from what a person calls a table, or several tables about the same people, to tables and their engine.

Guarantee: what is opened or refused depends on names, columns and their types alone; no row is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.model.dataset import Dataset
from duotone.model.notice import Refusal
from duotone.tables.engines import duckdb_tables, postgres, spark
from duotone.tables.engines.any_ibis import of_ibis
from duotone.tables.engines.duckdb import DuckDB, connected
from duotone.tables.engines.engine import closed_on_error
from duotone.tables.engines.files import DATABASES, files_of, open_local
from duotone.tables.engines.source import Source, all_checked, refuse_twins
from duotone.tables.engines.text_files import refuse_all
from duotone.tables.sql.condition import Kind
from duotone.tables.sql.question_tables import PRESENT


def open_source(source: Any, **declared: Any) -> Source:
    """A CSV, JSON lines, Parquet or Arrow file, several Parquet files (a list, a folder or a pattern), a table of a DuckDB
    file or connection, a pandas, Polars or Arrow table; or a table beyond this machine, by a URL (postgres://…, spark://…),
    an Ibis connection or a table of one, or a Spark session or data frame; or a `Dataset` of one of these.

    A file of text is read line by line: see `engines.text_files`. What its rows alone could tell about it is declared, by keys
    of `Dataset`: `table`, `types`, `formats`, `separator`, `json_columns`, `vouched`. A view, a DuckDB relation, an Ibis query
    and a Spark data frame that a query makes are taken where they are `vouched` for: see `engines.source`.
    """
    return opened(source if isinstance(source, Dataset) else Dataset(source, **declared))


def opened(declared: Dataset) -> Source:
    """The table of a dataset."""
    return without_twins(_opened(declared))


def without_twins(source: Source) -> Source:
    """The same table; refuses one with columns whose names differ in upper and lower case alone."""
    with closed_on_error(source.close):
        refuse_twins(source.columns)
    return source


def is_local(table: Any) -> bool:
    """Whether a table is a file or a data frame: DuckDB inside the process reads it."""
    return not (isinstance(table, str) and "://" in table) and _home(table) not in ("pyspark", "ibis", "duckdb", "_duckdb")


def _home(table: Any) -> str:
    return type(table).__module__.partition(".")[0]


def _opened(declared: Dataset) -> Source:
    table, name, vouched = declared.source, declared.table, declared.vouched
    if is_local(table):
        return open_local(declared)
    refuse_all(declared)
    match _home(table):
        case "pyspark":
            session = hasattr(table, "createDataFrame")
            return spark.of_session(table, name, vouched) if session else spark.of_frame(table, vouched=vouched)
        case "ibis":
            return of_ibis(table, name, vouched)
        case "duckdb" | "_duckdb":
            connection = hasattr(table, "cursor")
            return duckdb_tables.of_native(table, name, vouched) if connection else duckdb_tables.of_relation(table, vouched)
    return _located(table, name, vouched)


def _located(url: str, name: str | None, vouched: bool) -> Source:
    """The URL may hold a password: no error repeats it."""
    match url.partition("://")[0]:
        case "postgres" | "postgresql":
            return postgres.open_postgres(url, name, vouched)
        case "spark":
            return spark.open_spark(url, name, vouched)
        case scheme:
            said = f", not {scheme}://" if re.fullmatch(r"[\w+.-]+", scheme) else ""
            raise DuotoneError(
                f"a table's URL begins with postgres:// or spark://{said}; for others connect with Ibis in Python"
            )


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
    engine, close = connected(*(file for held in (table, *also.values()) for file in files_of(held)))

    def shared(*_: Path) -> tuple[DuckDB, Callable[[], None]]:
        return engine, lambda: None

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
    if not isinstance(engine := source.engine, DuckDB):
        raise DuotoneError(
            "several private tables are joined in files and data frames, and where all have names in one database of DuckDB, "
            "Postgres or Spark: create such tables"
        )

    def shared(*files: Path) -> tuple[DuckDB, Callable[[], None]]:
        if files:
            raise DuotoneError(f"the table is open already, and cannot be joined with the file {files[0]}: give both as files")
        return engine, lambda: None

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
        raise Refusal("unit missing between tables")
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
