"""Opening: from what a person calls a table, or several tables about the same people, to tables and their engine.

Whatever Ibis is connected to is taken, too: an engine that Duotone does not know is tried before it answers.

Guarantee: what is opened or refused depends on names, columns and their types alone; no row is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import ibis.expr.operations as ops
from ibis.expr.types import Table

from duotone.errors import DuotoneError
from duotone.model.dataset import Dataset
from duotone.model.notice import Refusal
from duotone.tables.engines import duckdb, postgres, spark
from duotone.tables.engines.duckdb import Connect, DuckDB, connected
from duotone.tables.engines.engine import UNREADABLE, Abilities, answers, bracketed, closed_on_error, quietly
from duotone.tables.engines.files import DATABASES, files_of, open_local
from duotone.tables.engines.source import Source, all_checked, of_table, refuse_twins, require_vouched
from duotone.tables.engines.text_files import refuse
from duotone.tables.sql.comparison import PRESENT
from duotone.tables.sql.condition import Kind


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
    """The same table; refuse two columns whose names differ only in upper and lower case."""
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
    refuse(declared)
    match _home(table):
        case "pyspark":
            session = hasattr(table, "createDataFrame")
            return spark.of_session(table, name, vouched) if session else spark.of_frame(table, vouched=vouched)
        case "ibis":
            return of_ibis(table, name, vouched)
        case "duckdb" | "_duckdb":
            connection = hasattr(table, "cursor")
            return duckdb.of_native(table, name, vouched) if connection else duckdb.of_relation(table, vouched)
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
APART = "{name} is in a database, or open already, and the table is not: give both as files or data frames"


def in_files(table: Any) -> bool:
    """Whether a table is in files or is a data frame, and was not opened before."""
    database = isinstance(table, str | Path) and Path(table).suffix.lower() in DATABASES
    return is_local(table) and not isinstance(table, Source) and not database


def open_together(declared: Dataset) -> tuple[Source, Others]:
    """Files and data frames on one connection, which is locked to the files of all of them when it is opened."""
    table, also = declared.source, declared.also
    for other, held in also.items():
        if not in_files(held):
            raise DuotoneError(APART.format(name=other))
    engine, close = connected(*(file for held in (table, *also.values()) for file in files_of(held)))
    with closed_on_error(close):
        source = without_twins(open_local(declared, connect=_shared(engine)))
        others = {other: without_twins(open_local(Dataset(held), connect=_shared(engine))) for other, held in also.items()}
        return replace(source, release=close, checked=all_checked([source, *others.values()])), others


def _shared(engine: DuckDB) -> Connect:
    """What gives an engine that is open already, and closes nothing."""
    return lambda *_: (engine, lambda: None)


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
    if not in_files(table):
        raise DuotoneError(APART.format(name=name))
    if files := files_of(table):
        raise DuotoneError(f"the table is open already, and cannot be joined with the file {files[0]}: give both as files")
    return open_local(Dataset(table), connect=_shared(engine))


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


UNPROVEN = Abilities(proven=False, no_casts="this engine has casts of its own", bytes_of=None)


@dataclass(frozen=True, eq=False)
class AnyIbis:
    """A connection of Ibis, which is left as it is."""

    connection: Any = field(repr=False)
    can: Abilities = UNPROVEN
    name: str = "this engine"

    def run(self, plan: Any) -> Any:
        """The result of a plan, whose text has brackets."""
        return bracketing(self.connection).to_pyarrow(plan)

    def alive(self) -> bool:
        """Whether it is still there."""
        return answers(self)

    def interrupt(self) -> None:
        """Stop what it does, where its driver can."""
        for name in ("interrupt", "cancel"):
            if hasattr(raw := getattr(self.connection, "con", None), name):
                getattr(raw, name)()
                return

    def public_table(self, *_: Any) -> tuple[Any, Callable[[], None]]:
        """Joins are tested on the proven engines alone."""
        raise DuotoneError(NOT_JOINED)


NOT_JOINED = "joins with a public table are tested on DuckDB, Postgres and Spark only: create a table of the join"


def bracketing(backend: Any) -> Any:
    """A connection of Ibis that writes brackets, beside one that was handed over, which is left as it is."""
    twin = object.__new__(type(backend))
    twin.__dict__.update(backend.__dict__)
    twin.compiler = _Compiler(backend.compiler)
    return twin


class _Compiler:
    """Ibis' compiler of a backend, with brackets in what it compiles."""

    def __init__(self, compiler: Any) -> None:
        self._compiler = compiler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiler, name)

    def to_sqlglot(self, *plan: Any, **options: Any) -> Any:
        return bracketed(self._compiler.to_sqlglot(*plan, **options))


def _in_full(source: Source, within: tuple[str, ...], usual: tuple[str, ...]) -> Source:
    """A table that is not where one would look for its name is called by its full name: another may have the short one."""
    return source if within in ((), usual) else replace(source, name=".".join((*within, source.name)))


def of_ibis(handle: Any, name: str | None, vouched: bool) -> Source:
    """A connection and the name of a table, a table of a connection, or a query."""
    backend, within = handle, ()
    if isinstance(handle, Table):
        node = handle.op()
        if not isinstance(node, ops.DatabaseTable):
            return _of_ibis_query(handle, require_vouched("the Ibis query", vouched))
        place = node.namespace
        backend, name, within = node.source, node.name, tuple(filter(None, (place.catalog, place.database)))
    match getattr(backend, "name", None):
        case "duckdb":
            source = duckdb.of_duckdb(backend, name, within=within, vouched=vouched)
            return _in_full(source, within, (backend.current_catalog, "main"))
        case "postgres":
            source = postgres.of_database(backend, name, within[-1] if within else "", vouched=vouched)
            return _in_full(source, within[-1:], ("public",))
        case "pyspark":
            return spark.of_session(backend._session, ".".join((*within, name)) if name else None, vouched)
    if name is None:
        raise Refusal("several tables", place="a database")
    what = require_vouched(f"{name}, in a database where a view cannot be distinguished from a table,", vouched)
    table = handle if isinstance(handle, Table) else quietly(lambda: backend.table(name), f"the database has no table {name}")
    return of_table(table, AnyIbis(backend), name, vouched=what)


def _of_ibis_query(query: Any, what: str) -> Source:
    if query.op().find(ops.InMemoryTable):
        raise DuotoneError("the Ibis query has a data frame in it: give the result as a data frame, or create a table from it")
    connections = [table.source for table in query.op().find((ops.DatabaseTable, ops.SQLQueryResult))]
    if not connections or any(other is not connections[0] for other in connections):  # Ibis takes some that differ for one
        raise DuotoneError("the Ibis query must be about tables of one connection")
    backend = connections[0]
    match backend.name:
        case "duckdb":
            source = duckdb.of_query(backend, _sql(backend, query))
        case "postgres":
            source = postgres.of_query(backend, _sql(backend, query))
        case "pyspark":
            frame = quietly(lambda: backend._session.sql(_sql(backend, query)), UNREADABLE)
            source = spark.of_frame(frame, vouched=True)
        case _:
            source = of_table(query, AnyIbis(backend), "the query", named=False)
    return replace(source, vouched=what)


def _sql(backend: Any, query: Any) -> str:
    return str(quietly(lambda: backend.compile(query), UNREADABLE))
