"""The rule of totality for a column of text with a declared type: what each text becomes (docs/reading.md).

A text that matches its type completely is a value, and any other is null: 31/12/2025 with %d/%m/%Y, $1,234.50 with
money. Adjacent parts of digits in a format of dates have their full width, and thousands have three digits each, so that
there is one way to read a text. Blanks at the ends are ignored. A match that is not a date, as 31/02/2025, is null.

Guarantee: a value or null for every text, by that text alone.
"""

from __future__ import annotations

from duotone.model.text_types import WIDTHS, WORDS, YES_NO, DateFormat, Numerals, text_type
from duotone.tables.engines.stored_values import Reading, date, literal, number, time

MINUS = "-−"
BLANKS, APOSTROPHES = " \u00a0\u202f", "'’"
"""Separators that look alike."""
NUMBER = r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf(?:inity)?))"
"""How numbers are written without an example. DuckDB alone would accept 1_000 too, and misread 0.0_1 with many zeros."""
DAY = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
HOURS = r"[ T](?:[01]?[0-9]|2[0-3]):[0-9]{1,2}(?::[0-9]{1,2}(?:\.[0-9]+)?)?"
ZONE = "(?:Z|[+-](?:0[0-9]|1[0-5])(?::?[0-5][0-9])?)"
"""How dates and times are written without a format."""


def of_text(written: str, text: str, longest: int) -> Reading:
    """A text column with a declared type. Other values are null, and so are texts longer than what is read."""
    held, bare = text_type(written), f"case when length({text}) <= {longest} then trim({text}, ' ') end"
    match held:
        case DateFormat():
            return _of_format(held, bare)
        case Numerals():
            return number(_of_numerals(held, bare))
        case "number":
            fits = f"regexp_full_match({bare}, {literal(NUMBER)})"
            return number(f"case when {fits} then try_cast({bare} as double) end")
        case "date":
            return date(f"cast({_instant(bare)} as date)")
        case "time":
            return time(_instant(bare))
        case "yes/no":
            words = " ".join(f"when '{word}' then {value}" for word, value in YES_NO.items())
            return Reading("boolean", "boolean", f"case lower({bare}) {words} end")
    return Reading("text", "string", text)


def _of_numerals(how: Numerals, bare: str) -> str:
    """The number of a text: its digits and its decimal mark, cast once; of per cent with the exponent −2, so that they are
    rounded once, too."""
    fits = f"regexp_full_match({bare}, {literal(_numeral(how))})"
    others, mark = literal(f"[^0-9{_escaped(how.decimal)}]"), literal(how.decimal)
    minus = literal(f"[({_escaped(MINUS)}]")
    parts = [
        f"case when regexp_matches({bare}, {minus}) then '-' else '' end",
        f"replace(regexp_replace({bare}, {others}, '', 'g'), {mark}, '.')",
        *(["'e-2'"] if how.percent else []),
    ]
    written = " || ".join(parts)
    return f"case when {fits} then try_cast({written} as double) end"


def _numeral(how: Numerals) -> str:
    """A pattern that a text must match completely."""
    alike = next((some for some in (BLANKS, APOSTROPHES) if how.thousands and how.thousands in some), how.thousands)
    whole = f"[0-9]{{1,3}}(?:[{_escaped(alike)}][0-9]{{3}})+|[0-9]+" if alike else "[0-9]+"
    mark = _escaped(how.decimal)
    digits = f"(?:(?:{whole})(?:{mark}[0-9]+)?|{mark}[0-9]+)"
    minus = f"[+{_escaped(MINUS)}]"
    between = f"[{BLANKS}]?"
    if how.percent:
        return f"{minus}?{digits}(?:{between}%)?"
    if not how.currency:
        return f"{minus}?{digits}"
    sign = r"\p{Sc}" if how.currency == "any" else _escaped(how.currency)
    bare = f"(?:{sign}{between}{digits}|{digits}(?:{between}{sign})?)"
    return rf"{minus}?{bare}|{sign}{between}{minus}{digits}|\({bare}\)"


def _escaped(text: str) -> str:
    return "".join(f"\\x{{{ord(character):x}}}" for character in text)


def _instant(bare: str) -> str:
    """The time of a text such as 2025-12-31 18:30:00.5, in UTC. DuckDB alone would accept epoch, the year 25, and what follows
    a time, as PM, which it ignores."""
    local, zoned = (f"regexp_full_match({bare}, {literal(pattern)})" for pattern in (f"{DAY}(?:{HOURS})?", DAY + HOURS + ZONE))
    shifted = f"make_timestamp(epoch_us(try_cast({bare} as timestamptz)))"
    return f"case when {local} then try_cast({bare} as timestamp) when {zoned} then {shifted} end"


def _of_format(how: DateFormat, bare: str) -> Reading:
    """Dates, or times if the format has an hour."""
    fits = f"regexp_full_match({bare}, {literal(_dated(how.parts))})"
    moment = f"case when {fits} then try_strptime({bare}, {literal(how.written)}) end"
    return time(moment) if how.timed else date(f"try_cast({moment} as date)")


def _dated(parts: tuple[str, ...]) -> str:
    """A pattern that a text must match completely: DuckDB alone would accept others too, such as epoch."""
    pattern = ""
    for before, part, after in zip(["", *parts], parts, [*parts[1:], ""], strict=False):
        if part in WORDS:
            pattern += f"(?i:{'|'.join(WORDS[part])})"
        elif part in WIDTHS:
            least, most = WIDTHS[part]
            beside = any(other in WIDTHS or other.isdigit() for other in (before, after))
            pattern += f"[0-9]{{{most if beside else least},{most}}}"
        else:
            pattern += _escaped(part)
    return pattern
