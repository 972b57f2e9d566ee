from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import gmpy2
import numpy as np
import pytest
from dp_accounting.pld.pld_pmf import create_pmf
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, DuotoneError, balanced, partition_selection, with_boundary
from duotone.ledger.loss_distributions import (
    MOST,
    RELATIVE,
    DominatingPair,
    PrivacyLossDistribution,
    capacity,
    composed,
    losses,
    pair_of,
    pair_of_definition,
)
from duotone.ledger.planned_composition import PlannedComposition
from duotone.ledger.sums import Spent
from duotone.line.mechanism import LineMechanism
from duotone.line.table import Table, line_table
from support.adversary import edges, enumerated, product_of, worst
from support.running import thinned
from support.strategies import exact_budgets

TENTH = ApproxDP(exp_epsilon=2, delta="1/10")
ALPHAS = [Fraction(1, 3), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(4), Fraction(40)]


def yes(table: Table) -> list[Fraction]:
    levels = range(-len(table.red) - 1, len(table.blue) + 1)
    return [Fraction(table.yes(level), 2**table.bits) for level in levels]


def outcomes(pair: DominatingPair) -> list[tuple[Fraction, Fraction]]:
    return [(p1 - p0, q1 - q0) for (q0, p0), (q1, p1) in pairwise(pair.corners)]


def mechanisms() -> list[LineMechanism]:
    small = ApproxDP(exp_epsilon="3/2", delta="1/50")
    return [
        balanced(TENTH),
        partition_selection(TENTH),
        balanced(small),
        with_boundary(small, "1/5"),
        partition_selection(small),
    ]


@pytest.mark.slow
@settings(max_examples=60)
@given(
    exact_budgets.filter(lambda b: b.delta > 0 and b.exp_epsilon > 1),
    st.sampled_from(["balanced", "selection", "1/3"]),
    st.data(),
)
def test_the_pair_is_the_least_above_every_edge(budget: ApproxDP, boundary: str, data: st.DataObject) -> None:
    build = {"balanced": balanced, "selection": partition_selection}.get(boundary, lambda b: with_boundary(b, boundary))
    table = line_table(build(budget))
    pair = pair_of(table)
    alpha = data.draw(st.fractions(0, 50, max_denominator=100))
    assert pair.delta(alpha) == max(0, 1 - alpha, *(enumerated([edge], alpha) for edge in edges(yes(table))))
    assert pair_of_definition(budget).covers(pair)
    assert pair.delta(budget.exp_epsilon) <= budget.delta  # never looser than it was sold at
    assert all(a >= b for (_, a), (_, b) in pairwise([(q, _slope(p, q)) for p, q in outcomes(pair)]))


def _slope(p: Fraction, q: Fraction) -> float:
    return math.inf if q == 0 else float(p / q)


def test_a_single_worst_edge_is_not_enough() -> None:
    """Whichever edge one would account by, two answers can tell more than two on that edge."""
    chosen = edges(yes(line_table(balanced(TENTH))))
    worst_two = {alpha: max(enumerated(two, alpha) for two in product(chosen, repeat=2)) for alpha in ALPHAS}
    for edge in chosen:
        assert any(enumerated([edge, edge], alpha) < worst_two[alpha] for alpha in ALPHAS)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", mechanisms(), ids=str)
def test_never_below_every_output_and_every_choice_of_neighbours(mechanism: LineMechanism) -> None:
    """Up to 3 answers: every output, every choice of edges, in both directions."""
    table = line_table(mechanism)
    chosen = [(x, y) for x, y in edges(yes(table)) if abs(x - y) > Fraction(1, 10**6)]
    privacy = table.privacy
    one = losses(pair_of(table), privacy.epsilon)
    for k in (1, 2, 3) if len(chosen) <= 12 else (1, 2):
        for alpha in ALPHAS[1:]:
            exact = max(enumerated(some, alpha) for some in product(chosen, repeat=k))
            assert exact <= composed(one, k).delta(math.log(alpha) * (1 - 1e-15))


@pytest.mark.slow
@pytest.mark.parametrize("answers", [2, 5, 8, 12])
def test_never_below_the_worst_adversary(answers: int) -> None:
    """Someone who picks the worst edge for each answer after seeing those before it, exactly."""
    table = [Fraction(balanced(TENTH).yes(level)) for level in range(-4, 4)]
    one = losses(pair_of(line_table(balanced(TENTH))), TENTH.epsilon)
    for alpha in (Fraction(6),):
        exact = worst(edges(table), answers, alpha)
        claim = composed(one, answers).delta(math.log(alpha) * (1 - 1e-15))
        assert exact <= claim <= exact + Fraction(1, 8)  # the price of a dominating pair: see docs/theory.md


@pytest.mark.slow
@pytest.mark.parametrize("answers", [1, 3, 12])
@pytest.mark.parametrize("mechanism", mechanisms(), ids=str)
def test_above_the_exact_composition_by_no_more_than_stated(mechanism: LineMechanism, answers: int) -> None:
    """The exact product of the pair, over all its outputs; the grid is ε/4, and reaches to all of its losses."""
    privacy = line_table(mechanism).privacy
    pair = _rounded(pair_of(line_table(mechanism)))
    one = losses(pair, privacy.epsilon)
    assert one.lowest * one.spacing <= min(math.log(p / q) for p, q in outcomes(pair) if p > 0 and q > 0) + 1e-9
    for epsilon in (0.0, 0.9) if answers == 12 else (0.0, 0.9, 2.5):
        exact = product_of(outcomes(pair), answers, Fraction(math.exp(epsilon)))
        before = product_of(outcomes(pair), answers, Fraction(math.exp(epsilon - answers * one.spacing)))
        claim = composed(one, answers).delta(epsilon)
        assert exact * (1 - Fraction(1, 10**12)) <= claim <= before * (1 + Fraction(2 * RELATIVE))


def _rounded(pair: DominatingPair) -> DominatingPair:
    """With few corners, so that products can be enumerated: those that bend by more than 10^−9."""
    kept = [pair.corners[0]]
    for i in range(1, len(pair.corners) - 1):
        (q0, p0), (q1, p1), (q2, p2) = kept[-1], pair.corners[i], pair.corners[i + 1]
        if abs((p1 - p0) * (q2 - q0) - (p2 - p0) * (q1 - q0)) > Fraction(1, 10**9):
            kept.append((q1.limit_denominator(10**6), p1.limit_denominator(10**6)))
    return DominatingPair((*kept, pair.corners[-1]))


@pytest.mark.parametrize("answers", [1, 2, 5, 12])
@pytest.mark.parametrize("notion", [TENTH, ApproxDP(exp_epsilon="11/10", delta="1/1000"), ApproxDP(exp_epsilon=3)], ids=str)
def test_a_notion_is_composed_without_discretisation(notion: ApproxDP, answers: int) -> None:
    """Both losses are on the grid: the claim is the optimal composition of (ε, δ), to a millionth."""
    pair = pair_of_definition(notion)
    one = losses(pair, notion.epsilon, fine=1)
    for epsilon in (0.05, 0.31, 0.8, 2.3):
        exact = product_of(outcomes(pair), answers, Fraction(math.exp(epsilon)))
        assert exact * (1 - Fraction(1, 10**13)) <= composed(one, answers).delta(epsilon)
        assert composed(one, answers).delta(epsilon) <= exact * (1 + Fraction(2 * RELATIVE)) + Fraction(1, 10**11)


@pytest.mark.parametrize("answers", [3, 10, 100])
def test_as_dp_accounting_composes(answers: int) -> None:
    """Google's own composition, by Fourier transforms, agrees to its accuracy."""
    privacy = ApproxDP("0.1", "1e-5")
    one = losses(pair_of(line_table(balanced(privacy))), privacy.epsilon)
    theirs = create_pmf(
        {one.lowest + i: p for i, p in enumerate(one.chances.tolist())}, one.spacing, one.infinite, pessimistic_estimate=True
    ).self_compose(answers)
    for epsilon in (0.1, 0.5, 1.0, 3.0):
        assert composed(one, answers).delta(epsilon) == pytest.approx(
            theirs.get_delta_for_epsilon(epsilon), rel=2e-6, abs=1e-12
        )


def test_a_claim_keeps_its_accuracy_where_a_fourier_transform_has_none() -> None:
    privacy = ApproxDP("0.1", "1e-30")
    one = losses(pair_of_definition(privacy), privacy.epsilon, fine=1)
    assert 1e-29 < composed(one, 10).delta(1.0) < 1.1e-11  # losses of 1.0 moved up by 2^-40, and no more
    assert composed(one, 10).delta(1.01) == pytest.approx(1e-29, rel=1e-5)


@settings(max_examples=60)
@given(
    st.integers(0, 300),
    st.sampled_from([ApproxDP("0.1", "1e-9"), ApproxDP("0.02", "1e-7"), ApproxDP(1)]),
    st.floats(1e-12, 1e-3),
)
def test_shortening_the_grid_costs_no_more_than_it_says(answers: int, privacy: ApproxDP, delta: float) -> None:
    one = losses(pair_of_definition(privacy), privacy.epsilon, fine=1)
    tail = delta * 2.0**-30
    uncut, short = composed(one, answers), composed(one, answers, tail)
    for epsilon in (0.5, 2.0):
        assert uncut.delta(epsilon) * (1 - 1e-9) <= short.delta(epsilon) <= uncut.delta(epsilon) * (1 + 1e-9) + 60 * tail
    assert len(short.chances) <= len(uncut.chances)


@settings(max_examples=30)
@given(st.floats(0.2, 6), st.floats(1e-9, 1e-2), st.sampled_from(["0.05", "0.3"]))
def test_capacity_is_the_last_that_fits(epsilon: float, delta: float, each: str) -> None:
    privacy = ApproxDP(each, "1e-8")
    one = losses(pair_of_definition(privacy), privacy.epsilon, fine=1)
    most = capacity(one, epsilon, delta)
    assert most == 0 or composed(one, most).delta(epsilon) <= delta
    assert composed(one, most + 1).delta(epsilon) > delta * (1 - 1e-6)


def test_epsilon_at_delta_inverts_delta_at_epsilon() -> None:
    one = losses(pair_of_definition(ApproxDP("0.1", "1e-9")), 0.1, fine=1)
    total = composed(one, 50)
    assert total.delta(total.epsilon(1e-6)) <= 1e-6
    assert total.delta(total.epsilon(1e-6) - 0.01) > 1e-6
    assert total.epsilon(1e-9) == math.inf


def test_extremes() -> None:
    nothing = losses(pair_of_definition(ApproxDP(0)), 0.0, fine=1)  # ε = δ = 0 tells nothing
    assert composed(nothing, 1000).delta(0.0) < 1e-6
    only = losses(pair_of_definition(ApproxDP(0, "1/100")), 0.0, fine=1)
    assert composed(only, 2).delta(1.0) == pytest.approx(1 - 0.99**2, rel=1e-5)
    assert capacity(only, 1.0, 0) == 0
    assert capacity(losses(pair_of_definition(ApproxDP(0, "1e-30")), 0.0, fine=1), 50, 0.5) == MOST
    wide = losses(pair_of(line_table(balanced(ApproxDP("0.01", "1e-12")))), 0.01)  # losses beyond the grid's end
    assert np.isclose(wide.chances.sum() + wide.infinite, 1)
    assert wide.infinite <= 1e-12
    assert PrivacyLossDistribution(1.0, 0, np.ones(1), 0.0).delta(0.0) == 0


def test_too_many_answers_are_refused() -> None:
    one = losses(pair_of_definition(TENTH), TENTH.epsilon)
    with pytest.raises(DuotoneError, match="at most 131072 answers are composed, got 131073"):
        composed(one, MOST + 1)


def test_covers_is_exact() -> None:
    pair = pair_of_definition(TENTH)
    assert pair.covers(pair)
    assert not pair_of_definition(ApproxDP(exp_epsilon=2, delta="1/11")).covers(pair)
    assert not pair_of_definition(ApproxDP(exp_epsilon="19/10", delta="1/10")).covers(pair)
    assert pair.covers(pair_of_definition(ApproxDP(exp_epsilon="19/10", delta="1/11")))
    assert not pair_of_definition(ApproxDP(exp_epsilon=2)).covers(pair)


@pytest.mark.slow
def test_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['dp_accounting.pld.pld_pmf'] = None\n"
        "from duotone import ApproxDP\nfrom duotone.errors import MissingExtra\n"
        "from duotone.ledger.planned_composition import PlannedComposition\n"
        "try: PlannedComposition.most(ApproxDP(1, '1e-6'), ApproxDP('0.1', '1e-9'))\n"
        "except MissingExtra as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == 'a ledger\'s plan needs an optional library: pip install "duotone[ledger]"'


def least_delta(each: ApproxDP, answers: int, epsilon: Fraction) -> gmpy2.mpfr:
    """The least δ of `answers` at one notion (Kairouz, Oh and Viswanath 2015, Theorem 3.3), to 4000 bits."""
    with gmpy2.context(precision=4000, emin=-(10**8), emax=10**8):
        e, d, at = (gmpy2.mpfr(gmpy2.mpq(Fraction(x))) for x in (each.epsilon_exact or 0, each.delta, epsilon))
        up = gmpy2.exp(e) / (1 + gmpy2.exp(e))
        missed = gmpy2.mpfr(0)
        for i in range(answers + 1):
            loss = (2 * i - answers) * e
            if loss > at:
                missed += gmpy2.bincoef(answers, i) * up**i * (1 - up) ** (answers - i) * -gmpy2.expm1(at - loss)
        return 1 - (1 - d) ** answers * (1 - missed)


def most(budget: ApproxDP, each: ApproxDP) -> PlannedComposition | None:
    try:
        return PlannedComposition.most(budget, each)
    except DuotoneError:
        return None


EPSILONS = ["1e-300", "1e-20", "1e-9", "0.001", "1", "40", "700", "4000", "8192"]
DELTAS = ["0", "1e-320", "2.4e-324", "1e-300", "1e-150", "1e-102", "1e-20", "1e-6", "0.5"]


@pytest.mark.slow
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", thinned(EPSILONS, 2))
def test_a_plan_at_the_ends_of_floats_never_has_too_many_answers(epsilon: str, delta: str) -> None:
    budget = ApproxDP(epsilon, delta)
    for each in (ApproxDP(e, d) for e in ("1e-300", "0.001", "1", "40", "4000") for d in ("0", "2.4e-324", "1e-102", "1e-6")):
        plan = most(budget, each)
        if plan is None:
            continue
        spent = plan.spent(Spent().plus(each, plan.count))
        assert spent[0] <= float(epsilon) * (1 + 1e-9)
        assert Fraction(spent[1]) <= Fraction(delta) * 2 + Fraction(5e-324)
        if plan.count <= 60:
            least = Fraction(*least_delta(each, plan.count, Fraction(epsilon)).as_integer_ratio())
            assert least <= Fraction(delta) + Fraction(1, 2**3900)  # what 4000 bits round away
        elif Fraction(delta) > 0:
            assert plan.count * Fraction(each.delta) <= Fraction(delta) * 2


def test_a_delta_that_is_no_float_is_counted() -> None:
    assert PlannedComposition.most(ApproxDP(1, "5e-324"), ApproxDP("0.001", "2.4e-324")).count == 2
    assert PlannedComposition.most(ApproxDP(1, "1e-320"), ApproxDP("0.00001", 0)).count == 100_000


@pytest.mark.slow
@pytest.mark.parametrize("boundary", ["balanced", "selection"])
@pytest.mark.parametrize("each", [("4000", "1e-9"), ("2000", "1e-9"), ("60", "1e-9"), ("1e-20", "1e-9"), ("0.5", "1e-200")])
def test_a_plan_for_a_boundary_at_the_ends_of_floats(boundary: str, each: tuple[str, str]) -> None:
    budget = ApproxDP(8192, "1e-6")
    plan = PlannedComposition.most(budget, ApproxDP(*each), (boundary,))
    assert plan.count >= min(MOST, int(Fraction(8192) / Fraction(each[0]))) or plan.count == 1000
    assert plan.spent(Spent().plus(plan.answers_at, 2))[0] <= float(2 * Fraction(each[0])) * (1 + 1e-9)


def test_an_epsilon_near_the_ends_of_floats_is_not_composed_by_losses() -> None:
    with pytest.raises(DuotoneError, match="must be 0 or in"):
        losses(pair_of_definition(ApproxDP("1e-20")), 1e-20)


@pytest.mark.parametrize(
    ("budget", "each", "by_losses"),
    [
        ((1, Fraction(1, 2**340)), ("0.01", 0), True),
        ((1, Fraction(1, 2**340 + 1)), ("0.01", 0), False),
        ((1, "1e-6"), (Fraction(1, 2**40), 0), True),
        ((1, "1e-6"), (Fraction(1, 2**40 + 1), 0), False),
        ((1, "1e-6"), (64, 0), True),
        ((1, "1e-6"), (65, 0), False),
        ((1, "1e-6"), (0, 0), True),
    ],
)
def test_where_a_plan_is_counted_by_sums_alone(budget: tuple[Any, Any], each: tuple[Any, Any], by_losses: bool) -> None:
    assert bool(PlannedComposition(ApproxDP(*budget), ApproxDP(*each), (), 1).losses) == by_losses
