"""Pictures of tests: how often a hypothesis is rejected, by the real share."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from duotone.model.notice import Refusal
from duotone.plotting.figures import BLUE, FAINT, INK, framed, new_axes, titled
from duotone.statistics.binomial import difference
from duotone.statistics.power import NO_NOISE
from duotone.statistics.power import power as power_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from duotone.line.noise import Noise
    from duotone.tables.hypotheses import ShareTest

POINTS = 60


def power(test: ShareTest, noise: Noise, *, both: bool = False, ax: Axes | None = None) -> Figure:
    """How often a test of a public number of people rejects its hypothesis, by the real share, and the same test without
    noise. Counts have this noise; with `both`, the yes and the no are counted."""
    people, hypothesis = test.sample_size, test.hypothesis
    if people is None:
        raise Refusal("sample_size missing of a picture")
    share = hypothesis.share
    width = 6 * max(noise.give_or_take, (float(share * (1 - share)) * people) ** 0.5, 1.0) / people
    low, high = max(0.0, float(share) - width), min(1.0, float(share) + width)
    real = [Fraction(low + (high - low) * i / POINTS).limit_denominator(10**6) for i in range(POINTS + 1)]
    how: dict[str, Any] = {"alpha": test.alpha, "relation": hypothesis.relation}
    figure, ax = new_axes(ax, (6.4, 3.6))
    lines = ("without privacy", NO_NOISE, False, INK, "--"), ("private", difference(noise) if both else noise, both, BLUE, "-")
    for label, own, two, colour, style in lines:
        powers = [power_of(own, people, share, each, both=two, **how) for each in real]
        ax.plot([float(each) for each in real], powers, style, color=colour, label=label)
    ax.axhline(float(test.alpha), color=FAINT, lw=1)
    ax.axvline(float(share), color=FAINT, lw=1)
    ax.set(xlabel="real share", ylabel="probability of rejecting", ylim=(0, 1.02))
    ax.legend(frameon=False, loc="best")
    titled(ax, f"{hypothesis.text}, {people:,} people")
    framed(ax)
    return figure
