"""Accuracy of Duotone against noise and compare, on real tables, computed exactly. Usage: accuracy.py [FOLDER for pictures].

The limit of each question is varied so that the table is 1 to 20 people from flipping, on both sides. docs/theory.md
explains what is compared, and with which sensitivities.
"""

from __future__ import annotations

import importlib.metadata
import math
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import measure
import numpy as np

from duotone import ApproxDP, balanced, plotting, prepare
from support.accuracy_cases import CHILE, MARGINS, Cases, Groups, questions, salaries, single_mean
from support.noise import (
    Array,
    canonical,
    discrete_laplace,
    gaussian,
    gaussian_sigma,
    laplace,
    least_worst_error,
    least_worst_error_by_program,
    ratio_difference,
    two_laplaces,
)

BUDGETS = [(e, d) for d in ("0", "1e-6") for e in ("0.1", "0.2", "0.5", "1", "2")]
SHOWN = ("1", "1e-6")
HEAD = "ε = 1, δ = 10^−6"
DUOTONE = "Duotone"
Errors = dict[str, Array]
Found = dict[tuple[str, str], list[tuple[Cases, Errors]]]
"""By budget, for each question: the error of each mechanism at each limit."""


@cache
def opendp_sigma(privacy: ApproxDP) -> float:
    """The σ of OpenDP's Gaussian mechanism with sensitivity 1, by its own accounting."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space, delta = (dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)), float(privacy.delta)

    def made(scale: float) -> Any:
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)), delta)

    return float(dp.binary_search_param(made, d_in=1.0, d_out=(privacy.epsilon, delta)))


def opendp_laplace_scales(width: Array, epsilon: float) -> Array:
    """The scales of OpenDP's integer Laplace mechanism: width / ε, as its own map confirms."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    widest = int(width.max())
    made: Any = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=widest / epsilon)
    assert abs(made.map(widest) / epsilon - 1) < 1e-12
    return width / epsilon


def errors(cases: Cases, privacy: ApproxDP) -> Errors:
    """The error of each mechanism in each case."""
    mechanism = balanced(privacy)
    by_level = {level: float(mechanism.error(level)) for level in set(cases.level.tolist())}
    found = {DUOTONE: np.array([by_level[level] for level in cases.level.tolist()])}
    if cases.groups is not None:
        return found | _by_groups(cases, cases.groups, privacy)
    return found | {name: by(cases.z) for name, by in noises(cases, privacy).items()}


def noises(cases: Cases, privacy: ApproxDP) -> dict[str, Callable[[Array], Array]]:
    """The error of each noise, by the distance of the statistic from its limit."""
    epsilon, w = privacy.epsilon, cases.width
    found: dict[str, Callable[[Array], Array]] = {"Laplace": lambda z: laplace(z, w / epsilon)}
    if cases.parts is not None:
        a, b = (part / epsilon for part in cases.parts)
        found["Laplace, parts"] = lambda z: two_laplaces(z, a, b)
    if cases.whole:
        scales = opendp_laplace_scales(w, epsilon)
        found["OpenDP Laplace"] = lambda z: discrete_laplace(z, scales)
    if privacy.delta > 0:
        sigma, theirs = gaussian_sigma(privacy), opendp_sigma(privacy)
        found["OpenDP canonical"] = lambda z: canonical(z / w, privacy)
        found["Gaussian"] = lambda z: gaussian(z, w * sigma)
        found["OpenDP Gaussian"] = lambda z: gaussian(z, w * theirs)
        if cases.spread is not None:
            spread = cases.spread * sigma
            found["Gaussian, parts"] = lambda z: gaussian(z, spread)
    return found


def _by_groups(cases: Cases, groups: Groups, privacy: ApproxDP) -> dict[str, Array]:
    """Two noisy averages, a person being in one group. With parts, half the budget goes to the sum, half to the size.
    Otherwise, in favour of noise, sizes and good centres for the sums are free."""
    signed, scale = np.where(cases.level >= 0, cases.z, -cases.z), 2 / privacy.epsilon

    def wrong(noise: str, scale: float) -> Array:
        no = ratio_difference(signed, groups.sums, groups.sizes, noise, (groups.half * scale, scale))
        return np.where(cases.level >= 0, no, 1 - no)

    a, b = groups.widths
    both, epsilon = math.hypot(a, b), privacy.epsilon
    found = {"Laplace, parts": wrong("laplace", scale), "Laplace": two_laplaces(cases.z, a / epsilon, b / epsilon)}
    if privacy.delta > 0:
        sigma = gaussian_sigma(privacy)
        found["Gaussian, parts"] = wrong("gaussian", math.sqrt(2) * sigma)
        found["Gaussian"] = gaussian(cases.z, both * sigma)
        found["OpenDP Gaussian"] = gaussian(cases.z, both * opendp_sigma(privacy))
    return found


def by_margin(cases: Cases, error: Array, over: Callable[[Array], Any], sides: Sequence[int] = (1, -1)) -> dict[int, float]:
    """Summarise the errors at each margin, on both sides or one: 1 for yes, −1 for no."""
    people = np.where(cases.level >= 0, cases.level + 1, cases.level)
    chosen = {k: np.isin(people, [k * side for side in sides]) for k in range(1, MARGINS + 1)}
    return {k: float(over(error[which])) for k, which in chosen.items() if which.any()}


def average(cases: Cases, error: Array, sides: Sequence[int] = (1, -1)) -> float:
    """The mean over margins and sides, all with equal weight."""
    return float(np.mean([e for side in sides for e in by_margin(cases, error, np.mean, (side,)).values()]))


def best_noise(cases: Cases, by: Errors) -> str:
    """The noise with the least average error."""
    return min((name for name in by if name != DUOTONE), key=lambda name: average(cases, by[name]))


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table in Markdown."""
    for row in (header, ["---"] * len(header), *rows):
        print("| " + " | ".join(map(str, row)) + " |")
    print()


def report_bound() -> None:
    """Duotone's error, as released, against the least worst case of any private mechanism."""
    far, program = 0.0, 0.0
    for budget in BUDGETS:
        privacy = ApproxDP(*budget)
        asked = prepare(CHILE, "count(*) > 100", privacy)
        for k in range(1, MARGINS + 1):
            least = least_worst_error(privacy, k)
            far = max(far, abs(asked.error(k) - least))
            program = max(program, abs(least_worst_error_by_program(privacy, k) - least))
    print(f"Duotone's error − the least worst-case error of any private mechanism: at most {far:.1e}")
    print(f"the same bound by linear program (HiGHS): within {program:.1e}\n")


def report_averages(found: Found) -> None:
    """The error averaged over margins, as multiples of Duotone's, for the budget shown."""
    names = [
        "Laplace, parts",
        "Laplace",
        "OpenDP Laplace",
        "OpenDP canonical",
        "Gaussian, parts",
        "Gaussian",
        "OpenDP Gaussian",
    ]
    rows = []
    for c, by in found[SHOWN]:
        ours = average(c, by[DUOTONE])
        best = best_noise(c, by)
        sides = (f"{average(c, by[best], (side,)) / average(c, by[DUOTONE], (side,)):.2f}" for side in (1, -1))
        rest = (f"{average(c, by[n]) / ours:.2f}" if n in by else "–" for n in names)
        rows.append([c.name, f"{ours:.4f}", *rest, ", ".join(sides)])
    table([HEAD, DUOTONE, *names, "best noise: yes, no"], rows)


def report_budgets(found: Found) -> None:
    """For each budget the best noise, as a multiple of Duotone's average."""
    rows = []
    for i, (c, _) in enumerate(found[SHOWN]):
        every = [found[budget][i][1] for budget in BUDGETS]
        rows.append([c.name, *(f"{average(c, by[best_noise(c, by)]) / average(c, by[DUOTONE]):.2f}" for by in every)])
    table(["best noise / Duotone", *(f"{e}, {'10^−6' if d != '0' else 0}" for e, d in BUDGETS)], rows)


def report_single(found: Found) -> None:
    """Worst case per distance, and the largest gain and loss on single tables, against the best noise on average."""
    rows = []
    for c, by in found[SHOWN]:
        best = best_noise(c, by)
        ours, theirs = by[DUOTONE], by[best]
        single, worst = theirs - ours, by_margin(c, theirs, np.max)
        at = [f"{by_margin(c, ours, np.max)[k]:.2g} / {worst[k]:.2g}" for k in (1, 3, 6, 10)]
        ends = (int(single.argmax()), 1), (int(single.argmin()), -1)
        told = (_single(c, ours, theirs, i) if single[i] * way > 1e-9 else "none" for i, way in ends)
        rows.append([c.name, best, *at, *told])
    table([HEAD, "best noise", "worst at 1", "at 3", "at 6", "at 10", "largest gain", "largest loss"], rows)


def report_extremes(found: Found) -> None:
    """The largest gain and loss on one table, over all questions, budgets and noises with equal protection."""
    differences = []
    for budget, c, by in ((budget, c, by) for budget, each in found.items() for c, by in each if c.alike):
        for name in by.keys() - {DUOTONE}:
            apart = by[name] - by[DUOTONE]
            for i in (int(apart.argmax()), int(apart.argmin())):
                where = f"{c.name}, {name}, ε = {budget[0]}, δ = {budget[1]}: {_single(c, by[DUOTONE], by[name], i)}"
                differences.append((float(apart[i]), where))
    for words, (size, where) in (("gain", max(differences)), ("loss", min(differences))):
        print(f"largest {words} on one table: {size:+.3f} ({where})")
    print()


def _single(c: Cases, ours: Array, theirs: Array, i: int) -> str:
    side = f"yes, {c.level[i] + 1}" if c.level[i] >= 0 else f"no, {-c.level[i]}"
    return f"{ours[i]:.3f} / {theirs[i]:.3f} ({side})"


def report_any_table(found: Found) -> None:
    """The worst case over every table with the same question: no noise is below the optimum at any distance."""
    rows = []
    for c in (c for c, _ in found[SHOWN] if c.least is not None):
        ratios = [any_table(c, ApproxDP(*SHOWN), k) for k in (1, 3, 6, 10)]
        below = min(any_table(c, ApproxDP(*b), k) for b in BUDGETS for k in range(1, MARGINS + 1))
        rows.append([c.name, *(f"{r:.3g}" for r in ratios), f"{below:.4f}"])
    table(["worst over all tables / Duotone, best noise", "at 1", "at 3", "at 6", "at 10", "least, any ε, δ, distance"], rows)


def any_table(cases: Cases, privacy: ApproxDP, margin: int) -> float:
    """The best noise's worst case at a margin, over all tables, as a multiple of Duotone's; for the middle limit.

    A table this far from flipping may be only margin − 1 of the least changes, and a half, away from the limit.
    """
    c = cases.only(len(cases.z) // 2)
    assert c.least is not None
    optimum = float(balanced(privacy).error(margin - 1))
    worst = [max(float(by((margin - 1) * side + 0.5)[0]) for side in c.least) for by in noises(c, privacy).values()]
    return min(worst) / optimum if optimum else math.inf


def report_anchor() -> None:
    """A mean that is 2 % and 5 % above its limit."""
    for above in (0.02, 0.05):
        c = single_mean(salaries(), int(np.mean(salaries()) / (1 + above)), 1_000_000)
        rest = ", ".join(f"{name} {float(e[0]):.4f}" for name, e in errors(c, ApproxDP(*SHOWN)).items())
        print(f"salaries, mean {above:.0%} above its limit, replace, {c.level[0] + 1} people from flipping: {rest}")
    print()


STYLES = {
    "Laplace, parts": (plotting.SEQUENCE[1], "--"),
    "Gaussian": (plotting.SEQUENCE[3], ":"),
    "Laplace": (plotting.SEQUENCE[2], "-."),
    "OpenDP canonical": (plotting.SEQUENCE[5], "-"),
}
PANELS = (1, 3, 4, 6, 11, 15)


def picture(found: Found) -> Any:
    """Error by signed margin, noes on the left: worst as a line, down to the luckiest as a band; Duotone as dots."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(13, 7.2), sharex=True, sharey=True)
    for ax, i in zip(axes.ravel(), PANELS, strict=True):
        _panel(ax, *found[SHOWN][i])
    for ax in axes[1]:
        ax.set_xlabel("people from flipping (left: true answer no; right: yes)")
    for ax in axes[:, 0]:
        ax.set_ylabel("Pr[wrong answer]")
    handles = {label: h for ax in axes.ravel() for h, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), frameon=False, ncols=5, loc="lower center", bbox_to_anchor=(0.5, -0.03))
    figure.tight_layout()
    return figure


def _panel(ax: Any, c: Cases, by: Errors) -> None:
    for side in (1, -1):
        for name in (name for name in STYLES if name in by):
            colour, style = STYLES[name]
            worst, luckiest = (list(by_margin(c, by[name], over, (side,)).values()) for over in (np.max, np.min))
            at = [side * k for k in by_margin(c, by[name], np.max, (side,))]
            ax.plot(at, worst, color=colour, ls=style, lw=1.5, label=name)
            ax.fill_between(at, luckiest, worst, color=colour, alpha=0.12, lw=0)
        kept = {side * k: e for k, e in by_margin(c, by[DUOTONE], np.max, (side,)).items() if e > 0}
        ax.plot(list(kept), list(kept.values()), "o", ms=4, color=plotting.SEQUENCE[0], label=DUOTONE, zorder=4)
    ax.set_title(c.name, fontsize=10)
    ax.set(yscale="log", ylim=(3e-7, 1), xlim=(-MARGINS - 0.5, MARGINS + 0.5))
    ax.axvline(0, color=plotting.INK, lw=0.8, ls=":")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=plotting.FAINT, lw=0.4)


def main() -> None:
    warnings.simplefilter("ignore")
    print(measure.machine())
    print("versions:", ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("opendp", "statsmodels", "scipy")), "\n")
    report_bound()
    asked = questions()
    found = {budget: [(c, errors(c, ApproxDP(*budget))) for c in asked] for budget in BUDGETS}
    for report in (report_averages, report_budgets, report_single, report_extremes, report_any_table):
        report(found)
    report_anchor()
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        plotting.save(picture(found), Path(sys.argv[1]) / "accuracy.svg")


if __name__ == "__main__":
    main()
