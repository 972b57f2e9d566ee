"""A preview and an answer as the service sends them: what the command prints with --json, and what a page shows besides."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from duotone.desk.office import called
from duotone.desk.terms import Terms
from duotone.ledger.ledger import Ledger
from duotone.model.terms import DefiniteTerms
from duotone.tables.answers import Answers
from duotone.tables.prepared import Prepared, quote_all
from duotone.tables.preview import written
from duotone.tables.sql.syntax import one_line, without_comments

POINTS = 60
"""Of a curve, at most."""


def preview_document(question: Prepared, ledger: Ledger, account: str, terms: Terms, person: str) -> dict[str, Any]:
    """How accurate an answer would be, and what it would cost this person."""
    (quote,) = quote_all([question], ledger, account, again=terms.again, asker=person)
    document = question.facts.document("analyst")
    if terms.people is not None:
        document["in_units"] = question.preview(terms.people).document()
    about = {"question": _text(question), "protected": protected(question), "curve": curve(question)}
    return {**document, **about, "ledger": quote.document(), "terms": asked_at(question, terms)}


def answer_document(question: Prepared, reply: Answers, terms: Terms, account: str) -> dict[str, Any]:
    """An answer, with the sentence for a report, which names the dataset as people do."""
    document = reply.document("analyst")
    quote = replace(reply, about=called(account)).quote()
    more = {"question": _text(question), "quote": quote, "charge": document["ledger"]["charge"]}
    return {**document, **more, "made_up": False, "terms": asked_at(question, terms)}


def _text(question: Prepared) -> str:
    """What is asked, in one line."""
    return question.facts.text if question.asked is None else one_line(question.asked.text)


KEPT = {"question", "by", "epsilon", "ratio", "delta", "error", "max_groups", "costs", "groups", "again"}


def kept(terms: Terms) -> dict[str, Any]:
    """What names the question and its price, as it is kept, and sent also to others: without comments."""
    kept = terms.model_dump(exclude_none=True, include=KEPT)
    return kept if terms.question is None else {**kept, "question": without_comments(terms.question)}


def at_its_price(question: Prepared, terms: Terms) -> dict[str, Any]:
    """The same; of a question that was planned by its error, at the price that follows, which is approved."""
    epsilon = question.terms.privacy.epsilon_exact if isinstance(question.terms, DefiniteTerms) else None
    if terms.error is None or epsilon is None:
        return kept(terms)
    return kept(terms.model_copy(update={"epsilon": written(epsilon), "error": None}))


def asked_at(question: Prepared, terms: Terms) -> dict[str, Any]:
    """The terms with the price as it was asked, also where it followed from an error."""
    if not isinstance(question.terms, DefiniteTerms):
        return kept(terms)
    privacy = question.terms.privacy
    price = {"delta": written(Fraction(privacy.delta))}
    if privacy.epsilon_exact is not None:
        price["epsilon"] = written(privacy.epsilon_exact)
    return {name: value for name, value in kept(terms).items() if name != "error"} | price


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
    """The margins of a curve: all of them, or as many as it has points, evenly on a logarithmic axis.

    >>> _margins(3), _margins(10**6)[:12], _margins(10**6)[-1]
    ([1, 2, 3], [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25], 1000000)
    """
    if last <= POINTS:
        return list(range(1, last + 1))
    return sorted({round(last ** (i / POINTS)) for i in range(POINTS + 1)})
