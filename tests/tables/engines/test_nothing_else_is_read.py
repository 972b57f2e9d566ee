"""The table that is named is read, by the process that opened it, and nothing else; an interrupt shows no rows."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import DuotoneError, ask, prepare
from duotone.tables.engines import open_source
from duotone.tables.engines.duckdb import DuckDB
from duotone.tables.engines.engine import of_table
from support.reading import P, column

LOCKED_OUT = [
    "copy (select 1) to '{folder}/out.csv'", "attach '{folder}/new.duckdb'", "load httpfs", "install httpfs", "load icu2",
    "select * from read_csv('{folder}/other.csv')", "select * from read_text('{folder}/other.csv')", "from glob('{folder}/*')",
    "select * from '{folder}/other.parquet'", "select * from 'https://example.com/t.parquet'", "set threads = 1",
    "set enable_external_access = true", "export database '{folder}/out'", "import database '{folder}/out'",
    "set disabled_optimizers = ''", "reset lock_configuration", "select * from python_frame", "pragma enable_profiling",
]  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "parquet", "duckdb", "frame"])
def test_a_connection_of_duotones_reads_the_named_file_and_nothing_else(ending: str, tmp_path: Path) -> None:
    python_frame = pa.table({"x": [1, 2, 3]})
    (tmp_path / "t.csv").write_text("x\n1\n2\n3\n")
    (tmp_path / "other.csv").write_text("secret\n4711\n")
    for name in ("t", "other"):
        pq.write_table(python_frame, tmp_path / f"{name}.parquet")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("create table t as select * from range(1, 4) r(x)")
    before = sorted(tmp_path.iterdir())
    table: Any = python_frame if ending == "frame" else tmp_path / f"t.{ending}"
    with open_source(table, table="t" if ending == "duckdb" else None) as source:
        read = source.only(["x"])
        assert len(read.run(read.table)) == 3
        raw = source.engine.connection.con
        for statement in LOCKED_OUT:
            with pytest.raises(duckdb.Error):
                raw.execute(statement.format(folder=tmp_path)).fetchall()
        (folder,) = raw.execute("select current_setting('temp_directory')").fetchone()
        assert Path(folder).stat().st_mode & 0o077 == 0
    assert not Path(folder).exists()
    assert sorted(tmp_path.iterdir()) == before
    assert python_frame.num_rows == 3


def test_files_whose_names_look_like_patterns(tmp_path: Path) -> None:
    folder = tmp_path / "odd[1]*"
    folder.mkdir()
    for name in ("x?[a]", "xy[a]"):
        pq.write_table(pa.table({"x": [name]}), folder / f"{name}.parquet")
        (folder / f"{name}'.csv").write_text(f"x\n{name}\n")
    assert column(folder / "x?[a].parquet") == column(folder / "x?[a]'.csv") == ["x?[a]"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_a_view_never_passes_as_a_table(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as raw:
        raw.execute("create schema other; create table other.visits as select 1 as x; create view visits as select 2 as x")
        raw.execute('create table "a.b" as select 3 as x; create schema a; create table a.c as select 4 as x')
    file = tmp_path / "t.duckdb"
    with pytest.raises(DuotoneError, match=r"view .*visits is not a stored table"):
        open_source(file, table="visits")
    assert column(file, of="other.visits") == [1]
    assert column(file, of="a.b") == [3]
    assert column(file, of="A.C") == [4]
    with pytest.raises(DuotoneError, match="has no table c"):
        open_source(file, table="c")
    own = ibis.duckdb.connect()
    own.con.execute(f"attach '{file}' as elsewhere (read_only); create table visits as select 5 as x")
    assert column(own, of="visits") == column(own.table("visits")) == [5]
    assert column(own, of="elsewhere.other.visits") == [1]
    with pytest.raises(DuotoneError, match=r"view .*visits is not a stored table"):
        open_source(own, table="elsewhere.main.visits")
    own.con.execute("create temp view visits as select 6 as x")
    with pytest.raises(DuotoneError, match=r"visits may be .*: say which"):
        open_source(own, table="visits")
    assert column(own, of="memory.main.visits") == [5]
    own.con.execute("set default_collation = 'nocase'")
    with pytest.raises(DuotoneError, match="default_collation"):
        open_source(own, table="memory.main.visits")
    left = own.con.execute("select count(*) from duckdb_views() where view_name like 'duotone%'").fetchone()
    assert left == (0,)  # a connection that was handed over is given back as it was
    own.disconnect()


def test_a_table_opened_by_another_process_is_refused() -> None:
    source = open_source(pa.table({"x": [1, 2, 3]}))

    def child(pipe: Any) -> None:
        try:
            pipe.send(str(ask(source, "count(*) > 1", P)))
        except DuotoneError as error:
            pipe.send(str(error))

    here, there = multiprocessing.Pipe()
    context = multiprocessing.get_context("fork")
    process = context.Process(target=child, args=(there,))
    process.start()
    assert here.poll(60)
    assert "opened by another process" in here.recv()
    process.join(60)
    source.close()


INTERRUPTED = """
import os, signal, sys, threading, time
import pyarrow as pa
from duotone import ApproxDP, prepare
from duotone.tables.engines.engine import Source

n = 300_000
rows = pa.table({"u": range(n), "x": [4711] * n, "s": [f"secret{i % 70000}" for i in range(n)]})
delay = float(sys.argv[1])

def slow(self, plan):
    threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()
    while True:  # many short ones: DuckDB hears of a signal between two of its tasks
        query = "select 'secret', count(*) from range(9000000) r(i) where i % 7 = 3"
        secret = self.engine.connection.con.execute(query).to_arrow_table()

asked = prepare(rows, "avg(x) > 3", ApproxDP(1, "1e-6"), bounds={"x": (0, 5000)})
Source.run = slow
del rows
try:
    asked.release()
except KeyboardInterrupt as error:
    assert error.__context__ is None and error.__cause__ is None
    trace, frames = error.__traceback__, []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    assert frames[-1].f_code.co_filename.endswith("interrupts.py"), frames
    for frame in frames[1:]:
        assert not any("secret" in repr(v) or "4711" in repr(v) or isinstance(v, pa.Table) for v in frame.f_locals.values())
    os._exit(130)
os._exit(1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.05, 0.5])
def test_ctrl_c_inside_the_engine_is_an_interrupt_without_rows(delay: float) -> None:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(delay)], capture_output=True, timeout=120)
    assert done.returncode == 130, done.stderr.decode()


def test_handlers_of_others_are_left_alone() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        with open_source(pa.table({"x": [1]})) as source:
            real = source.engine

            class Noisy(DuckDB):
                def run(self, plan: Any) -> Any:
                    os.kill(os.getpid(), signal.SIGINT)
                    return real.connection.to_pyarrow(plan)

            noisy = of_table(source.rows, Noisy(None), "t")
            assert noisy.run(source.rows.count()).as_py() == 1  # whoever handles it without an error goes on
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


def test_macros_of_a_database_stand_for_no_function(tmp_path: Path) -> None:
    file = tmp_path / "t.duckdb"
    bob = "create macro isnan(y) as exists (select 1 from t where name = 'Bob'); create macro lower(y) as error('4711')"
    for names in ("'Ann'", "'Ann', 'Bob'"):
        file.unlink(missing_ok=True)
        with duckdb.connect(file) as made:
            made.execute(f"create table t as select unnest([{names}]) as name, 1.5 as x; {bob}")
        with prepare(file, "count(x) filter (where lower(name) <> 'x') > 0", P, table="t") as asked:
            assert asked._levels()[2].tolist() == [names.count(",")]
        own = ibis.duckdb.connect(file, read_only=True)
        with pytest.raises(DuotoneError, match="a macro with the name of one of DuckDB's own functions"):
            prepare(own, "count(x) > 0", P, table="t")
        own.disconnect()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tables_of_one_name_in_two_schemas_have_two_names() -> None:
    own = ibis.duckdb.connect()
    own.raw_sql("create schema s; create table s.t as select 1 as x; create table t as select 2 as x")
    assert [open_source(own.table("t")).name, open_source(own.table("t", database="s")).name] == ["t", "s.t"]
    own.disconnect()


def test_columns_that_are_called_as_ours_or_twice(tmp_path: Path) -> None:
    frame = pa.table({"duotone_rows": [1] * 3, "duotone_rows0": [1] * 3})
    with prepare(frame, "count(*) filter (where duotone_rows > 0 and duotone_rows0 > 0) > 0", P) as asked:
        assert asked._levels()[2].tolist() == [2]
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["x", "x"]), file)
    with pytest.raises(DuotoneError, match="two columns of the table have the same name"):
        prepare(file, "count(*) > 1", P)
