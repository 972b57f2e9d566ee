"""Joins with public tables: the answer is that of plain SQL, keys are equal when they look so, anything else is refused."""

from __future__ import annotations

import datetime
import json
import random
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import ApproxDP, DuotoneError, ask, open_ledger, prepare
from duotone.cli.app import main
from duotone.tables.engines import open_source, public_tables
from duotone.tables.engines.any_ibis import AnyIbis
from duotone.tables.engines.engine import Abilities, of_table
from duotone.tables.engines.postgres import Postgres, _element
from support.oracles import plain_duckdb

P = ApproxDP(1, "1e-6")
DRAW = random.Random(5)
TRIPS = pa.table(
    {
        "zone": [DRAW.choice(["a", "b", "c", "é", None]) for _ in range(200)],
        "to": [DRAW.choice(["a", "b", "zz"]) for _ in range(200)],
        "fare": [DRAW.randrange(50) for _ in range(200)],
        "rate": [DRAW.randrange(5) for _ in range(200)],
        "day": [datetime.date(2025, 1, DRAW.randrange(1, 5)) for _ in range(200)],
        "p": [i // 3 for i in range(200)],
    }
)
ZONES = pa.table(
    {
        "zone": ["a", "b", "é", "d"],
        "region": ["north", "south", "north", None],
        "rate": [5, 7, None, 1],
        "toll": [1.5, 0.25, 2, 0],
    }
)
DAYS = pa.table({"date": [datetime.date(2025, 1, i) for i in (1, 2, 9)], "holiday": [True, False, True]})
PUBLIC = {"zones": ZONES, "days": DAYS}
HOURS = pa.table({"day": [datetime.date(2025, 1, i) for i in (1, 1, 2)], "rate": [0, 1, 1], "busy": [True, False, True]})
FARE = {"fare": (0, 60)}
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("select avg(fare) > {} from trips join zones using (zone) where region = 'north'", FARE),
    ("select count(*) > {} from trips join zones on trips.zone = zones.zone", {}),
    ("select count(*) > {} from trips t left join zones as z on (z.zone = t.zone) where z.zone is null", {}),
    ("select sum(zones.rate) > {} from trips join zones using (zone) where fare > 10", {"zones.rate": (0, 9)}),
    ("select sum(trips.rate) > {} from trips left join zones using (zone) where region is null", {"rate": (0, 9)}),
    ("select avg(toll) > {} from trips join zones using (zone) join days on day = date where holiday", {"toll": (0, 4, "1/4")}),
    ("select sum(fare * toll) > {} from trips join zones using (zone)", {"fare * toll": (0, 200, "1/4")}),
    ("select count(*) filter (where f.region = 'north') > {} from trips join zones f on trips.zone = f.zone "
     "join zones g on trips.to = g.zone where g.region = 'south'", {}),
    ("select count(*) > {} from trips t join hours h on (t.day = h.day and (h.rate = t.rate)) where busy", {}),
]  # fmt: skip
NORTH = QUESTIONS[0][0].format(25)


def level(rows: Any, question: str, **options: Any) -> int:
    with prepare(rows, question, P, **options) as prepared:
        return int(prepared._levels()[2][0])


@pytest.mark.slow
@pytest.mark.parametrize(("question", "bounds"), QUESTIONS, ids=[question for question, _ in QUESTIONS])
def test_the_answer_is_that_of_plain_sql(question: str, bounds: dict[str, Any]) -> None:
    """By plain DuckDB, at limits around the value that it finds."""
    public = {**PUBLIC, "hours": HOURS}
    with plain_duckdb() as plain:
        for name, table in {"trips": TRIPS, **public}.items():
            plain.register(name, table)
        ((value,),) = plain.execute(question.replace(" > {}", "")).fetchall()
        assert value > 0
        for limit in (round(0.9 * value, 2), value, round(1.1 * value, 2)):
            ((truth,),) = plain.execute(question.format(limit)).fetchall()
            assert (level(TRIPS, question.format(limit), public=public, bounds=bounds) >= 0) == truth


@pytest.mark.slow
def test_one_question_has_one_level_wherever_the_tables_are(tmp_path: Path) -> None:
    question = NORTH
    with duckdb.connect(str(tmp_path / "t.duckdb")) as own:
        own.register("rows", TRIPS)
        own.execute("create table trips as select * from rows")
    pq.write_table(TRIPS, tmp_path / "trips.parquet")
    pq.write_table(ZONES, tmp_path / "zones.parquet")
    with duckdb.connect() as other:
        other.register("rows", ZONES)
        other.execute(f"copy rows to '{tmp_path}/zones.csv'")
    expected = level(TRIPS, question, public=PUBLIC, bounds=FARE)
    with duckdb.connect() as held:
        held.register("rows", TRIPS)
        held.execute("create table trips as select * from rows")
        held.register("zones_too", ZONES)
        places: list[tuple[Any, dict[str, Any]]] = [
            (tmp_path / "t.duckdb", {"table": "trips"}), (tmp_path / "trips.parquet", {}), (held, {"table": "trips"}),
        ]  # fmt: skip
        for table, options in places:
            for zones in (ZONES, tmp_path / "zones.parquet", str(tmp_path / "zones.csv"), held.sql("from zones_too")):
                assert level(table, question, public={"Zones": zones}, bounds=FARE, **options) == expected
        left = held.execute("select view_name from duckdb_views() where view_name like 'duotone%'").fetchall()
        assert left == []


def test_what_was_joined_is_given_back(tmp_path: Path) -> None:
    """A table that was open before stays open, and has no views of ours left."""
    import ibis

    own = ibis.duckdb.connect()
    own.con.register("rows", TRIPS)
    own.con.execute("create table trips as select * from rows")
    with open_source(own, table="trips") as source, open_source(ZONES) as zones:
        with prepare(source, QUESTIONS[1][0].format(40), P, public={"zones": zones}) as asked:
            assert asked.release().facts.basis == "safe bound"
        with pytest.raises(DuotoneError, match="needs bounds"):
            prepare(source, NORTH, P, public={"zones": zones})
        assert zones.run(zones.rows.count().as_table()).num_rows == 1
    kept = own.con.execute("select view_name from duckdb_views() where view_name like 'duotone%'").fetchall()
    assert kept == []
    own.disconnect()


KEYS: list[tuple[Any, Any, int | str]] = [
    (pa.array([1, 2, 3]), pa.array([1, 2], pa.int16()), 2),
    (pa.array([1, 2, 3]), ["1", "3"], 2),
    (pa.array([1, 2, 3]), ["1", "03"], "has '03', and is joined to integer values"),
    (pa.array([1, 2, 3]), ["9999999999999999999"], "and is joined to integer values"),
    (pa.array(["1", "2"]), pa.array([1, 2]), "holds integer values, and is joined to text ones"),
    (["1", "02", "x"], pa.array([1, 2]), 1),
    (["1", "02", "é", "1"], ["1", "2", "é"], 3),
    (["2025-01-01", "2025-1-1"], pa.array([datetime.date(2025, 1, 1)]), 1),
    (["true"], pa.array([True]), "holds boolean values, and is joined to untyped ones"),
    (pa.array([True, False, True]), ["true"], 2),
    (pa.array([True, False]), ["TRUE"], "has 'TRUE', and is joined to boolean values"),
    (pa.array([datetime.date(2025, 1, 1)]), ["2025-01-01"], 1),
    (pa.array([datetime.date(2025, 1, 1)]), ["2025-02-30"], "joined to date values"),
    (pa.array([1.5]), pa.array([1.5]), "column k cannot be joined by"),
    (pa.array([1]), pa.array([1.5]), "column k cannot be joined by"),
    (pa.array([1]), pa.array([1, 1]), "has 1 twice"),
    (pa.array([1]), pa.array([1, None]), "has a null"),
    (["a", "b"], ["a", "a"], "has a twice"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("private", "public", "matches"), KEYS, ids=range(len(KEYS)))
def test_keys_are_equal_when_they_look_so(private: Any, public: Any, matches: int | str, tmp_path: Path) -> None:
    """A list is a column of a CSV file."""

    def placed(values: Any, name: str) -> Any:
        if not isinstance(values, list):
            return pa.table({"k": values, "w": pa.array([1] * len(values))})
        (tmp_path / name).write_text("k,w\n" + "".join(f"{value},1\n" for value in values))
        return tmp_path / name

    table, other = placed(private, "t.csv"), placed(public, "other.csv")
    if isinstance(matches, str):
        with pytest.raises(DuotoneError, match=matches):
            prepare(table, "select count(*) > 0 from t join other using (k)", P, public={"other": other})
        return
    assert level(table, f"select count(*) = {matches} from t join other using (k)", public={"other": other}) == 0


REFUSED = [
    ("from trips, zones", "a question may join only"),
    ("from trips cross join zones", "a question may join only"),
    ("from trips natural join zones", "a question may join only"),
    ("from trips full join zones using (zone)", "a question may join only"),
    ("from trips right join zones using (zone)", "a question may join only"),
    ("from trips semi join zones using (zone)", "a question may join only"),
    ("from trips asof join zones using (zone)", "a question may join only"),
    ("from trips join (select zone from zones) z using (zone)", "a query is not a public table"),
    ("from trips join other using (zone)", "public are zones, days"),
    ("from trips join trips t using (zone)", "public are zones, days"),
    ("from trips join s.zones using (zone)", "a query is not a public table"),
    ("from zones join trips using (zone)", "zones is public: name the table that is asked about"),
    ("from trips join zones on trips.zone > zones.zone", "a question may join only"),
    ("from trips join zones on trips.zone = zones.zone or trips.zone = zones.region", "a question may join only"),
    ("from trips join zones on trips.zone = 'a'", "a question may join only"),
    ("from trips join zones on trips.zone = trips.to", "a column of the table = a column of zones"),
    ("from trips join zones on zone = region", "zone is in both tables"),
    ("from trips join zones on nowhere = region", "nowhere is in neither table"),
    ("from trips join zones on trips.zone = zones.nowhere", "zones has no column nowhere"),
    ("from trips join zones using (zone) join days on zones.region = days.date", "joined to the table that is asked about"),
    ("from trips join zones using (zone) join days on rate = date", "rate is a column of several tables"),
    ("from trips join zones using (zone) join zones using (zone)", "two tables are called zones"),
    ("from trips join zones trips using (zone)", "two tables are called trips"),
    ("from trips join zones using (fare)", "zones has no column fare"),
    ("from trips join zones using (zone) where rate > 3", "rate is a column of the table and of zones"),
    ("from trips left join zones on trips.zone = zones.zone where zone = 'a'", "zone is a column of the table and of zones"),
    ("from trips join zones f on trips.zone = f.zone join zones g on trips.to = g.zone where region = 'x'", "of f and of g"),
    ("from trips join zones using (zone) where trips.region = 'x'", "the table has no column region"),
    ("from trips join zones using (zone) where q.region = 'x'", "is not a column of the tables that are joined"),
    ("from trips join zones using (zone) where zones.fare > 1", "is not a column of the tables that are joined"),
    ("from (select p, count(*) as n from trips group by p) x join zones using (zone)", "joined inside the inner select"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("source", "why"), REFUSED, ids=[source for source, _ in REFUSED])
def test_other_joins_are_refused_with_the_reason(source: str, why: str) -> None:
    with pytest.raises(DuotoneError, match=why):
        prepare(TRIPS, f"select count(*) > 5 {source}", P, public=PUBLIC, unit="p" if "(select p" in source else None)


@pytest.mark.slow
def test_bad_public_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    question = "select count(*) > 5 from trips join zones using (zone)"
    for public, why in (
        (None, "declare one"), ([ZONES], "given by name"), ({"": ZONES}, "given by name"), ({"zones": 5}, "not a table"),
        ({"zones": ZONES, "Zones": ZONES}, "same name but for upper and lower case"), ({"zones": "no.csv"}, "no file"),
    ):  # fmt: skip
        with pytest.raises(DuotoneError, match=why):
            prepare(TRIPS, question, P, public=public)
    clash = ZONES.append_column("zones.rate", pa.array([1] * 4))
    with pytest.raises(DuotoneError, match="names collide"):
        prepare(TRIPS, question, P, public={"zones": clash})
    lists = ZONES.append_column("list", pa.array([[1]] * 4))
    by_list = "select list, count(*) > 5 from trips join zones using (zone) group by list"
    with pytest.raises(DuotoneError, match="list cannot be grouped by"):
        prepare(TRIPS, by_list, P, public={"zones": lists})
    monkeypatch.setattr(public_tables, "MOST", 3)
    with pytest.raises(DuotoneError, match="has more than 3 rows"):
        prepare(TRIPS, question, P, public={"zones": ZONES})
    with (
        open_source(TRIPS) as trips,
        pytest.raises(DuotoneError, match="more than 2 rows, the limit for joins on Postgres"),
    ):
        prepare(replace(trips, engine=Postgres(None, Abilities(public_rows=2))), question, P, public={"zones": ZONES})
    with pytest.raises(DuotoneError, match="zero byte"):
        _element("a\0b")
    unknown = of_table(ibis.table({"zone": "int64"}), AnyIbis(None), "t")
    with pytest.raises(DuotoneError, match="tested on DuckDB, Postgres and Spark only"):
        public_tables.join_public(unknown, None, {})  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_public_rows_are_part_of_the_question(tmp_path: Path) -> None:
    """Of a ledger: the same rows in another order, file or with a column that is not used are the same question."""
    question = "select count(*) > 50 from trips join zones using (zone) where region = 'north'"

    def normal(zones: Any, text: str = question) -> str:
        with prepare(TRIPS, text, P, public={"zones": zones}) as asked:
            return asked.normal

    same = [ZONES, ZONES.take([3, 1, 0, 2]), ZONES.drop_columns(["toll"])]
    assert len({normal(zones) for zones in same}) == 1
    assert normal(ZONES) == normal(ZONES, question.replace("using (zone)", "on zones.zone = TRIPS.zone").upper().replace(
        "'NORTH'", "'north'"))  # fmt: skip
    other = ZONES.set_column(1, "region", pa.array(["north", "north", "north", None]))
    more = pa.concat_tables([ZONES, pa.table({"zone": ["c"], "region": ["x"], "rate": [1], "toll": [1.0]})])
    left = normal(ZONES, question.replace("join", "left join"))
    cents = ZONES.set_column(3, "toll", pa.array([Decimal("1.50")] * 4))
    toll = "select count(*) filter (where toll > 1) > 3 from trips join zones using (zone)"
    texts = [normal(ZONES), normal(other), normal(more), left, normal(ZONES, toll), normal(cents, toll)]
    assert len(set(texts)) == len(texts)
    with open_ledger(tmp_path / "l.ledger") as ledger:
        ledger.register("trips", ApproxDP(9, "1e-4"), unit="row", neighbours="add-remove", version="1")
        charged = []
        for zones in (ZONES, other, ZONES):
            with prepare(TRIPS, question, P, public={"zones": zones}) as asked:
                receipt = asked.charge(ledger, "trips").receipt
                assert receipt is not None
                charged.append(not receipt.free)
        assert charged == [True, True, False]


FARES = ("--types", "fare=number", "--bounds", "fare=0:50:1")


@pytest.mark.slow
def test_the_command_joins_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trips.csv").write_text("zone,fare\n" + "a,30\nb,1\n" * 50)
    (tmp_path / "zones.csv").write_text("zone,region\na,north\nb,south\n")
    question = "select avg(fare) > 10 from trips join zones using (zone) where region = 'north'"
    command = ["ask", str(tmp_path / "trips.csv"), question, *FARES, "--epsilon", "1", "--delta", "1e-6"]

    def said(*more: str) -> Any:
        with pytest.raises(SystemExit) as ended:
            main([*command, *more])
        return ended.value.code or 0, capsys.readouterr()

    code, shown = said("--public", f"zones={tmp_path}/zones.csv", "--json")
    assert (code, json.loads(shown.out)["answer"]) == (0, "yes")
    assert json.loads(shown.out)["notes"][0] == "zones is public: its rows are not protected"
    code, shown = said("--public", "zones")
    assert code == 2
    assert "NAME=FILE" in shown.err
    about: dict[str, Any] = {"types": {"fare": "number"}, "bounds": {"fare": (0, 50, 1)}}
    assert ask(tmp_path / "trips.csv", question, P, public={"zones": tmp_path / "zones.csv"}, **about)
