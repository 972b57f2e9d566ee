"""Certificates: a mechanism re-checked with integers only, by someone who trusts nothing in it.

A certificate proves that its table is private (every pair of neighbours, as integers), that it is optimal (every entry
is held down by a chain of tight steps that ends at a fixed boundary value) and that its ratio is e^ε rounded down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from duotone.errors import DuotoneError
from duotone.number import number

CLOSE = 100
"""The ratio must be within 2^−CLOSE of e^ε, relative to e^ε − 1."""
FEWEST_BITS, MOST_BITS, LARGEST_EPSILON = 64, 2**14, 2**13


class Unproved(DuotoneError):
    """A certificate does not prove what it claims."""


def prove(certificate: Any) -> str:
    """Re-check a certificate and say in a sentence what it proves; `Unproved` says what fails.

    Guarantee: integer arithmetic only; nothing that the certificate says is taken for granted.

    >>> from duotone import ApproxDP, balanced, line_table
    >>> prove(line_table(balanced(ApproxDP(ratio=2, delta="1/10"))).certificate())
    'private and optimal: 8 levels under ratio 2, delta 0.1'
    """
    try:
        kind = certificate["certificate"]
        if kind not in ("line", "graph") or certificate["version"] != 1:
            raise Unproved("this is not a certificate of version 1")
        _claims(certificate["claims"])
        step = _Step(*_notion(certificate["privacy"]), _bits(certificate["bits"]))
        count = _prove_line(certificate, step) if kind == "line" else _prove_graph(certificate, step)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, ZeroDivisionError) as error:
        if isinstance(error, DuotoneError):
            raise
        raise Unproved("this is not a certificate: something in it is missing or of another kind") from None
    known = "ratio" if certificate["privacy"]["epsilon"] is None else "epsilon"
    told = ", ".join(f"{name} {float(_fraction(certificate['privacy'][name])):g}" for name in (known, "delta"))
    return f"private and optimal: {count} {'levels' if kind == 'line' else 'datasets'} under {told}"


class _Step:
    """φ on integers over 2^bits, rounded down, and Definition 1 itself."""

    def __init__(self, ratio: Fraction, delta: Fraction, bits: int) -> None:
        self.one, self.ratio, self.delta = 1 << bits, ratio, delta

    def __call__(self, t: int) -> int:
        a, b, c, d = self.ratio.numerator, self.ratio.denominator, self.delta.numerator, self.delta.denominator
        first = (a * d * t + b * c * self.one) // (b * d)
        second = self.one + (c * self.one - d * (self.one - t)) * b // (a * d)
        return min(self.one, first, second)

    def private(self, p: int, q: int) -> bool:
        """Definition 1 for two neighbours that say yes with p and q."""
        a, b, c, d = self.ratio.numerator, self.ratio.denominator, self.delta.numerator, self.delta.denominator
        sides = ((p, q), (q, p), (self.one - p, self.one - q), (self.one - q, self.one - p))
        return all(b * d * x <= a * d * y + b * c * self.one for x, y in sides)


def _claims(claims: Mapping[str, Any]) -> None:
    if claims["private"] is not True or claims["optimal"] is not True:
        raise Unproved("the certificate does not claim to be private and optimal")


def _prove_line(certificate: Mapping[str, Any], step: _Step) -> int:
    blue, red = ([_entry(t, step) for t in certificate[side]] for side in ("blue", "red"))
    _boundary(certificate["boundary"], blue[0], red[0], step)
    yes = [step.one - t for t in reversed(red)] + blue
    for p, q in pairwise(yes):
        if not step.private(p, q):
            raise Unproved("two neighbouring levels are told apart by more than the budget allows")
    for side, name in ((blue, "blue"), (red, "red")):
        for distance, (here, following) in enumerate(zip(side, [*side[1:], side[-1]], strict=True)):
            if step(here) != following:
                raise Unproved(f"the {name} entry after distance {distance} is not the most truth possible there")
        errors = certificate["error"][name]
        if len(errors) != len(side):
            raise Unproved(f"the {name} errors do not match the table")
        for told, truth in zip(errors, side, strict=True):
            exact = Fraction(step.one - truth, step.one)
            if not abs(_fraction(told) - exact) <= exact / 2**50 + Fraction(1, 2**1070):
                raise Unproved(f"a {name} error is not what the table says")
    return len(blue) + len(red)


def _prove_graph(certificate: Mapping[str, Any], step: _Step) -> int:
    datasets, boundary = certificate["datasets"], certificate["boundary"]
    truth = {d: _entry(entry["truth"], step) for d, entry in datasets.items()}
    blue = {d: _colour(entry["colour"]) for d, entry in datasets.items()}
    near = _neighbours(datasets, certificate["edges"])
    rim = {d for d in datasets if any(blue[d] != blue[e] for e in near[d])}
    fixed = rim if boundary == "balanced" else {d for d in rim if blue[d]}
    if isinstance(boundary, dict) and set(boundary) != fixed:
        raise Unproved("the boundary values are not those of the blue boundary")
    if fixed and boundary == "balanced" and len({truth[d] for d in fixed}) != 1:
        raise Unproved("the boundary is not the best balanced one")
    for d in fixed:
        told = boundary[d] if isinstance(boundary, dict) else boundary
        _boundary(told, truth[d], None, step, exact=not isinstance(boundary, dict))
    yes = {d: t if blue[d] else step.one - t for d, t in truth.items()}
    for d in datasets:
        if not all(step.private(yes[d], yes[e]) for e in near[d]):
            raise Unproved(f"dataset {d} is told apart from a neighbour by more than the budget allows")
    proved = set(fixed)
    for d in datasets:
        chain: dict[str, None] = {}
        while d not in proved and truth[d] < step.one:
            witness = datasets[d]["from"]
            if d in chain or witness not in near[d]:
                raise Unproved(f"dataset {d} has no chain of tight steps to a fixed boundary dataset")
            if blue[witness] != blue[d] and witness not in fixed:
                raise Unproved(f"the witness of dataset {d} has the other colour and is not fixed")
            if truth[d] != step(truth[witness] if blue[witness] == blue[d] else step.one - truth[witness]):
                raise Unproved(f"dataset {d} is not held down by its witness")
            chain[d] = None
            d = witness
        proved |= chain.keys()
    return len(datasets)


def _neighbours(datasets: Mapping[str, Any], edges: Sequence[Sequence[str]]) -> dict[str, set[str]]:
    near: dict[str, set[str]] = {d: set() for d in datasets}
    for a, b in edges:
        if a == b or a not in near or b not in near:
            raise Unproved("an edge does not join two datasets of the certificate")
        near[a].add(b)
        near[b].add(a)
    return near


def _boundary(told: Any, blue: int, red: int | None, step: _Step, *, exact: bool = True) -> None:
    """What is fixed at the boundary: balanced and no larger balance possible, the empty group at no, or a given value."""
    one = step.one
    if told == "balanced":
        if not (red in (None, blue) and blue <= step(one - blue) and (blue == one or blue + 1 > step(one - blue - 1))):
            raise Unproved("the boundary is not the best balanced one")
    elif told == "selection":
        if not (red == one and blue == step(0)):
            raise Unproved("the empty group is not pinned at no")
    else:
        below = _fraction(told) * one - blue
        if not 0 <= below < (1 if exact else Fraction(one, 2**60)):
            raise Unproved("a boundary value is not the one asked for, rounded down")
        if red is not None and red != step(one - blue):
            raise Unproved("the red boundary is not the most truth possible there")


def _notion(privacy: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    ratio, delta = _fraction(privacy["ratio"]), _fraction(privacy["delta"])
    if not ratio >= 1:
        raise Unproved("the ratio must be at least 1")
    if not 0 <= delta < 1:
        raise Unproved("delta must be in [0, 1)")
    if privacy["epsilon"] is not None:
        epsilon = _fraction(privacy["epsilon"])
        if not 0 <= epsilon <= LARGEST_EPSILON:
            raise Unproved(f"epsilon must be in [0, {LARGEST_EPSILON}]")
        low, high = exp_bounds(epsilon)
        if not ratio <= low:
            raise Unproved("the ratio is above e^epsilon")
        if not high - ratio <= (high - 1) / 2**CLOSE:
            raise Unproved("the ratio is too far below e^epsilon for the table to be optimal")
    return ratio, delta


def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals below and above e^x, x ≥ 0, from its series: terms rounded down and up, the rest bounded by the last."""
    one = 2 ** (256 + 2 * max(0, x.denominator.bit_length() - x.numerator.bit_length()) + 2 * int(x))
    low = high = below = above = one
    j = 0
    while x and (j <= 2 * x or above > 1):
        j += 1
        below = below * x.numerator // (x.denominator * j)
        above = -(-above * x.numerator // (x.denominator * j))
        low, high = low + below, high + above
    return Fraction(low, one), Fraction(high + (2 * above if x else 0), one)


def _entry(text: Any, step: _Step) -> int:
    value = number(text)
    if not (isinstance(text, str) and isinstance(value, Fraction) and value.denominator == 1 and 0 <= value <= step.one):
        raise Unproved("a table entry is not a whole number between 0 and 2^bits")
    return int(value)


def _bits(bits: Any) -> int:
    if not (type(bits) is int and FEWEST_BITS <= bits <= MOST_BITS):
        raise Unproved(f"bits must be between {FEWEST_BITS} and {MOST_BITS}")
    return bits


def _fraction(text: Any) -> Fraction:
    if not isinstance(text, str):
        raise Unproved("numbers in a certificate are written as text")
    return Fraction(number(text))


def _colour(text: Any) -> bool:
    if text not in ("blue", "red"):
        raise Unproved("a colour is blue or red")
    return bool(text == "blue")
