"""(ε, δ)-differential privacy: its step bound φ, exactly and in floats, and φ iterated in closed form.

Nothing else in Duotone knows a privacy parameter: a new definition is a new φ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, overload

import numpy as np

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.options import known_options
from duotone.privacy.definition import Array, whole_numbers
from duotone.privacy.iterated_step import iterates
from duotone.privacy.numbers import (
    Given,
    Number,
    exp_below,
    float_below,
    log_ceiling,
    number,
    power,
    probability,
    root_below,
    show,
)

ROUND_DOWN = 1 - 2.0**-50
"""Covers the rounding of the float64 step (at most 6 times 2^-53, relative), so that it is never above φ."""
TINY = 2.0**-1000
LARGEST_EPSILON = 2**13
"""A larger ε is replaced by this one: the answers differ by less than e^-8192."""
LARGEST_EXP_EPSILON = 2**11820
"""A power of two above e^LARGEST_EPSILON."""
LONGEST = 2**12
"""Most bits of a parameter's numerator and denominator."""


@dataclass(frozen=True, init=False)
class ApproxDP:
    """How private answers must be: (ε, δ)-differential privacy, the budget for `ask`, `design` or a ledger.

    The smaller ε and δ are, the less one person's data can change the answer, and the less often the answer is true.
    `epsilon` limits the change: no answer becomes more than e^ε times as likely, so 0.1 is strict and 1 is usual.
    `delta`, 0 by default, is a probability with which that may fail: choose much less than 1 divided by the number of
    people, such as "1e-6". With δ = 0 even the clearest answer is sometimes wrong.

    Write numbers as text ("0.1", "1/10"), integers or fractions, and they are taken exactly; floats are taken as they are.
    Instead of ε you may give e^ε itself, as `exp_epsilon`: if it is exact, every probability is an exact fraction.

    In the paper's words (Definition 1): neighbours that answer yes with probabilities p and q have p ≤ φ(q) and q ≤ φ(p),
    where φ(x) = min(1, e^ε·x + δ, 1 − (1 − x − δ)/e^ε) is `step`. Most other methods are for the library's own use.

    Guarantee: `exp_epsilon` is never above e^ε, and `step` is never above φ, whatever is rounded.

    >>> ApproxDP(1, "1e-6")
    ApproxDP(epsilon=1.0, delta=1/1000000)
    >>> ApproxDP(exp_epsilon=2, delta="1/10").step("0.6")  # 1 − (1 − 0.6 − 0.1)/2
    Fraction(17, 20)
    """

    exp_epsilon: Fraction
    """e^ε; if ε was given, rounded down to a fraction."""
    delta: Number
    """δ, as it was given."""
    exact: bool
    """Whether e^ε and δ are exact, so that probabilities are too."""
    epsilon: float = field(compare=False)
    """ε as a float, for display."""
    epsilon_exact: Fraction | None
    """The exact ε that `exp_epsilon` was rounded down from; None if e^ε itself was given. Equal definitions need equal
    values: powers rounded down from different ε may be equal."""

    @known_options
    def __init__(self, epsilon: Given | None = None, delta: Given = 0, *, exp_epsilon: Given | None = None) -> None:
        if (epsilon is None) == (exp_epsilon is None):
            raise DuotoneError("give epsilon or exp_epsilon (which is e^epsilon), one of the two")
        d = _parameter(delta, "delta")
        if not 0 <= d < 1:
            raise DuotoneError(f"delta must be in [0, 1), got {show(d)}")
        if exp_epsilon is not None:
            y = _parameter(exp_epsilon, "e^epsilon")
            if not 1 <= y < math.inf:
                raise DuotoneError(f"e^epsilon must be finite and at least 1, got {show(y)}")
            exact, e, epsilon_exact = isinstance(y, Fraction), _log(Fraction(y)), None
        else:
            parameter = _parameter(epsilon, "epsilon")
            if not 0 <= parameter < math.inf:
                raise DuotoneError(f"epsilon must be finite and at least 0, got {show(parameter)}")
            exact, e = parameter == 0, float_below(parameter) if parameter > 2**1000 else float(parameter)
            epsilon_exact = min(Fraction(parameter), Fraction(LARGEST_EPSILON))
            y = exp_below(epsilon_exact)
        self._set(
            exp_epsilon=Fraction(y), delta=d, exact=exact and isinstance(d, Fraction), epsilon=e, epsilon_exact=epsilon_exact
        )

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _computed(cls, exp_epsilon: Fraction, delta: Number, epsilon_exact: Fraction | None = None) -> ApproxDP:
        """A definition whose numbers are computed, and may be longer than given ones."""
        made, exact = cls.__new__(cls), epsilon_exact in (None, 0) and isinstance(delta, Fraction)
        epsilon = _log(exp_epsilon) if epsilon_exact is None else float(epsilon_exact)
        made._set(exp_epsilon=exp_epsilon, delta=delta, exact=exact, epsilon=epsilon, epsilon_exact=epsilon_exact)
        return made

    @classmethod
    def from_exp_epsilon(cls, exp_epsilon: Given, delta: Given) -> ApproxDP:
        """A definition from a file: its e^ε may be longer than a caller may give."""
        y = number(exp_epsilon, "the ratio, e^epsilon,")
        if isinstance(y, float) or not 1 <= y <= LARGEST_EXP_EPSILON:
            return cls(exp_epsilon=exp_epsilon, delta=delta)
        return cls._computed(y, cls(0, delta).delta)

    def __repr__(self) -> str:
        short = self.exact and self.epsilon_exact is None and self.exp_epsilon.numerator < 10**18
        first = f"exp_epsilon={show(self.exp_epsilon)}" if short else f"epsilon={self.epsilon!r}"
        return f"ApproxDP({first}, delta={show(self.delta)})"

    def exactly(self) -> ApproxDP:
        """The step bound φ in exact arithmetic, for any inputs; used by checks and coins."""
        return ApproxDP._computed(self.exp_epsilon, Fraction(self.delta))

    def above(self) -> ApproxDP:
        """An exact definition that allows at least as much as (ε, δ): for bounding the real optimum from above."""
        room = 0 if self.epsilon_exact is None else (self.exp_epsilon - 1) / 2**120
        return ApproxDP._computed(self.exp_epsilon + room, Fraction(self.delta))

    def split(self, parts: int) -> ApproxDP:
        """An even share of the budget: `parts` answers, each under it, are together under all of it.

        Guarantee: `parts` times its ε and its δ are this ε and this δ, exactly. If e^ε was given, its `parts`-th root
        is rounded down instead.

        >>> ApproxDP(exp_epsilon=4, delta="1/10").split(2), ApproxDP("0.3").split(3).epsilon_exact
        (ApproxDP(exp_epsilon=2, delta=1/20), Fraction(1, 10))
        """
        if type(parts) is not int or not 1 <= parts < 2**63:
            raise DuotoneError(f"the number of answers that share a budget must be a whole number, at least 1, got {parts}")
        if parts == 1:
            return self
        delta = Fraction(self.delta) / parts
        if self.epsilon_exact is None:
            return ApproxDP._computed(root_below(self.exp_epsilon, parts), delta)
        share = self.epsilon_exact / parts
        return ApproxDP._computed(exp_below(share), delta, share)

    def unsplit(self, parts: int) -> ApproxDP | None:
        """The budget that gives this definition when split into `parts` shares; None if it is not known exactly, because
        e^ε was given and its root was rounded.

        >>> ApproxDP("0.3", "3e-6").split(3).unsplit(3)
        ApproxDP(epsilon=0.3, delta=3/1000000)
        """
        if parts == 1:
            return self
        if self.epsilon_exact is None:
            return None
        epsilon = self.epsilon_exact * parts
        return ApproxDP._computed(exp_below(epsilon), Fraction(self.delta) * parts, epsilon)

    def represent(self, x: Number) -> Number:
        """x in the numbers that this definition computes in: exact if it and x are, else float64."""
        return x if self.exact and isinstance(x, Fraction) else float(x)

    @overload
    def step(self, x: Given) -> Number: ...
    @overload
    def step(self, x: Array) -> Array: ...
    def step(self, x: Given | Array) -> Number | Array:
        """φ(x), the largest probability of an answer on a neighbour of a dataset with probability x; also of an array.

        Guarantee: exact for exact inputs. Otherwise a single number gives the largest float64 at most φ(x), or x itself
        if that is larger and not a float64; an array gives float64s in [x, φ(x)], within 10^−15 of φ(x).
        """
        if isinstance(x, np.ndarray):
            if x.dtype == object:
                return np.array([self.step(v) for v in x.flat], dtype=object).reshape(x.shape)
            if not (x.dtype.kind in "biuf" and ((x >= 0) & (x <= 1)).all()):
                raise DuotoneError("probabilities must be in [0, 1]")
            return self._step_floats(np.asarray(x, dtype=np.float64))
        x = probability(x)
        if self.exact and isinstance(x, Fraction):
            return min(Fraction(1), self.exp_epsilon * x + self.delta, 1 - (1 - x - self.delta) / self.exp_epsilon)
        bound = Fraction(self._exactly.step(Fraction(x)))
        below = float_below(bound)
        return below if below >= x else x

    @cached_property
    def _exactly(self) -> ApproxDP:
        return self.exactly()

    @cached_property
    def _floats(self) -> tuple[float, float, float]:
        """e^ε − 1, 1 − e^−ε and δ, each rounded down: both pieces of φ are then sums of positive terms."""
        return float_below(self.exp_epsilon - 1), float_below(1 - 1 / self.exp_epsilon), float_below(self.delta)

    def _step_floats(self, x: Array) -> Array:
        gain, shrink, delta = self._floats
        first = x + (gain * x + delta)
        second = x + (delta + (1 - x - delta) * shrink)
        y = np.minimum(first, second) * ROUND_DOWN
        y = np.where(y < TINY, np.maximum(x, delta), np.clip(y, x, 1))
        certain = np.where(x < 0.5, x >= 1 - delta, 1 - x <= delta)  # x + δ ≥ 1, by subtractions that are exact
        return np.where(certain, 1.0, y)

    def transition(self, x: Given) -> float:
        """The last step away from the boundary at which φ uses its first piece, less 1: Definition 10, τ for a truth
        probability x there (the paper's 1 − R), never below −1.

        φ^i(x) uses the first piece of φ for i ≤ τ + 1 and the second one beyond; infinite when φ(x) = x = 0 and ε > 0.
        (At ε = 0 the pieces coincide, and τ is −1.)

        >>> ApproxDP(exp_epsilon="1.3", delta="0.1").transition("0.2")
        1.0
        """
        y, d, b = self.exp_epsilon, Fraction(self.delta), Fraction(probability(x))
        if y == 1:
            return -1.0
        if b == d == 0:
            return math.inf
        steps = log_ceiling((y - 1 + 2 * d) / ((b * (y - 1) + d) * (y + 1)), y)
        return steps - 1.0 if steps < 2**1000 else math.inf

    @overload
    def iterate(self, x: Given, n: int) -> tuple[Number, Number]: ...
    @overload
    def iterate(self, x: Given, n: Array) -> tuple[Array, Array]: ...
    def iterate(self, x: Given, n: int | Array) -> tuple[Number, Number] | tuple[Array, Array]:
        """How likely the true and the wrong answer are n steps away from a dataset whose answer is true with probability x.

        Theorem 4: φ^n(x) and 1 − φ^n(x) in closed form, for one n ≥ 0 or an array of them (up to 10^18).

        Exact for exact inputs. Otherwise float64, each right to its last bits however close to 0 it is; that is for
        display, since values rounded to the nearest float are not private to the last bit. Designs use `step`.

        >>> ApproxDP(exp_epsilon="1.3", delta="0.1").iterate("0.2", 3)
        (Fraction(242, 325), Fraction(83, 325))
        """
        start = probability(x)
        steps = whole_numbers(n, "a number of steps")
        if not np.all(np.asarray(steps) >= 0):
            raise DuotoneError("a number of steps must be at least 0")
        if self.exact and isinstance(start, Fraction):
            if not isinstance(steps, np.ndarray):
                single = self._iterate_exact(start, steps)
                return single, 1 - single
            each = np.array([self._iterate_exact(start, int(i)) for i in steps.flat], dtype=object).reshape(steps.shape)
            return each, 1 - each
        both = self._iterate_floats(Fraction(start))
        if not isinstance(steps, np.ndarray):
            return both(steps)
        different, places = np.unique(steps, return_inverse=True)
        values = np.array([both(int(i)) for i in different.tolist()], dtype=np.float64).reshape(-1, 2)[places]
        return values[..., 0].reshape(steps.shape), values[..., 1].reshape(steps.shape)

    def _iterate_exact(self, b: Fraction, n: int) -> Fraction:
        y, d = self.exp_epsilon, Fraction(self.delta)
        if n >= self.certain_after(b):
            return Fraction(1)
        if y == 1 or b == d == 0:
            return b + n * d
        if n * y.numerator.bit_length() > 2**25:
            raise DuotoneError(f"the exact probability {n} steps away is too long to write down: give floats instead")
        first = int(min(n, self.transition(b) + 1))
        b = y**first * b + d * (y**first - 1) / (y - 1)
        second = y ** (n - first)
        return 1 - ((1 - b) / second - d * (second - 1) / (second * (y - 1)))

    def _iterate_floats(self, b: Fraction) -> Callable[[int], tuple[float, float]]:
        return iterates(self.exp_epsilon, Fraction(self.delta), b, self.transition(b) + 1, self.certain_after(b))

    def certain_after(self, x: Given) -> float:
        """How many steps away from a truth probability x the answer is always true: the least n with φ^n(x) = 1 exactly;
        infinite if there is none.

        >>> ApproxDP(1, 1e-6).certain_after(ApproxDP(1, 1e-6).balance())
        14.0
        """
        y, d, b = self.exp_epsilon, Fraction(self.delta), Fraction(probability(x))
        if b == 1:
            return 0.0
        if d == 0:
            return math.inf
        if y == 1:
            steps = math.ceil((1 - b) / d)
            return float(steps) if steps < 2**1000 else math.inf
        if (tau := self.transition(b)) == math.inf:
            return math.inf
        first = int(tau) + 1
        grown = power(y, first)
        b = grown * b + d * (grown - 1) / (y - 1)
        steps = first + log_ceiling(1 + (1 - b) * (y - 1) / d, y)
        return float(steps) if steps < 2**1000 else math.inf

    def balance(self) -> Number:
        """How often the true answer can be given next to the boundary, if yes and no are treated alike.

        Corollary 2: the largest m with m ≤ φ(1 − m), which is (e^ε + δ)/(1 + e^ε).

        >>> ApproxDP(exp_epsilon=2, delta="1/10").balance()
        Fraction(7, 10)
        """
        m = (self.exp_epsilon + Fraction(self.delta)) / (1 + self.exp_epsilon)
        return m if self.exact else float_below(m)

    @classmethod
    def tightest(
        cls,
        pairs: Sequence[tuple[Number, Number]],
        *,
        epsilon: Given | None = None,
        exp_epsilon: Given | None = None,
        delta: Given | None = None,
    ) -> ApproxDP:
        """The strongest definition that a mechanism satisfies, from the pairs of its neighbours' probabilities of yes.

        Give ε (or e^ε as `exp_epsilon`) for the least δ, or δ for the least ε. Exact for exact inputs.

        >>> ApproxDP.tightest([("3/4", "1/4")], delta=0)
        ApproxDP(exp_epsilon=3, delta=0)
        """
        exact = [tuple(Fraction(probability(x)) for x in pair) for pair in _pairs(pairs)]
        sides = [side for p, q in exact for side in ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p))]
        if delta is None:
            definition = cls(epsilon, exp_epsilon=exp_epsilon)
            least = max([Fraction(0), *(a - definition.exp_epsilon * b for a, b in sides)])
            if least == 1:
                raise DuotoneError("two neighbours never give the same answer: no delta below 1 is enough")
            return cls._computed(definition.exp_epsilon, least, definition.epsilon_exact)
        if not (epsilon is None and exp_epsilon is None):
            raise DuotoneError("give epsilon (or exp_epsilon) to find delta, or delta to find epsilon, not both")
        d = Fraction(cls(0, delta).delta)
        if any(b == 0 and a > d for a, b in sides):
            raise DuotoneError(
                "an answer is possible at one dataset and impossible at a neighbour: no finite epsilon is enough"
            )
        return cls._computed(max([Fraction(1), *((a - d) / b for a, b in sides if b > 0)]), cls(0, delta).delta)


def _parameter(value: object, name: str) -> Number:
    """A privacy parameter, short enough for ledgers and certificates; every float64 is."""
    if isinstance(value, str) and value.strip().lower().startswith(("log", "ln")):
        raise DuotoneError(f"{name} must be a number: if epsilon is log R, give exp_epsilon, which is R; got {value}")
    x = number(value, name)
    if isinstance(x, Fraction) and not max(x.numerator.bit_length(), x.denominator.bit_length()) <= LONGEST:
        raise DuotoneError(f"{name} has too many digits: at most {LONGEST * 3 // 10} in its numerator and denominator")
    return x


def _pairs(pairs: object) -> list[tuple[object, ...]]:
    try:
        listed = [tuple(pair) for pair in pairs]  # type: ignore[attr-defined]
    except TypeError:
        listed = [()]
    if not all(len(pair) == 2 for pair in listed):
        raise DuotoneError("give pairs of probabilities, those of yes of two neighbours")
    return listed


def _log(y: Fraction) -> float:
    """ln y for y ≥ 1, accurate near 1 and beyond the floats."""
    if y < 2:
        return math.log1p(float(y - 1))
    return math.log(y.numerator) - math.log(y.denominator) if y > 2**1000 else math.log(y)
