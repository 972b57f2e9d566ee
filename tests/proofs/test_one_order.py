"""Tables of one Rényi order before the proved checker: written here from the definition alone, and spoilt in each place."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from support.verified import said, verdicts

pytestmark = pytest.mark.slow

BITS = 128
ONE = 2**BITS
A_LITTLE = Fraction(1, 10**9)
GONE = object()
"""For what a spoilt table lacks."""


class Order:
    """The definition: sums of part^order / other^(order − 1), as whole numbers."""

    def __init__(self, order: int, price: Fraction, delta: Fraction) -> None:
        self.order, self.price, self.delta = order, price, delta
        self.text = {"order": order, "price": str(price), "delta": str(delta)}

    def keeps(self, first: int, second: int) -> bool:
        """Whether the sum over yes and no is at most the price, where the likelier answer of the first lacks delta."""
        k, c, e = self.order - 1, *self.delta.as_integer_ratio()
        parts = [e * first, e * (ONE - first)]
        more = int(first < second)
        parts[more] = max(0, parts[more] - c * ONE)
        others = second, ONE - second
        if any(part and not other for part, other in zip(parts, others, strict=True)):
            return False
        over = [max(other, 1) ** k for other in others]  # where it is 0, so is the part
        top = parts[0] ** self.order * over[1] + parts[1] ** self.order * over[0]
        return bool(top * self.price.denominator <= self.price.numerator * e**self.order * ONE * over[0] * over[1])

    def alike(self, first: int, second: int) -> bool:
        return self.keeps(first, second) and self.keeps(second, first)

    def furthest(self, here: int) -> int:
        """The largest number that may stand beside one."""
        return largest(lambda t: self.alike(t, here), here)

    def side(self, start: int) -> list[int]:
        side = [start]
        while ONE - side[-1] > ONE >> 62 and (following := self.furthest(side[-1])) != side[-1]:
            side.append(following)
        return side


def largest(allowed: Callable[[int], bool], low: int) -> int:
    high = ONE + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low


def row(yes: int, truth: int) -> dict[str, Any]:
    return {"numbers": [str(yes), str(ONE - yes)], "error": repr(float(Fraction(ONE - truth, ONE)))}


def ends(definition: Order, boundary: str) -> tuple[int, int]:
    """How often the truth is said on both sides of the boundary."""
    if boundary == "balanced":
        balanced = largest(lambda t: definition.alike(t, ONE - t), ONE // 2)
        return balanced, balanced
    blue = definition.furthest(0) if boundary == "selection" else int(Fraction(boundary) * ONE)
    return blue, definition.furthest(ONE - blue)


def certificate(definition: Order, boundary: str, rows: Any, **beside: Any) -> dict[str, Any]:
    claims = {"private": True, "optimal": True, "loss": "2^-60"}
    first = {"certificate": "duotone", "version": 1, "privacy": definition.text, "outcomes": ["yes", "no"], "bits": BITS}
    return {**first, "claims": claims, "boundary": boundary, **beside, "rows": rows}


def line(definition: Order, boundary: str) -> dict[str, Any]:
    blue, red = map(definition.side, ends(definition, boundary))
    rows = [*(row(ONE - t, t) for t in red[::-1]), *(row(t, t) for t in blue)]
    return certificate(definition, boundary, rows, cap=None, lowest=-len(red))


def graph(definition: Order, boundary: str, rng: random.Random) -> dict[str, Any]:
    """A connected graph at random; each dataset leans on a neighbour of its own colour that is nearer to the other colour, and
    on the red side of a given value on a blue one."""
    count = rng.randrange(3, 12)
    colour = [n % 2 == 0 if n < 2 else rng.random() < 0.5 for n in range(count)]
    edges = (
        {(rng.randrange(n), n) for n in range(1, count)}
        | {(0, 1)}
        | {(a, b) for a in range(count) for b in range(a + 1, count) if rng.random() < 0.1}
    )
    beside = [[b for a, b in [*edges, *((b, a) for a, b in edges)] if a == n] for n in range(count)]
    away: dict[int, int] = {n: 0 for n in range(count) if any(colour[b] != colour[n] for b in beside[n])}
    reached = list(away)
    for n in reached:
        for b in beside[n]:
            if b not in away:
                away[b] = away[n] + 1
                reached.append(b)
    blue, red = map(definition.side, ends(definition, boundary))
    rows = {}
    for n in range(count):
        side = blue if colour[n] else red
        truth = side[min(away[n], len(side) - 1)]
        rows[str(n)] = {**row(truth if colour[n] else ONE - truth, truth), "colour": "blue" if colour[n] else "red"}
        leans = [b for b in beside[n] if (colour[b] == colour[n]) == (away[n] > 0) and (not away[n] or away[b] < away[n])]
        if away[n] or not (colour[n] or boundary == "balanced"):
            rows[str(n)]["from"] = str(leans[0])
    return certificate(definition, boundary, rows, edges=[[str(a), str(b)] for a, b in sorted(edges)], lowered={})


def at_random(rng: random.Random) -> dict[str, Any]:
    price = 1 + Fraction(rng.randrange(20, 400), 100)
    definition = Order(rng.randrange(2, 25), price, Fraction(rng.choice(["0", "1/10", "1e-3", "1/1234567"])))
    boundary = rng.choice(["balanced", f"{rng.randrange(1, 100)}/100"])
    if rng.random() < 0.5:
        return graph(definition, boundary, rng)
    return line(definition, "selection" if definition.delta and rng.random() < 0.3 else boundary)


def test_tables_of_one_order_are_proved(tmp_path: Path) -> None:
    rng = random.Random(1)
    assert all(verdicts([json.dumps(at_random(rng)) for _ in range(60)], tmp_path))


def test_it_says_under_what(tmp_path: Path) -> None:
    (file := tmp_path / "c.json").write_text(json.dumps(line(Order(2, Fraction(4), Fraction(1, 10)), "balanced")))
    assert said([file]) == ["PROVED: 6 levels are private and optimal under order 2, price 4, delta 1/10"]


def spoilt(good: dict[str, Any], rng: random.Random) -> Iterator[dict[str, Any]]:
    """One table in each way in which it is wrong: none of them is proved."""
    rows, privacy = good["rows"], good["privacy"]
    order, price, delta = privacy["order"], Fraction(privacy["price"]), Fraction(privacy["delta"])
    one_by_one = range(len(rows)) if isinstance(rows, list) else rows
    at = rng.choice([each for each in one_by_one if "0" not in rows[each]["numbers"]])
    yes, no = map(int, rows[at]["numbers"])
    changes: list[tuple[tuple[Any, ...], Any]] = [
        *((("rows", at, "numbers"), [str(yes + by), str(no - by)]) for by in (1, -1)),
        (("rows", at, "error"), "0.0"),
        *((("privacy", "price"), str(wrong)) for wrong in (price - A_LITTLE, price + A_LITTLE, Fraction(1, 2), -price)),
        *((("privacy", "order"), wrong) for wrong in (order + 1, 1, 257, -order, str(order), True, None)),
        *((("privacy", "delta"), str(wrong)) for wrong in (delta + A_LITTLE, delta - A_LITTLE, 1)),
        *((("privacy", name), GONE) for name in privacy),
    ]
    if isinstance(rows, list):  # a margin is not free, nor are levels clipped for one
        changes += [(("claims", "margin"), margin) for margin in (True, False, None)]
        changes += [(("cap",), cap) for cap in (1, len(rows), 10**6, GONE)]
        changes += [(("rows", len(rows) // 2), GONE), (("lowest",), good["lowest"] + 1)]
    for path, value in changes:
        place = changed = copy.deepcopy(good)
        for key in path[:-1]:
            place = place[key]
        if value is GONE:
            del place[path[-1]]
        else:
            place[path[-1]] = value
        yield changed


def test_and_nothing_that_is_a_little_off(tmp_path: Path) -> None:
    rng = random.Random(2)
    texts = [json.dumps(bad) for _ in range(40) for bad in spoilt(at_random(rng), rng)]
    assert len(texts) > 700
    proved = [text for text, verdict in zip(texts, verdicts(texts, tmp_path), strict=True) if verdict]
    assert not proved
