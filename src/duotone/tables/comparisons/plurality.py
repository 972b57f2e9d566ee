"""Does one choice win?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.model.dataset import Dataset
from duotone.questions.plurality import plurality_level
from duotone.questions.units import LeadUnits
from duotone.tables.comparisons.shared import Array, CompiledComparison, Results, independent, possible
from duotone.tables.engines.person_columns import voting
from duotone.tables.engines.results import Votes
from duotone.tables.sql.comparison import ModeIs, Settled
from duotone.tables.sql.condition import Compare
from duotone.tables.sql.satisfiable import combinations


def mode_is(atom: ModeIs, declared: Dataset, reach: int) -> CompiledComparison:
    """More people have this value than any other one."""
    if declared.unit is not None and declared.per_unit not in ("min", "max"):
        raise DuotoneError("with a unit, a mode needs one value per person: per_unit min or max")
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
