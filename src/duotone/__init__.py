"""Duotone: the best differentially private answer to a yes/no question, with a proof.

Every dataset is a node, neighbours are edges, the true answer is a colour (blue = yes, red = no). A private answer
is a randomised colour; Duotone designs the best one.

>>> from duotone import ApproxDP, design
>>> from duotone.graphs import families
>>> M = design(families.votes(3).graph(), ApproxDP(ratio=2, delta="1/10"))
>>> M.yes["111"], M.yes["112"], M.check(ApproxDP(ratio=2, delta="1/10")).holds
(Fraction(9, 10), Fraction(7, 10), True)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duotone import plotting, questions
    from duotone.errors import DuotoneError, Infeasible, LedgerBusy, LedgerError, MissingExtra, NotAMorphism, OverBudget
    from duotone.graphs.graph import ColouredGraph
    from duotone.graphs.mechanism import Check, Mechanism
    from duotone.graphs.morphism import Morphism, boundary_morphism
    from duotone.graphs.optimum import design
    from duotone.graphs.table import GraphTable, graph_table
    from duotone.graphs.truth_table import TruthTable
    from duotone.graphs.values import ValuesByDataset
    from duotone.ledger.account import Receipt, Statement
    from duotone.ledger.filters import Charge
    from duotone.ledger.ledger import Ledger, open_ledger
    from duotone.line.mechanism import LineMechanism, balanced, partition_selection, recurrence, tradeoff, with_boundary
    from duotone.line.table import LineTable, line_table
    from duotone.privacy.approx_dp import ApproxDP
    from duotone.privacy.definition import PrivacyDefinition
    from duotone.release.audit import Audit, audit_answers, one_by_one
    from duotone.release.certificate import Unproved, prove
    from duotone.release.coin import Answer, Coin
    from duotone.tables.ask import ask, prepare, prepare_groups, select_groups
    from duotone.tables.prepared import Answers, Prepared

__version__ = "0.1.0"

_ROOMS = {
    "privacy.definition": ("PrivacyDefinition",),
    "privacy.approx_dp": ("ApproxDP",),
    "line.mechanism": ("LineMechanism", "balanced", "with_boundary", "partition_selection", "recurrence", "tradeoff"),
    "graphs.values": ("ValuesByDataset",),
    "graphs.graph": ("ColouredGraph",),
    "graphs.morphism": ("Morphism", "boundary_morphism"),
    "graphs.mechanism": ("Mechanism", "Check"),
    "graphs.optimum": ("design",),
    "graphs.truth_table": ("TruthTable",),
    "line.table": ("LineTable", "line_table"),
    "graphs.table": ("GraphTable", "graph_table"),
    "release.certificate": ("prove", "Unproved"),
    "release.coin": ("Coin", "Answer"),
    "tables.ask": ("ask", "prepare", "select_groups", "prepare_groups"),
    "tables.prepared": ("Prepared", "Answers"),
    "release.audit": ("audit_answers", "Audit", "one_by_one"),
    "ledger.filters": ("Charge",),
    "ledger.account": ("Receipt", "Statement"),
    "ledger.ledger": ("open_ledger", "Ledger"),
    "errors": ("DuotoneError", "Infeasible", "LedgerBusy", "LedgerError", "MissingExtra", "NotAMorphism", "OverBudget"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Answer",
    "Answers",
    "ApproxDP",
    "Audit",
    "Charge",
    "Check",
    "Coin",
    "ColouredGraph",
    "DuotoneError",
    "GraphTable",
    "Infeasible",
    "Ledger",
    "LedgerBusy",
    "LedgerError",
    "LineMechanism",
    "LineTable",
    "Mechanism",
    "MissingExtra",
    "Morphism",
    "NotAMorphism",
    "OverBudget",
    "Prepared",
    "PrivacyDefinition",
    "Receipt",
    "Statement",
    "TruthTable",
    "Unproved",
    "ValuesByDataset",
    "ask",
    "audit_answers",
    "balanced",
    "boundary_morphism",
    "design",
    "graph_table",
    "line_table",
    "one_by_one",
    "open_ledger",
    "partition_selection",
    "plotting",
    "prepare",
    "prepare_groups",
    "prove",
    "questions",
    "recurrence",
    "select_groups",
    "tradeoff",
    "with_boundary",
]


def __getattr__(name: str) -> Any:
    """Names are imported when first used, so that `duotone --help` comes at once."""
    if name in ("plotting", "questions"):
        return import_module(f"duotone.{name}")
    if name in _HOME:
        value = getattr(import_module(f"duotone.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'duotone' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
