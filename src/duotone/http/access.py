"""What every request passes through: limits of size and time, the caller, the log, and the headers of the reply."""

from __future__ import annotations

import asyncio
import logging
import time

from prometheus_client import CollectorRegistry, Counter
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duotone.desk.callers import Refused
from duotone.desk.office import Office
from duotone.errors import DuotoneError
from duotone.http.auth import STRANGER, Auth
from duotone.pages import render as pages

LOG, SERVICE = logging.getLogger("duotone.access"), logging.getLogger("duotone.service")
NOT_NOW = "this cannot be served at the moment, and the owner can see why"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with no-referrer a browser sends our own forms with Origin: null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
PAGES = ("", "login", "logout", "ask", "budget", "requests", "owner", "studio", "static", "mcp", "api")
GONE = 499
"""The logged status of a request whose client disconnected before the reply."""
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
SAFE = ("GET", "HEAD", "OPTIONS")


class Access:
    """The outermost layer of the service."""

    def __init__(self, app: ASGIApp, office: Office, auth: Auth, registry: CollectorRegistry, *, secure: bool) -> None:
        self._app, self._office, self._auth, self._secure = app, office, auth, secure
        about = ["method", "route", "status"]
        self._requests = Counter("duotone_requests", "Requests, by route and status", about, registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def replied(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], *self._headers(scope["path"])]}
            await send(message)

        request = Request(scope, receive)
        try:
            body = await self._body(request, receive)
            await self._admit(request, body)
            if not await _while_there(self._app, scope, body, receive, replied):
                status = GONE
        except Refused as refused:
            await refusal(request, refused)(scope, receive, replied)
        except DuotoneError as error:  # the file of tokens, or the records
            SERVICE.error("a request could not be served", extra={"error": str(error)})
            await refusal(request, Refused("unavailable", NOT_NOW))(scope, receive, replied)
        finally:
            route = getattr(scope.get("route"), "path", None) or _page(scope)
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._requests.labels(method, route, status).inc()
            caller = scope.get("state", {}).get("caller")
            seconds = round(time.perf_counter() - started, 3)
            about = {"person": None if caller is None else caller.name, "route": route, "method": method}
            LOG.info("request", extra={**about, "status": status, "seconds": seconds})

    def _headers(self, path: str) -> list[tuple[bytes, bytes]]:
        cache = "public, max-age=3600" if path.startswith("/static/") else "no-store"
        secure = {"strict-transport-security": "max-age=31536000"} if self._secure else {}
        return [(name.encode(), value.encode()) for name, value in {**HEADERS, **secure, "cache-control": cache}.items()]

    async def _body(self, request: Request, receive: Receive) -> bytes:
        """The whole body, if it is small enough and arrives in time."""
        limit, parts, size = self._office.limits.body, list[bytes](), 0
        if request.method in SAFE:
            return b""
        declared = request.headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared) > limit:
            raise Refused("too large", f"a request has at most {limit} bytes")
        try:
            async with asyncio.timeout(self._office.limits.seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused("bad question", "the request ended before it was whole")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > limit:
                        raise Refused("too large", f"a request has at most {limit} bytes")
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise Refused("too slow", "the request took too long to arrive") from None

    async def _admit(self, request: Request, body: bytes) -> None:
        """Store the caller; refuse strangers except at public addresses, and forms from other sites."""
        request.state.caller, request.state.csrf = None, ""
        path = request.scope["path"]  # request.url contains the Host header as well
        if path.startswith("/static/") or path in ("/healthz", "/readyz", "/metrics"):
            return
        caller, csrf = await self._auth.identify(request)
        request.state.caller, request.state.csrf = caller, csrf
        if caller is None and path.startswith(("/api/", "/mcp")) and not path.startswith("/api/openapi.json"):
            raise Refused("bad token", STRANGER)
        if request.method not in SAFE and not request.headers.get("authorization"):
            self._auth.must_come_from_here(request)
            if caller is not None:
                self._auth.must_be_ours(csrf, await _sent(request, body))


async def _sent(request: Request, body: bytes) -> str:
    """The form's token, from a header or a field."""
    header = request.headers.get("x-csrf")
    if header is not None:
        return header
    if not request.headers.get("content-type", "").startswith(("application/x-www-form-urlencoded", "multipart/form-data")):
        return ""
    try:
        async with Request(request.scope, _replayed(body, None)).form() as form:
            field = form.get("csrf", "")
            return field if isinstance(field, str) else ""
    except (MultiPartException, HTTPException):  # not a form
        return ""


def _page(scope: Scope) -> str:
    """The first part of a page's path, which contains no names."""
    first = scope["path"].split("/")[1]
    return f"/{first}" if first in PAGES and "endpoint" in scope else "other"


async def _while_there(app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send) -> bool:
    """Serve a request while its client is connected; cancel the work when the client disconnects.

    Returns whether the client stayed to the end.
    """
    gone, whole = asyncio.Event(), False

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()

    async def sent(message: Message) -> None:
        nonlocal whole
        await send(message)
        whole = whole or (message["type"] == "http.response.body" and not message.get("more_body", False))

    served = asyncio.ensure_future(app(scope, _replayed(body, gone), sent))
    watching = asyncio.ensure_future(watch())
    try:
        await asyncio.wait((served, watching), return_when=asyncio.FIRST_COMPLETED)
        if not (served.done() or whole):
            served.cancel()
        await asyncio.wait((served,))
        if served.cancelled():
            return False
        await served  # raises what the app raised
        return True
    finally:
        watching.cancel()
        served.cancel()


def _replayed(body: bytes, gone: asyncio.Event | None) -> Receive:
    """The body, sent once more to the app; then a disconnect, once the client has left."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        if messages:
            return messages.pop()
        if gone is not None:
            await gone.wait()
        return {"type": "http.disconnect"}

    return replay


def refusal(request: Request, refused: Refused) -> Response:
    """A refusal, as JSON for programs and as a page for browsers."""
    headers = {} if refused.retry_after is None else {"retry-after": str(refused.retry_after)}
    if refused.kind == "bad token":
        headers["www-authenticate"] = "Bearer"
    if request.scope["path"].startswith(("/api/", "/mcp")):
        return JSONResponse(refused.document, refused.status, headers)
    page = pages.refusal(request, refused)
    page.headers.update(headers)
    return page
