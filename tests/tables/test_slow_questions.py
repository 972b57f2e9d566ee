"""Questions that are made to be slow on one row (`hostile.slow_questions`), without a clock: a table with such a row more is
refused alike, or has the same declared seconds; and no text that DuckDB makes of such rows is longer than its bound."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pytest

from duotone import prepare
from duotone.desk import work
from duotone.tables import check_question
from duotone.tables.work import Bound, _Interpreter
from hostile import slow_questions
from hostile.slow_questions import Asked, Grammar, Rows, drawn, stored, tried
from support.oracles import plain_duckdb


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """No trials, which other tests are about; and a machine as fast as the one on which constants were measured."""
    monkeypatch.setattr(check_question, "require_trial", lambda *_, **__: None)
    monkeypatch.setattr(work, "machine", lambda: 1.0)


@pytest.mark.parametrize("seed", range(8))
def test_one_slow_row_changes_no_declared_time(seed: int) -> None:
    accepted = 0
    for number in range(8):
        asked, draw = drawn(seed, number)
        found = tried(asked, draw, measuring=False)
        assert found.said[0] == found.said[1], asked
        accepted += found.accepted
    assert accepted >= 2


@pytest.mark.parametrize("seed", range(40))
def test_no_text_of_a_slow_row_is_longer_than_its_bound(seed: int) -> None:
    """Of a text of the grammar, by DuckDB's own reading of it: where that ends in an error, there is no text."""
    draw = random.Random(seed)
    made = Grammar(draw).text(1 + seed % 3)
    asked = Asked(f"count(*) filter (where {made} = 'x' or {made} is null) > 3", longest=20)
    longest = 0
    for kind in range(slow_questions.OF_ROWS):
        rows = Rows(draw, asked, kind)
        longest = max(longest, _longest(made, [rows.row(i) for i in range(20)]))
    assert longest <= _bound(asked)


def _longest(made: str, rows: list[Any]) -> int:
    with plain_duckdb() as connection:
        connection.register("rows", stored(rows))
        try:
            found = connection.execute(f"select coalesce(max(length({made})), 0) from rows").fetchone()
        except duckdb.Error:
            return 0
    return int((found or (0,))[0])


def _bound(asked: Asked) -> float:
    with prepare(stored([]), asked.text, slow_questions.BUDGET, longest_text=asked.longest) as question:
        found, sizes = _Interpreter(1.0, {}), [0.0]
        known = found.value

        def noted(node: Any) -> Bound:
            sizes.append(known(node).size)
            return known(node)

        found.value = noted
        found.relation(question._plan.op())
        return max(sizes)
