"""How the command answers a question: released without a ledger, or charged to one; and what it would cost there."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.cli.complete import datasets
from duotone.cli.terminal import PRICE, Group, budget, say, waiting
from duotone.errors import DuotoneError

if TYPE_CHECKING:
    from duotone.ledger.ledger import Ledger
    from duotone.line.three_way import ThreeWay
    from duotone.model.cost import Quote, Receipt
    from duotone.model.dataset import Dataset as Declared
    from duotone.privacy.text import Definition
    from duotone.tables.answers import Answers
    from duotone.tables.check_question import ToPrice
    from duotone.tables.prepared import Prepared

RECORDED = "; an answer that was charged is recorded in the ledger, and asking again is free"
LOST: ContextVar[str] = ContextVar("LOST", default="")
"""What happens to answers that cannot be shown; set before the first is drawn."""


@dataclass(frozen=True)
class Charging:
    """The ledger to charge (None for none), as which dataset (None: the table's name), for whom, and whether for a new
    answer."""

    place: str | None
    dataset: str | None
    again: bool
    asker: str | None
    said_by: str | None = None
    """Why this ledger is the default, if none was named."""


def charging(
    declared: Declared, *, ledger: str | None, no_ledger: bool, dataset: str | None, again: bool, asker: str | None
) -> Charging:
    """The ledger of the options, else of the dataset's file, else the table's default. With further tables (`also`),
    the dataset is another one."""
    from duotone.tables.billing import default_ledger
    from duotone.tables.engines.open import in_files

    also, table = declared.also.values(), declared.source
    for flag, given, key in (("--ledger", ledger, declared.ledger), ("--dataset", dataset, declared.dataset)):
        if given is not None and key is not None and declared.ledger is not None:
            raise DuotoneError(f"the dataset's file sets that already: leave {flag} out, or change the file")
    account = declared.in_ledger if dataset is None and not no_ledger else dataset
    if ledger is None and not no_ledger and declared.ledger is not None:
        return Charging(str(declared.ledger), account, again, asker)
    if no_ledger and ledger is not None:
        raise DuotoneError("give --ledger or --no-ledger, not both")
    # further tables of a database are names, not files
    default = None if no_ledger or ledger is not None else default_ledger(table, *(also if in_files(table) else ()))
    if default is not None:
        own = None if also else default.dataset
        return Charging(default.place, own if account is None else account, again, asker, default.said_by)
    if ledger is None and (again or dataset is not None or asker is not None):
        raise DuotoneError(
            "--again, --dataset and --asker are for a ledger"
            + (": leave them or --no-ledger out" if no_ledger else ": name it by --ledger")
        )
    if ledger is None and declared.budget is not None and not no_ledger:
        say("the dataset has a budget, and no ledger counts what is spent: name one, in its file or by --ledger")
    return Charging(ledger, account if ledger is not None else dataset, again, asker)


PLACE = "The file or URL of the ledger to charge; else as duotone.toml or DUOTONE_LEDGER say."
NAMED = "Its name in the ledger; else the file's, or the table's."
AGAIN = "Pay for a new answer to a question that was asked before."
LEDGER = Group(
    {
        "ledger": (Annotated[str | None, typer.Option(metavar="LEDGER", help=PLACE)], None),
        "no_ledger": (Annotated[bool, typer.Option("--no-ledger", help="Charge no ledger, not even the default.")], False),
        "dataset": (Annotated[str | None, typer.Option(metavar="NAME", help=NAMED, autocompletion=datasets)], None),
        "again": (Annotated[bool, typer.Option("--again", help=AGAIN)], False),
        "asker": (Annotated[str | None, typer.Option(metavar="NAME", help="Who asks, for the ledger.")], None),
    },
    charging,
    needs=("declared",),
)


def priced(how: Charging, declared: Declared, **given: Any) -> Definition | ToPrice:
    """The budget of a question: as given, or what is wanted instead, with the account of the charged dataset."""
    from duotone.model.wanted import budget_of
    from duotone.privacy.text import Definition
    from duotone.tables.billing import account_in
    from duotone.tables.check_question import ToPrice

    if all(given.get(way) is None for way in ("wrong", "one_of", "price")):
        return budget(given["epsilon"], given["exp_epsilon"], given["delta"])
    wanted = budget_of(**given | {"delta": None if given["delta"] == "0" else given["delta"]})
    if isinstance(wanted, Definition):
        return wanted
    return ToPrice(wanted, None if how.place is None else account_in(how.place, declared, how.dataset))


OneOf = Annotated[int | None, typer.Option(metavar="N", help="Instead of ε: an N-th of the dataset's budget in its ledger.")]
Price = Annotated[
    str | None, typer.Option(metavar="T", help="Instead of ε, for experts: a price, in a dataset with the account renyi.")
]
PRICED = Group({**PRICE.options, "one_of": (OneOf, None), "price": (Price, None)}, priced, needs=("how", "declared"))


def answered(prepared: Prepared, how: Charging) -> Answers:
    """A release; a large table takes a while."""
    reading = waiting(f"asking {prepared.source.name}")
    if how.place is None:
        LOST.set("; an answer that was drawn is lost, and asking again is a new release")
        with reading:
            return prepared.release()
    from duotone.ledger.ledger import open_ledger

    LOST.set(RECORDED)
    with open_ledger(how.place) as ledger:
        dataset = prepared.dataset_in(ledger, how.dataset)
        with reading:
            reply = prepared.charge(ledger, dataset, again=how.again, asker=how.asker)
    if reply.receipt is not None:
        say_receipt(how, dataset, ledger, reply.receipt, delta=bool(prepared.terms.privacy.delta))
    return reply


def say_receipt(how: Charging, dataset: str | None, ledger: Ledger, receipt: Receipt, *, delta: bool) -> None:
    """Print what an answer cost, and what is left."""
    from duotone.words.budgets import one_of

    _say_which(how, dataset, ledger)
    allowance = "" if receipt.allowance is None else f"; left of the allowance of {how.asker}: {receipt.allowance}"
    paid = "free, as recorded" if receipt.free else "charged" if receipt.calls is None else "free, since it is clear"
    if not receipt.free and receipt.calls:
        paid = f"charged: {receipt.calls} close call{'s' * (receipt.calls > 1)}"
    if receipt.one_of is not None and receipt.left.share is not None and not receipt.free:
        say(f"{one_of(receipt.one_of, receipt.left.share, receipt.left.delta if delta else None)}{allowance}", line="ledger: ")
    else:
        say(f"{paid}; left: {receipt.left}{allowance}", line="ledger: ")
    if receipt.before is not None:
        say(receipt.before.note, line="ledger: ")
    if receipt.unanswered:
        say(f"{receipt.unanswered} charged without an answer: wasted, or still under way", line="ledger: ")


def quotes_of(every: Sequence[Prepared], how: Charging) -> Sequence[Quote | None]:
    """What the questions would cost in a ledger, asked in order; nothing is charged."""
    if how.place is None:
        return [None] * len(every)
    from duotone.ledger.ledger import open_ledger
    from duotone.tables.prepared import quote_all

    with open_ledger(how.place) as ledger:
        dataset = every[0].dataset_in(ledger, how.dataset)
        quotes = quote_all(every, ledger, dataset, again=how.again, asker=how.asker)
    _say_which(how, dataset, ledger)
    return quotes


def require_fit(every: list[Prepared], how: Charging) -> None:
    """Refuse several questions that do not all fit, before the first is charged."""
    if how.place is None or len(every) == 1:
        return
    from duotone.ledger.ledger import open_ledger
    from duotone.tables.prepared import require_all_fit

    with open_ledger(how.place) as ledger:
        require_all_fit(every, ledger, every[0].dataset_in(ledger, how.dataset), again=how.again, asker=how.asker)


def quote_text(quote: Quote) -> str:
    """A quote in a line."""
    from duotone.model.cost import as_share
    from duotone.words.budgets import part

    allowance = "" if quote.allowance is None else f"; left of the allowance: {quote.allowance}"
    if quote.free:
        return f"ledger: free, as recorded; left: {quote.left}{allowance}"
    fits = f"it fits; left after it: {quote.left}" if quote.fits else f"it does NOT fit; left: {quote.left}"
    before = "" if quote.before is None else f"; {quote.before.note}"
    price = quote.cost if quote.share is None else part(as_share(quote.share))
    return f"ledger: {fits}{allowance}; price: {price}{before}"


def _say_which(how: Charging, dataset: str | None, ledger: Ledger) -> None:
    """Print the ledger and dataset, if the command line does not name them."""
    if how.said_by is not None or how.dataset is None:
        why = "" if how.said_by is None else f", by {how.said_by}"
        say(f"{dataset} in {ledger.place}{why}", line="ledger: ")


def asked_with(how: Charging, declared: Declared) -> ThreeWay | None:
    """How the charged dataset is asked, if its close calls are counted."""
    if how.place is None:
        return None
    from duotone.ledger.ledger import open_ledger
    from duotone.tables import billing

    with open_ledger(how.place) as ledger:
        return billing.asked_with(ledger, declared, how.dataset)


def margins_in(how: Charging, declared: Declared, privacy: Any, margins: bool | None) -> bool | None:
    """Whether answers have margins, as given; an account renyi has its own way to share a budget, so they have there."""
    from duotone.privacy.approx_dp import ApproxDP

    apart = declared.max_groups in (None, 1) or not isinstance(privacy, ApproxDP)
    if how.place is None or apart or margins is not None:
        return margins
    from duotone.ledger.ledger import open_ledger

    with open_ledger(how.place) as ledger:
        accounts = [ledger.stands(dataset).registered.account.name for dataset in _meant(ledger, how, declared)]
    return True if "renyi" in accounts else None


def _meant(ledger: Ledger, how: Charging, declared: Declared) -> list[str]:
    """The dataset that is charged; all of the ledger if its name is not known yet."""
    from duotone.tables.billing import datasets_for

    return datasets_for(ledger, declared.source, declared.table, how.dataset)
