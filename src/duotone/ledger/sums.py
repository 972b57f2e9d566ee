"""Running sums: what a dataset has spent so far, as a few numbers to which every charge is added.

Charges are summed, never grouped by definition: two definitions that look alike may differ in their last digit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import gmpy2

from duotone.errors import DuotoneError
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.renyi import LARGEST_ORDER, RenyiDP, price_of
from duotone.privacy.text import Definition

EXACT = 4224
"""Up to this many bits of numerator and denominator, a sum is exact: a privacy parameter has at most 4096."""
ROUNDED = 512
"""The significant bits of a longer sum, or one more; it is rounded up. Entries rely on it: it never changes."""
BRIEF = 1024
"""Up to this many bits a product of prices is exact: almost every charge makes it longer, unlike a sum."""
LARGEST = Fraction(2**12000)
"""A larger product of ratios moves into the sum of ε: no budget admits it, since none is above e^8192."""
PRECISION = 576
"""Bits of logarithms and exponentials."""
_SUM = re.compile(r"(0|[1-9][0-9]{0,3999})(?:/(?:2\^([1-9][0-9]{0,7})|([1-9][0-9]{0,3999})))?")


@dataclass(frozen=True)
class Spent:
    """What was charged: the number of answers, Σε of definitions given by ε, Πe^ε of those given by e^ε, and Σδ.

    Guarantee: no sum is ever below the true one. Each is exact while its numerator and denominator have at most 4224
    bits; beyond, every charge rounds it up by less than one part in 2^511. So its text is bounded, whatever is charged.

    >>> third = ApproxDP("1/3", "1e-9")
    >>> Spent().plus(third).plus(third, 2)
    Spent(answers=3, epsilon=1, exp_epsilon=1, delta=3/1000000000)
    """

    answers: int = 0
    epsilon: Fraction = Fraction(0)
    exp_epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)

    def __repr__(self) -> str:
        return f"Spent({', '.join(f'{name}={value}' for name, value in self.written().items())})"

    def plus(self, privacy: Definition, answers: int = 1) -> Spent:
        """The sums after `answers` more answers, each under this definition."""
        if isinstance(privacy, RenyiDP):
            raise DuotoneError(f"{privacy} has no epsilon to add up: charge it to an account renyi of order {privacy.order}")
        epsilon, product, each = self.epsilon, self.exp_epsilon, epsilon_above(privacy)
        if privacy.epsilon_exact is not None:
            epsilon += answers * each
        elif (power := _power(privacy.exp_epsilon, answers)) is not None:
            product *= power
        else:
            epsilon += answers * each
        delta = self.delta + answers * Fraction(privacy.delta)
        return Spent(self.answers + answers, epsilon, product, delta).bounded()

    def bounded(self) -> Spent:
        """These sums, each rounded up to a short fraction."""
        epsilon, product = self.epsilon, self.exp_epsilon
        if too_large(product):
            epsilon, product = epsilon + log_above(product), Fraction(1)
        return Spent(self.answers, *map(rounded_up, (epsilon, product, self.delta)))

    def numbers(self) -> dict[str, Fraction]:
        """Σε and Σδ, rounded up."""
        return {"epsilon": self.epsilon + log_above(self.exp_epsilon), "delta": self.delta}

    def written(self) -> dict[str, Any]:
        """As an entry carries it: integers and fractions as text."""
        sums = {"epsilon": self.epsilon, "exp_epsilon": self.exp_epsilon, "delta": self.delta}
        return {"answers": self.answers, **{name: sum_text(value) for name, value in sums.items()}}

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> Spent:
        """Read what `written` wrote; anything else is refused."""
        names = ("epsilon", "exp_epsilon", "delta")
        if not (isinstance(written, dict) and written.keys() == {"answers", *names}):
            raise DuotoneError("these are not the sums of an entry")
        answers, (epsilon, product, delta) = written["answers"], (read_sum(written[name]) for name in names)
        if not (type(answers) is int and answers >= 0 and product >= 1):
            raise DuotoneError("these are not the sums of an entry")
        return cls(answers, epsilon, product, delta)


@dataclass(frozen=True)
class Prices:
    """What was charged if the prices of one Rényi order multiply: the number of answers, the product of their prices,
    and Σδ.

    Guarantee: neither is ever below the true one. The product is exact while its numerator and denominator have at most
    1,024 bits, Σδ up to 4,224; both are rounded up as in `Spent` beyond. A product of 2^12000 stands for any larger one,
    and no budget admits it.

    >>> Prices(2).plus(RenyiDP(2, "5/4")).plus(RenyiDP(2, "3/2", "1/8"), 2)
    Prices(answers=3, order=2, price=45/16, delta=1/4)
    """

    order: int
    answers: int = 0
    price: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)

    def __repr__(self) -> str:
        return f"Prices({', '.join(f'{name}={value}' for name, value in self.written().items())})"

    def plus(self, privacy: Definition, answers: int = 1) -> Prices:
        """The product and the sum after `answers` more answers, each under this definition."""
        each = price_of(privacy, self.order)
        power = _power(each.price, answers)
        price = LARGEST if power is None else self.price * power
        price = LARGEST if too_large(price) else price
        return Prices(self.order, self.answers + answers, price, self.delta + answers * each.delta).bounded()

    def bounded(self) -> Prices:
        """The same, each number rounded up to a short fraction."""
        return Prices(self.order, self.answers, rounded_up(self.price, BRIEF), rounded_up(self.delta))

    def numbers(self) -> dict[str, Fraction]:
        """The product of prices, and Σδ."""
        return {"price": self.price, "delta": self.delta}

    def written(self) -> dict[str, Any]:
        """As an entry carries it: integers and fractions as text."""
        numbers = {"price": sum_text(self.price), "delta": sum_text(self.delta)}
        return {"answers": self.answers, "order": self.order, **numbers}

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> Prices:
        """Read what `written` wrote; anything else is refused."""
        answers, order = written["answers"], written["order"]
        known = written.keys() == {"answers", "order", "price", "delta"} and type(answers) is int and type(order) is int
        price, delta = (read_sum(written[name]) for name in ("price", "delta")) if known else (Fraction(0),) * 2
        if not (known and answers >= 0 and 2 <= order <= LARGEST_ORDER and price >= 1 and not too_large(price)):
            raise DuotoneError("these are not the sums of an entry")
        return cls(order, answers, price, delta)


Taken = Spent | Prices
"""The sums of charges."""


def read_taken(written: Mapping[str, Any]) -> Taken:
    """Read what an entry carries."""
    return Prices.read(written) if isinstance(written, dict) and "order" in written else Spent.read(written)


def rounded_up(x: Fraction, exact: int = EXACT) -> Fraction:
    """x itself if it is short, else the next number with 512 or 513 significant bits, at least x."""
    above, below = x.numerator.bit_length(), x.denominator.bit_length()
    if max(above, below) <= exact:
        return x
    shift = ROUNDED - (above - below)
    top, bottom = (x.numerator << shift, x.denominator) if shift >= 0 else (x.numerator, x.denominator << -shift)
    least = -(-top // bottom)
    return Fraction(least, 1 << shift) if shift >= 0 else Fraction(least << -shift)


def too_large(x: Fraction) -> bool:
    """Whether x is above `LARGEST`, with which only a long x is compared."""
    return x.numerator.bit_length() >= LARGEST.numerator.bit_length() and x > LARGEST


def sum_text(x: Fraction) -> str:
    """A sum as an entry writes it: `3/10`, or `5/2^200` if the denominator is a large power of two.

    >>> sum_text(Fraction(3, 10)), sum_text(Fraction(5, 2**200)), read_sum("5/2^200") == Fraction(5, 2**200)
    ('3/10', '5/2^200', True)
    """
    power = x.denominator.bit_length() - 1
    return f"{x.numerator}/2^{power}" if power > 64 and x.denominator == 1 << power else str(x)


def read_sum(text: object) -> Fraction:
    """Read what `sum_text` wrote, character for character."""
    return _read_sum(text if isinstance(text, str) else "")


@lru_cache(maxsize=256)
def _read_sum(text: str) -> Fraction:
    parts = _SUM.fullmatch(text)
    if parts is not None:
        top, power, bottom = parts.groups()
        x = Fraction(int(top), 1 << int(power) if power else int(bottom or 1))
        if sum_text(x) == text:
            return x
    raise DuotoneError("these are not the sums of an entry")


def _power(ratio: Fraction, n: int) -> Fraction | None:
    """ratio^n or slightly more, as sums are stored; None if it is too large."""
    power = Fraction(1)
    for bit in f"{n:b}":
        power = rounded_up(power * power * (ratio if bit == "1" else 1))
        if too_large(power):
            return None
    return power


@lru_cache(maxsize=1024)
def log_above(x: Fraction) -> Fraction:
    """A rational at least ln x, x ≥ 1, with 570 correct bits."""
    return _directed(gmpy2.log1p, x - 1, gmpy2.RoundUp)


def log_below(x: Fraction) -> Fraction:
    """A rational at most ln x, x ≥ 1, with 570 correct bits."""
    return _directed(gmpy2.log1p, x - 1, gmpy2.RoundDown)


def exp_above(x: Fraction) -> Fraction:
    """A rational at least e^x, x ≥ 0, with 570 correct bits in e^x − 1."""
    return 1 + _directed(gmpy2.expm1, x, gmpy2.RoundUp)


def epsilon_above(privacy: ApproxDP) -> Fraction:
    """A rational at least ε."""
    return log_above(privacy.exp_epsilon) if privacy.epsilon_exact is None else privacy.epsilon_exact


def epsilon_below(privacy: ApproxDP) -> Fraction:
    """A rational at most ε."""
    return log_below(privacy.exp_epsilon) if privacy.epsilon_exact is None else privacy.epsilon_exact


def _directed(function: Callable[[Any], Any], x: Fraction, direction: int) -> Fraction:
    """An increasing function of x, with its argument and its result rounded the same way, up or down."""
    with gmpy2.context(precision=PRECISION, round=direction):
        top, bottom = function(gmpy2.mpfr(gmpy2.mpq(x.numerator, x.denominator))).as_integer_ratio()
    return Fraction(int(top), int(bottom))
