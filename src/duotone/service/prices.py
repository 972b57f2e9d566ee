"""Prices and what is left, as people write them; and which part of a price does not fit."""

from __future__ import annotations

import math
import re

SPELT = re.compile(r"ApproxDP\((exp_)?epsilon=([^,)]+), delta=([^,)]+)\)")
LEFT = re.compile(r"\bepsilon ([0-9.e+-]+), delta ([0-9.e+-]+)")
MANY = re.compile(r"(\d+) answers? at ")


def decimal(value: object) -> str:
    """A probability or a budget to read: four digits that count.

    >>> decimal("0.30000000000000004"), decimal("7/10"), decimal(1e-6), decimal(None)
    ('0.3', '0.7', '1e-06', '–')
    """
    return "–" if value is None else f"{_value(value):.4g}"


def in_symbols(text: str) -> str:
    """A sentence of the ledger as people write it.

    >>> in_symbols("1 answer at ApproxDP(epsilon=0.5, delta=1/1000000); left: epsilon 2.5, delta 0")
    '1 answer at ε 0.5, δ 1e-06; left: ε 2.5, δ 0'
    >>> in_symbols("1 answer at ApproxDP(exp_epsilon=2, delta=0)")
    '1 answer at e^ε 2, δ 0'
    """
    spelt = SPELT.sub(lambda part: f"{'e^' if part[1] else ''}ε {decimal(part[2])}, δ {decimal(part[3])}", text)
    return LEFT.sub(r"ε \1, δ \2", spelt)


def room(left: str | None) -> tuple[float, float] | None:
    """ε and δ of what the ledger says is left; None where that is not said so.

    >>> room("3 close calls; for definite answers: epsilon 0.5, delta 1e-06"), room("3 close calls")
    ((0.5, 1e-06), None)
    """
    parts = None if left is None else LEFT.search(left)
    return None if parts is None else (float(parts[1]), float(parts[2]))


def smaller(left: str, allowance: str | None) -> str:
    """What one can still spend: of the budget's rest and one's own the smaller.

    >>> smaller("epsilon 3, delta 1e-06", "epsilon 1, delta 1e-05"), smaller("3 close calls", None)
    ('ε 1, δ 1e-06', '3 close calls')
    """
    rest, own = room(left), room(allowance)
    if rest is None or own is None:
        return in_symbols(left)
    return f"ε {decimal(min(rest[0], own[0]))}, δ {decimal(min(rest[1], own[1]))}"


def too_much(price: str, *left: str | None) -> str:
    """Which part of a price is more than is left.

    >>> too_much("1 answer at ApproxDP(epsilon=0.5, delta=1/1000000)", "epsilon 2, delta 1e-05", "epsilon 1, delta 0")
    'δ'
    """
    spelt, many = SPELT.search(price), MANY.search(price)
    if spelt is None:
        return ""
    answers, each = int(many[1]) if many else 1, _value(spelt[2])
    asked = answers * (math.log(each) if spelt[1] else each), answers * _value(spelt[3])
    rooms = [rest for rest in map(room, left) if rest is not None]
    beyond = [any(asked[i] > rest[i] * (1 + 1e-5) for rest in rooms) for i in (0, 1)]  # they are written with six digits
    return " and ".join(part for part, is_beyond in zip("εδ", beyond, strict=True) if is_beyond)


def _value(text: object) -> float:
    top, _, bottom = str(text).partition("/")
    return float(top) / float(bottom or 1)
