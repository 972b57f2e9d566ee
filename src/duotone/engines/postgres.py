"""Tables in a PostgreSQL database: a plan is one statement of a read-only transaction, so it sees one state."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from duotone.engines.source import Source, closed_on_error, quietly
from duotone.errors import DuotoneError, MissingExtra

UNREACHABLE = "the Postgres server cannot be reached, or refuses this user or database (what it says is not shown)"
LOST = "the connection to the Postgres server was lost"
SETTINGS = {"search_path": "pg_catalog", "datestyle": "ISO, YMD", "timezone": "UTC", "standard_conforming_strings": "on"}
"""What the meaning or the printed form of a value could depend on, said in full."""
PLAIN = {
    "bool": "boolean", "int2": "int16", "int4": "int32", "int8": "int64", "float4": "float32", "float8": "float64",
    "date": "date", "timestamp": "timestamp",
}  # fmt: skip
TEXTS = ("text", "varchar", "bpchar", "name", "uuid")
COLUMNS = """
select a.attname, t.typname, t.typtype, a.atttypmod, coalesce(c.collisdeterministic, true), n.nspname
from pg_catalog.pg_class r
join pg_catalog.pg_namespace n on n.oid = r.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
join pg_catalog.pg_type t on t.oid = a.atttypid
left join pg_catalog.pg_collation c on c.oid = a.attcollation
where r.relname = %s and r.relkind in ('r', 'p')
and (n.nspname = %s or %s = '' and pg_catalog.pg_table_is_visible(r.oid))
order by a.attnum
"""


class Postgres:
    """What runs plans: a connection of Ibis to a database.

    Guarantee: each plan is one statement, in a transaction that can only read; nothing that the server says is passed on.
    """

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def to_pyarrow(self, plan: Any) -> Any:
        """Run a plan; its result comes as an Arrow table, by COPY, which unlike a cursor lets the server work in parallel."""
        import psycopg

        connection = self._backend.con
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

    def _statement(self, plan: Any) -> str:
        """Common parts are folded into their places: the server would write them out and read them back."""
        import sqlglot.expressions as sge

        tree = self._backend.compiler.to_sqlglot(plan)
        for part in tree.find_all(sge.CTE):
            part.set("materialized", False)
        return str(tree.sql(self._backend.dialect))


def open_postgres(url: str, name: str | None) -> Source:
    """A table, as `visits` or `clinic.visits`, of the database that a URL names."""
    psycopg = _psycopg()
    connection = quietly(lambda: psycopg.connect(url, autocommit=True, connect_timeout=10), UNREACHABLE)
    import ibis

    with closed_on_error(connection.close):
        return replace(of_database(ibis.postgres.from_connection(connection), name), release=connection.close)


def of_database(backend: Any, name: str | None) -> Source:
    """A table of a database that Ibis is connected to."""
    if name is None:
        raise DuotoneError("a Postgres database may hold many tables: say which (--table)")
    schema, _, table = name.rpartition(".")
    found = quietly(lambda: backend.con.execute(COLUMNS, (table, schema, schema)).fetchall(), UNREACHABLE)
    if not found:
        raise DuotoneError(f"the database has no table {name} (a view is not one), or this user may not see it")
    return Source(_read_as(found, table, backend), Postgres(backend), name, embedded=False)


def _read_as(columns: Sequence[Any], table: str, backend: Any) -> Any:
    """The table with its columns in types whose values are equal and ordered as they are everywhere: text by its bytes."""
    import ibis
    import ibis.expr.operations as ops

    kinds, read = {}, []
    for column, kind, family, modifier, deterministic, _ in columns:
        if not deterministic:
            raise DuotoneError(f"column {column} compares text by a collation under which different texts are equal: change it")
        kinds[column], how = _column(_quoted(column), kind, family, modifier)
        read.append(f"{how} as {_quoted(column)}")
    query = f"select {', '.join(read)} from {_quoted(columns[0][-1])}.{_quoted(table)}"
    return ops.SQLQueryResult(query, ibis.schema(kinds), backend).to_expr()


def _column(column: str, kind: str, family: str, modifier: int) -> tuple[str, str]:
    """A column's type and how it is read. A `numeric` without limits can be larger than any float, which would be an error."""
    if kind in PLAIN:
        return PLAIN[kind], column
    if kind in TEXTS or family == "e":
        return "string", f'cast({column} as text) collate "C"'
    if kind == "numeric" and modifier >= 4:
        precision, scale = (modifier - 4) >> 16, ((modifier - 4) & 2047 ^ 1024) - 1024
        if 0 <= scale <= precision <= 38:
            return f"decimal({precision}, {scale})", column
    if kind == "numeric":
        ends = f"when {column} > 1e300 then 'Infinity' when {column} < -1e300 then '-Infinity'"
        inside = f"when abs({column}) < 1e-300 then 0 else cast({column} as float8)"
        return "float64", f"case when {column} = 'NaN' then null {ends} {inside} end"
    return "binary", "cast(null as bytea)"  # nothing can be asked about it


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _arrow(data: bytes, schema: Any) -> Any:
    """What COPY sent. Null is nothing between commas, and an empty text is two quotes."""
    from pyarrow import csv

    kinds = dict(zip(schema.names, schema.to_pyarrow().types, strict=True))
    options = csv.ConvertOptions(
        column_types=kinds, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    return csv.read_csv(io.BytesIO(data), parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=options)


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("a table in Postgres", "postgres") from None
    return psycopg
