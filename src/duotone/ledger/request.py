"""A question to a dataset, and its cost in the dataset's present state."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from duotone.errors import DuotoneError, LedgerError, OverBudget
from duotone.ledger.accounts import beyond, short, write
from duotone.ledger.allowances import EVERYBODY, Share, share_of
from duotone.ledger.entries import VERSION, Body, State, canonical, key_of, label, loaded, signed
from duotone.ledger.registration import Registered, load
from duotone.ledger.stores import Entries, Row
from duotone.line.which import WHICH
from duotone.model.cost import SHARED, AnsweredBefore, Charge, CloseCallCharge, Cost, Left, Shortfall
from duotone.model.notice import Notice, Refusal
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import show
from duotone.privacy.renyi import RenyiDP
from duotone.privacy.text import Definition, read_either

LONGEST_QUESTION = 100_000
FIXED = ("balanced", "selection", WHICH)
"""How boundaries begin that are the same at every budget; one that follows from costs is not."""
LONGEST_BUDGET = 200
"""Most characters of a budget in a sentence."""
MOST_REPEATS = 10**6

Forms = str | tuple[str, ...]
"""A question's normal form; or several: the first is charged, and the others find answers on other terms."""


@dataclass(frozen=True)
class Request:
    """A question to a dataset: `terms` are the fields of its entry that identify it, `about` are its unit and
    neighbours."""

    dataset: str
    charge: Cost
    terms: Body
    about: tuple[str, str]
    again: bool
    asker: str | None
    others: tuple[str, ...] = ()
    """The question's other normal forms."""

    @classmethod
    def of(
        cls,
        dataset: str,
        question: Forms,
        charge: Cost,
        unit: str,
        neighbours: str,
        again: bool,
        asker: str | None,
    ) -> Self:
        """A checked request."""
        first, *others = question if isinstance(question, tuple) and question else (question,)
        if not (isinstance(first, str) and 0 < len(first) <= LONGEST_QUESTION):
            raise DuotoneError(f"a question is a text of at most {LONGEST_QUESTION} characters")
        if not isinstance(charge, Charge | CloseCallCharge):
            raise DuotoneError(f"charge must be a Charge or a CloseCallCharge, got {type(charge).__name__}")
        about = label(unit, "unit"), label(neighbours, "name of neighbours")
        label(dataset, "dataset")
        signed(asker)
        if asker == EVERYBODY:
            raise Refusal("asker is everybody", name=EVERYBODY)
        terms = {
            "question": first,
            "notion": write(charge.privacy),
            "boundary": short(charge.boundary, "what is fixed at the boundary"),
            "answers": charge.answers,
        }
        return cls(dataset, charge, terms, about, bool(again), asker, tuple(others))

    def key(self, now: Standing) -> str:
        """The key that identifies the question, in the dataset's present state."""
        return key_of(self.dataset, now.version, self.terms, self.about)

    def recorded(self, entries: Entries, now: Standing) -> Row | None:
        """Its recorded answer; None if it is to be charged."""
        return None if self.again else entries.answered(self.key(now))

    def answered_otherwise(self, entries: Entries, now: Standing) -> AnsweredBefore | None:
        """The latest answer to the same question at another budget or with other costs, among the last charges."""
        if self.again or isinstance(self.charge, CloseCallCharge):
            return None
        terms, forms = self.terms, (str(self.terms["question"]), *self.others)
        charges = (entries.charged_with(now.registered.dataset, canonical({"question": form})[1:-1]) for form in forms)
        own = {"version": now.version, **now.named}
        for row in sorted({row.seq: row for rows in charges for row in rows}.values(), key=lambda row: -row.seq):
            body = loaded(row)
            same = body.get("question") in forms and "calls" not in body
            same = same and own == {name: body[name] for name in ("version", "member") if name in body}
            if same and (differs := _differs(terms, body)) and entries.answered(str(body.get("key"))) is not None:
                fixed = body["boundary"] == terms["boundary"] and _fixed(body["boundary"])
                free = fixed and body["answers"] == terms["answers"]
                return AnsweredBefore(row.seq, differs, _budget(body["notion"], body["answers"]) if free else None)
        return None

    def must_be_open(self, state: State) -> None:
        """Refuse what can never be charged, whatever is left."""
        if state.closed:
            raise LedgerError(
                f"{self.dataset} is closed: nothing more is charged to it, and only questions that it has answered are free; "
                "nothing was charged or released"
            )
        if state.allowances and self.asker is None:
            raise LedgerError(Notice("asker missing", dataset=self.dataset))

    def body(self, now: Standing, share: Share | None, calls: int | None) -> Body:
        """The ledger entry of its charge: `share` is the asker's spending after it, `calls` the close calls reserved
        for it."""
        charged = now.registered.dataset
        body = {"kind": "charge", "v": VERSION, "dataset": charged, **now.named, "version": now.version, **self.terms}
        if share is not None and self.asker is not None:
            body |= share.written(charged, self.asker)
        body |= {} if calls is None else {"calls": calls}
        return body | {"key": self.key(now), "again": self.again, **signed(self.asker)}


@dataclass(frozen=True)
class Standing:
    """The present state of a dataset for an asker: its registration, its state, and the asker's share if there are
    allowances."""

    registered: Registered
    state: State
    share: Share | None
    """None without allowances, or if nobody is named."""

    @property
    def version(self) -> str:
        """The version of the data that are asked about."""
        return self.registered.version(self.state)

    @property
    def named(self) -> dict[str, str]:
        """The field of a charge to a member, which is filed as its population's."""
        return {} if self.registered.member is None else {"member": self.registered.member.name}

    @property
    def left(self) -> Left:
        """What is left of the dataset's budget."""
        return self.registered.left(self.state)

    @property
    def allowance(self) -> Left | None:
        """What is left of the asker's allowance."""
        return None if self.share is None else self.share.left

    @property
    def fits(self) -> bool:
        """Whether the budget, the close calls and the allowance are not exceeded."""
        return self.registered.fits(self.state) and (self.share is None or self.share.fits)

    def charged(self, request: Request) -> tuple[Body, Standing]:
        """The entry of a charge, and the state after it, whether or not that fits."""
        request.must_be_open(self.state)
        share, calls = self.share, None
        if isinstance(request.charge, CloseCallCharge):
            calls = self._reserved(request.charge)
        else:
            self.registered.account.accepts(request.charge)
            share = None if share is None else share.plus(request.charge)
        body = request.body(self, share, calls)
        return body, Standing(self.registered, self.state.after(body), share)

    def _reserved(self, asked: CloseCallCharge) -> int:
        """The close calls to reserve: one per question, but at most those that are left, and at least one."""
        called, taken = self.registered.close_calls, self.state.calls
        if called is None or taken is None:
            raise LedgerError(f"{self.registered.name} was not registered with close calls: ask with an epsilon")
        called.accepts(asked)
        return max(min(asked.answers, called.left(taken).close_calls or 0), 1)

    def repeats(self, charge: Cost) -> int:
        """How many such charges would fit from here, one after the other; up to a million."""
        if isinstance(charge, CloseCallCharge):
            return (self.left.close_calls or 0) // charge.answers
        self.registered.account.accepts(charge)
        privacy, account, answers = charge.privacy, self.registered.account, charge.answers

        def fit(many: int) -> bool:
            own, more = self.share, many * answers
            spared = own is None or replace(own, spent=own.spent.plus(privacy, more)).fits
            return account.fits(self.state.spent.plus(privacy, more)) and spared

        return bisect_left(range(1, MOST_REPEATS + 1), True, key=lambda many: not fit(many))

    def must_fit(self, request: Request, before: Standing) -> None:
        """Refuse a charge after which a limit would be exceeded."""
        account, cost = self.registered.account, request.charge
        if not self.registered.fits(self.state):
            aside = None
            if isinstance(cost, Charge) and self.registered.close_calls is not None:
                aside = None if account.fits(account.nothing.plus(cost.privacy, 1)) else self.registered.budget
            parts = beyond(cost, before.left)
            raise OverBudget(Shortfall(self.registered.dataset, cost, before.left, beyond=parts, set_aside=aside))
        if not self.fits and before.allowance is not None:
            parts = beyond(cost, before.allowance)
            raise OverBudget(Shortfall(self.registered.dataset, cost, before.allowance, request.asker, beyond=parts))


def standing(entries: Entries, dataset: str, about: tuple[str, str], asker: str | None) -> Standing:
    """The present state of a dataset; its unit and neighbours must be the registered ones."""
    registered, state = load(entries, dataset)
    registered.check(*about)
    share: Share | None = None
    if state.allowances and asker is not None:
        share = share_of(entries, registered.dataset, asker, registered.account.nothing)
    return Standing(registered, state, share)


def _differs(terms: Body, body: Body) -> tuple[str, ...]:
    own, earlier = (each["boundary"].partition(SHARED) for each in (terms, body))
    if own[1] != earlier[1]:
        return ("way of sharing the budget",)
    now, then = (read_either(each["notion"]) for each in (terms, body))
    name = "price" if isinstance(now, RenyiDP) or isinstance(then, RenyiDP) else "epsilon"
    budget = {name: _first(now) != _first(then), "delta": Fraction(now.delta) != Fraction(then.delta)}
    fixed = any(_fixed(each[0]) for each in (own, earlier))  # the order follows from the budget
    # if both boundaries follow from costs, and the budgets differ, the costs may be the same
    costs = own[0] != earlier[0] and (fixed or not any(budget.values()))
    other = {"choice of costs": costs, "number of answers": terms["answers"] != body["answers"]}
    return tuple(name for name, differs in (budget | other).items() if differs)


def _fixed(boundary: str) -> bool:
    return all(part.startswith(FIXED) for part in boundary.split("+"))


def _first(privacy: Definition) -> tuple[str, Fraction]:
    if isinstance(privacy, RenyiDP):
        return f"order {privacy.order}, price", privacy.price
    if privacy.epsilon_exact is None:
        return "e^epsilon", privacy.exp_epsilon
    return "epsilon", privacy.epsilon_exact


def _budget(definition: str, answers: int) -> str | None:
    """The budget that is divided among this many answers under a definition; None if it is long, or not known
    exactly."""
    each = read_either(definition)
    budget = each.unsplit(answers) if isinstance(each, ApproxDP) else None
    if budget is None:
        return None
    name, first = _first(budget)
    text = f"{name} {_written(first)}, delta {_written(Fraction(budget.delta))}"
    return text if len(text) <= LONGEST_BUDGET else None


def _written(value: Fraction) -> str:
    """A number exactly: as a short decimal, if it is one.

    >>> _written(Fraction(1, 10**7)), _written(Fraction(1, 3))
    ('1e-07', '1/3')
    """
    decimal = f"{float(value):g}"
    return decimal if Fraction(decimal) == value else show(value)
