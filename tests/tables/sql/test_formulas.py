"""Values computed from a row: each row's value on each engine is the one that plain Python computes by the rules."""

from __future__ import annotations

import datetime
import math
import os
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot

from duotone import ApproxDP, DuotoneError, ask, prepare
from duotone.tables.engines import Source, open_source
from duotone.tables.engines.any_ibis import AnyIbis
from duotone.tables.engines.engine import of_table
from duotone.tables.engines.expressions import holds, read
from duotone.tables.sql.read_condition import read_condition, read_operand
from support import formula_cases as cases
from support import postgres_server, spark_cluster
from support.running import thinned

P = ApproxDP(1, "1e-6")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
Cases = Mapping[str, Callable[..., Any]]


def compute(source: Source, values: Collection[str], conditions: Collection[str]) -> dict[str, list[Any]]:
    """What the engine computes, row by row, in one plan."""
    rows = source.rows
    made = {f"v{i}": read(read_operand(_parsed(text), source.columns), rows) for i, text in enumerate(values)}
    made |= {f"c{i}": holds(read_condition(_parsed(text), source.columns), rows) for i, text in enumerate(conditions)}
    sent = {name: ibis.cases((value, 1), (~value, 0)) if value.type().is_boolean() else value for name, value in made.items()}
    result = source.run(rows.select("n", **sent)).sort_by("n")
    texts = [*values, *conditions]
    return {
        text: [_without_zone(value) for value in result.column(name).to_pylist()]
        for text, name in zip(texts, made, strict=True)
    }


def _without_zone(value: Any) -> Any:
    """Spark has some times with the zone of the session, which is UTC."""
    return value.replace(tzinfo=None) if getattr(value, "tzinfo", None) is not None and value.tzname() == "UTC" else value


def _parsed(text: str) -> Any:
    return sqlglot.parse_one(text, dialect="duckdb")


def require_equal(source: Source, values: Cases, conditions: Cases, near: Cases = {}) -> None:  # noqa: B006
    table = cases.table().to_pylist()
    computed = compute(source, {**values, **near}, conditions)
    for text, own in {**values, **near, **conditions}.items():
        for row, value in zip(table, computed[text], strict=True):
            wanted = cases.expected(own, row)
            same = value == wanted and (value is None) == (wanted is None)
            if text in near and value is not None and wanted is not None:
                same = math.isclose(value, wanted, rel_tol=4e-16)
            assert same, (text, row, value, wanted)


@pytest.mark.slow
def test_on_the_embedded_engine() -> None:
    with open_source(cases.table()) as source:
        require_equal(source, cases.VALUES | cases.UNICODE | cases.READ, cases.CONDITIONS | cases.MATCHES, cases.LOGARITHMS)


AMOUNTS = ["$1,200.50", "$3", "12", "-$7", " 5 ", "\t5\n", "+5", "5.", ".5", ".", "", "$", ",", "--5", "5%", "1 000",
           "0x10", "1e", "1e5", "$1e400", "-1e400", "1e-400", "-0", "$-0.0", "nan", "$NaN", "inf", "-Infinity", "true", "$TRUE",
           "False", "yes", "n/a", "NA", "٣", "\xa05", "1d", "9" * 400, "0." + "3" * 400, None]  # fmt: skip
DAYS = ["2025-12-31 10:30", "2025-12-31T10:30:00", "2025-02-30", "2024-02-29", "0000-01-01", "31/12/2025", "infinity", "epoch?",
        "", "9999-12-31", "10000-01-01", "2025-12", "20251231", None]  # fmt: skip


def number_in(text: str) -> float | None:
    """By the rule for a column of text, in plain Python."""
    bare = text.replace("$", "").replace(",", "")
    if bare.lower() in ("true", "false"):
        return float(bare.lower() == "true")
    written = re.fullmatch(r"[ \t\n]*([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?)[ \t\n]*", bare.lower())
    return float(written[1]) if written else None


def day_in(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text[:10]) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text[:10]) else None
    except ValueError:
        return None


def test_computed_text_is_read_by_the_rule_for_a_column() -> None:
    texts = pa.table({"n": range(len(AMOUNTS) + len(DAYS)), "s": [*AMOUNTS, *DAYS]})
    amount, day = "replace(replace(s, '$', ''), ',', '')::double", "left(s, 10)::date"
    alike = {"(s || '')::double": "s::double", "(s || '')::date": "s::date", "(s || '')::int": "s::int"}
    with open_source(texts) as source:
        tests = [f"{amount} > 200", f"{amount} is null"]
        values = compute(source, [amount, day, *alike, *alike.values(), f"{amount} + 1"], tests)
    for text, value, found, more, large, none in zip(
        texts["s"].to_pylist(),
        values[amount],
        values[day],
        values[f"{amount} + 1"],
        *(values[test] for test in tests),
        strict=True,
    ):
        wanted = None if text is None else number_in(text)
        assert (value, math.copysign(1, value or 1)) == (wanted, math.copysign(1, (wanted or 1) + 0.0)), text
        assert more == (None if wanted is None or abs(wanted) > 1e300 else wanted + 1), text
        assert (large, none) == (None if wanted is None else int(wanted > 200), int(wanted is None)), text
        assert found == (None if text is None else day_in(text)), text
    assert all(values[computed] == values[column] for computed, column in alike.items())


@pytest.mark.slow
def test_computed_text_of_a_file_is_counted_and_averaged(tmp_path: Path) -> None:
    """Against plain Python, as rows of a CSV file."""
    costs = ["$1,200.50", "$300", "NA", "", "$5.25", "250"]
    (tmp_path / "t.csv").write_text("cost\n" + "".join(f'"{cost}"\n' for cost in costs))
    amount = "replace(replace(cost, '$', ''), ',', '')::double"
    sure = ApproxDP(100, "0.5")
    assert [bool(ask(tmp_path / "t.csv", f"count(*) filter (where {amount} > 200) >= {n}", sure)) for n in (3, 4)] == [
        True,
        False,
    ]
    mean = sum(min(number, 1000) for number in map(number_in, costs) if number is not None) / 4
    for limit, answer in ((mean - 0.01, True), (mean + 0.01, False)):
        options: Any = {"bounds": {amount: (0, 1000, "0.01")}}
        assert bool(ask(tmp_path / "t.csv", f"avg({amount}) > {limit:.6f}", sure, **options)) is answer


def need(what: str | None) -> None:
    """On a laptop the test is skipped with a sentence; CI must have everything."""
    if what is not None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{what} is not installed, and this test needs it")


def refused(source: Source, condition: str) -> str:
    with pytest.raises(DuotoneError) as error:
        prepare(source, f"count(*) filter (where {condition}) > 5", P)
    return str(error.value)


@pytest.mark.slow
def test_on_postgres() -> None:
    """What differs is known: letters beyond ASCII (docs/limits.md); and what could fail on a row is refused."""
    need(None if postgres_server.programs() else "PostgreSQL")
    psycopg = pytest.importorskip("psycopg")
    with postgres_server.server() as url, psycopg.connect(url, autocommit=True) as connection:
        kinds = ", ".join(f"{column} {kind}" for column, kind in cases.TYPES.items())
        connection.execute(f"create table edges ({kinds})")
        with connection.cursor() as cursor, cursor.copy("copy edges from stdin") as copy:
            for row in cases.table().to_pylist():
                copy.write_row(tuple(row.values()))
        with open_source(url, table="edges") as source:
            require_equal(source, cases.VALUES, cases.CONDITIONS, cases.LOGARITHMS)
            for text in cases.READ:
                of = "column s" if "(s as" in text else sqlglot.transpile(text, "duckdb", "duckdb")[0]
                assert f"Postgres has no cast that cannot fail: {of}" in refused(source, f"{text} is null")
            for text in cases.MATCHES:
                assert "Postgres has other regular expressions than DuckDB" in refused(source, text)


@pytest.mark.slow
def test_on_spark(tmp_path: Path) -> None:
    need(spark_cluster.missing())
    os.environ.update(spark_cluster.environment())
    pq.write_table(cases.table(), tmp_path / "edges.parquet")
    with open_source("spark://local[2]", table=str(tmp_path / "edges.parquet")) as source:
        resting = ("floor", "ceil", "round", "trunc(b", "b::int", "b::decimal", "ltrim", "rtrim")
        refused_there = [text for text in cases.VALUES if any(word in text for word in resting)]
        kept = {text: own for text, own in cases.VALUES.items() if text not in refused_there}
        require_equal(source, dict(thinned((kept | cases.UNICODE).items(), 3)), cases.CONDITIONS)
        assert len([refused(source, f"{text} is null") for text in refused_there]) == 13
        for text in cases.LOGARITHMS:
            assert f"Spark rounds {text.partition('(')[0]} differently" in refused(source, f"{text} > 1")
        for text in cases.READ:
            assert refused(source, f"{text} is null").startswith(("Spark has casts of its own", "Spark rounds integer"))
        for text in cases.MATCHES:
            assert "Spark has other regular expressions than DuckDB" in refused(source, text)


def test_a_bad_pattern_is_refused_before_rows_are_read() -> None:
    with open_source(cases.table()) as source:
        for pattern in ("(", "a**", "[z-a]", "\\1", "(?=a)", "a{2000}", "\\xzz"):
            said = refused(source, f"regexp_matches(s, '{pattern}')")
            assert said == f"{pattern} is not a regular expression that DuckDB knows"


def test_what_is_nested_too_deeply_is_refused() -> None:
    """A part stands wherever it is used: of numbers an expression grows with the square, of other values by a factor."""
    with open_source(cases.table()) as source:
        assert "nested too deeply" in refused(source, "*".join("abce" * 6) + " > 1")
        assert "nested too deeply" in refused(source, 12 * "nullif(" + "b" + 12 * ", e)" + " > 1")
        percent = "abs(round(100 * (b - e) / (b + e), 1)) > 5"
        for condition in (percent, "round(b / e, 1) > 5", "*".join("abce" * 3) + " > 1", "a + b + c + e + a + c > 1"):
            with prepare(source, f"count(*) filter (where {condition}) > 5", P) as asked:
                asked.release()


@pytest.mark.slow
def test_an_engine_that_was_only_tried_computes_nothing_new() -> None:
    engine = ibis.duckdb.connect()
    engine.con.execute("create table t as select range as x, 'a' as s from range(50)")
    with open_source(engine, table="t") as known:
        unknown = of_table(known.rows, AnyIbis(engine), "t")
    for condition in ("x + 1 > 2", "starts_with(s, 'a')"):
        assert "tested on DuckDB, Postgres and Spark only" in refused(unknown, condition)
    assert prepare(unknown, "count(*) filter (where length(s) = 1) > 5", P)
