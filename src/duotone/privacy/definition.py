"""Privacy definitions. Each is one step bound φ: the largest probability on a neighbour.

Two neighbours d ~ d' are indistinguishable on a yes/no answer exactly when B_d ≤ φ(B_d') and B_d' ≤ φ(B_d). A
definition needs only the step; other methods make things faster or exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from duotone.errors import DuotoneError
from duotone.privacy.numbers import Number

Array = npt.NDArray[Any]
"""A float64 array, or an object array of exact rationals."""


class PrivacyDefinition(Protocol):
    """A privacy definition has one method, `step`. Write a class with it to use your own definition.

    `ApproxDP`, which is (ε, δ)-differential privacy, is the one that most people need; `duotone.privacy.renyi.RenyiDP` is for
    many answers. Any other goes wherever they do (`design`, `balanced`, `Mechanism.check`), but not into coins, certificates
    and ledgers, which are exact for these two.

    `step(x)` is the largest probability of an answer if a neighbour's is x; the paper calls it φ. On [0, 1] it must be
    increasing and concave, with φ(x) ≥ x and φ(1 − φ(x)) ≥ 1 − x. This is not checked, and privacy rests on it:
    examples/own_definition.py shows how to satisfy it to the last bit.

    >>> from duotone import balanced
    >>> class WithinAnEighth:
    ...     def step(self, x):
    ...         return min(1.0, x + 0.125)
    >>> [balanced(WithinAnEighth()).truth(level) for level in range(5)]
    [0.5625, 0.6875, 0.8125, 0.9375, 1.0]
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


def iterate(privacy: PrivacyDefinition, x: Number, n: int) -> tuple[Number, Number]:
    """φ^n(x) and 1 − φ^n(x), by the definition's closed form if it has one."""
    if isinstance(privacy, ClosedForm):
        truth, error = privacy.iterate(x, n)
        return truth, error
    for _ in range(n):
        x, last = privacy.step(x), x
        if x == last:
            break
    return x, 1 - x


def certain_after(privacy: PrivacyDefinition, x: Number) -> float:
    """The least n with φ^n(x) = 1 exactly; infinite if there is none."""
    if isinstance(privacy, ClosedForm):
        return privacy.certain_after(x)
    n = 0
    while x < 1:
        x, last = privacy.step(x), x
        if x == last:
            return math.inf
        n += 1
    return float(n)


def balance(privacy: PrivacyDefinition) -> Number:
    """The largest m with m ≤ φ(1 − m): both sides of the boundary tell the truth equally often."""
    if isinstance(privacy, Represented):
        return privacy.balance()
    holds: Callable[[float], bool] = lambda m: m <= privacy.step(1 - m)  # noqa: E731
    low, high = 0.5, 1.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high if holds(high) else low


def represent(privacy: PrivacyDefinition, x: Number) -> Number:
    """x in the numbers that the definition computes in: exact only if it is exact too."""
    return privacy.represent(x) if isinstance(privacy, Represented) else float(x)


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
    if not callable(getattr(privacy, "step", None)):
        raise DuotoneError(
            f"a privacy definition has a method step, φ, as ApproxDP(epsilon, delta) has; got {type(privacy).__name__}"
        )
    return privacy  # type: ignore[no-any-return]
