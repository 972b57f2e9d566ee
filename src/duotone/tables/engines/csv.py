"""CSV files, a line at a time: no line can change how another is read, and nothing is guessed from the rows.

A line ends with a line feed, a carriage return or both. Its fields are between commas; one that is wholly in double quotes
may have commas in it, and a double quote twice. An empty field, and one that is not there, is null. Fields too many are
passed over, and so is a line that is not UTF-8 or longer than 1,000,000 bytes, or that has a byte 1 in it or is a byte 2.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from duotone.errors import DuotoneError
from duotone.tables.engines.stored_values import literal, quoted

READ = """columns = {'line': 'VARCHAR', 'rest': 'VARCHAR'}, auto_detect = false, header = true, delim = '\x01', quote = '',
escape = '', comment = '', new_line = '\\n', ignore_errors = true, strict_mode = false, null_padding = true, nullstr = '\x02',
hive_partitioning = false"""
"""How a line is read whole: no character is a quote, and the delimiter is one that no text has a use for: where it stands,
there is a rest, if only an empty one."""
LONGEST = 1_000_000
"""The bytes of a line, at most: well below DuckDB's own limit, which depends on where a line stands in the file."""
FIELD = '("(?:[^"]|"")*"|[^,]*)(?:,|$)'
LONGEST_HEADER = 2**20


def lines_of(path: str, names: Sequence[str], columns: Sequence[str]) -> str:
    """The query of some columns of a file whose first line names them: no other field is looked at."""
    place = {name: i for i, name in enumerate(names, start=1)}
    chosen = [f"{_unquoted(f'fields[{place[name]}]')} as {quoted(name)}" for name in columns]
    fields = (
        f"case when contains(line, '\"') then regexp_extract_all(line, {literal(FIELD)}, 1) else string_split(line, ',') end"
    )
    kept = f"rest is null and line <> '' and strlen(line) <= {LONGEST}"
    lines = f"select {fields} as fields from read_csv({literal(path)}, {READ}) where {kept}"
    return f"select {', '.join(chosen) or 'true as one'} from ({lines})"


def _unquoted(field: str) -> str:
    quotes = f"starts_with({field}, '\"') and ends_with({field}, '\"') and length({field}) >= 2"
    inner = f"replace(substring({field}, 2, length({field}) - 2), '\"\"', '\"')"
    return f"nullif(case when {quotes} then {inner} else {field} end, '')"


def header(path: Path) -> list[str]:
    """The column names: the first line, and nothing else of the file, is read for them."""
    try:
        with path.open("rb") as file:
            first = file.readline(LONGEST_HEADER).decode("utf-8-sig").splitlines()
        names = next(csv.reader(first[:1]), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        names = None
    if names is None:
        raise DuotoneError(f"the first line of {path} cannot be read as column names in UTF-8")
    if not names or not all(names) or len(set(names)) != len(names):
        raise DuotoneError(f"the first line of {path} must name every column, each differently")
    return names
