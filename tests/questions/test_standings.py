"""Which of several: standings against a search of every small table, under both relations."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone.questions.difference import Side
from duotone.questions.quantile import QuantileSide
from duotone.questions.which import Changes, Standing, first_that_holds, leading_count, leading_sum, leading_value

Person = Any
Table = tuple[Person, ...]
Answer = Callable[[Table], Any]
K = 3
"""Groups 0, 1 and 2; group 3 is none of them."""


def every_table(domain: Sequence[Person], most: int) -> Iterator[Table]:
    """All tables of up to `most` people, each as a sorted tuple."""
    for n in range(most + 1):
        yield from itertools.combinations_with_replacement(domain, n)


def neighbours(table: Table, domain: Sequence[Person], *, replaced: bool) -> set[Table]:
    order = {person: i for i, person in enumerate(domain)}
    fewer = {table[:i] + table[i + 1 :] for i in range(len(table))}
    if not replaced:
        return fewer | {tuple(sorted((*table, new), key=order.__getitem__)) for new in domain}
    return {tuple(sorted((*some, new), key=order.__getitem__)) for some in fewer for new in domain} - {table}


def search(table: Table, domain: Sequence[Person], answer: Answer, reach: int, *, replaced: bool) -> int:
    """How many people must be different for another answer, less one; `reach` if that many changes bring none."""
    own, seen, here = answer(table), {table}, {table}
    for steps in range(reach):
        here = {other for one in here for other in neighbours(one, domain, replaced=replaced)} - seen
        if any(answer(other) != own for other in here):
            return steps
        seen |= here
    return reach


def judge(
    standing: Callable[[Table], Standing],
    answer: Answer,
    domain: Sequence[Person],
    *,
    most: int,
    reach: int,
    replaced: bool,
    exact: bool,
) -> int:
    """Answers are true, neighbours' distances within 1 (and 0 if they differ), and distances right, or at least safe."""
    tables = list(every_table(domain, most))
    known = {table: standing(table) for table in every_table(domain, most + 1)}
    for table in tables:
        own = known[table]
        assert own.answer == answer(table), table
        for other in neighbours(table, domain, replaced=replaced):
            near = known[other]
            if own.answer == near.answer:
                assert abs(own.distance - near.distance) <= 1 or own.distance == near.distance, (table, other)
            else:
                assert own.distance == near.distance == 0, (table, other)
        true = search(table, domain, answer, reach, replaced=replaced)
        claimed = min(own.distance, reach)
        assert claimed == true if exact else 0 <= claimed <= true, (table, own, true)
    return len(tables)


def lead(values: Sequence[Any]) -> int:
    """The first of the largest values; None comes after all others. Written apart from the code under test."""
    best = 0
    for i, value in enumerate(values):
        if value is not None and (values[best] is None or value > values[best]):
            best = i
    return best


def counts_of(table: Table) -> list[int]:
    counts = Counter(table)
    return [counts[g] for g in range(K)]


@pytest.mark.parametrize("replaced", [False, True])
def test_counts(replaced: bool) -> None:
    judge(
        lambda table: leading_count(counts_of(table), 1 + replaced) if table or not replaced else Standing(0, 99),
        lambda table: lead(counts_of(table)),
        range(K + 1),
        most=6,
        reach=7,
        replaced=replaced,
        exact=True,
    )


@pytest.mark.parametrize("replaced", [False, True])
def test_the_smallest_count(replaced: bool) -> None:
    judge(
        lambda table: leading_count([-n for n in counts_of(table)], 1 + replaced) if table or not replaced else Standing(0, 99),
        lambda table: lead([-n for n in counts_of(table)]),
        range(K + 1),
        most=5,
        reach=6,
        replaced=replaced,
        exact=True,
    )


def by_group(table: Table) -> list[list[int]]:
    return [sorted(value for group, value in table if group == g) for g in range(K)]


RANGES = [(0, 2), (-1, 2), (-2, -1), (1, 2), (-2, 1), (0, 0)]


@pytest.mark.parametrize("ends", RANGES)
@pytest.mark.parametrize("replaced", [False, True])
def test_sums(ends: tuple[int, int], replaced: bool) -> None:
    changes = Changes(*ends, shared=False, replaced=replaced)

    def standing(table: Table) -> Standing:
        groups = by_group(table)
        return leading_sum([*map(sum, groups)], [*map(len, groups)], changes, len(table) if replaced else None)

    domain = [(g, v) for g in range(K) for v in dict.fromkeys((*ends, sum(ends) // 2))] + [(K, 0)]
    judge(
        standing,
        lambda table: lead([sum(own) if own else None for own in by_group(table)]),
        domain,
        most=3,
        reach=3,
        replaced=replaced,
        exact=not replaced,
    )


@pytest.mark.parametrize("ends", RANGES)
@pytest.mark.parametrize("replaced", [False, True])
def test_sums_where_one_person_is_in_several_groups(ends: tuple[int, int], replaced: bool) -> None:
    changes, values = Changes(*ends, shared=True, replaced=replaced), (None, *dict.fromkeys(ends))

    def columns(table: Table) -> list[list[int]]:
        return [[person[g] for person in table if person[g] is not None] for g in range(2)]

    def standing(table: Table) -> Standing:
        groups = columns(table)
        return leading_sum([*map(sum, groups)], [*map(len, groups)], changes, len(table) if replaced else None)

    judge(
        standing,
        lambda table: lead([sum(own) if own else None for own in columns(table)]),
        list(itertools.product(values, repeat=2)),
        most=3,
        reach=3,
        replaced=replaced,
        exact=False,
    )


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("q", [None, Fraction(1, 2), Fraction(0), Fraction(1)])
def test_averages_and_quantiles(q: Fraction | None, replaced: bool) -> None:
    def sides(groups: Sequence[Sequence[int]]) -> list[Any]:
        if q is None:
            return [Side(len(own), sum(own), own[::-1], own) for own in groups]
        return [QuantileSide.of(own, q, 4) for own in groups]

    def standing(table: Table) -> Standing:
        groups = by_group(table)

        def neither(first: int, second: int) -> int:
            return len(table) - len(groups[first]) - len(groups[second])

        return leading_value(sides(groups), (0, 2), 4, shared=False, neither=neither if replaced else None)

    def value(own: Sequence[int]) -> Fraction | None:
        if not own:
            return None
        return (
            Fraction(sum(own), len(own))
            if q is None
            else Fraction(own[max(0, -(-len(own) * q.numerator // q.denominator) - 1)])
        )

    domain = [(g, v) for g in range(K) for v in range(3)] + [(K, 0)]
    judge(
        standing,
        lambda table: lead([*map(value, by_group(table))]),
        domain,
        most=3,
        reach=3,
        replaced=replaced,
        exact=True,
    )


@pytest.mark.parametrize("replaced", [False, True])
def test_averages_of_shared_groups_are_safe_bounds(replaced: bool) -> None:
    def columns(table: Table) -> list[list[int]]:
        return [sorted(person[g] for person in table if person[g] is not None) for g in range(2)]

    def standing(table: Table) -> Standing:
        groups = [Side(len(own), sum(own), own[::-1], own) for own in columns(table)]
        return leading_value(groups, (0, 2), 4, shared=True, neither=(lambda _, __: len(table)) if replaced else None)

    judge(
        standing,
        lambda table: lead([Fraction(sum(own), len(own)) if own else None for own in columns(table)]),
        list(itertools.product((None, 0, 2), repeat=2)),
        most=3,
        reach=3,
        replaced=replaced,
        exact=False,
    )


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=4), st.integers(2, 4))
def test_conditions_one_after_the_other(levels: list[int], many: int) -> None:
    every = np.array([[level - i for level in levels] for i in range(many)])
    for column, (answer, distance) in zip(every.T.tolist(), first_that_holds(list(every)).tolist(), strict=True):
        holds = [i for i, level in enumerate(column) if level >= 0]
        assert answer == (holds[0] if holds else many)
        parts = [-1 - level for level in column[:answer]] + column[answer : answer + 1]
        assert distance == min(parts)


def test_no_condition_can_ever_change() -> None:
    assert first_that_holds([np.array([np.inf, -np.inf])]).tolist() == [[0, 2**53], [1, 2**53]]
