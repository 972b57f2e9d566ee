"""One suite for all engines: the same levels to the last digit, on real servers that the tests start themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from scipy.stats import binom

from duotone import ApproxDP, DuotoneError, ask, open_ledger, prepare, select_groups
from duotone.cli.app import main
from duotone.tables.engine_conformance import CASES
from duotone.tables.engines import Source, open_source
from duotone.tables.engines.any_ibis import AnyIbis
from duotone.tables.engines.engine import of_table
from duotone.tables.engines.postgres import of_column
from support import TESTS, engine_cases, postgres_server, spark_cluster
from support.reading import DATA, only_vouched
from support.running import exhaustive_only, need, thinned

P = ApproxDP(1, "1e-6")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    need(None if postgres_server.programs() else "PostgreSQL")
    psycopg = pytest.importorskip("psycopg")
    with postgres_server.server() as url, psycopg.connect(url, autocommit=True) as connection:
        for name, rows in (("visits", 300), ("nobody", 0)):
            kinds = ", ".join(f"{column} {kind}" for column, kind in engine_cases.TYPES.items())
            connection.execute(f"create table {name} ({kinds})")
            with connection.cursor() as cursor, cursor.copy(f"copy {name} from stdin") as copy:
                for row in engine_cases.table(rows).to_pylist():
                    copy.write_row(tuple(row.values()))
        yield url


@pytest.fixture(scope="session")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tables")
    for name, rows in (("visits", 300), ("nobody", 0)):
        pq.write_table(engine_cases.table(rows), folder / f"{name}.parquet")
    return {name: folder / f"{name}.parquet" for name in ("visits", "nobody")}


@pytest.fixture(scope="session")
def spark(parquet: dict[str, Path]) -> Iterator[dict[str, Source]]:
    need(spark_cluster.missing())
    os.environ.update(spark_cluster.environment())
    sources = {name: open_source("spark://local[2]", table=str(path)) for name, path in parquet.items()}
    yield sources
    sources["visits"].engine.connection._session.stop()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rows"), thinned([("visits", 300), ("nobody", 0)], 2))
def test_levels_are_the_same_on_postgres(postgres: str, name: str, rows: int) -> None:
    """As on the embedded engine, which brute force has checked."""
    with open_source(engine_cases.table(rows)) as own, open_source(postgres, table=name) as there:
        assert engine_cases.everything(there, name, 4) == engine_cases.everything(own, engine_cases.table(rows), 4)


@pytest.mark.slow
def test_levels_are_the_same_on_spark(spark: dict[str, Source]) -> None:
    own = open_source(engine_cases.table())
    there = spark["visits"]
    assert engine_cases.everything(there, there.name, 12) == engine_cases.everything(own, engine_cases.table(), 12)


SOME = [engine_cases.COUNTS[0], engine_cases.SUMS[2], *engine_cases.RANKS[:2], engine_cases.VOTES[0], engine_cases.MEDIANS[0]]


@pytest.mark.slow
def test_an_empty_table_on_postgres(postgres: str) -> None:
    with open_source(engine_cases.table(0)) as own, open_source(postgres, table="nobody") as there:
        assert engine_cases.levels(there, SOME) == engine_cases.levels(own, SOME)


@pytest.mark.slow
def test_an_empty_table_on_spark(spark: dict[str, Source]) -> None:
    own = open_source(engine_cases.table(0))
    assert engine_cases.levels(spark["nobody"], SOME) == engine_cases.levels(own, SOME)
    assert select_groups(spark["nobody"], ["g"], P).answers == {}


@pytest.mark.slow
@exhaustive_only
def test_a_cluster_agrees_and_survives_the_death_of_a_worker(parquet: dict[str, Path], tmp_path: Path) -> None:
    need(spark_cluster.missing())
    started = tmp_path / "started"
    with spark_cluster.cluster() as cluster:
        path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, **spark_cluster.environment(compiled=True), "PYTHONPATH": path}
        command = [sys.executable, spark_cluster.__file__, cluster.url, str(parquet["visits"]), str(started)]
        driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        deadline = time.monotonic() + 300
        while not started.exists() and driver.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        cluster.kill_one()
        said, _ = driver.communicate(timeout=600)
    (line,) = said.splitlines()
    report = json.loads(line)
    own = open_source(parquet["visits"])
    assert report["levels"] == {str(k): v for k, v in spark_cluster.some(own).items()}
    assert report["answer"] == [True]
    assert report["ledger"] == [2, 0, True]  # one charge for each answer, whoever died
    assert len(report["groups"]) == len({tuple(key) for key in report["groups"]}) > 0


@pytest.mark.slow
@pytest.mark.false_alarm(1e-9)
def test_groups_are_drawn_by_the_workers(spark: dict[str, Source], monkeypatch: pytest.MonkeyPatch) -> None:
    session = spark["visits"].engine.connection._session
    keys = session.range(0, 40_000).selectExpr("id % 20000 as u", "if(id < 20000, 'few' || id, 'many' || id % 3) as g")
    privacy, question = ApproxDP(1, "1e-1"), "select g, count(distinct u) >= 6000 group by g"
    with prepare(keys, question, privacy, unit="u", max_groups=2, vouched=True) as asked:
        monkeypatch.setattr("duotone.tables.compile_question.gather", None)  # the counts never come to the driver
        counted = asked.release()
    reply = select_groups(keys, ["g"], privacy, unit="u", max_groups=2, vouched=True, at_least=2)
    assert set(reply.answers) == {("many0",), ("many1",), ("many2",)}  # the others have one each
    for answers in (counted, reply):
        assert all(abs(answers.sizes[f"many{i}",] - 6667) < 15 for i in range(3))
        assert all(yes == (answers.sizes[key] >= 6000) for key, yes in answers.answers.items()) or answers is reply
    shown = counted.answers
    fewest, most = binom.interval(1 - 1e-9, 20_000, float(privacy.split(2).delta))
    assert fewest <= len(shown) - 3 <= most
    assert list(shown) == sorted(shown)


@pytest.mark.slow
def test_text_and_json_on_spark_are_vouched_for(spark: dict[str, Source], tmp_path: Path) -> None:
    """In which a row may be an error, run over several lines or decide what columns hold: one row moved a level by 31."""
    session = spark["visits"].engine.connection._session
    (tmp_path / "t.csv").write_text('k,x\n"a,1\n' + "b,1\n" * 40)
    (tmp_path / "t.json").write_text('{"k": 1}\n')
    frames = [session.read.option("header", True).option("multiLine", True).csv(str(tmp_path / "t.csv")),
              session.read.json(str(tmp_path / "t.json"))]  # fmt: skip
    for frame in frames:
        with pytest.raises(DuotoneError, match="vouched"):
            open_source(frame)
        with open_source(frame, vouched=True) as source:
            assert source.vouched is not None


@pytest.mark.slow
def test_spark_refuses_what_is_not_one_table(spark: dict[str, Source]) -> None:
    session = spark["visits"].engine.connection._session
    with pytest.raises(DuotoneError, match="at random"):
        open_source(session.range(3).selectExpr("rand() as x"))
    with pytest.raises(DuotoneError, match="collation"):
        open_source(session.sql("select 'a' collate utf8_lcase as x"))
    with pytest.raises(DuotoneError, match="no table nowhere"):
        open_source(session, table="nowhere")
    with pytest.raises(DuotoneError, match="say which"):
        open_source(session)
    query = session.sql("select cast(id as int) as x from range(3) where assert_true(id < 2) is null")
    with pytest.raises(DuotoneError, match="a query makes, is not a stored table"):
        open_source(query)
    failing = open_source(query, vouched=True)
    with pytest.raises(DuotoneError, match="might quote rows"):
        ask(failing, "count(*) > 1", P)


@pytest.mark.slow
def test_a_role_that_can_only_read_is_enough(postgres: str, capfd: pytest.CaptureFixture[str]) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("create schema clinic; create table clinic.stays as select * from visits")
        connection.execute("create role asker login password 'hunter2'; revoke all on database postgres from public")
        connection.execute("grant connect on database postgres to asker; grant usage on schema clinic to asker")
        connection.execute("grant select on clinic.stays to asker")
    url = postgres.replace("duotone@", "asker@")
    secret = url.replace("asker@", "asker:hunter2@")
    with open_source(secret, table="clinic.stays") as source:
        assert "hunter2" not in f"{source!r} {vars(source)} {source.engine.connection!r}"
        assert ask(source, "count(*) > 100", P)
    stays = ("--table", "clinic.stays", "--epsilon", "9", "--delta", "0.1")
    assert command("ask", url, "count(*) > 100", *stays) == 0
    assert capfd.readouterr().out.startswith("yes, certain; there are about ")
    assert command("groups", url, "--by", "g", *stays) == 0
    assert "groups may be shown" in capfd.readouterr().out
    assert command("ask", secret, "count(*) > 100", *stays) == 2
    said = capfd.readouterr()
    assert "can be seen by everybody" in said.err
    assert "hunter2" not in said.err + said.out
    for name in ("public.visits", "elsewhere"):
        with pytest.raises(DuotoneError) as refused:
            ask(secret, "count(*) > 100", P, table=name)
        assert "hunter2" not in str(refused.value)


def test_a_temporary_table_of_postgres_has_no_name_in_a_ledger(postgres: str, tmp_path: Path) -> None:
    """The server gives the schema of one session to the next: a dataset must be named, as of a data frame."""
    import ibis
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection, open_ledger(tmp_path / "l") as ledger:
        connection.execute("create temporary table beds as select 1 as x")
        for name in ("beds", "chairs"):
            ledger.register(name, ApproxDP(9, "1e-4"), unit="row", neighbours="add-remove", version="1")
        with prepare(ibis.postgres.from_connection(connection), "count(*) > 100", P, table="beds") as asked:
            with pytest.raises(DuotoneError, match="dataset"):
                asked.charge(ledger)
            asked.charge(ledger, "beds")
        assert "pg_temp" not in json.dumps(ledger.entries())


def test_tables_of_one_name_in_two_postgres_databases_or_schemas_are_two(postgres: str, tmp_path: Path) -> None:
    """Each has its own recorded answer under one dataset; who asks, and by which password, makes no difference."""
    import psycopg

    other = postgres.replace("/postgres?", "/elsewhere?")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("create database elsewhere")
        connection.execute("create role twin login password 'hunter2'; grant connect on database postgres to twin")
        connection.execute("create table beds as select generate_series(1, 300) as x")
        connection.execute("grant select on beds to twin; create schema ward; create table ward.beds as select 1 as x")
    with psycopg.connect(other, autocommit=True) as connection:
        connection.execute("create table beds as select 1 as x")
    with open_ledger(tmp_path / "l") as ledger:
        ledger.register("beds", ApproxDP(9, "1e-4"), unit="row", neighbours="add-remove", version="1")

        def free(url: str, name: str = "beds") -> bool:
            with prepare(url, "count(*) > 100", ApproxDP(1, "1e-6"), table=name) as asked:
                receipt = asked.charge(ledger, "beds").receipt
            assert receipt is not None
            return receipt.free

        assert not free(postgres)
        assert not free(other)
        assert not free(f"{postgres}&options=-csearch_path%3Dward")
        assert free(postgres)
        assert free(postgres.replace("duotone@", "twin:hunter2@"))
        assert free(postgres, "ward.beds")  # as the search path found it
        assert "hunter2" not in json.dumps(ledger.entries())
        assert "twin" not in json.dumps(ledger.entries())


def test_postgres_refuses_what_it_would_compare_otherwise(postgres: str) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("create collation loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        connection.execute("create table folded (name text collate loose); create view seen as select * from visits")
        connection.execute("create table wide (n numeric, j json)")
        connection.execute("insert into wide values ('NaN', '{}'), (1e400, '{}'), (-1e400, null), (1e-400, '{}'), (2.5, '{}')")
    with pytest.raises(DuotoneError, match="different texts are equal"):
        open_source(postgres, table="folded")
    with pytest.raises(DuotoneError, match="view seen is not a stored table"):
        open_source(postgres, table="seen")
    with pytest.raises(DuotoneError, match="say which"):
        open_source(postgres)
    with open_source(postgres, table="wide") as wide:
        by_group = engine_cases.levels(
            wide, ["count(n) = 4", "sum(n) > 7", "count(*) filter (where n > 0) = 2"], bounds={"n": (-5, 10)}
        )
        assert by_group[()] == [[0.0], [0.0], [0.0]]
        with pytest.raises(DuotoneError, match="j"):
            prepare(wide, "count(*) filter (where j = 'x') > 1", P)
    assert of_column("x", "numeric", "b", ((12 << 16) | 2) + 4).type == "decimal(12, 2)"


@pytest.mark.slow
def test_queries_of_postgres_are_asked_about_where_they_are_vouched_for(postgres: str) -> None:
    import ibis
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        rows = "select i as x, i % 7 as p, 'a'::varchar(3) as s, 1.25::numeric(5, 2) as m from generate_series(0, 59) i"
        connection.execute(f"create table queried as {rows}; create view one_view as select * from queried")
        connection.execute("create materialized view kept as select * from queried")
        only_vouched(postgres, "view one_view", table="one_view")
        only_vouched(postgres, "materialised view kept", table="kept")
        query = ibis.postgres.from_connection(connection).table("queried").filter(ibis._.x >= 0)
        only_vouched(query, "the Ibis query")
        with open_source(query, vouched=True) as source:
            assert source.columns == {"x": "integer", "p": "integer", "s": "text", "m": "decimal"}
            assert prepare(source, "count(*) filter (where s = 'a' and m = 1.25) = 60", P)._levels()[2].tolist() == [0]
        assert connection.execute("select count(*) from pg_class where relname like 'duotone%'").fetchall() == [(0,)]
        connection.execute("drop table queried cascade")
        with pytest.raises(DuotoneError, match="does not take the query as a temporary view"):
            open_source(query, vouched=True)


@pytest.mark.slow
def test_queries_of_spark_are_asked_about_where_they_are_vouched_for(spark: dict[str, Source], tmp_path: Path) -> None:
    import ibis

    pq.write_table(DATA, tmp_path / "t.parquet")
    session = spark["visits"].engine.connection._session
    files = session.read.parquet(str(tmp_path / "t.parquet"))
    for data in (files, files.alias("a"), session.createDataFrame(DATA)):  # files, and what is in memory
        assert open_source(data).vouched is None
    files.createOrReplaceTempView("v")
    only_vouched(session, "view v", table="v")
    queries = {"the Spark data frame, which a query makes,": files.filter("x >= 0"),
               "the Ibis query": ibis.pyspark.connect(session).table("v").filter(ibis._.x >= 0)}  # fmt: skip
    for what, query in queries.items():
        with pytest.raises(DuotoneError, match=f"{what} is not a stored table"):
            open_source(query)
        with open_source(query, vouched=True) as source:
            assert (source.vouched, source.columns) == (what, {"x": "integer", "p": "integer"})


@pytest.mark.slow
def test_a_server_that_goes_away_releases_nothing(tmp_path: Path) -> None:
    need(None if postgres_server.programs() else "PostgreSQL")
    import psycopg

    with postgres_server.server() as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("create table t as select 1 as x")
        asked = prepare(url, "count(*) > 1", P, table="t")
    with asked, open_ledger(tmp_path / "l.ledger") as ledger:
        ledger.register("t", ApproxDP(2, "1e-5"), unit="row", neighbours="add-remove", version="1")
        with pytest.raises(DuotoneError, match="Postgres server was lost; no answer was released, and the charge stands"):
            asked.charge(ledger)
        assert ledger.statement("t").state.unanswered == 1
    with pytest.raises(DuotoneError, match="cannot be opened: no server answers there"):
        prepare(url, "count(*) > 1", P, table="t")


@pytest.mark.slow
def test_other_engines_are_tried_first() -> None:
    import ibis

    engine = ibis.sqlite.connect()
    engine.con.execute("create table t (x integer)")
    with pytest.raises(DuotoneError, match=r"computes other results.*it fails at: "):
        ask(engine, "count(*) > 1", P, table="t", vouched=True)
    with pytest.raises(DuotoneError, match="a view cannot be distinguished from a table, is not a stored table"):
        ask(engine, "count(*) > 1", P, table="t")
    own = ibis.duckdb.connect()
    own.con.execute("create table t as select * from range(50) r(x)")
    known = open_source(own, table="t")
    unknown = of_table(known.rows, AnyIbis(own), "t")  # as if nobody knew this engine
    assert ask(unknown, "count(*) > 10", P)
    assert ask(own.table("t"), "count(*) > 10", P)
    assert len(CASES) > 20
    with pytest.raises(DuotoneError, match="the Ibis query is not a stored table"):
        open_source(own.table("t").filter(ibis._.x > 3))
    with pytest.raises(DuotoneError, match="say which"):
        open_source(engine)
    with pytest.raises(DuotoneError, match="begins with postgres:// or spark://, not mysql://"):
        open_source("mysql://me:secret@host/db", table="t")


@pytest.mark.parametrize(
    ("url", "library", "extra"), [("postgres://h/d", "psycopg", "postgres"), ("spark://h:1", "pyspark", "spark")]
)
def test_missing_libraries_are_named(url: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(DuotoneError, match=rf"duotone\[{extra}\]"):
        open_source(url, table="t")
