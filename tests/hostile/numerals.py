"""Numbers and times as a column of text may have them, read in plain Python: the model of docs/reading.md."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal

CURRENCIES = "$€£¥₹"
DIGITS = set("0123456789")
"""ASCII alone: other digits are no digits."""


def by_hand(written: str, text: str) -> float | None:
    """What a text is under a type, without regular expressions or SQL."""
    money, percent = written == "money", written == "percent" or written.endswith("%")
    example = {"money": "1,234.50", "percent": "12.5"}.get(written, written)
    currency = "".join(c for c in example if c not in DIGITS and c not in ".,%' \u00a0")
    decimal = next(c for c in reversed(example) if c in ".,")
    thousands = next((c for c in example if c in ",.' " and c != decimal and example.find(c + "234") > 0), "")
    rest, negative = text.strip(" "), False
    if not rest or (rest[0] == "(") != (rest[-1] == ")"):
        return None
    if rest[0] == "(":
        if not (money or currency):
            return None
        rest, negative, signed = rest[1:-1], True, True
    else:
        signed = rest[0] in "+-−"
        negative, rest = rest[0] in "-−", rest[1:] if signed else rest
    signs = list(CURRENCIES) if money else [currency] if currency else []
    if percent and rest.endswith("%"):
        rest = rest[:-1]
        rest = rest[:-1] if rest[-1:] in (" ", "\u00a0", "\u202f") and rest[-1:] else rest
    for sign in signs:
        if rest.startswith(sign):
            rest = rest[len(sign) :]
            rest = rest[1:] if rest[:1] in (" ", "\u00a0", "\u202f") and rest else rest
            if rest[:1] and rest[0] in "+-−" and not signed:
                negative, rest = rest[0] != "+", rest[1:]
            break
        if rest.endswith(sign):
            rest = rest[: -len(sign)]
            rest = rest[:-1] if rest[-1:] in (" ", "\u00a0", "\u202f") and rest else rest
            break
    whole, mark, fraction = rest.partition(decimal)
    if mark and (not fraction or not set(fraction) <= DIGITS):
        return None
    alike = {" ": " \u00a0\u202f", "'": "'’"}.get(thousands, thousands)
    for c in alike:
        whole = whole.replace(c, "|")
    groups = whole.split("|") if alike else [whole]
    if any(not set(group) <= DIGITS for group in groups) or not (whole or mark):
        return None
    if len(groups) > 1 and not (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])):
        return None
    number = Decimal("".join(groups) + "." + (fraction or "0"))
    value = float(number.scaleb(-2) if percent else number)  # one rounding
    return (-value if negative else value) + 0.0


def decimal_by_hand(text: str) -> float | None:
    """What a text is as a `number`."""
    bare = text.strip(" ")
    word = bare[1:] if bare[:1] in ("+", "-") else bare
    if word.isascii() and word.lower() in ("inf", "infinity"):
        return float(bare)
    return float(bare) + 0.0 if set(bare) <= DIGITS | set("+-.eE") and _is_number(bare) else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def time_by_hand(text: str) -> datetime.datetime | None:
    """What a text is as a `time`; as a `date`, its day."""
    day, mark, clock = text.strip(" ").replace("T", " ", 1).partition(" ")
    known = re.fullmatch("([0-9:.]+)(?:Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?", clock)
    if mark and known is None:
        return None
    whole, dot, fraction = known[1].partition(".") if known else ("0:0", "", "")
    numbers, hours = day.split("-"), whole.split(":")
    if [len(numbers[0]), len(numbers), len(hours) > 1, bool(fraction)] != [4, 3, True, bool(dot)] or (dot and len(hours) < 3):
        return None
    if (
        not all(1 <= len(n) <= 2 and set(n) <= DIGITS for n in (*numbers[1:], *hours))
        or not set(numbers[0] + fraction) <= DIGITS
    ):
        return None
    try:
        local = datetime.datetime(*map(int, (*numbers, *hours)), microsecond=int((fraction + "000000")[:6]))  # type: ignore[arg-type, misc]
        if known is None or known[2] is None:
            return local
        away = datetime.timedelta(hours=int(known[3]), minutes=int(known[4] or 0))
        if not (int(known[3]) <= 15 and int(known[4] or 0) <= 59):
            return None
        return local - away if known[2] == "+" else local + away
    except (ValueError, TypeError, OverflowError):
        return None
