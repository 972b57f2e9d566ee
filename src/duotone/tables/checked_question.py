"""A question that has been checked: what it asks of which people, in words and for the engine; however it is then answered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.ledger.ledger import Ledger
from duotone.privacy.definition import Array
from duotone.privacy.numbers import show
from duotone.release.coin import Basis
from duotone.resources import engine_limits
from duotone.tables.accuracy import clipping
from duotone.tables.billing import About, billed, normal_form
from duotone.tables.comparisons import CompiledComparison
from duotone.tables.compile_question import Compiled
from duotone.tables.dataset_name import dataset_of
from duotone.tables.declared import Declared, Key
from duotone.tables.engines import Source
from duotone.tables.engines.formulas.texts import TEXTS
from duotone.tables.engines.keys import Keys
from duotone.tables.engines.vouching import vouched_for
from duotone.tables.levels import Groups, Population, levels_of, plan_for
from duotone.tables.sql.comparison import ParsedQuestion
from duotone.tables.sql.condition import Condition, Formula, parts_of
from duotone.tables.sql.syntax import one_line
from duotone.tables.work import Work, require_room, work_of

FEW = 10
"""Formulas whose statement is never long."""


@dataclass(frozen=True, repr=False)
class CheckedQuestion:
    """A question that fits the table's columns and what was declared. Without `asked`, it is only which groups there are."""

    source: Source
    asked: ParsedQuestion | None
    by: tuple[str, ...]
    declared: Declared
    most: int
    listed: tuple[Key, ...] | None
    reach: int
    """The last level that one answer tells apart, or a little more."""
    compiled: Compiled | None = field(repr=False)
    """What the engine is asked, made when the question was checked."""

    def close(self) -> None:
        """Close the table, if it was opened for this question."""
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def labels(self) -> tuple[str, ...]:
        """What the question calls that which it is grouped by, where that tells the answers' columns apart; else `by`."""
        labels = self.by if self.asked is None else self.asked.labels
        return labels if len({*labels, "answer"}) == len(self.by) + 1 else self.by

    @property
    def comparisons(self) -> tuple[CompiledComparison, ...]:
        """What each comparison asks of the engine."""
        return self.compiled.comparisons if self.compiled is not None else ()

    @property
    def rows(self) -> Condition | None:
        """The rows that are looked at; None for all."""
        return self.compiled.rows if self.compiled is not None else None

    @property
    def basis(self) -> Basis:
        """Whether levels are exact distances."""
        return "exact distance" if self.compiled is None or self.compiled.exact else "safe bound"

    @property
    def person(self) -> str:
        """Who counts as a person, in words."""
        if self.declared.made_by is not None:
            if self.asked is not None and self.asked.beside:
                tables = " and ".join(dict.fromkeys([self.source.name, *(other.table for other in self.asked.beside)]))
                return f"{_person_is(self.declared.made_by)} in {tables} together, of which the inner selects make one row"
            return f"{_person_is(self.declared.made_by)}, of which the inner select makes one row"
        if self.declared.unit is None:
            return "each row is a person"
        many = self.declared.max_rows
        rows = "" if many is None else f", counted as at most {many} row{'s' * (many > 1)}"
        rows += "" if self.declared.per_unit is None else f", with the {self.declared.per_unit} of its rows"
        groups = f", in at most {self.most} group{'s' * (self.most > 1)}" if self.by and self.groups_bounded else ""
        return f"{_person_is(self.declared.unit)}{rows}{groups}"

    @property
    def groups_bounded(self) -> bool:
        """Whether a person counts in a limited number of groups."""
        return True

    @property
    def clipping(self) -> str | None:
        """What is cut to size before it is counted, in words; None for nothing. `error` is that of the answer after it:
        how much a choice changes is for the table's owner to see (`duotone.tables.inspection`)."""
        return clipping(self.clipped)

    @property
    def clipped(self) -> str:
        """What is cut to what, without the sentence around it."""
        cut = [
            f"{column} to [{show(grid.low * grid.step)}, {show(grid.high * grid.step)}] in steps of {show(grid.step)}"
            for compared in self.comparisons
            for column, grid in compared.grids.items()
        ]
        if self.compiled is not None and self.compiled.rows_counted:
            cut.append(f"a person's rows to {self.declared.max_rows}")
        if self.declared.per_unit is not None:
            rounded = ", rounded down" if self.declared.per_unit == "avg" else ""
            cut.append(f"a person's values to their {self.declared.per_unit}{rounded}")
        if self.by and self.declared.unit is not None and self.groups_bounded:
            cut.append(f"a person's groups to {self.most}")
        return ", ".join(dict.fromkeys(cut))

    @property
    def grids(self) -> dict[str, str]:
        """The steps that each column is put on; an average and a variance of one column may have two."""
        steps: dict[str, list[str]] = {}
        for column, grid in (pair for compared in self.comparisons for pair in compared.grids.items()):
            steps.setdefault(column, []).append(show(grid.step))
        return {column: " and ".join(dict.fromkeys(own)) for column, own in steps.items()}

    @property
    def vouched(self) -> str | None:
        """What the owner vouches for, in a sentence; None of a stored table."""
        return None if self.source.vouched is None else vouched_for(self.source.vouched, self.declared.person)

    @property
    def protected(self) -> str:
        """Whom the budget is about, and what of them, for a report."""
        return f"per {self.declared.person or 'row'} under {'replacement' if self.declared.replaced else 'addition or removal'}"

    @property
    def _named(self) -> str:
        """The table, for a report."""
        return self.source.name if self.source.named else "the table"

    @property
    def written(self) -> str:
        """What is asked, for a report: as it was written."""
        return f"the groups by {' and '.join(self.by)}" if self.asked is None else f"“{one_line(self.asked.text)}”"

    @property
    def question(self) -> str:
        """What is asked, in SQL, as a ledger would record it without what is declared."""
        return f"groups by {', '.join(self.by)}" if self.asked is None else self.asked.forms[0]

    @property
    def normal(self) -> str:
        """The question with everything declared that can change its answer, in a form in which the same looks the same."""
        return self._forms[0]

    @property
    def _forms(self) -> tuple[str, ...]:
        """The same, and as earlier versions wrote it, if that is something else."""
        texts = (f"GROUPS BY {json.dumps(self.by)}",) if self.asked is None else self.asked.forms
        declared = self.declared if self.compiled is None else self.compiled.declared
        return tuple(normal_form(text, declared, self.most, self.listed, self.source.stated) for text in dict.fromkeys(texts))

    def billed(self, ledger: Ledger, dataset: str | None) -> tuple[str, tuple[str, ...], About]:
        """The dataset, the question, also as earlier versions wrote it, and whom it is about, as a ledger knows them.
        Files whose columns have changed since the question was checked are refused here, before anything is charged."""
        if not isinstance(ledger, Ledger):
            raise DuotoneError('a ledger is what open_ledger returns, as open_ledger("budget.ledger")')
        self.source.checked()
        dataset = self.dataset_in(ledger, dataset)
        return billed(self._forms, self.declared, self.source, dataset, together=self._together)

    @property
    def _together(self) -> bool:
        """Whether it joins private tables."""
        return self.asked is not None and bool(self.asked.beside)

    def dataset_in(self, ledger: Ledger, dataset: str | None = None) -> str | None:
        """The dataset of a ledger that is charged: the one that is named, or by the table's name; None where it has none."""
        named = dataset is not None or self._together or not self.source.named
        return dataset if named else dataset_of(self.source, ledger)

    @property
    def population(self) -> Population:
        """Whom the question looks at."""
        return Population(self.source, self.rows, self.declared.unit, self.by, self.most, self.listed)

    @cached_property
    def _plan(self) -> Any:
        """What the engine will be given, for whoever asks what it costs; nothing is run."""
        return plan_for(self.population, [(self.asked, self.compiled)])

    def work(self, rows: float) -> Work:
        """What the engine does at most, where each private table has at most so many rows."""
        return work_of(self._plan, rows, self.source.public)

    def checked(self) -> Self:
        """The same question, if what it makes of a row's texts fits in memory, and its statement is no longer than may be. Of
        those that make no texts, and have few formulas, nothing can grow."""
        formulas = [part for part in parts_of(self.asked) if isinstance(part, Formula)]
        if len(formulas) > FEW or any(made.function in TEXTS for made in formulas):
            require_room(self.work(0), engine_limits())
        return self

    def _levels(self) -> tuple[Groups, Array, NDArray[np.int64]]:
        """The groups that are asked about, how many people each has, and the levels that answers are then drawn from, no
        further than the mechanism tells them apart. What this returns is NOT private."""
        keys, people, (levels,) = levels_of_all([self])
        return keys, people, np.clip(levels, -self.reach - 1, self.reach).astype(np.int64)


def _person_is(unit: str) -> str:
    return f"a person is {'an' if unit[:1].lower() in 'aeio' else 'a'} {unit} (rows without one do not count)"


def levels_of_all(questions: Sequence[CheckedQuestion]) -> tuple[Groups, Array, list[Array]]:
    """Groups, their people, and each question's levels, from one plan; the questions must look at the same people. What
    this returns is NOT private.

    Of a public list, groups come in the list's order, those that nobody is in among them. A question which groups there
    are has the level that a group of so many people has.
    """
    first = questions[0].population
    if any(other.population.seen != first.seen for other in questions):
        raise DuotoneError("questions that are asked in one plan must be about the same people")
    return levels_of(first, [(question.asked, question.compiled) for question in questions])


def at_once() -> None:
    """Where a question waits for nothing before its answer is recorded."""


def at(groups: Groups, places: Array) -> Groups:
    """The keys of some groups only: of the others none is made."""
    return groups.at(places) if isinstance(groups, Keys) else tuple(groups[place] for place in places)


def order(groups: Groups) -> Array:
    """The places of groups from the first key to the last; of listed ones, as they are."""
    return groups.order() if isinstance(groups, Keys) else np.arange(len(groups))
