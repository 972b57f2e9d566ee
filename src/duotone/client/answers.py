"""Answers from a service: like the local ones, with what it cost and how to get its certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from duotone.desk.operations import Document
from duotone.errors import DuotoneError, ServiceError
from duotone.html import cell, table
from duotone.line.table import Outcome
from duotone.model.answer import SHOWN, Key, arrow_table, word
from duotone.words import budgets

MADE_UP = "made-up rows: about nobody, and free"


@dataclass(frozen=True, repr=False)
class RemoteAnswers:
    """Released answers: by group where the question is grouped, else under the empty key.

    An answer is True or False; where close calls are counted, an `Outcome`. `str` of it is yes or no, or a line for each group;
    `bool` the answer of a question without groups, which is also `== True` or `== False`. `document` is all that the service
    said.
    """

    answers: Mapping[Key, bool | Outcome]
    labels: tuple[str, ...]
    """What the question calls that which it is grouped by."""
    grouped: bool
    dataset: str
    document: Document = field(repr=False)
    fetch: Callable[[int], Document] = field(repr=False, compare=False)
    """Gets the certificate of a charge."""

    def __bool__(self) -> bool:
        return bool(self.outcome)

    def __eq__(self, other: object) -> bool:
        """Equal to True or False as its answer is, and to neither if it is too close to call."""
        if isinstance(other, bool | np.bool_):
            return self.outcome is not Outcome.TOO_CLOSE and bool(self) == bool(other)
        return self.document == other.document if isinstance(other, RemoteAnswers) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # what the service said is in a dict

    def __str__(self) -> str:
        if not self.grouped:
            return f"{word(self.outcome)}{self._warning}"
        return "\n".join(f"{', '.join(map(str, key))}: {word(one)}{self._warning}" for key, one in self.answers.items())

    def __repr__(self) -> str:
        words = [word(answer) for answer in self.answers.values()]
        many = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words)) or "none"
        said = str(self) if not self.grouped else f"{many} by {', '.join(self.labels)}" if self.labels else many
        left = budgets.left(self.ledger["left"]) if "left" in self.ledger else "unchanged"
        return f"<RemoteAnswers: {said}; {self.dataset}; left: {left}>"

    def _repr_html_(self) -> str:
        rows = [[*map(cell, key), cell(word(answer))] for key, answer in list(self.answers.items())[:SHOWN]]
        said = [*filter(None, [self.document.get("person"), self.document.get("clipping")]), *self.notes]
        if len(self.answers) > SHOWN:
            said.insert(0, f"{len(self.answers) - SHOWN} more groups")
        if "left" in self.ledger:
            said.append(f"{'free' if self.ledger.get('free') else 'charged'}; left: {budgets.left(self.ledger['left'])}")
        if self._warning:
            said.append(self._warning.strip(" ()"))
        return table((*self.labels, "answer"), rows, before=self.question, after=said)

    @property
    def outcome(self) -> bool | Outcome:
        """The answer of a question without groups."""
        if self.grouped:
            raise DuotoneError("a grouped question has many answers: look at .answers")
        return self.answers[()]

    @property
    def question(self) -> str:
        """What was asked."""
        return str(self.document.get("question") or "which groups may be shown")

    @property
    def ledger(self) -> Document:
        """What it cost: `free`, the number of its `charge`, and what is `left` of the budget and of the `allowance`; nothing of
        made-up rows."""
        return {} if self.made_up else dict(self.document.get("ledger") or {})

    @property
    def terms(self) -> Document:
        """The budget and the options that it was asked with."""
        return dict(self.document.get("terms") or {})

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever reads the answer should know: each a sentence."""
        return tuple(self.document.get("notes") or ())

    @property
    def private(self) -> bool:
        """Whether it was drawn with real randomness, of real rows."""
        return bool(self.document.get("private")) and not self.made_up

    @property
    def made_up(self) -> bool:
        """Whether it is about made-up rows."""
        return bool(self.document.get("made_up"))

    def quote(self) -> str:
        """A sentence for a report: the question, the answers, and what a reader needs to judge them."""
        if self.made_up:
            raise DuotoneError("this is no answer to quote: it is about made-up rows")
        return str(self.document["quote"])

    def certificate(self) -> Document:
        """What proves the mechanism behind each answer: see `duotone check`."""
        if self.made_up:
            raise DuotoneError("what was not charged has no certificate: this is about made-up rows")
        return self.fetch(int(self.document["charge"]))

    def to_arrow(self) -> Any:
        """A table with the columns that the question is grouped by, as it calls them, and `answer`: a Boolean, or yes, no or
        too close to call."""
        definite = not any(isinstance(answer, Outcome) for answer in self.answers.values())
        return arrow_table(self.answers, self.labels, definite=definite)

    def to_pandas(self) -> Any:
        """The same as a data frame of pandas."""
        return self.to_arrow().to_pandas()

    @property
    def _warning(self) -> str:
        return f" ({MADE_UP})" if self.made_up else "" if self.private else " (NOT PRIVATE: test seed)"


@dataclass(frozen=True)
class Waiting:
    """A question that somebody must approve first: `needs` says who. Once they have, `ask(dataset, request=…)` asks it."""

    request: int
    dataset: str
    needs: str
    state: str = "waiting"

    def __str__(self) -> str:
        return f"request {self.request} about {self.dataset} waits for {self.needs}"

    def __bool__(self) -> bool:
        raise DuotoneError(f"there is no answer yet: {self}")


def read_reply(document: Document, dataset: str, fetch: Callable[[int], Document]) -> RemoteAnswers | Waiting:
    """What a service said to a question."""
    try:
        if "request" in document and "answer" not in document and "answers" not in document and "groups" not in document:
            return Waiting(int(document["request"]), dataset, str(document.get("needs", "another person")), document["state"])
        if "groups" in document:
            rows = [{**key, "answer": "yes"} for key in document["groups"]]
        else:
            rows = document["answers"] if "answers" in document else [{"answer": document["answer"]}]
        calls = "question_privacy" in document
        answers = {tuple(row.values())[:-1]: _answer(row["answer"], calls) for row in rows}
        labels = tuple(rows[0])[:-1] if rows else tuple(document.get("by") or ())
        return RemoteAnswers(answers, labels, "answer" not in document, dataset, document, fetch)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ServiceError("the service sent an answer that this version cannot read: are both up to date?") from None


def _answer(word: str, calls: bool) -> bool | Outcome:
    outcome = Outcome(word)
    return outcome if calls else bool(outcome)
