"""Tables of graphs: the optimal mechanism of every dataset as integers over 2^bits, ready to be released and proved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from duotone.errors import Infeasible
from duotone.graphs.graph import ColouredGraph, by_name
from duotone.graphs.mechanism import Mechanism
from duotone.graphs.optimum import Boundary, boundary_values, design, nearest_first, path_back
from duotone.graphs.values import ValuesByDataset
from duotone.line.table import YES_NO, Table, boundary_text, require_tabled, wide_enough
from duotone.privacy.definition import Array
from duotone.privacy.numbers import Number
from duotone.privacy.rounded import Rounded
from duotone.privacy.text import Definition


def graph_table(graph: ColouredGraph, privacy: Definition, boundary: Boundary = "balanced") -> Table:
    """The integers from which answers by dataset are drawn, each with a witness that no more truth is possible.

    >>> from duotone import ApproxDP
    >>> from duotone.graphs import families
    >>> table = graph_table(families.votes(3).graph(), ApproxDP(exp_epsilon=2, delta="1/10"))
    >>> round(table.yes("111") / 2**table.bits, 12)
    0.9
    """
    require_tabled(privacy)
    design(graph, privacy, boundary)  # raises if the boundary is invalid or infeasible
    boundary = by_name(boundary)
    if isinstance(boundary, ValuesByDataset | np.ndarray):
        rim = np.flatnonzero(graph.blue & graph.on_boundary).tolist()
        boundary = {graph.names[i]: boundary[i] for i in rim}

    values: dict[int, Number] | None = None
    if boundary != "balanced":
        asked = boundary if isinstance(boundary, Mapping) else dict.fromkeys(graph.boundary("blue"), boundary)
        values = boundary_values(graph, asked)
        boundary = {graph.names[i]: value for i, value in values.items()} if isinstance(boundary, Mapping) else boundary
        for value in set(values.values()):
            boundary_text(value)

    def build(bits: int) -> Table:
        floor, ceiling = Rounded(privacy, bits), Rounded(privacy, bits, up=True)
        each = values if isinstance(boundary, Mapping) else None
        low, lowered = _capped(graph, floor, each) if each else (design(graph, floor, boundary), {})
        entries, places = _entries(low.truth, bits)
        fixed = graph.on_boundary & (graph.blue | (values is None))
        waves = [*_waves(graph, places, *_allowed(floor, entries), fixed)]
        witness = np.full(len(graph), -1, dtype=np.int32)
        for held, holders in waves:
            witness[held] = holders
        above = _bounds_above(graph, floor, ceiling, waves, values)
        loss = max(bound - entries[k] for bound, k in zip(above.tolist(), places.tolist(), strict=True))
        one = 1 << bits
        rows = (*((t, one - t) for t in entries), *((one - t, t) for t in entries))
        places = places.astype(np.min_scalar_type(len(rows)))
        places[~graph.blue] += len(entries)
        return Table(
            privacy,
            YES_NO,
            bits,
            rows,
            boundary=boundary,
            loss=Fraction(int(loss), one),
            places=places,
            graph=graph,
            witness=witness,
            lowered=lowered,
        )

    return wide_enough(build)


def _capped(graph: ColouredGraph, floor: Rounded, values: Mapping[int, Number]) -> tuple[Mechanism, dict[int, tuple[int, ...]]]:
    """The optimum on the grid, and for each boundary value that had to be lowered to be feasible there, the path that
    did it.

    Rounding can make values clash that just fit. Lowering them along every path, of either colour, resolves that; by
    the symmetry of φ, which survives rounding, the red side then fits as well.
    """
    fitting: dict[int, Number] = {i: floor.represent(m) for i, m in values.items()}
    try:
        return design(graph, floor, {graph.names[i]: m for i, m in fitting.items()}), {}  # feasible: no path lowers one
    except Infeasible:
        capped, came_from = nearest_first(graph, floor, fitting, np.ones(len(graph), dtype=bool))
    lowered = {i: tuple(reversed(path_back(i, came_from))) for i in values if i in came_from}
    return design(graph, floor, {graph.names[i]: capped[i] for i in values}), lowered


def _entries(truth: ValuesByDataset, bits: int) -> tuple[tuple[int, ...], Array]:
    """The distinct entries, and each dataset's place among them."""
    each = [int(Fraction(t) * 2**bits) for t in truth.values]
    place = {t: k for k, t in enumerate(dict.fromkeys(each))}
    return tuple(place), np.array([place[t] for t in each], dtype=np.min_scalar_type(len(place)))[truth.places]


def _allowed(floor: Rounded, entries: tuple[int, ...]) -> tuple[Array, Array]:
    """By entry of a dataset: the place of the most that it allows a neighbour of the same colour, and of the other; −1
    if no dataset has that value, or if it is 1 and nothing limits it."""
    step, one = floor.on_integers(), 1 << floor.bits
    place = {t: k for k, t in enumerate(entries) if t < one}
    alike, across = ([place.get(int(step(t)), -1) for t in truths] for truths in (entries, [one - t for t in entries]))
    return np.array(alike), np.array(across)


def _waves(graph: ColouredGraph, places: Array, alike: Array, across: Array, fixed: Array) -> Iterator[tuple[Array, Array]]:
    """The datasets that a neighbour limits, each with that neighbour, by distance from the fixed ones along tight
    steps.

    Breadth first; the first in the queue is the witness, so no chain is circular, and a witness comes before those that
    it limits. Across the boundary only a fixed dataset is a witness: the other direction follows.
    """
    known, wave = fixed.copy(), np.flatnonzero(fixed)
    while wave.size:
        starts, lengths = graph.indptr[wave], graph.indptr[wave + 1] - graph.indptr[wave]
        holders = np.repeat(wave, lengths)
        near = graph.indices[np.arange(len(holders)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)]
        new = ~known[near]
        near, holders = near[new], holders[new]
        same = graph.blue[holders] == graph.blue[near]
        allowed = np.where(same, alike[places[holders]], across[places[holders]])
        tight = (same | fixed[holders]) & (allowed == places[near])
        held, holders = near[tight], holders[tight]
        first = np.sort(np.unique(held, return_index=True)[1])
        wave, holders = held[first], holders[first]
        known[wave] = True
        yield wave, holders


def _bounds_above(
    graph: ColouredGraph,
    floor: Rounded,
    ceiling: Rounded,
    waves: Sequence[tuple[Array, Array]],
    values: Mapping[int, Number] | None,
) -> Array:
    """For each dataset an upper bound on the real optimum, along its chain of witnesses, rounded up at every step."""
    step, one = cache(ceiling.on_integers()), 1 << ceiling.bits
    above, across = np.full((2, len(graph)), one, dtype=object)
    if values is None:
        above[graph.on_boundary] = int(ceiling.balance() * one)
    else:
        nodes, asked = [*values], ValuesByDataset.of(values.values())
        above[nodes] = np.array([int(ceiling.represent(m) * one) for m in asked.values], dtype=object)[asked.places]
        across[nodes] = np.array([step(one - int(floor.represent(m) * one)) for m in asked.values], dtype=object)[asked.places]
    for held, holders in waves:
        alike = np.fromiter(map(step, above[holders]), dtype=object, count=len(holders))
        above[held] = np.where(graph.blue[held] == graph.blue[holders], alike, across[holders])
    return above
