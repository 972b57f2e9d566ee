"""Which groups may be shown: on the engine, one person changes few counts by one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, Dataset, DuotoneError, ask, partition_selection, prepare, prove, select_groups
from duotone.cli.app import main
from duotone.model.terms import DefiniteTerms
from duotone.tables.check_question import prepare_groups
from duotone.tables.engines import open_source
from duotone.tables.engines.query import People, gather
from support.running import examples, run

SURE = ApproxDP(50, "0.9")  # a group of two is certain
rows = st.lists(st.tuples(st.sampled_from([1, 2, 3, 4, None]), st.sampled_from(["a", "b", "c", None])), max_size=12)


def table(content: list[tuple[Any, Any]]) -> pa.Table:
    return pa.table(
        {"person": pa.array([r[0] for r in content], pa.int64()), "key": pa.array([r[1] for r in content], pa.string())}
    )


def people(content: list[tuple[Any, Any]], unit: str | None, most: int) -> dict[str, int]:
    result = gather(People(open_source(table(content)), None, unit, ("key",), most), [])
    return {key: n for (key,), n in zip(result.keys, result.people.tolist(), strict=True)}


@pytest.mark.slow
@examples(60)
@given(rows, st.integers(1, 3), st.integers(1, 4))
def test_one_person_changes_few_counts_by_one(content: list[tuple[Any, Any]], most: int, person: int) -> None:
    """The ±1 rule, on the engine itself: with and without a person, at most `most` keys differ, each by 1."""
    everybody = people(content, "person", most)
    without = people([r for r in content if r[0] != person], "person", most)
    changed = {key: everybody.get(key, 0) - without.get(key, 0) for key in everybody.keys() | without.keys()}
    assert sum(v != 0 for v in changed.values()) <= most
    assert set(changed.values()) <= {0, 1}
    for key, n in people(content, "person", 3).items():
        assert n == len({r[0] for r in content if r[1] == key and r[0] is not None})


@pytest.mark.slow
@settings(max_examples=30)
@given(rows)
def test_without_a_unit_rows_are_people(content: list[tuple[Any, Any]]) -> None:
    assert people(content, None, 1) == {k: sum(r[1] == k for r in content) for k in {r[1] for r in content} - {None}}


@pytest.mark.slow
def test_every_kind_of_table(tmp_path: Path) -> None:
    content = [(i, "common") for i in range(90)] + [(99, "rare")] + [(7, "common")] * 50
    arrow = table(content)
    pq.write_table(arrow, tmp_path / "t.parquet")
    arrow.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.register("given", arrow)
        connection.execute("create table visits as select * from given")
    privacy = ApproxDP(1, "1e-15")  # nobody is shown alone, and 90 are
    sources: list[tuple[Any, str | None]] = [
        (arrow, None),
        (pd.DataFrame(arrow.to_pydict()), None),
        (pl.DataFrame(arrow.to_pydict()), None),
        (tmp_path / "t.parquet", None),
        (str(tmp_path / "t.csv"), None),
        (tmp_path / "t.duckdb", "visits"),
    ]
    for source, name in sources:
        chosen = select_groups(source, ["key"], privacy, unit="person", max_groups=1, table=name)
        assert list(chosen.answers) == [("common",)]
        assert ask(source, "count(distinct person) >= 25", privacy, unit="person", max_groups=1, table=name)
        added = "sum(person::double) > 9000" if str(source).endswith(".csv") else "sum(person) > 9000"
        value = added.partition(")")[0].removeprefix("sum(")
        assert not ask(source, added, privacy, bounds={value: (0, 10)}, table=name)
    assert prove(chosen.certificate()).startswith("private and optimal")


def test_keys_come_in_their_own_order_and_shares_are_even() -> None:
    content = pa.table({"a": ["z", "y", "z", "y", "x"] * 9, "b": [2, 1, 1, 2, 1] * 9, "u": range(45)})
    chosen = select_groups(content, ["a", "b"], ApproxDP(exp_epsilon=2**60, delta="0.9"), unit="u", max_groups=3)
    assert list(chosen.answers) == [("x", 1), ("y", 1), ("y", 2), ("z", 1), ("z", 2)]
    assert chosen.facts.terms.share == ApproxDP(exp_epsilon=2**20, delta="0.3")
    assert select_groups(content.slice(0, 0), ["a"], SURE).answers == {}


@pytest.mark.slow
def test_columns_may_be_called_anything() -> None:
    """Names that the plan uses itself, and odd ones, change nothing."""
    names = ["unit", "k0", "order_", "rank_", "m0s", "people", "value", "one", "k0_", "a b", 'q"x', "ü"]
    content = pa.table({name: [0, 0, 1] * 30 for name in names} | {"who": list(range(30)) * 3})
    for name in names:
        chosen = select_groups(content, [name], ApproxDP(exp_epsilon=2**60, delta="0.9"), unit="who", max_groups=2)
        assert list(chosen.answers) == [(0,), (1,)]
        quoted = '"' + name.replace('"', '""') + '"'
        question = f"select {quoted}, avg({quoted}) > 1/2 from t group by {quoted}"
        reply = ask(
            content,
            question,
            ApproxDP(exp_epsilon=2**60, delta="0.9"),
            unit="who",
            max_rows=1,
            max_groups=2,
            bounds={name: (0, 1)},
        )
        assert reply.answers == {(0,): False, (1,): True}


def test_a_question_by_group_from_a_list_or_selected() -> None:
    content = pa.table({"town": ["Ely"] * 200 + ["Wells"] * 100 + ["Bath"], "x": [1.0] * 301})
    question = "select town, count(*) >= 150 from t group by town"
    assert ask(content, question, ApproxDP(2, "1e-15")).answers == {("Ely",): True, ("Wells",): False}
    listed = [("Wells",), ("Ely",), ("Nowhere",)]
    reply = ask(content, question, ApproxDP(4), groups=listed)
    assert list(reply.answers) == listed
    assert not reply.answers[("Nowhere",)]
    assert prepare(content, question, ApproxDP(2, "1e-6")).cost.answers == 1
    assert prepare(content, question, ApproxDP(2), groups=listed).cost.answers == 1
    with pytest.raises(DuotoneError, match=r"look at \.answers"):
        bool(reply)


@pytest.mark.parametrize("listed", [pd.DataFrame({"town": ["Ely"]}), {"town": "Ely"}, pl.DataFrame({"town": ["Ely"]}), "Ely"])
def test_a_list_of_groups_is_no_frame_whose_names_would_be_groups(listed: Any) -> None:
    content, question = pa.table({"town": ["Ely"] * 20}), "select town, count(*) >= 15 from t group by town"
    with pytest.raises(DuotoneError, match=r"groups(\.town)? must be a list"):
        prepare(content, question, SURE, groups=listed)
    lists: list[Any] = [{"town": ["Ely"]}, pd.Series(["Ely"]), pl.Series(["Ely"]), np.array(["Ely"]), iter(["Ely"])]
    for values in lists:
        assert prepare(content, question, SURE, groups=values).listed == (("Ely",),)


def test_lists_of_other_groups_are_refused_where_they_are_for_one_question() -> None:
    """Groups that are listed by another column would be selected privately instead."""
    content = pa.table({"town": ["Ely"] * 20, "arm": ["A", "B"] * 10})
    question, lists = "select town, count(*) >= 15 from t group by town", {"arm": ["A", "B"]}
    with pytest.raises(
        DuotoneError, match=r"^groups has no list for town, by which the question is grouped: give one, or leave"
    ):
        prepare(content, question, SURE, groups=lists)
    with pytest.raises(DuotoneError, match="a list of groups is for a question with group by"):
        prepare(content, "count(*) >= 15", SURE, groups=lists)
    assert prepare(content, question, SURE, groups={**lists, "town": ["Ely"]}).listed == (("Ely",),)
    for asked in (question, "count(*) >= 15"):  # other questions use it
        assert prepare(Dataset(content, groups=lists), asked, SURE).listed is None


@pytest.mark.parametrize("option", ["--max-groups", "--max-rows", "--at-least", "--longest-text"])
def test_an_option_of_0_is_not_left_out(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"town": ["Ely"] * 20}), tmp_path / "t.parquet")
    question = "select town, count(*) >= 15 from t group by town"
    code, _, err = run(capsys, "ask", tmp_path / "t.parquet", question, "--epsilon", "9", "--delta", "0.1", option, "0")
    assert code == 2
    assert f"{option} must be a whole number" in err
    assert err.endswith("got 0\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"by": []}, "at least one column"),
        ({"by": ["key", "key"]}, "each once"),
        ({"by": ["none"]}, "the table has no column none; it has person, key"),
        ({"unit": "none"}, "the table has no column none"),
        ({"unit": "key"}, "the unit cannot be a key"),
        ({"max_groups": 0}, "must be a whole number from 1"),
        ({"max_groups": True}, "must be a whole number from 1"),
        ({"max_groups": 2**40}, "must be a whole number from 1"),
        ({"unit": None, "max_groups": 2}, "name the unit"),
        ({}, "with a unit, say in how many groups one person may count (max_groups): the budget is divided by it"),
        ({"privacy": ApproxDP(1), "max_groups": 1}, "with delta 0 no group may ever be shown"),
    ],
)
def test_bad_requests(arguments: dict[str, Any], says: str) -> None:
    call: dict[str, Any] = {"by": ["key"], "privacy": SURE, "unit": "person"} | arguments
    with pytest.raises(DuotoneError, match=re.escape(says)):
        select_groups(table([(1, "a")]), call.pop("by"), call.pop("privacy"), **call)


def test_keys_must_be_equal_exactly_when_they_look_so() -> None:
    times = pa.array([0, 1], pa.timestamp("us"))
    odd = pa.table({"a": [[1], [2]], "f": [0.0, -0.0], "t": times, "u": [1, 2]})
    dates = "Booleans or dates"
    for column, by, named in (
        ("a", dates, dates),
        ("f", "; make whole numbers of it, as in year::int", "; in a text file declare it as text, .* as whole numbers"),
        ("t", r"; make a date of it, as in date_trunc\('day', seen\)::date", dates),
    ):
        with pytest.raises(DuotoneError, match=f"column {column} cannot be grouped by: .*{by}$"):
            select_groups(odd, [column], SURE, unit="u")
        with pytest.raises(DuotoneError, match=f"column {column} cannot be a person's name: .*{named}$"):
            select_groups(odd, ["u"], SURE, unit=column)
    with pytest.raises(DuotoneError, match="same name but for upper and lower case, a and A: rename one"):
        select_groups(pa.table({"a": [1], "A": [2]}), ["a"], SURE)


@pytest.mark.slow
def test_bad_sources(tmp_path: Path) -> None:
    for ending in ("parquet", "duckdb"):
        (tmp_path / f"t.{ending}").write_text("secret 4711")
    (tmp_path / "t.xls").write_text("")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "twice.csv").write_text("a,a\n4711,4711\n")
    (tmp_path / "latin.csv").write_bytes("näme,x\n4711,1\n".encode("latin-1"))
    for source, name, says in [
        (tmp_path / "none.csv", None, "there is no file"),
        (tmp_path / "t.xls", None, r"save the sheet as CSV"),
        (tmp_path / "t.parquet", None, "is not a Parquet file"),
        (tmp_path / "t.duckdb", None, "say which"),
        (tmp_path / "t.duckdb", "visits", "is not a DuckDB file"),
        (tmp_path / "empty.csv", None, "must name every column"),
        (tmp_path / "twice.csv", None, "must name every column, each differently"),
        (tmp_path / "latin.csv", None, "cannot be read as column names"),
        (4711, None, "that is not a table"),
    ]:
        with pytest.raises(DuotoneError, match=says) as caught:
            open_source(source, table=name)
        assert "4711" not in str(caught.value)
    with duckdb.connect(str(tmp_path / "good.duckdb")) as connection:
        connection.execute("create table t (a int); create table c (a varchar collate nocase); create view w as select 1")
    with pytest.raises(DuotoneError, match="has no table visits"):
        open_source(tmp_path / "good.duckdb", table="visits")
    with pytest.raises(DuotoneError, match="has a collation"):
        open_source(tmp_path / "good.duckdb", table="c")
    with pytest.raises(DuotoneError, match=r"view w is not a stored table.*\(vouched\)"):
        open_source(tmp_path / "good.duckdb", table="w")
    source = open_source(table([(1, "a")]))
    with pytest.raises(DuotoneError, match="might quote rows") as hidden:
        source.run(source.rows.mutate(x=source.rows.key.cast("int64")))
    assert hidden.value.__cause__ is hidden.value.__context__ is None


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.csv"
    file.write_text("person,town\n" + "".join(f"{i},Ely\n" for i in range(90)) + "1,Wells\n")
    budget = ["--epsilon", "1", "--delta", "1e-15"]
    with pytest.raises(SystemExit) as ended:
        main(["groups", str(file), "--by", "town", "--unit", "person", *budget])
    assert ended.value.code == 2
    assert "say in how many groups one person may count (--max-groups)" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["groups", str(file), "--by", "town", "--unit", "person", "--max-groups", "1", *budget, "--json"])
    assert not ended.value.code
    assert json.loads(capsys.readouterr().out)["groups"] == [{"town": "Ely"}]
    proof = tmp_path / "proof.json"
    with pytest.raises(SystemExit) as ended:
        main(["groups", str(file), "--by", "town", *budget, "--certificate", str(proof)])
    assert not ended.value.code
    assert "1 group may be shown" in (out := capsys.readouterr().out)
    assert "each row is a person" in out
    assert prove(json.loads(proof.read_text()))
    with pytest.raises(SystemExit) as ended:
        main(["groups", str(file), "--by", "city", *budget])
    assert ended.value.code == 2
    assert "no column city" in capsys.readouterr().err


def test_a_file_name_is_no_pattern(tmp_path: Path) -> None:
    for name, votes in (("p[1]", ["N"] * 500), ("p1", ["Y"] * 900), ("q*", ["N"] * 50), ("q2", ["N"] * 900)):
        pq.write_table(pa.table({"v": votes}), tmp_path / f"{name}.parquet")
        (tmp_path / f"{name}.csv").write_text("v\n" + "\n".join(votes) + "\n")
    for ending in ("parquet", "csv"):
        assert ask(tmp_path / f"p[1].{ending}", "mode(v) = 'N'", ApproxDP(3, "1e-3"))
        assert not ask(tmp_path / f"q*.{ending}", "count(*) > 100", ApproxDP(3, "1e-3"))


@pytest.mark.parametrize(
    "budget", [ApproxDP(1, "1e-6"), ApproxDP(exp_epsilon=2, delta="1/999"), ApproxDP(3, "0.4"), ApproxDP(0, "0.011")]
)
def test_a_note_says_which_groups_to_expect(budget: ApproxDP) -> None:
    """By the probabilities themselves, one person after another."""
    table = pa.table({"g": ["a"], "x": [1]})
    for asked in (prepare(table, "select g, count(*) > 1 from t group by g", budget), prepare_groups(table, "g", budget)):
        with asked as question:
            note, *_ = map(str, question.facts.remarks)
            assert isinstance(question.terms, DefiniteTerms)
            shown = [partition_selection(budget).yes(n - 1) for n in range(1, 200)]
        always = next(n for n, p in enumerate(shown, start=1) if p == 1)
        often = next(n for n, p in enumerate(shown, start=1) if p >= 0.05)
        seldom = f"one of fewer than {often} people is seldom shown" if often > 1 else "even one of no more than 1 may be shown"
        assert f": {seldom}" in note
        assert f", one of {always} or more always" in note
    with prepare(table, "select g, count(*) > 1 from t group by g", budget, groups=["a"]) as listed:
        assert listed.facts.remarks == ()
