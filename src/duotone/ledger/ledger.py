"""The ledger: what has been spent on each dataset, durably. Charge, then flip."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from duotone.errors import DuotoneError, LedgerError, OverBudget
from duotone.ledger.account import Receipt, Registered, Statement, intact, load, names, statement
from duotone.ledger.entries import DAMAGE, LEDGER, VERSION, Body, State, dated, decoded, is_label, key_of, loaded, row_of
from duotone.ledger.planned_composition import choose
from duotone.ledger.privacy_filters import Charge, RuleName, boundary_text, short, write
from duotone.ledger.question_lock import Turns
from duotone.ledger.stores import Entries, Store, open_store
from duotone.ledger.stores.backup import new_file
from duotone.ledger.stores.scan import Scan
from duotone.ledger.verify import Verdict, verify
from duotone.line.mechanism import Boundary
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.text import read_definition

SKEW = timedelta(seconds=60)
"""How far clocks may differ: behind the last entry by less than this, its time is taken again."""
LONGEST_WAIT = 10**6
DEEPEST = 64
"""Lists within lists of an answer, at most: JSON that is nested deeper is written, but not always read."""
LONGEST_QUESTION, LONGEST_ANSWER = 100_000, 2**26
"""The characters of a question, and of an answer written as JSON."""
NEIGHBOURS = ("add-remove", "replace")
_TURNS = Turns()


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
        if neighbours not in NEIGHBOURS:
            raise DuotoneError(f"neighbours are add-remove or replace, got {neighbours}")
        labels = {"dataset": dataset, "unit": unit, "version": version}
        if not isinstance(budget, ApproxDP):
            raise DuotoneError("a budget is an ApproxDP")
        budget = read_definition(write(budget))
        short("+".join(map(boundary_text, boundaries)), "what a plan fixes at the boundary")
        chosen = choose(budget, rule, answers_at, boundaries)
        body = {name: _label(value, name) for name, value in labels.items()}
        body |= {"kind": "register", "budget": write(budget), "neighbours": neighbours, **_by(by), **chosen.written()}
        with _damage_as_error(), self._store.writing(create=True) as entries:
            if entries.last(dataset) is not None:
                raise LedgerError(f"{dataset} is registered already: its budget cannot be given twice")
            self._append(entries, State(), body)
        return Registered(dataset, budget, unit, neighbours, chosen)

    def relabel(self, dataset: str, version: str, *, by: str | None = None) -> None:
        """Say that the data has changed: a new public label, under which every question is a new one. Spends nothing."""
        _label(version, "version")
        with _damage_as_error(), self._store.writing() as entries:
            _, state = load(entries, dataset)
            labelled = (row for kind in ("register", "version") for row in entries.of_kind(dataset, kind))
            if version in {decoded(row)["version"] for row in labelled}:
                raise DuotoneError(f"{dataset} had the version {version} already: a label is used once")
            body = {"kind": "version", "dataset": dataset, "version": _label(version, "version"), **_by(by)}
            self._append(entries, state, body)

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
        if not (isinstance(question, str) and 0 < len(question) <= LONGEST_QUESTION):
            raise DuotoneError(f"a question is a text of at most {LONGEST_QUESTION} characters")
        if not isinstance(charge, Charge):
            raise DuotoneError(f"what is charged for is a Charge, got {type(charge).__name__}")
        about = _label(unit, "unit"), _label(neighbours, "name of neighbours")
        _label(dataset, "dataset")
        terms = {
            "question": question,
            "notion": write(charge.privacy),
            "boundary": short(charge.boundary, "what is fixed at the boundary"),
            "answers": charge.answers,
        }
        same = (self._identity, dataset, *terms.values(), *about)
        with nullcontext() if again else _TURNS.of(same):
            return self._ask(dataset, charge, terms, flip, about, bool(again), by)

    def _ask(
        self,
        dataset: str,
        charge: Charge,
        terms: dict[str, Any],
        flip: Callable[[], Any],
        about: tuple[str, str],
        again: bool,
        by: str | None,
    ) -> Receipt:
        process = os.getpid()
        charged = self._charge(dataset, charge, terms, about, again, by)
        if isinstance(charged, Receipt):
            return charged
        seq, key, left = charged
        text = _public(flip())
        with _damage_as_error(), self._store.writing() as entries:
            _, state = load(entries, dataset)
            row, answered = entries.at(seq), entries.answered(key)
            open_still = row is not None and row.kind == "charge" and row.question == key
            if process != os.getpid() or not open_still or (answered and decoded(answered)["charge"] == seq):
                raise LedgerError(f"the charge of this answer is not open in {self.place} any more; nothing was released")
            body = {"kind": "answer", "dataset": dataset, "key": key, "charge": seq, "answer": json.loads(text)}
            self._append(entries, state, body, patient=True)
        return Receipt(json.loads(text), False, seq, left, state.unanswered - 1)

    def _charge(
        self, dataset: str, charge: Charge, terms: dict[str, Any], about: tuple[str, str], again: bool, by: str | None
    ) -> Receipt | tuple[int, str, str]:
        """The free answer, or a charge that is on the disk: its number, the question's key, and what is left."""
        with _damage_as_error(), self._store.writing() as entries:
            registered, state = load(entries, dataset)
            registered.check(*about)
            privacy_filter, key = registered.privacy_filter, key_of(dataset, state.version, terms, about)
            if not again and (recorded := entries.answered(key)) is not None:
                answer = intact(entries, recorded)
                return Receipt(
                    deepcopy(answer["answer"]), True, answer["charge"], privacy_filter.left(state.spent), state.unanswered
                )
            privacy_filter.accepts(charge)
            kind = {"kind": "charge", "dataset": dataset, "version": state.version}
            body: Body = {**kind, **terms, "key": key, "again": again, **_by(by), "v": VERSION}
            after = state.after(body)
            if not privacy_filter.fits(after.spent):
                asked = f"{charge.answers} answer{'s' * (charge.answers > 1)} at {charge.privacy}"
                raise OverBudget(dataset, asked, privacy_filter.left(state.spent))
            seq = self._append(entries, state, body, after=after)
        return seq, key, privacy_filter.left(after.spent)

    def reset_clock(self, *, by: str) -> None:
        """Say that the clock was ahead and has been set back: entries go on from the time it is now. Spends nothing.

        For the owner: an entry that was written while a clock was ahead blocks every charge until that time has come.
        Who did this, when, and from which time the clock was set back stay in the ledger for ever.
        """
        with _damage_as_error(), self._store.writing() as entries:
            now, latest = self._now(), self._latest(entries)
            if latest is None or now > latest - SKEW:
                raise DuotoneError("the clock is not behind the ledger's last entry: there is nothing to reset")
            body = {"kind": "clock", "dataset": LEDGER, "before": latest.isoformat(), "by": _label(by, "name")}
            self._chain(entries, {**body, "v": VERSION, "at": now.isoformat()})

    def _append(self, entries: Entries, state: State, body: Body, *, after: State | None = None, patient: bool = False) -> int:
        """Chain one more entry. A clock far behind is refused, unless an answer is waiting to be recorded."""
        now, latest = self._now(), self._latest(entries)
        if latest is not None:
            if not (patient or now > latest - SKEW):
                raise LedgerError(
                    f"the clock says {now:%Y-%m-%d %H:%M:%S} UTC, before the ledger's last entry at "
                    f"{latest:%Y-%m-%d %H:%M:%S} UTC: set the clock right, or, if it was ahead then, let the owner reset the "
                    "ledger's clock; nothing was released"
                )
            now = max(now, latest)
        body = {**body, "v": VERSION}
        return self._chain(entries, {**body, "at": now.isoformat(), "after": (after or state.after(body)).written()})

    def _now(self) -> datetime:
        now = self._clock()
        if now.tzinfo is None:
            raise DuotoneError("the clock of a ledger gives times with a time zone, got one without")
        return now.astimezone(UTC)

    def _latest(self, entries: Entries) -> datetime | None:
        """The time of the last entry that has one: an entry of another dataset that is damaged must not be in the way."""
        row = entries.last()
        while row is not None and (time := dated(row)) is None:
            row = entries.at(row.seq - 1)
        return None if row is None else time

    def _chain(self, entries: Entries, body: Body) -> int:
        last, (seq, head) = entries.last(), entries.head()
        if (seq, head) != ((last.seq, last.hash) if last is not None else (0, "")):
            raise LedgerError(f"the ledger {self.place} does not end where its head says: run verify; nothing was released")
        entries.append(row_of(head, seq + 1, body))
        return seq + 1

    def datasets(self) -> list[str]:
        """Every dataset, in the order of registration."""
        with _damage_as_error(), self._store.reading() as entries:
            return names(entries)

    def statement(self, dataset: str) -> Statement:
        """What was asked when, by whom, at what cost, and what is left."""
        with _damage_as_error():
            return statement(self._store, dataset)

    def entries(self) -> list[dict[str, Any]]:
        """Every entry in order, each with its number and hash."""
        with _damage_as_error():
            return [{"seq": row.seq, "hash": row.hash, **loaded(row)} for row in Scan(self._store, Entries.head)]

    def verify(self, head: str | None = None) -> Verdict:
        """Whether any entry was edited, removed or moved; against a head kept elsewhere too, if there is one."""
        with _damage_as_error():
            rows = Scan(self._store, Entries.head)
            return verify(rows, rows.end, head)

    def backup(self, path: str | Path) -> Verdict:
        """Copy every entry, as of one moment, into a new ledger in a file, verified; right while others write.

        The copy is a ledger like any other: charging it and this one spends the same budget twice.
        """
        with new_file(path) as place:
            copy = open_store(place)
            try:
                with _damage_as_error(), copy.writing(create=True) as empty:
                    rows = Scan(self._store, Entries.head)
                    empty.fill(rows, rows.end)
                with _damage_as_error():
                    rows = Scan(copy, Entries.head)
                    verdict = verify(rows, rows.end)
            finally:
                copy.close()
            if not verdict.holds:
                raise LedgerError(f"the ledger {self.place} does not verify, so there is no backup of it: run verify")
        return verdict

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


@contextmanager
def _damage_as_error() -> Iterator[None]:
    """Whatever cannot be read of the ledger becomes a LedgerError that says so."""
    try:
        yield
    except DuotoneError:
        raise
    except DAMAGE as error:
        raise LedgerError(f"the ledger is damaged ({type(error).__name__}): run verify; nothing was released") from None


def _label(text: str, name: str) -> str:
    if not is_label(text):
        raise DuotoneError(f"a {name} is a short printable text, got {text!r:.60}")
    return text


def _by(name: str | None) -> dict[str, str]:
    return {} if name is None else {"by": _label(name, "name")}


def _depth(answer: Any) -> int:
    """How many lists and objects are within each other."""
    depth, inside = 0, [answer]
    while inside := [
        v for x in inside if isinstance(x, dict | list | tuple) for v in (x.values() if isinstance(x, dict) else x)
    ]:
        depth += 1
    return depth


def _public(answer: Any) -> str:
    """An answer as it is recorded. Whether it can be depends on nothing but the answer, which is private by itself."""
    try:
        text = json.dumps(answer, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise DuotoneError(
            "an answer to be recorded must be what JSON can write; the charge stands, nothing was released"
        ) from None
    if not _depth(answer) <= DEEPEST:
        raise DuotoneError(
            f"an answer to be recorded has at most {DEEPEST} lists within lists; the charge stands, nothing was released"
        )
    if not len(text) <= LONGEST_ANSWER:
        raise DuotoneError(
            f"an answer to be recorded has at most {LONGEST_ANSWER} characters as JSON, got {len(text)}; the charge stands, "
            "nothing was released"
        )
    return text
