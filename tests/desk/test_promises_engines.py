"""What is promised of engines: a database's table is served as a file is, one that has hung up is called again before anything
is charged, and one that never ends is given up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from duotone.tables.engines.duckdb import DuckDB
from support import spark_cluster
from support.ledgers import execute
from support.offices import AtDesk, Told, at_desk, make_office, told
from support.postgres_server import Server
from support.running import need

DATASET = """
[datasets.{name}]
source = "{source}"
table = "{table}"
vouched = {vouched}
version = "1"
rows = 1000
seconds = 0.05
budget = {{ epsilon = 1 }}
"""
LIMIT = 2.0
HEAD = f'ledger = "budget.ledger"\n[clock]\ntick = 0.02\n[limits]\nworkers = 1\nengine_seconds = {LIMIT}\n'
PEOPLE = """
[people.olga]
role = "owner"
[people.ana]
role = "analyst"
datasets = ["duckdb", "postgres", "never", "asleep"]
"""
ROWS = "CREATE TABLE votes AS SELECT CASE WHEN n <= 600 THEN 'Y' ELSE 'N' END AS vote FROM generate_series(1, 1000) AS s(n)"
NEVER = "CREATE VIEW never AS SELECT vote FROM votes WHERE (SELECT count(*) FROM range(200000) a, range(200000) b) > 0"
ASLEEP = "CREATE VIEW asleep AS SELECT vote FROM votes WHERE (SELECT pg_sleep(600))::text = ''"


@pytest.fixture(scope="module")
def base(server: Server) -> Iterator[str]:
    """A database of its own, whose connections are cut."""
    execute(server.url, "CREATE DATABASE promises")
    yield server.url.replace("/postgres?", "/promises?")
    execute(server.url, "DROP DATABASE promises WITH (FORCE)")


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory, base: str) -> Iterator[AtDesk]:
    """A table and a view that is never read to its end, in a file of DuckDB's and in Postgres."""
    folder: Path = tmp_path_factory.mktemp("office")
    with duckdb.connect(str(folder / "all.duckdb")) as database:
        database.execute(ROWS)
        database.execute(NEVER)
    execute(base, ROWS)
    execute(base, ASLEEP)
    datasets = [
        ("duckdb", "all.duckdb", "votes", "false"),
        ("never", "all.duckdb", "never", "true"),
        ("postgres", base, "votes", "false"),
        ("asleep", base, "asleep", "true"),
    ]
    parts = (DATASET.format(name=n, source=s, table=t, vouched=v) for n, s, t, v in datasets)
    with at_desk(make_office(folder, *parts, head=HEAD, people=PEOPLE)) as opened:
        yield opened


@pytest.mark.parametrize("dataset", ["duckdb", "postgres"])
def test_the_table_of_a_database_is_served(office: AtDesk, dataset: str) -> None:
    for threshold, answer in ((400, "yes"), (800, "no")):
        status, document = office.ask(
            "ana", dataset, question=f"count(*) filter (where vote = 'Y') > {threshold}", epsilon="0.2"
        )
        assert (status, document["answer"]) == (200, answer)
    engine = office.now(office.desk.dataset(office.caller("ana"), dataset))[1]["engine"]
    assert engine.lower() == dataset


@pytest.mark.slow
def test_a_table_of_spark_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the others are: charged once, and free when it is asked again."""
    need(spark_cluster.missing())
    for name, value in spark_cluster.environment().items():
        monkeypatch.setenv(name, value)
    place = "spark://local[2]", str(tmp_path / "votes.parquet")
    spark = DATASET.format(name="spark", source=place[0], table=place[1], vouched="false")
    people = PEOPLE.replace('"duckdb", "postgres", "never", "asleep"', '"spark"')
    with at_desk(make_office(tmp_path, spark, head=HEAD.replace(str(LIMIT), "600"), people=people)) as office:
        for free in (False, True):
            status, answer = office.ask("ana", "spark", question="count(*) filter (where vote = 'Y') > 400", epsilon="0.2")
            assert (status, answer["answer"], answer["ledger"]["free"]) == (200, "yes", free)
        assert len(office.desk.ledger.statement("spark").charges) == 1
        assert office.now(office.desk.dataset(office.caller("ana"), "spark"))[1]["engine"] == "Spark"


def test_a_connection_that_was_cut_while_it_was_idle_wastes_no_charge(office: AtDesk, base: str) -> None:
    assert office.ask("ana", "postgres", question="count(*) > 1", epsilon="0.1")[0] == 200  # opened
    cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = %s"
    assert execute(base, cut, "promises")[0][0] >= 1
    before = len(office.desk.ledger.statement("postgres").charges)
    assert office.ask("ana", "postgres", question="count(*) > 2", epsilon="0.1")[0] == 200
    account = office.desk.ledger.statement("postgres")
    assert (len(account.charges), account.state.unanswered) == (before + 1, 0)


@pytest.mark.parametrize("dataset", ["never", "asleep"])
def test_what_an_engine_never_ends_is_given_up(office: AtDesk, dataset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The charge stands, and the only place is free again for the next question. One of the engines is not at work yet when its
    time is over."""
    run, delays = DuckDB.run, iter([LIMIT + 0.1] if dataset == "never" else [])

    def late(connection: Any, plan: Any) -> Any:
        time.sleep(next(delays, 0))
        return run(connection, plan)

    monkeypatch.setattr(DuckDB, "run", late)

    async def both() -> tuple[Told, Told]:
        first = told(office.desk.ask(office.caller("ana"), dataset, {"question": "count(*) > 1", "epsilon": "0.1"}))
        next_one = told(office.desk.ask(office.caller("ana"), "duckdb", {"question": "count(*) > 3", "epsilon": "0.1"}))
        one, other = await asyncio.gather(first, next_one)
        return one, other

    (status, refused), (after, _) = office.loop.run(both())
    assert (status, after) == (503, 200)
    assert "the charge stands" in refused["error"]
    account = office.desk.ledger.statement(dataset)
    assert (len(account.charges), account.state.unanswered) == (1, 1)
    assert office.now(office.desk.overview(office.caller("olga")))[1]["failures"][dataset] == 1
