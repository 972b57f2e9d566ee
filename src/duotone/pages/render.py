"""Pages from templates: all outside text is escaped, and invisible characters are shown as text."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from duotone.desk.callers import Caller, Refused
from duotone.desk.operations import Document
from duotone.words import budgets, sentences

HERE = Path(__file__).parent
LARGEST = 2**31 - 1
Handler = Callable[[Request], Awaitable[Response]]


class Verbatim(str):
    """Text that a field must send back unchanged: escaped for HTML, but not made visible."""

    __slots__ = ()


def visible(value: object) -> object:
    """A value as a page shows it: control characters and direction marks become visible escapes; line ends are kept.

    >>> visible("a\\u202eb\\x00\\n<i>"), visible(None), visible(3)
    ('a\\\\u202eb\\\\x00\\n<i>', '', 3)
    """
    if value is None:
        return ""
    if not isinstance(value, str) or isinstance(value, Verbatim) or hasattr(value, "__html__"):
        return value
    return sentences.printable(value, keep="\n")


def quoted(name: str) -> str:
    """A name in an address."""
    return quote(name, safe="")


def said(sentence: str) -> str:
    """A sentence of the service on a page: with a full stop.

    >>> said("say in how many groups one counts"), said("Done.")
    ('say in how many groups one counts.', 'Done.')
    """
    return f"{sentence.rstrip('.')}."


ENVIRONMENT = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=visible,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters |= {"verbatim": Verbatim, "decimal": budgets.decimal, "address": quoted, "said": said}
ENVIRONMENT.filters |= {"how_sure": sentences.how_sure, "meaning": sentences.meaning, "brief": sentences.brief}
ENVIRONMENT.filters |= {"will_say": sentences.will_say}
ENVIRONMENT.filters |= {
    "left": functools.partial(budgets.left, symbols=True),
    "part": budgets.part,
    "percent": budgets.percent,
    "each": functools.partial(budgets.each, symbols=True),
    "price": functools.partial(budgets.price, symbols=True),
}


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A page, or a part of one, with what every template may use: the caller, the token of forms, the path."""
    common = {
        "caller": caller(request),
        "csrf": getattr(request.state, "csrf", ""),
        "path": request.url.path,
    }
    return HTMLResponse(ENVIRONMENT.get_template(template).render(common | values), status)


def download(content: str, name: str) -> Response:
    """A file to download."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=guess_type(name)[0], headers=headers)


def partial(request: Request) -> bool:
    """Whether htmx asks for a part of a page."""
    return request.headers.get("HX-Request") == "true"


def to(request: Request, address: str) -> Response:
    """Redirect to another page; a request for a part redirects the whole page."""
    if partial(request):
        return Response(status_code=204, headers={"HX-Redirect": address})
    return RedirectResponse(address, 303)


def caller(request: Request) -> Caller | None:
    """Who is logged in; None for a stranger."""
    known: Caller | None = getattr(request.state, "caller", None)
    return known


def who(request: Request) -> Caller:
    """Who is logged in, on pages that strangers cannot reach."""
    known = caller(request)
    if known is None:
        raise Refused("bad token", "log in first")
    return known


async def do(request: Request, operation: str, *given: Any) -> Document:
    """Run an operation for the caller: `Desk.call`."""
    document: Document = await request.app.state.desk.call(who(request), operation, *given)
    return document


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form as text (the last one of each name), without files."""
    async with request.form(max_files=0, max_fields=100, max_part_size=2**18) as form:
        return {name: str(value) for name, value in form.multi_items()}


def fields_of(kind: type[Any], sent: Mapping[str, str]) -> dict[str, str]:
    """The sent fields of a dataclass."""
    return {field.name: sent[field.name].replace("\r\n", "\n") for field in fields(kind) if field.name in sent}


def number_of(request: Request, name: str) -> int:
    """A number in the address; an impossible one is unknown."""
    number: int = request.path_params[name]
    if number > LARGEST:
        raise Refused("unknown", f"there is no {name} {number}")
    return number


def signed_in(handler: Handler) -> Handler:
    """A handler for logged-in callers; shows the sentence of a refusal."""

    async def serve(request: Request) -> Response:
        if caller(request) is None:
            return to(request, "/login")
        try:
            return await handler(request)
        except Refused as refused:
            return refusal(request, refused)

    return serve


def refusal(request: Request, refused: Refused) -> Response:
    """A refusal as a page, or as a part of one if a part was requested."""
    template = "refused_part.html" if partial(request) else "refused.html"
    answer = render(request, template, refused.status, refused=refused)
    if refused.retry_after is not None:
        answer.headers["Retry-After"] = str(refused.retry_after)
    return answer


def choose_dataset(page: str) -> Handler:
    """The list of the caller's datasets, each with its address under another page; a single one redirects at once."""

    async def choose(request: Request) -> Response:
        datasets = (await do(request, "datasets"))["datasets"]
        if len(datasets) == 1:
            return to(request, f"/{page}/{quoted(datasets[0]['dataset'])}")
        shown = [{**one, "can_spend": can_spend(one["left"], one["allowance"])} for one in datasets]
        return render(request, "choose.html", datasets=shown, page=page, title=page.capitalize())

    return choose


def can_spend(left: Mapping[str, Any], allowance: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """What somebody can still spend: the smaller of what is left of the budget and of their allowance.

    >>> can_spend({"epsilon": 3, "delta": 1e-06}, {"epsilon": 1, "delta": 1e-05}), can_spend({"close_calls": 3}, None)
    ({'epsilon': 1, 'delta': 1e-06}, {'close_calls': 3})
    """
    if allowance is None or "epsilon" not in left:
        return left
    return {name: min(left[name], allowance[name]) for name in ("epsilon", "delta")}
