"""Questions from SQL: what is refused, with which sentence, and what conditions can hold together."""

from __future__ import annotations

import datetime
import itertools
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, prepare
from duotone.sql.condition import Compare, IsNull, Joined, Like, Not, Operand, combinations
from duotone.sql.question import read_question
from duotone.sql.scoring import Bounds

COLUMNS: dict[str, Any] = {
    "vote": "text", "salary": "integer", "x": "float", "d": "date", "ts": "time", "b": "boolean", "u": "integer",
    "z": "untyped", "blob": "other", "Mixed": "integer",
}  # fmt: skip

REFUSED = {
    "": "exactly one yes/no expression",
    "count(*": "check its brackets and quotes",
    "count(*) > 3; drop table t": "one select, or one yes/no expression",
    "drop table t": "not a yes/no question|check its brackets|one select",
    "count(*)": "is not a yes/no question: compare an aggregate with something",
    "3 > 2": "has no aggregate in it",
    "salary > 3": "salary is a column: ask for count, sum",
    "avg(nothing) > 3": "the table has no column nothing; it has vote, salary",
    "sum(vote) > 3": r"SUM\(vote\): column vote does not hold numbers",
    "sum(x / 3) > 3": "sum is of a column itself",
    "avg(avg(x)) > 3": "is an aggregate, and stands inside a condition",
    "count(*) > 'a'": "is not a number, and only mode is compared with text",
    "sum(x) > avg(x)": "mixes aggregates",
    "avg(x) = 3": "only counts can be asked for equality",
    "count(distinct vote) > 3": "only the column that names a person can be counted distinct",
    "quantile(x, 1.5) > 3": "write quantile",
    "quantile_cont(x, 0.5) > 1": "a value of the table and not between two",
    "stddev(x) > 1": "is not an aggregate that is known",
    "mode(vote) > 'a'": "write mode",
    "max(x) over () > 3": "is a window: ask about the whole table",
    "count(*) / 0 > 1": "divides by zero",
    "count() > 1": "is of nothing: name a column",
    "count(*) > 0x10": "check for a word or a number that was not meant",
    "count(x, u) > 1": "has a part that is not understood",
    "min(x, 2) > 1": "has a part that is not understood",
    "approx_quantile(x, 0.5) > 1": "is not an aggregate that is known",
    "count(*) filter (where ltrim(vote) = 'a') > 1": "has a part that is not understood",
    "count(*) filter (where u between symmetric 5 and 1) > 1": "has a part that is not understood",
    "select count(*) > 1 from read_csv('f.csv')": "leave out the query after from",
    "select count(*) > 1 from t tablesample (10%)": "has a part that is not understood|no sample",
    "select count(*) > 1 from t as z(a, b)": "has a part that is not understood",
    "select count(*) > 1 from t for update": "has a part that is not understood",
    "count(*) filter (where ts > '2025-01-01 00:00:00+00:00') > 1": "write a date as",
    "count(*) filter (where x > 1e400) > 1": "the number is too large|must be",
    "count(*) filter (where z > z) > 1": "compared with constants",
    "count(*) filter (where u in (1, salary)) > 1": "in is followed by constants",
    "count(*) filter (where vote = '\ud800') > 1": "check its brackets and quotes",
    "sum(x) / count(*) > 1": "a share is one count divided by another",
    "select vote from t": "vote is not a yes/no question",
    "select count(*) > 1, count(*) > 2 from t": "exactly one yes/no expression",
    "select count(*) > 3 from a join b using (x)": "a question has no join",
    "select count(*) > 3 from t order by 1": "a question has no order by",
    "select count(*) > 3 from t limit 1": "a question has no limit",
    "select vote from t group by vote having count(*) > 3": "a question has no having",
    "with c as (select 1) select count(*) > 3 from c": "a question has no with",
    "select count(*) > 3 from (select * from t)": "leave out the query after from",
    "select count(*) > 3 from t group by lower(vote)": "group by columns themselves",
    "select count(*) > 3 from t group by rollup (vote)": "not rollup, cube or all|group by columns themselves",
    "count(*) filter (where salary) > 1": "salary is not a condition: compare it",
    "count(*) filter (where vote = 3) > 1": "column vote holds text: compare it with such a constant",
    "count(*) filter (where salary = 'a') > 1": "column salary holds numbers",
    "count(*) filter (where b = 3) > 1": "column b holds Booleans",
    "count(*) filter (where d = '2025-13-45') > 1": "write a date as 2025-12-31",
    "count(*) filter (where d > timestamp '2025-01-01 10:00:00') > 1": "column d holds dates: compare it with a date",
    "count(*) filter (where salary like 'a%') > 1": "like is for text",
    "count(*) filter (where year(vote) = 3) > 1": "year does not fit what vote holds",
    "count(*) filter (where salary = vote) > 1": "salary and vote hold different kinds of values",
    "count(*) filter (where 1 = 1) > 1": "compares two constants",
    "count(*) filter (where x / 2 > 3) > 3": "divides, which may fail on one row: multiply the other side",
    "count(*) filter (where x + 2 > 3) > 3": "reckons with a row's values, which may overflow",
    "count(*) filter (where x::int > 3) > 3": "is a cast, which may fail on one row",
    "count(*) filter (where random() > 0.5) > 3": "is random: a condition must say the same each time",
    "count(*) filter (where now() > ts) > 3": "changes from call to call|depends on the clock",
    "count(*) filter (where current_date > d) > 3": "depends on the clock: write the date itself",
    "count(*) filter (where x > (select max(x) from t)) > 3": "asks a query of its own",
    "count(*) filter (where exists (select 1)) > 3": "asks a query of its own",
    "count(*) filter (where row_number() over () > 3) > 3": "looks at other rows",
    "count(*) filter (where sum(x) > 3) > 3": "stands inside a condition",
    "count(*) filter (where regexp_matches(vote, 'a')) > 3": "is not understood in a condition",
    "count(*) filter (where x > 1e999999999) > 3": "must be a decimal or a fraction",
    "count(*) filter (where blob is null) > 3": "holds neither numbers, text, Booleans nor dates",
    'count(*) filter (where "mixed" > 3) > 3': "the table has no column mixed",
    "count(*) > 1 " + "and count(*) > 1 " * 1000: "at most 10000 characters",
    "(" * 3000 + "count(*) > 1" + ")" * 3000: "nested too deeply|check its brackets",
}  # fmt: skip


@pytest.mark.parametrize(("text", "says"), REFUSED.items(), ids=[text[:60] for text in REFUSED])
def test_unsafe_and_malformed_questions_are_refused_with_a_sentence(text: str, says: str) -> None:
    with pytest.raises(DuotoneError, match=says) as caught:
        read_question(text, COLUMNS, "u")
    assert "\n" not in str(caught.value)


TABLE = pa.table({"x": [1.5], "i": pa.array([1], pa.int64()), "v": ["a"], "u": [1], "big": pa.array([1], pa.uint64())})
DECLARED: list[tuple[str, dict[str, Any], str]] = [
    ("avg(x) > 1", {}, "needs bounds: --bounds x=LO:HI"),
    ("avg(x) > 1", {"bounds": {"y": (0, 1)}}, "the table has no column y"),
    ("avg(x) > 1", {"bounds": {"x": (1, 0)}}, "LO < HI"),
    ("avg(x) > 1", {"bounds": {"x": ("nan", 1)}}, "a bound must be"),
    ("avg(x) > 1", {"bounds": {"x": (float("nan"), 1)}}, "a bound must be"),
    ("avg(x) > 1", {"bounds": {"x": (0, float("inf"))}}, "a bound must be"),
    ("avg(x) > 1", {"bounds": {"x": (1,)}}, "must be .low, high."),
    ("avg(x) > 1", {"bounds": {"x": 5}}, "must be .low, high."),
    ("count(*) > 1e4000", {}, "too large|must be"),
    ("sum(i) > 1", {"bounds": {"i": (0, 2**61)}, "unit": "u", "max_rows": 2**31 - 1}, "lower max_rows"),
    ("avg(i) > 1", {"bounds": {"i": (0, 2**60)}, "unit": "u", "per_unit": "avg"}, "give a coarser grid"),
    (
        "avg(x) filter (where v = 'a') > avg(x) filter (where v = 'b') + 1e40",
        {"bounds": {"x": (0, 1)}},
        "too large or too fine",
    ),
    (None, {}, "a question is text"),  # type: ignore[list-item]
    ("avg(x) > 1", {"bounds": {"x": (0, 1, "2/3")}}, "a grid is a whole number or one over a whole number"),
    ("avg(x) > 1", {"bounds": {"x": ("1/3", 1)}}, "must be multiples of its grid"),
    ("avg(x) > 1", {"bounds": {"x": (0, "1e30", 1)}}, "too far apart for its grid"),
    ("avg(i) > 1", {"bounds": {"i": (0, 10**30)}}, "too far apart for its grid"),
    ("avg(i) > 1", {"bounds": {"i": (0, 1, "0.1")}}, "holds whole numbers: its grid must be one too"),
    ("avg(i) > 1/12345678901234567890", {"bounds": {"i": (0, 2**62 - 1)}}, "the limit is too fine"),
    ("sum(big) > 1", {"bounds": {"big": (0, 1)}}, "holds neither numbers|does not hold numbers"),
    ("median(x) > 1", {"unit": "u"}, "needs one value per person: --per-unit"),
    ("mode(v) = 'a'", {"unit": "u", "per_unit": "avg"}, "--per-unit min or max"),
    ("min(v) > 'a'", {"unit": "u", "per_unit": "sum"}, "does not hold numbers: reduce it by --per-unit min or max"),
    (
        "avg(x) filter (where v = 'a') > avg(x) filter (where v = 'b')",
        {"unit": "u", "bounds": {"x": (0, 1)}},
        "a difference needs",
    ),
    ("avg(x) filter (where v > 'a') > avg(x) filter (where v < 'b')", {"bounds": {"x": (0, 1)}}, "must be over different rows"),
    ("avg(x) filter (where v = 'a') > avg(i) filter (where v = 'b')", {"bounds": {"x": (0, 1)}}, "of the same column"),
    ("avg(x) filter (where v = 'a') > avg(i = 1) filter (where v = 'b')", {"bounds": {"x": (0, 1)}}, "not one with the other"),
    ("avg(i = 1) filter (where v = 'a') > avg(i = 1) filter (where v = 'b')", {"unit": "u", "per_unit": "avg"}, "max or min"),
    ("count(*) > 1", {"neighbours": "both"}, "neighbours must be add-remove or replace"),
    ("count(*) > 1", {"max_rows": 2}, "without a unit each row is a person"),
    ("count(*) > 1", {"unit": "u", "max_rows": 0}, "a whole number from 1"),
    ("count(*) > 1", {"unit": "u", "per_unit": "mean"}, "avg, sum, min or max"),
    ("count(*) > 1", {"unit": "x"}, "cannot be a person's name"),
    ("count(*) > 1", {"groups": [("a",)]}, "for a question with group by"),
    ("select v, count(*) > 1 from t group by v", {"groups": [("a", "b")]}, "a value for v in each line"),
    ("select v, count(*) > 1 from t group by v", {"groups": [("a",), ("a",)]}, "no line twice"),
    ("select v, count(*) > 1 from t group by v", {"groups": []}, "list of groups must have"),
    ("select v, count(*) > 1 from t group by v", {"groups": ["a"]}, "a list or tuple of values for each"),
    ("select v, count(*) > 1 from t group by v", {"groups": [(1,)]}, "a key that is no text value"),
    ("select u, count(*) > 1 from t group by u", {"groups": [("01",)]}, "a key that is no integer value: 01"),
    ("select v, count(*) > 1 from t group by v", {"neighbours": "replace"}, "use --neighbours add-remove"),
    ("select v, count(*) > 1 from t group by v", {}, "with delta 0 no group may ever be shown"),
    ("select u, count(*) > 1 from t group by u", {"unit": "u"}, "the unit cannot be a key too"),
]


@pytest.mark.parametrize(("text", "options", "says"), DECLARED, ids=[f"{t} {o}"[:90] for t, o, _ in DECLARED])
def test_wrong_declarations_are_refused_before_anything_is_read(text: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        prepare(TABLE, text, ApproxDP(1), **options)


def test_two_ways_to_write_a_question_have_one_normal_form() -> None:
    first = read_question("COUNT(*)   filter (where vote='Y') > 3 -- a remark", COLUMNS)
    second = read_question("select count(*) FILTER (WHERE vote = 'Y') > 3", COLUMNS)
    assert first == second
    assert first.normal == "SELECT COUNT(*) FILTER(WHERE vote = 'Y') > 3"
    assert read_question("count(Mixed) > 1", COLUMNS).tree == read_question("count(MIXED) > 1", COLUMNS).tree


def test_exact_combinations_against_every_row() -> None:
    """Conditions on one column with constants: what can hold together is what holds together for some value."""
    x = Operand("x", "integer")
    leaves = [Compare(x, sign, Fraction(v)) for sign in ("<", ">=", "=", "<>") for v in (1, 2)] + [IsNull(x)]
    truths = {None: None} | {v: v for v in range(-1, 5)}
    for pair in itertools.product(leaves, repeat=2):
        for conditions in (pair, (Not(pair[0]), pair[1]), (Joined("or", pair), Joined("and", pair))):
            found, exact = combinations(conditions)
            assert exact
            assert found == {tuple(holds(c, v) is True for c in conditions) for v in truths}


def holds(condition: Any, value: int | None) -> bool | None:
    match condition:
        case IsNull():
            return value is None
        case Not():
            inner = holds(condition.part, value)
            return None if inner is None else not inner
        case Joined():
            parts = [holds(part, value) for part in condition.parts]
            if condition.rule == "and":
                return False if False in parts else None if None in parts else True
            return True if True in parts else None if None in parts else False
    if value is None:
        return None
    limit: Fraction = condition.value
    return {"<": value < limit, ">=": value >= limit, "=": value == limit, "<>": value != limit}[condition.sign]


def test_what_cannot_be_told_apart_is_thought_possible() -> None:
    text, number = Operand("v", "text"), Operand("x", "float")
    found, exact = combinations([Like(text, "a%"), Compare(text, "=", "b")])
    assert found == set(itertools.product((False, True), repeat=2))
    assert not exact
    assert combinations([Like(text, "a%")])[1]
    both = combinations([Compare(number, ">", Operand("y", "float")), Compare(number, ">", Fraction(1))])
    assert both == (set(itertools.product((False, True), repeat=2)), False)
    days = Operand("d", "date")
    edge = combinations([Compare(days, ">", datetime.date.max), Compare(days, "<", datetime.date.min)])
    assert edge == ({(False, False), (True, False), (False, True)}, True)  # engines have days beyond Python's
    many = [Compare(Operand(f"c{i}", "integer"), "=", Fraction(v)) for i in range(8) for v in range(3)]
    assert combinations([Joined("or", tuple(many)), many[0]]) == (set(itertools.product((False, True), repeat=2)), False)


def test_grids_are_stated() -> None:
    assert Bounds.of(0, 500_000).on("x", "float").step == Fraction(1, 10)
    assert Bounds.of("0.25", 2).on("x", "float").step == Fraction(1, 10**6)
    grid = Bounds.of(-50, 100, 10).on("x", "integer")
    assert (grid.low, grid.high, grid.step) == (-5, 10, Fraction(10))
