"""Plans: a number of answers fixed beforehand, composed as tightly as is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.ledger.loss_distributions import (
    LEAST,
    LONGEST,
    SHORTEST,
    TAIL,
    DominatingPair,
    PrivacyLossDistribution,
    capacity,
    composed,
    losses,
    pair_of,
    pair_of_definition,
)
from duotone.ledger.privacy_filters import (
    BasicComposition,
    RuleName,
    definite,
    most_answers,
)
from duotone.ledger.sums import Spent, epsilon_above, epsilon_below
from duotone.line.mechanism import Boundary, on_line
from duotone.line.table import line_table
from duotone.model.cost import Cost, Left, boundary_text
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import float_above, float_below
from duotone.privacy.text import definition_text


@dataclass(frozen=True)
class PlannedComposition:
    """A number of answers fixed beforehand, each under one privacy definition or a stronger one.

    They are counted by privacy-loss distributions.

    `boundaries` names the mechanisms that may be charged for, and each answer is entered by the least pair above all their
    edges; without them by φ, the least pair above every mechanism under the definition.

    Guarantee: what fits is (ε, δ)-private whatever was chosen after seeing what. `count` answers dominated by one pair
    each compose to its `count`-fold product (Zhu, Dong and Wang 2022, Theorem 10), however questions are chosen.

    >>> plan = PlannedComposition.most(ApproxDP(1, "1e-6"), ApproxDP("0.01", "1e-12"))
    >>> plan.count, plan.fits(Spent().plus(plan.answers_at, 562)), plan.fits(Spent().plus(plan.answers_at, 563))
    (562, True, False)
    """

    budget: ApproxDP
    answers_at: ApproxDP
    boundaries: tuple[Boundary, ...]
    count: int
    name: RuleName = "plan"

    @classmethod
    def most(cls, budget: ApproxDP, answers_at: ApproxDP, boundaries: tuple[Boundary, ...] = ()) -> PlannedComposition:
        """The plan with as many answers as the budget admits, by the better of distributions and plain sums."""
        plan = cls(budget, answers_at, boundaries, 0)
        by_losses = (capacity(one, epsilon_below(budget), Fraction(budget.delta)) for one in plan.losses)
        count = max([most_answers(BasicComposition(budget), answers_at), *by_losses])
        if count == 0:
            raise DuotoneError(f"a budget of {budget} does not admit one answer at {answers_at}")
        return replace(plan, count=count)

    @property
    def proved(self) -> bool:
        """Whether the budget allows this many answers; the proof is computed again."""
        return self.count <= PlannedComposition.most(self.budget, self.answers_at, self.boundaries).count

    @property
    def pair(self) -> DominatingPair:
        """What each answer is entered by."""
        return _entered(self.answers_at, self.boundaries)

    @cached_property
    def losses(self) -> tuple[PrivacyLossDistribution, ...]:
        """One answer's privacy loss; each of these is an upper bound, and so is the least of them.

        There is none, so that answers are counted by exact sums, where ε or the budget's δ is near an end of float64.
        """
        if not (
            Fraction(self.budget.delta) >= LEAST
            and (self.answers_at.exp_epsilon == 1 or SHORTEST <= self.answers_at.epsilon <= LONGEST)
        ):
            return ()
        any_boundary = losses(pair_of_definition(self.answers_at), self.answers_at.epsilon, fine=1)
        return (any_boundary, losses(self.pair, self.answers_at.epsilon)) if self.boundaries else (any_boundary,)

    def accepts(self, cost: Cost) -> None:
        """Refuse a mechanism that could reveal more than the plan's answers do."""
        charge = definite(cost)
        if not (self.pair.covers(pair_of_definition(charge.privacy)) or self.pair.covers(pair_of(*charge.tables))):
            kinds = f" with boundary {', '.join(map(str, self.boundaries))}" if self.boundaries else ""
            raise DuotoneError(
                f"this dataset's plan is for answers at {self.answers_at}{kinds} or more private ones, got one at "
                f"{charge.privacy} with boundary {charge.boundary}"
            )

    def fits(self, taken: Spent) -> bool:
        """Whether no more answers than planned were charged."""
        return taken.answers <= self.count

    def spent(self, sums: Spent) -> tuple[float, float]:
        """The least ε, at the budget's δ, that is proved for this many answers."""
        answers, delta = sums.answers, float_below(self.budget.delta)
        epsilons, deltas = answers * epsilon_above(self.answers_at), answers * Fraction(self.answers_at.delta)
        summed = float_above(epsilons), float_above(deltas)
        if answers == 0 or not self.losses:
            return summed
        best = min(composed(one, answers, delta * TAIL).epsilon(delta) for one in self.losses), delta
        return min(best, summed) if deltas <= Fraction(self.budget.delta) else best

    def left(self, taken: Spent) -> Left:
        """The answers that are left."""
        return Left(answers=max(0, self.count - taken.answers), of=self.count, each=self.answers_at)

    def written(self) -> dict[str, Any]:
        """What a ledger records of it."""
        named = {"boundaries": list(map(boundary_text, self.boundaries))}
        return {"rule": self.name, "answers_at": definition_text(self.answers_at), **named, "count": self.count}


@lru_cache(maxsize=64)
def _entered(answers_at: ApproxDP, boundaries: tuple[Boundary, ...]) -> DominatingPair:
    if not boundaries:
        return pair_of_definition(answers_at)
    return pair_of(*(line_table(on_line(answers_at, boundary)) for boundary in boundaries))
