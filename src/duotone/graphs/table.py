"""Tables of graphs: the optimal mechanism of every dataset as whole numbers over 2^bits, ready to be released and proved."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from duotone.graphs.graph import ColouredGraph
from duotone.graphs.mechanism import Mechanism
from duotone.graphs.optimum import Boundary, boundary_values, design, nearest_first, path_back
from duotone.graphs.values import ValuesByDataset
from duotone.line.table import boundary_text, certificate_head, error_text, require_approx_dp, wide_enough
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.definition import Array
from duotone.privacy.numbers import Number
from duotone.privacy.rounded import Rounded


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
            **certificate_head("graph", self.privacy, self.bits),
            "boundary": {names[self.graph.position(d)]: boundary_text(m) for d, m in boundary.items()}
            if isinstance(boundary, Mapping)
            else boundary_text(boundary),
            "datasets": {
                name: {
                    "colour": "blue" if blue else "red",
                    "truth": str(t),
                    "error": error_text(t, self.bits),
                    "from": None if w is None else names[w],
                }
                for name, blue, t, w in entries
            },
            "lowered": {names[i]: [names[j] for j in path] for i, path in self.lowered.items()},
            "edges": [[names[i], names[j]] for i, j in self.graph.edge_array().tolist()],
        }


def graph_table(graph: ColouredGraph, privacy: ApproxDP, boundary: Boundary = "balanced") -> GraphTable:
    """The integers from which answers by dataset are released.

    >>> from duotone import ApproxDP
    >>> from duotone.graphs import families
    >>> table = graph_table(families.votes(3).graph(), ApproxDP(exp_epsilon=2, delta="1/10"))
    >>> round(table.yes("111") / 2**table.bits, 12)
    0.9
    """
    require_approx_dp(privacy)
    design(graph, privacy, boundary)  # raises what is bad or infeasible
    if isinstance(boundary, ValuesByDataset | np.ndarray):
        rim = np.flatnonzero(graph.blue & graph.on_boundary).tolist()
        boundary = {graph.names[i]: boundary[i] for i in rim}

    values: dict[int, Number] | None = None
    if boundary != "balanced":
        asked = boundary if isinstance(boundary, Mapping) else dict.fromkeys(graph.boundary("blue"), boundary)
        values = boundary_values(graph, asked)
        for value in set(values.values()):
            boundary_text(value)

    def build(bits: int) -> GraphTable:
        floor, ceiling = Rounded(privacy, bits), Rounded(privacy, bits, up=True)
        fixed, lowered = _capped(graph, floor, values) if values and isinstance(boundary, Mapping) else (boundary, {})
        low = design(graph, floor, fixed)
        witness = _witnesses(graph, floor, low, graph.on_boundary & (graph.blue | (values is None)))
        above = _bounds_above(graph, floor, ceiling, witness, values)
        truth = tuple(int(Fraction(t) * 2**bits) for t in low.truth)
        loss = max(most - Fraction(t) for most, t in zip(above, low.truth, strict=True))
        held_by = tuple(witness.get(i) for i in range(len(graph)))
        return GraphTable(graph, privacy, boundary, bits, truth, held_by, lowered, loss)

    return wide_enough(build)


def _capped(
    graph: ColouredGraph, floor: Rounded, values: Mapping[int, Number]
) -> tuple[dict[Hashable, Number], dict[int, tuple[int, ...]]]:
    """Boundary values on the grid that are feasible there, and for each that had to be lowered, the path that did it.

    Rounding can make values clash that just fit. Lowering them along every path, of either colour, resolves that; by the
    symmetry of φ, which survives rounding, the red side then fits as well.
    """
    everywhere = np.ones(len(graph), dtype=bool)
    capped, came_from = nearest_first(graph, floor, {i: floor.represent(m) for i, m in values.items()}, everywhere)
    lowered = {i: tuple(reversed(path_back(i, came_from))) for i in values if i in came_from}
    return {graph.names[i]: capped[i] for i in values}, lowered


def _witnesses(graph: ColouredGraph, floor: Rounded, low: Mechanism, fixed: Array) -> dict[int, int | None]:
    """Who holds each dataset down, None for a fixed one; datasets that nothing holds down are not among them.

    Breadth first from the fixed datasets along tight steps: no chain can be circular, and a witness comes before those that
    it holds down.
    """
    witness: dict[int, int | None] = dict.fromkeys(np.flatnonzero(fixed).tolist())
    queue = deque(witness)
    while queue:
        i = queue.popleft()
        for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]].tolist():
            if j not in witness and _is_tight(graph, floor, low, fixed, i, j):
                witness[j] = i
                queue.append(j)
    return witness


def _is_tight(graph: ColouredGraph, floor: Rounded, low: Mechanism, fixed: Array, i: int, j: int) -> bool:
    """Whether dataset j could be more truthful, and has as much truth as its neighbour i allows.

    Across the boundary only a fixed dataset holds down: the other one follows from it.
    """
    alike = bool(graph.blue[i] == graph.blue[j])
    if not ((alike or fixed[i]) and low.truth[j] < 1):
        return False
    truth = Fraction(low.truth[i])
    return floor.step(truth if alike else 1 - truth) == low.truth[j]


def _bounds_above(
    graph: ColouredGraph,
    floor: Rounded,
    ceiling: Rounded,
    witness: Mapping[int, int | None],
    values: Mapping[int, Number] | None,
) -> list[Fraction]:
    """For each dataset a bound from above on the real optimum, along its chain of witnesses, rounded up at every step."""
    bounds: dict[int, Fraction] = {}
    for j, i in witness.items():
        if i is None:
            bounds[j] = ceiling.balance() if values is None else ceiling.represent(values[j])
        elif values is None or graph.blue[i] == graph.blue[j]:
            bounds[j] = ceiling.step(bounds[i])
        else:
            bounds[j] = ceiling.step(1 - floor.represent(values[i]))
    return [bounds.get(i, Fraction(1)) for i in range(len(graph))]
