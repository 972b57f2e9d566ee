"""Questions: yes/no questions about the people in a table, and how far each table is from flipping its answer.

Imports `graphs`. A question has a truth and a level on every dataset. If the fewest people that must join or leave (or
change, under replace) to flip the answer are d, the level is d − 1 for a yes and −d for a no. Privacy rests on the ±1
rule: neighbours' levels differ by at most 1. If levels are exact distances, and not only safe bounds, answers are
optimal as well.

Start with `protocol` (what a question is; and, or, not; a brute-force check of levels); then one file per kind:
`threshold`, `quantile`, `difference` (of averages, or of quantiles), `rates` (the same of people with several rows),
`variance`, `counts` (a mode, distinct values, any arithmetic of a few counts), `enough_groups` (how many groups of a
public list say yes), `which` (which of several answers is true), and `by_parts` (any question, asked of parts of the
people). `units` converts distances to a question's own units.
"""

from duotone.questions.counts import Cells, Distinct, Plurality
from duotone.questions.difference import Difference
from duotone.questions.enough_groups import EnoughGroups
from duotone.questions.protocol import Combined, Negated, Neighbours, Question, Verdict, verify
from duotone.questions.quantile import quantile, smallest
from duotone.questions.rates import Rates
from duotone.questions.threshold import Threshold
from duotone.questions.variance import Variance

__all__ = [
    "Cells",
    "Combined",
    "Difference",
    "Distinct",
    "EnoughGroups",
    "Negated",
    "Neighbours",
    "Plurality",
    "Question",
    "Rates",
    "Threshold",
    "Variance",
    "Verdict",
    "quantile",
    "smallest",
    "verify",
]
