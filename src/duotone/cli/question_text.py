"""A question and its answers as the command shows them: text for a terminal, or a JSON object."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from duotone.cli.terminal import print_table, printable, with_flags

if TYPE_CHECKING:
    from duotone.tables.answers import Answers
    from duotone.tables.prepared import Prepared
    from duotone.tables.preview import Preview


def print_question(prepared: Prepared, reply: Answers | None, title: str | None) -> None:
    """The answer, if there is one, under which budget, about whom, and how accurate it is."""
    if title is not None:
        print(printable(" ".join(title.split())))
    if reply is not None:
        _print_answers(reply, prepared.labels)
    replaced = "; neighbours differ in one person's data (replace)" if prepared.declared.replaced else ""
    print(f"{prepared.privacy}; {printable(prepared.person)}{replaced}; {prepared.basis}")
    for note in (prepared.clipping, *prepared.notes):
        if note is not None:
            print(printable(with_flags(note)))
    _print_accuracy(prepared)


def print_preview(preview: Preview) -> None:
    """What is compared, in its own units."""
    print(preview.title)
    print_table(preview.head, preview.table)
    for note in preview.notes:
        print(note)


def _print_answers(reply: Answers, labels: tuple[str, ...]) -> None:
    if not reply.by:
        print(reply)
        return
    words = ["yes" if answer else "no" for answer in reply.answers.values()]
    print_table((*labels, "answer"), [(*map(str, key), word) for key, word in zip(reply.answers, words, strict=True)])


def _print_accuracy(prepared: Prepared) -> None:
    accuracy = prepared.accuracy
    if prepared.parts > 1:
        print(f"each answer has {prepared.share}: the budget is divided among {prepared.parts} answers about a person")
    if accuracy.margins:
        print_table(accuracy.head, [(str(m), *(f"{wrong:.3g}" for wrong in accuracy.wrong(m))) for m in accuracy.margins])
    print(accuracy.ending)


def budget_document(prepared: Prepared) -> dict[str, Any]:
    """The budget as JSON, and among how many answers about one person it is divided."""
    from duotone.privacy.text import definition_document

    return {**definition_document(prepared.privacy), "parts": prepared.parts}


def question_document(prepared: Prepared, reply: Answers | None) -> dict[str, Any]:
    """What `print_question` shows, as JSON."""
    from duotone.line.mechanism import MARGINS
    from duotone.privacy.numbers import show

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
