"""Questions: yes/no questions about the people in a table, and how far each table is from flipping its answer.

Imports `graphs`. A question has a truth and a level on every dataset. If the fewest people that must join or leave (or
change, under replace) to flip the answer are d, the level is d − 1 for a yes and −d for a no. What privacy rests on is the ±1
rule: neighbours' levels differ by at most 1. Where levels are exactly that, and not only a safe bound, answers are optimal as
well. Start with `protocol` (what a question is; and, or, not; brute force that checks one); then a file for each
kind: `threshold`, `quantile`, `difference` (of averages, or of quantiles), `variance`, and `counts` (a mode, different values,
any arithmetic of a few counts). `units` tells distances in a question's own units.
"""

from duotone.questions.counts import Cells, Distinct, Plurality
from duotone.questions.difference import Difference
from duotone.questions.protocol import Combined, Negated, Neighbours, Question, Verdict, verify
from duotone.questions.quantile import quantile, smallest
from duotone.questions.threshold import Threshold
from duotone.questions.variance import Variance

__all__ = [
    "Cells",
    "Combined",
    "Difference",
    "Distinct",
    "Negated",
    "Neighbours",
    "Plurality",
    "Question",
    "Threshold",
    "Variance",
    "Verdict",
    "quantile",
    "smallest",
    "verify",
]
