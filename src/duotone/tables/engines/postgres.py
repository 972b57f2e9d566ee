"""Tables in a PostgreSQL database: a plan is one statement of a read-only transaction, so it sees one state."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import ibis
import ibis.expr.operations as ops
import sqlglot.expressions as sge

from duotone.errors import DuotoneError, MissingExtra
from duotone.ledger.stores.postgres import reason
from duotone.model.notice import Refusal
from duotone.resources import keep_in_child
from duotone.tables.engines.engine import Abilities, Source, answers, closed_on_error, quietly, require_vouched, sqlglot_of
from duotone.tables.engines.stored_values import OTHER, Columns, Reading, fresh, literal, quoted, selected

UNREACHABLE = "the Postgres server cannot be reached, or refuses this user or database (what it says is not shown)"
LOST = "the connection to the Postgres server was lost"
SETTINGS = {"search_path": "pg_catalog", "datestyle": "ISO, YMD", "timezone": "UTC", "standard_conforming_strings": "on"}
"""Settings on which the meaning or the text of a value could depend, set explicitly."""
PLAIN = {"bool": "boolean", "int2": "int16", "int4": "int32", "int8": "int64"}
FLOATS = {"float4": "float32", "float8": "float64"}
DATES = {"date": ("date", "9999-12-31"), "timestamp": ("timestamp", "9999-12-31 23:59:59.999999")}
TEXTS = ("text", "varchar", "bpchar", "name", "uuid")
RELATION = """
select r.oid, n.nspname, r.relname, r.relkind
from pg_catalog.pg_class r join pg_catalog.pg_namespace n on n.oid = r.relnamespace
where r.relkind in ('r', 'p', 'v', 'm', 'f')
and (r.relname = %(name)s and (n.nspname = %(schema)s or %(schema)s = '' and pg_catalog.pg_table_is_visible(r.oid))
or %(schema)s = '' and n.nspname || '.' || r.relname = %(name)s)
"""
"""What a name can mean: a visible table of this name, or a schema, a dot and a table."""
PARTS = """
with recursive part(oid) as (select %s::pg_catalog.oid union select i.inhrelid from pg_catalog.pg_inherits i join part on
part.oid = i.inhparent) select count(*) from part join pg_catalog.pg_class r using (oid) where r.relkind not in ('r', 'p')
"""
COLUMNS = """
select a.attname, t.typname, t.typtype, a.atttypmod, coalesce(c.collisdeterministic, true), t.typnamespace, a.attgenerated
from pg_catalog.pg_attribute a
join pg_catalog.pg_type t on t.oid = a.atttypid
left join pg_catalog.pg_collation c on c.oid = a.attcollation
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped
order by a.attnum
"""
NUMBERED = "select pg_catalog.has_function_privilege(pg_catalog.to_regprocedure('pg_catalog.pg_control_system()'), 'execute')"
NUMBER = "select system_identifier from pg_catalog.pg_control_system()"
UNSTORED = {"v": "view", "m": "materialised view", "f": "foreign table"}
HELD = {"int64": "int8", "float64": "float8", "decimal": "numeric", "string": "text", "boolean": "bool", "date": "date",
        "timestamp": "timestamp"}  # fmt: skip
"""Postgres' names of the types of public tables."""
BY_BYTES = ' collate "C"'
BUILT_IN = 11
"""The number of the schema pg_catalog: a type of the same name elsewhere is another one."""
BLOCK = 2**30
"""Longer than any returned line: keys, and lists of extremes, are limited."""


ABLE = Abilities(no_casts="Postgres has no cast that cannot fail")


@dataclass(frozen=True, eq=False)
class Postgres:
    """An Ibis connection to a database.

    Guarantee: each plan is one statement, in a read-only transaction; nothing that the server says is passed on.
    """

    connection: Any = field(repr=False)
    can: Abilities = ABLE
    name: str = "Postgres"

    def run(self, plan: Any) -> Any:
        """Execute a plan; its result comes as an Arrow table, by COPY, which unlike a cursor lets the server work in
        parallel."""
        import psycopg

        connection = self.connection.con
        try:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute("set transaction read only")
                for setting, value in SETTINGS.items():
                    cursor.execute(f"set local {setting} = '{value}'")
                with cursor.copy(f"copy ({self._statement(plan)}) to stdout (format csv, header, encoding 'UTF8')") as copy:
                    return _arrow(b"".join(copy), plan.schema())
        except psycopg.OperationalError:
            if connection.closed:
                raise DuotoneError(LOST) from None
            raise

    def alive(self) -> bool:
        """Whether the server responds."""
        return answers(self)

    def interrupt(self) -> None:
        """Cancel the running query."""
        self.connection.con.cancel()

    def public_table(self, rows: Any, types: Mapping[str, str]) -> tuple[Any, Callable[[], None]]:
        """A small public table, as constants of the statement, and a function that drops it, which does nothing."""
        arrays = [f"cast({literal(_array(rows[name]))} as {HELD[_bare(kind)]}[])" for name, kind in types.items()]
        names = [f"{quoted(name)}{BY_BYTES if kind == 'string' else ''} as {quoted(name)}" for name, kind in types.items()]
        columns = ", ".join(map(quoted, types))
        query = f"select {', '.join(names)} from unnest({', '.join(arrays)}) as public_rows({columns})"
        return ops.SQLQueryResult(query, ibis.schema(types), self.connection).to_expr(), lambda: None

    def _statement(self, plan: Any) -> str:
        """Common parts are inlined: the server would store them and read them back."""
        tree = sqlglot_of(self.connection, plan)
        for part in tree.find_all(sge.CTE):
            part.set("materialized", False)
        return str(tree.sql(self.connection.dialect))


def open_postgres(url: str, name: str | None, vouched: bool = False) -> Source:
    """A table, as `visits` or `clinic.visits`, of the database of a URL."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("a table in Postgres", "postgres") from None
    connection = quietly(lambda: _connected(psycopg, url), UNREACHABLE)
    keep_in_child(connection)
    with closed_on_error(connection.close):
        source = of_database(ibis.postgres.from_connection(connection), name, vouched=vouched)
        return replace(source, release=connection.close)


def _connected(psycopg: Any, url: str) -> Any:
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=10)
    except psycopg.Error as error:
        why = reason(error)
        raise DuotoneError(UNREACHABLE if why is None else f"the Postgres database cannot be opened: {why}") from None


def of_database(backend: Any, name: str | None, schema: str = "", *, vouched: bool = False) -> Source:
    """A table of a database that Ibis is connected to."""
    if name is None:
        raise Refusal("several tables", place="a Postgres database")
    number, *full, what = _relation(backend.con, name, schema)
    if what is not None:
        require_vouched(what, vouched)
    columns = quietly(lambda: backend.con.execute(COLUMNS, [number]).fetchall(), UNREACHABLE)
    readings = dict(map(_reading, columns))
    place = ".".join(map(quoted, full))

    def table(chosen: Sequence[str]) -> Any:
        """The columns in types with the usual equality and order: text by its bytes."""
        read, types = selected({name: readings[name] for name in chosen})
        return ops.SQLQueryResult(f"select {', '.join(read)} from {place}", ibis.schema(types), backend).to_expr()

    temporary = full[0].startswith(
        "pg_temp"
    )  # a temporary schema of another session may have the same name, but then no table of ours
    return Source(
        Postgres(backend),
        name,
        Columns.of(readings, table),
        named=not temporary,
        vouched=what,
        sibling=lambda other: of_database(backend, other, vouched=vouched),
        identity=None if temporary else _identity(backend.con, *full),
    )


def _identity(connection: Any, schema: str, table: str) -> str:
    """Server, database, schema and table, which identify it in a ledger; no user and no password. The server is known
    by its address and, since localhost is ambiguous, by its own number if this role may see it."""

    def one(query: str) -> Any:
        return quietly(lambda: connection.execute(query).fetchone()[0], UNREACHABLE)

    host = connection.info.host.rpartition("@")[2].lower()  # in a mistyped URL, a part of its password may stand before @
    number = one(NUMBER) if one(NUMBERED) else None
    return json.dumps([f"{host}:{connection.info.port}", number, one("select pg_catalog.current_database()"), schema, table])


def of_query(backend: Any, query: str) -> Source:
    """A query, vouched for by its owner, of a database that Ibis is connected to: as a temporary view, which means the
    same tables under any search path."""
    name = fresh()
    failure = "the database does not take the query as a temporary view (what it says is not shown)"
    quietly(lambda: backend.con.execute(f"create temporary view {quoted(name)} as {query}"), failure)

    def release() -> None:
        backend.con.execute(f"drop view if exists pg_temp.{quoted(name)}")

    with closed_on_error(release):
        source = of_database(backend, name, vouched=True)
        return replace(source, name="the query", named=False, release=release, sibling=None, identity=None)


def _relation(connection: Any, name: str, schema: str) -> tuple[int, str, str, str | None]:
    """The one table that a name means: its number and its full name, and what it is if it is not a stored table."""
    query = "select pg_catalog.getdatabaseencoding()"
    ((encoding,),) = quietly(lambda: connection.execute(query).fetchall(), UNREACHABLE)
    if encoding != "UTF8":
        raise DuotoneError(
            "the database does not store text as UTF-8, and some of it may not be convertible: convert the database"
        )
    asked = {"name": name, "schema": schema}
    fits = quietly(lambda: connection.execute(RELATION, asked).fetchall(), UNREACHABLE)
    if len(fits) > 1:
        raise DuotoneError(f"{name} may be {' or '.join(f'{place}.{table}' for _, place, table, _ in fits)}: rename one")
    if not fits:
        raise DuotoneError(f"the database has no table {name}, or this user may not see it")
    number, place, table, kind = fits[0]
    if kind in UNSTORED:
        return number, place, table, f"{UNSTORED[kind]} {name}"
    ((foreign,),) = quietly(lambda: connection.execute(PARTS, [number]).fetchall(), UNREACHABLE)
    return number, place, table, f"table {name}, which has a foreign table as a part," if foreign else None


def _reading(column: Sequence[Any]) -> tuple[str, Reading]:
    name, kind, family, modifier, deterministic, home, generated = column
    if not deterministic:
        raise DuotoneError(
            f"column {name} compares text by a collation under which different texts are equal: change its collation"
        )
    ours = (home == BUILT_IN or family == "e") and generated != "v"
    return name, of_column(quoted(name), kind, family, modifier) if ours else OTHER


def of_column(column: str, kind: str, family: str, modifier: int) -> Reading:
    """How a column is read. A `numeric` without limits can exceed any float, which would be an error."""
    if family == "e" or kind in TEXTS:
        return Reading("text", "string", f'cast({column} as text) collate "C"')
    if kind in PLAIN:
        return Reading("boolean" if kind == "bool" else "integer", PLAIN[kind], column)
    if kind in FLOATS:
        return Reading("float", FLOATS[kind], f"nullif({column} + cast(0 as {kind}), 'NaN')")
    if kind in DATES:
        held, last = DATES[kind]
        inside = f"{column} between {kind} '0001-01-01' and {kind} '{last}'"
        return Reading("date" if kind == "date" else "time", held, f"case when {inside} then {column} end")
    if kind == "timestamptz":
        inside = f"{column} between timestamptz '0001-01-01 00:00:00+00' and timestamptz '9999-12-31 23:59:59.999999+00'"
        return Reading("time", "timestamp", f"case when {inside} then {column} at time zone 'UTC' end")
    if kind == "numeric" and modifier >= 4:
        precision, scale = (modifier - 4) >> 16, ((modifier - 4) & 2047 ^ 1024) - 1024
        if 0 <= scale <= precision <= 38:
            return Reading("decimal", f"decimal({precision}, {scale})", f"nullif({column}, 'NaN')")
    if kind == "numeric":
        ends = f"when {column} > 1e300 then 'Infinity' when {column} < -1e300 then '-Infinity'"
        inside = f"when abs({column}) < 1e-300 then 0 else cast({column} as float8)"
        return Reading("float", "float64", f"case when {column} = 'NaN' then null {ends} {inside} end")
    return OTHER


def _arrow(data: bytes, schema: Any) -> Any:
    """The result of COPY. Null is nothing between commas, and an empty text is two quotes."""
    from pyarrow import csv

    kinds = dict(zip(schema.names, schema.to_pyarrow().types, strict=True))
    options = csv.ConvertOptions(
        column_types=kinds, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    block = csv.ReadOptions(block_size=min(len(data) + 1, BLOCK))
    parse = csv.ParseOptions(newlines_in_values=True)
    return csv.read_csv(io.BytesIO(data), read_options=block, parse_options=parse, convert_options=options)


def _bare(kind: str) -> str:
    return kind.partition("(")[0]


def _array(column: Any) -> str:
    """Values as Postgres writes an array."""
    return "{" + ",".join(map(_element, column.to_pylist())) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    text = str(value)
    if "\0" in text:
        raise DuotoneError("a public table has a text with a zero byte, which Postgres cannot store: remove it")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
