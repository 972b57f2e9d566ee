"""How a dataset is asked whose close calls are counted, and what the command says of them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from duotone.cli.charging import Charging
from duotone.cli.terminal import print_table
from duotone.errors import DuotoneError

if TYPE_CHECKING:
    from duotone.ledger.close_calls import CloseCalls
    from duotone.ledger.statement import Statement
    from duotone.line.three_way import ThreeWay
    from duotone.model.dataset import Dataset as Declared
    from duotone.privacy.approx_dp import ApproxDP

PARTS = 20, 50, 100
"""The parts of a budget's ε that questions have, where that is not chosen."""
SIZES = 10_000, 100_000, 1_000_000
"""Of the tables for which it is said how much of them must be able to change."""


def asked_with(how: Charging, declared: Declared) -> ThreeWay | None:
    """How the dataset is asked that is charged, if its close calls are counted. Where it is not named, it is called as the
    table is; or all datasets of the ledger are asked alike."""
    if how.place is None:
        return None
    from duotone.ledger.ledger import open_ledger

    place = Path(str(declared.source))
    with open_ledger(how.place) as ledger:
        every = ledger.datasets()
        own = [dataset for dataset in every if dataset in {declared.table, place.name, place.stem}]
        datasets = [how.dataset] if how.dataset is not None else own or every
        calls = [ledger.close_calls(dataset) for dataset in datasets]
    questions = {None if called is None else called.question for called in calls}
    if len(questions) > 1:
        raise DuotoneError("the datasets of this ledger are asked in different ways: say which one this is, by --dataset")
    return next(iter(questions), None)


def print_registered(called: CloseCalls) -> None:
    """What a registration admits, and from how far on answers are clear."""
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


def print_choices(budget: ApproxDP) -> None:
    """How many close calls a budget admits for some sizes of questions, and from how far on answers are then clear."""
    from duotone.ledger.close_calls import most_close_calls
    from duotone.line.three_way import ThreeWay, clear_from, three_way_table
    from duotone.privacy.approx_dp import ApproxDP

    rows = []
    for epsilon in (Fraction(budget.epsilon) / part for part in PARTS):
        question = ThreeWay(ApproxDP(Fraction(f"{float(epsilon):.2g}")))
        called, table = most_close_calls(budget, question), three_way_table(question)
        margins = (f"{clear_from(table, chance):,}" for chance in ("1e-3", "1e-9"))
        rows.append((f"{question.privacy.epsilon:g}", f"{called.count:,}", *margins))
    print_table(("epsilon of a question", "close calls", "people: clear with 99.9 % from", "with 1 - 1e-9 from"), rows)


def calls_text(account: Statement) -> str | None:
    """How many answers of a dataset were free, and how many close calls there were; None where these are not counted."""
    calls, called = account.state.calls, account.registered.close_calls
    if calls is None or called is None:
        return None
    waiting = f", {calls.reserved} reserved or wasted" if calls.reserved else ""
    return f"close calls: {calls.used} of {called.count}{waiting}; clear answers, free: {account.clear}"
