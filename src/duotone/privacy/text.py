"""How a definition is written and read: the text of ledgers, the object of certificates, notes for whoever chooses one.

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
LARGE_EPSILON, LARGE_DELTA = 10, Fraction(1, 1000)
"""Above these a guarantee is weak, whatever the table."""
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


def budget_notes(privacy: ApproxDP) -> tuple[str, ...]:
    """Warnings about a budget that few would choose knowingly, a sentence each; none about a usual one.

    >>> from duotone import ApproxDP
    >>> budget_notes(ApproxDP(1, "1e-6"))
    ()
    >>> print(*budget_notes(ApproxDP(50, "0.01")), sep="\\n")
    weak: with epsilon 50 answers may tell whether a certain person is in the table; 1 is usual
    weak: with probability up to delta, 0.01, answers may give a person away; keep it far below 1 in as many as there are people
    >>> budget_notes(ApproxDP(0))
    ('a coin toss: with epsilon 0 and delta 0 an answer tells nothing about the table',)
    """
    notes = []
    if privacy.epsilon > LARGE_EPSILON:
        notes.append(
            f"weak: with epsilon {privacy.epsilon:g} answers may tell whether a certain person is in the table; 1 is usual"
        )
    if privacy.delta > LARGE_DELTA:
        notes.append(
            f"weak: with probability up to delta, {float(privacy.delta):g}, answers may give a person away; "
            "keep it far below 1 in as many as there are people"
        )
    if privacy.exp_epsilon == 1:
        notes.append(
            "a coin toss: with epsilon 0 and delta 0 an answer tells nothing about the table"
            if privacy.delta == 0
            else "almost a coin toss: with epsilon 0 each person moves the probability of an answer by at most delta"
        )
    return tuple(notes)
