"""Does one choice win?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from duotone.errors import DuotoneError
from duotone.questions.protocol import Neighbours, check_neighbours


@dataclass(frozen=True)
class Plurality:
    """Yes when `winner` has strictly more votes than every other choice; a tie is a no.

    `choice(person)` is a person's vote, None or NaN for nobody. There must be another choice that someone could take.

    Guarantee: levels are exact distances (docs/questions.md).

    >>> Plurality("A").level(["A", "A", "A", "B", "C"])
    1
    """

    winner: Hashable
    choice: Callable[[Any], Hashable] = lambda person: person
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if self.winner is None or self.winner != self.winner:
            raise DuotoneError("a winner must be a choice that people can make")

    def _votes(self, people: Sequence[Any]) -> tuple[int, list[int]]:
        chosen = map(self.choice, people)
        votes = Counter(vote for vote in chosen if vote is not None and vote == vote)  # NaN is no choice
        own = votes.pop(self.winner, 0)
        return own, sorted(votes.values(), reverse=True)

    def truth(self, people: Sequence[Any]) -> bool:
        """Whether it strictly leads."""
        own, rivals = self._votes(people)
        return own > max(rivals, default=0)

    def level(self, people: Sequence[Any]) -> float:
        """Each change moves the lead by 1, or by 2 where a vote changes hands; to win, every rival must fall behind."""
        own, rivals = self._votes(people)
        others = None if self.neighbours == "add-remove" else len(people) - own
        return plurality_level(own, rivals, others)


def plurality_level(own: int, rivals: Sequence[int], others: int | None, reach: int | None = None) -> float:
    """The level from the votes; `others` is how many people did not vote for it, or None under add-remove.

    Of the rivals the strongest are enough, one more than `reach`, beyond which the level may be anything.
    """
    lead = own - max(rivals, default=0)
    if others is None:
        most = 1 - lead if reach is None else min(1 - lead, reach + 1)
        return lead - 1 if lead > 0 else -min(s + _ahead(rivals, own + s) for s in range(most + 1))
    if lead > 0:
        return math.ceil(lead / 2) - 1
    most = others if reach is None else min(others, reach + 1)
    return -next((k for k in range(most + 1) if _ahead(rivals, own + k) <= k), math.inf)


def _ahead(rivals: Sequence[int], own: int) -> int:
    """How many votes the rivals must lose so that each has fewer than `own`."""
    return sum(max(0, votes - (own - 1)) for votes in rivals) if own > 0 else sum(rivals) + 1
