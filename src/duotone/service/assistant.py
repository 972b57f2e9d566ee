"""The desk as an assistant sees it: the tools of the Model Context Protocol at /mcp.

Whoever comes this way is an assistant, whichever token it has: it plans, and asks only what its person approved or allowed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request

from duotone.client.assistant import Mounted, mounted
from duotone.service.desk import Desk
from duotone.service.office import Office
from duotone.service.people import Caller
from duotone.service.refused import Refused

Document = dict[str, Any]
LOOPBACK = "127.0.0.1", "localhost", "[::1]"


@dataclass(frozen=True)
class AssistantsDesk:
    """The desk, for one caller."""

    desk: Desk
    caller: Caller

    async def datasets(self) -> Document:
        """The datasets that may be asked about."""
        return await self.desk.datasets(self.caller)

    async def preview(self, name: str, terms: Document) -> Document:
        """How accurate an answer would be, and its price."""
        return await self.desk.preview(self.caller, name, terms)

    async def plan(self, name: str, terms: Document) -> Document:
        """A request for this question."""
        return await self.desk.plan(self.caller, name, terms)

    async def ask(self, name: str, terms: Document) -> Document:
        """The answer to an approved request."""
        return await self.desk.ask(self.caller, name, terms)

    async def requests(self) -> Document:
        """The person's requests."""
        return await self.desk.requests(self.caller)

    async def history(self, name: str) -> Document:
        """What was asked."""
        return await self.desk.history(self.caller, name)

    async def budget(self, name: str) -> Document:
        """What is spent and left."""
        return await self.desk.budget(self.caller, name)

    async def certificate(self, name: str, charge: int) -> Document:
        """The proof of a charge."""
        return await self.desk.certificate(self.caller, name, charge)


def assistant_app(desk: Desk) -> Mounted:
    """The tools as an app: for a route of the service, which enters its `lifespan`, and before which callers are recognised."""

    def office_of(request: Request) -> AssistantsDesk:
        caller: Caller | None = getattr(request.state, "caller", None)
        if caller is None:
            raise Refused("bad token", "an assistant needs a token of its person's")
        return AssistantsDesk(desk, replace(caller, assistant=True))

    return mounted(office_of, hosts=own_hosts(desk.office), refusals=(Refused,), largest=desk.office.limits.body)


def own_hosts(office: Office) -> list[str]:
    """What a request may call this service; nothing where it may have any name, and a proxy before it sees to that."""
    server = office.server
    if server.url is not None:
        host = urlsplit(server.url).netloc
        return [host, f"{host}:*", *(f"{near}:*" for near in LOOPBACK)]
    near = server.host in ("127.0.0.1", "localhost", "::1")
    return [f"{name}:*" for name in LOOPBACK] if near else []
