"""What a stored value is read as, straight from docs/reading.md, in plain Python: nothing of the package is used here.

A value is None (null), a whole number, a float that is not NaN, bytes (text in UTF-8), a Boolean, days since 1970 (dates) or
microseconds since 1970 (times).
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any

import pyarrow as pa

from hostile.columns import Column, Raw

Value = int | float | bytes | bool | None
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def read(column: Column, raw: Raw) -> Value:
    """A stored value of a typed column (Arrow, Parquet, DuckDB, data frames)."""
    if raw is None:
        return None
    match column.kind:
        case "boolean":
            return bool(raw)
        case "integer":
            return int(raw)
        case "float":
            return _float(column, int(raw))
        case "decimal":
            return _rounded(Fraction(int(raw), 10**column.arrow.scale))
        case "date":
            return _day(int(raw) if column.arrow.bit_width == 32 else int(raw) // 86_400_000)
        case "time":
            return _time(int(raw), column.arrow.unit)
        case "text":
            assert isinstance(raw, bytes)
            return _text(raw)
    raise AssertionError(column)


def _float(column: Column, bits: int) -> float | None:
    """NaN, whatever its payload or sign, is null; −0.0 is 0.0."""
    shape, whole = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[column.arrow.bit_width]
    value = struct.unpack(shape, struct.pack(whole, bits))[0]
    return None if math.isnan(value) else float(value) + 0.0


def _rounded(exact: Fraction) -> float:
    """The nearest float."""
    return float(exact)


DAY = 86_400_000_000
FIRST_DAY, LAST_DAY = -719162, 2932896
"""0001-01-01 and 9999-12-31."""
LONGEST_KEY = 1024


def _day(days: int) -> int | None:
    """Outside the years 1 to 9999: null."""
    return days if FIRST_DAY <= days <= LAST_DAY else None


def _time(ticks: int, unit: str) -> int | None:
    """Rounded down to microseconds; outside the years 1 to 9999 null, and so are the ends of nanoseconds."""
    if unit == "ns" and ticks in (-(2**63), 2**63 - 1, 1 - 2**63):
        return None
    micros = ticks * 10**6 // TICKS[unit]
    return micros if FIRST_DAY * DAY <= micros < (LAST_DAY + 1) * DAY else None


def _text(raw: bytes) -> bytes:
    """Each byte that is not part of a UTF-8 character is `?`, and so is the byte at which a character breaks off."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        text, at = b"", 0
        while at < len(raw):
            size = next((n for n in (1, 2, 3, 4) if _is_character(raw[at : at + n])), 0)
            text += raw[at : at + size] if size else b"?" * _broken(raw[at:])
            at += size or _broken(raw[at:])
        return text
    return raw


def _broken(raw: bytes) -> int:
    """How many bytes go with one that begins no character: those that continue it, and the one at which it breaks off; unless
    the text ends before the character that it announces does."""
    announced = next((n for n, low, high in ((2, 0xC0, 0xE0), (3, 0xE0, 0xF0), (4, 0xF0, 0xF8)) if low <= raw[0] < high), 1)
    if len(raw) < announced:
        return 1
    size = 1
    while size < announced:
        size += 1
        if not 0x80 <= raw[size - 1] < 0xC0:
            break
    return size


def _is_character(raw: bytes) -> bool:
    try:
        return len(raw.decode()) == 1
    except UnicodeDecodeError:
        return False


def as_number(value: Value) -> Any:
    """What is added up."""
    return value


def length(text: bytes) -> int:
    """Characters."""
    return len(text.decode())


def trimmed(text: bytes) -> bytes:
    """Without blanks, tabs, line ends, form feeds at its ends."""
    return text.strip(b" \t\n\r\v\f")


def matches(text: bytes, pattern: str) -> bool:
    """SQL's like: % is any number of characters, _ is one."""
    return _like(text.decode(), pattern)


def _like(text: str, pattern: str) -> bool:
    reached = {0}
    for character in pattern:
        if character == "%":
            reached = set(range(min(reached, default=len(text) + 1), len(text) + 1))
        else:
            reached = {i + 1 for i in reached if i < len(text) and character in ("_", text[i])}
    return len(text) in reached


def day_parts(kind: str, value: Any) -> tuple[int, int, int]:
    """Year, month and day of a date or a time, by the calendar that has always been Gregorian."""
    days = value if kind == "date" else value // 86_400_000_000
    era, day = divmod(days + 719468, 146097)  # eras of 400 years from 0000-03-01
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    return era * 400 + year + (month >= 10), month + 3 if month < 10 else month - 9, day - (153 * month + 2) // 5 + 1


def kind_of(kind: pa.DataType) -> str:
    """What a question takes a column of this type for."""
    types = pa.types
    if types.is_dictionary(kind):
        return kind_of(kind.value_type)
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        return "text"
    if types.is_decimal(kind):
        return "decimal" if kind.precision <= 38 and 0 <= kind.scale <= kind.precision else "other"
    if types.is_timestamp(kind):
        return "time"
    for name, fits in (("boolean", types.is_boolean), ("date", types.is_date)):
        if fits(kind):
            return name
    if types.is_integer(kind):
        return "other" if kind == pa.uint64() else "integer"
    return "float" if types.is_floating(kind) else "other"


def as_key(kind: str, value: Any) -> Any:
    """A group's key as it is released; None where its rows are nobody's."""
    match kind:
        case "text":
            return value.decode() if length(value) <= LONGEST_KEY else None
        case "boolean":
            return str(value).lower()
        case "date":
            year, month, day = day_parts("date", value)
            return f"{year:04}-{month:02}-{day:02}"
    return value
