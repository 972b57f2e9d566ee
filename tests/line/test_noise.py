"""Margins: private over all events, as often a yes as the line's answer, and what they say is true."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, Coin, DuotoneError, balanced, partition_selection, with_boundary
from duotone.line.mechanism import LineMechanism
from duotone.line.noise import Margin, Noise, margin_is_private, same_answer
from duotone.line.table import Table, line_table

BUDGETS = [
    ApproxDP(1, "1e-6"), ApproxDP(1), ApproxDP("0.3", "1e-9"), ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP(5, "1e-30"),
    ApproxDP(0, "1/7"), ApproxDP(exp_epsilon="1.01", delta="0.3"), ApproxDP(4, "1e-3"), ApproxDP(0), ApproxDP("0.5", "1e-60"),
]  # fmt: skip
LINES = [
    line for privacy in BUDGETS for line in (balanced(privacy), with_boundary(privacy, "9/10"), with_boundary(privacy, "1/4"))
] + [partition_selection(privacy) for privacy in BUDGETS if privacy.delta > 0]


def margins_at(table: Table, level: int) -> dict[int, int]:
    """How often each margin comes up, out of 2^bits, from the table's rows alone: by the definition, one outcome at a time."""
    first, last, one = table.lowest, table.lowest + len(table) - 1, 2**table.bits

    def no_less(noise: int) -> int:  # Pr[N >= noise]
        return one if -noise > last + 1 else table.entries[min(max(-noise, first), last) - first][0] if -noise <= last else one

    cap = table.cap
    assert cap is not None
    level = min(max(level, -cap), cap - 1)
    shares: dict[int, int] = defaultdict(int)
    above = 0
    for noise in range(2 * cap + 1, -2 * cap - 2, -1):
        here = no_less(noise)
        margin = level + noise
        if table.entries[0][0] or table.entries[-1][1]:  # noise without ends: what goes on beyond the cap is taken together
            margin = min(max(margin, -cap), cap - 1)
        shares[margin] += here - above
        above = here
    shares[min(shares)] += one - above
    return {margin: share for margin, share in shares.items() if share}


def exceeds(one: dict[int, int], other: dict[int, int], ratio: Fraction) -> Fraction:
    """The most by which the chance of any set of margins is above e^ε times the other one's, times 2^bits."""
    return sum((max(Fraction(0), one[k] - ratio * other.get(k, 0)) for k in one), Fraction(0))


@pytest.mark.parametrize("line", LINES, ids=str)
def test_all_events_at_all_levels(line: LineMechanism) -> None:
    table = line_table(line)
    privacy, one = table.privacy, 2**table.bits
    assert table.cap is not None
    assert isinstance(privacy, ApproxDP)
    ends = range(-table.cap - 1, table.cap + 1) if table.cap < 60 else [*range(-table.cap - 1, -table.cap + 6), *range(-20, 20)]
    by_level = {level: margins_at(table, level) for level in ends}
    for level, shares in by_level.items():
        assert sum(shares.values()) == one
        assert sum(share for k, share in shares.items() if k >= 0) == table.yes(level)
        if level + 1 in by_level:
            beside = by_level[level + 1]
            assert exceeds(shares, beside, privacy.exp_epsilon) <= Fraction(privacy.delta) * one
            assert exceeds(beside, shares, privacy.exp_epsilon) <= Fraction(privacy.delta) * one


@pytest.mark.parametrize("line", LINES, ids=str)
def test_what_a_margin_says_is_true(line: LineMechanism) -> None:
    """At every level: a p-value ≤ x on the false side at most as often as x; certain is never false; so is `at_least`."""
    table = line_table(line)
    assert table.cap is not None
    if table.cap > 60:
        return
    one, noise = 2**table.bits, table.noise
    for level in range(-table.cap, table.cap):
        truth, distance, shares = level >= 0, level + 1 if level >= 0 else -level, margins_at(table, level)
        told = {k: Margin(k, noise) for k in shares}
        false = {k: m for k, m in told.items() if m.answer is not truth}
        assert not any(m.certain for m in false.values())
        for x in {noise.p_value(k) for k in false}:
            assert sum(shares[k] for k, m in false.items() if noise.p_value(m.value) <= x) <= x * one
        for confidence in (Fraction(1), Fraction(19, 20), Fraction(1, 2), Fraction(999, 1000)):
            wrong = sum(shares[k] for k, m in told.items() if m.at_least(confidence) > (distance if m.answer is truth else 0))
            assert wrong <= (1 - confidence) * one


@pytest.mark.parametrize("line", LINES, ids=str)
def test_a_distance_is_seldom_off_by_more_than_it_says(line: LineMechanism) -> None:
    """At every level, also where levels are clipped: there it says that it may be more, and nowhere near the boundary."""
    table = line_table(line)
    assert table.cap is not None
    if table.cap > 60 or line.privacy == ApproxDP(0):  # whose answers are tosses of a coin
        return
    noise, cap = table.noise, table.cap
    off = noise.give_or_take
    for level in range(-cap - 20, cap + 20):
        near = 0
        for k, share in margins_at(table, level).items():
            seems, capped = k - noise.middle, Margin(k, noise).capped
            further = abs(level) > abs(seems) and (level >= 0) == (seems >= 0)
            near += share if abs(seems - level) <= off or (capped and further) else 0
            assert capped == (seems + off >= cap - 1 or seems - off <= -cap)
        assert near >= Fraction(95, 100) * 2**table.bits


def test_the_issues_numbers() -> None:
    noise = line_table(balanced(ApproxDP(1, "1e-6"))).noise
    assert (noise.least, noise.most, noise.cap, noise.bounded) == (-14, 14, 29, True)
    assert Margin(28, noise).certain
    assert Margin(28, noise).at_least(1) == 15
    assert not Margin(13, noise).certain
    assert Margin(14, noise).certain
    everything = [k for level in range(28, 60) for k in margins_at(line_table(balanced(ApproxDP(1, "1e-6"))), level)]
    assert all(Margin(k, noise).certain for k in everything)  # from 29 people on


def test_noise_that_is_one_entry_too_short_is_not_private() -> None:
    for line in LINES:
        noise = line_table(line).noise
        assert margin_is_private(noise.yes, noise.bits, line.privacy)  # type: ignore[arg-type]
        if noise.bounded and len(noise.yes) > 4 and line.privacy.delta < Fraction(1, 20):  # type: ignore[attr-defined]
            short = (0, *noise.yes[2:])
            assert not margin_is_private(short, noise.bits, line.privacy)  # type: ignore[arg-type]
    falling = (0, 2**127, 2**126, 2**128)
    assert not margin_is_private(falling, 128, ApproxDP(1, "1/2"))


@pytest.mark.parametrize("line", [LINES[0], LINES[3], LINES[7], LINES[11], LINES[-1]], ids=str)
def test_each_margin_comes_up_as_often_as_it_should(line: LineMechanism) -> None:
    """Chi-squared over all margins of six levels; p below 10^-9 fails."""
    from scipy.stats import chisquare

    coin, many = Coin(line), 200_000
    table = coin.table
    assert table.cap is not None
    for level in (0, -1, 3, -4, table.cap + 5, -table.cap - 5):
        expected = {k: share / 2**table.bits * many for k, share in margins_at(table, level).items()}
        drawn = coin.margins(np.full(many, level))
        values, counts = np.unique(drawn, return_counts=True)
        assert set(values.tolist()) <= set(expected)
        often = [k for k, n in expected.items() if n >= 10]
        seen = dict(zip(values.tolist(), counts.tolist(), strict=True))
        rest = many - sum(seen.get(k, 0) for k in often)
        others = many - sum(expected[k] for k in often)
        observed, wanted = [seen.get(k, 0) for k in often], [expected[k] for k in often]
        if others > 5:
            observed, wanted = [*observed, rest], [*wanted, others]
        if len(observed) > 1:
            scale = sum(observed) / sum(wanted)
            assert chisquare(observed, [w * scale for w in wanted]).pvalue > 1e-12


test_each_margin_comes_up_as_often_as_it_should = pytest.mark.false_alarm(3e-11)(
    test_each_margin_comes_up_as_often_as_it_should
)


@settings(max_examples=200)
@given(st.data())
def test_a_margin_is_decided_by_all_bits(data: st.DataObject) -> None:
    """The noise of dictated bits, in batches and one by one, is the largest whose bound is above them."""
    from unittest import mock

    coin = Coin(data.draw(st.sampled_from(LINES)))
    table, noise = coin.table, coin.table.noise
    near = data.draw(st.sampled_from(noise.yes)) + data.draw(st.integers(-2, 2))
    number = data.draw(st.sampled_from([min(max(near, 0), 2**table.bits - 1), 0, 2**table.bits - 1]))
    level = data.draw(st.integers(-table.reach - 2, table.reach + 2))
    rest = table.bits - 64
    parts = [(number >> rest).to_bytes(8, "little"), (number % 2**rest).to_bytes(rest // 8, "little")]
    want = {k for k in range(-3 * table.reach - 3, 3 * table.reach + 3) if _at_least(table, level, k) > number}
    expected = max(want)
    if not noise.bounded:
        assert table.cap is not None
        expected = min(max(expected, -table.cap), table.cap - 1)
    with mock.patch("duotone.release.coin.os.urandom", side_effect=list(parts)):
        answer = coin.answer(level)
    assert answer.margin == expected
    stream = mock.Mock(bytes=mock.Mock(side_effect=list(parts)))
    with mock.patch("duotone.release.coin.Keystream", return_value=stream):
        assert coin.margins(np.array([level])).tolist() == [expected]
    assert answer.answer is (number < table.yes(level))


def _at_least(table: Table, level: int, k: int) -> int:
    """Pr[level + N >= k]·2^bits, of a clipped level and noise as far as the table has it."""
    assert table.cap is not None
    at = min(max(level, -table.cap), table.cap - 1) - k - table.lowest
    if at < 0:
        return 0 if table.entries[0][0] == 0 else -1
    return table.entries[at][0] if at < len(table) else 2**table.bits


def test_levels_that_are_known_however_far_are_not_clipped() -> None:
    table = line_table(balanced(ApproxDP(1, "1e-6"))).unclipped()
    drawn = Coin(table).margins(np.array([1000, -5000, 0]))
    assert (np.abs(drawn - [1000, -5000, 0]) <= 14).all()
    with pytest.raises(DuotoneError, match="levels must be clipped"):
        line_table(balanced(ApproxDP(1))).unclipped()


def test_an_answer_is_compared_with_a_word_or_not_at_all() -> None:
    answer = Coin(balanced(ApproxDP(1, "1e-6"))).answer(100)
    assert answer == "yes"
    assert answer != "no"
    assert answer == True  # noqa: E712
    assert answer is not None
    for other in ("Yes", 1, 0.0):
        with pytest.raises(DuotoneError, match=f'compared with "yes" or "no", or with True or False, got {other!r}'):
            _ = answer == other
    assert same_answer(False, "no") is True


def test_refusals() -> None:
    from duotone.graphs import families
    from duotone.graphs.table import graph_table

    with pytest.raises(DuotoneError, match="only the table of yes and no by level"):
        _ = graph_table(families.figure_2(), ApproxDP(1)).noise
    with pytest.raises(DuotoneError, match="a dataset of a graph, or under one Rényi order, has no margin"):
        _ = Coin(graph_table(families.figure_2(), ApproxDP(1))).answer("h").certain
    margin = Margin(5, line_table(balanced(ApproxDP(1, "1e-6"))).noise)
    bad: Any
    for bad in (2, -1, float("nan"), "often"):
        with pytest.raises(DuotoneError):
            margin.at_least(bad)
    coin = Coin(balanced(ApproxDP(1, "1e-6")))
    for bad in (1.5, None, True):
        with pytest.raises(DuotoneError, match="neither a whole number nor an infinite"):
            coin.answer(bad)
    assert Noise((0, 2**127, 2**128), -1, 128, 2).give_or_take == 1
    assert list(itertools.islice(coin.margins(np.array([], dtype=np.int64)), 1)) == []
