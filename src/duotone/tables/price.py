"""What several questions about one table would cost a ledger, asked in turn, and whether all of them fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from duotone.errors import OverBudget
from duotone.ledger.account import Quote
from duotone.ledger.ledger import Ledger, opened_ledger
from duotone.tables.close_calls import CloseCallQuestion
from duotone.tables.prepared import Prepared


def quote_all(
    questions: Sequence[Prepared | CloseCallQuestion],
    ledger: Ledger | str | Path,
    dataset: str | None = None,
    *,
    again: bool = False,
    by: str | None = None,
) -> list[Quote]:
    """What questions about one table would cost a ledger, which may be named by its place, asked in turn: nothing is charged,
    and no row is read."""
    if not questions:
        return []
    with opened_ledger(ledger) as opened:
        bills = [question.billed(opened, dataset) for question in questions]
        known, _, about = bills[0]
        asked = [(forms[0], question.cost) for (_, forms, _), question in zip(bills, questions, strict=True)]
        earlier = [forms[1:] for _, forms, _ in bills]
        return opened.quote(known, asked, again=again, by=by, earlier=earlier, **about)


def require_all_fit(
    questions: Sequence[Prepared],
    ledger: Ledger | str | Path,
    dataset: str | None = None,
    *,
    again: bool = False,
    by: str | None = None,
) -> None:
    """Refuse questions that do not all fit into what is left, asked in turn, before the first is charged. (Who else asks in
    the meantime may still leave too little for the last.)"""
    for number, quote in enumerate(quote_all(questions, ledger, dataset, again=again, by=by), start=1):
        if not quote.fits:
            with opened_ledger(ledger) as opened:
                known, *_ = questions[0].billed(opened, dataset)
            asked = f"question {number} of {len(questions)}, {questions[number - 1].cost.price} after those before it,"
            allowance = "" if quote.allowance is None else f", and of the allowance of {by}: {quote.allowance}"
            raise OverBudget(known, asked, f"{quote.left}{allowance}")
