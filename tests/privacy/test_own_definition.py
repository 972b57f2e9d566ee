"""A definition of one's own: one φ is enough."""

from __future__ import annotations

import math
import runpy
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from duotone import Charge, DuotoneError, balanced, design
from duotone.graphs import families
from duotone.privacy.definition import balance, certain_after, iterate


class GaussianDP:
    """μ-Gaussian differential privacy: a notion of one's own is one φ."""

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def step(self, x: Any) -> Any:
        shifted = norm.cdf(norm.ppf(np.asarray(x, dtype=float)) + self.mu)
        return shifted if isinstance(x, np.ndarray) else max(float(x), float(shifted))


def test_a_new_notion_is_one_step() -> None:
    gaussian = GaussianDP(0.7)
    assert balance(gaussian) == pytest.approx(norm.cdf(0.35))
    assert iterate(gaussian, 0.3, 4)[0] == pytest.approx(norm.cdf(norm.ppf(0.3) + 2.8))
    assert certain_after(gaussian, 1.0) == 0
    graph = families.figure_2()
    for boundary in ("balanced", 0.6, {"h": 0.6, "l": 0.7}):
        assert design(graph, gaussian, boundary).check(gaussian).holds
    levels = np.array([-3, -1, 0, 2])
    line = balanced(gaussian)
    assert line.yes(levels).tolist() == pytest.approx([line.yes(int(level)) for level in levels])


@pytest.mark.slow
def test_the_example_of_a_notion_keeps_its_contract() -> None:
    """φ increasing, φ(x) ≥ x, φ(1 − φ(x)) ≥ 1 − x to the last bit, concave up to its grid, never above the true curve."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "own_definition.py"))
    rng = np.random.default_rng(11)
    for mu in (0.01, 0.5, 1.0, 3.0):
        notion = example["GaussianDP"](mu)
        floats = [np.arange(2049) / 2048, rng.random(8000), 10 ** -rng.uniform(0, 20, 2000), 1 - 2.0 ** -np.arange(54)]
        grid = sorted({0.0, 5e-324, 1.0, *(float(x) for x in np.concatenate(floats))})
        steps = [notion.step(x) for x in grid]
        assert all(low <= high for low, high in pairwise(steps))
        for x, y in zip(grid, steps, strict=True):
            assert 0 <= x <= y <= 1
            assert notion.step(1 - Fraction(y)) >= 1 - Fraction(x)
            assert notion.step(1 - y) >= 1 - Fraction(x) or float(1 - Fraction(y)) != 1 - Fraction(y)
        true = norm.cdf(norm.ppf(np.array(grid)) + mu)
        assert (np.array(steps) <= true + 1e-15).all()
        assert (np.array(steps) >= true - 1e-5).all() or mu > 1
        even = [Fraction(notion.step(i / 4096)) for i in range(4097)]
        assert all(2 * b >= a + c - Fraction(4, 2**40) for a, b, c in zip(even, even[1:], even[2:], strict=False))


class Climbing:
    """Moves a probability up by a tenth, to a highest value."""

    def __init__(self, highest: Fraction) -> None:
        self.highest = highest

    def step(self, x: Any) -> Any:
        return max(x, min(x + Fraction(1, 10), self.highest))


def test_the_steps_to_certainty_are_counted_for_any_definition() -> None:
    assert certain_after(Climbing(Fraction(1)), Fraction(1, 2)) == 5
    assert certain_after(Climbing(Fraction(9, 10)), Fraction(1, 2)) == math.inf
    assert iterate(Climbing(Fraction(9, 10)), Fraction(1, 2), 99) == (Fraction(9, 10), Fraction(1, 10))


def test_what_is_no_definition_is_neither_used_nor_charged() -> None:
    with pytest.raises(DuotoneError, match="a privacy definition has a method step"):
        balanced(1)  # type: ignore[arg-type]
    with pytest.raises(DuotoneError, match="a ledger charges for an ApproxDP or a RenyiDP"):
        Charge(balanced(GaussianDP(0.7)))
