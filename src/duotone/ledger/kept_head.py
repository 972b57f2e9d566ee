"""A head stored elsewhere: how many entries a ledger has, and the hash of the last, in a file of its owner's choice.

The ledger itself names the file, so that nobody who charges it can forget it. A charge is on disk first, then its head
is stored, then the coin is drawn. So a ledger without the stored entry has lost it: it was restored from an older copy,
or a standby was promoted that lacked it. After a crash between the two steps the ledger is ahead of its head, which is
accepted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from duotone.errors import LedgerError
from duotone.ledger.backup import on_disk
from duotone.ledger.entries import DAMAGE, LEDGER, intact
from duotone.ledger.stores import Entries, Row

Head = tuple[int, str]
PLACES = (0, 4096)
"""Offsets of the two copies: the older one is overwritten, so that an interrupted write leaves the newer one."""
WIDTH = 97


def place_of(entries: Entries, named: Row) -> Path:
    """The file that an entry of the ledger names."""
    return Path(intact(entries, named)["place"])


def must_have(entries: Entries, place: Path, head: Head) -> None:
    """Refuse a ledger that lacks the entry whose head was stored.

    Guarantee: an entry whose head was stored is in the ledger, or nothing is charged to it.
    """
    if not _has(entries, head):
        raise LedgerError(
            f"the ledger is older than its head kept in {place}, or another one: entry {head[0]} was kept, and is not in it. A "
            "standby was promoted, or an older copy restored, and charges are missing: count them as spent, and register "
            "what is left in a new ledger; nothing was released"
        )


def _has(entries: Entries, head: Head) -> bool:
    """Whether the ledger has the entry of a head; every ledger has the empty head."""
    row = entries.at(head[0])
    return head == (0, "") or (row is not None and row.hash == head[1])


def kept(place: Path) -> Head:
    """The head in a file."""
    with _reachable(place):
        return _newest(place, place.read_bytes())


def problem(entries: Entries) -> str | None:
    """A sentence if the ledger lacks an entry whose head was stored; None if it has that entry, or if no head can be
    read."""
    try:
        named = entries.last(LEDGER, "head")
        if named is None or _has(entries, head := kept(place := place_of(entries, named))):
            return None
    except DAMAGE:
        return None
    return f"entry {head[0]} is not the one whose head was kept in {place}"


def begin(entries: Entries, place: Path) -> None:
    """Create the file, with the ledger's present head; an existing one must hold a head of this ledger."""
    if os.name != "posix":
        raise LedgerError("a head is kept in a file on a POSIX system only")
    with _reachable(place):
        try:
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o660)
        except FileExistsError:
            must_have(entries, place, kept(place))
            return
        with os.fdopen(descriptor, "wb") as file:
            file.write(_line(entries.head()))
            file.flush()
            os.fsync(descriptor)
        on_disk(place.parent)


def advance(place: Path, head: Head) -> Head:
    """Store a head that is newer than the stored one, on disk; returns the newest one, which another writer may have
    stored."""
    import fcntl  # available on POSIX systems; elsewhere `begin` refuses

    with _reachable(place):
        descriptor = os.open(place, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            copies = os.pread(descriptor, PLACES[-1] + WIDTH, 0)
            newest = _newest(place, copies)
            if newest[0] >= head[0]:
                return newest
            older = next(at for at in PLACES if _read(copies, at) != newest)
            os.pwrite(descriptor, _line(head), older)
            os.fsync(descriptor)
            return head
        finally:
            os.close(descriptor)


def _line(head: Head) -> bytes:
    text = f"{head[0]:020d} {head[1]:64}"
    return f"{text} {sha256(text.encode()).hexdigest()[:10]}\n".encode()


def _read(copies: bytes, at: int) -> Head | None:
    """One copy of the head; None if it was not written completely."""
    number, _, digest = copies[at : at + WIDTH].decode("ascii", "replace")[:85].partition(" ")
    head = int(number) if number.isdecimal() else 0, digest.strip()
    return head if copies[at : at + WIDTH] == _line(head) else None


def _newest(place: Path, copies: bytes) -> Head:
    heads = [head for at in PLACES if (head := _read(copies, at)) is not None]
    if not heads:
        raise LedgerError(f"{place} holds no head of a ledger: let its owner keep one anew (keep_head); nothing was released")
    return max(heads)


@contextmanager
def _reachable(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LedgerError(
            f"the ledger's head is kept in {place}, which cannot be used ({error.strerror}): bring it back, or let the owner "
            "keep the head elsewhere (keep_head); nothing was released"
        ) from None
