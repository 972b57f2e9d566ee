"""The desk: all operations, for requests from a browser, a program or an assistant.

`Desk.ask` comes first. A question that needs no private row is answered with the other quick work; any other waits for
a place in the queue, is answered by `answering`, and its answer leaves at a tick. A refusal is a `Refused`, whose
sentence depends on the request and the ledger alone.
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
from duotone.model.terms import PaidTerms
from duotone.tables.prepared import Prepared

T = TypeVar("T")
Method = Callable[..., Coroutine[Any, Any, Document]]
LEVELS = 2**16
"""Most levels of a certificate that is sent (some megabytes): a slow reader keeps it in memory."""


class Browsers(Protocol):
    """Where sessions of browsers are kept."""

    async def every_session(self) -> list[Document]:
        """All current sessions and their people."""
        ...

    async def end_session(self, ident: str, by: str) -> None:
        """End a session."""
        ...


def operation(method: Callable[..., Any]) -> Method:
    """Turn a method into the operation of its name: check the caller's role, and pass the table of the named dataset. A
    method that is not a coroutine reads no private row, and runs with the other quick work."""
    declared, waits = OPERATIONS[method.__name__], iscoroutinefunction(method)

    @wraps(method)
    async def called(self: Desk, caller: Caller, *given: Any) -> Document:
        if declared.places[:1] == ["dataset"]:
            given = (self._seen(caller, given[0]), *given[1:])
        declared.require(caller)
        work = partial(method, self, caller, *given)
        document: Document = await (work() if waits else self.workers.look(caller, work))
        return document

    return called


class Desk:
    """An open office: its tables, its ledger and its records."""

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
        """Open every table once, and compare the ledger with the office."""
        mistakes = Mistakes(self.office.file.name, self.office.text)
        check_tables(self.tables, mistakes)
        if mistakes.every:
            raise OfficeError(*mistakes.sentences)
        for table in self.tables.values():
            table.read_public()
        accounts.register_all(self.office, self.tables, self.ledger, self.records)

    def close(self) -> bool:
        """Close everything after the last answer; False if a thread does not end (an engine that cannot be
        interrupted)."""
        ended = self.workers.end()
        for table in self.tables.values():
            table.reopen()
        self.ledger.close()
        self.records.close()
        return ended

    async def call(self, caller: Caller, name: str, *given: Any) -> Document:
        """Run an operation by name."""
        method: Method = getattr(self, OPERATIONS[name].name)
        return await method(caller, *given)

    # Asking

    @operation
    async def ask(self, caller: Caller, table: OpenTable, written: Any) -> Document:
        """The answer to a question, sent at a tick; or the request that now waits for approval.

        Guarantee: the asker is an analyst of this dataset. The charge is on disk before the table is read (with close
        calls, before the coin is drawn). Nothing that was read is recorded or sent before a tick, and errors also leave
        at ticks. A question takes a place in the queue only if the table is read for it, and for a public time.
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
        """Seconds until an answer leaves, from public facts."""
        return seconds_of(question, table.dataset, table.engine, self.office.limits)

    def _late(self, name: str) -> None:
        LOG.warning("an answer was not there at its tick", extra={"dataset": name})
        self.workers.note(partial(self.records.count, f"late {name}"))

    # Approval

    @operation
    def plan(self, caller: Caller, table: OpenTable, written: Any) -> Document:
        """File a question with its price as a request; approved at once if an assistant's allowance covers it."""
        terms = Terms.read(written)
        question = self.answering.question(table, terms)
        request = self.approvals.plan(caller, table, terms, question)
        return {**request, "preview": self._previewed(caller.name, table, terms, question)}

    @operation
    def requests(self, caller: Caller) -> Document:
        """The caller's own requests, and those that the caller may decide."""
        return self.approvals.every(caller)

    @operation
    def request(self, caller: Caller, number: int) -> Document:
        """A request that is not asked or refused yet, with the preview that its asker sees now; or why it has none."""
        request = self.approvals.one(caller, number)
        if request["state"] not in ("waiting", "approved") or request["dataset"] not in self.tables:
            return {**request, "preview": None, "problem": None}
        table, terms = self.tables[request["dataset"]], Terms.read(request["terms"])
        try:
            preview = self._previewed(request["asker"], table, terms, self.answering.question(table, terms))
        except Refused as refused:  # what the owner declares may have changed since
            if refused.kind != "bad question":
                raise
            return {**request, "preview": None, "problem": str(refused)}
        return {**request, "preview": preview, "problem": None}

    @operation
    def decide(self, caller: Caller, number: int, approve: bool) -> Document:
        """Approve or refuse a request: of one's own assistant, or of another person."""
        return self.approvals.decide(caller, number, approve)

    @operation
    def allow_assistant(self, caller: Caller, table: OpenTable, allowance: Any) -> Document:
        """Set what the caller's assistant may ask without waiting: a total, from now on."""
        return self.approvals.allow(caller, table, allowance)

    @operation
    def assistant_allowance(self, caller: Caller, table: OpenTable) -> Document:
        """What is left of the assistant's allowance."""
        return self.approvals.allowance(caller, table)

    # Reading

    @operation
    async def me(self, caller: Caller) -> Document:
        """Who the caller is."""
        return {"name": caller.name, "role": caller.person.role, "assistant": caller.assistant}

    @operation
    def datasets(self, caller: Caller) -> Document:
        """What the caller may know of each dataset."""
        seen = [table for name, table in self.tables.items() if caller.person.may_see(name)]
        return {"datasets": [self._dataset(caller, table) for table in seen]}

    @operation
    def dataset(self, caller: Caller, table: OpenTable) -> Document:
        """What the caller may know of a dataset."""
        return self._dataset(caller, table)

    def _dataset(self, caller: Caller, table: OpenTable) -> Document:
        return documents.dataset_document(table, self.ledger, caller, self.clock.tick)

    @operation
    def preview(self, caller: Caller, table: OpenTable, written: Any) -> Document:
        """How accurate an answer would be and what it would cost; reads and charges nothing."""
        terms = Terms.read(written)
        return self._previewed(caller.name, table, terms, self.answering.question(table, terms))

    def _previewed(self, person: str, table: OpenTable, terms: Terms, question: Prepared) -> Document:
        document = documents.preview_document(question, self.ledger, table.in_ledger(), terms, person)
        more = documents.how_many_more(table, self.ledger, person, question.cost)
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
        """What is left of the budget, and what a question would cost."""
        cost = None if written is None else self.answering.question(table, Terms.read(written)).cost
        return documents.budget_document(table, self.ledger, caller, cost)

    @operation
    def certificate(self, _: Caller, table: OpenTable, charge: int) -> Document:
        """The proof that the answer of a charge is private and as accurate as possible."""
        words = self.records.words_of(table.in_ledger(), charge)
        if words is None:
            raise Refused("unknown", f"{table.name} has no answer of charge {charge} that was asked here")
        question = self.answering.question(table, Terms.read(words))
        basis = {"basis": question.facts.basis}
        if not isinstance(question.terms, PaidTerms):
            called = self.ledger.close_calls(table.in_ledger())
            if called is None:
                raise Refused("unavailable", NO_LEDGER)
            return {**called.certificate(), **basis}
        drawn_from = question.terms.table if question.terms.groups is None else question.terms.groups.table
        if (levels := len(drawn_from.blue) + len(drawn_from.red)) > LEVELS:
            sentence = f"the certificate of this answer has {levels:,} levels, too many to send: "
            raise Refused("too large", f"{sentence}`duotone line` computes the same from its epsilon and delta")
        return {**question.terms.certificate(), **basis}

    async def draw(self, caller: Caller, drawing: Callable[[], T]) -> T:
        """A drawing for the studio: needs no dataset, and runs with the other quick work."""
        return await self.workers.look(caller, drawing)

    # The owner

    @operation
    def relabel(self, caller: Caller, table: OpenTable, version: str) -> Document:
        """Give the data a new version. Every question is then new; the budget is unchanged."""
        self.ledger.relabel(table.in_ledger(), version, done_by=caller.name)
        audit("data was relabelled", by=caller.name, dataset=table.name, label=version)
        table.reopen()
        table.learn()
        table.read_public()
        remember(table.name, table.keys, self.records)
        return self._dataset(caller, table)

    @operation
    def verify(self, _: Caller, __: OpenTable) -> Document:
        """Whether the ledger is unaltered."""
        verdict = self.ledger.verify()
        problems = list(verdict.problems)
        return {"verified": verdict.holds, "problems": problems, "entries": verdict.entries, "head": verdict.head}

    @operation
    def overview(self, _: Caller) -> Document:
        """For the owner: people, late answers, and failures of engines."""
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
        """End a session: its browser must log in again."""
        if self.browsers is not None:
            await self.browsers.end_session(session, caller.name)
        return {"session": session, "ended": True}

    # Shared

    def _seen(self, caller: Caller, name: str) -> OpenTable:
        """A dataset that this person may see."""
        if name not in self.tables or not caller.person.may_see(name):
            raise Refused("unknown", "there is no such dataset")
        return self.tables[name]
