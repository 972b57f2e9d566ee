"""Accounts: how a dataset was registered, what was charged to it, and what an answer cost."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from duotone.errors import DuotoneError, LedgerError
from duotone.ledger.allowances import Askers, Share, added_up, must_add_up
from duotone.ledger.close_calls import CloseCalls, beside, most_close_calls
from duotone.ledger.entries import Body, State, at, dated, intact, is_label, label
from duotone.ledger.planned_composition import choose, filter_of
from duotone.ledger.privacy_filters import PrivacyFilter, RuleName, short, write
from duotone.ledger.stores import Entries, Store
from duotone.ledger.stores.store import Scan
from duotone.ledger.sums import Spent
from duotone.line.mechanism import Boundary, on_line
from duotone.line.table import reach
from duotone.line.three_way import ThreeWay, three_way_table
from duotone.model.cost import Left, boundary_text
from duotone.model.notice import Refusal
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.text import read_definition

NEIGHBOURS = ("add-remove", "replace")


@dataclass(frozen=True)
class Registered:
    """A dataset as it was registered. What is asked later must have the same unit and neighbours."""

    dataset: str
    budget: ApproxDP
    unit: str
    neighbours: str
    privacy_filter: PrivacyFilter
    close_calls: CloseCalls | None = None
    """How questions are asked that may be too close to call, where they may be; `budget` is what is set aside beside that, for
    answers that are definite."""

    def written(self) -> dict[str, Any]:
        """As an entry carries it."""
        about = {"dataset": self.dataset, "unit": self.unit, "neighbours": self.neighbours}
        called = {} if self.close_calls is None else {"close_calls": self.close_calls.written()}
        return {**about, "budget": write(self.budget), **self.privacy_filter.written(), **called}

    def fits(self, state: State) -> bool:
        """Whether no more is spent, and no more close calls are taken, than there were."""
        called = self.close_calls is None or (state.calls is not None and state.calls.taken <= self.close_calls.count)
        return called and self.privacy_filter.fits(state.spent)

    def left(self, state: State) -> Left:
        """What may still be spent."""
        definite = self.privacy_filter.left(state.spent)
        if self.close_calls is None or state.calls is None:
            return definite
        aside = Left() if self.budget == ApproxDP(0) else definite
        return replace(aside, close_calls=self.close_calls.count - state.calls.taken, reserved=state.calls.reserved)

    def check(self, unit: str, neighbours: str) -> None:
        """Refuse a question about other units or neighbours."""
        for name, registered, asked in (("unit", self.unit, unit), ("neighbours", self.neighbours, neighbours)):
            about = {"dataset": self.dataset, "registered": registered, "asked": asked}
            if registered != asked and name == "unit" and asked == "row":
                raise Refusal("unit differs", **about)
            if registered != asked:
                raise Refusal("registration differs", what=name, **about)


@dataclass(frozen=True)
class ChargeRecord:
    """One charge of a statement: when, by whom, for what, and its answer; `answered` is False where there is none."""

    seq: int
    at: datetime
    by: str | None
    question: str
    privacy: ApproxDP
    answers: int
    again: bool
    answered: bool
    answer: Any
    state: State
    calls: int | None = None
    """How many of its answers were too close to call, or may have been; None where it was charged as a definite answer."""

    @property
    def spent(self) -> Spent:
        """What the dataset had spent after this charge."""
        return self.state.spent

    @property
    def clear(self) -> int:
        """How many of its answers were clear, and free: none where every answer is charged, or it has none."""
        if self.calls is None or not self.answered:
            return 0
        listed = self.answer.get("answers") if isinstance(self.answer, dict) else None
        return (len(listed) if isinstance(listed, list) else self.answers) - self.calls


@dataclass(frozen=True)
class Statement:
    """A dataset's account: how it was registered, how it stands, and every charge."""

    registered: Registered
    state: State
    charges: tuple[ChargeRecord, ...]
    shares: Mapping[str, Share] = field(default_factory=dict)
    """What each asker has spent and may spend, where there are allowances; under `*`, whoever has none of their own."""
    since: datetime | None = None
    """When it was registered."""

    @property
    def spent(self) -> tuple[float, float]:
        """(ε, δ) of everything charged so far, by the dataset's privacy filter."""
        return self.registered.privacy_filter.spent(self.state.spent)

    @property
    def left(self) -> Left:
        """What may still be spent."""
        return self.registered.left(self.state)

    @property
    def clear(self) -> int:
        """How many answers were clear, and free, where close calls are counted."""
        return sum(charge.clear for charge in self.charges)


def registration(
    dataset: str,
    budget: ApproxDP,
    unit: str,
    neighbours: str,
    rule: RuleName,
    answers_at: ApproxDP | None,
    boundaries: tuple[Boundary, ...],
    close_calls: ThreeWay | None = None,
    definite: ApproxDP | None = None,
) -> Registered:
    """A dataset to be registered, with the privacy filter that its rule chooses; anything else is an error."""
    if neighbours not in NEIGHBOURS:
        raise DuotoneError(f"neighbours are add-remove or replace, got {neighbours}")
    if not isinstance(budget, ApproxDP):
        raise DuotoneError("a budget is an ApproxDP")
    if close_calls is None and definite is not None:
        raise DuotoneError("a part for definite answers is set aside from the budget of close calls: say how these are asked")
    called = None
    if close_calls is not None and definite is None and (rule, answers_at) != ("sum", None):
        raise DuotoneError("a rule is for definite answers: set a part of the budget aside for these, or leave the rule out")
    if close_calls is not None:
        called = most_close_calls(beside(budget, definite), close_calls)
        three_way_table(close_calls)  # refuses an epsilon at which nothing could be asked
        budget = definite or ApproxDP(0)
    budget = read_definition(write(budget))
    short("+".join(map(boundary_text, boundaries)), "what a plan fixes at the boundary")
    chosen = choose(budget, rule, answers_at, boundaries)
    if answers_at is not None:
        for boundary in boundaries or ("balanced",):
            reach(on_line(answers_at, boundary))  # the same of a plan's answers
    return Registered(label(dataset, "dataset"), budget, label(unit, "unit"), neighbours, chosen, called)


def load(entries: Entries, dataset: str) -> tuple[Registered, State]:
    """A dataset as it was registered, and as its last entry left it."""
    first, last = (entries.last(dataset, "register"), entries.last(dataset)) if is_label(dataset) else (None, None)
    if first is None or last is None:
        others = names(entries)[:10]
        known = f"it has {', '.join(others)}: name one of these, or register a new one" if others else "register it first"
        raise LedgerError(f"there is no dataset {dataset!s:.200} in this ledger; {known}")
    body = intact(entries, first)
    budget = read_definition(body["budget"])
    called = CloseCalls.read(body["close_calls"]) if "close_calls" in body else None
    registered = Registered(dataset, budget, body["unit"], body["neighbours"], filter_of(budget, body), called)
    return registered, State.of(intact(entries, last))


def latest_time(entries: Entries) -> datetime | None:
    """The time of the last entry that has one: an entry of another dataset that is damaged must not be in the way."""
    row = entries.last()
    while row is not None and (time := dated(row)) is None:
        row = entries.at(row.seq - 1)
    return None if row is None else time


def names(entries: Entries) -> list[str]:
    """Every dataset, in the order of registration; looked up by the index, one step for each."""
    datasets: list[str] = []
    name: Any = ""
    while (name := entries.execute("SELECT min(dataset) FROM duotone_entries WHERE dataset > ?", (name,))[0][0]) is not None:
        datasets.append(name)
    firsts = [(entries.last(dataset, "register"), dataset) for dataset in datasets]
    if any(row is None or not isinstance(dataset, str) for row, dataset in firsts):
        raise LedgerError("an entry of the ledger belongs to no dataset that is registered: run verify")
    return [dataset for _, dataset in sorted((row.seq, dataset) for row, dataset in firsts if row is not None)]


def statement(store: Store, dataset: str) -> Statement:
    """The dataset's whole account.

    Guarantee: what was spent is added up from every charge, and is what the last entry carries, which `ask` goes by.
    """
    with store.reading() as entries:
        load(entries, dataset)  # or there is no such dataset
    rows = Scan(store, lambda entries: load(entries, dataset), dataset)
    state, charged, answers, askers = State(), dict[int, tuple[Body, State]](), dict[int, Body](), Askers()
    since: datetime | None = None
    for row, body, state in added_up(rows, askers):
        if body["kind"] == "register":
            since = at(body)
        elif body["kind"] == "charge":
            charged[row.seq] = body, state
        elif body["kind"] == "answer":
            answers[body["charge"]] = body
    registered, carried = rows.end()
    must_add_up(dataset, state, carried)
    charges = (charge_record(seq, body, after, answers.get(seq)) for seq, (body, after) in charged.items())
    return Statement(registered, state, tuple(charges), askers.shares() if state.allowances else {}, since)


def charge_record(seq: int, body: Body, state: State, answer: Body | None) -> ChargeRecord:
    """One charge of a statement, from its entry, the state after it, and the entry of its answer."""
    return ChargeRecord(
        seq=seq,
        at=at(body),
        by=body.get("by"),
        question=body["question"],
        privacy=read_definition(body["notion"]),
        answers=body["answers"],
        again=bool(body["again"]),
        answered=answer is not None,
        answer=None if answer is None else deepcopy(answer["answer"]),
        state=state,
        calls=body.get("calls") if answer is None else answer.get("calls"),
    )
