"""Dates and times written as text."""

from __future__ import annotations

import re
from fractions import Fraction

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import Operand, Part
from duotone.tables.sql.formulas.parts import Read, formula, written_out
from duotone.tables.sql.formulas.times import part_of_time

DAY_NAMES = "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday"
MONTH_NAMES = "January,February,March,April,May,June,July,August,September,October,November,December"
PADDED = {"Y": ("year", 4), "m": ("month", 2), "d": ("day", 2), "H": ("hour", 2), "M": ("minute", 2), "S": ("second", 2),
          "j": ("dayofyear", 3)}  # fmt: skip
"""What a format writes with so many digits."""
WORDS = {"A": ("isodow", DAY_NAMES), "B": ("month", MONTH_NAMES)}
"""What it writes as a word."""


def read_time_format(node: exp.Expression, text: str, read: Read) -> Operand | None:
    """A date or time as text; None for anything else."""
    match node:
        case exp.TimeToStr():
            return formatted(read(node.this), written_out(read(node.args["format"]), text), text)
        case exp.Dayname() | exp.Monthname():
            return formatted(read(node.this), "%A" if isinstance(node, exp.Dayname) else "%B", text)
    return None


def formatted(value: Part, layout: str, text: str) -> Operand:
    """A date or time as text, by the letters that a format has after %."""
    pieces: list[Part] = []
    for letter, plain in re.findall(r"%(.|$)|([^%]+)", layout, re.DOTALL):
        if letter in PADDED:
            field, width = PADDED[letter]
            pieces.append(formula(text, "text", "padded", part_of_time(field, value, text), Fraction(width)))
        elif letter in WORDS:
            field, words = WORDS[letter]
            pieces.append(formula(text, "text", "word", words, part_of_time(field, value, text)))
        elif plain or letter == "%":
            pieces.append(plain or letter)
        else:
            raise DuotoneError(f"{text}: a format has %{', %'.join((*PADDED, *WORDS, '%'))} and no other %{letter}")
    if not any(isinstance(piece, Operand) for piece in pieces):
        raise DuotoneError(f"{text} is the same on every row: name a part of the time, as in %Y-%m")
    return formula(text, "text", "pieces", *pieces)
