"""CSV files, a line at a time: no line can change how another is read, and nothing is guessed from the rows.

A line ends with a line feed, a carriage return or both. Its fields are between commas; one that is wholly in double quotes
may have commas in it, and a double quote twice. An empty field, and one that is not there, is null. Fields too many are
passed over, and so is a line that is not UTF-8.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import ibis

from duotone.errors import DuotoneError
from duotone.machine import literal_path

READ = {"columns": {"line": "VARCHAR"}, "auto_detect": False, "header": True, "delim": "\x01", "quote": "", "escape": "",
        "comment": "", "new_line": "\\n", "ignore_errors": True, "strict_mode": False}  # fmt: skip
"""How a line is read whole: no character is a quote, and none that a text has is a delimiter."""
FIELD = '("(?:[^"]|"")*"|[^,]*)(?:,|$)'
LONGEST_HEADER = 2**20


@ibis.udf.scalar.builtin(name="regexp_extract_all", signature=(("string", "string", "int64"), "array<string>"))
def _all_matches(text, pattern, group): ...  # type: ignore[no-untyped-def]


def lines_as_columns(connection: Any, path: Path) -> Any:
    """The table of a file whose first line names the columns."""
    names = header(path)
    lines = connection.read_csv(literal_path(path), **READ)
    line = lines.filter(lines.line.notnull()).line
    fields = ibis.ifelse(line.contains('"'), _all_matches(line, FIELD, 1), line.split(","))
    table = line.as_table().select(fields=fields)
    return table.select(**{name: _unquoted(table.fields[i]) for i, name in enumerate(names)})


def _unquoted(field: Any) -> Any:
    quoted = field.startswith('"') & field.endswith('"') & (field.length() >= 2)
    inner = field.substr(1, field.length() - 2).replace('""', '"')
    return ibis.ifelse(quoted, inner, field).nullif("")


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
