"""Tables: a mechanism as rows of whole numbers over 2^bits, from which answers are drawn and proofs are written.

`Table` is what every table has, and all that a coin sees of one. `LineTable` is the table of yes/no questions by level. Its
entries are rounded away from usefulness, so that each pair of neighbours satisfies the privacy inequality as integers. The
number of bits is raised until rounding costs less than 2^−60 at every level.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Protocol, TypeVar

import gmpy2
import numpy as np

from duotone.errors import DuotoneError
from duotone.line.mechanism import Boundary, LineMechanism, on_line
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.definition import PrivacyDefinition
from duotone.privacy.numbers import probability, show
from duotone.privacy.rounded import Rounded
from duotone.privacy.text import definition_object

LOSS = Fraction(1, 2**60)
"""What rounding may cost at most, in probability, at any level or dataset."""
FEWEST_BITS, MOST_BITS = 128, 2**13
LONGEST, LARGEST = 2**20, 2**28
"""The levels up to which a table is written out, and the bits of a side: both are seconds of work."""
SHORT = 2**9
"""Levels that nothing refuses: a reach below it need not be exact."""
LONGEST_NUMBER = 20_000
"""The characters of a number in a certificate, as those who check one allow."""


class Outcome(Enum):
    """What an answer can be. `bool` of it is the clear answer; one that is too close to call is neither, and says so.

    >>> bool(Outcome.YES), str(Outcome.TOO_CLOSE)
    (True, 'too close to call')
    """

    YES = "yes"
    NO = "no"
    TOO_CLOSE = "too close to call"

    def __bool__(self) -> bool:
        if self is Outcome.TOO_CLOSE:
            raise DuotoneError("it is too close to call, which is neither yes nor no: compare it with Outcome.TOO_CLOSE first")
        return self is Outcome.YES

    def __str__(self) -> str:
        return str(self.value)


YES_NO = Outcome.YES, Outcome.NO
"""The outcomes of a table of yes/no answers."""


class Table(Protocol):
    """A row of whole numbers over 2^bits for each level or dataset: what a coin draws from.

    A row has one number fewer than there are outcomes, and its numbers never fall. A draw from 0 … 2^bits − 1 that is below
    the row's first number is the first outcome, one below the second number the second, and so on; any other is the last.
    """

    @property
    def bits(self) -> int:
        """Rows are out of 2^bits."""
        ...

    @property
    def outcomes(self) -> tuple[Any, ...]:
        """What can come out, in the order of a row."""
        ...

    @property
    def rows(self) -> range:
        """Which rows there are: levels, or positions of datasets."""
        ...

    @property
    def clamps(self) -> bool:
        """Whether beyond its first and last row a table stays as it is there (levels), or has nothing (datasets)."""
        ...

    def row(self, at: int) -> tuple[int, ...]:
        """The numbers of a row: each outcome's chance, added to those before it."""
        ...

    def find(self, at: Any) -> int | None:
        """The row of a level, or of a dataset by its name; None if there is none."""
        ...


Built = TypeVar("Built", bound=Any)
"""A table with its `loss`: how far an entry may be below the real optimum."""


def row_of_level(table: Table, at: Any) -> int | None:
    """The row of a level, which may be infinite; None for what is no whole number."""
    rows = table.rows
    if isinstance(at, float) and math.isinf(at):
        return rows[-1] if at > 0 else rows[0]
    if isinstance(at, bool | np.bool_) or not isinstance(at, int | np.integer):
        return None
    return min(max(int(at), rows.start), rows.stop - 1)


@dataclass(frozen=True, repr=False)
class LineTable:
    """The optimal mechanism on the line, in integers: Pr[truth] = entry / 2^bits by distance to the boundary.

    Beyond its last entry a side stays as it is. `loss` bounds how far any entry is below the real optimum.

    Guarantee: entries of neighbouring levels satisfy the privacy inequality as integers; no entry could be larger
    by one, given the boundary; `loss` is below 2^−60.
    """

    privacy: ApproxDP
    boundary: Boundary
    bits: int
    blue: tuple[int, ...]
    red: tuple[int, ...]
    loss: Fraction
    outcomes: ClassVar = YES_NO
    clamps: ClassVar = True

    def __repr__(self) -> str:
        return f"<LineTable: {len(self.blue) + len(self.red)} levels of {self.bits} bits, {self.privacy}>"

    def _repr_html_(self) -> str:
        return on_line(self.privacy, self.boundary).page(repr(self)[1:-1])

    def yes(self, level: int) -> int:
        """Pr[yes]·2^bits at a level."""
        if level >= 0:
            return self.blue[min(level, len(self.blue) - 1)]
        return (1 << self.bits) - self.red[min(-1 - level, len(self.red) - 1)]

    @property
    def rows(self) -> range:
        """The levels up to which it changes."""
        return range(-len(self.red), len(self.blue))

    def row(self, at: int) -> tuple[int]:
        """Pr[yes]·2^bits at a level: see `Table`."""
        return (self.yes(at),)

    find = row_of_level

    def certificate(self) -> dict[str, Any]:
        """The table as JSON with its claims; `duotone check` and `tools/check_certificate.py` re-check them."""
        return {
            **certificate_head("line", self.privacy, self.bits),
            "boundary": boundary_text(self.boundary),
            "blue": [str(t) for t in self.blue],
            "red": [str(t) for t in self.red],
            "error": {side: [error_text(t, self.bits) for t in getattr(self, side)] for side in ("blue", "red")},
        }


@lru_cache(maxsize=1)  # the last one: where its length was counted, it is not built again
def line_table(mechanism: LineMechanism) -> LineTable:
    """The integers from which answers by level are released.

    >>> from duotone import ApproxDP, balanced
    >>> table = line_table(balanced(ApproxDP(1, "1e-6")))
    >>> len(table.blue), table.blue[-1] == 2**table.bits, table.loss < 2**-60
    (15, True, True)
    """
    privacy, boundary = require_approx_dp(mechanism.privacy), mechanism.boundary
    boundary_text(boundary)  # raises what no certificate could say

    def build(bits: int) -> LineTable:
        floor, ceiling = Rounded(privacy, bits), Rounded(privacy, bits, up=True)
        low = on_line(floor, boundary)
        blue, red = (
            (Fraction(start), top) for start, top in zip((low.blue, low.red), _ceilings(ceiling, boundary), strict=True)
        )
        first = _side(floor, ceiling, *blue)
        second = first if red == blue else _side(floor, ceiling, *red)
        return LineTable(privacy, boundary, bits, first[0], second[0], Fraction(max(first[1], second[1]), 2**bits))

    return wide_enough(build)


def reach(mechanism: LineMechanism) -> int:
    """How far levels matter: how many entries the longer side of the mechanism's table has; of few, perhaps a few more.

    In closed form. Where delta is more than rounding takes, a side settles no sooner than the optimum is certain, and no later
    than φ rounded down does; where these differ, or delta is 0 or next to it, a long table is built to count.

    Guarantee: never less than the table's length; where there is no table, this raises what `line_table` does.

    >>> from duotone import ApproxDP, balanced
    >>> reach(balanced(ApproxDP(1, "1e-6")))
    15
    """
    privacy = require_approx_dp(mechanism.privacy)
    boundary_text(mechanism.boundary)  # raises what no certificate could say
    floor = Rounded(privacy, FEWEST_BITS)
    low = on_line(floor, mechanism.boundary)
    latest = max(floor.settles_after(side) for side in (low.blue, low.red))
    if latest < SHORT:
        return int(latest) + 1
    soonest = max(on_line(privacy.exactly(), mechanism.boundary).certain)
    if floor.reaches_one and soonest == latest < LONGEST // 2:  # so far from the longest there is a table, of 128 or 256 bits
        return int(latest) + 1
    table = line_table(mechanism)
    return max(len(table.blue), len(table.red))


def wide_enough(build: Callable[[int], Built]) -> Built:
    """The table with the fewest bits that loses little enough."""
    bits = FEWEST_BITS
    while bits <= MOST_BITS:
        if (table := build(bits)).loss < LOSS:
            return table
        bits *= 2
    raise DuotoneError("this budget needs probabilities too small to toss for: raise delta or the boundary value")


def _side(floor: Rounded, ceiling: Rounded, start: Fraction, top: Fraction) -> tuple[tuple[int, ...], int]:
    """A side of the line, and the largest gap to its bound from above; beyond the side's end the bound may go on to 1."""
    most = min(LONGEST, LARGEST // floor.bits)
    down, up, one = floor.on_integers(), ceiling.on_integers(), 1 << floor.bits
    here, bound = (gmpy2.mpz(int(x * one)) for x in (start, top))
    if float(start) > 0 and down(here) != here and floor.privacy.iterate(float(start), most)[1] > LOSS:
        raise _too_long(most)  # at once, rather than after a million steps
    side, worst = [int(here)], bound - here
    while (following := down(here)) != here:
        if len(side) >= most:
            raise _too_long(most)
        here, bound = following, up(bound)
        side.append(int(here))
        worst = max(worst, bound - here)
    return tuple(side), int(worst if up(bound) == bound else max(worst, one - here))


def _too_long(most: int) -> DuotoneError:
    return DuotoneError(f"this budget needs a table of more than {most} levels: raise epsilon or delta")


def _ceilings(ceiling: Rounded, boundary: Boundary) -> tuple[Fraction, Fraction]:
    """Bounds from above on the real optimum at the blue and at the red boundary."""
    top = on_line(ceiling, boundary)
    if boundary in ("balanced", "selection"):
        return Fraction(top.blue), Fraction(top.red)
    below = Rounded(ceiling.privacy, ceiling.bits).represent(Fraction(boundary))
    return Fraction(top.blue), ceiling.step(1 - below)


def certificate_head(kind: str, privacy: ApproxDP, bits: int) -> dict[str, Any]:
    """How every certificate begins."""
    return {
        "certificate": kind,
        "version": 1,
        "privacy": definition_object(privacy),
        "bits": bits,
        "claims": {"private": True, "optimal": True, "loss": "2^-60"},
    }


def error_text(truth: int, bits: int) -> str:
    """Pr[wrong] as a certificate shows it."""
    return repr(((1 << bits) - truth) / (1 << bits))  # of two integers: correctly rounded


def boundary_text(boundary: object) -> str:
    """A boundary as a certificate writes it, or a refusal."""
    if isinstance(boundary, str) and boundary in ("balanced", "selection"):
        return boundary
    text = show(Fraction(probability(boundary)))
    if len(text) > LONGEST_NUMBER:
        raise DuotoneError(f"a boundary value has too many digits: a certificate writes at most {LONGEST_NUMBER} characters")
    return text


def require_approx_dp(privacy: PrivacyDefinition) -> ApproxDP:
    """The definition, if tables exist for it."""
    if not isinstance(privacy, ApproxDP):
        raise DuotoneError("exact tables exist for (epsilon, delta)-privacy")
    return privacy
