"""Running sums: never below the truth, rounded as they always were, and written in one way."""

from __future__ import annotations

import json
import random
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import pytest

from duotone import ApproxDP, DuotoneError
from duotone.ledger.sums import EXACT, Spent, log_above, log_below, read_sum, rounded_up, sum_text
from support.accountant import logarithm


def test_sums_are_never_below_the_truth_and_hardly_above() -> None:
    draw, sums, epsilon, delta, product = random.Random(5), Spent(), Fraction(0), Fraction(0), Fraction(1)
    for i in range(60):
        bottom = draw.getrandbits(900) | 1
        each, small = Fraction(draw.randrange(bottom), bottom), Fraction(1, draw.getrandbits(700) | 1)
        sums = sums.plus(ApproxDP(each, small), 3).plus(ApproxDP(exp_epsilon=1 + each), 2)
        epsilon, delta, product = epsilon + 3 * each, delta + 3 * small, product * (1 + each) ** 2
        for kept, true in ((sums.epsilon, epsilon), (sums.delta, delta), (sums.exp_epsilon, product)):
            assert true <= kept <= true * (1 + Fraction(1, 2**500))
            assert kept == true or max(true.numerator.bit_length(), true.denominator.bit_length()) > EXACT or i > 4
        assert Spent.read(json.loads(json.dumps(sums.written()))) == sums
    assert sums.answers == 300
    huge = Spent().plus(ApproxDP(exp_epsilon=2**4000), 3)  # below 2^12000 it is a product
    assert (huge.epsilon, huge.exp_epsilon) == (Fraction(0), Fraction(2**12000))
    assert huge.plus(ApproxDP(exp_epsilon=2)).exp_epsilon == 1
    assert float(huge.plus(ApproxDP(exp_epsilon=2)).epsilon) == pytest.approx(12001 * 0.6931471805599453)
    assert float(Spent().plus(ApproxDP(exp_epsilon=2**4000), 2**17).epsilon) == pytest.approx(4000 * 2**17 * 0.6931471805599453)


def test_sums_are_rounded_as_they_always_were() -> None:
    """By hand: entries on disk hold sums that were rounded so, and verify adds them up again to the last bit."""
    longest = Fraction(2**4224 - 1, 2**4223)
    assert rounded_up(longest) == longest  # 4224 bits above and below the line
    assert rounded_up(1 / longest) == 1 / longest
    for exponent in (0, 1, 510, 511, 512, 513, 514, 4224):  # 2^exponent and a little: 2^512 and one unit, as far to the left
        little = Fraction(1, 2**4300)
        assert rounded_up(2**exponent + little) == Fraction(2**512 + 1) * Fraction(2) ** (exponent - 512)
    assert rounded_up(Fraction(1, 2**4224)) == Fraction(1, 2**4224)
    assert rounded_up(Fraction(1, 2**4224 + 1)) == Fraction(1, 2**4224)
    assert rounded_up(Fraction(3**3000)) == -(-(3**3000) // 2 ** (4755 - 513)) * 2 ** (4755 - 513)  # 4755 bits
    assert rounded_up(Fraction(3**3000, 2**9000)) == Fraction(-(-(3**3000) // 2 ** (4755 - 513)), 2 ** (9000 - 4755 + 513))


def test_logarithms_are_rounded_as_they_always_were() -> None:
    """To 576 significant bits: between the accountant's bounds, there is one such number next above, and one below."""
    for x, before in ((Fraction(2), 0), (Fraction(10), 2), (Fraction(5, 4), -2), (Fraction(2**1000), 10)):
        low, high = logarithm(x)
        assert Fraction(2) ** (before - 1) <= low <= high < Fraction(2) ** before
        unit = Fraction(2) ** (before - 576)
        assert low // unit == high // unit
        assert (log_below(x), log_above(x)) == (low // unit * unit, (low // unit + 1) * unit)


@pytest.mark.parametrize("power", [63, 64, 65, 66, 200])
def test_long_powers_of_two_are_written_as_such(power: int) -> None:
    text = f"5/2^{power}" if power > 64 else f"5/{2**power}"
    assert sum_text(Fraction(5, 2**power)) == text
    assert read_sum(text) == Fraction(5, 2**power)
    assert sum_text(Fraction(5, 2**power + 1)) == f"5/{2**power + 1}" or (2**power + 1) % 5 == 0
    assert sum_text(Fraction(7, 3 * 2**power)) == f"7/{3 * 2**power}"
    assert sum_text(Fraction(5 * 2**power)) == str(5 * 2**power)


def test_only_sums_that_charges_can_make_are_read() -> None:
    sums = {"answers": 3, "epsilon": "1/2", "exp_epsilon": "9/8", "delta": "1/100"}
    assert Spent.read(sums) == Spent(3, Fraction(1, 2), Fraction(9, 8), Fraction(1, 100))
    assert Spent.read({**sums, "answers": 0, "exp_epsilon": "1"}).answers == 0
    wrong: list[Any] = [{**sums, "answers": n} for n in (-1, True, "3", 3.0, None)]
    wrong += [{**sums, "exp_epsilon": text} for text in ("0", "7/8", "1/2")]
    wrong += [{**sums, "more": "0"}, {name: value for name, value in sums.items() if name != "delta"}, [], None, "x"]
    for each in wrong:
        with pytest.raises(DuotoneError, match="these are not the sums of an entry"):
            Spent.read(each)
    with pytest.raises(FrozenInstanceError):
        Spent().answers = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    "text", ["", "01", "2/4", "1/0", "-1", "1.5", "1/2^65 ", "2/2^70", "1/2^64", "5/18446744073709551617/1", 3]
)
def test_only_sums_as_they_are_written_are_read(text: Any) -> None:
    with pytest.raises(DuotoneError, match="not the sums of an entry"):
        read_sum(text)
