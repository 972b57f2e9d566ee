from __future__ import annotations

import itertools
import math
import subprocess
import sys
from dataclasses import FrozenInstanceError
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import (
    ApproxDP,
    ColouredGraph,
    DuotoneError,
    Infeasible,
    Mechanism,
    balanced,
    design,
    partition_selection,
    with_boundary,
)
from duotone.graphs import families
from duotone.graphs.table import graph_table
from duotone.line.mechanism import on_line
from duotone.line.table import Table, line_table, wide_enough
from duotone.model.accuracy import Accuracy
from duotone.privacy.renyi import RenyiDP
from duotone.privacy.rounded import Rounded
from duotone.privacy.text import Definition
from duotone.release.certificate_numbers import exp_bounds
from support.oracles import indistinguishable
from support.strategies import coloured_graphs, exact_budgets, float_budgets, probabilities

usable = st.one_of(exact_budgets, float_budgets).filter(
    lambda p: (0.01 <= p.epsilon <= 2000) or (p.delta >= 1e-3 and p.epsilon <= 2000) or p.epsilon == p.delta == 0
)


@settings(max_examples=50)
@given(usable, st.sampled_from([0, Fraction(1, 3), Fraction(9, 10), 1, 1e-20, 0.7]))
def test_line_tables_are_private_as_integers_and_close(privacy: ApproxDP, m: Any) -> None:
    for line in (balanced(privacy), partition_selection(privacy), with_boundary(privacy, m)):
        table = line_table(line)
        one, ratio, delta = 2**table.bits, privacy.exp_epsilon, Fraction(privacy.delta)
        assert table.bits >= 64
        assert 0 <= table.loss < Fraction(1, 2**60)
        levels = range(-len(table.red) - 1, len(table.blue) + 1)
        yes = [Fraction(table.yes(level), one) for level in levels]
        for p, q in itertools.pairwise(yes):
            assert indistinguishable(p, q, ratio, delta)


@given(exact_budgets.filter(lambda p: p.epsilon >= 0.01 or p.delta >= 1e-3 or p.epsilon == p.delta == 0), st.integers(0, 30))
def test_the_stated_loss_bounds_the_distance_to_the_real_optimum(privacy: ApproxDP, distance: int) -> None:
    for line in (balanced(privacy), partition_selection(privacy)):
        table = line_table(line)
        for level in (distance, -1 - distance):
            truth = table.yes(level) if level >= 0 else 2**table.bits - table.yes(level)
            assert 0 <= line.truth(level) - Fraction(truth, 2**table.bits) <= table.loss


def test_a_tiny_probability_is_never_rounded_up_nor_lost() -> None:
    table = line_table(partition_selection(ApproxDP(50, 1e-200)))
    kept = [Fraction(table.yes(n - 1), 2**table.bits) for n in range(13)]
    assert kept[0] == 0
    assert 0 < kept[1] <= Fraction(1e-200)
    assert float(kept[1]) == pytest.approx(1e-200)
    assert float(kept[9]) == pytest.approx(5.221470e-27)
    assert kept[12] > 1 - Fraction(1, 2**60)


@pytest.mark.slow
def test_rounding_keeps_the_symmetry() -> None:
    floor = Rounded(ApproxDP(1, "1e-6"), 8)
    grid = [Fraction(i, 256) for i in range(257)]
    for x in grid:
        for y in grid:
            assert (x <= floor.step(y)) == (1 - y <= floor.step(1 - x))


def released_from(table: Table, graph: ColouredGraph) -> Mechanism:
    """The mechanism that is released, exactly."""
    return Mechanism.from_yes(graph, {d: Fraction(table.yes(d), 2**table.bits) for d in graph.names})


@given(coloured_graphs(), usable, st.data())
def test_graph_tables(graph: ColouredGraph, privacy: ApproxDP, data: st.DataObject) -> None:
    values = {d: data.draw(probabilities) for d in graph.boundary("blue")}
    boundary: Any = data.draw(st.sampled_from(["balanced", "3/5", values]))
    try:
        wanted = design(graph, privacy, boundary)
    except Infeasible:
        with pytest.raises(Infeasible):
            graph_table(graph, privacy, boundary)
        return
    table = graph_table(graph, privacy, boundary)
    released = released_from(table, graph)
    assert released.check(privacy).holds
    assert table.loss < Fraction(1, 2**60)
    for d, exact in zip(graph.names, wanted.truth, strict=True):
        truth = Fraction(table.yes(d), 2**table.bits)
        truth = truth if graph.colour(d) == "blue" else 1 - truth
        assert -Fraction(1, 2**45) <= Fraction(exact) - truth <= (table.loss if privacy.exact else Fraction(1, 2**45))


def test_values_that_just_fit_still_fit_on_the_grid() -> None:
    privacy = ApproxDP(exp_epsilon="1.1")
    allowed = privacy.iterate("0.6", 3)[0]
    table = graph_table(families.figure_2(), privacy, {"h": "0.6", "l": allowed})
    assert released_from(table, families.figure_2()).check(privacy).holds
    with pytest.raises(Infeasible):
        graph_table(families.figure_2(), privacy, {"h": "0.6", "l": allowed + Fraction(1, 10**30)})


@settings(max_examples=60)
@given(usable, st.sampled_from([0, Fraction(1, 3), Fraction(9, 10), 1, 1e-20, 0.7]))
def test_entries_are_fractions_rounded_down_step_by_step(privacy: ApproxDP, m: Any) -> None:
    """The integers against exact fractions: each entry is φ of the one before, rounded down, and the last one stays."""
    for line in (balanced(privacy), partition_selection(privacy), with_boundary(privacy, m)):
        table = line_table(line)
        y, d = privacy.exp_epsilon, Fraction(privacy.delta)
        if d >= Fraction(1, 2 ** (table.bits // 2)):  # a hair less, so that there is room for margins
            d -= Fraction(1, 2 ** (table.bits * 3 // 4))
        else:
            y, d = y - (y - 1) / 2**96, Fraction(0)
        for side in (table.blue, table.red):
            for here, following in itertools.pairwise(side[:200]):
                x = Fraction(here, 2**table.bits)
                assert following == math.floor(min(Fraction(1), y * x + d, 1 - (1 - x - d) / y) * 2**table.bits)


@given(st.one_of(exact_budgets, float_budgets), st.integers(2, 200), st.data())
def test_a_step_on_integers_is_the_step_on_fractions(privacy: ApproxDP, bits: int, data: st.DataObject) -> None:
    one = 2**bits
    meet = int((1 - Fraction(privacy.delta)) / (1 + privacy.exp_epsilon) * one)
    t = data.draw(st.one_of(st.integers(0, one), st.integers(max(meet - 2, 0), min(meet + 2, one))))
    for up in (False, True):
        rounded = Rounded(privacy, bits, up=up)
        assert Fraction(int(rounded.on_integers()(t)), one) == rounded.step(Fraction(t, one))


@pytest.mark.slow
def test_a_million_levels_take_seconds() -> None:
    """They took minutes. The limit is on the time of the processor, whatever else runs there; the answer must be exact."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (40, 40)); "
        "from duotone import *; from duotone.line.table import line_table; "
        "a, b = line_table(balanced(ApproxDP(exp_epsilon=1, delta='1e-6'))), line_table(balanced(ApproxDP('0.0001'))); "
        "print(len(a.blue), len(b.red), len(a.certificate()['rows']), a.blue[1] - a.blue[0] == 2**128 // 10**6 - 2**32)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout == "500001 422821 1000002 True\n"


def test_what_would_take_minutes_is_refused() -> None:
    with pytest.raises(DuotoneError, match="more than 32768 levels"):
        line_table(partition_selection(ApproxDP("0.01", "1e-1000")))


def test_budgets_at_the_edges() -> None:
    assert line_table(with_boundary(ApproxDP(exp_epsilon=1), "1/3")).blue == (2**128 // 3,)
    assert len(line_table(with_boundary(ApproxDP(1), "1e-400")).blue) > 900
    for epsilon in ("1000.1", "8191.3"):
        privacy = ApproxDP(epsilon)
        assert privacy.exp_epsilon < exp_bounds(Fraction(epsilon))[0]
        assert privacy.above().exp_epsilon > exp_bounds(Fraction(epsilon))[1]


def test_a_table_is_never_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duotone.line.table.LONGEST", 2**12)
    with pytest.raises(DuotoneError, match="more than 4096 levels"):
        line_table(balanced(ApproxDP(60 / 4096)))


def test_a_table_of_exactly_the_longest_length(monkeypatch: pytest.MonkeyPatch) -> None:
    line = balanced(ApproxDP(exp_epsilon=2, delta="1/4"))
    monkeypatch.setattr("duotone.line.table.LONGEST", 3)
    assert len(line_table(line).blue) == 3  # 3/4, 1, and one more by a hair
    line_table.cache_clear()
    monkeypatch.setattr("duotone.line.table.LONGEST", 2)
    with pytest.raises(DuotoneError, match="more than 2 levels"):
        line_table(line)


def test_bits_are_doubled_until_the_loss_is_below_its_bound() -> None:
    tried: list[int] = []

    def build(bits: int, enough: int) -> Any:
        tried.append(bits)
        return SimpleNamespace(bits=bits, loss=Fraction(1, 2**60 + (bits >= enough)))

    assert wide_enough(lambda bits: build(bits, 512)).bits == 512
    assert tried == [128, 256, 512]
    assert wide_enough(lambda bits: build(bits, 8192)).bits == 8192
    with pytest.raises(DuotoneError, match="too small to draw"):
        wide_enough(lambda bits: build(bits, 8193))


def test_a_boundary_value_has_at_most_20000_characters() -> None:
    privacy = ApproxDP(exp_epsilon=2, delta="1/10")
    long, longer = (Fraction(10**9998 + 1, 2 * 10**digits) for digits in (9999, 10000))
    assert len(line_table(with_boundary(privacy, long)).certificate()["boundary"]) == 20_000
    with pytest.raises(DuotoneError, match="too many digits"):
        line_table(with_boundary(privacy, longer))


def test_a_certificate_writes_a_boundary_value_as_a_fraction() -> None:
    graph, privacy = families.figure_2(), ApproxDP(exp_epsilon=2, delta="1/10")
    assert graph_table(graph, privacy, "0.60").certificate()["boundary"] == "3/5"
    assert graph_table(graph, privacy, {"h": "0.6", "l": 0.5}).certificate()["boundary"] == {"h": "3/5", "l": "1/2"}
    assert line_table(with_boundary(privacy, "0.6")).certificate()["boundary"] == "3/5"


def test_nobody_holds_down_what_is_certain() -> None:
    """Balanced, with e^ε = 2 and δ = 1/4: 3/4 at the boundary, which is fixed, and 1 beyond it."""
    graph = families.votes(5).graph()
    table = graph_table(graph, ApproxDP(exp_epsilon=2, delta="1/4"))
    assert {Fraction(max(row), 2**table.bits) for row in table.entries} == {Fraction(3, 4), Fraction(1)}
    assert table.witness is not None
    assert set(table.witness.tolist()) == {-1}


@pytest.mark.parametrize("privacy", [
    ApproxDP(1, "1e-6"), ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP(exp_epsilon=4, delta="1/4"), ApproxDP(0, "1/7"),
    ApproxDP(1), ApproxDP(1, "1e-60"), ApproxDP(1, "1e-80"), RenyiDP(20, "3/2"), RenyiDP(20, "3/2", "1e-3"),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("boundary", ["balanced", "9/10", "1"])
def test_an_answer_is_never_wrong_just_from_where_that_is_said(privacy: Definition, boundary: str) -> None:
    """By the numbers that are drawn from: also where a δ is next to nothing, and where only rounding leaves a mistake."""
    table = line_table(on_line(privacy, boundary))
    accuracy = Accuracy(table)
    for never, sign, outcome in zip(accuracy.never, (1, -1), (0, 1), strict=True):
        wrong = [2**table.bits - table.row(m - 1 if sign > 0 else -m)[outcome] for m in range(1, 1000)]
        assert never == next((m for m, mistakes in enumerate(wrong, start=1) if not mistakes), math.inf)
        assert math.isinf(never) or not any(wrong[int(never) - 1 :])
    assert math.isfinite(accuracy.certain) or accuracy.ending.startswith(f"with delta {float(privacy.delta):g} no answer is")


def test_tables_never_change() -> None:
    privacy = ApproxDP(1, "1e-6")
    for made in (line_table(balanced(privacy)), graph_table(families.figure_2(), privacy), Rounded(privacy, 128)):
        with pytest.raises(FrozenInstanceError):
            made.bits = 1  # type: ignore[misc]


def test_refusals() -> None:
    class Own:
        def step(self, x: float) -> float:
            return x

    with pytest.raises(DuotoneError, match="exact tables exist for"):
        line_table(balanced(Own()))
    with pytest.raises(DuotoneError, match="more than 1048576 levels"):
        line_table(balanced(ApproxDP(1e-9, 0)))
    with pytest.raises(DuotoneError, match="too small to draw"):
        line_table(with_boundary(ApproxDP(1), "1e-4000"))
    with pytest.raises(DuotoneError, match="the boundary of a graph is"):
        graph_table(families.figure_2(), ApproxDP(1), "selection")
