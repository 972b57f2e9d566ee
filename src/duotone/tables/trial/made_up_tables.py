"""Made-up tables: small, with critical values, and enough of them to include neighbours.

A critical value is one where a question may change its answer, or a reader may fail.

Guarantee: they depend on the question, the declarations and the columns' kinds; no row of a table is used. They are
drawn from a seed that the question determines, so that a trial can be repeated; nobody is in them.
"""

from __future__ import annotations

import datetime
import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from duotone.model.dataset import Bounds
from duotone.tables.sql.comparison import ModeIs, QuantileThreshold, TopGroup
from duotone.tables.sql.condition import Compare, Formula, Kind, Like, OneOf, parts_of

FAR = 2**53
"""Constants beyond this, and values near them, are odd: engines may treat them differently."""
ODD: Mapping[Kind, tuple[Any, ...]] = {
    "integer": (-(2**63) + 1, 2**63 - 1, 2**62),
    "float": (float("nan"), float("inf"), -float("inf"), 1e308, -0.0, 5e-324),
    "decimal": (Decimal("12345678.0001"),),
    "text": (" ", "é", "it's", "a\0b", "%", "x" * 300),
    "untyped": (" ", "é", " 7", "7 ", "1e3", "0x1F", "NaN", "inf", "1_000", "2025-02-30", "x" * 300),
    "date": (datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),
    "time": (datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999)),
}
"""Values that engines are known to treat differently, and that plain SQL need not read by the same rules."""
TURNS: Mapping[bool, tuple[datetime.date, ...]] = {
    False: (datetime.date(2023, 12, 31), datetime.date(2024, 2, 29)),
    True: (datetime.datetime(2023, 12, 31, 18, 45, 7), datetime.datetime(2024, 2, 29, 23, 0, 59)),
}
"""A Sunday that ends a year, and a leap day; as times, with different hour, minute and second."""
DAY, SECOND = datetime.timedelta(days=1), datetime.timedelta(seconds=1)


@dataclass(frozen=True)
class Values:
    """`usual` values have the same meaning in plain SQL; `odd` ones need not. Null is among the usual ones. Those
    `beyond` the bounds do where plain SQL clips them."""

    usual: tuple[Any, ...]
    odd: tuple[Any, ...]
    beyond: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Constants:
    """The constants of a question by use: `limits` of sums, counts and the like, `numbers` of rows."""

    numbers: tuple[Fraction, ...] = ()
    limits: tuple[Fraction, ...] = ()
    texts: tuple[str, ...] = ()
    dates: tuple[datetime.date, ...] = ()

    @staticmethod
    def of(question: Any) -> Constants:
        """The constants that a question's rows, aggregates and groups are compared with or computed from."""
        every: list[Any] = []
        limits: list[Any] = []
        for part in parts_of(question):
            match part:
                case Compare():
                    every.append(part.value)
                case OneOf():
                    every += part.values
                case Like():
                    every += [part.pattern, part.pattern.strip("%^$").replace("%", "a").replace("_", "b")]
                case Formula():
                    every += part.parts
                case TopGroup():
                    every += part.values
                case QuantileThreshold() | ModeIs():
                    every += [getattr(part, name, None) for name in ("limit", "written", "winner")]
                case _:
                    limits.append(getattr(part, "limit", None))
        dates = [c for c in every if isinstance(c, datetime.date)]
        texts = [c for c in every if isinstance(c, str)]
        return Constants(_few(_fractions(every)), _few(_fractions(limits)), _few(texts), _few(dates))


def _fractions(constants: Iterable[Any]) -> list[Fraction]:
    return [Fraction(c) for c in constants if isinstance(c, Fraction | int) and not isinstance(c, bool)]


def _few(values: Iterable[Any], most: int = 6) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))[:most]


def values_of(
    kind: Kind, constants: Constants, bounds: Bounds | None = None, *, compared: bool = False, clipped: bool = False
) -> Values:
    """The critical values of one column; `bounds` if it has some. If a condition compares the unclipped values, those
    beyond the bounds are usual; `clipped`: plain SQL clips them."""
    odd = ODD.get(kind, ())
    match kind:
        case "boolean":
            return Values((None, True, False), ())
        case "date" | "time":
            return Values((None, *_times(kind, constants)), odd)
        case "text":
            return Values((None, *_texts(constants)), odd)
        case "untyped":
            inside, outside = _numbers("float", constants, bounds)
            numbers, beyond = [*map(_written, inside)], (*map(_written, outside),)
            odd, beyond = (odd, beyond[:BEYOND]) if clipped else ((*odd, *beyond), ())
            if compared:
                numbers = [*map(_written, (*outside, *inside))]
            days = [day.isoformat() for day in _times("date", constants)] if constants.dates else []
            return Values(_few([None, *_texts(constants)[:6], *numbers[:6], *days], 16), odd, beyond)
    inside, outside = _numbers(kind, constants, bounds)
    if compared:
        return Values((None, *inside, *outside), odd)
    return Values((None, *inside), odd, (*outside[:BEYOND],)) if clipped else Values((None, *inside), (*odd, *outside))


def _texts(constants: Constants) -> tuple[str, ...]:
    near = [made for text in constants.texts[:1] for made in (f"x{text}", f"{text}x", text.swapcase())]
    return _few([*constants.texts, *near, "other", "rival", "third", ""], 13)


def _times(kind: Kind, constants: Constants) -> list[datetime.date]:
    step = DAY if kind == "date" else SECOND
    start = datetime.date(2025, 1, 31)
    known = [_as(kind, constant) for constant in (*constants.dates[:3], start)]
    return [*dict.fromkeys([*_few(moved for day in known for moved in _around(day, step)), *TURNS[kind == "time"]])]


def _as(kind: Kind, value: datetime.date) -> datetime.date:
    if kind == "time":
        return value if isinstance(value, datetime.datetime) else datetime.datetime.combine(value, datetime.time())
    return value.date() if isinstance(value, datetime.datetime) else value


def _around(value: datetime.date, step: datetime.timedelta) -> Iterable[datetime.date]:
    yield value
    for way in (1, -1):
        try:
            yield value + way * step
        except OverflowError:
            continue


def _numbers(kind: Kind, constants: Constants, bounds: Bounds | None) -> tuple[list[Any], list[Any]]:
    """The ends of the bounds, and each constant with its neighbours; separately those that the bounds would clip."""
    near = [number for c in (*constants.numbers, *constants.limits) for number in (c, c + 1, c - 1)]
    ends = [] if bounds is None else [bounds.low, bounds.high, bounds.low - 1, bounds.high + 1]
    every = [n for n in (*ends, *near, Fraction(0), Fraction(1), Fraction(2)) if abs(n) <= FAR]
    inside = [n for n in every if bounds is None or bounds.low <= n <= bounds.high]
    outside = [n for n in every if n not in inside]
    one, other = ([*dict.fromkeys(v for n in each if (v := _number(n, kind)) is not None)] for each in (inside, outside))
    return one[:14], other[:6]


def _number(value: Fraction, kind: Kind) -> Any:
    match kind:
        case "integer":
            return math.floor(value)
        case "decimal":
            scaled = value * 10_000
            return Decimal(int(scaled)).scaleb(-4) if scaled.denominator == 1 and abs(scaled) < 10**17 else None
    return float(value)


def _written(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


TABLE, PERSON, ALONE = "duotone: made-up table", "duotone: made-up person", "duotone: no unit"
"""The columns that identify made-up tables, and the people of all of them; and a value for a missing unit. No column of
a table has these names."""
BEYOND = 2
"""How many values beyond the bounds are used where plain SQL clips them: one on either side."""
SMALL, KINDS, ROUNDS, CHAINS, LONG, EVERY, PAIRS, NEAR, MANY = 3, 5, 6, 4, 8, 10, 40, 4, 8
"""People of a table for which every table is made; kinds of people in a round; rounds; chains of longer tables; EVERY:
most kinds of people for which all tables of them are made; PAIRS: of people, if a unit of two values identifies them;
NEAR: how many of a column's values, the first of them, half of the people have, so that several satisfy a condition
together; MANY: up to this many counted rows, some people have even more, all alike."""
FULL, STEPS, AWAY = 600, 12, 0.25
"""Most people of a table in which every group has some; tables on the way from neighbour to neighbour; how often a group
moves away from the other side."""
AROUND, ALIKE = range(-2, 4), 12
"""How many more people than its size a crowd has; how many crowds of each size consist of identical people, of which
the first have nothing but nulls, and every third may have nulls, unlike others, so that some satisfy the question."""
Row = tuple[str, tuple[Any, ...]]
"""The number of a row's table, and its values."""


@dataclass(frozen=True)
class Stranger:
    """A kind of person: rows, and the unit's value for the first person of this kind, None for an arbitrary name."""

    rows: tuple[Row, ...]
    name: Any = None
    nameless: bool = False
    """Whether the unit is null: nobody knows whose rows these are, so they do not count."""
    usual: bool = True
    """Whether plain SQL reads every value by the same rules."""


@dataclass(frozen=True)
class MadeUp:
    """One made-up table: how many people there are of each kind, by its index in `strangers`."""

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
    """The columns of the private tables that a question reads, by table: the first is the main one."""

    columns: Mapping[str, Mapping[str, Kind]]
    values: Mapping[str, Mapping[str, Values]]
    unit: str | None
    """The column that identifies a person, None if each row is one."""
    rows: int = 1
    """Most rows of one person that count."""
    plain: bool = True
    """Whether the question uses stored values alone, so that only the critical values of columns matter."""


def made_up_tables(layout: Layout, sizes: Sequence[int], draw: random.Random, share: float = 1.0) -> list[MadeUp]:
    """Small tables, each a neighbour of others; with `sizes`, also around crowds of these sizes. A `share` below 1
    makes fewer of them."""
    if layout.columns[next(iter(layout.columns))].get(layout.unit or "") == "boolean":  # two people at most have the same name
        pairs = [tuple(_stranger(layout, draw, i) for i in (1, 2)) for _ in range(PAIRS)]
        return [MadeUp(pair, counts) for pair in pairs for counts in itertools.product(range(2), repeat=2)]
    tables = [*_every(layout, most=max(4, int(EVERY * share)))]
    for _ in range(max(1, round(ROUNDS * share))):
        strangers = tuple(
            _stranger(layout, draw, i, odd=0.2 if i % 2 else 0.0) for i in range(KINDS)
        )  # plain SQL can judge most of them
        tables += [MadeUp(strangers, counts) for counts in _multisets(KINDS, SMALL)]
    for _ in range(max(2, round(CHAINS * share))):
        strangers = tuple(_stranger(layout, draw, i) for i in range(LONG))
        tables += [MadeUp(strangers, tuple(int(i < n) for i in range(LONG))) for n in range(LONG + 1)]
        tables += [MadeUp(strangers, tuple(int(i != n) for i in range(LONG))) for n in range(LONG)]
    for size in sizes:
        for most in (1, 3):  # people of one row each, which plain SQL can judge, and others
            strangers = tuple(_stranger(layout, draw, i, odd=0, most=most) for i in range(3))
            if layout.unit is not None:
                strangers = (*strangers[:2], replace(strangers[2], nameless=True))
            others = itertools.product(range(2), repeat=2) if most == 1 else [(0, 0), (1, 1)]
            tables += [MadeUp(strangers, (size + a, b, c)) for b, c in others for a in AROUND]
    for size in dict.fromkeys((2, *sizes)):
        for i in range(ALIKE):
            crowd = (_stranger(layout, draw, 0, odd=0, most=1, nulls=i % 3 == 0) if i else _of_nulls(layout),)
            tables += [MadeUp(crowd, (size + a,)) for a in AROUND]
    return [*tables, *_beyond(layout, sizes, draw)]


def _beyond(layout: Layout, sizes: Sequence[int], draw: random.Random) -> Iterator[MadeUp]:
    """Crowds of these many rows that count, of identical people who each have a row more than that."""
    if layout.unit is None or layout.rows > MANY:
        return
    for size, _ in itertools.product(dict.fromkeys(sizes), range(ALIKE)):
        one = _stranger(layout, draw, 0, odd=0, most=1, nulls=False)
        crowd = (replace(one, rows=(*one.rows[:1] * layout.rows, *one.rows)),)
        yield from (MadeUp(crowd, (many,)) for many in {1, *(max(0, size // layout.rows + a) for a in range(-1, 3))})


def full_groups(
    layout: Layout, keys: Sequence[Mapping[str, Any]], size: int, enough: Sequence[int], most: int, *, replaced: bool,
    draw: random.Random,
) -> list[MadeUp]:  # fmt: skip
    """Tables in which every group has people, about `size`, and about `enough` groups are larger or smaller than that; each
    next table is a neighbour. `keys` are the groups' values by column; in some tables people are in `most` groups."""
    if not (0 < len(keys) * size <= FULL and {*keys[0]} <= {*next(iter(layout.columns.values()))}):
        return []
    tables, together = [], min(most, len(keys))
    targets = dict.fromkeys((*enough, *(len(keys) - n for n in enough)))
    for some, shared in itertools.product(targets, (0, 1, 2) if together > 1 else (0,)):
        own = [_in_groups(layout, _stranger(layout, draw, i, odd=0, most=1), [key]) for i, key in enumerate(keys)]
        in_several = _in_groups(layout, _stranger(layout, draw, len(keys), odd=0, most=1), draw.sample(keys, together))
        strangers, larger = (*own, *[in_several] * (shared > 0)), draw.sample(range(len(keys)), some)
        alone = max(0, size - shared)
        counts = [max(0, alone + draw.choice((0, 1) if i in larger else (-1, -2))) for i in range(len(keys))]
        counts += [shared] * (shared > 0)
        for step in range(STEPS):
            tables.append(MadeUp(strangers, tuple(counts)))
            place, other = draw.sample(range(len(keys)), 2) if len(keys) > 1 else (0, 0)
            way = 1 if counts[place] + shared < size else -1  # to the other side, where the answer may turn
            way = -way if draw.random() < AWAY else way
            place = len(keys) if shared and step % 2 else place
            for moved, by in [(place, way), (other, -way)] if replaced else [(place, way)]:
                counts[moved] = max(0, counts[moved] + by)
    return tables


def _in_groups(layout: Layout, stranger: Stranger, keys: Sequence[Mapping[str, Any]]) -> Stranger:
    """Somebody with a row in each of these groups."""
    (table, row), *_ = stranger.rows
    names = [column for column in layout.columns[table] if column != layout.unit]
    rows = (tuple(key.get(name, value) for name, value in zip(names, row, strict=True)) for key in keys)
    return replace(stranger, rows=tuple((table, each) for each in rows))


def _every(layout: Layout, most: int) -> Iterator[MadeUp]:
    """All small tables of all people with usual values, if these are few enough."""
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
        for counts in _multisets(len(strangers), SMALL):
            yield MadeUp(strangers, counts, complete=True)


def _multisets(kinds: int, most: int) -> list[tuple[int, ...]]:
    """The number of each kind, for all multisets of at most `most`."""
    chosen = (c for n in range(most + 1) for c in itertools.combinations_with_replacement(range(kinds), n))
    return [tuple(map(each.count, range(kinds))) for each in chosen]


def _stranger(
    layout: Layout, draw: random.Random, number: int, odd: float = 0.2, most: int = 3, *, nulls: bool = True
) -> Stranger:
    """Draw a kind of person: `odd` is the share of odd values, and the first table has at most `most` of their rows."""
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
                usually = values.usual if nulls else [v for v in values.usual if v is not None] or values.usual
                row.append(draw.choice(values.odd if is_odd else (*usually[:near], *values.beyond)))
            rows.append((table, tuple(row)))
    if layout.unit is not None and most > 1 and layout.rows <= MANY and draw.random() < 0.2:  # beyond the rows that count
        rows = [rows[0]] * (layout.rows + 1) + rows
    names = () if layout.unit is None else layout.values[first][layout.unit].usual
    nameless = layout.unit is not None and odd > 0 and draw.random() < 0.1
    return Stranger(tuple(rows), names[number] if number < len(names) else None, nameless, usual)


def _of_nulls(layout: Layout) -> Stranger:
    """Somebody about whom nothing is known: in each table a row of nulls."""
    return Stranger(
        tuple((table, tuple(None for c in columns if c != layout.unit)) for table, columns in layout.columns.items())
    )


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
    """The unit's value of somebody with an arbitrary name: a different one for each in a table."""
    match layout.columns[table].get(layout.unit or ""):
        case "integer":
            return 10**9 + place
        case "date":
            return datetime.date(1000, 1, 1) + datetime.timedelta(days=place)
    return f"person {place}"
