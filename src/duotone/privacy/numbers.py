"""Numbers: exact rationals as long as every input is exact, float64 otherwise."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from numbers import Rational, Real

import gmpy2

from duotone.errors import DuotoneError, got

Number = Fraction | float
"""Exact (`Fraction`) or float64 (`float`)."""

LARGEST_EXPONENT = 5000
LONGEST = 2**16
"""Up to this many bits, a power is written out exactly."""

Given = int | float | str | Decimal | Fraction
"""What a caller may write for a number: `1`, `0.1`, `"0.1"`, `"1/10"`, `Fraction(1, 10)`."""


def number(value: object, name: str = "number") -> Number:
    """A number as given: text, integers, decimals and fractions are exact, floats stay floats.

    >>> number("1/10"), number("0.1"), number(0.1), number(3)
    (Fraction(1, 10), Fraction(1, 10), 0.1, Fraction(3, 1))
    """
    if isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, str | Decimal):
        try:
            return _parsed(str(value))
        except (ValueError, OverflowError, ZeroDivisionError):
            raise DuotoneError(f"{name} must be a decimal or a fraction such as 0.1 or 1/10, got {value}") from None
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    raise DuotoneError(f"{name} must be a number, got {got(value)}")


def exact(value: object, name: str = "number") -> Fraction:
    """A finite number, exactly: a float is the number that it represents."""
    x = number(value, name)
    if not -math.inf < x < math.inf:
        raise DuotoneError(f"{name} must be finite, got {show(x)}")
    return Fraction(x)


def probability(value: object, name: str = "probability") -> Number:
    """A number in [0, 1]; NaN fails too."""
    x = number(value, name)
    if not 0 <= x <= 1:
        raise DuotoneError(f"{name} must be in [0, 1], got {show(x)}")
    return x


def show(x: Number) -> str:
    """A number as a user would write it: `1/10` if exact, the shortest decimal otherwise."""
    return str(gmpy2.mpq(x.numerator, x.denominator)) if isinstance(x, Fraction) else repr(float(x))


def written(value: Fraction) -> str:
    """A number for display, exactly: as a decimal or, if it has none, as a fraction.

    >>> written(Fraction(12345)), written(Fraction(40125, 10000)), written(Fraction(1, 3))
    ('12,345', '4.0125', '1/3')
    """
    places = next((places for places in range(25) if (value * 10**places).denominator == 1), None)
    if places is None:
        return show(value)
    units, part = divmod(abs(int(value * 10**places)), 10**places)
    return f"{'-' * (value < 0)}{units:,}" + (f".{part:0{places}d}" if places else "")


def _parsed(text: str) -> Fraction:
    """A decimal or a fraction with any number of digits, but without an exponent that expands to gigabytes."""
    _, mark, exponent = text.lower().partition("e")
    if mark and not abs(int(exponent)) <= LARGEST_EXPONENT:
        raise ValueError
    if len(text) < 4000:
        return Fraction(text)
    value = gmpy2.mpq(text)
    return Fraction(int(value.numerator), int(value.denominator))


def float_below(x: Number) -> float:
    """The largest float64 at most x.

    >>> Fraction(float_below(Fraction(1, 10))) < Fraction(1, 10) < Fraction(0.1)
    True
    """
    try:
        near = float(x)
    except OverflowError:
        return math.nextafter(math.inf, 0)
    return near if near <= x else math.nextafter(near, -math.inf)


def float_above(x: Number) -> float:
    """The smallest float64 at least x; infinite if there is none.

    >>> float_above(Fraction(1, 10**400)), Fraction(float_above(Fraction(1, 3))) > Fraction(1, 3)
    (5e-324, True)
    """
    try:
        near = float(x)
    except OverflowError:
        return math.inf
    return near if near >= x else math.nextafter(near, math.inf)


def complement(x: Number) -> Number:
    """1 − x without rounding: a float only if that is a float64 too.

    >>> complement(0.75), complement(Fraction(1, 3))
    (0.25, Fraction(2, 3))
    >>> complement(1e-20) == 1 - Fraction(1e-20)
    True
    """
    exact = 1 - Fraction(x)
    return exact if isinstance(x, Fraction) or float(exact) != exact else float(exact)


def exp_below(x: Fraction, bits: int = 128) -> Fraction:
    """A rational at most e^x, x ≥ 0, with `bits` correct bits in e^x − 1.

    Guarantee: never above e^x (MPFR rounds the argument and the result down).
    """
    bits += max(0, x.denominator.bit_length() - x.numerator.bit_length()) + int(x).bit_length() + 2
    with gmpy2.context(precision=bits, round=gmpy2.RoundDown):
        top, bottom = gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(x.numerator, x.denominator))).as_integer_ratio()
    return Fraction(int(top), int(bottom))


def root_below(x: Fraction, n: int, bits: int = 128) -> Fraction:
    """A rational at most the n-th root of x, x ≥ 1, with `bits` correct bits in the root − 1.

    >>> root_below(Fraction(4), 2), root_below(Fraction(2), 2) ** 2 < 2
    (Fraction(2, 1), True)
    """
    small = (x - 1).denominator.bit_length() - (x - 1).numerator.bit_length() if x > 1 else 0
    with gmpy2.context(precision=bits + max(0, small) + n.bit_length() + 2, round=gmpy2.RoundDown):
        top, bottom = gmpy2.rootn(gmpy2.mpfr(gmpy2.mpq(x.numerator, x.denominator)), n).as_integer_ratio()
    return Fraction(int(top), int(bottom))


def digits_below(x: Fraction, digits: int = 6) -> Fraction:
    """The largest number of so many decimal digits that is at most x > 0.

    >>> digits_below(Fraction(2, 3), 2), digits_below(Fraction(20_000, 3), 2)
    (Fraction(33, 50), Fraction(6600, 1))
    """
    down = Context(prec=digits, rounding=ROUND_DOWN)
    return Fraction(down.divide(Decimal(x.numerator), Decimal(x.denominator)))


def log_ceiling(target: Fraction, base: Fraction) -> int:
    """The least integer n ≥ 0 with base^n ≥ target, for base > 1; exact, ties too.

    >>> log_ceiling(Fraction(8), Fraction(2)), log_ceiling(Fraction(9), Fraction(2))
    (3, 4)
    """
    if target <= 1:
        return 0
    rest, growth = (gmpy2.mpq(v.numerator, v.denominator) - 1 for v in (target, base))
    precision = 160
    while True:
        below, above = (int(gmpy2.ceil(_logarithm(rest, growth, precision, up=up))) for up in (False, True))
        if below == above:
            return below
        # base^n = target only if the target is as long as the power, which is then affordable; else more digits decide
        if above == below + 1 and below * (base.numerator.bit_length() - 1) < target.numerator.bit_length():
            return below if base**below >= target else below + 1
        precision *= 2


def _logarithm(rest: gmpy2.mpq, growth: gmpy2.mpq, precision: int, *, up: bool) -> gmpy2.mpfr:
    """log(1 + rest) to the base 1 + growth, with all rounding to one side."""
    towards, against = (gmpy2.RoundUp, gmpy2.RoundDown) if up else (gmpy2.RoundDown, gmpy2.RoundUp)
    with gmpy2.context(precision=precision, round=against):
        divisor = gmpy2.log1p(gmpy2.mpfr(growth))
    with gmpy2.context(precision=precision, round=towards):
        return gmpy2.log1p(gmpy2.mpfr(rest)) / divisor


def power(base: Fraction, n: int) -> Fraction:
    """base^n for base ≥ 1: exact if it can be written out, else base^n − 1 to about 256 bits."""
    if n * base.numerator.bit_length() <= LONGEST:
        return base**n
    cancelled = base.denominator.bit_length() - (base.numerator - base.denominator).bit_length()
    with gmpy2.context(precision=256 + max(0, cancelled)):
        growth = gmpy2.mpfr(gmpy2.mpq(base.numerator, base.denominator) - 1)
        top, bottom = gmpy2.exp(n * gmpy2.log1p(growth)).as_integer_ratio()
    return Fraction(int(top), int(bottom))
