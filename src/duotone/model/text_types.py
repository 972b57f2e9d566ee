"""What a column of text holds, as its owner declares it: the name of a type, a format of dates, or an example of how its
numbers are written.

    {"age": "number", "price": "money", "rate": "percent", "day": "%d/%m/%Y", "cost": "1.234,50 €", "churn": "yes/no"}

A format of dates consists of texts and parts; each part stands for digits, as many as `WIDTHS` says, or one of `WORDS`.
An example of a number shows its decimal mark, and what it may have besides: a separator of thousands, a currency, a per
cent sign.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from duotone.errors import DuotoneError

Type = Literal["number", "money", "percent", "date", "time", "yes/no", "text"]
"""Types of a text file's columns that have a name."""
TYPES: tuple[Type, ...] = get_args(Type)
YES_NO = {**dict.fromkeys(("true", "t", "yes", "y", "1"), True), **dict.fromkeys(("false", "f", "no", "n", "0"), False)}
"""Texts of a column that is declared yes/no, in any case."""
WIDTHS = {"%Y": (4, 4), "%y": (2, 2), "%m": (1, 2), "%d": (1, 2), "%H": (1, 2), "%I": (1, 2), "%M": (1, 2), "%S": (1, 2),
          "%f": (1, 6)}  # fmt: skip
"""Least and most digits of a part of a date."""
NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
LONG_NAMES = "january february march april may june july august september october november december"
WORDS = {"%b": NAMES.split(), "%B": LONG_NAMES.split(), "%p": ["am", "pm"]}
"""The words that a part may be, in English; case does not matter."""
NEEDED = ({"%Y", "%y"}, {"%m", "%b", "%B"}, {"%d"})
"""A date has a year, a month and a day, one of each."""
CLOCK = ({"%H", "%I"}, {"%M"}, {"%S"}, {"%f"})
"""A time has an hour, and optionally a minute, a second, a fraction, each only after the one before."""
BLANK = " "
ALLOWED = "a date format has %Y or %y, %m, %b or %B, and %d, and for a time %H, or %I with %p, then %M, %S and %f"
KNOWN = (
    f"must be {', '.join(TYPES[:-1])} or {TYPES[-1]}, a date format such as %d/%m/%Y, or an example of a number, such as "
    "1.234,50"
)
_CURRENCY = "[$¢-¥֏؋৲৳૱௹฿៛₠-⃀﷼﹩＄￠￡￥￦]|[A-Za-z]{2,4}"
_EXAMPLE = re.compile(
    rf"(?P<before>{_CURRENCY})? ?(?:[0-9]{{1,3}}(?:(?P<thousands>[,.'’ \u00a0\u202f])[0-9]{{3}})(?:(?P=thousands)[0-9]{{3}})*"
    rf"|(?P<plain>[0-9]+))(?P<decimal>[.,])(?P<after>[0-9]+) ?(?P<behind>{_CURRENCY}|%)?"
)


@dataclass(frozen=True)
class DateFormat:
    """A format of dates: how it is written, its parts and the texts between them."""

    written: str
    parts: tuple[str, ...]

    @property
    def timed(self) -> bool:
        """Whether it is of times."""
        return any(part in CLOCK[0] for part in self.parts)


@dataclass(frozen=True)
class Numerals:
    """How numbers are written: the mark before the decimals, the separator of thousands, and the currency, if any; and
    whether they are per cent. "any" currency is any one sign."""

    decimal: str = "."
    thousands: str = ""
    currency: str = ""
    percent: bool = False


NAMED = {"money": Numerals(thousands=",", currency="any"), "percent": Numerals(percent=True)}


def text_type(written: object) -> Type | DateFormat | Numerals:
    """What is declared; anything else is refused.

    >>> text_type("1.234,50 €"), text_type("12,5 %").percent, text_type("%d/%m/%Y").timed
    (Numerals(decimal=',', thousands='.', currency='€', percent=False), True, False)
    >>> text_type("integer")
    Traceback (most recent call last):
    duotone.errors.DuotoneError: must be number, money, percent, date, time, yes/no or text, a date format such as %d/%m/%Y, \
or an example of a number, such as 1.234,50, got integer
    """
    if not isinstance(written, str):
        raise DuotoneError(f"{KNOWN}, got {written!r:.60}")
    for name in TYPES:
        if name == written:
            return NAMED.get(name, name)
    if re.search("%[A-Za-z%]", written):
        return _date_format(written)
    example = _EXAMPLE.fullmatch(written.strip(BLANK))
    if example is None or (example["before"] and example["behind"]):
        raise DuotoneError(f"{KNOWN}, got {written:.60}")
    if example["decimal"] == example["thousands"] or _unclear(example):
        raise DuotoneError(f"{written:.60} does not show which mark is before the decimals: write both marks, as 1,234.50")
    percent = example["behind"] == "%"
    currency = "" if percent else example["before"] or example["behind"] or ""
    return Numerals(example["decimal"], example["thousands"] or "", currency, percent)


def _unclear(example: re.Match[str]) -> bool:
    """Whether its only mark could separate thousands, as in 1,234."""
    return example["plain"] is not None and len(example["plain"]) <= 3 and len(example["after"]) == 3


def _date_format(written: str) -> DateFormat:
    parts = re.findall(r"%.|[^%]|%$", written.strip(BLANK), re.DOTALL)
    stated = [part for part in parts if part.startswith("%") and part != "%%"]
    known = len(set(stated)) == len(stated) and all(part in WIDTHS or part in WORDS for part in stated)
    dated = all(len(need.intersection(stated)) == 1 for need in NEEDED)
    depth = [len(some.intersection(stated)) for some in CLOCK]
    clock = depth == sorted(depth, reverse=True) and depth[0] <= 1 and ("%I" in stated) == ("%p" in stated)
    if not (known and dated and clock):
        raise DuotoneError(f"{written} is not a date format: {ALLOWED}, each once")
    return DateFormat(written.strip(BLANK), tuple("%" if part == "%%" else part for part in parts))
