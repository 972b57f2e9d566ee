"""A preview and an answer as the service sends them: like the command's --json, with what a page shows besides."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from duotone.desk.callers import Caller
from duotone.desk.office import called
from duotone.desk.records import Records
from duotone.desk.tables import OpenTable
from duotone.desk.terms import WAYS, Terms
from duotone.errors import DuotoneError
from duotone.ledger.accounts import SELDOM, Account
from duotone.ledger.ledger import Ledger
from duotone.ledger.request import Standing
from duotone.ledger.statement import ChargeRecord
from duotone.model.checks import COHORT
from duotone.model.cost import Charge, Cost, as_json, as_share
from duotone.model.terms import DefiniteTerms, PaidTerms, WhichTerms
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import show, written
from duotone.privacy.renyi import RenyiDP
from duotone.privacy.text import Definition
from duotone.tables.answers import Answers
from duotone.tables.prepared import Prepared, quote_all
from duotone.tables.sql.comparison import ParsedQuestion, TopGroup
from duotone.tables.sql.syntax import one_line, without_comments

POINTS = 60
"""Most points of a curve."""


def preview_document(question: Prepared, ledger: Ledger, account: str, terms: Terms, person: str) -> dict[str, Any]:
    """How accurate an answer would be, and what it would cost this person."""
    (quote,) = quote_all([question], ledger, account, again=terms.again, asker=person)
    document = question.facts.document("analyst")
    leads = isinstance(question.asked, ParsedQuestion) and isinstance(question.asked.tree, TopGroup)
    if terms.people is not None and terms.wrong is None and not leads:  # which group leads has no units
        document["in_units"] = question.preview(terms.people).document()
    about = {"question": _text(question), "says": says(question), "protected": protected(question), "curve": curve(question)}
    if (seldom := seldom_wrong(question)) is not None:
        document["seldom_wrong"] = seldom
    return {**document, **about, "ledger": quote.document(), "terms": asked_at(question, terms)}


def answer_document(question: Prepared, reply: Answers, terms: Terms, account: str) -> dict[str, Any]:
    """An answer, with a sentence for a report that names the dataset as people do."""
    document = reply.document("analyst")
    quote = replace(reply, about=called(account)).quote("analyst")
    more = {"question": _text(question), "quote": quote, "charge": document["ledger"]["charge"]}
    return {**document, **more, "made_up": False, "terms": asked_at(question, terms)}


def seldom_wrong(question: Prepared) -> dict[str, Any] | None:
    """From how many people on an answer is wrong at most once in a thousand; None if it never is, or groups are selected."""
    terms, many = question.terms, range(1, question.accuracy.last + 1)
    if not isinstance(terms, PaidTerms) or (isinstance(terms, DefiniteTerms) and terms.boundary == "selection"):
        return None
    people = bisect_left(many, True, key=lambda margin: question.error(margin) <= SELDOM) + 1
    return {"wrong": SELDOM, "people": people} if people <= many[-1] else None


def says(question: Prepared) -> dict[str, Any]:
    """What an answer says: which words, for which groups, of which parts, and whether it says how sure it is."""
    facts, terms = question.facts, question.terms
    words = [*map(str, terms.answers)] if isinstance(terms, WhichTerms) else ["yes", "no"]
    sure = isinstance(terms, DefiniteTerms) and terms.boundary != "selection" and terms.table.has_margins
    return {
        "words": [] if question.asked is None else words if isinstance(terms, PaidTerms) else [*words, "too close to call"],
        "by": list(facts.labels) if facts.by else [],
        "scope": facts.scope or None,
        "sure": sure,
    }


def _text(question: Prepared) -> str:
    """The question in one line."""
    if question.asked is None or question.facts.by_parts is not None:
        return question.facts.text
    return one_line(question.asked.text)


KEPT = {"question", "by", *WAYS, "delta", "max_groups", "at_least", "costs", "groups", "again", "margins", "parts"}


def kept(terms: Terms) -> dict[str, Any]:
    """The question and its price as they are recorded and shown to others: without comments."""
    kept = terms.model_dump(exclude_none=True, include=KEPT if terms.wrong is None else KEPT | {"people"})
    return kept if terms.question is None else {**kept, "question": without_comments(terms.question)}


def asked_words(terms: Mapping[str, Any]) -> str:
    """What was asked, by its recorded terms."""
    if terms.get("parts"):
        return f"{terms['question']} in most of {terms['parts']} random parts"
    return str(terms.get("question") or f"groups by {', '.join(terms.get('by') or ())}")


def at_its_price(question: Prepared, terms: Terms) -> dict[str, Any]:
    """The same; for a question planned by its error, with the price that follows, since that is what is approved."""
    if (terms.wrong, terms.one_of) == (None, None) or not isinstance(question.terms, PaidTerms):
        return kept(terms)
    price = _price_terms(question.terms.privacy)
    return kept(terms.model_copy(update={"wrong": None, "people": None, "one_of": None} | price)) if price else kept(terms)


def _price_terms(privacy: Definition) -> dict[str, str]:
    """A price as terms have it, exactly; empty for one that only e^ε says."""
    if isinstance(privacy, RenyiDP):
        return {"price": show(privacy.price), "delta": show(privacy.delta)}
    if privacy.epsilon_exact is None:
        return {}
    return {"epsilon": written(privacy.epsilon_exact), "delta": written(Fraction(privacy.delta))}


def asked_at(question: Prepared, terms: Terms) -> dict[str, Any]:
    """The terms with the price that was paid, also if it followed from an error."""
    if not isinstance(question.terms, PaidTerms):
        return kept(terms)
    given = {name: value for name, value in kept(terms).items() if name not in ("wrong", "people", "one_of")}
    privacy = question.terms.privacy
    return {**given, "delta": written(Fraction(privacy.delta)), **_price_terms(privacy)}


def protected(question: Prepared) -> str:
    """Who is protected, in plain words."""
    who = question.declared.person
    one = "each row" if who is None else f"each {who}, with all rows of it,"
    changed = "different" if question.declared.replaced else "there or not"
    return f"{one} is protected: the answer is almost as likely whether any one of them is {changed}"


def curve(question: Prepared) -> list[tuple[int, float]]:
    """How often an answer is wrong, or too close to call, by how many people would have to be different to flip it."""
    return [(m, question.error(m)) for m in _margins(question.accuracy.last)]


def _margins(last: int) -> list[int]:
    """The margins of a curve: all of them, or as many as the curve has points, evenly on a logarithmic axis.

    >>> _margins(3), _margins(10**6)[:12], _margins(10**6)[-1]
    ([1, 2, 3], [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25], 1000000)
    """
    if last <= POINTS:
        return list(range(1, last + 1))
    return sorted({round(last ** (i / POINTS)) for i in range(POINTS + 1)})


LATEST = 200
"""Most charges that a history shows."""


def dataset_document(table: OpenTable, ledger: Ledger, caller: Caller, tick: float) -> dict[str, Any]:
    """The public facts of a dataset; none comes from rows."""
    dataset, declared = table.dataset, table.dataset.declared
    bounds, lists = declared.bounds, table.lists
    stands = ledger.stands(table.in_ledger(), asker=caller.name)
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
        "dataset": table.name,
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
        "version": stands.version,
        "population": stands.registered.population,
        "account": stands.registered.account.name,
        "answers": getattr(stands.registered.account, "answers", None),
        "budget": _budget(dataset.budget),
        "left": stands.left.document(),
        "allowance": stands.allowance and stands.allowance.document(),
        "close_calls": None
        if called is None or calls is None or dataset.close_calls is None
        else {
            "epsilon": called.question.privacy.epsilon,
            "wrong": float(called.question.wrong),
            "left": stands.left.close_calls,
            "count": called.count,
            "definite": None if dataset.close_calls.definite is None else _budget(dataset.close_calls.definite.definition),
        },
        "approval": dataset.approval,
        "parts": dataset.parts,
        "tick": tick,
        "lifetime": lifetime(table.name, ledger),
    }


def _budget(privacy: ApproxDP) -> dict[str, Any]:
    return {"epsilon": privacy.epsilon, "delta": float(privacy.delta)}


def lifetime(name: str, ledger: Ledger) -> dict[str, Any]:
    """Lifetime: the total spent under all versions of the people, which is the loss of someone present in every
    version."""
    accounts = [account for account in ledger.datasets() if account == name or account.startswith(f"{name}{COHORT}")]
    charged = {stands.registered.dataset: stands for account in accounts for stands in [ledger.stands(account)]}
    losses = [loss for stands in charged.values() for loss in _losses(stands)]
    epsilon, delta = (sum(parts) for parts in zip((0.0, 0.0), *losses, strict=True))
    return {"epsilon": epsilon, "delta": delta, "budgets": len(accounts)}


def _losses(stands: Standing) -> list[tuple[float, float]]:
    """What definite answers spent; and, from the first question on, the whole budget of close calls."""
    registered, state = stands.registered, stands.state
    spent, called = [registered.account.spent(state.spent)], registered.close_calls
    if called is not None and state.charges:
        spent.append((called.budget.epsilon, float(called.budget.delta)))
    return spent


def how_many_more(table: OpenTable, ledger: Ledger, person: str, cost: Cost) -> int | None:
    """About how many such questions a person can still ask; None if the budget does not cover this kind."""
    try:
        return ledger.stands(table.in_ledger(), asker=person).repeats(cost)
    except DuotoneError:
        return None


def history_document(table: OpenTable, ledger: Ledger, records: Records, caller: Caller) -> dict[str, Any]:
    """The latest charges, the last first: what was asked, by whom, at what price. Answers are shown to the asker and to
    the owner."""
    latest, stands = ledger.latest(table.in_ledger(), LATEST), ledger.stands(table.in_ledger())
    account = stands.registered.account
    words = records.words(table.in_ledger(), latest[-1].charge if latest else 0)
    return {
        "charges": [_charge(charge, words.get(charge.charge), caller, account) for charge in latest],
        "many": stands.state.charges if stands.registered.member is None else len(latest),
        "left": stands.left.document(),
        "wasted": stands.state.unanswered,
    }


def _charge(charge: ChargeRecord, words: dict[str, Any] | None, caller: Caller, account: Account) -> dict[str, Any]:
    role = caller.person.role
    sees = role == "owner" or (role == "analyst" and charge.asker == caller.name)
    text = charge.question if words is None else asked_words(words)
    return {
        "charge": charge.charge,
        "at": charge.at.isoformat(timespec="seconds"),
        "asker": charge.asker,
        "question": text if words is not None or role != "analyst" else "a question",
        "price": _price(charge, sees, account),
        "answers": charge.answers,
        "free_answers": charge.clear if sees else None,
        "close_calls": charge.calls if sees else None,
        "state": "answered" if charge.answered else "wasted, or under way",
        **(charge.document() if charge.answered and sees else {}),
    }


def price_document(cost: Cost, account: Account) -> dict[str, Any]:
    """A price as JSON; with its share of the budget, and the number of such answers in it, if prices are such shares."""
    return as_json(cost.numbers() | (as_share(account.share(cost)) if isinstance(cost, Charge) else {}))


def _price(charge: ChargeRecord, sees: bool, account: Account) -> dict[str, Any]:
    """What was paid. If only close calls are charged, their number is shown only to those who see the answer."""
    if charge.calls is None:
        return price_document(charge.cost, account)
    if sees and not charge.answered:
        return {"close_calls_at_most": charge.answers}
    return {
        "answers": charge.answers,
        **({"close_calls": charge.calls, "free": charge.clear} if sees else {"close_calls": None}),
    }


def budget_document(table: OpenTable, ledger: Ledger, caller: Caller, cost: Cost | None) -> dict[str, Any]:
    """The state of the budget: spent, cost of a question, remaining."""
    account = ledger.stands(table.in_ledger(), asker=caller.name)
    called, calls = account.registered.close_calls, account.state.calls
    spent = dict(zip(("epsilon", "delta"), account.registered.account.spent(account.state.spent), strict=True))
    spent |= {} if account.left.share is None else {"share": 1 - account.left.share}
    return {
        "spent": None if called is not None and table.dataset.close_calls and not table.dataset.close_calls.definite else spent,
        "budget": _budget(account.registered.budget if called is None else table.dataset.budget),
        "left": account.left.document(),
        "this": None if cost is None else price_document(cost, account.registered.account),
        "how_many_more": None if cost is None else how_many_more(table, ledger, caller.name, cost),
        "free_answers": ledger.clear_answers(table.in_ledger()),
        "wasted": account.state.unanswered,
        "close_calls": None
        if called is None or calls is None
        else {"used": calls.used, "reserved": calls.reserved, "left": called.count - calls.taken, "count": called.count},
        "allowance": account.allowance and account.allowance.document(),
        "lifetime": lifetime(table.name, ledger),
    }
