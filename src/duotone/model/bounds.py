"""Bounds: what a column's values are clipped to, and the grid on which they are then put."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from duotone.errors import DuotoneError
from duotone.privacy.numbers import Given, number, show

FLOAT_STEPS, INTEGER_STEPS, SQUARED_STEPS = 2**51, 2**62 - 1, 2**30
"""How many grid steps a bound may be from zero: up to the first, a double tells quarters of a step apart, so that values are
put on the nearest step; up to the second, integers cannot overflow; up to the third, their squares can be added up. What one
row or one person scores stays within the second too; sums of that over rows are exact on every engine for fewer than 2^42
rows (docs/sql.md)."""
LARGEST = 2**100
"""Limits and weights are smaller than this."""
COARSEST = 22
"""Powers of ten up to this one are floats exactly."""
FINE = 10**6
"""A grid that is not stated has at least so many steps between the bounds."""


@dataclass(frozen=True)
class Bounds:
    """What a column's values are clipped to, and the grid on which they are then put: multiples of `grid`."""

    low: Fraction
    high: Fraction
    grid: Fraction | None = None

    @staticmethod
    def of(low: Given, high: Given, grid: Given | None = None) -> Bounds:
        """Bounds from numbers as they are written."""
        least, most = (_finite(bound, "a bound") for bound in (low, high))
        step = None if grid is None else _finite(grid, "the grid")
        if not least < most:
            raise DuotoneError(f"the lower bound must be below the upper one, got {show(least)} and {show(most)}")
        if step is not None and not (step > 0 and 1 in (step.numerator, step.denominator)):
            raise DuotoneError(f"a grid is a whole number or one over a whole number, as 100 or 0.01, got {show(step)}")
        return Bounds(least, most, step)

    def on(self, column: str, kind: str, most: int = FLOAT_STEPS) -> Grid:
        """The bounds as grid steps, for a column of this kind; `most` is how many they should be from zero at most."""
        step = self.grid or (Fraction(1) if kind == "integer" else self._fine(most))
        if kind == "integer" and step.denominator != 1:
            raise DuotoneError(f"column {column} holds whole numbers: its grid must be one too, got {show(step)}")
        low, high = self.low / step, self.high / step
        if low.denominator != 1 or high.denominator != 1:
            raise DuotoneError(f"the bounds of {column} must be multiples of its grid, {show(step)}: give the grid after them")
        integers = kind == "integer"
        if not integers and not _is_double(max(step, 1 / step)):
            raise DuotoneError(
                f"the grid of {column}, {show(step)}, is no float: give a whole number of at most 2^53, or one over it"
            )
        largest = max(abs(self.low), abs(self.high), key=Fraction) if integers else max(abs(low), abs(high))
        if not largest <= (INTEGER_STEPS if integers and step == 1 else FLOAT_STEPS):
            raise DuotoneError(f"the bounds of {column} are too far apart for its grid, {show(step)}: give a coarser one")
        return Grid(int(low), int(high), step)

    def takes(self, grid: Fraction) -> bool:
        """Whether values that need not be whole may be put on this grid."""
        steps = self.low / grid, self.high / grid
        return all(bound.denominator == 1 and abs(bound) <= FLOAT_STEPS for bound in steps)

    def finer(self, most: int = FLOAT_STEPS) -> Bounds | None:
        """The same on a grid that tells averages of whole numbers apart, at most so many steps from zero; None where one is
        chosen, or there is none."""
        step = self._fine(most)
        return Bounds(self.low, self.high, step) if self.grid is None and step < 1 else None

    def _fine(self, most: int) -> Fraction:
        """The grid where none is stated; coarser where its bounds would be more than `most` steps from zero."""
        power, span = COARSEST, (self.high - self.low) / FINE
        while power > -COARSEST and Fraction(10) ** power > span:
            power -= 1
        step = Fraction(10) ** power
        while any((bound / step).denominator != 1 for bound in (self.low, self.high)) and step > Fraction(1, 10**18):
            step /= 10
        farthest = max(abs(self.low), abs(self.high))
        while (
            most is not None and farthest > most * step and all((b / step / 10).denominator == 1 for b in (self.low, self.high))
        ):
            step *= 10
        return step


def _is_double(value: Fraction) -> bool:
    return Fraction(float(value)) == value


def _finite(written: Given, name: str) -> Fraction:
    value = number(repr(written) if isinstance(written, float) else written, name)  # 0.1 is meant as it is written
    if not -LARGEST <= value <= LARGEST:
        raise DuotoneError(f"{name} must be a number of less than thirty digits")
    return Fraction(value)


@dataclass(frozen=True)
class Grid:
    """A column's values as whole numbers of steps, from `low` to `high`."""

    low: int
    high: int
    step: Fraction
