"""Public files of an office: read once for each version of a file, and shared by all questions."""

from __future__ import annotations

import threading
from pathlib import Path

from duotone.errors import DuotoneError, UnopenedTable
from duotone.model.notice import why
from duotone.tables.engines.open import open_source
from duotone.tables.engines.public_tables import PublicTable

Version = tuple[int, int, int, int]


class PublicFiles:
    """The public tables of an office, by their places: of each file the rows of one version are in memory."""

    def __init__(self) -> None:
        self._kept: dict[Path, tuple[Version, PublicTable]] = {}
        self._lock = threading.Lock()

    def table(self, path: Path) -> PublicTable:
        """The table of a file as it is now."""
        with self._lock:
            version, known = _version(path), self._kept.get(path)
            if known is not None and known[0] == version:
                return known[1]
            table = _read(path)
            if _version(path) == version:  # else it was written to meanwhile, and the next question reads it again
                self._kept[path] = version, table
            return table


def _read(path: Path) -> PublicTable:
    """In a thread of its own: whoever asks does not wait longer for it."""
    read: list[PublicTable] = []
    failed: list[DuotoneError] = []

    def work() -> None:
        try:
            with open_source(path, vouched=True) as source:
                table = PublicTable(source)
                table.keep()
            read.append(table)
        except DuotoneError as error:
            failed.append(error)

    thread = threading.Thread(target=work, name="public file")
    thread.start()
    thread.join()
    if not read:
        raise UnopenedTable(why(failed[0]) if failed else f"{path} cannot be read")
    return read[0]


def _version(path: Path) -> Version:
    """What a file's content is known by; a file that is not there is one that cannot be read."""
    try:
        about = path.stat()
    except OSError:
        raise UnopenedTable(f"there is no file {path}") from None
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns
