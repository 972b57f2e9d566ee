"""Tests of a share are never wrong more often than they say, and are the most powerful private ones.

The oracles: exact fractions over all outcomes, linear programs over all private tests, and numbers that Awan and Slavković
published.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from duotone import ApproxDP, DuotoneError, balanced
from duotone.line.noise import Noise
from duotone.line.table import line_table
from duotone.statistics.binomial import TOSSES, NoisyCount, binomial, difference
from duotone.statistics.shares import UNLIKELY, Interval, OfKnownNumber, OfNoisyNumber, interval
from support.running import examples, thinned

shares = st.fractions(0, 1, max_denominator=50)
SIZES = [
    (people, Fraction(share), epsilon, Fraction(alpha))
    for people in (1, 2, 7, 12, 30, 60)
    for share in ("1/2", "1/10", "19/20")
    for epsilon in ("0.1", "1", "3")
    for alpha in ("0.05", "0.01", "0.2")
]


@lru_cache
def noise_of(epsilon: str, delta: str) -> Noise:
    return line_table(balanced(ApproxDP(epsilon, delta))).noise


def chances(noise: Noise) -> dict[int, Fraction]:
    """The noise's values and their probabilities, from `chance` alone."""
    values = range(noise.least, noise.most + 1)
    return {s: each for s in values if (each := noise.chance(-s) - noise.chance(-s - 1))}


def exact(people: int, share: Fraction) -> list[Fraction]:
    return [comb(people, x) * share**x * (1 - share) ** (people - x) for x in range(people + 1)]


def released(people: int, share: Fraction, noise: Noise) -> dict[int, Fraction]:
    """The distribution of the noisy count, exactly."""
    found: dict[int, Fraction] = {}
    for x, here in enumerate(exact(people, share)):
        for s, chance in chances(noise).items():
            found[x + s] = found.get(x + s, Fraction(0)) + here * chance
    return found


@given(st.integers(0, 40), shares)
@examples(150)
def test_binomial_probabilities_are_rounded_up_and_hardly(people: int, share: Fraction) -> None:
    found, real = binomial(people, share), exact(people, share)
    for x, chance in enumerate(found.chances, start=found.first):
        assert real[x] <= Fraction(float(chance)) <= real[x] * (1 + Fraction(1, 2**50))
    left = sum(real[: found.first]) + sum(real[found.first + len(found.chances) :])
    assert left <= Fraction(found.others) < Fraction(1, 2**80)


@pytest.mark.parametrize("share", ["1/2", "1/1000", "999/1000", "1/3"])
def test_a_hundred_thousand_people_are_few(share: str) -> None:
    """Against logarithms of factorials; the chances add up to one."""
    people, p = 100_000, Fraction(share)
    found = binomial(people, p)
    assert 1 <= math.fsum((*found.chances, found.others)) <= 1 + 1e-12
    assert len(found.chances) < 5000
    for x, chance in list(enumerate(found.chances, start=found.first))[::97]:
        log = math.lgamma(people + 1) - math.lgamma(x + 1) - math.lgamma(people - x + 1)
        assert chance == pytest.approx(math.exp(log + x * math.log(p) + (people - x) * math.log1p(-p)), rel=1e-8)


@given(st.integers(1, 25), shares, st.sampled_from(["0.1", "1", "3"]), st.sampled_from(["1e-6", "0.01", "0.2"]), st.data())
@examples(150)
def test_p_values_are_their_definition_rounded_up(people: int, share: Fraction, epsilon: str, delta: str, data: Any) -> None:
    """Pr[X + N + U ≥ k + u], and of ≤, where u is a toss's share; without a toss all ties count."""
    noise = noise_of(epsilon, delta)
    k, toss = data.draw(st.integers(noise.least, people + noise.most)), data.draw(st.none() | st.integers(0, TOSSES - 1))
    found, count = released(people, share, noise), NoisyCount(k, noise, toss)
    above, tie = sum((chance for value, chance in found.items() if value > k), Fraction(0)), found.get(k, Fraction(0))
    one = Fraction(1)
    ties_above, ties_below = (one, one) if toss is None else (1 - Fraction(toss, TOSSES), Fraction(toss + 1, TOSSES))
    known = OfKnownNumber(count, people)
    for real, p in (
        (above + ties_above * tie, known.p_above(share)),
        (1 - above - (1 - ties_below) * tie, known.p_below(share)),
    ):
        assert min(real, one) <= Fraction(p) <= real * (1 + Fraction(1, 2**45)) + Fraction(1, 2**80)


def rejected(people: int, share: Fraction, noise: Noise, alpha: Fraction, side: str) -> Iterator[tuple[int, Fraction]]:
    """For each noisy count, the share of tosses with which the test rejects: it rejects for a run of them."""
    for k in range(noise.least, people + noise.most + 1):

        def rejects(toss: int, k: int = k) -> bool:
            known = OfKnownNumber(NoisyCount(k, noise, toss), people)
            return (known.p_above if side == "above" else known.p_below)(share) <= alpha

        ends = rejects(0), rejects(TOSSES - 1)
        if ends[0] == ends[1]:
            yield k, Fraction(ends[0])
            continue
        low, high = 0, TOSSES - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if rejects(middle) == ends[0] else (low, middle)
        yield k, Fraction(high if ends[0] else TOSSES - high, TOSSES)


@pytest.mark.parametrize("side", ["above", "below"])
@pytest.mark.parametrize("case", thinned(SIZES, 3), ids=str)
def test_the_size_is_alpha_exactly_and_never_more(case: tuple[int, Fraction, str, Fraction], side: str) -> None:
    people, share, epsilon, alpha = case
    noise = noise_of(epsilon, "1e-6")
    found = released(people, share, noise)
    size = sum(chance * found.get(k, 0) for k, chance in rejected(people, share, noise, alpha, side))
    assert alpha - Fraction(1, 10**9) <= size <= alpha


@pytest.mark.parametrize("share", ["1/2", "1/10"])
@pytest.mark.parametrize("people", [1, 5, 20])
def test_the_size_of_both_counts_is_alpha(people: int, share: str) -> None:
    """The difference of two counts with noise each; every noisy difference with the run of tosses that reject."""
    noise, p0, alpha, size = noise_of("1", "1e-3"), Fraction(share), Fraction(1, 20), Fraction(0)
    both = difference(noise)
    real = {s: both.chance(-s) - both.chance(-s - 1) for s in range(both.least, both.most + 1)}
    expected: dict[int, Fraction] = {}
    for a, one in chances(noise).items():
        for b, other in chances(noise).items():
            expected[a - b] = expected.get(a - b, Fraction(0)) + one * other
    assert real == expected
    for value in range(both.least - people, both.most + people + 1):
        here = sum(
            (chance * real.get(value - (2 * x - people), Fraction(0)) for x, chance in enumerate(exact(people, p0))),
            Fraction(0),
        )
        size += here * _rejecting(
            lambda toss, v=value: OfKnownNumber(NoisyCount(v, both, toss), people, both=True).p_above(p0), alpha
        )
    assert alpha - Fraction(1, 10**9) <= size <= alpha


def _rejecting(p: Any, alpha: Fraction) -> Fraction:
    """The share of tosses that reject: the p-value falls with the toss."""
    low, high = 0, TOSSES  # the first that rejects
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if p(middle) <= alpha else (middle + 1, high)
    return Fraction(TOSSES - low, TOSSES)


@pytest.mark.parametrize("case", thinned(SIZES, 9), ids=str)
def test_both_sides_together_are_no_more_than_alpha(case: tuple[int, Fraction, str, Fraction]) -> None:
    """Each side takes half of it."""
    people, share, epsilon, alpha = case
    noise = noise_of(epsilon, "1e-6")
    found = released(people, share, noise)
    # a noisy count that is rejected on both sides would be counted once: at α ≤ 1/5 there is none
    sizes = [
        sum(chance * found.get(k, 0) for k, chance in rejected(people, share, noise, alpha / 2, side))
        for side in ("above", "below")
    ]
    assert alpha - Fraction(1, 10**8) <= sum(sizes) <= alpha


def test_a_yes_is_no_test() -> None:
    """Asking whether a count is above the critical value rejects too often: 0.069 and 0.33 instead of 0.05."""
    people, sizes = 30, []
    real = exact(people, Fraction(1, 2))
    critical = next(x for x in range(people) if sum(real[x + 1 :]) <= Fraction(1, 20))
    for epsilon in ("1", "0.1"):
        noise = noise_of(epsilon, "1e-6")
        sizes.append(float(sum(here * noise.chance(x - critical - 1) for x, here in enumerate(real))))
    assert sizes == [pytest.approx(0.069, abs=5e-4), pytest.approx(0.33, abs=5e-4)]


def most_powerful(people: int, null: Fraction, real: Fraction, privacy: ApproxDP, alpha: float) -> float:
    """The power of the best private test, by a linear program over all functions of the count: neighbours satisfy both
    inequalities of (ε, δ)."""
    ratio, delta = float(privacy.exp_epsilon), float(privacy.delta)
    rows, limits = [np.array(exact(people, null), dtype=float)], [alpha]
    for x in range(people):
        for here, there in ((x, x + 1), (x + 1, x)):
            for sign, limit in ((1.0, delta), (-1.0, ratio - 1 + delta)):
                row = np.zeros(people + 1)
                row[here], row[there] = sign, -sign * ratio
                rows.append(row)
                limits.append(limit)
    gain = np.array(exact(people, real), dtype=float)
    result: Any = linprog(-gain, A_ub=np.array(rows), b_ub=limits, bounds=[(0, 1)] * (people + 1), method="highs")
    return float(-result.fun)


def power(people: int, null: Fraction, real: Fraction, noise: Noise, alpha: Fraction) -> float:
    found = released(people, real, noise)
    return float(sum(chance * found.get(k, 0) for k, chance in rejected(people, null, noise, alpha, "above")))


PROGRAMS = [
    (12, "1/2", "3/4", "1", "1e-6", "0.05"), (20, "1/10", "3/10", "0.5", "1e-6", "0.05"),
    (25, "9/10", "19/20", "2", "1e-9", "0.1"), (16, "1/3", "2/3", "0.1", "1e-6", "0.01"),
    (12, "1/2", "3/4", "1", "0.05", "0.05"), (18, "2/5", "3/5", "0.7", "0.01", "0.1"),
]  # fmt: skip


@pytest.mark.parametrize("case", PROGRAMS, ids=str)
def test_no_private_test_is_more_powerful(case: tuple[int, str, str, str, str, str]) -> None:
    """But for δ: it has the power of the best one at α − δ, less δ. And the line that is drawn for this α alone has all."""
    people, null, real, epsilon, delta, alpha = case
    p0, p1, a = Fraction(null), Fraction(real), Fraction(alpha)
    privacy = ApproxDP(epsilon, delta)
    best = most_powerful(people, p0, p1, privacy, float(a))
    lowered = most_powerful(people, p0, p1, privacy, float(a) - float(privacy.delta)) - float(privacy.delta)
    assert lowered - 1e-7 <= power(people, p0, p1, noise_of(epsilon, delta), a) <= best + 1e-7
    assert power_of_its_line(people, p0, p1, privacy, a) == pytest.approx(best, abs=1e-7)


def power_of_its_line(people: int, null: Fraction, real: Fraction, privacy: ApproxDP, alpha: Fraction) -> float:
    """The power of the line that begins with a value of at most δ, after zeros, where this makes the size α."""
    at_null, at_real = (np.array(exact(people, share), dtype=float) for share in (null, real))
    ratio, delta = float(privacy.exp_epsilon), float(privacy.delta)

    def line(start: float) -> Any:
        """From a high start to a low one the line moves to the left, by one step each 1."""
        first, values = math.floor(start), np.zeros(people + 1)
        p = (1 - (start - first)) * delta
        for x in range(first, people + 1):
            if x >= 0:
                values[x] = p
            p = min(1.0, ratio * p + delta, 1 - (1 - p - delta) / ratio)
        return values

    low, high = -300.0, people + 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if at_null @ line(middle) > float(alpha) else (low, middle)
    return float(at_real @ line(high))


PUBLISHED = [
    (18.70, 0.99, 0.01), (10.65, 0.33, 0.67), (12.89, 0.62, 0.38), (9.12, 0.17, 0.83), (9.88, 0.24, 0.76), (15.15, 0.85, 0.15),
    (6.14, 0.02, 0.98), (8.41, 0.11, 0.89), (10.46, 0.30, 0.70), (11.87, 0.49, 0.51),
]  # fmt: skip
"""Noisy counts of 30 with ε = 1 and δ = 0.01, and p-values of a share of 0.4: Awan, Slavković and Tran, binomialDP 1.0.0."""


@pytest.mark.parametrize(("noisy", "below", "above"), PUBLISHED)
def test_published_p_values(noisy: float, below: float, above: float) -> None:
    """A uniform number around 0 is a toss around ½."""
    known = OfKnownNumber(_continuous(noisy, noise_of("1", "0.01")), 30)
    share = Fraction(2, 5)
    assert [known.p_below(share), known.p_above(share)] == pytest.approx([below, above], abs=0.0051)


def _continuous(noisy: float, noise: Noise) -> NoisyCount:
    whole = math.floor(noisy + 0.5)
    return NoisyCount(whole, noise, int((noisy + 0.5 - whole) * TOSSES))


def test_published_bounds() -> None:
    """At a δ of 0.045, where the noise differs most from theirs, which is cut within a step: 0.384 and 0.517 there."""
    b, q = math.exp(-1), 0.05
    noise = noise_of("1", repr(q * (1 - b) / (2 * b * (1 - q))))
    low = interval(OfKnownNumber(_continuous(7, noise), 10), Fraction(1, 10)).low
    high = interval(OfKnownNumber(_continuous(2, noise), 10), Fraction(1, 10)).high
    assert 0.380 <= low <= 0.384
    assert 0.517 <= high <= 0.522


@pytest.mark.parametrize("epsilon", ["0.3", "1"])
@pytest.mark.parametrize("share", ["0", "1/20", "1/3", "1/2", "1"])
def test_an_interval_misses_the_share_no_more_often_than_it_says(share: str, epsilon: str) -> None:
    people, noise, alpha, missed = 9, noise_of(epsilon, "1e-3"), Fraction(1, 5), Fraction(0)
    for k, chance in released(people, Fraction(share), noise).items():
        found = interval(OfKnownNumber(NoisyCount(k, noise), people), alpha)
        missed += chance * (not found.low <= Fraction(share) <= found.high)
    assert missed <= alpha


@pytest.mark.parametrize("toss", [None, 0, TOSSES // 3, TOSSES - 1])
def test_an_interval_is_what_tests_do_not_reject(toss: int | None) -> None:
    known = OfKnownNumber(NoisyCount(37, noise_of("1", "1e-6"), toss), 120)
    found = interval(known, Fraction(1, 20))
    assert known.estimate == 37 / 120
    step = 2.0**-20
    for end, p in ((found.low, known.p_above), (found.high, known.p_below)):
        toward = step if end == found.low else -step
        assert p(Fraction(end)) <= 0.025 < p(Fraction(end + toward))
    assert str(found) == f"{found.low:.3g} to {found.high:.3g}"
    assert interval(OfKnownNumber(NoisyCount(0, noise_of("1", "1e-6")), 0), Fraction(1, 20)) == Interval(0, 1)


# where the number of people is private


def of_noisy(yes: int, no: int, noise: Noise, near: Fraction, share: Fraction) -> Fraction:
    """The p-value's definition, exactly: the largest of all numbers of people that are possible enough."""
    sums: dict[int, Fraction] = {}
    for a, p in chances(noise).items():
        for b, q in chances(noise).items():
            sums[a + b] = sums.get(a + b, Fraction(0)) + p * q
    off: int = max(abs(s) for s in sums)
    while off and sum((chance for s, chance in sums.items() if abs(s) >= off), Fraction(0)) <= UNLIKELY:
        off -= 1
    found, largest = (1 - near) * yes - near * no, Fraction(0)
    for people in range(max(0, yes + no - off), max(0, yes + no + off) + 1):
        p = Fraction(0)
        for x, here in enumerate(exact(people, share)):
            for a, one in chances(noise).items():
                for b, other in chances(noise).items():
                    p += here * one * other * ((1 - near) * (x + a) - near * (people - x + b) >= found)
        largest = max(largest, p)
    return min(largest + UNLIKELY, Fraction(1))


@given(st.integers(-3, 9), st.integers(-3, 9), shares, st.sampled_from(["1/2", "1/10", "2/3"]))
@examples(60)
def test_p_values_of_a_private_number_are_their_definition(yes: int, no: int, share: Fraction, near: str) -> None:
    noise, t = noise_of("2", "0.05"), Fraction(near)
    found = OfNoisyNumber(yes, no, noise, t)
    for p, real in (
        (found.p_above(share), of_noisy(yes, no, noise, t, share)),
        (found.p_below(share), of_noisy(no, yes, noise, 1 - t, 1 - share)),
    ):
        assert real * (1 - Fraction(1, 2**60)) <= Fraction(p) <= real * (1 + Fraction(1, 2**40))


@pytest.mark.parametrize("near", ["1/2", "1/10"])
@pytest.mark.parametrize("people", [0, 1, 5, 12])
def test_the_size_is_at_most_alpha_whatever_the_private_number(people: int, near: str) -> None:
    """For every α at once: all noisy counts, in the order of their p-values."""
    noise, t = noise_of("1", "0.02"), Fraction(near)
    for side in ("p_above", "p_below"):
        found: dict[float, Fraction] = {}
        cache: dict[tuple[int, int], float] = {}
        for x, here in enumerate(exact(people, t)):
            for a, one in chances(noise).items():
                for b, other in chances(noise).items():
                    counts = x + a, people - x + b
                    if counts not in cache:
                        cache[counts] = getattr(OfNoisyNumber(*counts, noise, t), side)(t)
                    found[cache[counts]] = found.get(cache[counts], Fraction(0)) + here * one * other
        total = Fraction(0)
        for p in sorted(found):
            total += found[p]
            assert total <= Fraction(p)


def test_a_private_number_costs_little_power() -> None:
    """The p-value of 130 yes and 870 no, against that of 130 among 1000, of a share of 0.1."""
    noise, share = noise_of("1", "1e-6"), Fraction(1, 10)
    known = OfKnownNumber(NoisyCount(130, noise), 1000).p_above(share)
    private = OfNoisyNumber(130, 870, noise, share).p_above(share)
    assert 0.8 * known < private < 1.5 * known
    assert OfNoisyNumber(130, 870, noise, share).estimate == 0.13
    assert OfNoisyNumber(-1, -3, noise, share).estimate is None


def test_what_cannot_be_tested_with_a_private_number() -> None:
    with pytest.raises(DuotoneError, match="delta above 0"):
        OfNoisyNumber(1, 2, noise_of("1", "0"), Fraction(1, 2)).p_above(Fraction(1, 2))
    with pytest.raises(DuotoneError, match="too small"):
        difference(noise_of("0.005", "1e-6"))
    with pytest.raises(DuotoneError, match="too small"):
        OfNoisyNumber(1, 2, noise_of("0.005", "1e-6"), Fraction(1, 2)).p_above(Fraction(1, 2))


def test_chances_of_noise_add_up() -> None:
    assert all(sum(chances(noise_of(e, d)).values()) == 1 for e, d in (("1", "1e-6"), ("2", "0.05")))
    assert all(a <= b for a, b in pairwise(noise_of("1", "1e-6").yes))
