from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydp.algorithms.partition_selection import create_truncated_geometric_partition_strategy

from duotone import ApproxDP, DuotoneError, balanced, design, partition_selection, with_boundary
from duotone.graphs import families
from duotone.line.mechanism import NEVER, on_line, recurrence, tradeoff
from support.strategies import exact_budgets, probabilities

PUBLISHED = [  # Google's differential-privacy library, tests of the Go and C++ partition selection
    (math.log(2), 0.1, {1: 0.1, 2: 0.3, 3: 0.7, 4: 0.9, 5: 1.0}),
    (math.log(1.5), 0.1, {2: 0.25, 3: 0.475, 4: 0.716666666667, 6: 0.985185185185}),
    (50, 1e-200, {2: 5.184706e-179, 9: 5.221470e-27, 10: 2.707178e-05, 11: 1.0}),
    (0.5, 0.02, {6: 0.58840484458, 8: 0.86807080625, 15: 1.0}),
    (1e-20, 0.02, {40: 0.8}),
    (1, 1e-5, {10: 0.12818308050524607}),
]


@pytest.mark.parametrize(("epsilon", "delta", "kept"), PUBLISHED)
def test_partition_selection_is_the_published_rule(epsilon: float, delta: float, kept: dict[int, float]) -> None:
    rule = partition_selection(ApproxDP(epsilon, delta))
    assert rule.yes(-1) == 0
    for people, probability in kept.items():
        assert rule.yes(people - 1) == pytest.approx(probability, rel=1e-6 if delta < 1e-100 else 1e-10)


def test_partition_selection_exactly() -> None:
    rule = partition_selection(ApproxDP(exp_epsilon="3/2", delta="1/10"))
    assert [rule.yes(n - 1) for n in (2, 3, 4, 6)] == [Fraction(x) for x in ("1/4", "19/40", "43/60", "133/135")]


@given(st.floats(1e-3, 30), st.floats(-60, -0.5), st.integers(1, 200))
def test_partition_selection_is_python_dps(epsilon: float, log_delta: float, people: int) -> None:
    _against_python_dp(epsilon, math.exp(log_delta), people)


@pytest.mark.slow
def test_partition_selection_is_python_dps_on_thousands() -> None:
    rng = np.random.default_rng(2)
    for _ in range(5000):
        _against_python_dp(float(10 ** rng.uniform(-4, 1.5)), float(10 ** rng.uniform(-30, -0.5)), int(10 ** rng.uniform(0, 3)))


def _against_python_dp(epsilon: float, delta: float, people: int) -> None:
    theirs = create_truncated_geometric_partition_strategy(epsilon, delta, 1).probability_of_keep(people)
    ours = partition_selection(ApproxDP(epsilon, delta)).yes(people - 1)
    assert ours == pytest.approx(theirs, rel=1e-8, abs=1e-12)


@pytest.mark.slow
@given(exact_budgets, probabilities, st.integers(1, 12), st.integers(1, 12))
def test_closed_form_is_recurrence_is_propagation(privacy: ApproxDP, m: Fraction, blue: int, red: int) -> None:
    line = with_boundary(privacy, m)
    graph = families.line(blue, red).graph()
    propagated = design(graph, privacy, {blue: m})
    homogeneous = design(graph, privacy, m)
    assert propagated.truth == homogeneous.truth
    levels = graph.levels
    assert list(propagated.yes.values()) == line.yes(levels).tolist() == [line.yes(int(level)) for level in levels]
    assert propagated.truth == tuple(line.truth(levels)) == tuple(1 - line.error(levels))
    values = recurrence(privacy, m, blue)
    assert [values[min(i, len(values) - 1)] for i in range(blue)] == [line.truth(i) for i in range(blue)]


def test_levels_that_nothing_can_flip() -> None:
    for budget in (ApproxDP(exp_epsilon=2), ApproxDP(1), ApproxDP(1e-12)):
        line = balanced(budget)
        assert line.truth(math.inf) == line.truth(-math.inf) == line.yes(NEVER) == 1
        assert line.yes(np.array([NEVER, -1 - NEVER])).tolist() == [1, 0]


def test_the_red_side_follows_from_the_blue_one() -> None:
    privacy = ApproxDP(exp_epsilon="1.3", delta="0.1")
    line = with_boundary(privacy, "0.2")
    assert line.red == Fraction(12, 13)
    assert line.certain == (6, 1)
    assert balanced(privacy).blue == balanced(privacy).red == with_boundary(privacy, balanced(privacy).blue).red


def test_levels_of_other_types() -> None:
    line = balanced(ApproxDP(exp_epsilon=2))
    assert line.error(np.int64(70)) == line.error(70) == Fraction(1, 3 * 2**70)
    assert line.truth(np.array([np.inf, 0.0, -np.inf])).tolist() == [1, Fraction(2, 3), 1]
    with pytest.raises(DuotoneError, match="whole numbers"):
        line.truth(np.array([0.5]))


def test_far_levels_in_one_call() -> None:
    yes = balanced(ApproxDP(1e-12, 1e-20)).yes(np.array([10**18, 0, -1, -(10**18)]))
    assert yes.tolist() == [1.0, pytest.approx(0.5), pytest.approx(0.5), 0.0]


def test_tradeoff_is_the_frontier() -> None:
    privacy = ApproxDP(exp_epsilon=2, delta="0.1")
    curve = dict(tradeoff(privacy, 11))
    assert (curve[Fraction(0)], curve[Fraction(1)], curve[Fraction(7, 10)]) == (1, Fraction(1, 10), Fraction(7, 10))
    assert all(isinstance(x, float) for point in tradeoff(ApproxDP(1)) for x in point)


def test_bad_boundary() -> None:
    with pytest.raises(DuotoneError, match=r"the probability at the blue boundary must be in \[0, 1\], got 7/5"):
        with_boundary(ApproxDP(1), "1.4")


@pytest.mark.parametrize(("epsilon", "delta"), [("40", "0"), ("40", "1e-30"), (40.0, 1e-30), ("700", "0"), ("3", "1e-6")])
@pytest.mark.parametrize("boundary", ["balanced", "1", "0.999999999999999999999", "1/3"])
def test_an_error_is_accurate_however_small_it_is(epsilon: Any, delta: Any, boundary: str) -> None:
    """At the boundary, too, where the truth is so near to 1 that no float is between them."""
    privacy = ApproxDP(epsilon, delta)
    made, exact = on_line(privacy, boundary), on_line(privacy.exactly(), boundary)
    for level in (0, 1, 2, -1, -2, -3):
        true = exact.error(level)
        assert isinstance(true, Fraction)
        for error in (made.error(level), made.error(np.array([level]))[0]):
            assert abs(Fraction(float(error)) - true) <= true / 2**52 + Fraction(1, 2**1074)
    assert float(balanced(ApproxDP(40)).error(0)) == pytest.approx(4.248354255291589e-18, rel=1e-15)


def test_levels_are_whole_numbers_of_any_type() -> None:
    line = balanced(ApproxDP(1, "1e-6"))
    levels = [0, 3, 7]
    for kind in ("uint8", "uint64", "int16", "float32", "object"):
        assert line.yes(np.array(levels, dtype=kind)).tolist() == [line.yes(level) for level in levels]
    words, masked = np.array([1, "x"], object), np.ma.array([1, 2], mask=[False, True])
    huge = [np.array([2**63], kind) for kind in ("uint64", "object")]
    for wrong in (*huge, np.array([True]), np.array(["1"]), np.array([0.5]), np.array([math.nan]), words, masked):
        with pytest.raises(DuotoneError, match="must be a whole number, or an array of whole numbers of 64 bits"):
            line.yes(wrong)


def test_what_is_no_boundary_and_no_histogram_is_refused() -> None:
    with pytest.raises(DuotoneError, match="the boundary of a line is"):
        on_line(ApproxDP(1), np.array([0.5]))  # type: ignore[arg-type]
    with pytest.raises(DuotoneError, match="the histogram has no dataset"):
        balanced(ApproxDP(1)).mean_error({})
