"""Pictures of questions about tables: how accurate an answer is, and the answers by group."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from duotone.errors import DuotoneError
from duotone.model.answer import word
from duotone.plotting.curves import error_by_distance, three_way
from duotone.plotting.figures import COLOUR, MARKER, budget_label, figure_class, framed, new_axes, titled
from duotone.words.sentences import brief

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from duotone.tables.answers import Answers
    from duotone.tables.prepared import Prepared

GROUPS = 80
"""Up to this many groups, each has a line in a picture."""


def answers(of: Answers, title: str | None = None, *, ax: Axes | None = None) -> Figure:
    """Released answers by group: a disc for yes, a square for no. At most 80 groups are drawn."""
    facts = of.facts
    if not facts.by:
        raise DuotoneError("a picture of answers has a line for each group: ask with group by")
    if len(of.answers) > GROUPS:
        raise DuotoneError(f"a picture of {len(of.answers)} groups would not be legible: at most {GROUPS} are drawn")
    names = [", ".join(map(str, key)) for key in of.answers]
    figure, ax = new_axes(ax, (5.6, 1.6 + 0.24 * len(names)))
    for colour, said, place in (("red", False, 0), ("blue", True, 1)):
        heights = [i for i, answer in enumerate(of.answers.values()) if answer is said]
        ax.scatter([place] * len(heights), heights, s=50, marker=MARKER[colour], color=COLOUR[colour], zorder=3)
    ax.set_xticks([0, 1], ["no", "yes"])
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.set(xlim=(-0.5, 1.5), ylim=(len(names) - 0.5, -0.5), ylabel=", ".join(facts.labels))
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
    from duotone.model.terms import DefiniteTerms
    from duotone.tables.answers import Answers

    facts = of.facts
    terms, title = facts.terms, facts.question if title is None else title
    if not isinstance(terms, DefiniteTerms):
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
