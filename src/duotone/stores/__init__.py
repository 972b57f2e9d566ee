"""Where a ledger is kept: a file on this machine, or a Postgres database that a team shares."""

from __future__ import annotations

from pathlib import Path

from duotone.stores.protocol import Pages, Row, Store

__all__ = ["Pages", "Row", "Store", "open_store"]


def open_store(place: str | Path, *, wait: float = 30.0) -> Store:
    """A store by its place: a path, or a URL that begins with postgresql:// or postgres://. Nothing is touched yet."""
    text = str(place)
    if text.startswith(("postgresql://", "postgres://")):
        from duotone.stores.postgres import PostgresStore

        return PostgresStore(text, wait)
    from duotone.stores.sqlite import SqliteStore

    return SqliteStore(Path(place), wait)
