"""JSON lines: in each line of a file one object, whose keys are columns. Which there are is declared, not found in the rows.

A line that is no JSON object is passed over. A key that is not there, and null, is null; a text is what it says; a number, a
Boolean, a list or an object is the text that DuckDB writes for it. Of a key that is there twice, the first counts.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

from duotone.errors import DuotoneError
from duotone.tables.engines.stored_values import literal
from duotone.tables.engines.text_lines import DAMAGED, opened

UNDECLARED = "which columns {path} has depends on its rows: say which there are (json_columns)"


def objects_of(lines: str, columns: Sequence[str]) -> tuple[str, list[str]]:
    """The query of the objects in the lines that a query gives, and the expression that is each of these columns: no other key
    is looked at."""
    pointers = ", ".join(map(literal, map(_pointer, columns)))
    values = f"json_extract_string(line, [{pointers}]::varchar[])"
    # a case decides row by row what is looked at: without it, what is no JSON is an error
    fields = f"case when json_valid(line) then case when json_type(line) = 'OBJECT' then {values} end end"
    rows = f"(select {fields} as fields from (select ltrim(line, chr(65279)) as line from ({lines}))) where fields is not null"
    return rows, [f"fields[{i}]" for i in range(1, len(columns) + 1)]


def declared_columns(path: Path, columns: Sequence[str] | None) -> list[str]:
    """The columns as they were declared."""
    if columns is None:
        raise DuotoneError(UNDECLARED.format(path=path))
    if path.suffix.lower() == ".gz":
        _require_gzip(path)
    return list(columns)


def _require_gzip(path: Path) -> None:
    """Refuse what is no gzip file now, and not after a charge."""
    with opened(path) as text:
        try:
            text.read(1)
            return
        except (OSError, EOFError, zlib.error):
            pass
    raise DuotoneError(DAMAGED.format(path=path))


def _pointer(key: str) -> str:
    """Where a key's value is in an object, by RFC 6901."""
    return "/" + key.replace("~", "~0").replace("/", "~1")
