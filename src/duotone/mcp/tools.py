"""What an assistant can do for its person: see what there is, preview, plan, and ask what was approved.

A tool is an operation of the list that has one, for any office: a service by a connection to it, or the desk of the service
itself. Tools decide nothing about budgets and permissions; the office does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from mcp_types import Tool as ListedTool
from mcp_types import ToolAnnotations
from pydantic import Field, create_model

from duotone.desk.operations import LIST, Document, OfficeCall, Operation
from duotone.desk.operations import Tool as About
from duotone.desk.terms import Sent, Terms
from duotone.errors import DuotoneError

Use = Callable[[OfficeCall, Any], Awaitable[Document]]
DATASET = Annotated[str, Field(min_length=1, max_length=200, description="A dataset's name, as list_datasets has it.")]
CHARGE = Annotated[int, Field(ge=1, description="The number of the charge, as an answer and history have it.")]
PLAN = Annotated[int, Field(ge=1, description="The number that plan_question gave.")]


@dataclass(frozen=True)
class Tool:
    """An operation as a tool: what it takes, and what it does."""

    operation: Operation
    about: About
    arguments: type[Sent]
    use: Use

    @property
    def listed(self) -> ListedTool:
        """What an assistant reads about it: what it takes as JSON Schema, strict, without the words for programmers."""
        schema = self.arguments.model_json_schema()
        return ListedTool(
            name=self.about.name,
            title=self.about.title,
            description=self.about.description,
            input_schema={name: value for name, value in schema.items() if name not in ("title", "description")},
            annotations=ToolAnnotations(read_only_hint=self.operation.reads_only, open_world_hint=False),
        )


async def _requests(office: OfficeCall, _: Sent) -> Document:
    return {"plans": [_as_plan(request) for request in (await office("requests"))["requests"]]}


async def _plan(office: OfficeCall, given: Any) -> Document:
    return _as_plan(await office("plan", given.name, _terms(given)))


async def _ask(office: OfficeCall, given: Any) -> Document:
    plans = {plan["plan"]: plan for plan in (await _requests(office, given))["plans"]}
    if given.plan not in plans:
        raise DuotoneError(f"there is no plan {given.plan}: plan_question makes one, list_plans has them all")
    plan = plans[given.plan]
    if plan["state"] != "approved":
        raise DuotoneError(f"plan {given.plan} cannot be asked: {plan['next']}")
    document = await office("ask", plan["dataset"], {"request": given.plan})
    return _as_plan(document) if "state" in document else document


USES: Mapping[str, Use] = {"requests": _requests, "plan": _plan, "ask": _ask}
"""What is more than an operation by itself."""


def _use(operation: Operation) -> Use:
    """What a tool does: its operation, with the terms of a question where it takes some."""

    async def use(office: OfficeCall, given: Any) -> Document:
        terms = [] if operation.takes is None else [_terms(given)]
        return await office(operation.name, *(getattr(given, place) for place in operation.places), *terms)

    return USES.get(operation.name, use)


def _terms(given: Sent) -> Document:
    """Those that were given, as a service takes them."""
    sent = given.model_dump(exclude_unset=True, include=set(Terms.model_fields))
    return {name: value for name, value in sent.items() if value is not None and value is not False}


def _tool(operation: Operation) -> Tool | None:
    """The tool of an operation; None where an assistant has none."""
    about = operation.tool
    if about is None:
        return None
    places: dict[str, Any] = {"name": (DATASET, Field(alias="dataset")), "charge": (CHARGE, ...)}
    fields: dict[str, Any] = (
        {"plan": (PLAN, ...)} if operation.name == "ask" else {place: places[place] for place in operation.places}
    )
    for name in about.terms:
        field = Terms.model_fields[name]
        kind: Any = field.rebuild_annotation()
        fields[name] = (kind | None, Field(field.default, description=field.description))
    return Tool(operation, about, create_model(operation.name, __base__=Sent, **fields), _use(operation))


NEXT: Mapping[str, str] = {
    "approved": "it may be asked: call ask_planned",
    "refused": "it was refused: do not ask it again without talking to your person",
    "used": "it was asked already, and its answer is in the history",
}


def _as_plan(request: Document) -> Document:
    """A request as an assistant sees it, with what comes next."""
    state, number = str(request["state"]), request["request"]
    who = "another person than the one who asks" if "other" in request.get("waits_for", ()) else "your person"
    waits = (
        f"it waits for {who} to approve it: on the page Requests of the service, or in Python by"
        f" duotone.connect(…).decide({number}, True); an allowance set beforehand covers later plans"
    )
    others = {key: value for key, value in request.items() if key != "request"}
    return {"plan": number, **others, "next": NEXT.get(state, waits)}


TOOLS = tuple(tool for tool in map(_tool, LIST) if tool is not None)
