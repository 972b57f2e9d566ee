"""CSV files, a line at a time: no line can change how another is read, and nothing is guessed from the rows.

A line ends with a line feed, a carriage return or both. Its fields are between commas, or the separator that the first line
has; one that is wholly in double quotes may have separators in it, and a double quote twice. An empty field, and one that is
not there, is null. Fields too many are passed over, and so is a line that is not UTF-8 or longer than 1,000,000 bytes.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.tables.engines.stored_values import literal
from duotone.tables.engines.text_lines import DAMAGED, header_of

SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
"""What a first line may have between its names without being asked."""


@dataclass(frozen=True)
class Header:
    """The first line of a file, the column names that stand in it, and the separator between them."""

    line: bytes
    names: list[str]
    separator: str


def fields_of(lines: str, header: Header, columns: Sequence[str]) -> tuple[str, list[str]]:
    """The query of the rows of a file whose lines after the header are those of a query, and the expression that is each of
    some columns: no other field is looked at."""
    place, separator = {name: i for i, name in enumerate(header.names, start=1)}, header.separator
    mark = f"\\x{{{ord(separator):x}}}"
    field = f'("(?:[^"]|"")*"|[^{mark}]*)(?:{mark}|$)'
    fields = (
        f"case when contains(line, '\"') then regexp_extract_all(line, {literal(field)}, 1) "
        f"else string_split(line, {literal(separator)}) end"
    )
    rows = f"(select {fields} as fields from ({lines}))"
    return rows, [_unquoted(f"fields[{place[name]}]") for name in columns]


def _unquoted(field: str) -> str:
    quotes = f"starts_with({field}, '\"') and ends_with({field}, '\"') and length({field}) >= 2"
    inner = f"replace(substring({field}, 2, length({field}) - 2), '\"\"', '\"')"
    return f"nullif(case when {quotes} then {inner} else {field} end, '')"


def read_header(path: Path, separator: str | None = None) -> Header:
    """The column names and the separator: the first line, and nothing else of the file, is looked at for them."""
    line, first = _first_line(path)
    separator = _separator(path, first) if separator is None else _one_character(separator)
    names: list[str] = []
    with contextlib.suppress(csv.Error):  # a name of more than 131,072 characters
        names = next(csv.reader([first], delimiter=separator), [])
    if not names or not all(names) or len(set(names)) != len(names):
        raise DuotoneError(f"the first line of {path} must name every column, each differently")
    return Header(line, names, separator)


def _first_line(path: Path) -> tuple[bytes, str]:
    """As it is, and as text."""
    failure, line, first = f"the first line of {path} cannot be read as column names in UTF-8", None, None
    try:
        line = header_of(path)
        first = None if line is None else line.decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error):
        failure = DAMAGED.format(path=path)
    except (OSError, UnicodeDecodeError):
        pass
    if line is None or first is None:  # out here, so that nothing of the file is remembered as the context
        raise DuotoneError(failure)
    return line, first


def _separator(path: Path, first: str) -> str:
    """The one that stands in the first line outside double quotes; in a .tsv file a tab."""
    if ".tsv" in map(str.lower, path.suffixes[-2:]):
        return "\t"
    bare = re.sub('"(?:[^"]|"")*"', "", first)
    present = [separator for separator in SEPARATORS if separator in bare]
    if len(present) > 1:
        these = " and ".join(SEPARATORS[separator] for separator in present)
        raise Refusal("several separators", path=path, separators=these)
    return present[0] if present else ","


def _one_character(separator: str) -> str:
    if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n\0' or not separator.isascii():
        raise DuotoneError(f"a separator is one ASCII character that is no double quote or line end, got {separator!r}")
    return separator
