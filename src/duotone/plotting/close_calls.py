"""Pictures of answers that may be too close to call: how likely each outcome is, and how many close calls a ledger has had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from duotone.ledger.statement import Statement
from duotone.line.table import Table
from duotone.line.three_way import clear_from
from duotone.plotting.figures import BLUE, FAINT, INK, RED, framed, new_axes, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 0.001
"""The chance of a close call at which the picture ends, and half as far again."""


def three_way(table: Table, *, title: str | None = None, ax: Axes | None = None) -> Figure:
    """Pr[yes], Pr[no] and Pr[too close to call] by how many people would have to be different to flip the answer: to the right
    those who can make it a no, to the left those who can make it a yes."""
    figure, ax = new_axes(ax, (7.2, 4.2))
    clear = clear_from(table, str(SHOWN)) or table.reach
    levels = np.unique(np.linspace(-1 - 1.5 * clear, 1.5 * clear, 801).astype(int))
    people = [level + 1 if level >= 0 else level for level in levels.tolist()]
    yes, close, no = zip(*(map(float, table.chances(level)) for level in levels.tolist()), strict=True)
    for chances, colour, style, name in (
        (yes, BLUE, "-", "yes"),
        (no, RED, "--", "no"),
        (close, INK, "-", "too close to call"),
    ):
        ax.plot(people, chances, color=colour, ls=style, lw=1.8, label=name)
    for side in (-clear, clear):
        ax.axvline(side, color=FAINT, lw=1, ls=":")
    ax.text(clear, 0.5, f" clear with\n 99.9 % from\n {clear:,} people", fontsize=8, color=INK, va="center")
    ax.set(xlabel="people from flipping: no to the left, yes to the right", ylabel="probability", ylim=(-0.02, 1.02))
    ax.legend(frameon=False, fontsize=9, loc="center left")
    if title is not None:
        titled(ax, title)
    framed(ax)
    return figure


def calls(account: Statement, ax: Axes) -> list[Any]:
    """The close calls of a dataset over time, up to those that it may have, and the clear answers that were free; the times."""
    called, asked = account.registered.close_calls, [charge for charge in account.charges if charge.calls is not None]
    since = [] if account.since is None else [account.since]
    times: list[Any] = [*since, *(charge.at for charge in asked)]
    first = [0] * len(since)
    taken = first + np.cumsum([charge.calls or 0 for charge in asked], dtype=int).tolist()
    clear = first + np.cumsum([charge.clear for charge in asked], dtype=int).tolist()
    ax.step(times, taken, where="post", color=BLUE, lw=1.8, label="close calls, charged or reserved")
    ax.step(times, clear, where="post", color=FAINT, lw=1.6, label="clear answers, free")
    most = 0 if called is None else called.count
    ax.axhline(most, color=RED, ls="--", lw=1.6, label=f"close calls that it may have: {most}")
    ax.set(ylabel="answers", xlabel="time (UTC)", ylim=(0, max([most, *taken, *clear]) * 1.15 + 1))
    many = 0 if account.state.calls is None else account.state.calls.used
    titled(ax, f"{account.registered.dataset}: {many} close call{'s' * (many != 1)}")
    ax.legend(frameon=False, fontsize=8, loc="center left")
    return times
