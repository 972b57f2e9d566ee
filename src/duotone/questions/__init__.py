"""Questions: yes/no questions about the people in a table, and how far each table is from flipping its answer.

A question has a truth and a level on every dataset. The level is the fewest people that must join, leave or change to
flip the answer, less one, and −1 minus that for a no. What privacy rests on is the ±1 rule: neighbours' levels differ by
at most 1. Being exact makes answers optimal as well.
"""

from duotone.questions.combined import Combined, Negated
from duotone.questions.difference import Difference
from duotone.questions.plurality import Plurality
from duotone.questions.protocol import Neighbours, Question, Verdict, verify
from duotone.questions.quantile import quantile, smallest
from duotone.questions.threshold import Threshold

__all__ = [
    "Combined",
    "Difference",
    "Negated",
    "Neighbours",
    "Plurality",
    "Question",
    "Threshold",
    "Verdict",
    "quantile",
    "smallest",
    "verify",
]
