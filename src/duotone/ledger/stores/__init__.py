"""Where a ledger is stored: a file on this machine (SQLite), or a Postgres database that a team shares.

Start with `store`: the interface of a store (`Store`), and the entries as one transaction sees them (`Entries`). A new
store implements what `Store` leaves open, and `open_store`, here, opens it. `sqlite` is the file (`sqlite_file` its
lock, and SQLite's other files), `postgres` the database (`postgres_schema` its functions, `postgres_checks` those that
check an entry).
"""

from __future__ import annotations

import re
from pathlib import Path

from duotone.errors import DuotoneError, got
from duotone.ledger.stores.store import SKEW, Entries, Row, Store

__all__ = ["SKEW", "Entries", "Row", "Store", "open_store"]


def open_store(place: str | Path, *, wait: float = 30.0) -> Store:
    """A store by its place: a path, or a URL that begins with postgresql:// or postgres://. Nothing is accessed yet."""
    if not isinstance(place, str | Path):
        raise DuotoneError(f'a ledger is named by its place, as "budget.ledger", got {got(place)}')
    text = str(place).strip()
    scheme = re.match(r"([A-Za-z][\w+.-]*):/", text)
    secret = not scheme and re.search(r"pass\w*\s*=|:.*@", text, re.IGNORECASE)  # an error would quote a file's name
    if secret or (scheme and scheme[1].lower() not in ("postgresql", "postgres")):
        raise DuotoneError("a ledger is a file, or a database whose URL begins with postgresql://")
    if scheme:
        from duotone.ledger.stores.postgres import PostgresStore

        return PostgresStore(text, wait)
    from duotone.ledger.stores.sqlite import SqliteStore

    return SqliteStore(Path(place), wait)
