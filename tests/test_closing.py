"""What is opened for a question is closed with it; what was open before stays so."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import postgres_server
from duotone import ApproxDP, DuotoneError, ask, prepare, prepare_groups, select_groups
from duotone.cli import main
from duotone.engines import open_source

P = ApproxDP(1, "1e-6")
ROWS = pa.table({"x": [1, 2, 3], "g": ["a", "b", "b"]})
BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every connection that is made from here on, of either library."""
    import psycopg

    made: list[Any] = []

    def recorded(connect: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any, **options: Any) -> Any:
            made.append(connect(*arguments, **options))
            return made[-1]

        return wrapper

    monkeypatch.setattr(ibis.duckdb, "connect", recorded(ibis.duckdb.connect))
    monkeypatch.setattr(psycopg, "connect", recorded(psycopg.connect))
    return made


def is_open(connection: Any) -> bool:
    if hasattr(connection, "closed"):
        return not connection.closed
    try:
        connection.con.execute("select 1").fetchall()
    except duckdb.ConnectionException:
        return False
    return True


def used(table: Any, opened: list[Any], name: str | None = None) -> None:
    """Every way to ask, those that fail too, and nothing stays open."""
    ask(table, "count(*) > 1", P, name=name)
    select_groups(table, ["g"], P, name=name)
    for bad in ("count(nothing) > 1", "sum(x) > 1", "count(*)"):
        with pytest.raises(DuotoneError):
            prepare(table, bad, P, name=name)
    with pytest.raises(DuotoneError):
        prepare_groups(table, [], P, name=name)
    with prepare(table, "count(*) > 1", P, name=name) as asked, prepare_groups(table, ["g"], P, name=name) as groups:
        before = sum(map(is_open, opened))
        asked.release()
        groups.release()
        assert before == sum(map(is_open, opened)) >= 2
    with open_source(table, name=name) as source:
        assert ask(source, "count(*) > 0", ApproxDP(60, "1e-6"))
        assert sum(map(is_open, opened)) == 1
    assert len(opened) >= 8
    assert not any(map(is_open, opened))


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet", "duckdb"])
def test_local_tables_are_closed(kind: str, tmp_path: Path, opened: list[Any]) -> None:
    file = tmp_path / f"t.{kind}"
    if kind == "csv":
        file.write_text("x,g\n1,a\n2,b\n3,b\n")
    elif kind == "parquet":
        pq.write_table(ROWS, file)
    elif kind == "duckdb":
        connection = ibis.duckdb.connect(file)
        connection.raw_sql("create table t as select 1 as x, 'a' as g")
        connection.disconnect()
        opened.clear()
    name = "t" if kind == "duckdb" else None
    used(ROWS if kind == "frame" else file, opened, name)
    if kind != "frame":
        opened.clear()
        named = ["--table", "t"] if kind == "duckdb" else []
        for arguments in (
            ["ask", str(file), "count(*) > 1"],
            ["ask", str(file), "count(*)"],
            ["groups", str(file), "--by", "g"],
        ):
            with pytest.raises(SystemExit):
                main([*arguments, *named, *BUDGET])
        assert opened
        assert not any(map(is_open, opened))


def test_a_postgres_connection_is_closed(opened: list[Any]) -> None:
    if postgres_server.programs() is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("PostgreSQL is not installed, and this test needs it")
    import psycopg

    with postgres_server.server() as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("create table t as select 1 as x, 'a' as g")
        opened.clear()
        used(url, opened, "t")
        with pytest.raises(DuotoneError):
            open_source(url, name="nothing")
        assert not any(map(is_open, opened))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_was_open_before_stays_open() -> None:
    connection = ibis.duckdb.connect()
    connection.raw_sql("create table t as select 1 as x")
    ask(connection, "count(*) > 1", P, name="t")
    ask(connection.table("t"), "count(*) > 1", P)
    assert is_open(connection)
    connection.disconnect()
