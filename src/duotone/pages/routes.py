"""Every address of the pages; and the door: logging in with a token, or by the organisation's own sign-in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from duotone.desk.callers import Refused
from duotone.pages.ask import AskPages
from duotone.pages.budget import BudgetPages
from duotone.pages.interface import interface_page
from duotone.pages.owner import OwnerPages
from duotone.pages.render import HERE, Handler, caller, form_of, render, signed_in, to
from duotone.pages.requests import RequestPages
from duotone.pages.studio import StudioPages

if TYPE_CHECKING:
    from duotone.desk.desk import Desk

ENDED = "Your session has ended: its time was over, its token was revoked or has expired, or it was ended by an owner."


async def login_page(request: Request) -> Response:
    """The form, and what it sends."""
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
    """Where one would start."""
    known = caller(request)
    first = {"analyst": "/ask", "auditor": "/budget", "owner": "/owner"}
    return to(request, "/login" if known is None else first[known.person.role])


def routes(desk: Desk) -> list[BaseRoute]:
    """The pages, which call the desk as every other way in does."""
    ask, budget, requests, owner = AskPages(desk), BudgetPages(desk), RequestPages(desk), OwnerPages(desk)
    studio = StudioPages(desk)
    return [
        Route("/", front_page),
        Route("/login", login_page, methods=["GET", "POST"]),
        _get("/ask", ask.choose),
        _get("/ask/{dataset}", ask.page),
        _post("/ask/{dataset}", ask.ask),
        _post("/ask/{dataset}/check", ask.check),
        _get("/ask/{dataset}/made-up", ask.made_up),
        _get("/ask/certificate/{dataset}/{charge:int}", ask.certificate),
        _get("/budget", budget.choose),
        _get("/budget/{dataset}", budget.page),
        _get("/budget/{dataset}/download", budget.saved),
        _post("/budget/{dataset}/verify", budget.verify),
        _get("/requests", requests.page),
        _post("/requests/{request:int}", requests.decide),
        _post("/requests/{request:int}/ask", requests.ask),
        _post("/requests/assistant/{dataset}", requests.allow),
        _get("/owner", owner.page),
        _post("/owner/{dataset}/version", owner.relabel),
        _post("/owner/sessions/{session}/end", owner.end_session),
        _get("/api", interface_page),
        _get("/studio", studio.page),
        _post("/studio", studio.page),
        _post("/studio/result", studio.result),
        _post("/studio/load", studio.load),
        _post("/studio/mechanism.json", studio.document),
        Mount("/static", StaticFiles(directory=HERE / "static"), name="static"),
    ]


def _get(path: str, handler: Handler) -> Route:
    return Route(path, signed_in(handler), methods=["GET"])


def _post(path: str, handler: Handler) -> Route:
    return Route(path, signed_in(handler), methods=["POST"])
