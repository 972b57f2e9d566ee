"""How a definition is written and read: the text of ledgers, the object of certificates.

On disk e^ε keeps its first name, `ratio`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from duotone.errors import DuotoneError
from duotone.privacy.approx_dp import LARGEST_EPSILON, ApproxDP
from duotone.privacy.numbers import exp_below, number, show

LONGEST_READ = 2**20
"""The characters of a definition that are read: the first version wrote long ones, too."""
_NUMBER = "[0-9]+(?:/[0-9]*[1-9][0-9]*)?"
_DEFINITION = re.compile(f"(epsilon|ratio)=({_NUMBER}) delta=({_NUMBER})")


def definition_text(privacy: ApproxDP) -> str:
    """A definition in one line: what was given, exactly, however long it is.

    >>> definition_text(ApproxDP("0.1", "1e-6")), read_definition(definition_text(ApproxDP(exp_epsilon=2)))
    ('epsilon=1/10 delta=1/1000000', ApproxDP(exp_epsilon=2, delta=0))
    """
    first = f"ratio={show(privacy.exp_epsilon)}" if privacy.epsilon_exact is None else f"epsilon={show(privacy.epsilon_exact)}"
    return f"{first} delta={show(Fraction(privacy.delta))}"


@lru_cache(maxsize=1024)
def read_definition(text: str) -> ApproxDP:
    """What `definition_text` wrote, however many digits it has."""
    parts = _DEFINITION.fullmatch(text) if len(text) <= LONGEST_READ else None
    if parts is None:
        raise DuotoneError("this is not a definition as a ledger writes it")
    name, first, delta = parts[1], Fraction(number(parts[2])), Fraction(number(parts[3]))
    if not (delta < 1 and (first <= LARGEST_EPSILON if name == "epsilon" else first >= 1)):
        raise DuotoneError("this is not a definition as a ledger writes it")
    return ApproxDP._computed(first, delta) if name == "ratio" else ApproxDP._computed(exp_below(first), delta, first)


def definition_object(privacy: ApproxDP) -> dict[str, str | None]:
    """A definition as certificates hold it: ε where it was given, e^ε rounded down, and δ."""
    return {
        "epsilon": None if privacy.epsilon_exact is None else show(privacy.epsilon_exact),
        "ratio": show(privacy.exp_epsilon),
        "delta": show(Fraction(privacy.delta)),
    }


def definition_document(privacy: ApproxDP) -> dict[str, str | float]:
    """A definition as the command's JSON has it: ε to be read, e^ε and δ exactly."""
    return {"ratio": show(privacy.exp_epsilon), "epsilon": privacy.epsilon, "delta": show(privacy.delta)}
