"""Pictures. Each function returns a matplotlib figure; `save` writes it.

Blue datasets are discs and red ones squares, in colours that colour-blind readers can tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from duotone.errors import DuotoneError, MissingExtra
from duotone.graphs.graph import ColouredGraph, label
from duotone.graphs.mechanism import Mechanism
from duotone.graphs.morphism import boundary_morphism
from duotone.ledger.account import Statement
from duotone.ledger.privacy_filters import BasicComposition
from duotone.line.mechanism import NEVER, LineMechanism, balanced, tradeoff
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.definition import PrivacyDefinition
from duotone.privacy.numbers import Number
from duotone.release.audit import Audit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, INK, FAINT = "#0072B2", "#D55E00", "#222222", "#BBBBBB"
MARKER = {"blue": "o", "red": "s"}
COLOUR = {"blue": BLUE, "red": RED}
LINES = ("-", "--", "-.", ":")
SEQUENCE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00")
POINTS = 300
"""The charges up to which a ledger is drawn one by one."""
LARGEST = 400
"""The number of datasets up to which a graph is drawn node by node."""

Positions = Mapping[Hashable, tuple[float, float]]


def graph(
    of: ColouredGraph | Mechanism, positions: Positions | None = None, *, labels: bool = True, ax: Axes | None = None
) -> Figure:
    """A coloured graph, its boundary ringed; for a mechanism, each dataset's Pr[truth] as opacity and label."""
    coloured = of.graph if isinstance(of, Mechanism) else of
    if len(coloured) > LARGEST:
        raise DuotoneError(f"a picture of {len(coloured)} datasets would not be legible: at most {LARGEST} are drawn")
    truth = dict(zip(coloured.names, of.truth, strict=True)) if isinstance(of, Mechanism) else None
    where = positions or _layout(coloured)
    extent = np.ptp(np.array(list(where.values())), axis=0)
    figure, ax = _axes(ax, (float(np.clip(1.25 * extent[0], 7.2, 18)), float(np.clip(0.75 * extent[1], 5, 14))))
    _edges(ax, coloured, where)
    ringed = set(coloured.boundary("blue")) | set(coloured.boundary("red"))
    size = 200 if len(coloured) <= 40 else 60
    for name in coloured.names:
        x, y = where[name]
        colour = coloured.colour(name)
        alpha = 1.0 if truth is None else 0.15 + 0.85 * float(truth[name])
        ax.scatter(x, y, s=size, marker=MARKER[colour], color="white", zorder=2)
        ax.scatter(x, y, s=size, marker=MARKER[colour], color=COLOUR[colour], alpha=alpha, linewidths=0, zorder=3)
        if name in ringed:
            ax.scatter(x, y, s=size * 2.4, marker=MARKER[colour], facecolors="none", edgecolors=INK, linewidths=1.1, zorder=4)
    if labels and len(coloured) <= 60:
        for name in coloured.names:
            text = label(name) if truth is None else f"{label(name)}: {_short(truth[name])}"
            _label(ax, text, where[name])
    _legend(ax, ringed=bool(ringed), mechanism=truth is not None)
    ax.margins(0.12)
    ax.set_axis_off()
    return figure


def boundary_graph(of: ColouredGraph, positions: Positions | None = None) -> Figure:
    """Fig. 2. A coloured graph on the left, its boundary graph on the right with the datasets that each node stands for."""
    g = boundary_morphism(of)
    plt = _pyplot()
    figure: Figure
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), gridspec_kw={"width_ratios": [1.15, 1]})
    graph(of, positions, ax=left)
    columns: dict[Any, list[str]] = {node: [] for node in g.target.names}
    for d in of.names:
        columns[g.map[d]].append(label(d))
    right.plot([1, len(columns)], [0, 0], color=INK, lw=1, zorder=1)
    for node, names in columns.items():
        colour = g.target.colour(node)
        right.scatter(node, 0, s=110, marker=MARKER[colour], color=COLOUR[colour], zorder=3)
        shown = sorted(names) if len(names) <= 12 else [*sorted(names)[:11], f"+ {len(names) - 11}"]
        right.text(node, -0.09, "\n".join(shown), ha="center", va="top", fontsize=9, color=INK, parse_math=False)
    right.set(xlim=(0.4, len(columns) + 0.6), ylim=(-1, 0.6))
    right.set_axis_off()
    figure.text(0.545, 0.60, r"$\longrightarrow$", fontsize=22, ha="center")
    figure.text(0.545, 0.68, r"$g_\partial$", fontsize=13, ha="center")
    return figure


def line_phases(mechanism: LineMechanism, blue: int, red: int) -> Figure:
    """Fig. 3. The line with its initial and terminal phase, and Pr[yes] above it."""
    privacy = mechanism.privacy
    if not isinstance(privacy, ApproxDP):
        raise DuotoneError("phases are a property of (epsilon, delta)-privacy")
    first = min(privacy.transition(mechanism.blue) + 1, blue - 1)
    figure, ax = _axes(None, (8.4, 4.2))
    nodes = np.arange(1, blue + red + 1)
    yes = [float(mechanism.yes(blue - int(i))) for i in nodes]
    for colour, chosen in (("blue", nodes <= blue), ("red", nodes > blue)):
        ax.vlines(nodes[chosen], 0, np.array(yes)[chosen], color=COLOUR[colour], lw=2, zorder=2)
        ax.scatter(nodes[chosen], np.array(yes)[chosen], s=46, marker=MARKER[colour], color=COLOUR[colour], zorder=3)
    ax.axvline(blue + 0.5, color=INK, lw=1, ls=":")
    ax.text(blue + 0.5, 1.02, "boundary", ha="center", fontsize=8, color=INK)
    spans = [("initial", blue - first, blue), ("terminal", 1, blue - first - 1)]
    for name, start, end in spans:
        if start < end or (start == end and name == "terminal"):
            ax.plot([start - 0.25, end + 0.25], [-0.10, -0.10], color=INK, lw=3, solid_capstyle="butt", clip_on=False)
            ax.text((start + end) / 2, -0.20, f"{name} recurrence", ha="center", va="top", fontsize=9, color=INK)
    ax.set(ylim=(-0.32, 1.1), ylabel="Pr[yes]", xlabel="dataset on the line", yticks=[0, 0.25, 0.5, 0.75, 1])
    ax.set_xticks(nodes if len(nodes) <= 24 else nodes[:: math.ceil(len(nodes) / 24)])
    _frame(ax)
    return figure


def error_by_distance(budgets: Sequence[ApproxDP | LineMechanism], longest: int | None = None, *, log: bool = True) -> Figure:
    """The balanced optimum's error by how many people would flip the answer, from 1 on, a line per budget; of a mechanism
    that is not balanced, a line for each mistake.

    Each line ends where the error becomes exactly 0.
    """
    sides = [side for given in budgets for side in _sides(given if isinstance(given, LineMechanism) else balanced(given))]
    ends = [mechanism.certain[1 if red else 0] + 1 for mechanism, red, _ in sides]
    reach = longest or int(min(40, max((e for e in ends if math.isfinite(e)), default=20)))
    figure, ax = _axes(None, (7.2, 4.4))
    for i, ((mechanism, red, name), end) in enumerate(zip(sides, ends, strict=True)):
        margins = np.arange(1, int(min(end, reach + 1)))
        errors = np.array([float(mechanism.error(-int(m) if red else int(m) - 1)) for m in margins])
        style = {"color": SEQUENCE[i % len(SEQUENCE)], "ls": LINES[i % len(LINES)], "lw": 1.6}
        ax.plot(margins, errors, marker="o", ms=3.5, label=_budget(mechanism.privacy) + name, **style)
        if end <= reach:
            ax.annotate(f"0 from {end:g}", (margins[-1], errors[-1]), (4, -2), textcoords="offset points", fontsize=7)
    if log:
        ax.set_yscale("log")
    ax.set(
        xlabel="people from flipping (1: one person flips the answer)",
        ylabel="Pr[wrong answer]",
        xlim=(0.5, reach + 0.5),
    )
    ax.legend(frameon=False, fontsize=9, loc="upper right")
    _frame(ax)
    return figure


def _sides(mechanism: LineMechanism) -> list[tuple[LineMechanism, bool, str]]:
    """What of a mechanism is drawn: whether it is the red side, and its name; one side where both are alike."""
    if mechanism.boundary == "balanced":
        return [(mechanism, False, "")]
    return [(mechanism, False, ": false no"), (mechanism, True, ": false yes")]


def tradeoff_curve(budgets: Sequence[PrivacyDefinition]) -> Figure:
    """Truth at the blue boundary against the most truth then possible at the red one; the balanced point marked."""
    figure, ax = _axes(None, (5.2, 5.0))
    for i, privacy in enumerate(budgets):
        colour = SEQUENCE[i % len(SEQUENCE)]
        curve = np.array(tradeoff(privacy, 401), dtype=float).T
        ax.plot(*curve, color=colour, ls=LINES[i % len(LINES)], lw=1.6, label=_budget(privacy))
        m = float(balanced(privacy).blue)
        ax.plot(m, m, marker="D", ms=6, color=colour)
    ax.plot([], [], marker="D", ls="", ms=6, color=INK, label="balanced")
    ax.set(xlabel="Pr[truth] at the blue boundary", ylabel="Pr[truth] at the red boundary", xlim=(0, 1.02), ylim=(0, 1.02))
    ax.set_aspect("equal")
    ax.legend(frameon=False, fontsize=9, loc="lower left")
    _frame(ax)
    return figure


def audit_bound(audit: Audit) -> Figure:
    """An audit: the lower bound on ε by number of draws, against the claim."""
    figure, ax = _axes(None, (6.4, 4.0))
    draws, bounds = zip(*audit.history, strict=True)
    ax.plot(draws, bounds, color=BLUE, marker="o", ms=3, lw=1.6, label=f"lower bound ({audit.confidence:.6g} confidence)")
    ax.axhline(audit.claim.epsilon, color=RED, ls="--", lw=1.6, label=f"claimed: {_budget(audit.claim)}")
    ax.set_xscale("log")
    top = max(audit.claim.epsilon, *bounds)
    ax.set(xlabel="answers drawn on each side", ylabel="ε", ylim=(0, top * 1.15 + 0.05))
    ax.legend(frameon=False, fontsize=9)
    _frame(ax)
    return figure


def spending(account: Statement) -> Figure:
    """A dataset's ledger: what is spent over time, beside plain sums of ε, up to the budget; wasted charges crossed."""
    figure, ax = _axes(None, (7.2, 4.2))
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
    ax.axhline(budget.epsilon, color=RED, ls="--", lw=1.6, label=f"budget: {_budget(budget)}")
    ax.set(ylim=(0, top * 1.15 + 0.01), ylabel=f"ε at δ = {float(budget.delta):g}", xlabel="time (UTC)")
    ax.set_title(f"{account.registered.dataset}: {account.state.charges} charges", fontsize=10, loc="left", parse_math=False)
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    figure.autofmt_xdate()
    _frame(ax)
    return figure


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as SVG, PNG or PDF, by the ending of the path."""
    target = Path(path)
    if target.suffix not in (".svg", ".png", ".pdf"):
        raise DuotoneError(f"a picture must end in .svg, .png or .pdf, got {target.name}")
    try:
        with _pyplot().rc_context({"svg.hashsalt": "duotone", "svg.fonttype": "path"}):
            metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(target.suffix)
            figure.savefig(target, dpi=160, bbox_inches="tight", metadata=metadata)
    except OSError as error:
        raise DuotoneError(f"cannot write {target}: {error.strerror}") from None
    _pyplot().close(figure)
    return target


def _pyplot() -> Any:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra("a picture", "draw") from None
    return plt


def _axes(ax: Axes | None, size: tuple[float, float]) -> tuple[Figure, Any]:
    if ax is not None:
        return cast("Figure", ax.get_figure(root=True)), ax
    figure, ax = _pyplot().subplots(figsize=size)
    return figure, ax


def _frame(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=FAINT, lw=0.4)


def _edges(ax: Axes, coloured: ColouredGraph, where: Positions) -> None:
    from matplotlib.collections import LineCollection

    inside: list[Any] = []
    cut: list[Any] = []
    for a, b in coloured.edges():
        (inside if coloured.colour(a) == coloured.colour(b) else cut).append((where[a], where[b]))
    ax.add_collection(LineCollection(inside, colors="#888888", linewidths=0.9, zorder=1))
    ax.add_collection(LineCollection(cut, colors=INK, linewidths=1.3, linestyles="dashed", zorder=1))


def _label(ax: Axes, text: str, at: tuple[float, float]) -> None:
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=3, foreground="white")]
    style: dict[str, Any] = {"parse_math": False, "fontsize": 8, "color": INK, "path_effects": halo, "zorder": 5}
    ax.annotate(text, at, (0, -17), textcoords="offset points", ha="center", va="top", **style)


def _legend(ax: Axes, *, ringed: bool, mechanism: bool) -> None:
    for colour, answer in (("blue", "yes"), ("red", "no")):
        ax.scatter([], [], s=60, marker=MARKER[colour], color=COLOUR[colour], label=f"{colour}: {answer}")
    if ringed:
        ax.scatter([], [], s=110, marker="o", facecolors="none", edgecolors=INK, label="boundary")
    title = "label and opacity: Pr[truth]" if mechanism else None
    ax.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=3, title=title, title_fontsize=8)


def _layout(coloured: ColouredGraph) -> Positions:
    """Datasets in columns by level, the deepest blue ones first, each near its neighbours in the next column."""
    # networkx.multipartite_layout does not order a column: of votes(6), 2,076 pairs of edges cross instead of 936.
    levels = coloured.levels
    never = (levels == NEVER) | (levels == -1 - NEVER)
    deepest = int(np.abs(levels[~never]).max(initial=0)) + 1
    column = np.where(never, np.where(coloured.blue, deepest, -1 - deepest), levels)
    columns = [np.flatnonzero(column == level).tolist() for level in sorted(set(column.tolist()), reverse=True)]
    height = np.zeros(len(coloured))
    for sweep in range(8):
        for nodes in columns if sweep % 2 == 0 else reversed(columns):
            near = {i: coloured.indices[coloured.indptr[i] : coloured.indptr[i + 1]] for i in nodes}
            nodes.sort(key=lambda i: float(height[near[i]].mean()) if len(near[i]) else 0.0)
            height[nodes] = np.arange(len(nodes)) - (len(nodes) - 1) / 2
    return {
        coloured.names[i]: (1.4 * x + (0.2 * (-1) ** k if len(nodes) > 1 else 0), float(height[i]))
        for x, nodes in enumerate(columns)
        for k, i in enumerate(nodes)
    }


def _short(x: Number) -> str:
    return f"{float(x):.4g}"


def _budget(privacy: Any) -> str:
    if not isinstance(privacy, ApproxDP):
        return str(privacy)
    short = privacy.exact and privacy.epsilon and len(str(privacy.exp_epsilon)) <= 12
    first = f"e^ε = {privacy.exp_epsilon}" if short else f"ε = {privacy.epsilon:g}"
    return f"{first}, δ = {float(privacy.delta):g}"
