"""Notes on text: what whoever asks a text file should know about how its columns are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from duotone import AnswerWarning, ApproxDP, Dataset, DuotoneError, ask, prepare
from duotone.model.notice import Notice, Refusal
from duotone.tables.engines.engine import Source
from duotone.tables.engines.open import open_source
from duotone.tables.prepared import Prepared
from duotone.tables.sql.read_question import read_question
from duotone.words.sentences import sentence

COLUMNS: dict[str, Any] = {"u": "untyped", "x": "untyped", "y": "untyped", "day": "untyped", "code": "text", "n": "float"}
NUMBER = "{} text: values that are not numbers count as NULL"
CAST_DATE = "{} text, read as dates (yyyy-mm-dd; a time after it is ignored): other values count as NULL"
FLAG = "{} text: true, t, yes, y and 1 count as true, false, f, no, n and 0 as false, and other values as NULL"


def each(questions: Sequence[str], value: Any) -> dict[str, Any]:
    return dict.fromkeys(questions, value)


NOTES = {
    "avg(x::double) > 3": [NUMBER.format("x is")],
    "avg(coalesce(x::double, y::double)) > 3": [NUMBER.format("x and y are")],
    "sum(x::double) / count(x::double) > 3": [NUMBER.format("x is")],
    "select count(*) > 3 from t where try_cast(x as int) > 5 and day::date < date '2025-01-01'": [
        NUMBER.format("x is"), CAST_DATE.format("day is")
    ],
    "select year(day::date), count(*) > 3 from t group by 1": [CAST_DATE.format("day is")],
    "avg(replace(x, '$', '')::double) > 3": [NUMBER.format("CAST(REPLACE(x, '$', '') AS DOUBLE) is")],
    "avg(code::double) > 3": [NUMBER.format("code is")],
    "count(*) filter (where left(code, 10)::date > date '2025-01-01') > 3": [
        CAST_DATE.format("CAST(LEFT(code, 10) AS DATE) is")
    ],
    "select avg(s) > 3 from (select u, max(x::double) as s from t group by u)": [NUMBER.format("x is")],
    "count(*) filter (where x::boolean or code::boolean) > 3": [FLAG.format("x and code are")],
    **each(
        (
            "count(x) > 3", "count(x) > count(y)", "count(*) filter (where x is null or x = '10') > 3", "mode(x) = 'a'",
            "count(distinct x) > 3", "select x, count(*) > 3 from t group by x", "count(*) filter (where x > 'M') > 3",
            "count(*) filter (where x = y or x = code or x in ('a', '10')) > 3", "max(x) < 'M'", "avg(length(x)) > 3",
            "count(*) filter (where x like '1%' or lower(x) = '10' or code > '10') > 3", "avg(n) > 3",
            "count(*) filter (where coalesce(x, 'a') <> greatest(y, 'b')) > 3",
        ),
        list[str](),
    ),
}  # fmt: skip
NEEDED: dict[str, dict[str, str]] = {
    **each(("avg(x) > 3", "sum(x) > 3", "median(x) > 3", "stddev(x) > 3", "max(x) >= 3",
                     "max(x::text) > '1' and avg(x) > 1",
                     "count(*) filter (where x > 3) > 3", "count(*) filter (where 3 = x) > 3", "avg(x * 2) > 3",
                     "count(*) filter (where x in (1, 2)) > 3", "count(*) filter (where x between 1 and 2) > 3",
                     "select count(*) > 3 from t where x + 1 > n", "select avg(x) > 3, code from t group by code",
                     "select code from t group by code having avg(x) > 3", "mode(x) = 3", "avg(coalesce(x, 0)) > 3",
                     "count(*) filter (where x = n) > 3", "count(*) filter (where x > '10') > 3", "avg(abs(x)) > 2",
                     "select avg(s) > 3 from (select u, max(x) as s from t group by u)",
                     "select avg(s) > 3 from (select u, sum(x) as s from t group by u)",
                     "select count(*) > 3 from (select u, count(*) as s from t where x > 3 group by u)",
                     "select count(*) > 3 from (select u, count(*) as s from t group by u having max(x) > 3)",
                     "select floor(x / 10), count(*) > 3 from t group by 1", "case when avg(x) > 3 then 'a' else 'b' end",
                     "count(*) filter (where greatest(x, '5') = '5') > 1", "avg(case when n > 1 then x end) > 3",
                     "select code from t group by code order by avg(x) limit 1"), {"x": "number"}),
    **each(("max(day) > date '2025-01-01'", "select year(day), count(*) > 3 from t group by 1",
                     "count(*) filter (where day < date '2025-01-01') > 3", "select count(*) > 3 from t where month(day) = 3",
                     "count(*) filter (where day >= '2025-01-01') > 3", "count(*) filter (where day < '5/31/2024') > 3",
                     "count(*) filter (where day + interval 3 days > date '2025-01-01') > 3",
                     "count(*) filter (where date_diff('day', date '2025-01-01', day) > 3) > 3"), {"day": "date"}),
    **each(("count(*) filter (where hour(day) > 3) > 3", "count(*) filter (where day::timestamp is null) > 3",
                     "count(*) filter (where day > timestamp '2025-01-01 10:00:00') > 3"), {"day": "time"}),
    **each(("count(*) filter (where x) > 3", "select count(*) > 3 from t where not x", "bool_or(x)", "count_if(x) > 3",
                     "count(*) filter (where x = true) > 3", "count(*) filter (where x is true) > 3",
                     "avg(case when x then 1 else 0 end) > 0.3", "mode(x) = true"), {"x": "yes/no"}),
    "select avg(x) > 3 and sum(y) > 4 from t where day > date '2025-01-01' and u = 3": {
        "day": "date", "u": "number", "x": "number", "y": "number"
    },
    "sum(x) / count(y) > 3 or avg(salarry) > 3": {"x": "number"},
    "count(*) filter (where x < y) > 3": {"x": "number", "y": "number"},
    "avg(greatest(x, y)) > 3": {"x": "number", "y": "number"},
    "avg(x - y) > 3": {"x": "number", "y": "number"},
    "avg(coalesce(x, y)) > 3": {"x": "number", "y": "number"},
    "avg(if(code = 'a', x, coalesce(y, x))) > 3": {"x": "number", "y": "number"},
}  # fmt: skip
LIKE_NUMBERS = ("10", "-1.5", " 10 ", "1e3", ".5", "5.", "1,000", "1''000.50", "$10", "€ 5", "10%", "+3", "20250101")
LIKE_DATES = (
    "1.12.1989", "1989/12/01", "1989-12-1", "12/1/89", "2025-13-45", "1 Dec 1989", "01-DEC-1989", "Dec 1, 1989", "1. 12. 1989",
    "1.12.1989 10:00", "2025-12-31", "2025-12-31 10:00",
)  # fmt: skip
ORDERED = ("count(*) filter (where x {} '{}') > 3", "select count(*) > 3 from t where not (x {} '{}')", "max(x) {} '{}'",
           "select count(*) > 3 from (select u, count(*) as s from t where x {} '{}' group by u)")  # fmt: skip


def needed(question: str, **tables: Any) -> dict[str, str]:
    with pytest.raises(Refusal) as refused:
        read_question(question, COLUMNS, unit="u", **tables)
    assert refused.value.notice.code == "undeclared"
    types: dict[str, str] = refused.value.notice.fields["types"]
    return types


@pytest.mark.parametrize("text", ["replace(x, '$', '')", "case when code = 'a' then lower(x) end"])
def test_computed_text_is_cast_to_be_added_up(text: str) -> None:
    """To declare the column would not help: functions of text are not for numbers."""
    with pytest.raises(DuotoneError, match=r"\)::double, or convert the column"):
        read_question(f"sum({text}) > 3", COLUMNS)
    read_question(f"sum(({text})::double) > 3", COLUMNS)


@pytest.mark.parametrize(("question", "types"), NEEDED.items())
def test_a_column_without_a_type_is_text_and_only_text(question: str, types: dict[str, str]) -> None:
    """Whatever else a question uses it as is refused, with all that must be declared."""
    assert needed(question) == types


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("question", ORDERED)
def test_a_number_or_date_in_quotes_does_not_put_text_in_order(question: str, sign: str) -> None:
    for constants, held in ((LIKE_NUMBERS, "number"), (LIKE_DATES, "date")):
        for constant in constants:
            asked = question.format(sign, constant)
            assert needed(asked) == {"x": held}
            read_question(asked.replace("x ", "x::text ").replace("(x)", "(x::text)"), COLUMNS, unit="u")
            read_question(asked.replace("x ", "code ").replace("(x)", "(code)"), COLUMNS, unit="u")


def test_nor_are_the_columns_of_other_tables_more_than_text() -> None:
    zones: Any = {"zones": {"x": "untyped", "size": "untyped", "n": "untyped"}}
    joined = "select avg(t.n) > 1 from t join zones as z using (x) where {}"
    assert needed(joined.format("size > 10 and z.n > 3 and y < 3"), public=zones) == {
        "zones.size": "number", "zones.n": "number", "y": "number",
    }  # fmt: skip
    assert needed(joined.format("size = true"), public=zones) == {"zones.size": "yes/no"}
    assert read_question(joined.format("size > 'M'"), COLUMNS, unit="u", public=zones).notes
    both = (
        "select avg(a) > avg(b) from (select u, max(n) as a from t group by u) v "
        "join (select u, max(x) as b from labs where size > 3 group by u) w using (u)"
    )
    labs: Any = {"labs": {"u": "untyped", "x": "untyped", "size": "untyped"}}
    assert needed(both, also=labs, name="t") == {"labs.size": "number", "labs.x": "number"}


def test_what_to_declare_is_said_in_one_sentence() -> None:
    with pytest.raises(Refusal) as refused:
        read_question("avg(x) filter (where day > date '2025-01-01') > 3", COLUMNS)
    used = "day is text, and is used as a date; x is text, and is used as a number: say what they hold, this or another type"
    others = "dates may have a format such as %d/%m/%Y; others are yes/no, money, percent, or an example such as 1.234,50"
    others = f"{others}; what does not fit counts as missing"
    assert str(refused.value) == f'{used} (types={{"day": "date", "x": "number"}}); {others}'
    declare = "duotone declare FILE proposes types from the rows, for their owner"
    command = f"{used} (--types day=date --types x=number); {others}; {declare}"
    assert sentence(refused.value, "command") == command
    assert sentence(refused.value, "office").endswith(f'(types = {{ day = "date", x = "number" }}); {others}')
    assert sentence(refused.value, "analyst").endswith("; here the owner of the dataset declares that")
    with pytest.raises(Refusal, match="x is text, and is used as yes or no: say what it holds"):
        read_question("count(*) filter (where x) > 3", COLUMNS)


def test_text_that_has_its_type_is_converted_by_whoever_asks() -> None:
    for question in ("count(*) filter (where code > 3) > 3", "count(*) filter (where code > date '2025-01-01') > 3"):
        with pytest.raises(DuotoneError, match=r"code holds text: .* write \(code\)::(double|date), or convert the column"):
            read_question(question, COLUMNS)
    with pytest.raises(
        DuotoneError,
        match=r"code does not hold numbers: for its numbers write \(code\)::double, .*; for a share .* avg\(code = 'a'\)",
    ):
        read_question("avg(code) > 3", COLUMNS)
    with pytest.raises(DuotoneError, match=r"not a number: write \(REPLACE\(x, '\$', ''\)\)::double"):
        read_question("avg(replace(x, '$', '') * 2) > 3", COLUMNS)


def test_nothing_is_read_before_the_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of bounds, which do not make a column one of numbers."""
    (tmp_path / "t.csv").write_text("x,day\n$5,1/2/2025\n")
    monkeypatch.setattr(Source, "run", lambda *_: pytest.fail("rows are read"))
    for question in ("avg(x) > 3", "count(*) filter (where x > 3) > 3", "max(day) > date '2025-01-01'"):
        with pytest.raises(Refusal, match="is text, and is used as"):
            ask(tmp_path / "t.csv", question, ApproxDP(1, "1e-6"), bounds={"x": (0, 10)})


def test_another_type_is_another_question(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n$5\n")
    (tmp_path / "z.csv").write_text("k,v\n5,1\n")
    normal = set()
    for held in ("number", "money", "percent", "1.234,50"):
        with prepare(tmp_path / "t.csv", "count(x) > 3", ApproxDP(1), types={"x": held}) as asked:
            normal.add(asked.normal)
        joined = "select count(v) > 3 from t join z on t.x = z.k"
        with prepare(tmp_path / "t.csv", joined, ApproxDP(1), public={"z": tmp_path / "z.csv"}, types={"z.v": held}) as asked:
            normal.add(asked.normal)
    assert len(normal) == 8


@pytest.mark.parametrize(
    ("question", "limits"),
    [
        ("avg(Rate) > 26", ["26"]),
        ("avg(rate) filter (where rate > 5) <= 1.5", ["1.5", "5"]),
        ("-20 < quantile(rate, 0.9) and max(rate) < 30", ["-20", "30"]),
        ("percentile_disc(0.5) within group (order by rate) > 26", ["26"]),
        ("count(*) filter (where rate in (0.2, 26)) > 5", ["26"]),
        ("count(*) filter (where rate between 20 and 30) > 100", ["20", "30"]),
        ("avg(rate) > 26%", []),
        ("avg(rate) > 250%", []),  # as it is meant, above 1 too
        ("avg(rate) > 0.26", []),
        ("avg(rate) > 1", []),
        ("avg(rate * 100) > 26", []),
        ("count(rate) > 26", []),
        ("sum(rate) > 26", []),
        ("avg(n) > 26", []),
    ],
)
def test_a_limit_of_per_cent_above_one(question: str, limits: list[str]) -> None:
    """26 % is 0.26, so 26 is hardly what is meant, and every answer would be a sure no."""
    kinds: dict[str, Any] = {"rate": "float", "n": "float"}
    beyond = [note for note in read_question(question, kinds, percents=("rate",)).notes if note.code == "percent beyond"]
    assert sorted(note.fields["limit"] for note in beyond) == sorted(limits)
    assert all(note.warns for note in beyond)
    assert not any(note.code == "percent beyond" for note in read_question(question, kinds).notes)


def test_declared_per_cent_is_known(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("rate,part\n25 %,3\n")
    types = {"rate": "percent", "part": "12,5 %"}
    for column in types:
        with pytest.warns(AnswerWarning, match=f"^{column} is per cent, read as shares: 26 is 2,600%, so write 26% for"):
            ask(tmp_path / "t.csv", f"median({column}) > 26", ApproxDP(1, "1e-6"), types=types)
        declared = Dataset(tmp_path / "t.csv", types=types)
        with open_source(declared) as source, pytest.warns(AnswerWarning, match=f"^{column} is per cent"):  # as an office does
            ask(declared.opened(source), f"median({column}) > 26", ApproxDP(1, "1e-6"))


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
        prepare(tmp_path / "t.csv", "sum(x::double) / count(x) > 12", sure, **options)
    for mean in ("avg(x::double)", "sum(x::double) / count(x::double)"):
        assert [bool(ask(tmp_path / "t.csv", f"{mean} > {t}", sure, **options)) for t in (14, 16)] == [True, False]
    by_texts = [bool(ask(tmp_path / "t.csv", f"sum(x::double) / count(x::text) > {t}", sure, **options)) for t in (9, 11)]
    assert by_texts == [True, False]


def test_notes_are_the_same_whatever_the_rows_are(tmp_path: Path) -> None:
    question = "avg(x::double) filter (where day::date > date '2025-01-01') > 3"
    for rows in ("", "1,2025-02-02\n", "NA,never\n"):
        (tmp_path / "t.csv").write_text(f"x,day\n{rows}")
        with prepare(tmp_path / "t.csv", question, ApproxDP(1), bounds={"x": (0, 10)}) as prepared:
            assert prepared.notes[:2] == (NUMBER.format("x is"), CAST_DATE.format("day is"))
            assert [note.code for note in prepared.facts.notes[2:]] == ["clipped values"]


def of_values(asked: Prepared) -> tuple[str, ...]:
    """Notes, without those on what clipping changes."""
    return tuple(str(note) for note in asked.facts.remarks if "clipped" not in note.code)


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
                    assert of_values(asked) == ()
            assert known[0] == known[1], question
    own: Any = {**declared, "bounds": {"x": (0, 1, 1)}}
    with (
        prepare(rows, "avg(x) > 0.3", fine, **own) as whole,
        prepare(rows, "avg(x) > 0.3", fine, **own | {"bounds": {"x": (0, 1)}}) as half,
    ):
        assert whole._levels()[2][0] < 0 <= half._levels()[2][0]
        assert whole.normal != half.normal
    computed: Any = {**declared, "bounds": {"length(s)": (0, 1)}}
    (note,) = of_values(prepare(rows, "avg(length(s)) > 0.3", fine, **computed))
    assert note == ROUNDED.format("LENGTH(s)", "LENGTH(s)", "bounds")


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
            return of_values(asked), asked._levels()[2][0] >= 0

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
