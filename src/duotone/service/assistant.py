"""The desk as an assistant sees it: the tools of the Model Context Protocol at /mcp.

Whoever comes this way is an assistant, whichever token it has: it plans, and asks only what its person approved or allowed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from starlette.requests import Request

from duotone.desk.callers import Caller, Refused
from duotone.desk.operations import Office
from duotone.mcp.server import Mounted, mounted
from duotone.service.desk import Desk
from duotone.service.office import Office as OfficeFile

LOOPBACK = "127.0.0.1", "localhost", "[::1]"


def assistant_app(desk: Desk) -> Mounted:
    """The tools as an app: for a route of the service, which enters its `lifespan`, and before which callers are recognised."""

    def office_of(request: Request) -> Office:
        caller: Caller | None = getattr(request.state, "caller", None)
        if caller is None:
            raise Refused("bad token", "an assistant needs a token of its person's")
        return partial(desk.call, replace(caller, assistant=True))

    return mounted(office_of, hosts=own_hosts(desk.office), refusals=(Refused,), largest=desk.office.limits.body)


def own_hosts(office: OfficeFile) -> list[str]:
    """What a request may call this service; nothing where it may have any name, and a proxy before it sees to that."""
    server = office.server
    if server.url is not None:
        host = urlsplit(server.url).netloc
        return [host, f"{host}:*", *(f"{near}:*" for near in LOOPBACK)]
    near = server.host in ("127.0.0.1", "localhost", "::1")
    return [f"{name}:*" for name in LOOPBACK] if near else []
