"""One of several values of the same kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ibis


def _nullif(first: Any, second: Any) -> Any:
    return ibis.cases(((first == second).fill_null(False), ibis.null(first.type())), else_=first)


ALIKE: dict[str, Callable[..., Any]] = {
    "coalesce": ibis.coalesce,
    "nullif": _nullif,
    "greatest": ibis.greatest,
    "least": ibis.least,
}
"""Functions of values of one kind, which is theirs."""


def first_that_holds(conditions: Sequence[Any], values: Sequence[Any]) -> Any:
    """The value of the first condition that holds, and the last where none does."""
    kind = next(value for value in values if value is not None).type()
    filled = [ibis.null(kind) if value is None else value for value in values]
    return ibis.cases(*zip(conditions, filled, strict=False), else_=filled[-1])
