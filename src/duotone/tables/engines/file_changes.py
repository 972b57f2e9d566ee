"""Files that change while a table is open: what was read of them when it was opened is compared before every question.

Guarantee: what is compared is a file's number, size and times, its first line or its schema, all of them public; no row is.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from duotone.errors import DuotoneError
from duotone.tables.engines.text_lines import CHANGED, header_of

Check = Callable[[], object]
"""Refuses files whose columns are not those that a table was opened with. Where it returns the same before and after something
is read, that was read from these files as they were checked."""
C = TypeVar("C")


def same_header(path: Path, header: bytes | None) -> Check:
    """The check of a text file with this first line; None where it has no header. What reads its rows compares it, too, in
    the file that it has opened: see `text_lines.Lines`."""

    def check() -> object:
        _facts(path)
        now = None
        with suppress(OSError, EOFError, zlib.error, gzip.BadGzipFile):
            now = None if header is None else header_of(path)
        if now != header:
            raise DuotoneError(CHANGED.format(path=path))
        return now

    return check


def same_columns(paths: Sequence[Path], columns: Callable[[], C]) -> tuple[C, Check]:
    """The columns of some files, and their check. They are read again only where a file is another or was written to."""
    seen = [_facts(*paths)]
    opened = columns()

    def check() -> object:
        now = _facts(*paths)
        if now != seen[0]:
            if columns() != opened:
                raise DuotoneError(CHANGED.format(path=", ".join(map(str, paths[:3]))))
            seen[0] = now
        return now

    return opened, check


def same_file(path: Path) -> Check:
    """The check of a file that stays open: where it is replaced or written to, the table must be opened again."""
    opened = _facts(path)

    def check() -> object:
        if _facts(path) != opened:
            raise DuotoneError(f"{path} was replaced or written to since it was opened: open it again")
        return opened

    return check


def same_files(table: object, opened: Sequence[Path], listed: Callable[[], Sequence[Path]], checked: Check) -> Check:
    """The check of a folder or a pattern: of the files that were opened, and that there are no others now."""

    def check() -> object:
        if list(listed()) != list(opened):
            raise DuotoneError(f"{table} has other files than when it was opened: open it again")
        return checked()

    return check


def _facts(*paths: Path) -> list[tuple[int, ...]]:
    """Which files they are, and when they were written to."""
    facts: list[tuple[int, ...]] = []
    for path in paths:
        try:
            one = path.stat()
        except OSError:
            raise DuotoneError(f"there is no file {path} any more") from None
        facts.append((one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns))
    return facts
