"""Pictures of budgets: what one buys, what an audit measured against its claim, and what a ledger has spent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from duotone.ledger.capacity import Capacity
from duotone.ledger.statement import Statement
from duotone.plotting.curves import error_by_distance
from duotone.plotting.figures import BLUE, FAINT, RED, budget_label, framed, new_axes, titled
from duotone.release.audit import Audit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 300
"""Up to this many charges, each is drawn."""
SHORTEST = timedelta(minutes=1)
"""The shortest time range of a picture of a ledger."""
TICKS = ["%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%H:%M:%S"]
FIRST_TICKS = ["%Y", "%b %Y", "%b", "%d %b", "%H:%M", "%H:%M:%S"]
DATES = ["", "%Y", "%Y", "%d %b %Y", "%d %b %Y", "%d %b %Y"]
"""Formats of times for ticks that are years, months, days, hours, minutes or seconds apart; for a tick at the start of
the next larger unit; and for what is written once beside the axis."""


def capacities(sizes: Sequence[Capacity], *, ax: Axes | None = None) -> Figure:
    """What a budget buys: how often an answer of each size is wrong, by how many people would flip it, and how many answers of
    that size fit in the account that admits the most."""
    labels = []
    for one in sizes:
        account, count = one.best
        labels.append(f"{count:,} answer{'s' * (count != 1)} (account {account}), each at {budget_label(one.each)}")
    figure = error_by_distance([one.mechanism for one in sizes], labels=labels, ax=ax)
    drawn = ax or figure.axes[0]
    if len(sizes) > 1:  # curves that end far from each other
        drawn.set_xscale("log")
        drawn.set_xlim(0.8, 1.5 * drawn.get_xlim()[1])
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "alignment": "left"}
    drawn.legend(
        frameon=False, fontsize=8, title=f"a budget of {budget_label(sizes[0].budget)} buys", title_fontsize=9, **place
    )
    return figure


def audit_bound(audit: Audit, *, ax: Axes | None = None) -> Figure:
    """An audit: the lower bound on ε by number of draws, against the claim."""
    figure, ax = new_axes(ax, (6.4, 4.0))
    draws, bounds = zip(*audit.history, strict=True)
    ax.plot(draws, bounds, color=BLUE, marker="o", ms=3, lw=1.6, label=f"lower bound ({audit.confidence:.6g} confidence)")
    ax.axhline(audit.claim.epsilon, color=RED, ls="--", lw=1.6, label=f"claimed: {budget_label(audit.claim)}")
    ax.set_xscale("log")
    top = max(audit.claim.epsilon, *bounds)
    ax.set(xlabel="answers drawn on each side", ylabel="ε", ylim=(0, top * 1.15 + 0.05))
    ax.legend(frameon=False, fontsize=9)
    framed(ax)
    return figure


def spending(statement: Statement, *, ax: Axes | None = None) -> Figure:
    """A dataset's ledger: what was spent since it was registered, up to the budget; wasted charges crossed. In an
    account renyi, that is a share of the budget; for a dataset that counts close calls, their number."""
    figure, ax = new_axes(ax, (7.2, 4.2))
    if statement.registered.close_calls is not None:
        _time_axis(ax, calls(statement, ax))
        framed(ax)
        return figure
    account, budget = statement.registered.account, statement.registered.budget
    shown = statement.charges[:: max(1, len(statement.charges) // POINTS)]
    since = [] if statement.since is None else [statement.since]
    times: list[Any] = [*since, *(charge.at for charge in shown)]
    shared = account.left(account.nothing).share is not None
    whole, unit = (100, "% of the budget") if shared else (budget.epsilon, f"ε at δ = {float(budget.delta):g}")

    def taken(sums: Any) -> float:
        share = account.left(sums).share
        return account.spent(sums)[0] if share is None else 100 * (1 - share)

    spent = [*(0.0 for _ in since), *(taken(charge.spent) for charge in shown)]
    top = max([whole, *spent])
    ax.step(times, spent, where="post", color=BLUE, lw=1.8, marker="o", ms=3, label="spent")
    wasted = [(charge.at, y) for charge, y in zip(shown, spent[len(since) :], strict=True) if not charge.answered]
    if wasted:
        ax.plot(*zip(*wasted, strict=True), ls="", marker="x", ms=8, color=RED, label="charged, no answer", zorder=4)
    ax.axhline(whole, color=RED, ls="--", lw=1.6, label=f"budget: {budget_label(budget)}")
    ax.set(ylim=(0, top * 1.15 + 0.01), ylabel=unit, xlabel="time (UTC)")
    many = len(statement.charges)
    titled(ax, f"{statement.registered.name}: {many} charge{'s' * (many != 1)}")
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    _time_axis(ax, times)
    framed(ax)
    return figure


def _time_axis(ax: Axes, times: Sequence[datetime]) -> None:
    """A time axis from the first to the last time, at least a minute long, so that no tick is finer than a second; with
    its date."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    if times:
        first, last = min(times), max(times)  # a clock may have been set back
        room = max(SHORTEST, last - first) / 20 + max(timedelta(0), SHORTEST - (last - first)) / 2
        ax.set_xlim(first - room, last + room)  # type: ignore[arg-type]
    ticks: Any = AutoDateLocator(minticks=3, maxticks=6)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(ticks)
    how = {"formats": TICKS, "zero_formats": FIRST_TICKS, "offset_formats": DATES}
    ax.xaxis.set_major_formatter(ConciseDateFormatter(ticks, **how))  # type: ignore[no-untyped-call]


def calls(statement: Statement, ax: Axes) -> list[Any]:
    """The close calls of a dataset over time, up to their limit, and the free clear answers; returns the times."""
    called, asked = statement.registered.close_calls, [charge for charge in statement.charges if charge.calls is not None]
    since = [] if statement.since is None else [statement.since]
    times: list[Any] = [*since, *(charge.at for charge in asked)]
    first = [0] * len(since)
    taken = first + np.cumsum([charge.calls or 0 for charge in asked], dtype=int).tolist()
    clear = first + np.cumsum([charge.clear for charge in asked], dtype=int).tolist()
    ax.step(times, taken, where="post", color=BLUE, lw=1.8, label="close calls, charged or reserved")
    ax.step(times, clear, where="post", color=FAINT, lw=1.6, label="clear answers, free")
    most = 0 if called is None else called.count
    ax.axhline(most, color=RED, ls="--", lw=1.6, label=f"close calls in its budget: {most}")
    ax.set(ylabel="answers", xlabel="time (UTC)", ylim=(0, max([most, *taken, *clear]) * 1.15 + 1))
    many = 0 if statement.state.calls is None else statement.state.calls.used
    titled(ax, f"{statement.registered.name}: {many} close call{'s' * (many != 1)}")
    ax.legend(frameon=False, fontsize=8, loc="center left")
    return times
