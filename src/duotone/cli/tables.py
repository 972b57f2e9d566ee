"""The commands about tables: ask, groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.cli.charging import LEDGER, Charging, answered, asked_with, quote_text, quotes_of, require_fit
from duotone.cli.table_options import OPENING, OPTIONS, parsed_costs, table
from duotone.cli.terminal import (
    PRICE,
    AsJson,
    CertificateFile,
    Delta,
    Draw,
    Epsilon,
    ExpEpsilon,
    budget,
    listed,
    print_table,
    printable,
    takes,
    write_json,
    wrote,
)
from duotone.errors import DuotoneError
from duotone.words.sentences import sentence

if TYPE_CHECKING:
    from duotone.model.dataset import Dataset as Declared
    from duotone.privacy.approx_dp import ApproxDP
    from duotone.tables.answers import Answers
    from duotone.tables.prepared import Prepared
    from duotone.tables.preview import Preview


@takes(declared=table(*OPTIONS), how=LEDGER)
def ask(
    question: Annotated[
        str,
        typer.Argument(help="SQL: a yes/no expression over aggregates, or a select with one; or FILE.sql with one or more."),
    ],
    *,
    epsilon: Epsilon = None,
    exp_epsilon: ExpEpsilon = None,
    delta: Delta = "0",
    declared: Declared,
    costs: Annotated[
        str | None, typer.Option(metavar="NO:YES", help="How bad a false no and a false yes are, as 10:1; else the same.")
    ] = None,
    how: Charging,
    each: Annotated[
        bool, typer.Option("--each", help="Each question of FILE.sql has the whole budget; else they share it.")
    ] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show how accurate the answer will be; read and spend nothing.")
    ] = False,
    people: Annotated[
        int | None,
        typer.Option(metavar="N", help="With --preview: how many people there may be, to show it in the question's own units."),
    ] = None,
    as_json: AsJson = False,
    draw: Draw = None,
    certificate: CertificateFile = None,
) -> None:
    """A private answer to a yes/no question about a table."""
    from duotone.tables.ask import prepare_all

    questions = _questions(question)
    if each and len(questions) == 1:
        raise DuotoneError("--each is for several questions: name a FILE.sql that has them, with ; between")
    if len(questions) > 1 and not (draw is None and certificate is None):
        raise DuotoneError("--draw and --certificate are for one question: ask it by itself")
    if people is not None and not preview:
        raise DuotoneError("--people is a guess to preview with: add --preview, or leave it out")
    three_way = asked_with(how, declared) if (epsilon, exp_epsilon) == (None, None) else None
    if three_way is not None:
        unused = {"--delta": delta != "0", "--max-groups": declared.max_groups, "--costs": costs, "--each": each}
        if named := [flag for flag, given in unused.items() if given]:
            raise DuotoneError(
                f"this dataset is asked with close calls: leave {' and '.join(named)} out, or give --epsilon for a definite "
                "answer"
            )
    about: Any = {"each": each} | ({} if costs is None else {"costs": parsed_costs(costs)})
    privacy = three_way or budget(epsilon, exp_epsilon, delta)
    documents: list[dict[str, Any]] = []
    with prepare_all(declared, questions, privacy, strict=declared.dataset is None, **about) as every:
        quotes = quotes_of(every, how) if preview else [None] * len(every)
        if not preview and three_way is None:
            require_fit(every, how)
        try:
            for text, prepared, quote in zip(questions, every, quotes, strict=declared.dataset is None):
                if draw is not None:
                    _draw(prepared, text, draw)
                reply = None if preview else answered(prepared, how)
                if draw is not None and three_way is None and reply is not None and prepared.by:
                    _draw(prepared, text, draw, reply)
                if certificate is not None and reply is not None:
                    write_json(certificate, reply.certificate())
                title = {"question": text} if len(questions) > 1 else {}
                quoted = {} if quote is None else {"ledger": quote.document()}
                in_units = None if people is None else prepared.preview(people)
                units = {} if in_units is None else {"in_units": in_units.document()}
                document = prepared.facts.document() if reply is None else reply.document()
                documents.append({**title, **document, **units, **quoted})
                if not as_json:
                    print_question(prepared, reply, title.get("question"))
                    if in_units is not None:
                        print_preview(in_units)
                    if quote is not None:
                        print(quote_text(quote))
        finally:  # what was answered before one failed is shown
            if as_json and documents:
                print(json.dumps(documents[0] if len(questions) == 1 else {"questions": documents}))


@takes(declared=table(*OPENING, "max_groups"), privacy=PRICE, how=LEDGER)
def groups(
    by: Annotated[str, typer.Option(metavar="COL[,COL]", help="The columns whose values are the groups' keys.")],
    privacy: ApproxDP,
    declared: Declared,
    how: Charging,
    as_json: AsJson = False,
    certificate: CertificateFile = None,
) -> None:
    """Which groups may be shown: each with the largest probability that privacy allows for its size."""
    from duotone.tables.ask import prepare_groups

    with prepare_groups(declared, listed(by), privacy) as prepared:
        reply = answered(prepared, how)
    if certificate is not None:
        write_json(certificate, reply.certificate())
    facts = prepared.facts
    if as_json:
        document = facts.document()
        keys = [dict(zip(facts.by, key, strict=declared.dataset is None)) for key in reply.answers]
        notes = {"notes": document["notes"]} if facts.notes else {}
        print(json.dumps({"privacy": document["privacy"], "person": facts.person, **notes, "groups": keys}))
        return
    print_table(facts.by, [tuple(map(str, key)) for key in reply.answers])
    many = "1 group" if len(reply.answers) == 1 else f"{len(reply.answers)} groups"
    print(f"{many} may be shown under {privacy}; {printable(facts.person)}")
    for note in facts.notes:
        print(printable(sentence(note, "command")))


def _questions(text: str) -> list[str]:
    """The question itself, or those of a file."""
    if not text.lower().endswith(".sql"):
        return [text]
    from duotone.tables.sql.syntax import split_questions

    try:
        questions = split_questions(Path(text).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        raise DuotoneError(f"{text} cannot be read: it must be a file in UTF-8 with questions, and ; between them") from None
    if not questions:
        raise DuotoneError(f"{text} has no question: write one or more, with ; between them")
    return questions


def _draw(prepared: Prepared, text: str, path: Path, reply: Answers | None = None) -> None:
    """The picture is written before anything is paid; with the groups' answers once more."""
    from duotone import plotting

    if reply is not None and len(reply.answers) > plotting.GROUPS:
        return
    plotting.save(plotting.question(prepared if reply is None else reply, text), path)
    if reply is None:
        wrote(path)


def print_question(prepared: Prepared, reply: Answers | None, title: str | None) -> None:
    """The answer, if there is one, under which budget, about whom, and how accurate it is."""
    from duotone.model.terms import DefiniteTerms

    facts, terms = prepared.facts, prepared.terms
    definite = isinstance(terms, DefiniteTerms)
    if title is not None:
        print(printable(" ".join(title.split())))
    if reply is not None and facts.by:
        head = (*facts.labels, "answer", *(["how sure"] if reply.margins else []))
        print_table(head, [(*map(str, key), *said) for key, said in reply.in_words.items()])
    elif reply is not None:
        print(", ".join(filter(None, [str(reply), reply.how_sure])))
        if reply.meaning:
            print(f"({reply.meaning})")
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
