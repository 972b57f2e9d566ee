"""How many groups say yes: levels against brute force over all small tables, and against a search in the larger world."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import DuotoneError
from duotone.questions import EnoughGroups, Neighbours, Threshold, Verdict, verify
from duotone.questions.enough_groups import Step, enough_levels
from support.running import examples

BOTH: list[Neighbours] = ["add-remove", "replace"]
Person = tuple[tuple[int, int], ...]
"""The groups of a person, each with a value there."""
COUNT = [Threshold(lambda _: 1, 0, 1, at_least) for at_least in (1, 2)]
SCORED = [Threshold(int, -1, 2, at_least, somebody=True) for at_least in (0, 1, 2)]
"""Averages above a limit: whoever joins may raise or lower them."""
VALUED: list[Person] = [((group, value),) for group in range(2) for value in (-1, 2)]
EMPTY: Person = ()


def those_in(*sizes: int, groups: int) -> list[Person]:
    """Somebody for each set of so many groups, with value 1."""
    return [tuple((g, 1) for g in each) for n in sizes for each in itertools.combinations(range(groups), n)]


def asked(question: Any, groups: int, at_least: int, **options: Any) -> EnoughGroups:
    return EnoughGroups(question, dict, groups, at_least, **options)


@pytest.mark.parametrize("question", [*COUNT, *SCORED])
@pytest.mark.parametrize(("groups", "at_least"), [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3)])
def test_a_person_in_one_group_makes_the_distance(question: Any, groups: int, at_least: int) -> None:
    domain = those_in(1, groups=groups) if question in COUNT else [((g, v),) for g in range(groups) for v in (-1, 2)]
    verdict = verify(asked(question, groups, at_least), [*domain, EMPTY], people=3 if groups < 3 else 2, reach=3)
    assert verdict == Verdict(True, True, verdict.checked, None), verdict.counterexample


@pytest.mark.parametrize("each", [1, 2, 3])
@pytest.mark.parametrize("question", COUNT)
@pytest.mark.parametrize("at_least", [1, 2, 3])
@pytest.mark.parametrize("neighbours", BOTH)
def test_people_in_several_groups_are_counted_safely(question: Any, at_least: int, neighbours: Neighbours, each: int) -> None:
    domain = [*those_in(*range(1, each + 1), groups=3), EMPTY]
    for one_way in (False, True):
        many = asked(question, 3, at_least, each=each, neighbours=neighbours, one_way=one_way)
        verdict = verify(many, domain, people=4 if each < 3 else 3, reach=1)
        assert verdict.private, (one_way, verdict.counterexample)


@pytest.mark.parametrize("question", SCORED)
@pytest.mark.parametrize("at_least", [1, 2])
def test_somebody_who_is_replaced_may_move_a_level_by_two(question: Any, at_least: int) -> None:
    replaced = partial(asked, question, 2, at_least, neighbours="replace")
    assert verify(replaced(), [*VALUED, EMPTY], people=5, reach=1).private
    assert not verify(replaced(one_way=True), [*VALUED, EMPTY], people=5, reach=1).private


def test_a_step_that_is_too_small_is_found() -> None:
    for each, allowed in ((2, 1), (3, 1), (3, 2)):
        domain = those_in(each, groups=each)
        assert verify(asked(COUNT[1], each, each, each=each), domain, people=4).private
        assert not verify(asked(COUNT[1], each, each, each=allowed), domain, people=4).private


def test_how_far_the_bound_is_from_the_distance() -> None:
    """At most a half where somebody is replaced, and about that where a person may be in two groups."""

    def worst(question: EnoughGroups, domain: Sequence[Person], most: int) -> float:
        tables = [t for n in range(most + 1) for t in itertools.combinations_with_replacement(domain, n)]
        far = 1.0
        for table in (t for t in tables if len(t) <= 4):
            yes, level = question.truth(table), question.level(table)
            others = [t for t in tables if question.truth(t) != yes]
            if question.neighbours == "replace":
                others = [t for t in others if len(t) == len(table)]
            away = [apart(table, other, question.neighbours) for other in others]
            claimed = level + 1 if level >= 0 else -level
            if away and min(away) <= most - len(table):
                assert claimed <= min(away)
                far = min(far, claimed / min(away))
        return far

    in_one, in_two = those_in(1, groups=2), those_in(1, 2, groups=2)
    assert worst(asked(COUNT[1], 2, 2), in_one, 7) == 1
    assert worst(asked(COUNT[1], 2, 1, each=2), in_two, 6) == 0.5  # two who are each in another group have to leave
    assert worst(asked(COUNT[1], 2, 2, neighbours="replace"), [*in_one, EMPTY], 8) == 0.5
    assert worst(asked(COUNT[1], 2, 2, neighbours="replace", one_way=True), [*in_one, EMPTY], 8) == 1
    assert worst(asked(COUNT[1], 2, 1, neighbours="replace", one_way=True), in_one, 8) == 1


def apart(one: Sequence[Person], other: Sequence[Person], neighbours: Neighbours) -> int:
    moved = sum(abs(one.count(person) - other.count(person)) for person in {*one, *other})
    return moved // 2 if neighbours == "replace" else moved


def ways(levels: tuple[int, ...], step: Step) -> Iterator[tuple[int, ...]]:
    """The states of the larger world after one step."""
    for moves in itertools.product(range(-step.one, step.one + 1), repeat=len(levels)):
        if sum(map(abs, moves)) <= step.groups * step.one:
            yield tuple(level + move for level, move in zip(levels, moves, strict=True))


def searched(levels: tuple[int, ...], at_least: int, step: Step, most: int) -> int | None:
    """The level by breadth-first search; None beyond `most` steps."""

    def truth(state: Iterable[int]) -> bool:
        return sum(level >= 0 for level in state) >= at_least

    yes, edge, seen = truth(levels), {levels}, {levels}
    for steps in range(1, most + 1):
        edge = {other for state in edge for other in ways(state, step)} - seen
        seen |= edge
        if any(truth(state) != yes for state in edge):
            return steps - 1 if yes else -steps
    return None


STEPS = [Step(), Step(2), Step(3), Step(1, 2), Step(2, 2)]
LEVELS = st.lists(st.integers(-3, 2), min_size=1, max_size=3)


@examples(60)
@given(LEVELS, st.data(), st.sampled_from(STEPS))
def test_it_is_the_distance_in_the_larger_world(levels: list[int], data: st.DataObject, step: Step) -> None:
    at_least = data.draw(st.integers(1, len(levels)))
    found = searched(tuple(levels), at_least, step, most=4)
    level = int(enough_levels(levels, at_least, step))
    assert level == found if found is not None else (level >= 4 or level < -4)


MANY = st.lists(st.integers(-40, 40) | st.sampled_from([np.inf, -np.inf]), min_size=1, max_size=30)


@given(MANY, st.data(), st.integers(1, 12), st.booleans(), st.booleans())
def test_one_person_moves_it_by_one_at_most(
    levels: list[float], data: st.DataObject, groups: int, replaced: bool, one_way: bool
) -> None:
    at_least, step = data.draw(st.integers(1, len(levels))), Step.of(groups, replaced=replaced, one_way=one_way)
    after, left = list(levels), step.groups * step.one
    for group in data.draw(st.permutations(range(len(levels)))):
        move = data.draw(st.integers(-min(step.one, left), min(step.one, left)))
        after[group] += move
        left -= abs(move)
    before, now = (float(enough_levels(each, at_least, step)) for each in (levels, after))
    assert before == now or abs(before - now) <= 1
    assert (before >= 0) == (sum(level >= 0 for level in levels) >= at_least)


@given(MANY, st.data(), st.sampled_from(STEPS), st.integers(1, 30))
def test_clipped_levels_are_right_up_to_where_they_are_clipped(
    levels: list[float], data: st.DataObject, step: Step, reach: int
) -> None:
    at_least, reach = data.draw(st.integers(1, len(levels))), reach * step.one
    clipped = np.clip(levels, -reach - 1, reach)
    last = reach // step.one
    full, cut = (np.clip(enough_levels(each, at_least, step), -last - 1, last) for each in (levels, clipped))
    assert full == cut


def test_many_tables_at_once() -> None:
    levels = np.random.default_rng(0).integers(-9, 9, size=(4, 5, 6))
    for at_least in range(1, 7):
        together = enough_levels(levels, at_least, Step(2))
        assert together.shape == (4, 5)
        each = [[float(enough_levels(own, at_least, Step(2))) for own in table] for table in levels]
        assert together.tolist() == each


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: asked(COUNT[0], 2, 3), "no more than there are"),
        (lambda: asked(COUNT[0], 2, 0), "1 group or more"),
        (lambda: asked(COUNT[0], 2, 1, each=0), "a person is in 1 group or more"),
        (lambda: asked(COUNT[0], 2, 1, neighbours="swap"), "neighbours must be"),
        (lambda: asked(Threshold(int, 0, 1, 1, neighbours="replace"), 2, 1), "people join and leave"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(DuotoneError, match=message):
        make()
