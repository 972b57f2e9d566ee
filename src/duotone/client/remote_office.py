"""A service, by a connection to it, as an assistant's tools see it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from duotone.client.connect import Connection
from duotone.client.transport import Document
from duotone.errors import DuotoneError


@dataclass(frozen=True)
class RemoteOffice:
    """The tools' `Office`: each call is made in a thread, since an answer takes a while."""

    connection: Connection

    async def datasets(self) -> Document:
        """The datasets that may be asked about."""
        return {"datasets": list((await self._get(self.connection.datasets)).values())}

    async def preview(self, name: str, terms: Document) -> Document:
        """How accurate an answer would be, and its price."""
        return await self._send(name, "preview", terms)

    async def plan(self, name: str, terms: Document) -> Document:
        """A request for this question."""
        return await self._send(name, "plan", terms)

    async def ask(self, name: str, terms: Document) -> Document:
        """The answer to an approved request."""
        return await self._send(name, "ask", terms)

    async def requests(self) -> Document:
        """The person's requests."""
        return {"requests": await self._get(self.connection.requests)}

    async def history(self, name: str) -> Document:
        """What was asked."""
        return dict(await self._get(self.connection.history, name))

    async def budget(self, name: str) -> Document:
        """What is spent and left."""
        return dict(await self._get(self.connection.budget, name))

    async def certificate(self, name: str, charge: int) -> Document:
        """The proof of a charge."""
        return dict(await self._get(self.connection.certificate, name, charge))

    async def _send(self, name: str, what: str, terms: Document) -> Document:
        transport = self.connection.transport
        return dict(await asyncio.to_thread(transport.send, "POST", "datasets", name, what, body=terms))

    async def _get(self, method: Callable[..., Any], *given: object) -> Any:
        return await asyncio.to_thread(method, *given)


def assistants_office(connection: Connection) -> RemoteOffice:
    """The office of an assistant; a person's own token is refused, under which nothing would need their approval."""
    if not connection.me().get("assistant"):
        raise DuotoneError(
            "this token is a person's own, under which an assistant would ask without approval: give it one that was made with"
            " duotone token add NAME --assistant"
        )
    return RemoteOffice(connection)
