"""The ledger: charges a second beside the disk's bare fsync rate, and how much tighter composition gets.

python benchmarks/ledger.py [FOLDER]      FOLDER is on the disk to be measured, and gets the figure
"""

from __future__ import annotations

import math
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import median

from duotone import ApproxDP, Sale, balanced, open_ledger
from duotone.budget import Advanced, Sum
from duotone.draw import BLUE, FAINT, INK, RED, save
from duotone.plan import Plan

EACH, BUDGET = ApproxDP("0.1", "1e-10"), ApproxDP(8000, "1e-6")
COUNTS = (1, 10, 100, 1000)
SECONDS = 2.0


def rate(work: Callable[[], object], repeats: int = 5) -> float:
    """Median calls a second over some runs of a fixed time."""
    rates = []
    for _ in range(repeats):
        count, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < SECONDS / repeats:
            work()
            count += 1
        rates.append(count / passed)
    return median(rates)


def bare_fsync(folder: Path, size: int) -> Callable[[], None]:
    """Append and force to the disk: the limit."""
    file = os.open(folder / f"bare-{size}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    data = bytes(size)

    def work() -> None:
        os.write(file, data)
        os.fsync(file)

    return work


def throughput(folder: Path) -> None:
    """Every figure is from this run, on this disk. An answer takes two commits: its charge, and the answer itself."""
    place = folder / "budget.ledger"
    with open_ledger(place) as ledger:
        ledger.register("d", BUDGET, unit="person", neighbours="replace", version="1")
        line = balanced(ApproxDP("0.000001"))

        def asking(answers: int) -> Callable[[], object]:
            sale = Sale(line, answers)
            return lambda: ledger.ask("d", "q", sale, lambda: 1, unit="person", neighbours="replace", again=True)

        limit = rate(bare_fsync(folder, 4096))
        commits = rate(asking(1))
        print(f"bare fsync of one page: {limit:.0f} a second")
        print(
            f"answers one by one: {commits:.0f} a second, {2 * commits:.0f} commits, {2 * commits / limit:.2f} of the bare rate"
        )
        for answers in (10, 100, 1000):
            many = rate(asking(answers))
            print(f"answers charged {answers} at once: {answers * many:.0f} a second")
        free = rate(lambda: ledger.ask("d", "q", Sale(line), lambda: 1, unit="person", neighbours="replace"))
        print(f"the same question again: {free:.0f} a second")
        entries, start = ledger.verify().entries, time.perf_counter()
        assert ledger.verify().holds
        print(f"verify: {entries / (time.perf_counter() - start):.0f} entries a second")


def classical(count: int) -> float:
    """Advanced composition as it is usually stated (Dwork, Rothblum and Vadhan 2010), for parameters fixed beforehand."""
    epsilon = EACH.epsilon
    slack = float(BUDGET.delta) - count * float(EACH.delta)
    return (
        math.sqrt(2 * count * math.log(1 / slack)) * epsilon + count * epsilon * math.expm1(epsilon) if slack > 0 else math.inf
    )


def gains() -> list[tuple[float, ...]]:
    """Total ε at δ = 10^−6 of answers at ε = 0.1, δ = 10^−10: sum, advanced, its filter, plan, plan of balanced answers."""
    plan, finer = (Plan.most(BUDGET, EACH, boundaries) for boundaries in ((), ("balanced",)))
    filtered = Advanced(BUDGET, Fraction(BUDGET.delta) / 2)
    return [
        (n, Sum(BUDGET).spent({EACH: n})[0], classical(n), *(rule.spent({EACH: n})[0] for rule in (filtered, plan, finer)))
        for n in COUNTS
    ]


def figure(path: Path) -> Path:
    """Total ε by number of answers, each rule a line."""
    import matplotlib.pyplot as plt

    counts = sorted({round(10 ** (i / 12)) for i in range(37)})
    plan = Plan.most(BUDGET, EACH, ("balanced",))
    drawn, ax = plt.subplots(figsize=(6.8, 4.4))
    ax.plot(counts, [n * EACH.epsilon for n in counts], color=INK, ls=":", lw=1.6, label="ε added up")
    ax.plot(counts, [classical(n) for n in counts], color=RED, ls="--", lw=1.6, label="advanced composition (2010)")
    filtered = Advanced(BUDGET, Fraction(BUDGET.delta) / 2)
    ax.plot(
        counts,
        [filtered.spent({EACH: n})[0] for n in counts],
        color="#009E73",
        ls="-.",
        lw=1.6,
        label="rule advanced: a filter",
    )
    ax.plot(counts, [plan.spent({EACH: n})[0] for n in counts], color=BLUE, lw=2, label="rule plan: privacy-loss distributions")
    ax.set(xscale="log", yscale="log", xlabel="answers at ε = 0.1, δ = 10⁻¹⁰", ylabel="total ε at δ = 10⁻⁶")
    ax.legend(frameon=False, fontsize=9)
    ax.grid(color=FAINT, lw=0.4)
    ax.spines[["top", "right"]].set_visible(False)
    return save(drawn, path)


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=out))
    print(f"machine: {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    try:
        throughput(folder)
    finally:
        shutil.rmtree(folder)
    print("answers | sum | advanced (2010) | rule advanced | rule plan | rule plan, balanced")
    for row in gains():
        print(" | ".join(f"{x:.4g}" for x in row))
    print(figure(out / "ledger-gain.svg"))


if __name__ == "__main__":
    main()
