"""Budgets that few would choose knowingly: what to say about them, by public thresholds."""

from __future__ import annotations

from fractions import Fraction

from duotone.privacy.approx_dp import ApproxDP

LARGE_EPSILON, LARGE_DELTA = 10, Fraction(1, 1000)
"""Above these a guarantee is weak, whatever the table."""


def budget_notes(privacy: ApproxDP) -> tuple[str, ...]:
    """What whoever chooses this budget should know, each a sentence; nothing about a usual one.

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
