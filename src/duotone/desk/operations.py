"""Operations: everything that can be done at an office, each declared once.

HTTP and its description, the Python client and the assistant's tools are made from this list: method, path, parameters,
who may, what it returns, and what an assistant reads about it. A desk carries operations out; a connection to a service
is another way to call them.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from duotone.desk.callers import Caller, Refused, Role
from duotone.desk.terms import AssistantAllowance, Decision, Sent, Terms, Version

Document = dict[str, Any]
OfficeCall = Callable[..., Awaitable[Document]]
"""An office as one person sees it: call it with an operation's name and parameters, get a document."""
SQL = (
    "Answers are yes or no (or, where close calls are counted, too close to call), or one of several words, and randomised:"
    " each may be wrong with a probability that is known beforehand."
)
SURE = (
    "An answer says how sure it is. certain: no noise could have turned it. p_value: how often, at most, an answer as clear"
    " would come up if the truth were the other one; this is not the probability that the answer is wrong. distance: about how"
    " many people would have to be different to flip the truth, or more if capped; give_or_take. at_least: that many at least,"
    " by confidence (0 says nothing). margin: the noisy distance that all this follows from. Answers by group have these in"
    " margins, in their order. They are public and cost nothing more; where answers may be too close to call, or are one of"
    " several (among), they are not there."
)


@dataclass(frozen=True)
class Tool:
    """An operation as an assistant's tool: its name, and its description for the assistant. `terms` are the terms that
    a question may carry."""

    name: str
    title: str
    description: str
    terms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operation:
    """One operation. A desk and a connection call it by `name`."""

    name: str
    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    """The path below /api, with parameters in braces: the `dataset`, or a number."""
    summary: str
    about: str
    """A sentence with the same meaning."""
    takes: type[Sent] | None = None
    """What a request carries; a model with a single field is sent as that field's value."""
    roles: tuple[Role, ...] = ()
    """The roles that may; empty means everybody."""
    refusal: str = ""
    """The refusal for others, if it is not that this is for the roles of a dataset."""
    persons_own: str = ""
    """The refusal for an assistant, if it may not."""
    reads_only: bool = True
    """Whether it changes nothing."""
    gives: Literal["json", "csv"] = "json"
    may_wait: bool = False
    """Whether the reply may be a request that waits for approval."""
    tool: Tool | None = None

    @property
    def places(self) -> list[str]:
        """The names of the path's parameters, in order."""
        return re.findall(r"{(\w+)}", self.path)

    def require(self, caller: Caller) -> None:
        """Refuse callers who may not."""
        if self.roles and caller.person.role not in self.roles:
            raise Refused("not allowed", self.refusal or f"this is for the {' and the '.join(self.roles)} of a dataset")
        if self.persons_own and caller.assistant:
            raise Refused("not allowed", self.persons_own)

    def given(self, sent: Sent) -> Any:
        """The arguments for a desk, from what was sent."""
        return getattr(sent, self._only) if self._only is not None else sent

    def body(self, given: Any) -> Any:
        """The reverse: the body to send for the arguments of a connection."""
        return {self._only: given} if self._only is not None else given

    @property
    def _only(self) -> str | None:
        fields = [] if self.takes is None else list(self.takes.model_fields)
        return fields[0] if len(fields) == 1 else None


QUESTION = (
    "question",
    "by",
    "epsilon",
    "delta",
    "wrong",
    "people",
    "one_of",
    "price",
    "max_groups",
    "at_least",
    "costs",
    "margins",
    "groups",
    "parts",
    "again",
)
SESSIONS = "sessions are listed and ended by an owner, and not by an assistant"
LIST = (
    Operation("me", "GET", "/me",
        "Who you are", "Name and role."),
    Operation("datasets", "GET", "/datasets",
        "What may be asked about", "Columns, kinds and declared bounds, budgets and what is left: nothing from rows.",
        tool=Tool("list_datasets", "Datasets",
            "The datasets that may be asked about: their columns with declared bounds and groups, who counts as a"
            " person, the privacy budget and what is left of it. Nothing here comes from rows. Start with this.")),
    Operation("dataset", "GET", "/datasets/{dataset}",
        "One dataset", "One entry of the list."),
    Operation("preview", "POST", "/datasets/{dataset}/preview",
        "How accurate an answer would be, and what it costs",
        "By how many people would have to be different to flip it: how often it is wrong (error_by_margin), and how often it is"
        " certain (certain_by_margin). Nothing is read or spent.", Terms,
        tool=Tool("preview_question", "Preview a question",
            "How accurate the answer to a question would be, by how many people would have to be different to change"
            " it: how often it is wrong, and how often certain; and what it would cost."
            f" Nothing is read or spent, and nothing is kept. {SQL}",
            QUESTION)),
    Operation("plan", "POST", "/datasets/{dataset}/plan",
        "A question with its price, to be approved", "Ask it later by the number of the request.", Terms, ("analyst",),
        reads_only=False,
        tool=Tool("plan_question", "Plan a question",
            "Put a question with its price before your person, and get a plan number. Nothing of the privacy budget is"
            " spent. The plan waits for approval, unless it fits the allowance that your person set beforehand: then it"
            " is approved at once, and its price is taken from that allowance. Preview first, and plan only what your"
            " person wants to know.",
            (*QUESTION, "purpose"))),
    Operation("ask", "POST", "/datasets/{dataset}/ask",
        "Ask", f"The answer leaves at a tick of the service's clock, as errors do. {SURE}", Terms, ("analyst",),
        reads_only=False, may_wait=True,
        tool=Tool("ask_planned", "Ask an approved plan",
            "Ask the question of a plan that is approved. This spends the privacy budget, which never comes back. The"
            " answer takes seconds to minutes: it leaves at a public time. A plan that is not approved is refused, with"
            f" how your person approves it. {SQL} {SURE} Report an answer by its quote.")),
    Operation("history", "GET", "/datasets/{dataset}/history",
        "What was asked",
        "The latest charges. The asker and the owner also see the answers and how sure each was (margins).",
        tool=Tool("history", "History",
            "What was asked of a dataset, by whom and at which price, with your person's own answers and how sure each was. To"
            " ask the same question again at the same price is free.")),
    Operation("budget", "GET", "/datasets/{dataset}/budget",
        "What is left", "Spent, remaining, wasted; and the total over earlier versions of the people.",
        tool=Tool("budget_left", "Budget",
            "What is spent of a dataset's privacy budget and what is left, also of your person's own allowance.")),
    Operation("certificate", "GET", "/datasets/{dataset}/certificates/{charge}",
        "The proof of an answer's mechanism", "For duotone check, or the independent checker.",
        tool=Tool("certificate", "Certificate",
            "The proof that the mechanism behind a charge is private and optimal, which anybody can check.")),
    Operation("made_up", "GET", "/datasets/{dataset}/made-up",
        "Made-up rows", "A CSV file with the dataset's columns, made from public facts alone.", gives="csv"),
    Operation("assistant_allowance", "GET", "/datasets/{dataset}/assistant",
        "What your assistant may still ask by itself",
        "Sums of ε and δ, or a share of the budget; and questions that may be close calls.", roles=("analyst",)),
    Operation("allow_assistant", "PUT", "/datasets/{dataset}/assistant",
        "Set what your assistant may ask by itself", "From now on, in all; an assistant cannot change it.",
        AssistantAllowance, ("analyst",), persons_own="an assistant cannot change its own allowance: its person does",
        reads_only=False),
    Operation("requests", "GET", "/requests",
        "Requests that wait, or were decided",
        "Your own, and those that you may decide; each with its price, and how accurate its answer would be.",
        tool=Tool("list_plans", "Plans",
            "The plans so far with their state: waiting, approved, refused or used.")),
    Operation("request", "GET", "/requests/{request}",
        "A request, with the preview that its asker sees",
        "How accurate the answer would be, what it would say, its price, and what is left after it: to be read before it is"
        " approved. The preview is null once it was asked or refused."),
    Operation("decide", "POST", "/requests/{request}",
        "Approve or refuse a request", "Of your own assistant, or of another person: nobody approves their own question.",
        Decision, reads_only=False),
    Operation("relabel", "POST", "/datasets/{dataset}/version",
        "Say that the data has changed", "For owners. Every question is then a new one; the budget is what it was.", Version,
        ("owner",), persons_own="an assistant cannot give the data a new version: its person does", reads_only=False),
    Operation("verify", "GET", "/datasets/{dataset}/ledger",
        "Verify the ledger", "For owners and auditors: whether any entry was edited, removed or moved.",
        roles=("owner", "auditor")),
    Operation("sessions", "GET", "/sessions",
        "Sessions of browsers", "For owners: whose they are, when they began, were last used, and when they end.",
        roles=("owner",), refusal=SESSIONS, persons_own=SESSIONS),
    Operation("end_session", "DELETE", "/sessions/{session}",
        "End a session", "For owners: its browser has to log in again.", roles=("owner",), refusal=SESSIONS,
        persons_own=SESSIONS, reads_only=False),
    Operation("overview", "GET", "/office",
        "For the owner", "People, late answers, and how often an engine failed.", roles=("owner",)),
)  # fmt: skip
OPERATIONS = {operation.name: operation for operation in LIST}
