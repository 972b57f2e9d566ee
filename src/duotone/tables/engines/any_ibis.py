"""Any Ibis connection: an engine that Duotone does not know is tested before it answers (`engine_conformance`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import ibis.expr.operations as ops
from ibis.expr.types import Table

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.tables.engines import duckdb, postgres, spark
from duotone.tables.engines.engine import UNREADABLE, Abilities, Source, answers, bracketed, of_table, quietly, require_vouched

UNPROVEN = Abilities(proven=False, no_casts="this engine has casts of its own", bytes_of=None)


@dataclass(frozen=True, eq=False)
class AnyIbis:
    """An Ibis connection, which is not changed."""

    connection: Any = field(repr=False)
    can: Abilities = UNPROVEN
    name: str = "this engine"

    def run(self, plan: Any) -> Any:
        """The result of a plan, whose text has brackets."""
        return bracketing(self.connection).to_pyarrow(plan)

    def alive(self) -> bool:
        """Whether it responds."""
        return answers(self)

    def interrupt(self) -> None:
        """Interrupt the running query, if its driver can."""
        for name in ("interrupt", "cancel"):
            if hasattr(raw := getattr(self.connection, "con", None), name):
                getattr(raw, name)()
                return

    def public_table(self, *_: Any) -> tuple[Any, Callable[[], None]]:
        """Refused: joins are tested on the proven engines only."""
        raise DuotoneError(NOT_JOINED)


NOT_JOINED = "joins with a public table are tested on DuckDB, Postgres and Spark only: create a table of the join"


def bracketing(backend: Any) -> Any:
    """An Ibis connection that writes brackets, beside a given one, which is not changed."""
    twin = object.__new__(type(backend))
    twin.__dict__.update(backend.__dict__)
    twin.compiler = _Compiler(backend.compiler)
    return twin


class _Compiler:
    """Ibis' compiler of a backend, with brackets in its output."""

    def __init__(self, compiler: Any) -> None:
        self._compiler = compiler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiler, name)

    def to_sqlglot(self, *plan: Any, **options: Any) -> Any:
        return bracketed(self._compiler.to_sqlglot(*plan, **options))


def _in_full(source: Source, within: tuple[str, ...], usual: tuple[str, ...]) -> Source:
    """Use the full name of a table outside the search path: another may have the short one."""
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
    if not connections or any(other is not connections[0] for other in connections):  # Ibis treats some that differ as equal
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
