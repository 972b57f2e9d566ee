"""Groups that are computed from a row: the same people and levels as in groups by a column that holds what Python computes."""

from __future__ import annotations

import datetime
import itertools
import random
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, ask, prepare
from duotone.tables.prepared import levels_of_all

P = ApproxDP(1, "1e-6")
KEYS: Mapping[str, tuple[Callable[[dict[str, Any]], Any], pa.DataType]] = {
    "year(day)": (lambda r: r["day"] and r["day"].year, pa.int64()),
    "date_trunc('month', day)": (lambda r: r["day"] and r["day"].replace(day=1), pa.date32()),
    "case when x > 3 then 'high' when x <= 3 then 'low' end": (
        lambda r: None if r["x"] is None else "high" if r["x"] > 3 else "low", pa.string()
    ),
    "x > 3": (lambda r: None if r["x"] is None else r["x"] > 3, pa.bool_()),
    "lower(town)": (lambda r: r["town"] and r["town"].lower(), pa.string()),
    "10 * floor(x / 3)": (lambda r: None if r["x"] is None else 10 * (r["x"] // 3), pa.int64()),
}  # fmt: skip


def table(rows: int = 150, seed: int = 5) -> pa.Table:
    draw = random.Random(seed)
    made = [
        {
            "person": draw.randrange(40),
            "x": draw.choice([0, 1, 3, 4, 8, None]),
            "town": draw.choice(["Rome", "ROME", "Oslo", None]),
            "day": draw.choice(
                [None, *(datetime.date(y, m, d) for y, m, d in itertools.product((1, 2020, 9999), (1, 12), (1, 31)))]
            ),
        }
        for _ in range(rows)
    ]
    plain = pa.table({name: [row[name] for row in made] for name in made[0]})
    for i, (of, kind) in enumerate(KEYS.values()):
        plain = plain.append_column(f"key{i}", pa.array([of(row) for row in made], kind))
    return plain


TABLE = table()


def levels(question: str, **options: Any) -> dict[Any, Any]:
    with prepare(TABLE, question, P, **options) as asked:
        keys, people, (each,) = levels_of_all([asked])
    return dict(zip(keys, zip(people.tolist(), each.tolist(), strict=True), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("key", "stored"), [(key, f"key{i}") for i, key in enumerate(KEYS)])
def test_as_by_a_column(key: str, stored: str) -> None:
    for answer, options in (
        ("count(*) > 9", {}),
        ("count(distinct person) > 5", {"unit": "person", "max_groups": 2}),
        ("avg(x) > 2", {"bounds": {"x": (0, 9)}}),
    ):
        own, other = (levels(f"select {by}, {answer} from t group by {by}", **options) for by in (key, stored))
        assert own == other != {}
        listed = [*own][:2]
        by = (levels(f"select {by}, {answer} from t group by {by}", groups=listed, **options) for by in (key, stored))
        assert next(by) == next(by)


@pytest.mark.slow
def test_by_place_and_by_name() -> None:
    by_key = levels("select year(day), count(*) > 9 from t group by year(day)")
    for shape in (
        "select year(day), count(*) > 9 from t group by 1",
        "select year(day) as y, count(*) > 9 from t group by y",
        "select year(Day) as y from t group by YEAR(day) having count(*) > 9",
        "select (year(day)), count(*) > 9 from t group by (year(day))",
    ):
        assert levels(shape) == by_key


def test_a_column_comes_before_a_name() -> None:
    with prepare(TABLE, "select x, lower(town) as y, count(*) > 9 from t group by x, y", P) as asked:
        assert asked.by == ("x", "LOWER(town)")


def test_a_listed_group_that_nobody_is_in() -> None:
    answers = ask(TABLE, "select year(day), count(*) >= 1 from t group by 1", ApproxDP(50, "1e-9"), groups=[(2020,), (1999,)])
    assert answers.answers == {(2020,): True, (1999,): False}
