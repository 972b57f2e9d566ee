"""The ledger: charges a second beside the disk's bare rate of syncs, and how much tighter composition gets.

python benchmarks/ledger.py [FOLDER]      FOLDER is on the disk to be measured, and gets the figure
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import measure

from duotone import ApproxDP, Charge, balanced, open_ledger
from duotone.ledger.ledger import Ledger
from duotone.ledger.planned_composition import PlannedComposition
from duotone.ledger.privacy_filters import AdvancedComposition, BasicComposition
from duotone.ledger.stores import open_store
from duotone.ledger.sums import Spent
from duotone.plotting import BLUE, FAINT, INK, RED, save, spending

EACH, BUDGET = ApproxDP("0.1", "1e-10"), ApproxDP(8000, "1e-6")
COUNTS = (1, 10, 100, 1000)
SECONDS = 3.0


def rates(works: dict[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Median calls a second of each, measured in turns, since a disk's pace changes."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            count, start = 0, time.perf_counter()
            while (passed := time.perf_counter() - start) < SECONDS / rounds:
                work()
                count += 1
            found[name].append(count / passed)
    return {name: median(some) for name, some in found.items()}


def bare_sync(folder: Path) -> Callable[[], None]:
    """Write a page over another and force it to the disk: the limit."""
    file = os.open(folder / "bare", os.O_RDWR | os.O_CREAT)
    page, pages = bytes(4096), 1024
    os.write(file, page * pages)
    os.fsync(file)
    turn = 0

    def work() -> None:
        nonlocal turn
        turn = (turn + 1) % pages
        os.pwrite(file, page, turn * 4096)
        os.fdatasync(file)

    return work


def throughput(folder: Path) -> None:
    """Every figure is from this run, on this disk. An answer takes two commits: its charge, and the answer itself."""
    with open_ledger(folder / "budget.ledger") as ledger:
        ledger.register("d", BUDGET, unit="person", neighbours="replace", version="1")
        line = balanced(ApproxDP("0.000001"))

        def asking(answers: int, again: bool = True) -> Callable[[], object]:
            charge = Charge(line, answers)
            return lambda: ledger.ask("d", "q", charge, lambda: 1, unit="person", neighbours="replace", again=again)

        works = {"sync": bare_sync(folder), "free": asking(1, False), **{str(n): asking(n) for n in (1, 10, 100, 1000)}}
        found = rates(works)
        print(f"bare sync of one page: {found['sync']:.0f} a second")
        print(f"commits: {2 * found['1']:.0f} a second, {2 * found['1'] / found['sync']:.2f} of the bare rate")
        for n in (1, 10, 100, 1000):
            print(f"answers charged {n} at once: {n * found[str(n)]:.0f} a second")
        print(f"the same question again, free: {found['free']:.0f} a second")
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
    plan, finer = (PlannedComposition.most(BUDGET, EACH, boundaries) for boundaries in ((), ("balanced",)))
    filtered = AdvancedComposition(BUDGET, Fraction(BUDGET.delta) / 2)
    return [
        (
            n,
            BasicComposition(BUDGET).spent(Spent().plus(EACH, n))[0],
            classical(n),
            *(rule.spent(Spent().plus(EACH, n))[0] for rule in (filtered, plan, finer)),
        )
        for n in COUNTS
    ]


def figure(path: Path) -> Path:
    """Total ε by number of answers, each rule a line."""
    import matplotlib.pyplot as plt

    counts = sorted({round(10 ** (i / 12)) for i in range(37)})
    plan = PlannedComposition.most(BUDGET, EACH, ("balanced",))
    drawn, ax = plt.subplots(figsize=(6.8, 4.4))
    ax.plot(counts, [n * EACH.epsilon for n in counts], color=INK, ls=":", lw=1.6, label="ε added up")
    ax.plot(counts, [classical(n) for n in counts], color=RED, ls="--", lw=1.6, label="advanced composition (2010)")
    filtered = AdvancedComposition(BUDGET, Fraction(BUDGET.delta) / 2)
    ax.plot(
        counts,
        [filtered.spent(Spent().plus(EACH, n))[0] for n in counts],
        color="#009E73",
        ls="-.",
        lw=1.6,
        label="rule advanced: a filter",
    )
    ax.plot(
        counts,
        [plan.spent(Spent().plus(EACH, n))[0] for n in counts],
        color=BLUE,
        lw=2,
        label="rule plan: privacy-loss distributions",
    )
    ax.set(xscale="log", yscale="log", xlabel="answers at ε = 0.1, δ = 10⁻¹⁰", ylabel="total ε at δ = 10⁻⁶")
    ax.legend(frameon=False, fontsize=9)
    ax.grid(color=FAINT, lw=0.4)
    ax.spines[["top", "right"]].set_visible(False)
    return save(drawn, path)


def sample(folder: Path, path: Path) -> Path:
    """A month of questions, with one crash, as `duotone ledger plot` draws it."""
    now = [datetime(2026, 11, 1, 9, tzinfo=UTC)]
    line = balanced(ApproxDP("0.1", "1e-9"))
    with Ledger(open_store(folder / "sample"), clock=lambda: now[0]) as ledger:
        plan: Any = {"rule": "plan", "answers_at": line.privacy}
        ledger.register("survey", ApproxDP(4, "1e-6"), unit="person", neighbours="replace", version="1", **plan)
        for day in range(60):
            now[0] += timedelta(hours=3 + 37 * day % 19)
            with contextlib.suppress(ZeroDivisionError):
                flip = (lambda: 1 // 0) if day == 40 else (lambda: 1)
                ledger.ask("survey", f"question {day}", Charge(line), flip, unit="person", neighbours="replace")
        return save(spending(ledger.statement("survey")), path)


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=out))
    print(measure.machine())
    try:
        throughput(folder)
        print(sample(folder, out / "ledger-spent.svg"))
    finally:
        shutil.rmtree(folder)
    print("answers | sum | advanced (2010) | rule advanced | rule plan | rule plan, balanced")
    for row in gains():
        print(" | ".join(f"{x:.4g}" for x in row))
    print(figure(out / "ledger-gain.svg"))


if __name__ == "__main__":
    main()
