"""How many people a question needs by parts, beside the same question asked exactly: made-up people, no engine.

    python benchmarks/parts.py        # a minute: people for 95 right answers in 100, at (1, 10^-6)

The answers of parts are computed here; the level, and the probability of a yes at each level, are the released ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from duotone import ApproxDP, balanced
from duotone.line.table import Table, line_table
from duotone.questions.by_parts import parts_level

Values = NDArray[np.float64]
RUNS, RIGHT, SEED = 1000, 0.95, 20260901
FAR = 1000
"""A level at which the answer is certain."""
PARTS = (15, 31, 51, 101, 201)
PEOPLE: dict[str, tuple[Callable[[np.random.Generator, int], Values], float]] = {
    "share > 0.5, true share 0.55": (lambda draw, n: (draw.random(n) < 0.55).astype(float), 0.5),
    "share > 0.5, true share 0.6": (lambda draw, n: (draw.random(n) < 0.6).astype(float), 0.5),
    "avg(days) > 5 in [0, 20], true mean 5.5": (lambda draw, n: np.clip(draw.gamma(3.4, 1.62, n), 0, 20), 5.0),
    "avg(days) > 5 in [0, 20], true mean 6": (lambda draw, n: np.clip(draw.gamma(3.7, 1.62, n), 0, 20), 5.0),
}
"""Each question is whether a mean exceeds a limit; the truth about everybody is yes."""


def yes_at(table: Table, level: int) -> float:
    """Pr[yes] at a level."""
    return float(table.yes(level) / 2**table.bits)


def exact_level(values: Values, limit: float) -> int:
    """How many people must leave, the largest first, until the mean is at most the limit, less one; the same for a no."""
    scores = np.sort(values - limit)
    above = scores.sum() > 0
    moved = scores.sum() - np.cumsum(scores[::-1] if above else scores)
    turned = np.flatnonzero(moved <= 0 if above else moved > 0)
    people = int(turned[0]) + 1 if len(turned) else len(values) + 1
    return people - 1 if above else -people


def level_by_parts(values: Values, limit: float, parts: int, draw: np.random.Generator) -> int:
    """Each part says whether its own mean exceeds the limit; one without people says no."""
    where = draw.integers(0, parts, len(values))
    return parts_level(int((np.bincount(where, values - limit, parts) > 0).sum()), parts)


def right(level: Callable[[Values, np.random.Generator], int], people: Callable[..., Values], n: int, table: Table) -> float:
    """How often the answer is yes."""
    draw = np.random.default_rng(SEED)
    return float(np.mean([yes_at(table, level(people(draw, n), draw)) for _ in range(RUNS)]))


def needed(level: Callable[[Values, np.random.Generator], int], people: Callable[..., Values], table: Table) -> int:
    """The fewest people, to a few per cent, for answers that are right often enough."""
    n = 4
    while right(level, people, n, table) < RIGHT:
        n = max(n + 1, n * 21 // 20)
        if n > 10**6:
            return n
    return n


def main() -> None:
    """A line for each question."""
    table = line_table(balanced(ApproxDP(1, "1e-6"))).unclipped()
    print(f"{'':42}{'not private':>12}{'exact':>8}" + "".join(f"{parts:>7} parts" for parts in PARTS))
    for name, (people, limit) in PEOPLE.items():
        own = needed(lambda values, _, limit=limit: exact_level(values, limit), people, table)  # type: ignore[misc]
        plain = needed(lambda values, _, limit=limit: FAR if values.mean() > limit else -FAR, people, table)  # type: ignore[misc]
        print(f"{name:42}{plain:>12}{own:>8}", end="")
        for parts in PARTS:
            several = needed(
                lambda values, draw, limit=limit, parts=parts: level_by_parts(values, limit, parts, draw),  # type: ignore[misc]
                people,
                table,
            )
            print(f"{several:>7} {several / own:4.1f}×", end=" ")
            sys.stdout.flush()
        print()


if __name__ == "__main__":
    main()
