"""Pictures of mechanisms: a line with its phases, errors by distance, and the trade-off between both sides; and of questions:
how accurate an answer is, and the answers by group."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from duotone.errors import DuotoneError
from duotone.graphs.graph import label
from duotone.line.choice import LineOrWhich
from duotone.line.mechanism import LineMechanism, balanced, tradeoff
from duotone.line.table import Table
from duotone.line.three_way import clear_from
from duotone.line.which import Which
from duotone.model.answer import word
from duotone.plotting.figures import (
    BLUE,
    COLOUR,
    FAINT,
    INK,
    LINES,
    MARKER,
    RED,
    SEQUENCE,
    budget_label,
    figure_class,
    framed,
    new_axes,
    titled,
)
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.definition import PrivacyDefinition
from duotone.privacy.text import Definition
from duotone.words.sentences import brief

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from duotone.graphs.sweep import Sweep
    from duotone.tables.answers import Answers
    from duotone.tables.prepared import Prepared

LARGEST_SWEEP = 40
"""Up to this many different curves, a sweep is drawn."""
MARKED = 45
"""Up to this many points of a curve, each is marked."""


def line_phases(mechanism: LineMechanism, blue: int, red: int, *, ax: Axes | None = None) -> Figure:
    """Fig. 3. The line with its initial and terminal phase, and Pr[yes] above it."""
    if not isinstance(mechanism, LineMechanism):
        raise DuotoneError(f"phases are of a line, as balanced and with_boundary make it, got {type(mechanism).__name__}")
    privacy = mechanism.privacy
    if not isinstance(privacy, ApproxDP):
        raise DuotoneError("phases can be drawn for (epsilon, delta)-privacy only")
    first = min(privacy.transition(mechanism.blue) + 1, blue - 1)
    figure, ax = new_axes(ax, (8.4, 4.2))
    nodes = np.arange(1, blue + red + 1)
    yes = [float(mechanism.yes(blue - int(i))) for i in nodes]
    for colour, chosen in (("blue", nodes <= blue), ("red", nodes > blue)):
        ax.vlines(nodes[chosen], 0, np.array(yes)[chosen], color=COLOUR[colour], lw=2, zorder=2)
        ax.scatter(nodes[chosen], np.array(yes)[chosen], s=46, marker=MARKER[colour], color=COLOUR[colour], zorder=3)
    ax.plot([blue + 0.5] * 2, [-0.36, 1], color=INK, lw=1, ls=":")
    ax.text(blue + 0.5, 1.02, "boundary", ha="center", fontsize=8, color=INK)
    # their names are short, and stand between the axis and the boundary, one below the other
    spans = [("initial", blue - first, blue, -0.16), ("terminal", 1, blue - first - 1, -0.26)]
    for name, start, end, height in spans:
        if start < end or (start == end and name == "terminal"):
            ax.plot([start - 0.25, end + 0.25], [-0.10, -0.10], color=INK, lw=3, solid_capstyle="butt", clip_on=False)
            at, side = (start - 0.25, "left") if name == "terminal" else (end + 0.25, "right")
            ax.text(at, height, name, ha=side, va="top", fontsize=9, color=INK)
    ax.set(ylim=(-0.36, 1.1), ylabel="Pr[yes]", yticks=[0, 0.25, 0.5, 0.75, 1])
    ax.set_xlabel("dataset on the line; below it, the phase of its recurrence")
    ax.set_xticks(nodes if len(nodes) <= 24 else nodes[:: math.ceil(len(nodes) / 24)])
    framed(ax)
    return figure


def error_by_distance(
    budgets: Sequence[Definition | LineOrWhich],
    *,
    title: str | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """The balanced optimum's error by how many people would flip the answer, from 1 on, a line per budget; for a
    mechanism that is not balanced, a line per kind of mistake; for one answer among k a line, too.

    Each line ends where the error becomes exactly 0, and is labelled there. `labels` name the budgets.
    """
    mechanisms = [budget if isinstance(budget, LineOrWhich) else balanced(budget) for budget in _several(budgets)]
    sides = [side for mechanism in mechanisms for side in _sides(mechanism)]
    labels = labels or [budget_label(mechanism.privacy) for mechanism in mechanisms]
    ends = [mechanism.certain[1 if red else 0] + 1 for mechanism, red, _ in sides]
    reach = int(max((e for e in ends if math.isfinite(e)), default=20))
    named = [called + name for called, mechanism in zip(labels, mechanisms, strict=True) for _, _, name in _sides(mechanism)]
    figure, ax = new_axes(ax, (7.2, 4.4))
    for i, ((mechanism, red, _), end, name) in enumerate(zip(sides, ends, named, strict=True)):
        margins = np.arange(1, int(min(end, reach + 1)))
        errors = np.array([float(mechanism.error(-int(m) if red else int(m) - 1)) for m in margins])
        style: dict[str, Any] = {"color": SEQUENCE[i % len(SEQUENCE)], "ls": LINES[i % len(LINES)], "lw": 1.6}
        marker = "o" if len(margins) <= MARKED else None
        until = f"; never wrong from {end:g} on" if math.isfinite(end) else "; never certain"
        ax.plot(margins, errors, marker=marker, ms=3.5, label=name + until, **style)
        if end <= reach and len(margins):
            ax.plot(margins[-1], errors[-1], marker="|", ms=12, color=style["color"])
    ax.set_yscale("log")
    ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="people from flipping (1: one person flips the answer)", ylabel="Pr[wrong answer]", xlim=(0.5, reach + 0.5))
    titled(ax, title)
    ax.legend(frameon=False, fontsize=8, loc="upper right")
    framed(ax)
    return figure


def _sides(mechanism: LineOrWhich) -> list[tuple[LineOrWhich, bool, str]]:
    """The drawn sides of a mechanism, each with its label: whether it is the red side; only one if both are alike."""
    if isinstance(mechanism, Which):
        return [(mechanism, False, f": {mechanism}")]
    if mechanism.boundary == "balanced":
        return [(mechanism, False, "")]
    return [(mechanism, False, ": false no"), (mechanism, True, ": false yes")]


def _several(budgets: Any) -> Sequence[Any]:
    if not isinstance(budgets, Iterable):
        raise DuotoneError(f"a picture takes a list of budgets, got {type(budgets).__name__}")
    return [*budgets]


def tradeoff_curve(budgets: Sequence[PrivacyDefinition], *, ax: Axes | None = None) -> Figure:
    """The truth at the blue boundary against the most truth then possible at the red one; the balanced point is
    marked."""
    figure, ax = new_axes(ax, (5.2, 5.0))
    for i, privacy in enumerate(_several(budgets)):
        colour = SEQUENCE[i % len(SEQUENCE)]
        curve = np.array(tradeoff(privacy, 401), dtype=float).T
        ax.plot(*curve, color=colour, ls=LINES[i % len(LINES)], lw=1.6, label=budget_label(privacy))
        m = float(balanced(privacy).blue)
        ax.plot(m, m, marker="D", ms=6, color=colour)
    ax.plot([], [], marker="D", ls="", ms=6, color=INK, label="balanced")
    ax.set(xlabel="Pr[truth] at the blue boundary", ylabel="Pr[truth] at the red boundary", xlim=(0, 1.02), ylim=(0, 1.02))
    ax.set_aspect("equal")
    ax.legend(frameon=False, fontsize=9, loc="lower left")
    framed(ax)
    return figure


NAMED = 4
"""Most datasets of a curve that its label names."""


def sweep(of: Sweep, *, ax: Axes | None = None) -> Figure:
    """Pr[yes] on each dataset by ε, or by δ where only that differs, or else by definition; datasets that are always
    answered alike share a curve."""
    if not hasattr(of, "definitions"):
        raise DuotoneError(f"a picture of a sweep needs what duotone.graphs.sweep.sweep returns, got {type(of).__name__}")
    at, says, log = _swept(of.definitions)
    order = np.argsort(at, kind="stable")
    graph = of.mechanisms[0].graph
    yes = zip(*(mechanism.yes.values() for mechanism in of.mechanisms), strict=True)
    curves: dict[tuple[Any, ...], list[str]] = {}
    for name, blue, each in zip(graph.names, graph.blue.tolist(), yes, strict=True):
        curves.setdefault((blue, *each), []).append(label(name))
    if len(curves) > LARGEST_SWEEP:
        raise DuotoneError(f"a picture of {len(curves)} curves would not be legible: at most {LARGEST_SWEEP} are drawn")
    figure, ax = new_axes(ax, (7.2, 4.4))
    for i, (curve, names) in enumerate(sorted(curves.items(), key=lambda one: one[0][::-1], reverse=True)):
        colour, chances = "blue" if curve[0] else "red", np.array(curve[1:], dtype=float)
        called = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
        style: dict[str, Any] = {"color": COLOUR[colour], "ls": LINES[i % len(LINES)], "marker": MARKER[colour], "ms": 4}
        ax.plot(np.array(at)[order], chances[order], label=f"{colour}: {called}", **style)
    if log:
        ax.set_xscale("log")
    if says is None:
        ax.set_xticks(at, [budget_label(privacy) for privacy in of.definitions], rotation=20, ha="right", parse_math=False)
    ax.set(xlabel=says or "", ylabel="Pr[yes]", ylim=(-0.02, 1.02))
    legend = ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    for text in legend.get_texts():
        text.set_parse_math(False)
    framed(ax)
    return figure


def _swept(definitions: Sequence[PrivacyDefinition]) -> tuple[list[float], str | None, bool]:
    """Where each definition stands on the horizontal axis, the axis's name if it is a number, and whether it is
    logarithmic."""
    plain = [privacy for privacy in definitions if isinstance(privacy, ApproxDP)]
    if len(plain) == len(definitions):
        epsilons, deltas = [p.epsilon for p in plain], [float(p.delta) for p in plain]
        if len(set(deltas)) == 1 and len(set(epsilons)) == len(plain):
            return epsilons, f"ε (δ = {deltas[0]:g})", False
        if len(set(epsilons)) == 1 and len(set(deltas)) == len(plain):
            return deltas, f"δ (ε = {epsilons[0]:.4g})", min(deltas) > 0
    return [float(i) for i in range(len(definitions))], None, False


SHOWN = 0.001
"""The picture ends where the chance of a close call falls to this, plus half of that distance."""


def three_way(table: Table, *, title: str | None = None, ax: Axes | None = None) -> Figure:
    """Pr[yes], Pr[no] and Pr[too close to call] by how many people would have to be different to flip the answer: to no
    on the right, to yes on the left."""
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


GROUPS = 80
"""Up to this many groups, each has a line in a picture."""


def answers(of: Answers, title: str | None = None, *, ax: Axes | None = None) -> Figure:
    """Released answers by group: a disc for yes, a square for no, or one of several answers. At most 80 groups are drawn."""
    from duotone.model.terms import WhichTerms

    facts = of.facts
    if not facts.by:
        raise DuotoneError("a picture of answers has a line for each group: ask with group by")
    if len(of.answers) > GROUPS:
        raise DuotoneError(f"a picture of {len(of.answers)} groups would not be legible: at most {GROUPS} are drawn")
    names = [", ".join(map(str, key)) for key in of.answers]
    figure, ax = new_axes(ax, (5.6, 1.6 + 0.24 * len(names)))
    several = isinstance(facts.terms, WhichTerms)
    among = facts.terms.answers if isinstance(facts.terms, WhichTerms) else ("no", "yes")
    for place, said in enumerate(among):
        heights = [i for i, answer in enumerate(of.words.values()) if answer == said]
        colour = "blue" if several or said == "yes" else "red"
        ax.scatter([place] * len(heights), heights, s=50, marker=MARKER[colour], color=COLOUR[colour], zorder=3)
    ax.set_xticks(range(len(among)), among, parse_math=False)
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.set(xlim=(-0.5, len(among) - 0.5), ylim=(len(names) - 0.5, -0.5), ylabel=", ".join(facts.labels))
    ax.xaxis.tick_top()
    titled(ax, title)
    framed(ax)
    return figure


def _mark(of: Answers, ax: Axes) -> None:
    """Draw an answer's estimated margin, and how far off that may be."""
    seems, off = of.distance, of.sure.noise.give_or_take
    colour = COLOUR["blue" if of.answer else "red"]
    ax.axvspan(seems - off, seems + off, color=colour, alpha=0.12, lw=0)
    ax.axvline(seems, color=colour, lw=1.4)
    ax.set_xlim(0.5, max(ax.get_xlim()[1], seems + off + 0.5))
    said = f" {word(of.answer)}, {brief(of.sure.numbers())} "
    beyond = seems > sum(ax.get_xlim()) / 2
    side = "right" if beyond else "left"
    ax.annotate(said, (seems, 0.03), xycoords=ax.get_xaxis_transform(), ha=side, fontsize=9, color=colour)


def question(of: Prepared | Answers, title: str | None = None) -> Figure:
    """How often the answer to a question is wrong, or too close to call, by how many people would flip it; grouped
    answers stand beside it. The default title is the question."""
    from duotone.model.terms import PaidTerms
    from duotone.tables.answers import Answers

    facts = of.facts
    terms, title = facts.terms, facts.question if title is None else title
    if not isinstance(terms, PaidTerms):
        return three_way(terms.table, title=title)
    labels = [f"each answer: {budget_label(terms.share)}"] if terms.share != terms.privacy or facts.by else None
    if not (isinstance(of, Answers) and facts.by):
        figure: Figure = error_by_distance([terms.mechanism], title=title, labels=labels)
        if isinstance(of, Answers) and of.margins:
            _mark(of, figure.axes[0])
        return figure
    size = 11, max(4.4, 1.6 + 0.24 * len(of.answers))
    figure = figure_class()(figsize=size, layout="constrained")  # leaves room for long names and titles
    left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1, 1.4]})
    answers(of, ax=left)
    error_by_distance([terms.mechanism], title="each answer, with its share of the budget", labels=labels, ax=right)
    figure.suptitle("\n".join(textwrap.wrap(title, 110)), fontsize=11, x=0.01, ha="left", parse_math=False)
    return figure
