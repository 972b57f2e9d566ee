"""Columns that can be stored, with quiet values and with every hostile one. Values are raw: bits, days, ticks, bytes.

A raw value is what the column has in memory: for floats the bits as a whole number, for dates and times the count of days or
ticks, for text the bytes, which need not be UTF-8. So nothing between this list and the engine can smooth a value out.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

Raw = int | bytes | bool | None
LONG = b"long " * 600_001
"""A text of three million characters."""


@dataclass(frozen=True)
class Column:
    """A type as it is stored, how it is called in the tests, what a question takes it for, and values of it."""

    name: str
    kind: str
    arrow: pa.DataType
    quiet: tuple[Raw, ...]
    hostile: tuple[Raw, ...]


def double(x: float) -> int:
    """The bits of a float of 64 bits."""
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def single(x: float) -> int:
    """The bits of a float of 32 bits."""
    return int(struct.unpack("<I", struct.pack("<f", x))[0])


NANS64 = (0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0xFFF0000000000001, 0x7FFFFFFFFFFFFFFF,
0xFFFFFFFFFFFFFFFF,
          0x7FF800000000BEEF)  # fmt: skip
NANS32 = (0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF)
INF = float("inf")
FLOATS = (INF, -INF, -0.0, 0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 0.1,
1e-300,
          0.49999999999999994, 2.0**53, 2.0**53 - 1, -(2.0**51) - 0.5, 4503599627370497.5, 1e22, 150.0, -7.25)  # fmt: skip
FLOATS32 = (INF, -INF, -0.0, 0.0, 1e-45, -1e-45, 1.1754943508222875e-38, 3.4028234663852886e38, -3.4028234663852886e38, 0.1,
            16777216.0, 150.0, -7.25)  # fmt: skip
TEXTS = (
    b"", b" ", b"  ", b"NULL", b"null", b"\\N", b"NaN", b"nan", b"inf", b"-Infinity", b"1", b" 1 ", b"1.5", b"+3", b"007",
    b"1e5", b"1e400",
    b"-1e-400", b"0x1F", b"1_000", b"1,000", b"true", b"f", b"2020-01-01", b"2020-01-01 00:00:00", b"20200101", b"epoch",
    b"infinity", b"a\x00b",
    b"\x00", b"\x00\x00", b"\x1f", b"\x01", b"\x7f", b"a", b"A", b"b", b"ab", b"a\nb", b"a\r\nb", b"\r", b"\"", b"\"\"", b"'",
    b"''", b"a,b", b"--", b"%", b"_",
    b"\\", "é".encode(), "É".encode(), "é".encode(), "ß".encode(), "İ".encode(), "ı".encode(), "語".encode(), "🙂".encode(),
    "\ufeff".encode(), "\ufffd".encode(), "\uffff".encode(), "\U0010ffff".encode(), "‮".encode(), b" ", b"x" * 5000,
    b"$1", b"{}", b"%s", b"true ", b"12345678901234567890", b"3.0000000000000000000001",
)  # fmt: skip
BROKEN = (b"\xff", b"\xfe\xff", b"a\xff", b"a\xffb", b"\xc3", b"a\xc3", b"\xc3(", b"\xc0\x80", b"\xed\xa0\x80",
b"\xed\xa0\x80\xed\xb0\x80", b"\xf4\x90\x80\x80",
          b"\xe0\x80\x80", b"\x80", b"\xf0\x9f\x99", b"\xe2\x82(b", b"\xf0\x9f(ab", b"\xe2\xc3\xa9", b"\xf5\x80\x80\x80a",
          b"\xf8abcde")  # fmt: skip
"""Bytes that are not UTF-8: lone surrogates, overlong forms, beyond the last character, cut off."""


def _ints(bits: int, signed: bool) -> tuple[int, ...]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    values = (low, low + 1, high, high - 1, 0, 1, -1, 2, 100, -100, 2**31, 2**53 + 1, -(2**53) - 1, 2**62, -(2**62))
    return tuple(dict.fromkeys(v for v in values if low <= v <= high))


def _whole(bits: int, signed: bool) -> Column:
    name = f"{'i' if signed else 'u'}{bits}"
    kind = "other" if name == "u64" else "integer"
    return Column(name, kind, getattr(pa, f"{'' if signed else 'u'}int{bits}")(), (3, 5, 5, 7, 9), _ints(bits, signed))


def _decimal(digits: int, scale: int, make: Any = pa.decimal128) -> Column:
    """Raw values are whole numbers of the last digit."""
    one, most = 10**scale, 10**digits - 1
    some = (
        3 * one,
        5 * one,
        one * 29 // 4,
        5 * one // 2,
        150 * one,
        -one // 100,
        (10**15 + 1) * one,
        2**53 + 1,
        10**16 + 1,
        one // 2,
        5,
    )
    values = (most, -most, 0, 1, -1, most - 1, *some)
    quiet = tuple(v for v in (3 * one, 5 * one, 5 * one, 7 * one) if v <= most) or (0, 1, 1)
    name = f"d_{digits}_{scale}"
    fit = tuple(dict.fromkeys(v for v in values if abs(v) <= most))
    return Column(name, "decimal" if digits <= 38 else "other", make(digits, scale), quiet, fit)


DAY0001, DAY9999 = -719162, 2932896
DAYS = (0, -1, 1, DAY0001, DAY0001 - 1, DAY9999, DAY9999 + 1, 2**31 - 1, 2**31 - 2, -(2**31), -(2**31) + 1, -(2**31) + 2,
106751991,
        106751992, -106751991, -106751992, 11016, 59, 60, 2932897 * 20)  # fmt: skip
EDGE = 2**63 - 1
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _times(unit: str) -> Column:
    each = TICKS[unit]
    quiet = tuple(day * 86400 * each for day in (11016, 11017, 11017, 18262))
    micros = EDGE // 10**6
    values = [0, 1, -1, each - 1, -each - 1, each * 86400 - 1, EDGE, EDGE - 1, -EDGE, -EDGE - 1, -EDGE + 1, EDGE // 2]
    values += [sign * (micros * each + off) for sign in (1, -1) for off in (-1, 0, 1, each) if micros * each + each <= EDGE]
    values += [
        day * 86400 * each for day in (DAY0001, DAY0001 - 1, DAY9999, DAY9999 + 1, 11016) if abs(day * 86400 * each) < EDGE
    ]
    values += [quiet[0] + off for off in (1, 499, 500, 501, 999, 1000, -1, -499, -500, -999)]
    return Column(f"t_{unit}", "time", pa.timestamp(unit), quiet, tuple(dict.fromkeys(values)))


DATE64 = tuple(dict.fromkeys((*(d * 86400000 for d in DAYS), 1, -1, 86399999, 86400001, EDGE, -EDGE - 1, EDGE - 807)))
WORDS = (b"quiet", b"a", b"a", b"m")
NUMERIC = [
    *(_whole(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)),
    Column("f64", "float", pa.float64(), tuple(map(double, (3.0, 5.0, 5.0, 2.5))), (*NANS64, *map(double, FLOATS))),
    Column("f32", "float", pa.float32(), tuple(map(single, (3.0, 5.0, 5.0, 2.5))), (*NANS32, *map(single, FLOATS32))),
    Column(
        "f16",
        "float",
        pa.float16(),
        (0x4200, 0x4500, 0x4500, 0x4100),
        (0x7E00, 0xFE01, 0x7C01, 0x7C00, 0xFC00, 0x8000, 1, 0x8001, 0x7BFF, 0xFBFF),
    ),
    *(_decimal(*sizes) for sizes in ((4, 1), (9, 2), (15, 15), (18, 4), (19, 0), (38, 0), (38, 10), (38, 38))),
]
OTHERS = [
    Column("flag", "boolean", pa.bool_(), (True, False, True), (True, False)),
    Column("day", "date", pa.date32(), (11016, 11017, 11017, 18262), DAYS),
    Column("day64", "date", pa.date64(), tuple(d * 86400000 for d in (11016, 11017, 11017, 18262)), DATE64),
    *map(_times, TICKS),
    Column("text", "text", pa.string(), WORDS, (*TEXTS, *BROKEN)),
    Column("large", "text", pa.large_string(), WORDS, (*TEXTS[::2], *BROKEN[::2])),
    Column("view", "text", pa.string_view(), WORDS, (*TEXTS[1::2], *BROKEN[1::2])),
    Column("dict", "text", pa.dictionary(pa.int32(), pa.string()), WORDS, (*TEXTS[::3], *BROKEN[::3])),
    Column("dictnull", "text", pa.dictionary(pa.int16(), pa.string()), WORDS, (*TEXTS[1::3], *BROKEN[1::3])),
]
ENCODED = [
    replace(column, name=f"runs_{column.name}", arrow=pa.run_end_encoded(pa.int32(), column.arrow))
    for column in [*NUMERIC, *OTHERS]
    if column.name in ("i64", "f64", "text", "t_ms")
]
COLUMNS = {column.name: column for column in [*NUMERIC, *OTHERS, *ENCODED]}


def array(column: Column, values: Sequence[Raw]) -> pa.Array:
    """An Arrow array that holds these values, bit by bit."""
    kind = column.arrow
    if pa.types.is_dictionary(kind):
        return _dictionary(column, values)
    if pa.types.is_run_end_encoded(kind):
        ends = [i + 1 for i in range(len(values)) if i + 1 == len(values) or values[i] != values[i + 1]]
        runs = array(replace(column, arrow=kind.value_type), [values[end - 1] for end in ends])
        return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), runs)
    if column.kind == "text":
        return _texts(values, kind)
    if pa.types.is_boolean(kind):
        return pa.array(values, kind)
    width = kind.bit_width // 8
    mask = (1 << kind.bit_width) - 1
    data = b"".join(((0 if v is None else int(v)) & mask).to_bytes(width, "little") for v in values)
    there = np.packbits(np.array([v is not None for v in values], bool), bitorder="little").tobytes()
    return pa.Array.from_buffers(kind, len(values), [pa.py_buffer(there), pa.py_buffer(data)])


def _texts(values: Sequence[Raw], kind: pa.DataType) -> pa.Array:
    plain = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[kind]
    return pa.array(values, plain).view(kind)


def _dictionary(column: Column, values: Sequence[Raw]) -> pa.Array:
    """Nulls in the places; in one column also among the entries, of which one then stands there twice."""
    entries: list[Raw] = list(dict.fromkeys(v for v in values if v is not None))
    places = [None if v is None else entries.index(v) for v in values]
    if column.name == "dictnull" and entries:
        places = [
            len(entries) if p is None and i % 2 else len(entries) + 1 if p == 0 and i % 2 else p for i, p in enumerate(places)
        ]
        entries += [None, entries[0]]
    return pa.DictionaryArray.from_arrays(pa.array(places, column.arrow.index_type), _texts(entries, pa.string()))
