"""How many different values there are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.model.dataset import Dataset
from duotone.questions.distinct import distinct_level
from duotone.questions.units import DistinctUnits
from duotone.tables.comparisons.shared import Array, CompiledComparison, Results, possible
from duotone.tables.engines.person_columns import labelled
from duotone.tables.engines.results import Rare
from duotone.tables.sql.comparison import DistinctThreshold, Settled
from duotone.tables.sql.condition import ALWAYS, IsNull, Not


def distinct_threshold(atom: DistinctThreshold, declared: Dataset, reach: int) -> CompiledComparison:
    """At least so many different values: the rarest go first, and newcomers bring new ones."""
    if declared.unit is not None and declared.per_unit not in ("min", "max"):
        raise DuotoneError("with a unit, different values are counted of one value per person: per_unit min or max")

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
