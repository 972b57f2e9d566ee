"""Notes on text: what whoever asks a text file should know about how its columns are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, DuotoneError, ask, prepare
from duotone.tables.sql.read_question import read_question

COLUMNS: dict[str, Any] = {"u": "untyped", "x": "untyped", "y": "untyped", "day": "untyped", "code": "text", "n": "float"}
NUMBER = "{} read from text: what is no number is null; duotone inspect counts how many"
DATE = "{} read from text as yyyy-mm-dd, without a time: what is no such date is null"
COUNTED = "{0} is text here: NA or n/a is a value like any other; write count({0}::double) to count numbers"
NOTES = {
    "avg(x) > 3": [NUMBER.format("x is")],
    "median(x) > 3": [NUMBER.format("x is")],
    "stddev(x) > 3": [NUMBER.format("x is")],
    "sum(x) / count(x::double) > 3": [NUMBER.format("x is")],
    "avg(x) > avg(y)": [NUMBER.format("x and y are")],
    "avg(x) filter (where y > 3 and u = 3) > 1": [NUMBER.format("x, y and u are")],
    "select count(*) > 3 from t where x > 5 and day < date '2025-01-01'": [NUMBER.format("x is"), DATE.format("day is")],
    "select year(day), count(*) > 3 from t group by 1": [DATE.format("day is")],
    "max(day) > date '2025-01-01'": [DATE.format("day is")],
    "avg(replace(x, '$', '')::double) > 3": [NUMBER.format("CAST(REPLACE(x, '$', '') AS DOUBLE) is")],
    "avg(code::double) > 3": [NUMBER.format("code is")],
    "count(*) filter (where left(code, 10)::date > date '2025-01-01') > 3": [DATE.format("CAST(LEFT(code, 10) AS DATE) is")],
    "sum(x) > 3 * count(x)": [NUMBER.format("x is"), COUNTED.format("x")],
    "avg(x) filter (where x is not null) > 3": [NUMBER.format("x is"), COUNTED.format("x")],
    "avg(x) filter (where y is not null) > 3": [NUMBER.format("x is")],
    "select avg(s) > 3 from (select u, sum(x) / count(x) as s from t group by u)": [NUMBER.format("x is"), COUNTED.format("x")],
    "count(x) > 3": [],
    "count(*) filter (where x = 'a' or x is null) > 3": [],
    "avg(n) > 3": [],
    "mode(x) = 'a'": [],
}


@pytest.mark.parametrize(("question", "notes"), NOTES.items())
def test_what_is_read_from_text_is_said(question: str, notes: list[str]) -> None:
    assert list(read_question(question, COLUMNS, unit="u").notes) == notes


@pytest.mark.slow
def test_a_sum_by_a_count_of_texts_is_refused_and_by_a_count_of_numbers_the_average(tmp_path: Path) -> None:
    """Of 10, 20 and NA the average is 15, not 10."""
    (tmp_path / "t.csv").write_text("x\n" + "10\n20\nNA\n" * 50)
    options: Any = {"bounds": {"x": (0, 100, 1)}}
    sure = ApproxDP(100, "0.5")
    with pytest.raises(DuotoneError, match=r"write avg\(x\), which is the sum by count\(x::double\)"):
        prepare(tmp_path / "t.csv", "sum(x) / count(x) > 12", sure, **options)
    for mean in ("avg(x)", "sum(x) / count(x::double)"):
        assert [bool(ask(tmp_path / "t.csv", f"{mean} > {t}", sure, **options)) for t in (14, 16)] == [True, False]
    by_texts = [bool(ask(tmp_path / "t.csv", f"sum(x) / count(x::text) > {t}", sure, **options)) for t in (9, 11)]
    assert by_texts == [True, False]


def test_notes_are_the_same_whatever_the_rows_are(tmp_path: Path) -> None:
    question = "avg(x) filter (where day > date '2025-01-01') > 3"
    for rows in ("", "1,2025-02-02\n", "NA,never\n"):
        (tmp_path / "t.csv").write_text(f"x,day\n{rows}")
        with prepare(tmp_path / "t.csv", question, ApproxDP(1), bounds={"x": (0, 10)}) as prepared:
            assert prepared.notes == (NUMBER.format("x is"), DATE.format("day is"))
