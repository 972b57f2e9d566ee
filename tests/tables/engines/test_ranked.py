"""What many groups send of their far ends, against lists in plain Python."""

from __future__ import annotations

import random
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, prepare
from duotone.tables.engines.results import Ranked, in_order, nobody_ranked, numbers, ranked_in

ENDS = st.lists(st.one_of(st.none(), st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=9)), max_size=5)


def lists_of(places: Ranked, groups: int) -> list[list[int]]:
    return [places.of(group) for group in range(groups)]


def by_place(lists: list[list[int]]) -> list[list[int | None]]:
    return [list(column) for column in zip_longest(*lists)] if any(lists) else []


def read_back(places: Ranked) -> list[list[int | None]]:
    """The first of every group, then the second, …, each as often as people have it."""
    return [[int(v) if n else None for v, n in zip(values, people, strict=True)] for values, people in places]


@settings(max_examples=100)
@given(ENDS, st.integers(1, 6), st.booleans())
def test_lists_of_numbers_and_of_text_are_read_alike(ends: list[list[int] | None], reach: int, descending: bool) -> None:
    expected = [sorted(own or [], reverse=descending)[:reach] for own in ends]
    as_numbers = pa.chunked_array([pa.array(ends[:2], pa.list_(pa.int64())), pa.array(ends[2:], pa.list_(pa.int64()))])
    plain = pa.chunked_array([pa.array([own and ",".join(map(str, own)) for own in ends], pa.string())])
    starred = [own and ",".join(f"{v}*{own.count(v)}" for v in dict.fromkeys(own)) for own in ends]
    for column in (as_numbers, plain, pa.chunked_array([pa.array(starred, pa.string())])):
        places = ranked_in(column, reach, descending)
        assert lists_of(places, len(ends)) == expected
        assert places.farthest() == max((abs(v) for own in expected for v in own), default=0)
    assert read_back(ranked_in(as_numbers, reach, descending)) == by_place(expected)
    assert lists_of(in_order(expected), len(ends)) == expected
    assert lists_of(nobody_ranked(3), 3) == [[], [], []]
    assert read_back(nobody_ranked(3)) == []


@settings(max_examples=100)
@given(ENDS, st.lists(st.integers(0, 3), min_size=5, max_size=5), st.booleans())
def test_who_has_no_score_is_at_zero(ends: list[list[int] | None], absent: list[int], descending: bool) -> None:
    kept = [sorted(own or [], reverse=descending) for own in ends]
    joined = in_order(kept).joined(np.array(absent[: len(ends)], dtype=np.int64), descending)
    assert lists_of(joined, len(ends)) == [
        sorted(own + [0] * n, reverse=descending) for own, n in zip(kept, absent, strict=False)
    ]


@given(st.lists(st.one_of(st.none(), st.integers(-(2**90), 2**90), st.integers(-9, 9)), max_size=5))
def test_totals_of_any_length(totals: list[int | None]) -> None:
    texts = [None if total is None else str(total) for total in totals]
    assert numbers(pa.chunked_array([pa.array(texts, pa.string())])).tolist() == [total or 0 for total in totals]


@pytest.mark.slow
@pytest.mark.parametrize("sign", [">", ">=", "<", "<="])
def test_a_group_beside_others_is_as_alone(sign: str) -> None:
    """Among groups of very different sizes and totals, some beyond 64 bits, each has the level that it has by itself."""
    rng = random.Random(7)
    for low, high in ((-5, 9), (-(2**50), 2**50)):
        sizes = {"a": 0, "b": 1, "c": 3, "d": 40, "e": 3000}
        values = {key: [rng.choice([low, high, 1, 2, None]) for _ in range(n)] for key, n in sizes.items()}
        groups, xs = zip(*((key, x) for key, own in values.items() for x in own), strict=True)
        options: dict[str, Any] = {"bounds": {"x": (low, high)}}
        together = pa.table({"g": pa.array(groups), "x": pa.array(xs, pa.int64())})
        question = f"select g, avg(x) {sign} 1 group by g"
        budget = ApproxDP(1, "1e-6")
        with prepare(together, question, budget, groups=list(sizes), **options) as asked:
            levels = dict(zip(sizes, asked._levels()[2].tolist(), strict=True))
        for key, own in values.items():
            with prepare(pa.table({"x": pa.array(own, pa.int64())}), f"avg(x) {sign} 1", budget, **options) as alone:
                assert alone._levels()[2].tolist() == [levels[key]], (key, high)
