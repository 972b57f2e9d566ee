"""The owner's operations on a ledger: register datasets, grant allowances, see what was asked, verify and back up."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError, LedgerError
from duotone.ledger import kept_head
from duotone.ledger.accounts import allowed, write
from duotone.ledger.allowances import EVERYBODY, Share, askers_so_far, filed_under, share_of
from duotone.ledger.backup import backup
from duotone.ledger.close_calls import CloseCalls
from duotone.ledger.entries import LEDGER, VERSION, Body, State, damage_as_error, decoded, label, loaded, member_key, signed
from duotone.ledger.registration import Member, Registered, known, latest_time, load, must_be_same, names, registration
from duotone.ledger.statement import ChargeRecord, ClearAnswers, Statement, latest_charges, statement
from duotone.ledger.stores import SKEW, Entries, Store
from duotone.ledger.stores.store import Scan
from duotone.ledger.verify import Verdict, verify
from duotone.line.three_way import ThreeWay
from duotone.model.checks import AccountName
from duotone.model.notice import Notice, Refusal
from duotone.options import known_options
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given

KEY = 16
"""Bytes of the key that divides a dataset's people into parts."""


class Owned(ABC):
    """A ledger as its owner sees it. Its entries are appended as `Ledger` appends them."""

    _store: Store
    _clear: ClearAnswers

    @abstractmethod
    def _writing(
        self, *, create: bool = False, accepting: bool = False, anew: bool = False
    ) -> AbstractContextManager[Entries]: ...

    @abstractmethod
    def _append(self, entries: Entries, body: Body, after: State | None) -> int: ...

    @abstractmethod
    def _chain(self, entries: Entries, body: Body) -> int: ...

    @abstractmethod
    def _now(self) -> datetime: ...

    @known_options
    def register(
        self,
        dataset: str,
        budget: ApproxDP | None = None,
        *,
        unit: str | None = None,
        neighbours: str | None = None,
        version: str,
        account: AccountName = "sum",
        answers: int | None = None,
        close_calls: ThreeWay | None = None,
        definite: ApproxDP | None = None,
        population: str | None = None,
        if_absent: bool = False,
        done_by: str | None = None,
    ) -> Registered:
        """Give a dataset its total budget, once; creates the ledger if there is none.

        With a `population`, which is another dataset of the same people, it has no budget of its own: all answers about
        it are charged to that one, whose unit, neighbours and account it has.

        With `if_absent`, nothing is done if the dataset is registered already, exactly like this and with this version;
        if anything differs, a `LedgerError` says what.

        `account` is how answers add up (docs/budgets.md): "sum", for few answers, or "renyi", for many. `answers` is
        then the expected number (by default 1,000): the account serves it best, and admits any other number. With
        `close_calls`, only answers that are too close to call are charged (docs/theory.md), except for a part of the
        budget reserved for `definite` answers, to which the account applies.
        """
        label(version, "version")
        if population is not None:
            if (budget, account, answers, close_calls, definite) != (None, "sum", None, None, None):
                raise Refusal("budget of a member", dataset=dataset, population=population)
            with self._writing() as entries:
                return self._join(
                    entries, Member(label(dataset, "dataset"), version), population, (unit, neighbours), if_absent, done_by
                )
        if budget is None or unit is None or neighbours is None:
            raise Refusal("budget, unit or neighbours missing", dataset=dataset)
        registered = registration(dataset, budget, unit, neighbours, account, answers, close_calls, definite)
        labelled = {"version": version, "divider": os.urandom(KEY).hex(), **signed(done_by)}
        body = {"kind": "register", "v": VERSION, **registered.written(), **labelled}
        with self._writing(create=True) as entries:
            if self._is_there(entries, dataset, registered.declared(version) if if_absent else None):
                return load(entries, dataset)[0]
            self._append(entries, body, State().after(body))
        return registered

    def _join(
        self,
        entries: Entries,
        member: Member,
        population: str,
        about: tuple[str | None, str | None],
        if_absent: bool,
        done_by: str | None,
    ) -> Registered:
        """Register a member of a population."""
        own = {"population": population, "version": member.version}
        there = self._is_there(entries, member.name, own if if_absent else None)
        joined, _ = load(entries, member.name if there else population)
        if joined.member is not None and not there:
            raise Refusal("population is a member", dataset=member.name, member=population, population=joined.dataset)
        joined.check(about[0] or joined.unit, about[1] or joined.neighbours)
        if not there:
            self._file_member(entries, joined.dataset, member, done_by)
        return load(entries, member.name)[0]

    def _file_member(self, entries: Entries, population: str, member: Member, done_by: str | None) -> None:
        """Append the entry of a member: that it is one, and the version of its data."""
        state = self._open_state(entries, population)
        own = {"member": member.name, "version": member.version, "filed": member_key(member.name)}
        self._filed(entries, {"kind": "member", "v": VERSION, "dataset": population, **own, **signed(done_by)}, state)

    def _is_there(self, entries: Entries, dataset: str, declared: dict[str, str] | None) -> bool:
        """Whether a dataset is registered, as it is declared; without that, a registered one is refused."""
        found = known(entries, dataset)
        if found is not None and declared is None:
            raise LedgerError(_registered_already(*found))
        if found is not None and declared is not None:
            must_be_same(found, declared)
        return found is not None

    def relabel(self, dataset: str, version: str, *, done_by: str | None = None) -> None:
        """Give the data a new public version, under which every question is new. Spends nothing."""
        label(version, "version")
        with self._writing() as entries:
            registered, member = load(entries, dataset)[0], None
            state = self._open_state(entries, registered.dataset)
            if registered.member is None:
                labelled = [row for kind in ("register", "version") for row in entries.every(dataset, kind)]
            else:
                member = Member(dataset, version)
                labelled = [row for row in entries.every(registered.dataset, "member") if decoded(row)["member"] == dataset]
            if version in {decoded(row)["version"] for row in labelled}:
                raise DuotoneError(f"{dataset} had the version {version} already: a label is used once")
            if member is not None:
                self._file_member(entries, registered.dataset, member, done_by)
                return
            body = {"kind": "version", "v": VERSION, "dataset": dataset, "version": version, **signed(done_by)}
            self._append(entries, body, state.after(body))

    @known_options
    def allow(
        self,
        dataset: str,
        asker: str,
        budget: ApproxDP | None = None,
        *,
        share: Given | None = None,
        done_by: str | None = None,
    ) -> None:
        """Give an asker an allowance: a limit on all that they have asked and will ask. It is a `share` of the
        dataset's budget, as "1/5", or, in an account sum, an (ε, δ).

        The asker `*` is each one without their own allowance. A later allowance replaces an earlier one. From the first
        allowance on, every charge must name its asker. The dataset's own budget is unchanged.
        """
        asker = label(asker, "name")
        about = {"v": VERSION, "dataset": label(dataset, "dataset"), **signed(done_by)}
        with self._writing() as entries:
            state, account = self._open_state(entries, dataset), load(entries, dataset)[0].account
            if state.calls is not None:
                raise LedgerError(f"{dataset} is asked with close calls, which are counted for all askers together")
            own = write(allowed(account, budget, share))
            allowance: dict[str, Any] = {"kind": "allowance", **about, "asker": asker, "budget": own}
            if not state.allowances:
                for name, spent in askers_so_far(entries, dataset, state).spent.items():
                    body = {"kind": "asker", **about, "asker": name, "asker_spent": spent.written()}
                    state = self._filed(entries, {**body, "filed": filed_under(dataset, name)}, state)
            if asker != EVERYBODY:
                allowance["asker_spent"] = share_of(entries, dataset, asker, account.nothing).spent.written()
            self._filed(entries, {**allowance, "filed": filed_under(dataset, asker)}, state)

    def close_dataset(self, dataset: str, *, done_by: str | None = None) -> None:
        """Close a dataset permanently: nothing more is charged to it, whatever is left. Recorded answers stay free."""
        with self._writing() as entries:
            state = self._open_state(entries, dataset)
            self._filed(entries, {"kind": "close", "v": VERSION, "dataset": dataset, **signed(done_by)}, state)

    def _filed(self, entries: Entries, body: Body, state: State) -> State:
        """Append an entry; returns the state after it."""
        after = state.after(body)
        self._append(entries, body, after)
        return after

    def _open_state(self, entries: Entries, dataset: str) -> State:
        """The state after its last entry of a dataset with a budget of its own, if it is not closed."""
        registered, state = load(entries, dataset)
        if registered.member is not None:
            raise Refusal("of the population", dataset=dataset, population=registered.dataset)
        if state.closed:
            raise LedgerError(f"{dataset} is closed permanently")
        return state

    def reset_clock(self, *, done_by: str) -> None:
        """Record that the clock was ahead and has been set back: entries continue from the present time. Spends
        nothing.

        For the owner: an entry that was written while a clock was ahead blocks every charge until that time has come.
        The ledger records permanently who did this, when, and from which time the clock was set back.
        """
        with self._writing() as entries:
            now, latest = self._now(), latest_time(entries)
            if latest is None or now > latest - SKEW:
                raise DuotoneError("the clock is not behind the ledger's last entry: there is nothing to reset")
            signed_at = {"before": latest.isoformat(), "by": label(done_by, "name")}
            body = {"kind": "clock", "v": VERSION, "dataset": LEDGER, **signed_at}
            self._chain(entries, {**body, "at": now.isoformat()})

    def keep_head(self, place: str | Path, *, done_by: str) -> None:
        """From now on store the ledger's head (how many entries it has and the hash of the last) in a file as well, on
        another disk or machine than the ledger; everybody who charges it must be able to write there.

        A ledger that lacks an entry whose head was stored is refused from then on: a standby that was promoted, or an
        older copy. A later file replaces an earlier one, if that does not contradict it or is gone.
        """
        path = Path(place).absolute()
        body = {"kind": "head", "v": VERSION, "dataset": LEDGER, "place": str(path), "by": label(done_by, "name")}
        with self._writing(anew=True) as entries:
            kept_head.begin(entries, path)
            self._append(entries, body, None)

    def accept_standbys(self, words: str, *, done_by: str) -> None:
        """Accept that a failover may lose the last charges, on a server whose commits do not wait for its standbys.

        The owner says why in `words`, which the ledger records. A ledger that does not exist yet is created.
        """
        said = {"words": label(words, "reason"), "by": label(done_by, "name")}
        body = {"kind": "standbys", "v": VERSION, "dataset": LEDGER, **said}
        with self._writing(create=True, accepting=True) as entries:
            self._append(entries, body, None)

    def close_calls(self, dataset: str) -> CloseCalls | None:
        """The registration for close calls; None if every answer is charged."""
        with damage_as_error(), self._store.reading() as entries:
            return load(entries, dataset)[0].close_calls

    def datasets(self) -> list[str]:
        """All datasets, in the order of registration."""
        with damage_as_error(), self._store.reading() as entries:
            return names(entries)

    def latest(self, dataset: str, many: int) -> list[ChargeRecord]:
        """The latest charges of a dataset, the last first: in a ledger of any length, no others are read."""
        with damage_as_error(), self._store.reading() as entries:
            return latest_charges(entries, load(entries, dataset)[0], many)

    def clear_answers(self, dataset: str) -> int:
        """How many answers were clear, and free, if close calls are counted; reads only those since the last call."""
        with damage_as_error(), self._store.reading() as entries:
            registered, _ = load(entries, dataset)
            return 0 if registered.close_calls is None else self._clear.of(entries, registered.dataset)

    def share(self, dataset: str, asker: str) -> Share:
        """An asker's share of a dataset, from the last entries; empty without allowances."""
        with damage_as_error(), self._store.reading() as entries:
            registered, state = load(entries, dataset)
            nothing = registered.account.nothing
            return share_of(entries, registered.dataset, asker, nothing) if state.allowances else Share(nothing)

    def statement(self, dataset: str) -> Statement:
        """What was asked when, by whom, at what cost, and what is left."""
        with damage_as_error():
            return statement(self._store, dataset)

    def entries(self) -> list[dict[str, Any]]:
        """Every entry in order, each with its number and hash."""
        with damage_as_error():
            return [{"seq": row.seq, "hash": row.hash, **loaded(row)} for row in Scan(self._store, Entries.head)]

    def verify(self, head: str | None = None) -> Verdict:
        """Whether any entry was edited, removed or moved; also against a head stored elsewhere, and against the file
        that the ledger names for it, if that can be read."""
        with damage_as_error():
            rows = Scan(self._store, lambda entries: (entries.head(), kept_head.problem(entries)))
            verdict = verify(rows, lambda: rows.end()[0], head)
            lost = rows.end()[1] if verdict.holds else None
            return verdict if lost is None else replace(verdict, problems=(lost,))

    def backup(self, path: str | Path) -> Verdict:
        """Copy every entry, as of one moment, into a new ledger in a file, verified, even while others write.

        The copy is a complete ledger: charging both it and this one spends the same budget twice.
        """
        return backup(self._store, path)


def _registered_already(registered: Registered, state: State) -> Notice:
    """Why a name is taken; and, if nothing was charged, how to correct a mistake in its registration."""
    dataset = registered.name
    if state.charges or registered.member is not None:
        return Notice("registered already", dataset=dataset)
    return Notice("registered already, closed" if state.closed else "registered already, unused", dataset=dataset)
