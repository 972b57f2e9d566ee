"""The rule of totality (docs/reading.md): what one row is read as never depends on another, and nothing else is looked at."""

from __future__ import annotations

import decimal
import pickle
import struct
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import DuotoneError, ask, prepare, select_groups
from duotone.errors import UnreadableColumn
from duotone.tables.engines import duckdb as own_duckdb
from duotone.tables.engines import files, open_source
from duotone.tables.engines.stored_values import of_type
from support.reading import P, answers, column, values

NAN = float("nan")
QUESTIONS = ["count(*) filter (where x is null) > 500", "not count(x) > 500", "not sum(x) > 50000", "avg(x) < 190"]
OPTIONS: list[dict[str, Any]] = [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}, {"row_group_size": 2}]
EPOCH = datetime(1970, 1, 1)
EXTREMES = [0, 1, -1, 2**63 - 1, 1 - 2**63, -(2**63), 2**62]


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
    optimisers, reader, number = own_duckdb.LOCKED["disabled_optimizers"], files.PARQUET, of_type

    def unguarded(name: str, kind: str) -> Any:
        how = number(name, kind)
        return type(how)(how.kind, how.type, bare.format(name)) if kind == "DOUBLE" else how

    for kept in ("optimisers", "reader", "number", None):
        monkeypatch.setitem(own_duckdb.LOCKED, "disabled_optimizers", optimisers if kept == "optimisers" else "''")
        monkeypatch.setattr(files, "PARQUET", reader if kept == "reader" else "can_have_nan = false")
        monkeypatch.setattr(files, "of_type", number if kept == "number" else unguarded)
        with open_source(path) as source:
            view = source.only(["x"]).table.op().name
            (counted,) = source.engine.connection.con.execute(f"select count(x) from {view}").fetchall()
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
        (pa.array([-1, 2**62], pa.int64()).view(pa.timestamp("s", "UTC")), [pd.Timestamp("1969-12-31 23:59:59"), None]),
        *((pa.array([1], kind), None) for kind in (pa.uint64(), pa.time32("s"), pa.duration("s"))),
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


@pytest.mark.slow
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
        with pytest.raises(DuotoneError, match="need distinct text names"):
            open_source(pd.DataFrame([[1, 2]], columns=names))


@pytest.mark.slow
def test_a_pandas_type_that_no_rule_reads_is_named_with_its_cure() -> None:
    """By its dtype alone: whatever the rows are, the sentence is the same, and objects stay refused."""
    cure = r"has dtype {}, which does not say what its values are: convert it, for text with df\['ward'\].astype\('string'\)"
    for odd in (["a", "b"], [1, object()]):
        index = pd.Index(odd, dtype=object)
        for kind, words in (("object", "object"), ("category", "category of objects")):
            frame = pd.DataFrame({"ward": pd.Series(odd, dtype=object), "n": [1, 2], "u": pd.array([1, 2], dtype="uint64")})
            frame["ward"] = pd.Categorical.from_codes([0, 1], index) if kind == "category" else frame["ward"]
            for question, unit, what in (
                ("count(*) filter (where ward = 'a') > 1", None, "asked about"),
                ("select ward, count(*) > 1 from t group by ward", None, "grouped by"),
                ("count(*) > 1", "ward", "a person's name"),
            ):
                with pytest.raises(DuotoneError, match=f"column ward cannot be {what}: it {cure.format(words)}"):
                    prepare(frame, question, P, unit=unit)
    with pytest.raises(UnreadableColumn, match="column u cannot be asked about: it has dtype uint64: convert it") as refused:
        prepare(frame, "count(u) > 1", P)
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)
    towns = pd.DataFrame({"town": pd.Series(["x"], dtype=object), "n": [1]})
    with pytest.raises(UnreadableColumn, match=r"df\['town'\]"):
        prepare(frame, "select count(*) filter (where p.town = 'x') > 1 from t join p on t.n = p.n", P, public={"p": towns})
    frame["ward"] = frame["n"].astype("string")
    prepare(frame, "count(*) filter (where ward = 'a') > 1", P).close()


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


def test_times_of_old_writers_that_say_no_zone_are_refused(tmp_path: Path) -> None:
    """ConvertedType TIMESTAMP_MILLIS without a LogicalType: Arrow takes it for UTC, DuckDB for none, and fails on a far one."""
    file = tmp_path / "t.parquet"
    for times in ([10**12] * 3, [10**12] * 3 + [2**62]):
        table = pa.table({"t": pa.array(times, pa.timestamp("ms", "UTC")), "x": [1] * len(times)})
        pq.write_table(table, file, store_schema=False)
        data = file.read_bytes()
        size = int.from_bytes(data[-8:-4], "little")
        footer = data[-8 - size : -8].replace(b"\x4c\x8c\x11\x1c\x1c\x00\x00\x00\x00", b"")  # the column's LogicalType
        assert len(footer) == size - 9
        file.write_bytes(data[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
        with pytest.raises(DuotoneError, match="column t holds neither"):
            prepare(file, "count(*) filter (where t > '2000-01-01') > 1", P)
        with prepare(file, "count(x) > 2", P) as asked:
            assert asked._levels()[2].tolist() == [len(times) - 3]


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
