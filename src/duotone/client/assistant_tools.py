"""What an assistant can do for its person: see what there is, preview, plan, and ask what was approved.

The tools are written once, over an `Office`: a service by its connection, or the desk of the service itself. They decide
nothing about budgets and permissions; the office does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from duotone.client.assistant_arguments import Arguments, OfCharge, OfDataset, OfPlan, ToPlan, ToPreview
from duotone.errors import DuotoneError

Document = dict[str, Any]


class Office(Protocol):
    """A service as one person's assistant sees it. Every method gives a document, or raises an error of one sentence."""

    async def datasets(self) -> Document:
        """The datasets that may be asked about."""
        ...

    async def preview(self, name: str, terms: Document) -> Document:
        """How accurate an answer would be, and its price."""
        ...

    async def plan(self, name: str, terms: Document) -> Document:
        """A request for this question: approved already where the assistant's allowance covers it."""
        ...

    async def ask(self, name: str, terms: Document) -> Document:
        """The answer to an approved request."""
        ...

    async def requests(self) -> Document:
        """The person's requests."""
        ...

    async def history(self, name: str) -> Document:
        """What was asked."""
        ...

    async def budget(self, name: str) -> Document:
        """What is spent and left."""
        ...

    async def certificate(self, name: str, charge: int) -> Document:
        """The proof of a charge."""
        ...


@dataclass(frozen=True)
class Tool:
    """One tool: its name, what an assistant reads about it, what it takes, and what it does."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    use: Callable[[Office, Any], Awaitable[Document]]
    reads_only: bool = True
    """Whether it leaves everything as it was."""

    @property
    def schema(self) -> Document:
        """What it takes, as JSON Schema: strict, and without the words that are for programmers."""
        schema = self.arguments.model_json_schema()
        return {name: value for name, value in schema.items() if name not in ("title", "description")}


async def _datasets(office: Office, _: Arguments) -> Document:
    return await office.datasets()


async def _preview(office: Office, given: ToPreview) -> Document:
    return await office.preview(given.dataset, given.terms)


async def _plan(office: Office, given: ToPlan) -> Document:
    return _as_plan(await office.plan(given.dataset, given.terms))


async def _plans(office: Office, _: Arguments) -> Document:
    return {"plans": [_as_plan(request) for request in (await office.requests())["requests"]]}


async def _ask(office: Office, given: OfPlan) -> Document:
    plans = {plan["plan"]: plan for plan in (await _plans(office, given))["plans"]}
    if given.plan not in plans:
        raise DuotoneError(f"there is no plan {given.plan}: plan_question makes one, list_plans has them all")
    plan = plans[given.plan]
    if plan["state"] != "approved":
        raise DuotoneError(f"plan {given.plan} cannot be asked: {plan['next']}")
    document = await office.ask(plan["dataset"], {"request": given.plan})
    return _as_plan(document) if "state" in document else document


async def _history(office: Office, given: OfDataset) -> Document:
    return await office.history(given.dataset)


async def _budget(office: Office, given: OfDataset) -> Document:
    return await office.budget(given.dataset)


async def _certificate(office: Office, given: OfCharge) -> Document:
    return await office.certificate(given.dataset, given.charge)


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


SQL = (
    "Answers are yes or no (or, where close calls are counted, too close to call), and randomised: each may be wrong with a"
    " probability that is known beforehand."
)
TOOLS = (
    Tool(
        "list_datasets",
        "Datasets",
        "The datasets that may be asked about: their columns with declared bounds and groups, who counts as a person, the"
        " privacy budget and what is left of it. Nothing here comes from rows. Start with this.",
        Arguments,
        _datasets,
    ),
    Tool(
        "preview_question",
        "Preview a question",
        "How accurate the answer to a question would be, by how many people would have to be different to change it, and"
        f" what it would cost. Nothing is read or spent, and nothing is kept. {SQL}",
        ToPreview,
        _preview,
    ),
    Tool(
        "plan_question",
        "Plan a question",
        "Put a question with its price before your person, and get a plan number. Nothing of the privacy budget is spent. The"
        " plan waits for approval, unless it fits the allowance that your person set beforehand: then it is approved at once,"
        " and its price is taken from that allowance. Preview first, and plan only what your person wants to know.",
        ToPlan,
        _plan,
        reads_only=False,
    ),
    Tool(
        "ask_planned",
        "Ask an approved plan",
        "Ask the question of a plan that is approved. This spends the privacy budget, which never comes back. The answer takes"
        " seconds to minutes: it leaves at a public time. A plan that is not approved is refused, with how your person approves"
        f" it. {SQL} Report an answer by its quote.",
        OfPlan,
        _ask,
        reads_only=False,
    ),
    Tool(
        "list_plans",
        "Plans",
        "The plans so far with their state: waiting, approved, refused or used.",
        Arguments,
        _plans,
    ),
    Tool(
        "budget_left",
        "Budget",
        "What is spent of a dataset's privacy budget and what is left, also of your person's own allowance.",
        OfDataset,
        _budget,
    ),
    Tool(
        "history",
        "History",
        "What was asked of a dataset, by whom and at which price, with your person's own answers. To ask the same question"
        " again at the same price is free.",
        OfDataset,
        _history,
    ),
    Tool(
        "certificate",
        "Certificate",
        "The proof that the mechanism behind a charge is private and optimal, which anybody can check.",
        OfCharge,
        _certificate,
    ),
)
