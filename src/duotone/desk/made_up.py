"""Made-up rows: a table with the columns of a dataset, from public facts alone, for trying questions free of charge.

Guarantee: nothing here is given a row, or a source that could read one. The same facts make the same table each time.
"""

from __future__ import annotations

import csv
import datetime
import io
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from duotone.model.text_types import Type
from duotone.privacy.numbers import exact
from duotone.tables.engines.engine import Source
from duotone.tables.engines.open import open_source
from duotone.tables.sql.condition import Kind

ROWS = 1000
MANY = 4
"""Most rows per person if nothing is declared."""
MISSING = 20
"""One value in this many is null."""
STEPS = 1000
"""Most steps from the lower to the upper bound."""
WORDS = tuple("abcdefgh")
FIRST_DAY = datetime.date(2000, 1, 1)
LONGEST = 2**63 - 1
LARGEST, FINEST = Decimal(10) ** 27, Decimal("1e-10")
TYPES: Mapping[Kind, pa.DataType] = {
    "integer": pa.int64(), "float": pa.float64(), "decimal": pa.decimal128(38, 10), "text": pa.string(),
    "boolean": pa.bool_(), "date": pa.date32(), "time": pa.timestamp("us"), "untyped": pa.string(), "other": pa.binary(),
}  # fmt: skip
DECLARED: Mapping[Kind, Type] = {"float": "number", "boolean": "yes/no", "text": "text", "date": "date", "time": "time"}
"""Declared types of the other columns of a file with some without."""


@dataclass(frozen=True)
class Column:
    """The public facts of a column: its type, the bounds of its numbers, and its values if the owner lists them."""

    kind: Kind
    bounds: tuple[str, str] | None = None
    groups: tuple[Any, ...] | None = None


def made_up(columns: Mapping[str, Column], unit: str | None = None, rows: int = ROWS, max_rows: int | None = None) -> pa.Table:
    """`rows` rows with these columns: values between and at the bounds, listed values, and nulls.

    With a `unit`, some people have several rows, up to one more than the `max_rows` that count.

    >>> made_up({"age": Column("integer", ("18", "70")), "region": Column("text", groups=("N", "S"))}, rows=3).to_pylist()
    [{'age': 70, 'region': 'N'}, {'age': None, 'region': 'S'}, {'age': 18, 'region': None}]
    """
    people = _people(rows, MANY if max_rows is None else min(max_rows, MANY) + 1)
    arrays = {}
    for name, column in columns.items():
        draw = random.Random(f"{name}\n{column.kind}")  # the same each time
        if name == unit:
            values = [None if draw.randrange(MISSING) == 0 else _person(i, column.kind) for i in people]
        else:
            values = _column(column, rows, draw)
        arrays[name] = pa.array(values, TYPES[column.kind])
    return pa.table(arrays)


def opened(rows: pa.Table, columns: Mapping[str, Column], folder: Path) -> Source:
    """Made-up rows as an open table without a name; the caller closes it.

    Columns without a declared type stay so: they are written to a CSV file in the folder, whose text a question may cast.
    """
    if all(column.kind != "untyped" for column in columns.values()):
        return open_source(rows)
    path = folder / "made-up.csv"
    path.write_text(as_csv(rows), encoding="utf-8", newline="")
    types = {name: DECLARED[column.kind] for name, column in columns.items() if column.kind in DECLARED}
    return replace(open_source(path, separator=",", types=types), named=False)


def as_csv(rows: pa.Table) -> str:
    """The rows as CSV: null is an empty field, times are written as in SQL."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(rows.column_names)
    writer.writerows([_written(value) for value in row.values()] for row in rows.to_pylist())
    return lines.getvalue()


def _written(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _people(rows: int, most: int) -> list[int]:
    """The person of each row: the first has one row, the next two, up to `most`, then one again."""
    people: list[int] = []
    while len(people) < rows:
        person = people[-1] + 1 if people else 0
        people += [person] * (person % most + 1)
    return people[:rows]


def _person(number: int, kind: Kind) -> Any:
    match kind:
        case "integer":
            return number
        case "boolean":
            return number % 2 == 0
        case "date":
            return FIRST_DAY + datetime.timedelta(days=number)
    return f"person {number}"


def _column(column: Column, rows: int, draw: random.Random) -> list[Any]:
    """First the values that must occur (every listed value, the bounds, a null), then random ones; shuffled."""
    certain, another = _values(column, draw)
    values = [*certain, None][:rows]
    values += [None if draw.randrange(MISSING) == 0 else another() for _ in range(rows - len(values))]
    draw.shuffle(values)
    return values


def _values(column: Column, draw: random.Random) -> tuple[list[Any], Callable[[], Any]]:
    """The values that must occur, and a function that draws another one."""
    if column.kind == "other":
        return [], lambda: None
    if column.groups:
        listed = [_listed(value, column.kind) for value in column.groups]
        return listed, lambda: draw.choice(listed)
    match column.kind:
        case "boolean":
            return [True, False], lambda: draw.random() < 0.5
        case "text":
            return list(WORDS), lambda: draw.choice(WORDS)
        case "date":
            return [FIRST_DAY], lambda: FIRST_DAY + datetime.timedelta(days=draw.randrange(10_000))
        case "time":
            first = datetime.datetime.combine(FIRST_DAY, datetime.time())
            return [first], lambda: first + datetime.timedelta(seconds=draw.randrange(10**9))
    low, high = (exact(bound) for bound in column.bounds or ("0", "100"))
    kind: Kind = "integer" if column.kind == "untyped" and low.denominator == high.denominator == 1 else column.kind
    held: Callable[[Any], Any] = str if column.kind == "untyped" else lambda value: value
    ends = [held(_number(bound, kind, inwards)) for bound, inwards in ((low, math.ceil), (high, math.floor))]
    return ends, lambda: held(_number(low + (high - low) * draw.randrange(STEPS + 1) / STEPS, kind, math.floor))


def _listed(value: Any, kind: Kind) -> Any:
    """A listed value as a row stores it."""
    match kind:
        case "integer":
            return int(value)
        case "boolean":
            return str(value).lower() == "true"
        case "date":
            return datetime.date.fromisoformat(str(value))
    return str(value)


def _number(value: Fraction, kind: Kind, whole: Callable[[Fraction], int]) -> Any:
    """A number as a column of its type stores it: rounded to the nearest one that fits."""
    match kind:
        case "integer":
            return max(-LONGEST, min(whole(value), LONGEST))
        case "float":
            return float(value)
        case "untyped":
            return f"{float(value):f}"
    digits = Context(prec=28, rounding=ROUND_HALF_EVEN)
    decimal = digits.divide(Decimal(value.numerator), Decimal(value.denominator))
    return min(max(decimal, -LARGEST), LARGEST).quantize(FINEST, context=Context(prec=38))
