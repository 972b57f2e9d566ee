"""Files of text as DuckDB reads them: CSV files and JSON lines, whose columns are untyped where nothing is declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.model.dataset import Dataset
from duotone.tables.engines.csv import fields_of, read_header
from duotone.tables.engines.date_formats import by_format
from duotone.tables.engines.duckdb_views import selected
from duotone.tables.engines.file_changes import same_header
from duotone.tables.engines.file_layout import stated
from duotone.tables.engines.json_lines import declared_columns, objects_of
from duotone.tables.engines.locked_duckdb import Connect, connected
from duotone.tables.engines.source import UNREADABLE, Source, closed_on_error, quietly
from duotone.tables.engines.stored_values import LONGEST, Columns, Reading, of_text
from duotone.tables.engines.text_lines import registered
from duotone.tables.sql.names import no_column


def of_lines(path: Path, declared: Dataset, connect: Connect = connected) -> Source:
    """A CSV file, or one like it with another separator; it may be compressed by gzip."""
    header = read_header(path, declared.separator)
    return _of_text(path, header.names, partial(fields_of, header=header), header.line, declared, connect)


def of_json_lines(path: Path, declared: Dataset, connect: Connect = connected) -> Source:
    """A file with a JSON object in each line, whose columns are declared; it may be compressed by gzip."""
    names = declared_columns(path, declared.json_columns)
    return _of_text(path, names, objects_of, None, declared, connect)


def _of_text(
    path: Path,
    names: Sequence[str],
    texts: Callable[..., tuple[str, list[str]]],
    first: bytes | None,
    declared: Dataset,
    connect: Connect,
) -> Source:
    """A file of which `texts` gives some columns: the query of its rows, and the expression of each column's text. A column
    is untyped, unless its type or the format of its dates was declared. `first` is the first line, where it is a header."""
    formats, types = (_of_columns(what, getattr(declared, what), names) for what in ("formats", "types"))

    def reading(name: str, text: str) -> Reading:
        if name in formats:
            return by_format(name, formats[name], text)
        return of_text(types[name], text, longest) if name in types else Reading("untyped", "string", text)

    longest = declared.longest_text or LONGEST

    kinds = {name: reading(name, "text").kind for name in names}
    connection, close = connect(path)
    with closed_on_error(close):
        lines = quietly(lambda: registered(connection, path, first), UNREADABLE)

    def table(columns: Sequence[str]) -> Any:
        rows, fields = texts(lines, columns=columns)
        return selected(connection, {name: reading(name, text) for name, text in zip(columns, fields, strict=True)}, rows)

    reads = Columns(kinds, table)
    checked, about = same_header(path, first), stated(declared)
    return Source(None, connection, path.name, untyped=True, reading=reads, release=close, stated=about, checked=checked)


def _of_columns(key: str, declared: Mapping[str, str], names: Sequence[str]) -> Mapping[str, str]:
    for name in declared:
        if name not in names:
            raise DuotoneError(f"{key} names a column that is not there: {no_column(name, names, 'the file')}")
    return declared
