"""Answering: check a question, charge it, read the table, draw the answer; in a thread, whenever the answer then
leaves."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from duotone.desk import accounts, made_up
from duotone.desk.approvals import Approvals
from duotone.desk.callers import Caller, Refused
from duotone.desk.clock import Departure
from duotone.desk.documents import answer_document, kept
from duotone.desk.office import Office, called
from duotone.desk.operations import Document
from duotone.desk.records import Records
from duotone.desk.tables import OpenTable, given_up
from duotone.desk.terms import Terms
from duotone.desk.work import require_little, search_seconds
from duotone.errors import DuotoneError, FailedTrial, LedgerBusy, LedgerError, OverBudget, UnopenedTable
from duotone.ledger.ledger import Ledger, open_ledger
from duotone.model.notice import is_about
from duotone.resources import temporary_folder
from duotone.tables.engines.engine import ON_FAILURE, Source
from duotone.tables.prepared import Prepared
from duotone.words import budgets

LOG = logging.getLogger("duotone.service")
NO_LEDGER = "the ledger cannot be used at the moment, and its owner can see why; nothing was released"
BUSY = "the ledger is busy: try again; nothing was released"
NO_ANSWER = "the question could not be answered, and the owner can see why; if it was charged, the charge stands"
NO_TABLE = "the table cannot be opened at the moment, and its owner can see why; nothing was charged"
LONGEST_TRIAL = 2.0
"""Longest search, in seconds, for an answer about made-up rows."""
MADE_UP = {"made_up": True, "quote": "", "charge": None}


@dataclass(frozen=True)
class Answering:
    """How a question is answered. Refusals depend on the question and the ledger alone."""

    office: Office
    ledger: Ledger
    records: Records
    approvals: Approvals

    def checked(self, caller: Caller, table: OpenTable, written: Any) -> tuple[Terms, Prepared]:
        """The terms (of the approved request, if one is named) and the checked question; reads and charges nothing."""
        terms = Terms.read(written)
        if terms.request is not None:
            if terms.model_fields_set != {"request"}:
                raise Refused("bad question", "give only the number of an approved request: its question is fixed")
            terms = self.approvals.approved(caller, table, terms.request)
        return terms, self.question(table, terms)

    def question(self, table: OpenTable, terms: Terms) -> Prepared:
        """The question, if it fits the table; otherwise refused."""
        if terms.question is not None and len(terms.question) > self.office.limits.question:
            raise Refused("too large", f"a question here has at most {self.office.limits.question} characters")

        def little(question: Prepared) -> None:
            require_little(question, table.dataset, table.engine, self.office.limits, self.office.engine_limits)

        with _lent(table) as source:
            try:
                with table.question(source, terms, little) as question:
                    return question
            except FailedTrial as error:
                LOG.error(
                    "a question failed its trial", extra={"dataset": table.name, "failed": error.what, "code": error.code}
                )
                raise Refused("bad question", error) from None
            except UnopenedTable as error:  # a public file, opened with the question
                raise _closed(table, error) from None
            except DuotoneError as error:
                if is_about(error, "engine failed"):  # the owner's file is at fault
                    raise _closed(table, error) from None
                raise Refused("bad question", error) from None

    def unread(self, caller: Caller, table: OpenTable, written: Any) -> tuple[Terms, Prepared, Document | None]:
        """The question, and the reply if no private row is needed for it: made-up rows, a request that now waits, or a
        recorded answer. Refused if it does not fit into the budget. The reply is None if the table must be read."""
        terms, question = self.checked(caller, table, written)
        if terms.made_up:
            return terms, question, self._rehearsed(table, terms, question)
        try:
            if terms.request is None and self.approvals.needed(caller, table):
                request = self.approvals.plan(caller, table, terms, question)
                return terms, question, {name: request[name] for name in ("request", "state", "needs", "waits_for")}
            reply = question.recorded(self.ledger, table.in_ledger(), again=terms.again, asker=caller.name)
            if reply is None:
                return terms, question, None
            if terms.request is not None:
                self.approvals.take(terms.request)
        except LedgerError as error:
            raise refusal(error) from None
        document = answer_document(question, reply, terms, table.in_ledger())
        self._keep_words(table, document, terms)
        return terms, question, document

    def answered(self, caller: Caller, table: OpenTable, terms: Terms, question: Prepared, leaving: Departure) -> Document:
        """The answer from the table, for a checked question without a recorded answer."""
        number = terms.request
        leaving.require_awaited()
        if number is not None:
            self.approvals.take(number)
        try:
            document = self._charged(caller, table, terms, question, leaving)
        except (LedgerError, Refused) as error:
            if number is not None and (isinstance(error, OverBudget) or not leaving.begun):  # nothing was charged
                self.approvals.give_back(number)
            raise error if isinstance(error, Refused) else refusal(error) from None
        self._keep_words(table, document, terms)
        return document

    def _charged(self, caller: Caller, table: OpenTable, terms: Terms, question: Prepared, leaving: Departure) -> Document:
        """Charge, read, draw; then wait for the tick and record."""
        try:
            with (
                _lent(table) as source,
                table.asked_again(question, source) as asked,
                _heard(partial(self._failed, table.name)),
                given_up(
                    asked.source, max(self.office.limits.engine_seconds, leaving.due - leaving.clock.now()), leaving
                ) as done,
            ):

                def hold() -> None:
                    done()
                    leaving.hold()

                leaving.require_awaited()
                reply = asked.charge(self.ledger, table.in_ledger(), again=terms.again, asker=caller.name, hold=hold)
                return answer_document(asked, reply, terms, table.in_ledger())
        except LedgerError:
            raise
        except DuotoneError as error:
            table.reopen()
            known = is_about(error, "engine failed")
            LOG.error("a question could not be answered", extra={"dataset": table.name, "error": type(error).__name__})
            raise Refused("unavailable", error if known else NO_ANSWER) from None

    def _keep_words(self, table: OpenTable, document: Document, terms: Terms) -> None:
        """Keep the wording of the question; if that fails, the answer is still sent."""
        try:
            self.records.keep_words(table.in_ledger(), int(document["charge"]), kept(terms))
        except SQLAlchemyError as error:
            LOG.error("the words of a question were not kept", extra={"dataset": table.name, "error": type(error).__name__})

    def _rehearsed(self, table: OpenTable, terms: Terms, question: Prepared) -> Document:
        """The answer of made-up rows, from a temporary ledger."""
        if search_seconds(question, made_up.ROWS) > LONGEST_TRIAL:
            raise Refused("bad question", "finding how near the answer is takes too long for made-up rows: raise epsilon")
        with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder, open_ledger(f"{folder}/rehearsal.ledger") as ledger:
            try:
                with (
                    made_up.opened(table.made_up_rows(), table.made_up_columns, Path(folder)) as source,
                    _of_made_up(table, source, terms, question) as asked,
                ):
                    accounts.rehearse(ledger, table.dataset)
                    reply = asked.charge(ledger, table.in_ledger())
                    return {**answer_document(asked, reply, terms, table.in_ledger()), **MADE_UP, "private": False}
            except OverBudget as error:
                raise over_budget(error) from None
            except UnopenedTable as error:
                raise _closed(table, error) from None
            except DuotoneError as error:
                raise Refused("bad question", error) from None

    def _failed(self, name: str, kind: str) -> None:
        LOG.error("the engine could not answer", extra={"dataset": name, "error": kind})
        self.records.count(f"failed {name}")


def _of_made_up(table: OpenTable, source: Source, terms: Terms, question: Prepared) -> Prepared:
    """The question about made-up rows. Further private tables have none, so they are left out where the question allows
    it."""
    return table.question(source, terms) if table.declared.also else table.asked_again(question, source)


def over_budget(error: OverBudget) -> Refused:
    """What does not fit: ε, δ or both."""
    shortfall = error.shortfall
    sentence = budgets.over_budget(shortfall.numbers(), symbols=True, name=called(shortfall.dataset))
    part = budgets.beyond(shortfall.beyond, symbols=True)
    return Refused("over budget", sentence + (f" (its {part} is more than is left)" if part else ""))


def refusal(error: LedgerError) -> Refused:
    """A ledger's refusal as an analyst may see it: without the ledger's address, which is the owner's."""
    match error:
        case OverBudget():
            return over_budget(error)
        case LedgerBusy():
            return Refused("unavailable", BUSY, retry_after=5)
    LOG.error("the ledger refused", extra={"error": str(error)})
    return Refused("unavailable", NO_LEDGER)


@contextmanager
def _lent(table: OpenTable) -> Iterator[Any]:
    """Lend the table to one question; if it cannot be opened, only the owner sees why."""
    lent = table.lent()
    try:
        source = lent.__enter__()
    except DuotoneError as error:
        raise _closed(table, error) from None
    try:
        yield source
    finally:
        lent.__exit__(None, None, None)


def _closed(table: OpenTable, error: DuotoneError) -> Refused:
    """Log for the owner why a table cannot be opened."""
    LOG.error("a table cannot be opened", extra={"dataset": table.name, "error": str(error)})
    return Refused("unavailable", NO_TABLE)


@contextmanager
def _heard(owner: Callable[[str], None]) -> Iterator[None]:
    """Log the kind of an engine's error for the owner."""
    before = ON_FAILURE.set(owner)
    try:
        yield
    finally:
        ON_FAILURE.reset(before)
