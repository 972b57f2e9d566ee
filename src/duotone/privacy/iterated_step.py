"""φ iterated in closed form, to float64: MPFR with as many bits as necessary, and one rounding at the end."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import gmpy2

FEWEST_BITS, MOST_BITS = 192, 2**14
ROUNDINGS = 24
"""Each term below has a relative error of at most 2^(ROUNDINGS − bits): a dozen roundings, and an exponent below 2^14."""
WANTED = 58
"""The result is right to 2^−WANTED of itself before it is rounded to 53 bits."""

Both = tuple[float, float]


def iterates(ratio: Fraction, delta: Fraction, start: Fraction, pieces: float, certain: float) -> Callable[[int], Both]:
    """n → φ^n(start) and 1 − φ^n(start) as floats, each as good as correctly rounded however small it is.

    The first piece of φ, x ↦ ratio·x + delta, is used for the first `pieces` steps, and from step `certain` on the
    truth is exactly 1 (both may be infinite). Then with L = ln ratio, f steps of the first piece and j of the second

        s = start·e^(fL) + delta·(e^(fL) − 1)/(ratio − 1),   1 − φ^n = (1 − s)·e^(−jL) − delta·(1 − e^(−jL))/(ratio − 1).

    Only the two differences can lose digits. The loss is bounded at each precision, which is doubled until the result
    is precise enough.
    """
    if ratio == 1 or start == delta == 0:
        return lambda n: (1.0, 0.0) if n >= certain else (float(start + n * delta), float(1 - start - n * delta))

    def both(n: int) -> Both:
        if n >= certain:
            return 1.0, 0.0
        bits = FEWEST_BITS
        while (rounded := _closed_form(ratio, delta, start, min(n, pieces), n, bits)) is None:
            bits *= 2
        return rounded

    return both


def _closed_form(ratio: Fraction, delta: Fraction, start: Fraction, first: float, n: int, bits: int) -> Both | None:
    """The formulas above, computed with this many bits of precision; None if that is not precise enough."""
    f, j = int(first), n - int(first)
    with gmpy2.context(precision=bits, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min()):
        x, d, gain = (gmpy2.mpfr(gmpy2.mpq(v.numerator, v.denominator)) for v in (start, delta, ratio - 1))
        log = gmpy2.log1p(gain)
        s = x * gmpy2.exp(f * log) + d * gmpy2.expm1(f * log) / gain
        shrunk = gmpy2.exp(-j * log)
        kept, gone = (1 - s) * shrunk, -d * gmpy2.expm1(-j * log) / gain
        error = kept - gone
        lost = gmpy2.mul_2exp(abs(shrunk) + abs(kept) + gone, ROUNDINGS + WANTED)
        if not lost <= gmpy2.mul_2exp(error, bits) and bits < MOST_BITS:
            return None
        error = max(error, gmpy2.mpfr(0))
        return float(1 - error if j else s), float(error)
