"""The rule of totality for the embedded engine: what a stored value of each type becomes (docs/reading.md).

Guarantee: every expression here has a value or null for every value that its type can store, decided by that value alone.
None can be simplified from what is known about other rows: `try` hides a number from the statistics that an optimiser keeps.

A text may be a date in a declared format: 31/12/2025 where the format is %d/%m/%Y, and null where it is none. A format is
texts and parts; each part stands for digits, as many as `WIDTHS` says, or one of `WORDS`. Where digits stand beside each
other without a text between, each part has its full width, so that there is one way to read them. Blanks at the ends of a
text are passed over. What matches and is no date, as 31/02/2025, is null.

A stored text is cut to its first characters, as many as are declared, so that a bound of sizes, and so of time and memory,
holds for every row (`tables.work`).
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

from duotone.errors import DuotoneError
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
"""Characters of a stored text that are read where nothing is declared: `shortened` leaves out the others."""
YES_NO = {**dict.fromkeys(("true", "t", "yes", "y", "1"), True), **dict.fromkeys(("false", "f", "no", "n", "0"), False)}
"""What a text is read as where yes or no is declared, in whatever case."""
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Reading:
    """How a column is read: what it holds, its type in Ibis, and the SQL expression that computes it."""

    kind: Kind
    type: str
    sql: str
    zone: bool = False
    """Whether it is stored as a time with a zone, which is read in UTC."""
    refused: str = ""
    """Of a type that no rule reads: what it is, and how to convert it."""


@dataclass(frozen=True)
class Columns:
    """What the columns of a table hold, and how a table of some of them is made: no other column is touched."""

    kinds: Mapping[str, Kind]
    table: Callable[[Sequence[str]], Any]
    refused: Mapping[str, str] = field(default_factory=dict)
    """Of columns whose type no rule reads: what it is, and how to convert it, where that is known."""
    stored: bool = True
    """Whether texts come as they are stored, however long; not where they are made of such as have been read before."""

    @staticmethod
    def of(readings: Mapping[str, Reading], table: Callable[[Sequence[str]], Any]) -> Columns:
        """Columns that are read so."""
        refused = {name: how.refused for name, how in readings.items() if how.refused}
        return Columns({name: how.kind for name, how in readings.items()}, table, refused)


@dataclass(frozen=True)
class PublicSize:
    """How large a public table is: its rows, and the characters of the longest text of each column of texts."""

    rows: int
    texts: Mapping[str, int]


def quoted(name: str) -> str:
    """A name in SQL, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def fresh() -> str:
    """A name that no other table or column has."""
    return f"duotone_{next(_NUMBERS)}_{secrets.token_hex(8)}"


def selected(readings: Mapping[str, Reading], quote: Callable[[str], str] = quoted) -> tuple[list[str], dict[str, str]]:
    """What a select has for columns as they are read, and their types; where there are none, a constant, so that rows count."""
    columns = [f"{how.sql} as {quote(name)}" for name, how in readings.items()]
    return columns or ["true as one"], {name: how.type for name, how in readings.items()} or {"one": "boolean"}


def only(rows: Any, columns: Sequence[str]) -> Any:
    """Some columns of an Ibis table; where there are none, a constant, so that rows count."""
    return rows.select(*columns) if columns else rows.select(one=ibis.literal(True))


def literal(text: str) -> str:
    """A text in SQL, whatever is in it."""
    return "'" + text.replace("'", "''") + "'"


def of_type(column: str, held: str) -> Reading:
    """A column of one of DuckDB's types, as `describe` writes it."""
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
        case "TIMESTAMP WITH TIME ZONE":  # its microseconds are those of UTC; the infinite ones are the outermost numbers
            return replace(moment(f"epoch_us({column})", "us"), zone=True)
        case "TIMESTAMP_NS" | "TIMESTAMPTZ_NS":  # the latter from DuckDB 2 on
            return replace(moment(f"epoch_ns({column})", "ns"), zone=held != "TIMESTAMP_NS")
    if held == "UUID" or held.startswith("ENUM("):
        return Reading("text", "string", f"cast({column} as varchar)")
    return OTHER


OTHER = Reading("other", "null", "null")


def of_text(held: str, text: str, longest: int) -> Reading:
    """A column of text whose type is declared. What does not fit is null, and so is what is longer than is read.

    Guarantee: a value or null for every text, by that text alone.
    """
    bare = f"case when length({text}) <= {longest} then trim({text}, ' ') end"
    match held:
        case "number":
            return number(f"try_cast({bare} as double)")
        case "date":
            return date(f"try_cast({bare} as date)")
        case "time":
            return time(f"try_cast({bare} as timestamp)")
        case "yes/no":
            words = " ".join(f"when '{word}' then {value}" for word, value in YES_NO.items())
            return Reading("boolean", "boolean", f"case lower({bare}) {words} end")
    return Reading("text", "string", text)


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
    """A time that is stored as a number of seconds or parts of seconds since 1970: rounded down to microseconds."""
    if unit == "ns":  # all lie in the years 1677 to 2262; the outermost stand for infinite ones, and in pandas for none
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


NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
LONG_NAMES = "january february march april may june july august september october november december"
WIDTHS = {"%Y": (4, 4), "%y": (2, 2), "%m": (1, 2), "%d": (1, 2), "%H": (1, 2), "%I": (1, 2), "%M": (1, 2), "%S": (1, 2),
          "%f": (1, 6)}  # fmt: skip
"""How many digits a part has, at least and at most."""
WORDS = {"%b": NAMES.split(), "%B": LONG_NAMES.split(), "%p": ["am", "pm"]}
"""The words that a part may be, in English; upper and lower case are the same."""
NEEDED = ({"%Y", "%y"}, {"%m", "%b", "%B"}, {"%d"})
"""A date has a year, a month and a day, one of each."""
CLOCK = ({"%H", "%I"}, {"%M"}, {"%S"}, {"%f"})
"""A time has an hour, and then perhaps a minute, a second, a part of one, each only after the one before."""
BLANK = " "
ALLOWED = "a format is of %Y or %y, %m, %b or %B, and %d, and for a time of %H, or %I with %p, then %M, %S and %f"


def by_format(column: str, written: str, text: str) -> Reading:
    """A column of text as dates, or as times where the format has an hour.

    Guarantee: a value or null for every text, by that text alone.
    """
    parts = _parts(written, column)
    timed = any(part in CLOCK[0] for part in parts)
    bare = f"trim({text}, ' ')"
    fits = f"regexp_full_match({bare}, {literal(_pattern(parts))})"
    moment = f"case when {fits} then try_strptime({bare}, {literal(written.strip(BLANK))}) end"
    return time(moment) if timed else date(f"try_cast({moment} as date)")


def _parts(written: object, column: str) -> list[str]:
    """A format's parts, and the characters between them; one that does not tell a date is refused."""
    if not isinstance(written, str):
        raise DuotoneError(f"the format of {column} must be a text such as %d/%m/%Y, got {type(written).__name__}")
    parts = re.findall(r"%.|[^%]|%$", written.strip(BLANK), re.DOTALL)
    stated = [part for part in parts if part.startswith("%") and part != "%%"]
    known = len(set(stated)) == len(stated) and all(part in WIDTHS or part in WORDS for part in stated)
    dated = all(len(need.intersection(stated)) == 1 for need in NEEDED)
    depth = [len(some.intersection(stated)) for some in CLOCK]
    clock = depth == sorted(depth, reverse=True) and depth[0] <= 1 and ("%I" in stated) == ("%p" in stated)
    if not (known and dated and clock):
        raise DuotoneError(f"the format of {column} is {written}, which does not make a date: {ALLOWED}, each once")
    return ["%" if part == "%%" else part for part in parts]


def _pattern(parts: list[str]) -> str:
    """What a text must be, in full, to be looked at: DuckDB alone would take others too, as epoch."""
    pattern = ""
    for before, part, after in zip(["", *parts], parts, [*parts[1:], ""], strict=False):
        if part in WORDS:
            pattern += f"(?i:{'|'.join(WORDS[part])})"
        elif part in WIDTHS:
            least, most = WIDTHS[part]
            beside = any(other in WIDTHS or other.isdigit() for other in (before, after))
            pattern += f"[0-9]{{{most if beside else least},{most}}}"
        else:
            pattern += f"\\x{{{ord(part):x}}}"
    return pattern


@cache
def _bytes_of(function: str) -> Any:
    def text(text): ...  # type: ignore[no-untyped-def]

    return ibis.udf.scalar.builtin(text, name=function, signature=(("string",), "int64"))


def shortened(table: Any, longest: int, bytes_of: str | None) -> Any:
    """The same table, whose texts have at most so many characters.

    Of most texts only the number of bytes is looked at, which engines store, and give by a function: where that is no more,
    they are as they are.
    """
    texts = [name for name, kind in table.schema().items() if kind.is_string()]
    cut = [_cut(table[name], longest, bytes_of).name(name) for name in texts]  # a column may have any name
    return table.mutate(*cut) if cut else table


def _cut(text: Any, longest: int, bytes_of: str | None) -> Any:
    first = text.substr(0, longest)
    return first if bytes_of is None else ibis.ifelse(_bytes_of(bytes_of)(text) <= longest, text, first)
