"""Numbers in certificates: how they are read, by someone who trusts nothing in them, and e^ε in integers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import gmpy2

from duotone.errors import DuotoneError
from duotone.privacy.numbers import number

FEWEST_BITS, MOST_BITS = 64, 2**14
LONGEST_NUMBER = 20_000
CLOSE = 100
"""The ratio must be within 2^−CLOSE of e^ε, relative to e^ε − 1."""
LARGEST_EPSILON, LONGEST_EPSILON = 2**13, 3_000
FRACTION = 320
"""The bits after the point to which e^ε is computed, and more for a small ε."""
DIGITS, WRITTEN = re.compile("[0-9]+"), re.compile(r"[0-9]+(/[0-9]+|(\.[0-9]+)?(e[+-]?[0-9]{1,4})?)")
"""How a certificate writes an entry and a number: one way each, so that nobody reads it differently."""


class Unproved(DuotoneError):
    """A certificate does not prove what it claims."""


def as_kind(kind: type, value: Any) -> Any:
    """A list or an object of the JSON, as what it must be: text has items too, and an object is a list of its names."""
    if type(value) is not kind:
        raise Unproved("this is not a certificate: something in it is of another kind")
    return value


def read_entry(text: Any, one: int) -> int:
    """A table entry: a whole number from 0 to `one`, which is 2^bits."""
    if not (isinstance(text, str) and len(text) < one.bit_length() and DIGITS.fullmatch(text)):
        raise Unproved("a table entry is not a whole number between 0 and 2^bits")
    value = int(gmpy2.mpz(text))  # Python's own int() stops at 4,300 digits
    if not value <= one:
        raise Unproved("a table entry is not a whole number between 0 and 2^bits")
    return value


def read_bits(bits: Any) -> int:
    """The bits of a table, within what a checker computes with."""
    if not (type(bits) is int and FEWEST_BITS <= bits <= MOST_BITS):
        raise Unproved(f"bits must be between {FEWEST_BITS} and {MOST_BITS}")
    return bits


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


def brief(text: str) -> str:
    """A number of the certificate, rounded up to read if it is long."""
    return text if len(text) <= 12 else in_decimals(text)


def in_decimals(text: str) -> str:
    """A number of the certificate with seven digits, rounded up.

    >>> in_decimals("1/50"), in_decimals("1/3")
    ('0.02', '0.3333334')
    """
    value, rounded_up = read_fraction(text), Context(prec=7, rounding=ROUND_CEILING)
    return f"{rounded_up.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(rounded_up):g}"


def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals below and above e^x, x ≥ 0: the same two whoever computes them, by any method.

    With k = 320 and the bits by which x is below 1: x is rounded down to a multiple of 2^−k, and then so is e^x. With 4·2^−k of
    itself this is above e^x. So all judge a ratio in the same way; one closer to e^x than 2^−310·(e^x − 1) may be refused.
    """
    k = FRACTION + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    low = Fraction(_exponential((x.numerator << k) // x.denominator, k), 1 << k)
    return low, low + (4 * low / (1 << k) if x else 0)


def _exponential(n: int, k: int) -> int:
    """2^k·e^(n/2^k), rounded down: the series of a small power, squared again and again, in integers from below and above."""
    halvings = max(0, n.bit_length() - k) + 16
    bits = 2 * k + 3 * (n >> k) + halvings + FRACTION
    low = high = below = above = 1 << bits
    j = 0
    while n and above > 1:
        j += 1
        below, above = (below * n >> k + halvings) // j, -((-above * n >> k + halvings) // j)
        low, high = low + below, high + above
    high += 2 * above if n else 0  # the rest of the series, whose terms halve at least
    for _ in range(halvings):
        low, high = low * low >> bits, -(-high * high >> bits)
    if low >> bits - k != high >> bits - k:
        raise Unproved("epsilon is too close to the logarithm of a short number")
    return low >> bits - k
