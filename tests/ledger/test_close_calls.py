"""How many close calls fit: against the inequalities in exact fractions, against every strategy on small cases and against
strategies that could be played on large ones."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import math
import random
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import pytest
from scipy.special import gammainc, gammaincc

from duotone import ApproxDP, DuotoneError
from duotone.ledger import close_calls
from duotone.ledger.close_calls import MOST, Grid, attacked, deltas, most_close_calls, reaches
from duotone.line.three_way import ThreeWay, clear_from, mirrored, three_way_table
from duotone.release.certificate_close_calls import ONE, Nodes, gains
from support.adversary import best_strategy, lattice, patient
from support.certificates import tool
from support.running import EXHAUSTIVE, thinned

BUDGET = ApproxDP(1, "1e-6")


def claims(budget: ApproxDP, question: ThreeWay, count: int, jump: int = 64) -> list[float]:
    return list(itertools.islice(deltas(budget, Grid.of(budget, question, jump)), count))


class Bent:
    """A function that is linear between some nodes, to (0, 0) below them, and of slope 1 above them: in exact fractions."""

    def __init__(self, nodes: list[Any], values: list[Any]) -> None:
        self.nodes, self.values = nodes, values
        self.slopes = [values[0] / nodes[0], *(b / a for a, b in zip(_steps(nodes), _steps(values), strict=True)), gmpy2.mpq(1)]

    def __call__(self, x: Any) -> Any:
        i = min(bisect.bisect_left(self.nodes, x), len(self.nodes) - 1)
        return self.values[i] + (x - self.nodes[i]) * (self.slopes[i] if x <= self.nodes[i] else self.slopes[-1])

    def both_slopes(self, x: Any) -> tuple[Any, Any]:
        """To the left and to the right."""
        return self.slopes[bisect.bisect_left(self.nodes, x)], self.slopes[bisect.bisect_right(self.nodes, x)]


def _steps(values: list[Any]) -> list[Any]:
    return [b - a for a, b in itertools.pairwise(values)]


def one_more(before: Bent, ratio: Any, turn: int) -> Bent:
    """The first inequality as an equation from a node on, with the slope to its left; the second below, with that to its right.
    Each value is a line in that at the turn, until both meet."""
    nodes = before.nodes
    first = [(ratio - 1) * b / (b - a) for a, b in itertools.pairwise(nodes)]  # (r − 1)·x over the width to the left
    second = [(ratio - 1) * a / (b - a) for a, b in itertools.pairwise(nodes)]

    def rising(i: int, lower: Any) -> Any:
        return (before(ratio * nodes[i]) + first[i - 1] * lower) / (1 + first[i - 1])

    def falling(i: int, upper: Any) -> Any:
        return (ratio * before(nodes[i] / ratio) + second[i] * upper) / (ratio + second[i])

    start = rising(turn, falling(turn - 1, gmpy2.mpq(0)))
    values = {turn: start / (1 - (rising(turn, falling(turn - 1, gmpy2.mpq(1))) - start))}
    for i in range(turn + 1, len(nodes)):
        values[i] = rising(i, values[i - 1])
    for i in range(turn - 1, -1, -1):
        values[i] = falling(i, values[i + 1])
    return Bent(nodes, [values[i] for i in range(len(nodes))])


def failure(before: Bent, now: Bent, ratio: Any) -> Any:
    """By how much the inequalities fail anywhere, relative to x: wherever anything bends, between, and beyond."""
    bends = sorted({x * factor for x in now.nodes for factor in (1, ratio, 1 / ratio)})
    places = [bends[0] / 7, *bends, *((a + b) / 2 for a, b in itertools.pairwise(bends)), 7 * bends[-1]]
    worst = gmpy2.mpq(0)
    for x in places:
        for slope in now.both_slopes(x):
            first = before(ratio * x) - now(x) - (ratio - 1) * x * slope
            second = ratio * before(x / ratio) - ratio * now(x) + (ratio - 1) * x * slope
            worst = max(worst, first / x, second / x, (before(x) - now(x)) / x)
    return worst


GRIDS = [
    (Grid(8, 2, -20, 30), "2", 4),
    (Grid(8, 3, -40, 50), "3/2", 3),
    (Grid(20, 4, -30, 45), "3", 3),
    (Grid(3, 1, -9, 12), "2", 5),
    (Grid(5, 5, -1, 9), "3/2", 3),  # so narrow that what happens beyond the nodes decides
    (Grid(5, 3, 0, 6), "2", 3),
    (Grid(1, 1, -3, 4), "4", 3),
    (Grid(8, 2, -20, 30), "1", 2),
]


@pytest.mark.parametrize(("grid", "ratio", "count"), GRIDS)
def test_bounds_are_those_of_functions_that_meet_the_inequalities_exactly(grid: Grid, ratio: str, count: int) -> None:
    """Nodes, values and slopes as fractions, without u-space, rounding or any formula for the ends."""
    g, alpha = gmpy2.mpq(grid.fine + 1, grid.fine), gmpy2.mpq(ratio)
    nodes = [g**i for i in range(grid.low, grid.high + 1)]
    turn = next(i for i in range(1 - grid.low, len(nodes)) if nodes[i] >= alpha)
    function, paid = Bent(nodes, [max(x - alpha, gmpy2.mpq(0)) for x in nodes]), gmpy2.mpq(0)
    in_integers = gains(Nodes(grid.fine, grid.jump, grid.low, grid.high), Fraction(ratio))
    in_floats = deltas(ApproxDP(exp_epsilon=ratio, delta="1/2"), grid)
    by_tool = tool.gains(grid.fine, grid.jump, grid.low, grid.high, Fraction(ratio))
    for _ in range(count):
        before, function = function, one_more(function, g**grid.jump, turn)
        paid += failure(before, function, g**grid.jump)
        bound, integer = function(gmpy2.mpq(1)) + paid, next(in_integers)
        assert bound <= gmpy2.mpq(integer, ONE) <= bound + gmpy2.mpq(1, 2**80)
        assert next(by_tool) == integer
        assert bound <= next(in_floats) <= bound + 1e-11


@pytest.mark.parametrize(("step", "count", "jump"), [("0.05", 12, 32), ("0.02", 60, 8)])
def test_what_floats_claim_is_what_integers_prove(step: str, count: int, jump: int) -> None:
    """And never below it."""
    grid = Grid.of(BUDGET, ThreeWay(ApproxDP(step)), jump)
    nodes = Nodes(grid.fine, grid.jump, grid.low, grid.high)
    for claim, gain in itertools.islice(zip(deltas(BUDGET, grid), gains(nodes, BUDGET.exp_epsilon), strict=False), count):
        assert Fraction(gain, ONE) <= Fraction(claim) <= Fraction(gain, ONE) + Fraction(1, 10**11)


LEVELS = {
    "at the boundary": [(0, 1), (1, 0), (-1, 0), (0, -1)],
    "near": [(2, 3), (3, 2), (-4, -3), (-3, -4), (3, 3)],
    "both sides": [(4, 5), (5, 4), (-6, -7), (1, 0)],
    "far and near": [(3, 4), (4, 3), (20, 21), (21, 20)],
}
QUESTIONS = [("0.5", "1/100", "1"), ("1", "1/4", "2"), ("0.1", "1e-9", "1/2"), ("0.25", "1e-3", "1/2"), ("1", "1e-9", "0.3")]


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize(("step", "wrong", "budget"), QUESTIONS)
def test_no_strategy_learns_more_than_is_claimed(step: str, wrong: str, budget: str, levels: str) -> None:
    """All adaptive strategies on the real table, in exact fractions."""
    question, privacy = ThreeWay(ApproxDP(step), wrong), ApproxDP(budget, "1e-3")
    table = three_way_table(question)
    for calls, claim in enumerate(claims(privacy, question, 3), 1):
        gained = best_strategy(table, LEVELS[levels], privacy.exp_epsilon, 12 if EXHAUSTIVE else 5, calls)
        assert gained <= Fraction(claim)


@pytest.mark.parametrize(("step", "wrong", "budget"), QUESTIONS)
def test_no_long_strategy_at_one_pair_of_levels_learns_more_than_is_claimed(step: str, wrong: str, budget: str) -> None:
    question, privacy = ThreeWay(ApproxDP(step), wrong), ApproxDP(budget, "1e-3")
    table = three_way_table(question)
    promised, best = claims(privacy, question, 3), [Fraction(0)] * 3
    for level in {3, *thinned([*range(12), *range(12, table.reach + 2, 5)], 5)}:
        for calls in (1, 2, 3):
            gained = best_strategy(table, [(level, level + 1), (level + 1, level)], privacy.exp_epsilon, 12, calls)
            assert gained <= Fraction(promised[calls - 1])
            best[calls - 1] = max(best[calls - 1], gained)
    if step in ("0.5", "1") and budget != "0.3":  # twelve questions are enough to come near
        assert all(gained > claim * 0.75 for gained, claim in zip(best, promised, strict=True)), best


@pytest.mark.parametrize("seed", range(20 if EXHAUSTIVE else 3))
def test_clocks_that_differ_by_less_tell_no_more(seed: int) -> None:
    """Tables whose neighbours' clocks differ by ratios of their own, from 1 to r."""
    rng, question, privacy = random.Random(seed), ThreeWay(ApproxDP("0.7"), "1/50"), ApproxDP("0.9", "1e-3")
    rest, clear, rate = 2**128 - 2**128 // 50, [2**128 // 50], math.log(49)
    for _ in range(9):
        rate /= rng.choice([1, rng.uniform(1, 2.01), 2.01])
        clear.append(int(rest * math.exp(-rate)))
    table = mirrored(question.privacy, 2**128 // 50, clear)
    for calls, claim in enumerate(claims(privacy, question, 3), 1):
        near = rng.randrange(8)
        levels = [(near, near + 1), (near + 1, near), (near + 1, near + 2), (near + 2, near + 1)]
        assert best_strategy(table, levels, privacy.exp_epsilon, 6, calls) <= Fraction(claim)


def test_a_level_and_itself_and_the_boundary_tell_nothing() -> None:
    table = three_way_table(ThreeWay(ApproxDP(1), "1/100"))
    same = [(0, -1), (-1, 0), (2, 2), (-3, -3), (table.reach, table.reach + 1), (table.reach - 1, 10**9)]
    assert best_strategy(table, same, Fraction(1), 8, 3) == 0
    assert best_strategy(table, [(0, 1)], Fraction(1), 1, 1) > 0


def test_a_step_that_is_too_large_would_be_found() -> None:
    """A table with one step that is too large: the strategies above learn more there than is claimed."""
    question, privacy = ThreeWay(ApproxDP("0.5"), "1/100"), ApproxDP(1, "1e-3")
    table = three_way_table(question)
    clear = list(table.blue)
    clear[5:] = [clear[7]] * len(clear[5:])
    broken = mirrored(question.privacy, clear[0], clear)
    claim = claims(privacy, question, 1)[0]
    assert best_strategy(broken, [(4, 5), (5, 4)], privacy.exp_epsilon, 12, 1) > Fraction(claim)


@pytest.mark.parametrize(
    ("step", "wrong", "budget", "level"), [("0.5", "1/100", 1.0, 9), ("1", "1/4", 2.0, 3), ("0.1", "1e-9", 0.5, 46)]
)
def test_far_levels_and_patience_come_near_the_claim(step: str, wrong: str, budget: float, level: int) -> None:
    """So nothing is given away by taking the game for the table."""
    question = ThreeWay(ApproxDP(step), wrong)
    table = three_way_table(question)
    promised = claims(ApproxDP(budget, "1e-3"), question, 3, jump=256)
    for calls in (1, 3):
        few, many = (patient(table, level, math.exp(budget), questions, calls) for questions in (60, 600))
        assert few < many < promised[calls - 1] < many * 1.08


@pytest.mark.parametrize(("step", "count", "jump"), [("0.05", 9, 16), ("0.02", 105, 8), ("0.01", 489, 4)][: 2 + EXHAUSTIVE])
def test_the_claim_is_within_a_fifth_of_an_attack(step: str, count: int, jump: int) -> None:
    bounds = claims(BUDGET, ThreeWay(ApproxDP(step)), count, jump=256)
    attacks = [*itertools.islice(lattice(1, float(step), jump), count)]
    assert all(gained <= bound for gained, bound in zip(attacks, bounds, strict=True))
    assert bounds[-1] <= 1.2 * attacks[-1]


@pytest.mark.slow
@pytest.mark.parametrize(("step", "count"), [("0.05", 9), ("0.02", 105), ("0.01", 489), ("0.005", 2068)][: 3 + EXHAUSTIVE])
def test_how_many_close_calls_fit(step: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And at least 0.95 of what attacks leave."""
    if step == "0.01" and not EXHAUSTIVE:  # the finest nodes alone, which decide
        monkeypatch.setattr(close_calls, "COARSEST", close_calls.FINEST)
    question = ThreeWay(ApproxDP(step))
    most = most_close_calls(BUDGET, question)
    assert most.count == count
    assert 0.9e-6 < most.delta <= 1e-6
    left = min(attacked(BUDGET, question), next(i for i, gained in enumerate(lattice(1, float(step), 4)) if gained > 1e-6))
    assert 0.95 * left <= count <= left


def test_the_page_has_the_numbers_and_names_real_tests() -> None:
    """τ is that of `test_how_many_close_calls_fit`."""
    page = (Path(__file__).parents[2] / "docs" / "budgets.md").read_text()
    for step, count in (("0.05", "9"), ("0.02", "105"), ("0.01", "489"), ("0.005", "2,068")):
        table = three_way_table(ThreeWay(ApproxDP(step)))
        seldom, hardly = (f"{clear_from(table, chance):,} people" for chance in ("1e-3", "1e-9"))
        assert re.search(rf"^\| {step} \| {count} \| [\d,]+ \| {seldom} \| {hardly} \|$", page, re.M)
    tests = "\n".join(file.read_text() for file in Path(__file__).parents[1].rglob("test_*.py"))
    theory = (Path(__file__).parents[2] / "docs" / "theory.md").read_text().split("\n## Close calls\n")[1]
    named = re.findall(r"`(test_\w+)`", theory)
    assert len(named) >= 9
    assert [name for name in named if f"def {name}(" not in tests] == []


def test_nodes_cover_the_ratio_and_the_budget() -> None:
    for step, jump in itertools.product(("0.002", "0.05", "1", "5"), (8, 64)):
        question = ThreeWay(ApproxDP(step))
        grid = Grid.of(BUDGET, question, jump)
        assert reaches(grid.fine, jump, question.privacy.exp_epsilon)
        assert not reaches(grid.fine + 1, jump, question.privacy.exp_epsilon)
        ends = Fraction(grid.fine + 1, grid.fine) ** -grid.low, Fraction(grid.fine + 1, grid.fine) ** grid.high
        assert ends[0] > 5
        assert ends[1] > 5 * BUDGET.exp_epsilon
        assert grid.nodes == 1 + grid.high - grid.low


def test_more_close_calls_reveal_more_and_finer_nodes_show_more() -> None:
    question = ThreeWay(ApproxDP("0.1"))
    coarse, fine = (claims(BUDGET, question, 12, jump) for jump in (8, 64))
    assert coarse == sorted(coarse)
    assert all(0 < better < bound for better, bound in zip(fine, coarse, strict=True))


@pytest.mark.parametrize("delta", ["1e-6", "1e-11"])
def test_without_scipy_the_same_is_found(monkeypatch: pytest.MonkeyPatch, delta: str) -> None:
    """Who verifies a ledger needs no extra, and finds what was registered, to within what `proved` spares."""
    budget = ApproxDP(1, delta)
    calls = most_close_calls(budget, ThreeWay(ApproxDP("0.03")))
    monkeypatch.setitem(sys.modules, "scipy.signal", None)
    assert most_close_calls(budget, ThreeWay(ApproxDP("0.03"))) == calls
    *_, last = itertools.islice(deltas(budget, calls.grid), calls.count)
    assert calls.delta == pytest.approx(last, rel=2**-8)
    assert close_calls.proved.__wrapped__(calls)
    assert not close_calls.proved.__wrapped__(dataclasses.replace(calls, count=calls.count + 1))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-11), (1, 1e-6), (3, 0.1), (64, 1e-3)])
@pytest.mark.parametrize("step", [0.5, 0.1, 0.02, 0.005])
def test_the_attack_is_known_by_incomplete_gamma_functions(epsilon: float, delta: float, step: float) -> None:
    """The waiting time for a number of calls is of Gamma's distribution; here it is judged by scipy, all numbers at once."""
    counts, ratio, alpha = np.arange(1, 2 * MOST), np.exp(step), np.exp(epsilon)
    soon, late = np.maximum(counts * step - epsilon, 0) / (ratio - 1), (counts * step + epsilon) / (ratio - 1)
    sooner = gammainc(counts, ratio * soon) - alpha * gammainc(counts, soon)
    later = gammaincc(counts, late) - alpha * gammaincc(counts, ratio * late)
    within = np.maximum(sooner, later) <= delta
    assert attacked(ApproxDP(epsilon, delta), ThreeWay(ApproxDP(step))) == (len(counts) if within.all() else within.argmin())


def test_what_cannot_be_counted_is_refused() -> None:
    for budget, step, says in (
        (ApproxDP(1), "0.02", "a budget with delta of at least 1e-11"),
        (BUDGET, "0.0001", "too small for this budget"),
        *(
            (BUDGET, step, "too small for this budget") for step in ("1e-6", "1e-20", "1e-100", "1e-320")
        ),  # hours, or an overflow
        (BUDGET, "0.1", "not one close call fits"),
    ):
        with pytest.raises(DuotoneError, match=says):
            most_close_calls(budget, ThreeWay(ApproxDP(step)))
