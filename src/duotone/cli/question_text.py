"""A question and its answers as the command shows them on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from duotone.cli.terminal import print_table, printable
from duotone.words.sentences import sentence

if TYPE_CHECKING:
    from duotone.tables.answers import Answers
    from duotone.tables.prepared import Prepared
    from duotone.tables.preview import Preview


def print_question(prepared: Prepared, reply: Answers | None, title: str | None) -> None:
    """The answer, if there is one, under which budget, about whom, and how accurate it is."""
    from duotone.model.terms import DefiniteTerms

    facts, terms = prepared.facts, prepared.terms
    definite = isinstance(terms, DefiniteTerms)
    if title is not None:
        print(printable(" ".join(title.split())))
    if reply is not None and facts.by:
        print_table((*facts.labels, "answer"), [(*map(str, key), said) for key, said in reply.words.items()])
    elif reply is not None:
        print(reply)
    replaced = "; neighbours differ in one person's data (replace)" if prepared.declared.replaced else ""
    print(f"{terms.price}; {printable(facts.person)}{replaced}; {facts.basis}")
    notes = facts.notes if reply is None or definite else reply.notices
    for said in (*filter(None, [facts.clipping]), *(sentence(note, "command") for note in notes)):
        print(printable(said))
    if reply is None or definite:
        if isinstance(terms, DefiniteTerms) and terms.parts > 1:
            print(f"each answer has {terms.share}: the budget is divided among {terms.parts} answers about a person")
        if facts.accuracy.rows:
            print_table(facts.accuracy.head, facts.accuracy.rows)
        print(facts.accuracy.ending)


def print_preview(preview: Preview) -> None:
    """What is compared, in its own units."""
    print(printable(preview.title))
    print_table(preview.head, preview.table)
    for note in preview.notes:
        print(printable(note))
