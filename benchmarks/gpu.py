"""Levels of all datasets of a truth table on a GPU: seconds by voters, and the limit that memory sets.

    python benchmarks/gpu.py FOLDER [--quick]     measures, where there is a GPU, and writes FOLDER/gpu.json
    python benchmarks/gpu.py FOLDER --draw draws these results

Every result is checked: histograms against binomial coefficients, and samples against a greedy count of votes.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from duotone.graphs import cuda
from duotone.line.mechanism import NEVER

REPEATS = 5


def seconds(work: Callable[[], Any]) -> float:
    """The median of a few runs on the device, after one that is not counted."""
    import cupy

    times = []
    for _ in range(REPEATS + 1):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        stop.record()
        stop.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, stop) / 1000)
    return float(median(times[1:]))


def copied() -> float:
    """Bytes a second, read and written, of a copy on the device."""
    import cupy

    here = cupy.zeros(2**32, dtype=np.uint8)
    there = cupy.empty_like(here)
    return float(2 * here.nbytes) / seconds(lambda: cupy.copyto(there, here))


def moved() -> dict[str, float]:
    """Bytes a second between the main memory and the device: the limit for batches of coins."""
    import cupy

    there = cupy.zeros(2**30, dtype=np.uint8)
    plain = np.zeros(2**30, dtype=np.uint8)
    pinned = np.frombuffer(cupy.cuda.alloc_pinned_memory(2**30), dtype=np.uint8, count=2**30)
    return {
        f"{way} {kind}": 2**30 / seconds(work)
        for kind, here in (("ordinary memory", plain), ("pinned memory", pinned))
        for way, work in (("from", lambda h=here: there.set(h)), ("to", lambda h=here: there.get(out=h)))
    }


def greedy(dataset: int, weights: list[int], threshold: int, last: int) -> int:
    """The level of a weighted vote: those with the largest weights change first."""
    ones = [w for voter, w in enumerate(weights) if dataset >> voter & 1]
    total, yes = sum(ones), sum(ones) >= threshold
    changing = sorted(ones if yes else [w for voter, w in enumerate(weights) if not dataset >> voter & 1], reverse=True)
    for changes, weight in enumerate(changing[: last + 1], 1):
        total += -weight if yes else weight
        if (total >= threshold) != yes:
            return changes - 1 if yes else -changes
    return NEVER if yes else -1 - NEVER


def check(voters: int, last: int = 14) -> None:
    """Two rules of this many voters, against known facts about them."""
    least = voters // 3
    expected: dict[float, int] = {}
    for ones in range(voters + 1):
        level = ones - least
        shown = level if -1 - last <= level <= last else math.copysign(math.inf, level)
        expected[shown] = expected.get(shown, 0) + math.comb(voters, ones)
    assert cuda.CudaTruthTable.from_weights([1] * voters, least).levels(last=last).histogram() == expected, voters
    weights, threshold = [3] * (voters // 2) + [2] * (voters - voters // 2), 5 * voters // 4
    levels = cuda.CudaTruthTable.from_weights(weights, threshold).levels(last=last)
    rng = np.random.default_rng(voters)
    shares = rng.random((4000, 1))  # numbers of ones, from none to all, so that every level occurs
    some = (rng.random((4000, voters)) < shares) @ (2 ** np.arange(voters))
    assert levels.of(some).tolist() == [greedy(int(x), weights, threshold, last) for x in some], voters


def copied_over(voters: int) -> None:
    """From a table in the main memory: the copy of its answers, and then the levels."""
    words = np.random.default_rng(1).integers(0, 2**63, 2 ** (voters - 6), dtype=np.uint64)
    took = seconds(lambda: cuda.CudaTruthTable.from_words(voters, words).levels(last=14))
    print(f"{voters} voters, answers from the main memory: {took:.4f} s", flush=True)


def more_levels(voters: int) -> None:
    """The cost of knowing more levels."""
    table = cuda.CudaTruthTable.from_weights(list(range(1, voters + 1)), voters * voters // 4)
    for last in (14, 30, 36):
        print(f"{voters} voters, levels up to {last}: {seconds(lambda: table.levels(last=last)):.4f} s", flush=True)  # noqa: B023


def measure(voters: int) -> float:
    rule = (list(range(1, voters + 1)), voters * voters // 4)
    weighed = seconds(lambda: cuda.CudaTruthTable.from_weights(*rule))
    table = cuda.CudaTruthTable.from_weights(*rule)
    took = seconds(lambda: table.levels(last=14))
    levels = table.levels(last=14)
    counted = seconds(levels.histogram)
    print(
        f"{voters} voters: levels {took:.4f} s ({2**voters / took:.3g} datasets a second), "
        f"answers {weighed:.4f} s, histogram {counted:.4f} s, {levels.planes.nbytes / 2**30:.0f} GiB",
        flush=True,
    )
    return took


def draw(folder: Path) -> None:
    """Seconds by voters, beside the time of as many passes through memory."""
    from matplotlib.figure import Figure

    measured = json.loads((folder / "gpu.json").read_text(encoding="utf-8"))
    seconds_by = {int(voters): took for voters, took in measured["seconds"].items()}
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axis = figure.subplots()
    axis.plot(list(seconds_by), list(seconds_by.values()), "o-", color="#1f6feb", label=f"levels, {measured['device']}")
    # answers in, planes out, and twice planes in and out
    bare = [(n, (1 + 5 + 4 * 5) / 8 * 2**n / measured["copied"]) for n in seconds_by if n > 28]
    axis.plot(*zip(*bare, strict=True), "--", color="#888888", label="its three trips through memory alone")
    axis.set(xlabel="voters", ylabel="seconds", yscale="log", title="Level of every one of 2^n datasets on a GPU")
    axis.grid(True, which="major", alpha=0.3)
    axis.legend()
    figure.savefig(folder / "gpu-truth-tables.svg")


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if "--draw" in sys.argv:
        draw(folder)
        return
    import cupy

    sizes = [24, 28] if "--quick" in sys.argv else [24, 28, 30, 32, 34, 35, 36, 37]
    device, rate = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(), copied()
    print(device, f"copies {rate / 1e12:.2f} TB/s")
    bus = moved()
    for name, bytes_a_second in bus.items():
        print(f"{name}: {bytes_a_second / 1e9:.1f} GB/s")
    start = time.perf_counter()
    check(20)
    print(f"compiled and first used in {time.perf_counter() - start:.1f} s", flush=True)
    took = {}
    for voters in sorted({28, 32}.intersection(sizes)):
        copied_over(voters)
        more_levels(voters)
        check(voters, 30)
        check(voters, 36)
    for voters in sizes:
        cupy.get_default_memory_pool().free_all_blocks()
        check(voters)
        cupy.get_default_memory_pool().free_all_blocks()
        took[voters] = measure(voters)
    (folder / "gpu.json").write_text(
        json.dumps({"device": device, "copied": rate, "bus": bus, "seconds": took}), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
