"""Bounds that follow hold every value that DuckDB computes from values within the columns' bounds, and are as narrow as
they can be where a formula reads each column once."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone.model.dataset import Bounds
from duotone.tables.sql.computed_bounds import RULES, computed_bounds
from duotone.tables.sql.condition import Columns
from duotone.tables.sql.functions import FUNCTIONS
from duotone.tables.sql.read_question import read_value
from support.running import examples

COLUMNS: Columns = {"x": "float", "y": "float", "i": "integer", "b": "boolean"}
LIMITS = {"x": Bounds.of("-1.5", 2), "y": Bounds.of(1, 3), "i": Bounds.of(-7, 5)}
CHOOSING = ["coalesce", "greatest", "least", "nullif"]
leaf = st.sampled_from(["x", "y", "i", "2", "-3", "0.5"])
formulas = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(st.sampled_from(["abs", "sqrt", "floor", "ceil", "round", "trunc"]), inner).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(st.sampled_from(CHOOSING), inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
        st.tuples(inner, inner).map(lambda p: f"case when b then {p[0]} else {p[1]} end"),
        inner.map(lambda p: f"power({p}, 2)"),
        inner.map(lambda p: f"({p})::int"),
    ),
    max_leaves=4,
)  # fmt: skip


def _values(formula: str) -> list[float]:
    """Every value of it on a grid of rows within the bounds, as DuckDB computes it."""
    ends: list[list[Any]] = [
        [-1.5, -0.6, 0.0, 0.7, 2.0, None],
        [1.0, 1.9, 3.0, None],
        [-7, -1, 0, 2, 5, None],
        [True, False, None],
    ]
    connection = duckdb.connect()
    connection.execute("create table t (x double, y double, i bigint, b boolean)")
    connection.executemany("insert into t values (?, ?, ?, ?)", [list(row) for row in itertools.product(*ends)])
    rows = connection.execute(f"select try(({formula})::double) from t").fetchall()
    return [value for (value,) in rows if value is not None and abs(value) < 1e300]


@given(formulas)
@examples(60)
def test_every_value_lies_within(formula: str) -> None:
    """Whatever the formula, where bounds follow at all."""
    try:
        operand = read_value(formula, COLUMNS)
    except ValueError:
        return
    own = computed_bounds([operand], LIMITS).get(operand.column)
    if own is not None:
        assert all(float(own.low) - 1e-9 <= value <= float(own.high) + 1e-9 for value in _values(formula))


@pytest.mark.parametrize(
    ("formula", "low", "high"),
    [("x + y", "-0.5", 5), ("x - y", "-4.5", 1), ("x * y", "-4.5", 6), ("x / y", "-1.5", 2), ("x * x", 0, 4), ("abs(x)", 0, 2),
     ("-i", -5, 7), ("case when b then x else 5 end", "-1.5", 5), ("least(x, y)", "-1.5", 3), ("round(x)", -2, 2),
     ("i // 2", -3, 2), ("x::int", -2, 2), ("sqrt(y)", 1, "1.732051"), ("coalesce(i, 9)", -7, 9)],
)  # fmt: skip
def test_the_ends(formula: str, low: str | int, high: str | int) -> None:
    """As computed by hand."""
    operand = read_value(formula, COLUMNS)
    own = computed_bounds([operand], LIMITS)[operand.column]
    assert (own.low, own.high) == (Fraction(low), Fraction(high))


@pytest.mark.parametrize("formula", ["x / i", "ln(x)", "x + length('a')::int * b::int", "sqrt(-y)", "2 * 3 + x - x * 0 / i"])
def test_none_follow(formula: str) -> None:
    """A divisor that may be 0, a function without a rule, no possible value."""
    try:
        operand = read_value(formula, COLUMNS)
    except ValueError:
        return
    assert computed_bounds([operand], LIMITS) == {}


def test_every_rule_is_of_a_function() -> None:
    """By its name in the one table of functions."""
    assert RULES.keys() < FUNCTIONS.keys()
