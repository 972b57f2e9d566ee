"""One step of a certificate, in integers: φ itself, what is fixed at a boundary, and how far rounding may be off."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from duotone.release.certificate_numbers import Unproved, read_fraction

LOSS = 60
"""Rounding must cost less than 2^−LOSS against the real optimum."""


class Step:
    """φ on integers over 2^bits, rounded down (or up), and Definition 1 itself."""

    def __init__(self, ratio: Fraction, delta: Fraction, bits: int, *, up: bool = False) -> None:
        self.one, self.up, self.ratio, self.delta = 1 << bits, up, ratio, delta
        self.a, self.b, self.c, self.d = ratio.numerator, ratio.denominator, delta.numerator, delta.denominator
        self.left, self.right, self.room = self.b * self.d, self.a * self.d, self.b * self.c * self.one

    def __call__(self, t: int) -> int:
        """The most truth beside a neighbour of truth t."""
        first = (self.right * t + self.room + self.up * (self.left - 1)) // self.left
        second = self.one + (self.room - self.left * (self.one - t) + self.up * (self.right - 1)) // self.right
        return min(self.one, first, second)

    def private(self, p: int, q: int) -> bool:
        """Definition 1 for two neighbours that say yes with p and q."""
        sides = ((p, q), (q, p), (self.one - p, self.one - q), (self.one - q, self.one - p))
        return all(self.left * x <= self.right * y + self.room for x, y in sides)

    def balance(self) -> int:
        """The balanced boundary value, rounded."""
        top, bottom = (self.a * self.d + self.b * self.c) * self.one, self.d * (self.a + self.b)
        return (top + self.up * (bottom - 1)) // bottom


def checked_boundary(
    value: Any, blue: int, red: int | None, step: Step, ceiling: Step, *, held: int | None = None
) -> tuple[int, int]:
    """What is fixed at the boundary: balanced, the empty group at no, or a given value, rounded down (or held lower).

    Gives bounds from above on the real values of both sides.
    """
    one = step.one
    if value == "balanced":
        if not (red in (None, blue) and blue == step.balance() <= step(one - blue)):
            raise Unproved("the boundary is not the best balanced one")
        return ceiling.balance(), ceiling.balance()
    if value == "selection":
        if not (red == one and blue == step(0)):
            raise Unproved("the empty group is not pinned at no")
        return ceiling(0), one
    below = rounded_down(value, step)
    if blue != (below if held is None else held) or blue > below:
        raise Unproved("a boundary value is not the one asked for, rounded down")
    if red is not None and red != step(one - blue):
        raise Unproved("the red boundary is not the most truth possible there")
    exact = read_fraction(value) * one == below
    return below if exact else below + 1, ceiling(one - below)


def rounded_down(text: Any, step: Step) -> int:
    """A boundary value on integers."""
    value = read_fraction(text)
    if not 0 <= value <= 1:
        raise Unproved("a boundary value is not a probability")
    return value.numerator * step.one // value.denominator


def check_close(top: int, truth: int, step: Step) -> None:
    """An entry lies near the bound from above on the real optimum."""
    if not top - truth < step.one >> LOSS:
        raise Unproved(f"rounding costs 2^-{LOSS} or more against the real optimum")


def check_error(text: Any, truth: int, step: Step) -> None:
    """The error beside an entry is one less it, as a float can say that."""
    value, wrong = read_fraction(text), step.one - truth
    apart = abs(value.numerator * step.one - wrong * value.denominator)  # times 1/(one·denominator), as what follows
    if not apart << 1070 <= value.denominator * ((wrong << 1020) + step.one):
        raise Unproved("an error is not what the table says")
