"""Tables: a mechanism as whole numbers over 2^bits, ready to be released and to be proved.

Every value is rounded away from usefulness, so that each pair of neighbours satisfies the privacy inequality as
integers. The number of bits is raised until what rounding costs is below 2^−60 at every dataset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import gmpy2
import numpy as np

from duotone.column import Column
from duotone.errors import DuotoneError
from duotone.graph import ColouredGraph
from duotone.line import Boundary as LineBoundary
from duotone.line import LineMechanism, on_line
from duotone.mechanism import Mechanism
from duotone.optimal import Boundary, boundary_values, design, nearest_first
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.definition import Notion
from duotone.privacy.numbers import Number, probability, show
from duotone.privacy.rounded import Rounded

LOSS = Fraction(1, 2**60)
"""What rounding may cost at most, in probability, at any level or dataset."""
FEWEST_BITS, MOST_BITS = 128, 2**13
LONGEST, LARGEST = 2**20, 2**28
"""The levels up to which a table is written out, and the bits of a side: both are seconds of work."""
LONGEST_NUMBER = 20_000
"""The characters of a number in a certificate, as those who check one allow."""


Table = TypeVar("Table", "LineTable", "GraphTable")


@dataclass(frozen=True)
class LineTable:
    """The optimal mechanism on the line, in integers: Pr[truth] = entry / 2^bits by distance to the boundary.

    Beyond its last entry a side stays as it is. `loss` bounds by how much any entry is below the real optimum.

    Guarantee: entries of neighbouring levels satisfy the privacy inequality as integers; no entry could be larger
    by one, given the boundary; `loss` is below 2^−60.
    """

    privacy: ApproxDP
    boundary: LineBoundary
    bits: int
    blue: tuple[int, ...]
    red: tuple[int, ...]
    loss: Fraction

    def yes(self, level: int) -> int:
        """Pr[yes]·2^bits at a level."""
        if level >= 0:
            return self.blue[min(level, len(self.blue) - 1)]
        return (1 << self.bits) - self.red[min(-1 - level, len(self.red) - 1)]

    def certificate(self) -> dict[str, Any]:
        """The table as JSON with its claims; `duotone check` and `tools/check_certificate.py` re-check them."""
        return {
            **_head("line", self.privacy, self.bits),
            "boundary": _written(self.boundary),
            "blue": [str(t) for t in self.blue],
            "red": [str(t) for t in self.red],
            "error": {side: [_error(t, self.bits) for t in getattr(self, side)] for side in ("blue", "red")},
        }


@dataclass(frozen=True, eq=False)
class GraphTable:
    """The optimal mechanism on a coloured graph, in integers: Pr[truth] = entry / 2^bits by dataset.

    `witness` names, for each dataset that could be more truthful, the neighbour that holds it down; following it
    leads to a fixed boundary dataset. `lowered` has the path to each boundary dataset whose value was lowered a little
    to fit the grid. The guarantees are those of `LineTable`.
    """

    graph: ColouredGraph
    privacy: ApproxDP
    boundary: Boundary
    bits: int
    truth: tuple[int, ...]
    witness: tuple[int | None, ...]
    lowered: Mapping[int, tuple[int, ...]]
    loss: Fraction

    def yes(self, dataset: Hashable) -> int:
        """Pr[yes]·2^bits at a dataset."""
        i = self.graph.position(dataset)
        return self.truth[i] if self.graph.blue[i] else (1 << self.bits) - self.truth[i]

    def mechanism(self) -> Mechanism:
        """The mechanism that is released, exactly."""
        return Mechanism(self.graph, tuple(Fraction(t, 2**self.bits) for t in self.truth))

    def certificate(self) -> dict[str, Any]:
        """The table as JSON with its edges, witnesses and claims."""
        names = self.graph.labels()
        entries = zip(names, self.graph.blue.tolist(), self.truth, self.witness, strict=True)
        boundary = self.boundary
        return {
            **_head("graph", self.privacy, self.bits),
            "boundary": {names[self.graph.position(d)]: _written(m) for d, m in boundary.items()}
            if isinstance(boundary, Mapping)
            else _written(boundary),
            "datasets": {
                name: {
                    "colour": "blue" if blue else "red",
                    "truth": str(t),
                    "error": _error(t, self.bits),
                    "from": None if w is None else names[w],
                }
                for name, blue, t, w in entries
            },
            "lowered": {names[i]: [names[j] for j in path] for i, path in self.lowered.items()},
            "edges": [[names[i], names[j]] for i, j in self.graph.edge_array().tolist()],
        }


def line_table(mechanism: LineMechanism) -> LineTable:
    """The integers from which answers by level are released.

    >>> from duotone import ApproxDP, balanced
    >>> table = line_table(balanced(ApproxDP(1, "1e-6")))
    >>> len(table.blue), table.blue[-1] == 2**table.bits, table.loss < 2**-60
    (15, True, True)
    """
    privacy, boundary = _approx(mechanism.privacy), mechanism.boundary
    _written(boundary)  # raises what no certificate could say

    def build(bits: int) -> LineTable:
        floor, ceiling = Rounded(privacy, bits), Rounded(privacy, bits, up=True)
        low = on_line(floor, boundary)
        blue, red = (
            (Fraction(start), top) for start, top in zip((low.blue, low.red), _ceilings(ceiling, boundary), strict=True)
        )
        first = _side(floor, ceiling, *blue)
        second = first if red == blue else _side(floor, ceiling, *red)
        return LineTable(privacy, boundary, bits, first[0], second[0], Fraction(max(first[1], second[1]), 2**bits))

    return _wide_enough(build)


def graph_table(graph: ColouredGraph, privacy: ApproxDP, boundary: Boundary = "balanced") -> GraphTable:
    """The integers from which answers by dataset are released.

    >>> from duotone import ApproxDP, families
    >>> table = graph_table(families.votes(3).graph(), ApproxDP(ratio=2, delta="1/10"))
    >>> round(table.yes("111") / 2**table.bits, 12)
    0.9
    """
    _approx(privacy)
    design(graph, privacy, boundary)  # raises what is bad or infeasible
    if isinstance(boundary, Column | np.ndarray):
        rim = np.flatnonzero(graph.blue & graph.on_boundary).tolist()
        boundary = {graph.names[i]: boundary[i] for i in rim}

    values: dict[int, Number] | None = None
    if boundary != "balanced":
        asked = boundary if isinstance(boundary, Mapping) else dict.fromkeys(graph.boundary("blue"), boundary)
        values = boundary_values(graph, asked)
        for value in set(values.values()):
            _written(value)

    def build(bits: int) -> GraphTable:
        floor, ceiling = Rounded(privacy, bits), Rounded(privacy, bits, up=True)
        fixed, lowered = _capped(graph, floor, values) if values and isinstance(boundary, Mapping) else (boundary, {})
        low = design(graph, floor, fixed)
        witness, tops = _held_down(graph, floor, ceiling, low, values)
        truth = tuple(int(Fraction(t) * 2**bits) for t in low.truth)
        loss = max(top - Fraction(t) for top, t in zip(tops, low.truth, strict=True))
        return GraphTable(graph, privacy, boundary, bits, truth, witness, lowered, loss)

    return _wide_enough(build)


def _wide_enough(build: Callable[[int], Table]) -> Table:
    """The table with the fewest bits that loses little enough."""
    bits = FEWEST_BITS
    while bits <= MOST_BITS:
        if (table := build(bits)).loss < LOSS:
            return table
        bits *= 2
    raise DuotoneError("this budget needs probabilities too small to toss for: raise delta or the boundary value")


def _capped(
    graph: ColouredGraph, floor: Rounded, values: Mapping[int, Number]
) -> tuple[dict[Hashable, Number], dict[int, tuple[int, ...]]]:
    """Boundary values on the grid that are feasible there, and for each that had to be lowered, the path that did it.

    Rounding can make values clash that just fit. Lowering them along every path, of either colour, mends that; by the
    symmetry of φ, which survives rounding, the red side then fits as well.
    """
    everywhere = np.ones(len(graph), dtype=bool)
    capped, came_from = nearest_first(graph, floor, {i: floor.represent(m) for i, m in values.items()}, everywhere)
    lowered: dict[int, tuple[int, ...]] = {}
    for i in values:
        path = [i]
        while path[-1] in came_from:
            path.append(came_from[path[-1]])
        if len(path) > 1:
            lowered[i] = tuple(reversed(path))
    return {graph.names[i]: capped[i] for i in values}, lowered


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


def _ceilings(ceiling: Rounded, boundary: LineBoundary) -> tuple[Fraction, Fraction]:
    """Bounds from above on the real optimum at the blue and at the red boundary."""
    top = on_line(ceiling, boundary)
    if boundary in ("balanced", "selection"):
        return Fraction(top.blue), Fraction(top.red)
    below = Rounded(ceiling.privacy, ceiling.bits).represent(Fraction(boundary))
    return Fraction(top.blue), ceiling.step(1 - below)


def _held_down(
    graph: ColouredGraph, floor: Rounded, ceiling: Rounded, low: Mechanism, values: Mapping[int, Number] | None
) -> tuple[tuple[int | None, ...], list[Fraction]]:
    """Who holds each dataset down, and a bound from above on the real optimum along the same chain.

    Breadth first from the fixed datasets (both boundaries where `values` is None: balanced) along tight steps, so that no
    chain can be circular.
    """
    fixed = graph.on_boundary if values is None else graph.on_boundary & graph.blue
    found: dict[int, int | None] = dict.fromkeys(np.flatnonzero(fixed).tolist())
    tops = {i: ceiling.balance() if values is None else ceiling.represent(values[i]) for i in found}
    queue = deque(found)
    while queue:
        i = queue.popleft()
        for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]].tolist():
            same = bool(graph.blue[i] == graph.blue[j])
            if j not in found and (same or fixed[i]) and low.truth[j] < 1:
                here = Fraction(low.truth[i])
                if floor.step(here if same else 1 - here) == low.truth[j]:
                    found[j] = i
                    tops[j] = ceiling.step(tops[i] if same or values is None else 1 - floor.represent(values[i]))
                    queue.append(j)
    return tuple(found.get(i) for i in range(len(graph))), [tops.get(i, Fraction(1)) for i in range(len(graph))]


def _head(kind: str, privacy: ApproxDP, bits: int) -> dict[str, Any]:
    return {
        "certificate": kind,
        "version": 1,
        "privacy": {
            "epsilon": None if privacy.exponent is None else show(privacy.exponent),
            "ratio": show(privacy.ratio),
            "delta": show(Fraction(privacy.delta)),
        },
        "bits": bits,
        "claims": {"private": True, "optimal": True, "loss": "2^-60"},
    }


def _error(truth: int, bits: int) -> str:
    return repr(((1 << bits) - truth) / (1 << bits))  # of two integers: correctly rounded


def _written(boundary: object) -> str:
    if isinstance(boundary, str) and boundary in ("balanced", "selection"):
        return boundary
    text = show(Fraction(probability(boundary)))
    if len(text) > LONGEST_NUMBER:
        raise DuotoneError(f"a boundary value has too many digits: a certificate writes at most {LONGEST_NUMBER} characters")
    return text


def _approx(privacy: Notion) -> ApproxDP:
    if not isinstance(privacy, ApproxDP):
        raise DuotoneError("exact tables exist for (epsilon, delta)-privacy")
    return privacy
