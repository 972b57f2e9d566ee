"""Pictures. Each function draws on `ax`, or on a new figure, and returns the figure; `save` writes it.

A new figure shows itself in a notebook. It is made without pyplot, so that no backend is chosen and nothing stays open.

Blue datasets are discs and red ones squares, in colours that colour-blind readers can tell apart.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
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

    from duotone.tables.answers import Answers
    from duotone.tables.prepared import Prepared

BLUE, RED, INK, FAINT = "#0072B2", "#D55E00", "#222222", "#BBBBBB"
MARKER = {"blue": "o", "red": "s"}
COLOUR = {"blue": BLUE, "red": RED}
LINES = ("-", "--", "-.", ":")
SEQUENCE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00")
POINTS = 300
"""The charges up to which a ledger is drawn one by one."""
LARGEST = 400
"""The number of datasets up to which a graph is drawn node by node."""
MARKED = 45
"""The points of a curve up to which each is marked."""
GROUPS = 80
"""The groups up to which each has a line in a picture."""

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
    figure: Figure = _figure()(figsize=(11, 4.6))
    left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1.15, 1]})
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


def line_phases(mechanism: LineMechanism, blue: int, red: int, *, ax: Axes | None = None) -> Figure:
    """Fig. 3. The line with its initial and terminal phase, and Pr[yes] above it."""
    privacy = mechanism.privacy
    if not isinstance(privacy, ApproxDP):
        raise DuotoneError("phases are a property of (epsilon, delta)-privacy")
    first = min(privacy.transition(mechanism.blue) + 1, blue - 1)
    figure, ax = _axes(ax, (8.4, 4.2))
    nodes = np.arange(1, blue + red + 1)
    yes = [float(mechanism.yes(blue - int(i))) for i in nodes]
    for colour, chosen in (("blue", nodes <= blue), ("red", nodes > blue)):
        ax.vlines(nodes[chosen], 0, np.array(yes)[chosen], color=COLOUR[colour], lw=2, zorder=2)
        ax.scatter(nodes[chosen], np.array(yes)[chosen], s=46, marker=MARKER[colour], color=COLOUR[colour], zorder=3)
    ax.axvline(blue + 0.5, color=INK, lw=1, ls=":")
    ax.text(blue + 0.5, 1.02, "boundary", ha="center", fontsize=8, color=INK)
    # their names stand left of the boundary, one below the other
    spans = [("initial", blue - first, blue, -0.16), ("terminal", 1, blue - first - 1, -0.26)]
    for name, start, end, height in spans:
        if start < end or (start == end and name == "terminal"):
            ax.plot([start - 0.25, end + 0.25], [-0.10, -0.10], color=INK, lw=3, solid_capstyle="butt", clip_on=False)
            ax.text(
                end + 0.25, height, f"{name} recurrence", ha="right", va="top", fontsize=9, color=INK
            )  # left of the boundary
    ax.set(ylim=(-0.36, 1.1), ylabel="Pr[yes]", xlabel="dataset on the line", yticks=[0, 0.25, 0.5, 0.75, 1])
    ax.set_xticks(nodes if len(nodes) <= 24 else nodes[:: math.ceil(len(nodes) / 24)])
    _frame(ax)
    return figure


def error_by_distance(
    budgets: Sequence[ApproxDP | LineMechanism],
    longest: int | None = None,
    *,
    log: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """The balanced optimum's error by how many people would flip the answer, from 1 on, a line per budget; of a mechanism
    that is not balanced, a line for each mistake.

    Each line ends where the error becomes exactly 0, and says where that is.
    """
    sides = [side for given in budgets for side in _sides(given if isinstance(given, LineMechanism) else balanced(given))]
    ends = [mechanism.certain[1 if red else 0] + 1 for mechanism, red, _ in sides]
    reach = longest or int(max((e for e in ends if math.isfinite(e)), default=20))
    figure, ax = _axes(ax, (7.2, 4.4))
    for i, ((mechanism, red, name), end) in enumerate(zip(sides, ends, strict=True)):
        margins = np.arange(1, int(min(end, reach + 1)))
        errors = np.array([float(mechanism.error(-int(m) if red else int(m) - 1)) for m in margins])
        style: dict[str, Any] = {"color": SEQUENCE[i % len(SEQUENCE)], "ls": LINES[i % len(LINES)], "lw": 1.6}
        marker = "o" if len(margins) <= MARKED else None
        until = f"; never wrong from {end:g} on" if math.isfinite(end) else "; never certain"
        ax.plot(margins, errors, marker=marker, ms=3.5, label=_budget(mechanism.privacy) + name + until, **style)
        if end <= reach and len(margins):
            ax.plot(margins[-1], errors[-1], marker="|", ms=12, color=style["color"])
    if log:
        ax.set_yscale("log")
    ax.set(xlabel="people from flipping (1: one person flips the answer)", ylabel="Pr[wrong answer]", xlim=(0.5, reach + 0.5))
    _titled(ax, title)
    ax.legend(frameon=False, fontsize=8, loc="upper right")
    _frame(ax)
    return figure


def answers(of: Answers, title: str | None = None, *, ax: Axes | None = None) -> Figure:
    """Released answers by group: a disc for yes, a square for no. At most 80 groups are drawn."""
    if not of.by:
        raise DuotoneError("a picture of answers has a line for each group: ask with group by")
    if len(of.answers) > GROUPS:
        raise DuotoneError(f"a picture of {len(of.answers)} groups would not be legible: at most {GROUPS} are drawn")
    names = [", ".join(map(str, key)) for key in of.answers]
    figure, ax = _axes(ax, (5.6, 1.6 + 0.24 * len(names)))
    for colour, said, place in (("red", False, 0), ("blue", True, 1)):
        heights = [i for i, answer in enumerate(of.answers.values()) if answer is said]
        ax.scatter([place] * len(heights), heights, s=50, marker=MARKER[colour], color=COLOUR[colour], zorder=3)
    ax.set_xticks([0, 1], ["no", "yes"])
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.set(xlim=(-0.5, 1.5), ylim=(len(names) - 0.5, -0.5), ylabel=", ".join(of.by))
    ax.xaxis.tick_top()
    _titled(ax, title)
    _frame(ax)
    return figure


def question(of: Prepared, title: str | None = None, released: Answers | None = None) -> Figure:
    """How often the answer to a question is wrong, by how many people would flip it; of grouped answers, these beside it."""
    if released is None or not released.by:
        return error_by_distance([of.mechanism], title=title)
    figure: Figure = _figure()(figsize=(11, max(4.4, 1.6 + 0.24 * len(released.answers))))
    left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1, 1.4], "wspace": 0.3})
    answers(released, ax=left)
    error_by_distance([of.mechanism], title="each answer, with its share of the budget", ax=right)
    if title is not None:
        figure.suptitle("\n".join(textwrap.wrap(title, 110)), fontsize=11, x=0.02, y=1.02, ha="left", parse_math=False)
    return figure


def _sides(mechanism: LineMechanism) -> list[tuple[LineMechanism, bool, str]]:
    """What of a mechanism is drawn: whether it is the red side, and its name; one side where both are alike."""
    if mechanism.boundary == "balanced":
        return [(mechanism, False, "")]
    return [(mechanism, False, ": false no"), (mechanism, True, ": false yes")]


def tradeoff_curve(budgets: Sequence[PrivacyDefinition], *, ax: Axes | None = None) -> Figure:
    """Truth at the blue boundary against the most truth then possible at the red one; the balanced point marked."""
    figure, ax = _axes(ax, (5.2, 5.0))
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


def audit_bound(audit: Audit, *, ax: Axes | None = None) -> Figure:
    """An audit: the lower bound on ε by number of draws, against the claim."""
    figure, ax = _axes(ax, (6.4, 4.0))
    draws, bounds = zip(*audit.history, strict=True)
    ax.plot(draws, bounds, color=BLUE, marker="o", ms=3, lw=1.6, label=f"lower bound ({audit.confidence:.6g} confidence)")
    ax.axhline(audit.claim.epsilon, color=RED, ls="--", lw=1.6, label=f"claimed: {_budget(audit.claim)}")
    ax.set_xscale("log")
    top = max(audit.claim.epsilon, *bounds)
    ax.set(xlabel="answers drawn on each side", ylabel="ε", ylim=(0, top * 1.15 + 0.05))
    ax.legend(frameon=False, fontsize=9)
    _frame(ax)
    return figure


def spending(account: Statement, *, ax: Axes | None = None) -> Figure:
    """A dataset's ledger: what is spent over time, beside plain sums of ε, up to the budget; wasted charges crossed."""
    figure, ax = _axes(ax, (7.2, 4.2))
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
    _titled(ax, f"{account.registered.dataset}: {account.state.charges} charges")
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
        target.write_bytes(_written(figure, target.suffix[1:]))
    except OSError as error:
        raise DuotoneError(f"cannot write {target}: {error.strerror}") from None
    return target


def _written(figure: Figure, kind: str) -> bytes:
    """A figure as a file of this kind: the same bytes each time."""
    import matplotlib

    content = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "duotone", "svg.fonttype": "path"}):
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(content, format=kind, dpi=160, bbox_inches="tight", metadata=metadata)
    return content.getvalue()


def as_svg(figure: Figure) -> str:
    """A figure as the text of an SVG element, for a page."""
    text = _written(figure, "svg").decode()
    return text[text.index("<svg") :]


@cache
def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("a picture", "draw") from None

    class Picture(Figure):
        """A figure that a notebook shows, whatever backend it has."""

        def _repr_png_(self) -> bytes:
            return _written(self, "png")

    return Picture


def _axes(ax: Axes | None, size: tuple[float, float]) -> tuple[Figure, Any]:
    if ax is not None:
        return cast("Figure", ax.get_figure(root=True)), ax
    figure = _figure()(figsize=size)
    return figure, figure.add_subplot()


def _titled(ax: Axes, title: str | None) -> None:
    if title is not None:
        ax.set_title("\n".join(textwrap.wrap(title, 90)), fontsize=10, loc="left", parse_math=False)


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
