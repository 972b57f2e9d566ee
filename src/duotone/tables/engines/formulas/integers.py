"""Functions of whole numbers, in 64 bits."""

from __future__ import annotations

from typing import Any

import ibis

from duotone.tables.engines.whole_numbers import quotient, wide

LARGEST_WHOLE = 2.0**53
"""Whole numbers beyond it are not exact as floats."""


def whole_number(column: Any) -> Any:
    """A float that is known to be a whole number as such; null beyond what is exact."""
    return ibis.cases((column.between(-LARGEST_WHOLE, LARGEST_WHOLE), column)).cast("int64")


def modulo(a: Any, b: Any) -> Any:
    """The remainder has the sign of what is divided; by -1 it is 0, also of the least number there is."""
    apart = ibis.cases(((b != 0) & (b != -1), b), else_=ibis.literal(1, type="int64"))
    return ibis.cases((b == -1, a * 0), (b != 0, a % apart))


def truncated_quotient(a: Any, by: int) -> Any:
    """Towards zero."""
    below = ibis.cases((a % by < 0, wide(1)), else_=wide(0))
    return quotient(a, wide(by), 2**63 // by) + below
