"""Held out: what analysts ask of public data, answered at ε = 50 as plain DuckDB answers it.

At ε = 50 an answer that one person could flip is wrong with probability e^-50, so every one has to be equal: a count is asked
at its very value and one below. The questions were written without a look at the other tests.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest

from duotone import ApproxDP, ask, prepare
from duotone.errors import DuotoneError
from support.oracles import plain_duckdb
from support.real_questions import ANSWERED, FILES, REFUSED, Real, load
from support.running import thinned

pytestmark = pytest.mark.slow
table = functools.cache(load)


def budget(question: Real) -> ApproxDP:
    """50 for each group that a person is in."""
    return ApproxDP(50 * question.options.get("max_groups", 1), "1e-9")


def by_duckdb(question: Real, limit: str) -> dict[tuple[Any, ...], bool]:
    """The truth: each group's answer, or one of no key; null is a no, and so is a group that is not there."""
    with plain_duckdb() as connection:
        connection.register(question.table, table(question.table))
        rows = connection.execute(question.truth_query(limit)).fetchall()
    answers = {tuple(row[:-1]): bool(row[-1]) for row in rows}
    return {key: answers.get(key, False) for key in question.options.get("groups", [()])}


def test_there_are_enough() -> None:
    assert len({question.table for question in ANSWERED}) == len(FILES) >= 5
    assert sum(len(question.limits) for question in ANSWERED) >= 100


@pytest.mark.parametrize("question", thinned(ANSWERED, 4), ids=str)
def test_equal_always(question: Real) -> None:
    truths = [by_duckdb(question, limit) for limit in question.limits]
    assert truths[0] != truths[1], "the limits are to stand on both sides of the truth"
    for limit, truth in zip(question.limits, truths, strict=True):
        assert ask(table(question.table), question.sql(limit), budget(question), **question.options).answers == truth


@pytest.mark.parametrize("question", REFUSED, ids=str)
def test_refused_with_a_sentence(question: Real) -> None:
    for limit in question.limits:
        by_duckdb(question, limit)  # it is a question that DuckDB answers
        with pytest.raises(DuotoneError) as refused:
            prepare(table(question.table), question.sql(limit), budget(question), **question.options).close()
        assert question.refused in str(refused.value)
