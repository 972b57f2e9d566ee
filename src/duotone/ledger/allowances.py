"""Allowances: how much of a dataset's budget one asker may spend, in the same sums as the dataset's account.

The last entry filed under an asker carries their spending, so a charge looks up two entries in a ledger of any length.
`Askers` recomputes it from the charges, at the start and for verifying.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from duotone.errors import LedgerError
from duotone.ledger.accounts import Account, RenyiAccount, SumAccount
from duotone.ledger.entries import Body, State, canonical, damaged, decoded, intact, nothing_of
from duotone.ledger.stores import Entries, Row
from duotone.ledger.sums import Prices, Spent, Taken, read_taken
from duotone.model.cost import Charge, Left
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.renyi import RenyiDP
from duotone.privacy.text import Definition, read_either

EVERYBODY = "*"
"""Instead of a name: each asker without their own allowance."""


@dataclass(frozen=True)
class Share:
    """One asker's part of a dataset: what they have spent, and their allowance (None without one)."""

    spent: Taken = field(default_factory=Spent)
    budget: Definition | None = None
    number: int = 0
    """The entry of their own allowance; 0 without one."""

    def plus(self, charge: Charge) -> Share:
        """This share with one more charge."""
        return replace(self, spent=self.spent.plus(charge.privacy, charge.answers))

    @property
    def fits(self) -> bool:
        """Whether the spending is within the allowance, in exact arithmetic."""
        return self.budget is None or _account(self.budget).fits(self.spent)

    @property
    def left(self) -> Left | None:
        """What may still be spent of the allowance; None without one."""
        if self.budget is None:
            return None
        account, spent = _account(self.budget), self.spent
        return account.rest(spent) if isinstance(account, RenyiAccount) and isinstance(spent, Prices) else account.left(spent)

    def written(self, dataset: str, asker: str) -> dict[str, Any]:
        """The fields of a charge whose state afterwards this is."""
        return {"filed": filed_under(dataset, asker), "asker_spent": self.spent.written(), "allowance": self.number}


def _account(budget: Definition) -> Account:
    """The account of an allowance."""
    return RenyiAccount(ApproxDP(0), budget) if isinstance(budget, RenyiDP) else SumAccount(budget)


def filed_under(dataset: str, asker: str) -> str:
    """The key of an asker's entries; `*` stands for askers without their own allowance."""
    return sha256(canonical({"asker": [dataset, *([] if asker == EVERYBODY else [asker])]}).encode()).hexdigest()


def share_of(entries: Entries, dataset: str, asker: str, nothing: Taken) -> Share:
    """The share of an asker (or of all without their own allowance) in a dataset with allowances, from the last
    entries."""
    own, spent, number = entries.filed(filed_under(dataset, asker)), nothing, 0
    if own is not None and asker != EVERYBODY:
        body = intact(entries, own)
        spent, number = read_taken(body["asker_spent"]), _number(own, body)
    row = entries.at(number) if number else entries.filed(filed_under(dataset, EVERYBODY))
    if row is None:
        return Share(spent)
    if row.kind != "allowance":
        raise damaged(row)
    return Share(spent, read_either(intact(entries, row)["budget"]), number)


def _number(row: Row, body: Body) -> int:
    """The number of the entry with the asker's own allowance, from one of their entries; 0 without one."""
    if row.kind == "allowance":
        return row.seq
    return int(body["allowance"]) if row.kind == "charge" else 0


@dataclass
class Askers:
    """All askers of a dataset, computed from its charges: sums are recomputed, not read from entries."""

    spent: dict[str, Taken] = field(default_factory=dict)
    nothing: Taken = field(default_factory=Spent)
    """The spending of an asker without charges."""
    allowances: dict[str, tuple[int, Definition]] = field(default_factory=dict)
    """The number and the budget of each asker's last allowance, and of everybody's."""

    def add(self, row: Row, body: Body) -> None:
        """Add one more entry."""
        if body["kind"] == "register":
            self.nothing = nothing_of(body)
        elif body["kind"] == "charge" and "by" in body:
            before = self.spent.get(body["by"], self.nothing)
            self.spent[body["by"]] = before.plus(read_either(body["notion"]), body["answers"])
        elif body["kind"] == "allowance":
            self.allowances[body["asker"]] = row.seq, read_either(body["budget"])

    def share(self, asker: str) -> Share:
        """An asker's share."""
        number, budget = self.allowances.get(asker, (0, None)) if asker != EVERYBODY else (0, None)
        if budget is None:
            budget = self.allowances.get(EVERYBODY, (0, None))[1]
        return Share(self.spent.get(asker, self.nothing), budget, number)

    def shares(self) -> dict[str, Share]:
        """The share of each asker who has spent something or has an allowance; everybody else comes last."""
        names = sorted({*self.spent, *self.allowances} - {EVERYBODY})
        others = {EVERYBODY: self.share(EVERYBODY)} if EVERYBODY in self.allowances else {}
        return {**{name: self.share(name) for name in names}, **others}

    def problem(self, row: Row, body: Body) -> str | None:
        """What is wrong with a new entry, if its dataset has allowances."""
        kind = body["kind"]
        if "filed" not in body or kind == "member":
            return None
        asker = body["by"] if kind == "charge" else body["asker"]
        if body["filed"] != filed_under(row.dataset, asker):
            return "is filed under another asker than it says"
        if kind == "allowance" and asker == EVERYBODY:
            return None
        share = self.share(asker)
        if read_taken(body["asker_spent"]) != share.spent or (kind == "charge" and body["allowance"] != share.number):
            return f"does not add up for {asker}"
        return f"goes beyond the allowance of {asker}" if kind == "charge" and not share.fits else None


def added_up(rows: Iterable[Row], askers: Askers) -> Iterator[tuple[Row, Body, State]]:
    """The entries of a dataset, each with the state after it, from its charges alone; askers are summed up, too."""
    state = State()
    for row in rows:
        body = decoded(row)
        state = state.after(body)
        askers.add(row, body)
        yield row, body, state


def must_add_up(dataset: str, state: State, carried: State) -> None:
    """Refuse a dataset whose last entry carries another state than its charges imply."""
    if state != carried:
        raise LedgerError(f"the charges of {dataset} do not add up to the total in its last entry: run verify")


def askers_so_far(entries: Entries, dataset: str, carried: State) -> Askers:
    """All askers of a dataset, from all its charges; they must sum up to what its last entry carries."""
    askers = Askers()
    ((_, _, state),) = deque(added_up(entries.every(dataset), askers), maxlen=1)  # at least the registration
    must_add_up(dataset, state, carried)
    return askers
