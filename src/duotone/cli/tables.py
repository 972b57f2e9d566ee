"""The commands about tables: ask, groups."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from duotone.cli.terminal import (
    AsJson,
    CertificateFile,
    Delta,
    Draw,
    Epsilon,
    Ratio,
    budget,
    listed,
    print_table,
    printable,
    write_json,
    wrote,
)
from duotone.errors import DuotoneError

if TYPE_CHECKING:
    from duotone.ledger.account import Quote
    from duotone.ledger.ledger import Ledger
    from duotone.tables.answers import Answers
    from duotone.tables.prepared import Prepared


Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help="A CSV, JSON lines or Parquet file; with --table a DuckDB file, postgres://… or spark://…"
    ),
]
Unit = Annotated[str | None, typer.Option(metavar="COL", help="The column that tells persons apart; else each row is one.")]
BoundsOf = Annotated[
    list[str] | None, typer.Option(metavar="COL=LO:HI[:GRID]", help="What a column is clipped to; may be repeated.")
]
PerUnit = Annotated[str | None, typer.Option(metavar="avg|sum|min|max", help="How a person's values become one.")]
MaxGroups = Annotated[int, typer.Option(metavar="K", help="In how many groups a person counts at most.")]
LedgerPlace = Annotated[str | None, typer.Option("--ledger", metavar="LEDGER", help="The file or URL of the ledger to charge.")]
Dataset = Annotated[str | None, typer.Option(metavar="NAME", help="Its name in the ledger; else the table's.")]
Again = Annotated[bool, typer.Option("--again", help="Draw a new answer to a question asked before, and pay for it.")]
By = Annotated[str | None, typer.Option("--as", metavar="NAME", help="Who asks, for the ledger.")]
Name = Annotated[str | None, typer.Option("--table", metavar="NAME", help="The table of a database.")]
Separator = Annotated[
    str | None, typer.Option(metavar="C", help="What stands between a CSV file's fields, if its first line does not tell.")
]
Columns = Annotated[str | None, typer.Option(metavar="COL[,COL]", help="The keys of JSON lines that are columns.")]
DateFormats = Annotated[
    list[str] | None,
    typer.Option("--date-format", metavar="COL=FORMAT", help="How a text file writes dates, as %d/%m/%Y; may be repeated."),
]
Vouched = Annotated[
    bool,
    typer.Option(
        "--vouched", help="Of a view: its owner vouches that each row belongs to one person and depends on no other's."
    ),
]


def ask(
    table: Table,
    question: Annotated[
        str,
        typer.Argument(help="SQL: a yes/no expression over aggregates, or a select with one; or FILE.sql with one or more."),
    ],
    epsilon: Epsilon = None,
    ratio: Ratio = None,
    delta: Delta = "0",
    unit: Unit = None,
    bounds: BoundsOf = None,
    neighbours: Annotated[
        str, typer.Option(metavar="add-remove|replace", help="How neighbouring tables differ.")
    ] = "add-remove",
    max_rows: Annotated[int | None, typer.Option(metavar="M", help="As how many rows a person counts at most.")] = None,
    per_unit: PerUnit = None,
    groups: Annotated[
        Path | None, typer.Option(metavar="F.csv", help="The public list of groups; else they are selected privately.")
    ] = None,
    max_groups: MaxGroups = 1,
    costs: Annotated[
        str | None, typer.Option(metavar="NO:YES", help="How bad a false no and a false yes are, as 10:1; else the same.")
    ] = None,
    name: Name = None,
    vouched: Vouched = False,
    separator: Separator = None,
    columns: Columns = None,
    date_formats: DateFormats = None,
    public: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A file that all may know, which the question may join; may be repeated."),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="A further private file, or table of the database, about the same persons; may be repeated.",
        ),
    ] = None,
    ledger: LedgerPlace = None,
    dataset: Dataset = None,
    again: Again = False,
    asker: By = None,
    each: Annotated[
        bool, typer.Option("--each", help="Each question of FILE.sql has the whole budget; else they share it.")
    ] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show how accurate the answer will be; read and spend nothing.")
    ] = False,
    as_json: AsJson = False,
    draw: Draw = None,
    certificate: CertificateFile = None,
) -> None:
    """A private answer to a yes/no question about a table."""
    from duotone.questions import Neighbours
    from duotone.tables.ask import prepare_all
    from duotone.tables.engines.person_columns import Reduction

    questions = _questions(question)
    if each and len(questions) == 1:
        raise DuotoneError("--each is for several questions: name a FILE.sql that has them, with ; between")
    if len(questions) > 1 and not (draw is None and certificate is None):
        raise DuotoneError("--draw and --certificate are for one question: ask it by itself")
    asked = prepare_all(
        without_password(table),
        questions,
        budget(epsilon, ratio, delta),
        each=each,
        unit=unit,
        bounds=parsed_bounds(bounds or []),
        neighbours=cast(Neighbours, neighbours),  # checked, as everything else is, in one place
        max_rows=max_rows,
        per_unit=cast(Reduction | None, per_unit),
        groups=groups,
        max_groups=max_groups,
        name=name,
        **file_options(separator, columns, date_formats),
        costs=None if costs is None else _costs(costs),
        vouched=vouched,
        public=_named(public or [], "public tables are NAME=FILE, each once"),
        also=_named(also or [], "further private tables are NAME=FILE, each once"),
    )
    documents: list[dict[str, Any]] = []
    with asked as every:
        quotes = _quoted(every, ledger, dataset, again) if preview and ledger is not None else [None] * len(every)
        try:
            for text, prepared, quote in zip(questions, every, quotes, strict=True):
                if draw is not None:
                    _draw(prepared, text, draw)
                reply = None if preview else _waited_for(prepared, ledger, dataset, again, asker)
                if draw is not None and reply is not None and reply.by:
                    _draw(prepared, text, draw, reply)
                if certificate is not None and reply is not None:
                    write_json(certificate, reply.certificate())
                title = {"question": text} if len(questions) > 1 else {}
                quoted = {} if quote is None else {"ledger": vars(quote)}
                documents.append({**title, **_document(prepared, reply), **quoted})
                if not as_json:
                    _print_question(prepared, reply, title.get("question"))
                    if quote is not None:
                        print(_quote_text(quote))
        finally:  # what was answered before one failed is shown
            if as_json and documents:
                print(json.dumps(documents[0] if len(questions) == 1 else {"questions": documents}))


def groups(
    table: Table,
    by: Annotated[str, typer.Option(metavar="COL[,COL]", help="The columns whose values are the groups' keys.")],
    epsilon: Epsilon = None,
    ratio: Ratio = None,
    delta: Delta = "0",
    unit: Unit = None,
    max_groups: MaxGroups = 1,
    name: Name = None,
    vouched: Vouched = False,
    separator: Separator = None,
    columns: Columns = None,
    date_formats: DateFormats = None,
    ledger: LedgerPlace = None,
    dataset: Dataset = None,
    again: Again = False,
    asker: By = None,
    as_json: AsJson = False,
    certificate: CertificateFile = None,
) -> None:
    """Which groups may be shown: each with the largest probability that privacy allows for its size."""
    from duotone.tables.ask import prepare_groups

    privacy = budget(epsilon, ratio, delta)
    file = file_options(separator, columns, date_formats)
    asked = prepare_groups(
        without_password(table), listed(by), privacy, unit=unit, max_groups=max_groups, name=name, vouched=vouched, **file
    )
    with asked as prepared:
        reply = _waited_for(prepared, ledger, dataset, again, asker)
    if certificate is not None:
        write_json(certificate, reply.certificate())
    if as_json:
        keys = [dict(zip(reply.by, key, strict=True)) for key in reply.answers]
        notes = {"notes": list(prepared.notes)} if prepared.notes else {}
        print(json.dumps({"privacy": _budget(prepared), "person": prepared.person, **notes, "groups": keys}))
        return
    print_table(reply.by, [tuple(map(str, key)) for key in reply.answers])
    print(f"{len(reply.answers)} groups may be shown under {privacy}; {printable(prepared.person)}")
    for note in prepared.notes:
        print(printable(note))


def without_password(table: str) -> str:
    """The table as it was named, if that tells no secret."""
    if "://" in table and re.search("://[^/?#]*:[^/?#]*@|password=", table):
        raise DuotoneError(
            "a password on the command line can be seen by everybody on this machine: leave it out of the URL, and put it into "
            "the environment (PGPASSWORD) or a password file"
        )
    return table


FORMATS = "the format of dates is COL=FORMAT, as day=%d/%m/%Y, once for each column"


def file_options(separator: str | None, columns: str | None, formats: list[str] | None) -> dict[str, Any]:
    """How a file is read, as it was given; a tab, which is hard to type in a shell, also as \\t."""
    return {
        "separator": "\t" if separator == "\\t" else separator,
        "columns": None if columns is None else listed(columns),
        "formats": None if formats is None else _named(formats, FORMATS),
    }


def _named(texts: list[str], rule: str) -> Mapping[str, str]:
    """What was given as NAME=VALUE, by name."""
    given: dict[str, str] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value or name in given:
            raise DuotoneError(f"{rule}, got {text}")
        given[name] = value
    return given


def _waited_for(prepared: Prepared, place: str | None, dataset: str | None, again: bool, asker: str | None) -> Answers:
    """A release, with a sign of life on a terminal: a large table takes a while."""
    from rich.console import Console

    if not sys.stderr.isatty():
        return _released(prepared, place, dataset, again, asker)
    with Console(stderr=True).status(f"asking {prepared.source.name}"):
        return _released(prepared, place, dataset, again, asker)


def _released(prepared: Prepared, place: str | None, dataset: str | None, again: bool, asker: str | None) -> Answers:
    if place is None:
        if again or dataset or asker:
            raise DuotoneError("--again, --dataset and --as are for a ledger: name it by --ledger")
        return prepared.release()
    from duotone.ledger.ledger import open_ledger

    with open_ledger(place) as ledger:
        _require_registered(ledger, prepared, dataset)
        reply = prepared.charge(ledger, dataset, again=again, by=asker)
    if (receipt := reply.receipt) is not None:
        print(f"ledger: {'free, as recorded' if receipt.free else 'charged'}; left: {receipt.left}", file=sys.stderr)
        if receipt.unanswered:
            print(f"ledger: {receipt.unanswered} charged without an answer: wasted, or still under way", file=sys.stderr)
    return reply


def _quoted(every: list[Prepared], place: str, dataset: str | None, again: bool) -> Sequence[Quote | None]:
    from duotone.ledger.ledger import open_ledger
    from duotone.tables.prepared import quote_all

    with open_ledger(place) as ledger:
        _require_registered(ledger, every[0], dataset)
        return quote_all(every, ledger, dataset, again=again)


def _quote_text(quote: Quote) -> str:
    if quote.free:
        return f"ledger: free, as recorded; left: {quote.left}"
    return f"ledger: it fits; left after it: {quote.left}" if quote.fits else f"ledger: it does NOT fit; left: {quote.left}"


def _require_registered(ledger: Ledger, prepared: Prepared, dataset: str | None) -> None:
    """Without --dataset a table is charged under its own name: stays.csv is not what was registered as stays."""
    if dataset is not None or (prepared.asked is not None and prepared.asked.beside):  # the library says why it needs a name
        return
    names = ledger.datasets()
    if not prepared.source.named or prepared.source.name not in names:
        known = f"it has {', '.join(names[:10])}: say which one this is by --dataset NAME" if names else "register it first"
        raise DuotoneError(f"there is no dataset {prepared.source.name} in this ledger; {known}")


def _costs(text: str) -> tuple[str, str]:
    no, _, yes = text.partition(":")
    if not no.strip() or not yes.strip():
        raise DuotoneError(f"costs are NO:YES, how bad a false no and a false yes are, as 10:1, got {text}")
    return no.strip(), yes.strip()


def parsed_bounds(texts: list[str]) -> Mapping[str, tuple[str, ...]]:
    """Bounds as they were given, by column."""
    bounds: dict[str, tuple[str, ...]] = {}
    for text in texts:
        column, _, limits = text.rpartition("=")
        parts = tuple(part.strip() for part in limits.split(":"))
        if not column or len(parts) not in (2, 3) or column in bounds:
            raise DuotoneError(f"bounds are COL=LO:HI or COL=LO:HI:GRID, once for each column, got {text}")
        bounds[column] = parts
    return bounds


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
    plotting.save(plotting.question(prepared, text, reply), path)
    if reply is None:
        wrote(path)


def _print_question(prepared: Prepared, reply: Answers | None, title: str | None) -> None:
    if title is not None:
        print(printable(" ".join(title.split())))
    if reply is not None:
        _print_answers(reply, prepared.labels)
    print(f"{prepared.privacy}; {printable(prepared.person)}; {prepared.basis}")
    for note in (prepared.clipping, *prepared.notes):
        if note is not None:
            print(printable(note))
    _print_accuracy(prepared)


def _print_answers(reply: Answers, labels: tuple[str, ...]) -> None:
    if not reply.by:
        print(reply)
        return
    words = ["yes" if answer else "no" for answer in reply.answers.values()]
    print_table((*labels, "answer"), [(*map(str, key), word) for key, word in zip(reply.answers, words, strict=True)])


def _certain(prepared: Prepared) -> float:
    return max(prepared.mechanism.certain) + 1


def _print_accuracy(prepared: Prepared) -> None:
    from duotone.line.mechanism import MARGINS

    certain = _certain(prepared)
    if prepared.parts > 1:
        print(f"each answer has {prepared.share}: the budget is divided among {prepared.parts} answers about a person")
    shown = [m for m in MARGINS if m < certain and prepared.error(m) > 1e-12]
    if shown:
        _print_errors(prepared, shown)
    print(f"never wrong from {certain:g} people on" if math.isfinite(certain) else "with delta 0 no answer is ever certain")


def _print_errors(prepared: Prepared, margins: Sequence[int]) -> None:
    if prepared.boundary == "balanced":
        print_table(("people from flipping", "Pr[wrong]"), [(str(m), f"{prepared.error(m):.3g}") for m in margins])
    else:
        head = ("people from flipping", "Pr[false no]", "Pr[false yes]")
        print_table(head, [(str(m), *(f"{wrong:.3g}" for wrong in prepared.errors(m))) for m in margins])


def _budget(prepared: Prepared) -> dict[str, Any]:
    from duotone.privacy.numbers import show

    return {
        "ratio": show(prepared.privacy.exp_epsilon),
        "epsilon": prepared.privacy.epsilon,
        "delta": show(prepared.privacy.delta),
        "parts": prepared.parts,
    }


def _document(prepared: Prepared, reply: Answers | None) -> dict[str, Any]:
    from duotone.line.mechanism import MARGINS
    from duotone.privacy.numbers import show

    certain = _certain(prepared)
    document: dict[str, Any] = {"privacy": _budget(prepared), "person": prepared.person, "basis": prepared.basis}
    if reply is not None and reply.receipt is not None:
        document["ledger"] = {"free": reply.receipt.free, "charge": reply.receipt.charge, "left": reply.receipt.left}
    document["grids"] = {c: str(g.step) for compared in prepared.comparisons for c, g in compared.grids.items()}
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
