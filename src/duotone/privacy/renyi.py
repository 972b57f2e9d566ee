"""Privacy by one Rényi order: the price of answers, for large numbers of them, exactly and in floats.

Many answers, each chosen after the last, are (ε, δ)-private together if the product of their prices stays within a
budget: the sum of ε that (ε, δ) itself needs grows with their number, the product's share with its root.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, overload

import gmpy2
import numpy as np

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.options import known_options
from duotone.privacy.approx_dp import LONGEST, ApproxDP
from duotone.privacy.definition import Array, whole_numbers
from duotone.privacy.numbers import Given, Number, exact, float_above, float_below, probability, root_below, show
from duotone.privacy.renyi_curve import Curve, largest_whole, people_for

LARGEST_ORDER = 256
"""A larger order is useful only for budgets into which hardly any answer fits."""
FLOAT = 53 + 11
ENOUGH = 10**5
"""The best order for more answers is that for so many."""
FURTHEST, NEXT_TO_NOTHING = 2**15, Fraction(1, 2**200)
"""Steps that are followed, which takes seconds; and a delta below which no answer is ever said to be certain."""
DIGITS = 192
"""Bits of a rounded price or budget, beyond those by which a price is close to 1."""


@dataclass(frozen=True, init=False)
class RenyiDP:
    """How private answers must be: for neighbours' probabilities p and q of each answer, the sum of p^order / q^(order
    − 1) over all answers is at most `price`, in both directions.

    Use it for many answers about the same people: a ledger with the account `renyi` limits the product of their prices,
    and `split` gives the price of one of several equal answers. `order` is a whole number from 2 to 256, `price` at
    least 1 (1 allows no difference at all), and `delta` a probability that may be subtracted from p, as for (ε, δ): 0
    unless groups are selected or answers far from flipping should be certain. All numbers are taken exactly, floats
    too. `epsilon` is the Rényi divergence of the price, ln(price) / (order − 1), for display.

    With order k + 1, price T and d, an answer of probability x has at most the largest y ≥ x for a neighbour with

        max(0, y − d)^(k+1) / x^k + (1 − y)^(k+1) / (1 − x)^k ≤ T  and  max(0, 1 − x − d)^(k+1) / (1 − y)^k + x^(k+1) / y^k ≤ T.

    That is φ, `step` (0 / 0 is 0). Both left sides are convex in (x, y), so φ is concave, for every d. It has φ(0) = d,
    φ(x) = 1 just from x = 1 − d on, rises until there, and φ(1 − φ(x)) = 1 − x up to there: the two inequalities change places
    when x and y become 1 − y and 1 − x. Beyond it φ(1 − φ(x)) = d ≥ 1 − x, as for (ε, δ). Of φ with d left out it is never
    below (1 − d)·φ + d (docs/theory.md has the proofs).

    Guarantee: `allows` is exact, and `step` never above φ.

    >>> RenyiDP(2, "5/4").allows("1/3", "2/3"), RenyiDP(2, "3/2").allows("1/3", "2/3")
    (False, True)
    >>> RenyiDP(20, "1.01").step(0.5) > 0.5, RenyiDP(20, "1.01", "1/8").step(0)
    (True, 0.125)
    """

    order: int
    price: Fraction
    delta: Fraction
    epsilon: float = field(compare=False)
    """The Rényi divergence, ln(price) / (order − 1), as a float, for display."""

    @known_options
    def __init__(self, order: int, price: Given, delta: Given = 0) -> None:
        t, d = exact(price, "price"), exact(delta, "delta")
        if not all(max(x.numerator.bit_length(), x.denominator.bit_length()) <= LONGEST for x in (t, d)):
            raise DuotoneError(f"price and delta have at most {LONGEST * 3 // 10} digits before and after a fraction's line")
        self._set(order, t, d)

    def _set(self, order: int, price: Fraction, delta: Fraction) -> None:
        if not (type(order) is int and 2 <= order <= LARGEST_ORDER):
            raise DuotoneError(f"the order is a whole number from 2 to {LARGEST_ORDER}, got {order}")
        if not price >= 1:
            raise DuotoneError(f"price must be at least 1, got {show(price)}")
        if not 0 <= delta < 1:
            raise DuotoneError(f"delta must be in [0, 1), got {show(delta)}")
        epsilon = float(gmpy2.log(gmpy2.mpq(price))) if price > 2 else float(gmpy2.log1p(gmpy2.mpq(price - 1)))
        for name, value in (("order", order), ("price", price), ("delta", delta), ("epsilon", epsilon / (order - 1))):
            object.__setattr__(self, name, value)

    @classmethod
    def _computed(cls, order: int, price: Fraction, delta: Fraction) -> RenyiDP:
        """A definition whose numbers are computed, and may be longer than given ones."""
        made = cls.__new__(cls)
        made._set(order, price, delta)
        return made

    def __repr__(self) -> str:
        price = show(self.price) if self.price.numerator < 10**18 else repr(float_below(self.price))
        return f"RenyiDP(order={self.order}, price={price}, delta={show(self.delta)})"

    def split(self, parts: int) -> RenyiDP:
        """An even share: `parts` answers, each under it, are together under all of it, by its price and its delta.

        Guarantee: the share's price to the power of `parts` is at most this price; `parts` times its delta is this
        delta.

        >>> RenyiDP(20, "81/16", "1/10").split(4)
        RenyiDP(order=20, price=3/2, delta=1/40)
        """
        if type(parts) is not int or not 1 <= parts < 2**63:
            raise DuotoneError(f"the number of answers that share a budget must be a whole number, at least 1, got {parts}")
        if parts == 1:
            return self
        return RenyiDP._computed(self.order, root_below(self.price, parts), self.delta / parts)

    def allows(self, x: Given, y: Given) -> bool:
        """Whether neighbours may answer yes with these two probabilities; exact."""
        p, q = sorted(Fraction(probability(each)) for each in (x, y))
        one = math.lcm(p.denominator, q.denominator)
        return self._curve.close_on(one)(int(p * one), int(q * one))

    @cached_property
    def _curve(self) -> Curve:
        return Curve(self.order - 1, self.price, self.delta, FLOAT)

    @overload
    def step(self, x: Given) -> Number: ...
    @overload
    def step(self, x: Array) -> Array: ...
    def step(self, x: Given | Array) -> Number | Array:
        """φ(x), the largest probability of an answer on a neighbour of a dataset with probability x; also of an array.

        Guarantee: the largest float64 at most φ(x); x itself if that is larger and not a float64.
        """
        if isinstance(x, np.ndarray):
            different, places = np.unique(x, return_inverse=True)
            return np.array([self.step(each) for each in different.tolist()], dtype=x.dtype)[places].reshape(x.shape)
        x = probability(x)
        start = Fraction(x)
        if (least := float_above(start)) > 1 or not self.allows(start, least):
            return x
        near, first, last = (_place(y) for y in (self._estimate(start), least, 1.0))
        return _at_place(largest_whole(lambda place: self.allows(start, _at_place(place)), near, first, last))

    def _estimate(self, x: Fraction) -> float:
        """A float64 close to φ(x)."""
        with gmpy2.context(precision=self._curve.precision):
            return float(self._curve.largest(gmpy2.mpfr(gmpy2.mpq(x)), gmpy2.mpfr(gmpy2.mpq(1 - x)))[0])

    def represent(self, x: Number) -> float:
        """x in the numbers that this definition computes in: float64."""
        return float(x)

    def exactly(self) -> RenyiDP:
        """The same: its price and its delta are exact."""
        return self

    def above(self) -> RenyiDP:
        """The same: nothing was rounded down."""
        return self

    def on_integers(self, bits: int, *, up: bool = False) -> Callable[[Any], Any]:
        """φ on whole numbers out of 2^bits, rounded down (or up): what tables are made of.

        Guarantee: rounded down, the largest whole number that is close, decided in integers.
        """
        return Curve(self.order - 1, self.price, self.delta, bits).on_integers(up=up)

    def balance_on_integers(self, bits: int) -> int:
        """The largest whole number t out of 2^bits that is close to 2^bits − t."""
        return int(Curve(self.order - 1, self.price, self.delta, bits).balance())

    def each_other_on_integers(self, answers: int, bits: int) -> int:
        """The least whole number q out of 2^bits for each wrong answer, if these are alike and the truth t has the rest, with
        which two answers may change places: at most 2^bits / answers.

        max(0, t − d)^(k+1) / q^k + q^(k+1) / t^k + (answers − 2)·q ≤ T is convex along the line on which t moves, and
        holds where t is q. Guarantee: decided in integers.
        """
        return Curve(self.order - 1, self.price, self.delta, bits).least_other(answers)

    @overload
    def iterate(self, x: Given, n: int) -> tuple[Number, Number]: ...
    @overload
    def iterate(self, x: Given, n: Array) -> tuple[Array, Array]: ...
    def iterate(self, x: Given, n: int | Array) -> tuple[Number, Number] | tuple[Array, Array]:
        """How likely the true and the wrong answer are n steps away from a dataset whose answer is true with probability x;
        also for an array of n. Float64, each right to its last bits however close to 0 it is; that is for reading.

        >>> privacy = RenyiDP(20, "3/2")
        >>> [round(privacy.iterate(privacy.balance(), n)[1], 9) for n in (0, 9, 19)]
        [0.487658502, 0.2875331, 0.12763108]
        """
        start, steps = Fraction(probability(x)), whole_numbers(n, "a number of steps")
        if not np.all(np.asarray(steps) >= 0):
            raise DuotoneError("a number of steps must be at least 0")
        values = _iterates(self, start, 1 << int(np.max(steps, initial=0)).bit_length())
        at = np.minimum(steps, len(values) - 1)
        if not isinstance(steps, np.ndarray):
            return values[int(at)]
        truth, error = np.array(values).T
        return truth[at], error[at]

    def certain_after(self, x: Given) -> float:
        """The least n with φ^n(x) = 1 exactly; infinite if there is none: where delta is 0, or so small that it is as good as
        that.

        >>> RenyiDP(20, "3/2", "1e-7").certain_after("0.9"), RenyiDP(20, "3/2").certain_after("0.9")
        (43.0, inf)
        """
        values = _iterates(self, Fraction(probability(x)), FURTHEST) if self.delta >= NEXT_TO_NOTHING or x == 1 else ()
        return float(len(values) - 1) if values and values[-1][1] == 0 else math.inf

    @classmethod
    def tightest(cls, pairs: Sequence[tuple[Number, Number]], *, order: int, delta: Given = 0) -> RenyiDP:
        """The strongest definition of an order that a mechanism keeps whose neighbours say yes with these pairs of
        probabilities: the one of the least price. Exact.

        >>> RenyiDP.tightest([("2/3", "1/3")], order=2)
        RenyiDP(order=2, price=3/2, delta=0)
        """
        d = cls(order, 1, delta).delta
        exact = [sorted(Fraction(probability(x)) for x in pair) for pair in pairs]
        sums = [_sum(order, p, q, d) for low, high in exact for p, q in ((high, low), (1 - low, 1 - high))]
        return cls._computed(order, max([Fraction(1), *sums]), d)

    def steps_at_least(self) -> float:
        """About how many steps, at least, lead from a guess to near certainty."""
        return 1 / (4 * (math.sqrt(min(self.price - 1, Fraction(2**1000))) / self.order + self.delta + 2.0**-1000))

    def balance(self) -> float:
        """How often the true answer can be given next to the boundary, if yes and no are treated alike: the largest
        float64 m with m ≤ φ(1 − m).

        >>> round(RenyiDP(2, "3/2").balance(), 6)
        0.666667
        """
        low, high = 0.5, 1.0
        while low < (middle := (low + high) / 2) < high:
            low, high = (middle, high) if self.allows(middle, 1 - Fraction(middle)) else (low, middle)
        return low


def _sum(order: int, p: Fraction, q: Fraction, delta: Fraction) -> Fraction:
    """The first inequality's left side, for p ≥ q."""
    sides = (max(Fraction(0), p - delta), q), (1 - p, 1 - q)
    if any(part > 0 == other for part, other in sides):
        raise DuotoneError("an answer is possible at one dataset and impossible at a neighbour: no finite price will do")
    return sum((part**order / other ** (order - 1) for part, other in sides if part > 0), Fraction(0))


@lru_cache(maxsize=64)
def _iterates(privacy: RenyiDP, x: Fraction, most: int) -> tuple[tuple[float, float], ...]:
    """φ^n(x) and 1 − φ^n(x) for n from 0 on: at least so many, or fewer, where the next would be as the last."""
    if most > FURTHEST and privacy.steps_at_least() > FURTHEST and x:  # at once, rather than after minutes
        raise DuotoneError(f"with {privacy} an answer is no more than a guess up to {FURTHEST} steps away, and this is beyond")
    return tuple(privacy._curve.iterates(x, min(most, FURTHEST)))


def price_of(privacy: Any, order: int) -> RenyiDP:
    """The price of an answer in a budget of this order, whatever its outcomes: the price and the delta of the least
    definition of this order that it satisfies.

    With order k + 1, an (ε, δ)-private answer costs (e^((k+1)ε) + e^(−kε)) / (1 + e^ε), and its δ in addition: it can
    be made from one of four outcomes, two that reveal everything, with δ, and two whose likelihoods differ by a factor
    of e^ε.

    Guarantee: the price is rounded up.

    >>> price_of(ApproxDP(exp_epsilon=2, delta="1/10"), 2)
    RenyiDP(order=2, price=3/2, delta=1/10)
    """
    if isinstance(privacy, RenyiDP):
        if privacy.order != order:
            raise DuotoneError(f"a budget of order {order} is spent by answers of order {order}, got order {privacy.order}")
        return privacy
    if not isinstance(privacy, ApproxDP):
        raise DuotoneError(f"a price is known of an ApproxDP or a RenyiDP, got {type(privacy).__name__}")
    return _price_of_epsilon(privacy, order)


@lru_cache(maxsize=256)
def _price_of_epsilon(privacy: ApproxDP, order: int) -> RenyiDP:
    above, k = privacy.above(), RenyiDP(order, 1).order - 1
    y, delta = above.exp_epsilon, Fraction(above.delta)
    if k * y.numerator.bit_length() <= LONGEST // 2:
        return RenyiDP._computed(order, (y ** (k + 1) + 1 / y**k) / (1 + y), delta)
    with gmpy2.context(precision=DIGITS + 2 * _next_to_one(y), round=gmpy2.RoundDown, emax=gmpy2.get_emax_max()):
        least, both = gmpy2.mpfr(gmpy2.mpq(y)) ** k, gmpy2.mpfr(gmpy2.mpq(1 + y))
    with gmpy2.context(precision=DIGITS + 2 * _next_to_one(y), round=gmpy2.RoundUp, emax=gmpy2.get_emax_max()):
        top, bottom = ((gmpy2.mpfr(gmpy2.mpq(y)) ** (k + 1) + 1 / least) / both).as_integer_ratio()
    return RenyiDP._computed(order, Fraction(int(top), int(bottom)), delta)


def renyi_budget(privacy: ApproxDP, order: int, aside: Given) -> Fraction:
    """The largest product of the prices of all answers with which they are (ε, δ)-private together.

    With order k + 1 and `aside` for the sum of their deltas, that is (δ − aside)·(k+1)^(k+1)·e^(kε) / k^k: then all
    answers together exceed e^ε by at most δ, however each was chosen after the ones before it (proofs/Renyi.v).

    Guarantee: rounded down.

    >>> float(renyi_budget(ApproxDP(1, "1e-6"), 20, "1e-7")) // 1
    8513.0
    """
    k, apart = RenyiDP(order, 1).order - 1, exact(aside, "aside")
    rest = Fraction(privacy.delta) - apart
    if not (apart >= 0 and rest > 0):
        raise DuotoneError(
            f"what is set aside of delta must be at least 0 and less than it, {show(privacy.delta)}, got {aside}"
        )
    budget = rest * (k + 1) ** (k + 1) * privacy.exp_epsilon**k / k**k
    if not budget >= 1:
        raise DuotoneError(
            f"at order {order} nothing fits into {privacy}: its product of prices is {float(budget):.2g}, below 1; "
            "take a higher order, a larger epsilon or a larger delta"
        )
    with gmpy2.context(precision=DIGITS, round=gmpy2.RoundDown, emax=gmpy2.get_emax_max()):
        top, bottom = gmpy2.mpfr(gmpy2.mpq(budget)).as_integer_ratio()
    return Fraction(int(top), int(bottom))


@dataclass(frozen=True)
class Shared:
    """Several answers that share an (ε, δ) budget by the product of their prices, at one Rényi order: instead of dividing
    ε and δ among them.

    `each` is the definition of one of them, whose outcomes are then yes and no alone: a tenth of δ is divided among them.

    Guarantee: the answers are `privacy`-private together, however each was chosen after the ones before it.

    >>> Shared.of(ApproxDP(1, "1e-6"), 100).each
    RenyiDP(order=19, price=1.0832521635191188, delta=1/1000000000)
    """

    privacy: ApproxDP
    answers: int
    order: int

    @classmethod
    def of(cls, privacy: ApproxDP, answers: int) -> Shared:
        """By the best order for so many; refused where nothing fits."""
        return cls(privacy, answers, best_order(privacy, answers))

    @cached_property
    def each(self) -> RenyiDP:
        """The definition of one answer."""
        aside = Fraction(self.privacy.delta) / 10
        budget = renyi_budget(self.privacy, self.order, aside)
        return RenyiDP._computed(self.order, budget, aside).split(self.answers)


@lru_cache(maxsize=256)
def best_order(privacy: ApproxDP, answers: int, wrong: float = 1e-3) -> int:
    """The order of a budget with which this many balanced answers of equal price are wrong with at most `wrong` from
    the fewest people on; a tenth of δ is reserved. Accuracy changes little: from ten answers on, any order near the
    best one needs hardly more people.

    >>> [best_order(ApproxDP(1, "1e-6"), answers) for answers in (10, 1000, 100_000)]
    [19, 21, 22]
    """
    if not (type(answers) is int and answers >= 1 and 0 < wrong < 0.5):
        raise DuotoneError(
            f"an order is chosen for at least 1 answer that is wrong less than half the time, got {answers}, {wrong}"
        )
    renyi_budget(privacy, LARGEST_ORDER, Fraction(privacy.delta) / 10)  # raises where nothing fits at any order
    log_budgets = {k: _log_budget(privacy, k) for k in range(1, LARGEST_ORDER)}
    orders = [k for k, log_budget in log_budgets.items() if log_budget >= 0]
    shared = min(answers, ENOUGH)
    people = cache(lambda place: people_for(orders[place], min(log_budgets[orders[place]] / shared, 600), wrong))
    # it falls and then rises; for Gaussian noise it is least here
    place = max(range(len(orders)), key=lambda place: log_budgets[k := orders[place]] / (k * k + k))
    while place + 1 < len(orders) and people(place + 1) < people(place):
        place += 1
    while place and people(place - 1) <= people(place):
        place -= 1
    return orders[place] + 1


def _log_budget(privacy: ApproxDP, k: int) -> float:
    """The logarithm of `renyi_budget`."""
    delta = float(gmpy2.log(gmpy2.mpq(Fraction(privacy.delta)))) + math.log(0.9)  # it may be too small for a float
    return delta + k * privacy.epsilon + math.log(k + 1) + k * math.log1p(1 / k)


def _next_to_one(y: Fraction) -> int:
    """How many bits after the point a number above 1 begins to differ from 1."""
    return max(0, y.denominator.bit_length() - (y.numerator - y.denominator).bit_length()) if y > 1 else 0


def _place(x: float) -> int:
    """A non-negative float64's rank among all of them: the next one has the next rank."""
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


def _at_place(place: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", place))[0])
