"""Budgets: whether what has been charged, and one answer more, stays within what a dataset may spend.

Whoever asks may choose the next question, and its privacy definition, after seeing the last answer. Each account is a privacy
filter that is proved for that; which one a dataset has is fixed when it is registered.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, Protocol

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.ledger.sums import LARGEST, PRECISION, Prices, Spent, Taken, epsilon_above, epsilon_below, exp_above, log_above
from duotone.line.mechanism import on_line
from duotone.model.cost import MOST_ANSWERS, SELECTED, Charge, Cost, Left
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import exp_below, root_below
from duotone.privacy.renyi import RenyiDP, best_order, price_of, renyi_budget
from duotone.privacy.renyi_curve import people_for
from duotone.privacy.text import Definition, definition_text, read_either

LONGEST = 3000
"""The characters of a definition, and of a boundary, that a ledger writes down."""

NOTHING = Spent()
EXPECTED = 1000
"""Answers that an account renyi is made for, where it is not said how many are expected."""
SELDOM = 1e-3
"""How often an answer is wrong where it is said how many are left."""

AccountName = Literal["sum", "renyi"]
"""How a dataset's answers add up."""


class Account(Protocol):
    """A privacy filter: whether what was charged stays within the budget, whatever was chosen after seeing what."""

    @property
    def name(self) -> AccountName:
        """As it is recorded."""
        ...

    @property
    def nothing(self) -> Taken:
        """What has been taken at first."""
        ...

    def accepts(self, cost: Cost) -> None:
        """Raise where such a cost cannot be charged, whatever is left."""
        ...

    def fits(self, taken: Any) -> bool:
        """Whether so much is within the budget."""
        ...

    def spent(self, taken: Any) -> tuple[float, float]:
        """(ε, δ) of everything that was taken, to be read; decisions are by `fits`."""
        ...

    def left(self, taken: Any) -> Left:
        """What may still be taken."""
        ...

    def one_of(self, cost: Cost) -> int | None:
        """Of how many answers at this price the whole budget consists, where that says more than what is left."""
        ...

    def part(self, share: Fraction) -> Definition:
        """A share of the budget, as an allowance."""
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
    nothing: Spent = NOTHING

    def accepts(self, cost: Cost) -> None:
        """Any ε and δ are covered."""
        if isinstance(privacy := definite(cost).privacy, RenyiDP):
            raise DuotoneError(f"an account sum adds up epsilon and delta: give these, got {privacy}")

    def fits(self, taken: Spent) -> bool:
        """Σε ≤ ε and Σδ ≤ δ; where ratios were given, their product counts, and e^x is rounded towards refusal."""
        room = epsilon_above(self.budget) - taken.epsilon
        if not (room >= 0 and taken.delta <= Fraction(self.budget.delta)):
            return False
        if self.budget.epsilon_exact is None:
            return taken.exp_epsilon * exp_above(taken.epsilon) <= self.budget.exp_epsilon
        return taken.exp_epsilon == 1 or taken.exp_epsilon <= exp_below(room, PRECISION)

    def spent(self, taken: Spent) -> tuple[float, float]:
        """The two sums."""
        return float(taken.epsilon + log_above(taken.exp_epsilon)), float(taken.delta)

    def left(self, taken: Spent) -> Left:
        """The rest of ε and of δ."""
        epsilon = epsilon_below(self.budget) - taken.epsilon - log_above(taken.exp_epsilon)
        return Left(max(Fraction(0), epsilon), max(Fraction(0), Fraction(self.budget.delta) - taken.delta))

    def one_of(self, cost: Cost) -> None:
        """What is left says it all."""

    def part(self, share: Fraction) -> ApproxDP:
        """So much of ε and of δ."""
        return ApproxDP(epsilon_below(self.budget) * share, Fraction(self.budget.delta) * share)

    def written(self) -> dict[str, Any]:
        """What a ledger records of it."""
        return {"account": self.name}


@dataclass(frozen=True)
class RenyiAccount:
    """Prices of one Rényi order multiply: a filter for any mix of definitions, best for many answers.

    `budget` is what prices may multiply up to, and deltas add up to; `answers` how many are expected, for which the order was
    chosen. It depends on the answers' (ε, δ) `promise` alone, and on how many are expected.

    Guarantee: what fits is private as promised, (ε, δ), for the budget that `of` makes (docs/theory.md and proofs/Renyi.v have
    the proof): at order k + 1 the product of prices is at most B and Σδ at most a tenth of δ, and
    B·k^k / ((k + 1)^(k + 1)·e^(kε)) is at most the rest of δ.

    >>> account = RenyiAccount.of(ApproxDP(1, "1e-6"))
    >>> hundredth = account.budget.split(100)
    >>> account.fits(account.nothing.plus(hundredth, 100)), account.fits(account.nothing.plus(hundredth, 101))
    (True, False)
    """

    promise: ApproxDP
    budget: RenyiDP
    answers: int = EXPECTED
    name: AccountName = "renyi"

    @classmethod
    def of(cls, promise: ApproxDP, answers: int = EXPECTED) -> RenyiAccount:
        """The account of a new dataset: the order for which so many answers are least often wrong, and its budget."""
        if not promise.delta > 0:
            raise DuotoneError("an account renyi needs a budget with delta above 0")
        aside = Fraction(promise.delta) / 10
        order = best_order(promise, answers)
        budget = RenyiDP._computed(order, renyi_budget(promise, order, aside), aside)
        if not budget.price < LARGEST:
            raise DuotoneError("this budget is too large for an account renyi: lower epsilon, or take the account sum")
        return cls(promise, budget, answers)

    @property
    def proved(self) -> bool:
        """Whether the promise allows this budget; computed again."""
        most = renyi_budget(self.promise, self.budget.order, self.budget.delta)
        return self.budget.price <= most and self.budget.price < LARGEST

    @property
    def nothing(self) -> Prices:
        """No price."""
        return Prices(self.budget.order)

    def accepts(self, cost: Cost) -> None:
        """Any ε and δ are covered, and prices of this order."""
        price_of(definite(cost).privacy, self.budget.order)

    def fits(self, taken: Prices) -> bool:
        """The product of prices and Σδ, exactly."""
        return taken.order == self.budget.order and taken.price <= self.budget.price and taken.delta <= self.budget.delta

    def spent(self, taken: Prices) -> tuple[float, float]:
        """From the first answer on, what is promised for all: how much less it is for some is not proved."""
        return (self.promise.epsilon, float(self.promise.delta)) if taken.answers else (0.0, 0.0)

    def left(self, taken: Prices) -> Left:
        """The share of the budget, and how many answers as expected it is about."""
        share = max(0.0, 1 - _log(taken.price) / self._log) if self.budget.price > 1 else 0.0
        answers, delta = math.floor(self.answers * share + 1e-9), max(Fraction(0), self.budget.delta - taken.delta)
        return Left(delta=delta, share=share, answers=answers, wrong=SELDOM, people=self.people(self.answers))

    def one_of(self, cost: Cost) -> int | None:
        """So many answers, each with its price, are the whole budget."""
        charge = definite(cost)
        price, delta = price_of(charge.privacy, self.budget.order).price, charge.answers * Fraction(charge.privacy.delta)
        by_price = self._log / (charge.answers * _log(price)) if price > 1 else math.inf
        by_delta = float(self.budget.delta / delta) if delta else math.inf
        return None if math.isinf(fits := min(by_price, by_delta)) else math.floor(fits * (1 + 1e-12))

    def people(self, answers: int) -> int:
        """From how many people on an answer is wrong at most once in a thousand, if so many share the budget; about."""
        return math.ceil(people_for(self.budget.order - 1, self._log / answers, SELDOM))

    @cached_property
    def _log(self) -> float:
        return _log(self.budget.price)

    def part(self, share: Fraction) -> RenyiDP:
        """So much of the logarithm of the product, and of Σδ."""
        price = root_below(self.budget.price**share.numerator, share.denominator)
        return RenyiDP._computed(self.budget.order, price, self.budget.delta * share)

    def written(self) -> dict[str, Any]:
        """What a ledger records of it."""
        return {"account": self.name, "prices": write(self.budget), "expected": self.answers}


def _log(price: Fraction) -> float:
    """The logarithm, of a price next to 1 as well."""
    return float(log_above(price))


def most_answers(account: Account, each: Definition) -> int:
    """How many answers under one definition fit into a budget, at most 2^17.

    >>> most_answers(SumAccount(ApproxDP(1, "1e-6")), ApproxDP("0.3", "1e-9"))
    3
    """
    return bisect_left(range(1, MOST_ANSWERS + 1), True, key=lambda many: not account.fits(account.nothing.plus(each, many)))


def beyond(cost: Cost, *lefts: Left | None) -> tuple[str, ...]:
    """Which parts of a cost, its epsilon or its delta, are more than is left by sums."""
    if not isinstance(cost, Charge) or isinstance(cost.privacy, RenyiDP):
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
def write(privacy: Definition) -> str:
    """A definition as a ledger records it: what was given, exactly, in at most 3,000 characters.

    >>> write(ApproxDP("0.1", "1e-6"))
    'epsilon=1/10 delta=1/1000000'
    """
    return short(definition_text(privacy), "a definition, epsilon (or e^epsilon, or a price) and delta together,")


def short(text: str, name: str) -> str:
    """A text that a ledger may write down."""
    if not len(text) <= LONGEST:
        raise DuotoneError(f"{name} has too many digits for a ledger: {len(text)} characters, and at most {LONGEST} are kept")
    return text


@lru_cache(maxsize=256)
def charge_of(definition: str, boundary: str, answers: int) -> Charge:
    """What a charge was for, from its texts."""
    privacy = read_either(definition)
    return Charge(on_line(privacy, boundary.removesuffix(SELECTED)), answers, boundary.endswith(SELECTED))
