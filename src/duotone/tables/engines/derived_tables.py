"""The table of a question: joined with public tables, reduced to one row per person, with computed keys.

Guarantee: a person's row depends on that person's rows alone, not on their order, and computing it cannot fail.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import ibis

from duotone.errors import DuotoneError
from duotone.tables.engines.engine import Source
from duotone.tables.engines.expressions import holds, read, rounded
from duotone.tables.engines.query import nameable
from duotone.tables.engines.stored_values import Columns, fresh, only
from duotone.tables.sql.comparison import PRESENT, PeopleJoin, PeopleTable, PersonAggregate
from duotone.tables.sql.condition import ALWAYS, Condition, Kind, Operand, columns_read
from duotone.tables.sql.functions.function import wide

STEP, LARGEST = Fraction(1, 10**6), 10.0**12
"""Numbers of one person are summed in millionths, each clipped to 10^12."""


def per_person(source: Source, people: PeopleTable, beside: Sequence[tuple[Source, PeopleJoin]], *, everybody: bool) -> Source:
    """The table of an inner select; with `everybody`, it keeps people without a row in its where. Inner selects of
    further tables add to each person of the first the columns of the same person in the others, or nulls; people who
    are only in the others are left out."""
    kinds: dict[str, Kind] = {PRESENT: "integer", **people.kinds}
    for _, joined in beside:
        kinds[joined.join.matched] = "boolean"
        kinds |= {name: joined.people.kinds[own] for name, own in joined.join.columns}
    names = (other.identity or (other.name if other.named else None) for other, _ in beside)
    called = tuple(json.dumps([joined.table, name]) for (_, joined), name in zip(beside, names, strict=True))
    vouched = dict.fromkeys(each.vouched for each in (source, *(other for other, _ in beside)) if each.vouched is not None)

    def table(columns: Sequence[str]) -> Any:
        unit, key = fresh(), fresh()
        rows = _people(source, people, unit, everybody=everybody)
        for other, joined in beside:
            theirs = _people(other, joined.people, key, everybody=False)
            theirs = theirs.filter(theirs[PRESENT] > 0)
            names = {name: theirs[column] for name, column in joined.join.columns}
            theirs = theirs.select(key, **{joined.join.matched: theirs[PRESENT] > 0, **names})
            rows = rows.left_join(theirs, rows[unit] == theirs[key]).drop(key)
        return only(rows, [name for name in columns if name in kinds])  # a question names its inner select's columns, too

    reading = Columns(kinds, table, stored=False)
    return replace(source, reading=reading, beside=called, vouched=" and of ".join(vouched) or None)


def _people(source: Source, people: PeopleTable, unit: str, *, everybody: bool) -> Any:
    """One row per person, identified by the column `unit`."""
    rows = source.asked_about([people.where, people.aggregates], [people.unit]).table
    rows = rows.filter(nameable(rows[people.unit], source.longest))
    if not everybody and people.where != ALWAYS:
        rows = rows.filter(holds(people.where, rows))
    needed = {f"{i}{name}": e for i, a in enumerate(people.aggregates) for name, e in _of_row(a, rows).items()}
    here = holds(people.where, rows).name("here")
    of_rows = rows.select(rows[people.unit].name("unit"), here, *(e.name(n) for n, e in needed.items()))
    of_rows = of_rows.mutate(
        **{f"{i}end": _end(a, of_rows, str(i)) for i, a in enumerate(people.aggregates) if a.by is not None}
    )
    merged = [e.name(f"{i}{name}") for i, a in enumerate(people.aggregates) for name, e in _merged(a, of_rows, str(i)).items()]
    grouped = of_rows.group_by("unit").agg(of_rows.count(where=of_rows.here).name(PRESENT), *merged)
    aggregates = [_value(a, grouped, str(i)).name(str(i)) for i, a in enumerate(people.aggregates)]
    person = grouped.select("unit", PRESENT, *aggregates)
    columns = [_column(made, person).name(name) for name, made in people.columns]
    counted = ibis.cases((holds(people.kept, person), person[PRESENT]), else_=wide(0))
    return person.select(person["unit"].name(unit), counted.cast("int64").name(PRESENT), *columns)


def _column(made: Operand | Condition, person: Any) -> Any:
    return read(made, person) if isinstance(made, Operand) else holds(made, person)


def _of_row(aggregate: PersonAggregate, rows: Any) -> dict[str, Any]:
    """A row's contribution to an aggregate, null for none."""
    there = holds(aggregate.where, rows)
    if aggregate.value is None:
        return {"v": ibis.cases((there, wide(1)))}
    value = read(aggregate.value, rows)
    if aggregate.by is not None:
        by = read(aggregate.by, rows)
        there = there & value.notnull() & by.notnull()
        return {"v": ibis.cases((there, value)), "by": ibis.cases((there, by))}
    if aggregate.function in ("sum", "avg"):
        value = _steps(value.cast("float64"))
    return {"v": ibis.cases((there, value))}


def _steps(value: Any) -> Any:
    """A number in millionths, halves rounded upwards."""
    return rounded(ibis.cases((value.between(-LARGEST, LARGEST), value), (value > 0, LARGEST), (value < 0, -LARGEST)), STEP)


def _end(aggregate: PersonAggregate, rows: Any, place: str) -> Any:
    """The first or the last in a person's order."""
    by = rows[f"{place}by"]
    return (by.min() if aggregate.function == "first" else by.max()).over(ibis.window(group_by="unit"))


def _merged(aggregate: PersonAggregate, rows: Any, place: str) -> dict[str, Any]:
    values = rows[f"{place}v"]
    match aggregate.function:
        case "sum" | "avg":
            return {"v": values.cast("decimal(38, 0)").sum(), "n": values.count()}
        case "first" | "last":  # among several rows the largest value, so that the order of rows does not matter
            return {"v": ibis.cases((rows[f"{place}by"] == rows[f"{place}end"], values)).max()}
        case function:
            return {"v": {"count": values.count, "distinct": values.nunique, "min": values.min, "max": values.max}[function]()}


def _value(aggregate: PersonAggregate, people: Any, place: str) -> Any:
    value = people[f"{place}v"]
    if aggregate.function in ("count", "distinct"):
        return value.cast("int64")
    if aggregate.function in ("min", "max", "first", "last"):
        return value
    total = value.cast("float64") / float(1 / STEP)
    if aggregate.function == "sum":
        return total
    n = people[f"{place}n"]
    return ibis.cases((n > 0, total / ibis.cases((n > 0, n), else_=wide(1)).cast("float64")))


def with_keys(source: Source, keys: Sequence[Operand]) -> Source:
    """The same table, with a column for each key, under the key's text in the question.

    Guarantee: a row's key is a function of that row alone, and computing it cannot fail.
    """
    made = {key.column: key for key in keys}
    for name in made:
        if name in source.columns:
            raise DuotoneError(f"group by {name}: the table has a column of that name; rename it, or group by it in quotes")
    kinds = {**source.columns, **{name: key.kind for name, key in made.items()}}

    def table(chosen: Sequence[str]) -> Any:
        asked = [made[name] for name in chosen if name in made]
        rows = source.only([*(name for name in chosen if name not in made), *sorted(columns_read(tuple(asked)))]).table
        return rows.mutate(**{key.column: read(key, rows) for key in asked})

    return replace(source, reading=Columns(kinds, table, stored=False))
