"""How often a share of 0.1 is rejected, by the real share: beside the test without privacy, the private ones of one count of a
public number of people (also with Laplace noise), of both counts of a public number, and of a private number. Usage: power.py
[picture.svg].

Exact sums, but for the private number of people, which is simulated. The last column is no test: whether the noisy count is
above the critical value of the test without privacy, which rejects too often at 0.1 itself.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import binom, laplace

from duotone import ApproxDP, balanced, plotting
from duotone.line.noise import Noise
from duotone.line.table import line_table
from duotone.plotting.figures import BLUE, INK, RED, SEQUENCE, figure_class, framed
from duotone.statistics.binomial import difference
from duotone.statistics.power import NO_NOISE, power
from duotone.statistics.shares import OfNoisyNumber

SHARE, ALPHA, DRAWS = Fraction(1, 10), Fraction(1, 20), 1000
PEOPLE = {100: (10, 12, 15, 20, 25, 30), 1000: (10, 11, 12, 13, 14, 15)}
"""Real shares that are tried, in hundredths."""


def noise_of(epsilon: str) -> Noise:
    return line_table(balanced(ApproxDP(epsilon, "1e-6"))).noise


def with_laplace(people: int, real: float, epsilon: float) -> float:
    """The power of rejecting where the count with Laplace noise is above its own critical value."""
    counts = np.arange(people + 1)

    def above(limit: float, share: float) -> float:
        return float(binom.pmf(counts, people, share) @ laplace.sf(limit - counts, scale=1 / epsilon))

    low, high = 0.0, people + 100 / epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if above(middle, float(SHARE)) <= float(ALPHA) else (middle, high)
    return above(high, real)


def with_private_number(people: int, real: float, noise: Noise) -> float:
    """The share of draws that are rejected, where the no are counted, too."""
    random, off = np.random.default_rng(1), np.arange(noise.least, noise.most + 1)
    chances = np.array([float(noise.chance(-s) - noise.chance(-s - 1)) for s in off.tolist()])
    yes = random.binomial(people, real, DRAWS)
    counts = np.stack([yes, people - yes], 1) + random.choice(off, (DRAWS, 2), p=chances / chances.sum())
    pairs, times = np.unique(counts, axis=0, return_counts=True)
    found = [OfNoisyNumber(yes, no, noise, SHARE).p_above(SHARE) <= ALPHA for yes, no in pairs.tolist()]
    return float(times @ found) / DRAWS


def no_test(people: int, real: float, noise: Noise) -> float:
    critical = int(binom.isf(float(ALPHA), people, float(SHARE)))
    counts = np.arange(people + 1)
    return float(binom.pmf(counts, people, real) @ [float(noise.chance(x - critical - 1)) for x in counts.tolist()])


def rows(people: int, epsilon: str) -> list[tuple[float, ...]]:
    noise, found = noise_of(epsilon), list[tuple[float, ...]]()
    how: Any = {"alpha": ALPHA, "relation": "<="}
    for part in PEOPLE[people]:
        real = Fraction(part, 100)
        private, plain = (power(each, people, SHARE, real, **how) for each in (noise, NO_NOISE))
        both = power(difference(noise), people, SHARE, real, both=True, **how)
        others = with_laplace(people, float(real), float(epsilon)), both, with_private_number(people, float(real), noise)
        found.append((float(real), plain, private, *others, no_test(people, float(real), noise)))
    return found


def main(picture: str | None) -> None:
    head = (
        "people",
        "ε",
        "real share",
        "no privacy",
        "one count",
        "with Laplace noise",
        "both counts",
        "private number",
        "no test",
    )
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for people in PEOPLE:
        for epsilon in ("0.1", "1"):
            for real, *powers in rows(people, epsilon):
                print(f"| {people:,} | {epsilon} | {real:g} | {' | '.join(f'{each:.3f}' for each in powers)} |", flush=True)
    if picture is not None:
        draw(picture)


def draw(picture: str) -> None:
    """A thousand people, ε = 0.1 and 1."""
    figure: Any = figure_class()(figsize=(8.4, 3.4))
    for place, epsilon in enumerate(("0.1", "1"), start=1):
        ax, noise = figure.add_subplot(1, 2, place), noise_of(epsilon)
        shares = [Fraction(i, 400) for i in range(36, 73)]
        x = [float(each) for each in shares]
        how: Any = {"alpha": ALPHA, "relation": "<="}
        ax.plot(x, [power(NO_NOISE, 1000, SHARE, each, **how) for each in shares], "--", color=INK, label="without privacy")
        ax.plot(x, [power(noise, 1000, SHARE, each, **how) for each in shares], color=BLUE, label="one noisy count")
        two = [power(difference(noise), 1000, SHARE, each, both=True, **how) for each in shares]
        ax.plot(x, two, ":", color=SEQUENCE[2], label="both counts")
        ax.plot(x, [no_test(1000, each, noise) for each in x], "-.", color=RED, label="plain yes or no")
        ax.axhline(float(ALPHA), color="#BBBBBB", lw=1)
        ax.set(xlabel="real share of 1,000 people", ylim=(0, 1.02), title=f"ε = {epsilon}")
        if place == 1:
            ax.set_ylabel("share ≤ 0.1 is rejected")
        else:
            ax.legend(frameon=False, fontsize=8, loc="lower right")
        framed(ax)
    plotting.save(figure, picture)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
