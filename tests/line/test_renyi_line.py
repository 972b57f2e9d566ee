"""Lines under one Rényi order: rows against the definition, how many people answers need, what repeated answers come to."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import gmpy2
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duotone import ApproxDP, Coin, DuotoneError, balanced, partition_selection, prove, with_boundary
from duotone.line.mechanism import on_line
from duotone.line.table import CERTAIN, LOSS, Table, line_table, reach
from duotone.model.accuracy import Accuracy
from duotone.privacy.renyi import RenyiDP, best_order, price_of, renyi_budget
from duotone.privacy.rounded import Rounded
from support.certificates import accepted_by_the_tool
from support.renyi import close, divergence, furthest
from support.running import examples

BUDGET = ApproxDP(1, "1e-6")
PEOPLE = {10: (34, 53), 100: (86, 111), 1000: (236, 273), 10_000: (704, 767)}
"""Answers that share (1, 10^-6), and from how many people on each is wrong with 10^-3 and 10^-9 at most (docs/theory.md)."""

budgets = st.builds(
    RenyiDP,
    st.one_of(st.sampled_from([2, 3, 20]), st.integers(2, 30)),
    st.one_of(st.fractions("1.01", "1.2", max_denominator=1000), st.fractions("1.2", 40, max_denominator=50), st.just(10**9)),
    st.one_of(
        st.just(Fraction(0)), st.sampled_from([Fraction(1, 10**60), Fraction(1, 10**7), Fraction(1, 50), Fraction(1, 3)])
    ),
)
boundaries = st.one_of(
    st.sampled_from(["balanced", "balanced", "selection", "1e-30", "0", "1"]), st.fractions(0, 1, max_denominator=40)
)


def shared(answers: int, order: int = 20, aside: str = "0") -> RenyiDP:
    """What one of so many answers may cost."""
    return RenyiDP._computed(order, renyi_budget(BUDGET, order, aside), Fraction(aside)).split(answers)


def chances(table: Table) -> list[Fraction]:
    """Pr[yes] by level."""
    return [Fraction(yes, 2**table.bits) for yes, _ in table.entries]


@examples(60)
@given(budgets, boundaries)
@example(RenyiDP(20, "1.05"), "balanced")
@example(RenyiDP(2, "1.2", "1/50"), "selection")
def test_rows_are_the_largest_that_the_definition_allows(privacy: RenyiDP, boundary: Any) -> None:
    table = line_table(on_line(privacy, boundary))
    unit = Fraction(1, 2**table.bits)
    by_level = chances(table)
    below = -table.lowest
    pairs = [*pairwise(by_level[below:]), *pairwise([1 - yes for yes in by_level[:below][::-1]])]
    for near, far in [pairs[place] for place in {*range(0, len(pairs), max(1, len(pairs) // 25)), *range(len(pairs))[-2:]}]:
        assert close(privacy, near, far)
        assert far == 1 or not close(privacy, near, far + unit)
    assert close(privacy, by_level[below - 1], by_level[below])
    if boundary == "balanced":
        assert by_level[below] == 1 - by_level[below - 1]
        assert not close(privacy, by_level[below] + unit, by_level[below - 1] - unit)
    for side in (table.blue, table.red):
        assert 2**table.bits - side[-1] <= CERTAIN * 2**table.bits or privacy.on_integers(table.bits)(side[-1]) == side[-1]
    assert reach(on_line(privacy, boundary)).answers >= max(len(table.blue), len(table.red))


@pytest.mark.slow
@pytest.mark.parametrize("boundary", ["balanced", "1/3", "9/10", "1/1000"])
@pytest.mark.parametrize(
    "privacy", [RenyiDP(20, "1.4"), RenyiDP(2, "1.3"), RenyiDP(20, "1.4", "1e-7"), RenyiDP(7, 9, "1/50")], ids=str
)
def test_rounding_costs_less_than_claimed(privacy: RenyiDP, boundary: str) -> None:
    """Against φ by halving the definition, 400 bits of it, one level after the other."""
    table = line_table(on_line(privacy, boundary))
    with gmpy2.context(precision=400):
        one = gmpy2.mpfr(2) ** table.bits
        if boundary == "balanced":
            low, high = gmpy2.mpfr(0.5), gmpy2.mpfr(1)
            for _ in range(300):
                m = (low + high) / 2
                low, high = (m, high) if divergence(privacy.order, m, 1 - m, privacy.delta) <= privacy.price else (low, m)
            starts = low, low
        else:
            blue = gmpy2.mpfr(gmpy2.mpq(boundary))
            starts = blue, furthest(privacy, 1 - blue)
        for start, side in zip(starts, (table.blue, table.red), strict=True):
            best = start
            for truth in side:
                assert best - truth / one + gmpy2.mpfr(2) ** -120 >= 0
                assert best - truth / one < gmpy2.mpfr(gmpy2.mpq(LOSS))
                best = furthest(privacy, best)


@pytest.mark.slow
@pytest.mark.parametrize("answers", PEOPLE)
def test_how_many_people_shared_answers_need(answers: int) -> None:
    """The table of docs/theory.md, with the best order for each accuracy, nothing set aside."""
    for wrong, people in zip((Fraction(1, 10**3), Fraction(1, 10**9)), PEOPLE[answers], strict=True):
        needed = {}
        best = best_order(BUDGET, answers, float(wrong))
        for order in (best - 1, best, best + 1):
            table = line_table(balanced(shared(answers, order)))
            error = [Fraction(2**table.bits - truth, 2**table.bits) for truth in table.blue]
            needed[order] = next(place for place, each in enumerate(error, 1) if each <= wrong)
        assert needed[best] == people == min(needed.values())


def exceeds(answers: int, p: Fraction, q: Fraction) -> Any:
    """By how much P(S) is at most above e·Q(S) for a set S of transcripts of so many answers, yes with p each or with q."""
    total, many = gmpy2.mpfr(0), gmpy2.mpz(1)
    first, second = ((gmpy2.mpfr(gmpy2.mpq(x)), 1 - gmpy2.mpfr(gmpy2.mpq(x))) for x in (p, q))
    for yes in range(answers + 1):
        likely, other = (many * a**yes * b ** (answers - yes) for a, b in (first, second))
        total += max(0, likely - gmpy2.exp(1) * other)
        many = many * (answers - yes) // (yes + 1)
    return total


@pytest.mark.slow
@pytest.mark.parametrize(("answers", "every", "most"), [(1, 1, 9.7e-7), (10, 1, 3.3e-7), (100, 3, 2.1e-7), (1000, 41, 2.1e-7)])
def test_the_worst_pair_of_levels_repeated(answers: int, every: int, most: float) -> None:
    """The same question again and again, exactly: together well within (1, 10^-6)."""
    by_level = chances(line_table(balanced(shared(answers))))
    with gmpy2.context(precision=200):
        pairs = [*pairwise(by_level)][::every] + [*pairwise(by_level)][len(by_level) // 2 - 1 : len(by_level) // 2]
        worst = max(max(exceeds(answers, p, q), exceeds(answers, q, p)) for p, q in pairs)
    assert most / 2 < worst <= most


def test_definite_answers_of_epsilon_and_delta_are_allowed_too() -> None:
    """A table of (ε, δ) keeps to its price."""
    privacy = ApproxDP("0.5", "1e-7")
    price = price_of(privacy, 20)
    assert all(close(price, p, q) for p, q in pairwise(chances(line_table(balanced(privacy)))))


def test_an_answer_has_no_margin() -> None:
    table = line_table(balanced(shared(10)))
    assert not table.has_margins
    assert set(table.certificate()["claims"]) == {"private", "optimal", "loss"}
    coin = Coin(table)
    answer = coin.answer(10**6)
    assert (answer.answer, answer.margin, answer.privacy) == (True, None, table.privacy)
    assert prove(answer.certificate()).startswith("private and optimal: 138 levels under order 20, price 2.49797")
    for call in (lambda: answer.sure, lambda: answer.certain, lambda: coin.margins(np.array([3])), table.unclipped):
        with pytest.raises(DuotoneError, match="has no margin"):
            call()
    assert coin.answers(np.array([10**6, -(10**6)])).tolist() == [True, False]


@pytest.mark.false_alarm(1e-9)
def test_a_coin_says_yes_as_often_as_its_row() -> None:
    table = line_table(with_boundary(shared(10), "0.6"))
    for level in (0, -1, 7, -15):
        expected, draws = table.yes(level) / 2**table.bits, 200_000
        said = int(Coin(table).answers(np.full(draws, level)).sum())
        assert abs(said - draws * expected) < 6.8 * (draws * expected * (1 - expected)) ** 0.5


def test_how_accurate_it_is_said_to_be() -> None:
    rare = Accuracy(line_table(balanced(shared(10))))
    assert rare.ending == "with delta 0 no answer is ever certain"
    hardly = Accuracy(line_table(balanced(RenyiDP(20, "1.5", "1e-300"))))
    assert hardly.ending == "with delta 1e-300 no answer is ever certain"
    assert rare.head == ("people from flipping", "Pr[wrong]")
    assert (rare.surely, rare.certain, rare.sure(100)) == (float("inf"), float("inf"), 0.0)
    assert rare.document()["share"]["order"] == 20
    assert rare.sentence("exact distance") == (
        "wrong with probability at most 0.48, and less often the more people would have to be different to change it"
    )
    never = Accuracy(line_table(balanced(shared(10, aside="1e-7"))))
    assert never.ending == "never wrong from 53 people on"
    assert Accuracy(line_table(partition_selection(RenyiDP(20, "3/2", "1e-3")))).ending == "always shown from 78 people on"


@given(budgets, st.integers(0, 2**64))
def test_rounding_keeps_the_symmetry_of_the_step(privacy: RenyiDP, at: int) -> None:
    """On multiples of 2^-64, x ≤ step(y) exactly when 1 − y ≤ step(1 − x)."""
    floor = Rounded(privacy, 64)
    one, x = Fraction(1), Fraction(at, 2**64)
    y = floor.step(x)
    assert y == 1 or floor.step(1 - y) >= 1 - x
    if y < one:
        assert floor.step(1 - y - Fraction(1, 2**64)) < 1 - x
    assert floor.represent(y) == y


def test_a_price_too_near_to_one_has_no_table() -> None:
    for privacy in (RenyiDP(20, 1), RenyiDP(20, 1 + Fraction(1, 10**20))):
        with pytest.raises(DuotoneError, match=r"raise the price"):
            line_table(balanced(privacy))


@pytest.mark.slow
@examples(30)
@given(budgets, boundaries)
def test_lines_prove_themselves(privacy: RenyiDP, boundary: Any) -> None:
    certificate = line_table(on_line(privacy, boundary)).certificate()
    assert prove(certificate).startswith("private and optimal")
    assert accepted_by_the_tool(certificate)
