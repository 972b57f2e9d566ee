"""How the command shows what is in a ledger: a statement with its charges, and what a new registration is worth."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from duotone.cli.terminal import print_table
from duotone.words.sentences import printable

if TYPE_CHECKING:
    from duotone.ledger.accounts import Account, RenyiAccount
    from duotone.ledger.allowances import Share
    from duotone.ledger.close_calls import CloseCalls
    from duotone.ledger.registration import Registered
    from duotone.ledger.statement import ChargeRecord, Statement
    from duotone.privacy.text import Definition

SHOWN = 10, 100, 1000, 10_000
"""Numbers of answers whose accuracy is printed, in an account renyi."""
SELDOM = 1e-3
SIZES = 10_000, 100_000, 1_000_000
"""Sizes of tables for which the distance of clear answers is printed."""


def written(stands: Statement) -> dict[str, Any]:
    """A statement as JSON."""
    from duotone.privacy.text import definition_text

    registered, (epsilon, delta) = stands.registered, stands.spent
    charges = [
        {
            "charge": c.charge,
            "at": c.at.isoformat(),
            "asker": c.asker,
            **({} if c.member is None else {"dataset": c.member}),
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
        "version": registered.version(stands.state),
        **({} if registered.population is None else {"population": registered.population}),
        **_account(registered.account),
        "spent": {"epsilon": epsilon, "delta": delta},
        "left": stands.left.document(),
        **_calls_document(stands),
        "wasted": stands.state.unanswered,
        **({"closed": True} if stands.state.closed else {}),
        **({"allowances": {name: _allowance(share) for name, share in stands.shares.items()}} if stands.shares else {}),
        "charges": charges,
    }


def _price(charge: ChargeRecord, account: Account) -> dict[str, Any]:
    """The price of a charge: its definition; in an account renyi, the share of the budget that it is."""
    from duotone.model.cost import as_share

    return {"privacy": _limit(charge.privacy), **(as_share(account.share(charge.cost)) if charge.calls is None else {})}


def _account(account: Account) -> dict[str, Any]:
    """How answers add up; the exact limits are in the ledger's entries (`export`)."""
    from duotone.ledger.accounts import RenyiAccount

    order = {"order": account.budget.order, "answers": account.answers} if isinstance(account, RenyiAccount) else {}
    return {"account": account.name, **order}


def _calls_document(stands: Statement) -> dict[str, Any]:
    calls, called = stands.state.calls, stands.registered.close_calls
    if calls is None or called is None:
        return {}
    known = called.written()
    asked = {"question_privacy": known["question"], **{name: known[name] for name in ("budget", "wrong", "delta", "count")}}
    counted = {"used": calls.used, "reserved": calls.reserved, "left": stands.left.close_calls}
    return {"close_calls": {**asked, **counted}}


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


def print_charges(stands: Statement) -> None:
    """Print every charge in a table."""
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    from duotone.ledger.statement import HEAD

    table = Table(*(Column(Text(name)) for name in HEAD), title=Text(printable(stands.registered.name)))
    for row in stands.rows:
        table.add_row(*map(Text, row))
    if stands.charges:
        Console(width=None if sys.stdout.isatty() else 110).print(table)


def print_statement(stands: Statement, as_json: bool) -> None:
    """Print what is spent and what is left, in lines or as JSON."""
    from duotone.ledger.accounts import RenyiAccount
    from duotone.words.budgets import percent

    registered, (epsilon, delta) = stands.registered, stands.spent
    if as_json:
        print(json.dumps({registered.name: written(stands)}))
        return
    about = f"unit {printable(registered.unit)}, {registered.neighbours}"
    named = printable(f"{registered.name}, version {registered.version(stands.state)}")
    if registered.population is not None:
        print(f"{named}: charged to {printable(registered.population)}, like every dataset of the same people")
        named = printable(f"{registered.population}, version {stands.state.version}")
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


def print_worth(registered: Registered) -> None:
    """Print what a registration admits: close calls, and how accurate the expected answers are."""
    from duotone.ledger.accounts import RenyiAccount

    if registered.close_calls is not None:
        _print_close_calls(registered.close_calls)
    if isinstance(registered.account, RenyiAccount):
        print(_worth(registered.account))


def _worth(account: RenyiAccount) -> str:
    """The expected number of answers of a new account, and their accuracy; with other numbers for comparison."""
    from duotone.words.budgets import stated

    counts = sorted({account.answers, *(many for many in SHOWN if many < account.answers)}, reverse=True)
    first, *others = counts
    more = "".join(f"; or {many:,} from {account.people(many):,}" for many in others)
    return f"about {stated({'answers': first, 'wrong': SELDOM, 'people': account.people(first)})}{more}"


def _print_close_calls(called: CloseCalls) -> None:
    """Print how many close calls there are, and from what distance answers are clear."""
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
