"""One graph under several privacy definitions: what a larger ε or δ buys on each dataset."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.graphs.graph import ColouredGraph
from duotone.graphs.mechanism import Mechanism
from duotone.graphs.optimum import Boundary, design
from duotone.graphs.rows import Rows
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.definition import PrivacyDefinition


@dataclass(frozen=True, repr=False)
class Sweep:
    """The optimal mechanisms of one graph, one for each privacy definition: what `sweep` returns.

    `plotting.sweep` draws it.
    """

    definitions: tuple[PrivacyDefinition, ...]
    """The privacy definitions."""
    mechanisms: tuple[Mechanism, ...]
    """The optimal mechanism under each of them, in the same order."""

    @property
    def rows(self) -> Rows:
        """A row for each definition and dataset: ε and δ (or the definition, if another one is among them), then what a
        mechanism's rows have."""
        plain = [privacy for privacy in self.definitions if isinstance(privacy, ApproxDP)]
        alike = len(plain) == len(self.definitions)
        keys = [(p.epsilon, p.delta) for p in plain] if alike else [(str(privacy),) for privacy in self.definitions]
        each = [(key, mechanism.rows) for key, mechanism in zip(keys, self.mechanisms, strict=True)]
        head = (*(("epsilon", "delta") if alike else ("privacy",)), *each[0][1].head)
        return Rows(head, tuple((*key, *row) for key, rows in each for row in rows.rows))

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame."""
        return self.rows.to_pandas()

    def to_csv(self, path: str | Path) -> Path:
        """Write the rows to a CSV file."""
        return self.rows.to_csv(path)

    def to_latex(self) -> str:
        """The rows as a LaTeX table for the package booktabs."""
        return self.rows.to_latex()

    def __len__(self) -> int:
        return len(self.definitions)

    def __repr__(self) -> str:
        return f"<Sweep: {len(self)} privacy definitions on {len(self.mechanisms[0].graph)} datasets>"


def sweep(graph: ColouredGraph, definitions: Iterable[PrivacyDefinition], boundary: Boundary = "balanced") -> Sweep:
    """The best private mechanism on a graph under each of several privacy definitions, such as rising ε.

    `graph` and `boundary` are those of `design`. Distances are computed once.

    >>> from duotone.graphs import families
    >>> budgets = [ApproxDP(exp_epsilon=y, delta="1/10") for y in ("3/2", 2, 3)]
    >>> swept = sweep(families.votes(3).graph(), budgets)
    >>> [str(mechanism["112"]) for mechanism in swept.mechanisms], swept.rows.head
    (['16/25', '7/10', '31/40'], ('epsilon', 'delta', 'dataset', 'colour', 'level', 'yes', 'error'))
    """
    if not isinstance(definitions, Iterable):
        raise DuotoneError(f"a sweep takes a list of privacy definitions, got {type(definitions).__name__}")
    several = tuple(definitions)
    if not several:
        raise DuotoneError("a sweep needs at least one privacy definition")
    return Sweep(several, tuple(design(graph, privacy, boundary) for privacy in several))
