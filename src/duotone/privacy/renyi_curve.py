"""φ of one Rényi order: whether two probabilities are close, exactly, and the largest close one, in as many bits as
necessary.

With order k + 1, price T and d, the pairs x ≤ y that neighbours may have are those with F(x, y) ≤ T and F(1 − y, 1 − x) ≤ T:

    F(u, v) = max(0, v − d)^(k+1) / u^k + (1 − v)^(k+1) / (1 − u)^k        (0 / 0 is 0)

Without denominators both are inequalities of integers, which `close_on` decides. `largest` solves them in MPFR: an
estimate, which callers that need a guarantee check with `close_on`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import gmpy2

GUARD = 64
"""Bits of an estimate beyond the requested ones."""
LEAST, MOST = 1e-6, 600.0
"""The logarithms of prices that are guessed."""
MOST_ROUNDS = 400
"""Most of Newton's steps; a dozen are usual."""
MOST_PEOPLE = 2**15
"""Beyond, people are extrapolated: counting more would take seconds."""


@dataclass(frozen=True)
class Curve:
    """The pairs for which F is the price. An estimate has `bits` bits, of the smaller of a probability and its
    complement."""

    k: int
    price: Fraction
    delta: Fraction
    bits: int

    @property
    def precision(self) -> int:
        """The working precision: F is flat near the price if that is close to 1."""
        room = self.price - 1
        flat = max(0, room.denominator.bit_length() - room.numerator.bit_length()) if room else 0
        return self.bits + flat + GUARD

    def largest(self, x: Any, rest: Any, near: Any = None) -> tuple[Any, Any]:
        """φ(x) and 1 − φ(x), about, for x and `rest` = 1 − x as MPFR numbers; each has its own bits, however small it is.

        `near` is a guess: φ(x) / x up to one half, (1 − φ(x)) / (1 − x) from there on.
        """
        with gmpy2.context(precision=self.precision, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min()):
            d = gmpy2.mpfr(gmpy2.mpq(self.delta))
            if rest <= d:
                return gmpy2.mpfr(1), gmpy2.mpfr(0)
            if x == 0 or (self.price == 1 and not d):
                return (d, 1 - d) if x == 0 else (+x, +rest)
            y = self._larger(x, rest, d, near if x < rest else None) if d or x < rest else gmpy2.mpfr(2)
            if not d and y <= rest:  # then the first inequality binds
                return y, 1 - y
            left = self._smaller(rest, x, d, None if x < rest else near)
            return (y, 1 - y) if y <= 1 - left else (1 - left, left)

    def _larger(self, u: Any, rest: Any, d: Any, near: Any) -> Any:
        """The v above u with F(u, v) = T, or 1: F is convex in v, and Newton's steps come down to it from above."""
        k, price = self.k, gmpy2.mpfr(gmpy2.mpq(self.price))
        if (1 - d) ** (k + 1) <= price * u**k:
            return gmpy2.mpfr(1)
        most = min(d + gmpy2.rootn(price * u**k, k + 1), gmpy2.mpfr(1))
        v = u * near if near is not None and u + d * rest < u * near < most else most  # from below, a step leads above
        for i in range(MOST_ROUNDS):
            first, second = ((v - d) / u) ** k, ((1 - v) / rest) ** k
            over = (v - d) * first + (1 - v) * second - price
            moved = over / ((k + 1) * (first - second))
            v = min(v - moved, most)
            if not moved > gmpy2.mul_2exp(v, -self.bits - GUARD // 2) and i:
                break
        return v

    def _smaller(self, v: Any, rest: Any, d: Any, near: Any) -> Any:
        """The u below v with F(u, v) = T: F is convex in u, and Newton's steps come up to it from below."""
        k, price = self.k, gmpy2.mpfr(gmpy2.mpq(self.price))
        least = gmpy2.rootn((v - d) ** (k + 1) / price, k)
        u = v * near if near is not None and least < v * near < (v - d) / (1 - d) else least
        for i in range(MOST_ROUNDS):
            first, second = ((v - d) / u) ** (k + 1), (rest / (1 - u)) ** (k + 1)
            over = u * first + (1 - u) * second - price
            moved = over / (k * (first - second))
            u = max(u + moved, least)
            if not moved > gmpy2.mul_2exp(u, -self.bits - GUARD // 2) and i:
                break
        return u

    def on_integers(self, *, up: bool = False) -> Callable[[Any], Any]:
        """φ on whole numbers out of 2^bits, rounded down; or `up`, to a number that is no more than one larger.

        Guarantee: rounded down, the largest that `close_on` allows.
        """
        one, last = gmpy2.mpz(1) << self.bits, None
        close, (c, e) = self.close_on(int(one)), self.delta.as_integer_ratio()
        least, sure = (-(-one * c // e) if up else one * c // e), one - one * c // e

        def step(t: Any) -> Any:
            nonlocal last
            if t == 0 or t >= sure:
                return least if t == 0 else one
            with gmpy2.context(precision=self.precision):
                x, rest = gmpy2.mpfr(t) / one, gmpy2.mpfr(one - t) / one
                y, left = self.largest(x, rest, last)
                last, near = y / x if x < rest else left / rest, one - gmpy2.mpz(gmpy2.ceil(left * one))
            found = largest_whole(lambda n: close(t, n), near, t, one)
            return min(one, found + 1) if up else found

        return step

    def iterates(self, x: Fraction, most: int) -> list[tuple[float, float]]:
        """φ^n(x) and 1 − φ^n(x) for n from 0 on, good to the last bits: so many, or up to where the next is as the last."""
        values: list[tuple[float, float]] = []
        with gmpy2.context(precision=self.precision):
            y, rest, near = gmpy2.mpfr(gmpy2.mpq(x)), gmpy2.mpfr(gmpy2.mpq(1 - x)), None
        while len(values) < most:
            values.append((float(y), float(rest)))
            before = y, rest
            y, rest = self.largest(y, rest, near)
            if float(rest) == values[-1][1] == 0 or (y, rest) == before:
                break
            near = y / before[0] if before[0] < before[1] else rest / before[1]
        return values

    def balance(self) -> Any:
        """The largest whole number t out of 2^bits that is close to 2^bits − t."""
        one = gmpy2.mpz(1) << self.bits
        close = self.close_on(int(one))
        low, high = one >> 1, one
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if close(one - middle, middle) else (low, middle)
        return low

    def least_other(self, answers: int) -> int:
        """The least whole number q out of 2^bits with which a truth of the rest, t, may change places with another answer:
        max(0, t − d)^(k+1) / q^k + q^(k+1) / t^k + (answers − 2)·q ≤ T, multiplied out.
        """
        k, one = self.k, gmpy2.mpz(1) << self.bits
        (a, b), (c, e) = (map(gmpy2.mpz, x.as_integer_ratio()) for x in (self.price, self.delta))
        left, right = b * e ** (k + 1), a * e ** (k + 1) * one

        def private(q: Any) -> bool:
            t = one - (answers - 1) * q
            truth, other, alike = t**k, q**k, (answers - 2) * q
            moved = b * max(e * t - c * one, 0) ** (k + 1) * truth
            return bool(moved + left * other * (other * q + alike * truth) <= right * other * truth)

        low, high = gmpy2.mpz(0), one // answers + 1  # which is not private
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if private(middle) else (middle, high)
        return int(high)

    def close_on(self, one: int) -> Callable[[Any, Any], bool]:
        """Whether neighbours may have two probabilities s ≤ t out of `one`, as integers: exact."""
        k, whole = self.k, gmpy2.mpz(one)
        (a, b), (c, e) = (map(gmpy2.mpz, x.as_integer_ratio()) for x in (self.price, self.delta))
        off, left, right = c * whole, b, a * e ** (k + 1) * whole

        def within(u: Any, v: Any) -> bool:
            up, down = max(e * v - off, 0), e * (whole - v)
            most, least = gmpy2.mpz(u) ** k, (whole - u) ** k
            return bool(left * (up ** (k + 1) * least + down ** (k + 1) * most) <= right * most * least)

        return lambda s, t: within(s, t) and within(whole - t, whole - s)


def largest_whole(holds: Callable[[Any], bool], near: Any, least: Any, most: Any) -> Any:
    """The largest integer for which it holds, between `least`, for which it holds, and `most`, if it holds exactly up
    to some integer: a few trials if that is close to `near`, and never many.

    >>> largest_whole(lambda n: n * n <= 2000, 43, 0, 10**9)
    44
    """
    low = high = min(max(near, least), most)
    apart = 1
    while low > least and not holds(low):
        low, high, apart = max(least, low - apart), low, 2 * apart
    if low == high:
        while low < most and holds(high := min(most, low + apart)):
            low, apart = high, 2 * apart
        if low == most:
            return low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@lru_cache(maxsize=1024)
def people_for(k: int, log_price: float, wrong: float) -> float:
    """The number of people from which a balanced answer of order k + 1 is wrong with at most `wrong`; interpolated
    between integers, and extrapolated beyond `MOST_PEOPLE`. In floats, to compare orders.

    >>> round(people_for(19, 0.0091, 1e-3), 1)
    235.8
    """
    price = math.exp(log_price)
    low, high = 0.0, 0.5  # how often the wrong answer is given at the boundary
    for _ in range(60):
        u = (low + high) / 2
        odds = math.exp(min(k * math.log(1 / u - 1), 700))
        low, high = (low, u) if (1 - u) * odds + u / odds <= price else (u, high)
    error = before = high
    people = 1
    if price == 1:
        return math.inf
    while error > wrong and people < MOST_PEOPLE:
        before, u, people = error, error * (error / price) ** (1 / k), people + 1
        for _ in range(MOST_ROUNDS):
            first, second = (before / u) ** (k + 1), ((1 - before) / (1 - u)) ** (k + 1)
            moved = (u * first + (1 - u) * second - price) / (k * (first - second))
            u += moved
            if not moved > 1e-9 * u:
                break
        error = u
    return people - math.log(wrong / error) / math.log(before / error) if people > 1 else error / wrong


def log_price_for(k: int, wrong: float, people: int) -> float:
    """The logarithm of about the price at which a balanced answer of order k + 1 is wrong with `wrong` at this many
    people: `people_for` the other way round. In floats, a first guess.

    >>> round(log_price_for(19, 1e-3, 236), 4)
    0.0091
    """
    log_price = 0.01
    for _ in range(MOST_ROUNDS):
        moved = (people_for(k, log_price, wrong) / people) ** 2
        before, log_price = log_price, min(max(log_price * moved, LEAST), MOST)
        if not abs(log_price - before) > 1e-6 * before:
            break
    return log_price
