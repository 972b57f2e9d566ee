"""The levels of questions about the same people, from one query: how far each group is from flipping each answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from duotone.privacy.definition import Array
from duotone.tables.compile_question import Compiled
from duotone.tables.declared import Key
from duotone.tables.engines.query import People, gather, plan_of
from duotone.tables.engines.results import Keys
from duotone.tables.sql.comparison import ParsedQuestion

Groups = Keys | tuple[Key, ...]


def plan_for(population: People, questions: Sequence[tuple[ParsedQuestion | None, Compiled | None]]) -> Any:
    """What the engine is given for questions about the same people: nothing is run."""
    comparisons = [c for _, compiled in questions if compiled is not None for c in compiled.comparisons]
    return plan_of(population.asked(asked for asked, _ in questions), [(c.columns, c.requests) for c in comparisons])


def levels_of(
    population: People, questions: Sequence[tuple[ParsedQuestion | None, Compiled | None]]
) -> tuple[Groups, Array, list[Array]]:
    """Groups, their people, and the levels of each question, as it was read and compiled. What this returns is NOT private."""
    every = [compiled for _, compiled in questions]
    comparisons = [() if compiled is None else compiled.comparisons for compiled in every]
    who = population.asked(asked for asked, _ in questions)
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
