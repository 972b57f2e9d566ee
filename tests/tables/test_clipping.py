"""What notes say that clipping can change, against small tables: values as they are stored, and cut by plain Python."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, prepare
from duotone.model.notice import Notice

LOW, HIGH = 0, 4
WIDTH = HIGH - LOW
BEYOND = range(LOW - WIDTH, HIGH + WIDTH + 1)
"""Values within one width beyond the bounds."""
TABLE = pa.table({"g": ["a", "b"], "who": ["a", "b"], "x": [3, 9], "y": [1.5, 2.5], "b": [True, False]})
X, U = {"bounds": {"x": (LOW, HIGH)}}, {"unit": "who"}
Values = Sequence[int]


def cut(value: int) -> int:
    return min(max(value, LOW), HIGH)


def noted(question: str, **declared: Any) -> list[Notice]:
    with prepare(TABLE, question, ApproxDP(1, "1e-6"), **declared) as asked:
        return [note for note in asked.facts.notes if note.code not in ("no test", "bounds follow")]


def only(question: str, **declared: Any) -> Notice:
    (note,) = noted(question, **declared)
    return note


def moved(note: Notice) -> Fraction:
    """By how much the whole would move."""
    one, ten = (Fraction(note.fields[share].replace(",", "")) for share in ("one", "ten"))
    assert one * 10 == ten
    return one * 100


def average(values: Values) -> Fraction:
    return Fraction(sum(values), len(values))


def spread(values: Values) -> Fraction:
    return Fraction(sum((x - average(values)) ** 2 for x in values), 1) / len(values)


def small_tables() -> list[tuple[int, ...]]:
    """All of up to three values, and some of four to eight."""
    every = [table for n in (1, 2, 3) for table in itertools.product(BEYOND, repeat=n)]
    drawn = random.Random(5)
    return every + [tuple(drawn.choices(BEYOND, k=drawn.randint(4, 8))) for _ in range(700)]


@pytest.mark.parametrize(
    ("question", "statistic"), [("avg(x) > 2", average), ("variance_pop(x) > 2", spread), ("sum(x) > 2", sum)]
)
def test_nothing_moves_further_than_is_said(question: str, statistic: Callable[[Values], Fraction]) -> None:
    """The bound for the share of values that are cut holds for each table, and some table reaches it for an average or sum."""
    whole = moved(only(question, **X))
    if statistic is sum:
        whole /= 1000  # for each row
    most = Fraction(0)
    for table in small_tables():
        share = Fraction(sum(x != cut(x) for x in table), 1 if statistic is sum else len(table))
        apart = statistic(table) - statistic([cut(x) for x in table])
        assert abs(apart) <= share * whole
        assert statistic is not spread or apart >= 0  # as is said: higher
        most = max(most, abs(apart) / share) if share else most
    assert most == whole or statistic is spread


def test_a_difference_moves_both_ways() -> None:
    whole = moved(only("avg(x) filter (where g = 'a') > 2 * avg(x) filter (where g = 'b') + 1", **X))
    assert whole == 3 * WIDTH
    for a, b in itertools.product(BEYOND, repeat=2):
        apart = (a - 2 * b) - (cut(a) - 2 * cut(b))
        assert abs(apart) <= whole


RANKED: list[tuple[str, Callable[[list[int]], int]]] = [
    ("median(x)", lambda x: x[(len(x) - 1) // 2]),
    ("quantile(x, 0.9)", lambda x: x[-(-9 * len(x) // 10) - 1]),
    ("min(x)", min),
    ("max(x)", max),
]


@pytest.mark.parametrize(("ranked", "value"), RANKED)
def test_an_order_is_not_changed_within_bounds(ranked: str, value: Callable[[list[int]], int]) -> None:
    """So nothing is said of it: with a limit within the bounds, the answer on cut values is that on stored ones."""
    for sign, holds, limits in ((">", int.__gt__, range(LOW, HIGH)), (">=", int.__ge__, range(LOW + 1, HIGH + 1))):
        for limit in limits:
            assert noted(f"{ranked} {sign} {limit}") == []
            for table in small_tables():
                assert holds(value(sorted(table)), limit) == holds(value(sorted(map(cut, table))), limit)


@pytest.mark.parametrize("how", ["avg", "sum"])
def test_the_median_of_averages_of_cut_rows_may_change(how: str) -> None:
    """By people with a row that is cut, and no others; so it is said. A person's largest value is not changed."""
    assert noted("median(x) > 2", **U, per_unit="max") == []
    note = only("median(x) > 2", **U, **X, per_unit=how)
    assert (note.code, moved(note)) == ("clipped before reduced", Fraction(1))
    reduced = average if how == "avg" else sum
    assert any((reduced(rows) > 2) != (reduced(list(map(cut, rows))) > 2) for rows in itertools.product(BEYOND, repeat=2))


@pytest.mark.parametrize(("question", "most"), [("count(*) > 50", 1), ("share(b) > 0.5", 1), ("avg(x) > 2", WIDTH)])
def test_rows_beyond_those_of_one_person(question: str, most: int) -> None:
    """A person's rows are added up and cut to what two rows can have: a row beyond moves the sum by `most` at most."""
    declared = X if "x" in question else {}
    note = only(question, **U, max_rows=2, **declared)
    assert moved(note) == most * (1000 if "count" in question else 1)
    known: dict[str, list[Fraction]] = {"count": [Fraction(1)], "share": [Fraction(1, 2), Fraction(-1, 2)]}
    scores = known.get(question[:5], [Fraction(x - 2) for x in range(LOW, HIGH + 1)])
    for n in (3, 4, 5):
        for rows in itertools.product(scores, repeat=n):
            total, (low, high) = sum(rows, Fraction(0)), (2 * min([*scores, Fraction(0)]), 2 * max([*scores, Fraction(0)]))
            assert abs(total - min(max(total, low), high)) <= (n - 2) * most


@pytest.mark.parametrize(
    ("question", "declared"),
    [
        ("median(x) > 2", {}),
        ("count(*) > 3", {}),
        ("count(distinct who) > 3", U),
        ("share(x > 3) > 0.5", {}),
        ("mode(g) = 'a'", {}),
        ("max(x) > 3", U),
        ("avg(case when x > 3 then 1 else 0 end) > 0.5", {}),  # whose values all lie within their bounds
        ("median(x) filter (where g = 'a') > median(x) filter (where g = 'b') + 1", X),
    ],
)
def test_nothing_is_said_where_nothing_is_cut(question: str, declared: dict[str, Any]) -> None:
    assert noted(question, **declared) == []


@pytest.mark.parametrize(
    ("question", "declared"),
    [
        ("avg(x) > -1", {}),
        ("avg(x) <= 4", {}),
        ("sum(x) >= -1", {}),
        ("stddev(x) < 10", {}),
        ("variance(x) >= 0", {}),
        ("avg(x) filter (where g = 'a') > avg(x) filter (where g = 'b') - 5", {}),
        ("median(x) > -1", {**U, "per_unit": "avg"}),
    ],
)
def test_bounds_that_decide_are_named(question: str, declared: dict[str, Any]) -> None:
    """A limit that no value within the bounds misses."""
    assert only(question, **X, **declared).code == "bounds decide"


@pytest.mark.parametrize(
    ("question", "declared", "code", "whole"),
    [
        ("sum(x) > 2", {**U, "max_rows": 3, "bounds": {"x": (6, 10)}}, "clipped values", 10_000),
        ("sum(x) > 2 * count(*)", {}, "clipped values", 4000),
        ("sum(x) / sum(y) > 2", {"bounds": {"x": (0, 4), "y": (1, 5)}}, "clipped values", 12_000),
        ("median(x) > 2", {**U, "max_rows": 3, "bounds": {}}, "rows beyond", 1),
        ("select g from t group by g order by avg(x) desc limit 1", {"groups": ["a", "b"]}, "clipped values", 4),
        ("select g from t group by g order by sum(x) desc limit 1", {"groups": ["a", "b"]}, "clipped values", 4000),
        ("select g from t group by g order by count(*) desc limit 1", {**U, "max_rows": 2, "groups": ["a", "b"], "bounds": {}},
         "rows beyond", 1000),
        ("max(x) filter (where g = 'a') > max(x) filter (where g = 'b')", {}, "clipped quantiles", None),
        ("select g from t group by g order by quantile(x, 0.95) desc limit 1", {"groups": ["a", "b"]}, "clipped quantiles",
         None),
    ],
)  # fmt: skip
def test_other_kinds(question: str, declared: dict[str, Any], code: str, whole: int | None) -> None:
    note = only(question, **{**X, **declared})
    assert note.code == code
    assert whole is None or moved(note) == whole


def test_what_is_cut_alike_is_one_note() -> None:
    """With a direction, where a formula has only one."""
    note = only("avg(x) between 1 and 3", **X)
    assert str(note) == (
        "avg(x) >= 1 and avg(x) <= 3 are about clipped values: with 1% of them cut to [0, 4], by 4 on average, the average as "
        "stored is up to 0.04 away, with 10% up to 0.4, so near the limit the answer may be another"
    )
    assert len(noted("avg(x) > 1 and sum(x) > 3 and avg(x) < 3", **X)) == 2
    made = "case when x > 3 then 10 else 1 end"
    assert only(f"avg({made}) > 1.5", bounds={made: (0, 4)}).fields["way"] == "higher"
    assert only(f"sum({made}) > 3", bounds={made: (4, 20)}).fields["way"] == "lower"
