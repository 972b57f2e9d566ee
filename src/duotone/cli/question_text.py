"""A question and its answers as the command shows them on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    print(printable(preview.title))
    print_table(preview.head, preview.table)
    for note in preview.notes:
        print(printable(note))


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
