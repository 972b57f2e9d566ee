"""Does one choice win? How many different values are there?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from duotone.model.dataset import Dataset
from duotone.model.notice import Refusal
from duotone.questions.mode_and_distinct import distinct_level, plurality_level
from duotone.questions.units import DistinctUnits, LeadUnits
from duotone.tables.comparisons.shared import Array, CompiledComparison, Results, independent, possible
from duotone.tables.engines.person_columns import labelled, voting
from duotone.tables.engines.results import Rare, Votes
from duotone.tables.sql.comparison import DistinctThreshold, ModeIs, Settled
from duotone.tables.sql.condition import ALWAYS, Compare, IsNull, Not
from duotone.tables.sql.satisfiable import combinations


def mode_is(atom: ModeIs, declared: Dataset, reach: int) -> CompiledComparison:
    """More people have this value than any other one."""
    if declared.unit is not None and declared.per_unit not in ("min", "max"):
        raise Refusal("per_unit missing of a mode")
    columns = voting(atom.value, atom.where, atom.winner, declared.per_unit)

    def levels_of(results: Results, people: Array) -> NDArray[np.float64]:
        result = results["v"]
        others = (people - result.total).tolist() if declared.replaced else [None] * len(people)
        rivals = [result.largest.of(group) for group in range(len(people))]
        votes = zip(result.total.tolist(), rivals, others, strict=True)
        return np.array([plurality_level(own, rest, n, reach) for own, rest, n in votes], dtype=float)

    exact = combinations([atom.where])[1] and independent(declared, [atom.where], [atom.value])
    votes = possible(atom.where, Compare(atom.value, "=", atom.winner))
    settled = None if votes else Settled(False, "no row can have that value")
    units = LeadUnits(declared.replaced)
    return CompiledComparison(columns, {"v": Votes(reach)}, levels_of, exact, {}, settled, units)


def distinct_threshold(atom: DistinctThreshold, declared: Dataset, reach: int) -> CompiledComparison:
    """At least so many different values: the rarest go first, and newcomers bring new ones."""
    if declared.unit is not None and declared.per_unit not in ("min", "max"):
        raise Refusal("per_unit missing of different values")

    def levels_of(results: Results, people: Array) -> NDArray[np.float64]:
        rare = results["v"]
        everybody = people.tolist() if declared.replaced else [None] * len(people)
        rarest = [rare.smallest.of(group) for group in range(len(people))]
        found = zip(rare.total.tolist(), rarest, everybody, strict=True)
        return np.array([distinct_level(different, counts, atom.at_least, n) for different, counts, n in found], float)

    exact = atom.where == ALWAYS and atom.value.kind != "boolean" and atom.value.made is None
    columns = labelled(atom.value, atom.where, declared.per_unit)
    units = DistinctUnits(atom.at_least, declared.replaced)
    return CompiledComparison(columns, {"v": Rare(reach)}, levels_of, exact, {}, _settled(atom), units)


def _settled(atom: DistinctThreshold) -> Settled | None:
    if not possible(atom.where, Not(IsNull(atom.value))):
        return Settled(False, "no row can satisfy its condition")
    if atom.value.kind == "boolean" and atom.at_least > 2:
        return Settled(False, "a Boolean has two values")
    return None
