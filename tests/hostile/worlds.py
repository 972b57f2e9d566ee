"""Worlds: many small tables side by side as groups of one table, and which of them are neighbours."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hostile.columns import Column, Raw, array
from hostile.model import Value, read
from hostile.questions import Row


@dataclass(frozen=True)
class Stored:
    """One row as it is stored: a value of each column by its place among the column's values, its side, its person."""

    place: int | None
    side: bool
    person: int


@dataclass(frozen=True)
class World:
    """Groups of rows, and pairs of groups that differ in one person. Row by row, columns have values of their own lists."""

    groups: tuple[tuple[Stored, ...], ...]
    edges: tuple[tuple[int, int], ...]

    def table(self, columns: Sequence[Column]) -> pa.Table:
        """The table as Arrow stores it."""
        rows = [(g, row) for g, rows in enumerate(self.groups) for row in rows]
        data: dict[str, Any] = {
            "gid": pa.array([g for g, _ in rows], pa.int64()),
            "side": pa.array([row.side for _, row in rows], pa.bool_()),
            "person": pa.array([row.person for _, row in rows], pa.int64()),
        }
        return pa.table(data | {c.name: array(c, [value_at(c, row.place) for _, row in rows]) for c in columns})

    def rows(self, column: Column, how: Any = read) -> list[list[Row]]:
        """Each group as the model reads it."""
        known: dict[int | None, Value] = {}
        for place in {row.place for rows in self.groups for row in rows}:
            known[place] = how(column, value_at(column, place))
        return [[Row(known[row.place], row.side, row.person) for row in rows] for rows in self.groups]


def value_at(column: Column, place: int | None) -> Raw:
    """Negative places are quiet values, others hostile; None is null. Places go round, so that all columns have them all."""
    if place is None:
        return None
    return column.quiet[-place % len(column.quiet)] if place < 0 else column.hostile[place % len(column.hostile)]


def woven(draw: random.Random, hostile: Sequence[int | None], quiet: int, couples: int, each: int = 1) -> World:
    """Quiet people alone, with each hostile one, and with many couples of them; and hostile ones alone.

    A person has `each` rows, and is in one group. The further rows of a hostile person are a null and quiet ones.
    """
    known: dict[tuple[Any, ...], int] = {}
    edges: set[tuple[int, int]] = set()
    groups: list[tuple[Stored, ...]] = []

    def add(base: int, extra: tuple[int | None, ...]) -> int:
        key = (base, *extra)
        if key not in known:
            known[key] = number = len(groups)
            people = [(-1 - i, i % 2 == 0) for i in range(base)] + [(place, place is None or place % 3 > 0) for place in extra]
            rows = []
            for who, (place, side) in enumerate(people):
                others = [None, -2, -3] if place is None or place >= 0 else [place - 1, place - 2, None]
                rows += [Stored(at, side, number * 64 + who) for at in (place, *others)[:each]]
            groups.append(tuple(rows))
        return known[key]

    for base in range(quiet + 1):
        alone = add(base, ())
        for place in hostile:
            edges.add((alone, add(base, (place,))))
        if base:
            edges.add((add(base - 1, ()), alone))
    for _ in range(couples):
        base, (a, b) = draw.randrange(quiet + 1), draw.choices(hostile, k=2)
        both = add(base, (a, b))
        edges |= {(add(base, (a,)), both), (add(base, (b,)), both)}
        if base:
            edges.add((add(base - 1, (a, b)), both))
    return World(tuple(groups), tuple(sorted(edges)))


def places(columns: Mapping[str, Column]) -> list[int | None]:
    """So many places that every column has each of its hostile values."""
    return [None, *range(max(len(c.hostile) for c in columns.values()))]
