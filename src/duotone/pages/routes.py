"""All addresses of the pages; and the login, with a token or by the organisation's sign-in."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from duotone.desk.callers import Refused
from duotone.pages import ask, office, studio
from duotone.pages.interface import interface_page
from duotone.pages.render import HERE, Handler, caller, choose_dataset, form_of, render, signed_in, to

ENDED = "Your session has ended: its time was over, its token was revoked or has expired, or it was ended by an owner."


async def login_page(request: Request) -> Response:
    """The login form, and what it sends."""
    if request.method == "GET" and caller(request) is not None:
        return to(request, "/")
    auth: Any = request.app.state.auth
    problem, status = ENDED if auth.had_session(request) else None, 200
    if request.method == "POST":
        token = (await form_of(request)).get("token", "").strip()
        try:
            answer: Response = await auth.log_in(request, token)
        except Refused as refused:
            problem, status = refused.on_page, refused.status
        else:
            return answer
    return render(request, "login.html", status, problem=problem, openid=auth.openid)


async def front_page(request: Request) -> Response:
    """The first page."""
    known = caller(request)
    first = {"analyst": "/ask", "auditor": "/budget", "owner": "/owner"}
    return to(request, "/login" if known is None else first[known.person.role])


def routes() -> list[BaseRoute]:
    """The pages, which call operations of the desk (`app.state.desk`) like HTTP and MCP."""
    return [
        Route("/", front_page),
        Route("/login", login_page, methods=["GET", "POST"]),
        _get("/ask", choose_dataset("ask")),
        _get("/ask/{dataset}", ask.ask_page),
        _post("/ask/{dataset}", ask.ask),
        _post("/ask/{dataset}/check", ask.check),
        _get("/ask/{dataset}/made-up", ask.made_up),
        _get("/ask/certificate/{dataset}/{charge:int}", ask.certificate),
        _get("/budget", choose_dataset("budget")),
        _get("/budget/{dataset}", office.budget_page),
        _get("/budget/{dataset}/download", office.budget_file),
        _post("/budget/{dataset}/verify", office.verify),
        _get("/requests", office.requests_page),
        _get("/requests/{request:int}", office.request_page),
        _post("/requests/{request:int}", office.decide),
        _post("/requests/{request:int}/ask", office.ask_approved),
        _post("/requests/assistant/{dataset}", office.allow),
        _get("/owner", office.owner_page),
        _post("/owner/{dataset}/version", office.relabel),
        _post("/owner/sessions/{session}/end", office.end_session),
        _get("/api", interface_page),
        _get("/studio", studio.studio_page),
        _post("/studio", studio.studio_page),
        _post("/studio/result", studio.result),
        _post("/studio/load", studio.load),
        _post("/studio/mechanism.json", studio.mechanism_file),
        Mount("/static", StaticFiles(directory=HERE / "static"), name="static"),
    ]


def _get(path: str, handler: Handler, method: str = "GET") -> Route:
    return Route(path, signed_in(handler), methods=[method])


_post = partial(_get, method="POST")
