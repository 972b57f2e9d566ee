"""Terms: a question with its budget, as a service takes them; what is the owner's to declare is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from duotone.client.transport import as_body
from duotone.desk.operations import Document
from duotone.desk.terms import OWNERS
from duotone.errors import DuotoneError
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given, show


def budget_terms(privacy: ApproxDP | None = None, epsilon: Given | None = None, delta: Given | None = None) -> Document:
    """A budget in a service's words: a definition, or ε and δ as they are written; none for close calls."""
    if privacy is None:
        return {"epsilon": _written(epsilon), "delta": _written(delta)}
    if not isinstance(privacy, ApproxDP):
        raise DuotoneError(f'a budget is epsilon=1, delta=1e-6, or an ApproxDP, as ApproxDP(1, "1e-6"): got {privacy}')
    if not (epsilon is None and delta is None):
        raise DuotoneError("there are two budgets: give a definition, or epsilon and delta")
    exact, below = privacy.epsilon_exact, show(privacy.exp_epsilon)
    return {**({"ratio": below} if exact is None else {"epsilon": show(exact)}), "delta": show(Fraction(privacy.delta))}


def question_terms(
    declared: Mapping[str, Any],
    budget: Document,
    *,
    question: str | None = None,
    by: str | Sequence[str] | None = None,
    error: Mapping[str, Any] | None = None,
    groups: str | None = None,
    costs: tuple[Given, Given] | None = None,
    **others: Any,
) -> Document:
    """All terms of a question, those that are not given left out; refuses what is `declared`."""
    for name in declared:
        if name in OWNERS:
            raise DuotoneError(f"{name} is declared by the owner of a dataset, and not with a question: leave it out")
        raise TypeError(f"unexpected keyword argument {name!r}")
    if groups not in (None, "listed", "private"):
        raise DuotoneError('the list of groups is the owner\'s: "listed" is to use it, "private" to select groups privately')
    if costs is not None and not (isinstance(costs, list | tuple) and len(costs) == 2):
        raise DuotoneError("costs are how bad a false no and a false yes are, as (10, 1)")
    return as_body(
        {
            "question": question,
            "by": [by] if isinstance(by, str) else None if by is None else list(by),
            **budget,
            "error": None if error is None else {name: _written(value) for name, value in error.items()},
            "groups": groups,
            "costs": None if costs is None else [_written(cost) for cost in costs],
            **others,
        }
    )


def _written(value: Any) -> Any:
    """A number as it is written: exact ones as text, since JSON's may lose digits."""
    if isinstance(value, Fraction | Decimal):
        return str(value)
    return str(value) if isinstance(value, float) else value
