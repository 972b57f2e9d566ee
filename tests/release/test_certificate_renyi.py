"""Certificates under one Rényi order: both checkers believe the good ones, and none that is spoilt."""

from __future__ import annotations

import copy
import json
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, balanced, prove
from duotone.line.table import line_table
from duotone.line.three_way import ThreeWay
from duotone.privacy.renyi import RenyiDP
from duotone.release.certificate import Unproved
from duotone.release.certificate_renyi import RenyiStep
from support.certificates import (
    CHECKERS,
    both_reject,
    good_renyi,
    package_accepts,
    row_of,
    small_close_calls,
    spoilt,
    tool,
    tool_accepts,
    truths,
)
from support.renyi import close
from support.running import EXHAUSTIVE, thinned
from support.strategies import renyi_budgets


@given(renyi_budgets, st.integers(0, 2**64), st.one_of(st.none(), st.integers(-5, 2**64)))
def test_a_step_of_the_checker_is_the_largest_that_the_definition_allows(privacy: RenyiDP, t: int, near: int | None) -> None:
    """Whatever number it is said to be near."""
    if privacy.price == 1 and privacy.delta == 0:
        return
    one = 2**64
    down, up = (RenyiStep(privacy.order, privacy.price, privacy.delta, 64, up=each) for each in (False, True))
    most = down(t, near)
    assert close(privacy, Fraction(t, one), Fraction(most, one))
    assert most == one or not close(privacy, Fraction(t, one), Fraction(most + 1, one))
    assert most <= up(t, near) <= most + 1
    assert up(t, near) == most + 1 or most == one or (t == 0 and privacy.delta * one == most)
    assert down.private((t, one - t), (most, one - most))
    assert most == one or not down.private((most + 1, one - most - 1), (t, one - t))
    parts = {"order": privacy.order, "price": str(privacy.price), "delta": str(privacy.delta)}
    private, largest, ceiling, _ = tool.by_powers({"privacy": parts, "bits": 64, "rows": []})
    assert (largest(t, t if near is None else near), ceiling(t, t)) == (most, up(t))
    assert private(most, t)


@pytest.mark.slow
def test_every_single_entry_mutation_is_caught() -> None:
    rng, tried = random.Random(7), 0
    for certificate in good_renyi():
        one, rows = 2 ** certificate["bits"], certificate["rows"]
        keys = [*range(len(rows))] if type(rows) is list else [*rows]
        for key in keys if EXHAUSTIVE or len(keys) < 60 else rng.sample(keys, 60):
            yes = key >= -certificate["lowest"] if type(rows) is list else rows[key]["colour"] == "blue"
            old = int(rows[key]["numbers"][not yes])
            for new in {old - 1, old + 1, 0, one, rng.randrange(one), old ^ (1 << rng.randrange(60))} - {old}:
                bad = copy.deepcopy(certificate)
                bad["rows"][key] |= row_of(new, one, yes=yes)
                tried += 1
                assert not any(check(bad) for check in CHECKERS), (key, old, new)
            if type(rows) is list:
                shorter = copy.deepcopy(certificate)
                del shorter["rows"][key]
                shorter["lowest"] += not yes
                assert truths(shorter) == truths(certificate) or both_reject(shorter)
    assert tried > 600


@pytest.mark.slow
@pytest.mark.parametrize("seed", thinned(range(6), 3))
def test_both_checkers_give_the_same_verdict(seed: int) -> None:
    rng, originals, accepted, each = random.Random(seed), good_renyi(), 0, 3000
    assert all(kind(json.dumps(certificate)) for certificate in originals for kind in (package_accepts, tool_accepts))
    for _ in range(each):
        text = spoilt(rng.choice(originals), rng)
        verdict = package_accepts(text)
        assert verdict == tool_accepts(text), text
        accepted += verdict
    assert each / 1000 < accepted < each / 2


CHANGES: list[dict[str, Any]] = [
    {"order": 19}, {"order": 21}, {"order": 1}, {"order": 257}, {"order": "20"}, {"order": 20.0}, {"order": True},
    {"order": None},
    {"price": "3/2"}, {"price": "41/40"}, {"price": "1"}, {"price": "0"}, {"price": "-1"}, {"price": 1.4}, {"price": "nan"},
    {"delta": "1/1000"}, {"delta": "1"}, {"delta": "-1/10"}, {"delta": None},
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_another_definition_is_refused(change: dict[str, Any]) -> None:
    certificate = line_table(balanced(RenyiDP(20, "7/5"))).certificate()
    assert not both_reject(certificate)
    assert both_reject({**certificate, "privacy": {**certificate["privacy"], **change}})
    for missing in ("order", "price", "delta"):
        assert both_reject({**certificate, "privacy": {k: v for k, v in certificate["privacy"].items() if k != missing}})


@pytest.mark.parametrize(
    "change", [{"cap": 3}, {"cap": 10**6}, {"boundary": "1/2"}, {"boundary": "selection"}, {"bits": 129}], ids=str
)
def test_other_claims_are_refused(change: dict[str, Any]) -> None:
    certificate = line_table(balanced(RenyiDP(20, "7/5"))).certificate()
    assert both_reject({**certificate, **change})
    for claims in ({"margin": True}, {"optimal": False}, {"margin": False}, {"private": False}, {"loss": "2^-59"}):
        assert both_reject({**certificate, "claims": {**certificate["claims"], **claims}})


def test_a_definition_cannot_stand_for_another() -> None:
    """Not an order for a ratio of the same rows, nor in a certificate of close calls."""
    approx, renyi = (line_table(balanced(privacy)).certificate() for privacy in (ApproxDP(1, "1e-6"), RenyiDP(20, "7/5")))
    assert both_reject({**approx, "privacy": renyi["privacy"]})
    assert both_reject({**renyi, "privacy": approx["privacy"]})
    calls = small_close_calls(ApproxDP(1, "1/3"), ThreeWay(ApproxDP("1/2"), "0.01"), jump=1)
    assert not both_reject(calls)
    for key in ("privacy", "budget"):
        assert both_reject({**calls, key: renyi["privacy"]})
        assert both_reject({**calls, key: {**calls[key], **renyi["privacy"], "ratio": "2"}})


def test_numbers_that_would_take_hours_are_refused() -> None:
    """An order and numbers that are too long together; or too many rows for them."""
    certificate = line_table(balanced(RenyiDP(20, "7/5"))).certificate()
    long = {**certificate["privacy"], "order": 256, "price": f"{10**400 + 1}/{10**400}"}
    with pytest.raises(Unproved, match="too many rows"):
        prove({**certificate, "privacy": long})
    assert both_reject({**certificate, "privacy": long})
    many = {**certificate, "rows": certificate["rows"] * 200, "lowest": certificate["lowest"] * 200}
    many["privacy"] = {**certificate["privacy"], "price": f"{7 * 10**200 + 1}/{5 * 10**200}"}
    with pytest.raises(Unproved, match="too many rows"):
        prove(many)


def test_what_was_proved_is_said() -> None:
    certificate = line_table(balanced(RenyiDP(20, "7/5", "1e-7"))).certificate()
    assert prove(certificate).endswith("levels under order 20, price 7/5, delta 1/10000000")
    assert tool.budget(certificate) == "order 20, price 7/5, delta 1/10000000"
