"""Approvals: questions that wait for a person's yes, and what an assistant may ask without waiting."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from duotone.desk.callers import Caller, Refused
from duotone.desk.documents import asked_words, at_its_price, price_document
from duotone.desk.log import audit
from duotone.desk.office import Office
from duotone.desk.operations import Document
from duotone.desk.records import Allowance, Records
from duotone.desk.tables import OpenTable
from duotone.desk.terms import AssistantAllowance, Terms, as_exact
from duotone.errors import OverBudget
from duotone.ledger.accounts import Account, allowed
from duotone.ledger.allowances import Share
from duotone.ledger.ledger import Ledger
from duotone.model.cost import Shortfall
from duotone.model.notice import Notice
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.text import Definition
from duotone.tables.prepared import Prepared, quote_all

MOST_WAITING = 200
"""How many requests of one person may wait. Requests of their assistant count separately, so that it cannot block its
person."""


@dataclass(frozen=True)
class Approvals:
    """Who must approve a question before it is asked.

    Guarantee: nobody is the second person who approves their own question. What an assistant plans is approved by its
    own person, or paid from an allowance that only this person sets. An approved request is asked once, at the approved
    price.
    """

    office: Office
    ledger: Ledger
    records: Records

    def needed(self, caller: Caller, table: OpenTable) -> bool:
        """Whether a question needs approval first."""
        return table.dataset.approval or caller.assistant

    def plan(self, caller: Caller, table: OpenTable, terms: Terms, question: Prepared) -> Document:
        """File a request for a question. It waits, unless no approval is needed or the assistant's allowance pays for
        it (which is not refunded)."""
        other = table.dataset.approval
        if other and not (terms.purpose or "").strip():
            raise Refused("bad question", Notice("purpose missing", dataset=table.name))
        if self.records.waiting(caller.name, assistant=caller.assistant) >= MOST_WAITING:
            whose = "your assistant's" if caller.assistant else "your"
            raise Refused("too many", f"{MOST_WAITING} of {whose} requests wait already: ask again when some are decided")
        self._require_fit(caller, table, terms, question)
        own = caller.assistant and not self.records.spend(caller.name, table.name, question.cost)
        about: dict[str, Any] = {
            "assistant": caller.assistant,
            "price": price_document(question.cost, table.dataset.registration.account),
            "accuracy": question.accuracy.document(),
            "purpose": terms.purpose,
            "data": self._data(table),
            "own": own,
            "other": other,
        }
        guess = {"people": terms.people} if terms.people is not None and terms.wrong is None else {}
        kept = at_its_price(question, terms) | guess  # whoever approves sees the same units
        return self.document(caller, self.records.add_request(table.name, caller.name, kept, **about))

    def _require_fit(self, caller: Caller, table: OpenTable, terms: Terms, question: Prepared) -> None:
        """Refuse a question that exceeds the budget: nobody should approve what cannot be asked."""
        (quote,) = quote_all([question], self.ledger, table.in_ledger(), again=terms.again, asker=caller.name)
        if not quote.fits:
            lefts = quote.left, caller.name if quote.allowance is not None else None, quote.allowance
            charged = self.ledger.stands(table.in_ledger()).registered.dataset
            raise OverBudget(Shortfall(charged, quote.cost, *lefts, beyond=quote.beyond))

    def approved(self, caller: Caller, table: OpenTable, number: int) -> Terms:
        """The terms of a request that may be asked now."""
        request = self.records.request(number)
        if request is None or request["asked_by"] != caller.name or request["dataset"] != table.name:
            raise Refused("unknown", f"there is no request {number} of yours about {table.name}")
        match request["state"]:
            case "waiting":
                raise Refused("not allowed", f"request {number} still waits for {_needs(caller, request)}")
            case "refused":
                raise Refused("not allowed", f"request {number} was refused")
            case "used":
                raise Refused("not allowed", f"request {number} was asked already: if it was answered, that is in the history")
        if request["data"] != self._data(table):
            raise Refused("not allowed", f"the data has changed since request {number} was made: ask again")
        return Terms.read({**request["terms"], "request": number})

    def _data(self, table: OpenTable) -> str:
        """The data of a request: the account, and the version of its data."""
        return f"{table.in_ledger()} {self.ledger.stands(table.in_ledger()).version}"

    def take(self, number: int) -> None:
        """Mark an approved request as used, before it is asked."""
        if not self.records.move(number, "approved", "used"):
            raise Refused("not allowed", f"request {number} was asked already: if it was answered, that is in the history")

    def give_back(self, number: int) -> None:
        """Make a request usable again, because nothing was charged for it."""
        self.records.move(number, "used", "approved")

    def every(self, caller: Caller) -> Document:
        """The caller's own requests, and those that the caller may decide."""
        every = (self.document(caller, request) for request in self.records.requests(caller.name))
        return {"requests": [one for one in every if one["asker"] == caller.name or one["may_decide"]]}

    def one(self, caller: Caller, number: int) -> Document:
        """One of these."""
        return self.document(caller, self._seen(caller, number))

    def _seen(self, caller: Caller, number: int) -> Document:
        request = self.records.request(number)
        if request is None or not self._sees(caller, request):
            raise Refused("unknown", f"there is no request {number} that you may decide about")
        return request

    def decide(self, caller: Caller, number: int, approve: bool) -> Document:
        """Approve or refuse a request: of one's own assistant, or of another person."""
        request = self._seen(caller, number)
        if not self._may_decide(caller, request):
            raise Refused("not allowed", f"request {number} is not yours to decide: another person than the asker does")
        own = request["asked_by"] == caller.name
        after = self.records.decide(number, caller.name, approve=approve, own=own)
        if after is None:
            raise Refused("not allowed", f"request {number} was decided already")
        done = "a request was approved" if approve else "a request was refused"
        audit(done, by=caller.name, whose=request["asked_by"], request=number, dataset=request["dataset"])
        return self.document(caller, after)

    def document(self, caller: Caller, request: Document) -> Document:
        """A request as JSON, as this caller may see it."""
        shown = {name: value for name, value in request.items() if name not in ("asked_by", "own", "other", "data")}
        terms = request["terms"]
        about = {"asker": request["asked_by"], "question": asked_words(terms), "may_decide": self._may_decide(caller, request)}
        return {**shown, **about, "needs": _needs(caller, request), "waits_for": _waits_for(request)}

    def _sees(self, caller: Caller, request: Document) -> bool:
        dataset = self.office.datasets.get(request["dataset"])
        approves = dataset is not None and (caller.person.role == "owner" or caller.name in dataset.approvers)
        return request["asked_by"] == caller.name or approves

    def _may_decide(self, caller: Caller, request: Document) -> bool:
        """Whether this caller may still decide: never an assistant, and the asker only for a plan of their own
        assistant."""
        if caller.assistant or request["state"] != "waiting" or not self._sees(caller, request):
            return False
        return bool(request["own"] == 1 if request["asked_by"] == caller.name else request["other"] == 1)

    def allow(self, caller: Caller, table: OpenTable, written: Any) -> Document:
        """Set what the caller's assistant may ask without waiting: a total, from now on."""
        allowance = AssistantAllowance.read(written)
        account = table.dataset.registration.account
        share = Share(account.nothing, _allowed(account, allowance))
        self.records.allow(caller.name, table.name, Allowance(share, allowance.questions))
        audit("an assistant's allowance was set", by=caller.name, dataset=table.name)
        return self.allowance(caller, table)

    def allowance(self, caller: Caller, table: OpenTable) -> Document:
        """What is left of the assistant's allowance."""
        return self.records.allowance(caller.name, table.name).document


def _allowed(account: Account, allowance: AssistantAllowance) -> Definition:
    """What an assistant may spend, for a dataset with this account."""
    own = ApproxDP(as_exact(allowance.epsilon, "epsilon"), as_exact(allowance.delta, "delta"))
    if own == ApproxDP(0) and allowance.share is None and account.name != "sum":
        return account.part(Fraction(0))
    return allowed(account, None if own == ApproxDP(0) and allowance.share is not None else own, allowance.share)


def _needs(caller: Caller, request: Document) -> str:
    """Who must still approve a request, in words for this caller. Whoever sees another's request may decide it."""
    asked = request["asked_by"] == caller.name
    own = request["asked_by"] if not asked else "your own person" if caller.assistant else "you"
    parts = [text for name, text in (("own", own), ("other", "another person" if asked else "you")) if request[name] == 1]
    return " and ".join(parts)


def _waits_for(request: Document) -> list[str]:
    """Who must still approve, as codes: "asker" is the person whose assistant asks, "other" is a second person."""
    return [who for who, part in (("asker", "own"), ("other", "other")) if request[part] == 1]
