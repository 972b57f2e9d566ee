"""Conformance: an engine without tests must compute the same as the embedded one on made-up rows, before it gets
others."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakSet

import ibis

from duotone.errors import DuotoneError
from duotone.line.table import Reach
from duotone.model.dataset import Dataset
from duotone.resources import keep_in_child
from duotone.tables.compile_question import compile_question, levels_of
from duotone.tables.engines.any_ibis import UNPROVEN, AnyIbis
from duotone.tables.engines.duckdb import DuckDB
from duotone.tables.engines.engine import Source, of_table
from duotone.tables.engines.query import People
from duotone.tables.sql.read_question import read_question

TRIED = replace(UNPROVEN, proven=True)
REACH = 16
"""The largest levels in a trial: more than the people of the made-up rows."""
KINDS = {"u": "int64", "g": "string", "v": "string", "x": "int64", "i": "int32", "f": "float64", "b": "boolean", "day": "date"}
EDGE = 2**63 - 1
DAY = datetime.date(2025, 1, 31)
ROWS: list[tuple[Any, ...]] = [
    (1, "A", "Y", 3, 2**31 - 1, 0.1, True, DAY),
    (1, "B", "y", 5, 0, 2.5, False, DAY),
    (1, "C", "it's", EDGE, 7, -0.0, True, None),
    (2, "A", "é", -EDGE, -(2**31), 1e308, None, datetime.date(1, 1, 1)),
    (2, "é", "back\\slash", EDGE, 5, None, False, datetime.date(9999, 12, 31)),
    (3, "A", "", None, None, 5e-324, True, DAY),
    (3, "a", None, 2**53 + 1, 1, 9.75, True, DAY),
    (4, "B", "Z", 0, 2, -3.5, False, None),
    (None, "B", "Y", 1, 3, 0.5, True, DAY),
    (5, None, "Y", 1, 4, 0.5, None, DAY),
    (6, "A", "Y", 4, 4, 7.0, False, DAY),
]
"""Every type of value that engines are known to treat differently."""
BOUNDS = {"x": (-(2**60), 2**60), "i": (-(2**31), 2**31, 2**16), "f": (-5, 10)}
NUMBERS = ["sum(x) > 7", "avg(x) > 1/3", "avg(f) > 1.5", "sum(i) > 99999", "count(*) filter (where x > 9007199254740992) > 1"]
ORDERS = [
    "max(v) > 'Y'",
    "min(v) >= 'Z'",
    "median(f) > 0.1",
    "count(*) filter (where v <= 'Z') > 3",
    "max(day) > date '2025-01-30'",
]
TEXTS = [
    "mode(v) = 'Y'",
    "count(*) filter (where v = 'back\\slash' or v = 'it''s') > 1",
    "count(*) filter (where v like '%''%') > 0",
]
NEWER = [
    "stddev(f) > 4",
    "count(distinct v) > 4",
    "count(*) filter (where b) * count(*) filter (where b) > 5 * count(*) filter (where v = 'Y')",
    "avg(f) filter (where b) > 1.2 * avg(f) filter (where not b)",
    "avg(f) filter (where b) > avg(f)",
    "median(f) filter (where b) > quantile(f, 0.7) filter (where not b)",
    "max(x) > 2 * min(i)",
]
OTHERS = ["count(*) filter (where not b) > 2", "avg(b = true) > 1/2", "count(*) filter (where year(day) = 9999) > 0"]
WHICH = [
    "mode(v) filter (where v in ('Y', 'y', 'é'))",
    "bracket(avg(f), 0, 2)",
    "case when count(*) > 20 then 'many' when max(x) > 7 then 'large' else 'neither' end",
    "select g from t where g in ('A', 'B', 'é') group by g order by sum(x) desc limit 1",
    "select g from t where g in ('A', 'B', 'é') group by g order by avg(f) limit 1",
    f"mode(i) filter (where i in ({', '.join(map(str, range(70)))}))",
]
CASES: list[tuple[str, Mapping[str, Any]]] = [
    *((question, {}) for question in (*NUMBERS, *ORDERS, *TEXTS, *OTHERS, *NEWER, *WHICH)),
    *((question, {"neighbours": "replace"}) for question in NUMBERS[:3]),
    ("sum(x) > 7", {"unit": "u", "max_rows": 2}),
    ("select g from t where g in ('A', 'B') group by g order by count(*) limit 1", {"unit": "u", "max_rows": 2}),
    ("avg(f) > 1", {"unit": "u", "per_unit": "avg"}),
    ("avg(f) filter (where b) > 1.2 * avg(f) filter (where not b)", {"unit": "u", "max_rows": 2}),
    ("avg(x > 2) filter (where b) >= avg(x > 2)", {"unit": "u", "max_rows": 2, "neighbours": "replace"}),
    ("quantile(f, 0.3) <= 2.5", {"unit": "u", "max_rows": 2}),
    ("select g, avg(f) > 1 from t group by g", {"unit": "u", "max_rows": 1, "max_groups": 2}),
    ("select g, count(*) > 1 from t group by g", {"unit": "u", "max_rows": 1, "max_groups": 1}),
]
_PASSED: WeakSet[Any] = WeakSet()


def require_conforming(source: Source) -> None:
    """Refuse an engine whose levels for made-up rows differ from the embedded engine's, and name the first such case.

    Guarantee: only made-up rows are used, as constants of the query; nothing is written.
    """
    if source.engine.connection in _PASSED:
        return
    rows = ibis.union(*(_row(row) for row in ROWS))
    embedded = ibis.duckdb.connect()
    keep_in_child(embedded)
    with of_table(rows, DuckDB(embedded), "made-up rows", named=False, release=embedded.disconnect) as own:
        _compare(of_table(rows, AnyIbis(source.engine.connection, TRIED), "made-up rows", named=False), own)
    _PASSED.add(source.engine.connection)


def _compare(source: Source, own: Source) -> None:
    for question, options in CASES:
        try:
            levels = _by_group(source, question, options)
        except Exception:
            levels = {}
        if levels != _by_group(own, question, options):
            stated = "".join(f", {name} {value}" for name, value in options.items())
            raise DuotoneError(
                "this engine computes other results than DuckDB does, so no private rows are given to it; "
                f"it fails at: {question}{stated}"
            )


def _by_group(source: Source, question: str, options: Mapping[str, Any]) -> Mapping[Any, tuple[int, int]]:
    """The number of people of each group, and its level."""
    declared = Dataset(source, bounds=BOUNDS, **options)
    asked = read_question(question, source.columns, declared.unit)
    compiled = compile_question(asked, declared, Reach(REACH, REACH), source)
    who = People(source, compiled.rows, declared.unit, asked.by, declared.max_groups or 1)
    keys, people, (levels,) = levels_of(who, [(asked, compiled)])
    return dict(zip(keys, zip(people.tolist(), levels.clip(-REACH - 1, REACH).tolist(), strict=True), strict=True))


def _row(values: tuple[Any, ...]) -> Any:
    typed = {n: ibis.literal(value, type=kind) for (n, kind), value in zip(KINDS.items(), values, strict=True)}
    return ibis.literal(1).name("one").as_table().select(**typed)
