"""Compiled comparisons: what each kind asks of an engine, and the levels that follow from what comes back.

`compile_question` knows the kinds. They stand by what they ask for: `threshold` has sums over people against a limit (counts,
shares, averages, quantiles), `difference` what a search decides (two averages, a variance), `counts` what follows from how many
people have each value (arithmetic of counts, a mode, different values). To add a kind: `sql/comparison` and
`sql/build_comparison` (how it is written), `questions` (its level), and its place in `compile_question`.
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
Levels = Callable[[Results, Array], NDArray[np.float64]]


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
    searched: int = 0
    """Changes up to which a level is searched for; 0 where it follows at once."""


def group_levels(people: Array, declared: Dataset, level: Callable[[int, int | None], float]) -> NDArray[np.float64]:
    """The levels of groups, each by itself: from its place, and how many people it has where one may change for another."""
    every = people.tolist() if declared.replaced else [None] * len(people)
    return np.array([level(group, n) for group, n in enumerate(every)], dtype=float)
