"""Adversaries by brute force: composition of a handful of answers, and the best questions for close calls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import Any

import gmpy2

from duotone.line.table import Table

Edge = tuple[Fraction, Fraction]


def edges(yes: Sequence[Fraction]) -> list[Edge]:
    """Pr[yes] on both sides of every edge of a line, in both directions."""
    return sorted({(x, y) for a, b in pairwise(yes) for x, y in ((a, b), (b, a)) if x != y})


def enumerated(chosen: Sequence[Edge], alpha: Fraction) -> Fraction:
    """δ at e^ε = α for answers on these edges: all 2^k outputs."""
    total = Fraction(0)
    for output in product((True, False), repeat=len(chosen)):
        p = q = Fraction(1)
        for (x, y), said in zip(chosen, output, strict=True):
            p, q = p * (x if said else 1 - x), q * (y if said else 1 - y)
        total += max(Fraction(0), p - alpha * q)
    return total


def worst(choices: Sequence[Edge], answers: int, alpha: Fraction) -> Fraction:
    """δ at e^ε = α against an adversary who picks the worst edge for each answer after seeing all earlier answers."""

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
    """δ at e^ε = α of this many copies of a pair given by its outcomes (P, Q): sums over all outputs, grouped."""
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


Outcomes = list[tuple[Any, Any, int]]
"""For each answer: its likelihood ratio between two neighbours, its probability at the second, and its charge."""


def outcomes(table: Table, level: int, other: int) -> Outcomes:
    """The outcomes of a question if neighbours have these levels."""
    pairs = zip(table.chances(level), table.chances(other), (0, 1, 0), strict=True)
    return [(gmpy2.mpq(p) / gmpy2.mpq(q), gmpy2.mpq(q), charge) for p, q, charge in pairs]


def best_strategy(
    table: Table, levels: Sequence[tuple[int, int]], exp_epsilon: Fraction, questions: int, calls: int
) -> Fraction:
    """The gain of the best strategy with up to this many questions, each with one of these pairs of levels, chosen by
    all answers so far, that ends with this many close calls: exactly, by the likelihood ratio so far."""
    moves = [outcomes(table, *pair) for pair in levels]
    bound, known = gmpy2.mpq(exp_epsilon), dict[Any, Any]()

    def value(ratio: Any, questions: int, calls: int) -> Any:
        stop = max(ratio - bound, gmpy2.mpq(0))
        if not (questions and calls):
            return stop
        state = ratio, questions, calls
        if state not in known:
            after = ([q * value(ratio * change, questions - 1, calls - charge) for change, q, charge in move] for move in moves)
            known[state] = max(stop, *map(sum, after))
        return known[state]

    best = value(gmpy2.mpq(1), questions, calls)
    return Fraction(int(best.numerator), int(best.denominator))


def patient(table: Table, level: int, exp_epsilon: float, questions: int, calls: int) -> float:
    """The same in floats for very many questions, all at one level and the next one out, in either direction: the
    likelihood ratio then depends only on the differences between the directions' numbers of clear answers and of close
    calls."""
    import numpy as np

    (near, right, _), (strike, close, _), (_, wrong, _) = (
        (math.log(change), float(q), charge) for change, q, charge in outcomes(table, level + 1, level)
    )
    far_right, far_close = right * math.exp(near), close * math.exp(strike)
    clear, struck = np.arange(-questions, questions + 1), np.arange(-calls, calls + 1)
    stop = np.maximum(np.exp(near * clear[:, None] + strike * struck[None, :]) - exp_epsilon, 0)
    values = [stop.copy() for _ in range(calls + 1)]  # by how many close calls are left
    for _ in range(questions):
        following = [stop]
        for left in range(1, calls + 1):
            same, fewer, now = values[left], values[left - 1], stop.copy()
            one = right * same[2:, 1:-1] + close * fewer[1:-1, 2:] + wrong * same[1:-1, 1:-1]
            other = far_right * same[:-2, 1:-1] + far_close * fewer[1:-1, :-2] + wrong * same[1:-1, 1:-1]
            now[1:-1, 1:-1] = np.maximum(now[1:-1, 1:-1], np.maximum(one, other))
            following.append(now)
        values = following
    return float(values[calls][questions, calls])


Asked = tuple[tuple[int, ...], Sequence[Sequence[tuple[float, float]]]]
"""What a question costs, and how it may be answered: for each way, the outcomes' probabilities at two neighbours."""


def most_learnt(questions: Sequence[Asked], budget: tuple[int, ...], epsilon: float, step: float) -> float:
    """The most of Pr[event] − e^ε·Pr[the same at the neighbour], for whoever picks each question and how it is answered
    after all answers so far, while no part of the budget is exceeded: backwards over the likelihood ratio and what is left.

    An upper bound, in floats: the value is convex in the ratio, rises with it, and never faster; so between the nodes of a
    grid it is below their chord, and beyond the grid below a line of slope 1.
    """
    import numpy as np

    size = round((epsilon + 2) / step)
    place = np.arange(2 * size + 1)
    ratio = np.exp((place - size) * step)
    stop = np.maximum(0.0, ratio - math.exp(epsilon))

    def at(value: Any, moved: float) -> Any:
        """The value where the ratio is e^moved times as large."""
        whole = math.floor(moved / step)
        part = math.expm1(moved - whole * step) / math.expm1(step)
        low, high = (value[np.clip(place + each, 0, 2 * size)] for each in (whole, whole + 1))
        return np.where(place + whole < 2 * size, low + part * (high - low), value[-1] + ratio * math.exp(moved) - ratio[-1])

    @cache
    def best(left: tuple[int, ...]) -> Any:
        value = stop
        for cost, ways in questions:
            rest = tuple(a - b for a, b in zip(left, cost, strict=True))
            if min(rest) >= 0:
                then = best(rest)
                for way in ways:
                    told = [q * at(then, math.log(p / q)) if q > 0 else p * ratio for p, q in way if p > 0]
                    value = np.maximum(value, sum(told))
        return value

    return float(best(budget)[size])


def lattice(epsilon: float, step: float, jump: int) -> Iterator[float]:
    """The gain of one strategy with 1, 2, 3, … close calls, at levels whose clocks differ by e^step: each question
    changes the likelihood ratio by a close call `jump` times as much as by a clear answer, in the other direction.

    From likelihood ratio e^ε on, the first neighbour has the faster clock; below it, the second one. Outside the nodes,
    nothing more is gained below, and the strategy stops above.
    """
    ratio = math.exp(step)
    low, high = 0.0, step / (jump * (ratio - 1))
    for _ in range(200):  # (1 − e^(−rt)) / (1 − e^(−t)) = e^(jump·(r − 1)·t)
        t = (low + high) / 2
        enough = math.log(math.expm1(-ratio * t) / math.expm1(-t)) > jump * (ratio - 1) * t
        low, high = (t, high) if enough else (low, t)
    width, fast, slow = (ratio - 1) * t, -math.expm1(-ratio * t), -math.expm1(-t)
    reach = math.ceil((1.7 * epsilon + 12 * step) / width)
    turn, size = reach + max(math.ceil(epsilon / width), 1), 2 * reach + math.ceil(epsilon / width) + 1
    stops = [max(-math.expm1(epsilon - (i - reach) * width), 0.0) for i in range(size + jump)]
    before = stops[:size]
    while True:
        up = before[jump:] + stops[size:]
        down = [0.0] * jump + before[:-jump]
        now = [0.0] * size
        now[turn] = (fast * up[turn] + (1 - fast) * slow * down[turn - 1]) / (1 - (1 - fast) * (1 - slow))
        for i in range(turn + 1, size):
            now[i] = fast * up[i] + (1 - fast) * now[i - 1]
        for i in range(turn - 1, -1, -1):
            now[i] = slow * down[i] + (1 - slow) * now[i + 1]
        yield now[reach]
        before = now
