"""Distances in a question's own units: how far a count, a share, an average … is from its limit, and how many people
would have to be different to flip the answer.

Each kind of question has a statistic, a number that its truth depends on, and two functions of a margin k, a number of
people from flipping. For tables with `people` people:

- `far`: from this value of the statistic on, every table of this many people *or more* is at least k people from
  flipping;
- `near`: up to this value, every table of this many people is at most k people from flipping.

Both include the value itself. None if this many people cannot have such a value. Each class has its proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from duotone.questions.threshold import CROWD

HAIR = Fraction(1, 1000)
"""The fraction of a person's influence by which a bound is moved if the bound itself could be on either side."""


def within(value: Fraction, low: Fraction, high: Fraction, *, from_there_up: bool) -> Fraction | None:
    """The first value from there on, upwards or downwards, between two others; None if there is none.

    >>> ends = Fraction(0), Fraction(10)
    >>> [within(Fraction(11), *ends, from_there_up=up) for up in (True, False)]
    [None, Fraction(10, 1)]
    """
    if from_there_up:
        return max(value, low) if value <= high else None
    return min(value, high) if value >= low else None


class Units(Protocol):
    """The conversion of distances for one kind of question."""

    @property
    def upward(self) -> bool:
        """Whether large values of the statistic are a yes."""
        ...

    def far(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """The value from which every yes (or every no) is at least `margin` people from flipping."""
        ...

    def near(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """The value up to which every yes (or every no) is at most `margin` people from flipping."""
        ...


@dataclass(frozen=True)
class TotalUnits:
    """Units of a sum of scores against a limit: scores are whole numbers from `lowest` to `highest`, and the answer is yes
    if their sum is `at_least` or more.

    A table's total is `per`·(statistic − `zero`), times its number of rows if the statistic is `averaged`; a person has
    1 to `rows` rows. With `somebody`, each score is counted CROWD times, and each person 1 more. `least` are the
    smallest scores above and below 0, without their sign; `low` and `high` what an average can be.

    Proof of `far`. Under add-remove a person who joins or leaves moves the total by at most max(highest, −lowest), under
    replace by at most highest − lowest: a step. A yes at a total of at_least + (k − 1)·step or more is one after k − 1 changes,
    and likewise for a no at at_least − 1 − (k − 1)·step or less. An average's total is its distance from `zero` times
    the number of rows, which are as many as people or more: more people only make it larger.

    Proof of `near`, of a yes; of a no in the mirror. The total falls by total − at_least + 1 or more in k changes: if k people
    join with the lowest score; if k people leave whose scores are above 0, of whom there are some while the total is 1
    or more; or if of n people those k leave, or are replaced by the lowest, whose scores are the largest, and so on
    average no less than the average of all.

    >>> count = TotalUnits(0, 1, at_least=1001)
    >>> int(count.far(15, 5000, True)), int(count.far(15, 5000, False)), int(count.near(2, 5000, True))
    (1015, 986, 1002)
    """

    lowest: int
    highest: int
    at_least: int
    replaced: bool = False
    per: Fraction = Fraction(1)
    zero: Fraction = Fraction(0)
    averaged: bool = False
    rows: int = 1
    somebody: bool = False
    least: tuple[int, int] = (1, 1)
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)

    @property
    def upward(self) -> bool:
        """Whether the total rises with the statistic."""
        return self.per > 0

    def far(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """The total that `margin` − 1 steps do not take to the other side."""
        step = self.highest - self.lowest if self.replaced else max(self.highest, -self.lowest, 0)
        if yes:
            score = self._least_score(self.at_least + (margin - 1) * step, people if self.averaged else 1)
        else:
            score = self._most_score(self.at_least - 1 - (margin - 1) * step, CROWD - 1)
        return self._within(self._statistic(score, people), people, from_there_up=yes == self.upward)

    def near(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """The value up to which `margin` people can flip the answer, as newcomers, leavers or people with the largest
        scores."""
        if yes:
            most = self._close(margin, people, self.lowest, self.at_least, self.least[0])
            score = self._most_score(most, people)
            there = score >= self._least_score(self.at_least, people)
        else:
            least = -self._close(margin, people, -self.highest, 1 - self.at_least, self.least[1])
            present = people if self.averaged else 0
            score = self._least_score(least, present)
            there = score <= self._most_score(self.at_least - 1, present)
        if not there or self.far(1, people, yes) is None:
            return None
        return self._within(self._statistic(score, people * self.rows), people, from_there_up=yes != self.upward)

    def _within(self, value: Fraction, people: int, *, from_there_up: bool) -> Fraction | None:
        """The first of the values from there on that this many people can have; None if they can have none of them."""
        ends = (self.low, self.high) if self.averaged else self._totals(people)
        return within(value, *ends, from_there_up=from_there_up)

    def _totals(self, people: int) -> tuple[Fraction, Fraction]:
        """The least and the greatest statistic, if it is a total."""
        ends = (Fraction(people * score, CROWD if self.somebody else 1) for score in (self.lowest, 0, self.highest))
        low, _, high = sorted(self.zero + end / self.per for end in ends)
        return low, high

    def _close(self, margin: int, people: int, lowest: int, at_least: int, least: int) -> int:
        """The largest total from which `margin` changes are sure to be enough; `at_least` − 1 for none."""
        ways = [at_least - 1]
        if not self.replaced:
            ways.append(at_least - 1 + margin * max(-lowest, 0))
        if at_least >= 1 and (lowest <= 0 or not self.replaced):
            ways.append(at_least - 1 + margin * least)
        if margin < people:
            ways.append((at_least - 1 - margin * (lowest if self.replaced else 0)) * people // (people - margin))
        return max(ways)

    def _least_score(self, total: int, people: int) -> int:
        """The least sum of scores with such a total, with at least this many people."""
        return -((people - total) // CROWD) if self.somebody else total

    def _most_score(self, total: int, people: int) -> int:
        """The greatest sum of scores with such a total, with at most this many people."""
        return (total - people) // CROWD if self.somebody else total

    def _statistic(self, score: int, size: int) -> Fraction:
        return self.zero + score / (self.per * (size if self.averaged else 1))


@dataclass(frozen=True)
class ValuedUnits:
    """Units of a sum that is a no if nobody has a value; `people` counts those who have one.

    Proof. A yes is still one after k − 1 changes if there are at least k people, and the total allows it. A no that is
    flipped by fewer changes than there are people never empties the table, so the total alone decides.
    """

    total: TotalUnits

    @property
    def upward(self) -> bool:
        """As the total."""
        return self.total.upward

    def far(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """As the total, if there are that many people."""
        return self.total.far(margin, people, yes) if margin <= people or not yes else None

    def near(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """As the total, unless everybody would have to leave."""
        return self.total.near(margin, people, yes) if margin < people or yes else None


@dataclass(frozen=True)
class NobodyUnits:
    """Units of "nobody is on the wrong side, and somebody is on the right one": the number of people on the wrong side.

    Proof. A yes has none, and one person who joins or changes flips it. A no with m of them, m ≥ 1, needs all m to leave or
    change, and where there is nobody else, one more to join.

    >>> NobodyUnits().far(15, 100, False)
    Fraction(15, 1)
    """

    upward = False

    def far(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """This many on the wrong side; a yes is never far."""
        if yes:
            return Fraction(0) if margin == 1 else None
        return Fraction(margin) if margin <= people else None

    def near(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """Any yes; and a no with few people on the wrong side."""
        return Fraction(0) if yes else Fraction(min(margin - 1, people)) if margin > 1 else None


@dataclass(frozen=True)
class DifferenceUnits:
    """Units of w₁·average₁ − w₂·average₂ against `limit`, with `people` people on each side: values from 0 to `spans`
    above their lower bounds, and the difference from `low` to `high`. `both`: one change may be one on each side. With
    `rows`, it is of averages of rows, up to so many of a person on both sides together.

    Proof of `far`. Let l of n people leave and j join a side whose values span R, l + j = i or l, j ≤ i: its average moves by
    at most i·R/n. For let a, from 0 to 1, be its relative height above the lower bound: it falls by at most R·(l·(1 −
    a) + j·a)/(n − l + j), and since l people leave from the top, a ≥ l/n. For j ≥ l that is greatest at a = 1: at most
    R·j/n. For l > j at a = l/n: R·l/n. So the difference moves by at most i·max(wR)/n, or i·Σ(wR)/n where `both`; and
    no side of k people is emptied by k − 1.

    Proof of `near`, of a yes; of a no in the mirror. w₁·(average₁ − lowest₁) + w₂·(highest₂ − average₂) is the difference less
    `low`, at least limit − low, so one of the two is at least half of it. k people who join that side at that bound, or who are
    there and change to it, move the difference by at least k/(n + k) of that half; with `rows`, as many rows as may be of
    each, or their own rows of those who add most.

    Proof of `far` with `rows` = m. On a scale of span S, two sides of N and N' rows whose averages are d apart have products
    H·D' and D·H' (`duotone.questions.rates`) that are N·N'·S·d apart. k changes bring them nearer by at most S·max(N, N')
    for each of m·k·S, and (m·k·S)²/4: where they meet, d ≤ S·(z + z²/4) with z = m·k / min(N, N'). Under replace a change
    is two.

    >>> float(DifferenceUnits((Fraction(1), Fraction(1)), Fraction(0), Fraction(-1), Fraction(1)).far(15, 1000, True))
    0.014001
    """

    spans: tuple[Fraction, Fraction]
    limit: Fraction
    low: Fraction
    high: Fraction
    both: bool = False
    rows: int | None = None
    upward = True

    def far(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """A little more than `margin` − 1 people move it."""
        if yes and people < margin:
            return None
        away = self._away((margin - 1 + HAIR) / people)
        value = self.limit + away if yes else self.limit - away
        return value if self.low <= value <= self.high else None

    def _away(self, share: Fraction) -> Fraction:
        """The most that so large a share of a side's people moves it."""
        if self.rows is None:
            return share * (self.spans[0] + self.spans[1] if self.both else max(self.spans))
        rows = share * self.rows
        return max(*self.spans, self.high - self.limit, self.limit - self.low) * (rows + rows**2 / 4)

    def near(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """A little less than `margin` people are sure to move it."""
        room = self.limit - self.low if yes else self.high - self.limit
        if not room > 0:
            return None
        away = (1 - HAIR) * room / 2 * Fraction(margin, people + margin)
        return min(self.limit + away, self.high) if yes else max(self.limit - away, self.low)


@dataclass(frozen=True)
class VarianceUnits:
    """Units of a variance against `limit`: values lie within `span`, and the sum of squares is divided by the number of
    people minus `less`.

    Proof, with N = n − less, S the sum of squares, V = S/N, R the span: one person who leaves takes at most R² from S,
    one who joins adds at most R². With l leaving and j joining, l + j ≤ i or l, j ≤ i, levels look at variances of at
    least (S − l·R²)/(N + j − l) and at most (S + j·R²)/(N + j − l). Since V ≤ R², both are within i·R²/(N − i) of V.
    They grow less with more people. Down, `near`: k people who join at the average make it V·N/(N + k). Up: each
    newcomer at the further bound is at least R/2 from the average, and adds at least R²/4·n/(n + 1).

    >>> round(float(VarianceUnits(Fraction(10), Fraction(8), 1, True).far(15, 1000, True)), 3)
    9.421
    """

    span: Fraction
    limit: Fraction
    less: int
    upward: bool

    def far(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """A value that `margin` − 1 people cannot move to the other side of the limit; None where there is none."""
        divisor = people - self.less
        if divisor < margin:
            return None
        away = (margin - 1 + HAIR) * self.span**2 / (divisor - margin + 1)
        value = self.limit + away if yes == self.upward else self.limit - away
        most = self.span**2 / (2 if self.less else 4)
        return value if 0 <= value <= most else None

    def near(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """A little less than the change that `margin` people surely make."""
        divisor = people - self.less
        if divisor < 1 or self.limit <= 0:
            return None
        if yes == self.upward:
            return self.limit * (1 + (1 - HAIR) * Fraction(margin, divisor))
        room = self.span**2 / 4 * Fraction(people, people + 1) - self.limit
        return max(Fraction(0), self.limit - (1 - HAIR) * margin * room / divisor) if room > 0 else None


@dataclass(frozen=True)
class DistinctUnits:
    """Units of a count of distinct values; the answer is yes if there are `at_least` or more.

    Proof. Each person adds or removes at most one value. A newcomer may add one, so a no is at_least − values from
    flipping. A yes flips when everybody with one of the values − at_least + 1 rarest is gone; these are at most their
    share of all people.

    >>> DistinctUnits(10).far(15, 1000, True), DistinctUnits(10).near(3, 1000, False)
    (Fraction(24, 1), Fraction(7, 1))
    """

    at_least: int
    replaced: bool = False
    upward = True

    def far(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """One value for each person."""
        value = self.at_least + margin - 1 if yes else self.at_least - margin
        return within(Fraction(value), Fraction(0), Fraction(people), from_there_up=yes)

    def near(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """Newcomers, or everybody with one of the rarest values."""
        if not yes:
            if self.replaced and people < self.at_least:
                return None
            return within(Fraction(self.at_least - margin), Fraction(0), Fraction(people), from_there_up=True)
        most = people if people <= margin else min((self.at_least - 1) * people // (people - margin), people)
        return Fraction(most) if most >= self.at_least else None


@dataclass(frozen=True)
class LeadUnits:
    """Units of the lead of a choice over the strongest other, in votes; the answer is no at 0 or less.

    Proof. Someone who joins or leaves moves the lead by 1, someone who changes sides by 2. A yes needs at most that:
    the strongest rival gains, or the choice loses. A no flips when 1 − lead people join the choice, or change to it.

    >>> LeadUnits().far(15, 100, True), LeadUnits(replaced=True).far(15, 100, True)
    (Fraction(15, 1), Fraction(29, 1))
    """

    replaced: bool = False
    upward = True

    def far(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """The lead that `margin` − 1 people cannot remove."""
        step = 2 if self.replaced else 1
        value = Fraction((margin - 1) * step + 1 if yes else (1 - margin) * step)
        return within(value, Fraction(-people), Fraction(people), from_there_up=yes)

    def near(self, margin: int, people: int, yes: bool) -> Fraction | None:
        """The lead that `margin` people surely remove."""
        value = Fraction(margin * (2 if self.replaced else 1) if yes else 1 - margin)
        return within(value, Fraction(-people), Fraction(people), from_there_up=not yes)
