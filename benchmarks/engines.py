"""What a private answer costs beside the engine's own aggregate, on Postgres and Spark, in one run.

    python benchmarks/engines.py postgres [ROWS]
    python benchmarks/engines.py spark [ROWS] [CORES]
    python benchmarks/engines.py groups [KEYS]

Each pair of queries alternates; the figure is the ratio of medians. Rows are made by the engine itself.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import measure

from duotone import ApproxDP, prepare, select_groups
from duotone.tables.engines import Source, open_source
from support.postgres_server import server

P = ApproxDP(1, "1e-6")
ROUNDS = 5
COLUMNS = "id, (id * 7919) % 1000003 as x, (id * 31) % 1000 as k, (id * 104729) % 1000000 as m"
LOW, HIGH = 1_000, 900_000
CLIPPED = f"case when x between {LOW} and {HIGH} then x when x < {LOW} then {LOW} when x > {HIGH} then {HIGH} end"
PAIRS = [
    ("count", "count(*) filter (where x > 300000) > 1000", "select count(*) from t where x > 300000"),
    ("avg", "avg(x) > 400000", "select avg(x) from t"),
    ("avg of the clipped", "avg(x) > 400000", f"select avg({CLIPPED}) from t"),
    ("sum of the clipped", "sum(x) > 400000", f"select sum({CLIPPED}) from t"),
    ("grouped count, 1,000 groups", "select k, count(*) >= 5000 from t group by k", "select k, count(*) from t group by k"),
    ("grouped count, 1,000,000 groups", "select m, count(*) >= 50 from t group by m", "select m, count(*) from t group by m"),
]


class Metered:
    """An engine that counts returned rows."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.bytes = inner, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def run(self, plan: Any) -> Any:
        """Run a plan, and count."""
        result = self._inner.run(plan)
        self.bytes += result.nbytes
        return result


def beside(source: Source, own: Callable[[str], Any], rounds: int) -> None:
    for name, question, sql in PAIRS:
        meter: Any = Metered(source.engine)
        asked = prepare(replace(source, engine=meter), question, P, bounds={"x": (LOW, HIGH)})
        theirs, ours = measure.in_turns([partial(own, sql), asked.release], rounds)
        travelled = f"{meter.bytes // rounds:>12,} bytes"
        print(f"  {name:32} {theirs:7.2f} s  {ours:7.2f} s  ×{ours / theirs:5.2f}  {travelled}", flush=True)


def postgres(rows: int) -> None:
    import psycopg

    with server() as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create table t as select {COLUMNS} from generate_series(1::bigint, {rows}) g(id)")
        connection.execute("vacuum analyze t")
        print(f"Postgres, {rows:,} rows: its own aggregate, a private answer, ratio, what travels")
        beside(open_source(url, table="t"), lambda sql: connection.execute(sql).fetchall(), ROUNDS)


def spark(rows: int, cores: int) -> None:
    session = _session(cores)
    with tempfile.TemporaryDirectory() as folder:
        made = session.range(1, rows + 1, 1, max(cores, rows // 5_000_000)).selectExpr(*COLUMNS.split(", "))
        made.write.parquet(f"{folder}/t")
        session.read.parquet(f"{folder}/t").createOrReplaceTempView("t")
        print(f"Spark, {rows:,} rows, {cores} cores: its own aggregate, a private answer, ratio, what travels")
        beside(open_source(session, table=f"{folder}/t"), lambda sql: session.sql(sql).toArrow(), 3 if rows > 10**7 else ROUNDS)


def groups(keys: int) -> None:
    """Every tenth key has 40 people, the others one."""
    session = _session(2)
    frame = session.range(keys // 10 * 49).selectExpr(f"if(id < {keys}, id, (id % {keys // 10}) * 10) as key", "id as person")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent, kept = measure.timed(
        lambda: len(select_groups(frame.where(f"key < {keys}"), ["key"], P, unit="person", max_groups=1, vouched=True).answers),
        0,
    )
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"groups on Spark, {keys:,} keys: {spent:.1f} s, {kept:,} kept, driver +{grown:.0f} MiB")


def _session(cores: int) -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
    quiet |= {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": str(2 * cores)}
    builder = SparkSession.builder.master(f"local[{cores}]")
    for name, value in quiet.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


if __name__ == "__main__":
    which, *numbers = sys.argv[1:] or ["postgres"]
    sizes = [int(float(number)) for number in numbers]
    match which:
        case "postgres":
            postgres(*sizes or [10**7])
        case "spark":
            spark(*[*sizes, *[10**7, 2][len(sizes) :]])
        case "groups":
            groups(*sizes or [10**7])
