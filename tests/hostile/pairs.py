"""Pairs: tables and their neighbours from every source, asked every kind of question, held against the model."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from hostile import sources
from hostile.asked import Refused, Tally, keys, levels, refusals, wrong_levels
from hostile.columns import Column
from hostile.model import Value, as_key, read
from hostile.questions import Bounds, Constant, Question, Row, every, per_person
from hostile.worlds import World, places, woven

F = Fraction
ONE_ANSWER = re.compile("same answer|on every table|always")
"""Questions that no table can change are refused, for all tables alike."""
NUMBERS = [Constant(text, F(text)) for text in ("5", "0", "-1", "5/2", "100", "3")]
INTS = [Constant(str(n), F(n)) for n in (127, -128, 255, 2**31 - 1, -(2**31), 2**53, 2**63 - 1, -(2**63), 2**64, 10**30)]
FLOATS = [Constant(text, float(F(text))) for text in ("0.1", "150", "-7.25", "4503599627370497", "1e300", "5e-324", "-1e-320")]
TEXTS = [Constant(f"'{text}'", text.encode()) for text in ("a", "", "m", "NULL", "é", "1", "quiet", " ", "語", "nan", "ab")]
DATES = [Constant(f"date '{text}'", days) for text, days in
         (("2000-03-01", 11017), ("0001-01-01", -719162), ("9999-12-31", 2932896), ("1970-01-01", 0), ("2000-02-29",
         11016))]  # fmt: skip
DAY = 86_400_000_000
TIMES = [Constant(f"timestamp '{text}'", micros) for text, micros in
         (("2000-03-01 00:00:00", 11017 * DAY), ("2000-02-29 00:00:00", 11016 * DAY), ("0001-01-01 00:00:00", -719162 * DAY),
          ("2000-02-29 00:00:00.000001", 11016 * DAY + 1), ("9999-12-31 23:59:59.999999", 2932897 * DAY - 1),
          ("1970-01-01 00:00:00", 0), ("2000-02-28 23:59:59.999999", 11016 * DAY - 1))]  # fmt: skip
BOOLEANS = [Constant("true", True), Constant("false", False)]
NARROW, WIDE = Bounds(F(0), F(8), F(1)), Bounds(F(-100), F(100), F(1))
EIGHTHS, TENS = Bounds(F(-8), F(8), F(1, 8)), Bounds(F(-1000), F(1000), F(10))
CENTS = Bounds(F(0), F(1000), F(1, 100))
FULL, HALF = Bounds(F(1 - 2**62), F(2**62 - 1), F(1)), Bounds(F(-(2**51)), F(2**51), F(1))


def constants(column: Column) -> list[Constant]:
    """Constants that a column of this kind may be compared with."""
    match column.kind:
        case "integer":
            return [*NUMBERS, *INTS]
        case "float" | "decimal":
            return [*(replace(c, value=float(c.value)) for c in NUMBERS), *FLOATS]
    return {"text": TEXTS, "date": DATES, "time": TIMES, "boolean": BOOLEANS}[column.kind]


def bounds(column: Column, groups: Sequence[Sequence[Row]], draw: random.Random) -> list[tuple[Bounds, list[Fraction]]]:
    """Bounds and grids for a column, with limits that are the exact sums of some groups, so that they are met there."""
    kinds = {"integer": [NARROW, WIDE, TENS, FULL], "float": [NARROW, EIGHTHS, TENS, HALF], "decimal": [NARROW, EIGHTHS, HALF]}
    fitting = kinds.get(column.kind, [])
    if column.kind == "decimal" and column.arrow.scale <= 2:
        fitting = [*fitting, CENTS]
    limits = []
    for chosen in fitting:
        some = draw.sample(groups, min(3, len(groups)))
        sums = [sum((s for r in rows if (s := chosen.on_grid(r.value)) is not None), F(0)) for rows in some]
        limits.append((chosen, [s if abs(s) < 2**90 else F(0) for s in sums] or [F(0)]))
    return limits


def grouped(writer: str, names: Sequence[str], seed: int, folder: Path, *, each: int, quiet: int = 4, couples: int = 400,
            few: int | None = None, rows: int = 1) -> Tally:  # fmt: skip
    """A world of one writer, asked `each` questions about every column; with `few` hostile values, so that what the
    source knows about all its values is about few of them. With more than one row a person, persons are asked about."""
    draw = random.Random(seed)
    columns = sources.storable(writer, names, folder)
    if not columns:
        return Tally()
    hostile = places(columns) if few is None else draw.sample(places(columns), few)
    world = woven(draw, hostile, quiet, couples, rows)
    written = sources.WRITERS[writer](world.table(list(columns.values())), columns, folder)
    return of_world(world, written, f"{writer}, seed {seed}", draw, each, rows)


def of_world(world: World, written: sources.Written, what: str, draw: random.Random, each: int, rows: int = 1) -> Tally:
    """A world as it was written, every column of it asked some questions."""
    tally = Tally()
    with sources.opened(written) as source:
        tally.tables += 1
        for name, (column, raw) in written.stored.items():
            where = f"{what}, column {name}"
            kinds(source, {name: column}, tally, where)
            groups = regrouped(world, column, raw)
            for question in asked(column, groups, draw, each, rows):
                answers(levels(source, question, "gid"), dict(enumerate(groups)), question, world.edges, tally, where)
    return tally


def asked(column: Column, groups: Sequence[Sequence[Row]], draw: random.Random, each: int, rows: int) -> list[Question]:
    """A sample of questions about a column."""
    fixed, limits = constants(column), bounds(column, groups, draw)
    if rows > 1:
        reduced = [b for b, _ in limits if b not in (FULL, HALF)]
        found = list(per_person(column.name, column.kind, fixed, draw.choice(reduced) if reduced else None))
        return draw.sample(found, min(each, len(found)))
    found = every(column.name, column.kind, fixed, limits, draw, 10 * each)
    return draw.sample(found, min(each, len(found)))


def regrouped(world: World, column: Column, raw: Sequence[Any]) -> list[list[Row]]:
    """The groups of a world with the values that were stored."""
    values = iter(raw)
    known: dict[Any, Value] = {}
    groups: list[list[Row]] = []
    for rows in world.groups:
        groups.append([])
        for row in rows:
            value = next(values)
            if value not in known:
                known[value] = read(column, value)
            groups[-1].append(Row(known[value], row.side, row.person))
    return groups


def kinds(source: Any, columns: Mapping[str, Column], tally: Tally, where: str) -> None:
    """Whether columns are taken for what they are."""
    for name, column in columns.items():
        if source.columns[name] != column.kind:
            tally.wrong.append(f"{where}: is taken for {source.columns[name]}, and should be {column.kind}")


def answers(found: Any, groups: Mapping[Any, Sequence[Row]], question: Question, edges: Sequence[tuple[Any, Any]],
            tally: Tally, where: str) -> None:  # fmt: skip
    """Hold the levels of groups against their truth and their neighbours."""
    if isinstance(found, Refused):
        tally.refused += 1
        tally.wrong += [f"{where}, {question.text}: {found}"] * (not ONE_ANSWER.search(found))
        return
    wrong = [found] if isinstance(found, str) else wrong_levels(found, groups, question, edges)
    tally.pairs += len(edges)
    tally.wrong += [f"{where}, {question.text} {dict(question.options)}: {said}" for said in wrong]


def alone(writer: str, names: Sequence[str], seed: int, folder: Path, *, each: int) -> Tally:
    """Two tables of their own that differ in one row, of all these columns, asked without groups under either relation."""
    draw, tally = random.Random(seed), Tally()
    columns = sources.storable(writer, names, folder)
    if not columns:
        return tally
    some = draw.choices(places(columns), k=2)
    base: list[int | None] = [*range(-draw.randrange(4), 0), *[some[0]] * draw.choice((0, 1, 1, 2, 3))]
    other = draw.choice((some[1], some[1], -1, None))
    relation = draw.choice(("add-remove", "replace")) if base else "add-remove"
    both = [base, [*base, other] if relation == "add-remove" else [other, *base[1:]]]  # a row's place says its side
    tables = [_told(writer, columns, rows, seed, folder) for rows in both]
    with sources.opened(tables[0]) as first, sources.opened(tables[1]) as second:
        tally.tables += 2
        if dict(first.columns) != dict(second.columns):
            tally.wrong.append(f"{writer}, seed {seed}: the columns are {dict(first.columns)} and {dict(second.columns)}")
        for name in tables[0].stored:
            column = tables[0].stored[name][0]
            groups = [_rows(t.stored[name], seed) for t in tables]
            where = f"{writer}, seed {seed}, {relation}, column {name}"
            kinds(first, {name: column}, tally, where)
            for question in asked(column, groups, draw, each, 1):
                asking = replace(question, options={**question.options, "neighbours": relation}, level=None)
                found: dict[Any, int] = {}
                both_told = [levels(source, asking, None) for source in (first, second)]
                if isinstance(both_told[0], Refused) and both_told[0] == both_told[1] and ONE_ANSWER.search(both_told[0]):
                    tally.refused += 1
                    continue
                for i, told in enumerate(both_told):
                    if isinstance(told, str):
                        tally.wrong.append(f"{where}, {question.text}, table {i}: {told}")
                    else:
                        found[i] = told[None]
                if len(found) == 2:
                    wrong = wrong_levels(found, dict(enumerate(groups)), asking, [(0, 1)], nobody=True)
                    tally.wrong += [f"{where}, {question.text} {dict(asking.options)}: {said}" for said in wrong]
                tally.pairs += 1
    return tally


def _told(writer: str, columns: Mapping[str, Column], rows: Sequence[int | None], seed: int, folder: Path) -> sources.Written:
    from hostile.worlds import Stored

    world = World((tuple(Stored(p, (i + seed) % 3 > 0, i) for i, p in enumerate(rows)),), ())
    return sources.WRITERS[writer](world.table(list(columns.values())), columns, folder)


def _rows(held: tuple[Column, Sequence[Any]], seed: int) -> list[Row]:
    return [Row(read(held[0], v), (i + seed) % 3 > 0, i) for i, v in enumerate(held[1])]


def keyed(writer: str, names: Sequence[str], seed: int, folder: Path) -> Tally:
    """Hostile values as groups' keys and as people's names: which keys there are, how many people each has, who is one."""
    draw, tally = random.Random(seed), Tally()
    columns = sources.storable(writer, names, folder)
    if not columns:
        return tally
    base = [*draw.choices(places(columns), k=draw.randrange(12)), *range(-draw.randrange(5), 0)]
    both = [base, [*base, draw.choice(places(columns))]]
    tables = [_told(writer, columns, rows, seed, folder) for rows in both]
    with sources.opened(tables[0]) as first, sources.opened(tables[1]) as second:
        tally.tables += 2
        for name in tables[0].stored:
            where = f"{writer}, seed {seed}, column {name} as a key"
            for i, source in enumerate((first, second)):
                column, raw = tables[i].stored[name]
                values = [read(column, v) for v in raw]
                tally.wrong += [f"{where}, table {i}: {said}" for said in keys(source, name, column.kind, values, as_key)]
            tally.pairs += 3
            if refusals(first, name) != refusals(second, name):
                tally.wrong.append(f"{where}: refused in different words")
            tally.pairs += 1
    return tally


def plain_table(column: Column, values: Sequence[Any]) -> pa.Table:
    """A table of one column, for a case that is to be looked at."""
    from hostile.columns import array

    return pa.table({column.name: array(column, values)})
