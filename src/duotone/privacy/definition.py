"""Privacy definitions. Each is one step bound φ: the largest probability on a neighbour.

Two neighbours d ~ d' are indistinguishable on a yes/no answer exactly when B_d ≤ φ(B_d') and B_d' ≤ φ(B_d). A
definition needs only the step; other methods make things faster or exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from numbers import Rational, Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from duotone.errors import DuotoneError
from duotone.privacy.numbers import Number, float_below, number, probability, show

Array = npt.NDArray[Any]
"""A float64 array, or an object array of exact rationals."""

GRID = sorted({Fraction(i, 64) for i in range(65)} | {abs(i - Fraction(1, 2**k)) for i in (0, 1) for k in (8, 10, 15, 20, 30)})
"""The probabilities at which a step of one's own is tried."""
ROUNDING = 1e-9
"""Tolerance of these trials where a step returns floats."""
WIDTH = Fraction(1, 2**20)
"""How far a line is drawn to find an exact balance."""
LONGEST_STEP, LONGEST_SHOWN = 2**16, 2**12
"""Most bits of an exact probability that a step of one's own leads to, in a design and for display."""


class PrivacyDefinition(Protocol):
    """A privacy definition has one method, `step`. Write a class with it to use your own definition.

    `ApproxDP`, which is (ε, δ)-differential privacy, is the one that most people need; `duotone.privacy.renyi.RenyiDP` is for
    many answers. Any other goes wherever they do (`design`, `balanced`, `Mechanism.check`), but not into coins, certificates
    and ledgers, which are exact for these two.

    `step(x)` is the largest probability of an answer if a neighbour's is x; the paper calls it φ. On [0, 1] it must be
    increasing and concave, with φ(x) ≥ x and φ(1 − φ(x)) ≥ 1 − x. Before it is used, a step of one's own is tried on a
    grid (`tried`), which finds blunders and proves nothing. Privacy rests on these rules everywhere:
    examples/own_definition.py shows how to satisfy them to the last bit.

    A step that returns fractions for fractions makes exact mechanisms. This one allows a difference of an eighth:

    >>> from duotone import balanced
    >>> class WithinAnEighth:
    ...     def step(self, x):
    ...         return min(1, x + Fraction(1, 8))
    >>> [str(balanced(WithinAnEighth()).truth(level)) for level in range(5)]
    ['9/16', '11/16', '13/16', '15/16', '1']
    """

    def step(self, x: Any, /) -> Any:
        """φ(x): the largest probability of an answer on a neighbour of a dataset with probability x."""
        ...


@runtime_checkable
class ClosedForm(Protocol):
    """A definition that also has its iterates; for others, the functions of these names below loop."""

    def iterate(self, x: Number, n: Any, /) -> tuple[Any, Any]:
        """φ^n(x) and 1 − φ^n(x), for a number n or an array."""
        ...

    def certain_after(self, x: Number, /) -> float:
        """The least n with φ^n(x) = 1."""
        ...


@runtime_checkable
class Represented(Protocol):
    """A definition that says in what numbers it computes; for others, these are floats."""

    def represent(self, x: Number, /) -> Number:
        """x in these numbers."""
        ...

    def balance(self) -> Number:
        """The largest m with m ≤ φ(1 − m), among these numbers."""
        ...


@runtime_checkable
class Exactly(Protocol):
    """A definition that may be rounded and also has its exact bound."""

    def exactly(self) -> PrivacyDefinition:
        """The step bound φ in exact arithmetic."""
        ...


@runtime_checkable
class Allows(Protocol):
    """A definition that decides exactly about two probabilities, where its step is rounded."""

    def allows(self, x: Number, y: Number, /) -> bool:
        """Whether neighbours may answer yes with these two probabilities."""
        ...


def following(privacy: PrivacyDefinition, x: Number) -> Number:
    """φ(x); of a step of one's own, unless it is too long to write down."""
    y = number(privacy.step(x), "what step returns")
    if isinstance(y, Fraction) and y.denominator.bit_length() > LONGEST_STEP and not isinstance(privacy, ClosedForm):
        raise DuotoneError("the exact probabilities of this privacy definition become too long: let its step return floats")
    return y


def iterate(privacy: PrivacyDefinition, x: Number, n: int) -> tuple[Number, Number]:
    """φ^n(x) and 1 − φ^n(x), by the definition's closed form if it has one."""
    if isinstance(privacy, ClosedForm):
        truth, error = privacy.iterate(x, n)
        return truth, error
    for _ in range(n):
        x, last = _brief_step(privacy, x), x
        if x == last:
            break
    return x, 1 - x


def certain_after(privacy: PrivacyDefinition, x: Number) -> float:
    """The least n with φ^n(x) = 1 exactly; infinite if there is none."""
    if isinstance(privacy, ClosedForm):
        return privacy.certain_after(x)
    n = 0
    while x < 1:
        x, last = _brief_step(privacy, x), x
        if x == last:
            return math.inf
        n += 1
    return float(n)


def _brief_step(privacy: PrivacyDefinition, x: Number) -> Number:
    """φ(x) for display: a float from where a fraction becomes long."""
    y = number(privacy.step(x), "what step returns")
    return float_below(y) if isinstance(y, Fraction) and y.denominator.bit_length() > LONGEST_SHOWN else y


def balance(privacy: PrivacyDefinition) -> Number:
    """The largest m with m ≤ φ(1 − m): both sides of the boundary tell the truth equally often.

    Of an exact step, exactly, where φ is straight about it; else rounded down to a float.
    """
    if isinstance(privacy, Represented):
        return privacy.balance()
    exact = in_fractions(privacy)
    holds: Callable[[float], bool] = lambda m: m <= privacy.step(1 - (Fraction(m) if exact else m))  # noqa: E731
    low, high = 0.5, 1.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    nearest = high if holds(high) else low
    return _straight(privacy, Fraction(nearest)) if exact else nearest


def _straight(privacy: PrivacyDefinition, near: Fraction) -> Fraction:
    """Where φ(1 − m) − m is 0 on the line through two points of it on one side of `near`, if φ agrees; else `near`, which
    is below the root. (φ may bend at the root itself, and often does.)"""
    room: Callable[[Fraction], Fraction] = lambda m: Fraction(privacy.step(1 - m)) - m  # noqa: E731
    for a, b in ((near - 2 * WIDTH, near - WIDTH), (near + 2 * WIDTH, near + WIDTH)):
        if 0 <= min(a, b) <= max(a, b) <= 1 and room(a) != room(b):
            root = b - room(b) * (b - a) / (room(b) - room(a))
            if 0 <= root <= 1 and room(root) == 0:
                return root
    return near


def represent(privacy: PrivacyDefinition, x: Number) -> Number:
    """x in the numbers that the definition computes in: exact only if it is exact too."""
    if isinstance(privacy, Represented):
        return privacy.represent(x)
    return x if isinstance(x, Fraction) and in_fractions(privacy) else float(x)


def in_fractions(privacy: PrivacyDefinition) -> bool:
    """Whether a step of one's own returns fractions (or integers) for fractions."""
    try:
        return all(isinstance(privacy.step(x), Rational) for x in (Fraction(0), Fraction(1, 3), Fraction(1)))
    except Exception:  # such as a function of floats only, which is not called with fractions then
        return False


def exactly(privacy: PrivacyDefinition) -> PrivacyDefinition:
    """The definition in exact arithmetic if it has one: for checks."""
    return privacy.exactly() if isinstance(privacy, Exactly) else privacy


def whole_numbers(value: Any, what: str = "a level") -> Any:
    """An int, or an array of 64-bit integers, from an integer or an array of them; anything else is refused.

    >>> whole_numbers(3.0), whole_numbers(np.array([1.0, 2.0])).tolist()
    (3, [1, 2])
    """
    if not isinstance(value, np.ndarray):
        return whole_number(value, what)
    kind = value.dtype.kind
    fits = kind in "iufO" and not np.ma.is_masked(value)
    if kind == "f":
        fits = fits and bool((np.abs(value) < 2.0**63).all()) and not (np.trunc(value) != value).any()
    elif kind == "u":
        fits = fits and bool((value < 2**63).all())
    elif kind == "O":
        fits = fits and all(type(v) is int and -(2**63) <= v < 2**63 for v in value.flat)
    if not fits:
        raise DuotoneError(f"{what} must be a whole number, or an array of whole numbers of 64 bits")
    return np.asarray(value).astype(np.int64, copy=False)


def whole_number(value: Any, what: str) -> int:
    """An int from an integer of any type; anything else is refused."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float | np.floating) and math.isfinite(value) and int(value) == value:
        return int(value)
    raise DuotoneError(f"{what} must be a whole number")


def known(privacy: Any) -> PrivacyDefinition:
    """A privacy definition, or an error that explains what one is."""
    if isinstance(privacy, type):
        raise DuotoneError(f"a privacy definition is an object, not a class: write {privacy.__name__}(…)")
    if not callable(getattr(privacy, "step", None)):
        raise DuotoneError(
            f"a privacy definition has a method step, φ, as ApproxDP(epsilon, delta) has; got {type(privacy).__name__}"
        )
    return privacy  # type: ignore[no-any-return]


def tried(privacy: Any) -> PrivacyDefinition:
    """A privacy definition; one that has only a step must keep the rules on a grid of probabilities.

    >>> class Doubled:
    ...     def step(self, x):
    ...         return min(1, 2 * x)
    >>> tried(Doubled())
    Traceback (most recent call last):
    ...
    duotone.errors.DuotoneError: step is not symmetric: step(11/32) = 11/16, so step(5/16) must be at least 21/32, not 5/8
    """
    definition = known(privacy)
    if not isinstance(privacy, Represented):
        _keeps_the_rules(definition)
    return definition


def _keeps_the_rules(privacy: PrivacyDefinition) -> None:
    exact = in_fractions(privacy)
    steps = [(x, _tried_step(privacy, x if exact else float(x))) for x in GRID]
    room = 0 if all(isinstance(y, Fraction) for _, y in steps) else ROUNDING
    for x, y in steps:
        if not y >= x:
            raise DuotoneError(f"step may not lower a probability: step({show(x)}) = {show(y)}")
    for (w, v), (x, y) in pairwise(steps):
        if not y >= v - room:
            raise DuotoneError(f"step is not increasing: step({show(w)}) = {show(v)}, but step({show(x)}) = {show(y)}")
    for (w, v), (x, y), (z, u) in zip(steps, steps[1:], steps[2:], strict=False):
        if not y >= v + (u - v) * ((x - w) / (z - w)) - room:
            ends = f"step({show(w)}) = {show(v)} and step({show(z)}) = {show(u)}"
            raise DuotoneError(f"step is not concave: step({show(x)}) = {show(y)} is below the line between {ends}")
    for x, y in steps:
        back = _tried_step(privacy, 1 - y)
        if not back >= 1 - x - room:
            raise DuotoneError(
                f"step is not symmetric: step({show(x)}) = {show(y)}, so step({show(1 - y)}) must be at least {show(1 - x)}, "
                f"not {show(back)}"
            )


def _tried_step(privacy: PrivacyDefinition, x: Number) -> Number:
    """The step of a probability, which must be a probability too."""
    try:
        y = privacy.step(x)
    except DuotoneError:
        raise
    except Exception as error:
        raise DuotoneError(f"step({show(x)}) of this privacy definition raises {type(error).__name__}: {error}") from error
    if not isinstance(y, Real):
        raise DuotoneError(f"step must return a number, but step({show(x)}) is of type {type(y).__name__}")
    return probability(y, f"step({show(x)})")
