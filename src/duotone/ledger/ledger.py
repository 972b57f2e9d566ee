"""The ledger: what has been spent on each dataset, durably. Charge, then flip.

`Ledger.ask` stands first, and below it what it calls, in order: `_charge`, the coin, `_record`; each appends one entry.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from duotone.errors import DuotoneError, LedgerError
from duotone.ledger import kept_head
from duotone.ledger.account import (
    ChargeRecord,
    Registered,
    Statement,
    latest_time,
    load,
    names,
    registration,
    statement,
)
from duotone.ledger.allowances import Share, allowance_of, askers_so_far, filed_under, share_of, whom
from duotone.ledger.backup import backup
from duotone.ledger.close_calls import CloseCalls
from duotone.ledger.entries import (
    LEDGER,
    VERSION,
    Body,
    State,
    answer_text,
    damage_as_error,
    decoded,
    intact,
    label,
    loaded,
    row_of,
    signed,
)
from duotone.ledger.latest import ClearAnswers, latest_charges
from duotone.ledger.privacy_filters import RuleName, beyond, write
from duotone.ledger.question_lock import Turns
from duotone.ledger.request import Request, Standing, standing
from duotone.ledger.stores import SKEW, Entries, Store, open_store
from duotone.ledger.stores.store import Scan
from duotone.ledger.verify import Verdict, verify
from duotone.line.mechanism import Boundary
from duotone.line.three_way import ThreeWay
from duotone.model.cost import AnsweredBefore, CloseCallCharge, Cost, Left, Quote, Receipt
from duotone.model.notice import Notice
from duotone.privacy.approx_dp import ApproxDP

LONGEST_WAIT = 10**6
_TURNS = Turns()


@dataclass(frozen=True)
class _Charged:
    """A charge that is on the disk: its number, the question's key, and what is left."""

    seq: int
    key: str
    left: Left
    allowance: Left | None
    before: AnsweredBefore | None
    calls: int
    """The close calls that are reserved for it."""


class Ledger:
    """Budgets of datasets, kept in a file or in Postgres; see `open_ledger`.

    Guarantee: `ask` draws nothing before its charge is on the disk, and returns nothing before its answer is. No order
    of crashes, processes and threads releases an answer that is not charged, or charges what does not fit.
    """

    def __init__(self, store: Store, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store, self._clock = store, clock
        self._clear = ClearAnswers()
        self._identity = os.path.realpath(store.place)  # the same for every ledger of this process at this place

    def __repr__(self) -> str:
        return f"<Ledger: {self.place}>"

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
        cost: Cost,
        draw: Callable[..., Any],
        *,
        unit: str,
        neighbours: str,
        again: bool = False,
        by: str | None = None,
    ) -> Receipt:
        """The recorded answer to a question, free; else charge for it durably, then `draw`, record and return it.

        `question` is the question's normal form: with the dataset's version and the cost it decides what is the same
        question. `draw` takes nothing and returns what will be public, as JSON can write it. Where close calls are counted,
        it is given how many are reserved, draws no further than the last of them, and also returns how many it used: the rest
        is given back when the answer is on the disk. If it fails, the charge stands. With `again`, a recorded answer is not
        used.

        Threads of this process that ask the same question at once wait for the first one, and read its answer.
        """
        request = Request.of(dataset, question, cost, unit, neighbours, again, by)
        same = (self._identity, dataset, *request.terms.values(), *request.about)
        with nullcontext() if again else _TURNS.of(same):
            process, charged = os.getpid(), self._charge(request)
            if isinstance(charged, Receipt):
                return charged
            answer, calls = draw(charged.calls) if isinstance(cost, CloseCallCharge) else (draw(), None)
            if isinstance(cost, CloseCallCharge) and not (type(calls) is int and 0 <= calls <= charged.calls):
                raise DuotoneError(
                    f"an answer says how many of its {charged.calls} reserved close calls it used, as a whole number; the "
                    "reserved close calls are wasted, and nothing was released"
                )
            return self._record(dataset, charged, answer_text(answer), process, calls)

    def _charge(self, request: Request) -> Receipt | _Charged:
        """The free answer, or a charge that is on the disk."""
        with self._writing() as entries:
            before = standing(entries, request.dataset, request.about, request.by)
            free = self._free(entries, request, before)
            if free is not None:
                return free
            body, after = before.charged(request)
            after.must_fit(request, before)
            key, otherwise = request.key(before.state), request.answered_otherwise(entries, before.state)
            seq = self._append(entries, body, after.state)
        return _Charged(seq, key, after.left, after.allowance, otherwise, body.get("calls", 0))

    def _free(self, entries: Entries, request: Request, before: Standing) -> Receipt | None:
        """The recorded answer; None where there is none."""
        recorded = request.recorded(entries, before.state)
        if recorded is None:
            return None
        paid, unanswered = intact(entries, recorded), before.state.unanswered
        about = paid["charge"], before.left, unanswered, before.allowance
        return Receipt(deepcopy(paid["answer"]), True, *about, None, paid.get("calls"))

    def recorded(
        self,
        dataset: str,
        question: str,
        charge: Cost,
        *,
        unit: str,
        neighbours: str,
        again: bool = False,
        by: str | None = None,
    ) -> Receipt | None:
        """The recorded answer that `ask` would give, free; None where it would charge. What would not fit is refused as
        there. Nothing is charged."""
        request = Request.of(dataset, question, charge, unit, neighbours, again, by)
        with damage_as_error(), self._store.reading() as entries:
            before = standing(entries, dataset, request.about, by)
            free = self._free(entries, request, before)
            if free is None:
                before.charged(request)[1].must_fit(request, before)
            return free

    def _record(self, dataset: str, charged: _Charged, text: str, process: int, calls: int | None = None) -> Receipt:
        """The answer, on the disk, if this process made the charge and the charge still waits for it."""
        with self._writing() as entries:
            registered, state = load(entries, dataset)
            row, answered = entries.at(charged.seq), entries.answered(charged.key)
            is_there = row is not None and row.kind == "charge" and decoded(row)["key"] == charged.key
            if process != os.getpid() or not is_there or (answered and decoded(answered)["charge"] == charged.seq):
                raise LedgerError(f"the charge of this answer is not open in {self.place} any more; nothing was released")
            body = {"kind": "answer", "v": VERSION, "dataset": dataset, "key": charged.key, "charge": charged.seq}
            body |= {"answer": json.loads(text)}
            body |= {} if calls is None else {"calls": calls, "reserved": charged.calls}
            after = state.after(body)
            self._append(entries, body, after, patient=True)
        left = charged.left if calls is None else registered.left(after)
        about = charged.seq, left, after.unanswered, charged.allowance, charged.before
        return Receipt(json.loads(text), False, *about, calls)

    @contextmanager
    def _writing(self, *, create: bool = False, accepting: bool = False, anew: bool = False) -> Iterator[Entries]:
        """The only writer until the block ends; then what it wrote is on the disk, and its head is kept where the owner said.

        Guarantee: a ledger is not written that lacks an entry whose head was kept, or whose entries a failover could forget,
        unless the owner has accepted that. With `anew`, a head that cannot be read is not waited for: another will be kept.
        """
        with damage_as_error():
            with self._store.writing(create=create) as entries:
                if entries.doubt is not None and not accepting and entries.last(LEDGER, "standbys") is None:
                    raise LedgerError(
                        f"the server of {self.place} has {entries.doubt}, or let the ledger's owner accept in words that a "
                        "failover may forget charges (accept_standbys); nothing was released"
                    )
                place = kept_head.place_of(entries)
                if place is not None:
                    with suppress(LedgerError) if anew else nullcontext():
                        head = kept_head.kept(place)
                        anew = False
                    if not anew:
                        kept_head.must_have(entries, place, head)
                yield entries
                place, head = kept_head.place_of(entries), entries.head()
            if place is not None and (newest := kept_head.advance(place, head)) != head:
                with self._store.reading() as entries:
                    kept_head.must_have(entries, place, newest)

    def _append(self, entries: Entries, body: Body, after: State | None, *, patient: bool = False) -> int:
        """One more entry, with its dataset as it is after it. A clock far behind is refused, unless an answer is waiting."""
        now, latest = self._now(), latest_time(entries)
        if latest is not None:
            if not (patient or now > latest - SKEW):
                raise LedgerError(
                    f"the clock says {now:%Y-%m-%d %H:%M:%S} UTC, before the ledger's last entry at "
                    f"{latest:%Y-%m-%d %H:%M:%S} UTC: set the clock right, or, if it was ahead then, let the owner reset the "
                    "ledger's clock; nothing was released"
                )
            now = max(now, latest)
        carried = {} if after is None else {"after": after.written()}
        return self._chain(entries, {**body, "at": now.isoformat(), **carried})

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
        asked: Sequence[tuple[str, Cost]],
        *,
        unit: str,
        neighbours: str,
        again: bool = False,
        by: str | None = None,
    ) -> list[Quote]:
        """What these questions would cost, asked in turn as the dataset stands now. Nothing is charged or kept for them."""
        about = unit, neighbours, again, by
        requests = [Request.of(dataset, text, cost, *about) for text, cost in asked]
        with damage_as_error(), self._store.reading() as entries:
            now, answered, quotes = standing(entries, dataset, (unit, neighbours), by), set[str](), list[Quote]()
            for request in requests:
                known = request.key(now.state) in answered or request.recorded(entries, now.state) is not None
                free = known and not again
                after = now if free else now.charged(request)[1]
                fits = free or after.fits
                if fits and not free:
                    now = after
                    answered.add(request.key(now.state))
                before = None if free else request.answered_otherwise(entries, now.state)
                parts = () if fits else beyond(request.charge, now.left, now.allowance)
                quotes.append(Quote(request.charge, free, fits, now.left, now.allowance, before, parts))
        return quotes

    def stands(self, dataset: str, *, by: str | None = None) -> Standing:
        """How a dataset stands now, and for who asks: as its last entries say, which `ask` goes by."""
        with damage_as_error(), self._store.reading() as entries:
            registered, _ = load(entries, dataset)
            return standing(entries, dataset, (registered.unit, registered.neighbours), by)

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
        close_calls: ThreeWay | None = None,
        definite: ApproxDP | None = None,
        by: str | None = None,
    ) -> Registered:
        """Give a dataset its total budget, once and for all; makes the ledger where there is none.

        `rule` is how answers add up (see `docs/budgets.md`): "sum", "advanced", or "plan" with `answers_at`, the privacy
        definition of its answers. With `close_calls`, questions are asked so that only those are charged that are too close to
        call (docs/theory.md), but for a part that may be set aside for `definite` answers, to which the rule applies.
        """
        about = unit, neighbours, rule, answers_at, boundaries, close_calls, definite
        registered = registration(dataset, budget, *about)
        labelled = {"version": label(version, "version"), **signed(by)}
        body = {"kind": "register", "v": VERSION, **registered.written(), **labelled}
        with self._writing(create=True) as entries:
            if entries.last(dataset) is not None:
                raise LedgerError(_registered_already(dataset, load(entries, dataset)[1]))
            self._append(entries, body, State().after(body))
        return registered

    def relabel(self, dataset: str, version: str, *, by: str | None = None) -> None:
        """Say that the data has changed: a new public label, under which every question is a new one. Spends nothing."""
        label(version, "version")
        with self._writing() as entries:
            state = self._open_state(entries, dataset)
            labelled = (row for kind in ("register", "version") for row in entries.of_kind(dataset, kind))
            if version in {decoded(row)["version"] for row in labelled}:
                raise DuotoneError(f"{dataset} had the version {version} already: a label is used once")
            body = {"kind": "version", "v": VERSION, "dataset": dataset, "version": version, **signed(by)}
            self._append(entries, body, state.after(body))

    def allow(self, dataset: str, asker: str, budget: ApproxDP, *, by: str | None = None) -> None:
        """Give an asker an allowance: so much of the dataset's budget, by sums of ε and δ, in all that they have asked and ask.

        The asker `*` is each one who has no allowance of their own. A later allowance replaces an earlier one. From the first
        allowance on, every charge must say who asks. The dataset's own budget stays as it is.
        """
        if not isinstance(budget, ApproxDP):
            raise DuotoneError("an allowance is an ApproxDP")
        about = {"v": VERSION, "dataset": label(dataset, "dataset"), **signed(by)}
        allowance: dict[str, Any] = {"kind": "allowance", **about, "asker": label(asker, "name"), "budget": write(budget)}
        with self._writing() as entries:
            state = self._open_state(entries, dataset)
            if state.calls is not None:
                raise LedgerError(f"{dataset} is asked with close calls, which are counted for all askers together")
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
        with self._writing() as entries:
            state = self._open_state(entries, dataset)
            self._filed(entries, {"kind": "close", "v": VERSION, "dataset": dataset, **signed(by)}, state)

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
        with self._writing() as entries:
            now, latest = self._now(), latest_time(entries)
            if latest is None or now > latest - SKEW:
                raise DuotoneError("the clock is not behind the ledger's last entry: there is nothing to reset")
            body = {"kind": "clock", "v": VERSION, "dataset": LEDGER, "before": latest.isoformat(), "by": label(by, "name")}
            self._chain(entries, {**body, "at": now.isoformat()})

    def keep_head(self, place: str | Path, *, by: str) -> None:
        """From now on keep the ledger's head, how many entries it has and the hash of the last, in a file as well, on another
        disk or machine than the ledger; whoever charges it must be able to write there.

        A ledger that lacks an entry whose head was kept is refused from then on: a standby that was promoted, or an older copy.
        A later file replaces an earlier one, where that says nothing else or is gone.
        """
        path = Path(place).absolute()
        body = {"kind": "head", "v": VERSION, "dataset": LEDGER, "place": str(path), "by": label(by, "name")}
        with self._writing(anew=True) as entries:
            kept_head.begin(entries, path)
            self._append(entries, body, None)

    def accept_standbys(self, words: str, *, by: str) -> None:
        """Accept that a failover may forget charges, on a server with standbys that commits do not wait for. For the owner, who
        says why, in words that stay in the ledger; makes the ledger where there is none."""
        body = {"kind": "standbys", "v": VERSION, "dataset": LEDGER, "words": label(words, "reason"), "by": label(by, "name")}
        with self._writing(create=True, accepting=True) as entries:
            self._append(entries, body, None)

    def close_calls(self, dataset: str) -> CloseCalls | None:
        """The close calls that a dataset was registered with; None for one whose every answer is charged."""
        with damage_as_error(), self._store.reading() as entries:
            return load(entries, dataset)[0].close_calls

    def datasets(self) -> list[str]:
        """Every dataset, in the order of registration."""
        with damage_as_error(), self._store.reading() as entries:
            return names(entries)

    def latest(self, dataset: str, many: int) -> list[ChargeRecord]:
        """The latest charges of a dataset, the last first: in a ledger of any length, no others are read."""
        with damage_as_error(), self._store.reading() as entries:
            load(entries, dataset)
            return latest_charges(entries, dataset, many)

    def clear_answers(self, dataset: str) -> int:
        """How many answers were clear, and free, where close calls are counted; only those since the last look are read."""
        with damage_as_error(), self._store.reading() as entries:
            called = load(entries, dataset)[0].close_calls
            return 0 if called is None else self._clear.of(entries, dataset)

    def share(self, dataset: str, asker: str) -> Share:
        """An asker's part of a dataset, as the last entries say; without any allowances, an empty one."""
        with damage_as_error(), self._store.reading() as entries:
            return allowance_of(entries, dataset, asker) if load(entries, dataset)[1].allowances else Share()

    def statement(self, dataset: str) -> Statement:
        """What was asked when, by whom, at what cost, and what is left."""
        with damage_as_error():
            return statement(self._store, dataset)

    def entries(self) -> list[dict[str, Any]]:
        """Every entry in order, each with its number and hash."""
        with damage_as_error():
            return [{"seq": row.seq, "hash": row.hash, **loaded(row)} for row in Scan(self._store, Entries.head)]

    def verify(self, head: str | None = None) -> Verdict:
        """Whether any entry was edited, removed or moved; against a head kept elsewhere too, and against that of the file which
        the ledger names for it, if it can be read."""
        with damage_as_error():
            rows = Scan(self._store, lambda entries: (entries.head(), kept_head.problem(entries)))
            verdict = verify(rows, lambda: rows.end()[0], head)
            lost = rows.end()[1] if verdict.holds else None
            return verdict if lost is None else replace(verdict, problems=(lost,))

    def backup(self, path: str | Path) -> Verdict:
        """Copy every entry, as of one moment, into a new ledger in a file, verified; right while others write.

        The copy is a ledger like any other: charging it and this one spends the same budget twice.
        """
        return backup(self._store, path)

    def close(self) -> None:
        """Close the file or the connection; the next use opens it again."""
        self._store.close()


def _registered_already(dataset: str, state: State) -> Notice:
    """Why a name is taken; and, as long as nothing was charged, how a mistake in its registration is put right."""
    if state.charges:
        return Notice("registered already", dataset=dataset)
    return Notice("registered already, closed" if state.closed else "registered already, unused", dataset=dataset)


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
    (True, <Left: epsilon 0.5, delta 0>, True, <Left: epsilon 0, delta 0>)
    >>> ask(again=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    duotone.errors.OverBudget: 1 answer at ApproxDP(epsilon=0.5, delta=0) does not fit into the budget of survey; left: ...
    >>> ledger.close(); folder.cleanup()
    """
    if not (isinstance(wait, int | float) and 0 < wait <= LONGEST_WAIT):
        raise DuotoneError(f"a wait is a number of seconds above 0 and at most {LONGEST_WAIT}, got {wait!r:.60}")
    return Ledger(open_store(place, wait=wait))


def opened_ledger(ledger: Ledger | str | Path) -> AbstractContextManager[Ledger]:
    """A ledger for the length of a block: one that is open, and stays so, or one by its place, which is then closed."""
    return open_ledger(ledger) if isinstance(ledger, str | Path) else nullcontext(ledger)
