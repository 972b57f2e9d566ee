"""Reading and writing a definition: the text in ledgers, the object in certificates.

On disk, in ledgers and certificates, e^ε keeps its first name, `ratio`; everywhere else it is `exp_epsilon`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

from duotone.errors import DuotoneError
from duotone.privacy.approx_dp import LARGEST_EPSILON, ApproxDP
from duotone.privacy.numbers import exp_below, number, show
from duotone.privacy.renyi import LARGEST_ORDER, RenyiDP

Definition = ApproxDP | RenyiDP
"""The definitions that have tables of integers, certificates and ledgers."""

LONGEST_READ = 2**20
"""Most characters of a definition that are read: the first version wrote long ones, too."""
_NUMBER = "[0-9]+(?:/[0-9]*[1-9][0-9]*)?"
_DEFINITION = re.compile(f"(epsilon|ratio)=({_NUMBER}) delta=({_NUMBER})")
_RENYI = re.compile(f"order=([0-9]{{1,3}}) price=({_NUMBER}) delta=({_NUMBER})")


def definition_text(privacy: Definition) -> str:
    """A definition in one line: the given numbers, exactly, however long they are.

    >>> definition_text(ApproxDP("0.1", "1e-6")), read_definition(definition_text(ApproxDP(exp_epsilon=2)))
    ('epsilon=1/10 delta=1/1000000', ApproxDP(exp_epsilon=2, delta=0))
    >>> definition_text(RenyiDP(20, "1.01"))
    'order=20 price=101/100 delta=0'
    """
    if isinstance(privacy, RenyiDP):
        return f"order={privacy.order} price={show(privacy.price)} delta={show(privacy.delta)}"
    first = f"ratio={show(privacy.exp_epsilon)}" if privacy.epsilon_exact is None else f"epsilon={show(privacy.epsilon_exact)}"
    return f"{first} delta={show(Fraction(privacy.delta))}"


@lru_cache(maxsize=1024)
def read_definition(text: str) -> ApproxDP:
    """Read what `definition_text` wrote for an ApproxDP, with any number of digits."""
    parts = _DEFINITION.fullmatch(text) if len(text) <= LONGEST_READ else None
    if parts is None:
        raise _unread()
    name, first, delta = parts[1], Fraction(number(parts[2])), Fraction(number(parts[3]))
    if not (delta < 1 and (first <= LARGEST_EPSILON if name == "epsilon" else first >= 1)):
        raise _unread()
    return ApproxDP._computed(first, delta) if name == "ratio" else ApproxDP._computed(exp_below(first), delta, first)


@lru_cache(maxsize=1024)
def read_either(text: str) -> Definition:
    """Read what `definition_text` wrote, for either definition.

    >>> read_either("order=20 price=101/100 delta=0"), read_either("epsilon=1/10 delta=0")
    (RenyiDP(order=20, price=101/100, delta=0), ApproxDP(epsilon=0.1, delta=0))
    """
    parts = _RENYI.fullmatch(text) if len(text) <= LONGEST_READ else None
    if parts is None:
        return read_definition(text)
    order, price, delta = int(parts[1]), Fraction(number(parts[2])), Fraction(number(parts[3]))
    if not (2 <= order <= LARGEST_ORDER and price >= 1 and delta < 1):
        raise _unread()
    return RenyiDP._computed(order, price, delta)


def _unread() -> DuotoneError:
    return DuotoneError("this is not a definition as a ledger writes it")


def definition_object(privacy: Definition) -> dict[str, Any]:
    """A definition in certificates: ε if it was given, e^ε rounded down, δ; or order, price and delta."""
    if isinstance(privacy, RenyiDP):
        return {"order": privacy.order, "price": show(privacy.price), "delta": show(privacy.delta)}
    return {
        "epsilon": None if privacy.epsilon_exact is None else show(privacy.epsilon_exact),
        "ratio": show(privacy.exp_epsilon),
        "delta": show(Fraction(privacy.delta)),
    }


def definition_document(privacy: Definition) -> dict[str, str | float]:
    """A definition in the command's JSON: ε for display, e^ε and δ exactly; or a Rényi order, its ε, price and
    delta."""
    if isinstance(privacy, RenyiDP):
        return {**definition_object(privacy), "epsilon": privacy.epsilon}
    return {"exp_epsilon": show(privacy.exp_epsilon), "epsilon": privacy.epsilon, "delta": show(privacy.delta)}
