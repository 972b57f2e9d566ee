"""Where tests of a ledger keep it: in a file, in a database of their own Postgres server, or once in each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from duotone import ApproxDP, open_ledger
from duotone.ledger.ledger import Ledger
from support.ledgers import ask, execute, register
from support.postgres_server import Server, programs, running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger in a file, with a budget of two answers."""
    with open_ledger(tmp_path / "budget.ledger") as ledger:
        register(ledger)
    return tmp_path / "budget.ledger"


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for all tests of a process; without Postgres, a laptop skips them."""
    missing = "Postgres" if programs() is None else "psycopg" if find_spec("psycopg") is None else None
    if missing is not None:
        if os.environ.get("CI"):
            pytest.fail(f"{missing} is not installed, and CI must have it")
        pytest.skip(f"{missing} is not installed: its tests are left out")
    with running() as started:
        yield started


@pytest.fixture
def url(server: Server, request: pytest.FixtureRequest) -> str:
    """A schema of its own for a ledger."""
    schema = f"s{abs(hash(request.node.nodeid))}"
    execute(server.url, f"CREATE SCHEMA {schema}")
    return f"{server.url}&options=-c%20search_path%3D{schema}"


@pytest.fixture
def database(server: Server, request: pytest.FixtureRequest) -> str:
    """A database of its own, for tests that change one; creating and removing it takes longer than a schema."""
    name = f"d{abs(hash(request.node.nodeid))}"
    execute(server.url, f"CREATE DATABASE {name}")
    return server.url.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a ledger: first a file, then Postgres."""
    return str(tmp_path / "new.ledger") if request.param == "file" else str(request.getfixturevalue("url"))


@pytest.fixture
def ledger(place: str) -> Iterator[Ledger]:
    """In either store, with a budget of two answers."""
    with open_ledger(place, wait=5) as ledger:
        register(ledger)
        yield ledger


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """A ledger of several pages, with two of four answers left."""
    with open_ledger(tmp_path / "long.ledger") as ledger:
        register(ledger, ApproxDP(2))
        for i in range(2):
            ask(ledger, str(i) * 60_000)
    return tmp_path / "long.ledger"
