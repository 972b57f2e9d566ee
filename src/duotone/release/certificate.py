"""Certificates: a mechanism re-checked with integers only, by someone who trusts nothing in it.

A certificate proves that its table is private (every pair of neighbours, as integers), that it is optimal (every entry
is held down by a chain of tight steps that ends at a fixed boundary value, and lies within 2^−60 of a bound from above
on the real optimum) and that its ratio is e^ε rounded down.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import gmpy2

from duotone.errors import DuotoneError
from duotone.privacy.numbers import number

CLOSE = 100
"""The ratio must be within 2^−CLOSE of e^ε, relative to e^ε − 1."""
LOSS = 60
"""Rounding must cost less than 2^−LOSS against the real optimum."""
FEWEST_BITS, MOST_BITS, LARGEST_EPSILON = 64, 2**14, 2**13
LONGEST_NUMBER, LONGEST_EPSILON = 20_000, 3_000
FRACTION = 320
"""The bits after the point to which e^ε is computed, and more for a small ε."""
LONG, MOST_WORK = 2**14, 2**31
"""A graph whose numbers have more than LONG bits together may have MOST_WORK divided by these bits edges and datasets."""
DIGITS, WRITTEN = re.compile("[0-9]+"), re.compile(r"[0-9]+(/[0-9]+|(\.[0-9]+)?(e[+-]?[0-9]{1,4})?)")
"""How a certificate writes an entry and a number: one way each, so that nobody reads it differently."""


class Unproved(DuotoneError):
    """A certificate does not prove what it claims."""


def prove(certificate: Any) -> str:
    """Re-check a certificate and say in a sentence what it proves; `Unproved` says what fails.

    Guarantee: integer arithmetic only; nothing that the certificate says is taken for granted.

    >>> from duotone import ApproxDP, balanced
    >>> from duotone.line.table import line_table
    >>> prove(line_table(balanced(ApproxDP(exp_epsilon=2, delta="1/10"))).certificate())
    'private and optimal: 8 levels under ratio 2, delta 1/10'
    """
    try:
        kind, version = certificate["certificate"], certificate["version"]
        if kind not in ("line", "graph") or type(version) is not int or version != 1:
            raise Unproved("this is not a certificate of version 1")
        _claims(certificate["claims"])
        ratio, above, delta = _definition(certificate["privacy"])
        bits = _bits(certificate["bits"])
        step, ceiling = _Step(ratio, delta, bits), _Step(above, delta, bits, up=True)
        count = (_prove_line if kind == "line" else _prove_graph)(certificate, step, ceiling)
    except Unproved:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError):
        raise Unproved("this is not a certificate: something in it is missing or of another kind") from None
    known = "ratio" if certificate["privacy"]["epsilon"] is None else "epsilon"
    budget = ", ".join(f"{name} {_brief(certificate['privacy'][name])}" for name in (known, "delta"))
    return f"private and optimal: {count} {'levels' if kind == 'line' else 'datasets'} under {budget}"


def _is(kind: type, value: Any) -> Any:
    """A list or an object of the JSON, as what it must be: text has items too, and an object is a list of its names."""
    if type(value) is not kind:
        raise Unproved("this is not a certificate: something in it is of another kind")
    return value


class _Step:
    """φ on integers over 2^bits, rounded down (or up), and Definition 1 itself."""

    def __init__(self, ratio: Fraction, delta: Fraction, bits: int, *, up: bool = False) -> None:
        self.one, self.up, self.ratio, self.delta = 1 << bits, up, ratio, delta
        self.a, self.b, self.c, self.d = ratio.numerator, ratio.denominator, delta.numerator, delta.denominator
        self.left, self.right, self.room = self.b * self.d, self.a * self.d, self.b * self.c * self.one

    def __call__(self, t: int) -> int:
        first = (self.right * t + self.room + self.up * (self.left - 1)) // self.left
        second = self.one + (self.room - self.left * (self.one - t) + self.up * (self.right - 1)) // self.right
        return min(self.one, first, second)

    def private(self, p: int, q: int) -> bool:
        """Definition 1 for two neighbours that say yes with p and q."""
        sides = ((p, q), (q, p), (self.one - p, self.one - q), (self.one - q, self.one - p))
        return all(self.left * x <= self.right * y + self.room for x, y in sides)

    def balance(self) -> int:
        """The balanced boundary value, rounded."""
        top, bottom = (self.a * self.d + self.b * self.c) * self.one, self.d * (self.a + self.b)
        return (top + self.up * (bottom - 1)) // bottom


def _claims(claims: Mapping[str, Any]) -> None:
    if claims["private"] is not True or claims["optimal"] is not True:
        raise Unproved("the certificate does not claim to be private and optimal")
    if claims["loss"] != f"2^-{LOSS}":
        raise Unproved(f"the certificate must claim a loss of 2^-{LOSS}")


def _prove_line(certificate: Mapping[str, Any], step: _Step, ceiling: _Step) -> int:
    blue, red = ([_entry(t, step) for t in _is(list, certificate[side])] for side in ("blue", "red"))
    tops = _boundary(certificate["boundary"], blue[0], red[0], step, ceiling)
    for p, q in pairwise([step.one - t for t in reversed(red)] + blue):
        if not step.private(p, q):
            raise Unproved("two neighbouring levels differ by more than the budget allows")
    for side, name, top in zip((blue, red), ("blue", "red"), tops, strict=True):
        errors = _is(list, certificate["error"][name])
        if len(errors) != len(side):
            raise Unproved(f"the {name} errors do not match the table")
        for here, following, error in zip(side, [*side[1:], side[-1]], errors, strict=True):
            if step(here) != following:
                raise Unproved(f"a {name} entry is not the most truth possible there")
            _error(error, here, step)
            _close(top, here, step)
            last, top = top, ceiling(top)
        _close(last if top == last else step.one, side[-1], step)
    return len(blue) + len(red)


def _prove_graph(certificate: Mapping[str, Any], step: _Step, ceiling: _Step) -> int:
    datasets, boundary, lowered = _is(dict, certificate["datasets"]), certificate["boundary"], certificate["lowered"]
    if not datasets:
        raise Unproved("a graph without datasets proves nothing")
    truth = {d: _entry(entry["truth"], step) for d, entry in datasets.items()}
    blue = {d: _colour(entry["colour"]) for d, entry in datasets.items()}
    near = _neighbours(datasets, certificate["edges"])
    rim = {d for d in datasets if any(blue[d] != blue[e] for e in near[d])}
    fixed = rim if boundary == "balanced" else {d for d in rim if blue[d]}
    if isinstance(boundary, dict) and set(boundary) != fixed:
        raise Unproved("the boundary values are not those of the blue boundary")
    if not isinstance(boundary, dict) and boundary != "balanced":
        _floor(boundary, step)
    _bounded(certificate, step, ceiling)
    if not set(_is(dict, lowered)) <= (fixed if isinstance(boundary, dict) else set()):
        raise Unproved("a value is lowered that was not given")
    yes = {d: t if blue[d] else step.one - t for d, t in truth.items()}
    for d in datasets:
        _error(datasets[d]["error"], truth[d], step)
        if not all(step.private(yes[d], yes[e]) for e in near[d]):
            raise Unproved(f"dataset {d} differs from a neighbour by more than the budget allows")
    tops: dict[str, int] = {}  # bounds from above on the real optimum
    for d in fixed:
        value = boundary[d] if isinstance(boundary, dict) else boundary
        held = _lowered(d, certificate, near, step) if d in lowered else None
        tops[d], _ = _boundary(value, truth[d], None, step, ceiling, held=held)
        _close(tops[d], truth[d], step)
    for start in datasets:
        chain: dict[str, None] = {}
        d = start
        while d not in tops and truth[d] < step.one:
            witness = datasets[d]["from"]
            if d in chain or witness not in near[d]:
                raise Unproved(f"dataset {d} has no chain of tight steps to a fixed boundary dataset")
            if blue[witness] != blue[d] and witness not in fixed:
                raise Unproved(f"the witness of dataset {d} has the other colour and is not fixed")
            if truth[d] != step(truth[witness] if blue[witness] == blue[d] else step.one - truth[witness]):
                raise Unproved(f"dataset {d} is not held down by its witness")
            chain[d] = None
            d = witness
        for e in reversed(chain):
            witness = datasets[e]["from"]
            if blue[witness] == blue[e]:
                above = tops[witness]
            else:
                above = step.one - _floor(boundary[witness] if isinstance(boundary, dict) else boundary, step)
            tops[e] = ceiling(above)
            _close(tops[e], truth[e], step)
    return len(datasets)


def _bounded(certificate: Mapping[str, Any], step: _Step, ceiling: _Step) -> None:
    """Refuse a small file that would take minutes: very long numbers, used again and again."""
    boundary = certificate["boundary"]
    values = boundary.values() if isinstance(boundary, dict) else [boundary]
    longest = max((_bit_length(_fraction(value)) for value in values if value != "balanced"), default=0)
    size = step.one.bit_length() + longest + sum(map(_bit_length, (step.ratio, ceiling.ratio, step.delta)))
    paths = sum(len(_is(list, path)) for path in _is(dict, certificate["lowered"]).values())
    work = len(_is(list, certificate["edges"])) + len(certificate["datasets"]) + paths
    if size > LONG and size * work > MOST_WORK:
        raise Unproved("the certificate has too many edges, datasets or paths for numbers as long as its own")


def _bit_length(x: Fraction) -> int:
    return x.numerator.bit_length() + x.denominator.bit_length()


def _lowered(d: str, certificate: Mapping[str, Any], near: Mapping[str, set[str]], step: _Step) -> int:
    """What a path from a boundary dataset with its full value leaves room for at d."""
    path = _is(list, certificate["lowered"][d])
    if not (len(path) > 1 and path[-1] == d and path[0] not in certificate["lowered"]):
        raise Unproved(f"the path that lowers dataset {d} does not start at a full boundary value")
    if len(set(path)) < len(path) or not all(b in near[a] for a, b in pairwise(path)):
        raise Unproved(f"the path that lowers dataset {d} leaves the graph, or comes to a dataset twice")
    value = _floor(certificate["boundary"][path[0]], step)
    for _ in path[1:]:
        value = step(value)
    return value


def _neighbours(datasets: Mapping[str, Any], edges: Any) -> dict[str, set[str]]:
    near: dict[str, set[str]] = {d: set() for d in datasets}
    for edge in _is(list, edges):
        a, b = _is(list, edge)
        if a == b or a not in near or b not in near:
            raise Unproved("an edge does not join two datasets of the certificate")
        near[a].add(b)
        near[b].add(a)
    return near


def _boundary(
    value: Any, blue: int, red: int | None, step: _Step, ceiling: _Step, *, held: int | None = None
) -> tuple[int, int]:
    """What is fixed at the boundary: balanced, the empty group at no, or a given value, rounded down (or held lower).

    Gives bounds from above on the real values of both sides.
    """
    one = step.one
    if value == "balanced":
        if not (red in (None, blue) and blue == step.balance() <= step(one - blue)):
            raise Unproved("the boundary is not the best balanced one")
        return ceiling.balance(), ceiling.balance()
    if value == "selection":
        if not (red == one and blue == step(0)):
            raise Unproved("the empty group is not pinned at no")
        return ceiling(0), one
    below = _floor(value, step)
    if blue != (below if held is None else held) or blue > below:
        raise Unproved("a boundary value is not the one asked for, rounded down")
    if red is not None and red != step(one - blue):
        raise Unproved("the red boundary is not the most truth possible there")
    exact = _fraction(value) * one == below
    return below if exact else below + 1, ceiling(one - below)


def _floor(text: Any, step: _Step) -> int:
    value = _fraction(text)
    if not 0 <= value <= 1:
        raise Unproved("a boundary value is not a probability")
    return value.numerator * step.one // value.denominator


def _close(top: int, truth: int, step: _Step) -> None:
    if not top - truth < step.one >> LOSS:
        raise Unproved(f"rounding costs 2^-{LOSS} or more against the real optimum")


def _error(text: Any, truth: int, step: _Step) -> None:
    value, wrong = _fraction(text), step.one - truth
    apart = abs(value.numerator * step.one - wrong * value.denominator)  # times 1/(one·denominator), as what follows
    if not apart << 1070 <= value.denominator * ((wrong << 1020) + step.one):
        raise Unproved("an error is not what the table says")


def _definition(privacy: Mapping[str, Any]) -> tuple[Fraction, Fraction, Fraction]:
    """The ratio, a bound on e^ε from above, and δ."""
    ratio, delta = _fraction(privacy["ratio"]), _fraction(privacy["delta"])
    if not ratio >= 1:
        raise Unproved("the ratio must be at least 1")
    if not 0 <= delta < 1:
        raise Unproved("delta must be in [0, 1)")
    above = ratio
    if privacy["epsilon"] is not None:
        epsilon = _fraction(privacy["epsilon"], LONGEST_EPSILON)
        if not 0 <= epsilon <= LARGEST_EPSILON:
            raise Unproved(f"epsilon must be in [0, {LARGEST_EPSILON}]")
        low, above = exp_bounds(epsilon)
        if not ratio <= low:
            raise Unproved("the ratio is above e^epsilon")
        if not above - ratio <= (above - 1) / 2**CLOSE:
            raise Unproved("the ratio is too far below e^epsilon for the table to be optimal")
    return ratio, above, delta


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


def _entry(text: Any, step: _Step) -> int:
    if not (isinstance(text, str) and len(text) < step.one.bit_length() and DIGITS.fullmatch(text)):
        raise Unproved("a table entry is not a whole number between 0 and 2^bits")
    value = int(gmpy2.mpz(text))  # Python's own int() stops at 4,300 digits
    if not value <= step.one:
        raise Unproved("a table entry is not a whole number between 0 and 2^bits")
    return value


def _bits(bits: Any) -> int:
    if not (type(bits) is int and FEWEST_BITS <= bits <= MOST_BITS):
        raise Unproved(f"bits must be between {FEWEST_BITS} and {MOST_BITS}")
    return bits


def _fraction(text: Any, longest: int = LONGEST_NUMBER) -> Fraction:
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


def _brief(text: str) -> str:
    """A number of the certificate, rounded up to read if it is long."""
    if len(text) <= 12:
        return text
    value, rounded_up = _fraction(text), Context(prec=7, rounding=ROUND_CEILING)
    return f"{rounded_up.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(rounded_up):g}"


def _colour(text: Any) -> bool:
    if text not in ("blue", "red"):
        raise Unproved("a colour is blue or red")
    return bool(text == "blue")
