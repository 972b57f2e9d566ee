"""Tables in Spark: a plan runs as one job on the cluster, and groups are drawn where they are counted."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import ibis
import ibis.expr.operations as ops
import pyarrow as pa
import sqlglot.expressions as sge

from duotone.errors import DuotoneError, MissingExtra
from duotone.model.notice import Refusal
from duotone.tables.engines.engine import Abilities, Draw, Source, answers, quietly, require_vouched, sqlglot_of
from duotone.tables.engines.stored_values import OTHER, Columns, Reading, selected

UNREACHABLE = "the Spark cluster cannot be reached (what it says is not shown)"
LIMB = 21
"""64-bit integers are added up in three parts of this many bits: no sum overflows before 2^42 rows."""
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
"""What Spark logs may quote rows."""


ABLE = Abilities(no_casts="Spark has casts of its own", same_functions=False)


@dataclass(frozen=True, eq=False)
class Spark:
    """A Spark session that Ibis is connected to.

    Guarantee: every sum is exact, and nothing that the cluster says is passed on.
    """

    session: Any = field(repr=False)
    connection: Any = field(repr=False)
    can: Abilities = ABLE
    name: str = "Spark"

    def run(self, plan: Any) -> Any:
        """Execute a plan as one job."""
        return self.session.sql(self._statement(plan)).toArrow()

    def alive(self) -> bool:
        """Whether the cluster responds."""
        return answers(self)

    def interrupt(self) -> None:
        """A job is not stopped: the session may be somebody else's."""

    def kept(self, plan: Any, keys: Sequence[str], draw: Draw) -> Any:
        """The keys of the shown groups, each with a noisy `size`, for a plan that counts the `people` of each: drawn by
        the workers that counted them.

        Guarantee: every key is decided by one toss of Duotone's own coin, from the operating system's randomness of the
        worker it is on. The tosses are the last thing a task does before its result goes to the driver, and nothing is
        stored or computed from them on the cluster. A task that is run again, because its worker died or was slow, tosses
        anew, but the driver takes one result for each task and drops the others unseen: no key is ever decided twice.
        """
        counted, types = self.session.sql(self._statement(plan)), [*(f"{key} string" for key in keys), "size bigint"]
        return counted.mapInArrow(partial(_drawn, draw, tuple(keys)), ", ".join(types)).toArrow()

    def public_table(self, rows: Any, types: Mapping[str, str]) -> tuple[Any, Callable[[], None]]:
        """A small public table, as a temporary view, and a function that drops it."""
        name = ibis.util.gen_name("duotone")
        times = [column for column, kind in types.items() if kind.startswith("timestamp")]
        for column in times:  # as text: a time without a zone would get the session's
            rows = rows.set_column(rows.column_names.index(column), column, rows[column].cast("string"))
        read = {column: f"cast({_quoted(column)} as timestamp_ntz) as {_quoted(column)}" for column in times}
        frame = self.session.createDataFrame(rows).selectExpr(*(read.get(column, _quoted(column)) for column in types))
        frame.createOrReplaceTempView(name)
        table = ops.DatabaseTable(name, ibis.schema(types), self.connection, ops.Namespace()).to_expr()
        return table, lambda: self.session.catalog.dropTempView(name)

    def _statement(self, plan: Any) -> str:
        """Sums of 64-bit integers could overflow, and decimals are slow: each is composed of three sums."""
        tree = sqlglot_of(self.connection, plan)
        for total in list(tree.find_all(sge.Sum)):
            counts = isinstance(total.parent, sge.Window)  # a count or a decimal is cast already
            if not counts and not isinstance(total.this, sge.Cast):  # a count or a decimal is cast already
                total.replace(_in_parts(total.this))
        return str(tree.sql(self.connection.dialect))


def _in_parts(added: Any) -> Any:
    """Σx = Σ⌊x/2^42⌋·2^42 + Σ(⌊x/2^21⌋ mod 2^21)·2^21 + Σ(x mod 2^21), also for negative x."""

    def shifted(bits: int) -> Any:
        integer = sge.cast(added.copy(), "BIGINT", dialect="spark")
        return sge.Anonymous(this="SHIFTRIGHT", expressions=[integer, sge.Literal.number(bits)]) if bits else integer

    def part(bits: int, last: bool = False) -> Any:
        low = sge.BitwiseAnd(this=shifted(bits), expression=sge.Literal.number(2**LIMB - 1))
        total = sge.cast(sge.Sum(this=shifted(bits) if last else low), "DECIMAL(38, 0)", dialect="spark")
        return sge.Mul(this=total, expression=sge.Literal.number(2**bits))

    both = sge.Add(this=part(0), expression=part(LIMB))
    return sge.paren(sge.Add(this=both, expression=part(2 * LIMB, last=True)))


def _drawn(draw: Draw, keys: tuple[str, ...], batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the keys of the groups that may be shown, and their sizes."""
    for batch in batches:
        places, sizes = draw(batch.column("people").to_numpy(zero_copy_only=False))
        yield batch.select(keys).take(pa.array(places)).append_column("size", pa.array(sizes, pa.int64()))


def open_spark(url: str, name: str | None, vouched: bool = False) -> Source:
    """A table on the cluster of a URL: in its catalogue, or Parquet files by path."""
    try:
        import pyspark  # noqa: F401  # which says so where it is missing, whatever of it was imported before
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("a table in Spark", "spark") from None
    if name is None:
        raise Refusal("several tables of a cluster")
    rest = url.removeprefix("spark://")
    builder = SparkSession.builder.master(rest if rest.startswith("local") else url).appName("duotone")
    if "PYSPARK_PYTHON" not in os.environ:
        builder = builder.config("spark.pyspark.python", sys.executable)
    for setting, value in QUIET.items():
        builder = builder.config(setting, value)
    return of_session(quietly(builder.getOrCreate, UNREACHABLE), name, vouched)


def of_session(session: Any, name: str | None, vouched: bool = False) -> Source:
    """A table of a session: in its catalogue, or Parquet files by path."""
    if name is None:
        raise Refusal("several tables", place="a Spark session")
    reader = session.read.parquet if "/" in name else session.table
    frame = quietly(lambda: reader(name), f"Spark has no table {name}, or may not read it")
    return replace(of_frame(frame, name, vouched), sibling=lambda other: of_session(session, other, vouched))


def of_frame(frame: Any, name: str | None = None, vouched: bool = False) -> Source:
    """A Spark data frame. Its rows must be the same each time it is computed."""
    session = frame.sparkSession
    _require_plain(frame)
    unstored = f"view {name}" if name is not None else "the Spark data frame, which a query makes,"
    what = None if _stored(frame) else require_vouched(unstored, vouched)
    backend = quietly(lambda: ibis.pyspark.connect(session), UNREACHABLE)
    readings = {column.name: of_type(_quoted(column.name), column.dataType.simpleString()) for column in frame.schema.fields}
    views: list[str] = []

    def table(columns: Sequence[str]) -> Any:
        read, types = selected({name: readings[name] for name in columns}, _quoted)
        views.append(ibis.util.gen_name("duotone"))
        frame.selectExpr(*read).createOrReplaceTempView(views[-1])
        return ops.DatabaseTable(views[-1], ibis.schema(types), backend, ops.Namespace()).to_expr()

    def release() -> None:
        while views:
            session.catalog.dropTempView(views.pop())

    called, engine = name or "the table", Spark(session, backend)
    return Source(engine, called, Columns.of(readings, table), named=name is not None, release=release, vouched=what)


def _stored(frame: Any) -> bool:
    """Whether a data frame is a table, or files of a type in which no row changes how another is read, according to
    Spark's plan. Other systems (JDBC, other catalogues) may hold a query, and an RDD may be computed; in text and JSON,
    a row may be an error, span several lines, or decide what the columns hold."""
    if not hasattr(frame, "_jdf"):  # a remote session does not show its plans
        return False
    plan = frame._jdf.queryExecution().analyzed()
    while plan.nodeName() == "SubqueryAlias":
        plan = plan.child()
    if plan.nodeName() == "LogicalRelation":
        relation = plan.relation()
        if relation.getClass().getSimpleName() != "HadoopFsRelation":
            return False
        return relation.fileFormat().getClass().getSimpleName() in ("ParquetFileFormat", "OrcFileFormat")
    return plan.nodeName() in ("HiveTableRelation", "LocalRelation")


def _require_plain(frame: Any) -> None:
    """Refuse frames that compare text differently, change each time, or may fail on some rows only."""
    session = frame.sparkSession
    for column in frame.schema.fields:
        if getattr(column.dataType, "collation", "UTF8_BINARY") != "UTF8_BINARY":
            raise DuotoneError(f"column {column.name} compares text by a collation under which different texts are equal")
    if hasattr(frame, "_jdf") and not frame._jdf.queryExecution().analyzed().deterministic():
        raise DuotoneError("the data frame draws at random, so its rows differ each time: write it out first")
    if session.conf.get("spark.sql.parser.escapedStringLiterals", "false") != "false":
        raise DuotoneError("the session reads text in SQL by old rules: set spark.sql.parser.escapedStringLiterals to false")
    for setting in CALENDARS:
        if str(session.conf.get(setting, "CORRECTED")).upper() == "EXCEPTION":
            raise DuotoneError(f"the session fails on a row with an old date: set {setting} to CORRECTED or LEGACY")


def of_type(column: str, held: str) -> Reading:
    """How a column of a Spark type is read: the rule of totality (docs/reading.md)."""
    if held in INTEGERS:
        return Reading("integer", INTEGERS[held], column)
    if decimal := re.fullmatch(r"decimal\((\d+),(\d+)\)", held):
        return Reading("decimal", f"decimal({decimal[1]}, {decimal[2]})", column)
    if re.fullmatch(r"string|(var)?char\(\d+\)", held):
        return Reading("text", "string", f"make_valid_utf8({column})")
    match held:
        case "boolean":
            return Reading("boolean", "boolean", column)
        case "float" | "double":
            value = f"(cast({column} as double) + 0.0D)"
            return Reading("float", "float64", f"case when isnan({value}) then null else {value} end")
        case "date":
            inside = f"{column} between date'0001-01-01' and date'9999-12-31'"
            return Reading("date", "date", f"case when {inside} then {column} end")
        case "timestamp_ntz":
            last = "timestamp_ntz'9999-12-31 23:59:59.999999'"
            inside = f"{column} between timestamp_ntz'0001-01-01 00:00:00' and {last}"
            return Reading("time", "timestamp(6)", f"case when {inside} then {column} end")
        case "timestamp":  # an instant; the session's zone is UTC, but this does not depend on it
            first, last = ("timestamp'0001-01-01 00:00:00 UTC'", "timestamp'9999-12-31 23:59:59.999999 UTC'")
            local = f"convert_timezone(current_timezone(), 'UTC', cast({column} as timestamp_ntz))"
            return Reading("time", "timestamp(6)", f"case when {column} between {first} and {last} then {local} end")
    return OTHER


INTEGERS = {"tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64"}
CALENDARS = [
    f"spark.sql.{source}.{kind}RebaseModeInRead" for source in ("parquet", "avro") for kind in ("datetime", "int96")
    if (source, kind) != ("avro", "int96")
]  # fmt: skip
"""Settings for dates before the calendar reform."""


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
