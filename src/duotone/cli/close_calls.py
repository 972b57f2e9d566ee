"""How the command asks a dataset whose close calls are counted, and what it says of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duotone.cli.charging import (
    LOST,
    RECORDED,
    Charging,
    quote_text,
    quotes_of,
    say_receipt,
    with_status,
)
from duotone.cli.question_text import print_preview
from duotone.cli.terminal import print_table, printable, with_flags, write_json, wrote
from duotone.errors import DuotoneError

if TYPE_CHECKING:
    from duotone.ledger.account import Statement
    from duotone.ledger.close_calls import CloseCalls
    from duotone.line.three_way import ThreeWay
    from duotone.privacy.approx_dp import ApproxDP
    from duotone.tables.close_calls import CloseCallAnswers, CloseCallQuestion

PARTS = 20, 50, 100
"""The parts of a budget's ε that questions have, where that is not chosen."""
SIZES = 10_000, 100_000, 1_000_000
"""Of the tables for which it is said how much of them must be able to change."""


def asked_with(how: Charging, table: str, name: str | None) -> ThreeWay | None:
    """How the dataset is asked that is charged, if its close calls are counted. Where it is not named, it is called as the
    table is; or all datasets of the ledger are asked alike."""
    if how.place is None:
        return None
    from duotone.ledger.ledger import open_ledger

    with open_ledger(how.place) as ledger:
        every = ledger.datasets()
        own = [dataset for dataset in every if dataset in {name, Path(table).name, Path(table).stem}]
        datasets = [how.dataset] if how.dataset is not None else own or every
        calls = [ledger.close_calls(dataset) for dataset in datasets]
    questions = {None if called is None else called.question for called in calls}
    if len(questions) > 1:
        raise DuotoneError("the datasets of this ledger are asked in different ways: say which one this is, by --dataset")
    return next(iter(questions), None)


def ask_close_calls(
    table: str,
    questions: Sequence[str],
    three_way: ThreeWay,
    how: Charging,
    options: dict[str, Any],
    *,
    preview: bool,
    as_json: bool,
    people: int | None,
    draw: Path | None,
    certificate: Path | None,
) -> None:
    """Ask one question after the other, when all have been checked; only what is too close to call is charged."""
    from duotone.tables.ask import prepare_close_call
    from duotone.tables.documents import close_call_document, quote_document

    documents: list[dict[str, Any]] = []
    with ExitStack() as opened:
        every = [opened.enter_context(prepare_close_call(table, text, three_way, **options)) for text in questions]
        quotes = quotes_of(every, how) if preview else [None] * len(every)
        try:
            for text, asked, quote in zip(questions, every, quotes, strict=True):
                if draw is not None:
                    _draw(asked, text, draw)
                reply = None if preview else _answered(asked, how)
                if certificate is not None and reply is not None:
                    write_json(certificate, reply.certificate())
                title = {"question": text} if len(questions) > 1 else {}
                quoted = {} if quote is None else {"ledger": quote_document(quote, asked)}
                in_units = None if people is None else asked.preview(people)
                units = {} if in_units is None else {"in_units": in_units.document()}
                documents.append({**title, **close_call_document(asked, reply), **units, **quoted})
                if not as_json:
                    _print(asked, reply, title.get("question"))
                    if in_units is not None:
                        print_preview(in_units)
                    if quote is not None:
                        print(quote_text(quote, asked))
        finally:  # what was answered before one failed is shown
            if as_json and documents:
                print(json.dumps(documents[0] if len(questions) == 1 else {"questions": documents}))


def _answered(asked: CloseCallQuestion, how: Charging) -> CloseCallAnswers:
    from duotone.ledger.ledger import open_ledger

    def charged() -> CloseCallAnswers:
        LOST.set(RECORDED)
        with open_ledger(str(how.place)) as ledger:
            dataset = asked.dataset_in(ledger, how.dataset)
            reply = asked.charge(ledger, dataset, again=how.again, by=how.asker)
        say_receipt(how, dataset, ledger, reply.receipt)
        return reply

    return with_status(asked.source.name, charged)


def _print(asked: CloseCallQuestion, reply: CloseCallAnswers | None, title: str | None) -> None:
    if title is not None:
        print(printable(" ".join(title.split())))
    if reply is not None and reply.by:
        print_table((*reply.labels, "answer"), [(*map(str, key), str(outcome)) for key, outcome in reply.answers.items()])
    elif reply is not None:
        print(reply)
    replaced = "; neighbours differ in one person's data (replace)" if asked.declared.replaced else ""
    each = f"each question at epsilon {asked.three_way.privacy.epsilon:g}, and only close calls are charged"
    print(f"{each}; {printable(asked.person)}{replaced}; {asked.basis}")
    for note in (asked.clipping, *(asked.notes if reply is None else reply.notes)):
        if note is not None:
            print(printable(with_flags(note)))
    if reply is None:
        print_clearness(asked)


def print_clearness(asked: CloseCallQuestion) -> None:
    """From how far on answers are clear."""
    from duotone.tables.close_calls import HEAD

    print_table(HEAD, asked.clearness.by_margin)
    print(asked.clearness.ending)


def _draw(asked: CloseCallQuestion, text: str, path: Path) -> None:
    from duotone import plotting

    plotting.save(plotting.three_way(asked.table, title=text), path)
    wrote(path)


def print_registered(called: CloseCalls) -> None:
    """What a registration admits, and from how far on answers are clear."""
    from duotone.line.three_way import three_way_table

    table = three_way_table(called.question)
    print(
        f"{called.count} close calls and any number of clear answers, each question at epsilon "
        f"{called.question.privacy.epsilon:g}: together epsilon {called.budget.epsilon:g}, delta {called.delta:.3g}"
    )
    mostly, surely = table.clear_from("1e-3"), table.clear_from("1e-9")
    rows = [
        (f"{size:,}", f"{mostly:,} ({mostly / size:.2%})", f"{surely:,} ({surely / size:.2%})")
        for size in SIZES
        if mostly is not None and surely is not None and surely < size
    ]
    print_table(("people in the table", "clear with 99.9 % from", "clear with 1 - 1e-9 from"), rows)
    print(f"a wrong answer has probability {float(called.question.wrong):.3g}")


def print_choices(budget: ApproxDP) -> None:
    """How many close calls a budget admits for some sizes of questions, and from how far on answers are then clear."""
    from duotone.ledger.close_calls import most_close_calls
    from duotone.line.three_way import ThreeWay, three_way_table
    from duotone.privacy.approx_dp import ApproxDP

    rows = []
    for epsilon in (Fraction(budget.epsilon) / part for part in PARTS):
        question = ThreeWay(ApproxDP(Fraction(f"{float(epsilon):.2g}")))
        called, table = most_close_calls(budget, question), three_way_table(question)
        margins = (f"{table.clear_from(chance):,}" for chance in ("1e-3", "1e-9"))
        rows.append((f"{question.privacy.epsilon:g}", f"{called.count:,}", *margins))
    print_table(("epsilon of a question", "close calls", "people: clear with 99.9 % from", "with 1 - 1e-9 from"), rows)


def calls_text(account: Statement) -> str | None:
    """How many answers of a dataset were free, and how many close calls there were; None where these are not counted."""
    calls, called = account.state.calls, account.registered.close_calls
    if calls is None or called is None:
        return None
    waiting = f", {calls.reserved} reserved or wasted" if calls.reserved else ""
    return f"close calls: {calls.used} of {called.count}{waiting}; clear answers, free: {account.clear}"
