"""Variances, different values and questions about a few counts, against brute force on all small datasets."""

from __future__ import annotations

import itertools
import math
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import DuotoneError
from duotone.questions import Cells, Distinct, Neighbours, Variance, Verdict, verify

BOTH: list[Neighbours] = ["add-remove", "replace"]


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("less", [0, 1])
@pytest.mark.parametrize("sign", [">", ">=", "<", "<="])
@pytest.mark.parametrize("limit", [0, "1/4", "2/3", 1, 2])
@pytest.mark.parametrize("domain", [[0, 1, 2, None], [-1, 0, 3]])
def test_levels_of_variances_are_safe(
    neighbours: Neighbours, less: int, sign: str, limit: Any, domain: list[int | None]
) -> None:
    bounds = (min(v for v in domain if v is not None), max(v for v in domain if v is not None))
    question = Variance(lambda p: p, bounds, sign, limit, less, neighbours, reach=4)
    verdict = verify(question, domain, people=4, reach=2)
    assert verdict.private, verdict.counterexample


@given(st.lists(st.integers(-5, 5), max_size=12), st.sampled_from([">", "<="]), st.integers(0, 12))
def test_the_truth_of_a_variance_is_that_of_the_standard_library(values: list[int], sign: str, limit: int) -> None:
    exact = list(map(Fraction, values))
    for less, reference in ((0, statistics.pvariance), (1, statistics.variance)):
        expected = len(values) > less and ((reference(exact) > limit) == (sign == ">"))
        assert Variance(int, (-5, 5), sign, limit, less).truth(values) == expected


def test_a_variance_is_a_useful_distance_away() -> None:
    """Fifty at each end: it takes many to calm them down, and many to stir up a hundred in the middle."""
    apart, calm = [0] * 50 + [10] * 50, [5] * 100
    assert Variance(int, (0, 10), ">", 20, reach=64).level(apart) == 25  # 2,500 / (99 + 26) is 20
    assert Variance(int, (0, 10), ">", 5, reach=64).level(calm) == -25


def nearest(people: tuple[Any, ...], question: Any, domain: list[Any], most: int) -> int:
    """The distance, by looking at every table on the way."""
    seen, edge, yes = {tuple(sorted(people, key=str))}, [tuple(sorted(people, key=str))], question.truth(people)
    for steps in range(1, most + 1):
        fresh = set()
        for table in edge:
            for i in range(len(table)):
                fresh.add(table[:i] + table[i + 1 :])
            fresh |= {tuple(sorted((*table, value), key=str)) for value in domain}
        edge = [table for table in fresh if table not in seen]
        seen |= fresh
        if any(question.truth(table) != yes for table in edge):
            return steps
    return most + 1


def test_a_variance_is_not_far_from_the_distance() -> None:
    """Of all tables of four from a fine domain: never more, and mostly equal."""
    domain = [0, 2, 4, 6, 8]
    question = Variance(int, (0, 8), ">", 9, less=0, reach=5)
    equal = 0
    tables = list(itertools.combinations_with_replacement(domain, 4))
    for people in tables:
        level = question.level(people)
        bound = level + 1 if level >= 0 else -level
        distance = nearest(people, question, domain, 4)
        assert min(bound, 5) <= distance
        equal += min(bound, 5) == distance
    assert equal >= 0.7 * len(tables)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("at_least", [1, 2, 3])
def test_different_values(neighbours: Neighbours, at_least: int) -> None:
    """With more values to be had than any of these tables could hold."""
    domain = ["a", "b", "c", "d", "e", "f", None]
    verdict = verify(Distinct(at_least, neighbours=neighbours), domain, people=3, reach=2)
    assert verdict == Verdict(True, True, verdict.checked, None), verdict.counterexample


def odds_ratio(counts: Any) -> Any:
    a, b, c, d = counts.T
    return (a * d > 2 * b * c) & (b * c > 0)


def relative_risk(counts: Any) -> Any:
    a, b, c, d = counts.T
    return (2 * a * (c + d) >= 3 * c * (a + b)) & (c > 0) & (a + b > 0)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("asked", [odds_ratio, relative_risk])
def test_questions_about_four_counts(neighbours: Neighbours, asked: Any) -> None:
    question = Cells(lambda p: p, 4, asked, neighbours, reach=4)
    verdict = verify(question, [0, 1, 2, 3, None], people=3, reach=3)
    assert verdict == Verdict(True, True, verdict.checked, None), verdict.counterexample


def test_bad_questions() -> None:
    for wrong in (
        lambda: Variance(int, (1, 0), ">", 1),
        lambda: Variance(int, (0, 1), "=", 1),
        lambda: Variance(int, (0, 1), ">", math.nan),
        lambda: Variance(int, (0, 1), ">", 1, less=2),
        lambda: Distinct(0),
        lambda: Cells(int, 4, lambda n: np.ones(len(n), bool), reach=10**4),
        lambda: Cells(int, 0, lambda n: np.ones(len(n), bool)),
    ):
        with pytest.raises(DuotoneError):
            wrong()
