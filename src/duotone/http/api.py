"""The interface for programs: JSON over HTTP, described by OpenAPI. Each route is an operation of the list."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict

from duotone.desk.callers import STATUS
from duotone.desk.operations import LIST, Document, Operation


class Error(BaseModel):
    """Why a request was refused."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    error: str
    """A sentence: what was sent, what is allowed, and how to correct it."""
    kind: str
    """The same as a code, for programs."""


Name = Annotated[str, Path(max_length=200)]
Entry = Annotated[int, Path(ge=1, le=2**31 - 1)]
PLACES = {"dataset": Name, "session": Name, "charge": Entry, "request": Entry}
"""Types of the paths' parameters."""
REFUSALS: dict[int | str, dict[str, Any]] = {status: {"model": Error} for status in sorted({*STATUS.values()})}
WAITS: dict[int | str, dict[str, Any]] = {202: {"model": Document, "description": "It waits for approval."}}
CSV: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}


def _add(router: APIRouter, operation: Operation) -> None:
    """Add the route of an operation: the endpoint's parameters are what the operation takes, and go to the desk."""

    async def endpoint(http: Request, **given: Any) -> Response:
        takes = [given[place] for place in operation.places]
        if operation.takes is not None:
            takes.append(operation.given(given["body"]))
        document = await http.app.state.desk.call(http.state.caller, operation.name, *takes)  # strangers are refused earlier
        if operation.gives == "csv":
            return PlainTextResponse(document["csv"], media_type="text/csv")
        return JSONResponse(document, 202 if operation.may_wait and "state" in document else 200)

    def parameter(name: str, kind: Any) -> Parameter:
        return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind)

    body = [] if operation.takes is None else [parameter("body", Annotated[operation.takes, Body()])]
    taken = [parameter("http", Request), *(parameter(place, PLACES[place]) for place in operation.places), *body]
    vars(endpoint)["__signature__"] = Signature(taken)
    endpoint.__name__ = operation.name
    router.add_api_route(
        operation.path,
        endpoint,
        methods=[operation.method],
        summary=operation.summary,
        description=operation.about,
        responses=WAITS if operation.may_wait else CSV if operation.gives == "csv" else {},
        response_model=None if operation.may_wait or operation.gives == "csv" else Document,
        response_class=Response if operation.gives == "csv" else JSONResponse,
    )


router = APIRouter(prefix="/api", responses=REFUSALS)
for each in LIST:
    _add(router, each)
