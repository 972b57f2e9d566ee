"""Values on their grids, and levels of their sums, against exact fractions: whatever grid, bounds and limits are asked for."""

from __future__ import annotations

import csv
import datetime
import itertools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, DuotoneError, prepare
from duotone.model.dataset import Bounds, Grid
from duotone.questions import Neighbours
from duotone.tables.engines import open_source
from duotone.tables.engines.expressions import steps
from duotone.tables.engines.person_columns import Order, valued
from duotone.tables.engines.query import ends_apart
from duotone.tables.engines.results import Ends
from duotone.tables.sql.condition import ALWAYS, Kind, Operand
from duotone.tables.sql.functions.function import quotient
from support.refusals import HOSTILE
from support.running import examples

P = ApproxDP(1, "1e-6")
REACH = 29
FACTORS = [1, 2, 3, 7, 10, 100, 10**6, 2**20, 2**52 + 1, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 10**18, 10**22, 10**23, 2**60,
           HOSTILE]  # fmt: skip
ENDS = [0, 1, -1, 3, -5, 10**6, 2**31, 2**50, 2**51 - 1, 2**51, -(2**51), 2**53, 2**62 - 1, -(2**62 - 1), 2**62]
factors = st.one_of(st.sampled_from(FACTORS), st.integers(1, 2**63))
ends = st.one_of(st.sampled_from(ENDS), st.integers(-(2**52), 2**52), st.integers(-20, 20))


def rule(x: float | int | None, low: int, high: int, step: Fraction) -> int | None:
    """The written rule: x / step, of a float as the nearest float, on the nearest whole number, halves up, then clipped."""
    if x is None or x != x:
        return None
    if x in (math.inf, -math.inf):
        return high if x > 0 else low
    exact = Fraction(x) / step
    if isinstance(x, float):
        exact = Fraction(float(exact)) if abs(exact) < 2**60 else exact
    return min(max(math.floor(exact + Fraction(1, 2)), low), high)


@st.composite
def grids(draw: Any) -> tuple[Kind, Grid, Bounds]:
    """A grid that is accepted: hostile ones are drawn too, and must be refused with a sentence."""
    kind: Kind = draw(st.sampled_from(["integer", "float"]))
    factor, low, width = draw(factors), draw(ends), draw(st.one_of(st.just(1), ends.map(abs)))
    step = Fraction(factor) if kind == "integer" or draw(st.booleans()) else Fraction(1, factor)
    if kind == "integer" and draw(st.booleans()):
        step = Fraction(1)
    made = accepted(lambda: (b := Bounds.of(low * step, (low + max(width, 1)) * step, step), b.on("x", kind)))
    if isinstance(made, str):
        assert made.count("\n") == 0
        assert any(says in made for says in ("is not a float", "too far apart", "less than thirty digits")), made
        made = (coarse := Bounds.of(0, 10, 1)), coarse.on("x", kind)
    return kind, made[1], made[0]


def accepted(work: Any) -> Any:
    """What comes of some work, or the sentence with which it is refused."""
    try:
        return work()
    except DuotoneError as error:
        return str(error)


@st.composite
def numbers(draw: Any, kind: Kind, grid: Grid) -> Any:
    """Values at, near and far from the bounds and the middle of a step."""
    around = draw(st.one_of(st.sampled_from([grid.low, grid.high, 0]), st.integers(grid.low, grid.high)))
    near = (
        around + draw(st.sampled_from([Fraction(0), Fraction(1, 2), -Fraction(1, 2), Fraction(1), -Fraction(1)]))
    ) * grid.step
    if kind == "integer":
        extreme = st.sampled_from([None, 0, 2**62, -(2**62), 2**63 - 1, -(2**63)])
        return draw(st.one_of(st.just(min(max(round(near) + draw(st.integers(-1, 1)), -(2**63)), 2**63 - 1)), extreme))
    close = float(near)
    beside = [close, math.nextafter(close, math.inf), math.nextafter(close, -math.inf)]
    odd = [None, math.nan, math.inf, -math.inf, 5e-324, -5e-324, -0.0, 1e308, -1e308, 2.0**53, 0.49999999999999994]
    return draw(st.sampled_from(beside if draw(st.booleans()) else odd))


def column(kind: Kind, values: Any) -> pa.Array:
    return pa.array(values, pa.int64() if kind == "integer" else pa.float64())


@pytest.mark.slow
@examples(150)
@given(st.data())
def test_every_value_is_put_where_the_rule_says(data: Any) -> None:
    kind, grid, _ = data.draw(grids())
    values = data.draw(st.lists(numbers(kind, grid), min_size=1, max_size=40))
    with open_source(pa.table({"at": range(len(values)), "x": column(kind, values)})) as source:
        table = source.rows
        result = source.run(table.select(at=table["at"], n=steps(Operand("x", kind), grid, table)).order_by("at"))
    assert result["n"].to_pylist() == [rule(x, grid.low, grid.high, grid.step) for x in values]
    for x, n in zip(values, result["n"].to_pylist(), strict=True):
        if n is not None and grid.low < n < grid.high:
            assert abs(Fraction(x) / grid.step - n) <= Fraction(1, 2) + Fraction(1, 8)  # the nearest, but for the last bits


@examples(300)
@given(st.data())
def test_nobody_who_can_matter_is_passed_over(data: Any) -> None:
    """Whoever has as many steps as are looked for, or as few, is on the right side of what rows are compared with."""
    kind, grid, _ = data.draw(grids())
    weight = data.draw(st.integers(1, 5))
    order = Order(Operand("x", kind), ALWAYS, grid, weight)
    score = data.draw(st.sampled_from([grid.low, grid.high]) | st.integers(weight * grid.low - 3, weight * grid.high + 3))
    least, most = order.from_on(score), order.up_to(score)
    for x in data.draw(st.lists(numbers(kind, grid), min_size=1, max_size=20)):
        n = rule(x, grid.low, grid.high, grid.step)
        if n is not None:
            assert least is None or not weight * n >= score or x >= least
            assert most is None or not weight * n <= score or x <= most


@pytest.mark.slow
@examples(60)
@given(
    st.lists(
        st.tuples(st.integers(-(2**51), 2**51), st.integers(1, 2**31), st.integers(-(2**30), 2**30)), min_size=1, max_size=40
    )
)
def test_quotients_are_exact(drawn: list[tuple[int, int, int]]) -> None:
    """⌊sum / n⌋ of up to 2^31 numbers of up to 2^51, which is what a person's average comes to."""
    pairs = [(min(max(q * n + rest % n, -(2**51) * n), 2**51 * n), n) for q, n, rest in drawn]
    numerators = pa.array([a for a, _ in pairs], pa.decimal128(38, 0))
    with open_source(
        pa.table({"at": range(len(pairs)), "a": numerators, "n": pa.array([n for _, n in pairs], pa.int64())})
    ) as source:
        table = source.rows
        result = source.run(table.select(at=table["at"], q=quotient(table["a"], table["n"], 2**51)).order_by("at"))
    assert [int(q) for q in result["q"].to_pylist()] == [a // n for a, n in pairs]


def truth(sql: str, numbers: list[int | None], step: Fraction, sign: str, limit: Fraction) -> bool:
    """The answer from values in steps, in fractions: without any, sums and averages are null, which is a no."""
    there = [n * step for n in numbers if n is not None]
    if not there:
        return False
    match sql:
        case "sum(x)":
            total = sum(there, Fraction(0))
        case "avg(x)":
            total = sum(there, Fraction(0)) / len(there)
        case _:
            total = 3 * sum(there, Fraction(0)) - 2 * len(numbers)
    return {">": total > limit, ">=": total >= limit, "<": total < limit, "<=": total <= limit}[sign]


def distance(
    sql: str, numbers: tuple[int | None, ...], grid: Grid, sign: str, limit: Fraction, neighbours: Neighbours
) -> float:
    """The level by trying everything: whoever leaves, and up to three who join, with the least, the greatest or no value."""

    def yes(people: tuple[int | None, ...]) -> bool:
        return truth(sql, list(people), grid.step, sign, limit)

    own, best, newcomers = yes(numbers), math.inf, (grid.low, grid.high, None)
    for kept in itertools.chain.from_iterable(itertools.combinations(numbers, n) for n in range(len(numbers) + 1)):
        left = len(numbers) - len(kept)
        for joined in (left,) if neighbours == "replace" else range(4):
            cost = left if neighbours == "replace" else left + joined
            if cost < best and any(
                yes((*kept, *new)) != own for new in itertools.combinations_with_replacement(newcomers, joined)
            ):
                best = cost
    return best - 1 if own else -best


def near(first: set[int], second: set[int], neighbours: Neighbours) -> bool:
    more, fewer = len(first - second), len(second - first)
    return more == fewer == 1 if neighbours == "replace" else more + fewer == 1


@pytest.mark.slow
@examples(120)
@given(st.data())
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_levels_against_fractions(neighbours: Neighbours, data: Any) -> None:
    """Every part of a small table: the truth, the distance, and the ±1 rule between neighbours."""
    kind, grid, bounds = data.draw(grids())
    values = data.draw(st.lists(numbers(kind, grid), max_size=3))
    sql, sign = (
        data.draw(st.sampled_from(["sum(x)", "avg(x)", "3 * sum(x) - 2 * count(*)"])),
        data.draw(st.sampled_from([">", ">=", "<", "<="])),
    )
    at = data.draw(
        st.one_of(st.sampled_from([0, grid.low, grid.high, 2 * grid.high, 2 * grid.low]), st.integers(grid.low, grid.high))
    )
    limit = (at + data.draw(st.sampled_from([0, 1, -1, Fraction(1, 2)]))) * grid.step
    subsets = [s for n in range(len(values) + 1) for s in itertools.combinations(range(len(values)), n)]
    rows = [(d, values[i]) for d, chosen in enumerate(subsets) for i in chosen]
    content = pa.table({"d": pa.array([d for d, _ in rows], pa.int64()), "x": column(kind, [x for _, x in rows])})
    placed = [tuple(rule(values[i], grid.low, grid.high, grid.step) for i in chosen) for chosen in subsets]
    truths = [truth(sql, list(p), grid.step, sign, limit) for p in placed]
    question = f"{sql} {sign} {limit.numerator}/{limit.denominator}"
    prepared = accepted(lambda: prepare(content, question, P, bounds={"x": bounds}, neighbours=neighbours))
    if isinstance(prepared, str):
        assert "too fine" in prepared or f"would be {'yes' if truths[0] else 'no'} on every table" in prepared
        assert "too fine" in prepared or len(set(truths)) == 1
        return
    with prepared:
        apart = replace(prepared, by=("d",), most=2**31 - 1, listed=tuple((d,) for d in range(len(subsets))))
        levels = dict(zip(subsets, apart._levels()[2].tolist(), strict=True))
        exact = prepared.facts.basis == "exact distance"
    for chosen, place, yes in zip(subsets, placed, truths, strict=True):
        level = levels[chosen]
        assert (level >= 0) == yes
        apart_by_one = [other for other in subsets if near(set(chosen), set(other), neighbours)]
        assert all(abs(level - levels[other]) <= 1 for other in apart_by_one)
        true = distance(sql, place, grid, sign, limit, neighbours)
        if exact and (-3 <= true <= 2 or neighbours == "replace"):
            assert level == max(min(true, REACH), -REACH - 1), (sql, sign, limit, place)


def test_the_grid_that_broke_the_rule_is_refused() -> None:
    bounds = Bounds(Fraction(0), Fraction(2**51, HOSTILE), Fraction(1, HOSTILE))
    with pytest.raises(DuotoneError, match="is not a float"):
        bounds.on("x", "float")


def test_the_grid_that_broke_the_rule_could_not() -> None:
    grid = Grid(0, 2**51, Fraction(1, HOSTILE))
    with open_source(pa.table({"x": [float(Fraction(2**51, HOSTILE)), 1e300, math.inf]})) as source:
        result = source.run(source.rows.select(n=steps(Operand("x", "float"), grid, source.rows)))
    assert result["n"].to_pylist() == [2**51] * 3


def test_sums_of_extremes_do_not_overflow() -> None:
    """Far more than 64 bits: 10^5 rows at the largest bound."""
    most = 2**62 - 1
    content = pa.table({"x": pa.array([2**63 - 1] * 10**5, pa.int64()), "u": [1, 2] * (10**5 // 2)})
    for sign, level in ((">=", 0), (">", -1)):
        with prepare(content, f"sum(x) {sign} {most * 10**5}", P, bounds={"x": (-most, most)}) as prepared:
            assert prepared._levels()[2].tolist() == [level]
    with prepare(content, f"sum(x) > {most}", P, bounds={"x": (-most, most)}, unit="u", max_rows=1) as prepared:
        assert prepared._levels()[2].tolist() == [0]  # each person counts once, at the bound


@pytest.mark.slow
@examples(100)
@given(st.data(), factors, st.sampled_from([(0, 2**51), (-(2**51), 0), (-(2**51), 2**51), (2**51 - 1, 2**51), (0, 1)]))
def test_no_grid_lets_a_value_out_of_its_bounds(data: Any, factor: int, bounds: tuple[int, int]) -> None:
    """Grids that are refused too: what floats make of them may be off, but never out of bounds, and never falls as x rises."""
    grid = Grid(*bounds, Fraction(1, factor) if data.draw(st.booleans()) else Fraction(factor))
    values = sorted(v for v in data.draw(st.lists(numbers("float", grid), min_size=1, max_size=40)) if v is not None and v == v)
    with open_source(pa.table({"at": pa.array(range(len(values)), pa.int64()), "x": column("float", values)})) as source:
        table = source.rows
        result = source.run(table.select(at=table["at"], n=steps(Operand("x", "float"), grid, table)).order_by("at"))
    on_grid = result["n"].to_pylist()
    assert all(grid.low <= n <= grid.high for n in on_grid)
    assert on_grid == sorted(on_grid)


@pytest.mark.slow
def test_a_reading_is_reduced_as_it_is_read(tmp_path: Path) -> None:
    """A length, a year, a month and a day of each row, added up or averaged per person before they are compared."""
    days = [datetime.date(2024, 3, 9), datetime.date(2025, 1, 31), None, datetime.date(2025, 12, 1)]
    people = pa.table({"u": [1, 1, 2, 3], "n": ["a", "ccc", None, "dd"], "d": days})
    with (tmp_path / "people.csv").open("w") as file:
        csv.writer(file).writerows([["u", "n", "d"], *zip(*people.to_pydict().values(), strict=True)])
    largest = {
        ("length(n)", "sum"): 4, ("length(n)", "avg"): 2, ("year(d)", "sum"): 4049, ("year(d)", "avg"): 2025,
        ("month(d)", "sum"): 12, ("day(d)", "avg"): 20,
    }  # fmt: skip
    for (reading, how), most in largest.items():
        for source in (people, tmp_path / "people.csv"):
            for limit in (most - 1, most):
                bounds = {reading: (0, 5000)}
                options: Any = {"unit": "u", "per_unit": how, "bounds": bounds}
                options |= {} if source is people else {"types": {"d": "date"}}
                with prepare(source, f"max({reading}) > {limit}", ApproxDP(1, "1e-6"), **options) as asked:
                    assert (asked._levels()[2][0] >= 0) == (most > limit), (reading, how, limit)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_nan_that_no_reading_has_taken_out_is_no_value() -> None:
    """On an engine that Duotone only tries, columns come as they are."""
    engine = ibis.duckdb.connect()
    engine.con.execute("create table t as select unnest(['nan', '3', 'inf', null, 'nan', '-inf', '7.5'])::double as x")
    rows = engine.table("t")
    grid, value = Grid(0, 10, Fraction(1, 2)), Operand("x", "float")
    assert engine.to_pyarrow(rows.select(n=steps(value, grid, rows)))["n"].to_pylist() == [None, 6, 10, None, None, 0, 10]
    (largest, smallest) = ends_apart(rows, [(valued(value, ALWAYS, grid), {"s": Ends(3)})], embedded=False)["m0s"]
    assert engine.to_pyarrow(largest)["m0s_largest"].to_pylist() == ["10,10,6"]
    assert engine.to_pyarrow(smallest)["m0s_smallest"].to_pylist() == ["0,6,10"]
    engine.disconnect()
