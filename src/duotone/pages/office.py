"""The pages about an office besides asking: a dataset's budget, requests, and the owner's page."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from duotone.desk.callers import Refused
from duotone.pages.ask import answer_shown, previewed
from duotone.pages.asked_form import EPSILONS
from duotone.pages.fields import Mistaken, gathered, positive, whole
from duotone.pages.menus import counted_people
from duotone.pages.render import do, download, form_of, number_of, quoted, render, to, who
from duotone.privacy.numbers import exact

DONE = {
    "approve": "The request is approved.",
    "refuse": "The request is refused.",
    "allow": "Your assistant’s allowance is set.",
}
"""Confirmations, by code."""


async def budget_page(request: Request) -> Response:
    """What is left, what was spent and by whom."""
    name = request.path_params["dataset"]
    dataset = await do(request, "dataset", name)
    usual = {"epsilon": "0.1", "delta": "", "one_of": str(dataset["answers"] or "")}
    price = {name: request.query_params.get(name, value) for name, value in usual.items()}
    mistakes, budget, question = dict[str, str](), None, dict[str, Any]()
    try:
        question = such(dataset, price)
        budget = await do(request, "budget", name, question)
    except Refused as refused:
        mistakes = refused.fields if isinstance(refused, Mistaken) else {"such": refused.on_page}
    if budget is None:
        budget = await do(request, "budget", name)
    history, shares = await do(request, "history", name), gauge(budget, question)
    about: dict[str, Any] = {"budget": budget, "gauge": shares, "history": history, "price": price, "mistakes": mistakes}
    return render(request, "budget.html", dataset=dataset, epsilons=EPSILONS, **about)


async def budget_file(request: Request) -> Response:
    """As JSON."""
    name = request.path_params["dataset"]
    document = {"dataset": name, "budget": await do(request, "budget", name), "history": await do(request, "history", name)}
    return download(json.dumps(document, indent=1), "budget.json")


async def verify(request: Request) -> Response:
    """Whether the ledger is unaltered."""
    name = request.path_params["dataset"]
    return render(request, "verified.html", name=name, verdict=await do(request, "verify", name))


def such(dataset: Mapping[str, Any], price: Mapping[str, str]) -> dict[str, Any]:
    """A plain question at a price; without a price if only close calls are charged."""
    question = {"question": f"{counted_people(dataset)} > 1"}
    if dataset["close_calls"] is not None:
        return question
    if dataset["account"] == "renyi":
        return {**question, "one_of": whole(price["one_of"], "such", "the number of answers")}
    with gathered() as mistakes:
        with mistakes:
            question["epsilon"] = positive(price["epsilon"], "such", "the value of ε")
        if price["delta"].strip():
            with mistakes:
                question["delta"] = positive(price["delta"], "such-delta", "the value of δ", below=1)
    return question


def gauge(budget: Mapping[str, Any], question: Mapping[str, Any]) -> dict[str, float]:
    """The spent share of the budget and the share of a question; the rest is left."""
    calls = budget["close_calls"]
    if calls is not None:
        total, used, one = calls["count"], calls["used"] + calls["reserved"], 1.0
    elif "share" in budget["spent"]:
        total, used, one = 1.0, budget["spent"]["share"], (budget["this"] or {}).get("share", 0.0)
    else:
        total, used = budget["budget"]["epsilon"], budget["spent"]["epsilon"]
        one = float(exact(question["epsilon"])) if budget["this"] is not None else 0.0
    spent = min(1.0, used / total) if total else 1.0
    return {"spent": spent, "this": max(0.0, min(1 - spent, one / total if total else 0.0))}


@dataclass(frozen=True)
class Entered:
    """What was entered in a dataset's form, and its mistakes by field: shown again beside each other."""

    dataset: str
    fields: Mapping[str, str]
    mistakes: Mapping[str, str]

    def value(self, field: str) -> str:
        """What stands in a field."""
        return self.fields.get(field, "")


Page = Callable[[Request, int, Entered | None], Awaitable[Response]]
"""A page with a status, and a form that has mistakes."""


async def requests_page(request: Request, status: int = 200, entered: Entered | None = None) -> Response:
    """Every request that the caller may see, the waiting ones first, and the allowances of the caller's assistant."""
    requests = (await do(request, "requests"))["requests"]
    requests.sort(key=lambda one: (not one["may_decide"], one["state"] != "approved", -one["request"]))
    requests = [{**one, "stands": standing(one)} for one in requests]
    allowed: dict[str, Any] = {}
    if who(request).person.role == "analyst":
        for dataset in (await do(request, "datasets"))["datasets"]:
            allowance = await do(request, "assistant_allowance", dataset["dataset"])
            counted = {"close_calls": dataset["close_calls"] is not None, "account": dataset["account"]}
            allowed[dataset["dataset"]] = {**allowance, **counted}
    done = None if entered else DONE.get(request.query_params.get("done", ""))
    return render(request, "requests.html", status, requests=requests, allowed=allowed, entered=entered, done=done)


async def request_page(request: Request) -> Response:
    """A request with the preview that its asker sees, to decide by."""
    one = await do(request, "request", number_of(request, "request"))
    shown = {} if one["preview"] is None else previewed(one["preview"])
    return render(request, "request.html", **{"preview": None, "one": {**one, "stands": standing(one)}, **shown})


def standing(request: Mapping[str, Any]) -> str:
    """The state of a request, and who decided.

    >>> one = {"needs": "another person", "decided_by": ["ana"]}
    >>> [standing({**one, "state": state}) for state in ("waiting", "approved", "used")]
    ['waits for another person; approved by ana', 'approved by ana', 'asked; approved by ana']
    >>> standing({**one, "state": "refused", "decided_by": ["ana", "olga"]})
    'refused by olga'
    """
    state, by = request["state"], request["decided_by"]
    approved = f"approved by {' and '.join(by)}" if by else ""
    match state:
        case "refused":
            return f"refused by {by[-1]}" if by else "refused"
        case "approved":
            return approved or "approved, within the allowance"
    return "; ".join(filter(None, [f"waits for {request['needs']}" if state == "waiting" else "asked", approved]))


async def decide(request: Request) -> Response:
    """Approve or refuse a request."""
    decision = (await form_of(request)).get("decision")
    if decision not in ("approve", "refuse"):
        raise Refused("bad question", "approve or refuse the request")
    await do(request, "decide", number_of(request, "request"), decision == "approve")
    return to(request, f"/requests?done={decision}")


async def ask_approved(request: Request) -> Response:
    """Ask an approved request."""
    dataset = await do(request, "dataset", (await form_of(request)).get("dataset", ""))
    answer = await do(request, "ask", dataset["dataset"], {"request": number_of(request, "request")})
    return render(request, "answered.html", **answer_shown(dataset, answer))


async def allow(request: Request) -> Response:
    """Set what the caller's assistant may ask without approval."""
    sent, name = await form_of(request), request.path_params["dataset"]
    return await _done(request, partial(_allow, request, name, sent), sent, "epsilon", requests_page, "/requests?done=allow")


async def _allow(request: Request, name: str, sent: Mapping[str, str]) -> None:
    allowance: dict[str, Any] = {}
    with gathered() as mistakes:
        for field, what in (("epsilon", "the value of ε"), ("delta", "the value of δ")):
            with mistakes:
                allowance[field] = positive(sent.get(field, "").strip() or "0", field, what)
        with mistakes:
            allowance["questions"] = whole(sent.get("questions", "").strip() or "0", "questions", "the number of questions")
        if sent.get("share", "").strip():
            with mistakes:
                allowance["share"] = positive(sent["share"], "share", "the part of the budget")
    await do(request, "allow_assistant", name, allowance)


async def owner_page(request: Request, status: int = 200, entered: Entered | None = None) -> Response:
    """People, datasets, sessions, and what the owner should know of engines."""
    overview, datasets = await do(request, "overview"), (await do(request, "datasets"))["datasets"]
    sessions = [] if who(request).assistant else (await do(request, "sessions"))["sessions"]
    changed = next((one for one in datasets if one["dataset"] == request.query_params.get("relabelled")), None)
    about: dict[str, Any] = {"overview": overview, "datasets": datasets, "entered": entered, "changed": changed}
    return render(request, "owner.html", status, sessions=sessions, **about)


async def end_session(request: Request) -> Response:
    """End a session, possibly one's own."""
    await do(request, "end_session", request.path_params["session"])
    return to(request, "/owner")


async def relabel(request: Request) -> Response:
    """Give the data a new version."""
    sent, name = await form_of(request), request.path_params["dataset"]
    work = partial(do, request, "relabel", name, sent.get("version", "").strip())
    return await _done(request, work, sent, "version", owner_page, f"/owner?relabelled={quoted(name)}")


async def _done(
    request: Request, work: Callable[[], Awaitable[object]], sent: Mapping[str, str], field: str, page: Page, address: str
) -> Response:
    """Redirect after the work; if a value is bad, show the page with what was entered and the mistake, by default in
    `field`."""
    try:
        await work()
    except Refused as refused:
        if refused.kind != "bad question":
            raise
        mistakes = refused.fields if isinstance(refused, Mistaken) else {field: refused.on_page}
        return await page(request, refused.status, Entered(request.path_params["dataset"], sent, mistakes))
    return to(request, address)
