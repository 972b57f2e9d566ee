"""The question on trial, and the conditions on its levels for made-up tables: neighbours are close, signs are true,
distances are right."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from duotone.cached import cached_property
from duotone.errors import FailedTrial
from duotone.model.answer import Key
from duotone.model.dataset import Dataset
from duotone.privacy.definition import Array
from duotone.tables.compile_question import Compiled
from duotone.tables.sql.comparison import Choice, LinearThreshold, ParsedQuestion, Term, TopGroup
from duotone.tables.sql.condition import Kind, parts_of
from duotone.tables.trial.made_up_tables import SMALL, MadeUp
from duotone.tables.trial.plain_sql import Truths, written

REACH = 4
"""The largest levels in a trial: a little more than the people of a small table."""
Standing = tuple[int, int]
"""The number of the true answer (1 for yes, 0 for no) and the distance of any other one, less one."""
Levels = Mapping[tuple[Any, ...], tuple[int, Standing]]
"""Number of people and standing, by the number of a made-up table and the keys of a group."""


def standings(levels: Array) -> list[Standing]:
    """Levels as standings: those of yes or no, or of one of several answers (`questions.which.Standing`).

    >>> standings(np.array([2, -1])), standings(np.array([[3, 9]]))
    ([(1, 2), (0, 0)], [(3, 4)])
    """
    if levels.ndim == 1:
        levels = np.stack([levels >= 0, np.where(levels >= 0, levels, -1 - levels)], axis=1)
    return [(int(answer), int(min(distance, REACH))) for answer, distance in levels.tolist()]


@dataclass(frozen=True)
class Asked:
    """A parsed question, and the columns of its tables, by name: the first is the main table."""

    question: ParsedQuestion
    private: Mapping[str, Mapping[str, Kind]]
    public: Mapping[str, Mapping[str, Kind]]
    declared: Dataset
    """The declarations for the table's rows, with bounds; before an inner select makes one row per person."""
    most: int
    listed: tuple[Key, ...] | None

    @property
    def key(self) -> str:
        """What determines the trial: a question is tried once, whatever the main table is called."""
        (_, main), *others = self.private.items()
        known = [self.question, self.question.text, main, others, self.public, self.declared, self.most, self.listed]
        return hashlib.sha256(repr(known).encode()).hexdigest()

    @property
    def grouped(self) -> bool:
        """Whether each group has an answer of its own."""
        return bool(self.question.by) and not self.question.of_groups

    @cached_property
    def scores_alike(self) -> bool:
        """Whether a row counts the most or the least that one can, or nothing: of a person's rows that are all alike, those
        beyond `max_rows` then change nothing. Neither values nor several counts do, but for a majority."""
        parts = [*parts_of(self.question.tree)]
        weights = [sorted(term.weight for term in part.terms) for part in parts if isinstance(part, LinearThreshold)]
        valued = any(isinstance(part, Term | TopGroup) and part.value is not None for part in parts)
        return not valued and all(len(some) == 1 or some == [-1, 1] for some in weights)


def judged(asked: Asked, made: MadeUp) -> bool:
    """Whether plain SQL can judge a made-up table: it reads every value by the same rules, and each person has one row,
    or an inner select reduces them to one, or their rows add up, with no more than count, or all alike if that is the
    same."""
    there = [stranger for stranger, many in zip(made.strangers, made.counts, strict=True) if many]
    declared = asked.declared
    alone = declared.unit is None or asked.question.people is not None or all(len(s.rows) == 1 for s in there)
    if not asked.question.by and declared.per_unit is None:
        most = declared.max_rows
        alone |= most is None or all(len(s.rows) <= most or (asked.scores_alike and len(set(s.rows)) == 1) for s in there)
    return alone and all(s.usual for s in there)


@dataclass(frozen=True)
class Checks:
    """Conditions on the levels of made-up tables."""

    asked: Asked
    compiled: Compiled
    tables: Sequence[MadeUp]
    levels: Levels
    seed: int

    def neighbours(self) -> None:
        """In every group, people and levels of neighbouring tables differ by at most 1, and only in few groups: the distances
        of one answer do, and those of two answers are 0."""
        groups = self._groups
        empty = 0, self._nobody
        for first, second in self._neighbours():
            changed = 0
            for key in groups[first] | groups[second]:
                (people, one), (others, other) = (self.levels.get((n, *key), empty) for n in (first, second))
                far = _far(one, other) or (abs(people - others) > 1 and not self.asked.declared.replaced)
                if self._shown(key) and far:
                    self._fail("neighbours", first, second)
                changed += (people, one) != (others, other)
            if self.asked.grouped and changed > self.asked.most:
                self._fail("neighbours", first, second)

    def distances(self) -> None:
        """A level is the distance to the other answer, as far as small tables show."""
        complete = {made.counts: n for n, made in enumerate(self.tables) if made.complete}
        replaced, most = self.asked.declared.replaced, SMALL
        stands = {counts: self._standing(n) for counts, n in complete.items()}
        for counts, (answer, distance) in stands.items():
            size = sum(counts)
            radius = size if replaced else most - size
            other = [c for c in complete if stands[c][0] != answer and (not replaced or sum(c) == size)]
            found = min((_distance(counts, c, replaced=replaced) for c in other), default=radius + 1)
            if min(distance + 1, radius + 1) != min(found, radius + 1):
                self._fail("distance", complete[counts])

    def alone(self, number: int, levels: Levels) -> None:
        """Check that one made-up table has the same levels when it is asked about alone."""
        empty = 0, self._nobody
        if any(self.levels.get(key, empty) != both for key, both in levels.items()):
            self._fail("one table", number)

    def plain(self, known: Truths) -> None:
        """The sign of a level is the truth by plain SQL, for the same groups (all, or the listed ones); and a group has
        the right number of people."""
        grouped: dict[int, set[tuple[Any, ...]]] = {}
        for number, *keys in known.by_table:
            grouped.setdefault(number, set()).add(tuple(keys))
        for n, made in enumerate(self.tables):
            if not judged(self.asked, made):
                continue
            there = self._groups[n] | grouped.get(n, set())
            if (
                self.asked.grouped and self.asked.listed is not None
            ):  # of the groups without anybody one is enough: they are all alike
                empty = next((key for key in self._listed if key not in there), None)
                there = there & self._listed | (set() if empty is None else {empty})
            for key in there:
                truth = self._numbered(known.by_table.get((n, *key), known.of_nobody))
                people, (answer, _) = self.levels.get((n, *key), (0, self._nobody))
                counted = not self.asked.grouped or people == known.rows.get((n, *key), 0)
                if not counted or (truth is not None and answer != truth):
                    self._fail("plain SQL", n)

    def _numbered(self, truth: int | None) -> int | None:
        """The number of an answer by plain SQL: of several conditions, that of the answer of the first that holds."""
        tree = self.asked.question.tree
        return tree.answers.index(tree.labels[truth]) if isinstance(tree, Choice) and truth is not None else truth

    @cached_property
    def _nobody(self) -> Standing:
        return standings(self.compiled.level_of_nobody())[0]

    def _standing(self, number: int) -> Standing:
        return self.levels.get((number,), (0, self._nobody))[1]

    @cached_property
    def _groups(self) -> dict[int, set[tuple[Any, ...]]]:
        groups: dict[int, set[tuple[Any, ...]]] = {n: set() for n in range(len(self.tables))}
        for number, *key in self.levels:
            groups[number].add(tuple(key))
        if not self.asked.grouped:
            groups = {n: {()} for n in groups}
        return groups

    def _shown(self, key: tuple[Any, ...]) -> bool:
        """Whether a group has an answer: with a public list, only the listed ones."""
        return not self.asked.grouped or self.asked.listed is None or key in self._listed

    @cached_property
    def _listed(self) -> set[tuple[str, ...]]:
        return {tuple(map(written, key)) for key in self.asked.listed or ()}

    def _neighbours(self) -> Iterator[tuple[int, int]]:
        """Pairs of tables that differ in one person: present or absent or, under replace, another one. Rows without a
        unit are not a person who could be replaced."""
        places: dict[tuple[int, tuple[int, ...]], int] = {}
        for n, made in enumerate(self.tables):
            places[id(made.strangers), made.counts] = n
        for n, made in enumerate(self.tables):
            for counts in _moved(made.counts, replaced=self.asked.declared.replaced):
                other = places.get((id(made.strangers), counts))
                if other is not None and (not self.asked.declared.replaced or _named(made) == _named(self.tables[other])):
                    yield n, other

    def _fail(self, what: str, *numbers: int) -> None:
        """Report the failure, with made-up tables that show it."""
        report = {
            "question": self.asked.question.text,
            "failed": what,
            "seed": self.seed,
            "declared": str(self.asked.declared),
            "columns": {table: dict(columns) for table, columns in self.asked.private.items()},
            "tables": [self._made_up(n) for n in numbers],
        }
        raise FailedTrial(what, f"{self.seed:x}", json.dumps(report, default=str))

    def _made_up(self, number: int) -> dict[str, Any]:
        """A made-up table, with its level or those of its groups."""
        made = self.tables[number]
        people = [s.rows for s, many in zip(made.strangers, made.counts, strict=True) for _ in range(many)]
        levels = {" ".join(key[1:]): self._said(one) for key, (_, one) in self.levels.items() if key[0] == number}
        return {"levels": levels or self._said(self._nobody), "people": people}

    def _said(self, standing: Standing) -> Any:
        """A standing as a level, or as a word with its distance."""
        (answer, distance), answers = standing, self.asked.question.answers
        return [answers[answer], distance] if answers else distance if answer else -1 - distance


def _far(one: Standing, other: Standing) -> bool:
    """Whether these standings are too far apart for neighbours."""
    return abs(one[1] - other[1]) > 1 if one[0] == other[0] else max(one[1], other[1]) > 0


def _named(made: MadeUp) -> int:
    """How many people a table has, without rows that have no unit."""
    return sum(many for stranger, many in zip(made.strangers, made.counts, strict=True) if not stranger.nameless)


def _moved(counts: tuple[int, ...], *, replaced: bool) -> Iterator[tuple[int, ...]]:
    for i, many in enumerate(counts):
        if many:
            fewer = (*counts[:i], many - 1, *counts[i + 1 :])
            if not replaced:
                yield fewer
                continue
            for j in range(i):
                yield (*fewer[:j], fewer[j] + 1, *fewer[j + 1 :])


def _distance(first: tuple[int, ...], second: tuple[int, ...], *, replaced: bool) -> int:
    moved = sum(abs(a - b) for a, b in zip(first, second, strict=True))
    return moved // 2 if replaced else moved
