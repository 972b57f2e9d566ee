"""What benchmarks/accuracy.py says, on small lines: no noise has a smaller worst case at any distance than the optimum."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from duotone import ApproxDP, balanced
from support import accuracy_cases, noise

BUDGETS = [ApproxDP(e, d) for e in ("0.1", "0.5", "1", "2") for d in ("0", "1e-6", "0.01")]


@pytest.mark.slow
@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_the_balanced_optimum_attains_the_least_worst_case(privacy: ApproxDP) -> None:
    for margin in range(1, 13):
        ours = float(balanced(privacy).error(margin - 1))
        assert noise.least_worst_error(privacy, margin) == pytest.approx(ours, rel=1e-9, abs=1e-15)
        assert noise.least_worst_error_by_program(privacy, margin) == pytest.approx(ours, abs=2e-7)


@given(st.sampled_from(BUDGETS), st.integers(1, 20), st.floats(0, 1), st.floats(0.05, 1))
def test_no_noise_has_a_smaller_worst_case(privacy: ApproxDP, margin: int, place: float, influence: float) -> None:
    """Wherever between two people the limit is put, and however little of the sensitivity they use."""
    sides = [(margin - 1 + share) * influence for share in (place, 1 - place)]
    errors = {
        "Laplace": [noise.laplace(z, 1 / privacy.epsilon) for z in sides],
        "two Laplaces": [noise.two_laplaces(z, 1 / privacy.epsilon, 0.3 / privacy.epsilon) for z in sides],
        "canonical": [noise.canonical(z, privacy) for z in sides],
    }
    if influence == 1:
        errors["geometric"] = [noise.discrete_laplace(margin - 0.5, 1 / privacy.epsilon)] * 2
    if privacy.delta > 0:
        errors["Gaussian"] = [noise.gaussian(z, noise.gaussian_sigma(privacy)) for z in sides]
    least = float(balanced(privacy).error(margin - 1))
    for name, found in errors.items():
        assert max(map(float, found)) >= least * (1 - 1e-9), name


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_geometric_and_canonical_noise_on_a_count_tie(privacy: ApproxDP) -> None:
    """Geometric noise with δ = 0, canonical noise with any δ: on a count they are the optimum."""
    margins = np.arange(1, 13)
    ours = [float(balanced(privacy).error(int(k) - 1)) for k in margins]
    assert noise.canonical(margins - 0.5, privacy).tolist() == pytest.approx(ours, rel=1e-9, abs=1e-15)
    if privacy.delta == 0:
        assert noise.discrete_laplace(margins - 0.5, 1 / privacy.epsilon).tolist() == pytest.approx(ours, rel=1e-9)


def test_noises_by_sampling() -> None:
    """The closed forms and the quadrature, within 5 standard deviations of 400,000 draws from a fixed seed."""
    rng, n = np.random.default_rng(7), 400_000

    def near(probability: Any, hits: Any) -> bool:
        p = float(np.ravel(probability)[0])
        return bool(abs(p - hits.mean()) < 5 * np.sqrt(p * (1 - p) / n))

    a, b = rng.laplace(0, 2, n), rng.laplace(0, 0.7, n)
    assert near(noise.two_laplaces(1.5, 2.0, 0.7), a + b <= -1.5)
    assert near(noise.two_laplaces(-1.5, 2.0, 0.7), a + b <= 1.5)
    assert near(noise.two_laplaces(1.5, 2.0, 2.0), a + rng.laplace(0, 2, n) <= -1.5)
    for kind in ("laplace", "gaussian"):
        drawn: Any = rng.laplace if kind == "laplace" else rng.normal
        sums, sizes = [120.0 + drawn(0, 8, n), -60.0 + drawn(0, 8, n)], [80 + drawn(0, 4, n), 50 + drawn(0, 4, n)]
        apart = sums[0] / np.maximum(sizes[0], 1) - sums[1] / np.maximum(sizes[1], 1)
        limit = 2.5
        found = noise.ratio_difference(np.array([120 / 80 + 60 / 50 - limit]), (120.0, -60.0), (80, 50), kind, (8.0, 4.0))
        assert near(found, apart <= limit)


def test_the_analytic_gaussian_meets_its_budget() -> None:
    for privacy in (p for p in BUDGETS if p.delta > 0):
        sigma, e = noise.gaussian_sigma(privacy), privacy.epsilon
        spent = ndtr(1 / (2 * sigma) - e * sigma) - np.exp(e) * ndtr(-1 / (2 * sigma) - e * sigma)
        assert spent == pytest.approx(float(privacy.delta), rel=1e-6)


@pytest.mark.slow
def test_limits_cover_every_margin_on_both_sides() -> None:
    salaries = accuracy_cases.salaries()
    wanted = set(range(-accuracy_cases.MARGINS, accuracy_cases.MARGINS))
    for cases in (
        accuracy_cases.count("", [True] * 60 + [False] * 30),
        accuracy_cases.share("", [True] * 600 + [False] * 300),
        accuracy_cases.mean("", salaries, 0, 1_000_000),
        accuracy_cases.mean("", salaries, 0, 1_000_000, "replace"),
        accuracy_cases.versus_public("", salaries[::2], salaries[1::2], 0, 500_000),
    ):
        assert set(cases.level.tolist()) == wanted
        assert (cases.z >= 0).all()
        assert (np.diff(cases.level) <= 0).all()


def test_public_groups_by_brute_force() -> None:
    """Three and two people with values from 0 to 3: levels are distances when one value changes at a time."""
    first, second = [0, 2, 3], [1, 2]
    cases = accuracy_cases.versus_public("", first, second, 0, 3)
    apart = Fraction(sum(first), 3) - Fraction(sum(second), 2)
    reached: dict[int, list[Fraction]] = {k: [] for k in range(6)}
    for values in itertools.product(range(4), repeat=5):
        steps = sum(x != y for x, y in zip(values, first + second, strict=True))
        reached[steps].append(Fraction(sum(values[:3]), 3) - Fraction(sum(values[3:]), 2))
    for level, z in zip(cases.level.tolist(), cases.z.tolist(), strict=True):
        if abs(level) > 5:
            continue
        limit = apart - Fraction(z).limit_denominator(10**6) * (1 if level >= 0 else -1)
        turned = next(k for k in range(6) if any((d > limit) != (level >= 0) for d in reached[k]))
        assert turned == (level + 1 if level >= 0 else -level)
