"""Ledgers for tests: charges, crowds of askers, damage, a store in memory, entries as texts; and fixtures of ledgers in a file,
in a database of their own Postgres server, or once in each."""

from __future__ import annotations

import importlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, Charge, balanced, open_ledger
from duotone.errors import LedgerError
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores import Entries, Row, Store, open_store
from duotone.model.cost import Receipt
from support.postgres_server import Server, programs, running

HALF = Charge(balanced(ApproxDP("0.5")))
ABOUT: dict[str, Any] = {"unit": "person", "neighbours": "replace"}


def register(ledger: Ledger, budget: ApproxDP | None = None, *, dataset: str = "census", **options: Any) -> None:
    ledger.register(dataset, budget or ApproxDP(1), version="1", **{**ABOUT, **options})


def ask(
    ledger: Ledger,
    question: str = "q",
    charge: Charge = HALF,
    *,
    flips: list[int] | None = None,
    dataset: str = "census",
    **options: Any,
) -> Receipt:
    def flip() -> bool:
        if flips is not None:
            flips.append(1)
        return True

    return ledger.ask(dataset, question, charge, flip, **{**ABOUT, **options})


def ending(rows: Sequence[Row]) -> Callable[[], tuple[int, str]]:
    """The head of a ledger with these entries."""
    return lambda: (rows[-1].seq, rows[-1].hash)


def execute(place: object, sql: str, *values: Any) -> list[Any]:
    """Run a statement in the database of a ledger, bypassing the ledger."""
    if "//" not in str(place):
        with closing(sqlite3.connect(str(place), isolation_level=None)) as file:
            return file.execute(sql, values).fetchall()
    with importlib.import_module("psycopg").connect(place, autocommit=True) as connection:
        cursor = connection.execute(sql, values or None)
        return list(cursor.fetchall()) if cursor.description else []


ASKERS = """
import os, sys
from duotone import ApproxDP, OverBudget, Charge, balanced, open_ledger
place, count, asker, datasets = sys.argv[1], int(sys.argv[2]), sys.argv[3] or None, sys.argv[4:]
if "//" in place:
    import psycopg
sale = Charge(balanced(ApproxDP("0.05")))
gate, opened = os.pipe()
children = []
for i in range(count):
    if (child := os.fork()) == 0:
        os.close(opened)
        os.read(gate, 1)  # all start at once, when the last holder closes the other end
        try:
            with open_ledger(place, wait=120) as ledger:
                about = {"unit": "person", "neighbours": "replace", "asker": asker}
                ledger.ask(datasets[i % len(datasets)], f"q{i}", sale, lambda: True, **about)
            os._exit(10)
        except OverBudget:
            os._exit(20)
        finally:
            os._exit(30)
    children.append(child)
os.close(opened)
print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


def askers(place: str, count: int, by: str = "", datasets: Sequence[str] = ("census",)) -> int:
    """How many of this many processes, started at once, get an answer; the others must have been refused."""
    command = [sys.executable, "-c", ASKERS, place, str(count), by, *datasets]
    codes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert len(codes) == count
    assert set(codes) == {"10", "20"}
    return codes.count("10")


def tampered(how: str) -> list[str]:
    """Statements that change a ledger of one registration and four answered charges (entries 1 to 9)."""
    return {
        "edit": ["UPDATE duotone_entries SET body = replace(body, '1/2', '1/4') WHERE seq = 4"],
        "remove": ["DELETE FROM duotone_entries WHERE seq = 4"],
        "cut": ["DELETE FROM duotone_entries WHERE seq > 7"],
        "swap": [
            "UPDATE duotone_entries SET seq = 100 WHERE seq = 4",
            "UPDATE duotone_entries SET seq = 4 WHERE seq = 6",
            "UPDATE duotone_entries SET seq = 6 WHERE seq = 100",
        ],
        "refile": ["UPDATE duotone_entries SET question = 'another' WHERE seq = 5"],
        "head": ["UPDATE duotone_ledger SET value = '9 0' WHERE name = 'head'"],
    }[how]


def chained_anew(connection: sqlite3.Connection) -> None:
    """Give every entry the right hash, as somebody could who can write the whole ledger."""
    previous, seq = "", 0
    for seq, body in connection.execute("SELECT seq, body FROM duotone_entries ORDER BY seq").fetchall():
        previous = sha256(f"{previous}\n{seq}\n{body}".encode(errors="replace")).hexdigest()
        connection.execute("UPDATE duotone_entries SET hash = ? WHERE seq = ?", (previous, seq))
    connection.execute("UPDATE duotone_ledger SET value = ? WHERE name = 'head'", (f"{seq} {previous}",))


class MemoryStore(Store):
    """A store that counts `statements` and returned `rows`, and keeps them in memory until `end`."""

    place = "memory"

    def __init__(self) -> None:
        super().__init__(wait=1)
        self.statements, self.rows = 0, 0
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        Entries(self.execute).make()

    def execute(self, sql: str, values: Sequence[Any]) -> list[Any]:
        rows = self.connection.execute(sql, values).fetchall()
        self.statements, self.rows = self.statements + 1, self.rows + len(rows)
        return rows

    def end(self) -> None:
        self.connection.close()

    @contextmanager
    def _writing(self, create: bool = False) -> Iterator[Entries]:  # noqa: ARG002
        self.connection.execute("BEGIN")
        try:
            yield Entries(self.execute)
        except BaseException:
            self.connection.rollback()
            raise
        self.connection.execute("COMMIT")

    def _reading(self) -> AbstractContextManager[Entries]:
        return self._writing()

    def _forget(self) -> None:
        """Opening does nothing."""

    def _ledger_error(self, error: Exception) -> LedgerError | None:
        return self._refusal(str(error)) if isinstance(error, sqlite3.Error) else None


PLAIN = [
    '{"account":"sum","after":{"allowances":false,"answers":0,"charges":0,"closed":false,"spent":{"answers":0,"delta":"'
    '0","epsilon":"0","exp_epsilon":"1"},"version":"1"},"at":"2026-11-15T11:00:00+00:00","budget":"epsilon=2 delta=1/10'
    '00000","dataset":"d","kind":"register","neighbours":"replace","unit":"person","v":1,"version":"1"}',
    '{"after":{"allowances":false,"answers":0,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1"'
    ',"exp_epsilon":"1"},"version":"1"},"again":false,"answers":2,"at":"2026-11-15T11:00:01+00:00","boundary":"balanced'
    '","by":"ann","dataset":"d","key":"70a6eba23c46c8e4e536163a8ffda3bb2378e5c063060bb9de1c8dc6ba4071cf","kind":"charge'
    '","notion":"epsilon=1/2 delta=0","question":"q","v":1,"version":"1"}',
    '{"at":"2026-11-14T09:00:00+00:00","before":"2026-11-15T11:00:01+00:00","by":"owner","dataset":"","kind":"clock","v":1}',
    '{"after":{"allowances":false,"answers":1,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1"'
    ',"exp_epsilon":"1"},"version":"1"},"answer":[true,false],"at":"2026-11-15T11:00:02+00:00","charge":2,"dataset":"d"'
    ',"key":"70a6eba23c46c8e4e536163a8ffda3bb2378e5c063060bb9de1c8dc6ba4071cf","kind":"answer","v":1}',
]
"""Entries of version 1, verbatim: they must always be readable, verifiable and continuable."""


ALLOWED = [
    '{"account":"sum","after":{"allowances":false,"answers":0,"charges":0,"closed":false,"spent":{"answers":0,"delta":"'
    '0","epsilon":"0","exp_epsilon":"1"},"version":"1"},"at":"2026-11-16T11:00:00+00:00","budget":"epsilon=2 delta=1/10'
    '00000","dataset":"d","kind":"register","neighbours":"replace","unit":"person","v":1,"version":"1"}',
    '{"after":{"allowances":false,"answers":0,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1"'
    ',"exp_epsilon":"1"},"version":"1"},"again":false,"answers":2,"at":"2026-11-16T11:00:01+00:00","boundary":"balanced'
    '","by":"ann","dataset":"d","key":"70a6eba23c46c8e4e536163a8ffda3bb2378e5c063060bb9de1c8dc6ba4071cf","kind":"charge'
    '","notion":"epsilon=1/2 delta=0","question":"q","v":1,"version":"1"}',
    '{"after":{"allowances":false,"answers":1,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1"'
    ',"exp_epsilon":"1"},"version":"1"},"answer":[true,false],"at":"2026-11-16T11:00:02+00:00","charge":2,"dataset":"d"'
    ',"key":"70a6eba23c46c8e4e536163a8ffda3bb2378e5c063060bb9de1c8dc6ba4071cf","kind":"answer","v":1}',
    '{"after":{"allowances":true,"answers":1,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1",'
    '"exp_epsilon":"1"},"version":"1"},"asker":"ann","asker_spent":{"answers":2,"delta":"0","epsilon":"1","exp_epsilon"'
    ':"1"},"at":"2026-11-16T11:00:03+00:00","by":"owner","dataset":"d","filed":"d85837dc7afe35ff84782ecbcd911b66673fee4'
    '32b3de462663e3979ee0d0c10","kind":"asker","v":1}',
    '{"after":{"allowances":true,"answers":1,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1",'
    '"exp_epsilon":"1"},"version":"1"},"asker":"ann","asker_spent":{"answers":2,"delta":"0","epsilon":"1","exp_epsilon"'
    ':"1"},"at":"2026-11-16T11:00:04+00:00","budget":"epsilon=3/2 delta=0","by":"owner","dataset":"d","filed":"d85837dc'
    '7afe35ff84782ecbcd911b66673fee432b3de462663e3979ee0d0c10","kind":"allowance","v":1}',
    '{"after":{"allowances":true,"answers":1,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1",'
    '"exp_epsilon":"1"},"version":"1"},"asker":"*","at":"2026-11-16T11:00:05+00:00","budget":"epsilon=1/2 delta=0","dat'
    'aset":"d","filed":"51218f82e430a9d1a8a779d93c9c09cee2a23765fce9697a03f729dd7bfdd085","kind":"allowance","v":1}',
    '{"after":{"allowances":true,"answers":1,"charges":2,"closed":false,"spent":{"answers":3,"delta":"0","epsilon":"3/2'
    '","exp_epsilon":"1"},"version":"1"},"again":false,"allowance":5,"answers":1,"asker_spent":{"answers":3,"delta":"0"'
    ',"epsilon":"3/2","exp_epsilon":"1"},"at":"2026-11-16T11:00:06+00:00","boundary":"balanced","by":"ann","dataset":"d'
    '","filed":"d85837dc7afe35ff84782ecbcd911b66673fee432b3de462663e3979ee0d0c10","key":"fa507fb3e55d03a16f44d44e8e0184'
    'cc4214089deafa6a37d9bdd2bbbc03a348","kind":"charge","notion":"epsilon=1/2 delta=0","question":"r","v":1,"version":'
    '"1"}',
    '{"after":{"allowances":true,"answers":2,"charges":2,"closed":false,"spent":{"answers":3,"delta":"0","epsilon":"3/2'
    '","exp_epsilon":"1"},"version":"1"},"answer":true,"at":"2026-11-16T11:00:07+00:00","charge":7,"dataset":"d","key":'
    '"fa507fb3e55d03a16f44d44e8e0184cc4214089deafa6a37d9bdd2bbbc03a348","kind":"answer","v":1}',
    '{"after":{"allowances":true,"answers":2,"charges":2,"closed":true,"spent":{"answers":3,"delta":"0","epsilon":"3/2"'
    ',"exp_epsilon":"1"},"version":"1"},"at":"2026-11-16T11:00:08+00:00","dataset":"d","kind":"close","v":1}',
]
"""The same with allowances, a charge under one, and the closing."""


def rows_of(texts: list[str]) -> list[Row]:
    """Chain texts by the rule in docs/operate.md."""
    rows, previous = [], ""
    for seq, text in enumerate(texts, 1):
        body = json.loads(text)
        previous = sha256(f"{previous}\n{seq}\n{text}".encode()).hexdigest()
        rows.append(Row(seq, body["dataset"], body["kind"], body.get("filed", body.get("key", "")), text, previous))
    return rows


def stored(path: Path, texts: list[str]) -> Path:
    store = open_store(path)
    with store.writing(create=True) as entries:
        for row in rows_of(texts):
            entries.append(row)
    store.close()
    return path


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
