"""Declared formats of dates in text: 31/12/2025 is a date where the format %d/%m/%Y was declared, and null is what is none.

A format is texts and parts; each part stands for digits, as many as `WIDTHS` says, or one of `WORDS`. Where digits stand beside
each other without a text between, each part has its full width, so that there is one way to read them. Blanks at the ends of
a text are passed over. What matches and is no date, as 31/02/2025, is null.
"""

from __future__ import annotations

import re

from duotone.errors import DuotoneError
from duotone.tables.engines.stored_values import Reading, date, literal, time

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
        raise DuotoneError(f"the format of {column} is a text, as %d/%m/%Y, got {type(written).__name__}")
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
