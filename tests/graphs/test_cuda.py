"""Levels on a GPU: the kernels as C++ on a CPU everywhere, and on a GPU where there is one."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cuda_on_cpu import fake_cupy

from duotone import ApproxDP, DuotoneError, TruthTable, balanced
from duotone.errors import MissingExtra
from duotone.graphs import cuda
from duotone.graphs.votes import mean_error
from duotone.line.mechanism import NEVER


def gpu() -> bool:
    try:
        cuda._cupy()
    except DuotoneError:
        return False
    return True


@pytest.fixture(scope="module", params=["kernels on a CPU", "GPU"])
def device(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where kernels run; a GPU may be missing under CI, too."""
    if request.param == "GPU":
        if not gpu():
            pytest.skip("there is no GPU here, or CuPy is not installed")
        yield request.param
        return
    if shutil.which("g++") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "g++ is missing, which compiles the kernels for a CPU: apt install g++"
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", fake_cupy(tmp_path_factory.mktemp("kernels")))
        cuda._module.cache_clear()
        yield request.param
    cuda._module.cache_clear()


def tables(voters: int) -> dict[str, TruthTable]:
    rng = np.random.default_rng(voters)
    x = np.arange(2**voters)
    return {
        "random": TruthTable.from_array(rng.random(2**voters) < 0.5),
        "rare": TruthTable.from_array(rng.random(2**voters) < 3 / 2**voters),
        "majority": TruthTable.from_array(np.bitwise_count(x) * 2 > voters),
        "one": TruthTable.from_array(x == 5 % 2**voters),
        "all but one": TruthTable.from_array(x != 2**voters - 1),
        "constant": TruthTable.from_array(np.ones(2**voters, dtype=bool)),
    }


def by_distances(table: TruthTable) -> Any:
    """Levels from a breadth-first search around each colour, in plain NumPy."""
    x = np.arange(2**table.voters)
    yes = table.yes(x)
    away = np.full(len(x), 0)
    for wanted in (True, False):
        reached, steps = yes == wanted, 0
        while not reached.all() and reached.any():
            steps += 1
            grown = reached.copy()
            for axis in range(table.voters):
                grown |= reached[x ^ (1 << axis)]
            away[grown & ~reached] = steps
            reached = grown
    return np.where(away == 0, np.where(yes, 127, -128), np.where(yes, away - 1, -away)).astype(np.int8)


@pytest.mark.slow
@pytest.mark.parametrize("voters", [1, 2, 4, 5, 7, 13, 17, 18, 19])
def test_levels_are_distances(device: str, voters: int) -> None:
    for name, table in tables(voters).items():
        levels = table.levels(device="cuda")
        expected = by_distances(table)
        assert (levels.numpy() == expected).all(), name
        values, counts = np.unique(expected, return_counts=True)
        infinite = {127: math.inf, -128: -math.inf}
        histogram = {infinite.get(int(level), int(level)): int(count) for level, count in zip(values, counts, strict=True)}
        assert levels.histogram() == histogram, name
        some = np.random.default_rng(1).integers(0, 2**voters, (5, 4))
        seen = expected[some].astype(np.int64)
        seen[seen == 127], seen[seen == -128] = NEVER, -1 - NEVER
        assert (levels.of(some) == seen).all(), name


@pytest.mark.slow
@pytest.mark.parametrize("last", [0, 3, 14, 15, 30, 31, 100])
def test_beyond_the_last_level_all_levels_are_one(device: str, last: int) -> None:
    table = TruthTable.from_array(np.arange(2**20) == 2**20 - 1)  # levels from 0 to -20
    expected = np.bitwise_count(np.arange(2**20)).astype(int) - 20
    expected[-1] = 0
    expected[expected < -1 - last] = -128
    levels = table.levels(device="cuda", last=last)
    assert (levels.numpy() == expected).all()
    far = int((expected == -128).sum())
    assert levels.histogram().get(-math.inf, 0) == far == sum(math.comb(20, ones) for ones in range(20 - last - 1))
    assert levels.of([0])[0] == (-1 - NEVER if last < 19 else -20)


def sums(weights: list[int]) -> Any:
    """The sum of those who vote 1, for every dataset."""
    x = np.arange(2 ** len(weights))
    return sum(((x >> voter) & 1) * weight for voter, weight in enumerate(weights))


@pytest.mark.slow
@pytest.mark.parametrize("voters", [20, 21])
def test_trips_beyond_the_first(device: str, voters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way to cut the axes into trips gives the same levels, at each number of bits."""
    weights = [Fraction(k, 3) for k in range(1, voters + 1)]
    table = cuda.CudaTruthTable.from_weights(weights, 20)
    plain = TruthTable.from_array(sums(list(range(1, voters + 1))) >= 60)
    expected = by_distances(plain)
    assert (plain.words.view(np.uint32) == cuda._cupy().asnumpy(table.words)).all()
    for plan in ([(13, voters - 18)], [(bit, 1) for bit in range(13, voters - 5)], [(13, 1), (14, voters - 19)]):
        monkeypatch.setattr(cuda, "trips", lambda _, plan=plan: plan)
        for last in (14, 30, 36):
            assert (table.levels(last=last).numpy() == expected).all()


@pytest.mark.slow
def test_a_trip_of_ten_axes(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    voters = 28 if device == "GPU" else 20  # of which a CPU takes two axes in such a trip
    monkeypatch.setattr(cuda, "LONGEST", 0)
    monkeypatch.setattr(cuda, "trips", lambda bits: [(13, bits - 13)])
    ones = np.bitwise_count(np.arange(2**voters, dtype=np.uint32)).astype(np.int8)
    levels = TruthTable.from_array(ones > voters // 3).levels(device="cuda")
    assert (levels.numpy() == ones - voters // 3 - 1).all()


@pytest.mark.parametrize("bits", range(13, 33))
def test_trips_take_each_axis_once(bits: int) -> None:
    plan = cuda.trips(bits)
    assert [axis for start, count in plan for axis in range(start, start + count)] == list(range(13, bits))
    assert all(1 <= count <= 10 for _, count in plan)
    assert len(plan) <= 2


def test_the_mean_error_of_a_mechanism(device: str) -> None:
    rule = balanced(ApproxDP(exp_epsilon=2, delta="1/10"))
    table = TruthTable.from_array(np.bitwise_count(np.arange(8)) > 1)
    exact = sum(rule.error(level) for level in [-2, -1, -1, 0, -1, 0, 0, 1]) / 8
    assert table.levels(device="cuda").error(rule) == mean_error({-2: 1, -1: 3, 0: 3, 1: 1}, rule) == exact == Fraction(1, 4)
    assert table.levels(device="cuda", last=2).error(rule) == exact
    with pytest.raises(DuotoneError, match=r"errs beyond level 0"):
        table.levels(device="cuda", last=0).error(rule)


def test_what_is_refused(device: str) -> None:
    table = TruthTable.from_array(np.bitwise_count(np.arange(8)) > 1)
    for last in (-1, 1.5, True):
        with pytest.raises(DuotoneError, match="last must be a whole number from 0 on"):
            table.levels(device="cuda", last=last)  # type: ignore[call-overload]
    with pytest.raises(DuotoneError, match="1 to 37 voters, got 38"):
        cuda.CudaTruthTable.from_weights([1] * 38, 2)
    with pytest.raises(DuotoneError, match="from 0 to 7"):
        table.levels(device="cuda").of([8])
    with pytest.raises(DuotoneError, match="device 'cpu', all of them, or 'cuda', got 'tpu'"):
        table.levels(device="tpu")  # type: ignore[call-overload]
    with pytest.raises(DuotoneError, match="got 'cpu' and last=3"):
        table.levels(device="cpu", last=3)  # type: ignore[call-overload]


def test_memory_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(tmp_path_factory.mktemp("none")))
    with pytest.raises(
        DuotoneError, match=r"the answers of 37 voters need 16\.0 GiB of the GPU's memory, more than the 8\.0 GiB"
    ):
        cuda.CudaTruthTable.from_weights([1] * 37, 2)


def test_without_cupy_or_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingExtra, match=r"duotone\[gpu\]"):
        TruthTable.from_array([False, True]).levels(device="cuda")
    fake = fake_cupy(tmp_path_factory.mktemp("none"))
    fake.cuda.runtime.getDeviceCount = lambda: 0
    monkeypatch.setitem(sys.modules, "cupy", fake)
    with pytest.raises(DuotoneError, match="there is no GPU"):
        TruthTable.from_array([False, True]).levels(device="cuda")
