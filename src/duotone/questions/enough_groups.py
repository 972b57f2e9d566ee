"""Do enough of these groups say yes? At least 8 of 10 wards, every clinic, any day."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duotone.errors import DuotoneError
from duotone.questions.protocol import Neighbours, Question, check_neighbours


@dataclass(frozen=True)
class EnoughGroups:
    """Yes when at least `at_least` of `groups` groups say yes to `question`, each about its own people.

    `members(person)` are the groups in which a person counts, by their number from 0 on, at most `each` of them; in each
    the person is the mapping's value. The list of groups is public, and the question's own neighbours are add-remove. Set
    `one_way` if whoever joins a group never lowers its level, or never raises it, as in counts.

    Guarantee: levels are safe bounds (`enough_levels`). They are exact distances under add-remove where a person counts in one
    group at most and the question's levels are exact.

    >>> from duotone.questions import Threshold
    >>> crowded = Threshold(lambda _: 1, 0, 1, at_least=2)
    >>> two_wards = EnoughGroups(crowded, members=lambda ward: {ward: ward}, groups=3, at_least=2)
    >>> two_wards.level([0, 0, 0, 1, 1, 1, 1, 2]), two_wards.level([0, 0, 0, 1]), two_wards.level([])
    (1.0, -1.0, -4.0)
    """

    question: Question
    members: Callable[[Any], Mapping[int, Any]]
    groups: int
    at_least: int
    each: int = 1
    one_way: bool = False
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if self.question.neighbours != "add-remove":
            raise DuotoneError("in a group, people join and leave: ask a question under add-remove of each group")
        if not (1 <= self.at_least <= self.groups and self.each >= 1):
            raise DuotoneError("ask for 1 group or more, and for no more than there are; a person is in 1 group or more")

    def _groups(self, people: Sequence[Any]) -> list[list[Any]]:
        own: list[list[Any]] = [[] for _ in range(self.groups)]
        for person in people:
            for group, member in self.members(person).items():
                own[group].append(member)
        return own

    def truth(self, people: Sequence[Any]) -> bool:
        """Whether enough groups say yes."""
        return sum(self.question.truth(group) for group in self._groups(people)) >= self.at_least

    def level(self, people: Sequence[Any]) -> float:
        """A bound on how many people must change to turn the groups that are nearest to their other answer."""
        levels = [self.question.level(group) for group in self._groups(people)]
        step = Step.of(self.each, replaced=self.neighbours == "replace", one_way=self.one_way)
        return float(enough_levels(levels, self.at_least, step))


@dataclass(frozen=True)
class Step:
    """By how much one change of the table can move the levels of its groups: those of at most `groups` groups by `one` each."""

    groups: int = 1
    one: int = 1

    @staticmethod
    def of(groups: int, *, replaced: bool, one_way: bool) -> Step:
        """Where a person counts in at most so many groups. Whoever is replaced leaves and then joins, which is as two
        changes; but where leaving never raises, and joining never lowers, any level (or the other way round), as one."""
        return Step(groups, 2 if replaced and not one_way else 1)


def enough_levels(levels: ArrayLike, at_least: int, step: Step = Step()) -> NDArray[np.float64]:  # noqa: B008
    """The level of "at least `at_least` of these groups say yes" from their levels under add-remove, along the last axis.

    A group at level ℓ takes ℓ + 1 changes to a no, or −ℓ to a yes. Let a yes need r groups to turn, one more than it has to
    spare, and a no as many as it lacks; let m be the largest and s the sum of the r smallest numbers of changes on
    that side. Then the distance is n = max(m, ⌈s / groups⌉), or ⌈n / 2⌉ where a change is as two.

    Guarantee: neighbours' levels differ by at most 1, and the sign is the truth. Proof. n is the distance in a larger world
    (docs/theory.md), whose states are vectors of whole levels and whose steps move at most `groups` of them by 1 each. To
    move some levels by d₁, d₂, … takes n steps with n ≥ each d and n·groups ≥ Σd; and that is enough: lay the single moves in
    a row, group after group, and give them to the n steps in turn, so that each step gets at most ⌈d/n⌉ ≤ 1 of each group
    and ⌈Σd/n⌉ ≤ groups. Of all r groups the nearest have the least m and the least s. Who joins or leaves is a step at most.
    Who is replaced is two at most: ⌈n / 2⌉ is the distance in the world of such double steps. But if leaving never raises
    a level and joining never lowers one (or the other way round), the answer's level, which rises with each of them, falls
    by 0 or 1 and then rises by 0 or 1.

    Exact under add-remove with one group, if the groups' levels are: then a change is a step, and every step a change. Else
    a bound: somebody who could be in several groups need not be there.

    Levels clipped at c·one give the same level up to c: with a clipped group among the r, m alone makes it more than c.

    >>> wards = [3, 0, -2, 5]
    >>> [int(enough_levels(wards, at_least)) for at_least in (1, 2, 3, 4)]
    [10, 4, 0, -2]
    >>> [int(enough_levels(wards, at_least, Step(groups=2))) for at_least in (1, 2, 3, 4)]
    [5, 3, 0, -2]
    """
    ordered = -np.sort(-np.asarray(levels, dtype=float), axis=-1)
    spare = _distance(ordered[..., at_least - 1 :] + 1, step)
    missing = _distance(-ordered[..., :at_least], step)
    return np.asarray(np.where(ordered[..., at_least - 1] >= 0, spare - 1, -missing))


def _distance(changes: NDArray[np.float64], step: Step) -> NDArray[np.float64]:
    """The changes that turn these groups; those with 0 or fewer are on the other side, and need not turn."""
    needed = np.maximum(changes, 0)
    steps = np.maximum(needed.max(axis=-1), np.ceil(needed.sum(axis=-1) / step.groups))
    return np.asarray(np.ceil(steps / step.one))
