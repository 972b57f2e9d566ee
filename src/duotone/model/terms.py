"""Terms: how a question is answered, what each answer is drawn from, what it costs, and how accurate it is.

`DefiniteTerms` answer yes or no, `WhichTerms` one of several answers, `ThreeWayTerms` yes, no or too close to call. A question
has one of them; everything else about it is the same.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.line.choice import people_needed
from duotone.line.groups import PrivateGroups, size_line
from duotone.line.mechanism import Boundary, LineMechanism, on_line, partition_selection
from duotone.line.noise import FURTHEST, Margin, Noise
from duotone.line.table import Outcome, Reach, Table, line_table, reach
from duotone.line.three_way import ThreeWay, three_way_table
from duotone.line.which import Which, which_reach
from duotone.model.accuracy import Accuracy, Clearness
from duotone.model.answer import CountLimit
from duotone.model.cost import Charge, CloseCallCharge
from duotone.model.notice import Notice, budget_notes
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.renyi import Shared
from duotone.privacy.text import Definition, definition_object
from duotone.words import budgets as words

SMALLEST = Fraction(1, 2**128)
"""With a smaller δ, levels of counts are clipped like others."""


@dataclass(frozen=True)
class PaidTerms:
    """What every answer is charged for: `privacy` is the budget of all answers about one person, divided evenly among `parts`
    of them; or `shared` by them, and answers to other questions, by one Rényi order."""

    privacy: Definition
    parts: int = 1
    shared: Shared | None = field(default=None, kw_only=True)
    """How answers share an (ε, δ) `privacy` by one Rényi order, if they do: they are then yes and no alone."""

    questions: int = field(default=1, kw_only=True)
    """How many questions share it, which are then released together."""

    def __str__(self) -> str:
        return str(self.privacy)

    @property
    def price(self) -> str:
        """The budget, for a terminal."""
        return str(self.privacy) if isinstance(self.privacy, ApproxDP) else words.each(self.privacy)

    @cached_property
    def share(self) -> Definition:
        """The budget of one answer."""
        return self.privacy.split(self.parts) if self.shared is None else self.shared.each

    @property
    def budget_notes(self) -> tuple[Notice, ...]:
        """Warnings about this budget."""
        return budget_notes(self.privacy)

    @property
    def together(self) -> dict[str, Any]:
        """For a certificate: the budget that answers share, if they do by one Rényi order."""
        if self.shared is None:
            return {}
        return {"together": {**definition_object(self.shared.privacy), "answers": self.shared.answers}}


@dataclass(frozen=True)
class DefiniteTerms(PaidTerms):
    """Yes or no.

    `boundary` is "balanced", the truth at the boundary on the yes side if one mistake is worse, or "selection" if the
    question is which groups may be shown. If groups are selected privately, a group that is shown has `at_least` this
    many people, 1 or more; otherwise it is 0.
    """

    boundary: Boundary = "balanced"
    at_least: int = 0
    count: CountLimit | None = None
    """For a single count of people: its limit; the ledger then records the noisy count."""

    searched: int | None = None
    """Most changes for which levels are searched, if less than margins could use."""

    def about(self, count: CountLimit | None, searched: int | None) -> DefiniteTerms:
        """The same terms for a question whose levels are `searched` for up to this many changes, or for a single count
        against a limit: its margin is known at any distance, if both mistakes are alike. The count of everybody in a
        private group is the noisy size that decides whether it is shown."""
        share = self.share
        if count is not None and self.boundary == "balanced" and isinstance(share, ApproxDP) and share.delta >= SMALLEST:
            if self.groups is None:
                return replace(self, count=count)
            if count.everybody:
                return replace(self, count=count, boundary=size_line(share, above=count.above).boundary)
        return replace(self, searched=searched) if searched is not None and searched < self.reach else self

    @property
    def mechanism(self) -> LineMechanism:
        """The mechanism of one answer."""
        return on_line(self.share, self.boundary)

    @cached_property
    def groups(self) -> PrivateGroups | None:
        """How groups are selected, if they are selected privately."""
        if not self.at_least:
            return None
        table = line_table(partition_selection(self.share))
        return PrivateGroups(table.unclipped() if table.has_margins and table.noise.bounded else table, self.at_least)

    @property
    def sized(self) -> bool:
        """Whether the noisy size of each group is released, which implies the answer."""
        return self.of_people and isinstance(self.share, ApproxDP)

    @property
    def of_people(self) -> bool:
        """Whether what is released about a group follows from the number of its people: its size, or that it is shown."""
        return self.at_least > 0 and (self.count is not None or self.boundary == "selection")

    @cached_property
    def table(self) -> Table:
        """The probabilities of one answer, computed when first needed."""
        table = line_table(self.mechanism)
        if self.groups is not None and not self.sized and table.has_margins:
            table = table.of_groups()
        if self.searched is not None and table.cap is not None:
            return replace(table, cap=min(table.cap, max(self.searched, len(table.blue), len(table.red))))
        return table if self.count is None else table.unclipped()

    @property
    def noise(self) -> Noise:
        """The noise of margins."""
        if self.groups is None or not self.sized or self.count is None:
            return self.table.noise
        return self.groups.noise_of_limit(above=self.count.above)

    @cached_property
    def reaches(self) -> Reach:
        """The last level that an answer and its margin distinguish, or a little more. Refuses a budget without a
        table."""
        if self.at_least:
            reach(partition_selection(self.share))
        answers, margins = reach(self.mechanism)
        return Reach(answers, margins + (self.at_least > 0))

    @property
    def reach(self) -> int:
        """The last level that margins distinguish."""
        return self.reaches.margins

    @property
    def accuracy(self) -> Accuracy:
        """How often one answer is wrong."""
        above = None if self.groups is None or self.of_people or not self.groups.always < FURTHEST else self.groups.always
        smallest = self.at_least if self.boundary == "selection" else 1
        return Accuracy(self.table, self.parts, above, smallest)

    @property
    def cost(self) -> Charge:
        """What a ledger is charged for: as many answers as one person can change."""
        answers = self.parts if self.shared is None else 1
        if self.of_people:
            return Charge(partition_selection(self.share), answers, shared=self.shared)
        return Charge(self.mechanism, answers, selected=self.groups is not None, shared=self.shared)

    def certificate(self) -> dict[str, Any]:
        """The proof of the mechanism of each answer; for private groups also, under `selection`, of the one that selects
        them, or only of that if nothing else is released. Under `together` is the budget that answers share, if they do by one
        Rényi order."""
        if self.groups is None:
            return {**self.table.certificate(), **self.together}
        selection = self.groups.table.certificate()
        return {**(selection if self.of_people else {**self.table.certificate(), "selection": selection}), **self.together}

    @property
    def notes(self) -> tuple[Notice, ...]:
        """Notes about how answers share the budget, and about the groups that are shown."""
        shared = () if self.shared is None else (shared_note(self.shared, selected=self.at_least > 0),)
        if self.groups is None:
            return shared
        about, always = [], self.groups.always
        if self.sized:
            noise = self.groups.noise
            about = [Notice("sizes are noisy", off=noise.give_or_take, most=max(noise.most, -noise.least))]
        elif not self.of_people and always < FURTHEST:
            about = [Notice("answers about small groups", people=always)]
        return (*shared, selection_note(self.groups, listed=self.boundary != "selection"), *about)

    @property
    def far(self) -> bool:
        """Whether levels are known at any distance, as those of counts are."""
        return self.count is not None or self.of_people

    def size(self, recorded: Any) -> int | None:
        """The recorded size of a private group, if it has one."""
        return int(recorded["count"]) if self.sized and isinstance(recorded, dict) else None

    def from_record(self, recorded: Any) -> tuple[bool, Margin | None]:
        """An answer from a ledger's record: a margin, or only yes or no. A group that may be shown is a yes."""
        if isinstance(recorded, bool) or self.boundary == "selection":
            return bool(recorded), None
        margin = recorded if self.count is None else self.count.margin(recorded["count"])
        return margin >= 0, Margin(margin, self.noise)

    def recorded(self, drawn: Iterable[int]) -> list[Any]:
        """Margins, or only yes and no, as a ledger records them: for a count, the noisy count. Sizes of groups are counts."""
        if self.sized:
            return [{"count": size} for size in drawn]
        if not isinstance(self.share, ApproxDP):
            return [bool(answer) for answer in drawn]
        return [margin if self.count is None else {"count": self.count.count(margin)} for margin in drawn]


@dataclass(frozen=True)
class WhichTerms(PaidTerms):
    """One of several public `answers`. If these are `ordered`, a wrong one is near the true one."""

    answers: tuple[str, ...] = field(kw_only=True)
    ordered: bool = field(default=False, kw_only=True)
    count: ClassVar[None] = None
    """No margin is known, nor any count."""

    groups: ClassVar[None] = None
    """Groups are listed."""

    def about(self, count: CountLimit | None, searched: int | None) -> WhichTerms:  # noqa: ARG002
        """The same: all questions are alike."""
        return self

    @property
    def mechanism(self) -> Which:
        """The mechanism of one answer."""
        return Which(self.share, len(self.answers), self.ordered and isinstance(self.share, ApproxDP))

    @cached_property
    def table(self) -> Table:
        """The probabilities of one answer, computed when first needed."""
        return self.mechanism.table

    @cached_property
    def reaches(self) -> Reach:
        """The last distance that an answer distinguishes, or a little more. Refuses a budget without a table."""
        people = which_reach(self.share, len(self.answers), ordered=self.mechanism.ordered)
        return Reach(people, people)

    @property
    def reach(self) -> int:
        """The same."""
        return self.reaches.margins

    @property
    def accuracy(self) -> Accuracy:
        """How often one answer is wrong."""
        return Accuracy(self.table, self.parts)

    @property
    def cost(self) -> Charge:
        """What a ledger is charged for: as many answers as one person can change."""
        return Charge(self.mechanism, self.parts if self.shared is None else 1, shared=self.shared)

    def certificate(self) -> dict[str, Any]:
        """The proof of the mechanism of each answer."""
        return {**self.mechanism.certificate(), **self.together}

    @property
    def notes(self) -> tuple[Notice, ...]:
        """A note about how answers share the budget."""
        return () if self.shared is None else (shared_note(self.shared, selected=False),)

    @staticmethod
    def size(recorded: Any) -> None:
        """Sizes of groups are not known."""

    def from_record(self, recorded: Any) -> tuple[str, None]:
        """An answer from a ledger's record."""
        if recorded not in self.answers:
            raise DuotoneError("the recorded answer is none of this question's: was it recorded by another version?")
        return str(recorded), None

    def recorded(self, drawn: Iterable[int]) -> list[str]:
        """Answers, as a ledger records them, by their numbers."""
        return [self.answers[number] for number in drawn]


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
        """The charge for a ledger: close calls only."""
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
    def size(recorded: Any) -> None:
        """Sizes of groups are not known."""

    @staticmethod
    def from_record(recorded: Any) -> tuple[Outcome, None]:
        """An answer from a ledger's record."""
        return Outcome(recorded), None


Terms = DefiniteTerms | WhichTerms | ThreeWayTerms


def shared_note(shared: Shared, *, selected: bool) -> Notice:
    """That answers are yes and no alone, how many share the budget, and what that is good for.

    >>> print(shared_note(Shared.of(ApproxDP(1, "1e-6"), 100), selected=True))
    100 answers share the budget by one Rényi order (19), as yes and no alone: a group of 112 people is then shown half of the \
time, and if the budget were divided, one of 1313; for margins and sizes, divide it (margins=True)
    """
    evenly, now = (people_needed(each, selected=selected) for each in (shared.privacy.split(shared.answers), shared.each))
    gain = Notice("shown from" if selected else "seldom wrong from", people=now, evenly=evenly)
    return Notice("answers share by order", answers=shared.answers, order=shared.order, gain=gain)


SELDOM = Fraction(1, 20)
"""A group that is shown less often than this is seldom shown."""


def selection_note(groups: PrivateGroups, *, listed: bool) -> Notice:
    """The size below which a group is seldom shown, and the size from which it is always shown; and advice, if groups
    could be `listed` instead.

    >>> from duotone import ApproxDP, partition_selection
    >>> print(selection_note(PrivateGroups(line_table(partition_selection(ApproxDP(1, "1e-6")))), listed=True))
    groups are selected privately: one of fewer than 12 people is seldom shown (less than once in 20), one of 28 or more \
always; for an answer about each, give the public list of groups (groups)
    """
    chances = [yes for yes, _ in groups.table.entries]
    people = bisect.bisect_left(chances, math.ceil(SELDOM * 2**groups.table.bits)) + groups.table.lowest + groups.at_least
    few = (
        Notice("few people seldom shown", people=people)
        if people > groups.at_least
        else Notice("few people may be shown", people=groups.at_least)
    )
    none = Notice("fewer never shown", people=groups.at_least) if groups.at_least > 1 else ""
    end = Notice("always shown", people=groups.always) if groups.always < FURTHEST else ""
    return Notice("groups selected", few=few, none=none, always=end, advice=Notice("list the groups") if listed else "")
