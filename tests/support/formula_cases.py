"""Computed values and conditions with their meaning in plain Python, and a table full of edge cases to compute them
from.

The rules are in docs/reading.md; nothing here is shared with the code that builds expressions.
"""

from __future__ import annotations

import calendar
import datetime
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa

ROWS = 4 * 22 * 23
D = datetime.date
T = datetime.datetime
INTEGERS = [0, 1, 2, 3, -1, -2, -5, 7, 10, 100, -(2**63), 2**63 - 1, 2**53, 2**53 + 1, -(2**62), None, 6]
FLOATS = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999999999999994, 1e308, -1e308, 5e-324, -5e-324, 1e-200, 1e151,
          1e149, math.inf, -math.inf, math.nan, 3.14159, None, 2.675, 1e15 + 0.5]  # fmt: skip
TEXTS = ["", "a", "ab", "abc", "ABC", "x", "xy", "%", "_", "a%b", "é", "e\u0301", "日本語", " pad\t", "12", "1e3", "-7.5",
         "nan", "2020-02-29", None, "x" * 50, "line\nline", "back\\slash", "it's", "🙂", "a.b"]  # fmt: skip
DATES = [D(1, 1, 1), D(9999, 12, 31), D(2020, 2, 29), D(2020, 1, 1), D(2019, 12, 31), D(1970, 1, 1), D(1969, 12, 28),
         D(2024, 3, 31), D(1582, 10, 10), D(1900, 2, 28), None]  # fmt: skip
TIMES = [T(1, 1, 1), T(9999, 12, 31, 23, 59, 59, 999999),
         T(2020, 2, 29, 12, 30, 45, 123456),
         T(1969, 12, 31, 23, 59, 59, 999999), T(1970, 1, 1), T(2024, 3, 31),
         T(1883, 11, 18, 12, 3, 58), T(1, 1, 31, 0, 0, 0, 1), None]  # fmt: skip
EVERY: list[list[Any]] = [INTEGERS, FLOATS, TEXTS, DATES]
KINDS = {
    "n": pa.int64(), "a": pa.int64(), "c": pa.int64(), "b": pa.float64(), "e": pa.float64(), "s": pa.string(),
    "s2": pa.string(), "d": pa.date32(), "d2": pa.date32(), "t": pa.timestamp("us"), "f": pa.bool_(),
}  # fmt: skip
TYPES = {
    "n": "bigint", "a": "bigint", "c": "bigint", "b": "double precision", "e": "double precision", "s": "text", "s2": "varchar",
    "d": "date", "d2": "date", "t": "timestamp", "f": "boolean",
}  # fmt: skip
"""The same types in Postgres."""


def table() -> pa.Table:
    """Every pair of edge cases of two columns of a type occurs in some row."""

    def at(values: list[Any], i: int) -> Any:
        return values[i % len(values)]

    def second(values: list[Any], i: int) -> Any:
        return values[(i + i // len(values)) % len(values)]

    a, b, s, d = ([at(values, i) for i in range(ROWS)] for values in EVERY)
    c, e, s2, d2 = ([second(values, i) for i in range(ROWS)] for values in EVERY)
    t, f = [at(TIMES, i + i // 11) for i in range(ROWS)], [at([True, False, None], i) for i in range(ROWS)]
    values = list(range(ROWS)), a, c, b, e, s, s2, d, d2, t, f
    return pa.table({name: pa.array(own, kind) for (name, kind), own in zip(KINDS.items(), values, strict=True)})


def expected(of: Callable[..., Any], row: Mapping[str, Any]) -> Any:
    """A function of the columns named by its parameters; null if one of them is, unless its name begins with `null_`.

    NaN is null, and so is an undefined result.
    """
    names = list(inspect.signature(of).parameters)
    values = [row[name.removeprefix("null_")] for name in names]
    values = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    if any(value is None and not name.startswith("null_") for name, value in zip(names, values, strict=True)):
        return None
    return of(*values)


def plus(x: float | None, y: float | None) -> float | None:
    if x is None or y is None or not (abs(float(x)) <= 1e300 and abs(float(y)) <= 1e300):
        return None
    return float(x) + float(y)


def minus(x: float | None, y: float | None) -> float | None:
    return None if y is None else plus(x, -float(y))


def can_be_multiplied(x: float) -> bool:
    return x == 0 or 1e-150 <= abs(x) <= 1e150


def times(x: float | None, y: float | None) -> float | None:
    if x is None or y is None or not (can_be_multiplied(float(x)) and can_be_multiplied(float(y))):
        return None
    return float(x) * float(y)


def over(x: float | None, y: float | None) -> float | None:
    if x is None or y is None or y == 0 or not (can_be_multiplied(float(x)) and can_be_multiplied(float(y))):
        return None
    return float(x) / float(y)


def modulo(x: int, y: int) -> int | None:
    """The sign is the dividend's."""
    if y == 0:
        return None
    return abs(x) % abs(y) * (-1 if x < 0 else 1)


def rounded(x: float, decimals: int = 0) -> float | None:
    if math.isinf(x):
        return None if decimals else x
    if decimals and not can_be_multiplied(x):
        return None
    scaled = abs(x) * 10.0**decimals if decimals >= 0 else abs(x) / 10.0**-decimals
    whole = float(Decimal(scaled).quantize(Decimal(1), ROUND_HALF_UP) if scaled < 1e20 else Decimal(scaled))
    size = whole / 10.0**decimals if decimals >= 0 else whole * 10.0**-decimals
    return math.copysign(size, x) + 0.0


def chained(rule: Callable[[float], float | None], x: float | None) -> float | None:
    return None if x is None else rule(x)


def whole(x: float, rule: Callable[[float], int]) -> float:
    return x if math.isinf(x) else float(rule(x))


def best(rule: Callable[..., Any], *values: Any) -> Any:
    return rule((value for value in values if value is not None), default=None)


def first_by_bytes(texts: Iterable[str], default: None) -> str | None:
    return min(texts, key=str.encode, default=default)


def months(d: datetime.date) -> int:
    return 12 * d.year + d.month


def moment(d: datetime.date) -> T:
    return d if isinstance(d, T) else T(d.year, d.month, d.day)


def units(first: datetime.date, last: datetime.date, seconds: int) -> int:
    """How many full hours, minutes … have begun between two times."""
    start, step = T(1, 1, 1), datetime.timedelta(seconds=seconds)
    return (moment(last) - start) // step - (moment(first) - start) // step


def later(d: Any, more_months: int = 0, **more: float) -> Any:
    year, month = divmod(months(d) - 1 + more_months, 12)
    if not 1 <= year <= 9999:
        return None
    day = min(d.day, calendar.monthrange(year, month + 1)[1])
    try:
        return d.replace(year=year, month=month + 1, day=day) + datetime.timedelta(**more)
    except OverflowError:
        return None


def both(first: bool | None, second: bool | None) -> bool | None:
    """And, where None is unknown."""
    return False if False in (first, second) else None if None in (first, second) else True


def monday(d: datetime.date) -> D:
    return D.fromordinal(d.toordinal() - d.weekday())


VALUES: dict[str, Callable[..., Any]] = {
    "a + c": lambda a, c: plus(a, c),
    "b + e": lambda b, e: plus(b, e),
    "b - e": lambda b, e: minus(b, e),
    "a + 0.5": lambda a: plus(a, 0.5),
    "b * e": lambda b, e: times(b, e),
    "b / e": lambda b, e: over(b, e),
    "a / c": lambda a, c: over(a, c),
    "2 * b + e / 3 - 1": lambda b, e: minus(plus(times(2, b), over(e, 3)), 1),
    "round(100 * (b - e) / b, 1)": lambda b, e: chained(lambda x: rounded(x, 1), over(times(100, minus(b, e)), b)),
    "sqrt(b * b + e * e) / (b - e) * a": lambda b, e, a: times(
        over(chained(math.sqrt, plus(times(b, b), times(e, e))), minus(b, e)), a
    ),
    "trunc(b)": lambda b: whole(b, math.trunc) + 0.0,
    "b * b * b": lambda b: times(times(b, b), b),
    "1 / b": lambda b: over(1, b),
    "-a": lambda a: minus(0, a),
    "a % 2": lambda a: modulo(a, 2),
    "a % c": lambda a, c: modulo(a, c),
    "7 % c": lambda c: modulo(7, c),
    "a ** 2": lambda a: times(a, a),
    "power(b, 3)": lambda b: times(times(b, b), b),
    "abs(b)": lambda b: abs(b),
    "abs(a)": lambda a: abs(float(a)),
    "sign(b)": lambda b: float((b > 0) - (b < 0)),
    "floor(b)": lambda b: whole(b, math.floor),
    "ceil(b)": lambda b: whole(b, math.ceil),
    "round(b)": lambda b: rounded(b),
    "round(b, 1)": lambda b: rounded(b, 1),
    "round(b, 2)": lambda b: rounded(b, 2),
    "round(b, -2)": lambda b: rounded(b, -2),
    "round(a, -1)": lambda a: rounded(float(a), -1),
    "b::int": lambda b: whole(b, round),
    "b::decimal(10, 2)": lambda b: chained(lambda x: x if abs(x) < 1e8 else None, rounded(b, 2)),
    "a // 7": lambda a: abs(a) // 7 * (-1 if a < 0 else 1),
    "a // 1": lambda a: a,
    "a // 2147483647": lambda a: abs(a) // 2147483647 * (-1 if a < 0 else 1),
    "(year(d) - 1970) // 10": lambda d: float(math.trunc((d.year - 1970) / 10)),
    "a ** 4": lambda a: times(times(a, a), times(a, a)),
    "sqrt(b)": lambda b: math.sqrt(b) if b >= 0 else None,
    "coalesce(a, 0)": lambda null_a: 0 if null_a is None else null_a,
    "coalesce(b, a)": lambda null_b, null_a: (None if null_a is None else float(null_a)) if null_b is None else null_b,
    "coalesce(s, 'none')": lambda null_s: "none" if null_s is None else null_s,
    "coalesce(f, false)": lambda null_f: bool(null_f),
    "nullif(a, 0)": lambda a: a or None,
    "nullif(b, e)": lambda b, null_e: None if b == null_e else b,
    "nullif(s, '')": lambda s: s or None,
    "greatest(a, c)": lambda null_a, null_c: best(max, null_a, null_c),
    "least(b, e)": lambda null_b, null_e: best(min, null_b, null_e),
    "least(b, e, 0.25)": lambda null_b, null_e: best(min, null_b, null_e, 0.25),
    "greatest(d, d2)": lambda null_d, null_d2: best(max, null_d, null_d2),
    "least(s, s2)": lambda null_s, null_s2: best(first_by_bytes, null_s, null_s2),
    "if(a > 1, b, 2)": lambda null_a, null_b: null_b if null_a is not None and null_a > 1 else 2.0,
    "case when a > 1 then 1 when b > 2 then 3 else 4 end": lambda null_a, null_b: (
        1 if null_a is not None and null_a > 1 else 3 if null_b is not None and null_b > 2 else 4
    ),
    "case when f then s end": lambda f, null_s: null_s if f else None,
    "case a when 1 then 'x' when 2 then null else 'y' end": lambda null_a: {1: "x", 2: None}.get(null_a, "y"),
    "case when e <> 0 then b / e else 0 end": lambda null_b, null_e: (
        over(null_b, null_e) if null_e is not None and null_e != 0 else 0.0
    ),
    "(a > 1)::int": lambda a: int(a > 1),
    "lower(s || 'X')": lambda s: (s + "X").lower(),
    "trim(s)": lambda s: s.strip(" \t\n\r\v\f"),
    "length(s)": lambda s: len(s),
    "substr(s, 1, 2)": lambda s: s[:2],
    "substr(s, 2)": lambda s: s[1:],
    "substring(s, 3, 0)": lambda s: s[:0],
    "substr(s, 2147483647)": lambda s: s[:0],
    "substr(s, 2, 2147483647)": lambda s: s[1:],
    "left(s, 2)": lambda s: s[:2],
    "right(s, 2)": lambda s: s[-2:],
    "right(s, 0)": lambda s: s[:0],
    "s || s2": lambda s, s2: s + s2,
    "concat(s, '-', s2)": lambda null_s, null_s2: f"{null_s or ''}-{null_s2 or ''}",
    "ltrim(s)": lambda s: s.lstrip(" \t\n\r\v\f"),
    "rtrim(s)": lambda s: s.rstrip(" \t\n\r\v\f"),
    "replace(s, 'a', 'xyz')": lambda s: s.replace("a", "xyz"),
    "replace(s, '́', '')": lambda s: s.replace("́", ""),
    "replace(s, '\\', '.')": lambda s: s.replace("\\", "."),
    "split_part(s, '-', 2)": lambda s: [*s.split("-"), ""][1],
    "split_part(s, '.', 1)": lambda s: s.split(".")[0],
    "split_part(s, 'xx', 2147483647)": lambda s: s[:0],
    "strpos(s, 'b')": lambda s: s.find("b") + 1,
    "strpos(s, '́')": lambda s: s.find("́") + 1,
    "instr(s, '語')": lambda s: s.find("語") + 1,
    "a::varchar": lambda a: str(a),
    "a || ':' || s": lambda a, s: f"{a}:{s}",
    "concat(s, 5, a)": lambda null_s, null_a: f"{null_s or ''}5{'' if null_a is None else null_a}",
    "concat_ws(', ', s, a, s2)": lambda null_s, null_a, null_s2: ", ".join(
        str(part) for part in (null_s, null_a, null_s2) if part is not None
    ),
    "f::varchar": lambda f: str(f).lower(),
    "d::varchar": lambda d: d.isoformat(),
    "length(trim(s)) + 1": lambda s: len(s.strip(" \t\n\r\v\f")) + 1.0,
    "year(d)": lambda d: d.year,
    "month(t)": lambda t: t.month,
    "quarter(d)": lambda d: (d.month + 2) // 3,
    "week(d)": lambda d: d.isocalendar().week,
    "week(t)": lambda t: t.isocalendar().week,
    "day(t)": lambda t: t.day,
    "dayofyear(d)": lambda d: d.timetuple().tm_yday,
    "dayofweek(d)": lambda d: d.isoweekday() % 7,
    "extract(dow from t)": lambda t: t.isoweekday() % 7,
    "isodow(t)": lambda t: t.isoweekday(),
    "weekofyear(d)": lambda d: d.isocalendar().week,
    "strftime(d, '%Y-%m')": lambda d: f"{d.year:04}-{d.month:02}",
    "strftime(t, '%d.%m.%Y %H:%M:%S, %j%%')": lambda t: (
        f"{t.day:02}.{t.month:02}.{t.year:04} {t.hour:02}:{t.minute:02}:{t.second:02}, {t.timetuple().tm_yday:03}%"
    ),
    "strftime(d, '%A %H')": lambda d: calendar.day_name[d.weekday()] + " 00",
    "dayname(t)": lambda t: calendar.day_name[t.weekday()],
    "monthname(d)": lambda d: calendar.month_name[d.month],
    "last_day(d)": lambda d: d.replace(day=calendar.monthrange(d.year, d.month)[1]),
    "last_day(t)": lambda t: D(t.year, t.month, calendar.monthrange(t.year, t.month)[1]),
    "d + 30": lambda d: later(d, days=30),
    "d - 1": lambda d: later(d, days=-1),
    "7 + d": lambda d: later(d, days=7),
    "date(t)": lambda t: t.date(),
    "hour(t)": lambda t: t.hour,
    "hour(d)": lambda d: moment(d).hour,
    "minute(t)": lambda t: t.minute,
    "second(t)": lambda t: t.second,
    "date_trunc('year', d)": lambda d: d.replace(month=1, day=1),
    "date_trunc('quarter', d)": lambda d: d.replace(month=(d.month - 1) // 3 * 3 + 1, day=1),
    "date_trunc('month', d)": lambda d: d.replace(day=1),
    "date_trunc('week', d)": lambda d: monday(d),
    "date_trunc('week', t)": lambda t: moment(monday(t)),
    "date_trunc('day', t)": lambda t: T(t.year, t.month, t.day),
    "date_trunc('hour', t)": lambda t: t.replace(minute=0, second=0, microsecond=0),
    "date_trunc('minute', t)": lambda t: t.replace(second=0, microsecond=0),
    "date_trunc('second', t)": lambda t: t.replace(microsecond=0),
    "date_diff('day', d, d2)": lambda d, d2: (d2 - d).days,
    "date_diff('day', t, d)": lambda t, d: d.toordinal() - t.toordinal(),
    "d - d2": lambda d, d2: (d - d2).days,
    "date_diff('month', d, d2)": lambda d, d2: months(d2) - months(d),
    "date_diff('quarter', d, t)": lambda d, t: (months(t) - 1) // 3 - (months(d) - 1) // 3,
    "date_diff('year', d, t)": lambda d, t: t.year - d.year,
    "date_diff('hour', t, d)": lambda t, d: units(t, d, 3600),
    "date_diff('minute', t, d)": lambda t, d: units(t, d, 60),
    "date_diff('second', d, t)": lambda d, t: units(d, t, 1),
    "d + interval 7 day": lambda d: later(d, days=7),
    "d - interval '1 week'": lambda d: later(d, days=-7),
    "d + interval '1 month'": lambda d: later(d, 1),
    "d - interval '100 years'": lambda d: later(d, -1200),
    "d - interval '9999 years'": lambda d: later(d, -12 * 9999),
    "d + interval '10000 years'": lambda d: later(d, 12 * 10000),
    "d - 5000000": lambda d: later(d, days=-5000000),
    "d + 3652058": lambda d: later(d, days=3652058),
    "t - interval '88000000 hours'": lambda t: later(t, minutes=-60 * 88000000),
    "t + interval '88000000 hours'": lambda t: later(t, minutes=60 * 88000000),
    "t - interval '1 month'": lambda t: later(t, -1),
    "t + interval '1 quarter'": lambda t: later(t, 3),
    "t + interval '90 minutes'": lambda t: later(t, minutes=90),
    "t - interval '0.000001 seconds'": lambda t: later(t, microseconds=-1),
    "t::date": lambda t: t.date(),
    "d::timestamp": lambda d: moment(d),
}  # fmt: skip
"""Values computed from a row."""
LOGARITHMS: dict[str, Callable[..., Any]] = {
    "exp(b)": lambda b: math.exp(b) if abs(b) <= 300 else None,
    "ln(b)": lambda b: math.log(b) if b > 0 else None,
    "log10(b)": lambda b: math.log10(b) if b > 0 else None,
}
"""Functions whose last digit depends on the library."""
UNICODE: dict[str, Callable[..., Any]] = {"lower(s)": lambda s: s.lower(), "upper(s)": lambda s: s.upper()}
READ: dict[str, Callable[..., Any]] = {
    "cast(s as double)": lambda s: float(s) if s in ("12", "1e3", "-7.5") else None,
    "try_cast(s as int)": lambda s: {"12": 12.0, "1e3": 1000.0, "-7.5": -8.0}.get(s),
    "cast(s as date)": lambda s: D(2020, 2, 29) if s == "2020-02-29" else None,
    "right(s, 2)::double": lambda s: {"12": 12.0, "e3": None, ".5": 0.5, "29": 29.0}.get(s[-2:]),
    "replace(s, '-', '')::int": lambda s: {"12": 12.0, "1e3": 1000.0, "-7.5": 8.0, "2020-02-29": 20200229.0}.get(s),
    "trim(s)::date": lambda s: D(2020, 2, 29) if s == "2020-02-29" else None,
}
"""Texts that are read as other types."""
CONDITIONS: dict[str, Callable[..., Any]] = {
    "b + e > 3": lambda b, e: None if plus(b, e) is None else plus(b, e) > 3,  # type: ignore[operator]
    "a / c > 0.5": lambda a, c: None if over(a, c) is None else over(a, c) > 0.5,  # type: ignore[operator]
    "abs(a) = 9223372036854775807": lambda a: abs(float(a)) == 2.0**63,
    "a = c": lambda a, c: a == c,
    "s like 'a%b'": lambda s: re.fullmatch("(?s)a.*b", s) is not None,
    "s not like 'x%'": lambda s: not s.startswith("x"),
    "s like '_'": lambda s: len(s) == 1,
    "starts_with(s, 'x')": lambda s: s.startswith("x"),
    "starts_with(s, '')": lambda s: s == s[:],
    "starts_with(s, '%')": lambda s: s.startswith("%"),
    "contains(s, '%')": lambda s: "%" in s,
    "contains(s, '')": lambda s: s == s[:],
    "contains(s, '\\s')": lambda s: "\\s" in s,
    "ends_with(s, '語')": lambda s: s.endswith("語"),
    "ends_with(s, '')": lambda s: s == s[:],
    "ends_with(s, 'xy')": lambda s: s.endswith("xy"),
    "ends_with(s, '\u0301')": lambda s: s.endswith("\u0301"),
    "a is distinct from 3": lambda null_a: null_a != 3,
    "s is not distinct from null": lambda null_s: null_s is None,
    "a is distinct from c": lambda null_a, null_c: null_a != null_c,
    "not (a is distinct from c)": lambda null_a, null_c: null_a == null_c,
    "coalesce(s, s2) is null": lambda null_s, null_s2: null_s is None and null_s2 is None,
    "b / e is null": lambda null_b, null_e: expected(lambda b, e: over(b, e), {"b": null_b, "e": null_e}) is None,
    "f": lambda f: f,
    "(a > 1) = (b > 2)": lambda a, b: (a > 1) == (b > 2),
    "f <> (a > 1)": lambda f, a: f != (a > 1),
    "(a > 1) = false": lambda a: not a > 1,
    "(a > 1 and f) = true": lambda null_a, null_f: both(None if null_a is None else null_a > 1, null_f),
    "(a > 1) is true": lambda null_a: null_a is not None and null_a > 1,
    "(a > 1) is not true": lambda null_a: null_a is None or not null_a > 1,
    "(a > 1) is false": lambda null_a: null_a is not None and not null_a > 1,
    "(a > c) is null": lambda null_a, null_c: null_a is None or null_c is None,
    "(a > c) is not null": lambda null_a, null_c: null_a is not None and null_c is not None,
    "coalesce(f, false)": lambda null_f: bool(null_f),
    "coalesce(a > 1, true)": lambda null_a: null_a is None or null_a > 1,
    "not coalesce(a > 1, false)": lambda null_a: null_a is None or not null_a > 1,
    "coalesce(a > 1, f)": lambda null_a, null_f: null_f if null_a is None else null_a > 1,
    "case when a > 1 then b > 2 else f end": lambda null_a, null_b, null_f: (
        (None if null_b is None else null_b > 2) if null_a is not None and null_a > 1 else null_f
    ),
    "a > b": lambda a, b: float(a) > b,
    "a = b": lambda a, b: float(a) == b,
    "a between b - 1 and b + 1": lambda a, b: None if abs(b) > 1e300 else b - 1 <= float(a) <= b + 1,
    "a in (c, 3)": lambda null_a, null_c: (
        None if null_a is None else null_a == 3 or (None if null_c is None else null_a == null_c)
    ),
    "3 in (a, c)": lambda null_a, null_c: True if 3 in (null_a, null_c) else None if None in (null_a, null_c) else False,
    "date_trunc('day', t) = d": lambda t, d: T(t.year, t.month, t.day) == moment(d),
    "d2 < t": lambda d2, t: moment(d2) < t,
    "1 = 1": lambda null_a: null_a is None or null_a == null_a + 0,
    "1 > 1.5 or f": lambda null_f: null_f,
    "d = make_date(2020, 1, 31) + 29": lambda d: d == D(2020, 2, 29),
    "d::timestamp > t": lambda d, t: moment(d) > t,
    "t::date = '2020-02-29'": lambda t: t.date() == D(2020, 2, 29),
    "d < date '2020-01-01' + interval '7 days'": lambda d: d < D(2020, 1, 8),
    "s || s2 in ('aab', 'abab', 'x')": lambda s, s2: s + s2 in ("aab", "abab", "x"),
    "s ilike 'A%'": lambda s: s.lower().startswith("a"),
}
"""Conditions on a row."""
MATCHES: dict[str, Callable[..., Any]] = {
    "regexp_matches(s, '^a.?$')": lambda s: re.search("^a.?$", s) is not None,
    "regexp_full_match(s, '[a-c]+')": lambda s: re.fullmatch("[a-c]+", s) is not None,
    "regexp_matches(s, '\\d')": lambda s: re.search("[0-9]", s) is not None,
}
"""Regular expressions."""
