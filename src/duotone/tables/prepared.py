"""Prepared: a question that has been checked against its table; then its charge and its release."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from duotone.cached import cached_property
from duotone.errors import DuotoneError, OverBudget
from duotone.html import table
from duotone.interrupts import uninterrupted
from duotone.ledger.close_calls import CloseCalls
from duotone.ledger.ledger import Ledger, opened_ledger
from duotone.line.noise import FURTHEST
from duotone.line.table import Outcome
from duotone.line.which import answer_at
from duotone.model.accuracy import Accuracy, Clearness
from duotone.model.answer import Key
from duotone.model.cost import Cost, Quote, Receipt, Shortfall
from duotone.model.dataset import Dataset
from duotone.model.notice import Refusal, why
from duotone.model.terms import DefiniteTerms, PaidTerms, Terms, WhichTerms
from duotone.privacy.definition import Array
from duotone.release.coin import Coin
from duotone.release.groups import answers_drawn, shown_drawn, sizes_drawn
from duotone.resources import engine_limits, further_check
from duotone.tables.answers import Answers, Facts, facts_of
from duotone.tables.billing import Bill, bill, dataset_of, normal_form
from duotone.tables.comparisons import CompiledComparison
from duotone.tables.compile_question import Compiled, Groups, levels_of, plan_for
from duotone.tables.engines.engine import UNREADABLE, Draws, Source, closed_on_error, quietly
from duotone.tables.engines.expressions import require_able
from duotone.tables.engines.query import People, kept
from duotone.tables.engines.results import Keys
from duotone.tables.parts.question import ByParts
from duotone.tables.preview import Preview, preview
from duotone.tables.sql.comparison import ParsedQuestion
from duotone.tables.sql.condition import Formula, Like, parts_of
from duotone.tables.sql.functions import FUNCTIONS
from duotone.tables.work import Work, held, line, require_room, work_of

FEW = 10
"""Up to this many formulas and patterns, a statement is never too long."""


Questioned = ParsedQuestion | ByParts | None
"""What is asked: a question that was parsed, one of parts of the people, or which groups there are."""
Reopen = Callable[[Any], tuple[Source, Questioned]]


def at_once() -> None:
    """For a question whose answer is recorded without waiting."""


@dataclass(frozen=True, repr=False)
class Prepared:
    """A question that fits the table's columns and declarations; no row has been read.

    `facts` describe it and how accurate the answer will be, `duotone.plotting.question` draws it; `release` answers it,
    and `charge` does so through a ledger. Without `asked`, the question is which groups there are.
    """

    source: Source
    asked: Questioned
    by: tuple[str, ...]
    declared: Dataset
    most: int
    """Most groups in which a person counts."""
    listed: tuple[Key, ...] | None
    """The public list of groups."""
    terms: Terms
    compiled: Compiled | None = field(repr=False)
    """The compiled request to the engine."""
    reopen: Reopen = field(repr=False, compare=False)
    """Opens the question's tables again, as they were checked: from the argument of `on`."""

    def on(self, table: Any) -> Prepared:
        """The same checked question for its table as it is open now.

        So a service keeps a waiting question without a connection. Only the columns and the engine's abilities are
        checked again; if public rows have changed, it is another question for a ledger.
        """
        source, asked = self.reopen(table)
        with closed_on_error(source.close):
            if isinstance(asked, ParsedQuestion) and source.engine.can != self.source.engine.can:
                require_able(source, asked)
            return replace(self, source=source, asked=asked)

    def close(self) -> None:
        """Close the table, if it was opened for this question."""
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Prepared: {self.facts.question} of {self.source.name}; {self.terms}; {self.facts.basis}>"

    def _repr_html_(self) -> str:
        facts = self.facts
        said = [facts.divided, facts.accuracy.ending, facts.person, facts.clipping, *self.notes]
        return table(facts.accuracy.head, facts.accuracy.cells, before=repr(self)[1:-1], after=filter(None, said))

    @cached_property
    def facts(self) -> Facts:
        """Everything public about the question."""
        by = () if self.compiled is not None and self.compiled.groups is not None else self.by
        listed = None if self.listed is None else len(self.listed)
        return facts_of(self.source, self.asked, by, self.declared, self.most, self.terms, self.compiled, listed)

    @property
    def parsed(self) -> ParsedQuestion | None:
        """The parsed question; None if parts of the people are asked, or which groups there are."""
        return self.asked if isinstance(self.asked, ParsedQuestion) else None

    @property
    def comparisons(self) -> tuple[CompiledComparison, ...]:
        """The request of each comparison."""
        return () if self.compiled is None else self.compiled.comparisons

    @property
    def accuracy(self) -> Accuracy | Clearness:
        """How often one answer is wrong, or too close to call."""
        return self.terms.accuracy

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the asker, one sentence each."""
        return tuple(map(str, self.facts.notes))

    def error(self, margin: int) -> float:
        """Pr[wrong], or Pr[too close to call], when this many people, at least 1, would have to be different to flip it."""
        return self.accuracy.error(margin)

    def quote(self) -> str:
        """A sentence for a report about the question, before it is answered; `Answers.quote` has the answer, too.

        >>> import pyarrow as pa
        >>> from duotone import ApproxDP, prepare
        >>> stays = pa.table({"patient": ["a", "b"], "days": [3, 9]})
        >>> with prepare(stays, "avg(days) > 5", ApproxDP(1, "1e-6"), bounds={"days": (0, 30)}) as asked:
        ...     print(asked.quote().replace("; ", ";\\n").replace("stored is up", "stored is\\nup"))
        In the table, “avg(days) > 5” is to be answered with differential privacy, ε = 1, δ = 1e-06 per row under addition or \
removal;
        each row is a person;
        clipped: days to [0, 30] in steps of 1;
        wrong with probability at most 0.269, and never if 15 or more people would have to be different to change it;
        note: avg(days) > 5 is about clipped values: with 1% of them cut to [0, 30], by 30 on average, the average as stored is
        up to 0.3 away, with 10% up to 3, so near the limit the answer may be another.
        """
        said = "are to be selected" if self.asked is None else "is to be answered"
        return f"In {self.facts.table}, {self.facts.text} {said} with {self.facts.report(self.facts.budget)}."

    def preview(self, people: int) -> Preview:
        """How far the compared value must be from its limit for the answer to be right, or clear, for a public guess of
        `people` people (in a group, if grouped). Nothing is read."""
        if isinstance(self.asked, ByParts):
            raise DuotoneError(
                "a question of parts has no preview: nothing is known of it but that people change one part each"
            )
        if self.compiled is None:
            raise DuotoneError("only questions have a preview: which groups are shown depends on their numbers of people alone")
        definite = isinstance(self.terms, PaidTerms)
        return preview(
            self.compiled.tree,
            self.compiled.comparisons,
            self.accuracy,
            people,
            definite=definite,
            groups=self.compiled.groups,
        )

    @property
    def normal(self) -> str:
        """The question with every declaration that can change its answer, in normal form."""
        return self._forms[0]

    @property
    def _forms(self) -> tuple[str, ...]:
        """The normal form under which an answer is recorded. A single count against a limit has a second one: terms
        that record the count leave the limit out, and others keep it."""
        texts = [f"GROUPS BY {json.dumps(self.by)}" if self.asked is None else self.asked.normal]
        if self.asked is not None and self.asked.counted and self.compiled is not None and self.compiled.count is not None:
            texts.append(self.asked.counted)
        declared = self.declared if self.compiled is None else self.compiled.declared
        forms = [normal_form(text, declared, self.most, self.listed, self.source.stated) for text in texts]
        return tuple(forms if self.terms.count is None else reversed(forms))

    @property
    def cost(self) -> Cost:
        """What a ledger is charged for. Questions that share a budget by one Rényi order are not charged one by one."""
        if isinstance(self.terms, PaidTerms) and self.terms.questions > 1:
            raise Refusal("questions share by order", questions=self.terms.questions)
        return self.terms.cost

    def bill(self, ledger: Ledger, dataset: str | None) -> Bill:
        """The dataset, question, unit and neighbours, as a ledger knows them. Files whose columns have changed since
        the question was checked are refused here, before anything is charged."""
        self.source.checked()
        if isinstance(self.asked, ByParts):
            self.asked.checked()
        dataset = self.dataset_in(ledger, dataset)
        return bill(self._forms, self.declared, self.source, dataset, together=self._together)

    @property
    def _together(self) -> bool:
        """Whether it joins private tables."""
        return self.asked is not None and bool(self.asked.beside)

    def dataset_in(self, ledger: Ledger, dataset: str | None = None) -> str | None:
        """The charged dataset of a ledger: the named one, or by the table's name; None of private tables that are joined."""
        return dataset if dataset is not None or self._together else dataset_of(self.source, ledger)

    def shared_in_an_account_renyi(self, ledger: Ledger, dataset: str | None = None) -> bool:
        """Whether its answers share ε and δ by an order of their own, which only an account sum is charged for."""
        known = self.dataset_in(ledger, dataset)
        if not isinstance(self.terms, PaidTerms) or self.terms.shared is None or known is None:
            return False
        return ledger.stands(known).registered.account.name == "renyi"

    def charge(
        self,
        ledger: Ledger | str | Path,
        dataset: str | None = None,
        *,
        again: bool = False,
        asker: str | None = None,
        hold: Callable[[], None] = at_once,
    ) -> Answers:
        """Charge a ledger (possibly given by its place), then release; a question that was asked before is answered
        from its record, free. The default `dataset` is the table's name: a file's name without its ending.

        Guarantee: the charge is on disk before a coin is drawn and, for definite answers, before the table is read. If
        either fails, it is wasted. With close calls, the table is read before they are reserved, so that a failure
        there wastes none. `hold` is called when all work on rows is done, or has failed, and before anything of it is
        recorded: a service then waits for a public time.
        """
        read: list[Any] = []
        this = self

        def flip() -> Any:
            try:
                return this._released("the charge stands")
            finally:
                hold()

        def call(calls: int) -> tuple[Any, int]:
            if not read:
                read.append(this._read("the reserved close calls are wasted", hold))
            return this._called(read, calls)

        try:
            with opened_ledger(ledger) as opened:
                owed, called = self.bill(opened, dataset), None
                if isinstance(self.asked, ByParts):
                    this = replace(self, asked=self.asked.keyed(opened.stands(owed.dataset).registered.divider))
                draw: Callable[..., Any] = flip
                if not isinstance(self.terms, PaidTerms):
                    draw = call
                    called = _close_calls(opened, owed.dataset)
                    (quote,) = opened.quote(owed.dataset, [(owed.question, self.cost)], again=again, asker=asker, **owed.about)
                    if quote.fits and not quote.free:
                        read.append(this._read("nothing was charged", hold))
                receipt = opened.ask(owed.dataset, owed.question, self.cost, draw, again=again, asker=asker, **owed.about)
        finally:
            read.clear()  # no traceback may show it
        return self._reply(receipt.answer, owed.dataset, receipt, called)

    def recorded(self, ledger: Ledger, dataset: str, *, again: bool = False, asker: str | None = None) -> Answers | None:
        """What `charge` would answer from the record, free; None if it would charge. Refuses what does not fit, as
        `charge` does. Nothing is charged, and no row is read."""
        owed = self.bill(ledger, dataset)
        called = None if isinstance(self.terms, PaidTerms) else _close_calls(ledger, owed.dataset)
        receipt = ledger.recorded(owed.dataset, owed.question, self.cost, again=again, asker=asker, **owed.about)
        return None if receipt is None else self._reply(receipt.answer, owed.dataset, receipt, called)

    def _reply(self, recorded: Any, about: str, receipt: Receipt | None = None, called: CloseCalls | None = None) -> Answers:
        """A recorded draw, in the forms that people use."""
        read = {tuple(key): self.terms.from_record(answer) for key, answer in recorded["answers"]}
        every = self.listed if self.facts.by and self.listed is not None else ((),)
        missing = () if called is None else tuple(key for key in every if key not in read)
        answers = {key: answer for key, (answer, _) in read.items()}
        sizes = {tuple(key): size for key, answer in recorded["answers"] if (size := self.terms.size(answer)) is not None}
        margins = {key: margin for key, (_, margin) in read.items() if margin is not None}
        return Answers(answers, margins, self.facts, bool(recorded["private"]), about, receipt, missing, called, sizes)

    def release(self) -> Answers:
        """Read the table, and draw the answers: every call is a new release, and costs the whole budget again."""
        if not isinstance(self.terms, PaidTerms):
            raise DuotoneError(
                "questions that may be too close to call are asked through a ledger, which counts close calls: use charge"
            )
        return self._reply(self._released(None), self.facts.table)

    def _released(self, cost: str | None) -> Any:
        try:
            return self._drawn()
        except DuotoneError as error:
            if cost is None:
                raise
            raise Refusal("nothing released", why=why(error), cost=cost) from None

    @uninterrupted
    def _drawn(self) -> Any:
        """Read the table, and draw the definite answers as a ledger records them, each with its margin; for groups,
        which may be shown."""
        keys: Any = None
        people: Any = None
        levels: Any = None
        some: Any = None
        terms = self.terms
        if isinstance(terms, WhichTerms):
            return self._picked(terms)
        if not isinstance(terms, DefiniteTerms):
            raise TypeError("these terms have no definite answers")
        coin, groups = Coin(terms.table), terms.groups
        about_people = sizes_drawn if terms.sized else shown_drawn
        try:
            if groups is not None and terms.of_people and coin.private and isinstance(engine := self.source.engine, Draws):
                draw = partial(about_people, groups)
                shown = quietly(lambda: kept(self.population.asked([self.parsed]), draw, engine), UNREADABLE)
                return _recorded([key for key, _ in shown], terms.recorded(size for _, size in shown), coin.private)
            keys, people, levels = quietly(self._levels, UNREADABLE)
            if groups is not None:
                if terms.of_people:
                    some, drawn = about_people(groups, people)
                else:
                    some, drawn = answers_drawn(groups, coin, people, levels)
                keys = at(keys, some)
                places = order(keys)
                return _recorded(at(keys, places), terms.recorded(drawn[places].tolist()), coin.private)
            places = order(keys)
            keys, levels = at(keys, places), levels[places]
            drawn = (coin.margins if terms.table.has_margins else coin.answers)(levels, bar=False)
            return _recorded(keys, terms.recorded(drawn.tolist()), coin.private)
        finally:
            keys = people = levels = some = None  # no traceback may show them

    @uninterrupted
    def _picked(self, terms: WhichTerms) -> Any:
        """Read the table, and draw one of several answers: a place in the order of preference of the true one, by the distance
        of any other."""
        keys = standings = places = drawn = cast(Any, None)
        coin = Coin(terms.table)
        try:
            keys, _, standings = quietly(self._levels, UNREADABLE)
            places = coin.places(standings[:, 1])
            drawn = answer_at(standings[:, 0], places, len(terms.answers))
            return _recorded(keys, terms.recorded(drawn.tolist()), coin.private)
        finally:
            keys = standings = places = drawn = None  # no traceback may show them

    @uninterrupted
    def _read(self, cost: str, hold: Callable[[], None]) -> tuple[Any, Any]:
        """The groups, in the order of their list, and their levels, which are NOT private; `cost` is what a failure
        costs."""
        read: Any = None
        try:
            try:
                read = quietly(self._levels, UNREADABLE)
            except DuotoneError as error:
                raise Refusal("nothing released", why=why(error), cost=cost) from None
            finally:
                hold()
            return read[0], read[2]
        finally:
            read = None  # `hold` may raise, too

    @uninterrupted
    def _called(self, read: list[Any], calls: int) -> tuple[Any, int]:
        """The public outcomes, and how many were close calls: group by group, up to the last close call. The levels are
        removed from the list that was read."""
        levels: Any = None
        terms = self.terms
        if isinstance(terms, PaidTerms):
            raise TypeError("these terms have no close calls")
        try:
            keys, levels = read.pop()
            coin = Coin(terms.table)
            outcomes = coin.outcomes(levels, calls)
            return _recorded(keys, map(str, outcomes), coin.private), outcomes.count(Outcome.TOO_CLOSE)
        finally:
            levels = None

    @property
    def population(self) -> People:
        """Whose rows the question uses."""
        rows = None if self.compiled is None else self.compiled.rows
        return People(self.source, rows, self.declared.unit, self.by, self.most, self.listed)

    @cached_property
    def _plan(self) -> Any:
        """The plan, for estimating its cost; runs nothing."""
        if isinstance(self.asked, ByParts):
            return self.source.rows
        return plan_for(self.population, [(self.parsed, self.compiled)])

    def work(self, rows: float) -> Work:
        """The engine's largest possible work, if each private table has at most this many rows."""
        work = work_of(self._plan, rows, self.source.public, line(self.source.fields, self.source.longest))
        return work + held(self._plan, rows) if isinstance(self.asked, ByParts) else work

    def checked(self) -> Self:
        """The same question, if its budget has a table, its texts fit into memory, and its statement is not too long.
        Questions without computed texts and with few formulas and patterns always pass."""
        _ = self.terms.reach
        grows = [part for part in parts_of(self.asked) if isinstance(part, Formula | Like)]
        if len(grows) > FEW or any(isinstance(made, Formula) and FUNCTIONS[made.function].makes == "text" for made in grows):
            require_room(self.work(0), engine_limits())
        further_check(self)
        return self

    def _levels(self) -> tuple[Groups, Array, NDArray[np.int64]]:
        """The groups, how many people each has, and the levels for drawing answers, clipped at the mechanism's last
        level, or the standings of one of several. The result is NOT private."""
        if isinstance(self.asked, ByParts):
            return ((),), np.zeros(1), np.array([self.asked.level(self.source, self.declared)], dtype=np.int64)
        keys, people, (levels,) = levels_of_all([self])
        if isinstance(self.terms, WhichTerms):
            return keys, people, levels
        reach = FURTHEST if isinstance(self.terms, DefiniteTerms) and self.terms.far else self.terms.reach
        return keys, people, np.clip(levels, -reach - 1, reach).astype(np.int64)


def _recorded(keys: Any, drawn: Iterable[Any], private: bool) -> dict[str, Any]:
    """Answers as a ledger records them: of the first groups, if fewer were drawn."""
    return {"answers": [[list(key), answer] for key, answer in zip(keys, drawn, strict=False)], "private": private}


def levels_of_all(questions: Sequence[Prepared]) -> tuple[Groups, Array, list[Array]]:
    """Groups, their people, and each question's levels, from one plan; the questions must be about the same people. The
    result is NOT private.

    A public list of groups keeps its order, including empty groups. The level of a question which groups there are is
    that of a group of this size.
    """
    first = questions[0].population
    if any(other.population.seen != first.seen for other in questions):
        raise DuotoneError("questions that are asked in one plan must be about the same people")
    return levels_of(first, [(question.parsed, question.compiled) for question in questions])


def quote_all(
    questions: Sequence[Prepared],
    ledger: Ledger | str | Path,
    dataset: str | None = None,
    *,
    again: bool = False,
    asker: str | None = None,
) -> list[Quote]:
    """What questions about one table would cost in a ledger (possibly given by its place), asked in turn; charges
    nothing and reads no row."""
    if not questions:
        return []
    with opened_ledger(ledger) as opened:
        bills = [question.bill(opened, dataset) for question in questions]
        asked = [(owed.question, question.cost) for owed, question in zip(bills, questions, strict=True)]
        return opened.quote(bills[0].dataset, asked, again=again, asker=asker, **bills[0].about)


def require_all_fit(
    questions: Sequence[Prepared],
    ledger: Ledger | str | Path,
    dataset: str | None = None,
    *,
    again: bool = False,
    asker: str | None = None,
) -> None:
    """Refuse questions that do not all fit into what is left, asked in turn, before the first is charged. (Other askers
    may still leave too little for the last.)"""
    for number, quote in enumerate(quote_all(questions, ledger, dataset, again=again, asker=asker), start=1):
        if not quote.fits:
            with opened_ledger(ledger) as opened:
                known = opened.stands(questions[0].bill(opened, dataset).dataset).registered.dataset
            lefts, place = (quote.left, asker, quote.allowance), (number, len(questions))
            raise OverBudget(Shortfall(known, quote.cost, *lefts, beyond=quote.beyond, question=place))


def at(groups: Groups, places: Array) -> Groups:
    """The keys of some groups; keys of others are not created."""
    return groups.at(places) if isinstance(groups, Keys) else tuple(groups[place] for place in places)


def order(groups: Groups) -> Array:
    """The places of groups in the order of their keys; listed ones keep their order."""
    return groups.order() if isinstance(groups, Keys) else np.arange(len(groups))


def _close_calls(ledger: Ledger, dataset: str) -> CloseCalls:
    called = ledger.close_calls(dataset)
    if called is None:
        raise DuotoneError(f"{dataset} was not registered with close calls: ask with an epsilon")
    return called
