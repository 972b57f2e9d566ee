"""Accounts: how a dataset was registered, what was charged to it, and what an answer cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from duotone.budget import Rule, Tally, read
from duotone.chain import Body, State
from duotone.errors import DuotoneError, LedgerError
from duotone.plan import rule_of
from duotone.privacy import ApproxDP
from duotone.stores import Pages


@dataclass(frozen=True)
class Receipt:
    """An answer with what it cost: `free` if it was recorded before, `charge` the entry that paid for it.

    `unanswered` counts the dataset's other charges without an answer: wasted by a crash, or under way elsewhere.
    """

    answer: Any
    free: bool
    charge: int
    left: str
    unanswered: int


@dataclass(frozen=True)
class Registered:
    """A dataset as it was registered. What is asked later must have the same unit and neighbours."""

    dataset: str
    budget: ApproxDP
    unit: str
    neighbours: str
    rule: Rule

    def check(self, unit: str, neighbours: str) -> None:
        """Refuse a question about other units or neighbours."""
        for name, had, given in (("unit", self.unit, unit), ("neighbours", self.neighbours, neighbours)):
            if had != given:
                raise DuotoneError(f"{self.dataset} is registered with {name} {had}, and the question has {given}")


@dataclass(frozen=True)
class Charge:
    """One charge of a statement: when, by whom, for what, and its answer; `answered` is False where there is none."""

    seq: int
    at: datetime
    by: str | None
    question: str
    notion: ApproxDP
    answers: int
    again: bool
    answered: bool
    answer: Any
    tally: Tally


@dataclass(frozen=True)
class Statement:
    """A dataset's account: how it was registered, how it stands, and every charge."""

    registered: Registered
    state: State
    charges: tuple[Charge, ...]

    @property
    def spent(self) -> tuple[float, float]:
        """(ε, δ) of everything charged so far, by the dataset's rule."""
        return self.registered.rule.spent(self.state.notions)

    @property
    def left(self) -> str:
        """What may still be spent."""
        return self.registered.rule.left(self.state.notions)


def book(pages: Pages, dataset: str) -> tuple[Registered, State]:
    """A dataset as it was registered, and as its last entry left it."""
    row, last = pages.last(dataset, "register"), pages.last(dataset)
    if row is None or last is None:
        raise LedgerError(f"there is no dataset {dataset} in this ledger: register it first")
    body = json.loads(row.body)
    budget = read(body["budget"])
    return Registered(dataset, budget, body["unit"], body["neighbours"], rule_of(budget, body)), State.of(last)


def statement(pages: Pages, dataset: str) -> Statement:
    """The dataset's whole account."""
    registered, state = book(pages, dataset)
    bodies = {row.seq: json.loads(row.body) for row in pages.rows() if row.dataset == dataset}
    answers = {body["charge"]: body for body in bodies.values() if body["kind"] == "answer"}
    charges = (_charge(seq, body, answers.get(seq)) for seq, body in bodies.items() if body["kind"] == "charge")
    return Statement(registered, state, tuple(charges))


def _charge(seq: int, body: Body, answer: Body | None) -> Charge:
    return Charge(
        seq=seq,
        at=datetime.fromisoformat(body["at"]),
        by=body.get("by"),
        question=body["question"],
        notion=read(body["notion"]),
        answers=body["answers"],
        again=body["again"],
        answered=answer is not None,
        answer=None if answer is None else answer["answer"],
        tally=State(**body["after"]).notions,
    )
