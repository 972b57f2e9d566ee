"""The order of text, and where a constant in quotes most likely means another: that of numbers, or of dates."""

from __future__ import annotations

import datetime
import re

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import Operand

ORDERED = (">", ">=", "<", "<=")
"""The signs by which values are put in order."""
_NUMBER = re.compile(r"[+-]?[$€£]?\s?[+-]?(\d[\d_,' ]*\.?\d*|\.\d+)(e[+-]?\d+)?\s?[%$€£]?", re.IGNORECASE)
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"\d{{1,4}}\s?[-./]\s?\d{{1,2}}\s?[-./]\s?\d{{1,4}}\b.*|\d{{1,4}}[-./ ]*{_MONTH}\b.*|{_MONTH}[-./ ]+\d.*", re.IGNORECASE
)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([ T].*)?")


def like_number(text: str) -> bool:
    """Whether a text reads as a number, also with a currency, a percent sign or commas."""
    return _NUMBER.fullmatch(text.strip()) is not None


def iso_date(text: str) -> bool:
    """Whether a text begins with a date as 2025-12-31: of such texts the order is that of dates."""
    if _ISO.fullmatch(text) is None:
        return False
    try:
        datetime.date.fromisoformat(text[:10])
    except ValueError:
        return False
    return True


def require_text(operand: Operand, value: str, text: str) -> None:
    """Refuse to put a text file's column in the order of text by a constant that looks like a number or a date: as text 9
    comes after 10, and 31.1.2025 after 1.12.2025."""
    column = operand.column
    if like_number(value):
        raise DuotoneError(
            f"{text}: {column} is text, of which 9 comes after 10: leave out the quotes to compare numbers, or write "
            f"{column}::text for the order of text"
        )
    if _DATE.fullmatch(value.strip()) and not iso_date(value):
        raise DuotoneError(
            f"{text}: {column} is text, whose order is not that of dates: write the constant as date '2025-12-31', and say how "
            f"the column writes dates if not so (formats); or write {column}::text for the order of text"
        )
