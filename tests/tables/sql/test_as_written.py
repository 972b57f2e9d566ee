"""Other ways of writing a question mean what plain SQL means, and what is refused comes with a question that works."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import DuotoneError, ask, prepare
from duotone.model.notice import Notice
from duotone.tables.sql.as_written import as_sql
from duotone.tables.sql.read_question import read_question
from support.refusals import COLUMNS, REFUSED

WRITTEN = {
    "count(*) > 1,000": "count(*) > 1000",
    "count(*) > 1,234,567.50": "count(*) > 1234567.50",
    "count(*) between 1,000 and 2,000": "count(*) between 1000 and 2000",
    "count(*) filter (where (salary > 1,000)) > 5": "count(*) filter (where (salary > 1000)) > 5",
    "count(*) filter (where salary in (1,000)) > 5": "count(*) filter (where salary in (1, 0)) > 5",
    "count(*) filter (where b = 'Yes' or b <> 'no') > 5": "count(*) filter (where b = true or b <> false) > 5",
    "count(*) filter (where b = 1) > count(*) filter (where b in ('F', 'n'))":
        "count(*) filter (where b = true) > count(*) filter (where b in (false, false))",
    "sum(salary) > $1,000": "sum(salary) > 1000",
    "sum(salary) > €20 and sum(salary) < £3,000.5": "sum(salary) > 20 and sum(salary) < 3000.5",
    "avg(b) > 25%": "avg(b) > 0.25",
    "avg(b) > 2.5% and avg(b) < 100%": "avg(b) > 0.025 and avg(b) < 1",
    "avg(b) > .5%": "avg(b) > 0.005",
    "avg(b) > 5 % and avg(b) < 100 %": "avg(b) > 0.05 and avg(b) < 1",
    "count(*) filter (where 10 % length(vote) = 0) > 5": "count(*) filter (where mod(10, length(vote)) = 0) > 5",
    "count(*) filter (where 10 % year(d) = 0) > 5": "count(*) filter (where mod(10, year(d)) = 0) > 5",
    "select avg(`salary`) > 3 from `s`": 'select avg("salary") > 3 from s',
    "select avg(i.[salary]) > 3 from [s] i where [b]": 'select avg(i."salary") > 3 from s i where "b"',
    "mode(vote) = '`a` [b] top 1'": "mode(vote) = '`a` [b] top 1'",
    "SELECT TOP 1 vote FROM s GROUP BY vote ORDER BY COUNT(*) DESC;":
        "select vote from s group by vote order by count(*) desc limit 1",
    "select top (1) vote from s group by vote order by count(*)": "select vote from s group by vote order by count(*) limit 1",
    "count(*) filter (where salary % 2 = 0) > 5": "count(*) filter (where salary % 2 = 0) > 5",
    "count(*) filter (where 100 %salary = 0) > 5": "count(*) filter (where mod(100, salary) = 0) > 5",
    "mode(vote) = ‘it''s’": "mode(vote) = 'it''s'",
    "avg(“salary”) > 3": 'avg("salary") > 3',
    "mode(vote) = '“25%” of 1,000'": "mode(vote) = '“25%” of 1,000'",
    "count(*) > 5 -- 1,000 or 25%": "count(*) > 5",
    "3 < median(x) <= 5": "median(x) > 3 and median(x) <= 5",
    "1 > avg(x) > 0.5 > count(*) - 9": "avg(x) < 1 and avg(x) > 0.5 and count(*) - 9 < 0.5",
    "with t as (select * from s where b) select avg(x) > 3 from t": "select avg(x) > 3 from s where b",
    "with a as (select x as y from s), c as (select y from a where y > 1) select avg(y) > 3 from c where y < 9":
        "select avg(x) > 3 from s where x > 1 and x < 9",
    "select avg(i.y) > 3 from (select x + 1 as y from s where b or u = 1) i where i.y < 9":
        "select avg((x + 1)) > 3 from s where (b or u = 1) and (x + 1) < 9",
}  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN)
def test_what_is_written_otherwise_is_the_same_question(written: str) -> None:
    """In a ledger it is one question, so that the second way of writing it is free."""
    asked, plain = (read_question(text, COLUMNS) for text in (written, WRITTEN[written]))
    assert (asked.normal, asked.tree, asked.where) == (plain.normal, plain.tree, plain.where)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("not 3 < avg(x) < 5", "(not 3 < avg(x)) and avg(x) < 5"),
        ("count(*) filter (where not 1 < u < 3) > 5", "count(*) filter (where (not 1 < u) and u < 3) > 5"),
        (
            "select count(*) > 5 from (select * from s where b or u > 1) i where u = 2",
            "count(*) filter (where b or u > 1 and u = 2) > 5",
        ),
    ],
)
def test_what_looks_alike_is_another_question(one: str, other: str) -> None:
    """Rewriting keeps what belongs together: else the second would have the first one's answer free."""
    assert read_question(one, COLUMNS).normal != read_question(other, COLUMNS).normal


def test_a_percentage_is_noted() -> None:
    """What it stands for is said, since a column of per cents would need the other number."""
    (note,) = read_question("avg(x) > 25%", COLUMNS).notes
    assert (note.code, dict(note.fields)) == ("percent", {"written": "25%", "share": "0.25"})


@given(st.text(alphabet="ab1,. 5%$‘’“”'\"()>", max_size=30))
def test_texts_in_straight_quotes_stay(text: str) -> None:
    """And so does every token of any text in which nothing is unusual; nothing else than a refusal is ever raised."""
    quoted = "mode(vote) = '" + text.replace("'", "''") + "'"
    assert as_sql(quoted) == (quoted, ())
    with suppress(DuotoneError):
        as_sql(f"count(*) > {text}")


WITH_A_CURE = [text for text, sentence in REFUSED.items() if re.search(r"(write|as in|rows:) .*[0-9]\$$", sentence)]


@pytest.mark.parametrize("refused", WITH_A_CURE)
def test_the_question_that_a_refusal_names_works(refused: str) -> None:
    """Copied from the sentence, it is read."""
    with pytest.raises(DuotoneError) as raised:
        read_question(refused, COLUMNS)
    cure = re.split(r": write |, as in |count rows: ", str(raised.value))[-1]
    assert read_question(cure, COLUMNS).tree


def test_filters_inside_mean_what_they_mean_to_duckdb() -> None:
    """Answers at an ε that hides nothing, on random tables, against the text as DuckDB runs it."""
    draw = random.Random(1)
    right = 0
    for _ in range(12):
        rows = [{"x": draw.randint(0, 9), "g": draw.choice("ABC"), "b": draw.random() < 0.5} for _ in range(60)]
        t: Any = pa.Table.from_pylist(rows)
        limit = draw.randint(2, 7)
        text = (
            "with w as (select *, x * 2 as twice from t where b or g = 'A'), "
            f"v as (select twice, g from w where twice > {limit}) select avg(twice) > {2 * limit} from v where g <> 'C'"
        )
        (truth,) = duckdb.connect().register("t", t).execute(text).fetchone() or (None,)
        answer = ask(t, text, epsilon=40, bounds={"x": (0, 9)})
        right += bool(answer) == bool(truth)
    assert right == 12


@pytest.mark.parametrize(
    ("inner", "column"),
    [
        ("select x as y, g from t", "y"),
        ("select *, 9 - x as y from t where b", "y"),
        ("select 9 - x as x, x as y from t where b", "x"),
        ("select 9 - x as x, x as y from t where b", "y"),
    ],
)
def test_values_of_an_inner_select_are_asked_about(inner: str, column: str) -> None:
    """Whatever they are called: the trial clips none of them by another's bounds, and takes none for the table's own."""
    rows = [{"x": i % 10, "g": "ABC"[i % 3], "b": i % 4 > 0} for i in range(97)]
    t: Any = pa.Table.from_pylist(rows)
    for limit in (4, 4.5, 5):
        text = f"select avg({column}) > {limit} from ({inner}) i"
        (truth,) = duckdb.connect().register("t", t).execute(text).fetchone() or (None,)
        assert bool(ask(t, text, epsilon=40, bounds={"x": (0, 9)})) == bool(truth)


def test_a_select_named_like_its_table_is_judged_without_plain_sql(caplog: pytest.LogCaptureFixture) -> None:
    """DuckDB takes it for a circle; the rest of the trial stands, and nothing is logged."""
    t = pa.table({"x": [1, 2, 3] * 20})
    assert ask(t, "with t as (select * from t where x > 2) select count(*) > 10 from t", epsilon=40)
    assert caplog.records == []


def is_about_bounds(note: Any) -> bool:
    """Whether a note says which bounds follow."""
    return isinstance(note, Notice) and note.code == "bounds follow"


def test_bounds_follow() -> None:
    """They are noted, those that are declared win, and an unknown one is still a mistake."""
    t = pa.table({"x": [1.0], "y": [2.0], "p": [1]})
    with prepare(t, "avg(x - y) > 0", epsilon=1, bounds={"x": (0, 4), "y": (1, 3)}) as asked:
        assert asked.facts.clipped.startswith("x - y to [-3, 3]")
        assert [note.fields["low"] for note in asked.facts.notes if is_about_bounds(note)] == ["-3"]
    with prepare(t, "avg(x - y) > 0", epsilon=1, bounds={"x": (0, 4), "y": (1, 3), "x - y": (-1, 1)}) as asked:
        assert asked.facts.clipped.startswith("x - y to [-1, 1]")
    inner = "select avg(m) > 2 from (select p, max(x) as m, min(x + 1) as n from t group by p)"
    with prepare(t, inner, epsilon=1, unit="p", bounds={"x": (0, 4)}) as asked:
        assert asked.facts.clipped.startswith("m to [0, 4]")
    with pytest.raises(DuotoneError, match="has no column y"):
        prepare(t, inner, epsilon=1, unit="p", bounds={"x": (0, 4), "y": (0, 4)})
    with pytest.raises(DuotoneError, match="needs bounds"):
        prepare(t, inner.replace("max(x)", "sum(x)"), epsilon=1, unit="p", bounds={"x": (0, 4)})
