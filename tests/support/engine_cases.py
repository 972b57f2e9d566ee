"""What every engine is asked: a table with a column of every type and its worst values, and a question of every
kind."""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from duotone import ApproxDP, prepare
from duotone.tables.engines import Source
from duotone.tables.prepared import levels_of_all
from support.running import thinned

P = ApproxDP(1, "1e-6")
EDGE = 2**63 - 1
ODD = ["", " ", "Y", "N", "y", "n", "Z", "é", "É", "it's", 'a"b', "back\\slash", "per%cent", "under_score", "new\nline",
       "tab\t", "comma,comma", "NULL", "\\N", "語", "🙂", "a\x1fb", "‮", "--", "$1", "%s", "{}"]  # fmt: skip
KINDS = {
    "u": pa.int64(), "g": pa.string(), "v": pa.string(), "x": pa.int64(), "i": pa.int32(), "big": pa.int64(), "f": pa.float64(),
    "r": pa.float32(), "m": pa.decimal128(12, 2), "w": pa.decimal128(30, 10), "b": pa.bool_(), "day": pa.date32(),
    "at": pa.timestamp("us"),
}  # fmt: skip
TYPES = {
    "u": "bigint", "g": "varchar(30)", "v": "text", "x": "bigint", "i": "integer", "big": "bigint", "f": "double precision",
    "r": "real", "m": "numeric(12, 2)", "w": "numeric(30, 10)", "b": "boolean", "day": "date", "at": "timestamp",
}  # fmt: skip
"""The same types in Postgres."""


def table(rows: int = 300, seed: int = 7) -> pa.Table:
    """Every kind of value, nulls among them, in ten groups, of people with several rows."""
    draw = random.Random(seed)

    def some(*values: Any) -> Any:
        return None if draw.random() < 0.1 else draw.choice(values)

    def row() -> tuple[Any, ...]:
        return (
            some(*range(40)), some("A", "B", "C", "D", *ODD[:6]), some("Y", "N", *ODD) if draw.random() < 0.5 else some("Y",
            "N"),
            some(*range(-3, 12)), some(0, 5, -7, 2**31 - 1, -(2**31)), some(0, 1, -1, EDGE, -EDGE, 2**53 + 1, 10**15 + 999),
            some(0.1, 2.5, -3.75, 9.999999, float("nan"), float("inf"), float("-inf"), 5e-324, -5e-324, 1e308, -0.0, 7.0),
            some(0.1, 2.5, -3.75, float("nan"), float("inf")), some(*map(Decimal, ("0.00", "12.35", "-0.01", "9999999999.99"))),
            some(*map(Decimal, ("0.1", "123456789.0123456789", "-5.5", "99999999999999999999.9999999999"))), some(True, False),
            some(datetime.date(2025, 1, 1), datetime.date(1969, 12, 31), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),
            some(datetime.datetime(2025, 6, 1, 12, 30, 0, 1), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)),
        )  # fmt: skip

    columns = zip(*(row() for _ in range(rows)), strict=True) if rows else [()] * len(KINDS)
    return pa.table({n: pa.array(list(c), kind) for (n, kind), c in zip(KINDS.items(), columns, strict=True)})


BOUNDS: Mapping[str, tuple[Any, ...]] = {
    "x": (0, 8), "i": (-(2**31), 2**31 - 1), "big": (-(2**60), 2**60), "f": (-5, 10), "r": ("-3.5", 3),
    "m": (0, 1000, "0.01"), "w": (0, "1000"),
}  # fmt: skip
COUNTS = [
    "count(*) > 150", "count(*) = 28", "count(v) >= 20", "count(*) filter (where v = 'Y') > count(*) filter (where v = 'N')",
    "count(*) filter (where v = 'Y') / count(*) > 0.25", "avg(v = 'Y') >= 2/5", "bool_or(v = 'é')", "bool_and(x < 12)",
    "2147483647 * count(*) filter (where b) + 2147483647 * count(*) filter (where not b) > 5",
]  # fmt: skip
CONDITIONS = [
    "v > 'Y'", "v <= 'é'", "v = 'back\\slash'", "v = 'it''s'", "v = 'new\nline'", "v = ''", "v = '🙂'",
    "v in ('a\x1fb', '%s', '語')",
    "v like '%n_e%'", "v like '%%'", "lower(v) = 'y'", "upper(v) = 'Y'", "trim(v) = ''",
    "length(v) = 1", "length(v) > 5", "g = v", "g < v", "x > 2.5", "x <> 1/3", "i < x", "big > 9007199254740992",
    "big = 9223372036854775807",
    "big < -9223372036854775807", "f = 0.1", "f > 0", "f is null", "f >= 9.999999", "r = 0.1", "r > 2", "m > 12.34",
    "m = 12.35",
    "w > 123456789", "w = 0.1", "b", "not b", "b is null", "day > date '2000-01-01'", "day = date '0001-01-01'",
    "year(day) = 9999",
    "at >= timestamp '2025-06-01 12:30:00.000001'", "at < timestamp '1970-01-01 00:00:00'", "year(at) = 2025",
    "month(day) = 12", "day(at) = 31",
    "(x > 2) = b", "(x > 2) is not true", "coalesce(x > 2, false)", "x > f", "x in (i, 3)", "at > day",
    "strftime(day, '%Y-%m') = '2025-06'", "dayname(at) = 'Sunday'", "last_day(day) = day", "day + 30 > date '2000-01-01'",
    "x // 2 = 1", "split_part(v, ',', 1) = 'comma'", "replace(v, 'Y', 'N') = 'N'", "strpos(v, 'n') = 1", "x::varchar = '3'",
    "not (v = 'Y' or x > 3) and f < 5", "v is not null and b is not null",
]  # fmt: skip
SUMS = [
    "sum(x) > 100", "sum(x) <= count(*)", "avg(x) > 9/4", "avg(x) < 5/2", "sum(i) > 0", "sum(big) > 1000", "avg(f) > 1.5",
    "sum(f) <= 99.5", "avg(r) > 0.1", "avg(m) > 300.5", "sum(w) > 12345.678", "avg(w) < 400",
]  # fmt: skip
RANKS = [
    "median(x) > 3", "quantile(x, 0.25) <= 0", "median(f) > 0.1", "max(f) < 5", "min(x) >= -3", "max(v) > 'Z'", "min(v) < 'N'",
    "median(day) > date '2000-01-01'", "max(at) > timestamp '2025-06-01 00:00:00'", "median(m) >= 12.35",
]  # fmt: skip
VOTES = ["mode(v) = 'Y'", "mode(v) = 'new\nline'", "mode(x) <> 3", "mode(b) = true"]
DUELS = [
    "avg(x) filter (where v = 'Y') > avg(x) filter (where v = 'N')",
    "avg(f) filter (where b) >= avg(f) filter (where not b) + 1/7",
    "avg(x > 3) filter (where b) - avg(x > 3) filter (where not b) > 1/100",
]  # fmt: skip
FEW = "count(*) filter (where v = 'Y' and b) * count(*) filter (where v = 'N' and not b)"
MANY = "count(*) filter (where v = 'Y' and not b) * count(*) filter (where v = 'N' and b)"
NEWER = [
    "stddev(x) > 2.8", "var_pop(x) <= 7.5", f"{FEW} > 2 * {MANY}",
    "avg(x) filter (where v = 'Y') > 1.2 * avg(x) filter (where v = 'N')", "avg(x) > avg(f)",
    "avg(x) filter (where b) > avg(x)", "sum(x) / sum(m) > 1/100", "avg(x + f) > 5", "avg(2 * m) filter (where b) < 500",
]  # fmt: skip
"""Variances, products of counts, weighted differences of two columns and with the total, and of computed values."""
MEDIANS = [
    "median(x) filter (where v = 'Y') > median(x) filter (where v = 'N')", "quantile(f, 0.9) >= quantile(big, 0.6) + 2",
    "avg(x) > max(m) - 990",
]  # fmt: skip
DIFFERENT = ["count(distinct v) > 12", "count(distinct i) = 5"]
IN_PERSON: list[tuple[str, dict[str, tuple[Any, ...]]]] = [
    ("select avg(s) > 20 from (select u, sum(x) as s group by u)", {"s": (0, 60)}),
    ("select avg(c) > 1 from (select u, avg(f) filter (where b) - avg(x) filter (where not b) as c where x < 9 "
     "group by u)",
     {"c": (-10, 10)}),
    ("select count(*) > 20 from (select u, count(distinct v) as k, max(day) as last group by u having count(*) > 3) "
     "where k >= 3 and last > date '2000-01-01'", {}),
    ("select count(*) filter (where last = 'Y' and not ever) > 3 from (select u, arg_max(v, at) as last, "
     "bool_or(x > 7) as ever, bool_and(b) as every group by u) where every is not true", {}),
    ("select avg(l - f) > 0.5 from (select u, arg_max(x, day) as l, arg_min(x, day) filter (where b) as f group by u)",
     {"l - f": (-9, 9)}),
    ("select median(top) > 6 from (select u, max(x) - min(x) as top, max(v) as v group by u) where v <> 'Z'", {}),
]  # fmt: skip
"""With one row per person first."""
COMPUTED_KEYS = [
    "year(day), lower(g)",
    "case when x > 3 then 'high' else v end, x // 4",
    "date_trunc('month', at)::date, x > 3",
]
"""Group keys."""
TOWNS = pa.table(
    {
        "town": ["Y", "N", "é", "it's", 'a"b', "back\\slash", "NULL", "{}", "", "語"],
        "name": ["é", "it's", None, 'a"b', "back\\slash", "", "NULL", "x,y", "{z}", "語"],
        "many": pa.array([0, 1, None, -5, 2**62, 3, 4, 5, 6, 7], pa.int64()),
        "share": pa.array([0.1, -2.5, None, float("inf"), 1e300, 5e-324, 0.0, 1.0, 2.0, 3.0]),
        "price": pa.array([Decimal("1.25"), None, *map(Decimal, range(8))], pa.decimal128(12, 2)),
        "big": pa.array([True, False, None] * 3 + [True]),
        "since": pa.array([datetime.date(2025, 1, 1), None, datetime.date(1, 1, 1), *[datetime.date(9999, 12, 31)] * 7]),
        "at": pa.array(
            [datetime.datetime(2025, 6, 1, 12, 30, 0, 1), None, *[datetime.datetime(1969, 12, 31, 23)] * 8], pa.timestamp("us")
        ),
    }
)
PUBLIC = {"towns": TOWNS, "days": pa.table({"day": [datetime.date(2025, 1, 1), datetime.date(1, 1, 1)], "b": [True, False]})}
JOINED: list[tuple[str, dict[str, tuple[Any, ...]]]] = [
    ("select avg(many) > 0.4 from {} t left join towns on t.v = town where share < 1 or town is null", {"many": (-9, 9)}),
    ("select sum(price) > 99.5 from {} t join towns on v = town where since > date '2000-01-01' and (towns.big or share > 1)",
     {"price": (0, 9, "0.01")}),
    ("select count(*) filter (where towns.at > timestamp '2025-06-01 12:30:00') > 3 from {} t join days d on t.day = d.day "
     "and t.b = d.b join towns on t.v = town where g <> name", {}),
    ("select mode(name) = 'é' from {} t join towns on v = town", {}),
]  # fmt: skip
"""A join with public tables that have columns of every type."""
RATES = [
    "avg(x) filter (where b) > avg(x) filter (where not b)",
    "avg(f) filter (where v = 'Y') >= 1.2 * avg(f) filter (where v = 'N')",
    "avg(x > 3) filter (where g = 'A') < avg(x > 3)", "avg(m) filter (where b) - avg(w) filter (where x > 3) > 1/2",
    "median(x) > 4", "quantile(f, 0.9) <= 7", "median(day) >= date '2000-01-01'", "max(f) > 9", "min(v) < 'A'",
]  # fmt: skip
"""Of people's several rows."""
LISTED = "where v in ('Y', 'N', 'é', 'back\\slash')"
WHICH = [
    f"mode(v) filter ({LISTED})",
    "bracket(avg(f), -1, 0.5, 2)",
    "bracket(median(x), 0, 4)",
    "case when count(*) > 290 then 'many' when avg(m) > 300.5 then 'much' else 'neither' end",
    f"mode(x) filter (where x in ({', '.join(map(str, range(-3, 70)))}))",
    "mode(b) filter (where b in (true, false))",
    f"select v from {{}} {LISTED} group by v order by sum(big) desc limit 1",
    f"select v from {{}} {LISTED} group by v order by avg(f) limit 1",
    f"select v from {{}} {LISTED} group by v order by avg(x > 3) desc limit 1",
    f"select v from {{}} {LISTED} group by v order by median(m) desc limit 1",
]
"""Which of several answers is true: standings."""
BESIDE = ("(select u, count(*) as c, max(v) as w from other where x > 1 group by u having count(*) < 3) b using (u) "
          "where w is null or w <> 'N'")  # fmt: skip
"""The people of a second private table."""
HOW_MANY = """select count(*) filter (where many) >= 2 and max(middle) > 3
    from (select g, count(distinct u) > 2 as many, median(x) as middle group by g)"""
OF_GROUPS = ["A", "B", "N", "", " ", "nobody's"]
"""How many groups of a list say yes."""
CONDITIONAL = [f"count(*) filter (where {condition}) > 11" for condition in CONDITIONS]


def levels(source: Source, questions: Sequence[str], by: tuple[str, ...] = (), most: int = 2**31 - 1, bounds: Any = BOUNDS,
           **options: Any) -> dict[Any, Any]:  # fmt: skip
    """The levels of many questions at once, by group: all comparisons in one plan."""
    rows = {"max_rows": 1 if "unit" in options else None, **options, "per_unit": None}  # counts add up a person's rows
    each_with = [(question, rows if question in COUNTS else options) for question in questions]
    prepared = [prepare(source, question, P, bounds=bounds, **own) for question, own in each_with]
    asked = [replace(each, source=prepared[0].source, by=by, most=most) for each in prepared]  # each was lent the same table
    keys, people, each = levels_of_all(asked)
    by_key = {key: [[float(n) for n in np.ravel(levels[i])] for levels in each] for i, key in enumerate(keys)}
    return by_key | {"people": sorted(people.tolist())}


def everything(source: Source, also: Any, every: int = 2) -> dict[str, Any]:
    """What the engines must agree on, in as few plans as possible; `also` is the same table, as a second one beside it.
    In `make test`, only a part of the questions under each relation, and an even smaller part if no relation is
    chosen."""
    by_question: dict[str, Any] = {}
    fewer = every // 2
    people = [*COUNTS, *SUMS, "count(distinct u) > 30"]
    for neighbours in ("add-remove", "replace"):
        turn = neighbours == "replace"  # each question under one of the relations, in turn
        part = thinned([*COUNTS, *SUMS, *RANKS, VOTES[1], DUELS[0]], every, turn)
        by_question[neighbours] = levels(source, part, neighbours=neighbours)
        persons = thinned(people, every, turn)
        by_question[f"{neighbours}, people"] = levels(source, persons, neighbours=neighbours, unit="u", max_rows=3)
        rates = thinned(RATES, every, turn)
        by_question[f"{neighbours}, rows"] = levels(source, rates, neighbours=neighbours, unit="u", max_rows=3)
        for how in thinned(("avg", "sum", "min", "max"), 2, turn):
            asked = ["avg(x) > 2", "median(x) > 2", "avg(i) >= -1/3", "max(f) < 5", DUELS[0]]
            asked += ["min(v) < 'N'", "mode(v) = 'Y'"] if how in ("min", "max") else []
            asked = thinned(asked, fewer, how in ("sum", "min"))
            by_question[f"{neighbours}, {how}"] = levels(source, asked, neighbours=neighbours, unit="u", per_unit=how)
        more = {**BOUNDS, "x + f": (0, 20), "2 * m": (0, 2000)}
        by_question[f"{neighbours}, newer"] = levels(
            source, thinned([*NEWER, *DIFFERENT], every, turn), bounds=more, neighbours=neighbours
        )
        for inner, bounds in thinned(IN_PERSON, every, turn):
            by_question[f"{neighbours}, {inner}"] = levels(source, [inner], bounds=bounds, neighbours=neighbours, unit="u")
    own = Path(source.name).stem if source.named else "t"
    for neighbours in ("add-remove", "replace"):  # each by itself, since they are about different rows
        for question in thinned(WHICH, every, neighbours == "replace"):
            by_question[f"{neighbours}, {question}"] = levels(source, [question.format(own)], neighbours=neighbours)
    for how in thinned(("max", "avg"), 2):
        by_question[f"which, {how}"] = levels(source, [WHICH[7].format(own)], unit="u", per_unit=how)
    by_question["which, rows"] = levels(source, [WHICH[6].format(own)], unit="u", max_rows=2)
    for question, bounds in thinned(JOINED, every):
        by_question[question] = levels(source, [question.format(own)], bounds=bounds, public=PUBLIC)
    inner = f"select avg(s) > 2 from (select u, sum(many) as s from {own} join towns on v = town group by u)"
    by_question["joined in person"] = levels(source, [inner], bounds={"s": (0, 9)}, public=PUBLIC, unit="u")
    both = f"(select u, sum(many) as s from {own} join towns on v = town group by u) a left join {BESIDE}"
    beside: dict[str, Any] = {"bounds": {"s + coalesce(c, 0)": (0, 9)}, "public": PUBLIC, "also": {"other": also}, "unit": "u"}
    by_question["two tables"] = levels(source, [f"select avg(s + coalesce(c, 0)) > 4 from {both}"], **beside)
    by_question["different by group"] = levels(source, DIFFERENT, ("g",))
    grouped = [NEWER[2], NEWER[0], NEWER[3], NEWER[1], NEWER[6], NEWER[4], MEDIANS[0], NEWER[5]]
    by_question["newer by group"] = levels(source, thinned(grouped, fewer), ("g",))  # with 4, the ones left out above
    for key in COMPUTED_KEYS:
        by_key = prepare(source, f"select {key}, count(*) > 3 group by {key}", P, unit="u", max_rows=2, max_groups=2)
        keys, present, (each,) = levels_of_all([by_key])
        by_question[f"groups by {key}"] = dict(zip(keys, zip(present.tolist(), each.tolist(), strict=True), strict=True))
    for neighbours in ("add-remove", "replace"):
        how_many = prepare(source, HOW_MANY, P, unit="u", max_groups=2, groups=OF_GROUPS, bounds=BOUNDS, neighbours=neighbours,
                        per_unit="max")  # fmt: skip
        by_question[f"how many groups, {neighbours}"] = levels_of_all([how_many])[2][0].tolist()
    by_question["conditions"] = levels(source, CONDITIONAL)
    by_question["groups"] = levels(
        source, thinned(["avg(x) > 9/4", *COUNTS, *VOTES[:2], DUELS[0]], fewer), ("g",), unit="u", per_unit="max", most=2
    )
    by_question["rows by group"] = levels(source, ["sum(big) > 7", "median(x) > 3", "mode(b) = true"], ("g", "day"))
    edges = {"big": (-(2**62 - 1), 2**62 - 1), "x": (0, 1)}
    by_question["edges"] = levels(source, ["sum(big) > 1000"], bounds=edges)
    by_question["edges, people"] = levels(source, ["sum(big) > 1000"], bounds=edges, unit="u", max_rows=1)
    grid = {"x": (0, 8), "big": (-(10**15), 10**15, 1000), "f": (-100, 100, 50), "i": (-(2**31), 2**31, 2**16)}
    coarse = ["avg(big) >= -1/3", "avg(f) > 1", "avg(i) > 100000"]
    by_question["coarse"] = levels(source, coarse, bounds=grid)
    by_question["coarse, people"] = levels(source, [*coarse, MEDIANS[0]], bounds=grid, unit="u", per_unit="avg")
    by_question["more"] = levels(source, thinned([*VOTES, *DUELS, *MEDIANS, "avg(big) >= -1/3"], fewer))
    return by_question
