"""The commands about tables: ask, groups; and the options that declare a table's `Dataset`."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.cli.charging import (
    LEDGER,
    PRICED,
    Charging,
    OneOf,
    Price,
    answered,
    asked_with,
    margins_in,
    priced,
    quote_text,
    quotes_of,
    require_fit,
)
from duotone.cli.complete import Offer, column_types, column_values, columns, several_columns, words
from duotone.cli.terminal import (
    AsJson,
    CertificateFile,
    Delta,
    Draw,
    Epsilon,
    ExpEpsilon,
    Group,
    listed,
    print_table,
    takes,
    write_json,
    wrote,
)
from duotone.errors import DuotoneError
from duotone.words.sentences import printable, sentence

if TYPE_CHECKING:
    from duotone.model.dataset import Dataset as Declared
    from duotone.tables.answers import Answers
    from duotone.tables.prepared import Prepared
    from duotone.tables.preview import Preview

Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A CSV, JSON lines or Parquet file; with --table a DuckDB file, postgres://… or spark://…; "
        "or a DATASET.toml, which declares everything else.",
    ),
]
MARGINS = (
    "Whether answers of many groups say how sure they are, or groups how many people they have; else, if that takes at"
    " most twice as many people."
)
Margins = Annotated[bool | None, typer.Option("--margins/--no-margins", help=MARGINS)]
NAMED = "NAME=FILE"
OPTIONS = {
    "unit": ("COL", "The column that identifies persons; else each row is a person."),
    "bounds": ("COL=LO:HI[:GRID]", "The bounds that a column is clipped to; may be repeated."),
    "neighbours": ("add-remove|replace", "How neighbouring tables differ; else add-remove."),
    "max_rows": ("M", "Most rows of a person that count."),
    "per_unit": ("avg|sum|min|max", "How a person's values are reduced to one."),
    "groups": ("F.csv", "The public list of groups; else they are selected privately."),
    "max_groups": ("K", "Most groups in which a person counts; required with --unit and groups."),
    "at_least": ("N", "Fewest people in a group that is shown, if groups are selected privately."),
    "table": ("NAME", "The table of a database."),
    "vouched": (None, "For a view: its owner vouches that each row belongs to one person and depends on no other person's."),
    "types": (
        "COL=TYPE",
        "What a column of a text file holds: number, money, percent, date, time, yes/no, text, or how dates or numbers are"
        " written, as %d/%m/%Y or 1.234,50; may be repeated.",
    ),
    "separator": ("C", "The separator of a CSV file, if its first line does not show it."),
    "json_columns": ("COL[,COL]", "The keys of JSON lines that are columns."),
    "columns": ("COL[,COL]", "The columns that may be used, besides the unit; else all."),
    "longest_text": ("N", "Characters of a stored text that are read; else 10,000."),
    "public": (NAMED, "A public file that the question may join; may be repeated."),
    "also": (NAMED, "A further private file, or table of the database, about the same persons; may be repeated."),
}
"""An option for each key of a `Dataset`: its form and its help."""
OFFERED: Mapping[str, Offer] = {
    "unit": columns, "columns": several_columns, "json_columns": several_columns, "bounds": column_values,
    "types": column_types, "neighbours": words("add-remove", "replace"),
    "per_unit": words("avg", "sum", "min", "max"),
}  # fmt: skip
"""What a shell offers for an option's value."""
REPEATED = ("bounds", "types", "public", "also")
KINDS: Mapping[str, Any] = {
    **dict.fromkeys(REPEATED, list[str]), **dict.fromkeys(("max_rows", "max_groups", "at_least", "longest_text"), int),
    "groups": Path, "vouched": bool,
}  # fmt: skip
"""The type of an option's value, if not text."""
OPENING = ("unit", "table", "vouched", "types", "separator", "json_columns", "columns", "longest_text")
"""The keys about opening a table and about its persons."""
RULES = {
    "types": "types are COL=TYPE, as amount=number, once for each column",
    "public": "public tables are NAME=FILE, each once",
    "also": "further private tables are NAME=FILE, each once",
}


def table(*keys: str) -> Group:
    """A table, with options for some keys, from which a `Dataset` is made."""
    return Group({"source": (Table, inspect.Parameter.empty)} | {key: _option(key) for key in keys}, _dataset_of)


def _option(key: str) -> tuple[Any, Any]:
    kind, (value, said), flag = KINDS.get(key, str), OPTIONS[key], f"--{key.replace('_', '-')}"
    option = typer.Option(flag, metavar=value, help=said, autocompletion=OFFERED.get(key))
    return (Annotated[bool, option], False) if kind is bool else (Annotated[kind | None, option], None)


def _dataset_of(source: str, **options: Any) -> Declared:
    """The dataset of a table with these options, or of a file with the options that it leaves open."""
    from duotone.model.dataset import Dataset

    own = {key: _read(key, value) for key, value in options.items() if value not in (None, []) and value is not False}
    if not source.lower().endswith(".toml"):
        return Dataset(without_password(source), **own)
    loaded = Dataset.load(source)
    if twice := [f"--{key.replace('_', '-')}" for key in loaded.declared(own)]:
        raise DuotoneError(f"{source} declares that already: leave {' and '.join(twice)} out, or change the file")
    return loaded.further(**own)


def _read(key: str, value: Any) -> Any:
    """The value of an option as a dataset takes it."""
    match key:
        case "bounds":
            return parsed_bounds(value)
        case "json_columns" | "columns":
            return listed(value)
        case _ if key in RULES:
            return named_values(value, RULES[key])
    return value


def without_password(table: str) -> str:
    """The table as it was named, if that contains no secret."""
    if "://" in table and re.search("://[^/?#]*:[^/?#]*@|password=", table):
        raise DuotoneError(
            "a password on the command line can be seen by everybody on this machine: leave it out of the URL, and put it into "
            "the environment (PGPASSWORD) or a password file"
        )
    return table


def named_values(texts: list[str], rule: str) -> Mapping[str, str]:
    """Values written as NAME=VALUE, by name."""
    values: dict[str, str] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value or name in values:
            raise DuotoneError(f"{rule}, got {text}")
        values[name] = value
    return values


def parsed_costs(text: str) -> tuple[str, str]:
    """The costs of a false no and a false yes, from NO:YES."""
    no, _, yes = text.partition(":")
    if not no.strip() or not yes.strip():
        raise DuotoneError(f"costs are NO:YES, how bad a false no and a false yes are, as 10:1, got {text}")
    return no.strip(), yes.strip()


def parsed_bounds(texts: list[str]) -> Mapping[str, tuple[str, ...]]:
    """Bounds by column, as they were written."""
    bounds: dict[str, tuple[str, ...]] = {}
    for text in texts:
        column, _, limits = text.rpartition("=")
        parts = tuple(part.strip() for part in limits.split(":"))
        if not column or len(parts) not in (2, 3) or column in bounds:
            raise DuotoneError(f"bounds are COL=LO:HI or COL=LO:HI:GRID, once for each column, got {text}")
        bounds[column] = parts
    return bounds


@takes(declared=table(*OPTIONS), how=LEDGER)
def ask(
    question: Annotated[
        str,
        typer.Argument(
            help="SQL: a yes/no expression over aggregates, a case, or a select with one; or FILE.sql with one or more."
        ),
    ],
    *,
    epsilon: Epsilon = None,
    exp_epsilon: ExpEpsilon = None,
    delta: Delta = "0",
    wrong: Annotated[
        str | None,
        typer.Option(metavar="P", help="Instead of ε: how often the answer may be wrong if --people would flip it."),
    ] = None,
    one_of: OneOf = None,
    price: Price = None,
    declared: Declared,
    costs: Annotated[
        str | None, typer.Option(metavar="NO:YES", help="How bad a false no and a false yes are, as 10:1; else the same.")
    ] = None,
    margins: Margins = None,
    how: Charging,
    parts: Annotated[
        int | None,
        typer.Option(metavar="M", help="Ask each of M random parts of the people by itself, an odd number: any SQL, in most?"),
    ] = None,
    part_seconds: Annotated[
        int | None, typer.Option(metavar="S", help="With --parts: most seconds of the processor for a part; else 10.")
    ] = None,
    part_memory: Annotated[
        int | None, typer.Option(metavar="MIB", help="With --parts: most memory for a part; else 1024.")
    ] = None,
    each: Annotated[
        bool, typer.Option("--each", help="Each question of FILE.sql gets the whole budget; else they share it.")
    ] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show how accurate the answer will be; read and spend nothing.")
    ] = False,
    people: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --wrong: how many people would flip the answer. Else, with --preview: a guess of the number of "
            "people, to show accuracy in the question's own units.",
        ),
    ] = None,
    as_json: AsJson = False,
    draw: Draw = None,
    certificate: CertificateFile = None,
) -> None:
    """A private answer to a question about a table: yes or no, or which of several."""
    limits = {"parts": parts, "part_seconds": part_seconds, "part_memory": part_memory}
    by_parts: dict[str, Any] = {name: given for name, given in limits.items() if given is not None}
    if parts is None and by_parts:
        raise DuotoneError("--part-seconds and --part-memory are for --parts: say how many, as --parts 51")
    questions = _questions(question)
    if parts is not None and len(questions) > 1:
        raise DuotoneError("--parts is for a single question: ask it alone")
    if each and len(questions) == 1:
        raise DuotoneError("--each is for several questions: name a FILE.sql that has them, with ; between")
    if len(questions) > 1 and not (draw is None and certificate is None):
        raise DuotoneError("--draw and --certificate are for a single question: ask it alone")
    if people is not None and wrong is None and not preview:
        raise DuotoneError("--people is for --wrong, and for previews: add --wrong or --preview, or leave it out")
    ways: dict[str, Any] = {"epsilon": epsilon, "exp_epsilon": exp_epsilon, "wrong": wrong, "one_of": one_of, "price": price}
    three_way = asked_with(how, declared) if all(way is None for way in ways.values()) else None
    if three_way is not None:
        unused = {"--delta": delta != "0", "--max-groups": declared.max_groups, "--costs": costs, "--each": each}
        if named := [flag for flag, given in unused.items() if given]:
            raise DuotoneError(
                f"this dataset is asked with close calls: leave {' and '.join(named)} out, or give --epsilon for a definite "
                "answer"
            )
    flip, guess = (None, people) if wrong is None else (people, None)
    privacy = three_way or priced(how, declared, **ways, delta=delta, people=flip)
    kept = margins_in(how, declared, privacy, margins)
    about: Any = {"each": each, "together": how.place is None, "margins": kept}
    about |= {} if costs is None else {"costs": parsed_costs(costs)}
    documents: list[dict[str, Any]] = []
    about |= {"strict": declared.dataset is None}
    with _prepared(declared, questions, privacy, by_parts, about) as every:
        quotes = quotes_of(every, how) if preview else [None] * len(every)
        if not preview and three_way is None:
            require_fit(every, how)
        try:
            for text, prepared, quote in zip(questions, every, quotes, strict=True):
                if draw is not None:
                    _draw(prepared, text, draw)
                reply = None if preview else answered(prepared, how)
                if draw is not None and three_way is None and reply is not None and prepared.facts.by:
                    _draw(prepared, text, draw, reply)
                if certificate is not None and reply is not None:
                    write_json(certificate, reply.certificate())
                title = {"question": text} if len(questions) > 1 else {}
                in_units = None if guess is None else prepared.preview(guess)
                if as_json:
                    document = prepared.facts.document() if reply is None else reply.document()
                    units = {} if in_units is None else {"in_units": in_units.document()}
                    quoted = {} if quote is None else {"ledger": quote.document()}
                    documents.append({**title, **document, **units, **quoted})
                    continue
                print_question(prepared, reply, title.get("question"))
                if in_units is not None:
                    print_preview(in_units)
                if quote is not None:
                    print(quote_text(quote))
        finally:  # answers before the failure are shown
            if documents:
                print(json.dumps(documents[0] if len(questions) == 1 else {"questions": documents}))


def _prepared(
    declared: Declared, questions: list[str], privacy: Any, by_parts: dict[str, Any], about: dict[str, Any]
) -> AbstractContextManager[list[Prepared]]:
    """The checked questions; or one that is asked of parts of the people."""
    from duotone.tables.check_by_parts import prepare_by_parts
    from duotone.tables.check_question import prepare_all

    if not by_parts:
        return prepare_all(declared, questions, privacy, **about)
    own = {name: about[name] for name in ("margins", "costs", "strict") if name in about}
    return _alone(prepare_by_parts(declared, questions[0], privacy, **by_parts, **own))


@contextmanager
def _alone(prepared: Prepared) -> Iterator[list[Prepared]]:
    with prepared:
        yield [prepared]


@takes(declared=table(*OPENING, "max_groups", "at_least"), how=LEDGER, privacy=PRICED)
def groups(
    by: Annotated[
        str, typer.Option(metavar="COL[,COL]", help="The columns of the groups' keys.", autocompletion=several_columns)
    ],
    privacy: Any,
    declared: Declared,
    how: Charging,
    margins: Margins = None,
    as_json: AsJson = False,
    certificate: CertificateFile = None,
) -> None:
    """Which groups may be shown: each with the largest probability that privacy allows for its size."""
    from duotone.tables.check_question import prepare_groups

    with prepare_groups(declared, listed(by), privacy, margins=margins_in(how, declared, privacy, margins)) as prepared:
        reply = answered(prepared, how)
    if certificate is not None:
        write_json(certificate, reply.certificate())
    facts = prepared.facts
    if as_json:
        document = facts.document()
        keys = [dict(zip(facts.by, key, strict=True)) for key in reply.answers]
        notes = {key: document[key] for key in ("notes", "warnings") if document.get(key)}
        sizes: dict[str, Any] = {"sizes": [*reply.sizes.values()]} if reply.has_sizes else {}
        sizes["private_groups"] = document["private_groups"]
        print(json.dumps({"privacy": document["privacy"], "person": facts.person, **notes, "groups": keys, **sizes}))
        return
    print_table((*facts.by, *(["about"] if reply.sizes else [])), [(*map(str, k), *reply.sizes_of(k)) for k in reply.answers])
    many = "1 group" if len(reply.answers) == 1 else f"{len(reply.answers)} groups"
    print(f"{many} may be shown under {prepared.terms.price}; {printable(facts.person)}")
    for note in facts.notes:
        print(printable(sentence(note, "command")))


def _questions(text: str) -> list[str]:
    """The question, or the questions of a file."""
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
    """Write the picture before anything is paid; with the groups' answers, once more."""
    from duotone import plotting

    if reply is not None and len(reply.answers) > plotting.GROUPS:
        return
    plotting.save(plotting.question(prepared if reply is None else reply, text), path)
    if reply is None:
        wrote(path)


def print_question(prepared: Prepared, reply: Answers | None, title: str | None) -> None:
    """Print the answer, if there is one, its budget, who is protected, and how accurate it is."""
    from duotone.model.terms import PaidTerms

    facts, terms = prepared.facts, prepared.terms
    definite = isinstance(terms, PaidTerms)
    if title is not None:
        print(printable(" ".join(title.split())))
    if reply is not None and facts.by:
        head = (*facts.labels, "answer", *(["how sure"] if reply.margins else []), *(["about"] if reply.sizes else []))
        print_table(head, [(*map(str, key), *said, *reply.sizes_of(key)) for key, said in reply.in_words.items()])
    elif reply is not None:
        print(", ".join(filter(None, [reply.said, reply.how_sure])))
        if reply.meaning:
            print(f"({reply.meaning})")
    replaced = "; neighbours differ in one person's data (replace)" if prepared.declared.replaced else ""
    print(f"{terms.price}; {printable(facts.person)}{replaced}; {facts.basis}")
    notes = facts.notes if reply is None or definite else reply.notices
    for said in (*filter(None, [facts.clipping]), *(sentence(note, "command") for note in notes)):
        print(printable(said))
    if reply is None or definite:
        if isinstance(terms, PaidTerms) and terms.parts > 1:
            print(f"each answer has {terms.share}: the budget is divided among {terms.parts} answers about a person")
        if facts.accuracy.rows:
            print_table(facts.accuracy.head, facts.accuracy.rows)
        print(facts.accuracy.ending)


def print_preview(preview: Preview) -> None:
    """Print the compared value in its own units."""
    print(printable(preview.title))
    print_table(preview.head, preview.table)
    for note in preview.notes:
        print(printable(note))
