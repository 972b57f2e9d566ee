"""Compiled comparisons: what each kind asks of an engine, and the levels that follow from what comes back.

Start with `compile_comparison`, here, which knows the kinds. They stand by what they ask for: `threshold` has sums over people
against a limit (counts, shares, averages, quantiles), `difference` what a search decides (two averages, a variance), `counts`
what follows from how many people have each value (arithmetic of counts, a mode, different values). `shared` has what they have
in common, and the levels of sums. To add a kind: `sql/comparison` and `sql/build_comparison` (how it is written), `questions`
(its level), and its place here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from duotone.line.table import Reach
from duotone.model.dataset import Dataset
from duotone.tables.comparisons.counts import counts_comparison, distinct_threshold, mode_is
from duotone.tables.comparisons.difference import mean_difference, variance_threshold
from duotone.tables.comparisons.shared import Array, CompiledComparison, Results
from duotone.tables.comparisons.threshold import linear_threshold, quantile_threshold
from duotone.tables.comparisons.threshold import one_value_each as _average
from duotone.tables.engines.results import MOST_ENDS
from duotone.tables.sql.comparison import (
    Atom,
    CountsComparison,
    DistinctThreshold,
    LinearThreshold,
    MeanDifference,
    QuantileThreshold,
    VarianceThreshold,
)
from duotone.tables.sql.condition import ALWAYS, Condition

__all__ = ["CompiledComparison", "Results", "adds_rows", "compile_comparison", "one_value_each"]


SEARCHED = 64
"""Changes up to which a search for pairs of them takes no time to speak of."""


def compile_comparison(atom: Atom, declared: Dataset, reaches: Reach, rows: Condition = ALWAYS) -> CompiledComparison:
    """What a comparison asks of the engine: levels up to what margins tell apart, where that takes long to search up to what
    answers do, and without end where they follow at once. All `rows` that are looked at satisfy a condition already.

    Guarantee: whatever is searched, levels are clipped the same for all tables, and answers are what they would be anyway.
    """
    reach = reaches.margins if reaches.margins <= MOST_ENDS else reaches.answers
    if isinstance(atom, MeanDifference | VarianceThreshold) and reach > SEARCHED:
        reach = reaches.answers
    compared = _compiled(atom, declared, reach, reaches, rows)
    within = min(reach, compared.searched or reach)
    return compared if compared.however_far or within == reaches.margins else _clipped(compared, within)


def _compiled(atom: Atom, declared: Dataset, reach: int, reaches: Reach, rows: Condition) -> CompiledComparison:
    match atom:
        case LinearThreshold():
            return linear_threshold(atom, declared, reach, rows)
        case QuantileThreshold():
            return quantile_threshold(atom, declared)
        case MeanDifference():
            return mean_difference(atom, declared, reach)
        case VarianceThreshold():
            return variance_threshold(atom, declared, reach)
        case DistinctThreshold():
            return distinct_threshold(atom, declared, reach)
        case CountsComparison():
            return counts_comparison(atom, declared, reaches)
    return mode_is(atom, declared, reach)


def _clipped(compared: CompiledComparison, reach: int) -> CompiledComparison:
    """The same comparison, with levels beyond `reach` alike: what is further away is some number above it."""

    def levels_of(results: Results, people: Array) -> Array:
        return np.clip(compared.levels(results, people), -reach - 1, reach)

    return replace(compared, levels=levels_of, searched=reach)


def adds_rows(atom: Atom, declared: Dataset) -> bool:
    """Whether a comparison adds up a person's rows, and so makes use of `max_rows`."""
    reduced = declared.per_unit is not None and one_value_each(atom)
    return isinstance(atom, LinearThreshold) and not atom.people and not reduced


def one_value_each(atom: Atom) -> bool:
    """Whether a comparison can be of one value per person, and so makes use of `per_unit`."""
    return _average(atom) if isinstance(atom, LinearThreshold) else not isinstance(atom, CountsComparison)
