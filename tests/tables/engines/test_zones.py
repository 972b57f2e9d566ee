"""Times with a time zone are instants, read in UTC; what is infinite or outside the years 1 to 9999 is null."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import ApproxDP, ask
from duotone.tables.engines import open_source
from support import postgres_server, spark_cluster
from support.reading import column, values

T = datetime.datetime
SCALE = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def need(what: str | None) -> None:
    """On a laptop the test is skipped with a sentence; CI must have everything."""
    if what is not None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{what} is not installed, and this test needs it")


def numbers(unit: str) -> list[int | None]:
    """Stored numbers: quiet ones, the ends of time, and the ends of 64 bits."""
    ends = [] if unit == "ns" else [-62135596800 * SCALE[unit] - more for more in (0, 1)]
    ends += [] if unit == "ns" else [253402300800 * SCALE[unit] - more for more in (0, 1)]
    return [0, -1, 1_600_000_000 * SCALE[unit], None, *ends, -(2**63), 2**63 - 1, -(2**63) + 1]


def expected(number: int | None, unit: str) -> T | None:
    if number is None or (unit == "ns" and abs(number) >= 2**63 - 1):
        return None
    micros = number * 10**6 // SCALE[unit]
    try:
        return T(1970, 1, 1) + datetime.timedelta(microseconds=micros)
    except OverflowError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("unit", list(SCALE))
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "-03:30"])
def test_arrow_and_parquet(unit: str, zone: str, tmp_path: Path) -> None:
    values = numbers(unit)
    frame = pa.table({"x": pa.array(values, pa.int64()).view(pa.timestamp(unit, zone))})
    wanted = [expected(value, unit) for value in values]
    assert open_source(frame).columns == {"x": "time"}
    assert column(frame) == wanted
    stored = [n for n in values if unit != "s" or n is None or abs(n) < 2**62 // 1000]  # it is written in milliseconds
    pq.write_table(frame.filter(pa.array([n in stored for n in values])), tmp_path / "t.parquet")
    assert column(tmp_path / "t.parquet") == [expected(value, unit) for value in stored]


def test_pandas_writes_nanoseconds_in_utc(tmp_path: Path) -> None:
    days = pd.date_range("2025-01-01", periods=90, tz="UTC").astype("datetime64[ns, UTC]")
    pd.DataFrame({"day": days}).to_parquet(tmp_path / "days.parquet")
    assert pq.read_schema(tmp_path / "days.parquet").field("day").type == pa.timestamp("ns", "UTC")
    question = "count(*) filter (where day >= timestamp '2025-02-01') between 50 and 70"
    assert ask(tmp_path / "days.parquet", question, ApproxDP(9, "1e-9")) == True  # noqa: E712


def test_an_old_time_in_milliseconds_without_a_zone_is_still_refused(tmp_path: Path) -> None:
    frame = pa.table({"x": pa.array([0], pa.timestamp("ms"))})
    pq.write_table(frame, tmp_path / "t.parquet", version="1.0", store_schema=False)
    told = open_source(tmp_path / "t.parquet").columns["x"]
    assert told == ("other" if pq.read_schema(tmp_path / "t.parquet").field("x").type.tz else "time")


def test_duckdb() -> None:
    engine = ibis.duckdb.connect()
    engine.con.execute(
        """create table t as select * from (values ('infinity'::timestamptz), ('-infinity'), ('2020-01-01 00:00:00+02'),
        ('0001-01-01 00:00:00+00'), ('0001-01-01 00:00:00+01'), ('9999-12-31 23:59:59.999999+00'),
        ('9999-12-31 23:59:59.999999-01'), (null), ('200000-01-01 00:00:00+00')) v(x)"""
    )
    ends = [T(1, 1, 1), None, T(9999, 12, 31, 23, 59, 59, 999999), None, None, None]
    assert column(engine, of="t") == [None, None, T(2019, 12, 31, 22), *ends]


@pytest.mark.skipif(int(duckdb.__version__.split(".")[0]) < 2, reason="DuckDB has the type from 2.0 on")
def test_duckdb_in_nanoseconds() -> None:
    engine = ibis.duckdb.connect()
    engine.con.execute("create table t (x timestamptz_ns)")
    engine.con.execute(
        """insert into t values ('infinity'), ('-infinity'), ('2020-01-01 00:00:00.123456789+02'), ('1960-01-01 00:00:00+00'),
        (null)"""
    )
    assert open_source(engine, table="t").columns == {"x": "time"}
    assert column(engine, of="t") == [None, None, T(2019, 12, 31, 22, 0, 0, 123456), T(1960, 1, 1), None]


@pytest.mark.slow
def test_postgres() -> None:
    need(None if postgres_server.programs() else "PostgreSQL")
    psycopg = pytest.importorskip("psycopg")
    with postgres_server.server() as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table t (x timestamptz, n int default 1)")
        connection.execute(
            """insert into t (x) values ('infinity'), ('-infinity'), ('2020-01-01 00:00:00+02'), ('0001-01-01 00:00:00+00'),
            ('0001-01-01 00:00:00+01'), ('9999-12-31 23:59:59.999999+00'), ('9999-12-31 23:59:59.999999-01'), (null),
            ('200000-01-01 00:00:00+00'), ('4713-01-01 00:00:00+00 BC')"""
        )
        ends = [T(1, 1, 1), None, T(9999, 12, 31, 23, 59, 59, 999999), None, None, None, None]
        assert [x for x, _ in values(url, "x", "n", of="t")] == [None, None, T(2019, 12, 31, 22), *ends]


@pytest.mark.slow
def test_spark(tmp_path: Path) -> None:
    need(spark_cluster.missing())
    os.environ.update(spark_cluster.environment())
    values = numbers("us")
    frame = pa.table({"x": pa.array(values, pa.int64()).view(pa.timestamp("us", "UTC"))})
    pq.write_table(frame, tmp_path / "t.parquet")
    read: list[Any] = column("spark://local[2]", of=str(tmp_path / "t.parquet"))
    assert read == [expected(value, "us") for value in values]
