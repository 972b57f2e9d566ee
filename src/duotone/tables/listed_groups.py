"""How many groups of a public list say yes: what one answer about all of them needs to know of the list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from duotone.line.table import Reach
from duotone.model.dataset import Dataset
from duotone.model.notice import Notice
from duotone.privacy.definition import Array
from duotone.questions.enough_groups import Step, enough_levels
from duotone.tables.sql.comparison import BoolOp, Choice, DistinctThreshold, LinearThreshold, OfGroups, ParsedQuestion, Tree
from duotone.tables.sql.condition import parts_of


@dataclass(frozen=True)
class ListedGroups:
    """How many groups a public list has, how far one change of the table moves their levels, and where these are clipped."""

    many: int
    step: Step
    reach: int = 0

    @staticmethod
    def of(asked: ParsedQuestion, declared: Dataset, listed: Sequence[object] | None, most: int) -> ListedGroups:
        """The groups of a question how many of them say yes, where a person counts in at most so many."""
        many = len(listed or ())
        return ListedGroups(many, Step.of(min(most, many), replaced=declared.replaced, one_way=one_way(asked.tree)))

    def within(self, reaches: Reach) -> tuple[Self, Reach]:
        """The same for an answer with these last levels, and the last levels of one group that then matter."""
        inside = Reach(*(reach * self.step.one for reach in reaches))
        return replace(self, reach=inside.margins), inside

    def levels(self, of_each: Array, at_least: int) -> Array:
        """The level of "at least so many say yes", from the levels of the groups along the last axis.

        Guarantee: levels of neighbours, clipped, are at most one step apart, as `enough_levels` needs it.
        """
        return enough_levels(np.clip(of_each, -self.reach - 1, self.reach), at_least, self.step)

    @property
    def note(self) -> Notice:
        """Which groups are counted."""
        return Notice("how many groups", groups=self.many)


def inside(declared: Dataset) -> Dataset:
    """The declarations for the people of one group, whom others join and leave."""
    return replace(declared, neighbours="add-remove")


def one_way(tree: Tree | Choice) -> bool:
    """Whether whoever joins a group never lowers its level, or never raises it, in each part that counts groups."""
    return all(_way(part.part) != 0 for part in parts_of(tree) if isinstance(part, OfGroups))


def _way(tree: Tree) -> int:
    """1 if joining never lowers a level, −1 if it never raises it; 0 if it may do either."""
    match tree:
        case BoolOp():
            ways = {_way(part) for part in tree.parts}
            way = ways.pop() if len(ways) == 1 else 0
            return -way if tree.rule == "not" else way
        case LinearThreshold(present=None, terms=terms) if all(term.value is None for term in terms):
            ways = {1 if term.weight > 0 else -1 for term in terms}
            return ways.pop() if len(ways) == 1 else 0
        case DistinctThreshold():
            return 1
    return 0
