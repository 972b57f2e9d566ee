"""Pictures. Each function draws on `ax`, or on a new figure, and returns the figure; `save` writes it to a file.

A new figure is shown in a notebook. It is made without pyplot, so that no backend is chosen and no figure stays open.
Blue datasets are discs and red ones squares, in colours that colour-blind readers can tell apart.

Imports everything but `cli` and `paper`. One file per subject: `graphs` (whose `labels` keep clear of edges), `curves`
(mechanisms, questions and their answers), `budgets` (what they buy, audits, ledgers), `hypotheses` (the power of tests);
they share `figures`.
"""

from duotone.plotting.budgets import audit_bound, capacities, spending
from duotone.plotting.curves import GROUPS, answers, error_by_distance, line_phases, question, sweep, three_way, tradeoff_curve
from duotone.plotting.figures import BLUE, FAINT, INK, RED, SEQUENCE, save
from duotone.plotting.graphs import boundary_graph, graph
from duotone.plotting.hypotheses import power

__all__ = [
    "BLUE",
    "FAINT",
    "GROUPS",
    "INK",
    "RED",
    "SEQUENCE",
    "answers",
    "audit_bound",
    "boundary_graph",
    "capacities",
    "error_by_distance",
    "graph",
    "line_phases",
    "power",
    "question",
    "save",
    "spending",
    "sweep",
    "three_way",
    "tradeoff_curve",
]
