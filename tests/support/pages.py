"""Pages for tests: the app without an office, and a real browser (Debian's Chromium)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from duotone.desk.callers import Caller, Person, Refused
from duotone.errors import DuotoneError
from duotone.pages.routes import routes
from support.running import PATIENCE, need

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
ANA = Caller(Person("ana", "analyst", ("chile",)))


class Door:
    """Identifies a chosen person; the policy is the service's."""

    def __init__(self, app: ASGIApp, caller: Caller | None) -> None:
        self.app, self.caller = app, caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope.setdefault("state", {}).update(caller=self.caller, csrf="a-token")

        async def with_policy(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"].append((b"content-security-policy", POLICY.encode()))
            await send(message)

        await self.app(scope, receive, with_policy)


class Auth:
    """Accepts one token."""

    openid: str | None = "Example Login"

    def had_session(self, _request: Request) -> bool:
        return False

    async def log_in(self, _request: Request, token: str) -> Response:
        if token != "the-token":
            raise Refused("bad token", "that token is not known here")
        return RedirectResponse("/ask", 303)


class NoOffice:
    """A desk that only draws."""

    async def draw(self, _caller: Caller, drawing: Callable[[], Any]) -> Any:
        try:
            return drawing()
        except DuotoneError as error:
            raise Refused("bad question", str(error)) from None


def page_app(desk: Any, caller: Caller | None = ANA) -> Starlette:
    app = Starlette(routes=routes())
    app.state.desk = NoOffice() if desk is None else desk
    app.state.auth = Auth()
    app.add_middleware(Door, caller=caller)
    return app


@contextmanager
def served(app: Starlette) -> Iterator[str]:
    """The app on a free port of this machine."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    thread = Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


CHROMIUM = Path("/usr/bin/chromium")
MILLISECONDS = 1000 * PATIENCE


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; without it the test is skipped, or fails if CI is set."""
    need(None if CHROMIUM.exists() else str(CHROMIUM))
    expect.set_options(timeout=MILLISECONDS)
    with sync_playwright() as playwright:
        options = {"executable_path": str(CHROMIUM), "args": ["--no-sandbox"], "timeout": MILLISECONDS}
        browser = playwright.chromium.launch(**options)  # type: ignore[arg-type]
        yield browser
        browser.close()


def new_page(browser: Browser, width: int = 1280) -> Page:
    """A page of this width."""
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.set_default_timeout(MILLISECONDS)
    return page
