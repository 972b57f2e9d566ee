"""The requests page: what waits for somebody's word, one's own and others', and what one's assistant may ask by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from duotone.desk.callers import Refused
from duotone.pages.ask import answer_shown
from duotone.pages.render import form_of, number_of, render, to, who

if TYPE_CHECKING:
    from duotone.desk.desk import Desk


DONE = {
    "approve": "The request is approved.",
    "refuse": "The request is refused.",
    "allow": "Your assistant’s allowance is set.",
}
"""What was done, as the page says it."""


def standing(request: Mapping[str, Any]) -> str:
    """How a request stands, and who said so.

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


@dataclass(frozen=True)
class RequestPages:
    """What the pages about requests do."""

    desk: Desk

    async def page(self, request: Request) -> Response:
        """Every request that one may see, those that wait first, and the allowances of one's assistant."""
        return await self._page(request)

    async def _page(self, request: Request, status: int = 200, problem: str | None = None) -> Response:
        caller = who(request)
        requests = (await self.desk.requests(caller))["requests"]
        requests.sort(key=lambda one: (not one["may_decide"], one["state"] != "approved", -one["request"]))
        requests = [{**one, "stands": standing(one)} for one in requests]
        allowed: dict[str, Any] = {}
        if caller.person.role == "analyst":
            for dataset in (await self.desk.datasets(caller))["datasets"]:
                allowance = await self.desk.assistant_allowance(caller, dataset["name"])
                allowed[dataset["name"]] = {**allowance, "close_calls": dataset["close_calls"] is not None}
        done = None if problem else DONE.get(request.query_params.get("done", ""))
        return render(request, "requests.html", status, requests=requests, allowed=allowed, problem=problem, done=done)

    async def decide(self, request: Request) -> Response:
        """Approve or refuse."""
        decision = (await form_of(request)).get("decision")
        if decision not in ("approve", "refuse"):
            raise Refused("bad question", "approve or refuse the request")
        await self.desk.decide(who(request), number_of(request, "request"), decision == "approve")
        return to(request, f"/requests?done={decision}")

    async def ask(self, request: Request) -> Response:
        """Ask what was approved."""
        dataset = await self.desk.dataset(who(request), (await form_of(request)).get("dataset", ""))
        answer = await self.desk.ask(who(request), dataset["name"], {"request": number_of(request, "request")})
        return render(request, "answered.html", **answer_shown(dataset, answer))

    async def allow(self, request: Request) -> Response:
        """Say what one's assistant may ask without being asked back; with a bad number, the page and what is wrong."""
        try:
            await self._allow(request)
        except Refused as refused:
            if refused.kind != "bad question":
                raise
            return await self._page(request, refused.status, refused.on_page)
        return to(request, "/requests?done=allow")

    async def _allow(self, request: Request) -> None:
        sent = await form_of(request)
        allowance = {"epsilon": sent.get("epsilon", "").strip() or "0", "delta": sent.get("delta", "").strip() or "0"}
        questions = sent.get("questions", "").strip() or "0"
        if not (questions.isascii() and questions.isdigit() and len(questions) < 10):
            raise Refused("bad question", "the number of questions must be a whole number")
        await self.desk.allow_assistant(who(request), request.path_params["dataset"], allowance | {"questions": int(questions)})
