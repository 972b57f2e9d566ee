"""Lines of text files, each by itself: no line can change how another is read."""

from __future__ import annotations

from pathlib import Path

from duotone.resources import literal_path
from duotone.tables.engines.stored_values import literal

READ = """columns = {'line': 'VARCHAR', 'rest': 'VARCHAR'}, auto_detect = false, delim = '\x01', quote = '',
escape = '', comment = '', new_line = '\\n', ignore_errors = true, strict_mode = false, null_padding = true, nullstr = '\x02',
hive_partitioning = false"""
"""How a line is read whole: no character is a quote, and the delimiter is one that no text has a use for: where it stands,
there is a rest, if only an empty one."""
LONGEST = 1_000_000
"""The bytes of a line, at most: well below DuckDB's own limit, which depends on where a line stands in the file."""

DAMAGED = "{path} is not a gzip file, or is damaged: compress it again"


def whole_lines(path: Path, *, header: bool) -> str:
    """The query of a file's lines, after the first where that is a header.

    A line ends with a line feed, a carriage return or both. One that is empty, not UTF-8, longer than `LONGEST`, that has a
    byte 1 in it or is a byte 2 is passed over.
    """
    compression = "gzip" if path.suffix.lower() == ".gz" else "none"  # by the name that was given: a link may lead to another
    file = literal(literal_path(path.resolve()))
    kept = f"rest is null and line <> '' and strlen(line) <= {LONGEST}"
    return f"select line from read_csv({file}, {READ}, header = {header}, compression = '{compression}') where {kept}"
