"""People at an office's desk, without HTTP between: what they are told, and with which status."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from duotone.desk.callers import Caller, Refused
from duotone.desk.clock import Clock
from duotone.desk.desk import Desk
from duotone.desk.office import Office
from duotone.http.app import open_desk

Told = tuple[int, Any]


@dataclass
class AtDesk:
    """A desk that is open, and the loop in which it works."""

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
        """Of a request."""
        return str((self.desk.records.request(request) or {})["state"])

    def now(self, work: Coroutine[Any, Any, Any]) -> Told:
        """What comes of something, by itself."""
        return self.loop.run(told(work))


async def told(work: Coroutine[Any, Any, Any]) -> Told:
    """What comes of something, or why it is refused."""
    try:
        return 200, await work
    except Refused as refused:
        return refused.status, refused.document


@contextmanager
def at_desk(office: Office, *, clock: Clock | None = None) -> Iterator[AtDesk]:
    """An office's desk for the length of a block, where one likes with another clock."""
    desk = open_desk(office, clock=clock)
    with asyncio.Runner() as loop:
        try:
            yield AtDesk(desk, loop)
        finally:
            desk.close()
