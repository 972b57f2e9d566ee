"""The rule of totality (docs/reading.md): what one row is read as never depends on another, and nothing else is looked at."""

from __future__ import annotations

import decimal
import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import postgres_server
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import ApproxDP, DuotoneError, ask, prepare, select_groups
from duotone.tables.engines import Source, open_source
from duotone.tables.engines import duckdb as embedded
from duotone.tables.engines.postgres import _arrow
from duotone.tables.engines.query import LONGEST
from duotone.tables.engines.results import MOST_ENDS
from duotone.tables.engines.stored_values import of_type

P = ApproxDP(1, "1e-6")
ALL = ApproxDP(50, "0.99")
"""At this budget a group of three people is shown but for one time in 10^6."""
NAN = float("nan")
QUESTIONS = ["count(*) filter (where x is null) > 500", "not count(x) > 500", "not sum(x) > 50000", "avg(x) < 190"]
OPTIONS: list[dict[str, Any]] = [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}, {"row_group_size": 2}]
EPOCH = datetime(1970, 1, 1)
EXTREMES = [0, 1, -1, 2**63 - 1, 1 - 2**63, -(2**63), 2**62]


def values(table: Any, *columns: str, of: str | None = None) -> list[tuple[Any, ...]]:
    """What the plan sees, row by row: no question of Duotone's is between."""
    with open_source(table, name=of) as source:
        read = source.only(columns)
        rows = read.run(read.table.select(*columns)).to_pylist()
    return [tuple(row[column] for column in columns) for row in rows]


def column(table: Any, name: str = "x", **where: Any) -> list[Any]:
    return [value for (value,) in values(table, name, **where)]


def answers(table: Any, questions: Sequence[str], **options: Any) -> list[bool]:
    """True answers of questions whose levels are far from the boundary: each is wrong less than once in 10^20."""
    return [bool(ask(table, question, ApproxDP(1, "1e-6"), **options)) for question in questions]


def _by_duckdb(x: list[float], path: Path) -> None:
    with duckdb.connect() as connection:
        connection.register("t", pa.table({"x": x}))
        connection.execute(f"copy t to '{path}' (format parquet)").fetchall()


WRITERS: dict[str, Callable[[list[float], Path], None]] = {
    "pyarrow": lambda x, path: pq.write_table(pa.table({"x": x}), path),
    "pyarrow, small groups": lambda x, path: pq.write_table(pa.table({"x": x}), path, row_group_size=7),
    "pyarrow, no statistics": lambda x, path: pq.write_table(pa.table({"x": x}), path, write_statistics=False),
    "pyarrow, page index": lambda x, path: pq.write_table(pa.table({"x": x}), path, write_page_index=True, data_page_size=64),
    "polars": lambda x, path: pl.DataFrame({"x": x}).write_parquet(path),
    "pandas": lambda x, path: pd.DataFrame({"x": x}).to_parquet(path),
    "duckdb": lambda x, path: _by_duckdb(x, path),
}


@pytest.mark.slow
@pytest.mark.parametrize("writer", WRITERS)
def test_nan_is_null_whatever_the_other_rows_of_a_file_are(writer: str, tmp_path: Path) -> None:
    for i, others in enumerate(([5.0] * 40, [5.0] * 40 + [150.0], [-0.0] * 40, [1.5] * 40 + [1e300])):
        path = tmp_path / f"{i}.parquet"
        WRITERS[writer]([*others, *[NAN] * 1000], path)
        assert column(path) == [*others, *[None] * 1000]
        assert answers(path, QUESTIONS, bounds={"x": (0, 200)}) == [True] * 4


def test_each_of_the_three_guards_against_statistics_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [5.0] * 40 + [150.0] + [NAN] * 1000}), path)
    bare = "case when isnan({0}) then null else {0} end"
    optimisers, reader, number = embedded.LOCKED["disabled_optimizers"], embedded.PARQUET, of_type

    def unguarded(name: str, kind: str) -> Any:
        how = number(name, kind)
        return type(how)(how.kind, how.type, bare.format(name)) if kind == "DOUBLE" else how

    for kept in ("optimisers", "reader", "number", None):
        monkeypatch.setitem(embedded.LOCKED, "disabled_optimizers", optimisers if kept == "optimisers" else "''")
        monkeypatch.setattr(embedded, "PARQUET", reader if kept == "reader" else "can_have_nan = false")
        monkeypatch.setattr(embedded, "of_type", number if kept == "number" else unguarded)
        with open_source(path) as source:
            view = source.only(["x"]).table.op().name
            (counted,) = source.connection.con.execute(f"select count(x) from {view}").fetchall()
        assert counted == (41 if kept else 1041,), kept  # without any of them DuckDB counts every NaN


def test_minus_zero_is_zero() -> None:
    zeros = pa.table({"x": [0.0] * 30 + [-0.0] * 30 + [1.0] * 45, "y": ["-0.0"] * 105})
    assert [str(x) for x in column(zeros)[:60]] == ["0.0"] * 60
    assert answers(zeros, ["mode(x) = 0", "not count(*) filter (where x < 0) > 0 and count(*) filter (where x = 0) > 40"])


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "parquet", "dictionary"])
def test_times_of_every_unit_are_read_or_null(unit: Any, kind: str, tmp_path: Path) -> None:
    if (kind == "parquet" and unit == "s") or (kind == "polars" and unit == "s"):
        pytest.skip("there is no such unit")
    array = pa.array(EXTREMES, pa.int64()).view(pa.timestamp(unit))
    frames = {
        "arrow": lambda: pa.table({"x": array, "s": ["a"] * 7}),
        "pandas": lambda: pd.DataFrame({"x": np.array(EXTREMES, np.int64).view(f"datetime64[{unit}]"), "s": ["a"] * 7}),
        "polars": lambda: pl.DataFrame({"x": pl.Series(EXTREMES, dtype=pl.Int64).cast(pl.Datetime(unit)), "s": ["a"] * 7}),
        "parquet": lambda: tmp_path / "t.parquet",
        "dictionary": lambda: pa.table({"x": array.dictionary_encode(), "s": ["a"] * 7}),
    }
    pq.write_table(
        pa.table({"x": array if unit != "s" else [], "s": ["a"] * (7 if unit != "s" else 0)}), tmp_path / "t.parquet"
    )
    seconds = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[unit]
    known = [np.datetime64(v * (10**6 // seconds) if seconds < 10**9 else v // 1000, "us").item() for v in (0, 1, -1)]
    later = [None, None, None, None] if unit != "ns" else [None, None, None, np.datetime64(2**62 // 1000, "us").item()]
    table = frames[kind]()  # type: ignore[no-untyped-call]
    assert column(table) == known + later
    assert values(table, "s", "x") == [("a", x) for x in known + later]  # the same beside another column


@pytest.mark.slow
def test_text_that_is_not_utf_8_is_read_alike_everywhere(tmp_path: Path) -> None:
    raw = [b"ok", b"\xff\xfe", b"\xe2\x82", b"a\x00b", b"long enough not to be kept inline \xff", b"\xed\xa0\x80", None] * 3
    read = ["ok", "??", "??", "a\x00b", "long enough not to be kept inline ?", "???", None] * 3
    time = pa.array([0] * 21, pa.timestamp("ms"))
    for i, text in enumerate((pa.string(), pa.large_string(), pa.string_view())):
        bytes_ = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[text]
        array = pa.array(raw, bytes_).view(text)
        assert column(pa.table({"x": array})) == read
        for j, options in enumerate(OPTIONS):
            path = tmp_path / f"{i}{j}.parquet"
            pq.write_table(pa.table({"x": array, "t": time}), path, **options)
            assert column(path) == read
            assert [x for x, _ in values(path, "x", "t")] == read  # which Arrow reads
    words = pa.array(raw[:7], pa.binary()).view(pa.string())
    assert column(pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([*range(7)] * 3), words)})) == read
    surrogate = pd.DataFrame({"x": pd.array(["ok", "\ud800x", None], dtype=pd.StringDtype("python"))})
    assert column(surrogate) == ["ok", "?x", None]


@pytest.mark.slow
def test_every_declared_type_of_a_frame_has_a_rule() -> None:
    half = pa.array(np.array([NAN, np.inf, -0.0], dtype=np.float16))
    cases: list[tuple[Any, list[Any] | None]] = [
        (pa.array([-128, 127, None], pa.int8()), [-128, 127, None]),
        (pa.array([2**32 - 1, None], pa.uint32()), [2**32 - 1, None]),
        (pa.array([2**63 - 1, -(2**63)], pa.int64()), [2**63 - 1, -(2**63)]),
        (half, [None, float("inf"), 0.0]),
        (pa.array([NAN, 5e-324, float("-inf")], pa.float32()), [None, 0.0, float("-inf")]),
        (pa.array([True, None], pa.bool_()), [True, None]),
        (pa.array([decimal.Decimal("-9.99"), None], pa.decimal32(3, 2)), [decimal.Decimal("-9.99"), None]),
        (pa.array([decimal.Decimal(10**38 - 1)], pa.decimal128(38, 0)), [decimal.Decimal(10**38 - 1)]),
        (pa.array([0, 2**31 - 1, -(2**31)], pa.int32()).view(pa.date32()), [pd.Timestamp("1970-01-01").date(), None, None]),
        (pa.array([-1, 2**62], pa.int64()).view(pa.date64()), [pd.Timestamp("1969-12-31").date(), None]),
        (pa.RunEndEncodedArray.from_arrays([2, 3], ["a", None]), ["a", "a", None]),
        (pa.RunEndEncodedArray.from_arrays([2, 5], ["a", "b"]).slice(1, 3), ["a", "b", "b"]),
        (pa.DictionaryArray.from_arrays([0, None, 1], pa.array([1.5, NAN])), [1.5, None, None]),
        *((pa.array([1], kind), None) for kind in (pa.uint64(), pa.time32("s"), pa.duration("s"), pa.timestamp("s", "UTC"))),
        (pa.array([decimal.Decimal(1)], pa.decimal256(40, 0)), None),
        (pa.array([decimal.Decimal(100)], pa.decimal128(3, -2)), None),
        *((array, None) for array in (pa.nulls(2), pa.array([b"a"]), pa.array([[1]]), pa.array([{"a": 1}]))),
        (pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"\0" * 16], pa.binary(16))), None),
    ]
    for array, expected in cases:
        table = pa.table({"x": array, "y": pa.nulls(len(array), pa.int8())})
        if expected is not None:
            assert column(table) == expected, array.type
            continue
        with pytest.raises(DuotoneError, match="cannot be asked about: convert it"):
            prepare(table, "count(x) > 1", P)
        assert not ask(table, "count(y) > 50", P)


class Hostile:
    """Nothing may be done with it."""

    def __getattribute__(self, name: str) -> Any:
        raise ValueError("touched")

    def __str__(self) -> str:
        raise ValueError("printed")

    __repr__ = __str__


def test_columns_that_are_not_asked_about_are_never_touched() -> None:
    odd: list[Any] = [pd.NA, [1], decimal.Decimal("sNaN"), "\ud800", object(), None]
    frame = pd.DataFrame({"x": [1.0] * 6, "o": pd.Series(odd, dtype=object), "c": pd.Series(odd[4:] * 3, dtype=object)})
    frame["h"] = pd.Series([Hostile() for _ in range(6)], dtype=object)
    frame["k"] = pd.Categorical([1, "a", 1, "a", None, 1])
    assert column(frame) == [1.0] * 6
    for name in "ohk":
        with pytest.raises(DuotoneError, match=f"column {name} .*convert it"):
            prepare(frame, f"count({name}) > 1", P)
        with pytest.raises(DuotoneError, match="cannot be"):
            select_groups(frame, [name], P)
    assert column(pl.DataFrame({"x": [1], "o": pl.Series([object()], dtype=pl.Object)})) == [1]
    for rows in ({"x": [1]}, [{"x": 1}], [1], frame["x"], pl.LazyFrame({"x": [1]}), pa.table({"x": [1]}).to_reader()):
        with pytest.raises(DuotoneError, match="that is not a table"):
            open_source(rows)
    for names in ([1, 2], ["x", "x"]):
        with pytest.raises(DuotoneError, match="a name of its own"):
            open_source(pd.DataFrame([[1, 2]], columns=names))


def test_types_of_pandas_that_hold_nothing_but_their_own() -> None:
    frame = pd.DataFrame(
        {
            "b": pd.array([True, None, False], dtype="boolean"), "i": pd.array([1, None, -(2**63)], dtype="Int64"),
            "f": pd.array([1.5, None, NAN], dtype="Float64"), "s": ["a", None, "é"], "c": pd.Categorical(["y", None, "x"]),
            "n": pd.Categorical([2, 1, None]), "a": pd.array(["a", None, "b"], dtype=pd.ArrowDtype(pa.string())),
            "t": pd.to_datetime(["2020-01-01", None, "2020-01-02"]), "u": np.array([1, 2, 3], np.uint64),
            "z": pd.date_range("2020", periods=3, tz="UTC"), "p": pd.period_range("2020", periods=3),
            "d": np.array([1, 2, 3], "m8[s]"), "q": pd.arrays.SparseArray([0, 0, 1]), "w": np.zeros(3, complex),
        }
    )  # fmt: skip
    assert values(frame, "b", "i", "s", "c", "n", "a") == [
        (True, 1, "a", "y", 2, "a"), (None, None, None, None, 1, None), (False, -(2**63), "é", "x", None, "b"),
    ]  # fmt: skip
    assert column(frame, "f") == [1.5, None, None]
    assert [x is None for x in column(frame, "t")] == [False, True, False]
    with open_source(frame) as source:
        assert {name for name, kind in source.columns.items() if kind == "other"} == set("uzpdqw")


def test_what_no_engine_keeps_is_refused_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit of 13 instead of 65,536: a table of so many levels takes long to make."""
    monkeypatch.setattr("duotone.tables.engines.results.MOST_ENDS", 13)
    monkeypatch.setattr(Source, "run", None)
    rows = pa.table({"name": ["Bob"] * 2, "x": [5, 7]})
    for question in ("sum(x) filter (where name = 'Bob') > 1000000", "avg(x) > 3", "mode(name) = 'Bob'"):
        with pytest.raises(DuotoneError, match="engines keep at most 13: give a larger epsilon or delta"):
            prepare(rows, question, P, bounds={"x": (0, 10)})
    prepare(rows, "count(*) filter (where name = 'Bob') > 1000000", P).close()  # a count needs no ends


@pytest.mark.slow
@pytest.mark.parametrize("delta", ["5e-6", "5e-7"])
def test_a_hundred_thousand_and_a_million_levels_are_answered_or_refused(delta: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Bob and with him, whose value once met a limit of the engine's."""
    tables = [pa.table({"name": ["Ann", "Cy", "Di", name], "x": [1, 2, 3, 7]}) for name in ("Eve", "Bob")]
    privacy = ApproxDP(0, delta)
    for question, expected in (("count(*) filter (where name = 'Bob') > 0", [-1, 0]), ("median(x) > 3", [-3, -3])):
        for table, level in zip(tables, expected, strict=True):
            with prepare(table, question, privacy) as asked:
                assert asked._levels()[2].tolist() == [level]
    monkeypatch.setattr(Source, "run", None)  # nothing may be read
    for table in tables:
        with pytest.raises(DuotoneError, match="most influential people, and engines keep at most 65536"):
            prepare(table, "sum(x) filter (where name = 'Bob') > 1000000", privacy, bounds={"x": (0, 10)})


def test_the_engine_keeps_as_many_as_it_may_be_asked_for() -> None:
    with duckdb.connect() as connection:
        kept = connection.execute(f"select len(max(i, {MOST_ENDS + 2})) from range(5) t(i)").fetchall()
    assert kept == [(5,)]


def test_a_key_too_long_to_be_shown_is_nobodys(tmp_path: Path) -> None:
    keys = ["é" * LONGEST] * 30 + ["x" * (LONGEST + 1)] * 30 + ["y" * 3_000_000] + ["z"] * 30
    shown = select_groups(pa.table({"k": keys}), ["k"], ALL).answers
    assert sorted(len(key) for (key,) in shown) == [1, LONGEST]
    people = pa.table({"u": [str(i) for i in range(40)] + ["u" * 5000] * 40, "k": ["a"] * 40 + ["b"] * 40})
    assert list(select_groups(people, ["k"], ALL, unit="u").answers) == [("a",)]


@pytest.mark.slow
def test_a_wide_file_is_read_by_its_used_columns_alone(tmp_path: Path) -> None:
    width = 20_000
    lines = [",".join(f"c{i}" for i in range(width)), *[",".join(str(i % 7) for i in range(width))] * 60]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    code = "from duotone import *; print(ask('wide.csv', 'count(*) filter (where c17 > 2) > 20', ApproxDP(1, '1e-6')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=50)
    assert done.stdout == "yes\n", done.stderr


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
    with open_source(table, name="t" if ending == "duckdb" else None) as source:
        read = source.only(["x"])
        assert len(read.run(read.table)) == 3
        raw = source.connection.con
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


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_a_view_never_passes_as_a_table(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as raw:
        raw.execute("create schema other; create table other.visits as select 1 as x; create view visits as select 2 as x")
        raw.execute('create table "a.b" as select 3 as x; create schema a; create table a.c as select 4 as x')
    file = tmp_path / "t.duckdb"
    with pytest.raises(DuotoneError, match="visits is a view"):
        open_source(file, name="visits")
    assert column(file, of="other.visits") == [1]
    assert column(file, of="a.b") == [3]
    assert column(file, of="A.C") == [4]
    with pytest.raises(DuotoneError, match="has no table c"):
        open_source(file, name="c")
    own = ibis.duckdb.connect()
    own.con.execute(f"attach '{file}' as elsewhere (read_only); create table visits as select 5 as x")
    assert column(own, of="visits") == column(own.table("visits")) == [5]
    assert column(own, of="elsewhere.other.visits") == [1]
    with pytest.raises(DuotoneError, match="visits is a view"):
        open_source(own, name="elsewhere.main.visits")
    own.con.execute("create temp view visits as select 6 as x")
    with pytest.raises(DuotoneError, match=r"visits may be .*: say which"):
        open_source(own, name="visits")
    assert column(own, of="memory.main.visits") == [5]
    own.con.execute("set default_collation = 'nocase'")
    with pytest.raises(DuotoneError, match="default_collation"):
        open_source(own, name="memory.main.visits")
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
from duotone.tables.engines.source import Source

n = 300_000
rows = pa.table({"u": range(n), "x": [4711] * n, "s": [f"secret{i % 70000}" for i in range(n)]})
delay = float(sys.argv[1])

def slow(self, plan):
    threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()
    while True:  # many short ones: DuckDB hears of a signal between two of its tasks
        query = "select 'secret', count(*) from range(9000000) r(i) where i % 7 = 3"
        secret = self.connection.con.execute(query).to_arrow_table()

Source.run = slow
asked = prepare(rows, "avg(x) > 3", ApproxDP(1, "1e-6"), bounds={"x": (0, 5000)})
del rows
try:
    asked.release()
except KeyboardInterrupt as error:
    assert error.__context__ is None and error.__cause__ is None
    trace, frames = error.__traceback__, []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    assert frames[-1].f_code.co_name == "quietly", frames
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
            real = source.connection.to_pyarrow

            class Noisy:
                def to_pyarrow(self, plan: Any) -> Any:
                    os.kill(os.getpid(), signal.SIGINT)
                    return real(plan)

            noisy = Source(source.rows, Noisy(), "t")
            assert noisy.run(source.rows.count()).as_py() == 1  # whoever handles it without an error goes on
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


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
    for name in "paiw":
        with pytest.raises(DuotoneError, match="cannot be asked about"):
            prepare(url, f"count({name}) > 1", P, name="odd")


@pytest.mark.slow
def test_a_huge_key_on_postgres_is_nobodys_and_long_lists_come_through(server: Any) -> None:
    url, connection = server
    connection.execute("create table keys as select case when i < 40 then 'a' else repeat('é', 3000000) end as k, i as x "
                       "from generate_series(0, 79) i")  # fmt: skip
    assert list(select_groups(url, ["k"], ALL, name="keys").answers) == [("a",)]
    long = b"a" * 5_000_000  # longer than the blocks that a reader of CSV takes by itself
    assert _arrow(b'k,n\n"' + long + b'",1\n', ibis.schema({"k": "string", "n": "int64"}))["k"][0].as_py() == long.decode()


def test_names_on_postgres_mean_one_table(server: Any) -> None:
    url, connection = server
    connection.execute('create schema s; create table s.t as select 1 as x; create table "q.t" as select 2 as x')
    connection.execute("create view public.t as select 3 as x; create extension if not exists postgres_fdw")
    connection.execute("create server far foreign data wrapper postgres_fdw; create table parent (x int)")
    connection.execute("create foreign table child () inherits (parent) server far")
    assert column(url, of="s.t") == [1]
    assert column(url, of="q.t") == [2]
    for name in ("t", "public.t", "child"):
        with pytest.raises(DuotoneError, match="a view or a foreign table is not one"):
            open_source(url, name=name)
    with pytest.raises(DuotoneError, match="foreign table, whose reading might fail"):
        open_source(url, name="parent")
    connection.execute("create schema q; create table q.t as select 4 as x")
    with pytest.raises(DuotoneError, match=r"may be .*: rename one"):
        open_source(url, name="q.t")
    connection.execute("create database latin encoding 'LATIN1' locale 'C' template template0")
    with pytest.raises(DuotoneError, match="does not keep text as UTF-8"):
        open_source(url.replace("/postgres?", "/latin?"), name="t")


@pytest.mark.slow
def test_a_long_line_is_read_or_not_by_its_length_alone(tmp_path: Path) -> None:
    """DuckDB's own limit depends on where a line stands in the file: one row more or less must not move it."""
    file = tmp_path / "t.csv"
    for size, counted in ((999_999, 1), (10**6, 1), (10**6 + 1, 0), (1_999_999, 0), (2 * 10**6, 0), (2 * 10**6 + 1, 0)):
        for end in (b"\n", b"\r\n"):
            for before in (b"", b"N,1" + end, b"N," + b"1" * 10**5 + end):
                line = b"Y," + b"y" * (size - 2)
                file.write_bytes(b"a,b" + end + before + (line + end) * 9)
                with prepare(file, "count(*) filter (where a = 'Y') > 4", P) as asked:
                    assert asked._levels()[2].tolist() == [4 if counted else -5], (size, end, len(before))


def test_a_byte_1_drops_its_own_line_alone(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    long = b"y" * (2 * 10**6 - 2)
    for odd in (b"a\x01b,2", b"\x01", b"a,\x01", b"a,\x01\x01", b"\x01" + long, b"a\x01" + long, b"\x02", b""):
        file.write_bytes(b"a,b\n" + b"a,1\n" * 3 + odd + b"\n" + b"a,1\n" * 3)
        with prepare(file, "count(*) > 4", P) as asked:
            assert asked._levels()[2].tolist() == [1], odd[:9]


def test_times_of_old_writers_that_say_no_zone_are_refused(tmp_path: Path) -> None:
    """ConvertedType TIMESTAMP_MILLIS without a LogicalType: Arrow takes it for UTC, DuckDB for none, and fails on a far one."""
    file = tmp_path / "t.parquet"
    for values in ([10**12] * 3, [10**12] * 3 + [2**62]):
        table = pa.table({"t": pa.array(values, pa.timestamp("ms", "UTC")), "x": [1] * len(values)})
        pq.write_table(table, file, store_schema=False)
        data = file.read_bytes()
        size = int.from_bytes(data[-8:-4], "little")
        footer = data[-8 - size : -8].replace(b"\x4c\x8c\x11\x1c\x1c\x00\x00\x00\x00", b"")  # the column's LogicalType
        assert len(footer) == size - 9
        file.write_bytes(data[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
        with pytest.raises(DuotoneError, match="column t holds neither"):
            prepare(file, "count(*) filter (where t > '2000-01-01') > 1", P)
        with prepare(file, "count(x) > 2", P) as asked:
            assert asked._levels()[2].tolist() == [len(values) - 3]


FAR_DAYS = [0, -1, 2**31 - 1, -(2**31), 2440588 + 2932897, 10**8, 2440588 + 106751992]
"""Julian days: both ends, the first of the year 10000, and days whose microseconds do not fit in 64 bits."""


@pytest.mark.slow
@pytest.mark.parametrize("nanoseconds", [0, -1, 86_400 * 10**9, 2**63 - 1, -(2**63)])
def test_a_far_time_of_96_bits_changes_no_other(nanoseconds: int, tmp_path: Path) -> None:
    """INT96, as Spark and Impala once wrote times: no writer here writes such days, so they are put in place of another."""
    file, quiet, marked = tmp_path / "t.parquet", datetime(2020, 5, 5, 1, 2, 3, 456789), datetime(2001, 2, 3, 4, 5, 6)
    table = pa.table({"t": pa.array([quiet, quiet, marked, quiet], pa.timestamp("us")), "x": [1, 2, 3, 4]})
    pq.write_table(table, file, use_deprecated_int96_timestamps=True, use_dictionary=False, compression="none")
    written, mark = file.read_bytes(), struct.pack("<qi", (4 * 3600 + 5 * 60 + 6) * 10**9, 2440588 + (marked - EPOCH).days)
    assert written.count(mark) == 1
    assert values(file, "t", "x") == [(quiet, 1), (quiet, 2), (marked, 3), (quiet, 4)]
    for day in FAR_DAYS:
        file.write_bytes(written.replace(mark, struct.pack("<qi", nanoseconds, day)))
        read = values(file, "t", "x")
        assert [*read[:2], read[3]] == [(quiet, 1), (quiet, 2), (quiet, 4)]
        for question, level in (("count(t) > 2", 0), ("count(*) filter (where year(t) = 2020) > 2", 0), ("count(x) > 2", 1)):
            with prepare(file, question, P) as asked:
                assert abs(asked._levels()[2].item() - level) <= 1


def test_macros_of_a_database_stand_for_no_function(tmp_path: Path) -> None:
    file = tmp_path / "t.duckdb"
    bob = "create macro isnan(y) as exists (select 1 from t where name = 'Bob'); create macro lower(y) as error('4711')"
    for names in ("'Ann'", "'Ann', 'Bob'"):
        file.unlink(missing_ok=True)
        with duckdb.connect(file) as made:
            made.execute(f"create table t as select unnest([{names}]) as name, 1.5 as x; {bob}")
        with prepare(file, "count(x) filter (where lower(name) <> 'x') > 0", P, name="t") as asked:
            assert asked._levels()[2].tolist() == [names.count(",")]
        own = ibis.duckdb.connect(file, read_only=True)
        with pytest.raises(DuotoneError, match="a macro with the name of one of DuckDB's own functions"):
            prepare(own, "count(x) > 0", P, name="t")
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
