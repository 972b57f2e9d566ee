"""How accurate an answer is, as a terminal, a notebook and a report say it: public, and known before anything is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Protocol

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.line.mechanism import MARGINS, on_line
from duotone.line.table import LineTable
from duotone.privacy.approx_dp import ApproxDP
from duotone.release.coin import Basis

NOTHING = 1e-12
"""Probabilities up to this are not shown."""
USUAL_DELTA = "1e-6"
SHORT = 12
"""The characters of a number up to which it is written exactly."""


@dataclass(frozen=True)
class Accuracy:
    """How often an answer that is drawn from a table is wrong, by how many people would have to be different to flip it.

    >>> from duotone import ApproxDP, balanced
    >>> from duotone.line.table import line_table
    >>> usual = Accuracy(line_table(balanced(ApproxDP(1, "1e-6"))))
    >>> print(usual.by_margin, usual.ending, sep="; ")
    Pr[wrong] by people from flipping: 1: 0.269, 2: 0.0989, 3: 0.0364, 5: 0.00493, 10: 3.26e-05; never wrong from 15 people on
    """

    table: LineTable
    parts: int = 1
    """Among how many answers about one person the budget is divided."""

    def errors(self, margin: int) -> tuple[float, float]:
        """Pr[false no] and Pr[false yes] at a margin: the same, unless one mistake costs more."""
        if type(margin) is not int or not margin >= 1:
            raise DuotoneError(f"a margin is a whole number of people, at least 1: the one who flips the answer; got {margin}")
        one = 2**self.table.bits
        blue, red = ((one - side[min(margin, len(side)) - 1]) / one for side in (self.table.blue, self.table.red))
        return blue, red

    @cached_property
    def certain(self) -> float:
        """From how many people on an answer is never wrong; infinite where that is never so."""
        return max(on_line(self.table.privacy, self.table.boundary).certain) + 1

    @property
    def head(self) -> tuple[str, ...]:
        """What `wrong` is, by what: one mistake where both are alike, or where only one is ever made."""
        match self.table.boundary:
            case "balanced":
                return "people from flipping", "Pr[wrong]"
            case "selection":
                return "people in the group", "Pr[not shown]"
        return "people from flipping", "Pr[false no]", "Pr[false yes]"

    def wrong(self, margin: int) -> tuple[float, ...]:
        """The probabilities that `head` names."""
        return self.errors(margin)[: len(self.head) - 1]

    @property
    def margins(self) -> tuple[int, ...]:
        """The margins worth showing."""
        return tuple(m for m in MARGINS if m < self.certain and max(self.errors(m)) > NOTHING)

    @property
    def by_margin(self) -> str | None:
        """All of it in one line; None where a mistake is next to impossible."""
        if not self.margins:
            return None
        by, *names = self.head
        shown = ", ".join(f"{m}: {' and '.join(f'{error:.3g}' for error in self.wrong(m))}" for m in self.margins)
        return f"{' and '.join(names)} by {by}: {shown}"

    @property
    def ending(self) -> str:
        """From where on nothing is wrong."""
        if not math.isfinite(self.certain):
            return f"with delta 0 no answer is ever certain{self._by_delta}"
        never = "always shown" if self.table.boundary == "selection" else "never wrong"
        return f"{never} from {self.certain:g} people on"

    @property
    def _by_delta(self) -> str:
        """What a small δ would add where there is none. Nothing of a coin toss, nor where costs are weighed by the budget."""
        privacy = self.table.privacy
        if privacy.exp_epsilon == 1 or self.table.boundary != "balanced":
            return ""
        share = Fraction(USUAL_DELTA) / self.parts
        usual = on_line(ApproxDP.from_exp_epsilon(privacy.exp_epsilon, share), "balanced")
        return f"; with delta {USUAL_DELTA} one would be from {max(usual.certain) + 1:g} people on"

    @property
    def brief(self) -> str:
        """The largest probability of a mistake, and from where on there is none, in a few words."""
        if self.table.boundary == "selection":
            return self.ending
        end = f", never from {self.certain:g} people on" if math.isfinite(self.certain) else ""
        return f"wrong with probability at most {at_most(max(self.errors(1)))}{end}"

    def sentence(self, basis: Basis) -> str:
        """The same as a part of a sentence for a report."""
        by_bound = "" if basis == "exact distance" else ", by a safe bound,"
        match self.table.boundary:
            case "selection":
                return f"a group of {self.certain:g} or more people is always shown"
            case "balanced":
                worst = f"wrong with probability at most {at_most(self.errors(1)[0])}"
            case _:
                no, yes = map(at_most, self.errors(1))
                worst = f"wrong with probability at most {no} where yes is true and {yes} where no is"
        if not math.isfinite(self.certain) and self.table.privacy.exp_epsilon == 1:
            return worst
        if not math.isfinite(self.certain):
            return f"{worst}, and less often the more people{by_bound} would have to be different to change it"
        return f"{worst}, and never if {self.certain:g} or more people{by_bound} would have to be different to change it"


def at_most(probability: float) -> str:
    """Three digits, rounded up.

    >>> at_most(0.26894), at_most(0.5), at_most(3.2601e-05), at_most(0)
    ('0.269', '0.5', '3.27e-05', '0')
    """
    return f"{float(Context(prec=3, rounding=ROUND_CEILING).plus(Decimal(probability))):g}"


def written_budget(privacy: ApproxDP) -> str:
    """A budget as a report writes it.

    >>> written_budget(ApproxDP("1/3", "1e-6")), written_budget(ApproxDP(exp_epsilon=2))
    ('ε = 0.333333, δ = 1e-06', 'e^ε = 2, δ = 0')
    """
    power = privacy.exact and privacy.epsilon_exact is None and len(str(privacy.exp_epsilon)) <= SHORT
    first = f"e^ε = {privacy.exp_epsilon}" if power else f"ε = {privacy.epsilon:g}"
    return f"{first}, δ = {float(privacy.delta):g}"


class Described(Protocol):
    """A question or its answers, as far as a report says how they are made."""

    @property
    def privacy(self) -> ApproxDP:
        """The budget of all answers."""
        ...

    @property
    def share(self) -> ApproxDP:
        """The budget of each."""
        ...

    @property
    def protected(self) -> str:
        """Whom the budget is about, and what of them."""
        ...

    @property
    def person(self) -> str:
        """Who counts as a person."""
        ...

    @property
    def clipped(self) -> str:
        """What is cut to what; empty for nothing."""
        ...

    @property
    def vouched(self) -> str | None:
        """What the owner vouches for."""
        ...

    @property
    def basis(self) -> Basis:
        """Whether levels are exact distances."""
        ...

    @property
    def accuracy(self) -> Accuracy:
        """How often an answer is wrong."""
        ...

    @property
    def selected(self) -> bool:
        """Whether the groups that are answered for are selected privately."""
        ...


def method(of: Described) -> str:
    """How an answer is made, for a report: the budget, about whom, what is clipped, and how often it is wrong."""
    share = f"each answer with {written_budget(of.share)}" if of.share != of.privacy else None
    cut = f"clipped: {of.clipped}" if of.clipped else None
    first = f"differential privacy, {written_budget(of.privacy)} {of.protected}"
    hidden = "groups of few people may be missing, since which are shown is decided privately" if of.selected else None
    return "; ".join(filter(None, [first, share, of.person, cut, of.vouched, of.accuracy.sentence(of.basis), hidden]))


def clipping(clipped: str) -> str | None:
    """What is cut to what, in a sentence; None for nothing."""
    return f"clipped before anything is counted: {clipped}; what that changes is not in Pr[wrong]" if clipped else None
