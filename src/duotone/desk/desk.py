"""The desk: all that people can do, whichever way they come: by browser, by program, or through an assistant.

`Desk.ask` stands first: what needs no private row is answered among whatever else one looks at; the rest takes a place in the
queue, then `answering` does its work, and the answer leaves at a tick. What it refuses is a `Refused`, whose sentence depends
on the request and the ledger alone.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any, Protocol, TypeVar

from duotone.desk import accounts, documents, made_up
from duotone.desk.answering import LOG, NO_LEDGER, Answering
from duotone.desk.approvals import Approvals
from duotone.desk.callers import Caller, Refused
from duotone.desk.clock import Clock
from duotone.desk.log import audit
from duotone.desk.office import Office
from duotone.desk.operations import OPERATIONS, Document
from duotone.desk.records import Records
from duotone.desk.same_table import remember
from duotone.desk.tables import OpenTable, PublicFiles, check_tables
from duotone.desk.terms import Terms
from duotone.desk.work import seconds_of
from duotone.desk.workers import Workers
from duotone.errors import OfficeError
from duotone.ledger.ledger import Ledger
from duotone.model.checks import Mistakes
from duotone.model.terms import DefiniteTerms
from duotone.tables.prepared import Prepared

T = TypeVar("T")
Method = Callable[..., Coroutine[Any, Any, Document]]
LEVELS = 2**16
"""Of a certificate that is sent, at most, which then has some megabytes: a slow reader keeps it in memory."""


class Browsers(Protocol):
    """Who keeps the sessions of browsers."""

    async def every_session(self) -> list[Document]:
        """Those that hold, and whose they are."""
        ...

    async def end_session(self, ident: str, by: str) -> None:
        """End one."""
        ...


def operation(method: Callable[..., Any]) -> Method:
    """A method as the operation of its name: who may not is refused, and the method gets the table of the dataset that is
    named. One that is not a coroutine reads no private row: it takes its turn among whatever else people look at."""
    declared, waits = OPERATIONS[method.__name__], iscoroutinefunction(method)

    @wraps(method)
    async def called(self: Desk, caller: Caller, *given: Any) -> Document:
        if declared.places[:1] == ["name"]:
            given = (self._seen(caller, given[0]), *given[1:])
        declared.require(caller)
        work = partial(method, self, caller, *given)
        document: Document = await (work() if waits else self.workers.look(caller, work))
        return document

    return called


class Desk:
    """An office that is open: its tables, its ledger and its records."""

    def __init__(self, office: Office, ledger: Ledger, records: Records, *, clock: Clock | None = None) -> None:
        self.office, self.ledger, self.records = office, ledger, records
        self.clock = Clock(office.clock.tick) if clock is None else clock
        public = PublicFiles()
        self.tables = {name: OpenTable(name, office, dataset, public=public) for name, dataset in office.datasets.items()}
        self.workers = Workers(office, self.clock)
        self.approvals = Approvals(office, ledger, records)
        self.answering = Answering(office, ledger, records, self.approvals)
        self.browsers: Browsers | None = None
        """Where browsers log in."""

    def start(self) -> None:
        """Open every table once, and hold the ledger against the office."""
        mistakes = Mistakes(self.office.file.name, self.office.text)
        check_tables(self.tables, mistakes)
        if mistakes.every:
            raise OfficeError(*mistakes.sentences)
        for table in self.tables.values():
            table.read_public()
        accounts.register_all(self.office, self.tables, self.ledger, self.records)

    def close(self) -> bool:
        """Close everything, once nothing is being answered; False where a thread does not end: an engine that cannot be
        interrupted."""
        ended = self.workers.end()
        for table in self.tables.values():
            table.reopen()
        self.ledger.close()
        self.records.close()
        return ended

    async def call(self, caller: Caller, name: str, *given: Any) -> Document:
        """Do an operation of the list by its name."""
        method: Method = getattr(self, OPERATIONS[name].name)
        return await method(caller, *given)

    # Asking

    @operation
    async def ask(self, caller: Caller, table: OpenTable, written: Any) -> Document:
        """The answer to a question, at a tick; or the request that now waits for approval.

        Guarantee: who asks is an analyst of this dataset; the charge is on the disk before the table is read (with close calls,
        before the coin is drawn); nothing of what was read is recorded or sent before a tick, and errors leave at ticks, too.
        A place in the queue is taken for a question only if the table is read for it, and for a public time.
        """
        try:
            asked = Terms.read(written)
            check = partial(self.answering.unread, caller, table, asked)
            terms, question, reply = await self.workers.look(caller, check, checks=not asked.made_up)
            if reply is None:
                answered = partial(self.answering.answered, caller, table, terms, question)
                return await self.workers.read(
                    caller, answered, self._seconds(table, question), partial(self._late, table.name)
                )
        except Refused as refused:
            if refused.kind != "too many":
                await self.clock.next_tick()
            raise
        if not terms.made_up:
            await self.clock.next_tick()
        return reply

    def _seconds(self, table: OpenTable, question: Prepared) -> float:
        """After which an answer leaves, by public facts."""
        return seconds_of(question, table.dataset, table.engine, self.office.limits)

    def _late(self, name: str) -> None:
        LOG.warning("an answer was not there at its tick", extra={"dataset": name})
        self.workers.note(partial(self.records.count, f"late {name}"))

    # Approval

    @operation
    def plan(self, caller: Caller, table: OpenTable, written: Any) -> Document:
        """A question with its price, as a request: approved at once where an assistant's allowance covers it."""
        terms = Terms.read(written)
        question = self.answering.question(table, terms)
        request = self.approvals.plan(caller, table, terms, question)
        return {**request, "preview": self._previewed(caller, table, terms, question)}

    @operation
    def requests(self, caller: Caller) -> Document:
        """One's own requests, and those that one may decide about."""
        return self.approvals.every(caller)

    @operation
    def decide(self, caller: Caller, number: int, approve: bool) -> Document:
        """Approve or refuse a request: one's own assistant's, or another person's."""
        return self.approvals.decide(caller, number, approve)

    @operation
    def allow_assistant(self, caller: Caller, table: OpenTable, allowance: Any) -> Document:
        """What one's assistant may ask without waiting: from now on, in all."""
        return self.approvals.allow(caller, table, allowance)

    @operation
    def assistant_allowance(self, caller: Caller, table: OpenTable) -> Document:
        """What is left of that."""
        return self.approvals.allowance(caller, table)

    # Looking

    @operation
    async def me(self, caller: Caller) -> Document:
        """Who one is here."""
        return {"name": caller.name, "role": caller.person.role, "assistant": caller.assistant}

    @operation
    def datasets(self, caller: Caller) -> Document:
        """What one may know of every dataset that one may see."""
        seen = [table for name, table in self.tables.items() if caller.person.may_see(name)]
        return {"datasets": [self._dataset(caller, table) for table in seen]}

    @operation
    def dataset(self, caller: Caller, table: OpenTable) -> Document:
        """What one may know of a dataset."""
        return self._dataset(caller, table)

    def _dataset(self, caller: Caller, table: OpenTable) -> Document:
        return documents.dataset_document(table, self.ledger, caller, self.clock.tick)

    @operation
    def preview(self, caller: Caller, table: OpenTable, written: Any) -> Document:
        """How accurate an answer would be, and what it would cost; nothing is read or spent."""
        terms = Terms.read(written)
        return self._previewed(caller, table, terms, self.answering.question(table, terms))

    def _previewed(self, caller: Caller, table: OpenTable, terms: Terms, question: Prepared) -> Document:
        document = documents.preview_document(question, self.ledger, table.in_ledger(), terms, caller.name)
        more = documents.how_many_more(table, self.ledger, caller, question.cost)
        document["ledger"]["how_many_more"] = more
        return {**document, "seconds": self._seconds(table, question)}

    @operation
    def made_up(self, _: Caller, table: OpenTable) -> Document:
        """Made-up rows with the dataset's columns."""
        return {"csv": made_up.as_csv(table.made_up_rows())}

    @operation
    def history(self, caller: Caller, table: OpenTable) -> Document:
        """What was asked about a dataset."""
        return documents.history_document(table, self.ledger, self.records, caller)

    @operation
    def budget(self, caller: Caller, table: OpenTable, written: Any = None) -> Document:
        """How the budget stands, and what a question would take of it."""
        cost = None if written is None else self.answering.question(table, Terms.read(written)).cost
        return documents.budget_document(table, self.ledger, caller, cost)

    @operation
    def certificate(self, _: Caller, table: OpenTable, charge: int) -> Document:
        """What proves that the answer of a charge is private and as accurate as can be."""
        words = self.records.words_of(table.in_ledger(), charge)
        if words is None:
            raise Refused("unknown", f"{table.name} has no answer of charge {charge} that was asked here")
        question = self.answering.question(table, Terms.read(words))
        basis = {"basis": question.facts.basis}
        if not isinstance(question.terms, DefiniteTerms):
            called = self.ledger.close_calls(table.in_ledger())
            if called is None:
                raise Refused("unavailable", NO_LEDGER)
            return {**called.certificate(), **basis}
        drawn_from = question.terms.table
        if (levels := len(drawn_from.blue) + len(drawn_from.red)) > LEVELS:
            sentence = f"the certificate of this answer has {levels:,} levels, too many to send: "
            raise Refused("too large", f"{sentence}`duotone line` makes the same of its epsilon and delta")
        return {**drawn_from.certificate(), **basis}

    async def draw(self, caller: Caller, drawing: Callable[[], T]) -> T:
        """A drawing of the studio: it needs no dataset, and takes its turn as whatever else one looks at."""
        return await self.workers.look(caller, drawing)

    # The owner

    @operation
    def relabel(self, caller: Caller, table: OpenTable, version: str) -> Document:
        """Say that the data has changed. Every question is then a new one; the budget is what it was."""
        self.ledger.relabel(table.in_ledger(), version, by=caller.name)
        audit("data was relabelled", by=caller.name, dataset=table.name, label=version)
        table.reopen()
        table.learn()
        table.read_public()
        remember(table.name, table.keys, self.records)
        return self._dataset(caller, table)

    @operation
    def verify(self, _: Caller, __: OpenTable) -> Document:
        """Whether the ledger is as it was written."""
        verdict = self.ledger.verify()
        problems = list(verdict.problems)
        return {"verified": verdict.holds, "problems": problems, "entries": verdict.entries, "head": verdict.head}

    @operation
    def overview(self, _: Caller) -> Document:
        """For the owner: who there is, which answers were late, and how often an engine failed."""
        counts = self.records.counts()
        of = {kind: {name: counts.get(f"{kind} {name}", 0) for name in self.tables} for kind in ("late", "failed")}
        members = self.office.people.items()
        people = [{"name": who, "role": member.role, "datasets": list(member.datasets)} for who, member in members]
        return {"late": of["late"], "failures": of["failed"], "people": people}

    @operation
    async def sessions(self, _: Caller) -> Document:
        """The sessions of browsers."""
        return {"sessions": [] if self.browsers is None else await self.browsers.every_session()}

    @operation
    async def end_session(self, caller: Caller, session: str) -> Document:
        """End one: its browser has to log in again."""
        if self.browsers is not None:
            await self.browsers.end_session(session, caller.name)
        return {"session": session, "ended": True}

    # Common to all

    def _seen(self, caller: Caller, name: str) -> OpenTable:
        """A dataset that exists for this person."""
        if name not in self.tables or not caller.person.may_see(name):
            raise Refused("unknown", "there is no such dataset")
        return self.tables[name]
