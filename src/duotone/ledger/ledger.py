"""The ledger: what has been spent on each dataset, durably. Charge, then flip.

`Ledger.ask` comes first; below it are its steps, in order: `_charge`, the coin, `_record`. Each appends one entry.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

from duotone.errors import DuotoneError, LedgerError, got
from duotone.ledger import kept_head
from duotone.ledger.accounts import beyond
from duotone.ledger.entries import LEDGER, VERSION, Body, State, answer_text, damage_as_error, decoded, intact, row_of
from duotone.ledger.owner import Owned
from duotone.ledger.registration import latest_time, load
from duotone.ledger.request import Forms, Request, Standing, standing
from duotone.ledger.statement import ClearAnswers
from duotone.ledger.stores import SKEW, Entries, Store, open_store
from duotone.model.cost import AnsweredBefore, Charge, CloseCallCharge, Cost, Left, Quote, Receipt
from duotone.options import known_options

LONGEST_WAIT = 10**6


class Turns:
    """A lock for each key that is held or waited for.

    A thread with a turn takes no second one, so no two threads can wait for each other.
    """

    def __init__(self) -> None:
        self._start()
        os.register_at_fork(after_in_child=self._start)  # the holder of a turn is not in the child

    def _start(self) -> None:
        self._guard, self._mine = threading.Lock(), threading.local()
        self._turns = WeakValueDictionary[Hashable, threading.Lock]()

    @contextmanager
    def of(self, key: Hashable) -> Iterator[None]:
        """Admit only one thread of this process at a time under this key."""
        mine = self._mine
        if getattr(mine, "has", False):
            yield
            return
        with self._guard:
            lock = self._turns.setdefault(key, threading.Lock())
        with lock:
            mine.has = True
            try:
                yield
            finally:
                mine.has = False


_TURNS = Turns()


@dataclass(frozen=True)
class _Charged:
    """A charge on disk: its number, the key of its question, and the budget left after it."""

    seq: int
    key: str
    left: Left
    allowance: Left | None
    before: AnsweredBefore | None
    calls: int
    """The close calls reserved for it."""
    share: Fraction | None


class Ledger(Owned):
    """Budgets of datasets, kept in a file or in Postgres; see `open_ledger`.

    Guarantee: `ask` draws nothing before its charge is on the disk, and returns nothing before its answer is. No order
    of crashes, processes and threads releases an answer that is not charged, or charges what does not fit.
    """

    def __init__(self, store: Store, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store, self._clock = store, clock
        self._clear = ClearAnswers()
        self._identity = os.path.realpath(store.place)  # shared by all ledgers of this process at this place

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
        question: Forms,
        cost: Cost,
        draw: Callable[..., Any],
        *,
        unit: str,
        neighbours: str,
        again: bool = False,
        asker: str | None = None,
    ) -> Receipt:
        """The recorded answer to a question, free; else charge for it durably, then `draw`, record and return it.

        `question` is the question's normal form: with the dataset's version and the cost it identifies the question. Of
        several forms the first counts; the others find answers on other terms, which are noted. `draw` takes nothing
        and returns what will be public, as JSON. With close calls, it gets the number of reserved ones, draws until the
        last of them, and also returns how many it used: the rest is released when the answer is on disk. If it fails,
        the charge stands. With `again`, a recorded answer is not used.

        Threads of this process that ask the same question at once wait for the first one, and read its answer.
        """
        request = Request.of(dataset, question, cost, unit, neighbours, again, asker)
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
        """The free answer, or a charge on disk."""
        with self._writing() as entries:
            before = standing(entries, request.dataset, request.about, request.asker)
            free = self._free(entries, request, before)
            if free is not None:
                return free
            body, after = before.charged(request)
            after.must_fit(request, before)
            key, otherwise = request.key(before), request.answered_otherwise(entries, before)
            share = None if "calls" in body else before.registered.account.share(request.charge)
            seq = self._append(entries, body, after.state)
        return _Charged(seq, key, after.left, after.allowance, otherwise, body.get("calls", 0), share)

    def _free(self, entries: Entries, request: Request, before: Standing) -> Receipt | None:
        """The recorded answer; None without one."""
        recorded = request.recorded(entries, before)
        if recorded is None:
            return None
        paid, unanswered = intact(entries, recorded), before.state.unanswered
        about = paid["charge"], before.left, unanswered, before.allowance
        charge = entries.at(paid["charge"])
        mark = "" if charge is None else charge.hash
        return Receipt(deepcopy(paid["answer"]), True, *about, None, paid.get("calls"), mark=mark)

    def recorded(
        self,
        dataset: str,
        question: Forms,
        charge: Cost,
        *,
        unit: str,
        neighbours: str,
        again: bool = False,
        asker: str | None = None,
    ) -> Receipt | None:
        """The recorded answer that `ask` would return, free; None if it would charge. Refuses what would not fit, as
        `ask` does. Nothing is charged."""
        request = Request.of(dataset, question, charge, unit, neighbours, again, asker)
        with damage_as_error(), self._store.reading() as entries:
            before = standing(entries, dataset, request.about, asker)
            free = self._free(entries, request, before)
            if free is None:
                before.charged(request)[1].must_fit(request, before)
            return free

    def _record(self, dataset: str, charged: _Charged, text: str, process: int, calls: int | None = None) -> Receipt:
        """Write the answer to disk, if this process made the charge and the charge still waits for its answer."""
        with self._writing() as entries:
            registered, state = load(entries, dataset)
            row, answered = entries.at(charged.seq), entries.answered(charged.key)
            is_there = row is not None and row.kind == "charge" and decoded(row)["key"] == charged.key
            if process != os.getpid() or not is_there or (answered and decoded(answered)["charge"] == charged.seq):
                raise LedgerError(f"the charge of this answer is not open in {self.place} any more; nothing was released")
            about = {"dataset": registered.dataset, "key": charged.key, "charge": charged.seq}
            body: dict[str, Any] = {"kind": "answer", "v": VERSION, **about}
            body |= {"answer": json.loads(text)}
            body |= {} if calls is None else {"calls": calls, "reserved": charged.calls}
            after = state.after(body)
            self._append(entries, body, after, patient=True)
        left = charged.left if calls is None else registered.left(after)
        paid = charged.seq, left, after.unanswered, charged.allowance, charged.before
        return Receipt(json.loads(text), False, *paid, calls, charged.share, "" if row is None else row.hash)

    @contextmanager
    def _writing(self, *, create: bool = False, accepting: bool = False, anew: bool = False) -> Iterator[Entries]:
        """Be the only writer during the block; at its end everything is on disk, and its head is stored where the owner
        said.

        Guarantee: a ledger is not written if it lacks an entry whose head was stored, or if a failover could lose its
        entries, unless the owner has accepted that. With `anew`, an unreadable head is ignored: another will be stored.
        """
        with damage_as_error():
            with self._store.writing(create=create) as entries:
                if entries.doubt is not None and not accepting and entries.last(LEDGER, "standbys") is None:
                    raise LedgerError(
                        f"the server of {self.place} has {entries.doubt}, or let the ledger's owner accept in words that a "
                        "failover may forget charges (accept_standbys); nothing was released"
                    )
                named = entries.last(LEDGER, "head")
                if named is not None:
                    place = kept_head.place_of(entries, named)
                    with suppress(LedgerError) if anew else nullcontext():
                        head = kept_head.kept(place)
                        anew = False
                    if not anew:
                        kept_head.must_have(entries, place, head)
                yield entries
                named, head = entries.last(LEDGER, "head"), entries.head()
                kept_at = None if named is None else kept_head.place_of(entries, named)
            if kept_at is not None and (newest := kept_head.advance(kept_at, head)) != head:
                with self._store.reading() as entries:
                    kept_head.must_have(entries, kept_at, newest)

    def _append(self, entries: Entries, body: Body, after: State | None, *, patient: bool = False) -> int:
        """Append an entry, with its dataset's state after it. A clock far behind is refused, unless an answer is
        waiting."""
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
        """Chain the entry to the one before by its hash; returns its number."""
        last, (seq, head) = entries.last(), entries.head()
        if (seq, head) != ((last.seq, last.hash) if last is not None else (0, "")):
            raise LedgerError(
                f"the ledger {self.place} does not end with the entry that its head names: verify it; nothing was released"
            )
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
        asked: Sequence[tuple[Forms, Cost]],
        *,
        unit: str,
        neighbours: str,
        again: bool = False,
        asker: str | None = None,
    ) -> list[Quote]:
        """What these questions would cost, asked in turn in the dataset's present state. Nothing is charged or
        reserved."""
        about = unit, neighbours, again, asker
        requests = [Request.of(dataset, text, cost, *about) for text, cost in asked]
        with damage_as_error(), self._store.reading() as entries:
            now, answered, quotes = standing(entries, dataset, (unit, neighbours), asker), set[str](), list[Quote]()
            for request in requests:
                known = request.key(now) in answered or request.recorded(entries, now) is not None
                free = known and not again
                after = now if free else now.charged(request)[1]
                fits = free or after.fits
                if fits and not free:
                    now = after
                    answered.add(request.key(now))
                before = None if free else request.answered_otherwise(entries, now)
                parts = () if fits else beyond(request.charge, now.left, now.allowance)
                share = now.registered.account.share(request.charge) if isinstance(request.charge, Charge) else None
                quotes.append(Quote(request.charge, free, fits, now.left, now.allowance, before, parts, share))
        return quotes

    def stands(self, dataset: str, *, asker: str | None = None) -> Standing:
        """The present state of a dataset, for an asker: from its last entries, which `ask` relies on."""
        with damage_as_error(), self._store.reading() as entries:
            registered, _ = load(entries, dataset)
            return standing(entries, dataset, (registered.unit, registered.neighbours), asker)

    def close(self) -> None:
        """Close the file or the connection; the next use opens it again."""
        self._store.close()


@known_options
def open_ledger(place: str | Path, *, wait: float = 30.0) -> Ledger:
    """A ledger by its place: a file, or a Postgres URL. If it is busy, wait for `wait` seconds.

    >>> import tempfile
    >>> from duotone import ApproxDP, Charge, Coin, balanced
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
    """A ledger during a block: an open one, which stays open, or one by its place, which is then closed."""
    if isinstance(ledger, str | Path):
        return open_ledger(ledger)
    if not isinstance(ledger, Ledger):
        raise DuotoneError(f'ledger must be the place of one, as "budget.ledger", or an open one, got {got(ledger)}')
    return nullcontext(ledger)
