"""One Rényi order in certificates: φ on integers over 2^bits, by whole numbers alone, and who is private beside whom."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import gmpy2

from duotone.cached import cached_property

MOST_BITS, MOST_WORK = 2**18, 2**43
"""The bits of the numbers that are compared, at most; and their square times how often."""
STEPS = 64
"""Steps of a secant; two or three are usual."""


def within_budget(order: int, price: Fraction, each: Fraction, answers: int, ratio: Fraction, delta: Fraction) -> bool:
    """Whether n answers of order k + 1, price T and delta d each are (ε, δ)-private together: T^n·k^k is at most
    (δ − n·d)·(k + 1)^(k + 1)·e^(kε)."""
    k = order - 1
    return bool(price**answers * k**k <= (delta - answers * each) * (k + 1) ** (k + 1) * ratio**k)


class RenyiStep:
    """φ of order k + 1, price T and d, rounded down (or up: to the next number, but for 0 and what is certain).

    Neighbours answer yes with p ≥ q, out of ONE, if max(0, p − d)^(k+1) / q^k + (1 − p)^(k+1) / (1 − q)^k ≤ T and the same
    holds of 1 − q and 1 − p: both are inequalities of whole numbers, once they are multiplied out.
    """

    def __init__(self, order: int, price: Fraction, delta: Fraction, bits: int, *, up: bool = False) -> None:
        self.one, self.up, self.ratio, self.delta, self.k = 1 << bits, up, price, delta, order - 1
        self.order = order
        self.whole, self.c, self.d = (gmpy2.mpz(n) for n in (self.one, *delta.as_integer_ratio()))
        self.left, self.right = gmpy2.mpz(price.denominator), price.numerator * self.d**order * self.whole
        self.known: dict[tuple[int, int], bool] = {}
        self.certain = self.one - self.one * delta.numerator // delta.denominator

    def _room(self, q: int, p: int) -> gmpy2.mpz:
        """What the first inequality leaves, 0 or more where it holds."""
        yes, no = gmpy2.mpz(q) ** self.k, (self.whole - q) ** self.k
        more, less = max(self.d * p - self.c * self.whole, gmpy2.mpz(0)), self.d * (self.whole - p)
        return self.right * yes * no - self.left * (more ** (self.k + 1) * no + less ** (self.k + 1) * yes)

    def _allows(self, q: int, p: int) -> bool:
        if (q, p) not in self.known:
            self.known[q, p] = bool(self._room(q, p) >= 0 and self._room(self.one - p, self.one - q) >= 0)
        return self.known[q, p]

    def private(self, row: Sequence[int], other: Sequence[int]) -> bool:
        """The definition for the rows of two neighbours, yes and no out of 2^bits."""
        return self._allows(*sorted((row[0], other[0])))

    def __call__(self, t: int, near: int | None = None) -> int:
        """The most truth beside a neighbour of truth t; quickly where it is `near` a number."""
        if t == 0 or t >= self.certain:
            return self.one if t else (self.one * self.delta.numerator + self.up * (self.delta.denominator - 1)) // int(self.d)
        if near is None or not self._tight(t, near):
            near = self._searched(t, t if near is None else near)
        return min(self.one, near + 1) if self.up else near

    def _tight(self, q: int, p: int) -> bool:
        """Whether p is the largest number that is private beside q."""
        return q <= p <= self.one and self._allows(q, p) and (p == self.one or not self._allows(q, p + 1))

    def _searched(self, q: int, near: int) -> int:
        """The largest number that is private beside q: by secants of what the inequalities leave, then by halving."""
        near = min(max(near, q + 1), self.one - 1)
        for _ in range(STEPS):
            here, beside = (self._room(q, p) for p in (near, near + 1))
            mirrored, next_to = (self._room(self.one - p, self.one - q) for p in (near, near + 1))
            by = min(int(a // (a - b)) if a > b else self.one for a, b in ((here, beside), (mirrored, next_to)))
            moved = min(max(near + by, q + 1), self.one - 1) - near
            near += moved
            if abs(moved) <= 1:
                break
        low, high, apart = q, self.one, 1
        while low < near < high and apart <= self.one:  # bounds next to it, where it is right
            if self._allows(q, near):
                low, near = near, near + apart
            else:
                high, near = near, near - apart
            apart *= 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._allows(q, middle) else (low, middle)
        return low

    @cached_property
    def _balance(self) -> int:
        low, high = self.one >> 1, self.one
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._allows(self.one - middle, middle) else (low, middle)
        return low

    def balance(self) -> int:
        """The balanced boundary value, rounded."""
        return self._balance + self.up

    def other(self, answers: int) -> int:
        """The least number q of each wrong answer, if they are alike and the truth t has the rest, with which answers may
        change places: max(0, t − d)^(k+1) / q^k + q^(k+1) / t^k + (answers − 2)·q ≤ T, multiplied out; one less as a bound."""

        def private(q: int) -> bool:
            t = self.whole - (answers - 1) * q
            truth, other, rest = t**self.k, gmpy2.mpz(q) ** self.k, self.d**self.order * q
            more = max(self.d * t - self.c * self.whole, gmpy2.mpz(0)) ** self.order
            left = more * truth + rest * other * (other + (answers - 2) * truth)
            return bool(self.left * left <= self.right * other * truth)

        low, high = 0, self.one // answers + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if private(middle) else (middle, high)
        return max(0, high - self.up)
