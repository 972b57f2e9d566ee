"""Table questions from SQL to level, on the engine, against brute force over all small tables."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, DuotoneError, audit_answers, prove
from duotone.cli.app import main
from duotone.questions import Neighbours, verify
from duotone.tables.ask import prepare
from duotone.tables.engines.query import People, _one_pass, _plan
from duotone.tables.prepared import Prepared

P = ApproxDP(1, "1e-6")
BOTH: list[Neighbours] = ["add-remove", "replace"]
Row = tuple[Any, Any]
"""A vote (or an arm) and a value."""
Person = tuple[Row, ...]


def table(datasets: Sequence[Sequence[Person]]) -> pa.Table:
    rows = [(d, f"{d}-{i}", *row) for d, people in enumerate(datasets) for i, person in enumerate(people) for row in person]
    columns = list(zip(*rows, strict=True)) or [()] * 4
    kinds = {"d": pa.int64(), "u": pa.string(), "v": pa.string(), "x": pa.int64()}
    return pa.table({name: pa.array(column, kind) for (name, kind), column in zip(kinds.items(), columns, strict=True)})


def levels(prepared: Prepared, count: int, by: str | None = "d") -> list[int]:
    """Levels as they are released from; of all datasets at once, the engine groups by dataset, from a list of all of them."""
    if by is not None:
        prepared = dataclasses.replace(prepared, by=(by,), most=2**31 - 1, listed=tuple((d,) for d in range(count)))
    keys, _, found = prepared._levels()
    assert keys == (prepared.listed or ((),))
    return [int(level) for level in found]


@dataclass(frozen=True)
class OnTheEngine:
    """The question as brute force sees it: truth by plain Python, level by the engine."""

    reference: Callable[[Sequence[Person]], bool]
    known: dict[tuple[Person, ...], float]
    neighbours: Neighbours

    def truth(self, people: Sequence[Person]) -> bool:
        return self.reference(people)

    def level(self, people: Sequence[Person]) -> float:
        return self.known[tuple(people)]


def check(sql: str, reference: Callable[[Sequence[Person]], bool], domain: Sequence[Person], neighbours: Neighbours,
          *, people: int = 3, reach: int = 3, **options: Any) -> None:  # fmt: skip
    most = people + (reach if neighbours == "add-remove" else 0)
    datasets = [d for n in range(most + 1) for d in itertools.combinations_with_replacement(domain, n)]
    prepared = prepare(table(datasets), sql, P, neighbours=neighbours, **options)
    found = levels(prepared, len(datasets))
    question = OnTheEngine(reference, dict(zip(datasets, found, strict=True)), neighbours)
    verdict = verify(question, domain, people=people, reach=min(reach, 5))
    assert verdict.private, (sql, verdict.counterexample, [question.level(d) for d in verdict.counterexample or ()])
    assert (prepared.basis == "safe bound") == is_bound(sql, "max_rows" in options), sql
    if prepared.basis == "exact distance":
        assert verdict.exact, (sql, verdict.counterexample, [question.level(d) for d in verdict.counterexample or ()])


def is_bound(sql: str, several: bool) -> bool:
    """Which questions are known by a bound only: combinations, ratios that are to be large, and counts that are compared for
    equality with each other, or stepped over by someone with several rows."""
    if sql in SIMPLE:
        return False
    if "mode(v) <>" in sql:  # and somebody there
        return True
    ratio = "/" in sql and f"{YES} / {NO}" in sql and any(f" {sign} " in sql for sign in (">", ">="))
    return " and " in sql or " or " in sql or ratio or sql in EQUAL or (" = 2" in sql and several)


YES, NO, POSITIVE = (f"count(*) filter (where {c})" for c in ("v = 'Y'", "v = 'N'", "x > 0"))
SIMPLE = ["count(*) between 0 and 2", "count(*) >= 0 and count(*) > 2", "count(*) < 0 or count(*) > 2"]
SIMPLE += [f"{YES} / {NO} {limit}" for limit in (">= 0", "> -1", ">= -1")]
"""Combinations of which one part alone can change."""
EQUAL = [
    f"{YES} = {NO}",
    f"2 * {YES} = 4",
    f"not {YES} / {NO} <= 1 and count(*) > 0",
    f"1 < {YES} / {NO}",
    f"-{YES} / {NO} < -1",
]


def alone(*rows: Row) -> list[Person]:
    return [(row,) for row in rows]


def flat(people: Sequence[Person]) -> list[Row]:
    return [row for person in people for row in person]


def values(people: Sequence[Person], low: int = -99, high: int = 99) -> list[int]:
    return [min(max(x, low), high) for _, x in flat(people) if x is not None]


def votes(people: Sequence[Person]) -> Counter[Any]:
    return Counter(v for v, _ in flat(people))


def mean(numbers: Sequence[int]) -> Fraction:
    return Fraction(sum(numbers), len(numbers))


def lower_quantile(numbers: Sequence[int], q: Fraction) -> int:
    return sorted(numbers)[math.ceil(q * len(numbers)) - 1]


def leads(people: Sequence[Person], winner: str) -> bool:
    told = Counter(v for v, _ in flat(people) if v is not None)
    return told[winner] > max((n for v, n in told.items() if v != winner), default=0)


def beats(people: Sequence[Person], limit: Fraction, strict: bool) -> bool:
    a, b = ([min(max(x, 0), 3) for v, x in flat(people) if v == arm and x is not None] for arm in "AB")
    return bool(a and b) and (mean(a) - mean(b) > limit if strict else mean(a) - mean(b) >= limit)


VOTES = alone(("Y", 0), ("N", 0), (None, 0))
VALUES = alone(("a", 0), ("a", 1), ("a", 3), ("a", None))
WIDE = alone(("a", -9), ("a", 0), ("a", 2), ("a", 40))
ARMS = alone(("A", 0), ("A", 3), ("B", 0), ("B", 2), ("C", 1))
ENDS = alone(("A", 0), ("A", 3), ("B", 0), ("B", 3), ("C", 1))
HALF = Fraction(1, 2)
TO3, TO2 = {"x": (0, 3)}, {"x": (-2, 3)}


SETTLED = [(">", "3"), (">", "4"), (">=", "4"), ("<", "0"), ("<", "-1"), ("<=", "-1")]
SWAPPED = str.maketrans("AB", "BA")
SOME = alone(("Y", 0), ("Y", 1), ("N", 1), ("N", 0))


def divided(some: int, every: int, sign: str, limit: str) -> bool:
    return every > 0 and of(sign)(Fraction(some, every), Fraction(limit))


def of(sign: str) -> Callable[[Any, Any], bool]:
    return {">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b}[sign]


CASES: list[tuple[str, Callable[[Sequence[Person]], bool], list[Person], dict[str, Any]]] = [
    ("count(*) > 2", lambda p: len(flat(p)) > 2, VOTES, {}),
    ("count(*) < 2", lambda p: len(flat(p)) < 2, VOTES, {}),
    ("count(*) = 2", lambda p: len(flat(p)) == 2, VOTES, {}),
    ("count(*) filter (where v = 'Y') <> 1", lambda p: votes(p)["Y"] != 1, VOTES, {}),
    ("count(v) >= 2", lambda p: votes(p)["Y"] + votes(p)["N"] >= 2, VOTES, {}),
    ("count(*) filter (where v = 'Y') >= 2", lambda p: votes(p)["Y"] >= 2, VOTES, {}),
    ("count(case when v = 'Y' then 1 end) >= 2", lambda p: votes(p)["Y"] >= 2, VOTES, {}),
    ("sum(case when v = 'Y' then 1 else 0 end) >= 2", lambda p: votes(p)["Y"] >= 2, VOTES, {}),
    ("count(*) filter (where v = 'Y') > count(*) filter (where v = 'N')", lambda p: votes(p)["Y"] > votes(p)["N"], VOTES, {}),
    ("2 * count(*) filter (where v = 'Y') - count(*) > 1/2", lambda p: 2 * votes(p)["Y"] - len(flat(p)) > 0.5, VOTES, {}),
    ("count(*) filter (where v = 'Y') / count(*) > 0.5", lambda p: bool(p) and votes(p)["Y"] > len(flat(p)) / 2, VOTES, {}),
    ("count(*) filter (where v = 'Y') / count(v) >= 1/2",
     lambda p: (n := votes(p)["Y"] + votes(p)["N"]) > 0 and votes(p)["Y"] >= n / 2, VOTES, {}),
    ("avg(v = 'Y') >= 2/3", lambda p: (n := votes(p)["Y"] + votes(p)["N"]) > 0 and 3 * votes(p)["Y"] >= 2 * n, VOTES, {}),
    ("avg(v = 'Y') < 1/3", lambda p: (n := votes(p)["Y"] + votes(p)["N"]) > 0 and 3 * votes(p)["Y"] < n, VOTES, {}),
    ("bool_or(v = 'Y')", lambda p: votes(p)["Y"] > 0, VOTES, {}),
    ("bool_and(v = 'Y')", lambda p: votes(p)["Y"] > 0 and votes(p)["N"] == 0, VOTES, {}),
    ("not count(*) filter (where v = 'Y') >= 2", lambda p: votes(p)["Y"] < 2, VOTES, {}),
    ("mode(v) = 'Y'", lambda p: leads(p, "Y"), VOTES, {}),
    ("mode(v) <> 'B'", lambda p: bool(p) and not leads(p, "B"), ARMS[::2], {}),
    ("select count(*) > 1 from t where v = 'Y'", lambda p: votes(p)["Y"] > 1, VOTES, {}),
    ("select avg(x) > 1 from t where v = 'A'",
     lambda p: bool(a := [x for v, x in flat(p) if v == "A"]) and mean(a) > 1, ARMS, {"bounds": TO3}),
    ("count(*) > 1 and count(*) filter (where v = 'Y') < 2", lambda p: len(p) > 1 and votes(p)["Y"] < 2, VOTES, {}),
    ("count(*) > 3 or bool_or(v = 'Y')", lambda p: len(p) > 3 or votes(p)["Y"] > 0, VOTES, {}),
    ("sum(x) > 3", lambda p: sum(values(p, 0, 3)) > 3, VALUES, {"bounds": TO3}),
    ("sum(x) <= 2", lambda p: sum(values(p, -2, 3)) <= 2, WIDE, {"bounds": TO2}),
    ("sum(x) >= -1", lambda p: sum(values(p, -2, 3)) >= -1, WIDE, {"bounds": TO2}),
    ("sum(x) > count(*)", lambda p: sum(values(p, 0, 3)) > len(flat(p)), VALUES, {"bounds": TO3}),
    *(
        (f"avg(x) {sign} {limit}", lambda p, s=sign, t=limit: bool(v := values(p, 0, 3)) and of(s)(mean(v), Fraction(t)),
         VALUES, {"bounds": TO3})
        for sign in (">", ">=", "<", "<=")
        for limit in ("1", "3/2", "0", "-1", "3", "4", "0.3")
        if (sign, limit) not in SETTLED
    ),
    *(
        (f"{name} {sign} 1", lambda p, s=sign, f=f: bool(v := values(p)) and of(s)(f(v), 1), VALUES, {})
        for sign in (">", ">=", "<", "<=")
        for name, f in [
            ("median(x)", lambda v: lower_quantile(v, HALF)),
            ("quantile(x, 0.25)", lambda v: lower_quantile(v, Fraction(1, 4))),
            ("min(x)", min),
            ("max(x)", max),
        ]
    ),
    *(
        (f"avg(x) filter (where v = 'A') {sign} avg(x) filter (where v = 'B') + {limit}",
         lambda p, s=sign, t=limit: beats(p, Fraction(t), s == ">"), ENDS, {"bounds": TO3})
        for sign in (">", ">=")
        for limit in ("0", "1/2", "0.1", "1e-200", "-1", "3")
        if (sign, limit) != (">", "3")
    ),
    ("avg(x) filter (where v = 'A') <= avg(x) filter (where v = 'B') - 0.5",
     lambda p: beats([tuple((v.translate(SWAPPED), x) for v, x in q) for q in p], HALF, False), ENDS, {"bounds": TO3}),
    *(
        (f"{YES} / {NO} {sign} {limit}", lambda p, s=sign, t=limit: divided(votes(p)["Y"], votes(p)["N"], s, t), VOTES, {})
        for sign in (">", ">=", "<", "<=")
        for limit in ("1", "1/2", "0", "-1")
        if not (sign in ("<", "<=") and limit == "-1") and (sign, limit) != ("<", "0")
    ),
    *(
        (f"{POSITIVE} / {YES} {sign} {limit}",
         lambda p, s=sign, t=limit: divided(sum(x > 0 for _, x in flat(p)), votes(p)["Y"], s, t), SOME, {})
        for sign in ("<", "<=")
        for limit in ("1", "3/2")
    ),
    (f"{POSITIVE} / {YES} <= 0", lambda p: divided(sum(x > 0 for _, x in flat(p)), votes(p)["Y"], "<=", "0"), SOME, {}),
    (f"2 * {YES} / {NO} >= 3", lambda p: divided(2 * votes(p)["Y"], votes(p)["N"], ">=", "3"), VOTES, {}),
    (f"{YES} / (2 * {NO}) < 1", lambda p: divided(votes(p)["Y"], 2 * votes(p)["N"], "<", "1"), VOTES, {}),
    (f"-{YES} / {NO} < -1", lambda p: divided(votes(p)["Y"], votes(p)["N"], ">", "1"), VOTES, {}),
    (f"1 < {YES} / {NO}", lambda p: divided(votes(p)["Y"], votes(p)["N"], ">", "1"), VOTES, {}),
    (f"1 + {YES} / {NO} < 3", lambda p: divided(votes(p)["Y"], votes(p)["N"], "<", "2"), VOTES, {}),
    (f"not {YES} / {NO} < 1", lambda p: not divided(votes(p)["Y"], votes(p)["N"], "<", "1"), VOTES, {}),
    (f"{YES} / count(*) + 1 > 3/2", lambda p: divided(votes(p)["Y"], len(p), ">", "1/2"), VOTES, {}),
    ("count(*) / count(*) >= 1", lambda p: bool(p), VOTES, {}),
    (f"{YES} = {NO}", lambda p: votes(p)["Y"] == votes(p)["N"], VOTES, {}),
    (f"2 * {YES} = 4", lambda p: votes(p)["Y"] == 2, VOTES, {}),
    ("count(*) = 0", lambda p: not p, VOTES, {}),
    ("count(*) <> 0", lambda p: bool(p), VOTES, {}),
    ("count(*) between 1 and 2", lambda p: 1 <= len(p) <= 2, VOTES, {}),
    ("count(*) between 0 and 2", lambda p: len(p) <= 2, VOTES, {}),
    ("count(*) >= 0 and count(*) > 2", lambda p: len(p) > 2, VOTES, {}),
    ("count(*) < 0 or count(*) > 2", lambda p: len(p) > 2, VOTES, {}),
    ("0.1 * sum(x) >= 0.3", lambda p: sum(values(p, 0, 3)) >= 3, VALUES, {"bounds": TO3}),
    (f"3 * {YES} - 2 * {NO} > 1", lambda p: 3 * votes(p)["Y"] - 2 * votes(p)["N"] > 1, VOTES, {}),
    ("avg(x) > -0.3", lambda p: bool(v := values(p, -2, 3)) and mean(v) > Fraction(-3, 10), WIDE, {"bounds": TO2}),
    ("avg(x) <= -1/3", lambda p: bool(v := values(p, -2, 3)) and mean(v) <= Fraction(-1, 3), WIDE, {"bounds": TO2}),
    ("sum(x) < -1.5", lambda p: sum(values(p, -2, 3)) < -1.5, WIDE, {"bounds": TO2}),
    ("avg(x > 0) filter (where v = 'A') - avg(x > 0) filter (where v = 'B') > 1/3",
     lambda p: beats([tuple((v, int(x > 0)) for v, x in person) for person in p], Fraction(1, 3), True), ARMS, {}),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize(("sql", "reference", "domain", "options"), CASES, ids=[case[0] for case in CASES])
def test_every_atom_against_brute_force(
    sql: str, reference: Any, domain: list[Person], options: dict[str, Any], neighbours: Neighbours
) -> None:
    wide = len(domain) >= 5
    check(sql, reference, domain, neighbours, people=4 if wide else 5, reach=2 if wide else 3, **options)


VOTERS: list[Person] = [(("Y", 0),), (("Y", 0), ("Y", 0)), (("N", 0), ("Y", 0)), (("N", 0),), (("N", 0), ("N", 0))]
EARNERS: list[Person] = [
    (("a", 0), ("a", 0)),
    (("a", 3), ("a", 1)),
    (("a", 2), ("a", None)),
    (("a", None),),
    (("a", 3), ("a", 3)),
]
PATIENTS: list[Person] = [
    (("A", 0),), (("A", 3), ("A", 4)), (("A", 1), ("A", 2)), (("B", -2),), (("B", 3),), (("A", 3), ("B", 0)), (("C", 1),)
]  # fmt: skip


def clipped(numbers: Any, low: int, high: int) -> int:
    return sum(min(max(number, low), high) for number in numbers)


def balance(person: Person) -> int:
    return sum({"Y": 1, "N": -1}.get(v, 0) for v, _ in person)


def yes(person: Person) -> int:
    return sum(v == "Y" for v, _ in person)


def no(person: Person) -> int:
    return sum(v == "N" for v, _ in person)


def reduced(people: Sequence[Person], how: str, arm: str | None = None) -> list[int]:
    """One value per person, on the grid of whole numbers from 0 to 3."""
    found = []
    for person in people:
        own = [min(max(x, 0), 3) for v, x in person if x is not None and arm in (None, v)]
        if own and (arm is None or len({v for v, _ in person} & {"A", "B"}) == 1):
            average = sum(own) // len(own)
            found.append({"avg": average, "sum": min(sum(own), 3), "min": min(own), "max": max(own)}[how])
    return found


UNIT_CASES: list[tuple[str, Callable[[Sequence[Person]], bool], list[Person], dict[str, Any]]] = [
    ("count(*) > 2", lambda p: len(p) > 2, VOTERS, {}),
    ("count(*) > 2", lambda p: clipped(map(len, p), 0, 2) > 2, VOTERS, {"max_rows": 2}),
    ("count(*) = 2", lambda p: clipped(map(len, p), 0, 2) == 2, VOTERS, {"max_rows": 2}),
    ("count(distinct u) >= 2", lambda p: len(p) >= 2, VOTERS, {"max_rows": 5}),
    ("count(distinct u) filter (where v = 'Y') > count(distinct u) filter (where v = 'N')",
     lambda p: sum("Y" in dict(person) for person in p) > sum("N" in dict(person) for person in p), VOTERS, {}),
    ("count(*) filter (where v = 'Y') > count(*) filter (where v = 'N')",
     lambda p: clipped(map(balance, p), -1, 1) > 0, VOTERS, {}),
    ("count(*) filter (where v = 'Y') > count(*) filter (where v = 'N')",
     lambda p: clipped(map(balance, p), -2, 2) > 0, VOTERS, {"max_rows": 2}),
    ("avg(v = 'Y') >= 1/2", lambda p: bool(p) and clipped(map(balance, p), -1, 1) >= 0, VOTERS, {}),
    ("sum(x) > 3", lambda p: clipped((sum(values([q])) for q in p), 0, 3) > 3, EARNERS, {"bounds": TO3}),
    ("avg(x) > 1", lambda p: clipped((sum(v - 1 for v in values([q])) for q in p), -1, 2) > 0, EARNERS, {"bounds": TO3}),
    ("avg(x) <= 1", lambda p: bool(values(p)) and clipped((sum(1 - v for v in values([q])) for q in p), -4, 2) >= 0, EARNERS,
     {"bounds": TO3, "max_rows": 2}),
    *(
        (f"avg(x) {sign} 1", lambda p, h=how, s=sign: bool(v := reduced(p, h)) and of(s)(mean(v), 1), EARNERS,
         {"bounds": TO3, "per_unit": how})
        for how in ("avg", "sum", "min", "max")
        for sign in (">", ">=")
    ),
    *(
        (f"{name} > 1", lambda p, h=how, f=f: bool(v := reduced(p, h)) and f(v) > 1, EARNERS, {"bounds": TO3, "per_unit": how})
        for how in ("avg", "sum", "min", "max")
        for name, f in [("median(x)", lambda v: lower_quantile(v, HALF)), ("min(x)", min), ("max(x)", max)]
    ),
    ("mode(v) = 'Y'", lambda p: leads([(min(q),) for q in p], "Y"), VOTERS, {"per_unit": "min"}),
    (f"{YES} / {NO} < 2", lambda p: clipped((2 * no(q) - yes(q) for q in p), -1, 2) > 0, VOTERS, {}),
    (f"{YES} / {NO} <= 2", lambda p: bool(p) and clipped((2 * no(q) - yes(q) for q in p), -2, 4) >= 0, VOTERS, {"max_rows": 2}),
    (f"{YES} / {NO} > 1/2", lambda p: clipped((2 * yes(q) - no(q) for q in p), -1, 2) > 0 and any(map(no, p)), VOTERS, {}),
    *(
        ("avg(x) filter (where v = 'A') > avg(x) filter (where v = 'B')",
         lambda p, h=how: bool(a := reduced(p, h, "A")) and bool(b := reduced(p, h, "B")) and mean(a) > mean(b), PATIENTS,
         {"bounds": TO3, "per_unit": how})
        for how in ("avg", "sum", "min", "max")
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize(
    ("sql", "reference", "domain", "options"), UNIT_CASES, ids=[f"{case[0]} {case[3]}" for case in UNIT_CASES]
)
def test_every_atom_with_units_against_brute_force(
    sql: str, reference: Any, domain: list[Person], options: dict[str, Any], neighbours: Neighbours
) -> None:
    check(sql, reference, domain, neighbours, people=2 if len(domain) > 6 else 3, reach=2, unit="u", **options)


people = st.lists(
    st.tuples(st.tuples(st.sampled_from(["A", "B", "Y", "N", None]), st.one_of(st.none(), st.integers(-9, 9)))), max_size=25
)
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("count(*) filter (where v = 'Y') > count(*) filter (where v = 'N')", {}),
    ("avg(x) > 1/3", {"bounds": {"x": (-4, 6)}}),
    ("sum(x) <= 7", {"bounds": {"x": (-4, 6)}}),
    ("avg(x) filter (where v = 'A') - avg(x) filter (where v = 'B') >= 1", {"bounds": {"x": (-4, 6)}}),
    ("mode(v) = 'A'", {}),
    ("2 * sum(x) - 3 * count(*) filter (where v = 'Y') > 1", {"bounds": {"x": (-4, 6)}}),
    ("quantile(x, 0.8) >= 2 and not bool_or(v = 'N')", {}),
]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(people, st.sampled_from(ASKED), st.sampled_from(BOTH), st.booleans())
def test_one_table_and_many_have_the_same_levels(
    rows: list[Person], asked: tuple[str, dict[str, Any]], neighbours: Neighbours, units: bool
) -> None:
    """The plan for a whole table against the plan by group, which brute force has checked; and against other engines' plan."""
    sql, options = asked
    added_up = re.match(r"count|sum|2 \*|bool|avg\(v", sql) is not None
    options = options | ({"unit": "u", "per_unit": None if added_up else "max"} if units else {})
    for privacy in (P, ApproxDP(2, "1e-2")):  # the latter fetches no more than 5 from each end
        prepared = prepare(table([rows]), sql, privacy, neighbours=neighbours, **options)
        alone = levels(prepared, 1, by=None)
        portable = dataclasses.replace(prepared, source=dataclasses.replace(prepared.source, embedded=False))
        assert levels(portable, 1, by=None) == alone
        if rows:
            assert alone == levels(prepared, 1) == levels(portable, 1)


@pytest.mark.slow
@given(people, st.sampled_from(["avg(x) > 1/3", "sum(x) > 2", "count(*) >= 3", "median(x) < 2"]), st.sampled_from(BOTH))
@settings(max_examples=30, deadline=None)
def test_only_the_mechanisms_levels_are_looked_at(rows: list[Person], sql: str, neighbours: Neighbours) -> None:
    """Levels from few fetched people agree with those from many, as far as the mechanism tells them apart."""
    told = []
    for privacy in (ApproxDP(2, "1e-1"), ApproxDP("0.5", "1e-9")):
        prepared = prepare(table([rows]), sql, privacy, neighbours=neighbours, bounds={"x": (-4, 6)})
        told.append(levels(prepared, 1, by=None)[0])
    reach = len(prepare(table([rows]), sql, ApproxDP(2, "1e-1"), bounds={"x": (-4, 6)}).table.blue)
    assert np.clip(told[0], -reach - 1, reach) == np.clip(told[1], -reach - 1, reach)


def level(content: pa.Table, sql: str, **options: Any) -> float:
    return levels(prepare(content, sql, P, **options), 1, by=None)[0]


def test_edges_of_numbers() -> None:
    big, least = 2**63 - 1, -(2**63)
    ints = pa.table({"x": pa.array([big] * 3 + [least] * 3 + [None, 0], pa.int64())})
    wide = {"x": (-(2**62) + 1, 2**62 - 1)}
    assert level(ints, "sum(x) >= 0", bounds=wide) == 0
    assert level(ints, "sum(x) > 0", bounds=wide) == -1
    assert level(ints, "avg(x) >= 0", bounds=wide) == 0
    assert level(ints, f"count(*) filter (where x = {big}) >= 3") == 0
    assert level(ints, f"count(*) filter (where x > -{big * 10}) >= 7") == 0
    assert level(ints, "count(*) filter (where x <> 1/2) >= 7") == 0
    assert level(ints, "count(*) filter (where x < 1/2) = 4") == 0
    grouped = pa.table({"x": pa.array([big] * 3 + [least] * 2, pa.int64()), "u": [1] * 5})
    assert level(grouped, "sum(x) > 0", bounds=wide, unit="u") == 0
    floats = pa.table({"x": [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, None, 0.3]})
    assert level(floats, "count(x) = 7") == -1  # NaN counts as null
    assert level(floats, "count(x) = 6") == 0
    assert level(floats, "sum(x) > 0", bounds={"x": (-1, 1)}) == 0
    assert level(floats, "max(x) > 1e300") == 1
    assert level(floats, "min(x) < -1e300") == 1
    small = pa.table({"x": pa.array([100] * 9, pa.int8()), "d": pa.array([Decimal("9.99")] * 9, pa.decimal128(38, 2))})
    assert level(small, "sum(x) >= 900", bounds={"x": (-1000, 1000)}) == 0
    assert level(small, "sum(x) >= 90", bounds={"x": (0, 1000, 100)}) == 8
    assert level(small, "avg(d) >= 9.99", bounds={"d": (0, 100, "0.01")}) == 0
    assert level(small, "avg(d) > 9.99", bounds={"d": (0, 100, "0.01")}) == -1


FLOATS = ("- avg(x > 0)", "1e-200")
"""Where plain SQL is off by the last bits."""
PLAIN = [c for c in CASES if not any(word in c[0] for word in ("median", "quantile", "mode", "not ", *FLOATS))]


@pytest.mark.slow
@pytest.mark.parametrize(("sql", "domain", "options"), [(c[0], c[2], c[3]) for c in PLAIN], ids=[c[0] for c in PLAIN])
def test_truth_is_what_plain_sql_says(sql: str, domain: list[Person], options: dict[str, Any]) -> None:
    """The question itself, asked of DuckDB about the clipped table; where it is null, the answer is no."""
    datasets = [d for n in range(1, 5) for d in itertools.combinations_with_replacement(domain, n)]
    content = table(datasets)
    low, high = options.get("bounds", {"x": (-99, 99)})["x"]
    with prepare(content, sql, P, **options) as prepared:
        found = [level >= 0 for level in levels(prepared, len(datasets))]
    head, _, rest = sql.removeprefix("select ").partition(" from t")
    with duckdb.connect() as connection:
        connection.register("content", content)
        connection.execute("set ieee_floating_point_ops = false")
        connection.execute("set error_on_division_by_zero = false")  # what is divided by 0 is null
        head = re.sub(r"avg\((v = 'Y'|x > 0)\)", r"avg((\1)::int)", head)
        clip = f"select d, v, case when x is not null then greatest(least(x, {high}), {low}) end as x from content"
        query = f"with t as ({clip}) select d, coalesce({head}, false) from t {rest} group by d"
        said = dict(connection.execute(query).fetchall())
    nobody = "from t" in sql  # a group without a row in where does not come back
    assert len(said) == len(datasets) or nobody
    assert found == [said.get(d, False) for d in range(len(datasets))]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["avg", "sum", "min", "max"])
@pytest.mark.parametrize("name", ["median", "min", "max", "avg"])
def test_limits_on_a_grid_are_as_written(how: str, name: str) -> None:
    """Tenths have no float, and limits in tenths are met by values in tenths all the same."""
    for tenths in itertools.chain.from_iterable(itertools.combinations_with_replacement((2, 3, 4), n) for n in (1, 3)):
        content = pa.table({"x": [t / 10 for t in tenths], "u": range(len(tenths))})
        exact = [Fraction(t, 10) for t in tenths]
        told = {"median": sorted(exact)[(len(exact) - 1) // 2], "min": min(exact), "max": max(exact), "avg": mean_of(exact)}[
            name
        ]
        for sign in (">", ">=", "<", "<="):
            options = {"unit": "u", "per_unit": how, "bounds": {"x": (0, 1, "0.1")}}
            assert (level(content, f"{name}(x) {sign} 0.3", **options) >= 0) == of(sign)(told, Fraction(3, 10)), (tenths, sign)


def mean_of(numbers: Sequence[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)


@pytest.mark.slow
@pytest.mark.parametrize("sql", [case[0] for case in CASES if "from t" not in case[0]])
def test_every_question_has_an_answer_on_every_table(sql: str) -> None:
    empty = table([[]])
    for content in (empty, table([[((None, None),)]]), table([[((None, None),)] * 30]), table([[(("A", 1),)]])):
        for neighbours in BOTH:
            reply = prepare(content, sql, P, bounds={"x": (-2, 3)}, neighbours=neighbours).release()
            assert reply.answers.keys() == {()}


def test_csv_columns_are_read_by_stated_rules(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(
        'name,age,born,ok\n"Ann, B.",30,2000-01-02,true\nBob,x,never,false\nÇ\'é,,,\n# no remark,41.5,1980-12-31,true\nshort\n'
        'Dee,50,1970-01-01,false,too,many\n"qu""ote",inf,nan,maybe\n'
    )
    for sql, told in [
        ("count(*) = 7", 0), ("count(age) = 5", 0), ("count(*) filter (where age > 35) = 3", 0), ("avg(age) > 40", 1),
        ("count(*) filter (where year(born) = 1980) = 1", 0), ("count(*) filter (where born < date '1990-01-01') = 2", 0),
        ("count(*) filter (where ok = true) = 2", 0), ("mode(name) = 'Bob'", -1),
        ("count(*) filter (where name like 'A%') = 1", 0),
        ("count(*) filter (where lower(name) = 'bob' or length(name) = 5) = 2", 0),
    ]:  # fmt: skip
        prepared = prepare(file, sql, P, bounds={"age": (0, 100)})
        assert levels(prepared, 1, by=None) == [told], sql


def test_dates_times_and_booleans() -> None:
    when = [datetime.datetime(2025, 1, 1, 12, 30), datetime.datetime(2024, 12, 31), None]
    content = pa.table({"ts": when, "d": [w and w.date() for w in when], "b": [True, False, None], "v": [" Ab", "ab", ""]})
    for sql in [
        "count(*) filter (where ts >= timestamp '2025-01-01 12:30:00') = 1",
        "count(*) filter (where ts > date '2025-01-01') = 1",
        "count(*) filter (where ts < '2025-01-01') = 1", "count(*) filter (where d = '2024-12-31') = 1",
        "max(d) > '2024-06-01'", "count(*) filter (where b) = 1", "count(*) filter (where not b) = 1", "avg(b) >= 1/2",
        "count(*) filter (where extract(month from ts) = 12 and day(d) = 31) = 1", "count(*) filter (where trim(v) = 'Ab') = 1",
        "count(*) filter (where upper(v) = 'AB') = 1", "count(*) filter (where v = '') = 1", "bool_or(b)",
        "min(ts) < '2025-01-01'",
        "count(*) filter (where b is null and ts is null) = 1", "count(*) filter (where v in ('ab', '')) = 2",
    ]:  # fmt: skip
        assert level(content, sql) >= 0, sql


@pytest.mark.slow
@pytest.mark.false_alarm(2e-9)
@pytest.mark.parametrize(
    "sql", ["count(*) filter (where v = 'Y') > count(*) filter (where v = 'N')", "avg(x) > 1", "mode(v) = 'N'"]
)
def test_the_whole_path_passes_the_audit(sql: str) -> None:
    """Black box: 10^5 releases from each of two neighbouring tables; an audit that is as sure as 10^-9.

    One grouped question asks 10^5 copies of a table at once: from SQL over the engine to the coin, each is a release.
    """
    claim, copies = ApproxDP(1, "1e-2"), 10**5
    near = [("Y", 3)] * 4 + [("N", 0)] * 4

    def releases(rows: list[Row], n: int) -> Any:
        votes, numbers = zip(*rows, strict=True)
        keys = np.repeat(np.arange(n), len(rows))
        content = pa.table({"d": keys, "v": list(votes) * n, "x": list(numbers) * n})
        asked = f"select d, {sql} from t group by d"
        reply = prepare(content, asked, claim, bounds={"x": (0, 3)}, groups=[(i,) for i in range(n)]).release()
        return np.fromiter(reply.answers.values(), dtype=bool, count=n)

    yes = releases(near, copies)
    assert 0 < yes.mean() < 1
    for other in (near[1:], near[:-1]):
        drawn = [yes, releases(other, copies)]

        def given(i: int, n: int, drawn: Any = drawn) -> Any:
            return drawn[i][:n]

        assert not audit_answers(given, 0, 1, claim, draws=copies, confidence=1 - 1e-9).caught


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.csv"
    file.write_text("vote,age,town\n" + "Y,30,Ely\n" * 60 + "N,20,Wells\n" * 30)
    (tmp_path / "towns.csv").write_text("Ely\nYork\n")

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["ask", str(file), *arguments, "--epsilon", "1", "--delta", "1e-6"])
        out = capsys.readouterr()
        return int(ended.value.code or 0), out.out, out.err

    code, out, _ = run("count(*) filter (where vote = 'Y') > count(*) filter (where vote = 'N')")
    assert code == 0
    assert out.startswith("yes\n")
    assert "each row is a person; exact distance" in out
    assert "never wrong from 15 people on" in out
    told = json.loads(run("avg(age) > 25", "--bounds", "age=0:120:1", "--json", "--certificate", str(tmp_path / "c.json"))[1])
    assert (told["answer"], told["grids"], told["certain_from"]) == ("yes", {"age": "1"}, 15)
    assert prove(json.loads((tmp_path / "c.json").read_text()))
    preview = json.loads(
        run("avg(age) > 25", "--bounds", "age=0:120:1", "--preview", "--json", "--draw", str(tmp_path / "p.svg"))[1]
    )
    assert "answer" not in preview
    assert (tmp_path / "p.svg").exists()
    grouped = "select town, count(*) >= 45 from t group by town"
    assert "Ely" in run(grouped)[1]
    listed = json.loads(run(grouped, "--groups", str(tmp_path / "towns.csv"), "--json")[1])
    assert listed["answers"] == [{"town": "Ely", "answer": "yes"}, {"town": "York", "answer": "no"}]
    for arguments, says in [
        (["count(*) > 1", "--neighbours", "both"], "neighbours must be add-remove or replace"),
        (["count(*) > 1", "--per-unit", "mean"], "avg, sum, min or max"),
        (["avg(age) > 25"], "needs bounds"), (["avg(age) > 25", "--bounds", "age"], "bounds are COL=LO:HI"),
        (["count(*) > 1", "--groups", str(tmp_path / "none.csv")], "cannot be read: it must be a CSV file"),
    ]:  # fmt: skip
        code, _, err = run(*arguments)
        assert code == 2
        assert says in err
        assert err.count("\n") == 1


def test_no_error_holds_private_values() -> None:
    source = prepare(table([[(("secret4711", 1),)]]), "count(*) > 0", P)
    broken = dataclasses.replace(source, source=dataclasses.replace(source.source, connection=None))
    with pytest.raises(DuotoneError, match="might quote rows") as caught:
        broken.release()
    frame = caught.value.__traceback__
    assert frame is not None
    frame, seen = frame.tb_next, 0  # this test has them
    while frame is not None:
        assert "4711" not in repr(frame.tb_frame.f_locals)
        frame, seen = frame.tb_next, seen + 1
    assert seen >= 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ['"q', '"q\\nz",1', "q\\rz,1", '"q,1', 'q,"1', ' "q,1', "\\xff\\xfe,1", "\\x00,\\x01,5", "a" * 10**5, ""]
)
@pytest.mark.parametrize("place", [0, 5, 40])
def test_a_line_of_a_csv_file_changes_no_other(tmp_path: Path, line: str, place: int) -> None:
    """A line that is broken in any way is at most as many rows as it has line ends, wherever it stands."""
    lines = [f"p{i},{i}".encode() for i in range(40)]
    broken = line.encode().decode("unicode_escape").encode("latin-1")
    without, file = tmp_path / "a.csv", tmp_path / "b.csv"
    without.write_bytes(b"u,x\n" + b"\n".join(lines) + b"\n")
    file.write_bytes(b"u,x\n" + b"\n".join([*lines[:place], broken, *lines[place:]]) + b"\n")
    most = len(broken.splitlines()) or 1
    for sql in ("count(*) >= 30", "sum(x) >= 400", "count(*) filter (where u = 'p7') >= 1"):
        first, second = (levels(prepare(f, sql, P, bounds={"x": (0, 40, 1)}), 1, by=None)[0] for f in (without, file))
        assert abs(first - second) <= most


def test_values_never_leave_their_bounds() -> None:
    """What floats, narrow integers and averages of a person round to stays within what a newcomer could have."""
    edge = 2**51
    floats = pa.table({"x": [float(edge - 1), edge - 0.5, float(edge), 1e300]})
    assert level(floats, f"sum(x) > {4 * edge}", bounds={"x": (0, edge, 1)}) == -1
    assert level(floats, f"sum(x) > {4 * edge - 2}", bounds={"x": (0, edge, 1)}) == 0
    narrow = pa.table({"x": pa.array([100, -100, 4, 5], pa.int8())})
    assert level(narrow, "sum(x) >= 10", bounds={"x": (-100, 100, 10)}) == 0  # 5 is rounded up to 10
    many = pa.table({"x": pa.array([2**51] * 9, pa.int64()), "u": [1] * 9})
    assert level(many, f"avg(x) >= {2**51}", bounds={"x": (-(2**51), 2**51)}, unit="u", per_unit="avg") == 0
    far = pa.table({"t": pa.array([2**62, -(2**62), 0, None], pa.timestamp("ms")), "x": [1] * 4})
    assert level(far, "count(*) filter (where t < '2020-01-01 00:00:00') = 1") == 0  # those out of range are null
    assert level(far, "count(*) filter (where year(t) = 1970) = 1") == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "kind", "value"),
    [
        ("y = 0.1", "y = 0.10000000000000000001", pa.float64(), 0.1),
        ("y > 1e-300", "y < 2e-300", pa.float64(), 1.5e-300),
        ("y > '9999-12-31'", "y > '9999-12-30'", pa.date32(), 10**8),
        ("y > '2020-01-01 00:00:00'", "y < '2020-01-01 00:00:00.000001'", pa.timestamp("ns"), 1577836800000000500),
    ],
)
def test_a_row_never_scores_more_than_it_is_thought_to(first: str, second: str, kind: Any, value: Any) -> None:
    sql = f"1000 * count(*) filter (where {first}) + 1000 * count(*) filter (where {second}) + sum(x) >= 2000"
    empty, one = (pa.table({"y": pa.array(rows, kind), "x": np.zeros(len(rows))}) for rows in ([], [value]))
    assert abs(level(empty, sql, bounds={"x": (0, 100)}) - level(one, sql, bounds={"x": (0, 100)})) <= 1


def test_what_stands_in_a_condition_too_is_a_safe_bound() -> None:
    content = pa.table({"x": [10, 10, 10, 10], "v": ["A"] * 4, "u": list("abcd")})
    for sql, told in [
        ("avg(x) filter (where x > 5) > 6", "safe bound"), ("min(x) filter (where x > 5) > 3", "safe bound"),
        ("mode(v) filter (where v = 'A') = 'A'", "safe bound"),
        ("count(*) filter (where v = 'a' and v like 'b%') > 1", "safe bound"),
        ("avg(x) filter (where v = 'A') > 6", "exact distance"),
        ("count(*) filter (where x > 5 and x < 9) > 6", "exact distance"),
        ("avg(x) filter (where x is not null) > 6", "exact distance"),
    ]:  # fmt: skip
        assert prepare(content, sql, P, bounds={"x": (0, 10)}).basis == told, sql
    assert prepare(content, "count(*) filter (where u = 'bob') >= 2", P, unit="u").basis == "safe bound"


def test_listed_keys_of_every_kind() -> None:
    days = [datetime.date(2025, 1, 1), datetime.date(2025, 1, 2)]
    kinds: dict[str, list[Any]] = {"b": [True, False], "i": [7, 8], "d": days, "s": ["x", "y"]}
    content = pa.table({column: [first] * 40 + [second] for column, (first, second) in kinds.items()})
    for column, keys in kinds.items():
        question = f"select {column}, count(*) > 20 from t group by {column}"
        for groups in ([[key] for key in keys], None):
            reply = prepare(content, question, ApproxDP(40, "1e-6"), groups=groups).release()
            assert list(reply.answers.values())[:1] == [True]


def test_the_plan_has_one_shape_whatever_the_rows() -> None:
    """Too few rows for a hint, many, or none with a value: the same statement but for the constants in it."""
    shapes = set()
    for rows in ([], [(("A", 1),)], [(("A", i),) for i in range(99)], [(("A", None),)] * 99):
        prepared = prepare(table([rows]), "avg(x) > 1", P, bounds={"x": (0, 50)})
        for embedded in (True, False):
            who = People(dataclasses.replace(prepared.source, embedded=embedded), prepared.rows)
            (m,) = prepared.comparisons
            make = _one_pass if embedded else _plan
            sql = str(ibis.to_sql(make(who.table([m.columns]), [], {f"m0{n}": r for n, r in m.requests.items()}, who)))
            shapes.add((embedded, re.sub(r"duotone_\w+|-?\b\d+\b", "N", re.sub(r"\s+", "", sql))))
    assert len(shapes) == 2


@pytest.mark.slow
def test_a_persons_groups_are_bounded_among_the_listed_ones_however_long_the_list() -> None:
    """One person with rows in listed and unlisted groups is in one listed group, for short lists, long ones and keys of two
    columns of which each value is listed, but not every pair."""
    rows = pa.table({"u": [1] * 60, "g": [f"g{i}" for i in range(60)], "h": ["a", "b"] * 30})
    for filler in (0, 2000):
        one = [(f"g{i}",) for i in (7, *range(1000, 1000 + filler))]
        two = [("g7", "b"), ("g8", "b"), *((f"g{i}", "a") for i in (7, *range(1000, 1000 + filler)))]
        for by, listed in (("g", one), ("g, h", two)):
            question = f"select {by}, count(*) > 0 from t group by {by}"
            with prepare(rows, question, P, unit="u", groups=listed) as asked:
                counted = dict(zip(*asked._levels()[:2], strict=True))
            assert {key: n for key, n in counted.items() if n} == {("g7", "b") if "," in by else ("g7",): 1}


@pytest.mark.parametrize(("neighbours", "most"), [("add-remove", 2000), ("replace", 1000)])
def test_a_difference_with_too_many_levels_is_refused_before_anything_is_read(neighbours: Neighbours, most: int) -> None:
    sql = "avg(x) filter (where v = 'a') > avg(x) filter (where v = 'b')"
    content = pa.table({"v": ["a", "b"], "x": [1, 2]})
    says = rf"an answer has \d+ levels, and a difference of averages may have at most {most} under {neighbours}: raise epsilon"
    with pytest.raises(DuotoneError, match=says):
        prepare(content, sql, ApproxDP("0.001", "1e-6"), neighbours=neighbours, bounds={"x": (0, 3)})
    prepare(content, sql, ApproxDP("0.1", "1e-6"), neighbours=neighbours, bounds={"x": (0, 3)}).close()
