"""Every question against brute force: the ±1 rule and exactness on all small datasets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import DuotoneError
from duotone.questions import (
    Combined,
    Difference,
    Negated,
    Neighbours,
    Plurality,
    Threshold,
    Verdict,
    quantile,
    smallest,
    verify,
)
from duotone.questions.threshold import Scores, fewest, levels, scores, who_matters

BOTH: list[Neighbours] = ["add-remove", "replace"]


def check(question: Any, domain: Sequence[Any], people: int = 5) -> None:
    verdict = verify(question, domain, people=people, reach=people + 1 if question.neighbours == "replace" else 4)
    assert verdict == Verdict(True, True, verdict.checked, None), (question, verdict.counterexample)
    assert verdict.checked > 5


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("somebody", [False, True])
@pytest.mark.parametrize("at_least", range(-4, 6))
@pytest.mark.parametrize("domain", [(0, 1), (-1, 1), (-1, 0, 1), (-3, 2), (-2, -1, 5), (1, 3), (-4, -1), (-3, 0)])
def test_thresholds(neighbours: Neighbours, somebody: bool, at_least: int, domain: tuple[int, ...]) -> None:
    check(Threshold(int, min(domain), max(domain), at_least, somebody, neighbours), domain, people=4)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("q", ["1/2", "1/4", "2/3", "0.9"])
def test_quantiles(neighbours: Neighbours, q: str) -> None:
    question = quantile(q, lambda x: x > 2, neighbours)
    check(question, [1, 3])
    for people in ([1], [3], [1, 3], [3, 3, 1], [1, 1, 3, 3], [2, 3, 3]):
        rank = math.ceil(len(people) * float(question.highest) / (question.highest - question.lowest))
        assert question.truth(people) == (sorted(people)[rank - 1] > 2)
    assert not question.truth([])


@pytest.mark.parametrize("neighbours", BOTH)
def test_extremes(neighbours: Neighbours) -> None:
    check(smallest(lambda x: x > 2, neighbours), [1, 3])


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("domain", ["AB", "ABC", ["A", "B", None]])
def test_pluralities(neighbours: Neighbours, domain: Sequence[str | None]) -> None:
    check(Plurality("A", neighbours=neighbours), domain, people=5 if len(domain) == 2 else 4)


Value = Callable[[Any], int | None]


def by_group() -> tuple[Value, Value]:
    """The value of who is in group 1, and of who is in group 2."""
    return lambda p: p[1] if p and p[0] == 1 else None, lambda p: p[1] if p and p[0] == 2 else None


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("more_than", [0, "1/3", "-1/2", 1, "1e-200"])
@pytest.mark.parametrize("domain", [[(1, 0), (1, 1), (2, 0), (2, 1), None], [(1, -1), (1, 2), (2, 2), (2, -1), None]])
def test_differences(neighbours: Neighbours, more_than: Any, strict: bool, domain: Sequence[Any]) -> None:
    values = [p[1] for p in domain if p]
    question = Difference(
        *by_group(),
        bounds=((min(values), max(values)),) * 2,
        more_than=more_than,
        neighbours=neighbours,
        reach=5,
        strict=strict,
    )
    verdict = verify(question, domain, people=4, reach=4 if neighbours == "replace" else 3)
    assert verdict == Verdict(True, True, verdict.checked, None), verdict.counterexample


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("weights", [(1, 1), (1, "6/5"), ("1/3", 2)])
@pytest.mark.parametrize(("more_than", "strict"), [(0, True), (0, False), ("1/3", True), (-1, False)])
def test_differences_with_weights_and_bounds_of_their_own(
    neighbours: Neighbours, weights: Any, more_than: Any, strict: bool
) -> None:
    bounds = (0, 2), (-1, 1)
    question = Difference(*by_group(), bounds, more_than, weights, False, neighbours, 5, strict)
    found = verify(question, [(1, 0), (1, 2), (2, -1), (2, 1), None], people=3, reach=3)
    assert found == Verdict(True, True, found.checked, None), found.counterexample


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("weights", [(1, 1), (1, "6/5")])
@pytest.mark.parametrize(("more_than", "strict"), [(0, True), (0, False), ("1/3", True), (-1, False)])
def test_sides_that_share_people_have_a_safe_bound(neighbours: Neighbours, weights: Any, more_than: Any, strict: bool) -> None:
    """Each person has a value on the first side, on the second, on both or on neither."""
    first, second = (lambda p: p[0]), (lambda p: p[1])
    question = Difference(first, second, ((0, 1), (0, 1)), more_than, weights, True, neighbours, 5, strict)
    domain = [*itertools.product((None, 0, 1), repeat=2)]
    found = verify(question, domain, people=3, reach=2)
    assert found.private, found.counterexample
    if neighbours == "replace":
        return
    alone = replace(question, shared=False)  # whoever is on one side only: at most twice as far
    for people in itertools.combinations_with_replacement([p for p in domain if None in p], 3):
        assert steps(question.level(people)) <= steps(alone.level(people)) <= 2 * steps(question.level(people))


def steps(level: float) -> float:
    return level + 1 if level >= 0 else -level


def test_equal_averages_are_at_least_as_large_and_not_larger() -> None:
    for more_than, strict, yes in ((0, True, False), (0, False, True), ("1e-200", False, False), ("-1e-200", True, True)):
        question = Difference(*by_group(), ((0, 3), (0, 3)), more_than, strict=strict)
        for people in ([(1, 1), (2, 1)], [(1, 0), (1, 1), (1, 3), (2, 1), (2, 3), (2, 0)]):
            assert question.truth(people) is yes
            assert (question.level(people) >= 0) is yes


def test_a_difference_beyond_its_reach_stops_there() -> None:
    question = Difference(*by_group(), ((0, 1), (0, 1)), 0, reach=2)
    assert question.level([(1, 1)] * 50 + [(2, 0)] * 50) == 2
    assert question.level([(1, 0)] * 50 + [(2, 1)] * 50) == -3


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("rule", ["and", "or"])
def test_combinations_are_private_and_negation_exact(neighbours: Neighbours, rule: Any) -> None:
    many = Threshold(int, -1, 1, 1, neighbours=neighbours)
    median = quantile("1/3", lambda x: x > 0, neighbours)
    check(Negated(many), [-1, 0, 1], people=4)
    verdict = verify(Combined(rule, (many, Negated(median))), [-1, 0, 1], people=4)
    assert verdict.private


def slow_level(question: Threshold, people: list[int], most: int) -> float:
    """Every way to choose who leaves and how many join: no greed."""
    best = math.inf
    yes = question.truth(people)
    extreme = question.lowest if yes else question.highest
    for mask in range(2 ** len(people)):
        kept = [v for i, v in enumerate(people) if not mask >> i & 1]
        left = len(people) - len(kept)
        for joined in range(left, left + 1) if question.neighbours == "replace" else range(most):
            if question.truth(kept + [extreme] * joined) != yes:
                best = min(best, left if question.neighbours == "replace" else left + joined)
    return best - 1 if yes else -best


@given(
    st.lists(st.integers(-6, 9), max_size=8),
    st.integers(-20, 25),
    st.booleans(),
    st.sampled_from(BOTH),
)
def test_larger_tables_against_every_choice(people: list[int], at_least: int, somebody: bool, neighbours: Neighbours) -> None:
    question = Threshold(int, -6, 9, at_least, somebody, neighbours)
    assert question.level(people) == slow_level(question, people, 14)


def both_ends(tables: list[list[int]], reach: int) -> Scores:
    """Many tables at once, as engines give them: of each, only the `reach` largest and the `reach` smallest scores."""

    def end(reverse: bool) -> list[tuple[Any, Any]]:
        ordered = [sorted(table, reverse=reverse) for table in tables]
        ranks = [[(table[i], 1) if i < len(table) else (0, 0) for table in ordered] for i in range(reach)]
        return [tuple(np.array(part, dtype=object) for part in zip(*rank, strict=True)) for rank in ranks]  # type: ignore[misc]

    return Scores(np.array([sum(table) for table in tables], dtype=object), end(True), end(False), reach)


@given(
    st.sampled_from([(-6, 9), (0, 5), (1, 4), (-5, -1), (-3, 0)]),
    st.lists(st.lists(st.integers(-6, 9), max_size=6), min_size=1, max_size=4),
    st.integers(-20, 25),
    st.integers(0, 4),
    st.sampled_from(BOTH),
)
def test_the_ends_of_many_tables_tell_every_level_within_reach(
    bounds: tuple[int, int], drawn: list[list[int]], at_least: int, reach: int, neighbours: Neighbours
) -> None:
    tables = [[min(max(v, bounds[0]), bounds[1]) for v in table] for table in drawn]
    fast = levels(both_ends(tables, reach), *bounds, at_least, neighbours)
    for people, level in zip(tables, fast.tolist(), strict=True):
        true = slow_level(Threshold(int, *bounds, at_least, neighbours=neighbours), people, 30)
        if -reach <= true < reach:
            assert level == true
        else:
            assert level >= reach if true >= 0 else level < -reach


def test_the_fewest_changes_by_hand() -> None:
    """Of people who score 3, 1 and 1, to lower their total by so much: who leaves, then who joins."""
    largest, excess = scores([1, 3, 1]).largest, np.array([-5, 0, 1, 3, 4, 5, 6, 8, 9], dtype=object)
    assert fewest(largest, excess, 0, "add-remove").tolist() == [0, 0, 1, 1, 2, 3, math.inf, math.inf, math.inf]
    assert fewest(largest, excess, -2, "add-remove").tolist() == [0, 0, 1, 1, 2, 2, 3, 4, 4]
    assert fewest(largest, excess, -1, "replace").tolist() == [0, 0, 1, 1, 1, 2, 2, 3, math.inf]
    assert fewest(largest, excess, 1, "replace").tolist() == [0, 0, 1, *[math.inf] * 6]
    assert fewest(scores([1, 1]).largest, excess[:3], 0, "add-remove").tolist() == [0, 0, 1]


def test_values_outside_their_bounds_are_clipped() -> None:
    domain = [-9, -1, 1, 7]
    for neighbours in BOTH:
        check(Threshold(int, -1, 1, 1, neighbours=neighbours), domain, people=3)
    beaten = Difference(*by_group(), ((0, 1), (0, 1)), 0, reach=5)
    assert verify(beaten, [(1, 0), (1, 9), (2, -4), (2, 1), None], people=3).exact


def test_a_crowd_is_never_taken_for_a_larger_sum() -> None:
    """A hundred thousand people whose sum is 0: no sum of at least 1, which one more would make; and at least 0."""
    people = [1, -1] * 50_000
    assert Threshold(int, -1, 1, 1, somebody=True).level(people) == -1
    assert Threshold(int, -1, 1, 0, somebody=True).level(people) == 0


def test_levels_beyond_what_floats_can_count_stay_where_they_are() -> None:
    """2^53 + 3 people are missing, or one fewer: floats in between would differ by 2."""
    many = Threshold(int, 0, 1, 2**53 + 3)
    assert many.level([]) == many.level([1]) == -(2**53)
    assert Threshold(int, 0, 1, 2**53 - 1).level([1]) == 2 - 2**53
    assert Threshold(int, 0, 0, 1).level([0]) == -math.inf


def test_what_no_crowd_can_reach_is_infinitely_far() -> None:
    """Where nobody scores more than nothing, however many come; with an empty table a no, and without."""
    for somebody, neighbours in itertools.product([False, True], BOTH):
        assert Threshold(int, 0, 0, 1, somebody, neighbours).level([0]) == -math.inf
        assert Threshold(int, -2, 0, 3, somebody, neighbours).level([]) == -math.inf


def test_everybody_may_count_the_same() -> None:
    question = Threshold(int, 1, 1, 2)
    assert [question.level([7] * n) for n in range(5)] == [-2, -1, 0, 1, 2]


def test_the_published_distances() -> None:
    """Fewest people to flip, as measured by others: lower median and majority."""
    for above in range(7):
        for below in range(7):
            people, g = [3] * above + [1] * below, above - below
            median = quantile("1/2", lambda x: x > 2)
            assert median.level(people) == (g - 1 if g > 0 else -(1 - g))
            if people:
                swapped = replace(median, neighbours="replace")
                assert swapped.level(people) == (math.ceil(g / 2) - 1 if g > 0 else -(-g // 2 + 1))


@dataclass(frozen=True)
class Wrong:
    """A question whose levels are off in one way or another."""

    fault: str
    neighbours: Neighbours = "add-remove"

    def truth(self, people: Sequence[Any]) -> bool:
        return bool(sum(people) >= 2)

    def level(self, people: Sequence[Any]) -> float:
        distance = float(sum(people) - 2)
        return {"jumps": 2 * distance, "bound": min(distance, 0), "wrong side": distance - 1}[self.fault]


def test_verify_shows_the_first_counterexample() -> None:
    assert verify(Wrong("jumps"), [0, 1]) == Verdict(False, False, 10, ((), (1,)))
    assert verify(Wrong("bound"), [0, 1]) == Verdict(True, False, 10, ((1, 1, 1),))
    assert verify(Wrong("wrong side"), [0, 1]) == Verdict(False, False, 10, ((1, 1),))
    with pytest.raises(DuotoneError, match="at least one value"):
        verify(Wrong("bound"), [])


def test_questions_never_change() -> None:
    question = Threshold(int, 0, 1, 1)
    with pytest.raises(FrozenInstanceError):
        question.highest = 10**6  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        both_ends([[1]], 1).reach = None  # type: ignore[misc]


def test_bad_questions() -> None:
    with pytest.raises(DuotoneError, match="lowest ≤ highest"):
        Threshold(int, 1, 0, 1)
    for build in (lambda: Plurality("A", neighbours="add_remove"), lambda: smallest(bool, "Replace")):  # type: ignore[arg-type]
        with pytest.raises(DuotoneError, match="neighbours must be add-remove or replace"):
            build()
    for winner in (None, math.nan):
        with pytest.raises(DuotoneError, match="a choice that people can make"):
            Plurality(winner)
    assert Plurality(1.0).level([1.0, 1.0, *(float("nan") for _ in range(5))]) == 1
    assert Threshold(lambda x: x, 0, 1, 1).level([math.nan, 5.0]) == 0
    with pytest.raises(DuotoneError, match="a difference needs"):
        Difference(int, int, ((1, 0), (0, 0)), 0)
    with pytest.raises(DuotoneError, match="more_than must be finite"):
        Difference(int, int, ((0, 1), (0, 1)), math.nan)
    with pytest.raises(DuotoneError, match="weights of a difference are positive"):
        Difference(int, int, ((0, 1), (0, 1)), 0, (1, -1))
    one, other = Threshold(int, 0, 1, 1), Threshold(int, 0, 1, 1, neighbours="replace")
    for parts in ((), (one, other)):
        with pytest.raises(DuotoneError, match="under the same neighbours"):
            Combined("and", parts)
    with pytest.raises(DuotoneError, match="q must be between 0 and 1"):
        quantile(1, bool)


@given(
    st.lists(st.integers(-9, 9), max_size=12),
    st.tuples(st.integers(-9, 9), st.integers(-9, 9)).map(sorted),
    st.integers(-20, 20),
    st.sampled_from(["add-remove", "replace"]),
    st.integers(1, 6),
)
def test_nobody_else_matters(values: list[int], bounds: list[int], at_least: int, neighbours: Neighbours, reach: int) -> None:
    """Levels from those who matter alone, and from no more of them than the mechanism tells apart, are those from all."""
    low, high = bounds
    people = [min(max(value, low), high) for value in values]
    down, up = who_matters(low, high, neighbours)
    largest = sorted((v for v in people if down is not None and v >= down), reverse=True)[:reach]
    smallest = sorted(v for v in people if up is not None and v <= up)[:reach]
    one = np.array([1], dtype=object)
    few = Scores(np.array([sum(people)], dtype=object), [(v, one) for v in largest], [(v, one) for v in smallest], reach)
    each = [levels(tally, low, high, at_least, neighbours)[0] for tally in (scores(people), few)]
    assert np.clip(each[0], -reach - 1, reach) == np.clip(each[1], -reach - 1, reach)
