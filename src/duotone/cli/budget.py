"""The command budget: what a budget buys."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.cli.terminal import PRICE, AsJson, Draw, draw_to, print_table, takes
from duotone.cli.terminal import budget as budget_of
from duotone.errors import DuotoneError

if TYPE_CHECKING:
    from duotone.ledger.capacity import Capacity
    from duotone.model.checks import AccountName
    from duotone.privacy.approx_dp import ApproxDP


@takes(total=PRICE)
def budget(
    *,
    total: ApproxDP,
    each_epsilon: Annotated[
        str | None, typer.Option(metavar="E", help="The ε of each answer, instead of all, a tenth and a hundredth.")
    ] = None,
    each_delta: Annotated[str | None, typer.Option(metavar="D", help="The δ of each answer, with --each-epsilon.")] = None,
    close_calls: Annotated[
        bool, typer.Option("--close-calls", help="Print instead how many close calls it buys, where only these are charged.")
    ] = False,
    as_json: AsJson = False,
    draw: Draw = None,
) -> None:
    """What a budget buys: the accuracy of answers, and how many of them a ledger admits."""
    from duotone.ledger.capacity import Capacity, capacities

    if close_calls:
        if (each_epsilon, each_delta, as_json, draw) != (None, None, False, None):
            raise DuotoneError("--close-calls prints a table: leave --each-epsilon, --each-delta, --json and --draw out")
        _print_choices(total)
        return
    if each_epsilon is None and each_delta is not None:
        raise DuotoneError("--each-delta needs --each-epsilon, the ε of the same answers")
    chosen = None if each_epsilon is None else budget_of(each_epsilon, None, each_delta or "0")
    sizes = capacities(total) if chosen is None else [Capacity(total, chosen)]
    draw_to(draw, "capacities", sizes)
    if as_json:
        from duotone.privacy.text import definition_document

        print(json.dumps({"budget": definition_document(total), "each": [_document(one) for one in sizes]}))
        return
    _print_errors(sizes)
    _print_counts(sizes)


def _document(one: Capacity) -> dict[str, Any]:
    from duotone.line.mechanism import MARGINS
    from duotone.privacy.text import definition_document

    certain = _certain(one)
    errors = {str(m): float(one.mechanism.error(m - 1)) for m in MARGINS}
    until = int(certain) if math.isfinite(certain) else None
    counts = {"answers": dict(one.answers), **({"or_more": list(one.or_more)} if one.or_more else {})}
    return {**definition_document(one.each), "error_by_margin": errors, "certain_from": until, **counts}


def _certain(one: Capacity) -> float:
    """The number of people from flipping from which no answer is wrong."""
    return one.mechanism.certain[0] + 1


def _print_errors(sizes: list[Capacity]) -> None:
    from duotone.line.mechanism import MARGINS

    mechanisms = [one.mechanism for one in sizes]
    errors = [(m, [float(mechanism.error(m - 1)) for mechanism in mechanisms]) for m in MARGINS]
    rows = [(str(m), *(f"{wrong:.3g}" for wrong in each)) for m, each in errors if any(wrong > 1e-12 for wrong in each)]
    ends = map(_certain, sizes)
    rows.append(("never wrong from", *(f"{end:g}" if math.isfinite(end) else "–" for end in ends)))
    print_table(("people from flipping", *(f"Pr[wrong] at {_short(one.each)}" for one in sizes)), rows)


def _print_counts(sizes: list[Capacity]) -> None:
    rows = [(_short(one.each), *(_count(one, account) for account in one.answers)) for one in sizes]
    print_table(("each answer", *(f"answers in the account {account}" for account in sizes[0].answers)), rows)


def _count(one: Capacity, account: AccountName) -> str:
    return f"{one.answers[account]:,}{' or more' * (account in one.or_more)}"


def _short(privacy: ApproxDP) -> str:
    return f"ε = {privacy.epsilon:g}, δ = {float(privacy.delta):g}"


PARTS = 20, 50, 100
"""Fractions of a budget's ε for each question, if not chosen."""


def _print_choices(budget: ApproxDP) -> None:
    """Print how many close calls a budget admits for questions of some sizes, and from what distance answers are then
    clear."""
    from duotone.ledger.close_calls import most_close_calls
    from duotone.line.three_way import ThreeWay, clear_from, three_way_table
    from duotone.privacy.approx_dp import ApproxDP

    rows = []
    for part in PARTS:
        question = ThreeWay(ApproxDP(f"{budget.split(part).epsilon:.2g}"))
        called, table = most_close_calls(budget, question), three_way_table(question)
        margins = (f"{clear_from(table, chance):,}" for chance in ("1e-3", "1e-9"))
        rows.append((f"{question.privacy.epsilon:g}", f"{called.count:,}", *margins))
    print_table(("epsilon of a question", "close calls", "people: clear with 99.9 % from", "with 1 - 1e-9 from"), rows)
