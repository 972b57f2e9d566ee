"""Public functions on whatever may be given: an answer, or a DuotoneError; nothing else."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from duotone import ApproxDP, ColouredGraph, DuotoneError, Mechanism, balanced, design, partition_selection, with_boundary
from duotone.graphs import families
from duotone.graphs.optimum import improvable
from duotone.graphs.table import graph_table
from duotone.line.mechanism import on_line, recurrence, tradeoff
from duotone.line.table import line_table


class Odd:
    """Nothing that one could count with."""


BAD: list[Any] = [
    None,
    "",
    "x",
    "nan",
    "inf",
    "1/0",
    "1e999999999",
    "0x10",
    "½",
    "1" * 5000,
    b"1",
    True,
    0.5,
    -0.5,
    1.5,
    -1,
    2,
    0,
    10**30,
    10**400,
    -(10**30),
    1e300,
    5e-324,
    math.nan,
    math.inf,
    -math.inf,
    Fraction(1, 3),
    Fraction(-1, 3),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    Decimal("0.25"),
    1j,
    [],
    [1],
    (1, 2),
    {},
    {"a": 1},
    {1},
    object,
    Odd(),
    lambda x: x,
    datetime.date(2026, 1, 1),
    np.nan,
    np.bool_(True),
    np.int8(-3),
    np.uint64(2**64 - 1),
    np.float32(0.25),
    np.datetime64("NaT"),
    np.array(0.5),
    np.array(3),
    np.array([]),
    np.array([1, 2]),
    np.array([0.5]),
    np.array([np.nan]),
    np.array([np.inf, 1.0]),
    np.array([1e300]),
    np.array(["a"]),
    np.array([None]),
    np.array([True]),
    np.array([2**64 - 1], dtype=np.uint64),
    np.array([1j]),
    np.array([10**30], dtype=object),
    np.array(["2026"], dtype="M8[D]"),
    np.array([[0, 1], [2, 3]]),
    np.array([Fraction(1, 2)], dtype=object),
    np.ma.array([1, 2], mask=[True, False]),
    range(3),
    slice(1),
]
FLOATS, EXACT = ApproxDP(1.0, 1e-6), ApproxDP(exp_epsilon=2, delta="1/10")
GRAPH = families.figure_2()
CALLS: dict[str, Callable[[Any], Any]] = {
    "epsilon": lambda x: ApproxDP(x),
    "delta": lambda x: ApproxDP(1, x),
    "exp_epsilon": lambda x: ApproxDP(exp_epsilon=x),
    "step": lambda x: (FLOATS.step(x), EXACT.step(x)),
    "iterate x": lambda x: (FLOATS.iterate(x, 3), EXACT.iterate(x, 3)),
    "iterate n": lambda x: (FLOATS.iterate(0.5, x), EXACT.iterate("1/2", x)),
    "transition": lambda x: FLOATS.transition(x),
    "certain after": lambda x: FLOATS.certain_after(x),
    "split": lambda x: FLOATS.split(x),
    "represent": lambda x: with_boundary(FLOATS, x),
    "tightest pairs": lambda x: ApproxDP.tightest(x, epsilon=1),
    "tightest pair": lambda x: ApproxDP.tightest([(x, 0.5)], epsilon=1),
    "tightest epsilon": lambda x: ApproxDP.tightest([(0.5, 0.4)], epsilon=x),
    "tightest delta": lambda x: ApproxDP.tightest([(0.5, 0.4)], delta=x),
    "truth": lambda x: (balanced(FLOATS).truth(x), balanced(EXACT).truth(x)),
    "error": lambda x: (balanced(FLOATS).error(x), balanced(EXACT).error(x)),
    "yes": lambda x: (balanced(FLOATS).yes(x), partition_selection(EXACT).yes(x)),
    "on line": lambda x: on_line(EXACT, x),
    "with boundary": lambda x: with_boundary(EXACT, x),
    "balanced": lambda x: balanced(x),
    "partition selection": lambda x: partition_selection(x),
    "recurrence": lambda x: recurrence(EXACT, x, 3),
    "recurrence count": lambda x: recurrence(EXACT, Fraction(1, 2), x),
    "recurrence notion": lambda x: recurrence(x, Fraction(1, 2), 3),
    "tradeoff": lambda x: tradeoff(EXACT, x),
    "tradeoff notion": lambda x: tradeoff(x),
    "design": lambda x: design(GRAPH, EXACT, x),
    "design notion": lambda x: design(GRAPH, x),
    "design value": lambda x: design(GRAPH, FLOATS, {"h": x, "l": 0.5}),
    "improvable": lambda x: improvable(GRAPH, EXACT, x),
    "line table": lambda x: line_table(with_boundary(EXACT, x)),
    "graph table": lambda x: graph_table(GRAPH, EXACT, x),
    "graph table notion": lambda x: graph_table(GRAPH, x),
    "colour": lambda x: ColouredGraph([], {"a": x}),
    "mechanism": lambda x: Mechanism.from_yes(ColouredGraph([], {"a": "blue"}), {"a": x}),
    "level": lambda x: GRAPH.level(x),
    "boundary": lambda x: GRAPH.boundary(x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_only_a_duotone_error_comes_out(call: Callable[[Any], Any]) -> None:
    refused = 0
    for bad in BAD:
        try:
            call(bad)
        except DuotoneError:
            refused += 1
    assert refused > len(BAD) // 4


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: tradeoff(EXACT, 1), "a curve has from 2 to 1000000 points, got 1"),
        (lambda: balanced(EXACT).yes(0.5), "a level must be a whole number"),
        (lambda: balanced(EXACT).yes("0"), "a level must be a whole number"),
        (lambda: balanced(EXACT).yes(np.array([np.nan])), "a level must be a whole number"),
        (lambda: FLOATS.iterate(0.5, 0.5), "a number of steps must be a whole number"),  # type: ignore[call-overload]
        (lambda: recurrence(EXACT, Fraction(1, 2), 0), "at least one value, got 0"),
        (lambda: balanced(None), "a privacy definition has a method step"),  # type: ignore[arg-type]
        (lambda: ApproxDP.tightest([(1, 2, 3)], epsilon=1), "give pairs of probabilities"),  # type: ignore[list-item]
    ],
)
def test_what_it_says(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        call()
