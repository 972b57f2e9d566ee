"""One question has one key in a ledger, however it is written and whatever else is declared; no two share one."""

from __future__ import annotations

import random
from collections import defaultdict
from contextlib import suppress
from itertools import permutations, product
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, prepare
from duotone.tables.check_question import prepare_all
from duotone.tables.sql.read_question import read_question
from support.running import thinned

P = ApproxDP(1, "1e-6")
SAME = [
    ("avg(x) > 10", "avg(x)>10.0", "avg(x) > 1e1", "10.00 < avg(x)", "avg(x) > 010"),
    ("avg(x) > 0.5", "avg(x) > .5", "avg(x) > 0.50", "avg(x) > 5e-1"),
    ("avg(x) > -2", "avg(x) > -2.0"),
    ("2 * count(*) > 5", "2.0 * count(*) > 5.0", "5 < 2e0 * count(*)"),
    ("count(*) / 2 > 5", "count(*) / 2.0 > 5"),
    ("count(*) filter (where x > 3 and y in (1, 2)) > 4", "count(*) filter (where x > 3.0 and y in (1.0, 2)) > 4.0"),
    ("select count(*) > 4 where not (x between 1 and 2)", "select count(*) > 4 where not (x between 1.0 and 2e0)"),
    ("sum(x) > 3 or count(*) > 2", "sum(x) > 3.0 or count(*) > 2.0"),
    ("count(*) filter (where x > 1) > 2", "count(*) filter (where (x > 1)) > 2", "(count(*) filter (where ((x > 1))) > 2)"),
    ("select count(*) > 3 where x > 1 and y > 2", "select count(*) > 3 where (x > 1 and (y > 2))"),
    (
        "select count(*) > 3 where not x > 1 or y > 2 and t = 'a'",
        "select count(*) > 3 where (t = 'a' and y > 2) or (not (x > 1))",
    ),
    ("select count(*) > 3 where not (x > 1 and y > 2)", "select count(*) > 3 where (not ((y > 2) and x > 1))"),
    ("count(*) > 3 and not avg(x) > 2", "(count(*) > 3) and (not (avg(x) > 2))"),
    (
        "select count(*) > 2 from (select u, sum(x) as s from t where y > 1 group by u having count(*) > 1) where s > 3",
        "select count(*) > 2.0 from (select u, sum(x) as s from t where y > 1.0 group by u having count(*) > 1e0) where s > 3.",
    ),
]
APART = [
    ("avg(x / 2) > 1", "avg(x / 2.0) > 1"),  # whose text is the name of its bounds
    ("avg(x) > 10", "avg(x) > 10.5"),
    ("avg(x) > 1", "avg(x) > 10"),
    ("count(*) > 10", "count(*) > 1e10"),
    ("mode(t) = '10'", "mode(t) = '10.0'"),
    ("count(*) filter (where t = '1.0') > 2", "count(*) filter (where t = '1') > 2"),
    ("count(*) filter (where x > 1 and y > 2 or t = 'a') > 3", "count(*) filter (where x > 1 and (y > 2 or t = 'a')) > 3"),
    ("count(*) filter (where not (x > 1 and y > 2)) > 3", "count(*) filter (where not x > 1 and y > 2) > 3"),
    ("count(*) filter (where x > 1 or y > 2) > 3", "count(*) filter (where x > 1 and y > 2) > 3"),
    ("select count(*) > 3 and avg(x) > 2 where y > 1", "count(*) filter (where y > 1) > 3 and avg(x) filter (where y > 1) > 2"),
    ("select count(*) filter (where x > 1) > 3 where y > 1", "select count(*) filter (where y > 1) > 3 where x > 1"),
    ("select t, count(*) > 3 from t where x > 1 group by t", "select t, count(*) filter (where x > 1) > 3 from t group by t"),
    (
        "select count(*) > 3 from (select u, count(*) as n from t where x > 1 group by u)",
        "select count(*) > 3 from (select u, count(*) filter (where x > 1) as n from t group by u)",
    ),
    (
        "avg(case when x > 1 and y > 2 then 1.5 else x end) > 1",
        "avg(case when y > 2 and x > 1 then 1.5 else x end) > 1",
    ),  # whose text is the name of its bounds
]
KINDS: Any = {"x": "float", "y": "integer", "u": "integer", "t": "text"}


@pytest.mark.parametrize("written", SAME)
def test_numbers_that_are_limits_or_weights_are_one_however_they_are_written(written: tuple[str, ...]) -> None:
    questions = [read_question(text, KINDS, "u" if "group by u" in text else None, "t") for text in written]
    assert len({question.normal for question in questions}) == 1
    assert all((q.tree, q.where, q.people) == (questions[0].tree, questions[0].where, questions[0].people) for q in questions)


@pytest.mark.parametrize("written", APART)
def test_others_stay_apart(written: tuple[str, str]) -> None:
    first, second = (read_question(text, KINDS, "u" if "group by u" in text else None, "t").normal for text in written)
    assert first != second


def test_what_a_question_does_not_use_is_not_in_its_key() -> None:
    table = pa.table({"x": [1.0] * 9, "y": [2.0] * 9, "u": range(9)})
    plain = prepare(table, "avg(x) > 3", P, bounds={"x": (0, 10)}).normal
    assert plain == 'SELECT AVG(x) > 3 WITH {"bounds": {"x": ["0", "10", null]}}'
    assert prepare(table, "avg(x) > 3", P, bounds={"x": (0, 10), "y": (0, 300)}).normal == plain
    assert prepare(table, "count(distinct u) > 3", P, unit="u", max_rows=3).normal == "SELECT COUNT(DISTINCT u)"
    with prepare_all(table, ["avg(x) > 3", "count(*) > 5"], P, bounds={"x": (0, 10), "y": (0, 5)}) as every:
        assert [question.normal for question in every] == [plain, "SELECT COUNT(*)"]


INNER = "select avg(s) > 3 from (select u, sum(x) as s from t group by u)"


def test_of_several_questions_one_may_use_what_another_does_not() -> None:
    table = pa.table({"x": [1.0] * 9, "u": range(9)})
    about: dict[str, Any] = {"unit": "u", "per_unit": "avg", "bounds": {"x": (0, 10), "s": (0, 5)}}
    questions = ["count(distinct u) > 3", "avg(x) > 3", INNER]
    alone: list[dict[str, Any]] = [{}, {"per_unit": "avg", "bounds": {"x": (0, 10)}}, {"bounds": {"s": (0, 5)}}]
    with prepare_all(table, questions, P, **about) as every:
        own = [prepare(table, text, P, unit="u", **options).normal for text, options in zip(questions, alone, strict=True)]
        assert [question.normal for question in every] == own
    with prepare_all(table, [INNER, "count(*) > 3"], P, unit="u", max_rows=2, bounds={"s": (0, 5)}) as every:
        assert every[1].normal == prepare(table, "count(*) > 3", P, unit="u", max_rows=2).normal


@pytest.mark.parametrize(
    ("questions", "options", "says"),
    [
        (["count(distinct u) > 3", "count(distinct u) > 4"], {"per_unit": "avg"}, "differences: leave it out$"),
        (
            ["count(distinct u) > 3", "count(*) > 4"],
            {"per_unit": "avg"},
            r"^count\(\*\) > 4: with a unit, say how many rows",
        ),
        (["count(distinct u) > 3", INNER], {"bounds": {"s": (0, 5), "y": (0, 9)}}, "has no column y"),
        (["count(distinct u) > 3", "avg(y) > 4"], {}, r"^avg\(y\) > 4: the table has no column y"),
        (["count(distinct u) > 3", 5], {}, "^5: "),
    ],
)
def test_but_what_none_of_them_uses_is_refused(questions: list[str], options: dict[str, Any], says: str) -> None:
    table = pa.table({"x": [1.0] * 9, "u": range(9)})
    with pytest.raises(DuotoneError, match=says), prepare_all(table, questions, P, unit="u", **options):
        pass


def test_bounds_that_settle_a_comparison_are_used() -> None:
    """Or two questions would be one: of whom is asked about here, the bounds of x decide."""
    table = pa.table({"x": [1] * 9})
    either = "(count(*) > 3 and avg(x) > 5) or (count(*) > 6 and not avg(x) > 5)"
    low, high = (prepare(table, either, P, bounds={"x": bounds}).normal for bounds in ((0, 3), (7, 9)))
    assert low != high
    few = "count(distinct u) > 4 or count(*) > 0.5 * count(*) filter (where x > 1) + 9"
    people = pa.table({"x": [1] * 9, "u": range(9)})
    assert len({prepare(people, few, P, unit="u", max_rows=rows).normal for rows in (2, 3)}) == 2


ASKED = [
    *(f"{a} > {t}" for a, t in product(("avg(x)", "sum(x)", "avg(y)", "count(*)", "max(x)"), ("3", "3.0", "30e-1", "3.5"))),
    *(f"count(distinct u) {s} 4" for s in (">", "<=", "=")),
    "avg(x) > avg(y)",
    "avg(x) filter (where y > 2.0) > 3",
    "avg(x) filter (where y > 2) > 3",
    "sum(x) + 2.0 * sum(y) > 9",
    "sum(x) + 2 * sum(y) > 9",
    "(count(*) > 3 and avg(x) > 5) or (count(*) > 6 and not avg(x) > 5)",
    "count(*) > 3 or avg(x) > 8",
    "count(distinct u) > 4 or sum(x) > 20",
    "avg(case when x > 1 then x else 0 end) > avg(case when x > 1.0 then x else 0 end)",
    "avg(case when x > 1.0 then x else 0 end) > avg(case when x > 1 then x else 0 end)",
    "stddev(x) > 1",
]
CASES = ("CASE WHEN x > 1 THEN x ELSE 0 END", "CASE WHEN x > 1.0 THEN x ELSE 0 END")
BOUNDS: list[dict[str, Any]] = [
    {"x": (0, 4, 1), "y": (0, 9, 1)}, {"x": (0, 4, 1)}, {"x": (0, 4, 1), "y": (0, 5, 1)}, {"x": (6, 9, 1)}, {"y": (0, 9, 1)},
    {}, {"x": (0, 9, 1), "y": (0, 9, 1)}, {CASES[0]: (0, 3, 1), CASES[1]: (0, 9, 1)},
    {CASES[1]: (0, 3, 1), CASES[0]: (0, 9, 1)},
]  # fmt: skip
PEOPLE: list[dict[str, Any]] = [
    {"unit": "u"}, {"unit": "u", "max_rows": 1}, {"unit": "u", "max_rows": 3}, {"unit": "u", "per_unit": "max"},
    {"unit": "u", "per_unit": "avg"}, {"unit": "u", "per_unit": "max", "max_rows": 3},
]  # fmt: skip


@pytest.mark.slow
def test_equal_keys_have_equal_levels_on_every_table() -> None:
    """Of all questions with all declarations: those with one key have one level on each of some random tables."""
    rows = random.Random(7)
    tables = [
        pa.table(
            {c: [rows.randrange(10) for _ in range(n)] for c in ("x", "y", "u")}, pa.schema([(c, pa.int64()) for c in "xyu"])
        )
        for n in (7, 12)
    ]
    shared: dict[str, set[tuple[Any, ...]]] = defaultdict(set)
    times: dict[str, int] = defaultdict(int)
    for question, bounds, people in product(thinned(ASKED, 8, 4), thinned(BOUNDS, 2), thinned([{}, *PEOPLE], 2)):
        with suppress(DuotoneError), prepare(tables[0], question, P, bounds=bounds, **people) as asked:
            key = f"{asked.normal} {asked.declared.person}"
            times[key] += 1
            levels = [int(asked._levels()[2][0])]
            with prepare(tables[1], question, P, bounds=bounds, **people) as other:
                levels.append(int(other._levels()[2][0]))
            shared[key].add(tuple(levels))
    assert all(len(levels) == 1 for levels in shared.values()), [k for k, v in shared.items() if len(v) > 1]
    assert sum(n > 1 for n in times.values()) > 5
    assert len({v for levels in shared.values() for v in levels}) > 5


JOINED = [
    ("x > 3", "y <= 6"),
    ("not x > 3", "y is null", "x = y"),
    ("x > 3 or y = 2", "not (y > 6 and x < 8)"),
    ("x is not null", "y in (1, 2, 3)"),
]
AGGREGATES = (
    "count(*) > 3", "count(x) <= 2", "sum(x) > 12", "avg(x) > 4", "avg(x) between 2 and 5", "median(x) >= 4", "max(y) < 6",
    "mode(y) = 3", "percentile_disc(0.4) within group (order by x) > 3", "count(distinct y) > 2",
    "count(distinct u) > 2", "bool_or(y > 4)", "stddev(x) > 1", "avg(x > 2) > 0.5",
)  # fmt: skip


def with_condition(aggregate: str, condition: str) -> str:
    """An aggregate with a filter."""
    end = aggregate.index(")", max(aggregate.find("within group"), 0)) + 1
    return f"{aggregate[:end]} filter (where {condition}){aggregate[end:]}"


@pytest.mark.slow
def test_conditions_in_any_order_and_in_either_place_are_one_question() -> None:
    """One key, one reading, and one level on every table, with people and declarations of every kind, and with nulls."""
    rows = random.Random(11)
    schema = pa.schema([(c, pa.int64()) for c in "xyu"])
    some = [None, None, *range(10)]
    tables = [pa.table({c: [rows.choice(some) for _ in range(n)] for c in "xyu"}, schema) for n in (6, 24)]
    levels_of_key: dict[tuple[Any, ...], set[tuple[int, str]]] = defaultdict(set)
    declared = [{**people, "neighbours": n} for people in [{}, *PEOPLE] for n in ("add-remove", "replace")]
    for aggregate, parts, people in thinned(product(AGGREGATES, JOINED, declared), 131):
        for rule in (" and ", " or "):
            conditions = [rule.join(f"({part})" for part in order) for order in permutations(parts)]
            texts = [with_condition(aggregate, c) for c in conditions] + [f"select {aggregate} where {c}" for c in conditions]
            read = [read_question(text, {"x": "integer", "y": "integer", "u": "integer"}, people.get("unit")) for text in texts]
            assert len({question.normal for question in read}) == 1
            assert all(question.tree == read[0].tree for question in read)
            for (number, table), text in product(enumerate(tables), (texts[0], texts[-1])):
                answer: tuple[int, str]
                try:
                    with prepare(table, text, P, bounds={"x": (0, 9)}, **people) as asked:
                        answer = int(asked._levels()[2][0]), asked.facts.basis
                except DuotoneError as error:  # then of every way to write it, for one reason
                    answer = 0, str(error)
                levels_of_key[number, read[0].normal, str(people)].add(answer)
    assert all(len(levels) == 1 for levels in levels_of_key.values())
    assert {"exact distance", "safe bound"} < {basis for levels in levels_of_key.values() for _, basis in levels}
    assert len({level for levels in levels_of_key.values() for level, _ in levels}) > 4


def test_conditions_in_any_order_are_one_value_in_plain_duckdb() -> None:
    values = "(values (1), (4), (7), (null))"
    with duckdb.connect() as connection:
        connection.execute(f"create table t as select * from {values} a(x), {values} b(y)")
        for parts, rule in product(JOINED, (" and ", " or ")):
            texts = [rule.join(f"({part})" for part in order) for order in permutations(parts)]
            assert len({str(connection.execute(f"select {text} from t order by x, y").fetchall()) for text in texts}) == 1


def test_comparisons_in_any_order_are_one_question() -> None:
    parts = ("count(*) > 3", "not avg(x) > 2", "(sum(x) < 9 or max(y) > 1)")
    texts = [" and ".join(order) for order in permutations(parts)] + [
        "(max(y) > 1 or sum(x) < 9) and count(*) > 3 and not avg(x) > 2"
    ]
    table = pa.table({"x": [1, None, 5], "y": [1, 2, None]})
    asked = [prepare(table, text, P, bounds={"x": (0, 9)}) for text in texts]
    assert len({question.normal for question in asked}) == 1
    assert len({(int(question._levels()[2][0]), question.facts.basis) for question in asked}) == 1


def test_a_quotient_is_read_the_same_whichever_of_its_conditions_stands_first() -> None:
    """Or its two sides would not be of the same rows, and the level a bound."""
    table = pa.table({"x": [1, 2, 5], "y": [1, 2, 3], "z": [1, 1, 1]})
    texts = [
        f"sum(x) filter (where y > 1 and z > 0) / count(x) filter (where {c}) > 2"
        for c in ("y > 1 and z > 0", "z > 0 and y > 1")
    ]
    first, second = (prepare(table, text, P, bounds={"x": (0, 9)}) for text in texts)
    assert first.normal == second.normal
    assert first.facts.basis == second.facts.basis == "exact distance"
