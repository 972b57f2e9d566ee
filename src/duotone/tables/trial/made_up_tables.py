"""Made-up tables: small, of critical values, and so many that neighbours are among them.

Guarantee: they are drawn from a seed that the question decides, so that a trial can be repeated; nobody is in them.
"""

from __future__ import annotations

import datetime
import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from duotone.tables.sql.condition import Kind
from duotone.tables.trial.critical_values import Values

TABLE, PERSON, ALONE = "duotone: made-up table", "duotone: made-up person", "duotone: no unit"
"""The columns that tell made-up tables, and the people of all of them, apart; and what stands for a unit where there is none.
No column of a table is called so."""
SMALL, KINDS, ROUNDS, CHAINS, LONG, EVERY, PAIRS, NEAR, MANY = 3, 5, 3, 4, 8, 10, 40, 4, 8
"""People of a table of which every one is made; kinds of people in a round; rounds; chains of longer tables; EVERY: how many
kinds of people there may be for all tables of them to be made; PAIRS: of people, where a unit of two values names them; NEAR:
how many of a column's values, the first of them, half of the people have, so that several satisfy a condition together; MANY:
up to how many rows that count some people have yet more, all alike."""
Row = tuple[str, tuple[Any, ...]]
"""The table that a row is in, and its values."""


@dataclass(frozen=True)
class Stranger:
    """A kind of person: rows, and what the unit's column holds of the first of this kind, None for a name of no meaning."""

    rows: tuple[Row, ...]
    name: Any = None
    nameless: bool = False
    """Whether the unit's column holds nothing: nobody knows whose rows these are, so they do not count."""
    usual: bool = True
    """Whether plain SQL reads every value as the rules do."""


@dataclass(frozen=True)
class MadeUp:
    """One made-up table: how many people there are of each kind, by its place in `strangers`."""

    strangers: tuple[Stranger, ...]
    counts: tuple[int, ...]
    complete: bool = False
    """Whether every kind of person that matters is among the strangers, and every small table of them is made."""

    @property
    def people(self) -> int:
        """How many there are."""
        return sum(self.counts)


@dataclass(frozen=True)
class Layout:
    """The columns of the private tables that a question reads, by table: the first is the one that is asked about."""

    columns: Mapping[str, Mapping[str, Kind]]
    values: Mapping[str, Mapping[str, Values]]
    unit: str | None
    """The column that names a person, None where each row is one."""
    rows: int = 1
    """The rows of one person that count, at most."""
    plain: bool = True
    """Whether the question looks at stored values alone, so that the critical values of columns are all that matter."""


def made_up_tables(layout: Layout, sizes: Sequence[int], draw: random.Random, share: float = 1.0) -> list[MadeUp]:
    """Small tables, of which each is a neighbour of others; with `sizes`, also around crowds of so many people. A `share` below
    1 makes fewer of them."""
    if layout.columns[next(iter(layout.columns))].get(layout.unit or "") == "boolean":  # which names two people at most
        pairs = [tuple(_stranger(layout, draw, i) for i in (1, 2)) for _ in range(PAIRS)]
        return [MadeUp(pair, counts) for pair in pairs for counts in itertools.product(range(2), repeat=2)]
    tables = [*_every(layout, most=max(4, int(EVERY * share)))]
    for _ in range(max(1, round(ROUNDS * share))):
        strangers = tuple(_stranger(layout, draw, i) for i in range(KINDS))
        tables += [MadeUp(strangers, counts) for counts in multisets(KINDS, SMALL)]
    for _ in range(max(2, round(CHAINS * share))):
        strangers = tuple(_stranger(layout, draw, i) for i in range(LONG))
        tables += [MadeUp(strangers, tuple(int(i < n) for i in range(LONG))) for n in range(LONG + 1)]
        tables += [MadeUp(strangers, tuple(int(i != n) for i in range(LONG))) for n in range(LONG)]
    for size in sizes:
        for most in (1, 3):  # people of one row each, of whom plain SQL knows the truth, and others
            strangers = tuple(_stranger(layout, draw, i, odd=0, most=most) for i in range(3))
            if layout.unit is not None:
                strangers = (*strangers[:2], replace(strangers[2], nameless=True))
            tables += [MadeUp(strangers, (size + a, b, c)) for a, b, c in itertools.product(range(-2, 4), range(2), range(2))]
    return tables


def _every(layout: Layout, most: int) -> Iterator[MadeUp]:
    """All small tables of all people with usual values, where these are few enough."""
    columns = [(c, values.usual) for c, values in next(iter(layout.values.values())).items() if c != layout.unit]
    if (
        not layout.plain
        or len(layout.columns) > 1
        or math.prod(len(values) for _, values in columns) > most
        or layout.rows > SMALL
    ):
        return
    table = next(iter(layout.columns))
    rows = [(table, row) for row in itertools.product(*(values for _, values in columns))]
    repeated = [1] if layout.unit is None or layout.rows == 1 else [1, layout.rows]
    strangers = tuple(Stranger((row,) * n) for n in repeated for row in rows)
    if len(strangers) <= most:
        for counts in multisets(len(strangers), SMALL):
            yield MadeUp(strangers, counts, complete=True)


def multisets(kinds: int, most: int) -> list[tuple[int, ...]]:
    """How many there are of each kind, in all multisets of at most `most`."""
    chosen = (c for n in range(most + 1) for c in itertools.combinations_with_replacement(range(kinds), n))
    return [tuple(map(each.count, range(kinds))) for each in chosen]


def _stranger(layout: Layout, draw: random.Random, number: int, odd: float = 0.2, most: int = 3) -> Stranger:
    """A kind of person: the share of `odd` values, and at `most` so many rows in the first table."""
    usual, rows = True, []
    first = next(iter(layout.columns))
    near = NEAR if draw.random() < 0.5 else None
    for table, columns in layout.columns.items():
        many = (
            1 if layout.unit is None else min(most, draw.choice((1, 1, 2, 3))) if table == first else draw.choice((0, 1, 1, 2))
        )
        for _ in range(many):
            row = []
            for column in columns:
                if column == layout.unit:
                    continue
                values = layout.values[table][column]
                is_odd = bool(values.odd) and draw.random() < odd
                usual &= not is_odd
                row.append(draw.choice(values.odd if is_odd else values.usual[:near]))
            rows.append((table, tuple(row)))
    if layout.unit is not None and most > 1 and layout.rows <= MANY and draw.random() < 0.2:  # beyond the rows that count
        rows = [rows[0]] * (layout.rows + 1) + rows
    names = () if layout.unit is None else layout.values[first][layout.unit].usual
    nameless = layout.unit is not None and odd > 0 and draw.random() < 0.1
    return Stranger(tuple(rows), names[number] if number < len(names) else None, nameless, usual)


def rows_of(layout: Layout, tables: Sequence[MadeUp]) -> dict[str, dict[str, list[Any]]]:
    """All made-up tables as one for each private table: its columns, with `TABLE` and `PERSON` beside them."""
    own = {table: [c for c in columns if c != layout.unit] for table, columns in layout.columns.items()}
    cells: dict[str, list[list[Any]]] = {table: [[] for _ in (*columns, 0, 0, 0)] for table, columns in own.items()}
    for number, made in enumerate(tables):
        for kind, (stranger, many) in enumerate(zip(made.strangers, made.counts, strict=True)):
            for copy in range(many):
                place = kind * 1000 + copy
                person = None if stranger.nameless else f"{number}:{place}"
                for table, row in stranger.rows:
                    known = stranger.name if not copy and stranger.name is not None else _name(place, layout, table)
                    values = (*row, None if stranger.nameless else known, number, person)
                    for column, value in zip(cells[table], values, strict=True):
                        column.append(value)
    names = {table: [*own[table], layout.unit or ALONE, TABLE, PERSON] for table in layout.columns}
    return {table: dict(zip(names[table], cells[table], strict=True)) for table in layout.columns}


def _name(place: int, layout: Layout, table: str) -> Any:
    """What the unit's column holds of somebody without a name of meaning: another value for each in a table."""
    match layout.columns[table].get(layout.unit or ""):
        case "integer":
            return 10**9 + place
        case "date":
            return datetime.date(1000, 1, 1) + datetime.timedelta(days=place)
    return f"person {place}"
