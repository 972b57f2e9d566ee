"""Vouching: a stored table or file is asked about as it is; what a query makes, only where the owner vouches for its rows.

In a query rows of several people may become one, a row may depend on other people's, and one row may make it fail. No
engine can tell that it does none of this, so that the owner has to. Every engine comes here with what it finds.
"""

from __future__ import annotations

from duotone.model.notice import Notice, Refusal


def require_vouched(what: str, vouched: bool) -> str:
    """What is not a stored table, as answers about it name it; refused unless the owner vouches for it.

    >>> require_vouched("view visits", vouched=True)
    'view visits'
    """
    if vouched is not True:
        raise Refusal("not vouched", what=what)
    return what


def vouched_for(what: str, unit: str | None) -> Notice:
    """What the owner vouches for; it stands beside answers."""
    return Notice("vouched for people", what=what) if unit is None else Notice("vouched for", what=what, unit=unit)
