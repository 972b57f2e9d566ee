"""Answers that may be too close to call: the table in integers against powers in long decimals, which it does not use."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from duotone import ApproxDP, DuotoneError
from duotone.line import three_way
from duotone.line.table import Table
from duotone.line.three_way import RAREST, ThreeWay, clear_from, three_way_table
from support.running import thinned

DIGITS = Context(prec=200)
CASES = [("0.5", "1e-9"), ("0.05", "1/4"), ("1/3", "2.5e-5"), ("1", "1e-18"), ("0.02", "1e-9"), ("3", "0.01")]


def table_of(step: str, wrong: str) -> Table:
    return three_way_table(ThreeWay(ApproxDP(step), wrong))


def rate(entry: int, table: Table) -> Decimal:
    """How often the clock strikes, on average."""
    return DIGITS.subtract(DIGITS.ln(Decimal((1 << table.bits) - table.blue[0])), DIGITS.ln(Decimal(entry)))


@pytest.mark.parametrize(("step", "wrong"), CASES)
def test_neighbours_clocks_differ_by_the_ratio_and_no_entry_could_be_larger(step: str, wrong: str) -> None:
    table = table_of(step, wrong)
    assert isinstance(table.privacy, ApproxDP)
    y = table.privacy.exp_epsilon
    ratio = DIGITS.divide(Decimal(y.numerator), Decimal(y.denominator))
    assert table.blue[0] == table.row(0)[2] == int(Fraction(wrong) * 2**table.bits)
    for near, far in thinned(pairwise(table.blue), 1 + table.reach // 60):
        assert near < far < 2**table.bits - table.blue[0]
        assert DIGITS.multiply(ratio, rate(far, table)) >= rate(near, table) > DIGITS.multiply(ratio, rate(far + 1, table))


@pytest.mark.parametrize(("step", "wrong"), CASES)
def test_both_sides_agree_at_the_boundary_and_mirror_each_other(step: str, wrong: str) -> None:
    table = table_of(step, wrong)
    assert table.chances(-1) == table.chances(0)
    for distance in (0, 1, 2, table.reach // 2, table.reach - 1, table.reach, 10**9):
        yes, close, no = table.chances(distance)
        assert table.chances(-1 - distance) == (no, close, yes)
        assert yes + no + close == 1
        assert min(yes, no, close) > 0
        assert no == Fraction(table.blue[0], 2**table.bits) <= yes


def test_far_out_every_level_is_alike_and_close_calls_are_rare() -> None:
    table = table_of("0.05", "1e-9")
    last = table.chances(table.reach - 1)
    assert table.chances(table.reach) == table.chances(10**12) == last
    assert last[1] <= Fraction(1, 2**RAREST) < table.chances(table.reach - 2)[1]


@pytest.mark.parametrize("chance", ["0.9", "1/2", "1e-3", "1e-9", "2e-11"])
def test_from_where_answers_are_clear(chance: str) -> None:
    table = table_of("0.05", "1e-9")
    people = clear_from(table, chance)
    assert people is not None
    assert table.chances(people - 1)[1] <= Fraction(chance)
    assert people == 1 or table.chances(people - 2)[1] > Fraction(chance)
    assert clear_from(table, "1e-12") is None
    assert clear_from(table, 1) == 1


def test_what_is_no_three_way_mechanism() -> None:
    wrong: Any
    for privacy, wrong, says in (
        ("0.1", "1e-9", "under an ApproxDP"),
        (ApproxDP("0.1", "1e-9"), "1e-9", "no delta of its own"),
        (ApproxDP(0), "1e-9", "above 0"),
        (ApproxDP("0.1"), "0.3", "from 2\\^-60 to 1/4, got 3/10"),
        (ApproxDP("0.1"), 0, "from 2\\^-60"),
        (ApproxDP("0.1"), float("nan"), "must be finite"),
    ):
        with pytest.raises(DuotoneError, match=says):
            ThreeWay(privacy, wrong)  # type: ignore[arg-type]


def test_a_table_that_would_be_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(three_way, "LONGEST", 100)
    with pytest.raises(DuotoneError, match="more than 100 levels: raise it"):
        three_way_table(ThreeWay(ApproxDP("0.0987"), "1e-9"))


def test_they_are_shown_in_short() -> None:
    assert repr(table_of("0.5", "1e-9")) == "<Table: 114 levels of 128 bits, ApproxDP(epsilon=0.5, delta=0)>"
