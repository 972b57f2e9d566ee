"""Levels of averages of rows, with several rows per person: brute force on small tables, neighbours, and how far they are
from the distance."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import DuotoneError
from duotone.questions import Neighbours, Rates, verify
from duotone.questions.units import DifferenceUnits
from support.running import examples, thinned

BOTH: list[Neighbours] = ["add-remove", "replace"]
Row = tuple[str, int]
Person = tuple[Row, ...]


def of(arm: str) -> Callable[[Person], list[int]]:
    return lambda person: [x for v, x in person if v == arm]


def people_of(most: int, values: Sequence[int]) -> list[Person]:
    """Everybody with at most so many rows."""
    rows = [(arm, x) for arm in "AB" for x in values]
    return [p for n in range(most + 1) for p in itertools.combinations_with_replacement(rows, n)]


SMALL = [(1, (0, 1)), (1, (0, 1, 3)), (2, (0, 1)), (2, (-1, 2))]
COMPARED = [((1, 1), 0), ((1, 1), Fraction(1, 2)), ((10, 11), 0), ((1, 1), -1), ((2, 1), Fraction(1, 3)), ((1, 1), 3)]


@pytest.mark.slow
@pytest.mark.parametrize(("most", "values"), SMALL)
@pytest.mark.parametrize(("weights", "limit"), COMPARED)
@pytest.mark.parametrize(("neighbours", "strict"), thinned(itertools.product(BOTH, (True, False)), 2))
def test_neighbours_of_all_small_tables(
    most: int, values: tuple[int, ...], weights: Any, limit: Any, neighbours: Neighbours, strict: bool
) -> None:
    over: list[Person] = [
        (("A", values[-1]),) * (most + 1),
        (("A", values[0]), ("B", values[-1])) * most + (("A", values[-1]),),
    ]
    domain = [*people_of(most, values), *over]
    ends = (values[0], values[-1])
    question = Rates(of("A"), of("B"), (ends, ends), limit, most, weights, neighbours, strict=strict)
    verdict = verify(question, domain, people=3 if len(domain) < 9 else 2, reach=2)
    assert verdict.private, verdict.counterexample


def plainly(people: Sequence[Person], weights: Sequence[int], limit: Fraction, strict: bool) -> bool:
    a, b = ([x for person in people for x in of(arm)(person)] for arm in "AB")
    if not (a and b):
        return False
    apart = weights[0] * Fraction(sum(a), len(a)) - weights[1] * Fraction(sum(b), len(b))
    return apart > limit if strict else apart >= limit


def distance(
    people: Sequence[Person], domain: Sequence[Person], weights: Sequence[int], limit: Fraction, strict: bool,
    neighbours: Neighbours, most: int,
) -> int:  # fmt: skip
    """The fewest changes that flip the answer, or one more than `most`: over everybody who leaves, and who joins."""
    truth = plainly(people, weights, limit, strict)
    for changes in range(1, most + 1):
        for leave in range(changes + 1) if neighbours == "add-remove" else [changes]:
            join = changes - leave if neighbours == "add-remove" else changes
            for gone in set(itertools.combinations(sorted(people), min(leave, len(people)))):
                stay = list((Counter(people) - Counter(gone)).elements())
                for new in itertools.combinations_with_replacement(domain, join if neighbours == "add-remove" else len(gone)):
                    if plainly([*stay, *new], weights, limit, strict) != truth:
                        return changes
    return most + 1


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", BOTH)
def test_how_far_levels_are_from_distances(neighbours: Neighbours) -> None:
    """Of random small tables of three people or more none is more than one below it, and nine in ten are at it, where one
    row is not all that a person has."""
    draw, apart = random.Random(5), Counter[int]()
    for most, values in [(2, (0, 1)), (2, (0, 3)), (3, (0, 1))]:
        joining = [p for p in people_of(most, values) if len(p) == most or not p]
        for _ in range(60):
            strict, (weights, limit) = draw.random() < 0.5, draw.choice([((1, 1), 0), ((10, 11), 0)])
            people = draw.choices(draw.sample(people_of(most, (values[0], values[-1])), 3), k=draw.randrange(3, 9))
            ends = (values[0], values[-1])
            question = Rates(of("A"), of("B"), (ends, ends), limit, most, weights, neighbours, strict=strict)
            level, real = question.level(people), distance(people, joining, weights, Fraction(limit), strict, neighbours, 2)
            assert (level >= 0) == plainly(people, weights, Fraction(limit), strict)
            apart[real - min(int(level) + 1 if level >= 0 else -int(level), 3)] += 1
    assert apart.keys() <= {0, 1}, apart
    assert apart[1] <= apart[0] / 9, apart


rows = st.lists(st.tuples(st.sampled_from("AB"), st.integers(-9, 30)), max_size=7)
tables = st.lists(rows.map(tuple), max_size=14)


@examples(300)
@given(
    tables, rows.map(tuple), st.integers(1, 5), st.sampled_from([(1, 1), (3, 2), (1, 4)]),
    st.fractions(-9, 9, max_denominator=6), st.sampled_from(BOTH), st.booleans(), st.integers(1, 9),
)  # fmt: skip
def test_one_person_moves_a_level_by_one(
    people: list[Person],
    person: Person,
    most: int,
    weights: Any,
    limit: Fraction,
    neighbours: Neighbours,
    strict: bool,
    reach: int,
) -> None:
    question = Rates(of("A"), of("B"), ((-7, 20), (0, 11)), limit, most, weights, neighbours, reach, strict)
    level = question.level(people)
    assert (level >= 0) == question.truth(people)
    assert -reach - 1 <= level <= reach
    others = (
        [[*people, person]]
        if neighbours == "add-remove"
        else [[*people[:i], person, *people[i + 1 :]] for i in range(len(people))]
    )
    assert all(abs(question.level(other) - level) <= 1 for other in others)


@examples(100)
@given(tables, st.sampled_from(BOTH), st.booleans(), st.sampled_from([(1, 1), (3, 2)]), st.fractions(-9, 9, max_denominator=6))
def test_the_sign_is_that_of_the_averages(
    people: list[Person], neighbours: Neighbours, strict: bool, weights: Any, limit: Fraction
) -> None:
    question = Rates(of("A"), of("B"), ((-9, 30), (-9, 30)), limit, 7, weights, neighbours, strict=strict)
    assert (question.level(people) >= 0) == plainly(people, weights, limit, strict)


def test_someone_with_more_rows_counts_in_proportion() -> None:
    clicks: list[Person] = [(("A", 1),) * 4 + (("B", 0),) * 8, (("A", 0),)]
    question = Rates(of("A"), of("B"), ((0, 1), (0, 1)), Fraction(1, 2), 3, strict=False)
    assert question.truth(clicks)  # 1 of 3 rows on A, beside another one without a click
    assert not question.truth([*clicks, (("A", 0),)])


def test_what_is_refused() -> None:
    for low, reach, most in [(1, 9, 1), (0, 0, 1), (0, 9, 0)]:
        with pytest.raises(DuotoneError, match="needs lowest ≤ highest on both sides"):
            Rates(of("A"), of("B"), ((low, 0), (0, 1)), 0, most, reach=reach)
    with pytest.raises(DuotoneError, match="weights of a difference are positive"):
        Rates(of("A"), of("B"), ((0, 1), (0, 1)), 0, 1, (1, 0))


@pytest.mark.parametrize("neighbours", BOTH)
def test_what_a_preview_says_of_rows(neighbours: Neighbours) -> None:
    """A level is at least as far as `far` promises, and at most as far as `near` does."""
    draw, said = random.Random(8), Counter[str]()
    while min(said["far"], said["near"]) < 60:
        most, size, apart = draw.randint(1, 4), draw.randint(1, 25), draw.random()
        arms = [("A", max(0, 9 * apart), 9), ("B", 0, 9 * (1 - apart))]
        people = [
            tuple((arm, round(draw.uniform(low, high))) for _ in range(draw.randint(1, most)))
            for arm, low, high in arms for _ in range(size)
        ]  # fmt: skip
        limit, strict, margin = Fraction(draw.randint(-8, 8), 2), draw.random() < 0.5, draw.randint(1, 6)
        question = Rates(of("A"), of("B"), ((0, 9), (0, 9)), limit, most, (1, 1), neighbours, strict=strict)
        level = question.level(people)
        yes, distance = level >= 0, level + 1 if level >= 0 else -level
        first, second = ([x for person in people for x in of(arm)(person)] for arm in "AB")
        value = Fraction(sum(first), len(first)) - Fraction(sum(second), len(second))
        rows = most * (2 if neighbours == "replace" else 1)
        units = DifferenceUnits((Fraction(9), Fraction(9)), limit, Fraction(-9), Fraction(9), rows=rows)
        far, near = units.far(margin, size, yes), units.near(margin, size, yes)
        if far is not None and (value >= far if yes else value <= far):
            assert distance >= margin
            said["far"] += margin > 1
        if near is not None and (value <= near if yes else value >= near):
            assert distance <= margin
            said["near"] += 1
