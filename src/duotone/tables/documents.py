"""A question, its price and its answers as JSON: what the command prints with --json, and a service sends."""

from __future__ import annotations

import math
from typing import Any

from duotone.ledger.account import Quote
from duotone.line.mechanism import MARGINS
from duotone.privacy.numbers import show
from duotone.privacy.text import definition_document
from duotone.tables.answers import Answers
from duotone.tables.close_calls import CloseCallAnswers, CloseCallQuestion
from duotone.tables.prepared import Prepared


def budget_document(prepared: Prepared) -> dict[str, Any]:
    """The budget as JSON, and among how many answers about one person it is divided."""
    return {**definition_document(prepared.privacy), "parts": prepared.parts}


def question_document(prepared: Prepared, reply: Answers | None) -> dict[str, Any]:
    """A question, and its answers, if there are any."""
    certain = prepared.accuracy.certain
    document: dict[str, Any] = {"privacy": budget_document(prepared), "person": prepared.person, "basis": prepared.basis}
    if reply is not None and reply.receipt is not None:
        document["ledger"] = {"free": reply.receipt.free, "charge": reply.receipt.charge, "left": reply.receipt.left}
        if reply.receipt.allowance is not None:
            document["ledger"]["allowance"] = reply.receipt.allowance
        if reply.receipt.before is not None:
            document["ledger"]["answered_before"] = reply.receipt.before.entry
    document["grids"] = prepared.grids
    document["error_by_margin"] = {str(m): prepared.error(m) for m in MARGINS}
    document["certain_from"] = int(certain) if math.isfinite(certain) else None
    document["share"] = {"epsilon": prepared.share.epsilon, "delta": show(prepared.share.delta)}
    if prepared.boundary != "balanced":
        document["boundary"] = str(prepared.boundary)
        document["false_no_by_margin"] = {str(m): prepared.errors(m)[0] for m in MARGINS}
        document["false_yes_by_margin"] = {str(m): prepared.errors(m)[1] for m in MARGINS}
    document["clipping"] = prepared.clipping
    document["notes"] = list(prepared.notes)
    if reply is None:
        return document
    if not reply.by:
        return {"answer": "yes" if reply else "no", "private": reply.private, **document}
    rows = [dict(zip((*prepared.labels, "answer"), (*k, "yes" if a else "no"), strict=True)) for k, a in reply.answers.items()]
    return {"answers": rows, "private": reply.private, **document}


def close_call_document(asked: CloseCallQuestion, reply: CloseCallAnswers | None) -> dict[str, Any]:
    """A question that may be too close to call, and its answers, if there are any."""
    three_way = asked.three_way
    document: dict[str, Any] = {
        "question_privacy": definition_document(three_way.privacy),
        "wrong": float(three_way.wrong),
        "person": asked.person,
        "basis": asked.basis,
        "grids": asked.grids,
        "too_close_by_margin": {str(m): asked.clearness.chances(m)[2] for m in MARGINS},
        "clear_from": dict(asked.clearness.rows),
        "clipping": asked.clipping,
        "notes": list(asked.notes if reply is None else reply.notes),
    }
    if reply is None:
        return document
    receipt = reply.receipt
    charged = 0 if receipt.free else receipt.calls
    counted = {"close_calls": charged, "close_calls_left": receipt.calls_left, "left": receipt.left}
    document["ledger"] = {"free": not charged, "recorded": receipt.free, "charge": receipt.charge, **counted}
    if not reply.by:
        return {"answer": str(reply.outcome), "private": reply.private, **document}
    rows = [dict(zip((*reply.labels, "answer"), (*k, str(o)), strict=True)) for k, o in reply.answers.items()]
    unanswered = [dict(zip(reply.labels, key, strict=True)) for key in reply.unanswered]
    return {"answers": rows, "unanswered": unanswered, "private": reply.private, **document}


def quote_document(quote: Quote, prepared: Prepared | CloseCallQuestion) -> dict[str, Any]:
    """A quote as JSON."""
    document = {"free": quote.free, "fits": quote.fits, "left": quote.left}
    document |= {} if quote.free else {"price": prepared.cost.price}
    document |= {} if quote.before is None else {"answered_before": quote.before.entry}
    return document | ({} if quote.allowance is None else {"allowance": quote.allowance})
