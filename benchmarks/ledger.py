"""The ledger: charges a second beside the disk's bare rate of syncs, and a picture of one.

python benchmarks/ledger.py [FOLDER]      FOLDER is on the disk to be measured, and gets the figure
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import measure

from duotone import ApproxDP, Charge, balanced, open_ledger
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores import open_store
from duotone.plotting import save, spending

BUDGET = ApproxDP(8000, "1e-6")
SECONDS = 3.0


def rates(works: dict[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Median calls a second of each, measured in turns, since a disk's speed changes."""
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
    """Overwrite a page and force it to the disk: the limit."""
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


def sample(folder: Path, path: Path) -> Path:
    """A month of questions, with one crash, as `duotone ledger plot` draws it."""
    now = [datetime(2026, 11, 1, 9, tzinfo=UTC)]
    line = balanced(ApproxDP("0.1", "1e-9"))
    with Ledger(open_store(folder / "sample"), clock=lambda: now[0]) as ledger:
        ledger.register("survey", ApproxDP(8, "1e-6"), unit="person", neighbours="replace", version="1")
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


if __name__ == "__main__":
    main()
