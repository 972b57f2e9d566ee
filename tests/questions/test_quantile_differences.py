"""A quantile against another one, or against an average: every small dataset by brute force."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from duotone import DuotoneError
from duotone.questions import Difference, Neighbours, Verdict, verify
from support.running import EXHAUSTIVE, thinned

BOTH: list[Neighbours] = ["add-remove", "replace"]
PAIRS: list[Any] = [("1/2", "1/2"), ("1/4", "9/10"), (0, 0), (1, 1), (0, 1), ("2/3", "1/3"), ("1/2", None), (None, 1)]
LIMITS: list[Any] = [(0, True), (0, False), ("1/3", True), (-1, False)]
Value = Callable[[Any], int | None]
SIDES: tuple[Value, Value] = (
    lambda p: p[1] if p and p[0] == 1 else None,
    lambda p: p[1] if p and p[0] == 2 else None,
)


def plainly(values: Sequence[int], q: str | int | None) -> Fraction:
    """The average, or the quantile, from all values in order."""
    if q is None:
        return Fraction(sum(values), len(values))
    return Fraction(sorted(values)[max(1, math.ceil(Fraction(q) * len(values))) - 1])


def cases() -> list[Any]:
    """Every pair with every limit; by turns, unless it is to be exhaustive."""
    return thinned(itertools.product(PAIRS, LIMITS, BOTH), 3)


@pytest.mark.parametrize(("quantiles", "limit", "neighbours"), cases())
def test_groups_of_their_own_have_exact_levels(quantiles: Any, limit: Any, neighbours: Neighbours) -> None:
    question = Difference(*SIDES, ((0, 2), (0, 2)), limit[0], (1, 1), False, neighbours, 6, limit[1], quantiles)
    domain = [(1, 0), (1, 1), (1, 2), (2, 0), (2, 2), None]
    verdict = verify(question, domain, people=4 if EXHAUSTIVE else 3, reach=4 if neighbours == "replace" else 3)
    assert verdict == Verdict(True, True, verdict.checked, None), verdict.counterexample


@pytest.mark.parametrize(("quantiles", "limit", "neighbours"), cases())
def test_sides_that_share_people_have_a_safe_bound(quantiles: Any, limit: Any, neighbours: Neighbours) -> None:
    first, second = (lambda p: p[0]), (lambda p: p[1])
    question = Difference(first, second, ((0, 2), (0, 2)), limit[0], (1, 1), True, neighbours, 6, limit[1], quantiles)
    domain = [*itertools.product((None, 0, 2), repeat=2), (1, 1)]
    if not EXHAUSTIVE:
        domain = [person for person in domain if person not in ((None, None), (None, 0), (2, None), (0, 0))]
    verdict = verify(question, domain, people=3, reach=2)
    assert verdict.private, verdict.counterexample


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("weights", [(1, "6/5"), ("1/3", 2)])
def test_weights_and_bounds_of_their_own(neighbours: Neighbours, weights: Any) -> None:
    question = Difference(*SIDES, ((0, 2), (-1, 1)), "1/3", weights, False, neighbours, 5, True, ("1/2", "3/4"))
    verdict = verify(question, [(1, 0), (1, 2), (2, -1), (2, 1), None], people=3, reach=3)
    assert verdict == Verdict(True, True, verdict.checked, None), verdict.counterexample


@pytest.mark.parametrize("quantiles", PAIRS)
def test_the_truth_is_what_all_values_in_order_say(quantiles: Any) -> None:
    draw = random.Random(5)
    for _ in range(100):
        people = [(draw.choice((1, 2)), draw.randrange(9)) for _ in range(draw.randrange(12))]
        groups = [[v for g, v in people if g == group] for group in (1, 2)]
        for limit, strict in LIMITS:
            question = Difference(*SIDES, ((0, 8), (0, 8)), limit, strict=strict, quantiles=quantiles)
            there = all(groups)
            apart = plainly(groups[0], quantiles[0]) - plainly(groups[1], quantiles[1]) if there else Fraction(0)
            truth = there and (apart > Fraction(limit) if strict else apart >= Fraction(limit))
            assert question.truth(people) is truth
            assert (question.level(people) >= 0) is truth


def slow_turns(people: Sequence[Any], question: Difference, most: int) -> int:
    """Who leaves and who joins, each at every value: no order, no greed. Under add-remove."""
    yes = question.truth(people)
    newcomers = [(group, value) for group in (1, 2) for value in (0, 4)]
    for changes in range(1, most + 1):
        for leave in range(min(changes, len(people)) + 1):
            for left in set(itertools.combinations(sorted(people), len(people) - leave)):
                for joined in itertools.combinations_with_replacement(newcomers, changes - leave):
                    if question.truth([*left, *joined]) != yes:
                        return changes
    return most + 1


@pytest.mark.parametrize("quantiles", PAIRS[:6])
def test_larger_groups_against_every_choice(quantiles: Any) -> None:
    draw = random.Random(f"{quantiles}")
    for _ in range(60 if EXHAUSTIVE else 12):
        people = [(draw.choice((1, 2)), draw.randrange(5)) for _ in range(draw.randrange(4, 9))]
        question = Difference(*SIDES, ((0, 4), (0, 4)), draw.choice((-1, 0, 1)), reach=2, quantiles=quantiles)
        turns = slow_turns(people, question, 2)
        assert question.level(people) == (turns - 1 if question.truth(people) else -turns)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("shared", [False, True])
def test_the_values_next_to_the_quantile_tell_every_level_within_reach(neighbours: Neighbours, shared: bool) -> None:
    draw = random.Random(3)
    for _ in range(300):
        people = [(draw.choice((1, 2, 3)), draw.randrange(6)) for _ in range(draw.randrange(20))]
        limit, strict = draw.choice(LIMITS)
        far = Difference(*SIDES, ((0, 5), (0, 5)), limit, (1, 1), shared, neighbours, 40, strict, draw.choice(PAIRS))
        assert replace(far, reach=3).level(people) == min(max(far.level(people), -4), 3)


def test_quantiles_of_a_difference_are_between_0_and_1() -> None:
    with pytest.raises(DuotoneError, match="between 0 and 1"):
        Difference(*SIDES, ((0, 1), (0, 1)), 0, quantiles=("1/2", 2))
