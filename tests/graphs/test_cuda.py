"""Levels on a GPU: the kernels as C++ on a CPU everywhere, and on a GPU where there is one."""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from duotone import ApproxDP, DuotoneError, TruthTable, balanced
from duotone.errors import MissingExtra
from duotone.graphs import cuda
from duotone.line.mechanism import NEVER
from support.cuda_on_cpu import fake_cupy


def gpu() -> bool:
    try:
        cuda.cupy()
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
@pytest.mark.parametrize("yes", [True, False])
def test_beyond_the_last_level_only_that_is_known(device: str, last: int, yes: bool) -> None:
    x = np.arange(2**20)
    table = TruthTable.from_array((x == 2**20 - 1) != yes)
    away = np.maximum(20 - np.bitwise_count(x).astype(int), 1)  # votes to the one dataset that is different, or from it
    blue = (x == 2**20 - 1) != yes
    far = away > last + 1
    expected = np.where(far, np.where(blue, 127, -128), np.where(blue, away - 1, -away))
    levels = table.levels(device="cuda", last=last)
    assert (levels.numpy() == expected).all()
    infinite = {127: math.inf, -128: -math.inf}
    values, counts = np.unique(expected, return_counts=True)
    assert levels.histogram() == {infinite.get(int(v), int(v)): int(c) for v, c in zip(values, counts, strict=True)}
    assert levels.of([0])[0] == {127: NEVER, -128: -1 - NEVER}.get(expected[0], expected[0])


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
    assert (plain.words.view(np.uint32) == cuda.cupy().asnumpy(table.words)).all()
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
    assert table.levels(device="cuda").error(rule) == rule.mean_error({-2: 1, -1: 3, 0: 3, 1: 1}) == exact == Fraction(1, 4)
    assert table.levels(device="cuda", last=2).error(rule) == exact
    assert table.levels(device="cuda", last=1).error(balanced(ApproxDP(1, 0))) > 0  # all levels are there
    with pytest.raises(DuotoneError, match=r"errs beyond last=0: leave last out or give last=1$"):
        table.levels(device="cuda", last=0).error(rule)
    with pytest.raises(DuotoneError, match=r"leave last out$"):
        table.levels(device="cuda", last=0).error(balanced(ApproxDP(1, 0)))
    with pytest.raises(DuotoneError, match="the histogram has no dataset"):
        rule.mean_error({})


@pytest.mark.parametrize("epsilon", [1, 2, 5])
def test_fourteen_levels_are_enough_for_a_balanced_boundary(epsilon: int) -> None:
    rule = balanced(ApproxDP(epsilon, "1e-6"))
    assert rule.error(15) == rule.error(-16) == 0


def test_what_is_refused(device: str) -> None:
    table = TruthTable.from_array(np.bitwise_count(np.arange(8)) > 1)
    for last, message in ((-1, "from 0 on, got -1"), (1.5, "must be a whole number"), (True, "must be a whole number")):
        with pytest.raises(DuotoneError, match=message):
            table.levels(device="cuda", last=last)  # type: ignore[call-overload]
    with pytest.raises(DuotoneError, match="1 to 37 voters, got 38"):
        cuda.CudaTruthTable.from_weights([1] * 38, 2)
    with pytest.raises(DuotoneError, match="from 0 to 7"):
        table.levels(device="cuda").of([8])
    with pytest.raises(DuotoneError, match="device must be 'cpu' or 'cuda', got 'tpu'"):
        table.levels(device="tpu")  # type: ignore[call-overload]
    with pytest.raises(DuotoneError, match="last is for device='cuda'"):
        table.levels(device="cpu", last=3)  # type: ignore[call-overload]
    with pytest.raises(DuotoneError, match=r"words of 64 bits \(uint64\), got bool"):
        cuda.CudaTruthTable.from_words(18, np.zeros(2**18, dtype=bool))
    with pytest.raises(DuotoneError, match="the answers of 20 voters are 32768 words"):
        cuda.CudaTruthTable.from_words(20, table.words)
    with pytest.raises(DuotoneError, match="1 to 37 voters, got 40"):
        cuda.CudaTruthTable.from_words(40, table.words)


def test_no_datasets_have_no_levels(device: str) -> None:
    table = TruthTable.from_array(np.bitwise_count(np.arange(8)) > 1)
    assert table.levels(device="cuda", last=3).of([]).shape == (0,)
    assert table.levels(device="cuda", last=np.int64(3)).of([7]).tolist() == [1]  # type: ignore[call-overload]


def test_unanimity_takes_the_form_that_it_needs(device: str) -> None:
    voters = 33 if device == "GPU" else 18
    levels = cuda.CudaTruthTable.from_weights([1] * voters, voters).levels()
    assert levels.bits == (6 if device == "GPU" else 5)
    assert levels.histogram() == {0: 1} | {-k: math.comb(voters, k) for k in range(1, voters + 1)}


def test_the_page_shows_what_works(device: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "graphs.md").read_text(encoding="utf-8")
    block = page[page.index("from duotone.graphs.cuda import") :]
    small = block[: block.index("```")].replace("range(1, 37), 333", "range(1, 20), 95")
    veto = TruthTable.from_array((np.bitwise_count(np.arange(2**10)) > 5) & (np.arange(2**10) & 1 == 1))
    names = {"veto": veto, "balanced": balanced, "ApproxDP": ApproxDP}
    assert len(re.findall(r"veto|board", small)) >= 4
    exec(small, names)


def with_fake(monkeypatch: pytest.MonkeyPatch, folder: Path, **options: int) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(folder, **options))


def test_memory_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_fake(monkeypatch, tmp_path)
    with pytest.raises(
        DuotoneError, match=r"the answers of 37 voters need 16\.0 GiB of the GPU's memory, more than the 8\.0 GiB"
    ):
        cuda.CudaTruthTable.from_weights([1] * 37, 2)


def test_without_cupy_or_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = TruthTable.from_array([False, True])
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingExtra, match=r"duotone\[gpu\]"):
        table.levels(device="cuda")
    with_fake(monkeypatch, tmp_path, devices=0)
    with pytest.raises(DuotoneError, match="there is no GPU"):
        table.levels(device="cuda")
    with_fake(monkeypatch, tmp_path, shared=99 * 2**10)
    with pytest.raises(DuotoneError, match="99 KiB of shared memory for a block, and 224 KiB are needed"):
        table.levels(device="cuda")
    broken = tmp_path / "cupy.py"
    broken.write_text("raise ImportError('no libcuda')", encoding="utf-8")
    monkeypatch.delitem(sys.modules, "cupy")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DuotoneError, match="CuPy is installed but cannot be used: no libcuda"):
        table.levels(device="cuda")
