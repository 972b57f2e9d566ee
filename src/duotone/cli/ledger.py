"""The command `duotone ledger`: register a dataset, grant allowances, close it; show, plot, export, back up and verify
what was spent."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.cli.terminal import AsJson, Delta, Epsilon, ExpEpsilon, budget, print_table, printable
from duotone.errors import DuotoneError

if TYPE_CHECKING:
    from duotone.ledger.accounts import Account, RenyiAccount
    from duotone.ledger.allowances import Share
    from duotone.ledger.close_calls import CloseCalls
    from duotone.ledger.ledger import Ledger
    from duotone.ledger.statement import ChargeRecord, Statement
    from duotone.privacy.approx_dp import ApproxDP
    from duotone.privacy.text import Definition

SHOWN = 10, 100, 1000, 10_000
"""Numbers of answers whose accuracy is printed, in an account renyi."""
SELDOM = 1e-3
MOST_SHOWN = 20
"""Most groups of one answer that are shown."""

ledgers = typer.Typer(help="What has been spent: budgets of datasets.", no_args_is_help=True)

Place = Annotated[str, typer.Argument(metavar="LEDGER", help="A file, or a postgresql:// URL.")]
Dataset = Annotated[str | None, typer.Option(metavar="NAME", help="The dataset; needed if there are several.")]
By = Annotated[str | None, typer.Option(metavar="NAME", help="Who does this, for the record.")]


@ledgers.command()
def register(
    place: Place,
    dataset: Annotated[str, typer.Argument(help="A name for the dataset.")],
    version: Annotated[str, typer.Option(metavar="LABEL", help="A public label of the data: change it when the data changes.")],
    epsilon: Epsilon = None,
    exp_epsilon: ExpEpsilon = None,
    delta: Delta = "0",
    unit: Annotated[str, typer.Option(metavar="COL", help="What is protected: the column that names people, or row.")] = "row",
    neighbours: Annotated[str, typer.Option(metavar="add-remove|replace", help="How neighbours differ.")] = "add-remove",
    account: Annotated[str, typer.Option(metavar="sum|renyi", help="How answers add up: sum for few, renyi for many.")] = "sum",
    answers: Annotated[
        int | None, typer.Option(metavar="N", help="With --account renyi: how many answers are expected; else 1,000.")
    ] = None,
    close_calls: Annotated[
        bool, typer.Option("--close-calls", help="Answers are yes, no or too close to call, and only the last is charged.")
    ] = False,
    question_epsilon: Annotated[
        str | None, typer.Option(metavar="E", help="With --close-calls: the ε of each question, as 0.02.")
    ] = None,
    wrong: Annotated[
        str | None, typer.Option(metavar="P", help="With --close-calls: the probability of a wrong answer; else 1e-9.")
    ] = None,
    definite: Annotated[
        str | None, typer.Option(metavar="E[,D]", help="With --close-calls: the part of the budget for definite answers.")
    ] = None,
    by: By = None,
    as_json: AsJson = False,
) -> None:
    """Give a dataset its budget; or give a registered one a new version (then only --version is given)."""
    from duotone.ledger.accounts import RenyiAccount
    from duotone.model.notice import budget_notes

    calls = _calls(close_calls, question_epsilon, wrong, definite)
    parameters: dict[str, Any] = {"unit": unit, "neighbours": neighbours, "version": version, "by": by}
    parameters |= {"account": account, "answers": answers}
    parameters |= calls
    with _open(place) as ledger:
        if (epsilon, exp_epsilon) == (None, None):
            if calls or (delta, unit, neighbours, account, answers) != ("0", "row", "add-remove", "sum", None):
                raise DuotoneError("give --epsilon or --exp-epsilon to register; a new version takes --version alone")
            ledger.relabel(dataset, version, by=by)
        else:
            ledger.register(dataset, budget(epsilon, exp_epsilon, delta), **parameters)
        stands = ledger.statement(dataset)
    _print_statement(stands, as_json)
    called = stands.registered.close_calls
    if called is not None and not as_json:
        print_registered(called)
    if isinstance(stands.registered.account, RenyiAccount) and not as_json:
        print(_worth(stands.registered.account))
    for warned in () if as_json else budget_notes(stands.registered.budget if called is None else called.budget):
        print(warned)


def _worth(account: RenyiAccount) -> str:
    """The expected number of answers of a new account, and their accuracy; with other numbers for comparison."""
    from duotone.words.budgets import stated

    counts = sorted({account.answers, *(many for many in SHOWN if many < account.answers)}, reverse=True)
    first, *others = counts
    more = "".join(f"; or {many:,} from {account.people(many):,}" for many in others)
    return f"about {stated({'answers': first, 'wrong': SELDOM, 'people': account.people(first)})}{more}"


def _calls(close_calls: bool, question_epsilon: str | None, wrong: str | None, definite: str | None) -> dict[str, Any]:
    """The options about close calls."""
    from duotone.line.three_way import ThreeWay

    if not close_calls:
        if (question_epsilon, wrong, definite) != (None, None, None):
            raise DuotoneError("--question-epsilon, --wrong and --definite are for --close-calls: add it, or leave them out")
        return {}
    if question_epsilon is None:
        raise DuotoneError("with --close-calls, say at which epsilon each question is asked: --question-epsilon 0.02")
    three_way = ThreeWay(budget(question_epsilon, None, "0"), wrong or "1e-9")
    return {"close_calls": three_way, "definite": None if definite is None else _definition(definite)}


@ledgers.command()
def allow(
    place: Place,
    dataset: Annotated[str, typer.Argument(help="The dataset.")],
    asker: Annotated[str, typer.Option(metavar="NAME", help="Who may spend it; * for each asker without their own.")],
    epsilon: Epsilon = None,
    exp_epsilon: ExpEpsilon = None,
    delta: Delta = "0",
    share: Annotated[
        str | None, typer.Option(metavar="P", help="Instead of ε and δ: which part of the budget, as 1/5.")
    ] = None,
    by: By = None,
    as_json: AsJson = False,
) -> None:
    """Give an asker an allowance: a limit on all that they ask and have asked. Every charge must then name its
    asker."""
    if share is not None and (epsilon, exp_epsilon, delta) != (None, None, "0"):
        raise DuotoneError("--share is a part of the budget: leave --epsilon, --exp-epsilon and --delta out")
    with _open(place) as ledger:
        ledger.allow(dataset, asker, None if share is not None else budget(epsilon, exp_epsilon, delta), share=share, by=by)
        _print_statement(ledger.statement(dataset), as_json)


@ledgers.command()
def close(
    place: Place, dataset: Annotated[str, typer.Argument(help="The dataset.")], by: By = None, as_json: AsJson = False
) -> None:
    """Close a dataset permanently: nothing more is charged to it. Recorded answers stay free."""
    with _open(place) as ledger:
        ledger.close_dataset(dataset, by=by)
        _print_statement(ledger.statement(dataset), as_json)


@ledgers.command()
def show(place: Place, dataset: Dataset = None, as_json: AsJson = False) -> None:
    """What was asked when, by whom, at what cost, and what is left."""
    with _open(place) as ledger:
        names = [dataset] if dataset is not None else ledger.datasets()
        statements = [ledger.statement(name) for name in names]
    if as_json:
        print(json.dumps({"ledger": ledger.place, "datasets": {a.registered.dataset: written(a) for a in statements}}))
        return
    for stands in statements:
        _print_charges(stands)
        _print_statement(stands, False)


@ledgers.command()
def plot(
    place: Place,
    picture: Annotated[Path, typer.Argument(metavar="F.svg", help="The picture's file (.svg, .png or .pdf).")],
    dataset: Dataset = None,
) -> None:
    """Draw what was spent over time."""
    from duotone import plotting

    with _open(place) as ledger:
        names = ledger.datasets()
        if dataset is None and len(names) != 1:
            raise DuotoneError(f"this ledger has {len(names)} datasets: name one with --dataset")
        stands = ledger.statement(dataset or names[0])
    path = plotting.save(plotting.spending(stands), picture)
    print(f"wrote {printable(path)}", file=sys.stderr)


@ledgers.command()
def export(place: Place) -> None:
    """Print every entry, with its hash, as one JSON object."""
    with _open(place) as ledger:
        print(json.dumps({"ledger": ledger.place, "entries": ledger.entries()}))


@ledgers.command()
def backup(
    place: Place,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file for the copy.")],
    as_json: AsJson = False,
) -> None:
    """Copy a ledger into a new file, even while others write to it. The copy is verified; no file is replaced."""
    with _open(place) as ledger:
        verdict = ledger.backup(file)
    if as_json:
        print(json.dumps({"backup": str(file), "entries": verdict.entries, "head": verdict.head}))
    else:
        print(f"wrote {printable(file)}: {verdict.entries} entries, head {verdict.head or 'none'}")


@ledgers.command()
def verify(
    place: Place,
    head: Annotated[str | None, typer.Option(metavar="HASH", help="A head that was stored elsewhere.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check whether an entry was edited, removed or moved. Exit code 1 if so."""
    with _open(place) as ledger:
        verdict = ledger.verify(head)
    if as_json:
        summary = {"holds": verdict.holds, "entries": verdict.entries, "head": verdict.head, "problems": verdict.problems}
        print(json.dumps(summary))
    else:
        for problem in verdict.problems:
            print(printable(problem))
        print(f"{'verified' if verdict.holds else 'NOT verified'}: {verdict.entries} entries, head {verdict.head or 'none'}")
    if not verdict.holds:
        raise typer.Exit(1)


@ledgers.command("reset-clock")
def reset_clock(
    place: Place, by: Annotated[str, typer.Option(metavar="NAME", help="Who does this; recorded in the ledger.")]
) -> None:
    """Continue entries from the present time, after one was written while a clock was ahead. Spends nothing."""
    with _open(place) as ledger:
        ledger.reset_clock(by=by)
    print("entries continue from now; the ledger records this", file=sys.stderr)


@ledgers.command("keep-head")
def keep_head(
    place: Place,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file, on another disk or machine than the ledger.")],
    by: Annotated[str, typer.Option(metavar="NAME", help="Who does this; recorded in the ledger.")],
) -> None:
    """From now on, store the ledger's head in a file too: a ledger that has lost an entry is then refused."""
    with _open(place) as ledger:
        ledger.keep_head(file, by=by)
    print(f"the head is stored in {printable(str(file))}; the ledger records this", file=sys.stderr)


@ledgers.command("accept-standbys")
def accept_standbys(
    place: Place,
    words: Annotated[str, typer.Option(metavar="TEXT", help="Why a failover may lose charges; recorded in the ledger.")],
    by: Annotated[str, typer.Option(metavar="NAME", help="Who accepts it; recorded in the ledger.")],
) -> None:
    """Charge a ledger in Postgres although its server has standbys that commits do not wait for."""
    with _open(place) as ledger:
        ledger.accept_standbys(words, by=by)
    print("accepted; the ledger records this", file=sys.stderr)


def written(stands: Statement) -> dict[str, Any]:
    """A statement as JSON."""
    from duotone.privacy.text import definition_text

    registered, (epsilon, delta) = stands.registered, stands.spent
    charges = [
        {
            "entry": c.seq,
            "at": c.at.isoformat(),
            "by": c.by,
            "question": c.question,
            **_price(c, registered.account),
            "answers": c.answers,
            "again": c.again,
            **({} if c.calls is None else {"close_calls": c.calls}),
            **(c.document() if c.answered else {"wasted": True}),
        }
        for c in stands.charges
    ]
    return {
        "budget": definition_text(registered.budget),
        "unit": registered.unit,
        "neighbours": registered.neighbours,
        "version": stands.state.version,
        **_account(registered.account),
        "spent": {"epsilon": epsilon, "delta": delta},
        "left": stands.left.document(),
        **_calls_document(stands),
        "unanswered": stands.state.unanswered,
        **({"closed": True} if stands.state.closed else {}),
        **({"allowances": {name: _allowance(share) for name, share in stands.shares.items()}} if stands.shares else {}),
        "charges": charges,
    }


def _price(charge: ChargeRecord, account: Account) -> dict[str, Any]:
    """The price of a charge: its definition; in an account renyi, the share of the budget that it is."""
    from duotone.model.cost import as_share

    notion = _limit(charge.privacy)
    return {"notion": notion, **(as_share(account.share(charge.charge)) if charge.calls is None else {})}


def _account(account: Account) -> dict[str, Any]:
    """How answers add up; the exact limits are in the ledger's entries (`export`)."""
    from duotone.ledger.accounts import RenyiAccount

    order = {"order": account.budget.order, "expected": account.answers} if isinstance(account, RenyiAccount) else {}
    return {"account": account.name, **order}


def _calls_document(stands: Statement) -> dict[str, Any]:
    calls, called = stands.state.calls, stands.registered.close_calls
    if calls is None or called is None:
        return {}
    counted = {"used": calls.used, "reserved": calls.reserved, "left": stands.left.close_calls}
    return {"close_calls": {**called.written(), **counted}}


def _limit(budget: Definition) -> Any:
    """An allowance: exactly, or of prices for display."""
    from duotone.privacy.renyi import RenyiDP
    from duotone.privacy.text import definition_text
    from duotone.words.budgets import definition_numbers

    return definition_numbers(budget) if isinstance(budget, RenyiDP) else definition_text(budget)


def _allowance(share: Share) -> dict[str, Any]:
    from duotone.model.cost import as_json

    return {
        "budget": None if share.budget is None else _limit(share.budget),
        "spent": as_json(share.spent.numbers()),
        "left": None if share.left is None else share.left.document(),
    }


def _print_charges(stands: Statement) -> None:
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    from duotone.privacy.approx_dp import ApproxDP
    from duotone.words.budgets import part

    head = ("entry", "when (UTC)", "who", "question", "cost", "answer")
    table = Table(*(Column(Text(name)) for name in head), title=Text(printable(stands.registered.dataset)))
    for c in stands.charges:
        many = c.charge.numbers()["answers"] if c.calls is None else 1
        if isinstance(c.privacy, ApproxDP):
            each = f"ε {c.privacy.epsilon:.4g}, δ {float(c.privacy.delta):.3g}"
            cost = (f"{many} answers together: {each}" if many > 1 else each) if c.answers == 1 else f"{c.answers} × ({each})"
        else:
            cost = part(_price(c, stands.registered.account))
        if c.calls is not None:
            cost = f"{c.calls} close call{'s' * (c.calls > 1)}" if c.calls else "free: clear"
        answer = _answer(c) if c.answered else "none: wasted or under way"
        asked = f"{c.question} (again)" if c.again else c.question
        row = (str(c.seq), f"{c.at:%Y-%m-%d %H:%M:%S}", printable(c.by or ""), printable(asked), cost, answer)
        table.add_row(*map(Text, row))
    if stands.charges:
        Console(width=None if sys.stdout.isatty() else 110).print(table)


def _answer(charge: ChargeRecord) -> str:
    """Yes or no, and how sure; answers by group in full, up to `MOST_SHOWN`, one per line; any other as JSON, cut if it
    is long."""
    match charge.answer:
        case bool():
            return "yes" if charge.answer else "no"
        case {"answers": [[[], bool() | int() | str() | dict()]]}:
            warning = "" if charge.answer.get("private", True) else " (NOT PRIVATE: test seed)"
            return printable(charge.in_words[0][1]) + warning
        case {"answers": [[[_, *_], bool() | int() | str() | dict()], *_]}:
            lines = [f"{printable(', '.join(map(str, key)))}: {printable(said)}" for key, said in charge.in_words[:MOST_SHOWN]]
            more = len(charge.in_words) - MOST_SHOWN
            return "\n".join([*lines, *([f"and {more} more: see --json"] if more > 0 else [])])
    return f"{json.dumps(charge.answer):.60}"


def _print_statement(stands: Statement, as_json: bool) -> None:
    from duotone.ledger.accounts import RenyiAccount
    from duotone.words.budgets import percent

    registered, (epsilon, delta) = stands.registered, stands.spent
    if as_json:
        print(json.dumps({registered.dataset: written(stands)}))
        return
    about = f"unit {printable(registered.unit)}, {registered.neighbours}"
    named = printable(f"{registered.dataset}, version {stands.state.version}")
    calls, called = stands.state.calls, registered.close_calls
    if calls is None or called is None:
        account = registered.account
        chosen = f" of order {account.budget.order}" if isinstance(account, RenyiAccount) else ""
        print(f"{named}: {registered.budget}, {about}, account {account.name}{chosen}")
        charges = "charge" if stands.state.charges == 1 else "charges"
        spent = f"epsilon {epsilon:.6g}, delta {delta:.6g}" if stands.left.share is None else percent(1 - stands.left.share)
        print(f"spent: {spent}, in {stands.state.charges} {charges}; left: {stands.left}")
    else:
        question = f"each question at epsilon {called.question.privacy.epsilon:g}, wrong with {float(called.question.wrong):g}"
        print(f"{named}: asked with close calls under {called.budget}, {question}, {about}")
        waiting = f", {calls.reserved} reserved or wasted" if calls.reserved else ""
        counted = f"close calls: {calls.used} of {called.count}{waiting}; clear answers, free: {stands.clear}"
        print(f"{counted}; left: {stands.left}")
    if stands.state.unanswered:
        print(f"{stands.state.unanswered} charged without an answer: wasted by a crash, or still under way")
    for name, share in stands.shares.items():
        print(_share_text(name, share, stands.state.closed))
    if stands.state.closed:
        print("closed: nothing more is charged")


def _share_text(name: str, share: Share, closed: bool) -> str:
    """An allowance; what is left of it may be more than its dataset has left."""
    if name == "*":
        return f"askers without their own: allowance {share.budget} each"
    left = "nothing, since it is closed" if closed else f"{share.left}, if the dataset has that left"
    numbers = ", ".join(f"{part} {float(value):.6g}" for part, value in share.spent.numbers().items())
    spent = f"{printable(name)}: spent {numbers}"
    return f"{spent}; no allowance" if share.budget is None else f"{spent} of the allowance {share.budget}; left: {left}"


def _open(place: str) -> Ledger:
    from duotone.ledger.ledger import open_ledger

    return open_ledger(place)


def _definition(text: str) -> ApproxDP:
    first, _, second = text.partition(",")
    return budget(first.strip(), None, second.strip() or "0")


SIZES = 10_000, 100_000, 1_000_000
"""Sizes of tables for which the distance of clear answers is printed."""


def print_registered(called: CloseCalls) -> None:
    """Print what a registration admits, and from what distance answers are clear."""
    from duotone.line.three_way import clear_from, three_way_table

    table = three_way_table(called.question)
    print(
        f"{called.count} close calls and any number of clear answers, each question at epsilon "
        f"{called.question.privacy.epsilon:g}: together epsilon {called.budget.epsilon:g}, delta {called.delta:.3g}"
    )
    mostly, surely = clear_from(table, "1e-3"), clear_from(table, "1e-9")
    rows = [
        (f"{size:,}", f"{mostly:,} ({mostly / size:.2%})", f"{surely:,} ({surely / size:.2%})")
        for size in SIZES
        if mostly is not None and surely is not None and surely < size
    ]
    print_table(("people in the table", "clear with 99.9 % from", "clear with 1 - 1e-9 from"), rows)
    print(f"a wrong answer has probability {float(called.question.wrong):.3g}")
