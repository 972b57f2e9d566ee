"""What every compiled comparison has, and what their kinds share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.model.bounds import FLOAT_STEPS, Grid
from duotone.model.checks import Reduction
from duotone.model.dataset import Dataset
from duotone.questions.units import Units
from duotone.tables.engines.person_columns import PersonColumns
from duotone.tables.engines.results import Request, Result
from duotone.tables.sql.comparison import Settled
from duotone.tables.sql.condition import Condition, Operand, both, columns_of
from duotone.tables.sql.satisfiable import any_value, combinations

Array = NDArray[Any]
Results = Mapping[str, Result]
Levels = Callable[[Results, Array], NDArray[np.float64]]


ONE_VALUE = "needs one value per person: per_unit avg, sum, min or max (max_rows does not say which row that would be)"


@dataclass(frozen=True)
class CompiledComparison:
    """A comparison on the engine: the columns of a person, what is requested of them, and the levels that follow, from
    the results and how many people there are. `exact` tells whether these are distances; `settled`, that the answer is
    the same on every table."""

    columns: PersonColumns
    requests: Mapping[str, Request]
    levels: Levels
    exact: bool
    grids: Mapping[str, Grid] = field(default_factory=dict)
    settled: Settled | None = None
    units: Units | None = None
    """What tells how far the statistic that is compared must be from its limit; None where there is no such number."""


def possible(*conditions: Condition) -> bool:
    """Whether a row can satisfy all conditions, as far as the question shows."""
    return (True,) in combinations([functools.reduce(both, conditions)])[0]


def independent(declared: Dataset, conditions: Sequence[Condition], values: Sequence[Operand | Condition]) -> bool:
    """Whether what is counted can have any value, and does not also stand in a condition, which might then rule out the far
    ends of its values. The unit cannot: no two people have the same."""
    looked_at = set().union(*(columns_of(condition) for condition in conditions))
    aimed_at = {v.column for v in values if isinstance(v, Operand)}
    free = declared.unit is None or declared.unit not in looked_at | aimed_at
    return free and not looked_at & aimed_at and all(any_value(v) for v in values if isinstance(v, Operand))


def require_short(grids: Mapping[str, Grid], how: Reduction | None) -> None:
    """A person's average is divided out as a float."""
    if how == "avg" and any(max(abs(g.low), abs(g.high)) > FLOAT_STEPS for g in grids.values()):
        raise DuotoneError("the bounds are too far apart for a person's average: give a coarser grid")
