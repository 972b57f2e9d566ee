"""How a ledger tells tables of Postgres apart: by where the server is reached, its own number, database, schema and table."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from duotone.tables.engines import Source, postgres
from duotone.tables.engines.stored_values import Columns


def connection(host: str = "db.example", port: int = 5432, *, may: bool = True, number: int = 7) -> Any:
    """What is asked of a connection, answered without a server."""
    answers = {postgres.NUMBERED: may, "select pg_catalog.current_database()": "clinic"}

    def execute(query: str) -> Any:
        if query == postgres.NUMBER and not may:
            raise PermissionError
        value = number if query == postgres.NUMBER else answers[query]
        return SimpleNamespace(fetchone=lambda: (value,))

    return SimpleNamespace(info=SimpleNamespace(host=host, port=port), execute=execute)


def identity(*own: Any, **options: Any) -> Any:
    return json.loads(postgres._identity(connection(*own, **options), "public", "stays"))


def test_an_identity_has_the_server_by_place_and_number() -> None:
    assert identity() == ["db.example:5432", 7, "clinic", "public", "stays"]
    assert len({str(identity(host, port)) for host in ("a", "b") for port in (1, 2)}) == 4
    assert identity("DB.Example") == identity()
    assert identity(number=8) != identity()


def test_a_role_that_may_not_see_the_number_goes_without() -> None:
    assert identity(may=False) == ["db.example:5432", None, "clinic", "public", "stays"]


def test_no_part_of_a_password_is_in_an_identity() -> None:
    """Of `user:p@ss@host` in a URL, libpq takes `ss@host` for the host."""
    assert identity("p@ss@db.example") == identity()


def test_a_query_has_no_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Source(postgres.Postgres(None), "t", Columns.of({}, lambda _: None), identity="another")
    monkeypatch.setattr(postgres, "of_database", lambda *_, **__: table)
    backend = SimpleNamespace(con=SimpleNamespace(execute=lambda _: None))
    assert postgres.of_query(backend, "select 1").identity is None
