"""A dataset's statement: every charge; or only the latest ones, for which only new entries are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from duotone.html import aligned, cell, table
from duotone.ledger.allowances import Askers, Share, added_up, must_add_up
from duotone.ledger.entries import Body, State, at, decoded
from duotone.ledger.registration import Registered, load
from duotone.ledger.stores import Entries, Store
from duotone.ledger.stores.store import CHUNK, Scan
from duotone.ledger.sums import Taken
from duotone.model.answer import in_words, recorded_answer
from duotone.model.cost import Charge, Left, as_share
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.text import Definition, read_either
from duotone.words.budgets import part
from duotone.words.sentences import printable

HEAD = "charge", "when (UTC)", "who", "question", "cost", "answer"
"""The columns of a statement's table."""
MOST_SHOWN = 20
"""Most groups of one answer that are shown."""


@dataclass(frozen=True)
class ChargeRecord:
    """One charge of a statement: when, by whom, for what, and its answer; `answered` is False without one.

    `member` is the dataset that was asked about, if it is charged to this one.
    """

    charge: int
    at: datetime
    asker: str | None
    question: str
    privacy: Definition
    boundary: str
    answers: int
    again: bool
    answered: bool
    answer: Any
    state: State
    calls: int | None = None
    """How many of its answers were too close to call, or may have been; None for a definite answer."""
    member: str | None = None

    @property
    def cost(self) -> Charge:
        """What was paid for definite answers."""
        return Charge.read(self.privacy, self.boundary, self.answers)

    @property
    def in_words(self) -> tuple[tuple[Any, str], ...]:
        """Its answers in words, by group, if `ask` recorded them; with how sure each is."""
        return tuple((key, in_words(recorded, self.privacy, self.boundary)) for key, recorded in self._listed)

    @property
    def recorded(self) -> tuple[tuple[Any, str, dict[str, Any]], ...]:
        """The same as values: each answer as a word, and the numbers that say how sure it is, if recorded."""
        return tuple((key, *recorded_answer(recorded, self.privacy, self.boundary)) for key, recorded in self._listed)

    def document(self) -> dict[str, Any]:
        """Its answer as JSON: a word, or one per group; and how sure each is, if recorded. Values that `ask` did not
        record are unchanged."""
        if not (isinstance(self.answer, dict) and self.answer.keys() == {"answers", "private"}):
            return {"answer": self.answer}
        answers = [[key, said] for key, said, _ in self.recorded]
        one = len(answers) == 1 and answers[0][0] == []
        margins = [numbers for _, _, numbers in self.recorded if numbers]
        document = {"answer": answers[0][1] if one else answers, **({"margins": margins} if margins else {})}
        return document if self.answer["private"] else {**document, "private": False}

    @property
    def _listed(self) -> list[Any]:
        return (self.answer.get("answers") if isinstance(self.answer, dict) else None) or []

    @property
    def said(self) -> str:
        """Yes or no, and how sure; answers by group one per line, up to `MOST_SHOWN`; any other as JSON, cut if it is long."""
        match self.answer:
            case _ if not self.answered:
                return "none: wasted or under way"
            case bool():
                return "yes" if self.answer else "no"
            case {"answers": [[[], bool() | int() | str() | dict()]]}:
                warning = "" if self.answer.get("private", True) else " (NOT PRIVATE: test seed)"
                return printable(self.in_words[0][1]) + warning
            case {"answers": [[[_, *_], bool() | int() | str() | dict()], *_]}:
                every, more = self.in_words, len(self.in_words) - MOST_SHOWN
                lines = [f"{printable(', '.join(map(str, key)))}: {printable(said)}" for key, said in every[:MOST_SHOWN]]
                return "\n".join([*lines, *([f"and {more} more"] if more > 0 else [])])
        return f"{json.dumps(self.answer):.60}"

    @property
    def spent(self) -> Taken:
        """What the dataset had spent after this charge."""
        return self.state.spent

    @property
    def clear(self) -> int:
        """How many of its answers were clear, and free: 0 if every answer is charged, or without an answer."""
        if self.calls is None or not self.answered:
            return 0
        listed = self.answer.get("answers") if isinstance(self.answer, dict) else None
        return (len(listed) if isinstance(listed, list) else self.answers) - self.calls


@dataclass(frozen=True, repr=False)
class Statement:
    """A dataset's statement: its registration, its state, and every charge. A member's has the charges to it, and its
    population's registration and state, with what all members have spent. It prints as a table."""

    registered: Registered
    state: State
    charges: tuple[ChargeRecord, ...]
    shares: Mapping[str, Share] = field(default_factory=dict)
    """What each asker has spent and may spend, if there are allowances; `*` is everybody without their own."""
    since: datetime | None = None
    """When it was registered."""

    @property
    def spent(self) -> tuple[float, float]:
        """(ε, δ) of everything charged so far, by the dataset's account."""
        return self.registered.account.spent(self.state.spent)

    @property
    def left(self) -> Left:
        """What may still be spent."""
        return self.registered.left(self.state)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """A row of its table for each charge, under `HEAD`."""
        return [
            (
                str(one.charge),
                f"{one.at:%Y-%m-%d %H:%M:%S}",
                printable(one.asker or ""),
                self._asked(one),
                self._cost(one),
                one.said,
            )
            for one in self.charges
        ]

    def _asked(self, one: ChargeRecord) -> str:
        asked = f"{one.question} (again)" if one.again else one.question
        return printable(asked if one.member in (None, self.registered.name) else f"{one.member}: {asked}")

    def _cost(self, one: ChargeRecord) -> str:
        if one.calls is not None:
            return f"{one.calls} close call{'s' * (one.calls > 1)}" if one.calls else "free: clear"
        many = one.cost.numbers()["answers"]
        if not isinstance(one.privacy, ApproxDP):
            return part(as_share(self.registered.account.share(one.cost)))
        each = f"ε {one.privacy.epsilon:.4g}, δ {float(one.privacy.delta):.3g}"
        return (f"{many} answers together: {each}" if many > 1 else each) if one.answers == 1 else f"{one.answers} × ({each})"

    @property
    def _title(self) -> str:
        about = self.registered
        named = printable(f"{about.name}, version {about.version(self.state)}")
        if about.population is not None:
            named += f": charged to {printable(about.population)}, like every dataset of the same people"
        return f"{named}: {about.budget}; left: {self.left}"

    def __repr__(self) -> str:
        return "\n".join([self._title, *([aligned(HEAD, self.rows)] if self.charges else [])])

    def _repr_html_(self) -> str:
        return table(HEAD, [[*map(cell, row)] for row in self.rows], before=self._title)

    @property
    def clear(self) -> int:
        """How many answers were clear, and free, if close calls are counted."""
        return sum(charge.clear for charge in self.charges)


def statement(store: Store, dataset: str) -> Statement:
    """The dataset's whole statement.

    Guarantee: what was spent is recomputed from every charge, and equals what the last entry carries, which `ask`
    relies on.
    """
    with store.reading() as entries:
        charged = load(entries, dataset)[0].dataset  # or there is no such dataset
    rows = Scan(store, lambda entries: load(entries, dataset), charged)
    state, charges, answers, askers = State(), dict[int, tuple[Body, State]](), dict[int, Body](), Askers()
    since: datetime | None = None
    for row, body, state in added_up(rows, askers):
        if body["kind"] == "register":
            since = at(body)
        elif body["kind"] == "charge":
            charges[row.seq] = body, state
        elif body["kind"] == "answer":
            answers[body["charge"]] = body
    registered, carried = rows.end()
    must_add_up(charged, state, carried)
    about = {seq: both for seq, both in charges.items() if _is_about(registered, both[0])}
    listed = tuple(charge_record(seq, body, after, answers.get(seq)) for seq, (body, after) in about.items())
    return Statement(registered, state, listed, askers.shares() if state.allowances else {}, since)


def charge_record(seq: int, body: Body, state: State, answer: Body | None) -> ChargeRecord:
    """One charge of a statement, from its entry, the state after it, and the entry of its answer."""
    return ChargeRecord(
        charge=seq,
        at=at(body),
        asker=body.get("by"),
        question=body["question"],
        privacy=read_either(body["notion"]),
        boundary=body["boundary"],
        answers=body["answers"],
        again=bool(body["again"]),
        answered=answer is not None,
        answer=None if answer is None else deepcopy(answer["answer"]),
        state=state,
        calls=body.get("calls") if answer is None else answer.get("calls"),
        member=body.get("member"),
    )


def _is_about(registered: Registered, body: Body) -> bool:
    """Whether a charge is for the dataset that was looked up: to a population are charged all its members."""
    return registered.member is None or body.get("member") == registered.member.name


def latest_charges(entries: Entries, registered: Registered, many: int) -> list[ChargeRecord]:
    """The latest charges of a dataset, the last first, each with its answer; of a member, among the last thousand of
    its population.

    An answer follows its charge, so only entries after the first of these charges are read.
    """
    latest = entries.latest(many if registered.member is None else CHUNK, registered.dataset, "charge")
    charges = [row for row in latest if _is_about(registered, decoded(row))][:many]
    rows = entries.every(registered.dataset, "answer", after=charges[-1].seq) if charges else ()
    answers = {body["charge"]: body for body in map(decoded, rows)}
    bodies = ((row.seq, decoded(row)) for row in charges)
    return [charge_record(seq, body, State.of(body), answers.get(seq)) for seq, body in bodies]


class ClearAnswers:
    """How many answers of each dataset were clear, and free: counted once, and then continued."""

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int, str, int]] = {}
        """By dataset, the number and the hash of the last counted answer, and how many were clear."""

    def of(self, entries: Entries, dataset: str) -> int:
        """The present number. A ledger that was replaced is counted again."""
        after, digest, clear = self._counted.get(dataset, (0, "", 0))
        row = entries.at(after)
        if after and (row is None or row.hash != digest):
            after, digest, clear = 0, "", 0
        for row in entries.every(dataset, "answer", after=after):
            after, digest, answer = row.seq, row.hash, decoded(row)
            if "calls" in answer and (charge := entries.at(answer["charge"])) is not None:
                body = decoded(charge)
                clear += charge_record(charge.seq, body, State.of(body), answer).clear
        self._counted[dataset] = after, digest, clear
        return clear
