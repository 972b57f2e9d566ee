"""Whole numbers of 64 bits, divided exactly on every engine."""

from __future__ import annotations

from typing import Any

import ibis

EXACT = 2**51
"""Below it, a quotient of whole numbers in floats is less than a half off."""


def wide(number: int) -> Any:
    """A whole number of 64 bits: engines take a small one for 32 bits, and arithmetic with those could overflow."""
    return ibis.literal(number).cast("int64")


def quotient(dividend: Any, by: Any, most: int) -> Any:
    """⌊dividend / by⌋ for by > 0, where it is at most `most`, which is at most 2^51, from zero.

    Engines divide in floats, each in its own way; remainders they have exactly. So a multiple of `by` is divided and the
    result put on the nearest whole number; where that may be a little off, what is then left is divided once more.
    """
    rest = dividend % by
    multiple = dividend - rest
    nearest = _nearest(multiple, by)
    if not most < EXACT:
        nearest = nearest.cast("decimal(38, 0)")
        nearest = (nearest + _nearest(multiple - nearest * by, by)).cast("int64")
    return nearest - ibis.cases((rest < 0, wide(1)), else_=wide(0))


def _nearest(multiple: Any, by: Any) -> Any:
    return (multiple.cast("float64") / by.cast("float64") + 0.5).floor().cast("int64")
