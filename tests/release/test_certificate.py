"""Good certificates, thousands of them: both checkers prove each one."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any
from unittest import mock

import gmpy2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duotone import ApproxDP, ColouredGraph, DuotoneError, Infeasible, balanced, partition_selection, prove, with_boundary
from duotone.graphs import families
from duotone.graphs.table import graph_table
from duotone.line.mechanism import on_line
from duotone.line.table import line_table
from duotone.release.certificate_numbers import Step, exp_bounds
from support.certificates import CHECKERS, good, random_lines, tool
from support.running import examples, thinned
from support.strategies import coloured_graphs, exact_budgets, float_budgets, probabilities

usable = st.one_of(exact_budgets, float_budgets).filter(
    lambda p: p.epsilon >= 0.01 or p.delta >= 0.01 or p.epsilon == p.delta == 0
)


@pytest.mark.slow
@given(coloured_graphs(), usable, st.data())
@examples(400)
def test_any_notion_any_graph_any_feasible_boundary(graph: ColouredGraph, privacy: ApproxDP, data: st.DataObject) -> None:
    values = {d: data.draw(st.one_of(probabilities, st.floats(0, 1))) for d in graph.boundary("blue")}
    boundary: Any = data.draw(st.one_of(st.just("balanced"), probabilities, st.floats(0, 1), st.just(values)))
    try:
        table = graph_table(graph, privacy, boundary)
    except Infeasible:
        return
    certificate = json.loads(json.dumps(table.certificate()))
    assert prove(certificate).startswith("private and optimal")
    assert tool.check(certificate) == f"{len(graph)} datasets"


@pytest.mark.slow
@pytest.mark.parametrize("seed", thinned(range(4), 2))
def test_thousands_of_good_lines(seed: int) -> None:
    for certificate in random_lines(1000, seed):
        assert all(check(certificate) for check in CHECKERS)


@pytest.mark.slow
def test_large_good_certificates_take_no_time() -> None:
    for table in (
        graph_table(families.line(2000, 1).graph(), ApproxDP(0.01)),
        line_table(partition_selection(ApproxDP(1, "1e-1000"))),
        line_table(balanced(ApproxDP(exp_epsilon=10**400))),
    ):
        certificate = json.loads(json.dumps(table.certificate()))
        assert all(check(certificate) for check in CHECKERS)


exponents = st.integers(-1200, -2)


tiny = st.one_of(
    st.builds(lambda m, e: f"{m}e{e}", st.integers(1, 99), exponents),
    st.builds(
        lambda a, b, e: Fraction(a, b) * Fraction(10) ** (e + 30), *[st.integers(1, 10**30)] * 2, st.integers(-1190, -61)
    ),
    st.floats(0, 0.5, allow_subnormal=True),
    st.sampled_from([0, 5e-324, 2.5e-320, "1e-6", "1/10", "0." + "3" * 1200]),
)


epsilons = st.one_of(tiny, st.floats(0, 9000), st.fractions(0, 9000, max_denominator=10**9), st.integers(0, 8193))


@pytest.mark.slow
@given(
    epsilons,
    tiny,
    tiny,
    st.sampled_from(["balanced", "selection", "value"]),
    st.booleans(),
    st.sampled_from([1, 1, 3, 2**62 + 1]),
)
@example("1e-2999", "1/10", 0, "balanced", False, 1)
@example("1e-3000", "1/10", 0, "selection", True, 1)
@examples(250)
def test_what_can_be_written_can_be_proved(
    size: Any, delta: Any, value: Any, boundary: str, as_ratio: bool, parts: int
) -> None:
    """Any budget: a table is refused in a sentence, or both checkers prove its certificate."""
    try:
        budget = ApproxDP(exp_epsilon=1 + Fraction(size), delta=delta) if as_ratio else ApproxDP(size, delta)
        with mock.patch("duotone.line.table.LONGEST", 2**10):  # longer ones differ in nothing but time
            table = line_table(on_line(budget.split(parts), value if boundary == "value" else boundary))
    except DuotoneError as error:
        assert any(said in str(error) for said in ("too many digits", "levels: raise epsilon", "too small to draw"))  # noqa: PT017
        return
    certificate = json.loads(json.dumps(table.certificate()))
    assert prove(certificate).startswith("private and optimal")
    assert tool.check(certificate) == f"{len(table)} levels, with their margins,"
    assert "epsilon" in tool.budget(certificate) or budget.epsilon_exact is None


def test_a_value_that_no_certificate_could_write_is_refused() -> None:
    long = "0." + "3" * 30_000
    graph = ColouredGraph([("a", "b")], {"a": "blue", "b": "red"})
    refusals: list[Callable[[], Any]] = [
        lambda: line_table(with_boundary(ApproxDP(1), long)),
        lambda: graph_table(graph, ApproxDP(1), long),
        lambda: graph_table(graph, ApproxDP(1), {"a": long}),
    ]
    for refused in refusals:
        with pytest.raises(DuotoneError, match="a boundary value has too many digits"):
            refused()


@pytest.mark.parametrize("x", ["0", "1e-9", "1/3", "1", "50", "700"])
def test_exponential_bounds(x: str) -> None:
    low, high = exp_bounds(Fraction(x))
    with gmpy2.context(precision=2000):
        exact = gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(x)))
        assert gmpy2.mpq(low) <= exact <= gmpy2.mpq(high)
    assert high - low <= high / 2**200


@given(
    st.integers(2, 5).flatmap(lambda k: st.tuples(*(st.lists(st.integers(0, 64), min_size=k - 1, max_size=k - 1),) * 2)),
    st.fractions(1, 4, max_denominator=8),
    st.fractions(0, Fraction(1, 2), max_denominator=16),
)
def test_rows_of_any_outcomes_are_private_if_every_set_of_them_is(cuts: Any, ratio: Fraction, delta: Fraction) -> None:
    row, other = ([b - a for a, b in pairwise([0, *sorted(cut), 64])] for cut in cuts)
    sets = [[i for i in range(len(row)) if number >> i & 1] for number in range(2 ** len(row))]
    private = all(
        sum(p[i] for i in chosen) <= ratio * sum(q[i] for i in chosen) + delta * 64
        for p, q in ((row, other), (other, row))
        for chosen in sets
    )
    assert Step(ratio, delta, 6).private(row, other) is private


def test_every_certificate_has_the_one_format() -> None:
    """Levels, datasets and close calls: the same head, and rows that add up, whatever is claimed of them."""
    head = ["certificate", "version", "privacy", "outcomes", "bits", "claims"]
    for certificate in good():
        assert [*certificate][: len(head)] == head
        assert (certificate["certificate"], certificate["version"]) == ("duotone", 1)
        by_level = isinstance(certificate["rows"], list)
        assert ("lowest" in certificate, "edges" in certificate) == (by_level, not by_level)
        for row in certificate["rows"] if by_level else certificate["rows"].values():
            assert len(row["numbers"]) == len(certificate["outcomes"])
            assert sum(map(int, row["numbers"])) == 2 ** certificate["bits"]
