"""A backup: every entry of a ledger in a new file, which appears complete or not at all, and never replaces another."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from duotone.errors import LedgerError
from duotone.ledger.entries import damage_as_error
from duotone.ledger.stores import Entries, Store, open_store
from duotone.ledger.stores.store import Scan
from duotone.ledger.verify import Verdict, verify


def backup(store: Store, path: str | Path) -> Verdict:
    """A verified copy of every entry, as of one moment, even while others write."""
    with _new_file(path) as place:
        with damage_as_error(), closing(open_store(place)) as copy:
            with copy.writing(create=True) as empty:
                rows = Scan(store, Entries.head)
                empty.fill(rows, rows.end)
            rows = Scan(copy, Entries.head)
            verdict = verify(rows, rows.end)
        if not verdict.holds:
            raise LedgerError(f"the ledger {store.place} does not verify, so there is no backup of it: run verify")
    return verdict


@contextmanager
def _new_file(path: str | Path) -> Iterator[Path]:
    """A temporary file that gets the name `path` at the end, on disk; an interruption leaves nothing behind."""
    target = Path(path).absolute()
    try:
        if os.path.lexists(target):
            raise FileExistsError
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        try:
            yield Path(name)
            on_disk(Path(name))
            os.link(name, target)  # unlike a rename, this fails if there is a file
        finally:
            os.unlink(name)
        on_disk(target.parent)
    except FileExistsError:
        raise LedgerError(f"there is a file {path} already, and a backup replaces none: give another name") from None
    except OSError as error:
        raise LedgerError(f"cannot write {path}: {error.strerror}") from None


def on_disk(path: Path) -> None:
    """Wait until a file, or a folder's list of names, is on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
