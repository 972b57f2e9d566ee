"""Private groups: which are shown, the noisy size of each, and from which size on each gets an answer, all for the
price of one answer.

Let s(n) = φⁿ(0), the largest probability with which privacy lets a group of n people be shown, and c the first n with
s(n) = 1. The margin K of that selection, a level n − 1 plus noise, decides: a group is shown if K ≥ 0. With it, either
K is released, which is a noisy size, or an answer about the group, whose level is clipped to −j … j − 1 with j = n − c;
for j ≤ 0 it is 0 or −1 by a fair coin. Both cost only what the selection costs (docs/theory.md): with up to c people
everything released follows from the selection, and from c on every group is shown, so that only the answer reveals
anything. Under one Rényi order margins are not free: then no K is drawn, only yes and no, by the same rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from duotone.cached import cached_property
from duotone.line.mechanism import LineMechanism, on_line, partition_selection
from duotone.line.noise import FURTHEST, Noise
from duotone.line.table import Table, line_table
from duotone.privacy.approx_dp import ApproxDP


@dataclass(frozen=True)
class PrivateGroups:
    """Groups that are selected privately: by the `table` of `partition_selection`, and never with fewer than `at_least`
    people. Under one Rényi order it has no noise, and groups have no sizes.

    >>> from duotone import ApproxDP, partition_selection
    >>> from duotone.line.table import line_table
    >>> groups = PrivateGroups(line_table(partition_selection(ApproxDP(1, "1e-6"))))
    >>> groups.always, groups.noise.give_or_take, groups.within(np.array([5, 28, 36])).tolist()
    (28, 3, [0, 0, 8])
    """

    table: Table
    at_least: int = 1

    @cached_property
    def always(self) -> int:
        """The size from which a group is always shown."""
        certain = self.table.entries[-1][0] == 1 << self.table.bits
        return len(self.table.blue) + self.at_least - 1 if certain else FURTHEST

    @cached_property
    def noise(self) -> Noise:
        """The noise on the number of people in a group: the selection's noise less its median."""
        return self.table.noise.centred

    def noise_of_limit(self, *, above: bool) -> Noise:
        """The noise of the margin of a noisy size against a limit."""
        return self.noise if above else self.noise.turned

    def document(self, limit: Any = None) -> dict[str, Any]:
        """Its public facts, as JSON; for a single count also its limit (`CountLimit`)."""
        compared = {} if limit is None else {"limit": {"at": limit.at, "above": limit.above}}
        return {"at_least": self.at_least, "always_shown_from": self.always if self.always < FURTHEST else None, **compared}

    def levels(self, people: Any) -> Any:
        """The selection's level for groups of these sizes: each person missing to `at_least` counts for a no."""
        return people - self.at_least

    def sizes(self, margins: Any) -> Any:
        """The noisy sizes from the selection's margins."""
        return margins + self.at_least - self.table.noise.middle

    def within(self, people: Any) -> Any:
        """The largest distance from the boundary for the level of an answer about such a group; 0 if it gets no
        answer."""
        return np.maximum(0, people - self.always)


def size_line(privacy: ApproxDP, *, above: bool = True) -> LineMechanism:
    """The line of a noisy size against a limit, which it must reach (or, if not `above`, not exceed): a group exactly as
    large does so with the probability at its boundary.

    >>> budget = ApproxDP(1, "1e-6")
    >>> round(float(size_line(budget).blue), 4), round(float(size_line(budget, above=False).blue), 4)
    (0.6999, 0.7425)
    """
    groups = PrivateGroups(line_table(partition_selection(privacy)))
    return on_line(privacy, groups.noise_of_limit(above=above).chance(0))
