"""One Rényi order: φ against its definition in fractions, what an answer costs, and the budget that prices multiply up to."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import gmpy2
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from duotone import ApproxDP, DuotoneError
from duotone.privacy.renyi import LARGEST_ORDER, RenyiDP, best_order, price_of, renyi_budget
from duotone.privacy.text import read_either
from support.oracles import indistinguishable
from support.renyi import close, divergence
from support.strategies import exact_budgets, probabilities, renyi_budgets

NAN = float("nan")


@given(renyi_budgets, probabilities, probabilities)
@example(RenyiDP(2, 1), Fraction(0), Fraction(0))
@example(RenyiDP(2, 1, "1/10"), Fraction(0), Fraction(1, 10))
@example(RenyiDP(2, 5, "1/10"), Fraction(9, 10), Fraction(1))
@example(RenyiDP(256, "1.001"), Fraction(1, 2), Fraction(51, 100))
def test_allows_is_the_definition(privacy: RenyiDP, p: Fraction, q: Fraction) -> None:
    assert privacy.allows(p, q) == privacy.allows(q, p) == privacy.allows(1 - p, 1 - q) == close(privacy, p, q)


@given(renyi_budgets, st.one_of(probabilities, st.floats(0, 1), st.sampled_from([5e-324, 1e-300, 1 - 2**-53])))
@example(RenyiDP(2, 1), 0.3)
@example(RenyiDP(256, 1 + 2.0**-52), 0.5)
@example(RenyiDP(20, 10**9), 1e-300)
@example(RenyiDP(3, 2, 5e-324), 0.0)
def test_a_step_is_the_largest_float_allowed(privacy: RenyiDP, x: Fraction | float) -> None:
    y = privacy.step(x)
    assert y >= x
    assert privacy.allows(x, y)
    assert y == 1 or not privacy.allows(x, math.nextafter(y, 1))
    assert isinstance(y, float) or y == x
    assert (y == 1) == (x >= 1 - privacy.delta)


@given(renyi_budgets, probabilities, probabilities, st.fractions(0, 1, max_denominator=20))
def test_the_step_rises_and_is_concave(privacy: RenyiDP, p: Fraction, q: Fraction, share: Fraction) -> None:
    """Between two points of φ's curve all is allowed: so it is with d above 0, too."""
    low, high = (Fraction(privacy.step(x)) for x in sorted((p, q)))
    assert low <= high
    first, second = ((min(p, q), low), (max(p, q), high))
    assert privacy.allows(*(share * x + (1 - share) * y for x, y in zip(first, second, strict=True)))


@given(renyi_budgets, probabilities)
def test_the_step_is_its_own_mirror(privacy: RenyiDP, x: Fraction) -> None:
    """φ(1 − φ(x)) = 1 − x up to 1 − d, and d beyond."""
    back = privacy.step(1 - Fraction(privacy.step(x)))
    assert back == pytest.approx(float(max(1 - x, privacy.delta)), rel=1e-6, abs=1e-9)


@given(renyi_budgets, probabilities)
def test_with_delta_more_is_allowed_than_by_mixing_it_in(privacy: RenyiDP, x: Fraction) -> None:
    without = Fraction(RenyiDP._computed(privacy.order, privacy.price, Fraction(0)).step(x))
    assert privacy.allows(x, (1 - privacy.delta) * without + privacy.delta)


@given(renyi_budgets, st.integers(1, 10**6))
def test_shares_multiply_to_no_more(privacy: RenyiDP, parts: int) -> None:
    share = privacy.split(parts)
    assert (share.order, share.delta * parts) == (privacy.order, privacy.delta)
    with gmpy2.context(precision=4000, round=gmpy2.RoundUp):
        assert gmpy2.mpfr(gmpy2.mpq(share.price)) ** parts <= gmpy2.mpfr(gmpy2.mpq(privacy.price)) * (
            1 + gmpy2.mpfr(2) ** -3000
        )
    assert share.epsilon * parts == pytest.approx(privacy.epsilon, rel=1e-12)


@given(renyi_budgets)
def test_balance_is_the_largest_float_that_mirrors_itself(privacy: RenyiDP) -> None:
    m = privacy.balance()
    assert privacy.allows(m, 1 - Fraction(m))
    above = math.nextafter(m, 1)
    assert not privacy.allows(above, 1 - Fraction(above))


@given(renyi_budgets, st.lists(st.floats(0, 1), max_size=6))
def test_arrays(privacy: RenyiDP, xs: list[float]) -> None:
    assert privacy.step(np.array([xs, xs])).tolist() == [[privacy.step(x) for x in xs]] * 2


@given(exact_budgets, probabilities, probabilities, st.sampled_from([2, 3, 20]))
def test_whatever_is_private_by_epsilon_and_delta_keeps_to_its_price(
    privacy: ApproxDP, p: Fraction, q: Fraction, order: int
) -> None:
    price = price_of(privacy, order)
    assert (price.order, price.delta) == (order, privacy.delta)
    assert price.allows(p, q) or not indistinguishable(p, q, privacy.exp_epsilon, Fraction(privacy.delta))
    y = privacy.exp_epsilon  # and no smaller price would do, but for δ
    truthful = y / (1 + y)
    assert 1 <= price.price / divergence(order, truthful, 1 - truthful) <= 1 + Fraction(1, 2**100)


@given(st.floats(1e-12, 60), st.sampled_from([2, 20, 256]))
def test_a_price_is_rounded_up_a_little(epsilon: float, order: int) -> None:
    with gmpy2.context(precision=2000):
        y = gmpy2.exp(gmpy2.mpfr(epsilon))
        exact = (y**order + y ** (1 - order)) / (1 + y)
        price = gmpy2.mpfr(gmpy2.mpq(price_of(ApproxDP(epsilon), order).price))
        assert exact <= price <= exact + (exact - 1) * gmpy2.mpfr(2) ** -80


def test_many_outcomes_keep_to_the_price() -> None:
    """The four outcomes that stand for any (ε, δ)-private answer, and what becomes of them in every deterministic way."""
    privacy, order = ApproxDP(exp_epsilon=3, delta="1/7"), 5
    price, y, d = price_of(privacy, order), Fraction(3), Fraction(1, 7)
    p = [d, (1 - d) * y / (1 + y), (1 - d) / (1 + y), Fraction(0)]
    for becomes in product(range(4), repeat=4):
        part, other = [Fraction(0)] * 4, [Fraction(0)] * 4
        for i, j in enumerate(becomes):
            part[j] += p[i] if i else 0
            other[j] += p[3 - i]
        assert sum(a**order / b ** (order - 1) for a, b in zip(part, other, strict=True) if a) <= price.price


@given(st.floats(1e-3, 30), st.floats(1e-12, 0.5), st.integers(2, 256), st.fractions(0, Fraction(9, 10)))
def test_a_budget_is_rounded_down_a_little(epsilon: float, delta: float, order: int, aside: Fraction) -> None:
    k, privacy = order - 1, ApproxDP(epsilon, delta)
    with gmpy2.context(precision=2000):
        rest = Fraction(delta) * (1 - aside)
        exact = gmpy2.mpfr(gmpy2.mpq(rest)) * gmpy2.exp(k * gmpy2.mpfr(epsilon)) * (k + 1) * (1 + gmpy2.mpfr(1) / k) ** k
        assume(abs(exact - 1) > 1e-9)
        if exact < 1:
            with pytest.raises(DuotoneError, match=r"nothing fits into .* take a higher order"):
                renyi_budget(privacy, order, aside * Fraction(delta))
            return
        budget = gmpy2.mpfr(gmpy2.mpq(renyi_budget(privacy, order, aside * Fraction(delta))))
        assert exact * (1 - gmpy2.mpfr(2) ** -100) <= budget <= exact


@given(renyi_budgets, probabilities, probabilities, st.floats(0, 3))
def test_one_answer_is_within_delta_of_its_budget(privacy: RenyiDP, p: Fraction, q: Fraction, epsilon: float) -> None:
    """The filter's constant for a single answer: p ≤ e^ε·q + d + T·k^k / ((k+1)^(k+1)·e^(kε))."""
    assume(privacy.allows(p, q))
    k, y = privacy.order - 1, ApproxDP(epsilon).exp_epsilon
    allowed = privacy.delta + privacy.price * k**k / ((k + 1) ** (k + 1) * y**k)
    assert p - y * q <= allowed
    assert (1 - p) - y * (1 - q) <= allowed


@pytest.mark.slow
@pytest.mark.parametrize(
    "budget", [ApproxDP(1, "1e-6"), ApproxDP("0.1", "1e-8"), ApproxDP(5, "1e-3"), ApproxDP(20, "1e-9")], ids=str
)
@pytest.mark.parametrize("answers", [1, 2, 30])
@pytest.mark.parametrize("wrong", [1e-3, 1e-9])
def test_the_best_order_needs_the_fewest_people(budget: ApproxDP, answers: int, wrong: float) -> None:
    """Of all orders, people counted along the line itself."""
    best = best_order(budget, answers, wrong)
    people = {}
    for order in {2, 3, *range(5, LARGEST_ORDER, 11 if answers > 2 else 5), best - 1, best, best + 1} & {*range(2, 257)}:
        try:
            each = RenyiDP._computed(order, renyi_budget(budget, order, Fraction(budget.delta) / 10), Fraction(0)).split(
                answers
            )
        except DuotoneError:
            continue
        truth: Any = each.balance()
        people[order] = 1
        while 1 - truth > wrong:
            truth, people[order] = float(each.step(truth)), people[order] + 1
    assert people[best] == min(people.values())


def test_a_delta_that_no_float_holds_has_its_best_order() -> None:
    """Something fits from order 230 on; more fits at a higher one."""
    logs = [-400 * math.log(10) + 4 * k + (k + 1) * math.log(k + 1) - k * math.log(k) for k in range(1, 256)]
    first = next(k for k, log in enumerate(logs, start=1) if log + math.log(0.9) >= 0)
    assert first + 1 == 230 < best_order(ApproxDP(4, "1e-400"), 10) <= 256


def test_a_price_of_the_order_is_itself() -> None:
    privacy = RenyiDP(20, "1.01", "1e-9")
    assert price_of(privacy, 20) is privacy


def test_how_it_is_shown() -> None:
    assert repr(RenyiDP(20, "1.01", "1e-9")) == "RenyiDP(order=20, price=101/100, delta=1/1000000000)"
    assert repr(RenyiDP(20, "1.01").split(1000)).startswith("RenyiDP(order=20, price=1.00000995")
    assert RenyiDP(20, 1).epsilon == 0
    assert RenyiDP(3, 4).epsilon == pytest.approx(math.log(2))


BAD: list[tuple[Any, ...]] = [
    ((1, 2), "order is a whole number from 2 to 256, got 1"),
    ((257, 2), "order is a whole number"),
    ((2.0, 2), "order is a whole number"),
    ((True, 2), "order is a whole number"),
    ((2, "0.9"), "price must be at least 1, got 9/10"),
    ((2, NAN), "price must be finite"),
    ((2, math.inf), "price must be finite"),
    ((2, 2, 1), r"delta must be in \[0, 1\), got 1"),
    ((2, 2, -1), r"delta must be in \[0, 1\)"),
    ((2, 2, NAN), "delta must be finite"),
    ((2, 2**5000), "price and delta have at most 1228 digits"),
]


@pytest.mark.parametrize(("parameters", "said"), BAD, ids=str)
def test_bad_parameters(parameters: tuple[Any, ...], said: str) -> None:
    with pytest.raises(DuotoneError, match=said):
        RenyiDP(*parameters)


def test_other_mistakes() -> None:
    privacy, budget = RenyiDP(2, 2), ApproxDP(1, "1e-6")
    for call, said in (
        (lambda: privacy.split(0), "at least 1, got 0"),
        (lambda: privacy.step(1.5), "must be in"),
        (lambda: privacy.step(np.array([NAN])), "must be in"),
        (lambda: privacy.allows(0, 2), "must be in"),
        (lambda: RenyiDP.tightest([(0.5, 0)], order=2), "impossible at a neighbour: no finite price will do"),
        (lambda: privacy.iterate("1/2", -1), "a number of steps must be at least 0"),
        (lambda: privacy.iterate("1/2", np.array([1.5])), "a number of steps must be a whole number"),
        (lambda: read_either("order=1 price=3/2 delta=0"), "not a definition as a ledger writes it"),
        (lambda: read_either("order=2 price=1/2 delta=0"), "not a definition as a ledger writes it"),
        (lambda: price_of(privacy, 3), "of order 3 is spent by answers of order 3, got order 2"),
        (lambda: price_of("1", 3), "a price is known of an ApproxDP or a RenyiDP, got str"),
        (lambda: price_of(budget, LARGEST_ORDER + 1), "order is a whole number"),
        (lambda: renyi_budget(budget, 1, 0), "order is a whole number"),
        (lambda: renyi_budget(budget, 20, "1e-6"), "set aside of delta must be at least 0 and less than it"),
        (lambda: renyi_budget(budget, 20, -1), "set aside of delta"),
        (lambda: renyi_budget(ApproxDP(1), 20, 0), "set aside of delta"),
        (lambda: best_order(budget, 0), "an order is chosen for at least 1 answer"),
        (lambda: best_order(budget, 10, NAN), "an order is chosen for at least 1 answer"),
        (lambda: best_order(ApproxDP("1e-4", "1e-9"), 10), "nothing fits into"),
    ):
        with pytest.raises(DuotoneError, match=said):
            call()
