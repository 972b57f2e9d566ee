"""Accounts: what may be known of a dataset's budget, as documents; and the registration of an office's datasets."""

from __future__ import annotations

import logging
from typing import Any

from duotone.desk.callers import Caller
from duotone.desk.office import Listed, Office
from duotone.desk.records import Records
from duotone.desk.same_table import asked_as, remember
from duotone.desk.tables import OpenTable
from duotone.errors import DuotoneError, LedgerError
from duotone.ledger.account import Registered
from duotone.ledger.allowances import EVERYBODY
from duotone.ledger.ledger import Ledger
from duotone.ledger.request import Standing
from duotone.ledger.statement import ChargeRecord
from duotone.model.accuracy import written_budget
from duotone.model.checks import COHORT
from duotone.model.cost import Cost, Left, as_json
from duotone.privacy.approx_dp import ApproxDP

LOG = logging.getLogger("duotone.service")
LATEST = 200
"""The charges that a history shows, at most."""


def register_all(office: Office, tables: dict[str, OpenTable], ledger: Ledger, records: Records) -> None:
    """Register the datasets that the ledger does not know yet, and hold the others against it.

    Guarantee: a table keeps its budget under whatever name, as long as the records are kept; and a budget that the ledger has
    is never changed.
    """
    try:
        known = set(ledger.datasets())
    except LedgerError:
        known = set()  # there is none yet: the first registration makes it
    for name, dataset in office.datasets.items():
        keys = tables[name].keys
        for other in (asked_as(keys, records) or remember(name, keys, records)) - {name}:
            raise DuotoneError(f"the table of {name} was asked about as {other}: one table has one budget, keep its name")
        remember(name, keys, records)
        account = dataset.account
        if account not in known:
            register(ledger, tables[name])
        stands = held_against(ledger, name, dataset)
        if stands.state.version != dataset.version:
            _relabel(ledger, account, dataset.version)
        _allow(office, name, account, ledger)


def held_against(ledger: Ledger, name: str, dataset: Listed) -> Standing:
    """How a dataset that the ledger knows stands there; refused where the office declares it otherwise."""
    stands = ledger.stands(dataset.account)
    if stands.registered.written() != dataset.registration.written():
        raise DuotoneError(
            f"{name} is registered in the ledger differently from the office file (it has {_brief(stands.registered)}; "
            f"the office file has {_brief(dataset.registration)}): a budget is given once; correct the office file, or, if "
            "the table holds new people, give them a label (people)"
        )
    return stands


def _relabel(ledger: Ledger, account: str, version: str) -> None:
    """Give the data the office's label, unless it had that before: then an owner has given it a newer one since."""
    try:
        ledger.relabel(account, version, by="the office")
    except LedgerError:
        raise
    except DuotoneError as error:
        LOG.warning("the ledger has a newer version than the office file", extra={"dataset": account, "error": str(error)})


def register(ledger: Ledger, table: OpenTable) -> None:
    """Give a dataset its budget in a ledger."""
    dataset, wanted = table.dataset, table.dataset.registration
    called = dataset.close_calls
    try:
        ledger.register(
            wanted.dataset,
            dataset.budget,
            unit=wanted.unit,
            neighbours=wanted.neighbours,
            version=dataset.version,
            rule=dataset.rule,
            answers_at=None if dataset.answers_at is None else dataset.answers_at.definition,
            close_calls=None if called is None else called.question,
            definite=None if called is None or called.definite is None else called.definite.definition,
            by="the office",
        )
    except LedgerError:
        if wanted.dataset not in ledger.datasets():  # else another process of this office was a moment faster
            raise


def _allow(office: Office, name: str, account: str, ledger: Ledger) -> None:
    """Give the allowances of the office that the ledger does not have yet."""
    everybody = office.datasets[name].allowance
    wanted = {EVERYBODY: everybody} if everybody is not None else {}
    wanted |= {who: member.allowances[name] for who, member in office.people.items() if name in member.allowances}
    if not wanted:
        return
    for who, allowance in wanted.items():
        own = ledger.share(account, who)
        if own.budget != allowance.definition or (who != EVERYBODY and not own.number):
            ledger.allow(account, who, allowance.definition, by="the office")


def _brief(registered: Registered) -> str:
    called, budget = registered.close_calls, written_budget(registered.budget)
    if called is not None:
        budget = f"{written_budget(called.budget)} for close calls, {budget} for definite answers"
    return f"{budget}, unit {registered.unit}, {registered.neighbours}, rule {registered.privacy_filter.name}"


def dataset_document(table: OpenTable, ledger: Ledger, caller: Caller, tick: float) -> dict[str, Any]:
    """What may be known of a dataset: nothing of it is from rows."""
    dataset, declared = table.dataset, table.dataset.declared
    bounds, lists = declared.bounds, table.lists
    stands = ledger.stands(table.account(), by=caller.name)
    called, calls = stands.registered.close_calls, stands.state.calls
    columns = {
        column: {
            "kind": kind,
            "bounds": [str(bounds[column].low), str(bounds[column].high)] if column in bounds else None,
            "groups": list(lists[column,]) if (column,) in lists else None,
        }
        for column, kind in table.kinds.items()
    }
    return {
        "name": table.name,
        "about": dataset.about,
        "columns": columns,
        "also": sorted(declared.also),
        "public": sorted(declared.public),
        "unit": declared.unit,
        "person": "each row is a person" if declared.unit is None else f"all rows of one {declared.unit} are one person",
        "neighbours": declared.neighbours,
        "max_rows": declared.max_rows,
        "per_unit": declared.per_unit,
        "bounds": {value: [str(b.low), str(b.high)] for value, b in bounds.items()},
        "engine": table.engine,
        "size": f"up to {dataset.rows:,} rows",
        "version": stands.state.version,
        "rule": dataset.rule,
        "budget": _budget(dataset.budget),
        "left": stands.left.document(),
        "allowance": _document(stands.allowance),
        "close_calls": None
        if called is None or calls is None or dataset.close_calls is None
        else {
            "epsilon": called.question.privacy.epsilon,
            "wrong": float(called.question.wrong),
            "left": stands.left.close_calls,
            "of": called.count,
            "definite": None if dataset.close_calls.definite is None else _budget(dataset.close_calls.definite.definition),
        },
        "approval": dataset.approval,
        "tick": tick,
        "lifetime": lifetime(table.name, ledger),
    }


def _document(left: Left | None) -> dict[str, Any] | None:
    return None if left is None else left.document()


def _budget(privacy: ApproxDP) -> dict[str, Any]:
    return {"epsilon": privacy.epsilon, "delta": float(privacy.delta)}


def lifetime(name: str, ledger: Ledger) -> dict[str, Any]:
    """What was spent under every label of people that the dataset has had: what somebody lost who was in all of them."""
    accounts = [account for account in ledger.datasets() if account == name or account.startswith(f"{name}{COHORT}")]
    losses = [loss for account in accounts for loss in _losses(ledger.stands(account))]
    epsilon, delta = (sum(parts) for parts in zip((0.0, 0.0), *losses, strict=True))
    return {"epsilon": epsilon, "delta": delta, "budgets": len(accounts)}


def _losses(stands: Standing) -> list[tuple[float, float]]:
    """What definite answers spent; and, from the first question on, the budget of close calls as a whole."""
    registered, state = stands.registered, stands.state
    spent, called = [registered.privacy_filter.spent(state.spent)], registered.close_calls
    if called is not None and state.charges:
        spent.append((called.budget.epsilon, float(called.budget.delta)))
    return spent


def how_many_more(table: OpenTable, ledger: Ledger, caller: Caller, cost: Cost) -> int | None:
    """About how many such questions could still be asked; None where the budget does not cover such ones."""
    try:
        return ledger.stands(table.account(), by=caller.name).repeats(cost)
    except DuotoneError:
        return None


def history_document(table: OpenTable, ledger: Ledger, records: Records, caller: Caller) -> dict[str, Any]:
    """What was asked, by whom, at what price: the latest charges, the last first. Answers are shown to who asked, and to the
    owner."""
    latest, stands = ledger.latest(table.account(), LATEST), ledger.stands(table.account())
    words = records.words(table.account(), latest[-1].seq if latest else 0)
    return {
        "charges": [_charge(charge, words.get(charge.seq), caller) for charge in latest],
        "many": stands.state.charges,
        "left": stands.left.document(),
        "wasted": stands.state.unanswered,
    }


def _charge(charge: ChargeRecord, words: dict[str, Any] | None, caller: Caller) -> dict[str, Any]:
    role = caller.person.role
    sees = role == "owner" or (role == "analyst" and charge.by == caller.name)
    text = charge.question if words is None else str(words.get("question") or f"groups by {', '.join(words.get('by') or ())}")
    return {
        "charge": charge.seq,
        "at": charge.at.isoformat(timespec="seconds"),
        "by": charge.by,
        "question": text if words is not None or role != "analyst" else "a question",
        "price": _price(charge, sees),
        "answers": charge.answers,
        "free_answers": charge.clear if sees else None,
        "close_calls": charge.calls if sees else None,
        "state": "answered" if charge.answered else "wasted, or under way",
        **({"answer": _answer(charge.answer)} if charge.answered and sees else {}),
    }


def _price(charge: ChargeRecord, sees: bool) -> dict[str, Any]:
    """What was paid; where only close calls are charged, how many there were is for who sees the answer."""
    if charge.calls is None:
        return as_json({"answers": charge.answers, "each": charge.privacy})
    if sees and not charge.answered:
        return {"close_calls_at_most": charge.answers}
    return {
        "answers": charge.answers,
        **({"close_calls": charge.calls, "free": charge.clear} if sees else {"close_calls": None}),
    }


def _answer(recorded: Any) -> Any:
    """A recorded answer as it is shown: one word, or a word for each group."""
    words = {True: "yes", False: "no"}
    answers = [[key, words.get(answer, answer) if isinstance(answer, bool) else answer] for key, answer in recorded["answers"]]
    return answers[0][1] if len(answers) == 1 and answers[0][0] == [] else answers


def budget_document(table: OpenTable, ledger: Ledger, caller: Caller, cost: Cost | None) -> dict[str, Any]:
    """How the budget stands: what is spent, what a question costs, what remains."""
    account = ledger.stands(table.account(), by=caller.name)
    called, calls = account.registered.close_calls, account.state.calls
    spent = dict(zip(("epsilon", "delta"), account.registered.privacy_filter.spent(account.state.spent), strict=True))
    return {
        "spent": None if called is not None and table.dataset.close_calls and not table.dataset.close_calls.definite else spent,
        "budget": _budget(account.registered.budget if called is None else table.dataset.budget),
        "left": account.left.document(),
        "this": None if cost is None else as_json(cost.numbers()),
        "how_many_more": None if cost is None else how_many_more(table, ledger, caller, cost),
        "free_answers": ledger.clear_answers(table.account()),
        "wasted": account.state.unanswered,
        "close_calls": None
        if called is None or calls is None
        else {"used": calls.used, "reserved": calls.reserved, "left": called.count - calls.taken, "of": called.count},
        "allowance": _document(account.allowance),
        "lifetime": lifetime(table.name, ledger),
    }
