"""A service with canned documents, on loopback, for testing a client and an assistant."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from duotone import ApproxDP, balanced
from duotone.privacy.numbers import show
from support.running import PATIENCE

TOKEN = "dt_alice_7Yp0Qk3vXw"
SHARE = ApproxDP("0.5", "1e-6")
REFUSALS = {  # what the question causes: its status, code and sentence
    "over": (409, "over budget", "epsilon 1 does not fit into the budget of chile; left: epsilon 0.5; nothing was charged"),
    "bad": (422, "bad question", "the table has no column bad; it has age, vote"),
    "many": (429, "too many", "alice has 4 questions under way: wait for one of them"),
    "late": (503, "unavailable", "the service is about to stop"),
}
DATASET: dict[str, Any] = {
    "dataset": "chile",
    "about": "a survey",
    "columns": {
        "age": {"kind": "integer", "bounds": ["18", "70"], "groups": None},
        "vote": {"kind": "text", "bounds": None, "groups": ["Y", "N"]},
        "day": {"kind": "date", "bounds": None, "groups": None},
    },
    "left": {"epsilon": 1.5, "delta": 9e-06},
    "allowance": None,
    "approval": False,
    "tick": 1.0,
}
MADE_UP = "age,vote,day\n18,Y,2000-01-01\n,N,\n"
COMMON: dict[str, Any] = {
    "privacy": {"exp_epsilon": "2", "epsilon": 0.5, "delta": "1/1000000", "parts": 1},
    "person": "each row is a person",
    "basis": "exact distance",
    "share": {"epsilon": 0.5, "exp_epsilon": show(SHARE.exp_epsilon), "delta": "1/1000000"},
    "error_by_margin": {str(m): float(balanced(SHARE).error(m - 1)) for m in (1, 2, 5, 10)},
    "certain_from": 27,
    "clipping": None,
    "notes": ["a note & <b>more</b>"],
    "terms": {"epsilon": "1/2", "delta": "1/1000000"},
}
CALLS: dict[str, Any] = {
    "question_privacy": {"exp_epsilon": "1", "epsilon": 0.05, "delta": "0"},
    "wrong": 1e-9,
    "person": "each row is a person",
    "basis": "exact distance",
    "too_close_by_margin": {"1": 0.9, "1000": 0.0},
    "notes": [],
}
PRICE = {"answers": 1, "each": {"epsilon": 0.5, "delta": 0.0}}
LEDGER = {"free": False, "charge": 17, "left": {"epsilon": 1.0, "delta": 8e-06}}
CERTIFICATE = {"format": "duotone certificate", "charge": 17}
ANSWER: dict[str, Any] = {"private": True, "quote": "In chile, …", "charge": 17, "ledger": LEDGER, "made_up": False}


@dataclass
class Fake:
    """The received requests, and the waiting ones."""

    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    plans: dict[int, dict[str, Any]] = field(default_factory=dict)
    assistant: bool = False

    def app(self) -> Starlette:
        data = "/api/datasets/{dataset}"
        routes = [
            Route("/api/me", self.me),
            Route("/api/datasets", self.datasets),
            Route(data, self.dataset),
            Route(f"{data}/preview", self.preview, methods=["POST"]),
            Route(f"{data}/ask", self.ask, methods=["POST"]),
            Route(f"{data}/plan", self.plan, methods=["POST"]),
            Route(f"{data}/history", self.history),
            Route(f"{data}/budget", self.budget),
            Route(f"{data}/made-up", self.made_up),
            Route(f"{data}/assistant", self.allow, methods=["PUT"]),
            Route(data + "/certificates/{charge:int}", self.certificate),
            Route("/api/requests", self.requests),
            Route("/api/requests/{number:int}", self.decide, methods=["POST"]),
        ]

        async def wrong(request: Request, error: Exception) -> Response:
            return PlainTextResponse("no such page", 404)

        return Starlette(routes=routes, exception_handlers={404: wrong})

    async def _body(self, request: Request) -> Any:
        body = await request.json() if request.method in ("POST", "PUT") else None
        self.asked.append((request.method, request.url.path, body))
        return body

    async def _refused(self, request: Request, text: str = "") -> Response | None:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return JSONResponse({"error": "this token is not known here", "kind": "bad token"}, 401)
        if request.path_params.get("dataset", "chile") != "chile":
            return JSONResponse({"error": "there is no dataset of this name for you", "kind": "unknown"}, 404)
        if text not in REFUSALS:
            return None
        status, kind, sentence = REFUSALS[text]
        return JSONResponse({"error": sentence, "kind": kind}, status, {"Retry-After": "7"} if status == 429 else None)

    async def me(self, request: Request) -> Response:
        await self._body(request)
        return await self._refused(request) or JSONResponse({"name": "alice", "role": "analyst", "assistant": self.assistant})

    async def datasets(self, request: Request) -> Response:
        return await self._refused(request) or JSONResponse({"datasets": [DATASET]})

    async def dataset(self, request: Request) -> Response:
        return await self._refused(request) or JSONResponse(DATASET)

    async def preview(self, request: Request) -> Response:
        terms = await self._body(request)
        text = terms.get("question", "")
        ledger = {"free": text == "free", "fits": text != "large", "price": PRICE, "left": {"epsilon": 1.0, "delta": 0.0}}
        document = {**(CALLS if text == "close" else COMMON), "question": text, "ledger": ledger, "seconds": 1.0}
        return await self._refused(request, text) or JSONResponse(document)

    async def ask(self, request: Request) -> Response:
        terms = await self._body(request)
        if "request" in terms:
            return await self._refused(request) or self._planned(terms["request"])
        text = terms.get("question", "")
        if refused := await self._refused(request, text):
            return refused
        about = {"question": text, **ANSWER, "made_up": terms.get("made_up", False)}
        match text:
            case "slow":
                await asyncio.sleep(5)
            case "broken":
                return PlainTextResponse("<html>", 200)
            case "odd":
                return JSONResponse({"answer": "perhaps"})
            case "wait":
                return JSONResponse({"request": 4, "state": "waiting", "needs": "another person"}, 202)
            case "close":
                return JSONResponse({"answer": "too close to call", **CALLS, **about})
            case "by vote":
                rows = [{"vote": "N", "answer": "no"}, {"vote": "Y", "answer": "yes"}]
                return JSONResponse({"answers": rows, **COMMON, **about})
            case "weak":
                return JSONResponse({"answer": "yes", **COMMON, **about, "warnings": ["weak", "coin toss"]})
            case "seed":
                return JSONResponse({"answer": "no", **COMMON, **about, "private": False})
        if "by" in terms:
            return JSONResponse({"groups": [{"vote": "Y"}], **COMMON, **about})
        return JSONResponse({"answer": "yes", **COMMON, **about})

    def _planned(self, number: int) -> Response:
        plan = self.plans.get(number)
        if plan is None:
            return JSONResponse({"error": f"there is no request {number}", "kind": "unknown"}, 404)
        if plan["state"] != "approved":
            sentence = f"request {number} is {plan['state']}: your person has not approved it"
            return JSONResponse({"error": sentence, "kind": "not allowed"}, 403)
        plan["state"] = "used"
        return JSONResponse({"answer": "yes", **COMMON, "question": plan["question"], **ANSWER})

    async def plan(self, request: Request) -> Response:
        terms = await self._body(request)
        number = len(self.plans) + 1
        state = "approved" if terms.get("question") == "small" else "waiting"
        plan = {"request": number, "dataset": "chile", "question": terms.get("question"), "terms": terms, "state": state}
        if refused := await self._refused(request, terms.get("question", "")):
            return refused
        self.plans[number] = {**plan, "price": PRICE, "asker": "alice", "assistant": True, "may_decide": False}
        return JSONResponse(self.plans[number])

    async def history(self, request: Request) -> Response:
        return await self._refused(request) or JSONResponse({"charges": [{"charge": 17, "question": "a"}], "left": {}})

    async def budget(self, request: Request) -> Response:
        return await self._refused(request) or JSONResponse({"left": {"epsilon": 1.0, "delta": 0.0}, "how_many_more": 2})

    async def made_up(self, request: Request) -> Response:
        return await self._refused(request) or PlainTextResponse(MADE_UP, media_type="text/csv")

    async def allow(self, request: Request) -> Response:
        return await self._refused(request) or JSONResponse({"allowance": await self._body(request)})

    async def certificate(self, request: Request) -> Response:
        return await self._refused(request) or JSONResponse({**CERTIFICATE, "charge": request.path_params["charge"]})

    async def requests(self, request: Request) -> Response:
        return await self._refused(request) or JSONResponse({"requests": list(self.plans.values())})

    async def decide(self, request: Request) -> Response:
        body, number = await self._body(request), request.path_params["number"]
        self.plans[number]["state"] = "approved" if body["approve"] else "refused"
        return await self._refused(request) or JSONResponse(self.plans[number])


@contextlib.contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an ASGI app on loopback; yields its URL."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        started = threading.Event()

        async def main() -> None:
            serving = asyncio.ensure_future(server.serve([listening]))
            while not (server.started or serving.done()):
                await asyncio.sleep(0.005)
            started.set()
            await serving

        thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
        thread.start()
        started.wait(PATIENCE)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)
