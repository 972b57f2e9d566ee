"""Critical values: what a column may hold where a question changes its mind, or a reader its footing.

Guarantee: they follow from the question, from what is declared and from the columns' kinds; no row of a table is looked at.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from duotone.model.bounds import Bounds, Grid
from duotone.tables.sql.condition import Compare, Formula, Kind, Like, OneOf, parts_of

FAR = 2**53
"""Constants beyond this, and values near them, are odd: engines may differ in what they make of them."""
ODD: Mapping[Kind, tuple[Any, ...]] = {
    "integer": (-(2**63) + 1, 2**63 - 1, 2**62),
    "float": (float("nan"), float("inf"), -float("inf"), 1e308, -0.0, 5e-324),
    "decimal": (Decimal("12345678.0001"),),
    "text": (" ", "é", "it's", "a\0b", "%", "x" * 300),
    "untyped": (" ", "é", " 7", "7 ", "1e3", "0x1F", "NaN", "inf", "1_000", "2025-02-30", "x" * 300),
    "date": (datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),
    "time": (datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999)),
}
"""Values that engines are known to treat differently, and that plain SQL need not read as the rules do."""
DAY, SECOND = datetime.timedelta(days=1), datetime.timedelta(seconds=1)


@dataclass(frozen=True)
class Values:
    """`usual` values have the same meaning in plain SQL; `odd` ones need not. Null is among the usual ones."""

    usual: tuple[Any, ...]
    odd: tuple[Any, ...]


@dataclass(frozen=True)
class Constants:
    """The constants of a question, by what they are."""

    numbers: tuple[Fraction, ...] = ()
    texts: tuple[str, ...] = ()
    dates: tuple[datetime.date, ...] = ()

    @staticmethod
    def of(question: Any) -> Constants:
        """Those that a question's rows, aggregates and groups are compared with or computed from."""
        every: list[Any] = []
        for part in parts_of(question):
            match part:
                case Compare():
                    every.append(part.value)
                case OneOf():
                    every += part.values
                case Like():
                    every += [part.pattern, part.pattern.strip("%^$").replace("%", "a").replace("_", "b")]
                case Formula():
                    every += part.parts
                case _:
                    every += [getattr(part, name, None) for name in ("limit", "written", "winner")]
        numbers = [Fraction(c) for c in every if isinstance(c, Fraction | int) and not isinstance(c, bool)]
        dates = [c for c in every if isinstance(c, datetime.date)]
        return Constants(_few(numbers), _few(c for c in every if isinstance(c, str)), _few(dates))


def _few(values: Iterable[Any], most: int = 6) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))[:most]


def values_of(kind: Kind, constants: Constants, bounds: Bounds | None, grid: Grid | None, *, compared: bool = False) -> Values:
    """The critical values of one column; `bounds` and `grid` where it has some of its own. Where a condition compares values as
    they are, those beyond the bounds are usual."""
    odd = ODD.get(kind, ())
    match kind:
        case "boolean":
            return Values((None, True, False), ())
        case "date" | "time":
            return Values((None, *_times(kind, constants)), odd)
        case "text":
            return Values((None, *_texts(constants)), odd)
        case "untyped":
            inside, outside = _numbers("float", constants, bounds, grid)
            numbers, odd = [*map(_written, inside)], (*odd, *map(_written, outside))
            if compared:
                numbers = [*map(_written, (*outside, *inside))]
            days = [day.isoformat() for day in _times("date", constants)] if constants.dates else []
            return Values(_few([None, *_texts(constants)[:6], *numbers[:6], *days], 16), odd)
    inside, outside = _numbers(kind, constants, bounds, grid)
    return Values((None, *inside, *outside), odd) if compared else Values((None, *inside), (*odd, *outside))


def _texts(constants: Constants) -> tuple[str, ...]:
    others = [f"{text}x" for text in constants.texts[:1]] + [text.swapcase() for text in constants.texts[:1]]
    return _few([*constants.texts, "other", "rival", "third", "", *others], 12)


def _times(kind: Kind, constants: Constants) -> list[datetime.date]:
    step = DAY if kind == "date" else SECOND
    start = datetime.date(2025, 1, 31)
    known = [_as(kind, constant) for constant in (*constants.dates[:3], start)]
    return [*_few(moved for day in known for moved in _around(day, step))]


def _as(kind: Kind, value: datetime.date) -> datetime.date:
    if kind == "time":
        return value if isinstance(value, datetime.datetime) else datetime.datetime.combine(value, datetime.time())
    return value.date() if isinstance(value, datetime.datetime) else value


def _around(value: datetime.date, step: datetime.timedelta) -> Iterable[datetime.date]:
    yield value
    for way in (1, -1):
        try:
            yield value + way * step
        except OverflowError:
            continue


def _numbers(kind: Kind, constants: Constants, bounds: Bounds | None, grid: Grid | None) -> tuple[list[Any], list[Any]]:
    """The ends of the bounds, and each constant with its neighbours on the grid; apart those that the bounds would clip."""
    step = grid.step if grid is not None else Fraction(1)
    near = [number for c in constants.numbers for number in (c, c + step, c - step)]
    ends = [] if bounds is None else [bounds.low, bounds.high, bounds.low - step, bounds.high + step]
    every = [n for n in (*ends, *near, Fraction(0), Fraction(1), Fraction(2)) if abs(n) <= FAR]
    inside = [n for n in every if bounds is None or bounds.low <= n <= bounds.high]
    outside = [n for n in every if n not in inside]
    one, other = ([*dict.fromkeys(v for n in each if (v := _number(n, kind)) is not None)] for each in (inside, outside))
    return one[:14], other[:6]


def _number(value: Fraction, kind: Kind) -> Any:
    match kind:
        case "integer":
            return int(value) if value.denominator == 1 else value.__floor__()
        case "decimal":
            scaled = value * 10_000
            return Decimal(int(scaled)).scaleb(-4) if scaled.denominator == 1 and abs(scaled) < 10**17 else None
    return float(value)


def _written(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
