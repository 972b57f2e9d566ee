"""What SQLite leaves beside a file, whether it belongs to it, and whether a file is where it was last written.

SQLite looks for the journal of an interrupted commit under the name of the file. A file that was moved away from its
journal is half a commit; a journal that waits where the file was would undo later charges once the file comes back.
"""

from __future__ import annotations

import os
import re
import shutil
from hashlib import sha256
from pathlib import Path

from duotone.errors import LedgerError

MAGIC = bytes.fromhex("d9d505f920a163d7")
WAL = b"\x02"
"""The version that a file in WAL mode has in bytes 18 and 19."""


def in_wal_mode(header: bytes) -> bool:
    """Whether the file keeps charges in a log beside it, as ledgers of Duotone 0.1 did."""
    return WAL in (header[18:19], header[19:20])


def beside(path: Path, ending: str) -> Path:
    """The name that SQLite gives a file beside the ledger's."""
    return path.with_name(path.name + ending)


def mark_of(path: Path) -> int:
    """A number for the place where a file's journal would be: the folder (by its own number, not its name) and the name.

    A commit leaves it in the file, as SQLite's user_version. A file with another mark was moved or copied.
    """
    text = f"{path.parent.stat().st_ino}\n{path.name}"
    return int.from_bytes(sha256(text.encode(errors="surrogateescape")).digest()[:4], "big") >> 1 or 1


def is_mount_point(path: Path) -> bool:
    """Whether the file itself is mounted here, apart from its folder and so from its journal."""
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:  # not Linux
        return False
    points = (line.split(b" ")[4] for line in lines)
    unescaped = (re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), point) for point in points)
    return os.fsencode(path) in set(unescaped)


def is_interrupted(path: Path) -> bool:
    """Whether the journal of a commit that did not end lies beside the file. Only true of a file that nobody is writing."""
    try:
        with beside(path, "-journal").open("rb") as journal:
            return journal.read(1) not in (b"", b"\0")
    except FileNotFoundError:
        return False


def check_journal(path: Path, *, copied: bool = False) -> None:
    """Refuse a journal that does not belong to the file as it is: playing it back would undo what came after it.

    It belongs if no page 1 was written since (the counter of commits and the mark are those of the journal's copy), or if
    the interrupted commit wrote it: one commit more, with this place's mark, since any other at this place would have met
    the journal. Without a copy of page 1 nothing was written yet, and every page must be as it is in the journal. For
    reading, both may have been `copied` here together: then the mark of the place before will do.
    """
    with beside(path, "-journal").open("rb") as journal, path.open("rb") as file:
        head = journal.read(28)
        if head[:8] != MAGIC or len(head) < 28:
            return  # SQLite does not take it for a journal either
        pages, sector, size = (int.from_bytes(head[i : i + 4], "big") for i in (16, 20, 24))
        copies = _copies(journal.read()[sector - 28 :], size)
        now = file.read(100)
        if 1 in copies:
            counter, mark = _commit(copies[1])
            marks = (mark_of(path), mark) if copied else (mark_of(path),)
            belongs = _commit(now) in ((counter, mark), *(((counter + 1) % 2**32, each) for each in marks))
        else:
            belongs = os.fstat(file.fileno()).st_size == pages * size and all(
                os.pread(file.fileno(), size, (number - 1) * size) == copy for number, copy in copies.items()
            )
    if not belongs:
        raise LedgerError(
            f"the journal beside {path} does not belong to its present state (a writer was interrupted, and the file was "
            "moved, copied, linked or mounted elsewhere): bring both back to where they were, or continue from a backup; "
            "nothing was released"
        )


def check_no_log(path: Path) -> None:
    """Refuse a write-ahead log beside a file that is not in that mode: SQLite would lay its old pages over the file's."""
    log = beside(path, "-wal")
    if log.exists():
        raise LedgerError(
            f"the log {log} does not belong to the ledger beside it, which keeps none: move it away and run verify; "
            "nothing was released"
        )


def _commit(page: bytes) -> tuple[int, int]:
    """SQLite's counter of commits, and the mark of the place of the last one."""
    return int.from_bytes(page[24:28], "big"), int.from_bytes(page[60:64], "big")


def _copies(records: bytes, size: int) -> dict[int, bytes]:
    """The journal's copies of pages by their number; the first of each counts."""
    copies: dict[int, bytes] = {}
    for at in range(0, len(records) - size - 7, size + 8) if size >= 512 else ():
        number = int.from_bytes(records[at : at + 4], "big")
        if number:
            copies.setdefault(number, records[at + 4 : at + 4 + size])
    return copies


def snapshot(path: Path, folder: Path) -> Path:
    """A copy of the file with what lies beside it, for reading what cannot be read in place without writing."""
    names = [path, beside(path, "-journal"), beside(path, "-wal")]
    for _ in range(100):
        before = [_state(name) for name in names]
        for name in names:
            target = folder / name.name
            target.unlink(missing_ok=True)
            if name.exists():
                shutil.copyfile(name, target)
        if before == [_state(name) for name in names]:
            return folder / path.name
    raise LedgerError(f"the ledger {path} is being written by an older Duotone all the time: try again")


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
