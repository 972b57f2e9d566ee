"""Questions whose answers are yes, no or too close to call, of which a ledger counts the last: see docs/close-calls.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.html import cell, table
from duotone.interrupts import uninterrupted
from duotone.ledger.account import Receipt
from duotone.ledger.close_calls import Asked, CloseCalls
from duotone.ledger.ledger import Ledger, opened_ledger
from duotone.line.three_way import ThreeWay, ThreeWayTable, three_way_table
from duotone.release.coin import Basis
from duotone.release.three_way_coin import Outcome, ThreeWayCoin
from duotone.tables.checked_question import CheckedQuestion, at_once
from duotone.tables.compile_question import compile_question
from duotone.tables.declared import Declared, Key
from duotone.tables.engines import Source
from duotone.tables.engines.source import UNREADABLE, quietly
from duotone.tables.preview import TOO_CLOSE, Preview, preview
from duotone.tables.sql.comparison import ParsedQuestion

CHANCES = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100), Fraction(1, 1000), Fraction(1, 10**6), Fraction(1, 10**9))
"""The chances of a close call for which it is said how many people must be able to change."""


@dataclass(frozen=True)
class Clearness:
    """How often an answer is too close to call, by how many people would have to be different to flip it."""

    table: ThreeWayTable

    def chances(self, margin: int) -> tuple[float, float, float]:
        """Pr[right], Pr[wrong], Pr[too close to call] at a margin."""
        if type(margin) is not int or not margin >= 1:
            raise DuotoneError(f"a margin is a whole number of people, at least 1: the one who flips the answer; got {margin}")
        right, wrong, close = self.table.probabilities(margin - 1)
        return float(right), float(wrong), float(close)

    @property
    def rows(self) -> list[tuple[str, int]]:
        """From how many people on an answer is too close to call with at most some chances."""
        people = {f"{float(chance):g}": self.table.clear_from(chance) for chance in CHANCES}
        return [(chance, many) for chance, many in people.items() if many is not None]

    @property
    def by_margin(self) -> list[tuple[str, ...]]:
        """The probabilities at one person from flipping, and at those margins: what `HEAD` names."""
        margins = [1, *(people for _, people in self.rows)]
        return [(f"{m:,}", *(f"{chance:.4g}" for chance in self.chances(m))) for m in margins]

    @property
    def ending(self) -> str:
        """How often an answer is wrong."""
        return f"a wrong answer has probability {float(self.table.mechanism.wrong):.3g}, at any distance"


@dataclass(frozen=True, repr=False)
class CloseCallQuestion(CheckedQuestion):
    """A question that has been checked, and may be too close to call; no row has been read. `charge` asks it."""

    three_way: ThreeWay

    def __repr__(self) -> str:
        return f"<CloseCallQuestion: {self.question} of {self.source.name}; {self.three_way}; {self.basis}>"

    def _repr_html_(self) -> str:
        rows = [tuple(map(cell, row)) for row in self.clearness.by_margin]
        return table(HEAD, rows, before=repr(self)[1:-1], after=[self.clearness.ending, self.person, *self.notes])

    @cached_property
    def table(self) -> ThreeWayTable:
        """The probabilities of one answer."""
        return three_way_table(self.three_way)

    @property
    def groups_bounded(self) -> bool:
        """A person may be in any number of groups."""
        return False

    @property
    def clearness(self) -> Clearness:
        """How often an answer is too close to call."""
        return Clearness(self.table)

    @property
    def cost(self) -> Asked:
        """What a ledger counts: each group is a question of its own, and a person may be in any number of them."""
        return Asked(self.three_way, 1 if self.listed is None else len(self.listed))

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever asks should know about the question: each a sentence."""
        said = () if self.vouched is None else (self.vouched,)
        return said if self.compiled is None else (*said, *self.compiled.notes)

    def preview(self, people: int) -> Preview:
        """How far what is compared must be from its limit for the answer to be clear, of a public guess of `people` people:
        with groups, in a group. Nothing is read."""
        if self.compiled is None:
            raise DuotoneError("a preview is of a question: which groups are shown depends on their people alone")

        def unclear(margin: int) -> tuple[float, float]:
            return (1 - self.clearness.chances(margin)[0],) * 2

        surely = float(self.table.clear_from("1e-9") or math.inf)
        return preview(self.compiled.tree, self.comparisons, unclear, (surely, surely), people, TOO_CLOSE)

    def release(self) -> CloseCallAnswers:
        """Nothing: without a ledger, nobody would count."""
        raise DuotoneError("what may be too close to call is asked through a ledger, which counts: use charge")

    def charge(
        self,
        ledger: Ledger | str | Path,
        dataset: str | None = None,
        *,
        again: bool = False,
        by: str | None = None,
        hold: Callable[[], None] = at_once,
    ) -> CloseCallAnswers:
        """Ask through a ledger, which may be named by its place; the same question asked before is answered from its record.

        Guarantee: close calls are reserved on the disk before a coin is drawn, and given back when clear answers are recorded.
        The table is read before that, so that what fails there wastes none; what is recorded, or does not fit, is not read.
        `hold` is called when it has been read, or that has failed, and before anything is reserved: there a service waits for a
        public time.
        """
        read: list[Any] = []

        def draw(calls: int) -> tuple[Any, int]:
            if not read:
                read.append(self._read("what was reserved is wasted", hold))
            return self._drawn(read, calls)

        try:
            with opened_ledger(ledger) as opened:
                known, (question, *earlier), about = self.billed(opened, dataset)
                called = _close_calls(opened, known)
                texts: Any = {"again": again, "by": by, **about}
                (quote,) = opened.quote(known, [(question, self.cost)], earlier=[earlier], **texts)
                if quote.fits and not quote.free:
                    read.append(self._read("nothing was charged", hold))
                receipt = opened.call(known, question, self.cost, draw, earlier=earlier, **texts)
        finally:
            read.clear()  # no traceback may show it
        return self._told(receipt, known, called)

    def recorded(self, ledger: Ledger, dataset: str, *, again: bool = False, by: str | None = None) -> CloseCallAnswers | None:
        """What `charge` would answer from the record, free; None where it would read the table. What does not fit is refused as
        there. Nothing is reserved, and no row is read."""
        known, (question, *earlier), about = self.billed(ledger, dataset)
        called = _close_calls(ledger, known)
        receipt = ledger.recorded(known, question, self.cost, again=again, by=by, earlier=earlier, **about)
        return None if receipt is None else self._told(receipt, known, called)

    def _told(self, receipt: Receipt, dataset: str, called: CloseCalls) -> CloseCallAnswers:
        answers = {tuple(key): Outcome(answer) for key, answer in receipt.answer["answers"]}
        asked = ((),) if self.listed is None else self.listed
        unanswered = tuple(key for key in asked if key not in answers)
        return CloseCallAnswers(answers, unanswered, called, receipt, dataset, bool(receipt.answer["private"]), self)

    @uninterrupted
    def _read(self, cost: str, hold: Callable[[], None]) -> tuple[Any, Any]:
        """The groups, in the order of their list, and their levels, which are NOT private; `cost` is what a failure costs."""
        try:
            keys, _, levels = quietly(self._levels, UNREADABLE)
        except DuotoneError as error:
            raise DuotoneError(f"{error}; no answer was released, and {cost}") from None
        finally:
            hold()
        return keys, levels

    @uninterrupted
    def _drawn(self, read: list[Any], calls: int) -> tuple[Any, int]:
        """What will be public, and how many of it were close calls: one group after the other, up to the last call. What was
        read is taken out of its list."""
        levels: Any = None
        try:
            keys, levels = read.pop()
            coin = ThreeWayCoin(self.table)
            outcomes = coin.outcomes(levels, calls)
            answers = [[list(key), str(outcome)] for key, outcome in zip(keys, outcomes, strict=False)]
            return {"answers": answers, "private": coin.private}, outcomes.count(Outcome.TOO_CLOSE)
        finally:
            levels = None


def _close_calls(ledger: Ledger, dataset: str) -> CloseCalls:
    called = ledger.close_calls(dataset)
    if called is None:
        raise DuotoneError(f"{dataset} was not registered with close calls: ask with an epsilon")
    return called


HEAD = "people from flipping", "Pr[right]", "Pr[wrong]", "Pr[too close to call]"


@dataclass(frozen=True, repr=False)
class CloseCallAnswers:
    """What was answered: an `Outcome` for each group, or under the empty key; `unanswered` are groups after the last call.

    `str` of it is yes, no or too close to call, or a line for each group; `bool` the answer of a question without groups, if
    it is clear, and an error if it is not.
    """

    answers: Mapping[Key, Outcome]
    unanswered: tuple[Key, ...]
    close_calls: CloseCalls
    """What the dataset was registered with."""
    receipt: Receipt
    about: str
    """The dataset."""
    private: bool
    asked: CloseCallQuestion = field(repr=False)

    @property
    def by(self) -> tuple[str, ...]:
        """What the question is grouped by."""
        return self.asked.by

    @property
    def labels(self) -> tuple[str, ...]:
        """The same, as the question calls it."""
        return self.asked.labels

    @property
    def outcome(self) -> Outcome:
        """The answer of a question without groups."""
        if self.by:
            raise DuotoneError("a grouped question has many answers: look at .answers")
        return self.answers[()]

    def __bool__(self) -> bool:
        return bool(self.outcome)

    def __str__(self) -> str:
        warning = "" if self.private else " (NOT PRIVATE: test seed)"
        if not self.by:
            return f"{self.outcome}{self._price}{warning}"
        return "\n".join(f"{', '.join(map(str, key))}: {outcome}{warning}" for key, outcome in self.answers.items())

    @property
    def _price(self) -> str:
        """What a close call cost."""
        if self.outcome is not Outcome.TOO_CLOSE:
            return ""
        return " (as recorded)" if self.receipt.free else f" (charged; {self.receipt.calls_left} left)"

    def __repr__(self) -> str:
        counts = {outcome: list(self.answers.values()).count(outcome) for outcome in Outcome}
        many = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
        said = str(self) if not self.by else f"{many} by {', '.join(self.labels)}"
        return f"<CloseCallAnswers: {said}; {self.asked.three_way}; {self.basis}>"

    def _repr_html_(self) -> str:
        rows = [[*map(cell, key), cell(str(outcome))] for key, outcome in self.answers.items()]
        return table((*self.labels, "answer"), rows, before=self.asked.question, after=[self.asked.person, *self.notes])

    @property
    def basis(self) -> Basis:
        """Whether levels were exact distances."""
        return self.asked.basis

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever reads the answer should know: each a sentence."""
        said = self.asked.notes
        if self.unanswered:
            said = (*said, f"{len(self.unanswered)} groups were not answered: there are no close calls left")
        return said

    def quote(self) -> str:
        """A sentence for a report: the question, the answers, and what a reader needs to judge them."""
        keys = {" ".join(map(str, key)): outcome for key, outcome in self.answers.items()}
        said = ", ".join(f"{outcome} for {key}" for key, outcome in keys.items()) if self.by else str(self.outcome)
        called, wrong = self.close_calls, float(self.close_calls.question.wrong)
        together = f"ε = {called.budget.epsilon:g}, δ = {float(called.budget.delta):g} {self.asked.protected}"
        clear = self.asked.table.clear_from("1e-3")
        others = f"together with every other clear answer and up to {called.count} that are too close to call"
        far = (
            ""
            if clear is None
            else f", and clear with 99.9 % if {clear:,} or more people would have to be different to change it"
        )
        details = [
            f"In {self.about}, {self.asked.written} was answered {said} with differential privacy, {together}, {others}",
            self.asked.person,
            *([f"clipped: {self.asked.clipped}"] if self.asked.clipped else []),
            f"wrong with probability {wrong:.3g}{far}",
        ]
        return f"{'' if self.private else 'NOT PRIVATE, by a test seed: '}{'; '.join(details)}."

    def to_arrow(self) -> Any:
        """A table with the columns that the question is grouped by, as it calls them, and `answer`: yes, no or too close to
        call."""
        import pyarrow as pa

        if "answer" in self.labels:
            raise DuotoneError("a column of the groups is called answer already: look at .answers")
        keys = list(zip(*self.answers, strict=True)) if self.answers else [()] * len(self.by)
        columns = dict(zip(self.labels, (list(column) for column in keys), strict=True))
        return pa.table({**columns, "answer": pa.array(map(str, self.answers.values()), pa.string())})

    def to_pandas(self) -> Any:
        """The same as a data frame of pandas."""
        return self.to_arrow().to_pandas()

    def certificate(self) -> dict[str, Any]:
        """What proves that so many close calls, and any number of clear answers, are private: see `duotone check`."""
        return {**self.close_calls.certificate(), "basis": self.basis}


def close_call_question(
    source: Source, asked: ParsedQuestion, declared: Declared, three_way: ThreeWay, listed: tuple[Key, ...] | None
) -> CloseCallQuestion:
    """Compile a question that has been read: whatever is still wrong with it is reported here, before anything is reserved."""
    if asked.by and listed is None:
        raise DuotoneError(
            "with group by, each group is a question of its own: give the public list of groups (groups), or first ask which"
            " groups may be shown, at a price of its own"
        )
    last = three_way_table(three_way).reach
    compiled = compile_question(asked, declared, last, source)
    most = 1 if listed is None or declared.unit is None else len(listed)
    return CloseCallQuestion(source, asked, asked.by, declared, most, listed, last, compiled, three_way).checked()
