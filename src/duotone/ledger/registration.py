"""A dataset's registration: its budget, its unit and neighbours, and the account of its charges.

A member has none of these: it is another table of the same people, and all its answers are charged to the dataset that
is its population. So there is one sum for a population, and no charge that could be left out of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from duotone.errors import DuotoneError, LedgerError
from duotone.ledger.accounts import EXPECTED, MOST_EXPECTED, Account, RenyiAccount, SumAccount, write
from duotone.ledger.close_calls import CloseCalls, beside, most_close_calls
from duotone.ledger.entries import Body, State, dated, decoded, intact, is_label, label, member_key
from duotone.ledger.stores import Entries
from duotone.line.three_way import ThreeWay, three_way_table
from duotone.model.checks import AccountName
from duotone.model.cost import Left
from duotone.model.notice import Notice, Refusal
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import show
from duotone.privacy.renyi import RenyiDP
from duotone.privacy.text import read_definition, read_either

NEIGHBOURS = ("add-remove", "replace")


@dataclass(frozen=True)
class Member:
    """A dataset that is charged to its population, with the version of its own data."""

    name: str
    version: str


@dataclass(frozen=True)
class Registered:
    """A registered dataset. Questions must have the same unit and neighbours."""

    dataset: str
    budget: ApproxDP
    unit: str
    neighbours: str
    account: Account
    close_calls: CloseCalls | None = None
    """How questions are asked that may be too close to call, if they may; `budget` is then the part for definite
    answers."""
    divider: bytes = field(default=b"", repr=False, compare=False)
    """The key that divides people into parts, drawn when the dataset was registered, so that nobody chooses who is in
    which."""
    member: Member | None = field(default=None, compare=False)
    """The member that was looked up, if this is its population's registration."""

    @property
    def name(self) -> str:
        """The name that was looked up: of the member, or of the dataset itself."""
        return self.dataset if self.member is None else self.member.name

    @property
    def population(self) -> str | None:
        """The dataset that a member is charged to; None if a dataset has its own budget."""
        return None if self.member is None else self.dataset

    def version(self, state: State) -> str:
        """The version of the data: a member has its own."""
        return state.version if self.member is None else self.member.version

    def declared(self, version: str) -> dict[str, str]:
        """What its owner declared, by name: two registrations are the same if this is."""
        if self.population is not None:
            return {"population": self.population, "version": version}
        called, asked = self.close_calls, dict[str, str]()
        if called is not None:
            question = f"{write(called.question.privacy)} wrong={show(called.question.wrong)}"
            asked = {"close_calls": question, "definite": write(self.budget)}
        expected = {"answers": str(self.account.answers)} if isinstance(self.account, RenyiAccount) else {}
        about = {"unit": self.unit, "neighbours": self.neighbours, "account": self.account.name, **expected}
        return {"budget": write(self.budget if called is None else called.budget), **about, **asked, "version": version}

    def written(self) -> dict[str, Any]:
        """As an entry carries it."""
        about = {"dataset": self.dataset, "unit": self.unit, "neighbours": self.neighbours}
        called = {} if self.close_calls is None else {"close_calls": self.close_calls.written()}
        return {**about, "budget": write(self.budget), **self.account.written(), **called}

    @classmethod
    def read(cls, body: Body) -> Registered:
        """Read what an entry carries."""
        budget = read_definition(body["budget"])
        called = CloseCalls.read(body["close_calls"]) if "close_calls" in body else None
        return cls(
            body["dataset"],
            budget,
            body["unit"],
            body["neighbours"],
            account_of(budget, body),
            called,
            bytes.fromhex(body.get("divider", "")),
        )

    def fits(self, state: State) -> bool:
        """Whether the spending and the close calls of this state are within their limits."""
        called = self.close_calls is None or (state.calls is not None and self.close_calls.fits(state.calls))
        return called and self.account.fits(state.spent)

    def left(self, state: State) -> Left:
        """What may still be spent."""
        definite = self.account.left(state.spent)
        if self.close_calls is None or state.calls is None:
            return definite
        aside = Left() if self.budget == ApproxDP(0) else definite
        calls = self.close_calls.left(state.calls)
        return replace(aside, close_calls=calls.close_calls, reserved=calls.reserved)

    def check(self, unit: str, neighbours: str) -> None:
        """Refuse a question with another unit or other neighbours."""
        for name, registered, asked in (("unit", self.unit, unit), ("neighbours", self.neighbours, neighbours)):
            about = {"dataset": self.name, "registered": registered, "asked": asked}
            if registered != asked and name == "unit" and asked == "row":
                raise Refusal("unit differs", **about)
            if registered != asked:
                raise Refusal("registration differs", what=name, **about)


def registration(
    dataset: str,
    budget: ApproxDP,
    unit: str,
    neighbours: str,
    account: AccountName = "sum",
    answers: int | None = None,
    close_calls: ThreeWay | None = None,
    definite: ApproxDP | None = None,
) -> Registered:
    """A dataset to register, with its account; anything else is an error."""
    if neighbours not in NEIGHBOURS:
        raise DuotoneError(f"neighbours are add-remove or replace, got {neighbours}")
    if not isinstance(budget, ApproxDP):
        raise DuotoneError('a budget is an ApproxDP, as ApproxDP(1, "1e-6")')
    if close_calls is None and definite is not None:
        raise DuotoneError("definite is a part of a budget for close calls: give close_calls, too")
    called = None
    if close_calls is not None and definite is None and account != "sum":
        raise DuotoneError(
            "an account is for definite answers only: set part of the budget aside for them (definite), or leave it out"
        )
    if close_calls is not None:
        called = most_close_calls(beside(budget, definite), close_calls)
        three_way_table(close_calls)  # refuses an epsilon at which nothing could be asked
        budget = definite or ApproxDP(0)
    budget = read_definition(write(budget))
    chosen = _chosen(budget, account, answers)
    return Registered(label(dataset, "dataset"), budget, label(unit, "unit"), neighbours, chosen, called)


def load(entries: Entries, dataset: str) -> tuple[Registered, State]:
    """A dataset's registration, and its state after its last entry; of a member, those of its population."""
    found = known(entries, dataset)
    if found is None:
        others = names(entries)[:10]
        several = f"it has {', '.join(others)}: name one of these, or register a new one" if others else "register it first"
        raise LedgerError(f"there is no dataset {dataset!s:.200} in this ledger; {several}")
    return found


def known(entries: Entries, dataset: str) -> tuple[Registered, State] | None:
    """The same; None if there is no such dataset."""
    if not is_label(dataset):
        return None
    first, last, member = entries.last(dataset, "register"), entries.last(dataset), None
    if first is None and (row := entries.member(member_key(dataset))) is not None:
        first, last = entries.last(row.dataset, "register"), entries.last(row.dataset)
        member = Member(dataset, intact(entries, row)["version"])
    if first is None or last is None:
        return None
    return replace(Registered.read(intact(entries, first)), member=member), State.of(intact(entries, last))


def must_be_same(found: tuple[Registered, State], given: dict[str, str]) -> None:
    """Refuse to take a registered dataset for one that is declared differently, or that is closed."""
    registered, state = found
    there = registered.declared(registered.version(state))
    every = {**there, **given} if there.get("population") == given.get("population") else ("population",)
    differs = [
        f"{name} {there.get(name, 'none')} (given: {given.get(name, 'none')})"
        for name in every
        if there.get(name) != given.get(name)
    ]
    if state.closed:
        raise LedgerError(f"{registered.name} is registered already, and closed permanently: register another name")
    if differs:
        raise LedgerError(Notice("registered differently", dataset=registered.name, differs=", ".join(differs)))


def latest_time(entries: Entries) -> datetime | None:
    """The time of the last entry that has one: another dataset's damaged entry must not block this."""
    row = entries.last()
    while row is not None and (time := dated(row)) is None:
        row = entries.at(row.seq - 1)
    return None if row is None else time


def names(entries: Entries) -> list[str]:
    """All datasets and members, in the order of registration; datasets are looked up by the index, one step for
    each."""
    datasets: list[str] = []
    name: Any = ""
    while (name := entries.execute("SELECT min(dataset) FROM duotone_entries WHERE dataset > ?", (name,))[0][0]) is not None:
        datasets.append(name)
    firsts = [(entries.last(dataset, "register"), dataset) for dataset in datasets]
    if any(row is None or not isinstance(dataset, str) for row, dataset in firsts):
        raise LedgerError("an entry of the ledger belongs to no dataset that is registered: run verify")
    order = {dataset: row.seq for row, dataset in firsts if row is not None}
    for dataset in datasets:
        for row in entries.every(dataset, "member"):
            order.setdefault(decoded(row)["member"], row.seq)
    return sorted(order, key=order.__getitem__)


def account_of(budget: ApproxDP, written: Mapping[str, Any]) -> Account:
    """The account that a ledger recorded: its meaning never changes."""
    if written["account"] == "sum":
        return SumAccount(budget)
    if written["account"] == "renyi":
        prices, expected = read_either(written["prices"]), written["expected"]
        if not (isinstance(prices, RenyiDP) and type(expected) is int and 1 <= expected <= MOST_EXPECTED):
            raise DuotoneError("an account renyi has prices of one order, and a number of answers that are expected")
        return RenyiAccount(budget, prices, expected)
    raise _unknown(written["account"])


def _chosen(budget: ApproxDP, account: str, answers: int | None) -> Account:
    """The account of a new dataset."""
    if account == "renyi":
        return RenyiAccount.of(budget, EXPECTED if answers is None else answers)
    if account != "sum":
        raise _unknown(account)
    if answers is not None:
        raise DuotoneError("the number of answers that are expected is for an account renyi: leave answers out, or choose that")
    return SumAccount(budget)


def _unknown(account: object) -> DuotoneError:
    return DuotoneError(f"an account is sum or renyi, got {account!s:.60}")
