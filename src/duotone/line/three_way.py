"""Three-way answers: yes, no, or too close to call. Only the last one reveals much about any person.

At distance d from the boundary, on either side: with probability f give the wrong answer; otherwise let a Poisson clock
run for a while, and say "too close to call" if it strikes. The clock strikes λ(d) times on average, λ(0) is such that
both sides agree at the boundary, and λ(d + 1) = λ(d) / r: so neighbouring datasets have clocks whose rates differ by a
factor of at most r, and nothing else can be learnt (docs/theory.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import gmpy2

from duotone.errors import DuotoneError
from duotone.line.table import THREE_WAY, Table
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given, exact, show
from duotone.privacy.text import definition_text, read_definition

BITS, PRECISION = 128, 320
"""Bits of a table, and of the numbers that it is computed with."""
RAREST = 36
"""A table is constant from the distance on at which "too close to call" has probability at most 2^−RAREST."""
LEAST, MOST = Fraction(1, 2**60), Fraction(1, 4)
"""The allowed probabilities of a wrong answer."""
LONGEST = 2**17
"""Most distances of a table."""


@dataclass(frozen=True)
class ThreeWay:
    """The terms of each question: neighbours' clocks differ by at most e^ε of `privacy`, whose δ is 0, and `wrong` is
    the probability of the wrong clear answer, at every level.

    >>> ThreeWay(ApproxDP("0.02"), "1e-9")
    <ThreeWay: epsilon 0.02, wrong 1e-09>
    """

    privacy: ApproxDP
    wrong: Fraction

    def __init__(self, privacy: ApproxDP, wrong: Given = "1e-9") -> None:
        if not isinstance(privacy, ApproxDP):
            raise DuotoneError("questions are asked under an ApproxDP whose delta is 0")
        if privacy.delta != 0:
            raise DuotoneError(
                "a question that may be too close to call has no delta of its own: over unlimited questions it adds up"
            )
        if not privacy.exp_epsilon > 1:
            raise DuotoneError("the epsilon of a question must be above 0")
        f = exact(wrong, "the probability of a wrong answer")
        if not LEAST <= f <= MOST:
            raise DuotoneError(f"the probability of a wrong answer must be from 2^-60 to 1/4, got {show(f)}")
        object.__setattr__(self, "privacy", read_definition(definition_text(privacy)))  # exactly as in a ledger
        object.__setattr__(self, "wrong", f)

    def __repr__(self) -> str:
        return f"<ThreeWay: epsilon {self.privacy.epsilon:g}, wrong {float(self.wrong):g}>"


def clear_from(table: Table, chance: Given) -> int | None:
    """How many people would have to be different to change the answer, for it to be too close to call with at most this
    probability; None if no table reaches that.

    >>> table = three_way_table(ThreeWay(ApproxDP("0.02"), "1e-9"))
    >>> clear_from(table, "1e-3"), clear_from(table, "1e-9"), table.reach
    (498, 1189, 1401)
    """
    most = exact(chance, "chance") * (1 << table.bits)
    return next((d + 1 for d, (_, close, _) in enumerate(table.entries[-table.lowest :]) if close <= most), None)


@lru_cache(maxsize=4)
def three_way_table(mechanism: ThreeWay) -> Table:
    """The integers from which three-way answers are drawn: at distance d on the yes side, yes has clear[d], no has
    `wrong`, and too close to call has the rest; mirrored on the no side.

    Each entry of `clear` is the largest that the one before it allows, rounded down: up to the last, no table with the
    same probability of a wrong answer and the same bound on clocks is clear more often.

    Guarantee: with W = 2^bits − wrong and s(d) = clear[d] / W: s(0) = wrong / W, so that both sides agree at the
    boundary, s never falls, and s(d) ≥ s(d + 1)^r for the real power: neighbours' clocks differ by at most r.
    """
    one = 1 << BITS
    wrong = mechanism.wrong.numerator * one // mechanism.wrong.denominator
    rest, enough = one - wrong, one >> RAREST
    ratio = gmpy2.mpq(mechanism.privacy.exp_epsilon)
    clear = [wrong]
    with gmpy2.context(precision=PRECISION, round=gmpy2.RoundDown):
        while rest - clear[-1] > enough:
            if len(clear) >= LONGEST:
                raise DuotoneError(f"this epsilon needs a table of more than {LONGEST} levels: raise it")
            clear.append(_further(clear[-1], rest, ratio))
    return mirrored(mechanism.privacy, wrong, clear)


def mirrored(privacy: ApproxDP, wrong: int, clear: Sequence[int], bits: int = BITS) -> Table:
    """The table of both sides, from the numbers of one by distance to the boundary."""
    side = [(each, (1 << bits) - wrong - each, wrong) for each in clear]
    return Table(privacy, THREE_WAY, bits, (*(row[::-1] for row in side[::-1]), *side), -len(side))


def _further(clear: int, rest: int, ratio: Any) -> int:
    """⌊W·(clear / W)^(1/r)⌋, or one less if the power is close to an integer: everything is rounded towards −∞."""
    logarithm = gmpy2.log(gmpy2.mpfr(clear) / rest)
    return int(gmpy2.floor(gmpy2.exp(logarithm / ratio) * rest))
