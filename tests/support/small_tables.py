"""Small tables for questions: every dataset at once in one table, and the levels of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from duotone import ApproxDP
from duotone.questions import Neighbours
from duotone.tables.ask import prepare
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
    keys, _, of_datasets = prepared._levels()
    assert tuple(keys) == (prepared.listed or ((),))
    return [int(level) for level in of_datasets]


def level(content: pa.Table, sql: str, **options: Any) -> float:
    return levels(prepare(content, sql, P, **options), 1, by=None)[0]
