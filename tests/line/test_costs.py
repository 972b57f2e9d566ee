"""The boundary at which both mistakes cost the same, against every boundary on a grid."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from duotone import ApproxDP, DuotoneError, balanced, with_boundary
from duotone.line.choice import boundary_for_costs

BUDGETS = [ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP(1, "1e-6"), ApproxDP("0.1"), ApproxDP(0, "1/5"), ApproxDP(30)]


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
@pytest.mark.parametrize("costs", [(10, 1), (1, 10), ("3/2", 1), (1, 100_000)], ids=str)
def test_no_boundary_has_a_smaller_worst_cost(privacy: ApproxDP, costs: tuple[Any, Any]) -> None:
    no, yes = (Fraction(cost) for cost in costs)

    def worst(blue: Any) -> float:
        line = with_boundary(privacy.exactly(), blue)
        return float(max(no * line.error(0), yes * line.error(-1)))

    chosen = boundary_for_costs(privacy, *costs)
    line = with_boundary(privacy.exactly(), chosen)
    assert float(no * line.error(0)) == pytest.approx(float(yes * line.error(-1)), rel=1e-6)
    assert worst(chosen) <= min(worst(Fraction(i, 400)) for i in range(401)) * (1 + 1e-6)


def test_equal_costs_are_balanced() -> None:
    assert boundary_for_costs(BUDGETS[0], "0.5", "1/2") == "balanced"
    nearly = boundary_for_costs(BUDGETS[0], 1_000_001, 1_000_000)
    assert float(nearly) == pytest.approx(float(balanced(BUDGETS[0]).blue), abs=1e-6)


@pytest.mark.parametrize(
    ("costs", "says"),
    [
        ((0, 1), "the cost of a mistake must be above 0, got 0"),
        ((1, -2), "must be above 0"),
        ((10**7, 1), "at most 1000000 times as bad"),
        (("many", 1), "the cost of a mistake"),
        ((float("inf"), 1), "cost of a mistake"),
        ((float("nan"), 1), "cost of a mistake"),
    ],
)
def test_refusals(costs: tuple[Any, Any], says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        boundary_for_costs(BUDGETS[0], *costs)
