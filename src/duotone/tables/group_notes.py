"""A note on groups that are selected privately: which of them to expect, from the budget alone."""

from __future__ import annotations

import bisect
import math

import numpy as np

from duotone.line.mechanism import LineMechanism
from duotone.model.notice import Notice

SELDOM = 0.05
"""A group that is shown less often than this is seldom shown."""


def selection_note(selection: LineMechanism, *, halved: bool) -> Notice:
    """Under how many people a group is seldom shown, and from how many on always; `halved` where answers about the groups take
    the other half of the budget.

    >>> from duotone import ApproxDP, partition_selection
    >>> print(selection_note(partition_selection(ApproxDP(1, "1e-6")), halved=True))
    groups are selected privately, with half of the budget: a group of fewer than 12 people is seldom shown (less than once \
in 20), one of 28 or more always; for an answer about each, give the public list of groups (groups)
    """
    always = selection.certain[0] + 1
    often = bisect.bisect_left(
        range(int(min(always, 2**62))), SELDOM, lo=1, key=lambda people: float(selection.yes(np.array([people - 1]))[0])
    )
    budget = "half of the budget" if halved else "the budget"
    few = Notice("few people seldom shown", people=often) if often > 1 else Notice("one person may be shown")
    end = Notice("always shown", people=always) if math.isfinite(always) else ""
    advice = Notice("list the groups") if halved else ""
    return Notice("groups selected", budget=budget, few=few, always=end, advice=advice)
