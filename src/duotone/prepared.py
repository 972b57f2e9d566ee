"""Prepared: a question that has been checked, what it will cost and how accurate it will be; then its release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from duotone.account import Receipt
from duotone.budget import Sale
from duotone.engines import Source
from duotone.engines.found import Ends, Found, Gathered, Tally, Want, require_reach
from duotone.engines.plan import People, gather, kept
from duotone.engines.reading import columns_in
from duotone.engines.source import UNREADABLE, quietly
from duotone.errors import DuotoneError
from duotone.ledger import Ledger
from duotone.line import balanced, partition_selection
from duotone.measures import Declared, Measure, measure
from duotone.notion import Array
from duotone.privacy import ApproxDP
from duotone.release import Basis, Coin
from duotone.sql.atoms import Asked, Both, Opposite, Tree
from duotone.sql.condition import ALWAYS, Condition
from duotone.table import LineTable

Key = tuple[Any, ...]
LISTED = 1000
"""Public lists of up to so many groups are used to look only at rows that are in one of them."""


@dataclass(frozen=True)
class Reply:
    """Released answers: by group where the question is grouped, else under the empty key.

    `share` is the budget of each single answer; `basis` whether levels were exact distances. Levels and truths are not in it.
    """

    answers: Mapping[Key, bool]
    by: tuple[str, ...]
    privacy: ApproxDP
    share: ApproxDP
    basis: Basis
    person: str
    grids: Mapping[str, str]
    private: bool
    table: LineTable = field(repr=False)
    receipt: Receipt | None = None
    """What it cost, where a ledger was charged."""

    def __bool__(self) -> bool:
        if self.by:
            raise DuotoneError("a grouped question has many answers: look at .answers")
        return self.answers[()]

    def __str__(self) -> str:
        told = "yes" if self else "no"
        return told + ("" if self.private else " (NOT PRIVATE: test seed)")

    def certificate(self) -> dict[str, Any]:
        """What proves the mechanism behind each answer: see `duotone check`."""
        return {**self.table.certificate(), "basis": self.basis}


@dataclass(frozen=True)
class Prepared:
    """A question that has been checked against the table's columns and what was declared; no row has been read.

    Without `asked`, the question is only which groups there are.
    """

    source: Source
    asked: Asked | None
    by: tuple[str, ...]
    declared: Declared
    privacy: ApproxDP
    most: int
    listed: tuple[Key, ...] | None

    def close(self) -> None:
        """Let go of the table, if it was opened for this question."""
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def parts(self) -> int:
        """Among how many answers about one person the budget is divided."""
        return self.most * (2 if self.by and self.listed is None and self.asked is not None else 1)

    @cached_property
    def share(self) -> ApproxDP:
        """The budget of one answer."""
        return self.privacy.split(self.parts)

    @cached_property
    def coin(self) -> Coin:
        """The mechanism of one answer: balanced, or which groups may be shown."""
        chosen = balanced(self.share) if self.asked is not None else partition_selection(self.share)
        return Coin(chosen, basis=self.basis)

    @cached_property
    def table(self) -> LineTable:
        """The mechanism's probabilities."""
        found = self.coin.table
        assert isinstance(found, LineTable)
        return found

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """What each comparison asks of the engine."""
        reach = 1
        if self.asked is not None:
            line = Coin(balanced(self.share)).table
            assert isinstance(line, LineTable)
            reach = max(len(line.blue), len(line.red))
        atoms = _atoms(self.asked.tree) if self.asked is not None else ()
        made = tuple(measure(atom, self.declared, reach, self.rows or ALWAYS) for atom in atoms)
        require_reach(m.wants for m in made)  # which no engine finds out before it has read rows
        return made

    @property
    def rows(self) -> Condition | None:
        """The rows that are looked at; under replace all of them, since everybody may change."""
        return self.asked.where if self.asked is not None and (self.by or not self.declared.replaced) else None

    @cached_property
    def basis(self) -> Basis:
        """Whether levels are exact distances."""
        one = self.declared.max_rows == 1  # who counts for more steps over a count that is asked for exactly
        exact = self.asked is None or _exact(self.asked.tree, iter(self.measures), one)
        return "exact distance" if exact else "safe bound"

    @property
    def person(self) -> str:
        """Who counts as a person, in words."""
        if self.declared.unit is None:
            return "each row is a person"
        rows = "" if self.declared.max_rows == 1 else f", with at most {self.declared.max_rows} rows"
        groups = f", in at most {self.most} groups" if self.by else ""
        return f"a person is a {self.declared.unit}{rows}{groups}"

    def error(self, margin: int) -> float:
        """Pr[wrong] when this many people, at least 1, would have to join, leave or change to flip the answer."""
        at = [self.table.blue, self.table.red]
        return float(max(1 - side[min(margin, len(side)) - 1] / 2**self.table.bits for side in at))

    def release(self) -> Reply:
        """Read the table, and draw the answers: every call is a new release, and costs the whole budget again."""
        gathered: Any = None
        keys: Any = None
        levels: Any = None
        try:
            who = People(self._narrowed(), self.rows, self.declared.unit, self.by, self.most)
            if self.asked is None and self.coin.private and who.source.draws:
                keys = quietly(lambda: kept(who, self.coin), UNREADABLE)
                return self._reply(dict.fromkeys(sorted(keys), True))
            gathered = quietly(lambda: gather(who, [(m.recipe, m.wants) for m in self.measures]), UNREADABLE)
            keys, levels = quietly(lambda: self._levels(gathered), UNREADABLE)
            if self.by and self.listed is None:
                shown = Coin(partition_selection(self.share)).answers(gathered.people - 1)
                keys, levels = [key for key, kept in zip(keys, shown.tolist(), strict=True) if kept], levels[shown]
            answers = self.coin.answers(levels) if self.asked is not None else np.ones(len(keys), dtype=bool)
            found = dict(zip(keys, answers.tolist(), strict=True))
            return self._reply({key: found[key] for key in (sorted(found) if self.listed is None else found)})
        finally:
            gathered = keys = levels = None  # no traceback may show them

    def _reply(self, answers: Mapping[Key, bool], private: bool | None = None, receipt: Receipt | None = None) -> Reply:
        grids = {c: str(g.step) for m in self.measures for c, g in m.grids.items()}
        told = self.privacy, self.share, self.basis, self.person, grids
        return Reply(answers, self.by, *told, self.coin.private if private is None else private, self.table, receipt)

    @property
    def sale(self) -> Sale:
        """What a ledger is charged for: as many answers as one person can change."""
        if self.asked is None:
            return Sale(partition_selection(self.share), self.parts)
        selection = (partition_selection(self.share),) if self.by and self.listed is None else ()
        return Sale(balanced(self.share), self.parts, selection)

    @property
    def normal(self) -> str:
        """The question with everything declared that can change its answer, in a form in which the same looks the same."""
        d = self.declared
        text = self.asked.normal if self.asked is not None else f"GROUPS BY {json.dumps(self.by)}"
        told: dict[str, Any] = {c: [str(b.low), str(b.high), b.grid and str(b.grid)] for c, b in d.bounds.items()}
        told = {"bounds": told, "max_rows": d.max_rows, "per_unit": d.per_unit, "max_groups": self.most, "listed": self.listed}
        said = {name: value for name, value in told.items() if value and value != 1}
        return f"{text} WITH {json.dumps(said, sort_keys=True)}" if said else text

    def charge(self, ledger: Ledger, dataset: str | None = None, *, again: bool = False, by: str | None = None) -> Reply:
        """Charge a ledger, then release; the same question asked before is answered from its record, free.

        Guarantee: the charge is on the disk before the table is read or a coin is drawn. If either fails, it is wasted.
        """

        def flip() -> Any:
            try:
                reply = self.release()
            except DuotoneError as error:
                raise DuotoneError(f"{error}; no answer was released, and the charge stands") from None
            return {"answers": [[list(key), answer] for key, answer in reply.answers.items()], "private": reply.private}

        if self.declared.unit == "row":
            raise DuotoneError("in a ledger, row means that each row is a person: rename the column that names a person")
        if dataset is None and not self.source.named:
            raise DuotoneError("a data frame has no name: say which dataset of the ledger it is")
        about = {"unit": self.declared.unit or "row", "neighbours": self.declared.neighbours}
        named = dataset is None or dataset == self.source.name or not self.source.named
        question = self.normal if named else f"{self.normal} OF {self.source.name}"
        receipt = ledger.ask(dataset or self.source.name, question, self.sale, flip, again=again, by=by, **about)
        answers = {tuple(key): answer for key, answer in receipt.answer["answers"]}
        return self._reply(answers, receipt.answer["private"], receipt)

    def _narrowed(self) -> Source:
        """The table with only the columns, and of a short public list of groups only the rows, that are looked at."""
        unit = () if self.declared.unit is None else (self.declared.unit,)
        source = self.source.only([*sorted(columns_in(self.asked)), *self.by, *unit])
        if not self.listed or len(self.listed) > LISTED:
            return source
        table = source.table
        for i, column in enumerate(self.by):
            table = table.filter(table[column].cast("string").isin(sorted({str(key[i]) for key in self.listed})))
        return replace(source, table=table)

    def _levels(self, gathered: Gathered) -> tuple[tuple[Key, ...], NDArray[np.int64]]:
        """Levels of the groups that are asked about, no further than the mechanism tells them apart."""
        if self.asked is None:
            return gathered.keys, gathered.people - 1
        found = [m.levels(results, gathered.people) for m, results in zip(self.measures, gathered.found, strict=True)]
        keys, levels = gathered.keys, combined(self.asked.tree, iter(found))
        if self.listed is not None:
            nobody = [m.levels({n: nothing(w) for n, w in m.wants.items()}, np.zeros(1, dtype=np.int64)) for m in self.measures]
            place = {tuple(map(str, key)): i for i, key in enumerate(keys)}
            everyone = np.append(levels, combined(self.asked.tree, iter(nobody)))
            levels = everyone[[place.get(tuple(map(str, key)), -1) for key in self.listed]]
            keys = self.listed
        reach = max(len(self.table.blue), len(self.table.red))
        return keys, np.clip(levels, -reach - 1, reach).astype(np.int64)


def _atoms(tree: Tree) -> list[Any]:
    if isinstance(tree, Both):
        return [atom for part in tree.parts for atom in _atoms(part)]
    return _atoms(tree.part) if isinstance(tree, Opposite) else [tree]


def combined(tree: Tree, found: Any) -> Array:
    """And is the least level, or the greatest, not the other side."""
    if isinstance(tree, Both):
        parts = [combined(part, found) for part in tree.parts]
        return np.asarray((np.minimum if tree.rule == "and" else np.maximum).reduce(parts))
    if isinstance(tree, Opposite):
        return np.asarray(-1 - combined(tree.part, found))
    return np.asarray(next(found))


def _exact(tree: Tree, measures: Any, one: bool) -> bool:
    if isinstance(tree, Both):
        parts = [_exact(part, measures, one) for part in tree.parts]
        return tree.exact and one and all(parts)
    return _exact(tree.part, measures, one) if isinstance(tree, Opposite) else next(measures).exact


def nothing(want: Want) -> Found:
    """What comes back of a group that nobody is in."""
    zero = np.zeros(1, dtype=np.int64)
    match want:
        case Tally():
            return Found(dict.fromkeys(want.values, zero), zero, zero)
        case Ends():
            return Found({}, zero.astype(object), zero, reach=want.reach)
    return Found({}, zero, zero)
