"""Inspection, for a table's owner: how much a choice of rows per person, bounds and grid clips. NOT private.

Pr[wrong] does not include clipping, and cannot: that depends on the rows. Whoever may see the rows can choose limits by
this, best on a similar table. For a text file it also counts how many texts are read as numbers, dates, or true and
false. Its results are computed from the rows without noise, are charged to no ledger, and must not be shown to
analysts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import ibis

from duotone.errors import DuotoneError
from duotone.html import cell
from duotone.html import table as page
from duotone.model.dataset import Dataset, Grid
from duotone.privacy.numbers import show
from duotone.tables.compile_question import as_numbers, finer_bounds
from duotone.tables.declared import column_bounds, declared_by, open_conforming, public_groups, unit_in
from duotone.tables.engines.engine import Source
from duotone.tables.engines.expressions import read, steps
from duotone.tables.engines.query import People
from duotone.tables.sql.condition import Operand
from duotone.tables.sql.functions.function import wide
from duotone.tables.sql.read_question import read_value
from duotone.tables.text_readings import TextColumn, text_columns

LIMITS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
QUANTILES = ("1/4", "1/2", "3/4", "9/10", "99/100", "1")
HUGE = 1e290
"""Larger values are clipped to this in a mean, so that no sum overflows."""
ROUNDED = 1e-6
"""Rounding counts as moving a value if it moves it by more than this share of a step."""

NOT_PRIVATE = "Inspection, NOT private"
TEXTS = ("column", "values", "can be read as", "values that would count as missing")
"""Headings for a text file's columns."""


@dataclass(frozen=True)
class RowsPerPerson:
    """How many rows people have: `quantiles` by share of people, and for some `max_rows`, how many people have more,
    and how many of their rows a count would leave out. Rows `without` a unit never count."""

    people: int
    rows: int
    quantiles: Mapping[str, int]
    above: Mapping[int, tuple[int, int]]
    without: int

    @property
    def sentence(self) -> str:
        """How many people have how many rows, and how many rows have no unit."""
        nobody = f"; {self.without} rows without a unit do not count" if self.without else ""
        return f"{self.people} people have {self.rows} rows{nobody}"


@dataclass(frozen=True)
class GroupsPerPerson:
    """In how many groups people are: for some `max_groups`, how many people are in more, and in how many groups, summed
    over people, they would not count."""

    by: tuple[str, ...]
    people: int
    most: int
    above: Mapping[int, tuple[int, int]]

    @property
    def sentence(self) -> str:
        """The largest number of groups of a person."""
        return f"{self.people} people are in at most {self.most} group{'s' * (self.most != 1)} each, by {', '.join(self.by)}"


@dataclass(frozen=True)
class ClippedValues:
    """What bounds and a grid do to the values of a column: how many lie below, lie above, or are moved by rounding; and
    the mean before and after.

    With a unit, `several` counts people with more than one value, and `differing` those whose values differ, for whom
    one value per person loses something; `beyond` counts people whose sum is beyond the bounds, which per_unit sum
    clips.
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


@dataclass(frozen=True)
class TypeRead:
    """What a declared type makes of a text column: how many `values`; `unread` texts do not fit it: they are null."""

    column: str
    type: str
    values: int
    unread: int


@dataclass(frozen=True, repr=False)
class Inspection:
    """How much is clipped. NOT private: for the table's owner only."""

    rows: RowsPerPerson | None
    values: tuple[ClippedValues, ...]
    types: tuple[TypeRead, ...] = ()
    texts: tuple[TextColumn, ...] = ()
    """For a text file, what its columns can be read as, if nothing else is requested."""
    groups: GroupsPerPerson | None = None
    """If the columns to group by are named."""

    def __repr__(self) -> str:
        rows = [] if self.rows is None else [self.rows.sentence]
        rows += [] if self.groups is None else [self.groups.sentence]
        values = [f"{one.column}: {one.below + one.above} of {one.values} values clipped" for one in self.values]
        types = [f"{one.column}: {one.unread} texts are not {one.type}" for one in self.types]
        texts = [f"{one.column}: {one.type}, {one.remark}" for one in self.texts]
        return f"<{NOT_PRIVATE}: {'; '.join([*rows, *values, *types, *texts])}>"

    def _repr_html_(self) -> str:
        if self.texts:
            counts = [(one.column, one.values, one.type, one.lost) for one in self.texts]
            return page(TEXTS, [[*map(cell, row)] for row in counts], before=NOT_PRIVATE)
        head = ("column", "lowest", "highest", "values", "below", "above", "rounded", "mean", "mean after")
        means = [[one.mean, one.mean_after] for one in self.values]
        rows = [
            [one.column, show(one.low), show(one.high), one.values, one.below, one.above, one.rounded]
            + ["–" if mean is None else f"{mean:.6g}" for mean in both]
            for one, both in zip(self.values, means, strict=True)
        ]
        return page(head, [[*map(cell, row)] for row in rows], before=repr(self)[1:-1])


def inspect_clipping(source: Any, *, by: Sequence[str] | str | None = None, **declared: Any) -> Inspection:
    """How much of a table bounds, a grid and a limit on a person's rows would clip. NOT private: for its owner only.

    Rows are read by the same rules as for a question (docs/reading.md); rows without a unit are left out. For a file's
    `types` it counts the texts that do not fit. For a text file alone, it says what each column can be read as.
    With a unit, `by` counts in how many groups people are, for choosing `max_groups`.

    >>> import pyarrow as pa
    >>> visits = pa.table({"person": [1, 1, 1, 2], "cost": [5, 12, 250, -3]})
    >>> seen = inspect_clipping(visits, unit="person", bounds={"cost": (0, 100, 10)})
    >>> seen.rows.above, seen.values[0].below, seen.values[0].above, seen.values[0].rounded
    ({1: (1, 2), 2: (1, 1)}, 1, 1, 2)
    """
    dataset = declared_by(source, declared)
    with open_conforming(dataset) as opened:
        about = unit_in(replace(dataset, bounds=column_bounds(dataset.bounds, opened.columns)), opened)
        return _inspected(dataset, opened, about, by)


def _inspected(dataset: Dataset, source: Source, declared: Dataset, by: Sequence[str] | str | None) -> Inspection:
    """`declared` is the same dataset, with columns as the table spells them."""
    unit = declared.unit
    groups = None if by is None else _groups(source, unit, (by,) if isinstance(by, str) else tuple(by))
    if unit is None and not declared.bounds and not declared.types:
        if texts := tuple(text_columns(source)):
            return Inspection(None, (), texts=texts)
        raise DuotoneError("there is nothing to inspect: name the unit, or give bounds")
    operands = [read_value(column, source.columns) for column in declared.bounds]
    finer = finer_bounds(operands, declared)
    declared = replace(declared, bounds={**declared.bounds, **finer})
    operands = [as_numbers(value, finer.keys()) for value in operands]
    grids = [declared.bounds[operand.column].on(operand.column, operand.kind) for operand in operands]
    values = tuple(_values(source, unit, *one) for one in zip(operands, grids, strict=True))
    read = tuple(_types(dataset, source, unit)) if declared.types else ()
    return Inspection(None if unit is None else _rows(source, unit), values, read, groups=groups)


def _types(dataset: Dataset, source: Source, unit: str | None) -> Iterator[TypeRead]:
    """How many texts each declared type reads, in rows with a unit."""
    types = dataset.types_of()
    with open_conforming(replace(dataset, types={c: one for c, one in types.items() if c == unit})) as unread:
        fit, every = (_there(one, [*types], unit) for one in (source, unread))
    for (column, written), some, all_of_them in zip(types.items(), fit, every, strict=True):
        yield TypeRead(column, written, some, all_of_them - some)


def _there(source: Source, columns: Sequence[str], unit: str | None) -> list[int]:
    """How many values of each column are not null, in rows with a unit."""
    rows = People(source.only([*columns, *([] if unit is None else [unit])]), unit=unit).rows()
    counted = source.run(rows.agg(**{f"c{i}": rows[column].count() for i, column in enumerate(columns)}))
    return [int(column[0].as_py()) for column in counted.columns]


def _groups(source: Source, unit: str | None, by: tuple[str, ...]) -> GroupsPerPerson:
    if unit is None:
        raise DuotoneError("without a unit each row is a person, in one group: name the unit")
    by = tuple(map(source.named_column, by))
    public_groups(source, by, unit)  # refuses columns that cannot be keys
    rows = People(source.only([unit, *by]), unit=unit, by=by).rows()
    keys = rows.select(unit=rows[unit], **{f"k{i}": rows[column] for i, column in enumerate(by)}).distinct()
    histogram = _histogram(source, keys)
    return GroupsPerPerson(by, sum(histogram.values()), max(histogram, default=0), _above(histogram))


def _histogram(source: Source, rows: Any) -> dict[int, int]:
    """How many people have each number of rows, in order."""
    people = rows.group_by("unit").agg(n=rows.count())
    counted = source.run(people.group_by("n").agg(people=people.count()).order_by("n"))
    return {int(n): int(many) for n, many in zip(counted["n"].to_pylist(), counted["people"].to_pylist(), strict=True)}


def _rows(source: Source, unit: str) -> RowsPerPerson:
    named = People(source.only([unit]), unit=unit).rows()
    histogram = _histogram(source, named.select(unit=named[unit]))
    total = sum(histogram.values())
    rows = sum(n * many for n, many in histogram.items())
    every = source.only([unit]).rows
    return RowsPerPerson(
        total,
        rows,
        {q: _quantile(histogram, math.ceil(Fraction(q) * total)) for q in QUANTILES} if total else {},
        _above(histogram),
        int(source.run(every.agg(rows=every.count()))["rows"][0].as_py()) - rows,
    )


def _quantile(histogram: Mapping[int, int], rank: int) -> int:
    """The rank-th smallest of numbers, given in order with how often each occurs."""
    return next(n for n, upto in zip(histogram, itertools.accumulate(histogram.values()), strict=True) if upto >= rank)


def _above(histogram: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """For limits below the largest number: how many people exceed them, and by how much in total."""
    over = {limit: {n - limit: many for n, many in histogram.items() if n > limit} for limit in LIMITS}
    return {limit: (sum(some.values()), sum(n * many for n, many in some.items())) for limit, some in over.items() if some}


def _values(source: Source, unit: str | None, value: Operand, grid: Grid) -> ClippedValues:
    low, high, step = grid.low * grid.step, grid.high * grid.step, grid.step
    rows = People(source.asked_about([value], [unit] if unit else []), unit=unit).rows()
    column, after = read(value, rows).cast("float64"), steps(value, grid, rows)
    moved = (after.cast("float64") * float(step) - column).abs() > ROUNDED * float(step)
    cells = {
        "values": _one(column.notnull()),
        "below": _one(column < float(low)),
        "above": _one(column > float(high)),
        "rounded": _one(column.between(float(low), float(high)) & moved),
        "before": ibis.cases((column.notnull(), ibis.greatest(ibis.least(column, HUGE), -HUGE))),
        "after": after,
    }
    people = rows.select(**cells, **({} if unit is None else {"unit": rows[unit]}))
    if unit is not None:
        ends = {"least": people.after.min(), "most": people.after.max()}
        people = people.group_by("unit").agg(**{name: people[name].sum() for name in cells}, **ends)
    counted = {name: people[name].sum() for name in cells}
    if unit is not None:
        several = people["values"] > 1
        counted["several"] = _one(several).sum()
        counted["differing"] = _one(several & (people.least < people.most)).sum()
        counted["beyond"] = _one((people.after < grid.low) | (people.after > grid.high)).sum()
    result = {name: column[0].as_py() for name, column in zip(counted, source.run(people.agg(**counted)).columns, strict=True)}
    many = int(result["values"] or 0)
    means = (float(result["before"]) / many, float(result["after"]) * float(step) / many) if many else (None, None)
    names = ("below", "above", "rounded", "several", "differing", "beyond")
    numbers = {n: int(result.get(n) or 0) for n in names}
    return ClippedValues(value.column, low, high, step, many, mean=means[0], mean_after=means[1], **numbers)


def _one(condition: Any) -> Any:
    return ibis.cases((condition, wide(1)), else_=wide(0))


def as_document(seen: Inspection) -> dict[str, Any]:
    """As one JSON object."""
    rows = seen.rows
    document: dict[str, Any] = {"private": False}
    if rows is not None:
        above = {str(limit): {"people": people, "rows": lost} for limit, (people, lost) in rows.above.items()}
        document["rows"] = {"people": rows.people, "rows": rows.rows, "quantiles": dict(rows.quantiles), "above": above}
        document["rows"] |= {"without": rows.without} if rows.without else {}
    if seen.groups is not None:
        above = {str(limit): {"people": people, "groups": lost} for limit, (people, lost) in seen.groups.above.items()}
        groups = seen.groups
        document["groups"] = {"by": list(groups.by), "people": groups.people, "most": groups.most, "above": above}
    exact = ("low", "high", "step")
    document["values"] = [{k: show(v) if k in exact else v for k, v in vars(one).items()} for one in seen.values]
    if seen.types:
        document["types"] = [vars(one) for one in seen.types]
    if seen.texts:
        document["texts"] = [{k: v for k, v in vars(one).items() if v or k not in ("as_numbers", "also")} for one in seen.texts]
    return document
