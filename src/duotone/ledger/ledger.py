"""The ledger: what has been spent on each dataset, durably. Charge, then flip.

`Ledger.ask` stands first, and below it what it calls, in order: `_charge`, the coin, `_record`; each appends one entry.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from duotone.errors import DuotoneError, LedgerError, OverBudget
from duotone.ledger.account import (
    Quote,
    Receipt,
    Registered,
    Statement,
    latest_time,
    load,
    names,
    registration,
    statement,
)
from duotone.ledger.allowances import Share, askers_so_far, filed_under, share_of, whom
from duotone.ledger.backup import backup
from duotone.ledger.entries import (
    BY_ASKER,
    LEDGER,
    VERSION,
    Body,
    State,
    answer_text,
    damage_as_error,
    decoded,
    intact,
    key_of,
    label,
    loaded,
    row_of,
    signed,
)
from duotone.ledger.privacy_filters import Charge, RuleName, short, write
from duotone.ledger.question_lock import Turns
from duotone.ledger.stores import Entries, Store, open_store
from duotone.ledger.stores.scan import Scan
from duotone.ledger.verify import Verdict, verify
from duotone.line.mechanism import Boundary
from duotone.privacy.approx_dp import ApproxDP

SKEW = timedelta(seconds=60)
"""How far clocks may differ: behind the last entry by less than this, its time is taken again."""
LONGEST_WAIT = 10**6
LONGEST_QUESTION = 100_000
_TURNS = Turns()


@dataclass(frozen=True)
class _Request:
    """A question to a dataset: `terms` are the fields of its entry that name it, `about` are its unit and neighbours."""

    dataset: str
    charge: Charge
    terms: Body
    about: tuple[str, str]
    again: bool
    by: str | None

    @property
    def price(self) -> str:
        return f"{self.charge.answers} answer{'s' * (self.charge.answers > 1)} at {self.charge.privacy}"

    def key(self, state: State) -> str:
        """What decides whether it is the same question as another, of the dataset as it is."""
        return key_of(self.dataset, state.version, self.terms, self.about)

    def share(self, entries: Entries, state: State) -> Share:
        """What who asks has spent and may spend, where there are allowances."""
        return share_of(entries, self.dataset, self.by) if state.allowances and self.by is not None else Share()

    def must_be_open(self, state: State) -> None:
        """Refuse what no charge can be made for, whatever is left."""
        if state.closed:
            raise LedgerError(
                f"{self.dataset} is closed: nothing more is charged to it, and only questions that it has answered are free; "
                "nothing was charged or released"
            )
        if state.allowances and self.by is None:
            raise LedgerError(f"{self.dataset} has allowances: say who asks (by); nothing was released")

    def body(self, state: State, share: Share) -> Body:
        """The entry of its charge, after which the asker has spent this share."""
        body = {"kind": "charge", "v": state.entry_version, "dataset": self.dataset, "version": state.version, **self.terms}
        if state.allowances and self.by is not None:
            body |= share.written(self.dataset, self.by)
        return body | {"key": self.key(state), "again": self.again, **signed(self.by)}


def _request(
    dataset: str, question: str, charge: Charge, unit: str, neighbours: str, again: bool, by: str | None = None
) -> _Request:
    if not (isinstance(question, str) and 0 < len(question) <= LONGEST_QUESTION):
        raise DuotoneError(f"a question is a text of at most {LONGEST_QUESTION} characters")
    if not isinstance(charge, Charge):
        raise DuotoneError(f"what is charged for is a Charge, got {type(charge).__name__}")
    about = label(unit, "unit"), label(neighbours, "name of neighbours")
    label(dataset, "dataset")
    terms = {
        "question": question,
        "notion": write(charge.privacy),
        "boundary": short(charge.boundary, "what is fixed at the boundary"),
        "answers": charge.answers,
    }
    return _Request(dataset, charge, terms, about, bool(again), by)


@dataclass(frozen=True)
class _Charged:
    """A charge that is on the disk: its number, the question's key, and what is left."""

    seq: int
    key: str
    left: str
    allowance: str | None


class Ledger:
    """Budgets of datasets, kept in a file or in Postgres; see `open_ledger`.

    Guarantee: `ask` draws nothing before its charge is on the disk, and returns nothing before its answer is. No order
    of crashes, processes and threads releases an answer that is not charged, or charges what does not fit.
    """

    def __init__(self, store: Store, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store, self._clock = store, clock
        self._identity = os.path.realpath(store.place)  # the same for every ledger of this process at this place

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def place(self) -> str:
        """Where it is, without secrets."""
        return self._store.place

    def ask(
        self,
        dataset: str,
        question: str,
        charge: Charge,
        flip: Callable[[], Any],
        *,
        unit: str,
        neighbours: str,
        again: bool = False,
        by: str | None = None,
    ) -> Receipt:
        """The recorded answer to a question, free; else charge for it durably, then `flip`, record and return it.

        `question` is the question's normal form: with the dataset's version and the charge it decides what is the same
        question. `flip` takes nothing and returns what will be public, as JSON can write it. If it fails, the charge
        stands. With `again`, a recorded answer is not used.

        Threads of this process that ask the same question at once wait for the first one, and read its answer.
        """
        request = _request(dataset, question, charge, unit, neighbours, again, by)
        same = (self._identity, dataset, *request.terms.values(), *request.about)
        with nullcontext() if again else _TURNS.of(same):
            return self._ask(request, flip)

    def _ask(self, request: _Request, flip: Callable[[], Any]) -> Receipt:
        process = os.getpid()
        charged = self._charge(request)
        if isinstance(charged, Receipt):
            return charged
        text = answer_text(flip())
        return self._record(request.dataset, charged, text, process)

    def _charge(self, request: _Request) -> Receipt | _Charged:
        """The free answer, or a charge that is on the disk."""
        with damage_as_error(), self._store.writing() as entries:
            registered, state = load(entries, request.dataset)
            registered.check(*request.about)
            privacy_filter = registered.privacy_filter
            key = request.key(state)
            share, recorded = request.share(entries, state), None if request.again else entries.answered(key)
            if recorded is not None:
                paid, left = intact(entries, recorded), privacy_filter.left(state.spent)
                return Receipt(deepcopy(paid["answer"]), True, paid["charge"], left, state.unanswered, share.left)
            request.must_be_open(state)
            privacy_filter.accepts(request.charge)
            shared = share.plus(request.charge)
            body = request.body(state, shared)
            after = state.after(body)
            if not privacy_filter.fits(after.spent):
                raise OverBudget(request.dataset, request.price, privacy_filter.left(state.spent))
            if not shared.fits:
                raise OverBudget(request.dataset, request.price, str(share.left), request.by)
            seq = self._append(entries, body, after)
        return _Charged(seq, key, privacy_filter.left(after.spent), shared.left)

    def _record(self, dataset: str, charged: _Charged, text: str, process: int) -> Receipt:
        """The answer, on the disk, if this process made the charge and the charge still waits for it."""
        with damage_as_error(), self._store.writing() as entries:
            _, state = load(entries, dataset)
            row, answered = entries.at(charged.seq), entries.answered(charged.key)
            is_there = row is not None and row.kind == "charge" and decoded(row)["key"] == charged.key
            if process != os.getpid() or not is_there or (answered and decoded(answered)["charge"] == charged.seq):
                raise LedgerError(f"the charge of this answer is not open in {self.place} any more; nothing was released")
            body = {"kind": "answer", "v": state.entry_version, "dataset": dataset, "key": charged.key, "charge": charged.seq}
            body |= {"answer": json.loads(text)}
            self._append(entries, body, state.after(body), patient=True)
        return Receipt(json.loads(text), False, charged.seq, charged.left, state.unanswered - 1, charged.allowance)

    def _append(self, entries: Entries, body: Body, after: State, *, patient: bool = False) -> int:
        """One more entry, with the dataset as it is after it. A clock far behind is refused, unless an answer is waiting."""
        now, latest = self._now(), latest_time(entries)
        if latest is not None:
            if not (patient or now > latest - SKEW):
                raise LedgerError(
                    f"the clock says {now:%Y-%m-%d %H:%M:%S} UTC, before the ledger's last entry at "
                    f"{latest:%Y-%m-%d %H:%M:%S} UTC: set the clock right, or, if it was ahead then, let the owner reset the "
                    "ledger's clock; nothing was released"
                )
            now = max(now, latest)
        return self._chain(entries, {**body, "at": now.isoformat(), "after": after.written()})

    def _chain(self, entries: Entries, body: Body) -> int:
        """The entry, by its hash tied to the one before; its number."""
        last, (seq, head) = entries.last(), entries.head()
        if (seq, head) != ((last.seq, last.hash) if last is not None else (0, "")):
            raise LedgerError(f"the ledger {self.place} does not end where its head says: run verify; nothing was released")
        entries.append(row_of(head, seq + 1, body))
        return seq + 1

    def _now(self) -> datetime:
        now = self._clock()
        if now.tzinfo is None:
            raise DuotoneError("the clock of a ledger gives times with a time zone, got one without")
        return now.astimezone(UTC)

    def quote(
        self,
        dataset: str,
        asked: Sequence[tuple[str, Charge]],
        *,
        unit: str,
        neighbours: str,
        again: bool = False,
        by: str | None = None,
    ) -> list[Quote]:
        """What these questions would cost, asked in turn as the dataset stands now. Nothing is charged or kept for them."""
        requests = [_request(dataset, question, charge, unit, neighbours, again, by) for question, charge in asked]
        with damage_as_error(), self._store.reading() as entries:
            registered, state = load(entries, dataset)
            registered.check(unit, neighbours)
            privacy_filter, answered, quotes = registered.privacy_filter, set[str](), list[Quote]()
            share = requests[0].share(entries, state) if requests else Share()
            for request in requests:
                key = request.key(state)
                free = not again and (key in answered or entries.answered(key) is not None)
                after, shared = state, share
                if not free:
                    request.must_be_open(state)
                    privacy_filter.accepts(request.charge)
                    shared = share.plus(request.charge)
                    after = state.after(request.body(state, shared))
                fits = free or (privacy_filter.fits(after.spent) and shared.fits)
                if fits:
                    state, share = after, shared
                    answered.add(key)
                quotes.append(Quote(free, fits, privacy_filter.left(state.spent), share.left))
        return quotes

    def register(
        self,
        dataset: str,
        budget: ApproxDP,
        *,
        unit: str,
        neighbours: str,
        version: str,
        rule: RuleName = "sum",
        answers_at: ApproxDP | None = None,
        boundaries: tuple[Boundary, ...] = (),
        by: str | None = None,
    ) -> Registered:
        """Give a dataset its total budget, once and for all; makes the ledger where there is none.

        `rule` is how answers add up (see `docs/ledger.md`): "sum", "advanced", or "plan" with `answers_at`, the privacy
        definition of its answers.
        """
        registered = registration(dataset, budget, unit, neighbours, rule, answers_at, boundaries)
        body = {"kind": "register", "v": VERSION, **registered.written(), "version": label(version, "version"), **signed(by)}
        with damage_as_error(), self._store.writing(create=True) as entries:
            if entries.last(dataset) is not None:
                raise LedgerError(f"{dataset} is registered already: its budget cannot be given twice")
            self._append(entries, body, State().after(body))
        return registered

    def relabel(self, dataset: str, version: str, *, by: str | None = None) -> None:
        """Say that the data has changed: a new public label, under which every question is a new one. Spends nothing."""
        label(version, "version")
        with damage_as_error(), self._store.writing() as entries:
            state = self._open_state(entries, dataset)
            labelled = (row for kind in ("register", "version") for row in entries.of_kind(dataset, kind))
            if version in {decoded(row)["version"] for row in labelled}:
                raise DuotoneError(f"{dataset} had the version {version} already: a label is used once")
            body = {"kind": "version", "v": state.entry_version, "dataset": dataset, "version": version, **signed(by)}
            self._append(entries, body, state.after(body))

    def allow(self, dataset: str, asker: str, budget: ApproxDP, *, by: str | None = None) -> None:
        """Give an asker an allowance: so much of the dataset's budget, by sums of ε and δ, in all that they have asked and ask.

        The asker `*` is each one who has no allowance of their own. A later allowance replaces an earlier one. From the first
        allowance on, every charge must say who asks. The dataset's own budget stays as it is.
        """
        if not isinstance(budget, ApproxDP):
            raise DuotoneError("an allowance is an ApproxDP")
        about = {"v": BY_ASKER, "dataset": label(dataset, "dataset"), **signed(by)}
        allowance: dict[str, Any] = {"kind": "allowance", **about, "asker": label(asker, "name"), "budget": write(budget)}
        with damage_as_error(), self._store.writing() as entries:
            state = self._open_state(entries, dataset)
            if not state.allowances:
                for name, spent in askers_so_far(entries, dataset, state).spent.items():
                    body = {"kind": "asker", **about, "asker": name, "asker_spent": spent.written()}
                    state = self._filed(entries, {**body, "filed": filed_under(dataset, name)}, state)
            named = whom(asker)
            if named is not None:
                allowance["asker_spent"] = share_of(entries, dataset, named).spent.written()
            self._filed(entries, {**allowance, "filed": filed_under(dataset, named)}, state)

    def close_dataset(self, dataset: str, *, by: str | None = None) -> None:
        """Close a dataset for ever: nothing more is charged to it, whatever is left. What it has answered stays free."""
        with damage_as_error(), self._store.writing() as entries:
            state = self._open_state(entries, dataset)
            self._filed(entries, {"kind": "close", "v": BY_ASKER, "dataset": dataset, **signed(by)}, state)

    def _filed(self, entries: Entries, body: Body, state: State) -> State:
        """The state after one more entry, which is appended."""
        after = state.after(body)
        self._append(entries, body, after)
        return after

    def _open_state(self, entries: Entries, dataset: str) -> State:
        """A dataset as its last entry left it, if it is not closed."""
        _, state = load(entries, dataset)
        if state.closed:
            raise LedgerError(f"{dataset} is closed, for ever")
        return state

    def reset_clock(self, *, by: str) -> None:
        """Say that the clock was ahead and has been set back: entries go on from the time it is now. Spends nothing.

        For the owner: an entry that was written while a clock was ahead blocks every charge until that time has come.
        Who did this, when, and from which time the clock was set back stay in the ledger for ever.
        """
        with damage_as_error(), self._store.writing() as entries:
            now, latest = self._now(), latest_time(entries)
            if latest is None or now > latest - SKEW:
                raise DuotoneError("the clock is not behind the ledger's last entry: there is nothing to reset")
            body = {"kind": "clock", "v": VERSION, "dataset": LEDGER, "before": latest.isoformat(), "by": label(by, "name")}
            self._chain(entries, {**body, "at": now.isoformat()})

    def datasets(self) -> list[str]:
        """Every dataset, in the order of registration."""
        with damage_as_error(), self._store.reading() as entries:
            return names(entries)

    def statement(self, dataset: str) -> Statement:
        """What was asked when, by whom, at what cost, and what is left."""
        with damage_as_error():
            return statement(self._store, dataset)

    def entries(self) -> list[dict[str, Any]]:
        """Every entry in order, each with its number and hash."""
        with damage_as_error():
            return [{"seq": row.seq, "hash": row.hash, **loaded(row)} for row in Scan(self._store, Entries.head)]

    def verify(self, head: str | None = None) -> Verdict:
        """Whether any entry was edited, removed or moved; against a head kept elsewhere too, if there is one."""
        with damage_as_error():
            rows = Scan(self._store, Entries.head)
            return verify(rows, rows.end, head)

    def backup(self, path: str | Path) -> Verdict:
        """Copy every entry, as of one moment, into a new ledger in a file, verified; right while others write.

        The copy is a ledger like any other: charging it and this one spends the same budget twice.
        """
        return backup(self._store, path)

    def close(self) -> None:
        """Close the file or the connection; the next use opens it again."""
        self._store.close()


def open_ledger(place: str | Path, *, wait: float = 30.0) -> Ledger:
    """A ledger by its place: a file, or a Postgres URL. A busy one is waited for, for `wait` seconds.

    >>> import tempfile
    >>> from duotone import Coin, balanced
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = open_ledger(f"{folder.name}/budget.ledger")
    >>> _ = ledger.register("survey", ApproxDP(1), unit="person", neighbours="add-remove", version="2026")
    >>> line = balanced(ApproxDP("0.5"))
    >>> ask = lambda **options: ledger.ask(
    ...     "survey", "count(*) >= 100", Charge(line), lambda: bool(Coin(line).answer(250)),
    ...     unit="person", neighbours="add-remove", **options)
    >>> first, same, again = ask(), ask(), ask(again=True)
    >>> first.answer, first.left, same.free, again.left
    (True, 'epsilon 0.5, delta 0', True, 'epsilon 0, delta 0')
    >>> ask(again=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    duotone.errors.OverBudget: 1 answer at ApproxDP(epsilon=0.5, delta=0) does not fit into the budget of survey; left: ...
    >>> ledger.close(); folder.cleanup()
    """
    if not (isinstance(wait, int | float) and 0 < wait <= LONGEST_WAIT):
        raise DuotoneError(f"a wait is a number of seconds above 0 and at most {LONGEST_WAIT}, got {wait!r:.60}")
    return Ledger(open_store(place, wait=wait))
