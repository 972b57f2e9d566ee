"""Fields of forms: what is entered as a value, and mistakes beside the field that they are in."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType

from duotone.desk.callers import Refused
from duotone.errors import DuotoneError
from duotone.privacy.numbers import exact
from duotone.tables.sql.as_written import as_sql

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_FRACTION = re.compile(r"\d{1,50}/0*[1-9]\d{0,50}")
_BEFORE = "0 < "
LONGEST = 200
"""Most characters of a number."""


class Mistaken(Refused):
    """Mistakes in a form: sentences by the names of fields."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__("bad question", next(iter(fields.values())))
        self.fields = dict(fields)


class Gathered:
    """Gathers the mistakes of several blocks, so that all are shown at once."""

    def __init__(self) -> None:
        self.fields: dict[str, str] = {}

    def __enter__(self) -> None:
        """A block that may have a mistake."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: TracebackType | None) -> bool:
        if not isinstance(error, Mistaken):
            return False
        self.fields = {**self.fields, **error.fields}
        return True


@contextmanager
def gathered() -> Iterator[Gathered]:
    """Raise the mistakes of the blocks inside together, at the end.

    >>> with gathered() as mistakes:
    ...     with mistakes: number("many", "limit", "the limit")
    ...     with mistakes: whole("1.5", "people", "the people")
    Traceback (most recent call last):
    duotone.pages.fields.Mistaken: the limit must be a number, as 0.5, 50% or 1,000, got many
    """
    mistakes = Gathered()
    yield mistakes
    if mistakes.fields:
        raise Mistaken(mistakes.fields)


def number(text: str, field: str, what: str, *, as_in: str = "0.5, 50% or 1,000") -> str:
    """A number as SQL writes it, from one as a question may write it (`as_sql`).

    >>> [number(text, "limit", "the limit") for text in ("50%", "1,000", "-$1,234.5", " 1e-6 ")]
    ['0.5', '1000', '-1234.5', '1e-6']
    """
    plain = text.strip()
    try:
        read = as_sql(_BEFORE + plain)[0].removeprefix(_BEFORE) if len(plain) <= LONGEST else ""
    except DuotoneError:  # a comma or a blank in another place
        read = ""
    if not _NUMBER.fullmatch(read):
        raise Mistaken({field: f"{what} must be a number, as {as_in}, got {plain[:40] or 'nothing'}"})
    return read


def positive(text: str, field: str, what: str, *, below: float = math.inf) -> str:
    """A number of at least 0, also as a fraction.

    >>> positive("1/3", "epsilon", "the value of ε"), positive("50%", "share", "the part", below=1)
    ('1/3', '0.5')
    >>> positive("2", "delta", "the value of δ", below=1)
    Traceback (most recent call last):
    duotone.pages.fields.Mistaken: the value of δ must be at least 0 and below 1, got 2
    """
    plain = text.strip()
    read = plain if _FRACTION.fullmatch(plain) else number(plain, field, what, as_in="0.5 or 1/3")
    if not 0 <= exact(read) < below:
        raise Mistaken({field: f"{what} must be at least 0{f' and below {below:g}' if below < math.inf else ''}, got {plain}"})
    return read


def whole(text: str, field: str, what: str) -> int:
    """A whole number as people write it.

    >>> whole("1,000", "people", "the people")
    1000
    """
    try:
        plain = number(text, field, what)
    except Mistaken:
        plain = ""
    if not (plain.isascii() and plain.isdigit() and len(plain) <= 15):
        raise Mistaken({field: f"{what} must be a whole number, got {text.strip()[:40] or 'nothing'}"})
    return int(plain)
