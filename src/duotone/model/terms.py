"""Terms: how a question is answered, what each answer is drawn from, what it costs, and how accurate it is.

`DefiniteTerms` answer yes or no; `ThreeWayTerms` yes, no or too close to call. A question has one of them; everything
else about it is the same.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from duotone.cached import cached_property
from duotone.line.choice import least_epsilon
from duotone.line.mechanism import Boundary, LineMechanism, on_line, partition_selection
from duotone.line.noise import Margin
from duotone.line.table import Outcome, Reach, Table, line_table, reach
from duotone.line.three_way import ThreeWay, three_way_table
from duotone.model.accuracy import Accuracy, Clearness
from duotone.model.answer import CountLimit
from duotone.model.cost import Charge, CloseCallCharge
from duotone.model.notice import Notice, budget_notes
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given

SMALLEST = Fraction(1, 2**128)
"""With a smaller δ, levels of counts are clipped like others."""


@dataclass(frozen=True)
class WantedError:
    """Instead of a budget: an answer may be `wrong` with at most this probability if this many `people` would flip it.
    The least sufficient ε follows, once it is known how many answers share it."""

    wrong: Given
    people: int
    delta: Fraction = Fraction(0)

    def least(self, parts: int) -> ApproxDP:
        """The budget of this many answers together."""
        return ApproxDP(least_epsilon(self.wrong, self.people, self.delta, parts=parts), self.delta)


@dataclass(frozen=True)
class DefiniteTerms:
    """Yes or no. `privacy` is the budget of all answers about one person, divided evenly among `parts` of them.

    `boundary` is "balanced", the truth at the boundary on the yes side if one mistake is worse, or "selection" if the
    question is which groups may be shown. With `selects`, groups are selected privately.
    """

    privacy: ApproxDP
    parts: int = 1
    boundary: Boundary = "balanced"
    selects: bool = False
    count: CountLimit | None = None
    """For a single count of people: its limit; the ledger then records the noisy count."""

    searched: int | None = None
    """Most changes for which levels are searched, if less than margins could use."""

    def about(self, count: CountLimit | None, searched: int | None) -> DefiniteTerms:
        """The same terms for a question whose levels are `searched` for up to this many changes, or for a single count
        against a limit: its margin is known at any distance, if both mistakes are alike."""
        if count is not None and self.boundary == "balanced" and not self.selects and self.share.delta >= SMALLEST:
            return replace(self, count=count)
        return replace(self, searched=searched) if searched is not None and searched < self.reach else self

    def __str__(self) -> str:
        return str(self.privacy)

    @property
    def price(self) -> str:
        """The budget, for a terminal."""
        return str(self.privacy)

    @cached_property
    def share(self) -> ApproxDP:
        """The budget of one answer."""
        return self.privacy.split(self.parts)

    @property
    def mechanism(self) -> LineMechanism:
        """The mechanism of one answer."""
        return on_line(self.share, self.boundary)

    @property
    def selection(self) -> LineMechanism | None:
        """The mechanism that selects groups."""
        return partition_selection(self.share) if self.selects else None

    @property
    def beside(self) -> LineMechanism | None:
        """The selection of groups, in addition to the answers."""
        return None if self.boundary == "selection" else self.selection

    @cached_property
    def table(self) -> Table:
        """The probabilities of one answer, computed when first needed."""
        table = line_table(self.mechanism)
        if self.searched is not None and table.cap is not None:
            return replace(table, cap=min(table.cap, max(self.searched, len(table.blue), len(table.red))))
        return table if self.count is None else table.unclipped()

    @cached_property
    def reaches(self) -> Reach:
        """The last level that an answer and its margin distinguish, or a little more. Refuses a budget without a
        table."""
        if self.selection is not None:
            reach(self.selection)
        return reach(self.mechanism)

    @property
    def reach(self) -> int:
        """The last level that margins distinguish."""
        return self.reaches.margins

    @property
    def accuracy(self) -> Accuracy:
        """How often one answer is wrong."""
        return Accuracy(self.table, self.parts)

    @property
    def cost(self) -> Charge:
        """What a ledger is charged for: as many answers as one person can change."""
        return Charge(self.mechanism, self.parts, () if self.beside is None else (self.beside,))

    @property
    def budget_notes(self) -> tuple[Notice, ...]:
        """Warnings about this budget."""
        return budget_notes(self.privacy)

    @property
    def notes(self) -> tuple[Notice, ...]:
        """Notes about the groups that are shown."""
        return () if self.selection is None else (selection_note(self.selection, halved=self.beside is not None),)

    def from_record(self, recorded: Any) -> tuple[bool, Margin | None]:
        """An answer from a ledger's record: a margin, or only yes or no."""
        if isinstance(recorded, bool):
            return recorded, None
        margin = recorded if self.count is None else self.count.margin(recorded["count"])
        return margin >= 0, Margin(margin, self.table.noise)

    def recorded(self, margins: Iterable[int]) -> list[Any]:
        """Margins as a ledger records them: for a count, the noisy count."""
        return [margin if self.count is None else {"count": self.count.count(margin)} for margin in margins]


@dataclass(frozen=True)
class ThreeWayTerms:
    """Yes, no or too close to call; a ledger counts only the last. Each group is a question of its own, and a person
    may be in any number of them."""

    three_way: ThreeWay
    groups: int = 1
    count: None = None
    """No margin is known, nor any count."""

    def about(self, count: CountLimit | None, searched: int | None) -> ThreeWayTerms:  # noqa: ARG002
        """The same: a count is asked like anything else."""
        return self

    def __str__(self) -> str:
        return str(self.three_way)

    @property
    def price(self) -> str:
        """How it is charged, for a terminal."""
        return f"each question at epsilon {self.three_way.privacy.epsilon:g}, and only close calls are charged"

    @property
    def privacy(self) -> ApproxDP:
        """How much neighbours' clocks differ, for each question."""
        return self.three_way.privacy

    @property
    def share(self) -> ApproxDP:
        """The same: nothing is divided."""
        return self.three_way.privacy

    @cached_property
    def table(self) -> Table:
        """The probabilities of one answer."""
        return three_way_table(self.three_way)

    @property
    def reach(self) -> int:
        """The level from which all are alike."""
        return self.table.reach

    @property
    def reaches(self) -> Reach:
        """The same, without margins."""
        return Reach(self.reach, self.reach)

    @property
    def accuracy(self) -> Clearness:
        """How often an answer is too close to call."""
        return Clearness(self.table)

    @property
    def cost(self) -> CloseCallCharge:
        """What a ledger counts."""
        return CloseCallCharge(self.three_way, self.groups)

    @property
    def budget_notes(self) -> tuple[Notice, ...]:
        """Nothing: whoever registers the dataset chooses the budget."""
        return ()

    @property
    def notes(self) -> tuple[Notice, ...]:
        """Nothing: groups are listed."""
        return ()

    @staticmethod
    def from_record(recorded: Any) -> tuple[Outcome, None]:
        """An answer from a ledger's record."""
        return Outcome(recorded), None


Terms = DefiniteTerms | ThreeWayTerms


SELDOM = 0.05
"""A group that is shown less often than this is seldom shown."""


def selection_note(selection: LineMechanism, *, halved: bool) -> Notice:
    """The size below which a group is seldom shown, and the size from which it is always shown; `halved` if answers
    about the groups take the other half of the budget.

    >>> from duotone import ApproxDP, partition_selection
    >>> print(selection_note(partition_selection(ApproxDP(1, "1e-6")), halved=True))
    groups are selected privately, with half of the budget: a group of fewer than 12 people is seldom shown (less than once \
in 20), one of 28 or more always; for an answer about each, give the public list of groups (groups)
    """
    always = selection.certain[0] + 1
    often = bisect.bisect_left(
        range(int(min(always, 2**62))), SELDOM, lo=1, key=lambda people: float(selection.yes(np.array([people - 1]))[0])
    )
    budget = "half of the budget" if halved else "the budget"
    few = Notice("few people seldom shown", people=often) if often > 1 else Notice("one person may be shown")
    end = Notice("always shown", people=always) if math.isfinite(always) else ""
    advice = Notice("list the groups") if halved else ""
    return Notice("groups selected", budget=budget, few=few, always=end, advice=advice)
