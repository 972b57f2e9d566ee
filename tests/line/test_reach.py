"""How far levels matter, in closed form, against the table itself."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, DuotoneError, balanced, partition_selection, with_boundary
from duotone.line import table as tables
from duotone.line.mechanism import LineMechanism
from duotone.line.table import LONGEST, SHORT, line_table, reach
from duotone.privacy.rounded import Rounded
from support.strategies import exact_budgets, float_budgets

TINY = [0.0, 2.0**-128, 2.0**-127, 2.0**-126, 1e-38, 1e-30, 5e-324, 1e-300]
usable = st.one_of(
    exact_budgets,
    float_budgets,
    st.builds(ApproxDP, st.one_of(st.floats(0.002, 50), st.just(8192.0)), st.sampled_from(TINY)),
    st.builds(lambda p, parts: p.split(parts), exact_budgets, st.sampled_from([2, 3, 2**31])),
).filter(lambda p: p.epsilon >= 0.002 or p.delta >= 1e-3 or p.epsilon == p.delta == 0)


def length(mechanism: LineMechanism) -> tuple[int, int] | str:
    """From where on the table's answers, and its margins, are alike; or why there is no table."""
    try:
        table = line_table(mechanism)
    except DuotoneError as error:
        return str(error)
    return max(len(table.blue), len(table.red)), table.reach


def reached(mechanism: LineMechanism) -> tuple[int, int] | str:
    try:
        return reach(mechanism)
    except DuotoneError as error:
        return str(error)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(usable, st.sampled_from([0, 1, Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), 1e-30, 0.7]))
@example(ApproxDP(exp_epsilon=2, delta="1/10"), Fraction(1, 2))  # certain after 2 steps, but for rounding
@example(ApproxDP(exp_epsilon=1, delta=Fraction(1, 2)), 0)
@example(ApproxDP(0.003344202385227224, 2.938735877055719e-39), Fraction(1, 2))  # a delta of one unit
@example(ApproxDP(4.6816763546921983e-97, 0.0018552463121097465), 0)
@example(ApproxDP(Fraction(43, 1000), Fraction(1578743590659994730399, 2**200)), 0)  # rounding takes all of delta
def test_the_reach_is_never_below_the_tables_end(privacy: ApproxDP, blue: Any) -> None:
    for mechanism in (balanced(privacy), partition_selection(privacy), with_boundary(privacy, blue)):
        end, closed = length(mechanism), reached(mechanism)
        if isinstance(end, str) or isinstance(closed, str) or closed[1] > 2 * SHORT:
            assert closed == end
        else:  # a step of either side may be lost where nothing remains
            assert end[0] <= closed[0] <= end[0] + 1
            assert end[1] <= closed[1] <= end[1] + 2


@pytest.mark.parametrize("delta", ["1e-6", "1e-9", "1/100", "1e-12"])
@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5", "1", "2", "5"])
def test_the_reach_is_the_tables_end_at_usual_budgets(epsilon: str, delta: str) -> None:
    privacy = ApproxDP(epsilon, delta)
    for mechanism in (balanced(privacy), partition_selection(privacy)):
        assert reach(mechanism) == length(mechanism)


def test_a_table_is_built_only_where_it_is_long_and_rounding_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[LineMechanism] = []

    def build(mechanism: LineMechanism) -> Any:
        built.append(mechanism)
        return line_table(mechanism)

    monkeypatch.setattr(tables, "line_table", build)
    for closed in (ApproxDP(1, "1e-6"), ApproxDP("0.2", "1e-9"), ApproxDP("0.001", "1e-6"), ApproxDP(50, "1e-3")):
        assert 0 < reach(balanced(closed)).margins < 20_000
    assert not built
    long = balanced(ApproxDP("0.01"))
    assert reach(long).answers > SHORT
    assert built == [long]


@pytest.mark.parametrize(
    "privacy",
    [ApproxDP("1e-5"), ApproxDP(0, "1e-9"), ApproxDP(5e-324), ApproxDP(2.0**-300, 2.0**-300), ApproxDP("1e-1000", "1e-1000")],
    ids=range(5),
)
def test_a_budget_without_a_table_is_refused_as_the_table_refuses_it(privacy: ApproxDP) -> None:
    for mechanism in (balanced(privacy), *([partition_selection(privacy)] if privacy.delta else [])):
        refusal = length(mechanism)
        assert isinstance(refusal, str)
        assert "levels: raise epsilon or delta" in refusal or "too small to draw" in refusal
        assert reached(mechanism) == refusal


@pytest.mark.slow
def test_the_longest_that_is_closed_has_a_table() -> None:
    mechanism = balanced(ApproxDP(0, Fraction(1, LONGEST - 3000)))
    assert LONGEST - 4000 < reach(mechanism).margins < LONGEST
    assert length(mechanism) == reach(mechanism)


def test_where_the_first_piece_is_taken_without_a_delta_nothing_is_closed() -> None:
    floor = Rounded(ApproxDP(1), 128)
    assert floor.settles_after(Fraction(1, 3)) == math.inf
    assert Rounded(ApproxDP(0), 128).settles_after(Fraction(1, 2)) == math.inf
    assert Rounded(ApproxDP(1e-320), 8192).settles_after(Fraction(1, 2)) == math.inf
    assert reach(with_boundary(ApproxDP(1), "1/3")) == length(with_boundary(ApproxDP(1), "1/3"))
    assert reach(balanced(ApproxDP(0))) == (1, 1)


def test_certain_after_holds_where_epsilon_is_next_to_nothing() -> None:
    """(e^ε)^n − 1 keeps its digits, however near to 1 e^ε is."""
    for epsilon in ("1e-20", "1e-60", "1e-97", "1e-300"):
        privacy = ApproxDP(epsilon, "0.00185")
        assert privacy.certain_after("0.00185") == math.ceil(1 / 0.00185) - 1


def test_a_boundary_too_long_for_a_certificate_is_refused_alike() -> None:
    long = with_boundary(ApproxDP(1, "1e-6"), Fraction(1, 3) + Fraction(1, 3**70_000))
    for act in (reach, line_table):
        with pytest.raises(DuotoneError, match="a boundary value has too many digits"):
            act(long)
