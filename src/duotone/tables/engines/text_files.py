"""Text files, read a line at a time: no line can change how another is read, and nothing is inferred from the rows.

A file is read in pieces, and cut into lines here. Each line feed and each carriage return ends a line, and an empty
line is not a row: so a carriage return and a line feed end one line, even in different pieces.

CSV: fields are separated by commas, or by the separator of the first line. A field entirely in double quotes may
contain separators, and a double quote twice. An empty or missing field is null. Surplus fields are ignored, and so is a
line that is not UTF-8 or longer than 1,000,000 bytes.

JSON lines: each line is an object, whose keys are columns. They are declared, not read from the rows. A line that is
not a JSON object is ignored. A missing key, and null, is null; text is its contents; a number, a Boolean, a list or an
object is the text that DuckDB writes for it. Of a repeated key, the first counts.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import itertools
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from duotone.errors import DuotoneError
from duotone.model.dataset import Dataset
from duotone.model.notice import Refusal
from duotone.tables.engines.duckdb import Connect, connected
from duotone.tables.engines.engine import CHANGED, UNREADABLE, Check, Source, closed_on_error, quietly, stamps
from duotone.tables.engines.stored_values import LONGEST, Columns, Reading, fresh, literal, quoted
from duotone.tables.engines.text_types import of_text
from duotone.tables.sql.syntax import no_column

LONGEST_LINE = 1_000_000
"""Most bytes of a line."""
LONGEST_HEADER = 2**20
PIECE = 2**22
"""Bytes per read. Tests vary it: the result does not depend on it."""
UNNAMED = "the first line of {path} cannot be read as column names in UTF-8"
DAMAGED = "{path} is not a gzip file, or is damaged: compress it again"
ENDS = b"\r\n"


@dataclass(frozen=True)
class Lines:
    """The lines of a file, as an Arrow stream that is read from the file anew each time an engine requests it.

    Guarantee: a file with a header has that header before the first row and after the last, both read from the file
    that was opened for the rows, even if its path is replaced meanwhile.
    """

    path: Path
    header: bytes | None
    """The first line, if it names columns: as it was when the table was opened."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        schema = pa.schema([("line", pa.binary())])
        return pa.RecordBatchReader.from_batches(schema, self._batches()).__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[Any]:
        with self.path.open("rb") as file:
            text = _unpacked(file, self.path)
            first = b"" if self.header is None else self._after_header(text)
            yield from map(_batch, _whole_lines(text, first))
            file.seek(0)
            if self.header is not None:
                self._after_header(_unpacked(file, self.path))

    def _after_header(self, text: BinaryIO) -> bytes:
        first, rest = _up_to_line_end(text)
        if first != self.header:
            raise DuotoneError(CHANGED.format(path=self.path))
        return rest


def registered(connection: Any, path: Path, header: bytes | None) -> str:
    """The query of a file's lines, without a header, on a connection where the file is registered from now on.

    A line that is empty, not UTF-8 or longer than `LONGEST_LINE` is ignored.
    """
    name = fresh()
    connection.con.register(name, Lines(path, header))
    text = "decode(line, 'replace')"  # which differs from the line if that is not UTF-8
    return f"select {text} as line from {quoted(name)} where octet_length(line) <= {LONGEST_LINE} and encode({text}) = line"


def _unpacked(file: BinaryIO, path: Path) -> BinaryIO:
    """A text file, unpacked if it was gzipped, by the given name: a link may lead to another."""
    return gzip.GzipFile(fileobj=file) if path.suffix.lower() == ".gz" else file  # type: ignore[return-value]


def _header_of(path: Path) -> bytes | None:
    """The first line of a file; None if it is too long."""
    with path.open("rb") as file:
        return _up_to_line_end(_unpacked(file, path))[0]


def _up_to_line_end(text: BinaryIO) -> tuple[bytes | None, bytes]:
    """The first line, and what was read after it."""
    read = b""
    while len(read) < LONGEST_HEADER:
        piece = text.read(min(PIECE, 2**16))
        read += piece
        if not piece or any(end in piece for end in ENDS):
            break
    first = re.split(b"[\r\n]", read, maxsplit=1)[0]
    return (first if len(first) < LONGEST_HEADER else None), read[len(first) + 1 :]


def _whole_lines(text: BinaryIO, first: bytes) -> Iterator[bytes]:
    """Pieces of whole lines, from what was read already and what follows. A too long line is cut, but not to a valid
    length.

    Guarantee: memory holds a piece and a line, however long the lines are.
    """
    rest = b""
    for piece in itertools.chain([first], iter(lambda: text.read(PIECE), b"")):
        end = max(map(piece.rfind, (b"\r", b"\n"))) + 1
        if end:
            yield rest + piece[:end]
            rest = b""
        rest = (rest + piece[end:])[: LONGEST_LINE + 1]
    yield rest + b"\n"


def _batch(lines: bytes) -> Any:
    """Whole lines as one Arrow column, without line ends and empty lines."""
    each = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero((each == 10) | (each == 13))  # any of them: no row changes how long it takes
    places = np.zeros(len(ends) + 1, np.int32)
    places[1:] = ends - np.arange(len(ends))  # where each line ends in the text without earlier line ends
    places = places[np.flatnonzero(np.diff(places, prepend=-1))]
    buffers = [None, pa.py_buffer(places), pa.py_buffer(lines.translate(None, ENDS))]
    return pa.record_batch([pa.Array.from_buffers(pa.binary(), len(places) - 1, buffers)], names=["line"])


NOT_FOR_THIS = {
    "separator": "only a CSV file has a separator: leave it out",
    "json_columns": "only JSON lines need their columns named (json_columns): leave them out",
    "types": "only CSV files and JSON lines have types declared: leave them out",
}


def refuse(declared: Dataset, keys: Iterable[str] = tuple(NOT_FOR_THIS)) -> None:
    """Refuse declarations that a file does not use: all of them if it is not a text file. Ignored silently, they would
    change the question."""
    for key in keys:
        if declared.types_of() if key == "types" else getattr(declared, key):
            raise DuotoneError(NOT_FOR_THIS[key])


def stated(declared: Dataset) -> Mapping[str, Any]:
    """The declarations that change how a column is read, and so the question: for a ledger."""
    cased = sorted(name for name in declared.json_columns or () if name != name.lower())  # JSON keys are case-sensitive
    every = {"separator": declared.separator, "columns": cased, "types": dict(declared.types_of())}
    return {key: own for key, own in every.items() if own}


def of_lines(path: Path, declared: Dataset, connect: Connect = connected) -> Source:
    """A CSV file, or a similar one with another separator; it may be gzipped."""
    header = read_header(path, declared.separator)
    return _of_text(path, header.names, partial(fields_of, header=header), header.line, declared, connect)


def of_json_lines(path: Path, declared: Dataset, connect: Connect = connected) -> Source:
    """A file with a JSON object in each line, whose columns are declared; it may be gzipped."""
    if declared.json_columns is None:
        raise Refusal("columns missing", path=path)
    if path.suffix.lower() == ".gz":
        _first_line(path)  # refuse a file that is not gzip now, and not after a charge
    return _of_text(path, declared.json_columns, _objects_of, None, declared, connect)


def _of_text(
    path: Path,
    names: Sequence[str],
    texts: Callable[..., tuple[str, list[str]]],
    first: bytes | None,
    declared: Dataset,
    connect: Connect,
) -> Source:
    """A file whose columns' `texts` are known: the query of its rows, and the expression of each column's text. A
    column is untyped, unless its type is declared. `first` is the first line, if it is a header."""
    types, longest = declared.types_of(), declared.longest_text or LONGEST
    for name in (name for name in types if name not in names):
        raise DuotoneError(f"types names a column that is not there: {no_column(name, names, 'the file')}")

    def reading(name: str, text: str) -> Reading:
        return of_text(types[name], text, longest) if name in types else Reading("untyped", "string", text)

    readings = {name: reading(name, "text") for name in names}
    engine, close = connect(path)
    with closed_on_error(close):
        lines = quietly(lambda: registered(engine.connection, path, first), UNREADABLE)

    def table(columns: Sequence[str]) -> Any:
        rows, fields = texts(lines, columns=columns)
        return engine.selected({name: reading(name, text) for name, text in zip(columns, fields, strict=True)}, rows)

    reads, checked = Columns.of(readings, table), _same_header(path, first)
    return Source(engine, path.name, reads, release=close, stated=stated(declared), checked=checked, fields=len(names))


def _same_header(path: Path, header: bytes | None) -> Check:
    """The check of a text file's header; None without one. Reading rows compares it, too, in the opened file: see
    `Lines`."""

    def check() -> object:
        stamps(path)
        now = None
        with contextlib.suppress(OSError, EOFError, zlib.error, gzip.BadGzipFile):
            now = None if header is None else _header_of(path)
        if now != header:
            raise DuotoneError(CHANGED.format(path=path))
        return now

    return check


SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
"""Separators that are recognised in the first line."""


@dataclass(frozen=True)
class Header:
    """The first line of a file, its column names, and its separator."""

    line: bytes
    names: list[str]
    separator: str


def fields_of(lines: str, header: Header, columns: Sequence[str]) -> tuple[str, list[str]]:
    """The query of the rows of a file from the query of its lines after the header, and the expression of each
    requested column: no other field is read."""
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
    """The column names and the separator, from the first line alone."""
    line, first = _first_line(path), None
    with contextlib.suppress(UnicodeDecodeError):
        first = None if line is None else line.decode("utf-8-sig")
    if line is None or first is None:  # raised here, so that its context holds nothing of the file
        raise DuotoneError(UNNAMED.format(path=path))
    separator = _separator(path, first) if separator is None else _one_character(separator)
    names: list[str] = []
    with contextlib.suppress(csv.Error):  # a name of more than 131,072 characters
        names = next(csv.reader([first], delimiter=separator), [])
    if not names or not all(names) or len(set(names)) != len(names):
        raise DuotoneError(f"the first line of {path} must name every column, each differently")
    return Header(line, names, separator)


def _first_line(path: Path) -> bytes | None:
    """Like `_header_of`; refuses an unreadable file."""
    failure = UNNAMED
    try:
        return _header_of(path)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        failure = DAMAGED
    except OSError:
        pass
    raise DuotoneError(failure.format(path=path))


def _separator(path: Path, first: str) -> str:
    """The separator in the first line, outside double quotes; in a .tsv file a tab."""
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
        raise DuotoneError(f"a separator is one ASCII character other than a double quote or a line end, got {separator!r}")
    return separator


def _objects_of(lines: str, columns: Sequence[str]) -> tuple[str, list[str]]:
    """The query of the objects in the lines of a query, and the expression of each of these columns: no other key is
    read."""
    pointers = ", ".join(map(literal, map(_pointer, columns)))
    values = f"json_extract_string(line, [{pointers}]::varchar[])"
    # a case is evaluated row by row: without it, invalid JSON is an error
    fields = f"case when json_valid(line) then case when json_type(line) = 'OBJECT' then {values} end end"
    rows = f"(select {fields} as fields from (select ltrim(line, chr(65279)) as line from ({lines}))) where fields is not null"
    return rows, [f"fields[{i}]" for i in range(1, len(columns) + 1)]


def _pointer(key: str) -> str:
    """The path of a key's value in an object, by RFC 6901."""
    return "/" + key.replace("~", "~0").replace("/", "~1")
