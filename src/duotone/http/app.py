"""The whole service: an office's desk, its interface for programs, its pages, and the checks of every request."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CollectorRegistry, generate_latest
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp

from duotone import __version__
from duotone.desk.answering import LOG
from duotone.desk.callers import Caller, Refused
from duotone.desk.clock import Clock
from duotone.desk.desk import Desk
from duotone.desk.log import log_to
from duotone.desk.office import Office
from duotone.desk.office_file import read_office
from duotone.desk.operations import OfficeCall
from duotone.desk.records import Records
from duotone.desk.terms import wrong_request
from duotone.http import api
from duotone.http.access import Access, refusal
from duotone.http.auth import Auth
from duotone.http.health import Readiness, draining, leave_soon
from duotone.http.tokens import Tokens
from duotone.ledger.ledger import open_ledger
from duotone.mcp.tools import Mounted, mounted
from duotone.pages.routes import routes
from duotone.resources import leave_temporary_folder, temporary_folder

OFFICE = "DUOTONE_OFFICE"
"""The variable that names the office file to the processes that a server starts."""
UNREADABLE = "the body of this request cannot be read: is it JSON, in UTF-8?"
WRONG_HERE = "something went wrong here, and the owner can see what; if a question was being asked, its charge stands"


def open_desk(office: Office, *, clock: Clock | None = None) -> Desk:
    """Open an office's desk."""
    temporary_folder()  # remove what a killed process left behind
    desk = Desk(office, open_ledger(office.ledger_place), Records(office.records_place), clock=clock)
    desk.start()
    return desk


def service(desk: Desk, *, secure: bool = False) -> ASGIApp:
    """The application; `secure` if browsers reach it by TLS."""
    auth = Auth(desk.office, Tokens(desk.office.tokens_place, audited=True), desk.records, secure=secure)
    desk.browsers = auth
    registry, tools, ready = CollectorRegistry(), _assistant_app(desk), Readiness(desk)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with tools.lifespan():
            with draining(desk):
                yield
            await desk.workers.drain()  # if no signal came
        ended = desk.close()
        if threading.current_thread() is threading.main_thread():  # otherwise another program runs it
            leave_temporary_folder()
        if not ended:
            leave_soon()

    app = FastAPI(
        title="Duotone",
        version=__version__,
        description="Private yes/no answers about tables that stay here.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
    )
    app.state.desk, app.state.auth = desk, auth
    app.include_router(api.router)
    app.router.routes.append(Route("/mcp", tools, methods=["POST"], include_in_schema=False))
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _broken)

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> Response:
        return JSONResponse({"status": "stopping" if desk.workers.stopping else "ok", "version": __version__})

    @app.get("/readyz", include_in_schema=False)
    async def readyz() -> Response:
        parts = await ready.now()
        holds = all(parts.values()) and not desk.workers.stopping
        status = "stopping" if desk.workers.stopping else "ready" if holds else "not ready"
        return JSONResponse({"status": status, **parts}, 200 if holds else 503)

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return PlainTextResponse(generate_latest(registry), media_type="text/plain; version=0.0.4")

    app.get("/login/openid", include_in_schema=False)(auth.leave)
    app.get("/login/openid/callback", include_in_schema=False)(auth.come_back)
    app.post("/logout", include_in_schema=False)(auth.log_out)
    app.post("/login/openid/logout", include_in_schema=False)(auth.logged_out_elsewhere)
    app.router.routes.extend(routes())
    return Access(app, desk.office, auth, registry, secure=secure)


def from_environment() -> ASGIApp:
    """The application of one of several processes, from the office file that a variable names."""
    office = read_office(Path(os.environ[OFFICE]))
    log_to(None if office.log is None else Path(office.path(office.log)))
    return service(open_desk(office), secure=is_secure(office))


def is_secure(office: Office) -> bool:
    """Whether browsers reach it by TLS, its own or a proxy's."""
    return office.server.certificate is not None or (office.server.url or "").startswith("https://")


async def _refused(request: Request, error: Any) -> Response:
    return refusal(request, error)


async def _invalid(request: Request, error: Any) -> Response:
    """FastAPI's refusal as one sentence, without the input."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return refusal(request, Refused("bad question", UNREADABLE))
    body = getattr(request.scope.get("route"), "body_field", None)
    model = None if body is None or first["loc"][0] != "body" else body.field_info.annotation
    return refusal(request, wrong_request(model, {**first, "loc": first["loc"][1:]}))


async def _http(request: Request, error: Any) -> Response:
    status = error.status_code
    if status == 400:
        return refusal(request, Refused("bad question", UNREADABLE))
    sentence = {404: "there is nothing here", 405: "this cannot be done here"}.get(status, "this request cannot be served")
    response = refusal(request, Refused("unknown", sentence))
    response.status_code = status
    return response


async def _broken(request: Request, error: Exception) -> Response:
    route = getattr(request.scope.get("route"), "path", "other")
    LOG.error("a request broke", extra={"route": route, "error": type(error).__name__})
    return JSONResponse({"error": WRONG_HERE, "kind": "unavailable"}, 500)


LOOPBACK = "127.0.0.1", "localhost", "[::1]"


def _assistant_app(desk: Desk) -> Mounted:
    """The tools as an app for a route of the service, which enters its `lifespan` and identifies callers before."""

    def office_of(request: Request) -> OfficeCall:
        caller: Caller | None = getattr(request.state, "caller", None)
        if caller is None:
            raise Refused("bad token", "an assistant needs a token from its person")
        return partial(desk.call, replace(caller, assistant=True))

    return mounted(office_of, hosts=_own_hosts(desk.office), largest=desk.office.limits.body)


def _own_hosts(office: Office) -> list[str]:
    """The host names under which this service may be addressed; empty if any will do because a proxy checks them."""
    server = office.server
    if server.url is not None:
        host = urlsplit(server.url).netloc
        return [host, f"{host}:*", *(f"{near}:*" for near in LOOPBACK)]
    near = server.host in ("127.0.0.1", "localhost", "::1")
    return [f"{name}:*" for name in LOOPBACK] if near else []
