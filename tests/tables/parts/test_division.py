"""Who is in which part: one person more or less moves nobody else, for any table and key."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone.tables.parts import division
from duotone.tables.parts.division import divided, part_of, places
from support.running import examples

KEY = bytes(range(16))
PEOPLE = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "ä", "a ", None]), st.integers(0, 3)), max_size=12)


def table(rows: list[tuple[Any, int]]) -> pa.Table:
    columns = {"who": pa.array([who for who, _ in rows], pa.string()), "x": pa.array([x for _, x in rows], pa.int64())}
    return pa.table(columns)


def contents(rows: list[tuple[Any, int]], unit: str | None, parts: int = 5) -> list[Counter[Any]]:
    return [
        Counter(map(tuple, zip(*part.to_pydict().values(), strict=True))) for part in divided(table(rows), unit, KEY, parts)
    ]


@examples(200)
@given(PEOPLE, st.randoms(use_true_random=False))
def test_a_person_more_or_less_changes_one_part(rows: list[tuple[Any, int]], random: Any) -> None:
    parts = contents(rows, "who")
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert contents(shuffled, "who") == parts
    assert sum(parts, Counter()) == Counter(row for row in rows if row[0] is not None)
    for person in {who for who, _ in rows} - {None}:
        without = contents([row for row in rows if row[0] != person], "who")
        changed = [i for i, (own, other) in enumerate(zip(parts, without, strict=True)) if own != other]
        assert changed == [part_of(person, KEY, 5)]


def test_rows_without_a_unit_never_count_and_other_units_are_what_they_are() -> None:
    assert contents([(None, 1), (None, 2)], "who") == [Counter()] * 5
    for units in (pa.array([1, 2, 1, None]), pa.array([True, False, True, None]), pa.array([b"1"[0], 2, None, 1], pa.int32())):
        where = places(pa.chunked_array([units]), 4, KEY, 101)
        known = [one.as_py() for one in units]
        assert [place == -1 for place in where] == [one is None for one in known]
        assert len({(one, place) for one, place in zip(known, where, strict=True) if one is not None}) == len({*known} - {None})
    assert part_of("1", KEY, 1001) == part_of(1, KEY, 1001)  # a file's text and a database's number name the same person


def test_keys_differ_and_parts_are_even() -> None:
    people = [f"p{i}" for i in range(5100)]
    one, other = ([part_of(who, key, 51) for who in people] for key in (KEY, b"another key"))
    assert one != other
    assert all(
        50 < many < 160 for many in Counter(one).values()
    )  # 100 each; beyond this once in 10^5 keys, and the key is fixed


def test_rows_are_drawn_anew_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The coupling of the proof: with the same draws for the rows that both tables have, one part differs by one row."""
    rows: list[tuple[Any, int]] = [("a", 1)] * 3 + [("b", 2)] * 4  # equal rows are rows of their own
    drawn = iter([np.arange(7, dtype=np.uint64), np.delete(np.arange(7), 3).astype(np.uint64)])
    monkeypatch.setattr(division, "_random", lambda _: next(drawn))
    where = [places(None, 7, KEY, 5), places(None, 6, KEY, 5)]
    assert [*where[0]] == [0, 1, 2, 3, 4, 0, 1]
    assert [*where[1]] == [0, 1, 2, 4, 0, 1]
    monkeypatch.undo()
    parts = contents(rows, None)
    assert sum(parts, Counter()) == Counter(rows)


@pytest.mark.false_alarm(1e-9)
def test_the_order_of_a_parts_rows_is_drawn() -> None:
    rows: list[tuple[Any, int]] = [("a", i) for i in range(20)]
    (first,) = {tuple(part["x"].to_pylist()) for part in divided(table(rows), "who", KEY, 1)}
    (second,) = {tuple(part["x"].to_pylist()) for part in divided(table(rows), "who", KEY, 1)}
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second  # the same once in 20! orders
