"""Private groups under one Rényi order: what is released of one keeps its price and its delta on all edges, exactly."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from duotone import Coin, balanced, partition_selection, with_boundary
from duotone.line.groups import PrivateGroups
from duotone.line.table import Table, line_table
from duotone.privacy.renyi import RenyiDP
from duotone.release.groups import answers_drawn, shown_drawn
from support.renyi import least_sum

BUDGETS = [
    RenyiDP(19, "2.2", "1e-8"), RenyiDP(2, "3/2", "1/10"), RenyiDP(5, "1.01", "1/50"), RenyiDP(40, 10**6, "1e-12"),
    RenyiDP(3, 1, "1/7"), RenyiDP(21, "1.06", "1e-9"),
]  # fmt: skip
LEVELS = range(-9, 9)
Outcomes = Mapping[str, Fraction]


def released(selection: Table, answer: Table, certain: int, people: int, level: int, at_least: int = 1) -> Outcomes:
    """Hidden, or the answer: written out, with levels clipped to as many as people are beyond the certain size."""
    shown = Fraction(selection.yes(people - at_least), 2**selection.bits) if people >= at_least else Fraction(0)
    yes = {at: Fraction(answer.yes(at), 2**answer.bits) for at in (*LEVELS, -1, 0)}
    beyond = people - certain
    inside = (yes[0] + yes[-1]) / 2 if beyond < 1 else yes[min(max(level, -beyond), beyond - 1)]
    return {"hidden": 1 - shown, "yes": shown * inside, "no": shown * (1 - inside)}


def clashes(privacy: RenyiDP, states: Mapping[tuple[int, int], Outcomes]) -> list[Any]:
    """The edges, in both directions, on which the price is not kept: a person joined, and the level is one apart at most."""
    seen, bad = set[Any](), []
    for (people, level), one in states.items():
        for other in (states.get((people + joined, level + by)) for joined in (0, 1) for by in (-1, 0, 1)):
            for pair in () if other is None else ((one, other), (other, one)):
                if (key := tuple(tuple(each.items()) for each in pair)) not in seen:
                    seen.add(key)
                    total = least_sum(privacy.order, privacy.delta, *pair)
                    bad += [pair] if total is None or total > privacy.price else []
    return bad


def tables(privacy: RenyiDP, boundary: str = "balanced") -> tuple[Table, Table, int]:
    selection = line_table(partition_selection(privacy))
    certain = next(n for n in itertools.count(1) if selection.yes(n - 1) == 2**selection.bits)
    return selection, line_table(balanced(privacy) if boundary == "balanced" else with_boundary(privacy, boundary)), certain


@pytest.mark.slow
@pytest.mark.parametrize("boundary", ["balanced", "9/10"])
@pytest.mark.parametrize("at_least", [1, 5])
@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_all_edges_keep_the_price_and_the_delta(privacy: RenyiDP, at_least: int, boundary: str) -> None:
    selection, answer, certain = tables(privacy, boundary)
    certain += at_least - 1
    assert PrivateGroups(selection, at_least).always == certain
    states = {
        (n, level): released(selection, answer, certain, n, level, at_least) for n in range(certain + 11) for level in LEVELS
    }
    assert all(sum(outcomes.values()) == 1 and min(outcomes.values()) >= 0 for outcomes in states.values())
    assert all(states[n, 0]["hidden"] == 1 for n in range(at_least))
    assert clashes(privacy, states) == []


@pytest.mark.parametrize("privacy", [BUDGETS[0], BUDGETS[1], BUDGETS[3]], ids=str)
def test_the_oracle_finds_what_is_not_private(privacy: RenyiDP) -> None:
    """An answer that is given too soon; levels that are not clipped; a size without noise, "too small for an answer"."""
    selection, answer, certain = tables(privacy)
    near = [(n, level) for n in range(certain - 4, certain + 4) for level in LEVELS]
    assert clashes(privacy, {at: released(selection, answer, max(1, certain - 2), *at) for at in near}) != []
    far = {(n, x): released(selection, answer, certain if n <= certain else 1, n, x) for n, x in near}
    assert clashes(privacy, far) != []
    silent = {}
    for n, x in near:
        said = released(selection, answer, certain, n, x)
        none = {"hidden": said["hidden"], "yes": Fraction(0), "no": Fraction(0), "none": 1 - said["hidden"]}
        silent[n, x] = none if n < certain else {**said, "none": Fraction(0)}
    assert clashes(privacy, silent) != []


def test_the_least_sum_is_the_least() -> None:
    """Against other ways to leave delta out, on a grid."""
    one, other = ({k: Fraction(n, 20) for k, n in zip("abc", ns, strict=True)} for ns in ((9, 7, 4), (4, 5, 11)))
    delta, steps = Fraction(1, 10), 40
    least = least_sum(3, delta, one, other)
    assert least is not None
    for i, j in itertools.product(range(steps + 1), repeat=2):
        if i + j <= steps:
            lacks = {"a": delta * i / steps, "b": delta * j / steps, "c": delta * (steps - i - j) / steps}
            assert least <= sum(max(Fraction(0), one[k] - lacks[k]) ** 3 / other[k] ** 2 for k in one)


@pytest.mark.false_alarm(1e-8)
@pytest.mark.parametrize("at_least", [1, 4])
def test_each_outcome_is_as_frequent_as_it_should_be(at_least: int) -> None:
    """Chi-squared over hidden, yes and no of small and large groups; p < 10^-10 fails."""
    many, privacy = 100_000, BUDGETS[0]
    selection, answer, certain = tables(privacy)
    groups, certain = PrivateGroups(selection, at_least), certain + at_least - 1
    for people in (0, 3, certain // 2, certain, certain + 1, certain + 4):
        crowd = np.full(many, people)
        for level in (7, -8, 0):
            expected = released(selection, answer, certain, people, level, at_least)
            places, drawn = answers_drawn(groups, Coin(answer), crowd, np.full(many, level))
            assert len(places) == len(drawn)
            alike(expected, [many - len(drawn), int(drawn.sum()), len(drawn) - int(drawn.sum())])
        places, ones = shown_drawn(groups, crowd)
        assert ones.tolist() == [1] * len(places)
        alike({"hidden": expected["hidden"], "shown": 1 - expected["hidden"]}, [many - len(places), len(places)])


def alike(expected: Outcomes, counts: list[int]) -> None:
    chances = [float(chance) * sum(counts) for chance in expected.values()]
    assert all(count == 0 for count, chance in zip(counts, chances, strict=True) if chance == 0)
    often = [(count, chance) for count, chance in zip(counts, chances, strict=True) if chance >= 10]
    assert sum(count for count, _ in often) >= sum(counts) - 60
    if len(often) > 1:
        seen, wanted = map(np.array, zip(*often, strict=True))
        assert chisquare(seen, wanted * seen.sum() / wanted.sum()).pvalue > 1e-10


def test_a_delta_next_to_nothing_still_selects() -> None:
    """Some group is shown for certain, however small delta is: bits are added until there is room for it."""
    for delta in ("1e-25", "1e-60"):
        selection, answer, certain = tables(RenyiDP(19, "2.2", delta))
        assert answer.yes(len(answer.blue) - 1) == 2**answer.bits
        assert selection.yes(0) == 2**selection.bits * Fraction(delta) // 1
        assert PrivateGroups(selection).always == certain < 400
