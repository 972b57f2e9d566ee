"""Files of text as DuckDB reads them: CSV files and JSON lines, whose columns are untyped, or dates in a declared format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.tables.engines.csv import fields_of, read_header
from duotone.tables.engines.date_formats import by_format
from duotone.tables.engines.duckdb_views import selected
from duotone.tables.engines.file_changes import same_header
from duotone.tables.engines.file_layout import FileLayout
from duotone.tables.engines.json_lines import declared_columns, objects_of
from duotone.tables.engines.locked_duckdb import Connect, connected
from duotone.tables.engines.source import UNREADABLE, Source, closed_on_error, quietly
from duotone.tables.engines.stored_values import Columns, Reading
from duotone.tables.engines.text_lines import registered
from duotone.tables.sql.names import no_column


def of_lines(path: Path, layout: FileLayout, connect: Connect = connected) -> Source:
    """A CSV file, or one like it with another separator; it may be compressed by gzip."""
    header = read_header(path, layout.separator)
    return _of_text(path, header.names, partial(fields_of, header=header), header.line, layout, connect)


def of_json_lines(path: Path, layout: FileLayout, connect: Connect = connected) -> Source:
    """A file with a JSON object in each line, whose columns are declared; it may be compressed by gzip."""
    names = declared_columns(path, layout.columns)
    return _of_text(path, names, objects_of, None, layout, connect)


def _of_text(
    path: Path,
    names: Sequence[str],
    texts: Callable[..., tuple[str, list[str]]],
    first: bytes | None,
    layout: FileLayout,
    connect: Connect,
) -> Source:
    """A file of which `texts` gives some columns: the query of its rows, and the expression of each column's text. A column
    is untyped, or has dates where their format was declared. `first` is the first line, where it is a header."""
    formats = _formats(layout.formats, names)

    def reading(name: str, text: str) -> Reading:
        return by_format(name, formats[name], text) if name in formats else Reading("untyped", "string", text)

    kinds = {name: reading(name, "text").kind for name in names}
    connection, close = connect(path)
    with closed_on_error(close):
        lines = quietly(lambda: registered(connection, path, first), UNREADABLE)

    def table(columns: Sequence[str]) -> Any:
        rows, fields = texts(lines, columns=columns)
        return selected(connection, {name: reading(name, text) for name, text in zip(columns, fields, strict=True)}, rows)

    reads = Columns(kinds, table)
    checked, stated = same_header(path, first), layout.stated
    return Source(None, connection, path.name, untyped=True, reading=reads, release=close, stated=stated, checked=checked)


def _formats(formats: object, names: Sequence[str]) -> Mapping[str, str]:
    if formats is None:
        return {}
    if not isinstance(formats, Mapping):
        raise DuotoneError('formats are {column: format}, as {"day": "%d/%m/%Y"}')
    for name in formats:
        if name not in names:
            raise DuotoneError(f"there is a format for a column that is not there: {no_column(name, names, 'the file')}")
    return formats
