"""The interface for programs: JSON over HTTP, described by OpenAPI. Each route is one thing that the desk can do."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from duotone.service.auth import Auth
from duotone.service.desk import Desk
from duotone.service.people import Caller
from duotone.service.refused import STATUS
from duotone.service.terms import Number, Terms


class Error(BaseModel):
    """Why a request was refused."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    error: str
    """A sentence: what was sent, what is allowed, and how to put it right."""
    kind: str
    """The same in a word or two, for programs."""


class Version(BaseModel):
    """A new public label of the data."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)
    version: Annotated[str, Field(min_length=1, max_length=60)]
    """One that the data has not had before."""


class Decision(BaseModel):
    """Whether a request may be asked."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)
    approve: Annotated[bool, Field(strict=True)]
    """Or it is refused."""


class AssistantAllowance(BaseModel):
    """What an assistant may ask without being asked back: sums of ε and δ, and questions that may be close calls."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)
    epsilon: Number = 0
    """Of all its answers together."""
    delta: Number = 0
    """Of all its answers together."""
    questions: Annotated[int, Field(strict=True, ge=0, le=10**6)] = 0
    """Where only close calls are charged: how many questions."""


async def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


async def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller  # a stranger does not come so far
    return caller


async def _auth(request: Request) -> Auth:
    auth: Auth = request.app.state.auth
    return auth


TheDesk = Annotated[Desk, Depends(_desk)]
TheAuth = Annotated[Auth, Depends(_auth)]
Who = Annotated[Caller, Depends(_caller)]
Name = Annotated[str, Path(max_length=200)]
Entry = Annotated[int, Path(ge=1, le=2**31 - 1)]
Ask = Annotated[Terms, Body()]
Document = dict[str, Any]

REFUSALS: dict[int | str, dict[str, Any]] = {status: {"model": Error} for status in sorted({*STATUS.values()})}
router = APIRouter(prefix="/api", responses=REFUSALS)


@router.get("/me", summary="Who one is here")
async def me(desk: TheDesk, who: Who) -> Document:
    """Name and role."""
    return desk.me(who)


@router.get("/datasets", summary="What may be asked about")
async def datasets(desk: TheDesk, who: Who) -> Document:
    """Columns, kinds and declared bounds, budgets and what is left: nothing from rows."""
    return await desk.datasets(who)


@router.get("/datasets/{name}", summary="One dataset")
async def dataset(desk: TheDesk, who: Who, name: Name) -> Document:
    """As in the list."""
    return await desk.dataset(who, name)


@router.post("/datasets/{name}/preview", summary="How accurate an answer would be, and what it costs")
async def preview(desk: TheDesk, who: Who, name: Name, terms: Ask) -> Document:
    """Nothing is read or spent."""
    return await desk.preview(who, name, terms)


@router.post(
    "/datasets/{name}/ask", summary="Ask", responses={202: {"model": Document, "description": "It waits for approval."}}
)
async def ask(desk: TheDesk, who: Who, name: Name, terms: Ask) -> Response:
    """The answer leaves at a tick of the service's clock, as errors do."""
    document = await desk.ask(who, name, terms)
    return JSONResponse(document, 202 if "state" in document else 200)


@router.post("/datasets/{name}/plan", summary="A question with its price, to be approved")
async def plan(desk: TheDesk, who: Who, name: Name, terms: Ask) -> Document:
    """It is asked later, by the number of the request."""
    return await desk.plan(who, name, terms)


@router.get("/datasets/{name}/history", summary="What was asked")
async def history(desk: TheDesk, who: Who, name: Name) -> Document:
    """The latest charges; answers are shown to who asked, and to the owner."""
    return await desk.history(who, name)


@router.get("/datasets/{name}/budget", summary="What is left")
async def budget(desk: TheDesk, who: Who, name: Name) -> Document:
    """Spent, remaining, wasted; and what was spent under earlier labels of people."""
    return await desk.budget(who, name)


@router.get("/datasets/{name}/certificates/{charge}", summary="The proof of an answer's mechanism")
async def certificate(desk: TheDesk, who: Who, name: Name, charge: Entry) -> Document:
    """For duotone check, or the independent checker."""
    return await desk.certificate(who, name, charge)


@router.get(
    "/datasets/{name}/made-up",
    summary="Made-up rows",
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
async def made_up(desk: TheDesk, who: Who, name: Name) -> Response:
    """A CSV file with the dataset's columns, from public facts alone."""
    return PlainTextResponse((await desk.made_up(who, name))["csv"], media_type="text/csv")


@router.get("/datasets/{name}/assistant", summary="What one's assistant may still ask by itself")
async def assistant(desk: TheDesk, who: Who, name: Name) -> Document:
    """Sums of ε and δ, and questions that may be close calls."""
    return await desk.assistant_allowance(who, name)


@router.put("/datasets/{name}/assistant", summary="Say what one's assistant may ask by itself")
async def allow_assistant(desk: TheDesk, who: Who, name: Name, allowance: AssistantAllowance) -> Document:
    """From now on, in all; an assistant cannot change it."""
    return await desk.allow_assistant(who, name, allowance.model_dump())


@router.get("/requests", summary="Requests that wait, or were decided")
async def requests(desk: TheDesk, who: Who) -> Document:
    """One's own, and those that one may decide about."""
    return await desk.requests(who)


@router.post("/requests/{request}", summary="Approve or refuse a request")
async def decide(desk: TheDesk, who: Who, request: Entry, decision: Decision) -> Document:
    """One's own assistant's, or another person's: nobody approves their own question."""
    return await desk.decide(who, request, decision.approve)


@router.post("/datasets/{name}/version", summary="Say that the data has changed")
async def version(desk: TheDesk, who: Who, name: Name, label: Version) -> Document:
    """For owners. Every question is then a new one; the budget is what it was."""
    return await desk.relabel(who, name, label.version)


@router.get("/datasets/{name}/ledger", summary="Verify the ledger")
async def ledger(desk: TheDesk, who: Who, name: Name) -> Document:
    """For owners and auditors: whether any entry was edited, removed or moved."""
    return await desk.verify(who, name)


@router.get("/sessions", summary="Sessions of browsers")
async def sessions(auth: TheAuth, who: Who) -> Document:
    """For owners: whose they are, when they began, were used last, and end."""
    return {"sessions": await auth.every_session(who)}


@router.delete("/sessions/{session}", summary="End a session")
async def end_session(auth: TheAuth, who: Who, session: Name) -> Document:
    """For owners: its browser has to log in again."""
    await auth.end_session(who, session)
    return {"session": session, "ended": True}


@router.get("/office", summary="For the owner")
async def office(desk: TheDesk, who: Who) -> Document:
    """Who there is, which answers were late, and how often an engine failed."""
    return await desk.overview(who)
