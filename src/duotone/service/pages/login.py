"""Logging in with a token, or by the organisation's own sign-in where the office has one."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from duotone.desk.callers import Refused
from duotone.service.auth import SESSION
from duotone.service.pages.render import caller, form_of, render, to

ENDED = "Your session has ended: its time was over, its token was revoked or has expired, or it was ended by an owner."


async def login_page(request: Request) -> Response:
    """The form, and what it sends."""
    if request.method == "GET" and caller(request) is not None:
        return to(request, "/")
    auth: Any = request.app.state.auth
    problem, status = ENDED if SESSION in request.cookies else None, 200
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
