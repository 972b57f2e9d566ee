"""Inspection, for a table's owner: how much a choice of rows per person, bounds and grid clips. NOT private.

What is clipped is not in Pr[wrong], and cannot be: it depends on the rows. Whoever may see the rows can choose well by this,
best on a table like the one that is asked about. What it returns is computed from the rows without any noise, is charged to no
ledger, and must not be shown to who may only ask.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import ibis

from duotone.errors import DuotoneError
from duotone.html import cell
from duotone.html import table as page
from duotone.privacy.numbers import Given, show
from duotone.tables.ask import prepare
from duotone.tables.declared import Declared, column_bounds
from duotone.tables.engine_conformance import open_conforming
from duotone.tables.engines import Source
from duotone.tables.engines.expressions import read, steps
from duotone.tables.engines.file_layout import FileLayout
from duotone.tables.engines.person_columns import PersonColumns, Reduction
from duotone.tables.engines.query import People
from duotone.tables.engines.whole_numbers import wide
from duotone.tables.person_averages import as_number, finer_bounds_of
from duotone.tables.sql.condition import Operand
from duotone.tables.sql.formulas.casts import FROM_TEXT
from duotone.tables.sql.read_value import read_value
from duotone.tables.sql.scoring import Bounds, Grid
from duotone.tables.text_columns import TextColumn, text_columns

LIMITS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
QUANTILES = ("1/4", "1/2", "3/4", "9/10", "99/100", "1")
HUGE = 1e290
"""So large a value counts in a mean, so that no sum overflows."""
ROUNDED = 1e-6
"""A value is moved by rounding where it is moved by more than this share of a step."""

NOT_PRIVATE = "Inspection, NOT private"
TEXTS = ("column", "texts", "numbers", "dates (2025-12-31)", "true or false", "none of these")
"""What is shown of a text file's columns."""


@dataclass(frozen=True)
class RowsPerPerson:
    """How many rows people have: `quantiles` by share of people, and for some `max_rows`, how many people have more, and how
    many of their rows a count would leave out."""

    people: int
    rows: int
    quantiles: Mapping[str, int]
    above: Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class ClippedValues:
    """What bounds and a grid do to the values of a column: how many lie below, lie above, are moved by rounding between; and
    the mean before and after.

    With a unit, `several` people have more than one value, and of `differing` ones they differ, so that one value per person
    changes something; `beyond` are people whose values add up to more than the bounds allow, as per_unit sum clips them.

    Of a file of text, `unread` texts are there and are no numbers, as $1,200.50: they are null, and count nowhere else here.
    """

    column: str
    low: Fraction
    high: Fraction
    step: Fraction
    values: int
    below: int
    above: int
    rounded: int
    mean: float | None
    mean_after: float | None
    several: int
    differing: int
    beyond: int
    unread: int


@dataclass(frozen=True)
class DatesRead:
    """What a declared format makes of a column of text: `values` are dates or times, and `unread` texts are there and do not
    match it, or are no date, as 31/02/2025: they are null."""

    column: str
    format: str
    values: int
    unread: int


@dataclass(frozen=True, repr=False)
class Inspection:
    """How much is clipped. NOT private: for the table's owner only."""

    rows: RowsPerPerson | None
    values: tuple[ClippedValues, ...]
    dates: tuple[DatesRead, ...] = ()
    texts: tuple[TextColumn, ...] = ()
    """Of a text file, what its columns can be read as, where nothing else is asked."""

    def __repr__(self) -> str:
        rows = [] if self.rows is None else [f"{self.rows.people} people have {self.rows.rows} rows"]
        values = [f"{one.column}: {one.below + one.above} of {one.values} values clipped" for one in self.values]
        dates = [f"{one.column}: {one.unread} texts are no dates" for one in self.dates]
        texts = [f"{one.column}: {one.other} of {one.values} texts are no number, date, true or false" for one in self.texts]
        return f"<{NOT_PRIVATE}: {'; '.join([*rows, *values, *dates, *texts])}>"

    def _repr_html_(self) -> str:
        if self.texts:
            counts = [(one.column, one.values, one.numbers, one.dates, one.flags, one.other) for one in self.texts]
            return page(TEXTS, [[*map(cell, row)] for row in counts], before=NOT_PRIVATE)
        head = ("column", "lowest", "highest", "values", "below", "above", "rounded", "no numbers", "mean", "mean after")
        means = [[one.mean, one.mean_after] for one in self.values]
        rows = [
            [one.column, show(one.low), show(one.high), one.values, one.below, one.above, one.rounded, one.unread]
            + ["–" if mean is None else f"{mean:.6g}" for mean in both]
            for one, both in zip(self.values, means, strict=True)
        ]
        return page(head, [[*map(cell, row)] for row in rows], before=repr(self)[1:-1])


def inspect_clipping(
    table: Any,
    *,
    unit: str | None = None,
    bounds: Mapping[str, Sequence[Given] | Bounds] | None = None,
    per_unit: Reduction | None = None,
    name: str | None = None,
    vouched: bool = False,
    separator: str | None = None,
    columns: Sequence[str] | None = None,
    formats: Mapping[str, str] | None = None,
) -> Inspection:
    """How much of a table bounds, a grid and a limit on a person's rows would clip. NOT private: for its owner only.

    Rows are read by the same rules as for a question (docs/reading.md); those whose unit is null take no part. Of a file's
    `formats` it counts the texts that do not match. Of a text file alone, it counts what each column can be read as.

    >>> import pyarrow as pa
    >>> visits = pa.table({"person": [1, 1, 1, 2], "cost": [5, 12, 250, -3]})
    >>> seen = inspect_clipping(visits, unit="person", bounds={"cost": (0, 100, 10)})
    >>> seen.rows.above, seen.values[0].below, seen.values[0].above, seen.values[0].rounded
    ({1: (1, 2), 2: (1, 1)}, 1, 1, 2)
    """
    source = open_conforming(table, name, prepare, vouched, FileLayout(separator, columns, formats))
    with source:
        declared = Declared(unit, column_bounds(bounds or {}, source.columns), None, per_unit).of(source)
        unit = declared.unit
        if unit is None and not declared.bounds and not formats:
            if texts := tuple(text_columns(source)):
                return Inspection(None, (), texts=texts)
            raise DuotoneError("there is nothing to inspect: name the unit, or give bounds")
        operands = [read_value(column, source.columns) for column in declared.bounds]
        finer = finer_bounds_of(operands, declared)
        declared = replace(declared, bounds={**declared.bounds, **finer})
        operands = [as_number(value, finer.keys()) for value in operands]
        grids = [declared.bounds[operand.column].on(operand.column, operand.kind) for operand in operands]
        values = tuple(_values(source, unit, *one) for one in zip(operands, grids, strict=True))
        dates = []
        for column, written in (formats or {}).items():
            others = {name: how for name, how in (formats or {}).items() if name != column}
            with open_conforming(table, name, prepare, vouched, FileLayout(separator, columns, others)) as unread:
                read_ones, every = (_there(one, column, unit) for one in (source, unread))
            dates.append(DatesRead(column, written, read_ones, every - read_ones))
        return Inspection(None if unit is None else _rows(source, unit), values, tuple(dates))


def _there(source: Source, column: str, unit: str | None) -> int:
    """How many values of a column are not null, on the rows that belong to a person."""
    own = None if unit == column else unit
    rows = source.only([column, own] if own else [column])
    people = People(rows, unit=own).table([_summed(lambda row: {"there": _one(row[column].notnull())})])
    return int(source.run(people.agg(there=people["m0there"].sum()))["there"][0].as_py() or 0)


def _rows(source: Source, unit: str) -> RowsPerPerson:
    people = People(source.only([unit]), unit=unit).table([_summed(lambda _: {"n": wide(1)})])
    found = source.run(people.group_by("m0n").agg(people=people.count()).order_by("m0n"))
    histogram = {int(n): int(many) for n, many in zip(found["m0n"].to_pylist(), found["people"].to_pylist(), strict=True)}
    total, most = sum(histogram.values()), max(histogram, default=0)
    return RowsPerPerson(
        total,
        sum(n * many for n, many in histogram.items()),
        {q: _quantile(histogram, math.ceil(Fraction(q) * total)) for q in QUANTILES} if total else {},
        {limit: _over(histogram, limit) for limit in LIMITS if limit < most},
    )


def _quantile(histogram: Mapping[int, int], rank: int) -> int:
    """The rank-th smallest of numbers, given in order with how often each occurs."""
    for n, many in histogram.items():
        rank -= many
        if rank <= 0:
            return n
    raise DuotoneError("a rank is at most as many as there are numbers")


def _over(histogram: Mapping[int, int], limit: int) -> tuple[int, int]:
    over = {n: many for n, many in histogram.items() if n > limit}
    return sum(over.values()), sum((n - limit) * many for n, many in over.items())


def _values(source: Source, unit: str | None, value: Operand, grid: Grid) -> ClippedValues:
    low, high, step = grid.low * grid.step, grid.high * grid.step, grid.step

    def row(rows: Any) -> Mapping[str, Any]:
        column, after = read(value, rows).cast("float64"), steps(value, grid, rows)
        within = column.between(float(low), float(high))
        moved = (after.cast("float64") * float(step) - column).abs() > ROUNDED * float(step)
        return {
            "values": _one(column.notnull()),
            "below": _one(column < float(low)),
            "above": _one(column > float(high)),
            "rounded": _one(within & moved),
            "before": ibis.cases((column.notnull(), ibis.greatest(ibis.least(column, HUGE), -HUGE))),
            "after": after,
            "unread": wide(0) if (text := _text(value, rows)) is None else _one(text.notnull() & column.isnull()),
        }

    columns = _summed(row, spread="after")
    source_of_value = source.asked_about([value], [unit] if unit else [])
    people = People(source_of_value, unit=unit).table([columns])
    counted = {name: people[f"m0{name}"].sum() for name in ("values", "below", "above", "rounded", "before", "after", "unread")}
    if unit is not None:
        several, total = people["m0values"] > 1, people["m0after"]
        counted["several"] = _one(several).sum()
        counted["differing"] = _one(several & (people["m0least"] < people["m0most"])).sum()
        counted["beyond"] = _one((total < grid.low) | (total > grid.high)).sum()
    result = {name: column[0].as_py() for name, column in zip(counted, source.run(people.agg(**counted)).columns, strict=True)}
    many = int(result["values"] or 0)
    means = (float(result["before"]) / many, float(result["after"]) * float(step) / many) if many else (None, None)
    numbers = {n: int(result.get(n) or 0) for n in ("below", "above", "rounded", "several", "differing", "beyond", "unread")}
    return ClippedValues(value.column, low, high, step, many, mean=means[0], mean_after=means[1], **numbers)


def _text(value: Operand, rows: Any) -> Any:
    """The text that is read as numbers; None of what is computed from numbers."""
    if value.reading == "try":
        return rows[value.column]
    if value.made is not None and value.made.function == FROM_TEXT["float"]:
        (text,) = (part for part in value.made.parts if isinstance(part, Operand))
        return read(text, rows)
    return None


def _one(condition: Any) -> Any:
    return ibis.cases((condition, wide(1)), else_=wide(0))


def _summed(row: Any, spread: str | None = None) -> PersonColumns:
    """Columns that are added up over a person's rows; of one of them also the least and the most."""

    def merged(rows: Any, name: str) -> Mapping[str, Any]:
        own = [column.removeprefix(name) for column in rows.columns if column.startswith(name)]
        ends = {} if spread is None else {"least": rows[f"{name}{spread}"].min(), "most": rows[f"{name}{spread}"].max()}
        return {column: rows[f"{name}{column}"].sum() for column in own} | ends

    def person(people: Any, name: str) -> Mapping[str, Any]:
        return {column.removeprefix(name): people[column] for column in people.columns if column.startswith(name)}

    return PersonColumns(row, row, merged, person)


def as_document(seen: Inspection) -> dict[str, Any]:
    """As one JSON object."""
    rows = seen.rows
    document: dict[str, Any] = {"private": False}
    if rows is not None:
        above = {str(limit): {"people": people, "rows": lost} for limit, (people, lost) in rows.above.items()}
        document["rows"] = {"people": rows.people, "rows": rows.rows, "quantiles": dict(rows.quantiles), "above": above}
    exact = ("low", "high", "step")
    shown = ({k: v for k, v in vars(one).items() if k != "unread" or v} for one in seen.values)
    document["values"] = [{k: show(v) if k in exact else v for k, v in one.items()} for one in shown]
    if seen.dates:
        document["dates"] = [vars(one) for one in seen.dates]
    if seen.texts:
        document["texts"] = [vars(one) for one in seen.texts]
    return document
