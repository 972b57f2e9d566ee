"""Where nobody, nothing or null decides: levels against a search through all small tables, with plain DuckDB as the truth."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP
from duotone.questions import Neighbours
from duotone.tables.check_question import prepare
from hostile.every_question import tables, wrong
from hostile.question_grammar import Grammar, Question
from support.oracles import plain_duckdb
from support.running import EXHAUSTIVE
from support.small_questions import BOTH, P


@pytest.mark.parametrize("neighbours", BOTH)
def test_one_person_moves_a_sum_of_nothing_by_one_level(neighbours: Neighbours) -> None:
    """Issue 27, point 11: with Alice sick level 15, and −1 with Alice well."""
    found = []
    for sick in (True, False):
        people = pa.table({"name": ["Alice", *["Bob"] * 999], "sick": [sick, *[False] * 999]})
        sql = "sum(case when name = 'Alice' and sick then 0 end) / count(*) >= 0"
        bounds: Any = {"CASE WHEN name = 'Alice' AND sick THEN 0 END": (0, 1)}
        with prepare(people, sql, P, bounds=bounds, neighbours=neighbours) as prepared:
            found.append(int(prepared._levels()[2][0]))
    assert found == [0, -1]


NOTHING = [
    *(
        f"{total} {sign} {limit}"
        for total in (
            "sum(«x»)",
            "sum(«z»)",
            "sum(«x») filter (where b)",
            "-sum(«y»)",
            "sum(«case when b then 0 end»)",
            "sum(«x») / count(*)",
            "sum(«x») / count(x)",
            "sum(«x») - count(*)",
            "sum(«x») / sum(«y»)",
            "sum(b::int)",
            "count_if(b)",
            "sum(case when b then 1 end)",
            "sum(case when b then 1 else 0 end) / count(*)",
            "sum(b::int) / count(*)",
            "coalesce(sum(«x»), 0)",
            "abs(sum(«x»))",
            "sum(«x») - sum(«x»)",
            "avg(«x») / avg(«y»)",
            "count_if(b) / count(*)",
        )
        for sign in (">", ">=", "<", "<=")
        for limit in ("-1", "0", "1")
    ),
    "not sum(«x») > 0",
    "not avg(«x») > 0",
    "not (avg(«x») > 0 and sum(«x») > 0)",
    "not min(x) > 0",
    "not bool_or(b)",
    "not bool_and(b)",
    "not sum(«x») between 0 and 1",
    "not count(*) > 1",
    "sum(b::int) = 0",
    "sum(b::int) <> 1",
    "not not sum(«x») <= 1",
]


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("outer", ["sum(n) < 30", "avg(n) > 0.5", "count(n) > 45", "max(n) > 1"])
@pytest.mark.parametrize(
    "counted", ["count_if(b)", "count_if(x > 0)", "count_if(not b) filter (where x > 0)", "coalesce(count_if(b), 0)"]
)
def test_a_person_of_whom_a_condition_is_never_known_has_no_count_if(counted: str, outer: str, neighbours: Neighbours) -> None:
    """In an inner select, too: every such question failed its trial, since that person counted 0 there."""
    kinds = [(True, 1), (False, 0), (None, 1), (None, None)]
    rows = [(person, *kinds[(person * person + i) % 4]) for person in range(60) for i in range(1 + person % 2)]
    t = pa.table(dict(zip("pbx", map(pa.array, zip(*rows, strict=True)), strict=True)))
    sql = f"select {outer} from (select p, {counted} as n from t group by p)"
    with plain_duckdb() as connection:
        ((plain,),) = connection.register("t", t).execute(sql).fetchall()
    bounds: Any = {} if outer.startswith("count") else {"n": (0, 5)}
    with prepare(t, sql, ApproxDP(50, "1e-6"), unit="p", bounds=bounds, neighbours=neighbours) as asked:
        assert bool(asked.release()) == plain


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", BOTH)
def test_what_null_decides(neighbours: Neighbours) -> None:
    """Every question about nothing; in `make exhaustive` on more tables."""
    said = []
    for text in NOTHING if EXHAUSTIVE else NOTHING[(neighbours == "replace") * 7 :: 14]:
        for seed in range(4 if EXHAUSTIVE else 1):
            question = Question(text, {"neighbours": neighbours})
            said += [
                f"{question.asked}: {one}"
                for one in wrong(question, tables(random.Random(f"{seed}{text}"), question, 60)) or ()
            ]
    assert not said, "\n".join(said)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_questions_of_the_grammar(seed: int) -> None:
    """A part of what `tests/hostile/every_question.py` tries in `make exhaustive`."""
    for number in range(16):
        draw = random.Random(f"suite {seed} {number}")
        question = Grammar(draw).question()
        assert not wrong(question, tables(draw, question, 40)), question.asked


@pytest.mark.parametrize("question", ["sum(case when b then 1 end) <> 1", "not sum(case when b then 1 end) = 1"])
def test_a_sum_of_nothing_differs_from_no_number(question: str) -> None:
    """In SQL it is null, which is neither equal nor different: the answer is no."""
    with prepare(pa.table({"b": [False, False]}), question, ApproxDP(1, "1e-6")) as asked:
        assert asked._levels()[2].tolist() == [-1]
    with prepare(pa.table({"b": [False, True, True]}), question, ApproxDP(1, "1e-6")) as asked:
        assert asked._levels()[2].tolist() == [0]
