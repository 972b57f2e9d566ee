"""How far levels are searched for: margins want twice as far as answers, and where that takes long, answers go first."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from duotone import ApproxDP, Coin, DuotoneError, balanced, prepare, prove
from duotone.line.noise import Margin
from duotone.line.table import line_table
from duotone.model.accuracy import Accuracy

USUAL = ApproxDP(1, "1e-6")
TWO = "count(*) filter (where g = 'a') * count(*) filter (where g = 'a') > 5 * count(*) filter (where g = 'b')"
FOUR = (
    "count(*) filter (where g = 'a') * count(*) filter (where g = 'b') > 2 * count(*) filter (where g = 'c') "
    "+ count(*) filter (where g = 'd')"
)


def people(a: int, b: int, c: int) -> pa.Table:
    return pa.table({"g": ["a"] * a + ["b"] * b + ["c"] * c, "x": range(a + b + c)})


@pytest.mark.parametrize("question", [TWO, "avg(x) filter (where g = 'a') > avg(x) filter (where g = 'b')"])
def test_little_is_searched_as_far_as_margins_tell(question: str) -> None:
    with prepare(people(30, 20, 10), question, USUAL, bounds={"x": (0, 60)} if "x" in question else {}) as asked:
        assert [compared.searched for compared in asked.comparisons] == [29] == [asked.terms.reach]


def test_arithmetic_of_many_counts_is_asked_at_the_budgets_at_which_answers_need_little() -> None:
    """Of four counts 31^4 tables are looked at, as before there were margins; 59^4 would be thirteen times as many."""
    with prepare(people(20, 30, 10), FOUR, USUAL) as asked:
        (compared,) = asked.comparisons
        assert compared.searched == asked.terms.reaches.answers == 15
        assert asked.terms.reach == 29
    with pytest.raises(DuotoneError, match="too many for a question about"):
        prepare(people(20, 30, 10), FOUR, ApproxDP("0.05", "1e-9"))


def test_levels_beyond_what_is_searched_are_alike() -> None:
    """However far a table is: no neighbour of it is more than one step away, though only answers were searched for."""
    levels, privacy = [], ApproxDP(2, "1e-3")
    for more in range(30):
        with prepare(people(more, 12, 30), FOUR, privacy) as asked:
            levels.append(int(asked._levels()[2][0]))
            reach, table = asked.comparisons[0].searched, line_table(balanced(privacy))
    assert all(abs(b - a) <= 1 for a, b in pairwise(levels))
    assert min(levels) < 0 < max(levels) == reach == asked.terms.reaches.answers < asked.terms.reach
    assert table.yes(reach) == 2**table.bits  # no answer is otherwise for it
    assert table.yes(-reach - 1) == 0


def test_what_is_said_beforehand_of_certain_is_so_where_little_is_searched() -> None:
    """Levels end at 15 people: an answer is certain in 73 of 100 draws there, and never more often."""
    with prepare(people(20, 30, 10), FOUR, USUAL) as asked:
        accuracy = asked.facts.accuracy
        assert isinstance(accuracy, Accuracy)
        assert accuracy.surely == math.inf
        assert "always certain" not in accuracy.ending
        assert accuracy.sure(15) == accuracy.sure(1000) == pytest.approx(0.731, abs=1e-3)
        assert asked.terms.table.cap == 15
        prove(asked.release().certificate())
        table = asked.terms.table
    certain = sum(Margin(k, table.noise).certain for k in Coin(table).margins(np.full(400, 1000)).tolist())
    assert 200 < certain < 380  # 292 are expected; eight standard deviations are 71


test_what_is_said_beforehand_of_certain_is_so_where_little_is_searched = pytest.mark.false_alarm(1e-12)(
    test_what_is_said_beforehand_of_certain_is_so_where_little_is_searched
)
