"""Levels of a difference of averages under replace, against a search over every number of people who leave and join."""

from __future__ import annotations

import itertools
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from duotone.questions import Difference
from support.running import examples

People = list[tuple[str, int]]
LOW, HIGH, REACH = -3, 30, 7
ARMS = {arm: (lambda p, arm=arm: p[1] if p[0] == arm else None) for arm in "AB"}
people = st.lists(
    st.tuples(st.sampled_from("AAABBBC"), st.one_of(st.integers(LOW, HIGH), st.sampled_from([LOW, HIGH, 0]))),
    min_size=1,
    max_size=16,
)


def is_yes(first: list[int], second: list[int], weights: tuple[int, int], limit: Fraction, strict: bool) -> bool:
    if not first or not second:
        return False
    apart = weights[0] * Fraction(sum(first), len(first)) - weights[1] * Fraction(sum(second), len(second))
    return apart > limit if strict else apart >= limit


def nearest(content: People, weights: tuple[int, int], limit: Fraction, strict: bool) -> int | None:
    """How many must be replaced: whoever leaves a side is at one of its ends, and whoever joins it at one of its bounds."""
    first, second = (sorted(v for arm, v in content if arm == side) for side in "AB")
    neither = len(content) - len(first) - len(second)
    yes = is_yes(first, second, weights, limit, strict)
    for changes in range(1, min(REACH, len(content)) + 1):
        for a, b in itertools.product(range(changes + 1), repeat=2):
            if a > len(first) or b > len(second) or not 0 <= changes - a - b <= neither:
                continue
            for to_a, to_b in itertools.product(range(changes + 1), repeat=2):
                if to_a + to_b > changes:
                    continue
                # a yes turns by a small first side and a large second one, and a no by the reverse
                lower, higher = (first, second) if yes else (second, first)
                gone, other = (a, b) if yes else (b, a)
                new, more = (to_a, to_b) if yes else (to_b, to_a)
                low = lower[: len(lower) - gone] + [LOW] * new
                high = higher[other:] + [HIGH] * more
                if is_yes(*((low, high) if yes else (high, low)), weights, limit, strict) != yes:
                    return changes
    return None


@examples(150)
@given(people, st.sampled_from([(1, 1), (1, 3), (5, 2)]), st.fractions(-40, 40, max_denominator=4), st.booleans())
def test_as_by_trying_everything(content: People, weights: tuple[int, int], limit: Fraction, strict: bool) -> None:
    question = Difference(
        ARMS["A"], ARMS["B"], ((LOW, HIGH), (LOW, HIGH)), limit, weights, neighbours="replace", reach=REACH, strict=strict
    )
    distance = nearest(content, weights, limit, strict) or REACH + 1
    assert question.level(content) == (distance - 1 if question.truth(content) else -distance)
