"""The strongest definition that given probabilities satisfy."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, DuotoneError
from support.oracles import indistinguishable
from support.strategies import probabilities


@given(st.lists(st.tuples(probabilities, probabilities), min_size=1, max_size=5), st.fractions(0, Fraction(1, 2)))
def test_tightest(pairs: list[tuple[Fraction, Fraction]], delta: Fraction) -> None:
    def private(notion: ApproxDP) -> bool:
        return all(indistinguishable(p, q, notion.exp_epsilon, Fraction(notion.delta)) for p, q in pairs)

    try:
        least = ApproxDP.tightest(pairs, delta=delta)
    except DuotoneError:
        assert not private(ApproxDP(exp_epsilon=10**9, delta=delta))
    else:
        assert private(least)
        assert least.exp_epsilon == 1 or not private(
            ApproxDP(exp_epsilon=1 + (least.exp_epsilon - 1) * Fraction(999, 1000), delta=delta)
        )
    try:
        least = ApproxDP.tightest(pairs, exp_epsilon=2)
    except DuotoneError:
        assert any({p, q} == {0, 1} for p, q in pairs)
    else:
        assert private(least)
        assert least.delta == 0 or not private(ApproxDP(exp_epsilon=2, delta=Fraction(least.delta) * Fraction(999, 1000)))


def test_neighbours_that_never_agree_have_no_notion() -> None:
    for pair in ((0, 1), (1, 0)):
        with pytest.raises(DuotoneError, match="never give the same answer"):
            ApproxDP.tightest([pair], exp_epsilon=2)
        with pytest.raises(DuotoneError, match="no finite epsilon"):
            ApproxDP.tightest([pair], delta="0.99")
    nearly = ApproxDP.tightest([(0, Fraction(99, 100))], exp_epsilon=2)
    assert (nearly.exp_epsilon, nearly.delta) == (Fraction(2), Fraction(99, 100))


def test_tightest_wants_one_of_the_two() -> None:
    with pytest.raises(DuotoneError, match="not both"):
        ApproxDP.tightest([], epsilon=1, delta=0)
    assert ApproxDP.tightest([], epsilon=1) == ApproxDP(1, Fraction(0))
