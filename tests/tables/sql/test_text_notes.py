"""Notes on text: what whoever asks a text file should know about how its columns are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, ask, prepare
from duotone.model.notice import Notice
from duotone.tables.sql.read_question import read_question

COLUMNS: dict[str, Any] = {"u": "untyped", "x": "untyped", "y": "untyped", "day": "untyped", "code": "text", "n": "float"}
NUMBER = "{} text: values that are not numbers count as NULL (duotone inspect counts them)"
CAST_DATE = "{} text, read as dates (yyyy-mm-dd; a time after it is ignored): other values count as NULL"
OTHERWISE = (
    ' (duotone inspect counts them); if dates are written in another way, declare their format (formats={{"day": "%d/%m/%Y"}})'
)
DATE = CAST_DATE + OTHERWISE
COUNTED = "{0} is text here: NA or n/a counts as a value; write count({0}::double) to count numbers"
THERE = (
    "{0} is text here, and NULL only where nothing is written: NA counts as a value; write {0} <> 'NA' to leave it out, or "
    "count({0}::double) to count numbers"
)
FLAG = "{} text: true, t, yes, y and 1 count as true, false, f, no, n and 0 as false, and other values as NULL"
ORDER = "{} is compared as text, letter by letter"
DATES = (
    "{} is compared as text, letter by letter, which is the order of dates only if all are written as 2025-12-31: write "
    "date before the constant to compare dates"
)
SAME = "{} is compared as text, so 10 and 10.0 differ: leave out the quotes to compare numbers"
NOTES = {
    "avg(x) > 3": [NUMBER.format("x is")],
    "median(x) > 3": [NUMBER.format("x is")],
    "stddev(x) > 3": [NUMBER.format("x is")],
    "avg(case when n > 1 then x when n < 0 then if(n < -1, y, null) end) > 3": [NUMBER.format("x and y are")],
    "sum(coalesce(x, y)) > 3": [NUMBER.format("x and y are")],
    "sum(x) / count(x::double) > 3": [NUMBER.format("x is")],
    "avg(x) > avg(y)": [NUMBER.format("x and y are")],
    "avg(x) filter (where y > 3 and u = 3) > 1": [NUMBER.format("x, y and u are")],
    "select count(*) > 3 from t where x > 5 and day < date '2025-01-01'": [NUMBER.format("x is"), DATE.format("day is")],
    "select year(day), count(*) > 3 from t group by 1": [DATE.format("day is")],
    "max(day) > date '2025-01-01'": [DATE.format("day is")],
    "avg(replace(x, '$', '')::double) > 3": [NUMBER.format("CAST(REPLACE(x, '$', '') AS DOUBLE) is")],
    "avg(code::double) > 3": [NUMBER.format("code is")],
    "count(*) filter (where left(code, 10)::date > date '2025-01-01') > 3": [
        CAST_DATE.format("CAST(LEFT(code, 10) AS DATE) is")
    ],
    "sum(x) > 3 * count(x)": [NUMBER.format("x is"), COUNTED.format("x")],
    "avg(x) filter (where x is not null) > 3": [NUMBER.format("x is"), COUNTED.format("x")],
    "avg(x) filter (where y is not null) > 3": [NUMBER.format("x is"), THERE.format("y")],
    "select avg(s) > 3 from (select u, sum(x) / count(x) as s from t group by u)": [NUMBER.format("x is"), COUNTED.format("x")],
    "count(x) > 3": [THERE.format("x")],
    "count(*) filter (where x is null) > 3": [THERE.format("x")],
    "count(x) > count(y)": [THERE.format("x"), THERE.format("y")],
    "select count(*) > 3 from (select u, count(x) as s from t group by u) where s > 1": [THERE.format("x")],
    "count(x) filter (where x <> 'NA') > 3": [],
    "count(x) filter (where x not in ('NA', 'n/a')) > 3": [],
    "count(x::double) > 3": [NUMBER.format("x is")],
    "count(code) > count(n)": [],
    "count(*) filter (where x = 'a' or x is null) > 3": [],
    "avg(n) > 3": [],
    "mode(x) = 'a'": [],
    "count(*) filter (where x) > 3": [FLAG.format("x is")],
    "select count(*) > 3 from t where not x and y = true": [FLAG.format("x and y are")],
    "count(*) filter (where x::boolean is not null) > 3": [FLAG.format("x is")],
    "count(*) filter (where x > 'M') > 3": [ORDER.format("x")],
    "count(*) filter (where 'M' >= x or y between 'a' and 'b') > 3": [ORDER.format("x"), ORDER.format("y")],
    "count(*) filter (where x::text > '10') > 3": [ORDER.format("x")],
    "count(*) filter (where coalesce(x, '0') > '10') > 3": [ORDER.format("COALESCE(x, '0')")],
    "max(x) < 'M'": [ORDER.format("x")],
    "count(*) filter (where day >= '2025-01-01' and day < '2025-02-01') > 3": [DATES.format("day")],
    "count(*) filter (where day >= '2025-01-01 10:00') > 3": [DATES.format("day")],
    "count(*) filter (where day >= '2025-01') > 3": [ORDER.format("day")],
    "max(day) > '2025-01-01'": [DATES.format("day")],
    "count(*) filter (where x = '10') > 3": [SAME.format("x")],
    "count(*) filter (where x in ('a', '10') or y <> '5%') > 3": [SAME.format("x"), SAME.format("y")],
    "mode(x) = '10'": [SAME.format("x")],
    "count(*) filter (where lower(x) = '10') > 3": [],
    "count(*) filter (where code > '10' or code = '10') > 3": [],
    "select count(*) > 3 from (select u, count(*) filter (where x < 'M') as s from t group by u) where s > 1": [
        ORDER.format("x")
    ],
}
LIKE_NUMBERS = ("10", "-1.5", " 10 ", "1e3", ".5", "5.", "1,000", "1''000.50", "$10", "€ 5", "10%", "+3", "20250101")
LIKE_DATES = (
    "1.12.1989", "1989/12/01", "1989-12-1", "12/1/89", "2025-13-45", "1 Dec 1989", "01-DEC-1989", "Dec 1, 1989", "1. 12. 1989",
    "1.12.1989 10:00",
)  # fmt: skip
ORDERED = ("count(*) filter (where x {} '{}') > 3", "select count(*) > 3 from t where not (x {} '{}')", "max(x) {} '{}'",
           "select count(*) > 3 from (select u, count(*) as s from t where x {} '{}' group by u)")  # fmt: skip


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("question", ORDERED)
def test_a_number_or_date_in_quotes_does_not_put_text_in_order(question: str, sign: str) -> None:
    for constants, why in ((LIKE_NUMBERS, "leave out the quotes"), (LIKE_DATES, r"write the constant as date '2025-12-31'")):
        for constant in constants:
            asked = question.format(sign, constant)
            with pytest.raises(DuotoneError, match=why):
                read_question(asked, COLUMNS, unit="u")
            read_question(asked.replace("x ", "x::text ").replace("(x)", "(x::text)"), COLUMNS, unit="u")
            read_question(asked.replace("x ", "code ").replace("(x)", "(code)"), COLUMNS, unit="u")


@pytest.mark.parametrize(
    "condition",
    [
        "x between '5' and 'b'",
        "x between '1.1.2025' and '31.1.2025'",
        "'5' < x",
        "greatest(x, '5') = '5'",
        "least('5', x) = 'a'",
    ],
)
def test_nor_however_it_is_written(condition: str) -> None:
    with pytest.raises(DuotoneError, match=r"for the order of text|texts are not in the order of their dates"):
        read_question(f"count(*) filter (where {condition}) > 3", COLUMNS)


def test_nor_in_the_columns_of_a_public_table() -> None:
    joined = "select count(*) > 3 from t join zones using (x) where size {}"
    columns: Any = {"zones": {"x": "untyped", "size": "untyped"}}
    with pytest.raises(DuotoneError, match="leave out the quotes"):
        read_question(joined.format("> '10'"), COLUMNS, public=columns)
    assert ORDER.format("size") in said(read_question(joined.format("> 'M'"), COLUMNS, public=columns).notes)
    assert FLAG.format("size is") in said(read_question(joined.format("= true"), COLUMNS, public=columns).notes)


def said(notes: Sequence[Notice]) -> list[str]:
    return [str(note) for note in notes]


@pytest.mark.parametrize(("question", "notes"), NOTES.items())
def test_what_is_read_from_text_is_said(question: str, notes: list[str]) -> None:
    assert said(read_question(question, COLUMNS, unit="u").notes) == notes


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


def test_a_persons_average_of_whole_numbers_is_on_a_finer_grid() -> None:
    """As of numbers that need not be whole; a grid of one's own choice stays, and another grid is another question."""
    rows = pa.table({"u": [1, 1, 2, 2, 3], "x": [0, 1, 0, 1, 0], "f": [0.0, 1.0, 0.0, 1.0, 0.0], "s": ["", "a", "", "a", ""]})
    fine, declared = ApproxDP(40, "1e-6"), {"unit": "u", "per_unit": "avg"}
    for question in ("avg({}) > 0.3", "avg({}) > 0.4", "median({}) >= 0.5", "stddev({}) < 0.3", "max({}) < 0.75",
                     "avg({0}) filter (where s = 'a') > avg({0}) + 0.2", "avg({}) < 0.4 and not median({}) > 0.6"):  # fmt: skip
        for neighbours in ("add-remove", "replace"):
            known = []
            for column in ("x", "f"):
                options: Any = {**declared, "neighbours": neighbours, "bounds": {column: (0, 1)}}
                with prepare(rows, question.replace("{}", column).replace("{0}", column), fine, **options) as asked:
                    known.append((asked._levels()[2].tolist(), asked.facts.basis))
                    assert asked.facts.remarks == ()
            assert known[0] == known[1], question
    own: Any = {**declared, "bounds": {"x": (0, 1, 1)}}
    with (
        prepare(rows, "avg(x) > 0.3", fine, **own) as whole,
        prepare(rows, "avg(x) > 0.3", fine, **own | {"bounds": {"x": (0, 1)}}) as half,
    ):
        assert whole._levels()[2][0] < 0 <= half._levels()[2][0]
        assert whole.normal != half.normal
    computed: Any = {**declared, "bounds": {"length(s)": (0, 1)}}
    (note,) = prepare(rows, "avg(length(s)) > 0.3", fine, **computed).facts.remarks
    assert str(note) == ROUNDED.format("LENGTH(s)", "LENGTH(s)", "bounds")


ROUNDED = (
    "each person's average of {} is rounded down to a whole number, since its values are whole numbers: "
    "to keep its fractions, ask about {} * 1.0, and declare {} for that value"
)


def test_an_average_of_whole_numbers_that_is_rounded_down_is_kept_by_what_its_note_says() -> None:
    """Of wide bounds by a grid of one's own; where no grid takes them nothing is advised."""
    rows = pa.table({"u": [1, 1], "x": [0, 1], "f": [0.0, 1.0], "s": ["", "a"]})
    sure, declared = ApproxDP(40, "1e-6"), dict[str, Any](unit="u", per_unit="avg")

    def notes(value: str, *bounds: Any) -> tuple[tuple[str, ...], bool]:
        """And whether the average is still a half."""
        with prepare(rows, f"avg({value}) > 0.4", sure, **declared, bounds={value: bounds}) as asked:
            return tuple(map(str, asked.facts.remarks)), asked._levels()[2][0] >= 0

    wide = (0, 10**6)
    assert notes("x", *wide) == ((ROUNDED.format("x", "x", "bounds and a grid of 1/10"),), False)
    assert notes("x * 1.0", *wide, "1/10") == ((), True)
    assert notes("x * 1.0", *wide) == notes("f", *wide) == ((), False)  # whose grid is 1, as clipping says
    assert notes("x", 0, 10**6 - 1) == ((), True)
    assert notes("length(s)", 0, 1) == ((ROUNDED.format("LENGTH(s)", "LENGTH(s)", "bounds"),), False)
    assert notes("length(s) * 1.0", 0, 1) == ((), True)
    ((note,), half) = notes("x", 0, 2**51)
    assert note.endswith("is rounded down to a whole number, since its values are whole numbers")
    assert not half


def test_a_grid_that_is_not_stated_is_coarser_where_bounds_are_far_from_zero() -> None:
    """Of a variance, whose squares are added up, sooner."""
    rows = pa.table({"u": [1, 1, 2], "x": [10**9, 10**9 + 1, 10**9 + 9], "f": [2007.0, 2008.0, 2009.0]})
    averaged: dict[str, Any] = {"unit": "u", "per_unit": "avg"}
    cases: list[tuple[str, Any, dict[str, Any], str]] = [
        ("avg(f) > 2008", {"f": (2007, 2009)}, {}, "1/1000000"),
        ("stddev(f) > 1", {"f": (2007, 2009)}, {}, "1/100000"),
        ("avg(f) > 2008", {"f": (10**11, 10**11 + 10)}, {}, "1/10000"),
        ("avg(x) > 3", {"x": (10**9, 10**9 + 10)}, averaged, "1/100000"),
        ("stddev(x) > 1", {"x": (10**9, 10**9 + 10)}, averaged, "1"),
        ("stddev(x) > 1", {"x": (10**8, 10**8 + 10)}, averaged, "1/10"),
        ("stddev(x) > 1 and avg(x) > 10", {"x": (10**8, 10**8 + 10)}, averaged, "1/10"),
    ]
    for question, bounds, declared, step in cases:
        with prepare(rows, question, ApproxDP(1, "1e-6"), bounds=bounds, **declared) as asked:
            assert {str(grid.step) for compared in asked.comparisons for grid in compared.grids.values()} == {step}, question
