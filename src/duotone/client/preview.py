"""Preview from a service: how accurate an answer would be and what it would cost; nothing is read or spent."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from duotone.cached import cached_property
from duotone.desk.operations import Document
from duotone.errors import DuotoneError
from duotone.html import bar, cell, table
from duotone.line.mechanism import LineMechanism, on_line
from duotone.privacy.approx_dp import ApproxDP
from duotone.words import budgets

NOTHING = 1e-12
"""Probabilities up to this are not shown."""


@dataclass(frozen=True, repr=False)
class RemotePreview:
    """How accurate an answer would be, and its price. `document` is all that the service said."""

    dataset: str
    document: Document = field(repr=False)

    def __repr__(self) -> str:
        return f"<RemotePreview: {self.question} of {self.dataset}; {self.price}>"

    def _repr_html_(self) -> str:
        what = "Pr[too close to call]" if self.close_calls else "Pr[wrong]"
        rows = [(cell(margin), bar(chance)) for margin, chance in self.by_margin.items() if chance > NOTHING]
        said = [*filter(None, [self.price, self.document.get("person"), self.document.get("clipping")]), *self.notes]
        if math.isfinite(self.certain):
            said.insert(0, f"never wrong from {self.certain:g} people on")
        return table(("people from flipping", what), rows, before=f"{self.question} of {self.dataset}", after=said)

    @property
    def question(self) -> str:
        """What would be asked."""
        return str(self.document.get("question") or "which groups may be shown")

    @property
    def close_calls(self) -> bool:
        """Whether the answer may be too close to call, and only that is charged."""
        return "question_privacy" in self.document

    @property
    def by_margin(self) -> dict[int, float]:
        """By how many people would flip the answer: how often it is wrong; of close calls, how often it is too close."""
        key = "too_close_by_margin" if self.close_calls else "error_by_margin"
        return {int(margin): float(chance) for margin, chance in self.document[key].items()}

    @property
    def certain(self) -> float:
        """From how many people on an answer is never wrong; infinite where that is never so."""
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
    def _mechanism(self) -> LineMechanism:
        """By which one answer would be drawn: the optimum, which its share of the budget determines."""
        share = self.document["share"]
        return on_line(ApproxDP(share["epsilon"], share["delta"]), self.document.get("boundary", "balanced"))

    @property
    def fits(self) -> bool:
        """Whether there is budget for it, or it is free."""
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
    def ledger(self) -> Document:
        """Whether it is `free` and `fits`, and what would be left."""
        return dict(self.document.get("ledger") or {})

    @property
    def terms(self) -> Document:
        """The budget and the options that it would be asked with."""
        return dict(self.document.get("terms") or {})

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever asks should know about the question: each a sentence."""
        return tuple(self.document.get("notes") or ())

    @property
    def in_units(self) -> Any:
        """How far what is compared must be from its limit, in its own units, where `people` were guessed."""
        return self.document.get("in_units")
