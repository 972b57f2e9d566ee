"""Accounts: whether earlier charges and one more answer stay within a dataset's budget.

Askers may choose the next question, and its privacy definition, after seeing the last answer. Each account is a privacy
filter, proved for that; a dataset's account is fixed when it is registered.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.ledger.sums import LARGEST, PRECISION, Prices, Spent, Taken, epsilon_above, epsilon_below, exp_above, log_above
from duotone.line.choice import least_price
from duotone.line.mechanism import balanced
from duotone.model.checks import AccountName
from duotone.model.cost import MOST_ANSWERS, Charge, Cost, Left
from duotone.model.notice import Refusal
from duotone.model.wanted import Line, OneOf, Wanted, WantedError
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given, digits_below, exact, exp_below, root_below
from duotone.privacy.renyi import RenyiDP, best_order, price_of, renyi_budget
from duotone.privacy.renyi_curve import people_for
from duotone.privacy.text import Definition, definition_text, read_either

LONGEST = 3000
"""Most characters of a definition, and of a boundary, in a ledger."""

FINEST_SHARE = 1000
"""The finest parts of a budget that are allowances."""
NOTHING = Spent()
EXPECTED, MOST_EXPECTED = 1000, 10**6
"""Expected answers of an account renyi: by default, and at most."""
SELDOM = 1e-3
"""The probability of a wrong answer when the number of answers left is stated."""


class Account(Protocol):
    """A privacy filter: whether charges stay within the budget, even if each was chosen after seeing earlier
    answers."""

    @property
    def name(self) -> AccountName:
        """Its recorded name."""
        ...

    @property
    def nothing(self) -> Taken:
        """The empty sums."""
        ...

    def accepts(self, cost: Cost) -> None:
        """Raise if such a cost cannot be charged, whatever is left."""
        ...

    def fits(self, taken: Any) -> bool:
        """Whether these charges are within the budget."""
        ...

    def spent(self, taken: Any) -> tuple[float, float]:
        """(ε, δ) of all charges, for display; decisions use `fits`."""
        ...

    def left(self, taken: Any) -> Left:
        """What may still be taken."""
        ...

    def share(self, cost: Cost) -> Fraction | None:
        """The share of the whole budget that this costs, out of 1, if prices are such shares."""
        ...

    def priced(self, wanted: Wanted, parts: int, line: Line = balanced) -> Definition:
        """The budget of what is wanted of a question, if `parts` answers about one person, each by such a line, share it."""
        ...

    def part(self, share: Fraction) -> Definition:
        """A share of the budget, as an allowance."""
        ...

    def written(self) -> dict[str, Any]:
        """Its record in a ledger."""
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
        """Any ε and δ are accepted."""
        if isinstance(privacy := definite(cost).privacy, RenyiDP):
            raise DuotoneError(f"an account sum adds up epsilon and delta: give these, got {privacy}")

    def fits(self, taken: Spent) -> bool:
        """Σε ≤ ε and Σδ ≤ δ; for given ratios, their product counts, and e^x is rounded towards refusal."""
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

    def share(self, cost: Cost) -> None:
        """None: ε and δ say it."""

    def priced(self, wanted: Wanted, parts: int, line: Line = balanced) -> ApproxDP:
        """The least sufficient ε, or an even part of the budget."""
        match wanted:
            case WantedError():
                return wanted.alone(parts, line)
            case OneOf():
                return self.part(Fraction(1, wanted.many))
        raise Refusal("price of a sum")

    def part(self, share: Fraction) -> ApproxDP:
        """This share of ε and of δ."""
        return ApproxDP(epsilon_below(self.budget) * share, Fraction(self.budget.delta) * share)

    def written(self) -> dict[str, Any]:
        """Its record in a ledger."""
        return {"account": self.name}


@dataclass(frozen=True)
class RenyiAccount:
    """Prices of one Rényi order multiply: a filter for any mix of definitions, best for many answers.

    `budget` limits the product of prices, and its delta the sum of deltas; `answers` is the expected number, for which
    the order was chosen. Both depend only on the answers' (ε, δ) `promise` and that number.

    Guarantee: what fits is private as promised, (ε, δ), for the budget of `of` (proof in docs/theory.md and
    proofs/Renyi.v): at order k + 1 the product of prices is at most B and Σδ at most a tenth of δ, and B·k^k / ((k +
    1)^(k + 1)·e^(kε)) is at most the rest of δ.

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
        """The account of a new dataset: the order with which this many answers are wrong least often, and its
        budget."""
        if not promise.delta > 0:
            raise DuotoneError("an account renyi needs a budget with delta above 0")
        if not (type(answers) is int and 1 <= answers <= MOST_EXPECTED):
            raise DuotoneError(f"an account renyi expects from 1 to {MOST_EXPECTED} answers, got {answers}")
        aside = Fraction(promise.delta) / 10
        order = best_order(promise, answers)
        budget = RenyiDP._computed(order, renyi_budget(promise, order, aside), aside)
        if not budget.price < LARGEST:
            raise DuotoneError("this budget is too large for an account renyi: lower epsilon, or take the account sum")
        return cls(promise, budget, answers)

    @property
    def proved(self) -> bool:
        """Whether the promise allows this budget; recomputed."""
        most = renyi_budget(self.promise, self.budget.order, self.budget.delta)
        return self.budget.price <= most and self.budget.price < LARGEST

    @property
    def nothing(self) -> Prices:
        """No price."""
        return Prices(self.budget.order)

    def accepts(self, cost: Cost) -> None:
        """Any ε and δ are accepted, and prices of this order: but not that answers share ε and δ by an order of their own,
        which would cost far more than their prices."""
        if definite(cost).shared is not None:
            raise Refusal("shared in an account renyi", order=self.budget.order)
        if isinstance(privacy := definite(cost).privacy, RenyiDP):
            price_of(privacy, self.budget.order)

    def fits(self, taken: Prices) -> bool:
        """The product of prices and Σδ, exactly."""
        return taken.order == self.budget.order and taken.price <= self.budget.price and taken.delta <= self.budget.delta

    def spent(self, taken: Prices) -> tuple[float, float]:
        """From the first answer on, the whole promise: a smaller loss for fewer answers is not proved."""
        return (self.promise.epsilon, float(self.promise.delta)) if taken.answers else (0.0, 0.0)

    def left(self, taken: Prices) -> Left:
        """The share of the budget that is left, and about how many of the expected answers."""
        left = self.rest(taken)
        answers = math.floor(self.answers * (left.share or 0.0) + 1e-9)
        return replace(left, answers=answers, wrong=SELDOM, people=self.people(self.answers))

    def rest(self, taken: Prices) -> Left:
        """The share of the budget that is left."""
        share = max(0.0, round(1 - _log(taken.price) / self._log, 12)) if self._log else 0.0
        return Left(delta=max(Fraction(0), self.budget.delta - taken.delta), share=share)

    def share(self, cost: Cost) -> Fraction:
        """The share of the logarithm of the product, or of Σδ, whichever is larger; computed exactly, and before a charge."""
        charge = definite(cost)
        each = price_of(charge.privacy, self.budget.order)
        parts = (log_above(self.budget.price), log_above(each.price)), (self.budget.delta, each.delta)
        return max(charge.answers * own / most if most else Fraction(MOST_ANSWERS) for most, own in parts if own or most)

    def priced(self, wanted: Wanted, parts: int, line: Line = balanced) -> RenyiDP:
        """The least sufficient price of this order, up to four digits; an even part of the budget, up to six; or the given
        one."""
        order = self.budget.order
        match wanted:
            case WantedError():
                return least_price(order, wanted.wrong, wanted.people, wanted.delta, parts=parts, line=line)
            case OneOf():
                part = self.part(Fraction(1, wanted.many))
                return RenyiDP(order, 1 + digits_below(part.price - 1), part.delta)
        return wanted.of_order(order)

    def people(self, answers: int) -> int:
        """About how many people from flipping an answer is wrong at most once in a thousand, if this many answers share
        the budget; at most 10^9."""
        return math.ceil(min(people_for(self.budget.order - 1, self._log / answers, SELDOM), 1e9))

    @cached_property
    def _log(self) -> float:
        return _log(self.budget.price)

    def part(self, share: Fraction) -> RenyiDP:
        """This share of the logarithm of the product, and of Σδ."""
        price = root_below(self.budget.price**share.numerator, share.denominator)
        return RenyiDP._computed(self.budget.order, price, self.budget.delta * share)

    def written(self) -> dict[str, Any]:
        """Its record in a ledger."""
        return {"account": self.name, "prices": write(self.budget), "expected": self.answers}


def allowed(account: Account, budget: ApproxDP | None = None, share: Given | None = None) -> Definition:
    """An allowance as it is given: a share of an account's budget, or, if ε and δ are summed, an (ε, δ)."""
    if (budget is None) == (share is None):
        raise DuotoneError("an allowance is a share of the budget, or a budget of its own: give one of the two")
    if share is not None:
        part = exact(share, "share")
        if not (0 < part <= 1 and part.denominator <= FINEST_SHARE):
            raise DuotoneError(f"a share is above 0 and at most 1, in parts of {FINEST_SHARE} at the finest, got {share}")
        return account.part(part)
    if not isinstance(budget, ApproxDP):
        raise DuotoneError(f"an allowance must be an ApproxDP, got {type(budget).__name__}")
    if account.name != "sum":
        raise DuotoneError(f"in an account {account.name} an allowance is a share of the budget (share)")
    return budget


def _log(price: Fraction) -> float:
    """The logarithm, to read, also of a price close to 1."""
    return math.log1p(float(price - 1)) if price < 2 else math.log(price.numerator) - math.log(price.denominator)


def most_answers(account: Account, each: Definition) -> int:
    """How many answers under one definition fit into a budget, at most 2^17.

    >>> most_answers(SumAccount(ApproxDP(1, "1e-6")), ApproxDP("0.3", "1e-9"))
    3
    """
    return bisect_left(range(1, MOST_ANSWERS + 1), True, key=lambda many: not account.fits(account.nothing.plus(each, many)))


def beyond(cost: Cost, *lefts: Left | None) -> tuple[str, ...]:
    """The parts of a cost, epsilon or delta, that exceed what is left of them; in an account renyi, only of delta."""
    if not isinstance(cost, Charge) or isinstance(cost.privacy, RenyiDP):
        return ()
    asked = {"epsilon": cost.answers * epsilon_above(cost.privacy), "delta": cost.answers * Fraction(cost.privacy.delta)}
    rooms = {name: [room for left in lefts if (room := getattr(left, name, None)) is not None] for name in asked}
    return tuple(name for name, part in asked.items() if any(part > room for room in rooms[name]))


def definite(cost: Cost) -> Charge:
    """The cost of a definite answer, which adds to sums."""
    if not isinstance(cost, Charge):
        raise DuotoneError("this is charged by close calls, and adds to no sum")
    return cost


@lru_cache(maxsize=256)
def write(privacy: Definition) -> str:
    """A definition as a ledger records it: the given numbers, exactly, in at most 3,000 characters.

    >>> write(ApproxDP("0.1", "1e-6"))
    'epsilon=1/10 delta=1/1000000'
    """
    return short(definition_text(privacy), "a definition, epsilon (or e^epsilon, or a price) and delta together,")


def short(text: str, name: str) -> str:
    """A text that is short enough for a ledger."""
    if not len(text) <= LONGEST:
        raise DuotoneError(f"{name} has too many digits for a ledger: {len(text)} characters, and at most {LONGEST} are kept")
    return text


@lru_cache(maxsize=256)
def charge_of(definition: str, boundary: str, answers: int) -> Charge:
    """The charge of these texts."""
    return Charge.read(read_either(definition), boundary, answers)
