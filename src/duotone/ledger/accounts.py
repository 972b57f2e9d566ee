"""Budgets: whether what has been charged, and one answer more, stays within what a dataset may spend.

Whoever asks may choose the next question, and its privacy definition, after seeing the last answer. Each account is a privacy
filter that is proved for that; which one a dataset has is fixed when it is registered.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, Protocol

from duotone.errors import DuotoneError
from duotone.ledger.sums import PRECISION, Spent, epsilon_above, epsilon_below, exp_above, log_above
from duotone.line.mechanism import on_line
from duotone.model.cost import MOST_ANSWERS, Charge, Cost, Left
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import exp_below
from duotone.privacy.text import definition_text, read_definition

LONGEST = 3000
"""The characters of a definition, and of a boundary, that a ledger writes down."""

AccountName = Literal["sum"]
"""How a dataset's answers add up."""


class Account(Protocol):
    """A privacy filter: whether what was charged stays within the budget, whatever was chosen after seeing what."""

    @property
    def name(self) -> AccountName:
        """As it is recorded."""
        ...

    def accepts(self, cost: Cost) -> None:
        """Raise where such a cost cannot be charged, whatever is left."""
        ...

    def fits(self, taken: Spent) -> bool:
        """Whether so much is within the budget."""
        ...

    def spent(self, taken: Spent) -> tuple[float, float]:
        """(ε, δ) of these sums, to be read; decisions are by `fits`."""
        ...

    def left(self, taken: Spent) -> Left:
        """What may still be taken."""
        ...

    def written(self) -> dict[str, Any]:
        """What a ledger records of it."""
        ...


@dataclass(frozen=True)
class SumAccount:
    """Sums of ε and of δ, exactly: a filter for any mix of privacy definitions.

    Guarantee: what fits is (ε, δ)-private (Rogers, Roth, Ullman and Vadhan 2016; docs/theory.md has the proof).

    >>> account, ten = SumAccount(ApproxDP(1, "1e-6")), Spent().plus(ApproxDP("0.1", "1e-7"), 10)
    >>> account.fits(ten), account.fits(ten.plus(ApproxDP("1e-1000")))
    (True, False)
    """

    budget: ApproxDP
    name: AccountName = "sum"

    def accepts(self, cost: Cost) -> None:
        """Any charge is covered."""
        definite(cost)

    def fits(self, taken: Spent) -> bool:
        """Σε ≤ ε and Σδ ≤ δ; where ratios were given, their product counts, and e^x is rounded towards refusal."""
        room = epsilon_above(self.budget) - taken.epsilon
        if not (room >= 0 and taken.delta <= Fraction(self.budget.delta)):
            return False
        if self.budget.epsilon_exact is None:
            return taken.exp_epsilon * exp_above(taken.epsilon) <= self.budget.exp_epsilon
        return taken.exp_epsilon == 1 or taken.exp_epsilon <= exp_below(room, PRECISION)

    def spent(self, sums: Spent) -> tuple[float, float]:
        """The two sums."""
        return float(sums.epsilon + log_above(sums.exp_epsilon)), float(sums.delta)

    def left(self, taken: Spent) -> Left:
        """The rest of ε and of δ."""
        epsilon = epsilon_below(self.budget) - taken.epsilon - log_above(taken.exp_epsilon)
        return _rest(epsilon, Fraction(self.budget.delta) - taken.delta)

    def written(self) -> dict[str, Any]:
        """What a ledger records of it."""
        return {"account": self.name}


def most_answers(account: Account, each: ApproxDP) -> int:
    """How many answers under one definition fit into a budget by sums, at most 2^17.

    >>> most_answers(SumAccount(ApproxDP(1, "1e-6")), ApproxDP("0.3", "1e-9"))
    3
    """
    return bisect_left(range(1, MOST_ANSWERS + 1), True, key=lambda many: not account.fits(Spent().plus(each, many)))


def _rest(epsilon: Fraction, delta: Fraction) -> Left:
    return Left(max(Fraction(0), epsilon), max(Fraction(0), delta))


def beyond(cost: Cost, *lefts: Left | None) -> tuple[str, ...]:
    """Which parts of a cost, its epsilon or its delta, are more than is left by sums."""
    if not isinstance(cost, Charge):
        return ()
    asked = {"epsilon": cost.answers * epsilon_above(cost.privacy), "delta": cost.answers * Fraction(cost.privacy.delta)}
    rooms = [left for left in lefts if left is not None and left.epsilon is not None]
    return tuple(name for name, part in asked.items() if any(part > getattr(left, name) for left in rooms))


def definite(cost: Cost) -> Charge:
    """A cost that adds to sums: that of a definite answer."""
    if not isinstance(cost, Charge):
        raise DuotoneError("this is charged by close calls, and adds to no sum")
    return cost


@lru_cache(maxsize=256)
def write(privacy: ApproxDP) -> str:
    """A definition as a ledger records it: what was given, exactly, in at most 3,000 characters.

    >>> write(ApproxDP("0.1", "1e-6"))
    'epsilon=1/10 delta=1/1000000'
    """
    return short(definition_text(privacy), "a definition, epsilon (or e^epsilon) and delta together,")


def short(text: str, name: str) -> str:
    """A text that a ledger may write down."""
    if not len(text) <= LONGEST:
        raise DuotoneError(f"{name} has too many digits for a ledger: {len(text)} characters, and at most {LONGEST} are kept")
    return text


@lru_cache(maxsize=256)
def charge_of(definition: str, boundary: str, answers: int) -> Charge:
    """What a charge was for, from its texts."""
    privacy = read_definition(definition)
    first, *others = (on_line(privacy, fixed) for fixed in boundary.split("+"))
    return Charge(first, answers, tuple(others))
