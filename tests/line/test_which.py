"""Which of k: all events in exact fractions, linear programs over all mechanisms, and draws against rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from duotone import ApproxDP, DuotoneError
from duotone.line.choice import STEPS, least_epsilon, least_price
from duotone.line.mechanism import balanced
from duotone.line.table import Table, line_table
from duotone.line.which import Which, answer_at, preferences, which_reach, which_table
from duotone.privacy.renyi import RenyiDP
from duotone.privacy.text import Definition
from support.running import examples, thinned
from support.strategies import exact_budgets

BUDGETS = [
    ApproxDP(1, "1e-6"), ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP("0.1"), ApproxDP(exp_epsilon="1.01", delta="1e-5"),
    ApproxDP(0, "1/50"), ApproxDP(3), ApproxDP(7, "0.3"), ApproxDP(1, "1e-300"),
]  # fmt: skip


def distribution(table: Table, answer: int, distance: int) -> list[Fraction]:
    """The probability of each answer at a dataset."""
    order, chances = preferences(answer, len(table.outcomes)), table.chances(distance)
    return [chances[order.index(each)] for each in range(len(order))]


def every_event(one: list[Fraction], other: list[Fraction], privacy: ApproxDP) -> bool:
    """Definition 1 for two neighbours, event by event, in both directions."""
    ratio, delta, answers = privacy.exp_epsilon, Fraction(privacy.delta), range(len(one))
    events = [event for size in answers for event in combinations(answers, size + 1)]
    return all(
        sum(p[i] for i in event) <= ratio * sum(q[i] for i in event) + delta
        for event in events
        for p, q in ((one, other), (other, one))
    )


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
@pytest.mark.parametrize(("answers", "ordered"), [(2, False), (3, False), (3, True), (5, False), (5, True)])
def test_neighbours_are_private_over_all_events(privacy: ApproxDP, answers: int, *, ordered: bool) -> None:
    table = which_table(privacy, answers, ordered=ordered)
    distances = [*range(min(4, table.reach)), *thinned(range(4, table.reach + 1), 1 + table.reach // 8)]
    for answer in range(answers):
        for distance in distances:
            here = distribution(table, answer, distance)
            assert sum(here) == 1
            assert every_event(here, distribution(table, answer, distance + 1), privacy)
        for other in range(answer):
            assert every_event(distribution(table, answer, 0), distribution(table, other, 0), privacy)


@examples(60)
@given(exact_budgets.filter(lambda p: p.epsilon >= 0.05 or p.delta >= 0.01), st.integers(2, 30), st.booleans())
def test_any_budget_is_private_as_worst_events_say(privacy: ApproxDP, answers: int, ordered: bool) -> None:
    """The worst event of two neighbours consists of the answers that are more than e^ε as likely."""
    ratio, delta = privacy.exp_epsilon, Fraction(privacy.delta)

    def private(one: Any, other: Any) -> bool:
        pairs = [*zip(one, other, strict=True)]
        return all(
            sum(max(Fraction(0), p - ratio * q) for p, q in both) <= delta for both in (pairs, [(q, p) for p, q in pairs])
        )

    table = which_table(privacy, answers, ordered=ordered)
    rows = [table.chances(distance) for distance in range(table.reach + 1)]
    assert all(private(*pair) for pair in pairwise(rows))
    for one, other in ((0, answers - 1), (answers // 2, answers // 2 - 1)):
        assert private(distribution(table, one, 0), distribution(table, other, 0))
    assert table.loss < Fraction(1, 2**60)


def prefix_sums(privacy: ApproxDP, answers: int, count: int) -> list[list[Fraction]]:
    """φ iterated on prefix sums in exact fractions, from the formula of the first row."""
    ratio, delta = privacy.exp_epsilon, Fraction(privacy.delta)
    truth = (ratio + (answers - 1) * delta) / (ratio + answers - 1)
    rows = [[truth + j * (1 - truth) / (answers - 1) for j in range(answers)]]
    while len(rows) < count:
        rows.append([min(Fraction(1), ratio * s + delta, 1 - (1 - s - delta) / ratio) for s in rows[-1]])
    return rows


@pytest.mark.parametrize("privacy", BUDGETS[:-1], ids=str)
@pytest.mark.parametrize("answers", [2, 3, 10, 40])
def test_rows_are_within_the_loss_of_the_exact_optimum(privacy: ApproxDP, answers: int) -> None:
    for ordered in (False, True):
        table = which_table(privacy, answers, ordered=ordered)
        for distance, sums in enumerate(prefix_sums(privacy, answers, min(60, table.reach))):
            chances = table.chances(distance)
            for places in range(1, answers + 1 if ordered else 2):
                assert 0 <= sums[places - 1] - sum(chances[:places]) <= table.loss < Fraction(1, 2**60)
            if not ordered or distance == 0:
                assert len(set(chances[1:])) == 1  # others are alike


def divergence(one: Sequence[Fraction], other: Sequence[Fraction], order: int) -> Fraction:
    """The sum of p^order / q^(order − 1) over all answers; infinite sums raise an error."""
    return sum((p**order / q ** (order - 1) for p, q in zip(one, other, strict=True) if p), Fraction(0))


def without(chances: Sequence[Fraction], delta: Fraction, *, truth: bool) -> list[Fraction]:
    """What is left of a row if δ is taken from the truth, or evenly from the others."""
    first, *others = chances
    taken = delta / len(others)
    return (
        [max(Fraction(0), first - delta), *others] if truth else [first, *(max(Fraction(0), each - taken) for each in others)]
    )


@pytest.mark.parametrize("privacy", [RenyiDP(20, "1.1"), RenyiDP(2, "3/2"), RenyiDP(5, "1.3", "1/1000")], ids=str)
@pytest.mark.parametrize("answers", [2, 3, 10, 1000])
def test_one_renyi_order_bounds_the_sum_over_all_answers(privacy: RenyiDP, answers: int) -> None:
    """By its definition, in exact fractions, both ways; and no first row with a larger truth satisfies it."""
    table, price, order = which_table(privacy, answers), privacy.price, privacy.order
    for distance in sorted({0, 1, 2, table.reach // 2, table.reach - 2}):
        near, far = table.chances(distance), table.chances(distance + 1)
        assert divergence(without(far, privacy.delta, truth=True), near, order) <= price
        assert divergence(without(near, privacy.delta, truth=False), far, order) <= price
    one, first = 2**table.bits, table.entries[0]
    for other, private in ((first[1] // (answers - 1), True), (first[1] // (answers - 1) - 1, False)):
        row = [Fraction(one - (answers - 1) * other, one), *[Fraction(other, one)] * (answers - 1)]
        swapped = [row[1], row[0], *row[2:]]
        assert (divergence(without(row, privacy.delta, truth=True), swapped, order) <= price) is private


def states(answers: int, furthest: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """A graph where every answer meets every other one: datasets by answer and distance, and neighbours' numbers."""
    nodes = [(a, d) for a in range(answers) for d in range(furthest + 1)]
    near = [
        (i, j) for (i, (a, d)), (j, (b, e)) in combinations(enumerate(nodes), 2) if (a == b and abs(d - e) <= 1) or d == e == 0
    ]
    return nodes, near


class Program:
    """A linear program over all mechanisms on such a graph: the probability of each answer at each dataset, and the excess
    of each over e^ε times a neighbour's, whose sum is at most δ."""

    def __init__(self, privacy: ApproxDP, answers: int, furthest: int) -> None:
        self.nodes, near = states(answers, furthest)
        self.answers, self.near = answers, [*near, *((j, i) for i, j in near)]
        self.width = (len(self.nodes) + len(self.near)) * answers + 1  # and the least truth, at the end
        self.less: list[tuple[dict[int, float], float]] = []
        for pair, (i, j) in enumerate(self.near):
            excess = [(len(self.nodes) + pair) * answers + c for c in range(answers)]
            for c, z in enumerate(excess):
                self.less.append(({self.at(i, c): 1.0, self.at(j, c): -float(privacy.exp_epsilon), z: -1.0}, 0.0))
            self.less.append((dict.fromkeys(excess, 1.0), float(privacy.delta)))

    def at(self, node: int, answer: int) -> int:
        return node * self.answers + answer

    def most(self, objective: dict[int, float], fixed: dict[int, float]) -> float:
        def dense(rows: list[dict[int, float]]) -> np.ndarray:
            matrix = np.zeros((len(rows), self.width))
            for i, row in enumerate(rows):
                matrix[i, list(row)] = list(row.values())
            return matrix

        sums = [{self.at(i, c): 1.0 for c in range(self.answers)} for i in range(len(self.nodes))]
        bounds = [(0.0, 1.0)] * self.width
        for place, value in fixed.items():
            bounds[place] = (value, value)
        solved = linprog(
            -dense([objective])[0], A_ub=dense([row for row, _ in self.less]), b_ub=[b for _, b in self.less],
            A_eq=dense(sums), b_eq=np.ones(len(sums)), bounds=bounds,
        )  # fmt: skip
        assert solved.success, solved.message
        return float(dense([objective])[0] @ solved.x)


@pytest.mark.parametrize("privacy", [BUDGETS[1], ApproxDP(exp_epsilon="1.5", delta="1/100"), ApproxDP(1)], ids=str)
@pytest.mark.parametrize(("answers", "furthest"), [(2, 2), (3, 2), (4, 1)])
def test_no_mechanism_is_right_more_often_at_worst(privacy: ApproxDP, answers: int, furthest: int) -> None:
    """At every distance, over all mechanisms, also those that treat answers differently: the least truth of all answers."""
    table = which_table(privacy, answers)
    for distance in range(furthest + 1):
        program = Program(privacy, answers, furthest)
        least = program.width - 1
        for i, (a, d) in enumerate(program.nodes):
            if d == distance:
                program.less.append(({least: 1.0, program.at(i, a): -1.0}, 0.0))
        assert program.most({least: 1.0}, {}) == pytest.approx(float(table.chances(distance)[0]), abs=1e-7)


@pytest.mark.parametrize("privacy", [BUDGETS[1], ApproxDP(exp_epsilon="1.5", delta="1/100")], ids=str)
@pytest.mark.parametrize(("answers", "furthest"), [(3, 2), (4, 1)])
def test_no_mechanism_with_this_first_row_has_larger_prefix_sums(privacy: ApproxDP, answers: int, furthest: int) -> None:
    """All of them at once: the greatest sum of all prefix sums, with the first rows fixed, is that of the table in order."""
    table, program = which_table(privacy, answers, ordered=True), Program(privacy, answers, furthest)
    first = [float(chance) for chance in table.chances(0)]
    orders = [preferences(a, answers) for a in range(answers)]
    fixed = {
        program.at(i, c): first[place] for i, (a, d) in enumerate(program.nodes) if d == 0 for place, c in enumerate(orders[a])
    }
    weights = {
        program.at(i, c): float(answers - place)
        for i, (a, d) in enumerate(program.nodes)
        if d
        for place, c in enumerate(orders[a])
    }
    expected = answers * sum(
        float((answers - place) * chance) for d in range(1, furthest + 1) for place, chance in enumerate(table.chances(d))
    )
    assert program.most(weights, fixed) == pytest.approx(expected, abs=1e-6)


@examples(60)
@given(exact_budgets.filter(lambda p: p.epsilon >= 0.05 or p.delta >= 0.01), st.integers(2, 12))
def test_an_order_dominates_others_that_are_alike(privacy: ApproxDP, answers: int) -> None:
    """It has the same truths, and no smaller prefix sum, up to rounding: φ is concave."""
    ordered, alike = (which_table(privacy, answers, ordered=each) for each in (True, False))
    for distance in range(max(ordered.reach, alike.reach)):
        one, other = ordered.chances(distance), alike.chances(distance)
        for places in range(1, answers + 1):
            assert sum(one[:places]) >= sum(other[:places]) - Fraction(1, 2**60)


def test_two_answers_are_a_balanced_yes_or_no() -> None:
    privacy = ApproxDP(1, "1e-6")
    line = line_table(balanced(privacy))
    for ordered in (False, True):
        table = which_table(privacy, 2, ordered=ordered)
        assert [row[0] for row in table.entries] == [*line.blue[: table.reach]]


@pytest.mark.parametrize(("answers", "people"), [(3, 8), (5, 8), (10, 8), (20, 9)])
def test_people_from_which_an_answer_is_wrong_once_in_a_thousand(answers: int, people: int) -> None:
    table = which_table(ApproxDP(1, "1e-6"), answers)
    assert table.chances(people - 1)[0] >= Fraction(999, 1000) > table.chances(people - 2)[0]


@pytest.mark.parametrize("answers", [3, 10, 200])
def test_the_least_budget_for_an_error(answers: int) -> None:
    """The next smaller one of so many digits is not enough."""
    line, limit, people = partial(Which, answers=answers), Fraction(1, 1000), 40
    epsilon = least_epsilon(limit, people, "1e-6", parts=2, line=line)
    price = least_price(20, limit, people, parts=2, line=line)
    below = (STEPS[STEPS.index(epsilon) - 1], RenyiDP(20, 1 + (price.price - 1) * Fraction(999, 1000)))
    assert 1 - line(ApproxDP(epsilon, "1e-6").split(2)).table.chances(people - 1)[0] <= limit
    assert 1 - line(ApproxDP(below[0], "1e-6").split(2)).table.chances(people - 1)[0] > limit
    assert 1 - line(price.split(2)).table.chances(people - 1)[0] <= limit
    assert 1 - line(below[1].split(2)).table.chances(people - 1)[0] > limit


@pytest.mark.parametrize("privacy", [ApproxDP(1, "1e-6"), ApproxDP("0.3"), RenyiDP(20, "1.1", "1e-4")], ids=str)
def test_errors_in_floats_are_those_of_the_table(privacy: Definition) -> None:
    for answers in (2, 5, 1000):
        which = Which(privacy, answers)
        for distance in range(0, which.table.reach, 5):
            wrong = float(1 - which.table.chances(distance)[0])
            assert which.error(distance) == pytest.approx(wrong, rel=1e-6, abs=1e-15)
            assert which.error(-1 - distance) == which.error(distance)


@pytest.mark.parametrize("privacy", [*BUDGETS, ApproxDP("0.001"), RenyiDP(20, "1.1"), RenyiDP(5, "1.3", "1/1000")], ids=str)
@pytest.mark.parametrize("answers", [2, 7, 1000])
def test_the_reach_is_known_beforehand(privacy: Definition, answers: int) -> None:
    table = which_table(privacy, answers)
    assert table.reach <= which_reach(privacy, answers) <= table.reach + 1
    assert table.chances(table.reach - 1) == table.chances(10**9)
    if privacy.delta > Fraction(1, 10**100):
        assert table.chances(table.reach - 1)[0] == 1 > table.chances(table.reach - 2)[0]
    else:
        assert 1 - table.chances(table.reach - 1)[0] <= Fraction(1, 2**62)


@given(st.integers(2, 40), st.data())
def test_an_order_is_itself_and_then_by_nearness(answers: int, data: st.DataObject) -> None:
    answer = data.draw(st.integers(0, answers - 1))
    assert preferences(answer, answers) == tuple(sorted(range(answers), key=lambda j: (abs(j - answer), j)))
    assert [int(answer_at(answer, place, answers)) for place in range(answers)] == [*preferences(answer, answers)]


def test_what_is_no_such_mechanism() -> None:
    privacy: Any
    ordered: Any
    for privacy, answers, ordered, says in (
        (ApproxDP(1), 1, False, "2 to 65536, got 1"),
        (ApproxDP(1), 65537, False, "2 to 65536, got 65537"),
        (ApproxDP(1), 3.0, False, "2 to 65536, got 3.0"),
        (ApproxDP(1), 3, "yes", "answers in an order need an ApproxDP"),
        (RenyiDP(20, "1.1"), 3, True, "answers in an order need an ApproxDP"),
        (RenyiDP(20, 1), 3, False, "raise the price"),
        (ApproxDP(0), 3, False, "raise one of them"),
        (None, 3, False, "exact tables exist for"),
    ):
        with pytest.raises(DuotoneError, match=says):
            Which(privacy, answers, ordered)  # type: ignore[arg-type]


@pytest.mark.parametrize("privacy", [ApproxDP("1e-9"), ApproxDP("1e-9", "1e-12"), RenyiDP(20, "1.0000000001")], ids=str)
def test_a_table_that_would_be_too_long_is_refused_at_once(privacy: Definition) -> None:
    for refused in (which_table, which_reach):
        with pytest.raises(DuotoneError, match="needs a table of more than"):
            refused(privacy, 5)
    for refused in (which_table, which_reach):
        with pytest.raises(DuotoneError, match="needs a table of more than"):
            refused(ApproxDP("0.1", "1e-6"), 60_000, ordered=True)
