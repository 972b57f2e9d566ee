"""What a query makes is asked about only where its owner vouches for it, on every engine, and the answer says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import ibis
import polars as pl
import pytest

from duotone import ApproxDP, DuotoneError, ask, prepare
from duotone.cli.app import main
from duotone.tables.engines import open_source
from duotone.tables.inspection import inspect_clipping
from support.reading import DATA, SAID, only_vouched

P = ApproxDP(1, "1e-6")
ROWS = "select range as x, range % 7 as p, 'a' as s, timestamptz '2020-01-01 00:00:00+00' as z, 1::hugeint as h from range(60)"
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.mark.slow
def test_queries_of_duckdb(tmp_path: Path) -> None:
    with duckdb.connect() as own:
        own.execute(f"create table t as {ROWS}; create view v as select * from t")
        only_vouched(own, "view v", table="v")
        only_vouched(own.sql("select * from t"), "the DuckDB relation")
        with open_source(own.sql("select * from t"), vouched=True) as relation:
            kinds = {"x": "integer", "p": "integer", "s": "text", "z": "time", "h": "other"}
            assert relation.columns == kinds
            seen = "count(*) filter (where s = 'a' and z = timestamp '2020-01-01 00:00:00') = 60"
            assert prepare(relation, seen, P)._levels()[2].tolist() == [0]
        with pytest.raises(DuotoneError, match="same name but for upper and lower case"):
            open_source(own.sql('select 1 as x, 2 as "X"'), vouched=True)
        assert own.execute("select view_name from duckdb_views() where not internal").fetchall() == [("v",)]
        assert prepare(own, "count(*) > 1", P, table="t", vouched=True).notes == ()  # nothing there to vouch for
        answer = ask(own, "count(*) > 1", P, table="v", unit="p", max_rows=9, vouched=True)
        assert str(answer.facts.vouched) == SAID.format("view v")
        assert ask(own, "count(*) > 1", P, table="t", vouched=True).facts.vouched is None
    with duckdb.connect(str(tmp_path / "t.duckdb")) as file:
        file.execute(f"create table t as {ROWS}; create view v as select * from t")
    only_vouched(tmp_path / "t.duckdb", "view v", table="v")
    assert inspect_clipping(tmp_path / "t.duckdb", unit="p", table="v", vouched=True).rows.people == 7  # type: ignore[union-attr]


@pytest.mark.slow
def test_queries_of_ibis() -> None:
    backend = ibis.duckdb.connect()
    backend.con.execute(f"create table t as {ROWS}; create view v as select * from t")
    table = backend.table("t").select("x", "p")
    only_vouched(table.filter(ibis._.x >= 0), "the Ibis query")
    only_vouched(backend.table("v"), "view v")
    with pytest.raises(DuotoneError, match="has a data frame in it"):
        open_source(table.union(ibis.memtable(DATA)), vouched=True)
    other = ibis.duckdb.connect()
    other.con.execute("create table t as select 1::bigint as x, 1::bigint as p")
    with pytest.raises(DuotoneError, match="about tables of one connection"):
        open_source(table.union(other.table("t")), vouched=True)
    other.disconnect()
    backend.disconnect()


def test_what_is_in_memory_is_data() -> None:
    """A computed frame is what it holds; what is still to be computed is none."""
    frame = pl.DataFrame(DATA)
    assert prepare(frame.filter(pl.col("x") > 3), "count(*) > 40", P).notes == ()
    with pytest.raises(DuotoneError, match="not a table"):
        prepare(frame.lazy(), "count(*) > 40", P, vouched=True)


@pytest.mark.slow
def test_the_command_says_what_was_vouched_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "t.duckdb")
    with duckdb.connect(file) as own:
        own.execute(f"create table t as {ROWS}; create view v as select * from t")

    def said(*arguments: str, code: int = 0) -> Any:
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--unit", "p", "--table", "v", "--epsilon", "9", "--delta", "0.001"])
        assert (ended.value.code or 0) == code
        return capsys.readouterr()

    sentence = SAID.format("view v")
    question = ("ask", file, "count(*) > 40", "--max-rows", "20")
    assert "(--vouched)" in said(*question, code=2).err
    for more in ((), ("--preview",)):
        assert sentence in said(*question, "--vouched", *more).out
        assert json.loads(said(*question, "--vouched", "--json", *more).out)["notes"][0] == sentence
    groups = ("groups", file, "--by", "s", "--max-groups", "1", "--vouched")
    assert sentence in said(*groups).out
    assert json.loads(said(*groups, "--json").out)["notes"][0] == sentence
