"""Which of several answers is true: small tables through the released path, and the forms that people use."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from duotone import ApproxDP, prepare
from duotone.model.terms import WhichTerms
from duotone.release.coin import Coin
from duotone.tables.prepared import Prepared

USUAL: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
COARSE = ApproxDP(exp_epsilon=2, delta="1/10")
"""A budget with few levels, so that small tables reach the last one."""
Row = tuple[Any, ...]
Table = tuple[tuple[Row, ...], ...]
"""People, each with rows."""
SCHEMA = pa.schema([("u", pa.int64()), ("g", pa.string()), ("x", pa.int64())])


def arrow(table: Table, *, unit: bool) -> pa.Table:
    rows = [(person if unit else None, *row) for person, own in enumerate(table) for row in own]
    return pa.table([list(column) for column in zip(*rows, strict=True)] if rows else [[], [], []], schema=SCHEMA)


def tables(people: Sequence[tuple[Row, ...]], most: int) -> Iterator[Table]:
    for n in range(most + 1):
        yield from itertools.combinations_with_replacement(people, n)


def neighbours(table: Table, people: Sequence[tuple[Row, ...]], *, replaced: bool) -> Iterator[Table]:
    order = {person: i for i, person in enumerate(people)}
    for i in range(len(table)):
        fewer = (*table[:i], *table[i + 1 :])
        if not replaced:
            yield fewer
        for person in people if replaced else ():
            yield tuple(sorted((*fewer, person), key=order.__getitem__))


def distribution(asked: Prepared, patch: pytest.MonkeyPatch) -> dict[str, Fraction]:
    """The chances of each answer on this table, through the released path: for every place that a coin may draw, the answer
    that is recorded, weighted by the number in the row that it is drawn from."""
    terms, drawn, said = asked.terms, list[Fraction](), list[str]()
    assert isinstance(terms, WhichTerms)
    recorded = WhichTerms.recorded

    def places(coin: Coin, levels: Any) -> Any:
        (level,) = levels.tolist()
        drawn.extend(coin.table.chances(level))
        return np.arange(len(drawn))

    def kept(self: WhichTerms, numbers: Iterable[int]) -> list[str]:
        said.extend(recorded(self, numbers))
        return said

    with patch.context() as patched:
        patched.setattr(Coin, "places", places)
        patched.setattr(WhichTerms, "recorded", kept)
        asked.release()
    assert sorted(said) == sorted(terms.answers)
    assert sum(drawn) == 1
    return dict(zip(said, drawn, strict=True))


def loss(first: Mapping[str, Fraction], second: Mapping[str, Fraction], ratio: Fraction) -> Fraction:
    """The least δ for this ratio, over all events."""
    return sum((max(Fraction(0), first[word] - ratio * second[word]) for word in first), Fraction(0))


ONE = [((g, x),) for g in "AB" for x in (0, 3)] + [(("C", 1),)]
OTHERS = [*ONE, (("D", 3),), ((None, 2),), (("A", None),)]
MANY = [(("A", 3), ("B", 0)), (("A", 0), ("A", 3)), (("B", 3),), (("C", 1), ("A", 1))]
BOUNDS = {"bounds": {"x": (0, 3)}}
LISTED = {"groups": {"g": ["A", "B", "C"]}}
OF_ROWS: list[tuple[str, dict[str, Any], bool]] = [
    ("case when avg(x) < 1 then 'low' when avg(x) < 2 then 'middle' else 'high' end", BOUNDS, True),
    ("bracket(avg(x), 1, 2)", BOUNDS, True),
    ("bracket(count(*), 1, 3)", {}, True),
    ("bracket(median(x), 1, 2)", BOUNDS, True),
    ("case when count(*) filter (where g = 'A') > 1 then 'A' when sum(x) > 5 then 'x' else 'A' end", BOUNDS, False),
    (
        "case when count(*) filter (where g = 'A') > count(*) filter (where g = 'B') then 'A' "
        "when count(*) filter (where g = 'B') > count(*) filter (where g = 'A') then 'B' else 'neither' end",
        {},
        True,
    ),
    ("mode(g)", LISTED, True),
    ("mode(g) filter (where g in ('B', 'A'))", {}, True),
    ("select g from t group by g order by count(*) limit 1", LISTED, True),
    ("select g from t where x > 0 group by g order by count(*) desc limit 1", LISTED, True),
    ("select g from t group by g order by sum(x) desc limit 1", LISTED | BOUNDS, True),
    ("select g from t group by g order by sum(x) limit 1", LISTED | BOUNDS, True),
    ("select g from t group by g order by avg(x) desc limit 1", LISTED | BOUNDS, True),
    ("select g from t group by g order by avg(x) limit 1", LISTED | BOUNDS, True),
    ("select g from t group by g order by avg(x > 1) desc limit 1", LISTED, True),
    ("select g from t group by g order by median(x) desc limit 1", LISTED | BOUNDS, True),
    ("select g from t group by g order by max(x) limit 1", LISTED | BOUNDS, True),
]
OF_PEOPLE: list[tuple[str, dict[str, Any]]] = [
    ("case when avg(x) < 1 then 'low' when avg(x) < 2 then 'middle' else 'high' end", {"per_unit": "avg"} | BOUNDS),
    ("bracket(count(distinct u), 1, 3)", {}),
    ("mode(g)", {"per_unit": "max"} | LISTED),
    ("select g from t group by g order by count(*) desc limit 1", {"max_rows": 2} | LISTED),
    ("select g from t group by g order by count(distinct u) limit 1", LISTED),
    ("select g from t group by g order by sum(x) desc limit 1", {"max_rows": 2} | LISTED | BOUNDS),
    ("select g from t group by g order by avg(x) desc limit 1", {"per_unit": "avg"} | LISTED | BOUNDS),
    ("select g from t group by g order by median(x) limit 1", {"per_unit": "max"} | LISTED | BOUNDS),
    ("select g from (select u, max(g) as g, sum(x) as s from t group by u) group by g order by count(*) desc limit 1", LISTED),
]


def judge(
    question: str, people: Sequence[tuple[Row, ...]], most: int, patch: pytest.MonkeyPatch, options: Mapping[str, Any]
) -> tuple[bool, Mapping[Table, dict[str, Fraction]]]:
    """Every small table and its neighbours, by exact fractions."""
    unit, replaced = "unit" in options, options.get("neighbours") == "replace"
    known: dict[Table, dict[str, Fraction]] = {}
    with prepare(arrow((), unit=unit), question, COARSE, **options) as first:
        exact = first.facts.basis == "exact distance"
        for table in tables(people, most):
            with first.on(arrow(table, unit=unit)) as asked:
                known[table] = distribution(asked, patch)
    ratio, delta = Fraction(2), Fraction(1, 10)
    for table, chances in known.items():
        for other in neighbours(table, people, replaced=replaced):
            assert loss(chances, known[other], ratio) <= delta, (table, other)
            assert loss(known[other], chances, ratio) <= delta, (table, other)
    return exact, known


@pytest.mark.parametrize("neighbours_", ["add-remove", "replace"])
@pytest.mark.parametrize(("question", "options", "exact"), OF_ROWS, ids=[question[:70] for question, *_ in OF_ROWS])
def test_every_small_table_is_private(
    question: str, options: dict[str, Any], exact: bool, neighbours_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = neighbours_ == "replace"
    said, known = judge(question, OTHERS if replaced else ONE, 2, monkeypatch, {**options, "neighbours": neighbours_})
    assert said == exact or replaced
    assert len({max(chances, key=chances.__getitem__) for chances in known.values()}) > 1


@pytest.mark.parametrize("neighbours_", ["add-remove", "replace"])
@pytest.mark.parametrize(("question", "options"), OF_PEOPLE, ids=[question[:70] for question, *_ in OF_PEOPLE])
def test_every_small_table_of_people_with_several_rows_is_private(
    question: str, options: dict[str, Any], neighbours_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(question, MANY, 2, monkeypatch, {**options, "unit": "u", "neighbours": neighbours_})
