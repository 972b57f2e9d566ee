"""What a dataset is registered with: anything else is one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from duotone import ApproxDP, DuotoneError
from duotone.ledger.registration import registration
from duotone.line.three_way import ThreeWay
from duotone.privacy.renyi import RenyiDP

BUDGET, ABOUT = ApproxDP(1, "1e-6"), {"unit": "person", "neighbours": "replace"}


@pytest.mark.parametrize(
    ("budget", "options", "says"),
    [
        (BUDGET, {"neighbours": "swap"}, "neighbours are add-remove or replace, got swap"),
        (RenyiDP(20, "1.1"), {}, "a budget is an ApproxDP"),
        (BUDGET, {"definite": ApproxDP("0.5")}, "definite is a part of a budget for close calls"),
        (BUDGET, {"close_calls": ThreeWay(ApproxDP("0.05")), "account": "renyi"}, "an account is for definite answers only"),
        (BUDGET, {"close_calls": ThreeWay(ApproxDP("0.05")), "definite": ApproxDP(2)}, "must leave some epsilon"),
    ],
    ids=str,
)
def test_what_cannot_be_registered(budget: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        registration("d", budget, **{**ABOUT, **options})
