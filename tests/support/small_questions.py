"""Small tables for questions, all datasets in one table, and the levels of each; and a question of every kind, with its
meaning in plain Python and the people of its tables."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

from duotone import ApproxDP
from duotone.questions import Neighbours
from duotone.tables.check_question import prepare
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
    """The levels that answers are released from; for all datasets at once, the engine groups by dataset."""
    if by is not None:
        prepared = dataclasses.replace(prepared, by=(by,), most=2**31 - 1, listed=tuple((d,) for d in range(count)))
    keys, _, of_datasets = prepared._levels()
    assert tuple(keys) == (prepared.listed or ((),))
    return [int(level) for level in of_datasets]


def level(content: pa.Table, sql: str, **options: Any) -> float:
    return levels(prepare(content, sql, P, **options), 1, by=None)[0]


YES, NO, POSITIVE = (f"count(*) filter (where {c})" for c in ("v = 'Y'", "v = 'N'", "x > 0"))


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
    counts = Counter(v for v, _ in flat(people) if v is not None)
    return counts[winner] > max((n for v, n in counts.items() if v != winner), default=0)


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
    ("sum(x) <= 2", lambda p: bool(v := values(p, -2, 3)) and sum(v) <= 2, WIDE, {"bounds": TO2}),
    ("sum(x) >= -1", lambda p: bool(v := values(p, -2, 3)) and sum(v) >= -1, WIDE, {"bounds": TO2}),
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
    (f"not {YES} / {NO} < 1", lambda p: divided(votes(p)["Y"], votes(p)["N"], ">=", "1"), VOTES, {}),
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


def reduced(people: Sequence[Person], how: str, arm: str | None = None) -> list[Any]:
    """One value per person, from 0 to 3; an average is rounded down to a millionth, the grid of such bounds."""
    by_person = []
    for person in people:
        own = [min(max(x, 0), 3) for v, x in person if x is not None and arm in (None, v)]
        if own:
            average = Fraction(10**6 * sum(own) // len(own), 10**6)
            by_person.append({"avg": average, "sum": min(sum(own), 3), "min": min(own), "max": max(own)}[how])
    return by_person


UNIT_CASES: list[tuple[str, Callable[[Sequence[Person]], bool], list[Person], dict[str, Any]]] = [
    ("count(*) > 2", lambda p: len(p) > 2, VOTERS, {"max_rows": 1}),
    ("count(*) > 2", lambda p: clipped(map(len, p), 0, 2) > 2, VOTERS, {"max_rows": 2}),
    ("count(*) = 2", lambda p: clipped(map(len, p), 0, 2) == 2, VOTERS, {"max_rows": 2}),
    ("count(distinct u) >= 2", lambda p: len(p) >= 2, VOTERS, {"max_rows": 5}),
    ("count(distinct u) filter (where v = 'Y') > count(distinct u) filter (where v = 'N')",
     lambda p: sum("Y" in dict(person) for person in p) > sum("N" in dict(person) for person in p), VOTERS, {}),
    ("count(*) filter (where v = 'Y') > count(*) filter (where v = 'N')",
     lambda p: clipped(map(balance, p), -1, 1) > 0, VOTERS, {"max_rows": 1}),
    ("count(*) filter (where v = 'Y') > count(*) filter (where v = 'N')",
     lambda p: clipped(map(balance, p), -2, 2) > 0, VOTERS, {"max_rows": 2}),
    ("avg(v = 'Y') >= 1/2", lambda p: bool(p) and clipped(map(balance, p), -1, 1) >= 0, VOTERS, {"max_rows": 1}),
    ("sum(x) > 3", lambda p: clipped((sum(values([q])) for q in p), 0, 3) > 3, EARNERS, {"bounds": TO3, "max_rows": 1}),
    ("avg(x) > 1", lambda p: clipped((sum(v - 1 for v in values([q])) for q in p), -1, 2) > 0, EARNERS,
     {"bounds": TO3, "max_rows": 1}),
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
    ("bool_or(v = 'Y')", lambda p: any(map(yes, p)), VOTERS, {}),
    *(
        ("avg(x) filter (where v = 'A') > avg(x)",
         lambda p, h=how: bool(a := reduced(p, h, "A")) and mean(a) > mean(reduced(p, h)), PATIENTS,
         {"bounds": TO3, "per_unit": how})
        for how in ("avg", "max")
    ),
    ("bool_and(v = 'Y')", lambda p: bool(p) and not any(map(no, p)), VOTERS, {}),
    (f"{YES} / {NO} < 2", lambda p: clipped((2 * no(q) - yes(q) for q in p), -1, 2) > 0, VOTERS, {"max_rows": 1}),
    (f"{YES} / {NO} <= 2", lambda p: bool(p) and clipped((2 * no(q) - yes(q) for q in p), -2, 4) >= 0, VOTERS, {"max_rows": 2}),
    (f"{YES} / {NO} > 1/2", lambda p: clipped((2 * yes(q) - no(q) for q in p), -1, 2) > 0 and any(map(no, p)), VOTERS,
     {"max_rows": 1}),
    *(
        ("avg(x) filter (where v = 'A') > avg(x) filter (where v = 'B')",
         lambda p, h=how: bool(a := reduced(p, h, "A")) and bool(b := reduced(p, h, "B")) and mean(a) > mean(b), PATIENTS,
         {"bounds": TO3, "per_unit": how})
        for how in ("avg", "sum", "min", "max")
    ),
]  # fmt: skip
