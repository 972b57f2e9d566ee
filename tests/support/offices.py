"""Offices for tests: their files and tables, a service, and people who use a desk without HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone.desk.callers import Caller, Refused
from duotone.desk.clock import Clock
from duotone.desk.desk import Desk
from duotone.desk.office import Office
from duotone.desk.office_file import read_office
from duotone.http import auth
from duotone.http.app import is_secure, open_desk, service
from duotone.http.serve import in_thread
from duotone.http.tokens import Tokens
from support.running import PATIENCE

PEOPLE = """
[people.olga]
role = "owner"
[people.otto]
role = "owner"
[people.ana]
role = "analyst"
datasets = ["votes", "stays", "calls"]
[people.ben]
role = "analyst"
datasets = ["votes"]
allowances = { votes = { epsilon = "0.5", delta = "1e-6" } }
[people.iris]
role = "auditor"
"""
VOTES = """
[datasets.votes]
source = "votes.parquet"
version = "1"
rows = 1000
seconds = 0.05
bounds = { age = [0, 100] }
groups = { town = ["Ely", "Wells"] }
columns = ["vote", "age", "town"]
budget = { epsilon = 2, delta = "1e-4" }
"""
STAYS = """
[datasets.stays]
source = "stays.parquet"
version = "1"
rows = 1000
seconds = 0.05
unit = "patient"
max_rows = 2
bounds = { days = [0, 30] }
budget = { epsilon = 1, delta = "1e-5" }
approval = true
"""
CALLS = """
[datasets.calls]
source = "calls.parquet"
version = "1"
rows = 10000
seconds = 0.05
budget = { epsilon = 1, delta = "1e-6" }
close_calls = { epsilon = "0.05" }
"""
LIMITS = "waiting = 200\nlooking = 3600\nat_once = 16\nworkers = 17\n"
HEAD = f'ledger = "budget.ledger"\n[clock]\ntick = 0.02\n[limits]\n{LIMITS}'
PLAIN: Any = {"trust_env": False, "verify": False}
"""Settings of a client for plain HTTP on this machine: reading all certificates takes longer than a request."""
SECRET = "a name that no reply may show"


def tables() -> dict[str, pa.Table]:
    """The tables, with a column that nobody may ask about."""
    votes = {"vote": ["Y"] * 600 + ["N"] * 400, "age": [30, 50] * 500, "town": ["Ely", "Wells"] * 500}
    return {
        "votes": pa.table({**votes, "name": [SECRET] * 1000}),
        "stays": pa.table({"patient": [f"p{i // 2}" for i in range(400)], "days": [i % 20 for i in range(400)]}),
        "calls": pa.table({"x": [1] * 4000 + [0] * 4000}),
    }


def make_office(folder: Path, *parts: str, head: str = HEAD, people: str = PEOPLE) -> Office:
    """Write the office of a folder; by default with all three datasets."""
    for name, table in tables().items():
        pq.write_table(table, folder / f"{name}.parquet")
    (folder / "office.toml").write_text(head + people + "".join(parts or (VOTES, STAYS, CALLS)), encoding="utf-8")
    return read_office(folder / "office.toml")


def plain_client(url: str, **options: Any) -> httpx2.Client:
    """A client for plain HTTP on this machine, which may be busy."""
    return httpx2.Client(**{"base_url": url, "timeout": PATIENCE, **PLAIN, **options})


@dataclass
class Served:
    """A running service and its people."""

    url: str
    desk: Desk
    tokens: Tokens
    made: dict[str, str]

    def token(self, person: str, *, assistant: bool = False) -> str:
        """The token of a person, created at its first use."""
        key = f"{person} {assistant}"
        if key not in self.made:
            self.made[key] = self.tokens.add(person, assistant=assistant)
        return self.made[key]

    def client(self, person: str | None, *, assistant: bool = False) -> httpx2.Client:
        """A client of a person; of a stranger for None."""
        headers = {} if person is None else {"authorization": f"Bearer {self.token(person, assistant=assistant)}"}
        return plain_client(self.url, headers=headers)

    def ask(self, person: str, dataset: str, *, assistant: bool = False, **terms: Any) -> tuple[int, dict[str, Any]]:
        """The status and the document of a question."""
        with self.client(person, assistant=assistant) as client:
            reply = client.post(f"/api/datasets/{dataset}/ask", json=terms)
            return reply.status_code, reply.json()


@contextmanager
def serving(office: Office, **options: Any) -> Iterator[Served]:
    """Serve an office in a thread of this process."""
    desk = open_desk(office)
    with in_thread(office, service(desk, secure=is_secure(office)), **options) as url:
        yield Served(url, desk, Tokens(office.tokens_place), {})


def remember_wrong_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remember them for an hour: on a busy machine, the first of twenty might be forgotten before the last."""
    monkeypatch.setattr(auth, "WINDOW", 3600.0)


def lines_of(text: str) -> list[Mapping[str, Any]]:
    """Parsed log lines."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


Told = tuple[int, Any]


@dataclass
class AtDesk:
    """An open desk, and its event loop."""

    desk: Desk
    loop: asyncio.Runner

    def caller(self, who: str) -> Caller:
        person = self.desk.office.person(who)
        assert person is not None
        return Caller(person)

    def ask(self, who: str, dataset: str, **terms: Any) -> Told:
        """The status and the document of a question."""
        return self.now(self.desk.ask(self.caller(who), dataset, terms))

    def approved(self, who: str, dataset: str, **terms: Any) -> int:
        """The number of a request that olga has approved."""
        request = self.now(self.desk.plan(self.caller(who), dataset, {"purpose": "to see", **terms}))[1]["request"]
        assert self.now(self.desk.decide(self.caller("olga"), request, True))[1]["state"] == "approved"
        return int(request)

    def state(self, request: int) -> str:
        """The state of a request."""
        return str((self.desk.records.request(request) or {})["state"])

    def now(self, work: Coroutine[Any, Any, Any]) -> Told:
        """The result of a single task."""
        return self.loop.run(told(work))


async def told(work: Coroutine[Any, Any, Any]) -> Told:
    """The result of a task, or the reason of its refusal."""
    try:
        return 200, await work
    except Refused as refused:
        return refused.status, refused.document


@contextmanager
def at_desk(office: Office, *, clock: Clock | None = None) -> Iterator[AtDesk]:
    """An office's desk during a block, optionally with another clock."""
    desk = open_desk(office, clock=clock)
    with asyncio.Runner() as loop:
        try:
            yield AtDesk(desk, loop)
        finally:
            desk.close()
