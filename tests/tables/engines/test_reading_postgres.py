"""The rule of totality (docs/reading.md) on Postgres."""

from __future__ import annotations

import decimal
import os
from typing import Any

import ibis
import pytest

from duotone import DuotoneError, prepare, select_groups
from duotone.tables.engines import open_source
from duotone.tables.engines.postgres import _arrow
from support import postgres_server
from support.reading import ALL, P, column, values


@pytest.fixture(scope="module")
def server() -> Any:
    if postgres_server.programs() is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("PostgreSQL is not installed, and this test needs it")
    psycopg = pytest.importorskip("psycopg")
    with postgres_server.server() as url, psycopg.connect(url, autocommit=True) as connection:
        yield url, connection


@pytest.mark.slow
def test_every_value_of_postgres_is_read_or_null(server: Any) -> None:
    url, connection = server
    connection.execute("create type mood as enum ('sad', 'glad'); create domain positive as int check (value > 0)")
    connection.execute(
        """create table odd (d date, t timestamp, f float8, r real, n numeric, m numeric(5, 2), c char(4), e mood, p positive,
        a int[], i interval, g int generated always as (1) stored, w timestamptz, v varchar)"""
    )
    connection.execute(
        """insert into odd values
        ('infinity', '-infinity', 'NaN', '-0', 'NaN', 'NaN', 'ab', 'sad', 1, '{1}', '1 day', default, now(), ''),
        ('0044-03-15 BC', '294276-01-01', '-0', 'Infinity', 'Infinity', -1.25, 'ab  ', 'glad', 1, '{}', '1 day',
        default, now(), null),
        ('9999-12-31', '0001-01-01', 5e-324, 1e-45, 1e400, 0, null, null, null, null, null, default, null, E'a\\nb"c,')"""
    )
    read = values(url, "d", "t", "f", "r", "n", "m", "c", "e", "g", "v", of="odd")
    infinite = float("inf")
    assert read[0] == (None, None, None, 0.0, None, None, "ab", "sad", 1, "")
    assert read[1] == (None, None, 0.0, infinite, infinite, decimal.Decimal("-1.25"), "ab", "glad", 1, None)
    assert [str(x) for x in read[2][:2]] == ["9999-12-31", "0001-01-01 00:00:00"]
    assert read[2][2:] == (5e-324, pytest.approx(1e-45), infinite, decimal.Decimal(0), None, None, 1, 'a\nb"c,')
    for name in "pai":
        with pytest.raises(DuotoneError, match="cannot be asked about"):
            prepare(url, f"count({name}) > 1", P, table="odd")


@pytest.mark.slow
def test_a_huge_key_on_postgres_is_nobodys_and_long_lists_come_through(server: Any) -> None:
    url, connection = server
    connection.execute("create table keys as select case when i < 40 then 'a' else repeat('é', 3000000) end as k, i as x "
                       "from generate_series(0, 79) i")  # fmt: skip
    assert list(select_groups(url, ["k"], ALL, table="keys").answers) == [("a",)]
    long = b"a" * 5_000_000  # longer than the blocks that a reader of CSV takes by itself
    assert _arrow(b'k,n\n"' + long + b'",1\n', ibis.schema({"k": "string", "n": "int64"}))["k"][0].as_py() == long.decode()


@pytest.mark.slow
def test_names_on_postgres_mean_one_table(server: Any) -> None:
    url, connection = server
    connection.execute('create schema s; create table s.t as select 1 as x; create table "q.t" as select 2 as x')
    connection.execute("create view public.t as select 3 as x; create extension if not exists postgres_fdw")
    connection.execute("create server far foreign data wrapper postgres_fdw; create table parent (x int)")
    connection.execute("create foreign table child () inherits (parent) server far")
    assert column(url, of="s.t") == [1]
    assert column(url, of="q.t") == [2]
    unstored = {"t": "view", "public.t": "view", "child": "foreign table", "parent": "table"}
    for name, kind in unstored.items():
        with pytest.raises(DuotoneError, match=f"^{kind} {name}.* is not a stored table"):
            open_source(url, table=name)
    connection.execute("create schema q; create table q.t as select 4 as x")
    with pytest.raises(DuotoneError, match=r"may be .*: rename one"):
        open_source(url, table="q.t")
    connection.execute("create database latin encoding 'LATIN1' locale 'C' template template0")
    with pytest.raises(DuotoneError, match="does not store text as UTF-8"):
        open_source(url.replace("/postgres?", "/latin?"), table="t")
