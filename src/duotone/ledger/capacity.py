"""What a budget buys: how many answers of one size each rule of a ledger would admit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from duotone.cached import cached_property
from duotone.errors import DuotoneError, MissingExtra
from duotone.ledger.loss_distributions import MOST
from duotone.ledger.planned_composition import PlannedComposition, choose
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
        """Of one answer, where neither mistake is worse."""
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
        """Why there is no number for the rule plan, and what to do about it."""
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


def _sparing(budget: ApproxDP, parts: int) -> ApproxDP:
    share, spared = budget.split(parts), budget.split(parts * SPARE).delta
    if share.epsilon_exact is not None:
        return ApproxDP(share.epsilon_exact, spared)
    return ApproxDP(exp_epsilon=share.exp_epsilon, delta=spared)
