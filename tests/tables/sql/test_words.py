"""What a newcomer writes, and what is then meant: names in other letters, places, casts and columns by themselves, each
against the plain way to write it, plain Python or plain DuckDB."""

from __future__ import annotations

import pickle
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import ApproxDP, DuotoneError, prepare
from duotone.cli.app import main
from duotone.errors import UnknownColumn
from duotone.ledger.ledger import open_ledger
from duotone.tables.ask import select_groups
from duotone.tables.check_question import prepare_groups
from duotone.tables.inspection import inspect_clipping
from duotone.tables.sql.read_question import read_question
from duotone.words.sentences import sentence

BUDGET = ApproxDP(1, "1e-3")
ROWS = [(i // 3, "A" if i % 2 else "B", i % 5) for i in range(30)]
TABLE = pa.table({"Person": [p for p, *_ in ROWS], "arm": [a for _, a, _ in ROWS], "n": [n for *_, n in ROWS]})


def levels(table: Any, question: str, **options: Any) -> list[int]:
    with prepare(table, question, BUDGET, **options) as asked:
        return [int(level) for level in asked._levels()[2]]


@pytest.mark.parametrize("inner", ["person, max(n) as m from t group by 1", "person as q, max(n) as m from t group by q"])
def test_an_inner_select_is_grouped_by_a_place_or_an_alias(inner: str) -> None:
    plain = "select count(*) filter (where m > 3) > 2 from (select person, max(n) as m from t group by person)"
    other = f"select count(*) filter (where m > 3) > 2 from (select {inner})"
    many = sum(max(n for p, _, n in ROWS if p == q) > 3 for q in {p for p, *_ in ROWS})
    assert levels(TABLE, plain, unit="Person") == levels(TABLE, other, unit="Person") == [many - 3]


def test_a_place_in_an_inner_select_is_charged_as_the_same_question() -> None:
    question = "select count(*) > 2 from (select Person, max(n) as m from t group by {})"
    first, second = (prepare(TABLE, question.format(key), BUDGET, unit="Person") for key in ("Person", "1"))
    assert first.normal == second.normal


def test_a_tables_own_column_may_have_the_name_that_is_used_inside() -> None:
    """Once rows were counted only where such a column was above 0."""
    table = pa.table({"present rows": [0, 0, 0, 1], "x": [1, 2, 3, 4]})
    assert levels(table, "count(*) > 1") == [2]
    assert levels(table, 'count(*) filter (where "present rows" = 0) > 1') == [1]


@pytest.mark.slow
def test_the_unit_and_the_groups_are_found_in_other_letters(tmp_path: Path) -> None:
    question = "count(distinct PERSON) > 3"
    assert levels(TABLE, question, unit="pErSoN") == levels(TABLE, question, unit="Person") == [6]
    with open_ledger(tmp_path / "l") as ledger:
        ledger.register("t", ApproxDP(9, "1e-2"), version="1", unit="Person", neighbours="add-remove")
        with prepare(TABLE, question, BUDGET, unit="person") as asked:
            assert not asked.charge(ledger, "t").receipt.free  # type: ignore[union-attr]
        with prepare(TABLE, question, BUDGET, unit="Person") as asked:
            assert asked.charge(ledger, "t").receipt.free  # type: ignore[union-attr]
    assert select_groups(TABLE, ["ARM"], ApproxDP(9, "1e-2"), unit="person", max_groups=1).facts.by == ("arm",)
    with pytest.raises(DuotoneError, match="name at least one column to group by, each once"):
        prepare_groups(TABLE, ["arm", "ARM"], BUDGET)
    with pytest.raises(DuotoneError, match="the unit cannot be a key too"):
        prepare_groups(TABLE, ["PERSON"], BUDGET, unit="person")
    assert inspect_clipping(TABLE, unit="person") == inspect_clipping(TABLE, unit="Person")


RESERVED = pa.table({"Union": [1, 2], "order": [1, 2], "group": [1, 2], "case": [1, 2]})


@pytest.mark.parametrize(
    ("question", "column"),
    [
        ("avg({}) > 1", "Union"),
        ("count(*) filter (where {} = 1) > 1", "Union"),
        ("select {0}, count(*) > 1 from t group by {0}", "Union"),
        ("select count(*) > 1 from t where {} = 1 and group = 1", "case"),
    ],
)
def test_a_column_called_as_a_word_of_sql_is_to_be_quoted(question: str, column: str) -> None:
    """The sentence says so, and with that in quotes the question can be read; others fail as before."""
    with pytest.raises(DuotoneError, match=f'{column} is a word of SQL, and a column here: write "{column}", in double quotes'):
        prepare(RESERVED, question.format(column.lower()), BUDGET, bounds={column: (0, 9)})
    with pytest.raises(DuotoneError, match="check its brackets and quotes"):
        prepare(TABLE, question.format(column.lower()), BUDGET)
    prepare(RESERVED, question.format(f'"{column}"'), BUDGET, bounds={column: (0, 9)}).close()
    with pytest.raises(DuotoneError, match="check its brackets and quotes"):
        prepare(RESERVED, 'avg("Union" > 1', BUDGET)


def test_words_of_sql_that_may_be_columns_do_not_hide_the_one_that_may_not() -> None:
    table = pa.table({name: [1, 2] for name in ("date", "index", "row", "case")})
    with pytest.raises(DuotoneError, match='case is a word of SQL, and a column here: write "case"'):
        prepare(table, "count(*) filter (where date = 1 and index = 1 and row = 1 and case = 1) > 1", BUDGET)


def test_an_unknown_column_is_an_object_that_other_processes_read() -> None:
    with pytest.raises(
        UnknownColumn, match=r'the table has no column armm \(did you mean arm\?\); it has arm, " x"$'
    ) as refused:
        prepare(pa.table({"arm": ["a"], " x": [1]}), "count(armm) > 1", BUDGET)
    again = pickle.loads(pickle.dumps(refused.value))
    assert (str(again), again.column, again.columns, again.table) == (str(refused.value), "armm", ("arm", " x"), "the table")


@pytest.mark.parametrize("column", ["day", 'a"b', "it's", "$x"])
def test_advice_about_types_can_be_pasted(column: str, tmp_path: Path) -> None:
    """Into Python and into a shell."""
    file, name = tmp_path / "t.csv", '"' + column.replace('"', '""') + '"'
    file.write_text(f"{name},x\n2025-01-01 10:00,1\n")
    question = f"count(*) filter (where hour({name}) > 9 and x > 0) > 1"
    with pytest.raises(DuotoneError, match="is text, and is used as a time") as refused:
        prepare(file, question, BUDGET)
    advice = re.search(r"\((types=.*\})\)", str(refused.value))
    assert advice is not None
    types = eval(f"dict({advice[1]})")["types"]  # as it is written
    assert types == {column: "time", "x": "number"}
    prepare(file, question, BUDGET, types=types).close()
    flag = re.search(r"\((--types .*)\); dates may have .*; duotone declare", sentence(refused.value, "command"))
    assert flag is not None
    shell = subprocess.run(["bash", "-c", f"printf '%s\\n' {flag[1]}"], capture_output=True, text=True, check=True)
    assert shell.stdout.splitlines() == [word for one in types.items() for word in ("--types", "=".join(one))]


def test_words_that_sql_leaves_free_need_no_quotes() -> None:
    assert levels(RESERVED, "count(*) filter (where order = 1 and group = 1) > 0") == [0]


@pytest.mark.parametrize("column", ["union", 'a"b', "it's", """a'"b""", "back\\slash", "$x"])
def test_advice_about_bounds_can_be_pasted(column: str, tmp_path: Path) -> None:
    """Into Python and into a shell."""
    table, name = pa.table({column: [1.5, 2.5]}), '"' + column.replace('"', '""') + '"'
    for question in (f"avg({name}) > 1", f"avg({name} * 2) > 1"):
        with pytest.raises(DuotoneError, match="needs bounds") as refused:
            prepare(table, question, BUDGET)
        advice = re.search(r"\((bounds=.*\(low, high\)}\))", str(refused.value))
        assert advice is not None
        bounds = eval(f"dict({advice[1]}", {"low": 0, "high": 9})["bounds"]  # as it is written
        prepare(table, question, BUDGET, bounds=bounds).close()
        flag = re.search(r"\((--bounds .*=LOW:HIGH['\"])\)", sentence(refused.value, "command"))
        assert flag is not None
        shell = subprocess.run(["bash", "-c", f"printf '%s\\n' {flag[1]}"], capture_output=True, text=True, check=True)
        assert shell.stdout.splitlines() == ["--bounds", f"{next(iter(bounds))}=LOW:HIGH"]


@pytest.mark.slow
def test_endings_in_upper_case_and_blanks_in_names(tmp_path: Path) -> None:
    (tmp_path / "a.CSV").write_text("x, arm\n1,A\n2,B\n")
    (tmp_path / "a.TSV").write_text("x\tarm\n1\tA\n2\tB\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    pq.write_table(TABLE, folder / "A.PARQUET")
    shutil.copy(folder / "A.PARQUET", folder / "b.parquet")
    assert levels(tmp_path / "a.CSV", "select count(*) > 0 from a") == [1]
    assert levels(tmp_path / "a.TSV", "count(arm) > 0") == [1]
    assert levels(folder / "A.PARQUET", "count(*) > 29") == [0]
    assert levels(folder, "count(*) > 59") == [0]
    with pytest.raises(DuotoneError, match=r'no column arm; it has x, " arm"$'):
        prepare(tmp_path / "a.CSV", "count(arm) > 0", BUDGET)
    with pytest.raises(DuotoneError, match=r'no column arm; it has x, " arm"$'):
        prepare(tmp_path / "a.CSV", "count(*) > 0", BUDGET, unit="arm")
    assert levels(tmp_path / "a.CSV", 'count(" arm") > 0') == [1]


@pytest.mark.slow
def test_a_declared_column_of_a_text_file_is_a_condition_as_with_true(tmp_path: Path) -> None:
    fields = ["true", "false", "TRUE", "", "1", "0", "maybe", "7", "f"]
    path = tmp_path / "f.csv"
    path.write_text("smoker,k\n" + "".join(f"{field},1\n" for field in fields))
    with duckdb.connect() as own:  # the module's connection is every test's
        cast = "select try_cast(nullif(?, '') as boolean)"
        known = [own.execute(cast, [field]).fetchall()[0][0] for field in fields]
    known[fields.index("7")] = None  # a number other than 1 and 0 is neither
    held = {"types": {"smoker": "yes/no", "k": "number"}}
    for condition, want in (("smoker", True), ("not smoker", False), ("smoker and k = 1", True)):
        assert levels(path, f"count(*) filter (where {condition}) > 0", **held) == [known.count(want) - 1]
    either = [
        levels(path, question, **held) for question in ("select count(*) > 0 from f where smoker", "count_if(smoker) > 0")
    ]
    assert either[0] == either[1]
    assert levels(path, "bool_or(smoker)", **held) == [known.count(True) - 1]


@pytest.mark.parametrize(
    "question",
    [
        "count(*) filter (where arm = 'A')::float / count(*) > 0.3",
        "count(distinct arm)::int > 1",
        "cast(count(*) as decimal(9, 2)) >= 30",
        "try_cast(count(n) as double) > 30",
        "avg(n)::double > 1.9",
        "every(n < 5)",
        "every(n < 4)",
    ],
)
def test_casts_of_aggregates_answer_as_plain_duckdb(question: str) -> None:
    connection = duckdb.connect()
    connection.register("people", TABLE)
    answer = connection.execute(f"select {question.replace('every', 'bool_and')} from people").fetchone()
    (level,) = levels(TABLE, question, bounds={"n": (0, 9)} if "avg" in question else {})
    assert answer == (level >= 0,)


@pytest.mark.slow
def test_rows_are_said_to_be_clipped_only_where_they_are_counted() -> None:
    def said(question: str, **options: Any) -> bool:
        with prepare(TABLE, question, BUDGET, unit="Person", max_rows=2, bounds={"n": (0, 9)}, **options) as asked:
            return "a person's rows to 2" in (asked.facts.clipping or "")

    assert said("count(*) > 3")
    assert said("count(distinct Person) > 3 and sum(n) > 9")
    assert not said("count(distinct Person) > 3")
    assert not said("bool_or(n > 3)")
    assert not said("avg(n) > 2", per_unit="avg")
    assert said("avg(n) > 2")


def test_a_group_is_shown_under_its_alias_and_recorded_as_before() -> None:
    question = "select {} count(*) > 3 from t group by arm"
    with (
        prepare(TABLE, question.format("arm as m,"), BUDGET) as named,
        prepare(TABLE, question.format("arm,"), BUDGET) as plain,
    ):
        assert (named.facts.labels, plain.facts.labels) == (("m",), ("arm",))
        assert named.by == plain.by == ("arm",)
        answers = named.release()
    assert answers.to_arrow().column_names == ["m", "answer", "margin", "p_value", "certain", "size"]
    assert "<th style='text-align:left'>m</th>" in answers._repr_html_()
    assert re.search(" no by m[,;] ", repr(answers))
    for alias in ("answer", "Person"):  # each column of the answers has a name of its own
        text = f"select arm as {alias}, Person, count(*) > 3 from t group by arm, Person"
        with prepare(TABLE, text, BUDGET) as asked:
            assert asked.facts.labels == ("arm", "Person")


@pytest.mark.parametrize("name", ["body mass", "body mass 2"])
def test_an_unquoted_name_with_blanks_gets_its_quotes(name: str) -> None:
    for written in (name, name.upper()):
        with pytest.raises(DuotoneError, match=re.escape(f'write "{name}", in double quotes, for the column')):
            read_question(f"avg({written}) > 3", {"x": "float", name: "float"})


def test_the_command_says_replace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("x\n" + "1\n" * 50)
    arguments = ["ask", str(tmp_path / "t.csv"), "count(*) > 3", "--epsilon", "1", "--neighbours"]
    for neighbours, said in (("replace", True), ("add-remove", False)):
        with pytest.raises(SystemExit, match="0"):
            main([*arguments, neighbours])
        assert ("; neighbours differ in one person's data (replace); " in capsys.readouterr().out) is said
