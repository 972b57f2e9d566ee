"""The file of a ledger: its lock, the journal of an interrupted commit beside it, and whether it was moved since it was
last written.

SQLite's own locks on a POSIX system belong to a process and vanish as soon as anything in it closes any descriptor of
the file (a program that copies it, for example); after a fork its records of them are wrong. So Duotone locks a ledger
itself, with a lock that belongs to one open descriptor, over the bytes that SQLite locks, and SQLite is set to lock
nothing.

SQLite looks for the journal of an interrupted commit under the file's name. A file that was moved without its journal
is half a commit; a journal left behind would undo later charges once the file comes back.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import struct
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from duotone.errors import LedgerError

try:
    import fcntl
except ImportError:  # pragma: no cover (not a POSIX system)
    raise LedgerError("a ledger in a file needs a POSIX system: keep it in Postgres") from None

FIRST, LENGTH = 0x4000_0000, 512
"""The bytes that SQLite locks: pending, reserved, and 510 shared ones."""
OWN_DESCRIPTOR: int | None = getattr(fcntl, "F_OFD_SETLK", None)
"""Linux: a lock of an open descriptor that also conflicts with SQLite's. Elsewhere `flock`, which only Duotone
respects."""
SHORTEST, LONGEST = 0.0002, 0.01
"""Seconds between two attempts: short at first, since a commit takes a millisecond, then longer, partly random."""
MAGIC = bytes.fromhex("d9d505f920a163d7")
WAL = b"\x02"
"""The version in bytes 18 and 19 of a file in WAL mode."""


class FileLock:
    """A descriptor of the file, which holds its lock.

    Guarantee: while one holder has it exclusively nobody else has it, whatever else this process opens and closes.
    """

    def __init__(self, path: Path, *, writing: bool, create: bool) -> None:
        flags = (os.O_RDWR if writing else os.O_RDONLY) | (os.O_CREAT if create else 0) | os.O_CLOEXEC
        self.descriptor, self._process = os.open(path, flags, 0o644), os.getpid()
        self.writing = writing

    @property
    def identity(self) -> tuple[int, int]:
        """The identity of the file."""
        status = os.fstat(self.descriptor)
        return status.st_dev, status.st_ino

    def header(self) -> bytes:
        """The first hundred bytes of the file: SQLite's header."""
        return os.pread(self.descriptor, 100, 0)

    def acquire(self, seconds: float) -> bool:
        """Lock it, shared for reading and exclusively for writing; False if others held it for this long."""
        attempt: Callable[[], None] = self._flock
        if OWN_DESCRIPTOR is not None:
            attempt = self._own_writing if self.writing else self._own_reading
        end, pause = time.monotonic() + seconds, SHORTEST
        while True:
            try:
                attempt()
            except BlockingIOError:
                if time.monotonic() >= end:
                    return False
                time.sleep(pause * (0.5 + random.random()))
                pause = min(2 * pause, LONGEST)
            else:
                return True

    def release(self) -> None:
        """Unlock it, in the process that locked it."""
        if self._process != os.getpid():
            return
        if OWN_DESCRIPTOR is not None:
            _lock(self.descriptor, fcntl.F_UNLCK, FIRST, LENGTH)
        else:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the descriptor; in a forked child too, where it would keep the lock of a parent that died."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _own_writing(self) -> None:
        """Take the pending byte first, and hold it while readers finish: no new one starts before a waiting writer."""
        _lock(self.descriptor, fcntl.F_WRLCK, FIRST, 1)
        _lock(self.descriptor, fcntl.F_WRLCK, FIRST + 1, LENGTH - 1)

    def _own_reading(self) -> None:
        """Pass the pending byte, unless a writer waits there."""
        _lock(self.descriptor, fcntl.F_RDLCK, FIRST, 1)
        try:
            _lock(self.descriptor, fcntl.F_RDLCK, FIRST + 1, LENGTH - 1)
        finally:
            _lock(self.descriptor, fcntl.F_UNLCK, FIRST, 1)

    def _flock(self) -> None:
        fcntl.flock(self.descriptor, (fcntl.LOCK_EX if self.writing else fcntl.LOCK_SH) | fcntl.LOCK_NB)


def _lock(descriptor: int, kind: int, first: int, length: int) -> None:
    """Lock bytes by this descriptor, without waiting; on systems without such locks, by this process."""
    # C's struct flock: the type, from the start of the file, the first byte, how many, and no process
    command = fcntl.F_SETLK if OWN_DESCRIPTOR is None else OWN_DESCRIPTOR
    try:
        fcntl.fcntl(descriptor, command, struct.pack("hhqqi4x", kind, os.SEEK_SET, first, length, 0))
    except PermissionError as error:  # another error code for a held lock
        raise BlockingIOError from error


def beside(path: Path, ending: str) -> Path:
    """The name that SQLite gives a file beside the ledger's."""
    return path.with_name(path.name + ending)


def mark_of(path: Path) -> int:
    """A number for the place of a file's journal: the folder (by its own number, not its name) and the name.

    A commit leaves it in the file, as SQLite's user_version. A file with another mark was moved or copied.
    """
    text = f"{path.parent.stat().st_ino}\n{path.name}"
    return int.from_bytes(sha256(text.encode(errors="surrogateescape")).digest()[:4], "big") >> 1 or 1


def is_mount_point(path: Path) -> bool:
    """Whether the file itself is mounted here, without its folder and so without its journal."""
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:  # not Linux
        return False
    points = (line.split(b" ")[4] for line in lines)
    unescaped = (re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), point) for point in points)
    return os.fsencode(path) in set(unescaped)


def is_interrupted(path: Path) -> bool:
    """Whether the journal of an interrupted commit lies beside the file. Only meaningful if nobody is writing."""
    try:
        with beside(path, "-journal").open("rb") as journal:
            return journal.read(1) not in (b"", b"\0")
    except FileNotFoundError:
        return False


def check_journal(path: Path, *, copied: bool = False) -> None:
    """Refuse a journal that does not belong to the file's present state: rolling it back would undo later commits.

    It belongs if page 1 was not written since (the commit counter and the mark equal those of the journal's copy), or
    if the interrupted commit wrote it: one commit more, with this place's mark, since any other commit at this place
    would have met the journal. Without a copy of page 1 nothing was written yet, and every page must be as in the
    journal. For reading, both may have been `copied` here together: then the mark of the place before is accepted.
    """
    with beside(path, "-journal").open("rb") as journal, path.open("rb") as file:
        head = journal.read(28)
        if head[:8] != MAGIC or len(head) < 28:
            return  # SQLite ignores it as a journal, too
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


def check_no_log(path: Path, header: bytes) -> None:
    """Refuse a file with possible charges in a write-ahead log beside it, and such a log beside any file: SQLite would
    copy its old pages over the file's."""
    log = beside(path, "-wal")
    if WAL in (header[18:19], header[19:20]):
        raise LedgerError(
            f"{path} was put into SQLite's WAL mode by another program, and charges in a log beside a file are lost when that "
            "is moved or copied: let its owner put it back (PRAGMA journal_mode = DELETE); nothing was released"
        )
    if log.exists():
        raise LedgerError(
            f"the log {log} does not belong to the ledger beside it, which keeps none: move it away and run verify; "
            "nothing was released"
        )


def _commit(page: bytes) -> tuple[int, int]:
    """SQLite's commit counter, and the mark of the place of the last commit."""
    return int.from_bytes(page[24:28], "big"), int.from_bytes(page[60:64], "big")


def _copies(records: bytes, size: int) -> dict[int, bytes]:
    """The journal's copies of pages by number; the first copy of each counts."""
    copies: dict[int, bytes] = {}
    for at in range(0, len(records) - size - 7, size + 8) if size >= 512 else ():
        number = int.from_bytes(records[at : at + 4], "big")
        if number:
            copies.setdefault(number, records[at + 4 : at + 4 + size])
    return copies


def snapshot(path: Path, folder: Path) -> Path:
    """A copy of the file and its journal, for reading what cannot be read in place without writing."""
    names = [path, beside(path, "-journal")]
    for _ in range(100):
        before = [_state(name) for name in names]
        for name in names:
            target = folder / name.name
            target.unlink(missing_ok=True)
            if name.exists():
                shutil.copyfile(name, target)
        if before == [_state(name) for name in names]:
            return folder / path.name
    raise LedgerError(f"the ledger {path} is being written all the time: try again")


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
