"""Several private tables with one unit: brute force over all small pairs of tables, plain SQL, and what is refused."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from duotone import ApproxDP, Dataset, DuotoneError, open_ledger, prepare
from duotone.cli.app import main
from duotone.tables.ask import ask_all
from duotone.tables.engines import Source, files, open_source
from duotone.tables.engines.engine import of_table
from duotone.tables.engines.spark import Spark
from support.oracles import plain_duckdb
from support.running import EXHAUSTIVE
from support.small_questions import P, levels

Pair = tuple[tuple[int, ...], tuple[int, ...]]
"""A person: the values of its rows in one table, and of those in the other."""
PEOPLE: list[Pair] = [((1,), ()), ((4,), (2,)), ((1, 4), (2, 3)), ((), (2, 2)), ((5, 5), (1,)), ((0,), (1, 2, 3))]
Joined = list[tuple[Pair, bool]]


def mean_above(values: Sequence[Fraction], limit: int) -> bool:
    return bool(values) and sum(values) > limit * len(values)


def lower_median(values: Sequence[int]) -> int:
    return sorted(values)[(len(values) - 1) // 2]


V = "(select u, max(d) as d, avg(x) as a, sum(x) as s, count(*) as n from visits group by u) v"
L = "(select u, count(*) as c, max(y) as m from labs group by u) l"
SMALL: list[tuple[str, Callable[[Sequence[Pair]], bool], dict[str, Any]]] = [
    (f"select avg(a) > 2 from {V} join {L} using (u) where c >= 2",
     lambda p: mean_above([Fraction(sum(x), len(x)) for x, y in p if x and len(y) >= 2], 2), {"a": (0, 5, "1/2")}),
    (f"select count(*) filter (where c is null) > count(*) filter (where c >= 1) from {V} left join {L} on v.u = l.u",
     lambda p: sum(not y for x, y in p if x) > sum(bool(y) for x, y in p if x), {}),
    (f"select count(*) filter (where l.u is null) >= 2 from {V} left join {L} on (l.u = v.u)",
     lambda p: sum(not y for x, y in p if x) >= 2, {}),
    (f"select median(s - m) >= 1 from {V} inner join {L} using (u)",
     lambda p: any(x and y for x, y in p) and lower_median([sum(x) - max(y) for x, y in p if x and y]) >= 1, {}),
    (f"select count(*) >= 2 from {V} left join "
     "(select u, count(*) as c from labs where y > 1 group by u having count(*) < 2) l using (u) where coalesce(c, 0) < n",
     lambda p: sum((k if (k := sum(v > 1 for v in y)) < 2 else 0) < len(x) for x, y in p if x) >= 2, {}),
    (f"select sum(v.n * w.n) > 3 from {V} join {L} using (u) left join "
     "(select u, count(*) as n from labs where y < 3 group by u) w using (u) where m > 1",
     lambda p: sum(len(x) * sum(v < 3 for v in y) for x, y in p if x and y and max(y) > 1) > 3, {"n * w.n": (0, 9)}),
    ("select count(*) > 1 from (select u, max(d) as d from visits where x > 0 group by u having sum(x) < 6) v "
     f"join {L} on v.u = l.u where m > 1",
     lambda p: sum(any(v > 0 for v in x) and sum(x) < 6 and bool(y) and max(y) > 1 for x, y in p) > 1, {}),
]  # fmt: skip


def tables(datasets: Sequence[Sequence[Pair]]) -> tuple[pa.Table, pa.Table]:
    """All datasets at once, each with people of its own."""
    people = [(d, f"{d}-{i}", pair) for d, dataset in enumerate(datasets) for i, pair in enumerate(dataset)]
    visits = [(d, u, x) for d, u, (own, _) in people for x in own]
    labs = [(u, y) for _, u, (_, own) in people for y in own]
    kinds = {"d": pa.int64(), "u": pa.string(), "x": pa.int64(), "y": pa.int64()}

    def table(names: str, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
        return pa.table({name: pa.array([row[i] for row in rows], kinds[name]) for i, name in enumerate(names)})

    return table("dux", visits), table("uy", labs)


@pytest.mark.slow
@pytest.mark.parametrize(("sql", "reference", "bounds"), SMALL, ids=[sql for sql, *_ in SMALL])
def test_all_small_pairs_of_tables(sql: str, reference: Callable[[Sequence[Pair]], bool], bounds: dict[str, Any]) -> None:
    """The answer is that of plain Python, and changes by one level at most when one person's rows leave both tables."""
    sizes = range(6 if EXHAUSTIVE else 4)
    datasets = [d for n in sizes for d in itertools.combinations_with_replacement(PEOPLE, n)]
    visits, labs = tables(datasets)
    with prepare(visits, sql, P, unit="u", also={"labs": labs}, bounds=bounds) as prepared:
        known = dict(zip(datasets, levels(prepared, len(datasets)), strict=True))
        assert prepared.facts.basis == "safe bound"
    assert {level >= 0 for level in known.values()} == {True, False}
    for people, level in known.items():
        assert (level >= 0) == reference(people), people
        for i in range(len(people)):
            assert abs(level - known[people[:i] + people[i + 1 :]]) <= 1, (people, i)


DRAW = random.Random(7)
VISITS = pa.table({"nr": [DRAW.randrange(60) for _ in range(300)], "x": [DRAW.randrange(20) for _ in range(300)],
                   "town": [DRAW.choice("ab") for _ in range(300)]})  # fmt: skip
LABS = pa.table({"nr": pa.array([DRAW.choice([None, *range(30, 90)]) for _ in range(200)], pa.int64()),
                 "x": [DRAW.choice([None, 1.5, 2.5, 7.0]) for _ in range(200)]})  # fmt: skip
DRUGS = pa.table({"nr": list(range(0, 60, 2)), "dose": list(range(30))})
ZONES = pa.table({"town": ["a"], "zone": ["north"]})
ALSO = {"labs": LABS, "drugs": DRUGS}
VS = "(select nr, avg(x) as a, sum(x) as s, count(*) as n from visits group by nr) v"
LS = "(select nr, count(*) as c, avg(x) as a from labs group by nr) l"
PLAIN: list[tuple[str, dict[str, Any]]] = [
    (f"select avg(v.a) > {{}} from {VS} join {LS} using (nr) where c > 2", {"a": (0, 20, "0.01")}),
    (f"select sum(s) > {{}} from {VS} left join {LS} on v.nr = l.nr where c is null or c >= 4", {"s": (0, 500)}),
    (f"select avg(l.a) > {{}} from {VS} join {LS} on l.nr = v.nr where n > 3", {"l.a": (0, 9, "0.01")}),
    (f"select count(*) filter (where dose > 20 and c > 1) > {{}} from {VS} left join {LS} using (nr) left join "
     "(select d.nr, max(dose) as dose from drugs d group by d.nr) d on d.nr = v.nr", {}),
    (f"select count(*) > {{}} from {VS} left join {LS} using (nr) where l.nr is not null and n < 7", {}),
    ("select sum(n) > {} from (select nr, count(*) as n from visits join zones using (town) group by nr) v "
     f"left join {LS} using (nr) where c is null or c < 4", {"n": (0, 99)}),
]  # fmt: skip


def level(rows: Any, question: str, **options: Any) -> int:
    with prepare(rows, question, P, **{"unit": "nr", "also": ALSO, **options}) as prepared:
        return int(prepared._levels()[2][0])


@pytest.mark.slow
@pytest.mark.parametrize(("question", "bounds"), PLAIN, ids=[question for question, _ in PLAIN])
def test_the_answer_is_that_of_plain_sql(question: str, bounds: dict[str, Any]) -> None:
    """By plain DuckDB: between limits around the value that it finds, and beyond neither."""
    with plain_duckdb() as plain:
        for name, table in {"visits": VISITS, "zones": ZONES, **ALSO}.items():
            plain.register(name, table)
        ((value,),) = plain.execute(question.replace(" > {}", "", 1)).fetchall()
        assert value > 3
        asked = question.removeprefix("select ").split(" > {}")[0]
        low, high = round(0.95 * value, 2), round(1.05 * value, 2)
        between = question.format(f"{low} and {asked} < {high}")
        assert plain.execute(between).fetchall() == [(True,)]
    assert level(VISITS, between, bounds=bounds, public={"zones": ZONES}) >= 0


QUESTION = PLAIN[0][0].format(9)
BOUNDS = PLAIN[0][1]


@pytest.mark.slow
def test_one_question_has_one_level_wherever_both_tables_are(tmp_path: Path) -> None:
    expected = level(VISITS, QUESTION, bounds=BOUNDS)
    for name, table in (("visits", VISITS), ("labs", LABS)):
        pq.write_table(table, tmp_path / f"{name}.parquet")
        feather.write_feather(table, tmp_path / f"{name}.arrow")
        with duckdb.connect(str(tmp_path / "clinic.duckdb")) as held:
            held.register("rows", table)
            held.execute(f"create table {name} as select * from rows; copy {name} to '{tmp_path}/{name}.csv'")
    own: list[Any] = [tmp_path / "visits.parquet", tmp_path / "visits.arrow", VISITS]
    for table, labs in zip(own, (str(tmp_path / "labs.arrow"), LABS, [tmp_path / "labs.parquet"]), strict=True):
        assert level(table, QUESTION, also={"labs": labs}, bounds=BOUNDS) == expected
    types = {"x": "number", "Labs.x": "number"}
    assert (
        level(tmp_path / "visits.csv", QUESTION, also={"Labs": tmp_path / "labs.csv"}, types=types, bounds=BOUNDS) == expected
    )
    database: dict[str, Any] = {"also": {"labs": "main.labs"}, "table": "visits", "bounds": BOUNDS}
    assert level(tmp_path / "clinic.duckdb", QUESTION, **database) == expected
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as held:
        assert level(held, QUESTION, **database) == expected
        held.execute("create view few as select * from labs where nr < 0")
        with pytest.raises(DuotoneError, match="view few is not a stored table"):
            level(held, QUESTION, **{**database, "also": {"labs": "few"}})
        with prepare(held, QUESTION, P, unit="nr", vouched=True, **{**database, "also": {"labs": "few"}}) as asked:
            assert asked.notes[0].startswith("vouched for, not checked: each row of view few belongs to one person, a nr")
            assert asked._levels()[1].tolist() == [0]
        assert held.execute("select view_name from duckdb_views() where view_name like 'duotone%'").fetchall() == []
    backend = ibis.duckdb.connect(tmp_path / "clinic.duckdb")
    assert level(backend, QUESTION, **database) == expected
    backend.disconnect()


def test_no_row_is_read_before_the_release(tmp_path: Path) -> None:
    """What is written into the second file after the question was prepared is in the answer."""
    (tmp_path / "visits.csv").write_text("nr,x\n" + "".join(f"{i},1\n" for i in range(9)))
    (tmp_path / "labs.csv").write_text("nr,y\n")
    question = (
        "select count(*) >= 5 from (select nr from visits group by nr) v join (select nr from labs group by nr) l using (nr)"
    )
    with prepare(tmp_path / "visits.csv", question, P, unit="nr", also={"labs": tmp_path / "labs.csv"}) as asked:
        assert asked._levels()[2].tolist() == [-5]
        (tmp_path / "labs.csv").write_text("nr,y\n" + "".join(f"{i},1\n" for i in range(9)))
        assert asked._levels()[2].tolist() == [4]
        assert (
            asked.facts.person
            == "a person is a nr (rows without one do not count) in visits.csv and labs together, reduced to one row by "
            "the inner selects"
        )
        assert asked.notes == ("labs is private, too: neighbours differ in all rows of one person, in all tables",)
    with pytest.raises(DuotoneError, match="might quote rows"):
        asked.release()  # it is closed


@pytest.mark.slow
def test_a_public_table_may_be_joined_inside_each(tmp_path: Path) -> None:
    """Which of the private tables it is joined to is part of the question."""
    own = pa.table({"nr": [1, 2, 3], "town": ["a", "a", "b"]})
    other = pa.table({"nr": [1, 2, 3], "town": ["b", "a", "a"]})
    inner, joined = "(select nr from {0} group by nr) {1}", "(select nr from {0} join zones using (town) group by nr) {1}"
    seen = {}
    for left, right in itertools.product((inner, joined), repeat=2):
        question = f"select count(*) > 1 from {left.format('t', 'v')} join {right.format('labs', 'l')} using (nr)"
        with prepare(own, question, P, unit="nr", also={"labs": other}, public={"zones": ZONES}) as asked:
            seen[asked.normal] = asked._levels()[2].tolist()
            assert ("zones is public: its rows are not protected" in asked.notes) == ("zones" in question)
    assert list(seen.values()) == [[1], [0], [0], [-1]]


C = "select nr, count(*) as c from labs group by nr"
X, Y = "(select nr, sum(x) as s from visits group by nr) v", f"({C}) l"
REFUSED: list[tuple[str, str, dict[str, Any]]] = [
    (f"from {X} full join {Y} using (nr)", "private tables are joined by inner selects, each with a row per person", {}),
    (f"from {X} right join {Y} using (nr)", "private tables are joined by inner selects", {}),
    (f"from {X} cross join {Y}", "private tables are joined by inner selects", {}),
    (f"from {X}, {Y}", "private tables are joined by inner selects", {}),
    (f"from {X} natural join {Y}", "private tables are joined by inner selects", {}),
    (f"from (select nr, max(c) as s from (select nr from t group by nr) group by nr) v join {Y} using (nr)", "the query", {}),
    ("from (select nr, max(c) as s from (select nr, max(x) as c from t group by nr) group by nr)", "leave out the query", {}),
    (f"from {X} join {Y} on v.nr > l.nr", "private tables are joined by inner selects", {}),
    (f"from {X} join {Y} on v.s = l.c", "by nothing else", {}),
    (f"from {X} join {Y} on v.nr = l.nr and v.s = l.c", "by nothing else", {}),
    (f"from {X} join {Y} using (c)", "the table has no column c", {}),
    (f"from {X} join {Y} using (nr) join {Y[:-1]} m on m.nr = l.nr", "must be joined to the table that is asked about", {}),
    (f"from {X} join {Y[:-1]} using (nr)", "need names", {}),
    (f"from {X[:-1]} join {Y} using (nr)", "need names", {}),
    (f"from {X} join {Y[:-1]} V using (nr)", "two inner selects are called V", {}),
    (f"from {X} join {Y} using (nr) join zones using (nr)", "a public table is joined inside one", {}),
    (f"from {X} join (select nr, count(*) as c from visits group by nr) l using (nr)", "which are labs, drugs", {}),
    (f"from {X} join (select nr, count(*) as c from s.labs group by nr) l using (nr)", "about s.labs", {}),
    (f"from {X} join (select nr, count(*) as c group by nr) l using (nr)", "is about nothing", {}),
    (f"from {X} join {Y} using (nr)", "and none is declared", {"also": None}),
    (f"from {X} join {Y} using (nr)", "name the unit", {"also": None, "unit": None}),
    (f"from {X} join (select nr, c from ({C}) group by nr) l using (nr)", "is about", {}),
    (f"from {X} join (select max(x) as c from labs group by nr) l using (nr)", "the unit among its columns: select nr", {}),
    (f"from {X} join (select nr as who, max(x) as c from labs group by nr) l using (nr)", "the unit among its columns", {}),
    (f"from (select sum(x) as s from visits group by nr) v join {Y} using (nr)", "has the unit among its columns", {}),
    (f"from {X} join ({C} limit 3) l using (nr)", "a question has no limit", {}),
    (f"from {X} join (select distinct nr, count(*) as c from labs group by nr) l using (nr)", "has no distinct", {}),
    (f"from {X} join ({C}, x) l using (nr)", "by the unit, and by nothing else", {}),
    (f"from {X} join (select nr, x from labs) l using (nr)", "by the unit, and by nothing else", {}),
    (f"from {X} join {Y} using (nr) where nr > 3", "the join of v and l has no column nr", {}),
    (f"from {X} left join {Y} on v.nr = l.nr where l.nr > 3", "has no column l.nr", {}),
    (f"from {X} join (select nr, max(x) as s from labs group by nr) l using (nr) where s > 3", "write its table before it", {}),
    ("from labs", "labs is a further private table", {}),
    ("from visits join labs using (nr)", "labs is a further private table", {}),
    (f"from ({C})", "labs is a further private table", {}),
    (f"from (select nr, max(x) as c from LABS group by nr) v join {Y} using (nr)", "that is asked about comes first", {}),
    (f"from {X} join (select nr, max(x) as c from labs join drugs using (nr) group by nr) l using (nr)", "drugs is a", {}),
    (f"from {X} join {Y} using (nr)", "someone who changes may leave one for another", {"neighbours": "replace"}),
    (f"from {X} join {Y} using (nr)", "leave out max_rows", {"max_rows": 3}),
    ("", "name the column that tells persons apart", {"unit": None}),
    ("", "labs has no column who, which names a person in every table", {"unit": "who"}),
    ("", "given by name", {"also": [LABS]}),
    ("", "given by name", {"also": {"": LABS}}),
    ("", "not a table", {"also": {"labs": 5}}),
    ("", "no file", {"also": {"labs": "no.csv"}}),
    ("", "same name but for upper and lower case", {"also": {"labs": LABS, "LABS": LABS}}),
    ("", "same name but for upper and lower case", {"public": {"Labs": LABS}}),
    ("", "is in a database, or open already", {"also": {"labs": "x.duckdb"}}),
    ("", "is in a database, or open already", {"also": {"labs": "postgres://host/x"}}),
    ("", "holds integer values in the table and text ones in labs, and names the same people: convert one",
     {"also": {"labs": pa.table({"nr": ["1"]})}}),
    ("", "cannot be a person's name", {"also": {"labs": pa.table({"nr": [1.5]})}}),
    ("", "same name but for upper and lower case", {"also": {"labs": pa.table({"nr": [1], "NR": [1]})}}),
]  # fmt: skip


@pytest.fixture(scope="module")
def opened() -> Iterator[Source]:
    """Open all the while, which is faster."""
    with open_source(VISITS) as source:
        yield source


@pytest.mark.parametrize(("tail", "why", "options"), REFUSED, ids=[f"{tail} {why}" for tail, why, _ in REFUSED])
def test_other_joins_and_tables_are_refused_with_the_reason(
    opened: Source, tail: str, why: str, options: dict[str, Any]
) -> None:
    table = opened if tail else VISITS.append_column("who", VISITS["nr"])
    with pytest.raises(DuotoneError, match=why):
        prepare(table, f"select count(*) > 5 {tail}", P, **{"unit": "nr", "also": ALSO, **options})


@pytest.mark.slow
def test_tables_on_other_connections_are_refused(tmp_path: Path) -> None:
    (tmp_path / "labs.csv").write_text("nr,x\n1,2\n")
    question = f"select count(*) > 5 from {X} join {Y} using (nr)"
    with open_source(VISITS) as visits, open_source(LABS) as labs:
        assert level(visits, question, also={"labs": LABS}) == level(VISITS, question)
        for other, why in ((labs, "open already"), (tmp_path / "labs.csv", "give both as files")):
            with pytest.raises(DuotoneError, match=why):
                prepare(visits, question, P, unit="nr", also={"labs": other})
        assert level(visits, question, also={"labs": LABS}) == level(VISITS, question)
    with duckdb.connect() as held:
        held.register("rows", VISITS)
        held.execute("create table visits as select * from rows")
        for also, why in ((LABS, "give its name there"), ("nowhere", "has no table nowhere")):
            with pytest.raises(DuotoneError, match=why):
                prepare(held, question, P, unit="nr", table="visits", also={"labs": also})
        with pytest.raises(DuotoneError, match="has the name of the table that is asked about, visits"):
            prepare(held, question, P, unit="nr", table="visits", also={"Visits": "visits"})
    unknown = of_table(ibis.table({"nr": "int64"}), Spark(None, None), "t")
    with pytest.raises(DuotoneError, match="where all have names in one database"):
        prepare(unknown, question, P, unit="nr", also={"labs": "labs"})


@pytest.mark.slow
def test_a_ledger_knows_the_tables_together_by_a_name_of_their_own(tmp_path: Path) -> None:
    for name, table in (("visits", VISITS), ("labs", LABS), ("labs-2", LABS)):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    question = f"select count(*) > 5 from {X} join {Y} using (nr)"
    with open_ledger(tmp_path / "l.ledger") as ledger:
        for dataset in ("visits.parquet", "both"):
            ledger.register(dataset, ApproxDP(9, "1e-4"), unit="nr", neighbours="add-remove", version="1")

        def free(text: str, labs: str = "labs", called: str = "labs") -> bool:
            also = {called: tmp_path / f"{labs}.parquet"}
            with prepare(tmp_path / "visits.parquet", text, P, unit="nr", also=also) as asked:
                with pytest.raises(DuotoneError, match=r"one dataset together.*with a budget of its own.*comes on top"):
                    asked.charge(ledger)
                receipt = asked.charge(ledger, "both").receipt
            assert receipt is not None
            return receipt.free

        assert not free(question)
        assert free(question.replace("from labs", "from LABS x").replace("using (nr)", "on l.nr = v.nr"))
        assert not free(question, "labs-2")
        assert not free(question.replace("join", "left join"))
        assert not free(question.replace("from labs", "from tests"), called="tests")
        assert [len(ledger.statement(name).charges) for name in ("visits.parquet", "both")] == [0, 4]


@pytest.mark.slow
def test_the_command_joins_private_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "visits.csv").write_text("nr,x\n" + "".join(f"{i % 50},{i % 9}\n" for i in range(400)))
    (tmp_path / "labs.csv").write_text("nr,y\n" + "".join(f"{i % 70},1\n" for i in range(400)))
    question = ("select avg(a) > 3 from (select nr, avg(x) as a from visits group by nr) v join "
                "(select nr, count(*) as c from labs group by nr) l using (nr) where c > 2")  # fmt: skip

    def said(*more: str) -> tuple[int, Any]:
        asked = ["ask", f"{tmp_path}/visits.csv", question, "--epsilon", "5", "--delta", "1e-6", "--unit", "nr"]
        with pytest.raises(SystemExit) as ended:
            main([*asked, "--types", "x=number", "--bounds", "a=0:9", *more])
        return int(ended.value.code or 0), capsys.readouterr()

    with_labs = ("--also", f"labs={tmp_path}/labs.csv")
    code, shown = said(*with_labs, "--json")
    assert code == 0
    assert json.loads(shown.out)["answer"] == "yes"
    assert " in visits.csv and labs together" in json.loads(shown.out)["person"]
    code, shown = said("--also", "labs")
    assert (code, "further private tables are NAME=FILE, each once" in shown.err) == (2, True)
    ledger = str(tmp_path / "l.ledger")
    with open_ledger(ledger) as book:
        book.register("clinic", ApproxDP(9, "1e-4"), unit="nr", neighbours="add-remove", version="1")
    for more in ((), ("--preview",)):
        code, shown = said(*with_labs, "--ledger", ledger, *more)
        assert (code, "one dataset together" in shown.err) == (2, True)
        code, shown = said(*with_labs, "--ledger", ledger, "--dataset", "clinic", *more)
        assert code == 0
    csv = {"labs": tmp_path / "labs.csv"}
    plain = "select count(*) > 20 from (select nr, max(x::int) as a from visits group by nr)"
    answers = ask_all(
        Dataset(tmp_path / "visits.csv", unit="nr", also=csv, types={"x": "number"}, bounds={"a": (0, 9)}),
        [question, plain],
        ApproxDP(9, "1e-6"),
    )
    assert [bool(answer) for answer in answers] == [True, True]


@pytest.mark.slow
def test_names_cannot_make_two_questions_one() -> None:
    """A label in quotes that reads like SQL; which of two frames is which; a name that is another table's."""
    visits = pa.table({"nr": [i % 300 for i in range(900)]})
    labs = pa.table({"nr": range(300)})
    start = "select count(*) > 100 from (select nr from v group by nr) v join (select nr from p group by nr) "
    first = start + "l using (nr) join (select nr from p group by nr having count(*) > 1) m using (nr)"
    second = start + '"l JOIN (SELECT nr GROUP BY nr HAVING COUNT(*) > 1 FROM p) AS m" using (nr)'
    normal = {prepare(visits, question, P, unit="nr", also={"p": labs}).normal for question in (first, second)}
    assert len(normal) == 2
    wrong: list[tuple[str, dict[str, Any]]] = [
        ('select count(*) > 5 from "P"', {"also": {"p": labs}}),
        ("select count(*) > 5 from main.p", {"also": {"p": labs}}),
        ("select count(*) > 5 from zones", {"public": {"zones": labs}}),
        ("select count(*) > 5 from (select nr, count(*) as n from zones group by nr)", {"public": {"zones": labs}}),
    ]
    for question, tables in wrong:
        with pytest.raises(DuotoneError, match=r"is a further private table|is public"):
            prepare(visits, question, P, unit="nr", max_rows=None if "select nr" in question else 1, **tables)
    named = pa.table({"Present Rows": [1]})
    with pytest.raises(DuotoneError, match="rename it"):
        prepare(named, start.replace("nr", '"Present Rows"'), P, unit="Present Rows", also={"p": named})


@pytest.mark.parametrize("also", [{}, {"labs": "labs.arrow"}], ids=["one table", "two"])
def test_no_row_is_read_before_the_charge(also: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of Arrow files, which are read into memory: when a question with an inner select is answered, and not before."""
    rows = pa.table({"nr": [1, 1, 2], "y": [1, 2, 3]})
    for name in ("visits.arrow", "labs.arrow"):
        feather.write_feather(rows, tmp_path / name)
    reads: list[str] = []
    reader = files._arrow_reader

    def watched(path: Path, places: Sequence[int] = ()) -> Any:
        reads.extend([path.name] * bool(places))
        return reader(path, places)

    monkeypatch.setattr(files, "_arrow_reader", watched)
    monkeypatch.chdir(tmp_path)
    joined = " v join (select nr, sum(y) as s from labs group by nr) l using (nr)" if also else ""
    question = f"select count(*) > 0 from (select nr, count(*) as n from visits group by nr){joined} where n > 1"
    with prepare("visits.arrow", question, P, unit="nr", also=also or None) as asked:
        assert reads == []
        assert asked._levels()[2][0] == 0
        assert sorted(set(reads)) == (["labs.arrow", "visits.arrow"] if also else ["visits.arrow"])


def test_texts_of_further_tables_have_notes_too(tmp_path: Path) -> None:
    for name in ("visits", "labs"):
        (tmp_path / f"{name}.csv").write_text("nr,y\n1,2\n")
    question = (
        "select count(*) > 0 from (select nr, count(*) as n from visits group by nr) v "
        "join (select nr, avg(y::double) as m from labs group by nr) l using (nr)"
    )
    with prepare(tmp_path / "visits.csv", question, P, unit="nr", also={"labs": tmp_path / "labs.csv"}) as asked:
        assert "y is text: values that are not numbers count as NULL" in asked.notes
