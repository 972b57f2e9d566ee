"""How accurate an answer is: `Accuracy` of yes or no, `Clearness` if it may be too close to call. Both are public,
known before anything is read, and show the same in terminals, notebooks and reports."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any, Literal

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.html import bar, cell
from duotone.line.mechanism import MARGINS, on_line
from duotone.line.table import Table
from duotone.line.three_way import clear_from
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.renyi import RenyiDP
from duotone.privacy.text import Definition, definition_document

Basis = Literal["exact distance", "safe bound"]
NOTHING = 1e-12
"""Probabilities up to this are not shown."""
USUAL_DELTA = "1e-6"
SHORT = 12
"""Most characters of a number that is written exactly."""
CHANCES = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100), Fraction(1, 1000), Fraction(1, 10**6), Fraction(1, 10**9))
"""Chances of a close call for which `Clearness` gives a margin."""


@dataclass(frozen=True)
class Accuracy:
    """How often an answer that is drawn from a table is wrong, by how many people would have to be different to flip
    it.

    >>> from duotone import ApproxDP, balanced
    >>> from duotone.line.table import line_table
    >>> usual = Accuracy(line_table(balanced(ApproxDP(1, "1e-6"))))
    >>> print(usual.by_margin, usual.ending, sep="; ")
    Pr[wrong] by people from flipping: 1: 0.269, 2: 0.0989, 3: 0.0364, 5: 0.00493, 10: 3.26e-05; never wrong from 15 people \
on, always certain from 29
    >>> [round(usual.sure(margin), 3) for margin in (10, 15, 20, 29)]
    [0.005, 0.731, 0.998, 1.0]
    """

    table: Table
    parts: int = 1
    """The number of answers about one person that share the budget."""
    answered_above: int | None = None
    """For private groups: the size up to which an answer is the toss of a coin."""
    smallest: int = 1
    """For the question which groups may be shown: the people of the smallest. Margins are then numbers of people."""

    def errors(self, margin: int) -> tuple[float, float]:
        """Pr[false no] and Pr[false yes] at a margin: the same, unless one mistake costs more."""
        _check_margin(margin)
        if margin < self.smallest:
            return 1.0, 0.0
        one, level = 2**self.table.bits, margin - self.smallest
        blue, red = ((one - side[min(level, len(side) - 1)]) / one for side in self._sides)
        return blue, red

    @property
    def _sides(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Pr[right]·2^bits by distance, for a yes and for a no; the same for one of several answers."""
        return self.table.blue, self.table.red or self.table.blue

    def error(self, margin: int) -> float:
        """Pr[wrong] when this many people, at least 1, would have to join, leave or change to flip the answer."""
        return max(self.errors(margin))

    def sure(self, margin: int) -> float:
        """Pr[certain] at a margin: how often no noise could have turned the answer. (For a yes or a no, whichever is
        rarer.)"""
        _check_margin(margin)
        if not self._ever_certain:
            return 0.0
        noise = self.table.noise
        level, other = (min(margin, noise.cap or margin) - 1, -min(margin, noise.cap or margin))
        return float(min(noise.chance(level - noise.most - noise.tossed), 1 - noise.chance(other - noise.least + noise.tossed)))

    @property
    def _ever_certain(self) -> bool:
        """Whether an answer ever says that it is certain, by a margin."""
        return self.table.has_margins and self.table.noise.bounded

    @cached_property
    def surely(self) -> float:
        """The margin from which every answer is certain; infinite if there is none."""
        if not self._ever_certain:
            return math.inf
        noise = self.table.noise
        wide = noise.most - noise.least + 1 + noise.tossed
        return wide if wide <= (noise.cap or wide) else math.inf

    @property
    def never(self) -> tuple[float, float]:
        """The margins from which `errors` are 0: those of the table that is drawn from, where a δ next to nothing is left
        out."""
        one = 1 << self.table.bits
        blue, red = (len(side) - 1 if side[-1] == one else math.inf for side in self._sides)
        return blue + self.smallest, red + self.smallest

    @cached_property
    def certain(self) -> float:
        """The margin from which an answer is never wrong; infinite if there is none."""
        return max(self.never)

    @property
    def head(self) -> tuple[str, ...]:
        """The headings of `rows`: the margin, each mistake (one if both are alike, or only one is ever made), and, if
        an answer can be certain, how often."""
        if self.table.boundary == "selection":
            return "people in the group", *self._mistakes
        return "people from flipping", *self._mistakes, *(["Pr[certain]"] if self._ever_certain else [])

    @property
    def _mistakes(self) -> tuple[str, ...]:
        """The mistakes whose probabilities `wrong` returns."""
        match self.table.boundary:
            case "balanced" | None:
                return ("Pr[wrong]",)
            case "selection":
                return ("Pr[not shown]",)
            case _:
                return "Pr[false no]", "Pr[false yes]"

    def wrong(self, margin: int) -> tuple[float, ...]:
        """The probability of each mistake."""
        return self.errors(margin)[: len(self._mistakes)]

    @property
    def margins(self) -> tuple[int, ...]:
        """The margins at which a mistake is worth showing."""
        return tuple(m for m in MARGINS if m < self.certain and max(self.errors(m)) > NOTHING)

    @property
    def _lines(self) -> list[tuple[int, tuple[float, ...]]]:
        """The margins worth showing, with the columns of `head`."""
        if self.table.boundary == "selection" or not self._ever_certain:
            return [(m, self.wrong(m)) for m in self.margins]
        end = min(self.surely, self.table.noise.cap or math.inf)
        return [(m, (*self.wrong(m), math.floor(1000 * self.sure(m)) / 1000)) for m in MARGINS if m < end]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The table under `head`, as text."""
        return [(str(m), *(f"{chance:.3g}" for chance in chances)) for m, chances in self._lines]

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The table under `head`, for a notebook."""
        return [(cell(m), *map(bar, chances)) for m, chances in self._lines]

    def document(self) -> dict[str, Any]:
        """As JSON."""
        privacy, certain = self.table.privacy, self.certain
        document: dict[str, Any] = {"error_by_margin": {str(m): self.error(m) for m in MARGINS}}
        document["certain_from"] = int(certain) if math.isfinite(certain) else None
        if self.table.boundary != "selection":
            document["certain_by_margin"] = {str(m): self.sure(m) for m in MARGINS}
            document["always_certain_from"] = int(self.surely) if math.isfinite(self.surely) else None
        document["share"] = {"epsilon": privacy.epsilon, **definition_document(privacy)}
        if self.table.boundary not in ("balanced", None):
            document["boundary"] = str(self.table.boundary)
            for i, name in enumerate(("false_no_by_margin", "false_yes_by_margin")):
                document[name] = {str(m): self.errors(m)[i] for m in MARGINS}
        return document

    @property
    def last(self) -> int:
        """The margin where a curve ends: answers are never, or hardly ever, wrong from there on."""
        if math.isfinite(self.certain):
            return int(self.certain)
        margin = 1
        while self.error(margin) > 1e-4 and margin < 10**6:
            margin *= 2
        return margin

    @property
    def by_margin(self) -> str | None:
        """All of it in one line; None if a mistake is next to impossible."""
        if not self.margins:
            return None
        by, names = self.head[0], self._mistakes
        shown = ", ".join(f"{m}: {' and '.join(f'{error:.3g}' for error in self.wrong(m))}" for m in self.margins)
        return f"{' and '.join(names)} by {by}: {shown}"

    @property
    def ending(self) -> str:
        """The margin from which nothing is wrong, in words."""
        if not math.isfinite(self.certain):
            return f"with delta {float(self.table.privacy.delta):g} no answer is ever certain{self._by_delta}"
        if self.table.boundary == "selection":
            return f"always shown from {self.certain:g} people on"
        surely = f", always certain from {self.surely:g}" if math.isfinite(self.surely) else ""
        return f"never wrong from {self.certain:g} people on{surely}{self._if_large}"

    @property
    def _if_large(self) -> str:
        """If groups are private: which of them are large enough for this to hold."""
        above = self.answered_above
        return "" if above is None else f", in groups of more than {above} people by as many"

    @property
    def _by_delta(self) -> str:
        """What a small δ would add if there is none. Empty for a coin toss, and if the budget is weighted by costs."""
        privacy = self.table.privacy
        if isinstance(privacy, RenyiDP) or privacy.exp_epsilon == 1 or self.table.boundary != "balanced":
            return ""
        share = Fraction(USUAL_DELTA) / self.parts
        usual = on_line(ApproxDP.from_exp_epsilon(privacy.exp_epsilon, share), "balanced")
        return f"; with delta {USUAL_DELTA} one would be from {max(usual.certain) + 1:g} people on"

    @property
    def brief(self) -> str:
        """The largest probability of a mistake, and the margin without one, in a few words."""
        if self.table.boundary == "selection":
            return self.ending
        end = f", never from {self.certain:g} people on{self._if_large}" if math.isfinite(self.certain) else ""
        return f"wrong with probability at most {at_most(max(self.errors(1)))}{end}"

    def sentence(self, basis: Basis) -> str:
        """The same as a part of a sentence for a report."""
        said = self._sentence("" if basis == "exact distance" else ", by a safe bound,")
        if self.answered_above is None:
            return said
        small = f"about a group of {self.answered_above} people or fewer an answer is the toss of a coin"
        return f"{said}{self._if_large}; {small}"

    def _sentence(self, by_bound: str) -> str:
        """The accuracy of a sufficiently large group."""
        match self.table.boundary:
            case "selection":
                return f"a group of {self.certain:g} or more people is always shown"
            case "balanced" | None:
                worst = f"wrong with probability at most {at_most(self.errors(1)[0])}"
            case _:
                no, yes = map(at_most, self.errors(1))
                worst = f"wrong with probability at most {no} where yes is true and {yes} where no is"
        privacy = self.table.privacy
        if not math.isfinite(self.certain) and not isinstance(privacy, RenyiDP) and privacy.exp_epsilon == 1:
            return worst
        if not math.isfinite(self.certain):
            return f"{worst}, and less often the more people{by_bound} would have to be different to change it"
        return f"{worst}, and never if {self.certain:g} or more people{by_bound} would have to be different to change it"


@dataclass(frozen=True)
class Clearness:
    """How often an answer is too close to call, by how many people would have to be different to flip it."""

    table: Table

    def chances(self, margin: int) -> tuple[float, float, float]:
        """Pr[right], Pr[wrong], Pr[too close to call] at a margin."""
        _check_margin(margin)
        right, close, wrong = self.table.chances(margin - 1)
        return float(right), float(wrong), float(close)

    def errors(self, margin: int) -> tuple[float, float]:
        """Pr[not right] at a margin, on both sides."""
        return (1 - self.chances(margin)[0],) * 2

    def error(self, margin: int) -> float:
        """Pr[too close to call] at a margin."""
        return self.chances(margin)[2]

    @property
    def never(self) -> tuple[float, float]:
        """The margins from which an answer is too close to call with at most 10^-9."""
        return (float(clear_from(self.table, "1e-9") or math.inf),) * 2

    @property
    def clear_from(self) -> dict[str, int]:
        """The margins from which an answer is too close to call with at most some chances."""
        people = {f"{float(chance):g}": clear_from(self.table, chance) for chance in CHANCES}
        return {chance: many for chance, many in people.items() if many is not None}

    @property
    def head(self) -> tuple[str, ...]:
        """The headings of `rows`."""
        return "people from flipping", "Pr[right]", "Pr[wrong]", "Pr[too close to call]"

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Rows of the accuracy table: the chances one person away from flipping, and at each margin of `clear_from`."""
        margins = [1, *self.clear_from.values()]
        return [(f"{m:,}", *(f"{chance:.4g}" for chance in self.chances(m))) for m in margins]

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The same, for a notebook."""
        return [tuple(map(cell, row)) for row in self.rows]

    def document(self) -> dict[str, Any]:
        """As JSON."""
        by_margin = {str(m): self.error(m) for m in MARGINS}
        return {"wrong": self.chances(1)[1], "too_close_by_margin": by_margin, "clear_from": self.clear_from}

    @property
    def last(self) -> int:
        """The margin where a curve ends."""
        return clear_from(self.table, "1e-3") or 1000

    @property
    def ending(self) -> str:
        """How often an answer is wrong, in words."""
        return f"a wrong answer has probability {self.chances(1)[1]:.3g}, at any distance"

    def sentence(self, basis: Basis) -> str:
        """All of it as a part of a sentence for a report."""
        wrong, clear = self.chances(1)[1], clear_from(self.table, "1e-3")
        if clear is None:
            return f"wrong with probability {wrong:.3g}"
        by_bound = "" if basis == "exact distance" else ", by a safe bound,"
        far = f"clear with 99.9 % if {clear:,} or more people{by_bound} would have to be different to change it"
        return f"wrong with probability {wrong:.3g}, and {far}"


def _check_margin(margin: object) -> None:
    if not (type(margin) is int and margin >= 1):
        raise DuotoneError(f"a margin is a whole number of people, at least 1: the one who flips the answer; got {margin}")


def at_most(probability: float) -> str:
    """Three digits, rounded up.

    >>> at_most(0.26894), at_most(0.5), at_most(3.2601e-05), at_most(0)
    ('0.269', '0.5', '3.27e-05', '0')
    """
    return f"{float(Context(prec=3, rounding=ROUND_CEILING).plus(Decimal(probability))):g}"


def written_budget(privacy: Definition) -> str:
    """A budget as a report writes it.

    >>> written_budget(ApproxDP("1/3", "1e-6")), written_budget(ApproxDP(exp_epsilon=2))
    ('ε = 0.333333, δ = 1e-06', 'e^ε = 2, δ = 0')
    """
    if isinstance(privacy, RenyiDP):
        return f"Rényi order {privacy.order}, ε = {privacy.epsilon:g}, δ = {float(privacy.delta):g}"
    power = privacy.exact and privacy.epsilon_exact is None and len(str(privacy.exp_epsilon)) <= SHORT
    first = f"e^ε = {privacy.exp_epsilon}" if power else f"ε = {privacy.epsilon:g}"
    return f"{first}, δ = {float(privacy.delta):g}"
