"""Numbers in certificates: how to read them without trusting them; e^ε and φ in integers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import gmpy2

from duotone.errors import DuotoneError
from duotone.privacy.numbers import number
from duotone.release.certificate_renyi import MOST_BITS as MOST_COMPARED
from duotone.release.certificate_renyi import MOST_WORK as MOST_COMPARISONS
from duotone.release.certificate_renyi import RenyiStep

FEWEST_BITS, MOST_BITS = 64, 2**14
LONGEST_NUMBER = 20_000
LOSS = 60
"""Rounding must cost less than 2^−LOSS against the real optimum."""
CLOSE = 100
"""The ratio must be within 2^−CLOSE of e^ε, relative to e^ε − 1."""
LARGEST_EPSILON, LONGEST_EPSILON, LARGEST_ORDER = 2**13, 3_000, 256
FRACTION = 320
"""The bits after the point to which e^ε is computed, and more for a small ε."""
DIGITS, WRITTEN = re.compile("[0-9]+"), re.compile(r"[0-9]+(/[0-9]+|(\.[0-9]+)?(e[+-]?[0-9]{1,4})?)")
"""How a certificate writes an entry and a number: in exactly one way, so that all readers agree."""


class Unproved(DuotoneError):
    """A certificate does not prove what it claims."""


def as_kind(kind: type, value: Any) -> Any:
    """A list or an object of the JSON, of the required type: text has items too, and an object is a list of its
    names."""
    if type(value) is not kind:
        raise Unproved("this is not a certificate: a part of it has the wrong type")
    return value


def _read_entry(text: Any, one: int) -> int:
    """A table entry: an integer from 0 to `one`, which is 2^bits."""
    if not (isinstance(text, str) and len(text) < one.bit_length() and DIGITS.fullmatch(text)):
        raise Unproved("a table entry is not a whole number between 0 and 2^bits")
    value = int(gmpy2.mpz(text))  # Python's own int() stops at 4,300 digits
    if not value <= one:
        raise Unproved("a table entry is not a whole number between 0 and 2^bits")
    return value


def read_fraction(text: Any, longest: int = LONGEST_NUMBER) -> Fraction:
    """A number as a certificate writes it, exactly."""
    if not (isinstance(text, str) and len(text) <= longest):
        raise Unproved(f"numbers in a certificate are written as text of at most {longest} characters")
    return _read(text)


@lru_cache(maxsize=256)
def _read(text: str) -> Fraction:
    try:
        if WRITTEN.fullmatch(text):
            return Fraction(number(text))
    except DuotoneError:
        pass
    raise Unproved("a number in the certificate is neither a decimal nor a fraction")


def read_definition(privacy: Mapping[str, Any]) -> tuple[Fraction, Fraction, Fraction]:
    """The ratio, a bound on e^ε from above, and δ."""
    if "order" in privacy:
        raise Unproved("a Rényi order stands where only a ratio may")
    ratio, delta = read_fraction(privacy["ratio"]), read_fraction(privacy["delta"])
    if not ratio >= 1:
        raise Unproved("the ratio must be at least 1")
    if not 0 <= delta < 1:
        raise Unproved("delta must be in [0, 1)")
    above = ratio
    if privacy["epsilon"] is not None:
        epsilon = read_fraction(privacy["epsilon"], LONGEST_EPSILON)
        if not 0 <= epsilon <= LARGEST_EPSILON:
            raise Unproved(f"epsilon must be in [0, {LARGEST_EPSILON}]")
        low, above = exp_bounds(epsilon)
        if not ratio <= low:
            raise Unproved("the ratio is above e^epsilon")
        if not above - ratio <= (above - 1) / 2**CLOSE:
            raise Unproved("the ratio is too far below e^epsilon for the table to be optimal")
    return ratio, above, delta


def read_order(privacy: Mapping[str, Any]) -> tuple[Fraction, Fraction, Fraction]:
    """Of one Rényi order: the price, which is its own bound from above, and δ."""
    order, price, delta = privacy["order"], read_fraction(privacy["price"]), read_fraction(privacy["delta"])
    if not (type(order) is int and 2 <= order <= LARGEST_ORDER):
        raise Unproved(f"an order must be a whole number from 2 to {LARGEST_ORDER}")
    if not (price >= 1 and 0 <= delta < 1):
        raise Unproved("the price must be at least 1, and delta in [0, 1)")
    return price, price, delta


@dataclass(frozen=True)
class Head:
    """How every certificate begins: its privacy (ε if given, a ratio that is e^ε, δ; or order, price, δ), bits, outcomes."""

    privacy: Mapping[str, Any]
    ratio: Fraction
    """e^ε, or the price."""
    above: Fraction
    """An upper bound on e^ε."""
    delta: Fraction
    bits: int
    outcomes: Sequence[str]

    @property
    def order(self) -> int | None:
        """The Rényi order; None under (ε, δ)."""
        return self.privacy.get("order")

    def row(self, row: Mapping[str, Any]) -> list[int]:
        """The numbers of a row: one for each outcome, 2^bits in all."""
        numbers = [_read_entry(text, 1 << self.bits) for text in as_kind(list, row["numbers"])]
        if not (len(numbers) == len(self.outcomes) and sum(numbers) == 1 << self.bits):
            raise Unproved("the numbers of a row are not one for each outcome, 2^bits in all")
        return numbers

    def levels(self, certificate: Mapping[str, Any]) -> tuple[list[list[int]], int]:
        """The rows by level, from the lowest on; and how many of them are below 0."""
        rows, lowest = as_kind(list, certificate["rows"]), certificate["lowest"]
        if not (type(lowest) is int and 0 < -lowest < len(rows)):
            raise Unproved("the lowest level must be below 0, and the last row's at least 0")
        return [self.row(row) for row in rows], -lowest

    @property
    def budget(self) -> str:
        """Its privacy, to be read."""
        if self.order is not None:
            return f"order {self.order}, price {brief(self.privacy['price'])}, delta {brief(self.privacy['delta'])}"
        known = "ratio" if self.privacy["epsilon"] is None else "epsilon"
        return ", ".join(f"{name} {brief(self.privacy[name])}" for name in (known, "delta"))

    def steps(self) -> tuple[Phi, Phi]:
        """φ rounded down, which is what tables keep to; and rounded up, which bounds the real optimum."""
        if self.order is not None:
            down, up = (RenyiStep(self.order, self.ratio, self.delta, self.bits, up=up) for up in (False, True))
            return down, up
        return Step(self.ratio, self.delta, self.bits), Step(self.above, self.delta, self.bits, up=True)

    def bound(self, comparisons: int) -> None:
        """Refuse what would take minutes: so many comparisons of powers that are that long."""
        if self.order is None:
            return
        size = self.order * (self.bits + sum(n.bit_length() for x in (self.ratio, self.delta) for n in x.as_integer_ratio()))
        if not (size <= MOST_COMPARED and size * size * comparisons <= MOST_COMPARISONS):
            raise Unproved("the certificate has too many rows to be checked with numbers and an order as large as these")

    def shrunk_step(self) -> Phi:
        """φ of a budget smaller by a hair, rounded down, which tables of levels keep to: so there is room for their margins.
        Under one Rényi order there are none, and it is φ itself."""
        if self.order is not None:
            return self.steps()[0]
        if self.delta * 2 ** (self.bits // 2) >= 1:
            return Step(self.ratio, self.delta - Fraction(1, 2 ** (3 * self.bits // 4)), self.bits)
        return Step(self.ratio - (self.ratio - 1) / 2**96, Fraction(0), self.bits)


def brief(text: str) -> str:
    """A number of the certificate; a long one is rounded up for display."""
    return text if len(text) <= 12 else in_decimals(text)


def in_decimals(text: str) -> str:
    """A number of the certificate with seven digits, rounded up.

    >>> in_decimals("1/50"), in_decimals("1/3")
    ('0.02', '0.3333334')
    """
    value, rounded_up = read_fraction(text), Context(prec=7, rounding=ROUND_CEILING)
    return f"{rounded_up.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(rounded_up):g}"


def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals below and above e^x, x ≥ 0: every correct implementation gets the same two.

    With k = 320 and the bits by which x is below 1: x is rounded down to a multiple of 2^−k, and then so is e^x. Adding
    4·2^−k of itself gives an upper bound. So all checkers judge a ratio in the same way; one closer to e^x than
    2^−310·(e^x − 1) may be refused.
    """
    k = FRACTION + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    low = Fraction(_exponential((x.numerator << k) // x.denominator, k), 1 << k)
    return low, low + (4 * low / (1 << k) if x else 0)


def _exponential(n: int, k: int) -> int:
    """2^k·e^(n/2^k), rounded down: the series of a small power, squared repeatedly, in integers from below and
    above."""
    halvings = max(0, n.bit_length() - k) + 16
    bits = 2 * k + 3 * (n >> k) + halvings + FRACTION
    low = high = below = above = 1 << bits
    j = 0
    while n and above > 1:
        j += 1
        below, above = (below * n >> k + halvings) // j, -((-above * n >> k + halvings) // j)
        low, high = low + below, high + above
    high += 2 * above if n else 0  # the rest of the series, whose terms at least halve
    for _ in range(halvings):
        low, high = low * low >> bits, -(-high * high >> bits)
    if low >> bits - k != high >> bits - k:
        raise Unproved("epsilon is too close to the logarithm of a short number")
    return low >> bits - k


class Phi(Protocol):
    """φ on integers over 2^bits, rounded down or up, and who is private beside whom."""

    one: int
    ratio: Fraction
    delta: Fraction

    def __call__(self, t: int, near: int | None = None) -> int:
        """The most truth beside a neighbour of truth t; quickly where it is `near` a number."""
        ...

    def private(self, row: Sequence[int], other: Sequence[int]) -> bool:
        """Whether the rows of two neighbours are private."""
        ...

    def balance(self) -> int:
        """The balanced boundary value."""
        ...

    def other(self, answers: int) -> int:
        """The least number of each wrong answer, if they are alike, beside a neighbour whose truth is one of them."""
        ...


class Step:
    """φ on integers over 2^bits, rounded down (or up), and Definition 1 itself, between the rows of two neighbours."""

    def __init__(self, ratio: Fraction, delta: Fraction, bits: int, *, up: bool = False) -> None:
        self.one, self.up, self.ratio, self.delta = 1 << bits, up, ratio, delta
        self.a, self.b, self.c, self.d = ratio.numerator, ratio.denominator, delta.numerator, delta.denominator
        self.left, self.right, self.room = self.b * self.d, self.a * self.d, self.b * self.c * self.one

    def __call__(self, t: int, near: int | None = None) -> int:  # noqa: ARG002
        """The most truth beside a neighbour of truth t."""
        first = (self.right * t + self.room + self.up * (self.left - 1)) // self.left
        second = self.one + (self.room - self.left * (self.one - t) + self.up * (self.right - 1)) // self.right
        return min(self.one, first, second)

    def private(self, row: Sequence[int], other: Sequence[int]) -> bool:
        """Definition 1 for the rows of two neighbours: the chance of each outcome, out of 2^bits, in the same order.

        The worst set of outcomes consists of those more likely than the ratio allows: if that set stays within delta,
        all do. This holds for any number of outcomes, in both directions.
        """
        return self._exceeds(row, other) <= self.room and self._exceeds(other, row) <= self.room

    def _exceeds(self, row: Sequence[int], other: Sequence[int]) -> int:
        return sum([over for p, q in zip(row, other, strict=True) if (over := self.left * p - self.right * q) > 0])

    def balance(self) -> int:
        """The balanced boundary value, rounded."""
        top, bottom = (self.a * self.d + self.b * self.c) * self.one, self.d * (self.a + self.b)
        return (top + self.up * (bottom - 1)) // bottom

    def other(self, answers: int) -> int:
        """The least q with (2^bits − (answers − 1)·q) − e^ε·q ≤ δ·2^bits; or the same rounded down, if φ is rounded up."""
        top, bottom = (self.d - self.c) * self.b * self.one, self.d * (self.a + (answers - 1) * self.b)
        return (top + (not self.up) * (bottom - 1)) // bottom


def checked_boundary(
    value: Any, blue: int, red: int | None, step: Phi, ceiling: Phi, *, held: int | None = None
) -> tuple[int, int]:
    """The fixed boundary: balanced, the empty group at no, or a given value, rounded down (or held lower).

    Returns upper bounds on the real values of both sides.
    """
    one = step.one
    if value == "balanced":
        if not (red in (None, blue) and blue == step.balance() <= step(one - blue, blue)):
            raise Unproved("the boundary is not the best balanced one")
        return ceiling.balance(), ceiling.balance()
    if value == "selection":
        if not (red == one and blue == step(0)):
            raise Unproved("the answer about an empty group is not fixed at no")
        return ceiling(0), one
    below = rounded_down(value, step)
    if blue != (below if held is None else held) or blue > below:
        raise Unproved("a boundary value is not the one asked for, rounded down")
    if red is not None and red != step(one - blue, red):
        raise Unproved("the red boundary is not the most truth possible there")
    exact = read_fraction(value) * one == below
    return below if exact else below + 1, ceiling(one - below, red)


def rounded_down(text: Any, step: Phi) -> int:
    """A boundary value on integers."""
    value = read_fraction(text)
    if not 0 <= value <= 1:
        raise Unproved("a boundary value is not a probability")
    return value.numerator * step.one // value.denominator


def check_close(top: int, truth: int, step: Phi) -> None:
    """An entry lies near the bound from above on the real optimum."""
    if not top - truth < step.one >> LOSS:
        raise Unproved(f"rounding costs 2^-{LOSS} or more against the real optimum")


def check_error(text: Any, truth: int, step: Phi) -> None:
    """Require that the error recorded beside an entry is 1 minus the entry, as closely as a float can say."""
    value, wrong = read_fraction(text), step.one - truth
    apart = abs(value.numerator * step.one - wrong * value.denominator)  # times 1/(one·denominator), like what follows
    if not apart << 1070 <= value.denominator * ((wrong << 1020) + step.one):
        raise Unproved("an error differs from the table's")
