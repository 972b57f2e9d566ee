"""The desk: all that people can do, whichever way they come: by browser, by program, or through an assistant.

`Desk.ask` stands first: a place in the queue, then what `answering` does, and the answer at a tick. What it refuses is a
`Refused`, whose sentence depends on the request and the ledger alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from duotone.errors import DuotoneError, LedgerError
from duotone.ledger.ledger import Ledger
from duotone.service import accounts, made_up
from duotone.service.answering import LOG, NO_LEDGER, Answering, late_of, refusal
from duotone.service.approvals import Approvals, Document
from duotone.service.clock import Clock, Shape, declared_seconds
from duotone.service.documents import preview_document
from duotone.service.mistakes import Mistakes
from duotone.service.office import Office
from duotone.service.people import Caller
from duotone.service.queue import Queue
from duotone.service.records import Records
from duotone.service.refused import Refused
from duotone.service.tables import OpenTable, Question, refuse_same, shape_of
from duotone.service.terms import Terms
from duotone.service.work import row_steps, search_seconds
from duotone.tables.close_calls import CloseCallQuestion

T = TypeVar("T")
LEVELS = 2**16
"""Of a certificate that is sent, at most, which then has some megabytes: a slow reader keeps it in memory."""
LOOKS = 4
"""Threads for whatever is no question: previews, for one."""


class Desk:
    """An office that is open: its tables, its ledger and its records."""

    def __init__(self, office: Office, ledger: Ledger, records: Records, *, clock: Clock | None = None) -> None:
        self.office, self.ledger, self.records = office, ledger, records
        self.clock = Clock(office.clock.tick) if clock is None else clock
        self.tables = {name: OpenTable(name, office, dataset) for name, dataset in office.datasets.items()}
        self.queue = Queue(office.limits.workers, office.limits.at_once, office.limits.waiting)
        self.looks = Queue(LOOKS, LOOKS // 2, office.limits.waiting)
        self.approvals = Approvals(office, ledger, records)
        self.answering = Answering(office, ledger, records, self.approvals)
        self._asking = ThreadPoolExecutor(office.limits.workers, thread_name_prefix="ask")
        self._looking = ThreadPoolExecutor(LOOKS, thread_name_prefix="look")

    def start(self) -> None:
        """Open every table once, and hold the ledger against the office."""
        mistakes = Mistakes(self.office.file, self.office.text)
        for table in self.tables.values():
            table.check(mistakes)
        refuse_same(self.tables, mistakes)
        if mistakes.every:
            raise mistakes.error()
        accounts.register_all(self.office, self.tables, self.ledger, self.records)

    def close(self) -> None:
        """Wait for what is being answered, and close everything."""
        self._asking.shutdown()
        self._looking.shutdown()
        for table in self.tables.values():
            table.reopen()
        self.ledger.close()
        self.records.close()

    # Asking

    async def ask(self, caller: Caller, name: str, written: Any) -> Document:
        """The answer to a question, at a tick; or the request that now waits for approval.

        Guarantee: who asks is an analyst of this dataset; the charge is on the disk before the table is read (with close calls,
        before the coin is drawn); nothing of what was read is recorded or sent before a tick, and errors leave at ticks, too.
        """
        table = self._asked(caller, name)
        async with self.queue.place(caller.name):
            since, seconds = self.clock.now(), self._seconds(table, None)
            checked = self._run(self._asking, partial(self.answering.checked, caller, table, written))
            with suppress(Exception):  # which is raised below, at its tick
                seconds = self._seconds(table, (await checked)[1])
            leaving = self.clock.departure(since, seconds, partial(self._late, name))
            try:
                terms, question = await checked
                return await self._run(self._asking, partial(self.answering.answered, caller, table, terms, question, leaving))
            finally:
                await leaving.leave()

    def _seconds(self, table: OpenTable, question: Question | None) -> float:
        """After which an answer leaves, by public facts."""
        dataset, search, about = table.dataset, 0.0, tuple[Shape, int, float](("count", 0, 0.0))
        if question is not None:
            about = shape_of(question), question.reach, row_steps(question)
            search = search_seconds(question, dataset.rows)
        return (dataset.seconds or declared_seconds(table.engine, dataset.rows, *about)) + search

    def _late(self, name: str) -> None:
        LOG.warning("an answer was not there at its tick", extra={"dataset": name})
        self._looking.submit(self.records.count, f"late {name}")

    # Approval

    async def plan(self, caller: Caller, name: str, written: Any) -> Document:
        """A question with its price, as a request: approved at once where an assistant's allowance covers it."""
        table = self._asked(caller, name)

        def planned() -> Document:
            terms = Terms.read(written)
            question = self.answering.question(table, terms)
            request = self.approvals.plan(caller, table, terms, question)
            return {**request, "preview": self._previewed(caller, table, terms, question)}

        return await self._look(caller, planned)

    async def requests(self, caller: Caller) -> Document:
        """One's own requests, and those that one may decide about."""
        return await self._look(caller, partial(self.approvals.every, caller))

    async def decide(self, caller: Caller, number: int, approve: bool) -> Document:
        """Approve or refuse a request: one's own assistant's, or another person's."""
        return await self._look(caller, partial(self.approvals.decide, caller, number, approve))

    async def allow_assistant(self, caller: Caller, name: str, allowance: Any) -> Document:
        """What one's assistant may ask without waiting: from now on, in all."""
        return await self._look(caller, partial(self.approvals.allow, caller, self._asked(caller, name), allowance))

    async def assistant_allowance(self, caller: Caller, name: str) -> Document:
        """What is left of that."""
        return await self._look(caller, partial(self.approvals.allowance, caller, self._asked(caller, name)))

    # Looking

    def me(self, caller: Caller) -> Document:
        """Who one is here."""
        return {"name": caller.name, "role": caller.person.role, "assistant": caller.assistant}

    async def datasets(self, caller: Caller) -> Document:
        """What one may know of every dataset that one may see."""
        names = [name for name in self.tables if caller.person.may_see(name)]
        return {"datasets": await self._look(caller, lambda: [self._dataset(caller, self.tables[name]) for name in names])}

    async def dataset(self, caller: Caller, name: str) -> Document:
        """What one may know of a dataset."""
        table = self._seen(caller, name)
        return await self._look(caller, partial(self._dataset, caller, table))

    def _dataset(self, caller: Caller, table: OpenTable) -> Document:
        return accounts.dataset_document(table, self.ledger, caller, self.clock.tick)

    async def preview(self, caller: Caller, name: str, written: Any) -> Document:
        """How accurate an answer would be, and what it would cost; nothing is read or spent."""
        table = self._seen(caller, name)

        def previewed() -> Document:
            terms = Terms.read(written)
            return self._previewed(caller, table, terms, self.answering.question(table, terms))

        return await self._look(caller, previewed)

    def _previewed(self, caller: Caller, table: OpenTable, terms: Terms, question: Question) -> Document:
        document = preview_document(question, self.ledger, table.account(), terms, caller.name)
        more = accounts.how_many_more(table, self.ledger, caller, question.cost)
        document["ledger"]["how_many_more"] = more
        return {**document, "seconds": self._seconds(table, question)}

    async def made_up(self, caller: Caller, name: str) -> Document:
        """Made-up rows with the dataset's columns."""
        table = self._seen(caller, name)
        columns = table.made_up_columns
        rows = partial(made_up.made_up, columns, table.dataset.unit, max_rows=table.dataset.max_rows)
        return {"csv": await self._look(caller, lambda: made_up.as_csv(rows()))}

    async def history(self, caller: Caller, name: str) -> Document:
        """What was asked about a dataset."""
        table = self._seen(caller, name)
        return await self._look(caller, partial(accounts.history_document, table, self.ledger, self.records, caller))

    async def budget(self, caller: Caller, name: str, written: Any = None) -> Document:
        """How the budget stands, and what a question would take of it."""
        table = self._seen(caller, name)

        def read() -> Document:
            cost = None if written is None else self.answering.question(table, Terms.read(written)).cost
            return accounts.budget_document(table, self.ledger, caller, cost)

        return await self._look(caller, read)

    async def certificate(self, caller: Caller, name: str, charge: int) -> Document:
        """What proves that the answer of a charge is private and as accurate as can be."""
        table = self._seen(caller, name)

        def made() -> Document:
            words = self.records.words_of(table.account(), charge)
            if words is None:
                raise Refused("unknown", f"{name} has no answer of charge {charge} that was asked here")
            question = self.answering.question(table, Terms.read(words))
            if isinstance(question, CloseCallQuestion):
                called = self.ledger.close_calls(table.account())
                if called is None:
                    raise Refused("unavailable", NO_LEDGER)
                return {**called.certificate(), "basis": question.basis}
            if (levels := len(question.table.blue) + len(question.table.red)) > LEVELS:
                sentence = f"the certificate of this answer has {levels:,} levels, too many to send: "
                raise Refused("too large", f"{sentence}`duotone line` makes the same of its epsilon and delta")
            return {**question.table.certificate(), "basis": question.basis}

        return await self._look(caller, made)

    async def draw(self, caller: Caller, drawing: Callable[[], T]) -> T:
        """A drawing of the studio: it needs no dataset, and takes its turn as whatever else one looks at."""
        return await self._look(caller, drawing)

    # The owner

    async def relabel(self, caller: Caller, name: str, version: str) -> Document:
        """Say that the data has changed. Every question is then a new one; the budget is what it was."""
        table = self._seen(caller, name)
        self._require(caller, "owner")
        if caller.assistant:
            raise Refused("not allowed", "an assistant does not say that the data has changed: its person does")

        def relabelled() -> Document:
            try:
                self.ledger.relabel(table.account(), version, by=caller.name)
            except LedgerError as error:
                raise refusal(error) from None
            except DuotoneError as error:
                raise Refused("bad question", str(error)) from None
            table.reopen()
            table.learn()
            return self._dataset(caller, table)

        return await self._look(caller, relabelled)

    async def verify(self, caller: Caller, name: str) -> Document:
        """Whether the ledger is as it was written."""
        self._seen(caller, name)
        self._require(caller, "owner", "auditor")
        verdict = await self._look(caller, self.ledger.verify)
        return {
            "verified": verdict.holds,
            "problems": list(verdict.problems),
            "entries": verdict.entries,
            "head": verdict.head,
        }

    async def overview(self, caller: Caller) -> Document:
        """For the owner: who there is, which answers were late, and how often an engine failed."""
        self._require(caller, "owner")
        counts = await self._look(caller, self.records.counts)
        of = {kind: {name: counts.get(f"{kind} {name}", 0) for name in self.tables} for kind in ("late", "failed")}
        members = self.office.people.items()
        people = [{"name": who, "role": member.role, "datasets": list(member.datasets)} for who, member in members]
        slow = {name: {who: counts.get(late_of(name, who), 0) for who in self.office.people} for name in self.tables}
        whose = {name: {who: many for who, many in each.items() if many} for name, each in slow.items()}
        return {"late": of["late"], "late_by": whose, "failures": of["failed"], "people": people}

    # Common to all

    def _seen(self, caller: Caller, name: str) -> OpenTable:
        """A dataset that exists for this person."""
        if name not in self.tables or not caller.person.may_see(name):
            raise Refused("unknown", "there is no such dataset")
        return self.tables[name]

    def _asked(self, caller: Caller, name: str) -> OpenTable:
        table = self._seen(caller, name)
        self._require(caller, "analyst")
        return table

    def _require(self, caller: Caller, *roles: str) -> None:
        if caller.person.role not in roles:
            raise Refused("not allowed", f"this is for the {' and the '.join(roles)} of a dataset")

    async def _look(self, caller: Caller, work: Callable[[], T]) -> T:
        """Some work that is not a question: a person has half of the threads for it at most, so that others get theirs."""
        async with self.looks.place(caller.name):
            return await self._run(self._looking, work)

    def _run(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> Awaitable[T]:
        """Some work in a thread; what the ledger refuses there is said without its place."""

        def done() -> T:
            try:
                return work()
            except LedgerError as error:
                raise refusal(error) from None
            except DuotoneError as error:
                raise Refused("bad question", str(error)) from None

        return asyncio.shield(asyncio.get_running_loop().run_in_executor(pool, copy_context().run, done))
