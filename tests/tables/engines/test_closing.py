"""What is opened for a question is closed with it; what was open before stays so."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import ApproxDP, DuotoneError, ask, prepare, select_groups
from duotone.cli.app import main
from duotone.tables.check_question import prepare_groups
from duotone.tables.engines import open_source
from duotone.tables.engines.engine import quietly
from support import postgres_server

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
    ask(table, "count(*) > 1", P, table=name)
    select_groups(table, ["g"], P, table=name)
    for bad in ("count(nothing) > 1", "sum(x) > 1", "count(*)"):
        with pytest.raises(DuotoneError):
            prepare(table, bad, P, table=name)
    with pytest.raises(DuotoneError):
        prepare_groups(table, [], P, table=name)
    with prepare(table, "count(*) > 1", P, table=name) as asked, prepare_groups(table, ["g"], P, table=name) as groups:
        before = sum(map(is_open, opened))
        asked.release()
        groups.release()
        assert before == sum(map(is_open, opened)) >= 2
    with open_source(table, table=name) as source:
        assert ask(source, "count(*) > 0", ApproxDP(60, "1e-6"))
        assert sum(map(is_open, opened)) == 1
    assert len(opened) >= 8
    assert not any(map(is_open, opened))


@pytest.mark.slow
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


@pytest.mark.slow
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
            open_source(url, table="nothing")
        assert not any(map(is_open, opened))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_was_open_before_stays_open() -> None:
    connection = ibis.duckdb.connect()
    connection.raw_sql("create table t as select 1 as x")
    ask(connection, "count(*) > 1", P, table="t")
    ask(connection.table("t"), "count(*) > 1", P)
    assert is_open(connection)
    connection.disconnect()


FORKED = """
import os, sys
import pyarrow as pa
from duotone import ApproxDP, DuotoneError, ask, prepare
from duotone.tables.engines import open_source
place, name = sys.argv[1], sys.argv[2] or None
P = ApproxDP(1, "1e-6")
table = pa.table({"x": [1, 2, 3]}) if place == "frame" else place
with open_source(table, table=name) as source:
    for way in ("close", "leave", "unwind", "use"):
        if (child := os.fork()) == 0:
            if way == "close":
                source.close()
            elif way == "use":
                try:
                    ask(source, "count(*) > 1", P)
                except DuotoneError as error:
                    sys.exit(0 if "another process" in str(error) else 5)
                sys.exit(6)
            sys.exit(0)  # through the with, and through what finalises everything at exit
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if ended != 0:
            raise SystemExit(f"{way}: the child ended with {ended}")
        ask(source, "count(*) > 1", P)  # and the parent goes on
os._exit(0)  # a thread of Arrow's that still drops a result would end an interpreter that exits (apache/arrow#34314)
"""


@pytest.mark.slow
def test_a_forked_child_ends_nothing_of_its_parents(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(ROWS, file)
    places = [("frame", ""), (str(file), "")]
    with contextlib.ExitStack() as stack:
        if postgres_server.programs() is not None:
            url = stack.enter_context(postgres_server.server())
            import psycopg

            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("create table t as select 1 as x")
            places.append((url, "t"))
        for place, name in places:
            done = subprocess.run([sys.executable, "-c", FORKED, place, name], capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, (place, done.stderr[-300:])


def test_rows_of_a_frame_are_given_back_after_each_question() -> None:
    table = pa.table({"x": pa.array(["some text or other"] * 10**5).dictionary_encode()})
    with open_source(table) as source:
        held = []
        for _ in range(4):
            ask(source, "count(*) filter (where x = 'a') > 1", P)
            held.append(pa.total_allocated_bytes())
        views = source.engine.connection.con.execute("select count(*) from duckdb_views() where not internal").fetchone()
    assert max(held) - held[0] < 10**5  # a copy has 2 MB
    assert views == (0,)


class Odd(str):
    """Text that runs code of its own."""

    __slots__ = ()

    def encode(self, *_: Any) -> bytes:
        raise RuntimeError("4711")


def test_text_of_a_frame_runs_no_code_of_its_own() -> None:
    import pandas as pd

    for last in ("b", Odd("b")):
        frame = pd.DataFrame({"x": pd.array(["a", last], dtype=pd.StringDtype("python"))})
        with prepare(frame, "count(*) filter (where x = 'b') > 0", P) as asked:
            assert asked._levels()[2].tolist() == [0]


def test_columns_that_differ_in_case_alone_are_refused(tmp_path: Path, opened: list[Any]) -> None:
    file = tmp_path / "t.parquet"
    for extra in ({}, {"t": pa.array([1], pa.timestamp("ms"))}):
        pq.write_table(pa.table({"a": [1], "A": [2], **extra}), file)
        with pytest.raises(DuotoneError, match="same name but for upper and lower case"):
            prepare(file, "count(*) > 1", P)
    assert not any(map(is_open, opened))


class Panic(BaseException):
    """As Polars has it: no Exception."""


@pytest.mark.parametrize(("raised", "seen"), [(Panic("4711"), DuotoneError), (SystemExit(3), SystemExit)])
def test_an_engine_that_panics_or_is_told_to_leave_says_nothing(raised: BaseException, seen: type[BaseException]) -> None:
    def work() -> None:
        raise raised  # in a frame that holds rows

    with pytest.raises(seen) as caught:
        quietly(work, "it failed")
    assert caught.value is not raised
    assert caught.value.__context__ is None
    assert "work" not in [entry.name for entry in caught.traceback]
