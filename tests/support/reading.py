"""What the engine sees of a table, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duotone import ApproxDP, ask
from duotone.tables.engines import open_source

P = ApproxDP(1, "1e-6")
ALL = ApproxDP(50, "0.99")
"""At this budget a group of three people is shown but for one time in 10^6."""


def values(table: Any, *columns: str, of: str | None = None) -> list[tuple[Any, ...]]:
    """What the plan sees, row by row: no question of Duotone's is between."""
    with open_source(table, table=of) as source:
        read = source.only(columns)
        rows = read.run(read.table.select(*columns)).to_pylist()
    return [tuple(row[column] for column in columns) for row in rows]


def column(table: Any, name: str = "x", **where: Any) -> list[Any]:
    return [value for (value,) in values(table, name, **where)]


def answers(table: Any, questions: Sequence[str], **options: Any) -> list[bool]:
    """True answers of questions whose levels are far from the boundary: each is wrong less than once in 10^20."""
    return [bool(ask(table, question, ApproxDP(1, "1e-6"), **options)) for question in questions]
