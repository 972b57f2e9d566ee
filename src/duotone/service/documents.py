"""A preview and an answer as the service sends them: what the command prints with --json, and what a page shows besides."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from duotone.ledger.ledger import Ledger
from duotone.service.office import called
from duotone.service.tables import Question
from duotone.service.terms import Terms
from duotone.tables.answers import Answers
from duotone.tables.close_calls import CloseCallAnswers, CloseCallQuestion
from duotone.tables.documents import close_call_document, question_document, quote_document
from duotone.tables.prepared import Prepared
from duotone.tables.preview import written
from duotone.tables.price import quote_all

INSPECT = "; duotone inspect counts"
POINTS = 60
"""Of a curve, at most."""


def preview_document(question: Question, ledger: Ledger, account: str, terms: Terms, person: str) -> dict[str, Any]:
    """How accurate an answer would be, and what it would cost this person."""
    (quote,) = quote_all([question], ledger, account, again=terms.again, by=person)
    if isinstance(question, CloseCallQuestion):
        document = close_call_document(question, None)
    else:
        document = question_document(question, None)
    document["notes"] = list(map(without_owners_advice, document["notes"]))
    if terms.people is not None:
        document["in_units"] = question.preview(terms.people).document()
    about = {"question": question.written.strip("“”"), "protected": protected(question), "curve": curve(question)}
    return {**document, **about, "ledger": quote_document(quote, question), "terms": asked_at(question, terms)}


def answer_document(question: Question, reply: Answers | CloseCallAnswers, terms: Terms, account: str) -> dict[str, Any]:
    """An answer, with the sentence for a report, which names the dataset as people do."""
    if isinstance(question, CloseCallQuestion):
        if not isinstance(reply, CloseCallAnswers):
            raise TypeError("the answer of another question")
        document = close_call_document(question, reply)
    else:
        if not isinstance(reply, Answers):
            raise TypeError("the answer of another question")
        document = question_document(question, reply)
    text = question.written.strip("“”")
    document["notes"] = list(map(without_owners_advice, document["notes"]))
    quote = reply.quote().replace(f"In {account}, ", f"In {called(account)}, ", 1)  # with which it begins
    more = {"question": text, "quote": quote, "charge": document["ledger"]["charge"], "made_up": False}
    return {**document, **more, "terms": asked_at(question, terms)}


def asked_at(question: Question, terms: Terms) -> dict[str, Any]:
    """The terms with the price as it was asked, also where it followed from an error."""
    if isinstance(question, CloseCallQuestion):
        return terms.kept
    privacy = question.privacy
    price = {"delta": written(Fraction(privacy.delta))}
    if privacy.epsilon_exact is not None:
        price["epsilon"] = written(privacy.epsilon_exact)
    return {name: value for name, value in terms.kept.items() if name != "error"} | price


def without_owners_advice(note: str) -> str:
    """A note without the advice that only the table's owner can follow."""
    return note.partition(INSPECT)[0]


def protected(question: Question) -> str:
    """Who is protected, in plain words."""
    who = question.declared.person
    one = "each row" if who is None else f"each {who}, with all rows of it,"
    changed = "different" if question.declared.replaced else "there or not"
    return f"{one} is protected: the answer is almost as likely whether any one of them is {changed}"


def curve(question: Question) -> list[tuple[int, float]]:
    """How often an answer is wrong, or too close to call, by how many people would have to be different to flip it."""
    if isinstance(question, CloseCallQuestion):
        last = question.table.clear_from("1e-3") or 1000
        return [(m, question.clearness.chances(m)[2]) for m in _margins(last)]
    return [(m, question.error(m)) for m in _margins(_last(question))]


def _last(question: Prepared) -> int:
    """Where the curve ends: where an answer is never wrong, or hardly ever."""
    certain = question.accuracy.certain
    if math.isfinite(certain):
        return int(certain)
    margin = 1
    while question.error(margin) > 1e-4 and margin < 10**6:
        margin *= 2
    return margin


def _margins(last: int) -> list[int]:
    """The margins of a curve: all of them, or as many as it has points, evenly on a logarithmic axis.

    >>> _margins(3), _margins(10**6)[:12], _margins(10**6)[-1]
    ([1, 2, 3], [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25], 1000000)
    """
    if last <= POINTS:
        return list(range(1, last + 1))
    return sorted({round(last ** (i / POINTS)) for i in range(POINTS + 1)})
