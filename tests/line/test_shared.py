"""Answers that share (ε, δ) by one Rényi order: what they may do together, and when that is chosen."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from duotone import ApproxDP, DuotoneError, balanced, partition_selection
from duotone.line.choice import people_needed, shared_by
from duotone.line.table import Table, line_table
from duotone.privacy.renyi import RenyiDP, Shared

USUAL = ApproxDP(1, "1e-6")
BUDGETS = [(USUAL, 10), (USUAL, 100), (ApproxDP("0.3", "1e-9"), 40), (ApproxDP(3, "1e-4"), 1000)]


@pytest.mark.parametrize(("privacy", "answers"), BUDGETS, ids=str)
def test_the_prices_of_all_stay_within_the_promise(privacy: ApproxDP, answers: int) -> None:
    """By the inequality of docs/theory.md, in logarithms of its own."""
    shared = Shared.of(privacy, answers)
    k, d = shared.order - 1, float(answers * shared.each.delta)
    log_budget = math.log(float(privacy.delta) - d) + (k + 1) * math.log(k + 1) - k * math.log(k) + k * privacy.epsilon
    log_price = math.log1p(float(shared.each.price - 1))
    assert 0.999999 * log_budget < answers * log_price <= log_budget * (1 + 1e-12)
    assert answers * shared.each.delta == Fraction(privacy.delta) / 10


def repeated(table: Table, ratio: float, answers: int) -> float:
    """The δ of the pair of neighbouring levels that is worst if all answers are about it: all sets of outcomes, exactly but
    for floats, since equal answers matter by their number alone."""
    yes = [float(Fraction(row[0], 2**table.bits)) for row in table.entries]
    count, worst = np.arange(answers + 1), 0.0
    for p, q in (pair for one in itertools.pairwise(yes) for pair in (one, one[::-1])):
        worst = max(worst, float(np.maximum(0, binom.pmf(count, answers, p) - ratio * binom.pmf(count, answers, q)).sum()))
    return worst


@pytest.mark.parametrize(("privacy", "answers"), BUDGETS, ids=str)
def test_all_answers_about_the_worst_pair_keep_the_promise(privacy: ApproxDP, answers: int) -> None:
    each = Shared.of(privacy, answers).each
    for line in (partition_selection(each), balanced(each)):
        delta = repeated(line_table(line), math.exp(privacy.epsilon), answers)
        assert float(privacy.delta) / 1000 < delta <= float(privacy.delta)


@pytest.mark.parametrize(("answers", "evenly", "shared"), [(1, 14, 16), (10, 132, 52), (100, 1313, 112)])
def test_groups_are_shown_from_fewer_people(answers: int, evenly: int, shared: int) -> None:
    """The sizes that docs/theory.md states, from the tables that are drawn from."""
    for each, size in ((USUAL.split(answers), evenly), (Shared.of(USUAL, answers).each, shared)):
        table = line_table(partition_selection(each))
        assert table.chances(size - 1)[0] >= Fraction(1, 2) > table.chances(size - 2)[0]
        assert people_needed(each, selected=True) == size


@pytest.mark.parametrize(("answers", "evenly", "shared"), [(1, 7, 7), (10, 63, 35), (100, 622, 86)])
def test_answers_are_rarely_wrong_from_fewer_people(answers: int, evenly: int, shared: int) -> None:
    for each, people in ((USUAL.split(answers), evenly), (Shared.of(USUAL, answers).each, shared)):
        table = line_table(balanced(each))
        assert table.chances(people - 1)[1] <= Fraction(1, 1000) < table.chances(people - 2)[1]
        assert people_needed(each, selected=False) == people


@pytest.mark.parametrize("selected", [True, False])
def test_it_is_chosen_where_it_takes_fewer_people(selected: bool) -> None:
    for answers in (1, 2, 3, 5, 8, 20, 300):
        evenly, shared = (people_needed(e, selected=selected) for e in (USUAL.split(answers), Shared.of(USUAL, answers).each))
        assert (shared_by(USUAL, answers, selected=selected) is not None) == (2 * shared <= evenly)
        assert (shared_by(USUAL, answers, selected=selected, margins=False) is not None) == (shared < evenly)
        assert shared_by(USUAL, answers, selected=selected, margins=True) is None


def test_where_it_cannot_be_it_is_not_chosen() -> None:
    for privacy in (
        ApproxDP(1),
        ApproxDP(0, "1e-6"),
        ApproxDP(1000, "1e-6"),
        ApproxDP("0.001", "1e-9"),
        RenyiDP(20, 9, "1e-7"),
    ):
        assert shared_by(privacy, 100, selected=False, margins=False) is None
    with pytest.raises(DuotoneError, match="nothing fits"):
        _ = Shared.of(ApproxDP("0.001", "1e-9"), 10)
