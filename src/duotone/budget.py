"""Budgets: whether what has been charged, and one answer more, stays within what a dataset may spend.

Who asks may choose the next question, and the notion it is sold at, after seeing the last answer. Each rule is a privacy
filter that is proved for that; which one a dataset has is fixed when it is registered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, Protocol

import gmpy2

from duotone.composition import MOST
from duotone.errors import DuotoneError
from duotone.line import Boundary, LineMechanism
from duotone.number import exp_below, probability, show
from duotone.privacy import ApproxDP
from duotone.table import LineTable, line_table

LONGEST = 2**20
"""The bits up to which a product of ratios is written out; beyond, it is added up by logarithms rounded up."""

RuleName = Literal["sum", "advanced", "plan"]
Tally = Mapping[ApproxDP, int]
"""How many answers have been charged at each notion."""


@dataclass(frozen=True)
class Sale:
    """What is sold: answers of one mechanism on a line.

    `answers` is how many of them one person can change: 1 for a question, n for a batch of n, and for groups the most
    that a person may be in, since groups that share nobody compose in parallel. Where neighbours replace a person, the
    groups left and the groups joined both count.
    """

    mechanism: LineMechanism
    answers: int = 1
    also: tuple[LineMechanism, ...] = ()
    """Other mechanisms at the same notion that some of the answers come from."""

    def __post_init__(self) -> None:
        if any(other.privacy != self.mechanism.privacy for other in self.also):
            raise DuotoneError("a sale is at one notion")
        if not isinstance(self.mechanism.privacy, ApproxDP):
            raise DuotoneError("a ledger charges for (epsilon, delta)-privacy")
        if not (type(self.answers) is int and 1 <= self.answers <= MOST):
            raise DuotoneError(f"a sale has from 1 to {MOST} answers, got {self.answers}")

    @property
    def privacy(self) -> ApproxDP:
        """The notion that each answer is sold at."""
        assert isinstance(self.mechanism.privacy, ApproxDP)
        return self.mechanism.privacy

    @property
    def boundary(self) -> str:
        """What is fixed at the boundary, as a ledger records it."""
        return "+".join(boundary_text(mechanism.boundary) for mechanism in (self.mechanism, *self.also))

    @cached_property
    def tables(self) -> tuple[LineTable, ...]:
        """The integers that the answers are released from."""
        return tuple(map(line_table, (self.mechanism, *self.also)))


class Rule(Protocol):
    """A privacy filter: whether a tally stays within the budget, whatever was chosen after seeing what."""

    @property
    def name(self) -> RuleName:
        """As it is recorded."""
        ...

    def accepts(self, sale: Sale) -> None:
        """Raise where this budget has no price for such a sale."""
        ...

    def fits(self, tally: Tally) -> bool:
        """Whether the tally is within the budget."""
        ...

    def spent(self, tally: Tally) -> tuple[float, float]:
        """(ε, δ) of the tally, to be read; decisions are by `fits`."""
        ...

    def left(self, tally: Tally) -> str:
        """What may still be spent, in words."""
        ...

    def written(self) -> dict[str, Any]:
        """What a ledger records of it."""
        ...


@dataclass(frozen=True)
class Sum:
    """Sums of ε and of δ, exactly: a filter for any mix of notions.

    Guarantee: what fits is (ε, δ)-private (Rogers, Roth, Ullman and Vadhan 2016; docs/ledger.md has the proof).

    >>> rule = Sum(ApproxDP(1, "1e-6"))
    >>> rule.fits({ApproxDP("0.1", "1e-7"): 10}), rule.fits({ApproxDP("0.1", "1e-7"): 10, ApproxDP("1e-9"): 1})
    (True, False)
    """

    budget: ApproxDP
    name: RuleName = "sum"

    def accepts(self, sale: Sale) -> None:
        """Any sale has a price."""

    def fits(self, tally: Tally) -> bool:
        """Σε ≤ ε and Σδ ≤ δ, in exact arithmetic; where ratios were given, their product counts."""
        delta, exponent, ratio = Fraction(0), Fraction(0), Fraction(1)
        for notion, n in tally.items():
            delta += n * Fraction(notion.delta)
            if notion.exponent is not None:
                exponent += n * notion.exponent
            elif n * notion.ratio.numerator.bit_length() <= LONGEST:
                ratio *= notion.ratio**n
            else:
                exponent += n * log_above(notion.ratio)
        if not delta <= Fraction(self.budget.delta):
            return False
        if self.budget.exponent is None:
            return ratio * exp_above(exponent) <= self.budget.ratio
        room = self.budget.exponent - exponent
        return room >= 0 and (ratio == 1 or ratio <= exp_below(room))

    def spent(self, tally: Tally) -> tuple[float, float]:
        """The two sums."""
        return _sums(tally)

    def left(self, tally: Tally) -> str:
        """The rest of ε and of δ."""
        epsilon, delta = self.spent(tally)
        return f"epsilon {max(0.0, self.budget.epsilon - epsilon):.6g}, delta {max(0.0, float(self.budget.delta) - delta):.6g}"

    def written(self) -> dict[str, Any]:
        """What a ledger records of it."""
        return {"rule": self.name}


@dataclass(frozen=True)
class Advanced:
    """Squares of ε add up: a filter for any mix of notions, better than `Sum` for many small answers.

    A part `slack` of the budget's δ is set aside; the rest pays for the δs.

    Guarantee: what fits is (ε, δ)-private (Whitehouse, Ramdas, Rogers and Wu 2023, Theorem 1): with S = Σε², it holds
    that √(2·S·ln(1/slack)) + S/2 ≤ ε. Exact, but for logarithms rounded up.

    >>> rule = Advanced(ApproxDP(1, "1e-6"), slack=Fraction(1, 2 * 10**6))
    >>> rule.fits({ApproxDP("0.01"): 330}), rule.fits({ApproxDP("0.01"): 340})
    (True, False)
    """

    budget: ApproxDP
    slack: Fraction
    name: RuleName = "advanced"

    def __post_init__(self) -> None:
        if not 0 < self.slack <= Fraction(self.budget.delta):
            raise DuotoneError("advanced composition needs a budget with delta above 0")

    def accepts(self, sale: Sale) -> None:
        """Any sale has a price."""

    def fits(self, tally: Tally) -> bool:
        """2·S·ln(1/slack) ≤ (ε − S/2)² and Σδ ≤ δ − slack."""
        squares = sum((n * epsilon_above(notion) ** 2 for notion, n in tally.items()), Fraction(0))
        delta = sum((n * Fraction(notion.delta) for notion, n in tally.items()), Fraction(0))
        room = epsilon_below(self.budget) - squares / 2
        return (
            delta <= Fraction(self.budget.delta) - self.slack
            and room >= 0
            and 2 * squares * log_above(1 / self.slack) <= room**2
        )

    def spent(self, tally: Tally) -> tuple[float, float]:
        """The bound of the theorem, and the slack with the sum of δ."""
        squares = sum(n * notion.epsilon**2 for notion, n in tally.items())
        epsilon = math.sqrt(2 * squares * float(log_above(1 / self.slack))) + squares / 2
        return epsilon, (float(self.slack) + _sums(tally)[1]) if tally else 0.0

    def left(self, tally: Tally) -> str:
        """The rest of the bound and of δ."""
        epsilon, delta = self.spent(tally)
        delta = delta or float(self.slack)
        return f"epsilon {max(0.0, self.budget.epsilon - epsilon):.6g}, delta {max(0.0, float(self.budget.delta) - delta):.6g}"

    def written(self) -> dict[str, Any]:
        """What a ledger records of it."""
        return {"rule": self.name, "slack": show(self.slack)}


def write(privacy: ApproxDP) -> str:
    """A notion as a ledger records it: what was given, exactly.

    >>> write(ApproxDP("0.1", "1e-6")), read(write(ApproxDP(ratio=2))) == ApproxDP(ratio=2)
    ('epsilon=1/10 delta=1/1000000', True)
    """
    first = f"ratio={show(privacy.ratio)}" if privacy.exponent is None else f"epsilon={show(privacy.exponent)}"
    return f"{first} delta={show(Fraction(privacy.delta))}"


def boundary_text(boundary: Boundary) -> str:
    """A boundary as a ledger records it: a word, or an exact number."""
    return boundary if boundary in ("balanced", "selection") else show(Fraction(probability(boundary)))  # type: ignore[return-value]


@lru_cache(maxsize=1024)
def read(text: str) -> ApproxDP:
    """What `write` wrote."""
    return ApproxDP(**dict(part.split("=", 1) for part in text.split(" ")))


def _sums(tally: Tally) -> tuple[float, float]:
    return sum(n * p.epsilon for p, n in tally.items()), float(sum(n * Fraction(p.delta) for p, n in tally.items()))


def log_above(x: Fraction) -> Fraction:
    """A rational at least ln x."""
    return _log(x, gmpy2.RoundUp)


def exp_above(x: Fraction) -> Fraction:
    """A rational at least e^x, and exactly 1 for 0."""
    return Fraction(1) if x == 0 else exp_below(x) * (1 + Fraction(1, 2**100))


def _log(x: Fraction, direction: int) -> Fraction:
    with gmpy2.context(precision=192, round=direction):
        top, bottom = gmpy2.log(gmpy2.mpfr(gmpy2.mpq(x.numerator, x.denominator))).as_integer_ratio()
    return Fraction(int(top), int(bottom))


def epsilon_above(privacy: ApproxDP) -> Fraction:
    """A rational at least ε."""
    return log_above(privacy.ratio) if privacy.exponent is None else privacy.exponent


def epsilon_below(privacy: ApproxDP) -> Fraction:
    """A rational at most ε."""
    return _log(privacy.ratio, gmpy2.RoundDown) if privacy.exponent is None else privacy.exponent
