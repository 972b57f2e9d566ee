"""Compiled comparisons: what each kind requests of an engine, and how results become levels.

`compile_question` dispatches on the kind. `threshold` has sums over people against a limit (counts, shares, averages,
quantiles), `difference` what needs a search (two averages, a variance), `rates` two averages of people with several
rows, `counts` what depends on the number of people with each value (arithmetic of counts, a mode, distinct values),
`top_group` which group leads. To add a kind: `sql/comparison` and `sql/build_comparison` (its syntax), `questions` (its
level), and a case in `compile_question`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duotone.model.dataset import Dataset, Grid
from duotone.questions.units import Units
from duotone.tables.engines.person_columns import PersonColumns
from duotone.tables.engines.results import Request, Result
from duotone.tables.sql.comparison import Settled

Array = NDArray[Any]
Results = Mapping[str, Result]
Levels = Callable[[Results, Array], NDArray[Any]]


@dataclass(frozen=True)
class CompiledComparison:
    """A comparison for the engine: a person's columns, the request for them, and the levels from the results and the
    number of people. `exact`: levels are distances; `settled`: the answer is the same on every table."""

    columns: PersonColumns
    requests: Mapping[str, Request]
    levels: Levels
    exact: bool
    grids: Mapping[str, Grid] = field(default_factory=dict)
    settled: Settled | None = None
    units: Units | None = None
    """Converts distances to the statistic's own units; None if it has no such unit."""
    searched: int = 0
    """Most changes for which a level is searched; 0 if no search is needed."""


def group_levels(people: Array, declared: Dataset, level: Callable[[int, int | None], float]) -> NDArray[np.float64]:
    """The levels of groups, computed one by one: from a group's index, and the number of people (under replace)."""
    every = people.tolist() if declared.replaced else [None] * len(people)
    return np.array([level(group, n) for group, n in enumerate(every)], dtype=float)
