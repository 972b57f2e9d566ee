"""Noise: it is added to a level so that the sign of the sum is a line's optimal answer, and its size says how sure that
answer is.

N is an integer with Pr[N ≥ −ℓ] = p(ℓ), the probability of yes at level ℓ. So ℓ + N ≥ 0 exactly as often as the
mechanism says yes. Releasing ℓ + N, the *margin*, costs no more than its sign: noise shifted by one is as likely as (ε,
δ) allows, over all events (docs/theory.md).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, isinf
from numbers import Number
from typing import Any

import numpy as np

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given, probability
from duotone.privacy.rounded import over_all_events

FURTHEST = 2**62
"""Further levels are alike everywhere."""
USUALLY = Fraction(95, 100)
"""The probability that the noise is at most `Noise.give_or_take`."""


@dataclass(frozen=True)
class Noise:
    """Noise on levels, in integers: `yes` is Pr[N ≥ −ℓ]·2^bits by level ℓ from `lowest` on.

    Levels are clipped to [−cap, cap − 1] before it is added. A bounded end is exactly 0 or 2^bits. Beyond another end
    the noise continues outside the table: the margin is then clamped to [−cap, cap − 1].

    >>> from duotone import ApproxDP, balanced
    >>> from duotone.line.table import line_table
    >>> noise = line_table(balanced(ApproxDP(1, "1e-6"))).noise
    >>> noise, noise.cap, noise.give_or_take
    (<Noise: from -14 to 14, of 128 bits>, 29, 3)
    >>> [round(float(noise.p_value(margin)), 4) for margin in (0, 5, 13, 14, -1)]
    [0.2689, 0.0018, 0.0, 0.0, 0.2689]
    """

    yes: tuple[int, ...]
    lowest: int
    bits: int
    cap: int | None
    tossed: bool = False
    """Whether the level may have been replaced by 0 or −1, by a fair coin, because a group is too small for an answer
    (see `line.groups`)."""

    def __repr__(self) -> str:
        return f"<Noise: {'from' if self.bounded else 'about'} {self.least} to {self.most}, of {self.bits} bits>"

    @property
    def bounded(self) -> bool:
        """Whether both ends are bounded, so that answers far from flipping are certain."""
        return self.yes[0] == 0 and self.yes[-1] == 1 << self.bits

    @property
    def least(self) -> int:
        """The least value of the noise; if it is not bounded, a value that stands for smaller ones."""
        return -(self.lowest + len(self.yes) - (self.yes[-1] == 1 << self.bits))

    @property
    def most(self) -> int:
        """The largest value of the noise; if it is not bounded, a value that stands for larger ones."""
        return -self.lowest - (self.yes[0] == 0)

    def chance(self, level: int) -> Fraction:
        """Pr[N ≥ −level]: the probability of yes at a level."""
        place = min(max(level - self.lowest, 0), len(self.yes) - 1)
        return Fraction(self.yes[place], 1 << self.bits)

    def p_value(self, margin: int) -> Fraction:
        """The highest probability of a margin at least this far from 0, if the truth is the other answer.

        Guarantee: for a yes, no level ℓ ≤ −1 has a larger Pr[ℓ + N ≥ margin]; for a no, no level ℓ ≥ 0 a larger one of
        ≤. Nor has the coin that replaces a level if it may be `tossed`.
        """
        chance = self.chance(-1 - margin)
        if self.tossed:
            chance = (chance + self.chance(-margin if margin >= 0 else -2 - margin)) / 2
        return chance if margin >= 0 else 1 - chance

    def at_least(self, margin: int, confidence: Fraction) -> int:
        """At least this many people would have to be different to change the true answer; 0 says nothing, not even that
        the answer is true.

        Guarantee: for every table, the number is too large, or said of the wrong answer, with probability at most 1 −
        confidence: half of that for either answer.
        """
        one, wrong = 1 << self.bits, (1 - confidence) / 2
        if self.p_value(margin) > wrong:
            return 0
        if margin >= 0:
            rare = bisect_right(self.yes, floor(wrong * one))  # this many levels say yes rarely enough
            return max(0, margin + self.lowest + rare + 1) if rare else 0
        often = bisect_left(self.yes, ceil((1 - wrong) * one))  # from here on they say yes often enough
        return max(0, -margin - self.lowest - often) if often < len(self.yes) else 0

    @cached_property
    def give_or_take(self) -> int:
        """The least s such that 95 % of all noise is within s of its median."""
        s, middle, end = 0, self.middle, self.most - self.least
        while s < end and self.chance(s - middle) - self.chance(-middle - s - 1) < USUALLY:
            s += 1
        return s

    @cached_property
    def middle(self) -> int:
        """A median."""
        return -self.lowest - bisect_left(self.yes, 1 << (self.bits - 1))

    @property
    def turned(self) -> Noise:
        """Noise of the same size and the other sign."""
        return replace(self, yes=tuple((1 << self.bits) - yes for yes in self.yes[::-1]), lowest=-self.lowest - len(self.yes))

    @property
    def centred(self) -> Noise:
        """The same noise less its median."""
        return replace(self, lowest=self.lowest + self.middle)

    def clamped(self, margins: Any) -> Any:
        """Margins where the noise is known: beyond an end that is not certain, all are alike."""
        return margins if self.bounded or self.cap is None else np.clip(margins, -self.cap, self.cap - 1)

    def level(self, at: Any) -> int | None:
        """A level, which may be infinite, clipped to where levels differ; None for anything else."""
        most = FURTHEST if self.cap is None else self.cap
        if isinstance(at, float) and isinf(at):
            return most - 1 if at > 0 else -most
        if isinstance(at, bool | np.bool_) or not isinstance(at, int | np.integer):
            return None
        return min(max(int(at), -most), most - 1)


@dataclass(frozen=True)
class Margin:
    """A level plus noise: 0 or more is a yes. It is as private as its sign alone, and says how sure that is.

    >>> from duotone import ApproxDP, balanced
    >>> from duotone.line.table import line_table
    >>> noise = line_table(balanced(ApproxDP(1, "1e-6"))).noise
    >>> sure, unsure = Margin(28, noise), Margin(-6, noise)
    >>> sure.answer, sure.certain, sure.distance, sure.capped, sure.at_least(1)
    (True, True, 29, True, 15)
    >>> unsure.answer, unsure.certain, unsure.distance, round(unsure.p_value, 4), unsure.at_least("0.95")
    (False, False, 6, 0.0018, 3)
    """

    value: int
    noise: Noise

    @property
    def answer(self) -> bool:
        """Yes or no."""
        return self.value >= 0

    @property
    def p_value(self) -> float:
        """How often, at most, a margin this far from 0 comes up on this side if the truth is the other answer. It is
        not the probability that the answer is wrong."""
        return float(self.noise.p_value(self.value))

    @property
    def certain(self) -> bool:
        """Whether no noise could have turned the answer."""
        return self.noise.p_value(self.value) == 0

    @property
    def distance(self) -> int:
        """The estimated number of people who would have to be different to change the true answer, at least 1; usually
        off by at most `noise.give_or_take`."""
        level = self.value - self.noise.middle
        return max(1, level + 1 if self.answer else -level)

    @property
    def capped(self) -> bool:
        """Whether the level may have been clipped: then `distance` is this many people, or more."""
        cap, level, off = self.noise.cap, self.value - self.noise.middle, self.noise.give_or_take
        return cap is not None and not off - cap < level < cap - 1 - off

    def at_least(self, confidence: Given = "0.95") -> int:
        """At least this many people would have to be different to change the true answer: too many with probability at
        most 1 − confidence. 0 says nothing. With a confidence of 1 it is never too many."""
        return self.noise.at_least(self.value, _probability_exactly(confidence))

    def numbers(self) -> dict[str, Any]:
        """All numbers, for a document, and for `duotone.words.sentences`."""
        return {
            "margin": self.value,
            "p_value": self.p_value,
            "certain": self.certain,
            "distance": self.distance,
            "capped": self.capped,
            "give_or_take": self.noise.give_or_take,
            "at_least": {confidence: self.at_least(confidence) for confidence in ("0.95", "1")},
        }


class Sure:
    """A value with a margin says how sure it is."""

    @property
    def sure(self) -> Margin:
        """The margin with its noise."""
        raise NotImplementedError

    @property
    def p_value(self) -> float:
        """How often, at most, an answer as clear as this would come up if the truth were the other one."""
        return self.sure.p_value

    @property
    def certain(self) -> bool:
        """Whether no noise could have turned the answer."""
        return self.sure.certain

    @property
    def distance(self) -> int:
        """The estimated number of people who would have to be different to change the true answer."""
        return self.sure.distance

    def at_least(self, confidence: Given = "0.95") -> int:
        """At least this many people would have to be different to change the true answer, with this confidence; 0 says
        nothing."""
        return self.sure.at_least(confidence)


WORDS = {"yes": True, "no": False}


def same_answer(answer: Any, other: object) -> Any:
    """Whether an answer, True or False, equals another one or its word; another text or a number is a mistake, and other
    values are not answers.

    >>> same_answer(True, "yes"), same_answer(True, False)
    (True, False)
    """
    if isinstance(other, str) and other in WORDS:
        return bool(answer) is WORDS[other]
    if isinstance(other, str | Number) and not isinstance(other, bool):
        raise DuotoneError(f'an answer is compared with "yes" or "no", or with True or False, got {other!r}')
    return bool(answer) == bool(other) if isinstance(other, bool | np.bool_) else NotImplemented


def _probability_exactly(given: Given) -> Fraction:
    """A probability, as it is written."""
    return Fraction(probability(str(given) if isinstance(given, float) else given, "the confidence"))


def margin_is_private(yes: Sequence[int], bits: int, privacy: ApproxDP) -> bool:
    """Whether noise, and the same noise shifted by one, are indistinguishable over all events, as integers; `yes` as in
    `Noise`.

    If an end is not certain, the noise continues beyond it, and a margin is clamped: then it must be so without δ,
    including beyond the ends. (This holds for all sums of weights up to an end.)
    """
    one = 1 << bits
    weights = [after - before for before, after in pairwise(yes)]
    if min(weights, default=0) < 0:
        return False
    if yes[0] == 0 and yes[-1] == one:
        return over_all_events(privacy, [*weights, 0], [0, *weights], bits)
    pure = ApproxDP._computed(privacy.exp_epsilon, Fraction(0))
    ends = [(yes[i], one - yes[i]) for i in (0, 1, -2, -1)]
    return over_all_events(pure, weights[1:], weights[:-1], bits) and all(
        over_all_events(pure, row, other, bits) for row, other in (ends[:2], ends[2:])
    )
