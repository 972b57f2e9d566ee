"""Prepared: a question that has been checked, what it will cost and how accurate it will be; then its release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.html import bar, cell, table
from duotone.interrupts import uninterrupted
from duotone.ledger.account import Receipt
from duotone.ledger.ledger import Ledger, opened_ledger
from duotone.ledger.privacy_filters import Charge
from duotone.line.costs import boundary_for_costs
from duotone.line.mechanism import Boundary, LineMechanism, on_line, partition_selection
from duotone.line.table import LineTable, line_table, reach
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given
from duotone.privacy.unusual import budget_notes
from duotone.release.coin import Coin
from duotone.tables.accuracy import Accuracy, method
from duotone.tables.answers import Answers
from duotone.tables.checked_question import CheckedQuestion, at, at_once, order
from duotone.tables.compile_question import compile_question
from duotone.tables.declared import Declared, Key
from duotone.tables.engines import Source
from duotone.tables.engines.query import kept
from duotone.tables.engines.source import UNREADABLE, quietly
from duotone.tables.group_notes import selection_note
from duotone.tables.preview import Preview, preview
from duotone.tables.sql.comparison import ParsedQuestion


@dataclass(frozen=True, repr=False)
class Prepared(CheckedQuestion):
    """A question that has been checked against the table's columns and what was declared; no row has been read.

    Without `asked`, the question is only which groups there are. `duotone.plotting.question` draws how accurate it is.
    """

    privacy: ApproxDP
    share: ApproxDP
    """The budget of one answer."""
    boundary: Boundary
    """What is fixed at the boundary of one answer: balanced, or the truth on the side of yes, where one mistake is worse."""

    def __repr__(self) -> str:
        return f"<Prepared: {self.question} of {self.source.name}; {self.privacy}; {self.basis}>"

    def _repr_html_(self) -> str:
        accuracy = self.accuracy
        rows = [(cell(m), *map(bar, accuracy.wrong(m))) for m in accuracy.margins]
        said = [accuracy.ending, self.person, *filter(None, [self.clipping]), *self.notes]
        if self.share != self.privacy:
            said.insert(0, f"each answer gets {self.share}, its share of the budget")
        return table(accuracy.head, rows, before=repr(self)[1:-1], after=said)

    @property
    def parts(self) -> int:
        """Among how many answers about one person the budget is divided."""
        return _parts(self.asked, self.by, self.most, self.listed)

    @property
    def mechanism(self) -> LineMechanism:
        """Of one answer: balanced, by the costs of mistakes, or which groups may be shown."""
        return on_line(self.share, self.boundary)

    @property
    def selection(self) -> LineMechanism | None:
        """By which groups are shown, where the question is grouped and they are not listed."""
        return partition_selection(self.share) if self.by and self.listed is None else None

    @property
    def selected(self) -> bool:
        """Whether the groups that are answered for are selected privately."""
        return self.asked is not None and self.selection is not None

    @cached_property
    def table(self) -> LineTable:
        """The probabilities of one answer, built where they are first needed."""
        return line_table(self.mechanism)

    @cached_property
    def coin(self) -> Coin:
        """What draws one answer."""
        return Coin(self.table, basis=self.basis)

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever asks should know about the question: each a sentence."""
        return (*budget_notes(self.privacy), *self.remarks)

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes that are about the table and the question, not the budget."""
        said: tuple[str, ...] = () if self.vouched is None else (self.vouched,)
        if self.selection is not None:
            said = (*said, selection_note(self.selection, halved=self.asked is not None))
        return said if self.compiled is None else (*said, *self.compiled.notes)

    def error(self, margin: int) -> float:
        """Pr[wrong] when this many people, at least 1, would have to join, leave or change to flip the answer."""
        return max(self.errors(margin))

    def errors(self, margin: int) -> tuple[float, float]:
        """Pr[false no] and Pr[false yes] at a margin: the same, unless one mistake costs more."""
        return self.accuracy.errors(margin)

    @property
    def accuracy(self) -> Accuracy:
        """How often one answer is wrong, in the words of terminals, notebooks and reports."""
        return Accuracy(self.table, self.parts)

    def quote(self) -> str:
        """A sentence for a report about what is asked, before it is answered; `Answers.quote` has the answer, too.

        >>> import pyarrow as pa
        >>> from duotone import prepare
        >>> stays = pa.table({"patient": ["a", "b"], "days": [3, 9]})
        >>> with prepare(stays, "avg(days) > 5", ApproxDP(1, "1e-6"), bounds={"days": (0, 30)}) as asked:
        ...     print(asked.quote().replace("; ", ";\\n"))
        In the table, “avg(days) > 5” is to be answered with differential privacy, ε = 1, δ = 1e-06 per row under addition or \
removal;
        each row is a person;
        clipped: days to [0, 30] in steps of 1;
        wrong with probability at most 0.269, and never if 15 or more people would have to be different to change it.
        """
        said = "are to be selected" if self.asked is None else "is to be answered"
        return f"In {self._named}, {self.written} {said} with {method(self)}."

    def preview(self, people: int) -> Preview:
        """How far what is compared must be from its limit for the answer to be right, of a public guess of `people` people:
        with groups, in a group. Nothing is read."""
        if self.compiled is None:
            raise DuotoneError("a preview is of a question: which groups are shown depends on their people alone")
        blue, red = self.mechanism.certain
        return preview(self.compiled.tree, self.comparisons, self.errors, (blue + 1, red + 1), people)

    @uninterrupted
    def release(self) -> Answers:
        """Read the table, and draw the answers: every call is a new release, and costs the whole budget again."""
        keys: Any = None
        people: Any = None
        levels: Any = None
        try:
            if self.asked is None and self.coin.private and self.source.draws:
                keys = quietly(lambda: kept(self.population.people([self.asked]), self.coin), UNREADABLE)
                return self._reply(dict.fromkeys(sorted(keys), True))
            keys, people, levels = quietly(self._levels, UNREADABLE)
            if self.selection is not None:
                shown = (self.coin if self.asked is None else Coin(self.selection)).answers(people - 1, bar=False)
                keys, levels = at(keys, np.flatnonzero(shown)), levels[shown]
            answers = self.coin.answers(levels, bar=False) if self.asked is not None else np.ones(len(levels), dtype=bool)
            places = order(keys)
            return self._reply(dict(zip(at(keys, places), answers[places].tolist(), strict=True)))
        finally:
            keys = people = levels = None  # no traceback may show them

    def _reply(
        self,
        answers: Mapping[Key, bool],
        private: bool | None = None,
        receipt: Receipt | None = None,
        dataset: str | None = None,
    ) -> Answers:
        common = self.privacy, self.share, self.basis, self.person, self.grids
        drawn = self.coin.private if private is None else private
        said = self.vouched, self.question, self.protected, self.clipped, self.remarks
        asked = self.written, dataset or self._named, self.parts, self.selected, self.labels
        return Answers(answers, self.by, *common, drawn, self.table, receipt, *said, *asked)

    @property
    def cost(self) -> Charge:
        """What a ledger is charged for: as many answers as one person can change."""
        beside = () if self.asked is None or self.selection is None else (self.selection,)
        return Charge(self.mechanism, self.parts, beside)

    def charge(
        self,
        ledger: Ledger | str | Path,
        dataset: str | None = None,
        *,
        again: bool = False,
        by: str | None = None,
        hold: Callable[[], None] = at_once,
    ) -> Answers:
        """Charge a ledger, which may be named by its place, then release; the same question asked before is answered from its
        record, free. Where no `dataset` is named, it is the table's name: of a file, without its ending.

        Guarantee: the charge is on the disk before the table is read or a coin is drawn. If either fails, it is wasted. `hold`
        is called when both are done, or have failed, and before anything of that is recorded: there a service waits for a
        public time.
        """

        def flip() -> Any:
            try:
                reply = self.release()
            except DuotoneError as error:
                raise DuotoneError(f"{error}; no answer was released, and the charge stands") from None
            finally:
                hold()
            return {"answers": [[list(key), answer] for key, answer in reply.answers.items()], "private": reply.private}

        with opened_ledger(ledger) as opened:
            known, (question, *earlier), about = self.billed(opened, dataset)
            receipt = opened.ask(known, question, self.cost, flip, again=again, by=by, earlier=earlier, **about)
        return self._told(receipt, known)

    def recorded(self, ledger: Ledger, dataset: str, *, again: bool = False, by: str | None = None) -> Answers | None:
        """What `charge` would answer from the record, free; None where it would charge. What does not fit is refused as there.
        Nothing is charged, and no row is read."""
        known, (question, *earlier), about = self.billed(ledger, dataset)
        receipt = ledger.recorded(known, question, self.cost, again=again, by=by, earlier=earlier, **about)
        return None if receipt is None else self._told(receipt, known)

    def _told(self, receipt: Receipt, dataset: str) -> Answers:
        answers = {tuple(key): answer for key, answer in receipt.answer["answers"]}
        return self._reply(answers, receipt.answer["private"], receipt, dataset)


def prepared_question(
    source: Source,
    asked: ParsedQuestion,
    declared: Declared,
    privacy: ApproxDP,
    most: int,
    listed: tuple[Key, ...] | None,
    costs: tuple[Given, Given] | None = None,
) -> Prepared:
    """Compile a question that has been read: whatever is still wrong with it is reported here, before anything is charged."""
    share = privacy.split(_parts(asked, asked.by, most, listed))
    boundary: Boundary = "balanced" if costs is None else boundary_for_costs(share, *costs)
    last = reach(on_line(share, boundary))
    if asked.by and listed is None:
        reach(partition_selection(share))  # refuses a budget for which no group could be drawn
    compiled = compile_question(asked, declared, last, source)
    question = Prepared(source, asked, asked.by, declared, most, listed, last, compiled, privacy, share, boundary)
    return question.checked()


def prepared_selection(source: Source, by: tuple[str, ...], declared: Declared, privacy: ApproxDP, most: int) -> Prepared:
    """The question which groups there are."""
    share = privacy.split(_parts(None, by, most, None))
    last = reach(partition_selection(share))
    return Prepared(source, None, by, declared, most, None, last, None, privacy, share, "selection")


def _parts(asked: ParsedQuestion | None, by: tuple[str, ...], most: int, listed: tuple[Key, ...] | None) -> int:
    return most * (2 if by and listed is None and asked is not None else 1)
