"""The levels of questions about the same people, from one query: how far each group is from flipping each answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from duotone.privacy.definition import Array
from duotone.tables.compile_question import Compiled
from duotone.tables.declared import Key
from duotone.tables.engines.query import People, gather, plan_of
from duotone.tables.engines.results import Keys
from duotone.tables.engines.source import Source
from duotone.tables.sql.comparison import ParsedQuestion
from duotone.tables.sql.condition import Condition

Groups = Keys | tuple[Key, ...]
LISTED = 1000
"""Public lists of up to so many groups are used to look only at rows that are in one of them; where people are in several
groups, all lists are."""


@dataclass(frozen=True)
class Population:
    """Whom a question looks at: these rows of a table, by group, a person in at most so many; the list of groups, if public."""

    source: Source
    rows: Condition | None
    unit: str | None
    by: tuple[str, ...]
    most: int
    listed: tuple[Key, ...] | None
    trial: bool = False
    """Whether the first of `by` numbers the made-up tables of a trial, in which groups are listed without that number."""

    @property
    def seen(self) -> tuple[Any, ...]:
        """What decides whom a question looks at."""
        table = id(self.source.table), id(self.source.reading), id(self.source.engine)
        return table, self.rows, self.unit, self.by, self.most, self.listed

    def people(self, asked: Iterable[ParsedQuestion | None]) -> People:
        """Who counts: only the columns, and of a public list of groups only the rows, that are looked at.

        A person's groups are bounded among those that are listed, however long the list; without a unit nothing is bounded,
        and of a long list, rows that are in no listed group are left out when the groups have come back.
        """
        named = self.by if self.unit is None else (*self.by, self.unit)
        source = self.source.asked_about(asked, named)
        if self.listed and (len(self.listed) <= LISTED or self.unit is not None):
            source = source.within(self.by[1:] if self.trial else self.by, self.listed)
        return People(source, self.rows, self.unit, self.by, self.most, self.trial)


def plan_for(population: Population, questions: Sequence[tuple[ParsedQuestion | None, Compiled | None]]) -> Any:
    """What the engine is given for questions about the same people: nothing is run."""
    comparisons = [c for _, compiled in questions if compiled is not None for c in compiled.comparisons]
    return plan_of(population.people(asked for asked, _ in questions), [(c.columns, c.requests) for c in comparisons])


def levels_of(
    population: Population, questions: Sequence[tuple[ParsedQuestion | None, Compiled | None]]
) -> tuple[Groups, Array, list[Array]]:
    """Groups, their people, and the levels of each question, as it was read and compiled. What this returns is NOT private."""
    every = [compiled for _, compiled in questions]
    comparisons = [() if compiled is None else compiled.comparisons for compiled in every]
    who = population.people(asked for asked, _ in questions)
    gathered = gather(who, [(c.columns, c.requests) for own in comparisons for c in own])
    results = iter(gathered.results)
    keys, people, levels = gathered.keys, gathered.people, []
    for compiled, compared in zip(every, comparisons, strict=True):
        own = [next(results) for _ in compared]
        levels.append(people - 1 if compiled is None else compiled.levels(own, people))
    if population.listed is None or population.trial:
        return keys if population.by else ((),), people, levels
    place = {tuple(map(str, key)): i for i, key in enumerate(keys)}
    order = [place.get(tuple(map(str, key)), -1) for key in population.listed]
    nobody = [compiled.level_of_nobody() if compiled is not None else -1 for compiled in every]
    levels = [np.append(own, empty)[order] for own, empty in zip(levels, nobody, strict=True)]
    return population.listed, np.append(people, 0)[order], levels
