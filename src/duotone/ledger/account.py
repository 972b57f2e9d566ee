"""How a dataset was registered: its budget, whom it protects, and by which rule its charges add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any

from duotone.errors import DuotoneError, LedgerError
from duotone.ledger.close_calls import CloseCalls, beside, most_close_calls
from duotone.ledger.entries import Body, State, dated, intact, is_label, label
from duotone.ledger.planned_composition import PlannedComposition
from duotone.ledger.privacy_filters import AdvancedComposition, BasicComposition, PrivacyFilter, RuleName, short, write
from duotone.ledger.stores import Entries
from duotone.line.mechanism import Boundary, on_line
from duotone.line.table import reach
from duotone.line.three_way import ThreeWay, three_way_table
from duotone.model.cost import MOST_ANSWERS, Left, boundary_text
from duotone.model.notice import Refusal
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import number
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

    @classmethod
    def read(cls, body: Body) -> Registered:
        """What an entry carries."""
        budget = read_definition(body["budget"])
        called = CloseCalls.read(body["close_calls"]) if "close_calls" in body else None
        return cls(body["dataset"], budget, body["unit"], body["neighbours"], filter_of(budget, body), called)

    def fits(self, state: State) -> bool:
        """Whether no more is spent, and no more close calls are taken, than there were."""
        called = self.close_calls is None or (state.calls is not None and self.close_calls.fits(state.calls))
        return called and self.privacy_filter.fits(state.spent)

    def left(self, state: State) -> Left:
        """What may still be spent."""
        definite = self.privacy_filter.left(state.spent)
        if self.close_calls is None or state.calls is None:
            return definite
        aside = Left() if self.budget == ApproxDP(0) else definite
        calls = self.close_calls.left(state.calls)
        return replace(aside, close_calls=calls.close_calls, reserved=calls.reserved)

    def check(self, unit: str, neighbours: str) -> None:
        """Refuse a question about other units or neighbours."""
        for name, registered, asked in (("unit", self.unit, unit), ("neighbours", self.neighbours, neighbours)):
            about = {"dataset": self.dataset, "registered": registered, "asked": asked}
            if registered != asked and name == "unit" and asked == "row":
                raise Refusal("unit differs", **about)
            if registered != asked:
                raise Refusal("registration differs", what=name, **about)


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
        raise DuotoneError(
            "a rule applies to definite answers only: set part of the budget aside for them (definite), or leave the rule out"
        )
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
    return Registered.read(intact(entries, first)), State.of(intact(entries, last))


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


def choose(budget: ApproxDP, name: RuleName, answers_at: ApproxDP | None, boundaries: tuple[Boundary, ...]) -> PrivacyFilter:
    """The privacy filter of that name for a new dataset; half of the budget's δ is the slack of "advanced"."""
    if name == "plan":
        if answers_at is None:
            raise DuotoneError("a plan needs the privacy definition of each of its answers: give answers_at")
        return PlannedComposition.most(budget, read_definition(write(answers_at)), tuple(map(boundary_text, boundaries)))
    if answers_at is not None or boundaries:
        raise DuotoneError("answers_at and boundaries are for the rule plan: leave them out, or choose that rule")
    return AdvancedComposition.of(budget) if name == "advanced" else filter_of(budget, {"rule": name})


def filter_of(budget: ApproxDP, written: Mapping[str, Any]) -> PrivacyFilter:
    """The privacy filter that a ledger recorded. A plan's count is taken as it was written: its meaning never changes."""
    if written["rule"] == "sum":
        return BasicComposition(budget)
    if written["rule"] == "advanced":
        return AdvancedComposition(budget, Fraction(number(written["slack"])))
    if written["rule"] == "plan":
        count, boundaries = written["count"], written["boundaries"]
        if not (type(count) is int and 1 <= count <= MOST_ANSWERS and all(isinstance(each, str) for each in boundaries)):
            raise DuotoneError(f"a plan has from 1 to {MOST_ANSWERS} answers, and boundaries as text")
        return PlannedComposition(budget, read_definition(written["answers_at"]), tuple(boundaries), count)
    raise DuotoneError(f"a budget's rule is sum, advanced or plan, got {written['rule']!s:.60}")
