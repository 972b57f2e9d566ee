"""Files of text, read a line at a time: no line can change how another is read, and nothing is guessed from the rows.

A file is read in pieces, and cut into lines here. Each line feed and each carriage return ends a line, and an empty line is
no row: so a carriage return and a line feed end one line, and it makes no difference in which pieces they are.

CSV: fields are between commas, or the separator that the first line has; one that is wholly in double quotes may have
separators in it, and a double quote twice. An empty field, and one that is not there, is null. Fields too many are passed
over, and so is a line that is not UTF-8 or longer than 1,000,000 bytes.

JSON lines: in each line one object, whose keys are columns. Which there are is declared, not found in the rows. A line that
is no JSON object is passed over. A key that is not there, and null, is null; a text is what it says; a number, a Boolean, a
list or an object is the text that DuckDB writes for it. Of a key that is there twice, the first counts.
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
from duotone.tables.engines.engine import UNREADABLE, closed_on_error, quietly
from duotone.tables.engines.source import CHANGED, Check, Source, stamps
from duotone.tables.engines.stored_values import LONGEST, Columns, Reading, by_format, fresh, literal, of_text, quoted
from duotone.tables.sql.syntax import no_column

LONGEST_LINE = 1_000_000
"""The bytes of a line, at most."""
LONGEST_HEADER = 2**20
PIECE = 2**22
"""The bytes that are read at once. Tests try others: which, makes no difference to what is read."""
UNNAMED = "the first line of {path} cannot be read as column names in UTF-8"
DAMAGED = "{path} is not a gzip file, or is damaged: compress it again"
ENDS = b"\r\n"


@dataclass(frozen=True)
class Lines:
    """The lines of a file, as a stream of Arrow that is read from the file anew each time an engine asks for it.

    Guarantee: of a file with a header, what is read has that header before the first row and after the last: both are read
    from the file that was opened for the rows, whatever is at its path meanwhile.
    """

    path: Path
    header: bytes | None
    """The first line, where it names columns: as it was when the table was opened."""

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
    """The query of a file's lines, after the first where that is a header, on a connection that knows the file from now on.

    A line that is empty, not UTF-8 or longer than `LONGEST` is passed over.
    """
    name = fresh()
    connection.con.register(name, Lines(path, header))
    text = "decode(line, 'replace')"  # which is another text where the line is not UTF-8
    return f"select {text} as line from {quoted(name)} where octet_length(line) <= {LONGEST_LINE} and encode({text}) = line"


def _unpacked(file: BinaryIO, path: Path) -> BinaryIO:
    """A file of text as it is, or as what gzip packed into it, by the name that was given: a link may lead to another."""
    return gzip.GzipFile(fileobj=file) if path.suffix.lower() == ".gz" else file  # type: ignore[return-value]


def header_of(path: Path) -> bytes | None:
    """The first line of a file; None where it is too long for one."""
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
    """Pieces of whole lines, of what was read already and what follows. Of a line that is too long, only so much is kept that
    it still is.

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
    """Whole lines as one column of Arrow, without their ends and those that are empty."""
    each = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero((each == 10) | (each == 13))  # whichever there are: no row changes how long it takes
    places = np.zeros(len(ends) + 1, np.int32)
    places[1:] = ends - np.arange(len(ends))  # where each line ends in the text without the ends before it
    places = places[np.flatnonzero(np.diff(places, prepend=-1))]
    buffers = [None, pa.py_buffer(places), pa.py_buffer(lines.translate(None, ENDS))]
    return pa.record_batch([pa.Array.from_buffers(pa.binary(), len(places) - 1, buffers)], names=["line"])


NOT_FOR_THIS = {
    "separator": "only a CSV file has a separator: leave it out",
    "json_columns": "only JSON lines need their columns named (json_columns): leave them out",
    "formats": "only CSV files and JSON lines have formats of dates: leave them out",
    "types": "only CSV files and JSON lines have types declared: leave them out",
}


def refuse(declared: Dataset, keys: Iterable[str] = tuple(NOT_FOR_THIS)) -> None:
    """Refuse what a file has no use for, which is everything where the table is no file of text: left out silently, another
    question would be answered."""
    for key in keys:
        if getattr(declared, key):
            raise DuotoneError(NOT_FOR_THIS[key])


def stated(declared: Dataset) -> Mapping[str, Any]:
    """What changes how a column is read, and so the question: as a ledger records it."""
    cased = sorted(name for name in declared.json_columns or () if name != name.lower())  # keys of JSON differ by case
    by_column = {"formats": dict(declared.formats), "types": dict(declared.types)}
    return {key: own for key, own in {"separator": declared.separator, "columns": cased, **by_column}.items() if own}


def of_lines(path: Path, declared: Dataset, connect: Connect = connected) -> Source:
    """A CSV file, or one like it with another separator; it may be compressed by gzip."""
    header = read_header(path, declared.separator)
    return _of_text(path, header.names, partial(fields_of, header=header), header.line, declared, connect)


def of_json_lines(path: Path, declared: Dataset, connect: Connect = connected) -> Source:
    """A file with a JSON object in each line, whose columns are declared; it may be compressed by gzip."""
    if declared.json_columns is None:
        raise Refusal("columns missing", path=path)
    if path.suffix.lower() == ".gz":
        _first_line(path)  # what is no gzip file is refused now, and not after a charge
    return _of_text(path, declared.json_columns, objects_of, None, declared, connect)


def _of_text(
    path: Path,
    names: Sequence[str],
    texts: Callable[..., tuple[str, list[str]]],
    first: bytes | None,
    declared: Dataset,
    connect: Connect,
) -> Source:
    """A file of which `texts` gives some columns: the query of its rows, and the expression of each column's text. A column
    is untyped, unless its type or the format of its dates is declared. `first` is the first line, where it is a header."""
    formats, types, longest = declared.formats, declared.types, declared.longest_text or LONGEST
    for key, named in (("formats", formats), ("types", types)):
        for name in (name for name in named if name not in names):
            raise DuotoneError(f"{key} names a column that is not there: {no_column(name, names, 'the file')}")

    def reading(name: str, text: str) -> Reading:
        if name in formats:
            return by_format(name, formats[name], text)
        return of_text(types[name], text, longest) if name in types else Reading("untyped", "string", text)

    readings = {name: reading(name, "text") for name in names}
    engine, close = connect(path)
    with closed_on_error(close):
        lines = quietly(lambda: registered(engine.connection, path, first), UNREADABLE)

    def table(columns: Sequence[str]) -> Any:
        rows, fields = texts(lines, columns=columns)
        return engine.selected({name: reading(name, text) for name, text in zip(columns, fields, strict=True)}, rows)

    reads, checked = Columns.of(readings, table), same_header(path, first)
    return Source(engine, path.name, reads, release=close, stated=stated(declared), checked=checked, fields=len(names))


def same_header(path: Path, header: bytes | None) -> Check:
    """The check of a text file with this first line; None where it has no header. What reads its rows compares it, too, in
    the file that it has opened: see `Lines`."""

    def check() -> object:
        stamps(path)
        now = None
        with contextlib.suppress(OSError, EOFError, zlib.error, gzip.BadGzipFile):
            now = None if header is None else header_of(path)
        if now != header:
            raise DuotoneError(CHANGED.format(path=path))
        return now

    return check


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
    line, first = _first_line(path), None
    with contextlib.suppress(UnicodeDecodeError):
        first = None if line is None else line.decode("utf-8-sig")
    if line is None or first is None:  # out here, so that nothing of the file is remembered as the context
        raise DuotoneError(UNNAMED.format(path=path))
    separator = _separator(path, first) if separator is None else _one_character(separator)
    names: list[str] = []
    with contextlib.suppress(csv.Error):  # a name of more than 131,072 characters
        names = next(csv.reader([first], delimiter=separator), [])
    if not names or not all(names) or len(set(names)) != len(names):
        raise DuotoneError(f"the first line of {path} must name every column, each differently")
    return Header(line, names, separator)


def _first_line(path: Path) -> bytes | None:
    """As `header_of`; a file that cannot be read is refused."""
    failure = UNNAMED
    try:
        return header_of(path)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        failure = DAMAGED
    except OSError:
        pass
    raise DuotoneError(failure.format(path=path))


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
        raise DuotoneError(f"a separator is one ASCII character other than a double quote or a line end, got {separator!r}")
    return separator


def objects_of(lines: str, columns: Sequence[str]) -> tuple[str, list[str]]:
    """The query of the objects in the lines that a query gives, and the expression that is each of these columns: no other key
    is looked at."""
    pointers = ", ".join(map(literal, map(_pointer, columns)))
    values = f"json_extract_string(line, [{pointers}]::varchar[])"
    # a case decides row by row what is looked at: without it, what is no JSON is an error
    fields = f"case when json_valid(line) then case when json_type(line) = 'OBJECT' then {values} end end"
    rows = f"(select {fields} as fields from (select ltrim(line, chr(65279)) as line from ({lines}))) where fields is not null"
    return rows, [f"fields[{i}]" for i in range(1, len(columns) + 1)]


def _pointer(key: str) -> str:
    """Where a key's value is in an object, by RFC 6901."""
    return "/" + key.replace("~", "~0").replace("/", "~1")
