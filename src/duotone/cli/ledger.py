"""The command `duotone ledger`: register a dataset, grant allowances, close it; show, plot, export, back up and verify
what was spent."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.cli.complete import datasets, words
from duotone.cli.statement import print_charges, print_statement, print_worth, written
from duotone.cli.terminal import AsJson, Delta, Epsilon, ExpEpsilon, budget
from duotone.errors import DuotoneError
from duotone.words.sentences import printable

if TYPE_CHECKING:
    from duotone.ledger.ledger import Ledger
    from duotone.ledger.statement import Statement
    from duotone.privacy.approx_dp import ApproxDP

ledgers = typer.Typer(help="What has been spent: budgets of datasets.", no_args_is_help=True)

Place = Annotated[str, typer.Argument(metavar="LEDGER", help="A file, or a postgresql:// URL.")]
Dataset = Annotated[
    str | None, typer.Option(metavar="NAME", help="The dataset; needed if there are several.", autocompletion=datasets)
]
Neighbours = Annotated[
    str | None,
    typer.Option(
        metavar="add-remove|replace",
        help="How neighbours differ; else add-remove.",
        autocompletion=words("add-remove", "replace"),
    ),
]
Account = Annotated[
    str,
    typer.Option(
        metavar="sum|renyi", help="How answers add up: sum for few, renyi for many.", autocompletion=words("sum", "renyi")
    ),
]
DoneBy = Annotated[str | None, typer.Option(metavar="NAME", help="Who does this, for the record.")]


@ledgers.command()
def register(
    place: Annotated[str, typer.Argument(metavar="LEDGER", help="A file, or a postgresql:// URL; or a DATASET.toml alone.")],
    dataset: Annotated[str | None, typer.Argument(help="A name for the dataset.")] = None,
    version: Annotated[
        str | None, typer.Option(metavar="LABEL", help="A public label of the data: change it when the data changes.")
    ] = None,
    epsilon: Epsilon = None,
    exp_epsilon: ExpEpsilon = None,
    delta: Delta = "0",
    population: Annotated[
        str | None, typer.Option(metavar="NAME", help="Instead of a budget: the dataset of the same people that is charged.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="COL", help="What is protected: the column that names people, or row (else).")
    ] = None,
    neighbours: Neighbours = None,
    account: Account = "sum",
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
    if_absent: Annotated[
        bool, typer.Option("--if-absent", help="Do nothing if it is registered already, exactly like this; refuse if not.")
    ] = False,
    done_by: DoneBy = None,
    as_json: AsJson = False,
) -> None:
    """Give a dataset its budget; or a registered one a new version (by --version alone). A DATASET.toml says all this."""
    from duotone.model.notice import budget_notes

    calls, priced = _calls(close_calls, question_epsilon, wrong, definite), (epsilon, exp_epsilon) != (None, None)
    declared = (delta, population, unit, neighbours, account, answers) != ("0", None, None, None, "sum", None)
    if place.lower().endswith(".toml"):
        if priced or declared or dataset is not None:
            raise DuotoneError(f"{place} declares its dataset: leave its name, budget and options out, or change the file")
        stands = _register_declared(place, version, calls, if_absent, done_by)
    elif dataset is None or version is None:
        raise DuotoneError("name the dataset and a version of its data, as in register LEDGER NAME --version 1")
    else:
        with _open(place) as ledger:
            if priced or population is not None:
                about: dict[str, Any] = {
                    "account": account,
                    "answers": answers,
                    "population": population,
                    "if_absent": if_absent,
                }
                whole = budget(epsilon, exp_epsilon, delta) if priced or delta != "0" else None
                own = (unit or "row", neighbours or "add-remove") if population is None else (unit, neighbours)
                about |= dict(zip(("unit", "neighbours"), own, strict=True))
                ledger.register(dataset, whole, **about, **calls, version=version, done_by=done_by)
            elif calls or declared or if_absent:
                raise DuotoneError(
                    "give --epsilon, --exp-epsilon or --population to register; a new version takes --version alone"
                )
            else:
                ledger.relabel(dataset, version, done_by=done_by)
            stands = ledger.statement(dataset)
    print_statement(stands, as_json)
    if not as_json and stands.registered.member is None:
        print_worth(stands.registered)
        called = stands.registered.close_calls
        for warned in budget_notes(stands.registered.budget if called is None else called.budget):
            print(warned)


def _register_declared(
    file: str, version: str | None, calls: dict[str, Any], if_absent: bool, done_by: str | None
) -> Statement:
    """Register the dataset of a file as it is declared; or, if it is registered, give it the file's version."""
    from duotone.errors import LedgerError
    from duotone.model.dataset import Dataset as Declared

    declared = Declared.load(file)
    declared = declared if version is None else declared.further(version=version)
    label, name, whole = declared.version, declared.in_ledger, declared.budget
    if declared.ledger is None or label is None or name is None or (whole is None and declared.population is None):
        raise DuotoneError(f"{file} must say the ledger, the dataset, its version and its budget to register it")
    about = {**declared.registered_with, **calls, "done_by": done_by}
    with _open(str(declared.ledger)) as ledger:
        try:
            known = name in ledger.datasets()
        except LedgerError:  # no ledger yet: registering creates it
            known = False
        if if_absent or not known:
            ledger.register(name, whole, **about, version=label, if_absent=if_absent)
        else:
            ledger.register(name, whole, **about, version=ledger.stands(name).version, if_absent=True)
            ledger.relabel(name, label, done_by=done_by)
        return ledger.statement(name)


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
    done_by: DoneBy = None,
    as_json: AsJson = False,
) -> None:
    """Give an asker an allowance: a limit on all that they ask and have asked. Every charge must then name its
    asker."""
    if share is not None and (epsilon, exp_epsilon, delta) != (None, None, "0"):
        raise DuotoneError("--share is a part of the budget: leave --epsilon, --exp-epsilon and --delta out")
    with _open(place) as ledger:
        own = None if share is not None else budget(epsilon, exp_epsilon, delta)
        ledger.allow(dataset, asker, own, share=share, done_by=done_by)
        print_statement(ledger.statement(dataset), as_json)


@ledgers.command()
def close(
    place: Place, dataset: Annotated[str, typer.Argument(help="The dataset.")], done_by: DoneBy = None, as_json: AsJson = False
) -> None:
    """Close a dataset permanently: nothing more is charged to it. Recorded answers stay free."""
    with _open(place) as ledger:
        ledger.close_dataset(dataset, done_by=done_by)
        print_statement(ledger.statement(dataset), as_json)


@ledgers.command()
def show(place: Place, dataset: Dataset = None, as_json: AsJson = False) -> None:
    """What was asked when, by whom, at what cost, and what is left."""
    with _open(place) as ledger:
        names = [dataset] if dataset is not None else ledger.datasets()
        statements = [ledger.statement(name) for name in names]
    if as_json:
        print(json.dumps({"ledger": ledger.place, "datasets": {a.registered.name: written(a) for a in statements}}))
        return
    for stands in statements:
        print_charges(stands)
        print_statement(stands, False)


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
    place: Place, done_by: Annotated[str, typer.Option(metavar="NAME", help="Who does this; recorded in the ledger.")]
) -> None:
    """Continue entries from the present time, after one was written while a clock was ahead. Spends nothing."""
    with _open(place) as ledger:
        ledger.reset_clock(done_by=done_by)
    print("entries continue from now; the ledger records this", file=sys.stderr)


@ledgers.command("keep-head")
def keep_head(
    place: Place,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file, on another disk or machine than the ledger.")],
    done_by: Annotated[str, typer.Option(metavar="NAME", help="Who does this; recorded in the ledger.")],
) -> None:
    """From now on, store the ledger's head in a file too: a ledger that has lost an entry is then refused."""
    with _open(place) as ledger:
        ledger.keep_head(file, done_by=done_by)
    print(f"the head is stored in {printable(str(file))}; the ledger records this", file=sys.stderr)


@ledgers.command("accept-standbys")
def accept_standbys(
    place: Place,
    words: Annotated[str, typer.Option(metavar="TEXT", help="Why a failover may lose charges; recorded in the ledger.")],
    done_by: Annotated[str, typer.Option(metavar="NAME", help="Who accepts it; recorded in the ledger.")],
) -> None:
    """Charge a ledger in Postgres although its server has standbys that commits do not wait for."""
    with _open(place) as ledger:
        ledger.accept_standbys(words, done_by=done_by)
    print("accepted; the ledger records this", file=sys.stderr)


def _open(place: str) -> Ledger:
    from duotone.ledger.ledger import open_ledger

    return open_ledger(place)


def _definition(text: str) -> ApproxDP:
    first, _, second = text.partition(",")
    return budget(first.strip(), None, second.strip() or "0")
