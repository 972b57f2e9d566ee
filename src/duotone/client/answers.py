"""Answers and previews from a service: like local ones, with their cost and a way to get a certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duotone.cached import cached_property
from duotone.desk.operations import Document
from duotone.errors import DuotoneError, ServiceError
from duotone.html import bar, cell, table
from duotone.line.groups import PrivateGroups
from duotone.line.mechanism import LineMechanism, on_line, partition_selection
from duotone.line.noise import Margin, Noise
from duotone.line.table import Outcome, line_table
from duotone.line.which import Which
from duotone.model.answer import SHOWN, Key, Released, word
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.renyi import RenyiDP
from duotone.privacy.text import Definition
from duotone.words import budgets
from duotone.words.sentences import brief, how_sure

NOTHING = 1e-12
"""Probabilities up to this are not shown."""
MADE_UP = "made-up rows: about nobody, and free"


@dataclass(frozen=True, repr=False)
class _Said:
    """A service's reply to a question about one of its datasets."""

    dataset: str
    document: Document

    @property
    def question(self) -> str:
        """The question."""
        return str(self.document.get("question") or "which groups may be shown")

    @property
    def ledger(self) -> Document:
        """Whether it is `free`, and what is `left` of the budget and of the `allowance`; for a preview, whether it
        `fits`."""
        return dict(self.document.get("ledger") or {})

    @property
    def terms(self) -> Document:
        """The budget and the options of the question."""
        return dict(self.document.get("terms") or {})

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the asker, one sentence each."""
        return tuple(self.document.get("notes") or ())

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notes that must not be missed."""
        return tuple(self.document.get("warnings") or ())

    @property
    def _small_print(self) -> list[str]:
        return [*filter(None, [self.document.get("person"), self.document.get("clipping")]), *self.notes]


@dataclass(frozen=True, repr=False, eq=False)
class RemoteAnswers(Released, _Said):
    """Released answers: by group if the question is grouped, else under the empty key.

    An answer is True or False; one of several words; where close calls are counted, an `Outcome`. `str` of it is the answer,
    or a line for each group. `bool` is the answer of a question without groups, which also equals True or "yes", False or "no".
    `certain`, `p_value`, `margin` and `at_least` say how sure it is; for groups, `margins` do. `document` is the
    service's whole reply.
    """

    answers: Mapping[Key, bool | str | Outcome]
    margins: Mapping[Key, Margin]
    estimates: Mapping[Key, int]
    sizes: Mapping[Key, int]
    labels: tuple[str, ...]
    """Labels of the group columns."""
    grouped: bool
    fetch: Callable[[str, int], Document]
    """Fetches the certificate of a dataset's charge."""

    @property
    def among(self) -> tuple[str, ...]:
        """The possible answers, if the question is which of several is true; else empty."""
        return tuple(self.document.get("among") or ())

    def __str__(self) -> str:
        return "\n".join([self.said, *(f"note: {note}" for note in self.warnings)])

    @property
    def said(self) -> str:
        """The answer in words, or a line for each group, without notes."""
        if not self.grouped:
            scope = f", {parts['scope']}" if (parts := self.document.get("by_parts")) else ""
            return f"{word(self.answer)}{scope}{self._warning}"
        return "\n".join(f"{', '.join(map(str, key))}: {said}{self._warning}" for key, said in self.words.items())

    def __repr__(self) -> str:
        words = [*self.words.values()]
        many = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words)) or "none"
        said = (
            ", ".join(filter(None, [self.said, self.how_sure]))
            if not self.grouped
            else f"{many} by {', '.join(self.labels)}"
            if self.labels
            else many
        )
        left = budgets.left(self.ledger["left"]) if "left" in self.ledger else "unchanged"
        notes = "".join(f"; note: {note}" for note in self.warnings)
        return f"<RemoteAnswers: {said}; {self.dataset}; left: {left}{notes}>"

    @property
    def how_sure(self) -> str:
        """How sure the answer is, in words; empty for groups, and if nothing is known."""
        return how_sure(self.document, self.document["unit"]) if "margin" in self.document else ""

    def _repr_html_(self) -> str:
        sure_of = {key: brief(margin.numbers()) for key, margin in self.margins.items()}
        rows = [[*map(cell, key), cell(said), cell(sure_of.get(key, ""))] for key, said in list(self.words.items())[:SHOWN]]
        said = [self.how_sure, *self._small_print] if self.how_sure else self._small_print
        if len(self.answers) > SHOWN:
            said.insert(0, f"{len(self.answers) - SHOWN} more groups")
        if "left" in self.ledger:
            said.append(f"{'free' if self.ledger.get('free') else 'charged'}; left: {budgets.left(self.ledger['left'])}")
        if self._warning:
            said.append(self._warning.strip(" ()"))
        return table((*self.labels, "answer", "how sure"), rows, before=self.question, after=said)

    @property
    def ledger(self) -> Document:
        """What it cost: `free`, the number of its `charge`, and what is `left` of the budget and of the `allowance`;
        empty for made-up rows."""
        return {} if self.made_up else super().ledger

    @property
    def private(self) -> bool:
        """Whether it was drawn with real randomness from real rows."""
        return bool(self.document.get("private")) and not self.made_up

    @property
    def has_margins(self) -> bool:
        """Whether its answers have margins; also true if no group is shown."""
        return "margins" in self.document or bool(self.margins)

    @property
    def has_sizes(self) -> bool:
        """Whether its groups have sizes; also true if no group is shown."""
        return "sizes" in self.document

    @property
    def made_up(self) -> bool:
        """Whether it is about made-up rows."""
        return bool(self.document.get("made_up"))

    def quote(self) -> str:
        """A sentence for a report: the question, the answers, and what a reader needs to judge them."""
        if self.made_up:
            raise DuotoneError("this answer cannot be quoted: it is about made-up rows")
        return str(self.document["quote"])

    def certificate(self) -> Document:
        """The proof of the mechanism behind each answer: see `duotone check`."""
        if self.made_up:
            raise DuotoneError("this answer has no certificate: it is about made-up rows")
        return self.fetch(self.dataset, int(self.document["charge"]))

    @property
    def _warning(self) -> str:
        return f" ({MADE_UP})" if self.made_up else "" if self.private else " (NOT PRIVATE: test seed)"


@dataclass(frozen=True, repr=False)
class RemotePreview(_Said):
    """How accurate an answer would be, and its price. `document` is the service's whole reply."""

    def __repr__(self) -> str:
        return f"<RemotePreview: {self.question} of {self.dataset}; {self.price}>"

    def _repr_html_(self) -> str:
        what = "Pr[too close to call]" if self.close_calls else "Pr[wrong]"
        rows = [(cell(margin), bar(chance)) for margin, chance in self.by_margin.items() if chance > NOTHING]
        said = [self.price, *self._small_print]
        if math.isfinite(self.certain):
            said.insert(0, f"never wrong from {self.certain:g} people on")
        return table(("people from flipping", what), rows, before=f"{self.question} of {self.dataset}", after=said)

    @property
    def close_calls(self) -> bool:
        """Whether the answer may be too close to call, and only that is charged."""
        return "question_privacy" in self.document

    @property
    def by_margin(self) -> dict[int, float]:
        """By how many people would flip the answer: how often it is wrong; of close calls, how often it is too
        close."""
        key = "too_close_by_margin" if self.close_calls else "error_by_margin"
        return {int(margin): float(chance) for margin, chance in self.document[key].items()}

    @property
    def certain(self) -> float:
        """The margin from which an answer is never wrong; infinite if there is none."""
        least = self.document.get("certain_from")
        return math.inf if least is None else float(least)

    def error(self, margin: int) -> float:
        """Pr[wrong] when this many people, at least 1, would have to join, leave or change to flip the answer."""
        return max(self.errors(margin))

    def errors(self, margin: int) -> tuple[float, float]:
        """Pr[false no] and Pr[false yes] at a margin: the same, unless one mistake costs more."""
        if type(margin) is not int or not margin >= 1:
            raise DuotoneError(f"a margin is a whole number of people, at least 1: the one who flips the answer; got {margin}")
        if self.close_calls:
            return (float(self.document["wrong"]),) * 2
        return float(self._mechanism.error(margin - 1)), float(self._mechanism.error(-margin))

    @cached_property
    def _mechanism(self) -> LineMechanism | Which:
        """The mechanism of one answer: the optimum for its share of the budget."""
        return mechanism_of(self.document)

    @property
    def fits(self) -> bool:
        """Whether the budget covers it, or it is free."""
        return bool(self.ledger.get("free") or self.ledger.get("fits"))

    @property
    def price(self) -> str:
        """What it would cost, and what would be left, in a line."""
        ledger = self.ledger
        if ledger.get("free"):
            return "free, as recorded"
        after = budgets.left(ledger["left"])
        price = f"price: {budgets.price(ledger['price'])}; " if "price" in ledger else ""
        return f"{price}it fits; left after it: {after}" if ledger.get("fits") else f"{price}it does NOT fit; left: {after}"

    @property
    def in_units(self) -> Any:
        """How far the compared value must be from its limit, in its own units; needs a guess of `people`."""
        return self.document.get("in_units")


@dataclass(frozen=True)
class Waiting:
    """A question that somebody must approve first: `needs` says who. After that, `ask(dataset, request=…)` asks it."""

    request: int
    dataset: str
    needs: str
    state: str = "waiting"

    def __str__(self) -> str:
        return f"request {self.request} about {self.dataset} waits for {self.needs}"

    def __bool__(self) -> bool:
        raise DuotoneError(f"there is no answer yet: {self}")


def mechanism_of(document: Document) -> LineMechanism | Which:
    """The mechanism of one answer: the optimum for its share of the budget."""
    share = document["share"]
    if "order" in share:
        privacy: Definition = RenyiDP(share["order"], share["price"], share["delta"])
    else:
        privacy = ApproxDP.from_exp_epsilon(share["exp_epsilon"], share["delta"])
    if "among" in document:
        return Which(privacy, len(document["among"]), document["ordered"])
    return on_line(privacy, document.get("boundary", "balanced"))


def read_reply(document: Document, dataset: str, fetch: Callable[[str, int], Document]) -> RemoteAnswers | Waiting:
    """Read a service's reply to a question."""
    try:
        if "request" in document and "answer" not in document and "answers" not in document and "groups" not in document:
            return Waiting(int(document["request"]), dataset, str(document.get("needs", "another person")), document["state"])
        if "groups" in document:
            rows = [{**key, "answer": "yes"} for key in document["groups"]]
        else:
            rows = document["answers"] if "answers" in document else [{"answer": document["answer"]}]
        calls = "question_privacy" in document
        among = document.get("among") or ()
        answers = {tuple(row.values())[:-1]: _answer(row["answer"], calls, among) for row in rows}
        labels = tuple(rows[0])[:-1] if rows else tuple(document.get("by") or ())
        sure = document.get("margins", [document] if "margin" in document else [])
        noise = _noise_of(document) if sure else None
        margins = {key: Margin(int(own["margin"]), noise) for key, own in zip(answers, sure, strict=False) if noise is not None}
        estimates = {key: int(own["estimate"]) for key, own in zip(answers, sure, strict=False) if "estimate" in own}
        sizes = dict(zip(answers, map(int, document.get("sizes") or ()), strict=False))
        return RemoteAnswers(dataset, document, answers, margins, estimates, sizes, labels, "answer" not in document, fetch)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ServiceError("the service sent an answer that this version cannot read: are both up to date?") from None


def _noise_of(document: Document) -> Noise:
    """The noise of an answer's margins."""
    mechanism, private = mechanism_of(document), document.get("private_groups")
    if isinstance(mechanism, Which):
        raise ValueError
    if private is None:
        return line_table(mechanism).noise
    if "limit" not in private:
        return line_table(mechanism).of_groups().noise
    groups = PrivateGroups(line_table(partition_selection(mechanism.privacy)).unclipped())
    return groups.noise_of_limit(above=bool(private["limit"]["above"]))


def _answer(word: str, calls: bool, among: Sequence[str]) -> bool | str | Outcome:
    if among:
        return among[among.index(word)]
    outcome = Outcome(word)
    return outcome if calls else bool(outcome)
