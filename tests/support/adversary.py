"""Composition by brute force, sharing nothing with the package: exact, slow, for a handful of answers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

Edge = tuple[Fraction, Fraction]


def edges(yes: Sequence[Fraction]) -> list[Edge]:
    """Pr[yes] on both sides of every edge of a line, in both directions."""
    return sorted({(x, y) for a, b in pairwise(yes) for x, y in ((a, b), (b, a)) if x != y})


def enumerated(chosen: Sequence[Edge], alpha: Fraction) -> Fraction:
    """δ at e^ε = α for answers on these edges: every one of the 2^k outputs."""
    total = Fraction(0)
    for output in product((True, False), repeat=len(chosen)):
        p = q = Fraction(1)
        for (x, y), said in zip(chosen, output, strict=True):
            p, q = p * (x if said else 1 - x), q * (y if said else 1 - y)
        total += max(Fraction(0), p - alpha * q)
    return total


def worst(choices: Sequence[Edge], answers: int, alpha: Fraction) -> Fraction:
    """δ at e^ε = α against someone who picks the worst edge for each answer after seeing all answers before it."""

    @cache
    def value(left: int, odds: Fraction) -> Fraction:
        if left == 0:
            return max(Fraction(0), 1 - odds)
        best = max(Fraction(0), 1 - odds)
        for x, y in choices:
            told = Fraction(0)
            for p, q in ((x, y), (1 - x, 1 - y)):
                if p > 0:
                    told += p * (value(left - 1, odds * q / p) if q > 0 else 1)
            best = max(best, told)
        return best

    return value(answers, alpha)


def product_of(outcomes: Sequence[Edge], answers: int, alpha: Fraction) -> Fraction:
    """δ at e^ε = α of a pair given by its outcomes (P, Q), taken so many times: sums over all outputs, grouped."""
    spread: dict[tuple[Fraction, Fraction], int] = {(Fraction(1), Fraction(1)): 1}
    for _ in range(answers):
        following: dict[tuple[Fraction, Fraction], int] = {}
        for (p, q), n in spread.items():
            for dp, dq in outcomes:
                if p * dp > 0:
                    key = p * dp, q * dq
                    following[key] = following.get(key, 0) + n
        spread = following
    return sum((n * max(Fraction(0), p - alpha * q) for (p, q), n in spread.items()), Fraction(0))
