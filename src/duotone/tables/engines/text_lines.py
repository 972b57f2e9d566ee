"""Lines of text files, each by itself: no line can change how another is read, and no line is read otherwise at another place.

A file is read in pieces, and cut into lines here. Each line feed and each carriage return ends a line, and an empty line is no
row: so a carriage return and a line feed end one line, and it makes no difference in which pieces they are.
"""

from __future__ import annotations

import gzip
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from duotone.errors import DuotoneError
from duotone.tables.engines.stored_values import fresh, quoted

LONGEST = 1_000_000
"""The bytes of a line, at most."""
LONGEST_HEADER = 2**20
PIECE = 2**22
"""The bytes that are read at once. Tests try others: which, makes no difference to what is read."""
DAMAGED = "{path} is not a gzip file, or is damaged: compress it again"
CHANGED = "the columns of {path} have changed since it was opened: open it again"
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
        import pyarrow as pa

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
        first, rest = _first_line(text)
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
    return f"select {text} as line from {quoted(name)} where octet_length(line) <= {LONGEST} and encode({text}) = line"


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file of text as it is, or as what gzip packed into it."""
    with path.open("rb") as file:
        yield _unpacked(file, path)


def _unpacked(file: BinaryIO, path: Path) -> BinaryIO:
    """By the name that was given: a link may lead to another."""
    return gzip.GzipFile(fileobj=file) if path.suffix.lower() == ".gz" else file  # type: ignore[return-value]


def header_of(path: Path) -> bytes | None:
    """The first line of a file; None where it is too long for one."""
    with opened(path) as text:
        return _first_line(text)[0]


def _first_line(text: BinaryIO) -> tuple[bytes | None, bytes]:
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
        rest = (rest + piece[end:])[: LONGEST + 1]
    yield rest + b"\n"


def _batch(lines: bytes) -> Any:
    """Whole lines as one column of Arrow, without their ends and those that are empty."""
    import pyarrow as pa

    each = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero((each == 10) | (each == 13))  # whichever there are: no row changes how long it takes
    places = np.zeros(len(ends) + 1, np.int32)
    places[1:] = ends - np.arange(len(ends))  # where each line ends in the text without the ends before it
    places = places[np.flatnonzero(np.diff(places, prepend=-1))]
    buffers = [None, pa.py_buffer(places), pa.py_buffer(lines.translate(None, ENDS))]
    return pa.record_batch([pa.Array.from_buffers(pa.binary(), len(places) - 1, buffers)], names=["line"])
