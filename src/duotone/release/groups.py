"""Drawing private groups: which are shown, alone, with the noisy size of each, or with an answer about each."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from duotone.interrupts import uninterrupted
from duotone.line.groups import PrivateGroups
from duotone.privacy.definition import Array
from duotone.release.coin import Coin


@uninterrupted
def sizes_drawn(groups: PrivateGroups, people: Any) -> tuple[Array, Array]:
    """The places of the shown groups, given the number of `people` of each, and a noisy size for each.

    Guarantee: one person's joining or leaving one group changes what is released about it as its privacy definition
    allows, over all events. A size says how many people there are, and so whether they are at least any number, at no
    further cost.

    >>> from duotone import ApproxDP, partition_selection
    >>> from duotone.line.table import line_table
    >>> groups = PrivateGroups(line_table(partition_selection(ApproxDP(1, "1e-6"))).unclipped())
    >>> places, sizes = sizes_drawn(groups, np.array([0, 28, 500]))
    >>> places.tolist(), bool(abs(sizes[1] - 500) < 15)
    ([1, 2], True)
    """
    margins = places = cast(Any, None)
    try:
        margins = Coin(groups.table).margins(groups.levels(people), bar=False)
        places = np.flatnonzero(margins >= 0)
        return places, groups.sizes(margins[places])
    finally:
        people = margins = None  # no traceback may show them
        del places


@uninterrupted
def shown_drawn(groups: PrivateGroups, people: Any) -> tuple[Array, Array]:
    """The places of the shown groups, and a 1 for each: where groups have no sizes.

    Guarantee: as above.
    """
    places = cast(Any, None)
    try:
        places = np.flatnonzero(Coin(groups.table).answers(groups.levels(people), bar=False))
        return places, np.ones(len(places), dtype=np.int64)
    finally:
        people = None
        del places


@uninterrupted
def answers_drawn(groups: PrivateGroups, coin: Coin, people: Any, levels: Any) -> tuple[Array, Array]:
    """The places of the shown groups, and an answer about each, from the coin of one answer: its margin, or where that
    would cost more, yes or no alone.

    Guarantee: as above, if levels differ by at most 1; both tables must have one definition. The margins' statements
    are sound with noise that is `tossed`.
    """
    shown = within = places = cast(Any, None)
    try:
        shown = Coin(groups.table).answers(groups.levels(people), bar=False)
        places = np.flatnonzero(shown)
        within = groups.within(people[places])
        draw = coin.margins if coin.table.has_margins else coin.answers
        return places, draw(levels[places], within, bar=False)
    finally:
        people = levels = shown = within = None
        del places
