"""How a question of the command is answered: released by itself, or charged to a ledger; and what it would cost there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from duotone.errors import DuotoneError

if TYPE_CHECKING:
    from duotone.ledger.account import Quote
    from duotone.ledger.ledger import Ledger
    from duotone.tables.answers import Answers
    from duotone.tables.prepared import Prepared


def answered(prepared: Prepared, place: str | None, dataset: str | None, again: bool, asker: str | None) -> Answers:
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


def quotes_of(every: list[Prepared], place: str, dataset: str | None, again: bool) -> Sequence[Quote | None]:
    """What the questions would cost in a ledger, asked in turn; nothing is charged."""
    from duotone.ledger.ledger import open_ledger
    from duotone.tables.prepared import quote_all

    with open_ledger(place) as ledger:
        _require_registered(ledger, every[0], dataset)
        return quote_all(every, ledger, dataset, again=again)


def quote_text(quote: Quote) -> str:
    """A quote in a line."""
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
