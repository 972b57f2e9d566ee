"""Tables: a mechanism as rows of integers over 2^bits, from which answers are drawn and certificates are written.

`line_table` makes the table of yes/no questions by level. Its entries are rounded towards privacy, so that each pair of
neighbours satisfies the privacy inequality as integers. The number of bits is raised until rounding costs less than
2^−60 at every level. (`graphs.table` makes those of graphs, `three_way` those of answers that may be too close to
call, `which` those of one answer among k.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import gmpy2
import numpy as np

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.line.mechanism import Boundary, LineMechanism, on_line
from duotone.line.noise import Noise, margin_is_private
from duotone.line.rows_json import Datasets, RowsJson
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.definition import Array, PrivacyDefinition
from duotone.privacy.numbers import probability, show
from duotone.privacy.renyi import FURTHEST, RenyiDP
from duotone.privacy.rounded import Rounded, shrunk
from duotone.privacy.text import Definition, definition_object

LOSS = Fraction(1, 2**60)
"""The most that rounding may cost, in probability, at any level or dataset."""
FEWEST_BITS, MOST_BITS = 128, 2**13
LONGEST, LARGEST = 2**20, 2**28
"""Most levels of a table, and most bits of a side: both are seconds of work."""
SHORT = 2**9
"""Levels below this are never refused: a reach within it need not be exact."""
LONGEST_NUMBER = 20_000
"""Most characters of a number in a certificate, as its checkers allow."""


class Outcome(Enum):
    """An outcome of a question. `bool` of it is the clear answer; one that is too close to call is neither, and raises
    an error.

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
THREE_WAY = Outcome.YES, Outcome.TOO_CLOSE, Outcome.NO
"""The outcomes of a table of answers that may be too close to call."""
OPTIMAL = {"private": True, "optimal": True, "loss": "2^-60"}
"""The claims of a table of yes/no answers; that of a line also claims its margin."""
OTHERS = "others"
"""How a certificate calls the outcomes that the last number of a row is for, if there are several."""
NEXT_TO_NOTHING = 2**9
"""δ is left out of a table with this many bits or more: one below 2^−256."""
CERTAIN = Fraction(1, 2**62)
"""If δ is close to 0 and no answer is ever certain, levels differ until a mistake is as rare as this."""


@dataclass(frozen=True, repr=False)
class Table:
    """A mechanism in integers: a row for each level or dataset, with an integer for each outcome, 2^bits in all.

    A coin draws from a row; a certificate proves the rows' claims. The last number may be for several outcomes together.
    Without a `graph`, rows belong to the levels from `lowest` on: neighbours' levels differ by at most 1, and beyond its
    first and its last row a table is constant. With a graph, they belong to its datasets, in order. Row i is
    `entries[i]`, or `entries[places[i]]` if many rows are equal.

    **Guarantee** (of `line_table` and `graph_table`): neighbouring rows satisfy the privacy inequality as integers; no
    truth could be larger by one, given the boundary; `loss`, how far any is below the real optimum, is less than 2^−60.
    """

    privacy: Definition
    """What one draw costs; of answers that may be too close to call, by how much neighbours' clocks differ (`three_way`)."""
    outcomes: tuple[Any, ...]
    """The outcomes, in the order of a row."""
    bits: int
    entries: tuple[tuple[int, ...], ...]
    lowest: int = 0
    """The level of the first row."""
    cap: int | None = None
    """Levels are clipped to [−cap, cap − 1] before noise is added; None: they are not."""
    tossed: bool = False
    """For margins: whether a coin may have replaced the level (`Noise.tossed`)."""
    boundary: Any = None
    """The requested boundary."""
    loss: Fraction = Fraction(0)
    alike: int = 1
    """How many outcomes the last number of a row is for, equally likely (`which`)."""
    places: Array | None = field(default=None, compare=False)
    graph: Datasets | None = field(default=None, compare=False)
    witness: Array | None = field(default=None, compare=False)
    """For a graph: the number of the neighbour that limits a dataset, −1 if its truth is fixed or certain; following it
    leads to a fixed dataset."""
    lowered: Mapping[int, tuple[int, ...]] = field(default_factory=dict, compare=False)
    """For a graph: the path to each boundary dataset whose value was lowered slightly to fit the grid."""

    def __repr__(self) -> str:
        return f"<Table: {len(self)} {'levels' if self.graph is None else 'datasets'} of {self.bits} bits, {self.privacy}>"

    def _repr_html_(self) -> str | None:
        if self.graph is not None or self.outcomes != YES_NO:
            return None
        return on_line(self.privacy, self.boundary).page(repr(self)[1:-1])

    def __len__(self) -> int:
        return len(self.entries if self.places is None else self.places)

    def find(self, at: Any) -> int | None:
        """The number of the row of a level, which may be infinite, or of a dataset by its name; None if there is
        none."""
        if self.graph is not None:
            return self.graph.find(at)
        first, last = self.levels
        if isinstance(at, float) and math.isinf(at):
            return (last if at > 0 else first) - self.lowest
        if isinstance(at, bool | np.bool_) or not isinstance(at, int | np.integer):
            return None
        return min(max(int(at), first), last) - self.lowest

    @property
    def levels(self) -> tuple[int, int]:
        """The first and the last level with a row of its own; for a graph, the numbers of its datasets."""
        first, last = self.lowest, self.lowest + len(self) - 1
        return (first, last) if self.cap is None else (max(first, -self.cap), min(last, self.cap - 1))

    def row(self, at: Any) -> tuple[int, ...]:
        """The row of a level, or of a dataset by its name."""
        number = self.find(at)
        if number is None:
            raise DuotoneError("that is neither a whole number (a level) nor a dataset of this table")
        return self.entries[number if self.places is None else int(self.places[number])]

    def yes(self, at: Any) -> int:
        """Pr[yes]·2^bits at a level or dataset."""
        return self.row(at)[0]

    def chances(self, at: Any) -> tuple[Fraction, ...]:
        """The probability of each outcome at a level or dataset, exactly."""
        *others, last = self.row(at)
        each = (Fraction(number, 1 << self.bits) for number in others)
        return (*each, *[Fraction(last, self.alike << self.bits)] * self.alike)

    @cached_property
    def blue(self) -> tuple[int, ...]:
        """Pr[yes]·2^bits by level from 0 on, where yes is the truth."""
        return tuple([row[0] for row in self.entries[-self.lowest : self.levels[1] + 1 - self.lowest]])

    @cached_property
    def red(self) -> tuple[int, ...]:
        """Pr[no]·2^bits by level from −1 downwards, where no is the truth."""
        return tuple([row[-1] for row in self.entries[self.levels[0] - self.lowest : -self.lowest][::-1]])

    @property
    def has_margins(self) -> bool:
        """Whether a margin is free: of yes and no by level, under (ε, δ). Under one Rényi order it would cost more."""
        return self.graph is None and self.outcomes == YES_NO and isinstance(self.privacy, ApproxDP)

    @cached_property
    def noise(self) -> Noise:
        """Of yes and no by level: the noise that makes a level a margin."""
        if isinstance(self.privacy, RenyiDP):
            raise DuotoneError("under one Rényi order an answer has no margin: ask under (epsilon, delta) for one")
        if self.graph is not None or self.outcomes != YES_NO:
            raise DuotoneError("only the table of yes and no by level has margins")
        return Noise(tuple([row[0] for row in self.entries]), self.lowest, self.bits, self.cap, self.tossed)

    def unclipped(self) -> Table:
        """The same for levels that are not clipped, such as those of a count, which are exact at any distance."""
        if not self.noise.bounded:
            raise DuotoneError("with noise that is not bounded (a δ of 0) levels must be clipped")
        return replace(self, cap=None)

    def of_groups(self) -> Table:
        """The same for privately selected groups: a margin may be the toss of a coin, so answers are certain one level
        later."""
        cap = self.cap if self.cap is None or not self.noise.bounded else self.cap + 1
        return replace(self, tossed=True, cap=cap)

    @property
    def reach(self) -> int:
        """The number of people from which every level is alike, including its margin."""
        return max(-self.lowest, len(self) + self.lowest) if self.cap is None else self.cap

    def certificate(self) -> dict[str, Any]:
        """The table as JSON with its claims; `duotone check` and `tools/check_certificate.py` re-check them."""
        return self._optimal().as_dict()

    def certificate_text(self) -> Iterator[str]:
        """`json.dumps` of that certificate in pieces, without ever holding all of it."""
        return self._optimal().text()

    def _optimal(self) -> RowsJson:
        """The certificate of a table of yes/no answers."""
        if self.outcomes != YES_NO:
            raise DuotoneError(
                "this table has no certificate of its own: for close calls, use `CloseCalls.certificate`, and for one answer "
                "among several `Which.certificate`"
            )
        boundary, lowered = self.boundary, {}
        if self.graph is not None and isinstance(boundary, Mapping):
            names = self.graph.labels()
            numbers = {self.graph.find(d): m for d, m in boundary.items()}
            boundary = {names[i]: boundary_text(m) for i, m in numbers.items() if i is not None}
            lowered = {names[i]: [names[j] for j in path] for i, path in self.lowered.items()}
        else:
            boundary = boundary_text(boundary)
        beside = {"boundary": boundary}
        if self.graph is not None:
            return self.document(OPTIMAL, {**beside, "lowered": lowered})
        claims = {**OPTIMAL, "margin": True} if self.has_margins else OPTIMAL
        return self.document(claims, {**beside, "cap": self.cap})

    def document(self, claims: Mapping[str, Any], beside: Mapping[str, Any]) -> RowsJson:
        """A certificate of format version 1 (docs/theory.md): the claims, what they need, and the rows."""
        outcomes = [str(outcome) for outcome in self.outcomes[: 1 - self.alike or None]]
        before = {
            "certificate": "duotone",
            "version": 1,
            "privacy": definition_object(self.privacy),
            "outcomes": outcomes if self.alike == 1 else [*outcomes[:-1], OTHERS],
            "bits": self.bits,
            "claims": dict(claims),
            **beside,
        }
        numbers = [[str(number) for number in row] for row in self.entries]
        if self.graph is None:
            rows: list[dict[str, Any]] = [{"numbers": each} for each in numbers]
            if self.outcomes == YES_NO:
                truths = [row[level < 0] for level, row in enumerate(self.entries, start=self.lowest)]
                rows = [{**row, "error": _error_text(t, self.bits)} for row, t in zip(rows, truths, strict=True)]
            return RowsJson({**before, "lowest": self.lowest}, "rows", rows, np.arange(len(rows)))
        rows = [
            {"numbers": each, "colour": colour, "error": _error_text(row[yes], self.bits)}
            for yes, colour in enumerate(("blue", "red"))
            for each, row in zip(numbers, self.entries, strict=True)
        ]
        kind = np.min_scalar_type(len(rows))
        places = np.arange(len(self), dtype=kind) if self.places is None else self.places.astype(kind)
        places[~self.graph.blue] += kind.type(len(self.entries))
        return RowsJson(before, "rows", rows, places, self.graph, self.witness)


@lru_cache(maxsize=1)  # the last one: if its length was counted, it is not built again
def line_table(mechanism: LineMechanism) -> Table:
    """The integers from which answers by level are drawn.

    >>> from duotone import ApproxDP, balanced
    >>> table = line_table(balanced(ApproxDP(1, "1e-6")))
    >>> len(table.blue), table.blue[-1] == 2**table.bits, table.loss < 2**-60
    (15, True, True)
    """
    privacy, boundary = require_tabled(mechanism.privacy), mechanism.boundary
    boundary_text(boundary)  # raises what no certificate could say

    def build(bits: int) -> Table | None:
        floor, ceiling = Rounded(shrunk(privacy, bits), bits), Rounded(privacy, bits, up=True)
        if privacy.delta > 0 == floor.step(Fraction(0)) and bits < NEXT_TO_NOTHING:
            return None  # with more bits there is room for this δ
        low, tops = on_line(floor, boundary), _ceilings(ceiling, boundary)
        starts = Fraction(low.blue), Fraction(low.red)
        clipped = isinstance(privacy, ApproxDP) and not floor.privacy.delta > 0
        cap = max(_almost_certain(floor, start) for start in starts) if clipped else None
        first = _side(floor, ceiling, starts[0], tops[0], cap)
        second = first if (starts[0], tops[0]) == (starts[1], tops[1]) else _side(floor, ceiling, starts[1], tops[1], cap)
        one, loss = 1 << bits, Fraction(max(first[1], second[1]), 2**bits)
        rows = (*((one - t, t) for t in second[0][::-1]), *((t, one - t) for t in first[0]))
        if isinstance(privacy, RenyiDP):
            return Table(privacy, YES_NO, bits, rows, -len(second[0]), boundary=boundary, loss=loss)
        cap = len(rows) - 1 if cap is None else cap
        private = margin_is_private([yes for yes, _ in rows], bits, privacy)
        return Table(privacy, YES_NO, bits, rows, -len(second[0]), cap, boundary=boundary, loss=loss) if private else None

    return wide_enough(build)


class Reach(NamedTuple):
    """How many people matter: levels of this many people, and of more, are alike."""

    answers: int
    """For yes and no."""
    margins: int
    """For margins, too."""


def reach(mechanism: LineMechanism) -> Reach:
    """How many people matter to answers, and to their margins; possibly a few too many.

    In closed form if δ exceeds the rounding error: a side then settles no sooner than the optimum is certain, and no
    later than φ rounded down does. If these differ, or δ is 0 or close to it, a table is built to count.

    Guarantee: never less than the table's cap; without a table, this raises what `line_table` does.

    >>> from duotone import ApproxDP, balanced
    >>> reach(balanced(ApproxDP(1, "1e-6")))
    Reach(answers=15, margins=29)
    """
    privacy = require_tabled(mechanism.privacy)
    boundary_text(mechanism.boundary)  # raises what no certificate could say
    floor = Rounded(shrunk(privacy, FEWEST_BITS), FEWEST_BITS)
    if isinstance(privacy, ApproxDP) and floor.reaches_one:
        low, exact = on_line(floor, mechanism.boundary), on_line(privacy.exactly(), mechanism.boundary)
        latest = [floor.settles_after(side) for side in (low.blue, low.red)]
        if max(latest) < SHORT or (max(latest) < LONGEST // 2 and latest == [*exact.certain]):  # far from the longest
            return Reach(int(max(latest)) + 1, int(sum(latest)) + 1)
    table = line_table(mechanism)
    return Reach(max(len(table.blue), len(table.red)), table.reach)


def wide_enough(build: Callable[[int], Table | None]) -> Table:
    """The table with the fewest bits that is valid and loses little enough."""
    bits = FEWEST_BITS
    while bits <= MOST_BITS:
        table = build(bits)
        if table is not None and table.loss < LOSS:
            return table
        bits *= 2
    raise DuotoneError("this budget needs probabilities too small to draw: raise delta or the boundary value")


def _almost_certain(floor: Rounded, start: Fraction) -> int:
    """How many levels a side has up to one where a mistake is as rare as CERTAIN, or where nothing changes."""
    most, down, one = min(LONGEST, LARGEST // floor.bits) // 2, floor.on_integers(), 1 << floor.bits
    here, rare, levels = gmpy2.mpz(int(start * one)), int(CERTAIN * one), 1
    if float(start) > 0 and down(here) != here and floor.privacy.iterate(float(start), most)[1] > CERTAIN:
        raise too_long(2 * most)  # at once, rather than after a million steps
    while one - here > rare and (following := down(here)) != here:
        if levels >= most:
            raise too_long(2 * most)
        here, levels = following, levels + 1
    return levels


def _side(floor: Rounded, ceiling: Rounded, start: Fraction, top: Fraction, cap: int | None) -> tuple[tuple[int, ...], int]:
    """A side of the line, and the largest gap to its upper bound; beyond the side's end the bound may rise to 1.

    It ends where φ changes nothing more; with a `cap`, it has 2·cap − 1 levels, so that margins up to cap are within it. Of one
    Rényi order without a δ it ends where a mistake is as rare as CERTAIN.
    """
    most, privacy = min(LONGEST, LARGEST // floor.bits), floor.privacy
    renyi = isinstance(privacy, RenyiDP)
    if isinstance(privacy, RenyiDP) and start > 0 and privacy.steps_at_least() > (most := FURTHEST):
        raise too_long(most, renyi=True)
    down, up, one = floor.on_integers(), ceiling.on_integers(), 1 << floor.bits
    here, bound = (gmpy2.mpz(int(x * one)) for x in (start, top))
    if not renyi and cap is None and float(start) > 0 and down(here) != here and privacy.iterate(float(start), most)[1] > LOSS:
        raise too_long(most)  # at once, rather than after a million steps
    side, worst, end = [int(here)], bound - here, None if cap is None else 2 * cap - 1
    rare = int(CERTAIN * one) if renyi and not privacy.delta else -1
    while len(side) != end and one - here > rare and ((following := down(here)) != here or end is not None):
        if len(side) >= most:
            raise too_long(most, renyi=renyi)
        here, bound = following, up(bound)
        side.append(int(here))
        worst = max(worst, bound - here)
    last = here if cap is None else side[cap - 1]
    return tuple(side), int(max(worst, (bound if up(bound) == bound else one) - last))


def too_long(most: int, *, renyi: bool = False) -> DuotoneError:
    """The refusal of a budget that needs more levels than this."""
    by = "the price or delta" if renyi else "epsilon or delta"
    return DuotoneError(f"this budget needs a table of more than {most} levels: raise {by}")


def _ceilings(ceiling: Rounded, boundary: Boundary) -> tuple[Fraction, Fraction]:
    """Upper bounds on the real optimum at the blue and at the red boundary."""
    top = on_line(ceiling, boundary)
    if boundary in ("balanced", "selection"):
        return Fraction(top.blue), Fraction(top.red)
    below = Rounded(ceiling.privacy, ceiling.bits).represent(Fraction(boundary))
    return Fraction(top.blue), ceiling.step(1 - below)


def _error_text(truth: int, bits: int) -> str:
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


def require_tabled(privacy: PrivacyDefinition) -> Definition:
    """The definition, if tables exist for it."""
    if not isinstance(privacy, ApproxDP | RenyiDP):
        raise DuotoneError("exact tables exist for (epsilon, delta)-privacy and for one Rényi order")
    if isinstance(privacy, RenyiDP) and privacy.price == 1 and privacy.delta == 0:
        raise DuotoneError("a price of 1 with a delta of 0 allows no answer that tells anything: raise the price")
    return privacy
