"""Vouching: a stored table or file is asked about as it is; what a query makes, only where the owner vouches for its rows.

In a query rows of several people may become one, a row may depend on other people's, and one row may make it fail. No
engine can tell that it does none of this, so that the owner has to. Every engine comes here with what it finds.
"""

from __future__ import annotations

from duotone.errors import DuotoneError


def require_vouched(what: str, vouched: bool) -> str:
    """What is not a stored table, as answers about it name it; refused unless the owner vouches for it.

    >>> require_vouched("view visits", vouched=True)
    'view visits'
    """
    if vouched is not True:
        raise DuotoneError(
            f"{what} is no stored table, and may mix people up or fail on a row: create a table from it, or vouch for it "
            "(vouched): that each row belongs to one person, and that no row depends on other people's rows"
        )
    return what


def vouched_for(what: str, unit: str | None) -> str:
    """What the owner vouches for, in a sentence that stands beside answers."""
    own = "is a person" if unit is None else f"belongs to one person, a {unit}"
    return f"vouched for, not checked: each row of {what} {own}, and no row depends on other people's rows"
