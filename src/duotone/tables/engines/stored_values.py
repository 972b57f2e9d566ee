"""The rule of totality for the embedded engine: what a stored value of each type becomes (docs/reading.md).

Guarantee: every expression here has a value or null for every value that its type can store, decided by that value
alone. None can be simplified by statistics about other rows: `try` hides a number from those that an optimiser keeps.

A stored text is cut to a declared number of characters, so that a bound on sizes, and so on time and memory, holds for
every row (`tables.work`).
"""

from __future__ import annotations

import itertools
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import ibis

from duotone.tables.sql.condition import Kind

DAYS = -719_162, 2_932_896
"""The first and the last day of the years 1 to 9999, counted from 1970."""
FINER = {"s": 1_000_000, "ms": 1000, "us": 1}
INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")

TYPES: Mapping[Kind, str] = {
    "integer": "int64", "float": "float64", "decimal": "decimal(38, 10)", "text": "string", "boolean": "boolean",
    "date": "date", "time": "timestamp(6)", "untyped": "string", "other": "string",
}  # fmt: skip
"""Ibis's type for each kind of value."""
LONGEST = 10_000
"""Characters of a stored text that are read by default: `shortened` cuts the others."""
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Reading:
    """How a column is read: its kind, its type in Ibis, and its SQL expression."""

    kind: Kind
    type: str
    sql: str
    zone: bool = False
    """Whether it is stored as a time with a zone, which is read in UTC."""
    refused: str = ""
    """For a type that cannot be read: what it is, and how to convert it."""


@dataclass(frozen=True)
class Columns:
    """What the columns of a table hold, and a function that makes a table of some of them, without touching others."""

    kinds: Mapping[str, Kind]
    table: Callable[[Sequence[str]], Any]
    refused: Mapping[str, str] = field(default_factory=dict)
    """Columns whose type cannot be read: what the type is, and how to convert it, if known."""
    stored: bool = True
    """Whether texts may have any stored length; false if they are made from texts that were cut before."""

    @staticmethod
    def of(readings: Mapping[str, Reading], table: Callable[[Sequence[str]], Any]) -> Columns:
        """Columns with these readings."""
        refused = {name: how.refused for name, how in readings.items() if how.refused}
        return Columns({name: how.kind for name, how in readings.items()}, table, refused)


@dataclass(frozen=True)
class PublicSize:
    """The size of a public table: its rows, and the longest text of each text column."""

    rows: int
    texts: Mapping[str, int]


def quoted(name: str) -> str:
    """A name in SQL, with any characters."""
    return '"' + name.replace('"', '""') + '"'


def fresh() -> str:
    """A name that no other table or column has."""
    return f"duotone_{next(_NUMBERS)}_{secrets.token_hex(8)}"


def selected(readings: Mapping[str, Reading], quote: Callable[[str], str] = quoted) -> tuple[list[str], dict[str, str]]:
    """The columns of a select with their conversions, and their types; without columns a constant, so that rows
    count."""
    columns = [f"{how.sql} as {quote(name)}" for name, how in readings.items()]
    return columns or ["true as one"], {name: how.type for name, how in readings.items()} or {"one": "boolean"}


def only(rows: Any, columns: Sequence[str]) -> Any:
    """Some columns of an Ibis table; without columns a constant, so that rows count."""
    return rows.select(*columns) if columns else rows.select(one=ibis.literal(True))


def literal(text: str) -> str:
    """A text in SQL, with any characters."""
    return "'" + text.replace("'", "''") + "'"


def of_type(column: str, held: str) -> Reading:
    """A column of a DuckDB type, as `describe` writes it."""
    decimal = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", held)
    if decimal:
        return Reading("decimal", f"decimal({decimal[1]}, {decimal[2]})", column)
    if held in INTEGERS:
        return Reading("integer", "int64", f"cast({column} as bigint)")
    match held:
        case "BOOLEAN":
            return Reading("boolean", "boolean", column)
        case "FLOAT" | "DOUBLE":
            return number(column)
        case "VARCHAR":
            return Reading("text", "string", column)
        case "DATE":
            return date(column)
        case "TIMESTAMP":
            return time(column)
        case "TIMESTAMP_S" | "TIMESTAMP_MS":
            return time(f"try_cast({column} as timestamp)")
        case "TIMESTAMP WITH TIME ZONE":  # its microseconds are in UTC; the infinite ones are the outermost numbers
            return replace(moment(f"epoch_us({column})", "us"), zone=True)
        case "TIMESTAMP_NS" | "TIMESTAMPTZ_NS":  # the latter from DuckDB 2 on
            return replace(moment(f"epoch_ns({column})", "ns"), zone=held != "TIMESTAMP_NS")
    if held == "UUID" or held.startswith("ENUM("):
        return Reading("text", "string", f"cast({column} as varchar)")
    return OTHER


OTHER = Reading("other", "null", "null")


def number(column: str) -> Reading:
    """A float: NaN is null, and −0.0 is 0.0."""
    value = f"try(cast({column} as double) + cast(0 as double))"
    return Reading("float", "float64", f"case when isnan({value}) then null else {value} end")


def text(column: str) -> Reading:
    """Bytes as text: each byte that is not part of a UTF-8 character is a question mark."""
    return Reading("text", "string", f"decode({column}, 'replace')")


def date(column: str) -> Reading:
    """A date outside the years 1 to 9999 is null, and so is an infinite one."""
    return Reading("date", "date", f"case when {column} between date '0001-01-01' and date '9999-12-31' then {column} end")


def time(column: str) -> Reading:
    """A time outside the years 1 to 9999 is null, and so is an infinite one."""
    first, last = "timestamp '0001-01-01 00:00:00'", "timestamp '9999-12-31 23:59:59.999999'"
    return Reading("time", "timestamp(6)", f"case when {column} between {first} and {last} then {column} end")


def moment(column: str, unit: str) -> Reading:
    """A time that is stored as a number of seconds or fractions of seconds since 1970: rounded down to microseconds."""
    if unit == "ns":  # all lie in the years 1677 to 2262; the outermost stand for infinity, and in pandas for null
        micros = f"{column} // 1000 - case when {column} % 1000 < 0 then 1 else 0 end"
        inside = f"between {2 - 2**63} and {2**63 - 2}"
        return Reading("time", "timestamp(6)", f"case when {column} {inside} then make_timestamp({micros}) end")
    scale = FINER[unit]
    first, last = DAYS[0] * 86_400_000_000 // scale, ((DAYS[1] + 1) * 86_400_000_000 - 1) // scale
    inside = f"make_timestamp({column} * {scale})"
    return Reading("time", "timestamp(6)", f"case when {column} between {first} and {last} then {inside} end")


def day(column: str) -> Reading:
    """A date that is stored as a number of milliseconds since 1970: rounded down to days."""
    return Reading("date", "date", f"cast({moment(column, 'ms').sql} as date)")


@cache
def _bytes_of(function: str) -> Any:
    def text(text): ...  # type: ignore[no-untyped-def]

    return ibis.udf.scalar.builtin(text, name=function, signature=(("string",), "int64"))


def shortened(table: Any, longest: int, bytes_of: str | None) -> Any:
    """The same table, with texts of at most this many characters.

    For most texts only the number of bytes is checked, which engines store and return by a function: if that is no
    larger, they are unchanged.
    """
    texts = [name for name, kind in table.schema().items() if kind.is_string()]
    cut = [_cut(table[name], longest, bytes_of).name(name) for name in texts]  # a column may have any name
    return table.mutate(*cut) if cut else table


def _cut(text: Any, longest: int, bytes_of: str | None) -> Any:
    first = text.substr(0, longest)
    return first if bytes_of is None else ibis.ifelse(_bytes_of(bytes_of)(text) <= longest, text, first)
