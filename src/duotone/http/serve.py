"""Serving an office on a socket, in one process or several; never beyond this machine without TLS by mistake.

uvicorn waits without limit for the head of a request; `Punctual` does not.
"""

from __future__ import annotations

import os
import threading
import time
from asyncio import TimerHandle, Transport
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from socket import socket
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from duotone.desk.callers import is_loopback
from duotone.desk.log import log_to
from duotone.desk.office import Office
from duotone.errors import DuotoneError
from duotone.http.app import OFFICE, is_secure, open_desk, service

CONNECTIONS = 512
LAST_REPLIES = 3
"""Seconds for clients to read replies once the service has stopped."""
HEAD = 2**15
"""Most bytes of a request's head."""


class AnnouncedServer(uvicorn.Server):
    """A server that announces its address once it listens."""

    announce: Callable[[str], None] = print

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Start like uvicorn; if it cannot listen, say so in a sentence."""
        try:
            await super().startup(sockets)
        except SystemExit:
            address = _address(self.config, self.config.port)
            raise DuotoneError(
                f"nothing can listen at {address}: stop the program that listens there, or choose another port"
            ) from None
        self.announce(_address(self.config, self.servers[0].sockets[0].getsockname()[1]))


def _address(config: uvicorn.Config, port: int) -> str:
    host = f"[{config.host}]" if ":" in config.host else config.host
    return f"{'https' if config.is_ssl else 'http'}://{host}:{port}"


def serve(
    office: Office,
    *,
    processes: int = 1,
    unencrypted: bool = False,
    port: int | None = None,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve an office until stopped, and announce its address. Beyond this machine it needs TLS, or a proxy before
    it."""
    unsafe = exposed(office)
    if unsafe is not None and not unencrypted:
        raise DuotoneError(unsafe)
    if processes > 1 and "://" not in office.ledger_place:
        raise DuotoneError("several processes need a ledger in Postgres (ledger in the office file): a file is for one process")
    common = settings(office)
    if port is not None:
        common["port"] = port
    os.umask(0o077)  # ledger, records and log are the owner's
    log_to(None if office.log is None else Path(office.path(office.log)))
    if processes == 1:
        desk = open_desk(office)
        server = AnnouncedServer(uvicorn.Config(service(desk, secure=is_secure(office)), **common))
        server.announce = announce
        server.run()
        return
    open_desk(office).close()  # report mistakes once, and register datasets
    os.environ[OFFICE] = str(office.file)
    config = uvicorn.Config("duotone.http.app:from_environment", factory=True, workers=processes, **common)
    listening = config.bind_socket()
    announce(_address(config, listening.getsockname()[1]))
    Multiprocess(config, sockets=[listening]).run()


def exposed(office: Office) -> str | None:
    """Why the service does not start with these settings: its traffic would be unencrypted. None if it may start."""
    host = office.server.host
    if is_loopback(host) or office.server.certificate is not None:
        return None
    return (
        f"{host} can be reached from other machines, and tokens and answers would go there unencrypted: name a "
        "certificate and a key, or say that a proxy encrypts (see docs/serve.md)"
    )


def settings(office: Office) -> dict[str, Any]:
    """The settings for uvicorn."""
    server = office.server
    return {
        "host": server.host,
        "port": server.port,
        "access_log": False,
        "log_config": None,
        "server_header": False,
        "proxy_headers": bool(server.proxies),
        "forwarded_allow_ips": list(server.proxies) or None,
        "timeout_keep_alive": 15,
        "timeout_graceful_shutdown": LAST_REPLIES,
        "limit_concurrency": CONNECTIONS,
        "h11_max_incomplete_event_size": HEAD,
        "ws": "none",
        "http": partial(Punctual, seconds=office.limits.seconds),
        "ssl_certfile": None if server.certificate is None else office.path(server.certificate),
        "ssl_keyfile": None if server.key is None else office.path(server.key),
    }


@contextmanager
def in_thread(office: Office, app: ASGIApp, **options: Any) -> Iterator[str]:
    """Serve on a free port of this machine during a block, beside this process; yields the address."""
    server = uvicorn.Server(uvicorn.Config(app, **{**settings(office), "port": 0, **options}))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not (server.started and server.servers):
            if not thread.is_alive():
                raise DuotoneError("the service did not start")
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"{'https' if office.server.certificate else 'http'}://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)


class Punctual(H11Protocol):
    """Close a connection if the head of a request, the first or a later one, does not arrive within some seconds.

    `access` ensures that the body arrives in time.
    """

    def __init__(self, *, seconds: float, **settings: Any) -> None:
        super().__init__(**settings)
        self._seconds = seconds
        self._timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the timer."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Stop the timer when a head is complete; start it for an incomplete one."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
        else:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self._seconds, self.timeout_keep_alive_handler)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
