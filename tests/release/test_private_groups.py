"""Private groups: what is released of one is private over all events on all edges, and true, by an oracle in fractions."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy.stats import chisquare

from duotone import ApproxDP, Coin, DuotoneError, balanced, partition_selection, with_boundary
from duotone.line.groups import PrivateGroups
from duotone.line.noise import Margin
from duotone.line.table import line_table
from duotone.release.groups import answers_drawn, sizes_drawn

HIDDEN = "hidden"
HALF = Fraction(1, 2)
BUDGETS = [
    ApproxDP(1, "1e-6"), ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP("0.3", "1/50"), ApproxDP(4, "1e-9"),
    ApproxDP(0, "1/7"), ApproxDP(exp_epsilon="1.1", delta="0.3"),
]  # fmt: skip
LEVELS = range(-9, 9)
Outcomes = Mapping[Any, Fraction]


def phi(x: Fraction, privacy: ApproxDP) -> Fraction:
    ratio, delta = privacy.exp_epsilon, Fraction(privacy.delta)
    return min(Fraction(1), ratio * x + delta, 1 - (1 - x - delta) / ratio)


class Oracle:
    """The mechanism, written out: from the integers that are drawn from, or (`ideal`) from φ alone; a balanced answer."""

    def __init__(self, privacy: ApproxDP, at_least: int = 1, *, ideal: bool = False, boundary: str = "balanced") -> None:
        self.privacy, self.at_least, self.ideal = privacy, at_least, ideal
        self.selection = line_table(partition_selection(privacy))
        line = balanced(privacy) if boundary == "balanced" else with_boundary(privacy, boundary)
        self.table = line_table(line)
        self.certain = next(n for n in itertools.count() if self.shown(n) == 1)

    @cache  # noqa: B019
    def shown(self, people: int) -> Fraction:
        """s of as many as there are beyond the floor."""
        if people < self.at_least:
            return Fraction(0)
        if self.ideal:
            return phi(self.shown(people - 1), self.privacy)
        return Fraction(self.selection.yes(people - self.at_least), 2**self.selection.bits)

    @cache  # noqa: B019
    def yes(self, level: int) -> Fraction:
        """p by level."""
        if self.ideal and level < 0:
            return 1 - self.yes(-1 - level)
        if self.ideal:
            ratio, delta = self.privacy.exp_epsilon, Fraction(self.privacy.delta)
            return (ratio + delta) / (1 + ratio) if level == 0 else phi(self.yes(level - 1), self.privacy)
        return Fraction(self.table.yes(level), 2**self.table.bits)

    def margins(self, level: int) -> dict[int, Fraction]:
        """Pr[level + N = k], where Pr[level + N ≥ k] = p(level − k)."""
        span = range(level - len(self.table), level + len(self.table))
        return {k: w for k in span if (w := self.yes(level - k) - self.yes(level - k - 1))}

    def answered(self, people: int, level: int) -> Outcomes:
        """Hidden, or the margin of an answer."""
        within = people - self.certain
        return self._answered(people, min(max(level, -within), within - 1) if within > 0 else None)

    @cache  # noqa: B019
    def _answered(self, people: int, level: int | None) -> Outcomes:
        if level is not None:
            margins = self.margins(level)
        else:
            both = self.margins(0), self.margins(-1)
            margins = {k: sum((HALF * own.get(k, Fraction(0)) for own in both), Fraction(0)) for k in {*both[0], *both[1]}}
        return {HIDDEN: 1 - self.shown(people), **{k: self.shown(people) * w for k, w in margins.items()}}

    def sized(self, people: int) -> Outcomes:
        """Hidden, or people + N, with Pr[people + N ≥ k] = s(people − k + at_least): by how many are beyond the floor."""
        kept: dict[Any, Fraction] = {}
        for k in range(self.at_least, people + 1):
            kept[k] = self.shown(people - k + self.at_least) - self.shown(people - k + self.at_least - 1)
        return {HIDDEN: 1 - sum(kept.values(), Fraction(0)), **kept}


def exceeds(one: Outcomes, other: Outcomes, ratio: Fraction) -> Fraction:
    """By how much the chance of an event is above e^ε times the other's, at most."""
    return sum((max(Fraction(0), p - ratio * other.get(k, 0)) for k, p in one.items()), Fraction(0))


def clashes(by_state: Mapping[Any, Outcomes], edges: Any, privacy: ApproxDP) -> list[Any]:
    ratio, delta = privacy.exp_epsilon, Fraction(privacy.delta)
    both = (pair for edge in edges for pair in (edge, edge[::-1]))
    there = ((by_state[a], by_state[b]) for a, b in both if a in by_state and b in by_state)
    different = {(id(one), id(other)): (one, other) for one, other in there}  # those that are one object are compared once
    return [pair for pair in different.values() if exceeds(*pair, ratio) > delta]


def moves(state: tuple[int, int]) -> list[Any]:
    """Neighbours: a person joined, or another one's data is there (replace); the level is one apart at most."""
    people, level = state
    return [(state, (people + joined, level + by)) for joined in (0, 1) for by in (-1, 0, 1)]


@pytest.mark.parametrize("ideal", [False, True])
@pytest.mark.parametrize("boundary", ["balanced", "9/10"])
@pytest.mark.parametrize("at_least", [1, 5])
@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_all_events_on_all_edges(privacy: ApproxDP, at_least: int, boundary: str, ideal: bool) -> None:
    if ideal and (boundary != "balanced" or at_least != 1):
        return
    oracle = Oracle(privacy, at_least, ideal=ideal, boundary=boundary)
    last = oracle.certain + 11
    answered = {(n, level): oracle.answered(n, level) for n in range(last) for level in LEVELS}
    assert all(sum(outcomes.values()) == 1 for outcomes in answered.values())
    assert clashes(answered, (edge for state in answered for edge in moves(state)), privacy) == []
    sized = {n: oracle.sized(n) for n in range(last)}
    assert all(outcomes[HIDDEN] == 1 - oracle.shown(n) for n, outcomes in sized.items())
    assert clashes(sized, itertools.pairwise(sized), privacy) == []
    assert all(sized[n].keys() == {HIDDEN} for n in range(at_least) if sized[n][HIDDEN] == 1)


@pytest.mark.parametrize("privacy", BUDGETS[:4], ids=str)
def test_the_oracle_finds_what_is_not_private(privacy: ApproxDP) -> None:
    """An answer that is given too soon; and "shown, but too small for an answer", which would be a size without noise."""
    oracle, soon = Oracle(privacy), Oracle(privacy)
    soon.certain = max(2, oracle.certain - 2)
    states = list(itertools.product(range(oracle.certain + 5), LEVELS))
    edges = [edge for state in states for edge in moves(state)]
    assert clashes({(n, level): soon.answered(n, level) for n, level in states}, edges, privacy) != []
    silent = {
        (n, x): {HIDDEN: 1 - oracle.shown(n), "unanswered": oracle.shown(n)} if n < oracle.certain else oracle.answered(n, x)
        for n, x in states
    }
    assert clashes(silent, edges, privacy) != []


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_integers_are_next_to_the_ideal(privacy: ApproxDP) -> None:
    drawn, ideal = Oracle(privacy), Oracle(privacy, ideal=True)
    assert drawn.certain in (ideal.certain, ideal.certain + 1)
    assert all(0 <= ideal.shown(n) - drawn.shown(n) < Fraction(1, 2**60) for n in range(ideal.certain + 3))
    assert all(abs(ideal.yes(level) - drawn.yes(level)) < Fraction(1, 2**60) for level in LEVELS)


@pytest.mark.parametrize("boundary", ["balanced", "9/10"])
@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_what_an_answer_says_is_true(privacy: ApproxDP, boundary: str) -> None:
    """In groups of every size: a wrong answer has p ≤ x with x at most and is never certain; so of `at_least`."""
    oracle = Oracle(privacy, boundary=boundary)
    noise = replace(oracle.table.noise, tossed=True)
    for people, level in itertools.product([1, *range(oracle.certain - 1, oracle.certain + 9)], LEVELS):
        truth, distance = level >= 0, level + 1 if level >= 0 else -level
        told = {k: (Margin(k, noise), w) for k, w in oracle.answered(people, level).items() if k != HIDDEN}
        wrong = [(margin, w) for margin, w in told.values() if margin.answer is not truth]
        assert not any(margin.certain for margin, _ in wrong)
        for x in {noise.p_value(margin.value) for margin, _ in wrong}:
            assert sum(w for margin, w in wrong if noise.p_value(margin.value) <= x) <= x
        for confidence in (Fraction(1), Fraction(19, 20), HALF):
            most = {True: distance, False: 0}
            assert sum(w for m, w in told.values() if m.at_least(confidence) > most[m.answer is truth]) <= 1 - confidence


def test_the_coin_for_groups_without_an_answer_must_be_told() -> None:
    """By a p-value that does not know of it, a wrong answer would be too often too sure."""
    oracle = Oracle(ApproxDP(1, "1e-6"))
    noise = oracle.table.noise
    wrong = {k: w for k, w in oracle.answered(oracle.certain, -5).items() if k != HIDDEN and k >= 3}
    assert sum(wrong.values()) > noise.p_value(3)
    assert sum(wrong.values()) <= replace(noise, tossed=True).p_value(3)


@pytest.mark.parametrize("at_least", [1, 4])
@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_what_a_size_says_is_true_of_every_limit(privacy: ApproxDP, at_least: int) -> None:
    oracle = Oracle(privacy, at_least)
    groups = PrivateGroups(oracle.selection.unclipped(), at_least)
    low, middle = groups.noise, oracle.selection.noise.middle
    assert low.middle == 0
    for people, limit in itertools.product(range(oracle.certain + 12), (1, 3, oracle.certain, oracle.certain + 5)):
        sizes = {k - middle: w for k, w in oracle.sized(people).items() if w and k != HIDDEN}
        for above, noise in ((True, low), (False, low.turned)):
            truth = people >= limit if above else people <= limit
            told = {k: Margin(k - limit if above else limit - k, noise) for k in sizes}
            wrong = {k: margin for k, margin in told.items() if margin.answer is not truth}
            assert not any(margin.certain for margin in wrong.values())
            for x in {noise.p_value(margin.value) for margin in wrong.values()}:
                assert sum(sizes[k] for k, m in wrong.items() if noise.p_value(m.value) <= x) <= x
            distance = abs(people - limit) + (1 if truth else 0)
            for confidence in (Fraction(1), Fraction(19, 20)):
                most = {True: distance, False: 0}
                said = sum(sizes[k] for k, m in told.items() if m.at_least(confidence) > most[m.answer is truth])
                assert said <= 1 - confidence


@pytest.mark.false_alarm(1e-8)
@pytest.mark.parametrize("privacy", [BUDGETS[0], BUDGETS[1]], ids=str)
def test_each_outcome_is_as_frequent_as_it_should_be(privacy: ApproxDP) -> None:
    """Chi-squared over hidden and all sizes, and over hidden and all margins, of small and large groups; p < 10^-10 fails."""
    many = 100_000
    for at_least in (1, 3):
        oracle = Oracle(privacy, at_least)
        groups = PrivateGroups(oracle.selection.unclipped(), at_least)
        assert groups.always == oracle.certain
        middle = oracle.selection.noise.middle
        for people in (0, 2, oracle.certain // 2, oracle.certain, oracle.certain + 4):
            crowd = np.full(many, people)
            _, sizes = sizes_drawn(groups, crowd)
            alike({k if k == HIDDEN else k - middle: w for k, w in oracle.sized(people).items()}, sizes, many)
            for level in (7, -8, 0):
                places, margins = answers_drawn(groups, Coin(oracle.table), crowd, np.full(many, level))
                assert len(places) == len(margins)
                alike(oracle.answered(people, level), margins, many)


def alike(expected: Outcomes, drawn: np.ndarray, many: int) -> None:
    seen: dict[Any, int] = defaultdict(int, zip(*(x.tolist() for x in np.unique(drawn, return_counts=True)), strict=True))
    seen[HIDDEN] = many - len(drawn)
    assert {k for k, n in seen.items() if n} <= {k for k, w in expected.items() if w}
    often = [k for k, w in expected.items() if w * many >= 10]
    counts = [*(seen[k] for k in often), many - sum(seen[k] for k in often)]
    chances = [*(float(expected[k]) * many for k in often), float(1 - sum(expected[k] for k in often)) * many]
    if chances[-1] < 10:
        assert counts[-1] <= chances[-1] + 60
        counts, chances = counts[:-1], [c * sum(counts[:-1]) / sum(chances[:-1]) for c in chances[:-1]]
    if len(counts) > 1:
        assert chisquare(counts, chances).pvalue > 1e-10


def test_each_group_has_a_bound_of_its_own() -> None:
    """Groups of different sizes at once, around a chunk's end: those that are large are certain, on both sides."""
    privacy = ApproxDP(1, "1e-6")
    groups, table = PrivateGroups(line_table(partition_selection(privacy)).unclipped(), 1), line_table(balanced(privacy))
    people = np.tile([0, 28, 200, 300], 70_000)
    levels = np.tile([50, 50, 50, -50], 70_000)
    places, margins = answers_drawn(groups, Coin(table), people, levels)
    assert np.array_equal(places, np.flatnonzero(people))
    assert (margins[1::3] > 13).all()
    assert (margins[2::3] < -13).all()
    assert abs((margins[::3] >= 0).mean() - 0.5) < 0.02
    coin = Coin(table)
    for within in ([1, 2], [-1], [0.5]):
        with pytest.raises(DuotoneError, match=r"what levels are within|whole numbers"):
            coin.margins(np.array([1]), np.array(within))


test_each_group_has_a_bound_of_its_own = pytest.mark.false_alarm(1e-12)(test_each_group_has_a_bound_of_its_own)


@pytest.mark.parametrize("fails", ["duotone.release.coin.os.urandom", "duotone.line.groups.PrivateGroups.sizes"])
def test_no_traceback_shows_people_or_levels(fails: str) -> None:
    privacy = ApproxDP(1, "1e-6")
    groups, coin = PrivateGroups(line_table(partition_selection(privacy)).unclipped()), Coin(balanced(privacy))
    draws: list[Callable[[], Any]] = [lambda: sizes_drawn(groups, np.array([4711, 4712]))]
    if "coin" in fails:
        draws.append(lambda: answers_drawn(groups, coin, np.array([4711, 4712]), np.array([4713, 4714])))
    for draw in draws:
        with mock.patch(fails, side_effect=OSError("lost")), pytest.raises(OSError, match="lost") as caught:
            draw()
        frame = caught.value.__traceback__
        seen = []
        while frame is not None:
            seen.append(str(frame.tb_frame.f_locals))
            frame = frame.tb_next
        assert not any("471" in own for own in seen[1:])  # the first is this test's own


def test_the_numbers_of_the_theory() -> None:
    """At (1, 10^-6), against a budget that is halved between showing and answering."""
    whole, half = (Oracle(ApproxDP(e, d)) for e, d in ((1, "1e-6"), ("1/2", "5e-7")))
    assert (whole.certain, half.certain) == (28, 54)

    def bad(outcomes: Outcomes) -> float:
        return float(sum(w for k, w in outcomes.items() if k == HIDDEN or k < 0))

    assert round(bad(whole.answered(36, 3)), 3) == 0.013
    halved = 1 - half.shown(36) * half.yes(3)
    assert round(float(halved), 3) == 0.089
