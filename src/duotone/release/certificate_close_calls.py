"""A certificate of close calls: whatever is asked, adaptively and without end, a number of answers that are too close
to call, and any number of clear ones, stay within a budget (docs/theory.md has the proof).

Two things are checked. The table: neighbours' clocks differ by at most r, in logarithms that are bounded in integers.
The game: functions U_h, h close calls left, on nodes g^i, are recomputed in multiples of 2^−96, and inserted into every
inequality that bounds the gain of a strategy. How they were computed does not matter; if an inequality fails by some
amount, that is added once for each close call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

from duotone.release.certificate_numbers import (
    Head,
    Unproved,
    as_kind,
    in_decimals,
    read_definition,
    read_fraction,
)

ONE = 1 << 96
"""The functions are computed in multiples of 1 / ONE."""
MOST_BITS, LONGEST_TABLE = 2**10, 2**25
"""Most bits, and most rows times bits."""
FINEST, MOST_STEPS, LARGEST_RATIO = 2**40, 2**10, 2**64
MOST_NODES, MOST_WORK = 2**20, 2**27
"""Most nodes, and most nodes times close calls (minutes of work)."""
SURE, GUARD = 64, 96
"""Bits of a logarithm beyond those that distinguish two entries, and further bits that are rounded away."""


def prove_close_calls(certificate: Mapping[str, Any], head: Head) -> str:
    """Neighbours' clocks differ by at most the ratio, and the close calls fit into the budget."""
    if set(certificate["claims"]) != {"private"}:
        raise Unproved("the certificate claims something else than to be private")
    budget = certificate["budget"]
    if head.delta != 0:
        raise Unproved("a question that may be too close to call has no delta of its own")
    budget_ratio, _, bound = read_definition(budget)
    count = certificate["close_calls"]
    nodes = _read_nodes(certificate["nodes"], count)
    if not head.ratio <= nodes.ratio:
        raise Unproved("the nodes do not cover the ratio of the clocks")
    _check_table(certificate, head)
    if not all(Fraction(gain, ONE) <= bound for gain in islice(gains(nodes, budget_ratio), count)):
        raise Unproved("the certificate does not show that this many close calls fit into the budget")
    calls = "1 close call" if count == 1 else f"{count} close calls"
    known, asked = _known(budget), _known(head.privacy)
    delta, wrong = in_decimals(budget["delta"]), in_decimals(certificate["wrong"])
    return (
        f"private: {calls}, and any number of clear answers, under {known}, delta {delta}; each question at {asked}, "
        f"wrong with {wrong}"
    )


def _known(privacy: Mapping[str, Any]) -> str:
    name = "ratio" if privacy["epsilon"] is None else "epsilon"
    return f"{name} {in_decimals(privacy[name])}"


def _check_table(certificate: Mapping[str, Any], head: Head) -> None:
    """The two sides mirror each other and agree at the boundary, a clear answer never becomes rarer further out, and
    clocks of neighbours differ by at most the ratio: ln(W / here) ≤ r·ln(W / further)."""
    wrong, ratio, bits = read_fraction(certificate["wrong"]), head.ratio, head.bits
    if not (bits <= MOST_BITS and len(as_kind(list, certificate["rows"])) * bits <= LONGEST_TABLE):
        raise Unproved("the certificate has too many entries to be checked with numbers as long as these")
    least = wrong.numerator * (1 << bits) // wrong.denominator
    most = (1 << bits) - least
    if not 1 <= least <= most:
        raise Unproved("the probability of a wrong answer must be above 0, and at most 1/2")
    rows, below = head.levels(certificate)
    clear = [row[0] for row in rows[below:]]
    if not (len(rows) == 2 * below and all(row == rows[-1 - i][::-1] for i, row in enumerate(rows))):
        raise Unproved("the two sides of the table do not mirror each other")
    if not (clear[0] == least and all(row[-1] == least for row in rows[below:])):
        raise Unproved("the two sides of the table do not agree at the boundary, or an answer is wrong more or less often")
    places = bits + SURE + int(ratio).bit_length()
    last, last_log = least, _logarithm(most, least, places)
    for entry in clear[1:]:
        if not last <= entry:
            raise Unproved("a clear answer becomes rarer further out")
        log = last_log if entry == last else _logarithm(most, entry, places)
        if entry != last and not ratio.numerator * log >= ratio.denominator * (last_log + 1):
            raise Unproved("the clocks of two neighbouring levels differ by more than the ratio")
        last, last_log = entry, log


def _logarithm(top: int, bottom: int, places: int) -> int:
    """2^places·ln(top / bottom), rounded down, for top ≥ bottom: the same result by any correct method."""
    bits = places + GUARD
    halvings = top.bit_length() - bottom.bit_length()
    halvings -= bottom << halvings > top
    bottom <<= halvings
    low = 2 * (halvings * _inverse_tanh(1, 3, bits) + _inverse_tanh(top - bottom, top + bottom, bits))
    high = low + 4 * (halvings + 1) * bits
    if low >> GUARD != high >> GUARD:
        raise Unproved("the logarithm of an entry is too close to a short number")
    return low >> GUARD


@lru_cache(maxsize=4)
def _inverse_tanh(a: int, b: int, bits: int) -> int:
    """2^bits·artanh(a / b), from below, for a / b at most 1/3: each term that counts is less than 3 too small, there
    are fewer than bits/3 + 2, and the rest is less than 9 in total: together less than 2·bits."""
    z = (a << bits) // b
    square, term, total, n = z * z >> bits, z, 0, 1
    while term:
        total += term // n
        term, n = term * square >> bits, n + 2
    return total


@dataclass(frozen=True)
class Nodes:
    """Nodes g^i, g = 1 + 1/fine, for i from low to high; the clocks of the game differ by g^jump."""

    fine: int
    jump: int
    low: int
    high: int

    @property
    def ratio(self) -> Fraction:
        """g^jump."""
        return Fraction((self.fine + 1) ** self.jump, self.fine**self.jump)


def _read_nodes(nodes: Any, count: Any) -> Nodes:
    fine, jump, low, high = (as_kind(dict, nodes)[name] for name in ("fine", "jump", "low", "high"))
    if not all(type(number) is int for number in (fine, jump, low, high, count)):
        raise Unproved("close calls and nodes are counted in whole numbers")
    if not (1 <= fine <= FINEST and 1 <= jump <= MOST_STEPS and low <= 0 < high and high - low >= jump and count >= 1):
        raise Unproved("the nodes are not those of a game")
    if not (high - low < MOST_NODES and (high - low + 1) * count <= MOST_WORK):
        raise Unproved("the certificate has too many nodes for this many close calls")
    game = Nodes(fine, jump, low, high)
    if not game.ratio <= LARGEST_RATIO:
        raise Unproved("the clocks of the game differ by too much")
    return game


def gains(nodes: Nodes, budget_ratio: Fraction) -> Iterator[int]:
    """Upper bounds on the gain of any strategy with 1, 2, 3, … close calls, in multiples of 1 / ONE: U(1) plus the cost
    of rounding.

    A function is given by u(i) = U(g^i) / g^i. Below the nodes it is linear to (0, 0), above them it has slope 1.
    """
    before, turn = _without_calls(nodes, budget_ratio)
    excess = -(-ONE * nodes.ratio.numerator // nodes.ratio.denominator) - ONE  # r − 1, rounded up
    paid = 0
    while True:
        up, down = _shifted(before, nodes)
        now = _one_call_more(up, down, turn, nodes.fine, excess)
        failure = max(_failure_at_nodes(before, now, up, down, nodes.fine, excess), _failure_beyond(before, now, nodes) * ONE)
        paid += -(-failure // ONE) + nodes.fine + 1  # r − 1 is up to one unit too large, times a slope
        before = now
        yield now[-nodes.low] + paid


def _without_calls(nodes: Nodes, budget_ratio: Fraction) -> tuple[list[int], int]:
    """u_0(i), (1 − e^ε / g^i)+ rounded up; and which node, after that at 1, is the first at or above e^ε."""
    start = [0] * -nodes.low
    missing = budget_ratio.numerator * ONE // budget_ratio.denominator
    turn = 0
    for i in range(nodes.high + 1):
        start.append(max(ONE - missing, 0))
        if i and not turn and missing <= ONE:
            turn = i - nodes.low
        missing = missing * nodes.fine // (nodes.fine + 1)
    if not turn:
        raise Unproved("the nodes do not reach e^epsilon of the budget")
    return start, turn


def _shifted(before: list[int], nodes: Nodes) -> tuple[list[int], list[int]]:
    """u(i + k), rounded up, and u(i − k)."""
    missing, beyond = ONE - before[-1], []
    for _ in range(nodes.jump):
        missing = missing * nodes.fine // (nodes.fine + 1)
        beyond.append(ONE - missing)
    return before[nodes.jump :] + beyond, [before[0]] * nodes.jump + before[: -nodes.jump]


def _one_call_more(up: list[int], down: list[int], turn: int, fine: int, excess: int) -> list[int]:
    """Makes the first inequality an equation with the left slope from the turn on, and the second with the right slope
    below it, except for rounding: each u is a mean of two others, so none leaves [0, 1]."""
    ratio, lower, upper = ONE + excess, excess * fine, excess * (fine + 1)
    total = ONE + upper
    value = -(-(total * ratio * up[turn] + lower * ONE * down[turn - 1]) // (total * total - lower * upper))
    above, below = [value], []
    for u in down[turn - 1 :: -1]:
        value = -(-(ONE * u + upper * value) // total)
        below.append(value)
    value = above[0]
    for u in up[turn + 1 :]:
        value = -(-(ratio * u + lower * value) // total)
        above.append(value)
    below.reverse()
    return below + above


def _failure_at_nodes(before: list[int], now: list[int], up: list[int], down: list[int], fine: int, excess: int) -> int:
    """How much the inequalities fail at the nodes, relative to Λ, in multiples of 1 / ONE²: with both slopes,
    U_{h−1}(rΛ) ≤ U_h(Λ) + (r − 1)·Λ·U_h′(Λ) and r·U_{h−1}(Λ/r) ≤ r·U_h(Λ) − (r − 1)·Λ·U_h′(Λ); and U_{h−1} ≤ U_h."""
    ratio, left = ONE + excess, now[0]
    worst = ONE * max(0, *(u - v for u, v in zip(before, now, strict=True)))
    slopes = [(fine + 1) * v - fine * u for u, v in pairwise(now)]
    for new, higher, lower, right in zip(now, up, down, [*slopes, ONE], strict=True):
        least, most = (left, right) if left < right else (right, left)
        first = ratio * higher - ONE * new - excess * least
        second = ONE * lower - ratio * new + excess * most
        if first > worst or second > worst:
            worst = max(first, second)
        left = right
    return worst


def _failure_beyond(before: list[int], now: list[int], nodes: Nodes) -> int:
    """The same below the lowest node, where a strike leads up to a factor r further, and above the highest; in
    multiples of 1 / ONE."""
    worst = max(before[: nodes.jump + 1]) - now[0]
    missing = ONE - now[-1]
    for u in before[: -nodes.jump - 2 : -1]:
        worst = max(worst, missing - (ONE - u))
        missing = -(-missing * (nodes.fine + 1) // nodes.fine)
    return worst
