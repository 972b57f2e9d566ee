"""What an assistant can do for its person: see what there is, preview, plan, and ask what was approved.

A tool is an operation of the list that has one, for any office: a service by a connection to it, or the desk of the service
itself. Tools decide nothing about budgets and permissions; the office does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, create_model

from duotone.desk.operations import LIST, Document, OfficeCall, Operation
from duotone.desk.terms import Sent, Terms
from duotone.errors import DuotoneError

Use = Callable[[OfficeCall, Any], Awaitable[Document]]
DATASET = Annotated[str, Field(min_length=1, max_length=200, description="A dataset's name, as list_datasets has it.")]
CHARGE = Annotated[int, Field(ge=1, description="The number of the charge, as an answer and history have it.")]
PLAN = Annotated[int, Field(ge=1, description="The number that plan_question gave.")]
DESCRIPTIONS = {
    "question": "SQL with a yes/no answer: a comparison of aggregates, as avg(age) > 38 or"
    " count(*) filter (where vote = 'Y') > 500, or a select with one, with where and group by.",
    "by": "Instead of a question: which groups by these columns are large enough to be shown.",
    "epsilon": "The price: the privacy loss ε, as 0.5. None with error, or where close calls are counted.",
    "delta": "The second part of the price, very small, as 1e-6.",
    "error": "Instead of epsilon: how accurate the answer must be; the least ε follows.",
    "max_groups": "With group by and a unit: in how many groups a person counts at most.",
    "costs": "How bad a false no and a false yes are, as [10, 1], where one mistake is worse.",
    "groups": "private: select the groups privately although the owner lists them.",
    "again": "Pay for a new answer although one is recorded, which would be free.",
    "people": "A public guess of how many people there are, to see the accuracy in real units.",
    "purpose": "What the answer is for: whoever approves reads it.",
}
"""Terms in words for an assistant."""


@dataclass(frozen=True)
class Tool:
    """One tool: its name, what an assistant reads about it, what it takes, and what it does."""

    name: str
    title: str
    description: str
    arguments: type[Sent]
    use: Use
    reads_only: bool
    """Whether it leaves everything as it was."""

    @property
    def schema(self) -> Document:
        """What it takes, as JSON Schema: strict, and without the words that are for programmers."""
        schema = self.arguments.model_json_schema()
        return {name: value for name, value in schema.items() if name not in ("title", "description")}


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
    sent = given.model_dump(exclude_unset=True, include=set(DESCRIPTIONS))
    return {name: value for name, value in sent.items() if value is not None and value is not False}


def _tool(operation: Operation) -> Tool | None:
    """The tool of an operation; None where an assistant has none."""
    tool = operation.tool
    if tool is None:
        return None
    places: dict[str, Any] = {"name": (DATASET, Field(alias="dataset")), "charge": (CHARGE, ...)}
    fields: dict[str, Any] = (
        {"plan": (PLAN, ...)} if operation.name == "ask" else {place: places[place] for place in operation.places}
    )
    for name in tool.terms:
        field = Terms.model_fields[name]
        kind: Any = field.rebuild_annotation()
        fields[name] = (kind | None, Field(field.default, description=DESCRIPTIONS[name]))
    arguments = create_model(operation.name, __base__=Sent, **fields)
    return Tool(tool.name, tool.title, tool.description, arguments, _use(operation), operation.reads_only)


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
