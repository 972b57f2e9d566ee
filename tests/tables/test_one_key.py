"""One question has one key in a ledger, however it is written and whatever else is declared; no two share one."""

from __future__ import annotations

import random
from collections import defaultdict
from contextlib import suppress
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from thinned import thinned

from duotone import ApproxDP, DuotoneError, prepare
from duotone.tables.ask import prepare_all
from duotone.tables.sql.read_question import read_question

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
]
KINDS: Any = {"x": "float", "y": "integer", "u": "integer", "t": "text"}


@pytest.mark.parametrize("written", SAME)
def test_numbers_that_are_limits_or_weights_are_one_however_they_are_written(written: tuple[str, ...]) -> None:
    questions = [read_question(text, KINDS, "u" if "group by u" in text else None, "t") for text in written]
    assert len({question.normal for question in questions}) == 1
    assert all((q.tree, q.where, q.people) == (questions[0].tree, questions[0].where, questions[0].people) for q in questions)
    if "from" not in written[0]:  # what is plain is recorded as it always was
        plain = sqlglot.parse_one(f"select {written[0].removeprefix('select ')}", dialect="duckdb")
        assert questions[0].normal == plain.sql(dialect="duckdb", normalize=True)


@pytest.mark.parametrize("written", APART)
def test_others_stay_apart(written: tuple[str, str]) -> None:
    first, second = (read_question(text, KINDS, None, "t").normal for text in written)
    assert first != second


def test_what_a_question_does_not_use_is_not_in_its_key() -> None:
    table = pa.table({"x": [1.0] * 9, "y": [2.0] * 9, "u": range(9)})
    plain = prepare(table, "avg(x) > 3", P, bounds={"x": (0, 10)}).normal
    assert plain == 'SELECT AVG(x) > 3 WITH {"bounds": {"x": ["0", "10", null]}}'
    assert prepare(table, "avg(x) > 3", P, bounds={"x": (0, 10), "y": (0, 300)}).normal == plain
    assert prepare(table, "count(distinct u) > 3", P, unit="u", max_rows=3).normal == "SELECT COUNT(DISTINCT u) > 3"
    with prepare_all(table, ["avg(x) > 3", "count(*) > 5"], P, bounds={"x": (0, 10), "y": (0, 5)}) as every:
        assert [question.normal for question in every] == [plain, "SELECT COUNT(*) > 5"]


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
