"""Pictures of budgets: what an audit measured against its claim, and what a ledger has spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from duotone.ledger.account import Statement
from duotone.ledger.privacy_filters import BasicComposition
from duotone.plotting.figures import BLUE, FAINT, RED, budget_label, framed, new_axes, titled
from duotone.release.audit import Audit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 300
"""The charges up to which a ledger is drawn one by one."""


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


def spending(account: Statement, *, ax: Axes | None = None) -> Figure:
    """A dataset's ledger: what is spent over time, beside plain sums of ε, up to the budget; wasted charges crossed."""
    figure, ax = new_axes(ax, (7.2, 4.2))
    rule, budget = account.registered.privacy_filter, account.registered.budget
    shown = account.charges[:: max(1, len(account.charges) // POINTS)]
    times: list[Any] = [charge.at for charge in shown]
    spent = [rule.spent(charge.spent)[0] for charge in shown]
    summed = [BasicComposition(budget).spent(charge.spent)[0] for charge in shown]
    top = max([budget.epsilon, *spent])
    ax.step(times, spent, where="post", color=BLUE, lw=1.8, marker="o", ms=3, label=f"spent, by the rule {rule.name}")
    if rule.name != "sum":
        ax.step(times, summed, where="post", color=FAINT, lw=1.2, label="ε added up")
    wasted = [(charge.at, y) for charge, y in zip(shown, spent, strict=True) if not charge.answered]
    if wasted:
        ax.plot(*zip(*wasted, strict=True), ls="", marker="x", ms=8, color=RED, label="charged, no answer", zorder=4)
    ax.axhline(budget.epsilon, color=RED, ls="--", lw=1.6, label=f"budget: {budget_label(budget)}")
    ax.set(ylim=(0, top * 1.15 + 0.01), ylabel=f"ε at δ = {float(budget.delta):g}", xlabel="time (UTC)")
    titled(ax, f"{account.registered.dataset}: {account.state.charges} charges")
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    figure.autofmt_xdate()
    framed(ax)
    return figure
