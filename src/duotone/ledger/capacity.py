"""What a budget buys: how many answers of one size each rule of a ledger would admit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from duotone.cached import cached_property
from duotone.errors import DuotoneError, MissingExtra
from duotone.ledger.account import choose
from duotone.ledger.loss_distributions import MOST
from duotone.ledger.planned_composition import PlannedComposition
from duotone.ledger.privacy_filters import BasicComposition, RuleName, most_answers
from duotone.line.mechanism import LineMechanism, balanced
from duotone.privacy.approx_dp import ApproxDP

SIZES = (1, 10, 100)
"""The parts of a budget that answers use, where their size is not chosen."""
SPARE = 10
"""By how much less δ an answer uses than its part, so that it is ε that runs out."""


@dataclass(frozen=True)
class Capacity:
    """Answers under `each` definition, out of one `budget`.

    >>> dict(Capacity(ApproxDP(1, "1e-6"), ApproxDP("0.01", "1e-12")).answers)
    {'sum': 100, 'advanced': 333, 'plan': 562}
    """

    budget: ApproxDP
    each: ApproxDP

    @property
    def mechanism(self) -> LineMechanism:
        """The mechanism of one answer, where both mistakes are equally bad."""
        return balanced(self.each)

    @cached_property
    def answers(self) -> Mapping[RuleName, int | None]:
        """How many answers fit by each rule, up to 2^17: 0 where not one does, None where the rule cannot be had: "advanced"
        needs a budget with δ above 0, and "plan" an optional library (`unplanned`)."""
        advanced = most_answers(choose(self.budget, "advanced", None, ()), self.each) if self.budget.delta else None
        return {"sum": most_answers(BasicComposition(self.budget), self.each), "advanced": advanced, "plan": self._planned}

    @property
    def or_more(self) -> tuple[RuleName, ...]:
        """The rules that may admit more answers than were counted; a plan has no more than 2^17."""
        return tuple(rule for rule, count in self.answers.items() if count == MOST and rule != "plan")

    @property
    def unplanned(self) -> str | None:
        """Why the rule `plan` has no number of answers here, and how to get one."""
        return None if self._planned is not None else str(MissingExtra("a ledger's plan", "ledger"))

    @cached_property
    def _planned(self) -> int | None:
        try:
            return PlannedComposition.most(self.budget, self.each).count
        except MissingExtra:
            return None
        except DuotoneError:  # not one answer fits
            return 0

    @property
    def best(self) -> tuple[RuleName, int]:
        """The rule that admits the most answers, the simplest of those, and how many."""
        counts: dict[RuleName, int] = {rule: count for rule, count in self.answers.items() if count is not None}
        rule = max(counts, key=counts.__getitem__)
        return rule, counts[rule]


def capacities(budget: ApproxDP) -> list[Capacity]:
    """One answer that uses all of a budget; and answers that use a tenth and a hundredth of its ε each.

    >>> [(one.each.epsilon, float(one.each.delta)) for one in capacities(ApproxDP(1, "1e-6"))]
    [(1.0, 1e-06), (0.1, 1e-08), (0.01, 1e-09)]
    """
    return [Capacity(budget, budget if parts == 1 else _sparing(budget, parts)) for parts in SIZES]


def fewer_by_advanced(budget: ApproxDP) -> str | None:
    """What to know before choosing the rule advanced, where of answers at a tenth of ε it admits fewer than sums; else None.

    >>> print(fewer_by_advanced(ApproxDP(1, "1e-6")))
    the rule advanced is for many small answers: of answers at epsilon 0.1 it admits 3, and the rule sum 10; at \
epsilon 0.01, 333 and 100
    """
    counts = [
        (
            one.each.epsilon,
            *(most_answers(rule, one.each) for rule in (choose(budget, "advanced", None, ()), BasicComposition(budget))),
        )
        for one in capacities(budget)[1:]
    ]
    (large, few, many), (small, *others) = counts
    if few >= many:
        return None
    return (
        f"the rule advanced is for many small answers: of answers at epsilon {large:g} it admits {few}, and the rule sum "
        f"{many}; at epsilon {small:g}, {others[0]} and {others[1]}"
    )


def _sparing(budget: ApproxDP, parts: int) -> ApproxDP:
    share, spared = budget.split(parts), budget.split(parts * SPARE).delta
    if share.epsilon_exact is not None:
        return ApproxDP(share.epsilon_exact, spared)
    return ApproxDP(exp_epsilon=share.exp_epsilon, delta=spared)
