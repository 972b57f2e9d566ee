"""A lock on a ledger's file: many readers or one writer, among threads, processes and other programs that use SQLite.

SQLite's own locks on a POSIX system belong to a process and vanish as soon as anything in it closes any descriptor of
the file (a copy that the program makes, say); after a fork its tables of them are wrong. So a ledger is locked here, with a
lock that belongs to one open descriptor, over the bytes that SQLite itself locks, and SQLite is asked to lock nothing.
"""

from __future__ import annotations

import os
import random
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from duotone.errors import LedgerError

try:
    import fcntl
except ImportError:  # pragma: no cover (not a POSIX system)
    raise LedgerError("a ledger in a file needs a POSIX system: keep it in Postgres") from None

FIRST, LENGTH = 0x4000_0000, 512
"""The bytes that SQLite locks: pending, reserved, and 510 shared ones."""
LOG_FIRST, LOG_LENGTH = 120, 9
"""The bytes that SQLite locks in the index of a log: the last of them, shared, as long as a connection is open."""
OWN_DESCRIPTOR: int | None = getattr(fcntl, "F_OFD_SETLK", None)
"""Linux: a lock of an open descriptor that also conflicts with SQLite's. Elsewhere `flock`, which only Duotone respects."""
SHORTEST, LONGEST = 0.0002, 0.01
"""Seconds between two attempts: short at first, since a commit takes a millisecond, then longer, with some chance in it."""


class FileLock:
    """A descriptor of the file, by which it is locked.

    Guarantee: while one holder has it exclusively nobody else has it, whatever else this process opens and closes.
    """

    def __init__(self, path: Path, *, writing: bool, create: bool) -> None:
        flags = (os.O_RDWR if writing else os.O_RDONLY) | (os.O_CREAT if create else 0) | os.O_CLOEXEC
        self.descriptor, self._process = os.open(path, flags, 0o644), os.getpid()
        self._writing = writing

    @property
    def identity(self) -> tuple[int, int]:
        """Which file it is."""
        status = os.fstat(self.descriptor)
        return status.st_dev, status.st_ino

    def header(self) -> bytes:
        """The first hundred bytes of the file, where SQLite keeps what it knows about it."""
        return os.pread(self.descriptor, 100, 0)

    def acquire(self, seconds: float) -> bool:
        """Lock it, shared for reading and exclusively for writing; False if others kept it for so long."""
        attempt: Callable[[], None] = self._flock
        if OWN_DESCRIPTOR is not None:
            attempt = self._own_writing if self._writing else self._own_reading
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
        """The pending byte first, and it is kept while readers end: no new one begins before a writer that waits."""
        _lock(self.descriptor, fcntl.F_WRLCK, FIRST, 1)
        _lock(self.descriptor, fcntl.F_WRLCK, FIRST + 1, LENGTH - 1)

    def _own_reading(self) -> None:
        """Past the pending byte, unless a writer waits there."""
        _lock(self.descriptor, fcntl.F_RDLCK, FIRST, 1)
        try:
            _lock(self.descriptor, fcntl.F_RDLCK, FIRST + 1, LENGTH - 1)
        finally:
            _lock(self.descriptor, fcntl.F_UNLCK, FIRST, 1)

    def _flock(self) -> None:
        fcntl.flock(self.descriptor, (fcntl.LOCK_EX if self._writing else fcntl.LOCK_SH) | fcntl.LOCK_NB)


@contextmanager
def log_unused(index: Path) -> Iterator[bool]:
    """Whether no connection of another program has the index of a log open; if so, none can open it until the block ends.

    Guarantee: it is seen by a lock on the index itself, which stays when a program closes the ledger's file.
    """
    try:
        descriptor = os.open(index, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield True
        return
    try:
        try:
            _lock(descriptor, fcntl.F_WRLCK, LOG_FIRST, LOG_LENGTH)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _lock(descriptor: int, kind: int, first: int, length: int) -> None:
    """Lock bytes by this descriptor, without waiting; where there are no such locks, by this process."""
    # C's struct flock: the kind, from the start of the file, the first byte, how many, and no process
    command = fcntl.F_SETLK if OWN_DESCRIPTOR is None else OWN_DESCRIPTOR
    try:
        fcntl.fcntl(descriptor, command, struct.pack("hhqqi4x", kind, os.SEEK_SET, first, length, 0))
    except PermissionError as error:  # another way to say that it is held
        raise BlockingIOError from error
