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

from duotone import ApproxDP, Charge, DuotoneError, balanced, design
from duotone.graphs import families
from duotone.line.mechanism import recurrence
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
    with pytest.raises(DuotoneError, match="an object, not a class: write GaussianDP"):
        balanced(GaussianDP)  # type: ignore[arg-type]
    with pytest.raises(DuotoneError, match="a ledger charges for an ApproxDP or a RenyiDP"):
        Charge(balanced(GaussianDP(0.7)))


class Exact:
    """(ε, δ) once more, as its formula only."""

    def __init__(self, ratio: str, delta: str) -> None:
        self.ratio, self.delta = Fraction(ratio), Fraction(delta)

    def step(self, x: Any) -> Any:
        return min(1, self.ratio * x + self.delta, 1 - (1 - x - self.delta) / self.ratio)


@pytest.mark.parametrize(("ratio", "delta"), [("2", "1/10"), ("1.3", "1/7"), ("3/2", "0"), ("1", "1/9"), ("1", "0")])
def test_a_step_in_fractions_makes_exact_mechanisms(ratio: str, delta: str) -> None:
    own, ours = Exact(ratio, delta), ApproxDP(exp_epsilon=ratio, delta=delta)
    assert balance(own) == ours.balance()
    graph = families.figure_2()
    for boundary in ("balanced", "3/5", {"h": "3/5", "l": "3/5"}):
        mechanism = design(graph, own, boundary)
        assert mechanism.truth == design(graph, ours, boundary).truth
        assert all(isinstance(t, Fraction) for t in mechanism.truth)
        assert mechanism.check(own) == mechanism.check(ours)
    one, other = balanced(own), balanced(ours)
    assert [one.truth(level) for level in range(-5, 5)] == [other.truth(level) for level in range(-5, 5)]
    assert one.certain == other.certain
    floats = [float(t) for t in design(graph, ours, "0.6").truth]
    assert [*design(graph, own, 0.6).truth] == pytest.approx(floats)


def test_the_balance_of_a_curved_exact_step_is_rounded_down() -> None:
    """Odds may grow fourfold: the balance is 2/3, which is no float."""

    class Odds:
        def step(self, x: Any) -> Any:
            return 4 * x / (1 + 3 * x)

    m = balance(Odds())
    assert isinstance(m, Fraction)
    assert 0 <= Fraction(2, 3) - m < Fraction(1, 2**53)
    mechanism = design(families.figure_2(), Odds())
    assert mechanism.check(Odds()).holds
    assert float(mechanism["h"]) == pytest.approx(2 / 3)
    exact = design(families.line(3, 3).graph(), Odds(), "2/3")
    assert [str(t) for t in exact.truth] == ["32/33", "8/9", "2/3", "2/3", "8/9", "32/33"]


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (lambda x: x / 2, r"step may not lower a probability: step\(1/1073741824\) = 1/2147483648"),
        (lambda x: min(1.0, float(x) + 0.1) if x < 0.9 else 0.95, r"step may not lower a probability: step\(61/64\) = 0.95"),
        (lambda x: max(x, 1 - x / 2), "step is not increasing: step"),
        (lambda x: min(1, 2 * x), r"step\(11/32\) = 11/16, so step\(5/16\) must be at least 21/32, not 5/8"),
        (lambda x: x * x if x > 2 else max(x, Fraction(1, 2) if x >= Fraction(1, 4) else 0), "step is not concave"),
        (lambda x: x + 1, r"step\(1/1073741824\) must be in \[0, 1\], got 1073741825/1073741824"),
        (lambda _: math.nan, r"step\(0.0\) must be in \[0, 1\], got nan"),
        (lambda _: "1/2", r"step must return a number, but step\(0.0\) is of type str"),
        (lambda _: None, r"step must return a number, but step\(0.0\) is of type NoneType"),
        (lambda x: [0][x.mu], r"step\(0.0\) of this privacy definition raises AttributeError"),
    ],
)
def test_a_step_that_breaks_a_rule_is_found(step: Any, says: str) -> None:
    class Own:
        def step(self, x: Any) -> Any:
            return step(x)

    own: Any = Own()
    mechanism = design(families.line(2, 2).graph(), ApproxDP(1))
    for use in (lambda: balanced(own), lambda: design(mechanism.graph, own, {2: 0.6}), lambda: mechanism.check(own)):
        with pytest.raises(DuotoneError, match=says):
            use()


def test_a_step_may_refuse_in_its_own_words() -> None:
    class Own:
        def step(self, _: Any) -> Any:
            raise DuotoneError("mu must be set")

    with pytest.raises(DuotoneError, match=r"^mu must be set$"):
        balanced(Own())


def test_fractions_that_become_too_long_are_refused() -> None:
    class Halfway:
        def step(self, x: Any) -> Any:
            return x + Fraction(1, 3) * x * (1 - x)

    odd = Halfway()
    assert float(iterate(odd, Fraction(1, 3), 10**6)[0]) == pytest.approx(1)  # for display
    assert certain_after(odd, Fraction(1, 3)) == math.inf
    with pytest.raises(DuotoneError, match="become too long: let its step return floats"):
        recurrence(odd, Fraction(1, 3), 100)
